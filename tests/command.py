"""The `everthread` command as tests call it: in this process, where it starts at once, or in one of its own."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from everthread.cli import main

EVERTHREAD = str(Path(sys.executable).parent / "everthread")
Done = subprocess.CompletedProcess[str]


def run(
    environment: dict[str, str],
    *words: str,
    typed: str | bytes = "",
    cwd: Path | None = None,
    encoding: str = "utf-8",
) -> Done:
    """Call the command with what is typed into it: like a process, but in this one."""
    stdin = _stream(typed.encode("utf-8", "surrogateescape") if isinstance(typed, str) else typed, encoding)
    stdout, stderr = _stream(encoding=encoding), _stream(encoding=encoding)
    with _process_of(environment, cwd) as patched:
        for name, stream in (("stdin", stdin), ("stdout", stdout), ("stderr", stderr)):
            patched.setattr(sys, name, stream)
        patched.setattr(sys, "argv", [EVERTHREAD, *words])
        with ThreadPoolExecutor(1) as thread:  # where no event loop runs
            code = thread.submit(_exit_code).result()
    return subprocess.CompletedProcess(words, code, _text(stdout), _text(stderr))


def run_process(environment: dict[str, str], *words: str, typed: str = "") -> Done:
    """Call the command in a process of its own."""
    return subprocess.run(
        [EVERTHREAD, *words], input=typed, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


class _Left(BaseException):
    """The command would end its process here."""


def _exit_code() -> int:
    try:
        main.main()
    except _Left as left:
        return int(left.args[0])
    return 0


def _leave(code: int) -> None:
    raise _Left(code)


@contextlib.contextmanager
def _process_of(environment: dict[str, str], cwd: Path | None) -> Iterator[pytest.MonkeyPatch]:
    """What the command changes of its process is as before afterwards."""
    root = logging.getLogger()
    handlers, level, before = root.handlers[:], root.level, dict(os.environ)
    with pytest.MonkeyPatch.context() as patched:
        if cwd is not None:
            patched.chdir(cwd)
        patched.setattr(main, "leave", _leave)
        os.environ.clear()
        os.environ.update(environment)
        try:
            yield patched
        finally:
            os.environ.clear()
            os.environ.update(before)
            root.handlers[:], root.level = handlers, level


def _stream(data: bytes = b"", encoding: str = "utf-8") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding, newline="\n", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    buffer: Any = stream.buffer
    return str(buffer.getvalue().decode(stream.encoding))
