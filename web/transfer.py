"""Export and import: everything, or one conversation, as a file; and a file, of ours or of another product, back."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.background import BackgroundTask
from starlette.datastructures import UploadFile
from starlette.responses import FileResponse, Response

from ..maintenance.importing import Import, ImportProgress, in_our_format
from ..maintenance.transfer import export_rows
from ..maintenance.transfer_format import check_file
from ..maintenance.transfer_lines import Counts
from ..state.errors import EverthreadError, InputError
from .visit import Visit, new_job_id

logger = logging.getLogger(__name__)

_LARGEST: Final = 1_000_000_000
"""Bytes of a file that is taken in."""

_PART: Final = 1 << 20


@dataclass
class Job:
    """An import that runs or has ended.

    Attributes:
        user_id: whose.
        name: that of the file.
        progress: how far it is; None while the file is checked.
        counts: what was new, once it has ended.
        error: why it has ended before: one sentence.
    """

    user_id: str
    name: str
    progress: ImportProgress | None = None
    counts: Counts | None = None
    error: str | None = None
    task: asyncio.Task[None] | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.counts is not None or self.error is not None


async def transfer(visit: Visit) -> Response:
    """The page with both forms; with a job, how far it is."""
    if not visit.asked("job"):
        return await visit.show("transfer.html", job=None, job_id="")
    job = visit.site.jobs.get(visit.asked("job"))
    if job is None or job.user_id != visit.user_id:
        raise InputError("There is no such import: it ended with the process in which it ran.")
    template = "import_part.html" if visit.is_part else "transfer.html"
    return await visit.show(template, job=job, job_id=visit.asked("job"))


async def export(visit: Visit) -> Response:
    """The user's conversations, or one, as a file."""
    thread = visit.asked("thread")
    if thread:
        await visit.thread(thread)
    file = await asyncio.to_thread(_new_file)
    try:
        await export_rows(visit.user.rows, file, thread=thread or None, written=lambda _done, _all: None)
    except BaseException:
        await asyncio.to_thread(_remove, file)
        raise
    headers = {"Content-Disposition": 'attachment; filename="everthread.jsonl"'}
    return FileResponse(file, media_type="application/jsonl", headers=headers, background=BackgroundTask(_remove, file))


async def begin(visit: Visit) -> Response:
    """Take a file in, and begin to import it.

    Raises:
        InputError: there is no file, it is too large, or another import of the user runs.
    """
    if any(job.user_id == visit.user_id and not job.is_over for job in visit.site.jobs.values()):
        raise InputError("Another import is still running: wait for its end.")
    if int(visit.request.headers.get("content-length") or _LARGEST + 1) > _LARGEST:
        raise InputError(
            f"The file is too large: expected at most {_LARGEST // 1_000_000} MB. Use `everthread import`."
        )
    async with visit.request.form(max_files=1, max_fields=1) as form:
        given = form.get("file")
        if not isinstance(given, UploadFile) or not given.filename:
            raise InputError("No file was chosen.")
        file = await asyncio.to_thread(_new_file)
        await _received(given, file)
        job = Job(visit.user_id, given.filename)
    id_ = new_job_id()
    for old, ended in list(visit.site.jobs.items()):
        if ended.user_id == visit.user_id:
            del visit.site.jobs[old]
    visit.site.jobs[id_] = job
    job.task = asyncio.create_task(_run(visit, job, file))
    return visit.go("transfer", job=id_)


async def _run(visit: Visit, job: Job, file: Path) -> None:
    try:
        async with in_our_format(file, visit.user_id) as ready:
            await _import(visit, job, ready)
    except EverthreadError as error:
        job.error = str(error).replace(str(file), job.name)
    except Exception as error:
        logger.exception("An import failed.")
        job.error = f"The import failed with {type(error).__name__}: the log says more."
    finally:
        await asyncio.to_thread(_remove, file)


async def _import(visit: Visit, job: Job, file: Path) -> None:
    resources = visit.site.graph.resources

    def advance(progress: ImportProgress) -> None:
        job.progress = progress

    work = Import(visit.user.rows, file, await asyncio.to_thread(check_file, file), advance)
    if resources.store is None:
        job.counts = await work.with_vectors(resources.embedder)
    else:
        job.counts = await work.without_vectors()
        visit.user.embed_later(resources.settings.timeouts.embedding)


async def _received(given: UploadFile, file: Path) -> None:
    with await asyncio.to_thread(file.open, "wb") as output:
        while part := await given.read(_PART):
            await asyncio.to_thread(output.write, part)


def _new_file() -> Path:
    """An empty file that only its owner may read."""
    handle, name = tempfile.mkstemp(prefix="everthread-", suffix=".jsonl")
    os.close(handle)
    return Path(name)


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink()
