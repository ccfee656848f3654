"""`StorageSettings`: where everything is kept."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, Field, SecretStr

from .forms import PROCESS


class StorageSettings(BaseModel):
    """Where everything is kept."""

    database_url: SecretStr | None = Field(
        None,
        description="A Postgres server with pgvector, as postgresql://... Unset: an embedded server in `data_dir`.",
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
        description="Folder of the embedded server. Unset: the platform's folder for user data "
        "(/var/lib/everthread for root).",
        json_schema_extra=PROCESS,
    )
