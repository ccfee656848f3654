"""A page's HTML to its main text with trafilatura: without navigation, advertising, scripts and what is hidden."""

from __future__ import annotations

import logging
import re
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
_TAG: Final = re.compile(r"""<[a-zA-Z](?>[^"'>]++|"[^"]*+"|'[^']*+')*+""")
_PART: Final = re.compile(r"[\s\"'/=]")
_MAX_PARTS: Final = 500
"""What may part attributes in one tag: the parser takes time by the square of their number. A picture written into its
tag has more, and no text."""


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
    try:
        return _read(_bounded(clean_text(markup[:MAX_CHARACTERS])), url or None)
    except Exception as error:  # parsers raise all kinds of errors on broken pages
        _log.info("A page could not be read: %s.", type(error).__name__)
        return Page("")


def _bounded(markup: str) -> str:
    """The markup up to the last element that is read, without tags that have no end of attributes."""
    markup = _TAG.sub(lambda tag: tag[0] if len(_PART.findall(tag[0])) <= _MAX_PARTS else "", markup)
    for number, element in enumerate(_ELEMENT.finditer(markup)):
        if number == _MAX_ELEMENTS:
            return markup[: element.start()]
    return markup


def _read(markup: str, url: str | None) -> Page:
    from trafilatura import bare_extraction, load_html

    if (tree := load_html(markup)) is None:
        return Page("")
    _remove_hidden(tree)
    dates = {"extensive_search": False, "url": url}
    found: Any = bare_extraction(tree, url, include_comments=False, with_metadata=True, date_extraction_params=dates)
    return Page(found.text or "", found.title or "", found.date or None) if found else Page("")


def _remove_hidden(tree: Any) -> None:
    """Take out scripts and what readers do not see."""
    from lxml import etree

    etree.strip_elements(tree, etree.Comment, *_NO_TEXT, with_tail=False)
    for element in tree.xpath("//*[@style or @hidden]"):
        is_hidden = element.get("hidden", "no") not in {"no", "until-found"} or _HIDING.search(element.get("style", ""))
        if is_hidden and element.tag not in {"html", "body"} and element.getparent() is not None:
            element.drop_tree()
