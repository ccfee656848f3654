"""The evaluation sets as haystacks: messages, and questions with the ids of the messages that hold the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

DATA = next((f for p in Path(__file__).resolve().parents if (f := p / "shared" / "data").is_dir()), Path("data"))


@dataclass
class Question:
    """A question, the ids of its evidence, its category, and its answer where the set tells it."""

    text: str
    evidence: set[str]
    category: str
    answer: str = ""


@dataclass
class Haystack:
    """One user's messages, in their order, and the questions about them."""

    name: str
    threads: dict[str, list[AnyMessage]]
    questions: list[Question] = field(default_factory=list)


def message(id_: Any, role: str, text: str, said_at: datetime | None, name: str | None = None) -> AnyMessage:
    extra = {"created_at": said_at.replace(tzinfo=UTC).isoformat()} if said_at else {}
    kind = HumanMessage if role == "user" else AIMessage
    return kind(text, id=str(id_), name=name, additional_kwargs=extra)


def locomo(file: Path | None = None) -> Iterator[Haystack]:
    """LoCoMo: one haystack a conversation; adversarial questions, which have no answer, are left out."""
    file = file or DATA / "locomo" / "locomo_dev7.json"
    questions = [json.loads(line) for line in file.with_name(f"{file.stem}_qa.jsonl").read_text().splitlines()]
    for record in json.loads(file.read_text()):
        conversation = record["conversation"]
        messages: list[AnyMessage] = []
        for number in sorted(int(m[1]) for key in conversation if (m := re.fullmatch(r"session_(\d+)", key))):
            begun = datetime.strptime(conversation[f"session_{number}_date_time"].strip(), "%I:%M %p on %d %B, %Y")
            for said in conversation[f"session_{number}"]:
                photo = f" [shares a photo: {said['blip_caption']}]" if said.get("blip_caption") else ""
                role = "user" if said["speaker"] == conversation["speaker_a"] else "assistant"
                messages.append(message(said["dia_id"], role, f"{said['text']}{photo}", begun, said["speaker"]))
        known = {str(m.id) for m in messages}
        asked = [
            Question(q["question"], set(q["evidence"]) & known, str(q["category_name"]), str(q["answer"]))
            for q in questions
            if q["sample_id"] == record["sample_id"] and q["category"] != 5 and set(q["evidence"]) & known
        ]
        yield Haystack(record["sample_id"], {"one": messages}, asked)


def beam(folder: Path | None = None) -> Iterator[Haystack]:
    """BEAM: one haystack a chat of about 100,000 tokens."""
    for file in sorted((folder or DATA / "beam").glob("*.json")):
        record = json.loads(file.read_text())
        said_at: datetime | None = None
        messages = []
        for said in record["messages"]:
            if said.get("time_anchor"):
                said_at = _anchor(said["time_anchor"]) or said_at
            messages.append(message(said["id"], said["role"], said["content"], said_at))
        asked = [
            Question(q["question"], set(map(str, q["evidence_ids"])), q["ability"])
            for q in record["probing_questions"]
            if q["evidence_ids"]
        ]
        yield Haystack(file.stem, {"one": messages}, asked)


def _anchor(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%B-%d-%Y")
    except ValueError:
        return None


def memdaily(file: Path | None = None) -> Iterator[Haystack]:
    """MemDaily: Chinese; all streams are one user's, one thread a stream."""
    haystack = Haystack("memdaily", {})
    for line in (file or DATA / "memdaily_zh" / "memdaily_zh.jsonl").read_text().splitlines():
        record = json.loads(line)
        thread = str(record["id"])
        times = [datetime.strptime(re.sub(" 周. ", " ", m["time"]), "%Y年%m月%d日 %H:%M") for m in record["messages"]]
        haystack.threads[thread] = [
            message(f"{thread}/{m['mid']}", "user", m["text"], said_at)
            for m, said_at in zip(record["messages"], times, strict=True)
        ]
        for q in record["questions"]:
            evidence = {f"{thread}/{mid}" for mid in q["evidence_mids"]}
            if evidence:
                haystack.questions.append(Question(q["question"], evidence, record["type"]))
    yield haystack


def longmemeval(file: Path | None = None) -> Iterator[Haystack]:
    """The evidence turns of LongMemEval, all pooled as one user's; no score on it is a LongMemEval score."""
    haystack = Haystack("longmemeval", {})
    seen: dict[str, str] = {}
    for line in (file or DATA / "longmemeval" / "longmemeval_evidence_dev.jsonl").read_text().splitlines():
        record = json.loads(line)
        evidence = set()
        for number, session in enumerate(record["evidence_sessions"]):
            said_at = datetime.strptime(re.sub(r" \(\w+\) ", " ", session["date"]), "%Y/%m/%d %H:%M")
            thread = f"{record['question_id']}-{number}"
            for turn in session["turns"]:
                if turn["content"] not in seen:
                    seen[turn["content"]] = str(len(seen))
                    said = message(seen[turn["content"]], turn["role"], turn["content"], said_at)
                    haystack.threads.setdefault(thread, []).append(said)
                evidence.add(seen[turn["content"]])
        if evidence:
            haystack.questions.append(Question(record["question"], evidence, record["question_type"]))
    yield haystack


SETS = {"locomo": locomo, "beam": beam, "memdaily": memdaily, "longmemeval": longmemeval}
