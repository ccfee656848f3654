"""A page's HTML to its main text with trafilatura: without navigation, advertising, scripts and what is hidden."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ..state.messages import clean_text

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
_MAX_ELEMENTS: Final = 20_000
"""Elements of a page that are read: beyond them is no text for people, only seconds of processor."""
_ELEMENT: Final = re.compile(r"<(?=[a-zA-Z])")


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
    html = _attempt(lambda: _visible(_bounded(clean_text(markup[:MAX_CHARACTERS]))), None)
    if html is None:
        return Page("")
    title, published = _attempt(lambda: _metadata(html, url), ("", None))
    return Page(_attempt(lambda: _main_text(html), ""), title, published)


def _bounded(markup: str) -> str:
    """The markup up to the last element that is read."""
    for number, element in enumerate(_ELEMENT.finditer(markup)):
        if number == _MAX_ELEMENTS:
            return markup[: element.start()]
    return markup


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


def _main_text(html: str) -> str:
    from trafilatura import extract

    return extract(html, include_comments=False) or ""


def _attempt(work: Callable[[], Any], otherwise: Any) -> Any:
    """What `work` gives, or `otherwise`: extractors raise all kinds of errors on broken pages."""
    try:
        return work()
    except Exception as error:
        _log.info("A page could not be read in full: %s.", type(error).__name__)
        return otherwise
