"""PgBouncer in transaction mode, in front of a server. It is installed where that is possible."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

CONFIGURATION = """
[databases]
postgres = host={host} port={port} dbname={dbname} user={user} password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {size}
server_round_robin = 1
max_client_conn = 200
"""


@contextmanager
def pgbouncer(server_url: str, size: int = 4) -> Iterator[str]:
    """The URL of a pooler before a server; each transaction gets the connection that was used longest ago.

    Raises:
        FileNotFoundError: there is no PgBouncer.
    """
    program = _program()
    folder = Path(tempfile.mkdtemp(prefix="everthread-pgbouncer-"))
    folder.chmod(0o755)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        own_port = free.getsockname()[1]
    server = conninfo_to_dict(server_url)
    password = server.get("password") or _password_in(server)
    file = folder / "pgbouncer.ini"
    file.write_text(
        CONFIGURATION.format(
            host=server["host"], port=server.get("port", 5432), dbname=server["dbname"], user=server["user"],
            password=password, own_port=own_port, size=size,
        )
    )  # fmt: skip
    account = ["-u", Path(str(server["host"])).owner()] if os.getuid() == 0 else []  # who alone may use its socket
    process = subprocess.Popen([program, "-q", *account, str(file)], stderr=subprocess.DEVNULL)
    url = f"postgresql://{server['user']}@127.0.0.1:{own_port}/postgres"
    try:
        _wait_for(url)
        yield url
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _password_in(server: dict[str, object]) -> str:
    lines = Path(str(server["passfile"])).read_text().splitlines() if "passfile" in server else []
    return lines[0].rsplit(":", 1)[1] if lines else ""


def _program() -> str:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    if (found := shutil.which("pgbouncer", path=path)) is None and os.getuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "pgbouncer"], check=False, capture_output=True, timeout=200)
        found = shutil.which("pgbouncer", path=path)
    if found is None:
        raise FileNotFoundError("PgBouncer is not there, and cannot be installed.")
    return found


def _wait_for(url: str) -> None:
    until = time.monotonic() + 10
    while True:
        try:
            psycopg.connect(url, prepare_threshold=None).close()
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return
