"""Recall in twelve languages: `python -m bench.languages [--model NAME] [--half kept] [--without] [--json FILE]`.

The same four conversations in each language (`bench/languages/`, written for this), 120 messages, and forty questions
in other words than their answers: they share function words at most. A question is asked of its own language's
conversations, of the English ones, and the English question of those in its language. Through the product's own nodes,
as `bench/recall.py`: share of the evidence among the first ten messages found, whether it is among at most 12
messages of the memories that pairing returns, and whether it is told at all; with `--without` also for how many
questions nothing is told, as it is and where the answer is taken out of the memory.
The questions about home and work are for tuning ("tuned"); those about health and family are kept apart ("kept").
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from statistics import mean
from typing import Any, Final

from bench.datasets import Haystack, Question, message
from bench.kept_vectors import KeptVectors
from bench.recall import ask, fill
from bench.server_folder import server_folder
from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.runtime.resources import Resources
from everthread.settings.settings import Settings

FOLDER: Final = Path(__file__).with_name("languages")
LANGUAGES: Final = ("en", "de", "fr", "es", "pt", "it", "ru", "zh", "ja", "ko", "ar", "hi")
TUNED: Final = ("home", "work")
SHARE, ANY = 1, 4
"""Which of the measures of `bench.recall`: share @10, any of 12."""

Told = dict[str, list[str]]
Asked = list[tuple[str, str, str]]
"""The conversation, the id of its evidence, the question."""


def read(language: str) -> tuple[Told, Asked]:
    """What was said in each conversation, and what is asked of it."""
    told: Told = {}
    asked: Asked = []
    name = ""
    for line in (FOLDER / f"{language}.txt").read_text().splitlines():
        if line.startswith("# "):
            name = line[2:]
            told[name] = []
        elif line.startswith("?"):
            number, _, question = line[1:].partition(" ")
            asked.append((name, f"{name}/{int(number) - 1}", question))
        else:
            told[name].append(line)
    return told, asked


def haystack(language: str, asking: str, half: str) -> Haystack:
    """The conversations of one language, asked in another one or the same."""
    told, _ = read(language)
    threads = {
        name: [
            message(f"{name}/{at}", "assistant" if at % 2 else "user", text, datetime(2026, 3, day, 9, at))
            for at, text in enumerate(texts)
        ]
        for day, (name, texts) in enumerate(told.items(), 1)
    }
    questions = [
        Question(text, {evidence}, asking)
        for name, evidence, text in read(asking)[1]
        if half == "all" or (name in TUNED) == (half == "tuned")
    ]
    return Haystack(language, threads, questions)


def asked_of(language: str) -> Iterator[tuple[str, str]]:
    """What kind of question it is, and in which language it is asked of the conversations in this one."""
    yield "same language", language
    if language == "en":
        yield from ((f"from {other}", other) for other in LANGUAGES if other != "en")
    else:
        yield "asked in English", "en"


def without_answer(of: Haystack) -> Iterator[Haystack]:
    """Each question asked of the same conversations without the message that answers it."""
    for number, question in enumerate(of.questions):
        threads = {
            name: [m for m in messages if m.id not in question.evidence] for name, messages in of.threads.items()
        }
        yield Haystack(f"{of.name} without {number}", threads, [question])


async def silence(resources: Resources, of: Haystack, silent: list[float]) -> list[float]:
    """For how many questions nothing is told, as it is and without the answer, in per cent."""
    left = []
    for haystack in without_answer(of):
        left += (await ask(resources, haystack, await fill(resources, haystack), ()))["silent"]
    return [round(100 * mean(values), 1) for values in (silent, left)]


async def figures(
    model: str, half: str, languages: Sequence[str], *, without: bool
) -> dict[str, dict[str, list[float]]]:
    """Of each language and kind of question: share @10 and any of 12, also of vectors alone, told, and silence."""
    found: dict[str, dict[str, list[float]]] = {}
    with server_folder() as folder:
        resources = Resources(Settings(data_dir=folder), embeddings=KeptVectors(folder / "vectors.db", model))
        for language in languages:
            tokens = await fill(resources, haystack(language, language, half))
            for kind, asking in asked_of(language):
                rows = await ask(resources, haystack(language, asking, half), tokens, ())
                everthread, vectors = rows["everthread"], rows["vector only"]
                values = [mean(row[at] for row in part) for part in (everthread, vectors) for at in (SHARE, ANY)]
                values.append(mean(rows["told"]))
                found.setdefault(language, {})[kind] = [round(100 * value, 1) for value in values]
                if without and asking == language:
                    silent = await silence(resources, haystack(language, language, half), rows["silent"])
                    found[language]["silent"] = silent
        await resources.close()
    return found


def print_table(found: dict[str, dict[str, list[float]]]) -> None:
    """A row a language: @10 and any of 12, of vectors alone in brackets, told; and silence, as it is and without."""
    print("| | same language | in English, of these | in these, of English | silent |\n|---|---|---|---|---|")
    cell = "{} / {} ({} / {}), {}".format
    for language, own in found.items():
        same, silent = cell(*own["same language"]), "{} / {}".format(*own.get("silent", ("", "")))
        english = cell(*own["asked in English"]) if language != "en" else ""
        others = cell(*found["en"][f"from {language}"]) if language != "en" and "en" in found else ""
        print(f"| {language} | {same} | {english} | {others} | {silent.strip(' /')} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=BUNDLED_MODEL, help="an embedding model, as the settings name it")
    parser.add_argument("--half", choices=["tuned", "kept", "all"], default="all", help="which questions")
    parser.add_argument("--languages", default=",".join(LANGUAGES), help="of the conversations")
    parser.add_argument("--without", action="store_true", help="also with the answers taken out")
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    languages = options.languages.split(",")
    found: Any = asyncio.run(figures(options.model, options.half, languages, without=options.without))
    print_table(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
