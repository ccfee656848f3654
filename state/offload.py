"""What is heavy is shortened in prompts after two turns; state and archive keep it whole.

A note replaces an image's data, and head and end replace a long text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import AnyMessage, HumanMessage

from .chain import ChainView

_HEAVY: Final = 16_000
"""Characters of a text, or of a block's data, that are too many to be sent each time."""


def offload(chain: ChainView) -> tuple[ChainView, frozenset[str]]:
    """The chain with what is heavy and older than the newest two turns made light, and the ids of what was."""
    asked = [index for index, message in enumerate(chain) if isinstance(message, HumanMessage)]
    old = asked[-2] if len(asked) > 1 else 0
    light = [_light(message) for message in chain[:old]]
    changed = frozenset(str(new.id) for new, whole in zip(light, chain, strict=False) if new is not whole)
    return ChainView([*light, *chain[old:]], chain.kept), changed


def _light(message: AnyMessage) -> AnyMessage:
    content = message.content
    light: Any = _light_text(content) if isinstance(content, str) else _light_blocks(content)
    artifact = getattr(message, "artifact", None)
    update: dict[str, Any] = {} if light == content else {"content": light}
    if artifact is not None and len(str(artifact)) > _HEAVY:
        update["artifact"] = None
    return message.model_copy(update=update) if update else message


def _light_blocks(blocks: Sequence[Any]) -> list[Any]:
    """Heavy thinking leaves no note: it would read as something that was said."""
    return [_light_block(block) for block in blocks if not (_is_thinking(block) and len(str(block)) > _HEAVY)]


def _is_thinking(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in {"thinking", "redacted_thinking", "reasoning"}


def _light_text(text: str) -> str:
    if len(text) <= _HEAVY:
        return text
    half = _HEAVY // 4
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters are in the archive ...]\n{text[-half:]}"


def _light_block(block: Any) -> Any:
    if isinstance(block, str):
        return _light_text(block)
    if isinstance(block.get("text"), str):
        return {**block, "text": _light_text(block["text"])}
    weight = len(str(block))
    kind = str(block.get("type", "block")).removesuffix("_url")
    return block if weight <= _HEAVY else {"type": "text", "text": f"[{kind}, {weight} bytes, is in the archive]"}
