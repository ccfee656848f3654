"""`Settings`: the one place where every default of everthread lives.

The same object is the environment (`EVERTHREAD_*`), the per-run context of the graph, the form that LangGraph Studio
shows, the options of the command line, and the generated table in the README.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import ModelWrapValidatorHandler, PrivateAttr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from ..state.errors import SettingsError, one_sentence
from .compression import CompressionSettings
from .context import ContextSettings
from .facts import FactSettings
from .forms import Parts
from .limits import LimitSettings
from .memory import MemorySettings
from .models import ModelSettings
from .profile import ProfileSettings
from .profiles import PROFILES
from .search import SearchSettings
from .storage import StorageSettings
from .telemetry import TelemetrySettings
from .tools import ToolSettings


class Settings(
    TelemetrySettings,
    LimitSettings,
    StorageSettings,
    CompressionSettings,
    FactSettings,
    MemorySettings,
    SearchSettings,
    ContextSettings,
    ToolSettings,
    ModelSettings,
    ProfileSettings,
    BaseSettings,
):
    """Everything that can be configured, each field with its default, range and meaning.

    Values come, in this order, from: the context of the run, the argument of `open_graph`, the environment
    (`EVERTHREAD_` and the field's name in capitals), the profile, the default. The fields stand in the classes that
    this one is made of, last base first.

    Raises:
        SettingsError: a value is not allowed or a name is unknown; the text names field, value and what is allowed.
    """

    model_config = SettingsConfigDict(
        env_prefix="EVERTHREAD_", env_ignore_empty=True, extra="forbid", frozen=True, title="everthread settings"
    )
    PROCESS_FIELDS: ClassVar[frozenset[str]]
    _given: frozenset[str] = PrivateAttr(default=frozenset())

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise SettingsError(one_sentence(error, type(self).model_fields)) from None
        self._given = frozenset(values)

    @model_validator(mode="wrap")
    @classmethod
    def _fill_from_profile(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """What the profile fills does not count as set, so that another profile can be laid over it."""
        if not isinstance(values, dict):
            return handler(values)
        profile = PROFILES.get(values.get("profile", "multi_strategy"))
        filled = {name: value for name, value in profile.settings.items() if name not in values} if profile else {}
        made = handler({**filled, **values})
        made.model_fields_set.difference_update(filled)
        return made

    def but(self, **values: Any) -> Settings:
        """These settings with some values replaced.

        Raises:
            SettingsError: a value or the combination is not allowed.
        """
        kept = {name: getattr(self, name) for name in self.model_fields_set | self._given}
        for name, value in values.items():
            kept[name] = kept[name].with_parts(value) if isinstance(kept.get(name), Parts) else value
        return Settings(**kept) if values else self

    def over(self, base: Settings) -> Settings:
        """These settings laid over `base`: what was given here by name wins, process-wide fields stay as in `base`.

        Raises:
            SettingsError: the combination is not allowed.
        """
        return base.but(**self.given_for_run())

    def given_for_run(self) -> dict[str, Any]:
        """The values that were given here by name, without those that are fixed when the process starts."""
        return {name: getattr(self, name) for name in sorted(self._given - self.PROCESS_FIELDS)}


Settings.PROCESS_FIELDS = frozenset(
    name
    for name, field in Settings.model_fields.items()
    if isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get("scope") == "process"
)
