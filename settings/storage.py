"""`StorageSettings`: where everything is kept."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar, Final, Literal, Self

from pydantic import Field, SecretStr, model_validator

from .forms import Group

StorageKind = Literal["postgres", "sqlite", "json"]

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SCHEMES: Final = frozenset({"postgresql", "postgres"})
"""What a URL of a Postgres server begins with; else it is a string of names and values."""

_IN_DATA_DIR: Final = frozenset({"postgres", "sqlite", "json"})
"""Words for what is kept in the data folder."""


class StorageSettings(Group):
    """Where everything is kept."""

    group: ClassVar[str] = "Storage"

    database_url: SecretStr | None = Field(
        None,
        title="Database",
        description="A Postgres server with pgvector, as postgresql://... (of several hosts, postgresql://a,b/name, "
        "the one that takes writes, and a standby for what is much to read); or a file, as sqlite:///memory.db or "
        "json:///memory.json (four slashes before an absolute path; json is for small threads only). The words "
        "postgres, sqlite and json stand for an embedded server, memory.db and memory.json in `data_dir`. Unset: "
        "the embedded server, or memory.db where that is not installed (`everthread[local]`) or was begun with.",
    )
    database_schema: str = Field(
        "everthread",
        title="Schema",
        pattern=r"^[a-z_][a-z0-9_]{0,62}$",
        description="The Postgres schema that holds our tables.",
    )
    pool_size: int = Field(10, title="Connections", ge=1, le=500, description="Database connections, at most.")
    prepare_statements: bool = Field(
        True,
        title="Prepare statements",
        description="Turn off behind PgBouncer in transaction mode, which gives each transaction another connection.",
    )
    data_dir: Path | None = Field(
        None,
        title="Data folder",
        description="Folder of the embedded server, memory.db and memory.json. Unset: the platform's folder for user "
        "data (/var/lib/everthread for root).",
    )

    encryption_key: SecretStr | None = Field(
        None,
        title="Encryption key",
        description="The master key that encrypts what is stored: 32 bytes in base64, a file that holds them, or "
        "'package.module:name' of a function or a key management service; `everthread keys new` makes one. Texts, "
        "reports and checkpoints are encrypted under one key a user; the numbers of embeddings, ids, times and sizes "
        "stay readable, and so does a vector store of your own.",
    )

    @model_validator(mode="after")
    def _check_storage(self) -> Self:
        if self._url.lower() in _IN_DATA_DIR:
            return self
        kind = self.storage_kind
        found = _SCHEME.match(self._url)
        if self._url and kind == "postgres" and (found[1].lower() not in _SCHEMES if found else "=" not in self._url):
            # Whatever else it holds may be a password.
            named = f"begins with {found[0]!r}" if found else "is no URL"
            raise ValueError(
                f"database_url {named}: expected postgresql://..., sqlite:///FILE, json:///FILE, or one of the words "
                "postgres, sqlite and json"
            )
        if kind != "postgres" and self.storage_path is None:
            raise ValueError(f"database_url names no file: expected {kind}:///FILE, or {kind}:////FOLDER/FILE")
        return self

    @property
    def storage_kind(self) -> StorageKind:
        """What keeps everything."""
        scheme = self._url.partition(":")[0].lower()
        return "sqlite" if scheme == "sqlite" else "json" if scheme == "json" else "postgres"

    @property
    def storage_path(self) -> Path | None:
        """The file that `database_url` names; None where it names none."""
        name = self._url.partition(":///")[2]
        return Path(name).expanduser() if self.storage_kind != "postgres" and name and name[-1] != "/" else None

    @property
    def server_url(self) -> str | None:
        """The Postgres server that `database_url` names; None where it names none."""
        named = self.storage_kind == "postgres" and self._url.lower() not in {"", "postgres"}
        return self._url if named else None

    @property
    def _url(self) -> str:
        return self.database_url.get_secret_value() if self.database_url is not None else ""
