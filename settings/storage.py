"""`StorageSettings`: where everything is kept."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import BaseModel, Field, SecretStr, model_validator

from .forms import PROCESS

StorageKind = Literal["postgres", "sqlite", "json"]

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SCHEMES: Final = frozenset({"postgresql", "postgres"})
"""What a URL of a Postgres server begins with; else it is a string of names and values."""


class StorageSettings(BaseModel):
    """Where everything is kept."""

    storage: StorageKind | None = Field(
        None,
        description="What keeps everything: postgres, sqlite (the file memory.db), or json (memory.json, for small "
        "threads only). Unset: what `database_url` names, else postgres.",
        json_schema_extra=PROCESS,
    )
    database_url: SecretStr | None = Field(
        None,
        description="A Postgres server with pgvector, as postgresql://...; or a file, as sqlite:///memory.db or "
        "json:///memory.json (four slashes before an absolute path). Unset: an embedded server or a file in "
        "`data_dir`.",
        json_schema_extra=PROCESS,
    )
    database_schema: str = Field(
        "everthread",
        pattern=r"^[a-z_][a-z0-9_]{0,62}$",
        description="The Postgres schema that holds our tables.",
        json_schema_extra=PROCESS,
    )
    pool_size: int = Field(10, ge=1, le=500, description="Database connections, at most.", json_schema_extra=PROCESS)
    prepare_statements: bool = Field(
        True, description="Turn off behind PgBouncer in transaction mode.", json_schema_extra=PROCESS
    )
    data_dir: Path | None = Field(
        None,
        description="Folder of the embedded server, memory.db and memory.json. Unset: the platform's folder for user "
        "data (/var/lib/everthread for root).",
        json_schema_extra=PROCESS,
    )

    require_user: bool = Field(
        False,
        description="Refuse runs that name no user, instead of giving them the memory of `user_id`.",
        json_schema_extra=PROCESS,
    )
    visible_messages: int = Field(
        200,
        ge=2,
        le=100_000,
        description="Newest messages that a thread's state holds under `messages`, for chat clients to show. Older "
        "ones are in the archive: see `history`.",
        json_schema_extra=PROCESS,
    )
    visible_kilobytes: int = Field(
        1000,
        ge=10,
        le=1_000_000,
        description="Kilobytes of these messages, at most; the newest turn is always among them.",
        json_schema_extra=PROCESS,
    )

    @model_validator(mode="after")
    def _check_storage(self) -> Self:
        kind, path = self.storage_kind, self.storage_path
        found = _SCHEME.match(self._url)
        if self._url and kind == "postgres" and (found[1].lower() not in _SCHEMES if found else "=" not in self._url):
            # Whatever else it holds may be a password.
            named = f"begins with {found[0]!r}" if found else "is no URL"
            raise ValueError(f"database_url {named}: expected was postgresql://..., sqlite:///FILE or json:///FILE")
        if self.storage not in {None, kind}:
            raise ValueError(f"storage is {self.storage!r} and database_url names {kind}: leave one of them out")
        if self.database_url is not None and kind != "postgres" and path is None:
            raise ValueError(f"database_url names no file: expected {kind}:///FILE, or {kind}:////FOLDER/FILE")
        return self

    @property
    def storage_kind(self) -> StorageKind:
        """What keeps everything."""
        scheme = self._url.partition(":")[0].lower()
        if scheme in {"sqlite", "json"}:
            return "sqlite" if scheme == "sqlite" else "json"
        return "postgres" if self._url else self.storage or "postgres"

    @property
    def storage_path(self) -> Path | None:
        """The file that `database_url` names; None where it names none."""
        if not self._url or self.storage_kind == "postgres":
            return None
        name = self._url.partition(":///")[2]
        return Path(name).expanduser() if name and not name.endswith("/") else None

    @property
    def _url(self) -> str:
        return self.database_url.get_secret_value() if self.database_url is not None else ""
