"""What of a conversation survives in the prompt as it grows: words of evidence, and answers, of LoCoMo's questions.

At several lengths of a conversation each question is asked whose evidence was said by then. Its prompt is made by the
product's nodes, with and without recall, and looked at: which share of the content words of its evidence and of its
answer stands in it. Words of the question itself do not count, as they stand in every prompt.

All have the same budget of tokens: everthread's profiles, a sliding window, and the peers, whose summaries are as
extractive as ours. "Same tokens" is a sliding window of as many tokens as the profile's prompt had without recall.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage, BaseMessage

from bench.counting import CountingSummarizer
from bench.datasets import Haystack, Question
from bench.driving import PROFILE_NAMES, Carried, Driver, Exchange, exchanges
from bench.window_peers import newest, peers
from everthread.text.terms import terms as content_terms
from everthread.text.tokens import count_message_tokens

Rows = dict[tuple[str, int], list["Seen"]]
"""By the name of a contestant and the number of turns."""


class Seen(NamedTuple):
    """Of one question: the shares of its evidence's and its answer's words in the prompt, and the prompt's tokens."""

    evidence: float
    answer: float
    tokens: float


def seen(prompt: Iterable[BaseMessage], question: Question, said: dict[str, str]) -> Seen:
    """What a prompt shows of a question's evidence and answer, the words of the question aside."""
    messages = list(prompt)
    asked = set(content_terms(question.text))
    text = "\n".join(m.text.replace(question.text, "") for m in messages)
    there = set(content_terms(text))

    def share(wanted: str) -> float:
        terms = set(content_terms(wanted)) - asked
        return len(terms & there) / len(terms) if terms else float(bool(there))

    evidence = " ".join(said[id_] for id_ in question.evidence)
    return Seen(share(evidence), share(question.answer), count_message_tokens(messages))


def asked_by_then(questions: Sequence[Question], known: set[str], most: int) -> list[Question]:
    """At most so many of the questions whose evidence is known, drawn by a fixed seed."""
    able = [question for question in questions if question.evidence <= known]
    return able if len(able) <= most else random.Random(7).sample(able, most)


async def survive(haystack: Haystack, lengths: Sequence[int], bench: Driver, *, budget: int, questions: int) -> Rows:
    """The rows of one conversation."""
    said = list(exchanges(haystack))
    texts = {str(message.id): message.text for message in haystack.threads["one"]}
    stops = sorted({min(length, len(said)) for length in lengths})
    rows: Rows = defaultdict(list)
    asked = {stop: asked_by_then(haystack.questions, _known(said[:stop]), questions) for stop in stops}
    for name, make in peers():
        window = make(CountingSummarizer(), budget)
        new: list[AnyMessage] = []
        for index, exchange in enumerate(said[: stops[-1]], start=1):
            prompt = await window.before([*new, exchange.user])
            new = [exchange.reply]
            for question in asked.get(index, ()):
                rows[name, index].append(seen([*prompt, exchange.reply], question, texts))
    for stop in stops:
        messages = _messages(said[:stop])
        for question in asked[stop]:
            rows["sliding window", stop].append(seen(newest(messages, budget), question, texts))
    for profile in PROFILE_NAMES:
        await _profile(profile, haystack, said, asked, texts, bench, budget, rows)
    return rows


async def _profile(
    profile: str, haystack: Haystack, said: Sequence[Exchange], asked: dict[int, list[Question]],
    texts: dict[str, str], bench: Driver, budget: int, rows: Rows,
) -> None:  # fmt: skip
    turn = bench.turn(profile, f"{profile}-{haystack.name}")
    carried: Carried = {}
    for start, stop in pairwise([0, *asked]):
        carried = await bench.grow(carried, said[start:stop], turn)
        while await turn.user.vectors.embed_pending(timeout=600):
            pass
        messages = _messages(said[:stop])
        for question in asked[stop]:
            bare = await bench.asked(carried, question.text, turn, budget=budget, recall=False)
            rows[profile, stop].append(seen(bare, question, texts))
            same = newest(messages, count_message_tokens(bare))
            rows[f"{profile}: window of the same tokens", stop].append(seen(same, question, texts))
            with_recall = await bench.asked(carried, question.text, turn, budget=budget, recall=True)
            rows[f"{profile} + recall", stop].append(seen(with_recall, question, texts))
        print(f"{haystack.name}, {profile}: {stop} turns", file=sys.stderr)


def _known(said: Sequence[Exchange]) -> set[str]:
    return {id_ for exchange in said for id_ in exchange.ids}


def _messages(said: Sequence[Exchange]) -> list[AnyMessage]:
    return [message for exchange in said for message in (exchange.user, exchange.reply)]


def table(rows: Rows, lengths: Sequence[int]) -> dict[str, dict[str, Any]]:
    """Means by contestant and length; a conversation that is shorter counts at the length asked for."""
    by_length: dict[tuple[str, int], list[Seen]] = defaultdict(list)
    for (name, stop), values in rows.items():
        by_length[name, min((length for length in lengths if length >= stop), default=lengths[-1])] += values
    figures: dict[str, dict[str, Any]] = defaultdict(dict)
    for (name, length), values in by_length.items():
        evidence, answer, tokens = (fmean(column) for column in zip(*values, strict=True))
        figures[name][str(length)] = {
            "evidence": evidence, "answer": answer, "tokens": tokens, "questions": len(values)
        }  # fmt: skip
    return figures
