"""The password of the embedded server: a file that only its owner reads, in the form of libpq's `passfile`.

Without one, whoever runs as the server's account on this machine could connect as superuser.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import sql

from .cluster import Account

_FILE = "server.password"
_ASKS_FOR_IT = "local all all scram-sha-256\n"
_LETS_IN = "local all all trust\n"


def password_file(data_dir: Path) -> Path:
    """Where the password of this data folder's server is kept."""
    return data_dir / _FILE


@contextlib.contextmanager
def new_password(data_dir: Path, account: Account | None) -> Iterator[Path]:
    """Make a password, and lend it to `initdb` in a file of the server's account; it is kept if all went well."""
    password = secrets.token_urlsafe(32)
    lent = data_dir / f"new-password-{os.getpid()}"
    _write(lent, password)
    try:
        if account is not None:
            os.chown(lent, *account)
        # Kept first: a cluster whose password nobody knows would be of no use.
        _keep(data_dir, password)
        yield lent
    finally:
        lent.unlink(missing_ok=True)


def prepare_cluster(data_dir: Path, pgdata: Path) -> None:
    """Before a start: passwords are asked for where there is one, else nothing is, so that `set_password` comes in."""
    wanted = _ASKS_FOR_IT if password_file(data_dir).exists() else _LETS_IN
    rules = pgdata / "pg_hba.conf"
    if rules.read_text(errors="replace") != wanted:
        rules.write_text(wanted)


def set_password(data_dir: Path, pgdata: Path, url: str) -> None:
    """Give a running server without a password one: a server of an older version, or one whose file was lost.

    Raises:
        psycopg.Error: the server refuses.
    """
    password = secrets.token_urlsafe(32)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER ROLE postgres PASSWORD {}").format(password))
        _keep(data_dir, password)
        prepare_cluster(data_dir, pgdata)
        connection.execute("SELECT pg_reload_conf()")


def _keep(data_dir: Path, password: str) -> None:
    partial = data_dir / f"new-{_FILE}-{os.getpid()}"
    _write(partial, f"*:*:*:*:{password}\n")
    partial.rename(password_file(data_dir))


def _write(path: Path, text: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(text)
