"""How much of what is recalled was asked for: PrecisionMemBench, `python -m bench.precision --data beliefs.seed.json`.

The fixtures are those of https://github.com/tenurehq/precisionMemBench (MIT), in one folder: beliefs, cases, sessions.
Each belief is said as one message, in a conversation of its own, in the words that the benchmark gives all contestants;
each scope is a user of its own, and a case is asked through the nodes `memory_retrieval` and `pairing`. What is pinned,
and what a relation brings, the benchmark adds and takes away itself, as here. Precision and recall are means over the
cases that have one; drift is what of a session's memories was not asked for.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from langchain_core.messages import HumanMessage

from bench.kept_vectors import KeptVectors
from everthread.nodes.memory_retrieval import memory_retrieval
from everthread.nodes.pairing import pairing
from everthread.runtime.resources import Resources
from everthread.runtime.turn import Turn
from everthread.settings.settings import Settings

MOST = 20
"""Beliefs in a prompt, pinned ones among them, where a case says nothing."""

USER = "test-user"

Belief = dict[str, Any]


class Row(NamedTuple):
    """Of one case: shares, None where the benchmark counts none, and whether nothing was wanted, and nothing came."""

    precision: float | None
    recall: float | None
    exact: bool


class Beliefs:
    """What was said, and what of it is found for a case."""

    def __init__(self, resources: Resources, seed: Sequence[Belief]) -> None:
        self._resources = resources
        self.known = {belief["_id"]: belief for belief in seed}

    async def say(self, belief: Belief, *, again: int = 0) -> None:
        """Say a belief, or say it again with more names."""
        self.known[belief["_id"]] = belief
        words = [belief["canonical_name"], *belief["aliases"], belief["content"], belief["why_it_matters"]]
        text = " ".join(word for word in words if word)
        user = f"{belief['user_id']}/{belief['scope'][0]}"
        thread = f"{user}/{belief['_id']}"
        await self._resources.of_user(user).archive.add_messages(thread, [HumanMessage(text, id=f"m{again}")])

    async def found(self, user: str, scopes: Sequence[str], query: str, most: int = MOST) -> list[str]:
        """The beliefs that are recalled, without the pinned ones."""
        own = [b for b in self.known.values() if b["user_id"] == user and not {*scopes}.isdisjoint(b["scope"])]
        pinned = [b["_id"] for b in own if _is_pinned(b)]
        found: dict[str, None] = {}
        for scope in scopes if query.strip() and most else ():
            found |= dict.fromkeys(id_ for id_ in await self._recalled(f"{user}/{scope}", query) if id_ not in pinned)
        for relation in [self.known[id_] for id_ in list(found)]:
            parts = relation.get("participants") or [] if relation["type"] == "relation" else []
            found |= dict.fromkeys(id_ for id_ in parts if id_ not in pinned and self.known.get(id_) in own)
        return list(found)[: max(0, most - len(pinned))]

    async def _recalled(self, user: str, query: str) -> list[str]:
        turn = Turn(self._resources, self._resources.settings.but(user_id=user), {"configurable": {"thread_id": user}})
        state: Any = {"messages": [HumanMessage(query, id="question")]}
        state |= {"recall": (await memory_retrieval(state, turn))["recall"]}
        state |= await pairing(state, turn)
        return [memory.thread_id.rpartition("/")[2] for memory in state["recall"].memories]


def _is_pinned(belief: Belief) -> bool:
    ended = belief.get("superseded_by") or belief.get("resolved_at")
    return bool(belief["pinned"]) and belief["type"] != "open_question" and not ended


def judged(found: Sequence[str], wanted: set[str]) -> Row:
    hits = len(wanted & {*found})
    nothing = not found and not wanted
    precision = None if nothing else hits / len(found) if found else 0.0
    return Row(precision, hits / len(wanted) if wanted else None, set(found) == wanted)


async def cases(beliefs: Beliefs, folder: Path) -> list[Row]:
    rows = []
    for case in json.loads((folder / "retrieval.cases.json").read_text()):
        expected = case["expect"].get("relevantBeliefs") or {}
        wanted = set(expected.get("shouldOnlyInclude", expected.get("mustInclude", [])))
        most = case.get("budget", {}).get("maxBeliefs", MOST)
        found = await beliefs.found(case.get("userId", USER), case["scope"], case["query"], most)
        rows.append(judged(found, wanted))
        if not rows[-1].exact:
            print(f"{case['caseId']}: {sorted(wanted - {*found})} missing, {sorted({*found} - wanted)} too many")
    return rows


async def sessions(beliefs: Beliefs, folder: Path) -> list[Row]:
    rows = []
    for case in json.loads((folder / "session-retrieval.cases.json").read_text()):
        for number, turn in enumerate(case["turns"]):
            found = await beliefs.found(USER, turn["scope"], turn["userMessage"])
            expected = turn["expect"].get("relevantBeliefs") or {}
            wanted = set(expected.get("shouldOnlyInclude", expected.get("mustInclude", [])))
            rows.append(judged(found, wanted))
            if created := turn.get("createBeliefAtTurn"):
                await beliefs.say(created)
            if (changed := turn.get("updateBeliefAtTurn")) and (names := changed.get("addAliases")):
                known = beliefs.known[changed["beliefId"]]
                await beliefs.say(known | {"aliases": [*known["aliases"], *names]}, again=number + 1)
    return rows


async def run(data: Path, seed: Sequence[Belief], folder: Path, keep: Path) -> dict[str, float]:
    settings = Settings(data_dir=folder, database_url="sqlite", web_search="off", timeouts={"embedding": 600})
    resources = Resources(settings, embeddings=KeptVectors(keep / "vectors.db"))
    await resources.open()
    beliefs = Beliefs(resources, seed)
    for belief in seed:
        await beliefs.say(belief)
    single, in_session = await cases(beliefs, data.parent), await sessions(beliefs, data.parent)
    await resources.close()
    return {
        **dict(_means(single)),
        "drift": fmean(1 - row.precision if row.precision is not None else 0 for row in in_session),
        **{f"session {name}": value for name, value in _means(in_session)},
    }


def _means(rows: Sequence[Row]) -> Iterator[tuple[str, float]]:
    yield "precision", fmean(row.precision for row in rows if row.precision is not None)
    yield "recall", fmean(row.recall for row in rows if row.recall is not None)
    yield "exactly right", fmean(row.exact for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="beliefs.seed.json, with the other fixtures beside it")
    parser.add_argument("--keep", type=Path, help="where vectors stay for the next run")
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="everthread-bench-") as folder:
        figures = asyncio.run(
            run(options.data, json.loads(options.data.read_text()), Path(folder), options.keep or Path(folder))
        )
    print("\n".join(f"{name}: {value:.3f}" for name, value in figures.items()))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
