"""What an image, a file or another block of a message was called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit

_NAMES: Final = ("filename", "file_name", "name", "title", "alt", "caption", "description")
_INSIDE: Final = ("metadata", "extras", "file", "image", "image_url", "source", "document")
_ADDRESSES: Final = ("url", "image_url", "file_url", "uri")
_LONGEST: Final = 200


def block_name(block: Mapping[str, Any]) -> str:
    """The names and captions that a block tells, as LangChain and the providers write them, or the end of its address.

    One line of up to 200 characters; empty where there is none. What the query of an address holds is left out: it may
    be a key.
    """
    places = [block, *(value for key in _INSIDE if isinstance(value := block.get(key), Mapping))]
    told = dict.fromkeys(
        text for place in places for key in _NAMES if isinstance(text := place.get(key), str) and text.strip()
    )
    name = ", ".join(told) or next(_of_addresses(places), "")
    return " ".join(name.replace("[", "(").replace("]", ")").split())[:_LONGEST]


def _of_addresses(places: list[Mapping[str, Any]]) -> Iterator[str]:
    for place in places:
        for key in _ADDRESSES:
            if isinstance(address := place.get(key), str) and address.startswith(("http://", "https://")):
                try:
                    last = urlsplit(address).path.rstrip("/").rpartition("/")[2]
                except ValueError:
                    continue
                if last:
                    yield unquote(last)
