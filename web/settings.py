"""Settings in force, and where each comes from. Keys and addresses with passwords are not shown."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import SecretStr
from starlette.responses import Response

from ..settings.forms import groups_of, shown
from ..settings.run import RunSettings
from ..settings.settings import Settings
from .visit import Visit


class _Shown(NamedTuple):
    """A setting as the page shows it."""

    name: str
    title: str
    meaning: str
    value: str
    origin: str


async def settings(visit: Visit) -> Response:
    """The settings by their groups; those of the operator only where the page is theirs."""
    in_force = visit.site.graph.resources.settings
    kind = Settings if visit.site.is_own else RunSettings
    groups = {title: [_shown(in_force, name) for name in names] for title, names in groups_of(kind).items()}
    return await visit.show("settings.html", groups=groups, profile=in_force.profile)


def _shown(in_force: Settings, name: str) -> _Shown:
    field, value = Settings.model_fields[name], getattr(in_force, name)
    text = "hidden" if isinstance(value, SecretStr) else shown(value)
    return _Shown(name, field.title or name, field.description or "", text, in_force.origin(name))
