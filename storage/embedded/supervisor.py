"""The process that keeps one embedded Postgres server for as long as somebody uses it.

It runs by file path, apart from the package, and imports nothing but the standard library: so it starts fast
and stays small. Every client holds a shared lock on `clients.lock`, which the kernel drops however the client
dies. Once no lock is left for the grace period, the supervisor stops the server and leaves.

Locks, all `flock` in the data folder: `start.lock` is held by whoever starts or stops the server,
`supervisor.lock` by the supervisor for its lifetime (its pid is inside), `clients.lock`, shared, by the clients.
"""

import contextlib
import ctypes
import fcntl
import json
import logging
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

START_LOCK = "start.lock"
CLIENTS_LOCK = "clients.lock"
SUPERVISOR_LOCK = "supervisor.lock"
LOG = "server.log"

_FAST_STOP_S = 30.0
_QUICK_STOP_S = 5.0
_CHECK_S = 1.0
_PR_SET_PDEATHSIG = 1

_logger = logging.getLogger(__name__)


class Orders(NamedTuple):
    """What the supervisor is to run, as one JSON list on its command line."""

    data_dir: str
    pgdata: str
    socket_dir: str
    grace: float
    account: list[int] | None
    command: list[str]


def take_lock(path: Path, operation: int, wait: float = 0.0) -> int | None:
    """Take an flock (`LOCK_SH`, `LOCK_EX`); return its descriptor, or None if not free in `wait` seconds."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + wait
    pause = 0.005
    while True:
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                return None
        else:
            return descriptor
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def drop_lock(descriptor: int) -> None:
    """Release a lock for good, also where a process forked meanwhile still has the descriptor open."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _is_free(path: Path, operation: int) -> bool:
    """Tell whether the lock could be taken at this moment; take nothing."""
    descriptor = take_lock(path, operation)
    if descriptor is None:
        return False
    drop_lock(descriptor)
    return True


def _command_line(pid: int) -> str:
    """Return the arguments of a process, each followed by a blank; empty if there is no such process."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" "))
        return ""
    ps = ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)]
    shown = subprocess.run(ps, capture_output=True, text=True, check=False)  # noqa: S603
    return shown.stdout.strip() + " " if shown.stdout.strip() else ""


def _running_postmaster(pgdata: Path) -> int | None:
    """Return the pid of the Postgres server that runs on this cluster, or None.

    A pid file alone proves nothing: the server may have been killed, and its pid given to another process.
    """
    pid = _noted_pid(pgdata)
    return pid if pid is not None and f"/postgres -D {pgdata} " in _command_line(pid) else None


def stop_unsupervised(pgdata: Path) -> None:
    """Stop the server of this cluster that lost its supervisor, and wait until it is gone."""
    pid = _running_postmaster(pgdata)
    if pid is not None:
        _logger.warning("stopping the server %d: it has no supervisor", pid)
        _stop(pid, lambda: _running_postmaster(pgdata) != pid)


def is_supervised(data_dir: Path) -> bool:
    """Tell whether the server of this folder has a supervisor."""
    return not _is_free(data_dir / SUPERVISOR_LOCK, fcntl.LOCK_SH)


def log_tail(log: Path, offset: int) -> str:
    """Return the last lines that were logged after an offset (bytes), in one line."""
    lines = log.read_bytes()[offset:].decode(errors="replace").split("\n") if log.exists() else []
    return " | ".join([line.strip() for line in lines if line.strip()][-4:]) or "it is empty"


def _noted_pid(pgdata: Path) -> int | None:
    try:
        return int((pgdata / "postmaster.pid").read_text(errors="replace").splitlines()[0])
    except (OSError, ValueError, IndexError):
        return None


def _wait_until(condition: Callable[[], bool], patience: float) -> bool:
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
    return True


def _stop(pid: int, is_gone: Callable[[], bool]) -> None:
    for signal_number, patience in (  # fast shutdown, immediate shutdown, the last resort
        (signal.SIGINT, _FAST_STOP_S),
        (signal.SIGQUIT, _QUICK_STOP_S),
        (signal.SIGKILL, _QUICK_STOP_S),
    ):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal_number)
        if _wait_until(is_gone, patience):
            return


def _orphans(pgdata: Path) -> list[int]:
    """List the server processes of this cluster; where there is no /proc, none is ever found."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        with contextlib.suppress(OSError):
            if os.readlink(entry / "cwd") == str(pgdata) and _command_line(pid).startswith("postgres:"):
                found.append(pid)
    return found


def _make_way(pgdata: Path, socket_dir: Path) -> None:
    """Clear what a killed server or supervisor left behind, so that a new server can start on the cluster.

    A stale pid file is not removed if that can be avoided: it leads Postgres to the shared memory of backends
    that may still write. Postgres itself drops a file that names its own parent, once that memory is free.
    """
    stop_unsupervised(pgdata)
    for pid in _orphans(pgdata):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGQUIT)
    _wait_until(lambda: not _orphans(pgdata), _QUICK_STOP_S)
    for socket in socket_dir.glob(".s.PGSQL.*"):
        socket.unlink(missing_ok=True)
    pid_file = pgdata / "postmaster.pid"
    if _noted_pid(pgdata) is None:
        pid_file.unlink(missing_ok=True)
    else:
        lines = pid_file.read_text(errors="replace").splitlines()
        with open(os.open(pid_file, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW), "w") as file:
            file.write("\n".join([str(os.getpid()), *lines[1:]]) + "\n")


def _spawn(orders: Orders) -> subprocess.Popen[bytes]:
    """Start Postgres as a child that the kernel shuts down when the supervisor dies (on Linux)."""
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    parent = os.getpid()

    def follow_parent() -> None:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
            if os.getppid() != parent:
                os._exit(1)

    uid, gid = orders.account or (None, None)
    return subprocess.Popen(  # noqa: S603
        orders.command,
        stdin=subprocess.DEVNULL,
        preexec_fn=follow_parent,  # noqa: PLW1509  one thread here, and it must come after the change of uid
        user=uid,
        group=gid,
        extra_groups=None if uid is None else [],
    )


def _start(orders: Orders) -> subprocess.Popen[bytes]:
    """Start Postgres, again and again while backends of a killed server hold its shared memory."""
    log, pgdata = Path(orders.data_dir, LOG), Path(orders.pgdata)
    for _ in range(100):
        offset = log.stat().st_size
        server = _spawn(orders)
        _wait_until(lambda: server.poll() is not None or _noted_pid(pgdata) == server.pid, _QUICK_STOP_S)  # noqa: B023
        if server.poll() is None or "shared memory block" not in log_tail(log, offset):
            break
        time.sleep(0.2)
    return server


def _watch(orders: Orders, server: subprocess.Popen[bytes], wakeups: int) -> None:
    """Return when the server has ended, or is to be stopped: by a signal, or because its folder is gone."""
    data_dir = Path(orders.data_dir)
    check = min(_CHECK_S, max(orders.grace / 3, 0.05))
    deserted_since: float | None = None
    while server.poll() is None and data_dir.exists():
        if select.select([wakeups], [], [], check)[0] and {signal.SIGTERM, signal.SIGINT} & {*os.read(wakeups, 64)}:
            return
        if not _is_free(data_dir / CLIENTS_LOCK, fcntl.LOCK_EX):
            deserted_since = None
        elif deserted_since is None:
            deserted_since = time.monotonic()
        elif time.monotonic() - deserted_since >= orders.grace:
            _stop_if_deserted(data_dir, server)


def _stop_if_deserted(data_dir: Path, server: subprocess.Popen[bytes]) -> None:
    """Stop the server under the start lock, so that no client can come in until it is down."""
    start = take_lock(data_dir / START_LOCK, fcntl.LOCK_EX)
    if start is None:
        return
    try:
        if _is_free(data_dir / CLIENTS_LOCK, fcntl.LOCK_EX):
            _stop(server.pid, lambda: server.poll() is not None)
    finally:
        drop_lock(start)


def _supervise(orders: Orders) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    _make_way(Path(orders.pgdata), Path(orders.socket_dir))
    server = _start(orders)
    try:
        _watch(orders, server, reader)
    finally:
        if server.poll() is None:
            _stop(server.pid, lambda: server.poll() is not None)
    if server.returncode != 0:
        _logger.error("the server ended with status %s", server.returncode)
    with contextlib.suppress(OSError):
        os.rmdir(orders.socket_dir)


def main(argument: str) -> None:
    """Take the supervisor's lock, go to the background, and supervise; exits with 1 if the lock is held."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s supervisor %(levelname)s: %(message)s")
    orders = Orders(*json.loads(argument))
    lock = take_lock(Path(orders.data_dir, SUPERVISOR_LOCK), fcntl.LOCK_EX, wait=2.0)
    if lock is None:
        sys.exit("another supervisor holds the lock")
    child = os.fork()
    if child:
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(child).encode(), 0)
        os._exit(0)
    try:
        _supervise(orders)
    except Exception:
        _logger.exception("cannot keep the server")
        raise SystemExit(1) from None


if __name__ == "__main__":
    main(sys.argv[1])
