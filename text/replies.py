"""What a model replies, read leniently: without its thoughts, and the JSON in it; and what is no model's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from .fold import fold

_THOUGHTS: Final = re.compile(r"\A.*</think(?:ing)?>|<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_TRIED: Final = 5

DISCLAIMER: Final = "I am not a language model: no model is configured (set EVERTHREAD_MODEL)."
"""How every answer of the offline model begins."""


def is_canned(reply: str) -> bool:
    """Whether no model said it: it repeats what was said before, and is nothing that was known."""
    return reply.startswith(DISCLAIMER)


def without_thoughts(reply: str) -> str:
    """The reply without thoughts in tags, nor what stands before the tag that ends them: some templates open them."""
    return _THOUGHTS.sub("", reply)


def objects(reply: str) -> Iterator[dict[str, Any]]:
    """The JSON objects at the first five braces of a reply, their names folded; strings may hold control characters."""
    decoder = json.JSONDecoder(strict=False)
    for match in list(re.finditer(r"\{", reply))[:_TRIED]:
        try:
            value, _ = decoder.raw_decode(reply, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield {fold(str(name)): field for name, field in value.items()}
