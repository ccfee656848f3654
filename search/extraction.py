"""A page's HTML to its main text: without navigation, advertising, scripts and what is hidden from readers.

Trafilatura reads the page. Two witnesses of other kinds, jusText (density of stop words) and Resiliparse (rules on
tags), read it too, and where Readability agrees with one of them against Trafilatura, Readability's text is taken:
single extractors fail on different pages. `bench/cleaning.py` compares all.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from ..state.messages import clean_text
from ..text.fold import fold
from ..text.words import single_words

_log = logging.getLogger(__name__)

MAX_CHARACTERS: Final = 1_500_000
"""Characters of markup that are read; the rest of a longer page is cut off."""

_HIDING: Final = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?:px|em|rem|pt|%)?\s*(?:;|!|$)"
    r"|opacity\s*:\s*0(?:\.0+)?\s*(?:;|!|$)|text-indent\s*:\s*-\d{3,}|(?:left|top)\s*:\s*-\d{4,}px",
    re.IGNORECASE,
)
"""Styles by which text is kept from readers but not from machines."""
_NO_TEXT: Final = ("script", "style", "template", "svg")
"""Elements that hold no text for readers. `noscript` stays: some pages stand in it as a whole."""
_AGREE: Final = 0.9
"""Token F1 from which two extractors count as having found the same text."""
_SAME: Final = 0.95
"""Token F1 from which Trafilatura and Resiliparse need no third opinion."""
_AGAINST: Final = {"justext": 0.0, "resiliparse": 0.3}
"""How much worse Trafilatura must agree with Readability than the witness does. Resiliparse keeps more of what stands
around a text, so it is heard only where Trafilatura missed much."""
_LANGUAGES: Final = (
    "Arabic", "Czech", "Danish", "Dutch", "English", "Finnish", "French", "German", "Greek", "Hindi", "Hungarian",
    "Italian", "Korean", "Persian", "Polish", "Portuguese", "Romanian", "Russian", "Spanish", "Swedish", "Turkish",
    "Ukrainian", "Vietnamese",
)  # fmt: skip


class Page(NamedTuple):
    """What a page says: its main text, one paragraph a line, its title, and when it was published (YYYY-MM-DD)."""

    text: str
    title: str = ""
    published: str | None = None


def read_page(markup: str, url: str = "") -> Page:
    """The main text of a page. Blocking: up to seconds of computing for a large page. Never raises.

    Args:
        markup: HTML, decoded.
        url: its address, from which the date may be read.
    """
    html = _attempt(lambda: _visible(clean_text(markup[:MAX_CHARACTERS])), None)
    if html is None:
        return Page("")
    title, published = _attempt(lambda: _metadata(html, url), ("", None))
    return Page(main_text(html), title, published)


def main_text(html: str) -> str:
    """The main text of clean HTML, by the vote told above; empty where nothing is found."""
    first, kept = _read("trafilatura", html), _read("resiliparse", html)
    if _likeness(first, kept) >= _SAME:
        return first
    second = _read("readability", html)
    if not second.strip():
        return first or _read("justext", html) or kept
    for witness, margin in _AGAINST.items():
        heard = kept if witness == "resiliparse" else _read(witness, html)
        agreement = _likeness(second, heard)
        if (
            agreement >= _AGREE
            and _likeness(first, second) < agreement - margin
            and _likeness(first, heard) < agreement
        ):
            return f"{_lead(first, second, heard)}{second}"
    return first or second


def _lead(first: str, second: str, heard: str) -> str:
    """The lines with which one text begins and another does not, if a witness has them: Readability drops leads."""
    lead = []
    body, witness = _letters(second), _letters(heard)
    for line in first.split("\n"):
        letters = _letters(line)
        if letters in body:
            break
        if letters in witness:
            lead.append(f"{line}\n")
    return "".join(lead)


def _letters(text: str) -> str:
    return "".join(single_words(fold(text)))


def _read(extractor: str, html: str) -> str:
    return str(_attempt(lambda: _READERS[extractor](html), ""))


def _visible(markup: str) -> str | None:
    """The page without scripts and hidden elements, as markup again; None for what is no HTML."""
    from trafilatura import load_html

    tree = _attempt(lambda: load_html(markup), None)
    if tree is None:
        return None
    from lxml import etree, html

    etree.strip_elements(tree, etree.Comment, *_NO_TEXT, with_tail=False)
    for element in tree.xpath("//*[@style or @hidden]"):
        is_hidden = element.get("hidden", "no") not in {"no", "until-found"} or _HIDING.search(element.get("style", ""))
        if is_hidden and element.tag not in {"html", "body"} and element.getparent() is not None:
            element.drop_tree()
    return str(html.tostring(tree, encoding="unicode"))


def _metadata(html: str, url: str) -> tuple[str, str | None]:
    from trafilatura import extract_metadata

    found = extract_metadata(html, default_url=url or None, date_config={"extensive_search": False, "url": url or None})
    return (str(found.title or ""), str(found.date) if found.date else None) if found else ("", None)


def _trafilatura(html: str) -> str:
    from trafilatura import extract

    return extract(html, include_comments=False) or ""


def _readability(html: str) -> str:
    from lxml import html as parser
    from readability import Document

    return _lines(parser.fromstring(Document(html).summary(html_partial=True)))


def _justext(html: str) -> str:
    from justext import justext

    return "\n".join(paragraph.text for paragraph in justext(html, _stop_words()) if not paragraph.is_boilerplate)


def _resiliparse(html: str) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(html, main_content=True, alt_texts=False, list_bullets=False))


_READERS: Final[dict[str, Callable[[str], str]]] = {
    "trafilatura": _trafilatura,
    "readability": _readability,
    "justext": _justext,
    "resiliparse": _resiliparse,
}


def _lines(element: Any) -> str:
    """The text of an element, one block a line."""
    from .cleaning import BLOCKS

    for part in element.iter():
        if part.tag in BLOCKS:
            part.text, part.tail = f"\n{part.text or ''}", f"\n{part.tail or ''}"
    lines = (" ".join(line.split()) for line in element.text_content().split("\n"))
    return "\n".join(line for line in lines if line)


def _likeness(one: str, other: str) -> float:
    """The token F1 of two texts in [0, 1]."""
    first, second = (Counter(single_words(fold(text))) for text in (one, other))
    shared = (first & second).total()
    return 2 * shared / (first.total() + second.total()) if shared else 0.0


@cache
def _stop_words() -> frozenset[str]:
    """The stop words of many languages together: jusText asks whether a paragraph is prose, not in which language."""
    from justext import get_stoplist

    return frozenset().union(*(get_stoplist(language) for language in _LANGUAGES))


def _attempt(work: Callable[[], Any], otherwise: Any) -> Any:
    """What `work` gives, or `otherwise`: extractors raise all kinds of errors on broken pages."""
    try:
        return work()
    except Exception as error:
        _log.info("A page could not be read in full: %s.", type(error).__name__)
        return otherwise
