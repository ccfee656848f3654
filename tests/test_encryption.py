"""Encryption at rest: nothing that was said is readable in the data folder, and all works as without it."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest
from conversation import EchoModel, open_with, say
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from bench.server_folder import stop_server
from everthread import Settings, Summary, open_graph
from everthread.state.search_records import SearchResult
from everthread.storage.embedded.server import ensure_server
from everthread.storage.encryption import new_master_key
from everthread.storage.search_cache import SearchCache

Kind = Literal["postgres", "sqlite", "json"]
KINDS: list[Kind] = ["postgres", "sqlite", "json"]
KEY = new_master_key()

CANARY = "quokkaflute"
"""A word that stands in all that is said, and nowhere else."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A data folder of its own."""
    made = Path(tempfile.mkdtemp(prefix="everthread-encryption-"))
    made.chmod(0o711)
    yield made
    stop_server(made)
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(params=KINDS)
def plain(request: pytest.FixtureRequest, settings: Settings, folder: Path) -> Settings:
    """Settings on each storage, in a folder of its own, without encryption."""
    return settings.but(database_url=request.param, data_dir=folder, database_schema="everthread")


@pytest.fixture
def stored(plain: Settings) -> Settings:
    """The same with encryption."""
    return plain.but(encryption_key=KEY)


def opened(settings: Settings, **values: Any) -> open_graph:
    embeddings = DeterministicFakeEmbedding(size=8)
    return open_with(settings, **{"model": EchoModel(prompts=[]), "embeddings": embeddings, **values})


async def fill(settings: Settings) -> None:
    """Have a canary in everything that is stored."""
    async with opened(settings, message_threshold=6, keep_recent=2, profile="sliding_summary") as graph:
        for n in range(6):
            await say(graph, f"My name is {CANARY}{n} and I live in {CANARY}. My dog is called {CANARY}{n}.")
        await say(graph, f"/pin My {CANARY} is allergic to nuts.")
        user = graph.resources.of_user("ada")  # type: ignore[attr-defined]
        call = {"name": "look", "args": {"what": CANARY}, "id": f"{CANARY}-call"}
        await user.archive.own_thread("t2", f"about {CANARY}")
        await user.archive.add_messages(
            "t2",
            [
                HumanMessage(f"look for {CANARY}", id="m1", name=f"{CANARY}-person"),
                AIMessage("", id="m2", tool_calls=[call]),
                ToolMessage(f"found {CANARY}", id="m3", tool_call_id=f"{CANARY}-call"),
                AIMessage(f"It is {CANARY}.", id="m4"),
            ],
        )
        summary = Summary(
            id="s1", level=1, content=f"they spoke of {CANARY}", source_ids=("m1", "m2"), tokens=5, covers=2,
            rejected=f"{CANARY} is missing",
        )  # fmt: skip
        await user.archive.add_summary("t2", summary)
        await graph.resources.background.settled(30)  # type: ignore[attr-defined]
        result = SearchResult(title=CANARY, url=f"https://example.org/{CANARY}", content=CANARY, engine="e")
        await SearchCache(graph.resources.database).put(["e", CANARY], [result], 900)  # type: ignore[attr-defined]


def found_in(folder: Path, word: str = CANARY) -> list[str]:
    """The files of a folder in which a word stands, in any of the ways in which text is written."""
    forms = [word.encode(), word.encode("utf-16-le"), word.upper().encode()]
    return [
        str(file.relative_to(folder)) for file in sorted(folder.rglob("*"))
        if file.is_file() and any(form in file.read_bytes() for form in forms)
    ]  # fmt: skip


async def checkpoint(settings: Settings) -> None:
    """Have the server write everything from its memory to its files."""

    def written() -> None:
        assert settings.data_dir is not None
        with psycopg.connect(ensure_server(settings.data_dir), autocommit=True) as connection:
            connection.execute("CHECKPOINT")

    if settings.storage_kind == "postgres":
        await asyncio.to_thread(written)


async def test_nothing_that_was_said_is_in_the_files(stored: Settings, folder: Path) -> None:
    await fill(stored)
    await checkpoint(stored)
    assert found_in(folder) == []


async def test_the_canary_is_found_without_encryption(plain: Settings, folder: Path) -> None:
    await fill(plain)
    await checkpoint(plain)
    assert found_in(folder)
