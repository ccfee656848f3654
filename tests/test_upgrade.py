"""Storages of the version before the chain had a channel of its own go on: tests/data holds one of each kind."""

from __future__ import annotations

import gzip
import re
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
        schema = request.getfixturevalue("schema")
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
