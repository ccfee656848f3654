"""`RunContext`: the context of one run, as a program, a client of a server or Studio's form gives it.

A threshold may be given by its name, or in the group of its profile, as forms show it:
`{"profile": "archive", "archive": {"summary_every_n": 5}}`. A group counts where its profile is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, GetJsonSchemaHandler, PrivateAttr, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ..state.errors import SettingsError
from .form import form_of
from .profiles import PROFILES, ProfileName
from .run import THRESHOLDS, RunSettings
from .sentences import hint, one_sentence
from .settings import Settings


class RunContext(RunSettings):
    """What one run chooses. Only what is given counts; the rest is the base's.

    Raises:
        SettingsError: a value is not allowed, or a name is unknown or the operator's; in one sentence.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, title="everthread")
    _groups: dict[str, dict[str, Any]] = PrivateAttr(default_factory=dict)

    def __init__(self, **values: Any) -> None:
        groups: dict[str, dict[str, Any]] = {
            name: _thresholds(name, values.pop(name)) for name in PROFILES if name in values
        }
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise SettingsError(one_sentence(error, type(self))) from None
        self._groups = groups

    @property
    def chosen(self) -> dict[str, Any]:
        """What was given by name, and the groups of thresholds."""
        return {**self._groups, **{name: getattr(self, name) for name in sorted(self.model_fields_set)}}

    def over(self, base: Settings) -> Settings:
        """The settings of a run with this context.

        Raises:
            SettingsError: the combination is not allowed.
        """
        values = {name: getattr(self, name) for name in self.model_fields_set}
        thresholds = self._groups.get(values.get("profile", base.profile), {})
        return base.but(**{**thresholds, **values})

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The form that Studio shows."""
        made = handler.resolve_ref_schema(handler(schema))
        form = form_of(made["properties"], handler.resolve_ref_schema)
        return {"title": "everthread", "type": "object", "properties": form, "additionalProperties": False}


def _thresholds(profile: ProfileName, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise SettingsError(f"{profile!r} cannot be {given!r}: expected a mapping of thresholds.")
    known = THRESHOLDS[profile]
    if name := next((name for name in given if name not in known), None):
        raise SettingsError(f"{name!r} is no threshold of the profile {profile!r}. {hint(name, known)}")
    return RunContext(**{name: value for name, value in given.items() if value is not None}).chosen
