"""Without the driver of Postgres, which an extra brings, a file keeps everything, and who asks for a server is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from variants import each

USED = """
import sys

sys.modules.update(psycopg=None, psycopg_pool=None)  # importing them fails
import langgraph.graph
from langchain_core.embeddings import DeterministicFakeEmbedding

from everthread import Settings, StorageError, open_graph, open_memory

words = DeterministicFakeEmbedding(size=8)
settings, told = Settings(database_url=sys.argv[1], model="offline", web_search="off"), "My dog is called Biscuit."
with open_graph(settings, embeddings=words) as graph:
    answer = graph.invoke({"messages": [("user", told)]}, {"configurable": {"thread_id": "pets"}})
    assert answer["messages"][0].text == told
with open_memory(settings, embeddings=words) as memory:
    memory.export(sys.argv[2])
    assert memory.import_(sys.argv[2])
    assert told in str(memory.recall("dog"))
    memory.forget("pets", messages=[memory.history("pets")[0].message.id])
    assert told not in str(memory.history("pets"))
for url, extra in (("postgres", "local"), ("postgresql://h/d", "postgres")):
    try:
        open_memory(settings.but(database_url=url), embeddings=words)
    except StorageError as error:
        assert f"pip install 'everthread[{extra}]'" in str(error), error
    else:
        raise AssertionError(url)

from everthread.cli.main import main

sys.argv = ["everthread", "forget", "--thread", "pets", "--prove", "--yes", "--database-url", sys.argv[1]]
main()
"""


@pytest.mark.parametrize("storage", each(["sqlite", "json"], quick=1))
def test_a_file_needs_no_driver_of_postgres(tmp_path: Path, storage: str) -> None:
    arguments = [f"{storage}:///{tmp_path / 'memory'}", str(tmp_path / "all.jsonl")]
    done = subprocess.run([sys.executable, "-c", USED, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Nothing of it was found." in done.stdout, done.stdout
