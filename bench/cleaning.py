"""Main text of pages, ours beside single extractors: `python -m bench.cleaning [--data FOLDER] [--json FILE]`.

Each page is decoded once, in the same way for all. Figures, over the pages that have them: token F1 of the text against
the gold text (mean over pages; a character of Chinese, Japanese or Thai is a token), the share of segments that must be
there and are, and the share of segments that must not be there and are. `--limit N` reads N pages of each file.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import logging
import re
import statistics
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import regex

from bench.datasets import DATA
from everthread.search.decoding import decode
from everthread.search.extraction import read_page

TOKEN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]|\w+")
GOLD = {
    "article": ("article_extraction_gold.jsonl", "article_body"),
    "readability": ("readability_gold.jsonl", "expected_text"),
    "segments": ("segment_gold.jsonl", None),
}


def everthread(html: str) -> str:
    return read_page(html).text


def trafilatura(html: str) -> str:
    from trafilatura import extract

    return extract(html, include_comments=False) or ""


def readability(html: str) -> str:
    from lxml import html as parser
    from readability import Document

    element = parser.fromstring(Document(html).summary(html_partial=True))
    for part in element.iter():
        part.tail = f" {part.tail or ''}"
    return str(element.text_content())


def justext(html: str) -> str:
    from justext import get_stoplist
    from justext import justext as paragraphs

    languages = ("English", "German", "French", "Spanish", "Portuguese", "Italian", "Polish", "Russian", "Turkish")
    stop = frozenset().union(*(get_stoplist(language) for language in languages))
    return "\n".join(paragraph.text for paragraph in paragraphs(html, stop) if not paragraph.is_boilerplate)


def resiliparse(html: str) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(html, main_content=True, alt_texts=False, list_bullets=False))


EXTRACTORS: dict[str, tuple[Callable[[str], str], str]] = {
    "everthread": (everthread, "everthread"),
    "trafilatura": (trafilatura, "trafilatura"),
    "readability-lxml": (readability, "readability"),
    "resiliparse": (resiliparse, "resiliparse"),
    "justext": (justext, "justext"),
}
"""By name: what reads a page, and the module it needs; of those not installed there are no figures."""


def pages(folder: Path, limit: int | None) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Each page: which gold it has, its record, its markup."""
    for kind, (name, _) in GOLD.items():
        for line in (folder / name).read_text().splitlines()[:limit]:
            record = json.loads(line)
            body = (folder / record["file"]).read_bytes()
            yield kind, record, decode(gzip.decompress(body) if record["file"].endswith(".gz") else body)


def token_f1(text: str, gold: str) -> float:
    first, second = (Counter(TOKEN.findall(part.casefold())) for part in (text, gold))
    shared = (first & second).total()
    return 2 * shared / (first.total() + second.total()) if shared else float(not first and not second)


def flat(text: str) -> str:
    return " ".join(re.sub("[\u00ad\u2060-\u2064]", "", text).split())


def measured(extract: Callable[[str], str], loaded: list[tuple[str, dict[str, Any], str]]) -> dict[str, float]:
    scores: dict[str, list[float]] = {"article": [], "readability": [], "contains": [], "leaks": []}
    seconds = 0.0
    for kind, record, html in loaded:
        started = time.perf_counter()
        try:
            text = extract(html)
        except Exception:
            text = ""
        seconds += time.perf_counter() - started
        field = GOLD[kind][1]
        if field is not None:
            scores[kind].append(token_f1(text, record[field]))
            continue
        line = flat(text)
        scores["contains"] += [float(flat(segment) in line) for segment in record["must_contain"]]
        scores["leaks"] += [float(flat(segment) in line) for segment in record["must_not_contain"]]
    figures = {name: round(statistics.fmean(values) * 100, 2) for name, values in scores.items() if values}
    return {**figures, "ms_per_page": round(seconds * 1000 / max(1, len(loaded)), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA / "html", help="the folder with pages and gold files")
    parser.add_argument("--limit", type=int, help="pages of each file")
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    loaded = list(pages(options.data, options.limit))
    figures: dict[str, dict[str, float]] = {}
    print(f"{len(loaded)} pages\n{'':<18}{'article F1':>12}{'readab. F1':>12}{'must':>8}{'must not':>10}{'ms/page':>9}")
    for name, (extract, module) in EXTRACTORS.items():
        if importlib.util.find_spec(module) is None:
            continue
        row = figures[name] = measured(extract, loaded)
        shown = [row.get(key, float("nan")) for key in ("article", "readability", "contains", "leaks", "ms_per_page")]
        print(f"{name:<18}{shown[0]:>12}{shown[1]:>12}{shown[2]:>8}{shown[3]:>10}{shown[4]:>9}", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"pages": len(loaded), "extractors": figures}, indent=2))


if __name__ == "__main__":
    main()
