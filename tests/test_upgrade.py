"""Storages of the version before the chain had a channel of its own go on: tests/data holds one of each kind."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conversation import counting_model, say, thread
from langchain_core.embeddings import DeterministicFakeEmbedding

from everthread import Settings, examine, open_graph

DATA = Path(__file__).parent / "data"
SAID = [
    text
    for n in range(1, 9)
    for text in (
        f"Remark {n} about the garden and its roses." if n != 2 else "My dog is called Biscuit.",
        f"Reply {n}.",
    )
]


@pytest.fixture(params=["postgres", "sqlite", "json"])
def earlier(request: pytest.FixtureRequest) -> Settings:
    """Settings for a copy of an earlier storage: threads t1 and t2 (hybrid), and t3 whose turn broke off."""

    common: dict[str, Any] = {"web_search": "off", "summary_model": "extractive"}
    if request.param == "postgres":
        schema = request.getfixturevalue("new_schema")
        url = request.getfixturevalue("server_url")
        dump = gzip.decompress((DATA / "before_chain.sql.gz").read_bytes()).decode()
        dump = re.sub(r"(?m)^\\.*$", "", dump).replace("SCHEMA before", f"SCHEMA {schema}")
        dump = re.sub(r"\bbefore\.", f"{schema}.", dump)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
            connection.execute(dump.encode(), prepare=False)
        return Settings(database_url=url, database_schema=schema, **common)
    folder = request.getfixturevalue("tmp_path")
    ending = "db" if request.param == "sqlite" else "json"
    (folder / f"memory.{ending}").write_bytes(gzip.decompress((DATA / f"before_chain.{ending}.gz").read_bytes()))
    return Settings(database_url=request.param, data_dir=folder, **common)


async def test_threads_of_the_version_before_go_on(earlier: Settings) -> None:
    settings, embeddings = earlier, DeterministicFakeEmbedding(size=8)
    async with open_graph(settings, model=counting_model("New {n}."), embeddings=embeddings) as graph:
        state = await say(graph, "And now?")
        assert [m.text for m in state["messages"]] == [*SAID, "And now?", "New 1."]
        assert not any(message.additional_kwargs for message in state["messages"])
        values = (await graph.aget_state(thread())).values
        summaries = [link for link in values["chain"]["links"] if "level" in link]
        assert summaries
        standing = await graph.resources.of_user("ada").archive.standing("t1", recent=0, limit=100)
        assert set(standing.summaries) == {link["id"] for link in summaries}
        assert values["report"]["turn"] == 10

        hybrid = await say(graph, "And the harbour?", to="t2", profile="hybrid")
        assert len(hybrid["messages"]) == 20
        links = (await graph.aget_state(thread("t2"))).values["chain"]["links"]
        assert any(link.get("kept") for link in links)

        unfinished = await say(graph, "Are you back?", to="t3")
        assert [m.text for m in unfinished["messages"]][:2] == ["Do not lose this.", "Are you back?"]
        await graph.asettled()
        for checkup in await examine(graph, "ada"):
            assert [finding.problem for finding in checkup.findings if not finding.harmless] == []


def told_before(earlier: Settings) -> dict[tuple[str, str], tuple[bool, int | None]]:
    """By thread and id, what the earlier version noted of messages: whether they are active, and their chunk."""
    query = "SELECT thread_id, id, active, chunk_id FROM {}messages"
    rows: Any
    if earlier.storage_kind == "json":
        kept = json.loads((earlier.data_dir / "memory.json").read_text())["messages"]["ada"]
        rows = [[row[name] for name in ("thread_id", "id", "active", "chunk_id")] for row in kept]
    elif earlier.storage_kind == "sqlite":
        rows = sqlite3.connect(earlier.data_dir / "memory.db").execute(query.format("")).fetchall()
    else:
        with psycopg.connect(earlier.database_url.get_secret_value()) as connection:
            rows = connection.execute(query.format(f"{earlier.database_schema}.").encode()).fetchall()
    return {(thread_id, id_): (bool(active), chunk) for thread_id, id_, active, chunk in rows}


async def test_what_stands_and_what_is_summarized_is_what_the_version_before_noted(earlier: Settings) -> None:
    before = told_before(earlier)
    assert {chunk for _, chunk in before.values()} == {None, 1, 2, 3, 4}
    async with open_graph(
        earlier, model=counting_model("New {n}."), embeddings=DeterministicFakeEmbedding(size=8)
    ) as graph:
        after = {
            (message.thread_id, message.id): (message.active, message.chunk_id)
            for id_ in ("t1", "t2", "t3")
            for message in await graph.resources.of_user("ada").archive.messages(id_)
        }
    assert after == before


async def test_what_was_known_of_the_user_is_read_again_once(earlier: Settings) -> None:
    embeddings = DeterministicFakeEmbedding(size=8)
    async with open_graph(earlier, model=counting_model("New {n}."), embeddings=embeddings) as graph:
        facts = graph.resources.of_user("ada").facts
        (before,) = await facts.all_facts()
        assert (before.text, before.terms) == ("My dog is called Biscuit", ("biscui", "called", "dog"))
        await say(graph, "And now?")
        await graph.asettled()
        (after,) = await facts.all_facts()
        assert after == before.model_copy(update={"terms": ("biscuit", "call", "dog")})
    async with open_graph(earlier, model=counting_model("New {n}."), embeddings=embeddings) as graph:
        user = graph.resources.of_user("ada")
        assert await user.rows.fetch("facts.outdated", limit=9, characters=9) == []
        assert await user.facts.all_facts() == [after]
