"""What a client of a server may choose for a run: what the operator allows, and no limit above the operator's."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

from ..state.errors import SettingsError
from .form import BY_PROFILE
from .forms import CAPPED, TRUSTED
from .operator import OperatorSettings
from .profiles import PROFILES
from .run import RunSettings, marks_of
from .run_context import RunContext
from .sentences import of_the_operator, unknown
from .settings import Settings

KEY: Final = "everthread"
"""Names our settings in a context or a `configurable` that is another's."""

_ALIKE: Final = 0.8
"""How alike a key must be to the name of a setting to be taken for it, misspelt; from 0 to 1."""


_OF_PROFILE: Final = frozenset({"summary_length"})
"""Limits that make a profile what it is: of the one that a client chooses, they count as the operator's."""


def client_context(given: Mapping[str, Any], base: Settings) -> RunContext:
    """What a client chooses for a run.

    Settings may stand under the key `everthread` as well. Keys that are not like any setting are another application's,
    or the server's own, and are left out.

    Raises:
        SettingsError: a setting is misspelt, the operator's, not allowed to clients, or above the operator's limit.
    """
    below = given.get(KEY) or {}
    if not isinstance(below, Mapping):
        raise SettingsError(f"What stands under {KEY!r} in the context is no mapping of settings.")
    ours = {name: value for name, value in {**below, **given}.items() if _is_ours(name)}
    return limited(RunContext(**ours), base)


def limited(context: RunContext, base: Settings) -> RunContext:
    """What a client chooses for a run, where it may choose that; a profile's own limits are lowered to the operator's.

    Raises:
        SettingsError: a setting is not allowed to clients, or above the operator's limit.
    """
    chosen = dict(context.chosen)
    profiled = base.but(profile=chosen["profile"]) if "profile" in chosen else base
    for profile in PROFILES:
        chosen |= chosen.pop(profile, {})
    for name, value in chosen.items():
        if not may_choose(name, base):
            raise SettingsError(
                f"Setting {name!r} is not for clients to choose: the operator allows it in EVERTHREAD_CLIENT_SETTINGS."
            )
        limit = getattr(profiled if name in _OF_PROFILE else base, name)
        if CAPPED in marks_of(name) and _is_above(value, limit):
            raise SettingsError(f"Setting {name!r} cannot be {value!r}: the operator's limit is {limit!r}.")
    capped = {name for name in RunSettings.model_fields if CAPPED in marks_of(name)} - _OF_PROFILE - chosen.keys()
    raised = {name for name in capped if _is_above(getattr(profiled, name), getattr(base, name))}
    return RunContext(**context.chosen, **{name: getattr(base, name) for name in raised}) if raised else context


def may_choose(name: str, base: Settings) -> bool:
    """Whether a client may choose a setting."""
    allowed = base.client_settings
    return "all" in allowed or name in allowed or ("safe" in allowed and TRUSTED not in marks_of(name))


def client_form(base: Settings, *, is_authenticated: bool = False) -> dict[str, Any]:
    """The form of what a client may choose, as JSON schema, with what the operator has set as defaults and limits.

    Args:
        base: what the operator has set.
        is_authenticated: whether the server knows whose turn it is, so that nobody need name a user.
    """
    form = RunContext.model_json_schema()
    if is_authenticated:
        del form["properties"]["user_id"]
    properties = {}
    for name, schema in form["properties"].items():
        if name in PROFILES:
            thresholds = _allowed(schema["properties"], base)
            if thresholds:
                properties[name] = {**schema, "properties": thresholds}
        else:
            properties |= _allowed({name: schema}, base)
    return {**form, "properties": properties}


def _allowed(properties: Mapping[str, Any], base: Settings) -> dict[str, Any]:
    allowed = {}
    for name, schema in properties.items():
        if may_choose(name, base):
            allowed[name] = _as_set(name, schema, base)
    return allowed


def _as_set(name: str, schema: Mapping[str, Any], base: Settings) -> dict[str, Any]:
    """The schema of a setting with what the operator has set as its default, and its limit where clients have one."""
    shown, value = dict(schema), getattr(base, name)
    if name in base.model_fields_set:
        shown["default"] = value
        if not isinstance(value, (bool, int, float)):  # a text may be nobody else's to read
            del shown["default"]
    if CAPPED in marks_of(name) and "maximum" in schema and (name in base.model_fields_set or name not in BY_PROFILE):
        shown["maximum"] = value
    return shown


def _is_ours(name: str) -> bool:
    if name in RunSettings.model_fields or name in PROFILES:
        return True
    if name in OperatorSettings.model_fields:
        raise SettingsError(of_the_operator(name))
    known = [*RunSettings.model_fields, *OperatorSettings.model_fields]
    if difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE):
        raise SettingsError(unknown(name, known))
    return False


def _is_above(value: Any, limit: Any) -> bool:
    """Whether a client's value allows more than the operator's; what is off may not be turned on."""
    if isinstance(limit, str):
        return limit == "off" and value != "off"
    return bool(value > limit)
