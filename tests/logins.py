"""Logins of Postgres that own a schema of their own, for what rights and policies are tried with."""

from __future__ import annotations

import uuid

import psycopg
from psycopg.conninfo import make_conninfo

from everthread import Settings


class login:  # noqa: N801  # reads as a statement
    """Settings for a login of its own, with these rights, which owns a schema of its own."""

    def __init__(self, settings: Settings, rights: str) -> None:
        self.name = f"login_{uuid.uuid4().hex[:12]}"
        self._settings, self._rights = settings, rights

    def __enter__(self) -> Settings:
        self._run(f"CREATE ROLE {self.name} LOGIN PASSWORD 'x' {self._rights}")
        self._run(f"GRANT CREATE ON DATABASE postgres TO {self.name}")
        url = make_conninfo(url_of(self._settings), user=self.name, password="x", passfile="")
        return self._settings.but(database_url=url, database_schema=self.name)

    def __exit__(self, *_: object) -> None:
        self._run(f"DROP OWNED BY {self.name} CASCADE; DROP ROLE {self.name}")

    def _run(self, script: str) -> None:
        with psycopg.connect(url_of(self._settings), autocommit=True) as connection:
            connection.execute(script.encode())


def url_of(settings: Settings) -> str:
    assert settings.database_url is not None
    return settings.database_url.get_secret_value()
