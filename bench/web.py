"""How fast the page opens: `python -m bench.web [--messages N] [--facts N] [--storage NAME] [--data FILE]`.

One conversation of so many messages with its pyramid of summaries, a report of each turn, and so many facts, in a
storage of its own (postgres, sqlite or json). Each page is asked for through the app with its guards, as a browser
does: the first time, and ten times more, of which the middle and the slowest are told, in milliseconds; the
processor's time for each, with that of an embedded server; and its size.
`--data` gives a file of lines whose texts are said (JSON with `text`, or plain); `--json` a file for the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage

from bench.server_folder import server_folder
from everthread.facts.rows import store
from everthread.graph.conversation import Conversation
from everthread.graph.open import open_graph
from everthread.maintenance.bulk_embedding import BulkEmbedding
from everthread.runtime.user import User
from everthread.settings.settings import Settings
from everthread.state.fact_records import Fact
from everthread.state.records import Recall, Summary
from everthread.state.report_records import EXCERPT, Recalled, TurnReport
from everthread.state.search_records import SearchOutcome
from everthread.state.turn_records import AfterReply, ContextReport, ReplyReport, Section
from everthread.text.shorten import one_line
from everthread.web.app import web_app

THREAD = "years"
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
WORDS = (
    "garden", "river", "letter", "winter", "train", "harbour", "lamp", "market", "window", "bread", "piano", "mountain",
    "doctor", "ticket", "island", "summer", "kitchen", "neighbour", "coffee", "bridge",
)  # fmt: skip
ROUNDS = 10


def texts(file: Path | None) -> Iterator[str]:
    """What is said, without end."""
    if file is None:
        number = 0
        while True:
            number += 1
            said = " ".join(WORDS[(number * k + k * k) % len(WORDS)] for k in range(1, 25))
            yield f"Remark {number}: {said}."
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    while True:
        for line in lines:
            yield json.loads(line)["text"] if line.startswith("{") else line


async def filled(user: User, said: Iterator[str], messages: int, facts: int) -> None:
    """Fill the archive of a user."""
    ids, questions = [], []
    for start in range(0, messages, 500):
        part: list[Any] = []
        for n in range(start, min(start + 500, messages), 2):
            moment = {"created_at": (BEGIN + timedelta(minutes=30 * n)).isoformat()}
            part.append(HumanMessage(next(said), id=f"q{n}", additional_kwargs=moment))
            part.append(AIMessage(next(said), id=f"a{n}", additional_kwargs=moment))
            questions.append(part[-2].text)
        await user.archive.add_messages(THREAD, part)
        ids += [str(message.id) for message in part]
    await summarized(user, ids, said)
    for turn, question in enumerate(questions, start=1):
        await user.reports.keep(THREAD, report(turn, question, ids[2 * turn - 2]))
    known = [fact(n, next(said)) for n in range(facts)]
    await user.rows.exclusive(lambda rows: store(rows, known))


async def summarized(user: User, ids: list[str], said: Iterator[str]) -> None:
    """Summaries of three, of three of these, and so on."""
    covers, level = 1, 0
    while len(ids) >= 3:
        level, covers = level + 1, covers * 3
        above = []
        for start in range(0, len(ids) - len(ids) % 3, 3):
            sources = ids[start : start + 3]
            id_ = Summary.id_for(THREAD, level, sources)
            made = Summary(id=id_, content=next(said) * 3, level=level, source_ids=tuple(sources), covers=covers)
            await user.archive.add_summary(THREAD, made)
            above.append(id_)
        ids = above


def report(turn: int, question: str, message_id: str) -> TurnReport:
    """The report of a turn with twelve memories."""
    moment = BEGIN + timedelta(minutes=60 * (turn - 1)) - timedelta(seconds=2)
    memory = Recalled(
        source_type="message", source_ids=(message_id,), thread_id=THREAD, similarity=0.8, score=5.0, vector_rank=1,
        rank=1, created_at=moment, excerpt=one_line(question * 2, EXCERPT), used=0.2,
    )  # fmt: skip
    names = ("system", "facts", "summaries", "recent", "results", "memories", "question")
    sections = tuple(Section(name=name, tokens=100 * k + turn % 90, items=k) for k, name in enumerate(names, start=1))
    return TurnReport(
        turn=turn,
        question=one_line(question, EXCERPT),
        started_at=moment,
        milliseconds=900.0 + turn % 400,
        nodes={"memory_retrieval": 40.0, "keyword_check": 2.0, "context_assembly": 9.0, "llm_call": 700.0 + turn % 300},
        search=SearchOutcome(decided_by="keywords", needed=False, reason="It brings all it needs."),
        recall=Recall(),
        hits=40,
        memories=(memory,) * 12,
        context=ContextReport(budget=7000, tokens=sum(section.tokens for section in sections), sections=sections),
        reply=ReplyReport(model="bench", milliseconds=700, input_tokens=2800, output_tokens=90, cached_tokens=1200),
        after_reply=AfterReply(archived=2),
    )


def fact(number: int, text: str) -> Fact:
    """A fact; each tenth is superseded."""
    said_at, over = BEGIN + timedelta(hours=number), number % 10 == 9
    return Fact(
        id=str(uuid.uuid5(uuid.NAMESPACE_OID, str(number))), kind="biography", text=text, terms=tuple(text.split()[:8]),
        attribute=f"thing {number // 10}", value=str(number), thread_id=THREAD, source_id=f"q{2 * number}",
        said_at=said_at, confirmed_at=said_at, valid_from=said_at, state="superseded" if over else "current",
        valid_to=said_at + timedelta(days=30) if over else None,
    )  # fmt: skip


async def pages(user: User, messages: int) -> dict[str, str]:
    """By name, the path of each page."""
    summaries = await user.archive.summaries(THREAD)
    top, low = summaries[-1].id, summaries[0].id
    facts = await user.facts.all_facts()
    middle = f"q{messages // 4 * 2}"
    asked = {
        "conversations": ("threads", {}),
        "conversation, the newest": ("thread", {"id": THREAD}),
        "conversation, in the middle": ("thread", {"id": THREAD, "at": middle}),
        "a turn explained": ("turn", {"thread": THREAD, "turn": messages // 4}),
        "a prompt": ("prompt", {"thread": THREAD, "q": "What about the harbour and the piano?"}),
        "search": ("search", {"q": "What about the harbour and the piano?"}),
        "facts": ("facts", {}),
        "facts on a timeline": ("facts", {"view": "timeline", "state": "all"}),
        "a fact": ("fact", {"id": facts[len(facts) // 2].id}),
        "summaries, the pyramid": ("summaries", {"thread": THREAD}),
        "a summary at the top": ("summary", {"thread": THREAD, "id": top}),
        "what a summary was made from": ("below", {"thread": THREAD, "id": low}),
        "forget": ("forget", {}),
        "forget a message, what goes": ("forget", {"thread": THREAD, "message": middle}),
        "figures, 200 turns": ("plots", {}),
        "figures, 1,000 turns": ("plots", {"turns": 1000}),
        "export and import": ("transfer", {}),
        "settings": ("settings", {}),
    }
    return {name: f"/{path}?{httpx.QueryParams(query)}" for name, (path, query) in asked.items()}


def processor_seconds(folder: Path) -> float:
    """What this process and the server in a folder have taken of the processor; of what has ended nothing is known."""
    ticks = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if Path(os.readlink(process / "cwd")).is_relative_to(folder):
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        except OSError:
            continue
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


async def measured(graph: Conversation, user: User, messages: int, folder: Path) -> dict[str, dict[str, float]]:
    """By page, milliseconds."""
    app = await asyncio.to_thread(web_app, graph, lambda _: user.id, token="token-of-the-bench")
    transport = httpx.ASGITransport(app)
    found: dict[str, dict[str, float]] = {}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:1", timeout=120) as client:
        await client.get("/", params={"token": "token-of-the-bench"})
        for name, path in (await pages(user, messages)).items():
            times, spent = [], processor_seconds(folder)
            for _ in range(ROUNDS + 1):
                start = time.perf_counter()
                answer = await client.get(path)
                times.append(1000 * (time.perf_counter() - start))
                assert answer.status_code == 200, (name, answer.text[-600:])
            worked = 1000 * (processor_seconds(folder) - spent) / (ROUNDS + 1)
            first, *others = times
            found[name] = {
                "first": first,
                "middle": statistics.median(others),
                "slowest": max(others),
                "processor": worked,
            }
            figures = " ".join(f"{value:10.0f}" for value in found[name].values())
            print(f"{name:32} {figures} {len(answer.content):10,}")
    return found


async def main(options: argparse.Namespace) -> None:
    embeddings = DeterministicFakeEmbedding(size=384)
    with tempfile.TemporaryDirectory() as beside, server_folder() as folder:
        where = folder if options.storage == "postgres" else Path(beside)
        settings = Settings(
            database_url=options.storage, data_dir=where, model="offline", summary_model="extractive", web_search="off",
            user_id="ada",
        )  # fmt: skip
        async with open_graph(settings, embeddings=embeddings) as graph:
            user = graph.resources.of_user("ada")
            start = time.perf_counter()
            await filled(user, texts(options.data), options.messages, options.facts)
            await BulkEmbedding(user.rows, graph.resources.embedder, which="pending", timeout=600).run()
            await graph.asettled()
            print(f"filled in {time.perf_counter() - start:.0f} s")
            print(f"{'':32} {'first':>10} {'middle':>10} {'slowest':>10} {'processor':>10} {'bytes':>10}")
            found = await measured(graph, user, options.messages, folder)
    if options.json:
        told = {"messages": options.messages, "facts": options.facts, "storage": options.storage, "pages": found}
        options.json.write_text(json.dumps(told, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--facts", type=int, default=1_000)
    parser.add_argument("--storage", choices=["postgres", "sqlite", "json"], default="postgres")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--json", type=Path)
    asyncio.run(main(parser.parse_args()))
