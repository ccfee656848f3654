"""Cleaning of what search engines give: markup and traps removed, text trimmed to the query, pages compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from ..state.messages import clean_text
from ..state.search_records import SearchResult
from ..text.passages import excerpt
from ..text.shorten import ELLIPSIS, beginning, share_out
from ..text.tokens import estimate_tokens

MAX_QUERY: Final = 400
"""Characters of a query: what Tavily takes."""
_MAX_CONTENT: Final = 2000
"""Tokens kept of what an engine gives as a page's content; some give the whole page."""
_MAX_TITLE: Final = 300
_MAX_RAW: Final = 400_000
"""Characters of raw content that are looked at."""

_BLOCKS: Final = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "dd", "div", "dl", "dt", "figcaption",
    "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "li",
    "main", "nav", "ol", "option", "p", "pre", "section", "table", "tbody", "td", "tfoot", "th", "thead",
    "tr", "ul",
})  # fmt: skip
_INLINE: Final = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "big", "button", "center", "cite", "code", "data", "del", "dfn", "em",
    "font", "i", "iframe", "img", "input", "ins", "kbd", "label", "link", "mark", "meta", "q", "s", "samp",
    "small", "source", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "video", "wbr",
})  # fmt: skip
_HIDDEN: Final = ("script", "style", "noscript", "template", "svg", "title", "head")
_KNOWN: Final = "|".join([*_BLOCKS, *_INLINE, *_HIDDEN])
_MARKED_UP: Final = re.compile(rf"</?(?:{_KNOWN})\b|<!--|&[a-zA-Z#]", re.IGNORECASE)
_NO_TAG: Final = re.compile(rf"<(?!/?(?:{_KNOWN})\b|!)", re.IGNORECASE)
_BLOCK_MARK: Final = re.compile(r"(?m)^\[\w+(?:: [^\[\]\n]*)?\]$")
_INVISIBLE: Final = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef]"
)
"""Characters that readers do not see, but models do: instructions can be hidden in them."""
_MARKUP: Final = re.compile(
    r"</?\s*(?:context|system|assistant|instructions?|tool_\w+|function_\w+|search_\w+|memor(?:y|ies)|s)\b[^<>]{0,200}>"
    r"|<\|[^<>|]{0,60}\|>|<(?:start|end)_of_turn>|\[/?INST\]|<<\s*/?\s*SYS\s*>>",
    re.IGNORECASE,
)
"""What closes a fence, ours or another's, and what chat templates write between turns."""
_FOOTNOTE: Final = re.compile(r"(?<=[.,;:!?\"'”’»)\]。，！？])(?:\[\d{1,3}\])+")
"""Marks like [3] after a sentence: they would pass for the numbers of our results."""
_TRACKING: Final = re.compile(r"utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|yclid|igshid")
_REDIRECT: Final = re.compile(r"^(?:https?:)?//(?:www\.)?duckduckgo\.com/l/\?(?:.*?&)?uddg=(.+?)(?:&rut=.*)?$")


def plain_text(text: str) -> str:
    """The text without HTML tags, entities, NUL and lone surrogates, on one line.

    What only looks like a tag ("a < b", "List<String>", "<your-name>") stays.
    """
    text = clean_text(text[:_MAX_RAW])
    if _MARKED_UP.search(text):
        from lxml import etree, html

        try:
            tree = html.document_fromstring(_NO_TAG.sub("&lt;", text), html.HTMLParser(huge_tree=True))
        except etree.ParserError:  # nothing is left
            return ""
        etree.strip_elements(tree, etree.Comment, etree.ProcessingInstruction, *_HIDDEN, with_tail=False)
        for element in tree.iter(*_BLOCKS):
            element.text, element.tail = f" {element.text or ''}", f" {element.tail or ''}"
        text = tree.text_content()
    return " ".join(text.split())


def harmless(text: str) -> str:
    """The text on one line, without invisible characters, fences, turn marks of chat templates, and footnote marks."""
    text = _INVISIBLE.sub("", text)
    for _ in range(3):  # what is left after a removal may make a new mark
        text = _MARKUP.sub(" ", text)
    if _MARKUP.search(text):
        text = text.replace("<", "‹").replace("[", "(")
    return " ".join(_FOOTNOTE.sub("", text).split())


def search_query(text: str) -> str:
    """A message as a query: one line, at most `MAX_QUERY` characters, cut at a word, without "[image]" and the like."""
    line = " ".join(_BLOCK_MARK.sub(" ", clean_text(text)).split())
    return line if len(line) <= MAX_QUERY else beginning(line, MAX_QUERY).removesuffix(ELLIPSIS)


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
    url = url.replace("<", "%3C").replace(">", "%3E")
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


def shortened_query(text: str, query: str) -> str:
    """The text on one line; of a long one the passages that bear on the query, `_MAX_CONTENT` tokens at most."""
    return " ".join(excerpt(text, query, _MAX_CONTENT).split())


def clean_results(results: Iterable[SearchResult], limit: int, query: str = "") -> list[SearchResult]:
    """At most `limit` results as plain text, each page once, without what has no address or no text.

    Args:
        results: as an engine gave them.
        limit: how many, at most.
        query: of long contents, the passages that bear on it are kept.
    """
    kept: dict[str, SearchResult] = {}
    for result in results:
        url = page_url(result.url)
        if url is None or url_key(url) in kept:
            continue
        title = beginning(harmless(plain_text(result.title)), _MAX_TITLE)
        content = shortened_query(harmless(plain_text(result.content)), query)
        if title or content:
            published = harmless(plain_text(result.published))[:40] or None if result.published else None
            kept[url_key(url)] = result.model_copy(
                update={"title": title or url, "url": url, "content": content, "published": published}
            )
        if len(kept) == limit:
            break
    return list(kept.values())


def trimmed(results: Sequence[SearchResult], query: str, max_tokens: int) -> list[SearchResult]:
    """The results with contents of `max_tokens` together, at most; of long ones, what bears on the query."""
    sizes = [estimate_tokens(result.content) for result in results]
    return [
        result.model_copy(update={"content": excerpt(result.content, query, share)}) if share < size else result
        for result, size, share in zip(results, sizes, share_out(sizes, max_tokens), strict=True)
    ]
