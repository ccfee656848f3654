"""Every schema that the program ever had opens, and the version before goes on beside today's."""

from __future__ import annotations

import asyncio
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conversation import counting_model, say
from earlier_versions import OF_SCHEMA, checked_out, say_to, talking
from langchain_core.embeddings import DeterministicFakeEmbedding
from test_upgrade import SAID

from everthread import Settings, examine, open_graph

pytestmark = pytest.mark.slow

DUMPS = Path(__file__).parent / "data" / "versions.tar.xz"
"""By the number of steps of the Postgres schema, what `earlier_versions.py` made each storage with: eight turns."""

with tarfile.open(DUMPS) as _archive:
    NAMES = sorted(_archive.getnames())


@pytest.fixture(params=NAMES)
def earlier(request: pytest.FixtureRequest) -> Settings:
    """Settings for a copy of what an earlier version made."""
    with tarfile.open(DUMPS) as archive:
        file = archive.extractfile(request.param)
        assert file is not None
        content = file.read()
    common: dict[str, Any] = {"web_search": "off", "summary_model": "extractive"}
    kind = request.param.partition(".")[2]
    if kind == "sql":
        url, schema = request.getfixturevalue("server_url"), request.getfixturevalue("new_schema")
        restore(url, schema, content.decode())
        return Settings(database_url=url, database_schema=schema, **common)
    folder: Path = request.getfixturevalue("tmp_path")
    (folder / f"memory.{kind}").write_bytes(content)
    return Settings(database_url="sqlite" if kind == "db" else "json", data_dir=folder, **common)


def restore(url: str, schema: str, dump: str) -> None:
    """Run a dump of the schema `before` under another name."""
    dump = re.sub(r"(?m)^\\.*$", "", dump).replace("SCHEMA before", f"SCHEMA {schema}")
    dump = re.sub(r"\bbefore\.", f"{schema}.", dump)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
        connection.execute(dump.encode(), prepare=False)


async def test_what_each_version_made_opens_answers_and_has_lost_nothing(earlier: Settings) -> None:
    model, embeddings = counting_model("New {n}."), DeterministicFakeEmbedding(size=8)
    async with open_graph(earlier, model=model, embeddings=embeddings) as graph:
        user = graph.resources.of_user("ada")
        assert [message.text for message in await user.archive.messages("t1")] == SAID
        asked = await say(graph, "What is my dog called?", to="t2")
        assert "My dog is called Biscuit." in {
            fragment.content for memory in asked["recall"].memories for fragment in memory.fragments
        }
        state = await say(graph, "And now?")
        assert [m.text for m in state["messages"]] == [*SAID, "And now?", "New 2."]
        assert (state["recall"].error, state["after_reply"].error) == (None, None)
        await graph.asettled()
        (checkup,) = await examine(graph, "ada", "t1")
        assert [finding.problem for finding in checkup.findings if not finding.harmless] == []


async def test_the_version_before_goes_on_beside_todays_and_started_later_it_says_what_to_do(
    server_url: str, new_schema: str, tmp_path: Path
) -> None:
    try:
        before = checked_out(OF_SCHEMA[max(OF_SCHEMA)], tmp_path)
    except subprocess.CalledProcessError:
        pytest.skip("this is no clone with its history")
    where = {"database_url": server_url, "database_schema": new_schema}
    old = talking(before, "t1", **where)
    assert old.stdout is not None
    assert await asyncio.to_thread(old.stdout.readline) == "open\n"
    assert await asyncio.to_thread(say_to, old, "One.", "Two.") == ["Reply 1.", "Reply 2."]

    settings = Settings(web_search="off", summary_model="extractive", **where)
    model, embeddings = counting_model("New {n}."), DeterministicFakeEmbedding(size=8)
    async with open_graph(settings, model=model, embeddings=embeddings) as graph:  # which migrates
        await say(graph, "Three.")
        replies, *_ = await asyncio.gather(
            asyncio.to_thread(say_to, old, "Four.", "Five.", "Six."),
            say(graph, "Seven."),
            say(graph, "Eight.", to="t2"),
        )
        assert replies == ["Reply 3.", "Reply 4.", "Reply 5."]
        assert old.stdin is not None
        old.stdin.close()
        assert await asyncio.to_thread(old.wait, 60) == 0
        await graph.asettled()
        user = graph.resources.of_user("ada")
        said = [message.text for message in await user.archive.messages("t1")]
        assert {*said[::2]} == {"One.", "Two.", "Three.", "Four.", "Five.", "Six.", "Seven."}
        assert len(said) == 14
        await say(graph, "Nine.", to="t2")  # which embeds what the version before could not
        await graph.asettled()
        assert await user.rows.fetch("embedding.count_pending") == [{"n": 0}]
        for thread_id in ("t1", "t2"):
            assert (await examine(graph, "ada", thread_id))[0].findings == ()

    late = talking(before, "t1", **where)
    _, told = await asyncio.to_thread(late.communicate)
    assert re.search(r"is at version \d+, which this everthread does not know: upgrade it\.$", told.splitlines()[-1])
