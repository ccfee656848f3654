"""What is left of the content of a message of which sentences go: its other blocks stay what they are."""

from __future__ import annotations

from typing import Any

from ..text.sentences import sentence_spans
from .messages import content_text


def shortened(content: Any, rest: str) -> Any:
    """The content with no more text than the rest of it; images and files that the rest names stay.

    Args:
        content: of a message: a text, or blocks.
        rest: its text without some sentences, see `content_text`. Where the blocks cannot be made to say just that, it
            is the content.
    """
    if not isinstance(content, list):
        return rest
    kept = [left for block in content if (left := _left_of(block, rest)) is not None]
    return kept if content_text(kept).split() == rest.split() else rest


def _left_of(block: Any, rest: str) -> Any:
    """What is left of a block; None where nothing is. What shows nothing, as reasoning, may have held all."""
    text = content_text([block])
    if isinstance(block, str) or (isinstance(block, dict) and block.get("text")):
        spans = [text[start:end] for start, end in sentence_spans(text)]
        told = " ".join(sentence for sentence in spans if sentence in rest)
        return {"type": "text", "text": told} if told else None
    return block if text and text in rest else None
