"""ROUGE of the extractive summarizer on dialogues with summaries written by people, against lead-3.

Lead-3 is the first three turns with the names of who speaks; the summarizer has as many tokens. Of several references
the best counts. And whether the acceptance of summaries takes what people wrote.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

from everthread.compression.acceptance import why_rejected
from everthread.text.extractive import extract_summary
from everthread.text.tokens import estimate_tokens

MEASURES = ("rouge1", "rouge2", "rougeL")


def rouge(folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    """F1 of ROUGE-1, 2 and L in per cent, and words, for each set of the folder."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(list(MEASURES), use_stemmer=True)
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for file in sorted(folder.glob("*.jsonl")):
        rows: dict[str, list[list[float]]] = {"lead-3": [], "extractive": []}
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            turns = [(message["speaker"], message["text"]) for message in record["messages"]]
            lead = " ".join(f"{speaker}: {text}" for speaker, text in turns[:3])
            made = {"lead-3": lead, "extractive": extract_summary(turns, estimate_tokens(lead))}
            for name, text in made.items():
                best = _best(scorer, text, _references(record))
                rows[name].append([*best, float(len(text.split()))])
        figures[file.stem] = {
            name: dict(zip((*MEASURES, "words"), map(fmean, zip(*values, strict=True)), strict=True))
            for name, values in rows.items()
        }
    return figures


def accepted(folder: Path, shift: int = 37) -> dict[str, tuple[float, float]]:
    """The shares of people's summaries that are accepted for their own dialogue, and for one further on, by set."""
    figures = {}
    for file in sorted(folder.glob("*.jsonl")):
        records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        said = ["\n".join(f"{turn['speaker']}: {turn['text']}" for turn in record["messages"]) for record in records]
        written = [_references(record)[0] for record in records]
        own, foreign = (
            fmean(
                why_rejected(text, said[(n + by) % len(said)], max_chars=2000) is None for n, text in enumerate(written)
            )
            for by in (0, shift)
        )
        figures[file.stem] = own, foreign
    return figures


def _references(record: dict[str, Any]) -> list[str]:
    return record.get("references") or [whole["answer"] for whole in record["whole_meeting"]]


def _best(scorer: Any, text: str, references: list[str]) -> list[float]:
    scored = [scorer.score(reference, text) for reference in references]
    return [100 * max(score[measure].fmeasure for score in scored) for measure in MEASURES]
