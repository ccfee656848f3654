"""A memory alone needs no LangGraph: what is imported, and the tables that a graph finds when it comes later."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conversation import EchoModel, open_with
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from variants import each

from everthread import Settings, open_graph
from everthread.state.conversation import ConversationState
from everthread.state.update import TURN_CHANNELS
from everthread.storage.postgres.migrate import LAST_OF_CHECKPOINTS

USED = """
import sys
from langchain_core.embeddings import DeterministicFakeEmbedding

from everthread import Settings, open_memory

words = DeterministicFakeEmbedding(size=8)
with open_memory(Settings(database_url=sys.argv[1]), user_id="ada", embeddings=words) as memory:
    said = [("user", "My dog is called Biscuit."), ("assistant", "A fine name.")]
    memory.remember(said + [("user", f"Cat number {i} is asleep.") for i in range(40)], thread_id="t1")
    memory.settled()
    assert memory.recall("What is my dog called?")[0].fragments[0].content == "My dog is called Biscuit."
    assert memory.context("And my dog?", thread_id="t1")
    assert memory.facts() and memory.summaries("t1") and memory.threads()
    memory.export(sys.argv[2])
    memory.import_(sys.argv[2])
    memory.forget("t1", messages=[memory.history("t1")[-1].message.id])
    memory.delete("t1")
print(sorted({name.split(".")[0] for name in sys.modules} & {"langgraph", "langchain", "deepagents"}))
"""


@pytest.mark.parametrize("storage", each(["sqlite", "json"], quick=1))
def test_nothing_of_langgraph_or_of_agents_is_imported(tmp_path: Path, storage: str) -> None:
    url = f"{storage}:///{tmp_path / 'memory'}"
    done = subprocess.run(
        [sys.executable, "-c", USED, url, str(tmp_path / "all.jsonl")], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.slow
def test_nothing_of_langgraph_is_imported_on_a_postgres_that_has_its_tables(tmp_path: Path, settings: Settings) -> None:
    with open_graph(settings):
        pass
    code = USED.replace("Settings(database_url=sys.argv[1])", f"Settings(**{_of(settings)!r})")
    done = subprocess.run(
        [sys.executable, "-c", code, "", str(tmp_path / "all.jsonl")], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


def _of(settings: Settings) -> dict[str, object]:
    url = settings.database_url.get_secret_value() if settings.database_url else None
    return {"database_url": url, "database_schema": settings.database_schema, "data_dir": str(settings.data_dir)}


@pytest.mark.slow
def test_the_tables_are_those_that_langgraph_makes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'memory'}"
    code = f"from everthread import Settings, open_memory\nwith open_memory(Settings(database_url={url!r})): pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    ours, theirs = sqlite3.connect(tmp_path / "memory"), sqlite3.connect(":memory:")
    SqliteSaver(theirs).setup()
    for table in ("checkpoints", "writes"):
        columns = f"SELECT name, upper(type), \"notnull\", dflt_value, pk FROM pragma_table_info('{table}')"
        assert ours.execute(columns).fetchall() == theirs.execute(columns).fetchall()


def test_the_last_of_langgraphs_migrations_on_postgres_is_known() -> None:
    assert len(AsyncPostgresSaver.MIGRATIONS) - 1 == LAST_OF_CHECKPOINTS


def test_the_channels_of_one_turn_are_those_that_are_not_checkpointed() -> None:
    kinds = ConversationState.__annotations__
    assert {name for name, kind in kinds.items() if "UntrackedValue" in str(kind)} == set(TURN_CHANNELS)


async def test_a_graph_goes_on_where_a_memory_alone_began(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'memory'}"
    code = (
        f"from everthread import Settings, open_memory\nwith open_memory(Settings(database_url={url!r})) as memory:\n"
        "    memory.remember([('user', 'My dog is called Biscuit.')], thread_id='t1')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    async with open_with(Settings(database_url=url), model=EchoModel(prompts=[])) as graph:
        config: Any = {"configurable": {"thread_id": "t1"}}
        state = await graph.ainvoke({"messages": [("user", "And what does he eat?")]}, config)
        assert [message.type for message in state["messages"]] == ["human", "human", "ai"]
        assert (await graph.aget_state(config)).values["messages"] == state["messages"]
