"""For `bench/doors.py`: LangGraph's own suite on our checkpointers, and a store of LangGraph's beside ours."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from bench.driving import HashEmbeddings
from bench.server_folder import server_folder
from everthread import MemoryStore, Settings, open_memory
from everthread.storage.open import checkpointer_of, storage_of

LABELS: Final = ("notes", "recipes", "ada", "team")
WORDS: Final = ("bread", "tomatoes", "regatta", "sister", "Kotka", "rests overnight", "at seven", "needs water")


async def conformance(options: argparse.Namespace) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    with server_folder() as folder, TemporaryDirectory() as files:
        for kind in ("postgres", "sqlite", "json"):
            given = {"data_dir": folder} if kind == "postgres" else {"database_url": kind, "data_dir": Path(files)}
            settings = Settings(**given, web_search="off", user_id="ada")
            figures[f"checkpointer, {kind}"] = await _checkpointer(settings)
            figures[f"store, {kind}"] = await _store(settings, options.operations)
    return figures


async def _checkpointer(settings: Settings) -> str:
    storage = storage_of(settings)

    @checkpointer_test(name="everthread")
    async def checkpointer() -> Any:
        yield checkpointer_of(storage)

    report = await validate(checkpointer)
    await storage.close()
    found = [one for one in report.results.values() if one.detected]
    passed, failed = sum(one.tests_passed for one in found), sum(one.tests_failed for one in found)
    return f"{len(found)} capabilities, {passed} tests passed, {failed} failed"


async def _store(settings: Settings, number: int) -> str:
    """How many of random operations have the result that LangGraph's store in memory has."""
    random.seed(20)
    embeddings = HashEmbeddings()
    peer = InMemoryStore(index={"dims": len(embeddings.embed_query("a")), "embed": embeddings, "fields": ["text"]})
    same = 0
    async with open_memory(settings, embeddings=embeddings) as memory:
        store = MemoryStore(memory, fields=["text"])
        for operation in _operations(number):
            for empty in [namespace for namespace, held in peer._data.items() if not held]:
                del peer._data[empty]  # the store in memory lists what it was asked for once, and holds nothing
            same += _plain(await store.abatch([operation])) == _plain(await peer.abatch([operation]))
        await memory.adelete()
    return f"{number} operations, {same} as LangGraph's store in memory"


def _operations(number: int) -> Iterator[Op]:
    for _ in range(number):
        namespace, key = tuple(random.choices(LABELS, k=random.randint(1, 3))), str(random.randrange(12))
        value = {"text": " ".join(random.sample(WORDS, 3)), "stars": random.randrange(5)}
        condition = MatchCondition(random.choice(["prefix", "suffix"]), (random.choice([*LABELS, "*"]),))  # type: ignore[arg-type]  # one of both
        yield random.choice([
            PutOp(namespace, key, value), PutOp(namespace, key, value), PutOp(namespace, key, None),
            GetOp(namespace, key),
            SearchOp(namespace[:1], filter={"stars": {"$gte": random.randrange(5)}}, limit=5000),
            SearchOp(namespace[:1], query=random.choice(WORDS), limit=5000),
            ListNamespacesOp((condition,), max_depth=random.choice([None, 1, 2]), limit=20, offset=random.randrange(3)),
        ])  # fmt: skip


def _plain(results: Any) -> Any:
    """What of a result both must agree on; what was put at once, and is equally like, has no order."""
    (found,) = results
    if isinstance(found, list):
        return sorted(map(str, map(_item, found)))
    return _item(found)


def _item(one: Any) -> Any:
    if not hasattr(one, "key"):
        return one
    score = getattr(one, "score", None)
    return one.namespace, one.key, one.value, None if score is None else round(score, 4)
