"""Two real servers: the embedded one of a folder, and a standby that it streams to."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from everthread.storage.embedded.cluster import (
    cluster_dir,
    environment,
    make_private,
    package_dir,
    reachable,
    service_account,
)  # fmt: skip
from everthread.storage.embedded.server import ensure_server


class TwoServers(NamedTuple):
    """The URLs of the primary, of its standby, and of both; the standby's process."""

    primary: str
    standby: str
    both: str
    process: subprocess.Popen[bytes]

    def catch_up(self) -> None:
        """Wait until the standby has all that is committed."""
        with psycopg.connect(self.primary, autocommit=True) as primary:
            (end,) = primary.execute("SELECT pg_current_wal_insert_lsn()").fetchone() or ()
        self.wait_for(f"SELECT pg_last_wal_replay_lsn() >= '{end}'")

    def wait_for(self, statement: str) -> None:
        """Wait until the standby says that this is so."""
        until = time.monotonic() + 30
        while self.on_standby(statement) != [(True,)]:
            assert time.monotonic() < until, statement
            time.sleep(0.02)

    def on_standby(self, statement: str) -> list[tuple[object, ...]]:
        """What the standby says."""
        with psycopg.connect(self.standby, autocommit=True) as standby:
            return standby.execute(statement.encode()).fetchall()


@contextmanager
def two_servers(folder: Path) -> Iterator[TwoServers]:
    """Start both; the standby is stopped at the end, the primary is whoever's folder it is."""
    primary = ensure_server(folder)
    parts = conninfo_to_dict(primary)
    pgdata = cluster_dir(folder, package_dir())
    account = service_account(pgdata)
    programs = reachable(package_dir(), folder, account) if account else package_dir()
    copy, socket = folder / "standby", folder / "standby-socket"
    for made in (copy, socket):
        make_private(made, account)
    with (pgdata / "pg_hba.conf").open("a") as rules:
        rules.write("local replication all scram-sha-256\n")
    with psycopg.connect(primary, autocommit=True) as connection:
        connection.execute("SELECT pg_reload_conf()")
    password = Path(str(parts["passfile"])).read_text().strip().rsplit(":", 1)[1]
    run_as = {"user": account.uid, "group": account.gid, "extra_groups": []} if account else {}
    bin_ = programs / "pginstall" / "bin"
    subprocess.run(
        [bin_ / "pg_basebackup", "-D", copy, "-h", str(parts["host"]), "-U", "postgres", "-R", "-c", "fast", "-w"],
        env={**environment(), "PGPASSWORD": password}, cwd="/", check=True, **run_as,
    )  # fmt: skip
    options = [f"unix_socket_directories={socket}", "listen_addresses=", "port=5432", "io_method=sync"]
    process = subprocess.Popen(
        [bin_ / "postgres", "-D", copy, *(word for option in options for word in ("-c", option))],
        env=environment(), cwd="/", stderr=subprocess.DEVNULL, **run_as,
    )  # fmt: skip
    standby = make_conninfo(primary, host=str(socket))
    both = make_conninfo(primary, host=f"{socket},{parts['host']}", port="5432,5432")
    try:
        servers = TwoServers(primary, standby, both, process)
        _wait_until_it_answers(servers)
        yield servers
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGINT)
        process.wait(timeout=30)


def _wait_until_it_answers(servers: TwoServers) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            servers.on_standby("SELECT 1")
        except psycopg.OperationalError:
            assert time.monotonic() < until
            time.sleep(0.05)
        else:
            return
