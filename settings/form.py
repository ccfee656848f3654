"""The form of a run's context, as JSON schema: titles, groups, and the thresholds of each profile by themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from .forms import CAPPED, PROFILES_KEY, TRUSTED, groups_of
from .profiles import PROFILES, ProfileName
from .run import THRESHOLDS, RunSettings, marks_of

_GROUP_KEY: Final = "x-group"
"""Names the group of a setting, for forms that show groups."""

BY_PROFILE: Final = frozenset(name for profile in PROFILES.values() for name in profile.settings)
"""Settings that a profile fills: a form that sent back their default would take that from the profile."""


def form_of(properties: Mapping[str, Any], resolve: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """The properties of the form.

    A threshold stands in the group of each profile that has it, with the default of that profile. A setting that a
    profile fills has no default, and what may be unset is of one type: so a form leaves out what nobody has filled in.

    Args:
        properties: the JSON schema of each setting of `RunSettings`.
        resolve: gives the schema that a reference means.
    """
    flat = {name: _plain(schema, resolve) for name, schema in properties.items()}
    form: dict[str, Any] = {}
    for group, names in groups_of(RunSettings).items():
        for name in names:
            if PROFILES_KEY in marks_of(name):
                form |= {profile: _thresholds(profile, flat) for profile in PROFILES if profile not in form}
            else:
                form[name] = {**flat[name], _GROUP_KEY: group}
                if name in BY_PROFILE:
                    form[name].pop("default", None)
    return form


def _plain(schema: Mapping[str, Any], resolve: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """A schema without references, nulls and our marks."""
    plain = {key: value for key, value in schema.items() if key not in {CAPPED, TRUSTED, PROFILES_KEY}}
    if reference := plain.pop("$ref", None):
        plain = {**resolve({"$ref": reference}), **plain, "default": {}}
    if "properties" in plain:
        plain["properties"] = {name: _plain(part, resolve) for name, part in plain["properties"].items()}
    kinds = [kind for kind in plain.get("anyOf", []) if kind != {"type": "null"}]
    if len(kinds) == 1:
        del plain["anyOf"]
        plain |= kinds[0]
    if plain.get("default", 0) is None:
        del plain["default"]
    return plain


def _thresholds(profile: ProfileName, flat: Mapping[str, Any]) -> dict[str, Any]:
    filled = PROFILES[profile].settings

    def threshold(name: str) -> dict[str, Any]:
        meaning = str(marks_of(name)[PROFILES_KEY][profile])
        default = filled.get(name, flat[name]["default"])
        return {**flat[name], "description": meaning[:1].upper() + meaning[1:], "default": default}

    return {
        "type": "object",
        "title": f"Thresholds of {profile}",
        "description": f"When summaries are made under the profile {profile}; of no meaning under others.",
        "properties": {name: threshold(name) for name in THRESHOLDS[profile]},
        "langgraph_nodes": ["summarize"],
    }
