"""`Settings`: what the operator of a process sets, and what a run may choose, in one object.

It reads the environment (`EVERTHREAD_*`), and is the base over which the context of each run is laid. Every default
stands in one of the classes that it is made of; the options of the command and the tables of the docs are made from
them.
"""

from __future__ import annotations

import os
from typing import Any, Final, Literal, Self

from pydantic import ConfigDict, ModelWrapValidatorHandler, PrivateAttr, ValidationError, model_validator

from ..state.errors import SettingsError
from .forms import NamedValues
from .operator import NO_COMMANDS, OperatorSettings
from .profiles import PROFILES
from .run import RunSettings
from .sentences import of_the_operator, one_sentence

_SHORTEST_SUMMARY: Final = 30
"""Tokens of a summary, at least, unless it is said otherwise."""


class Settings(OperatorSettings, RunSettings):  # type: ignore[misc]  # the plugin's constructors differ
    """Everything that can be configured, each field with its default, range and meaning.

    Values come, in this order, from: the context of the run, the argument of `open_graph`, the environment
    (`EVERTHREAD_` and the field's name in capitals), the profile, the default. A context may hold what is a field of
    `RunSettings`.

    Raises:
        SettingsError: a value is not allowed or a name is unknown; the text names field, value and what is allowed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    _given: frozenset[str] = PrivateAttr(default=frozenset())

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**{**_environment(), **values})
        except ValidationError as error:
            raise SettingsError(one_sentence(error, type(self))) from None
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
        if "summary_length" not in values and (share := made._share_of_the_usual_prompt()) < 1:
            filled["summary_length"] = max(_SHORTEST_SUMMARY, int(share * made.summary_length))
            made = handler({**filled, **values})
        made.model_fields_set.difference_update(filled)
        return made

    def _share_of_the_usual_prompt(self) -> float:
        """How much there is of a half of the profile's own prompt: in less its summaries leave no room to talk."""
        usual = {name: RunSettings.model_fields[name].default for name in ("max_context_tokens", "max_reply_tokens")}
        context, reply = ({**usual, **PROFILES[self.profile].settings}[name] for name in usual)
        return 2 * (self.max_context_tokens - self.max_reply_tokens) / int(context - reply)

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.max_reply_tokens >= self.max_context_tokens:
            raise ValueError(_must_not("max_reply_tokens", "be smaller than", "max_context_tokens", self))
        if self.sum_window > self.n_sum:
            raise ValueError(_must_not("sum_window", "not be larger than", "n_sum", self))
        if unknown := set(self.client_settings) - {"safe", "all", NO_COMMANDS} - RunSettings.model_fields.keys():
            raise ValueError(f"client_settings names {min(unknown)!r}, which is no setting that a run may choose")
        if self.profile == "sliding_summary" and self.keep_recent >= self.message_threshold:
            raise ValueError(_must_not("keep_recent", "be smaller than", "message_threshold", self))
        if self.profile == "archive" and self.max_level_summaries > self.max_active_summaries:
            raise ValueError(_must_not("max_level_summaries", "not be larger than", "max_active_summaries", self))
        return self

    def but(self, **values: Any) -> Settings:
        """These settings with some values replaced; of those with several parts, the parts that are given.

        Raises:
            SettingsError: a value or the combination is not allowed.
        """
        kept = {name: getattr(self, name) for name in self.model_fields_set | self._given}
        for name, value in values.items():
            kept[name] = kept[name].with_parts(value) if isinstance(kept.get(name), NamedValues) else value
        return Settings(**kept) if values else self

    def over(self, base: Settings) -> Settings:
        """These settings laid over `base`: what was given here by name wins.

        Raises:
            SettingsError: the combination is not allowed, or a setting of the operator's was given that is another one
                in `base`.
        """
        for name in sorted(self._given & OperatorSettings.model_fields.keys()):
            if getattr(self, name) != getattr(base, name):
                raise SettingsError(of_the_operator(name))
        return base.but(**self.chosen)

    def origin(self, name: str) -> Literal["given", "environment", "profile", "default"]:
        """Where the value of a setting comes from; what is an option of the command, or of a program, was given."""
        if name in self._given:
            return "given"
        if name in self.model_fields_set:
            return "environment"
        return "profile" if name in PROFILES[self.profile].settings else "default"

    @property
    def chosen(self) -> dict[str, Any]:
        """What was given here by name and is a run's to choose."""
        return {name: getattr(self, name) for name in sorted(self._given & RunSettings.model_fields.keys())}


def _environment() -> dict[str, str]:
    """What the environment sets, by the names of the fields; what is empty is not set."""
    fields = {f"EVERTHREAD_{name.upper()}": name for name in Settings.model_fields}
    found = ((fields.get(name.upper()), value) for name, value in os.environ.items() if value)
    return {name: value for name, value in found if name is not None}


def _must_not(name: str, rule: str, other: str, settings: Settings) -> str:
    return f"{name} is {getattr(settings, name)} but must {rule} {other}, which is {getattr(settings, other)}"
