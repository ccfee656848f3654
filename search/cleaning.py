"""Cleaning of what search engines give: markup removed, white space collapsed, text cut, pages compared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.parser import HTMLParser
from typing import Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from ..state.messages import clean_text
from ..state.search_records import SearchResult

MAX_QUERY: Final = 400
"""Characters of a query: what Tavily takes."""
MAX_CONTENT: Final = 1500
"""Characters kept of a page's content."""
_MAX_TITLE: Final = 300
_MAX_RAW: Final = 20_000
"""Characters of raw content that are looked at."""

BLOCKS: Final = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "dd", "div", "dl", "dt", "figcaption",
    "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "li",
    "main", "nav", "ol", "option", "p", "pre", "section", "table", "tbody", "td", "tfoot", "th", "thead",
    "title", "tr", "ul",
})  # fmt: skip
_INLINE: Final = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "big", "button", "center", "cite", "code", "data", "del", "dfn", "em",
    "font", "i", "iframe", "img", "input", "ins", "kbd", "label", "link", "mark", "meta", "q", "s", "samp",
    "small", "source", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "video", "wbr",
})  # fmt: skip
_HIDDEN: Final = frozenset({
    "script", "style", "noscript", "template", "svg", "head",
})  # fmt: skip
_BLOCK_MARK: Final = re.compile(r"(?m)^\[\w+\]$")
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*>|<!--|&[a-zA-Z#]")
_TRACKING: Final = re.compile(r"utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|yclid|igshid")
_REDIRECT: Final = re.compile(r"^(?:https?:)?//(?:www\.)?duckduckgo\.com/l/\?(?:.*?&)?uddg=(.+?)(?:&rut=.*)?$")


def plain_text(text: str) -> str:
    """The text without HTML tags, entities, NUL and lone surrogates, on one line.

    What only looks like a tag ("a < b", "List<String>", "<your-name>") stays.
    """
    text = text[:_MAX_RAW]
    if _TAG.search(text):
        parser = _Text()
        parser.feed(text)
        parser.close()
        text = parser.text()
    return " ".join(clean_text(text).split())


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._hidden: list[str] = []

    def text(self) -> str:
        return "".join(self._parts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden.append(tag)
        elif tag in BLOCKS:
            self._parts.append(" ")
        elif tag not in _INLINE:
            self.handle_data(self.get_starttag_text() or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _HIDDEN:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        elif tag in BLOCKS:
            self._parts.append(" ")
        elif tag not in _INLINE and tag not in _HIDDEN:
            self.handle_data(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._parts.append(data)


def cut(text: str, limit: int) -> str:
    """The text, or its first words within `limit` characters and an ellipsis."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    at_word, _, rest = head.rpartition(" ")
    return f"{at_word if at_word and len(rest) < limit // 4 else head}…"


def search_query(text: str) -> str:
    """A message as a query: on one line, at most `MAX_QUERY` characters, cut at a word, without "[image]"."""
    line = " ".join(_BLOCK_MARK.sub(" ", clean_text(text)).split())
    return line if len(line) <= MAX_QUERY else cut(line, MAX_QUERY).removesuffix("…")


def page_url(url: str) -> str | None:
    """The address of the page itself, behind an engine's redirect; None for ads and for other addresses."""
    url = clean_text(url).strip()
    if redirect := _REDIRECT.match(url):
        url = unquote(redirect.group(1))
    try:
        parts = urlsplit(url)
        is_page = parts.scheme.lower() in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        return None
    is_ad = parts.hostname in {"duckduckgo.com", "www.duckduckgo.com"} and parts.path == "/y.js"
    return url if is_page and not is_ad and not re.search(r"\s", url) else None


def url_key(url: str) -> str:
    """What two addresses of one page share: without scheme, `www.`, tracking, fragment, closing slash."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    try:
        port = parts.port
    except ValueError:
        port = None
    shown_port = "" if port in {None, 80, 443} else f":{port}"
    query = sorted(pair for pair in parse_qsl(parts.query, keep_blank_values=True) if not _TRACKING.fullmatch(pair[0]))
    return f"{host}{shown_port}{parts.path.rstrip('/')}?{urlencode(query, errors='replace')}"


def clean_results(results: Iterable[SearchResult], limit: int) -> list[SearchResult]:
    """At most `limit` results as plain text, each page once, without what has no address or no text."""
    kept: dict[str, SearchResult] = {}
    for result in results:
        url = page_url(result.url)
        if url is None or url_key(url) in kept:
            continue
        title = cut(plain_text(result.title), _MAX_TITLE)
        content = cut(plain_text(result.content), MAX_CONTENT)
        if title or content:
            published = plain_text(result.published)[:40] or None if result.published else None
            kept[url_key(url)] = result.model_copy(
                update={"title": title or url, "url": url, "content": content, "published": published}
            )
        if len(kept) == limit:
            break
    return list(kept.values())
