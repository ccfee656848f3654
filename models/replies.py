"""What a chat model's reply is worth: why it ended, whether it says anything, and its tool calls made whole."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall

from ..state.messages import is_empty
from ..state.turn_records import Finish
from .failures import Failure

_FINISH: Final[dict[str, Finish]] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "completed", "done"), "stop"),
    **dict.fromkeys(
        ("length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded", "incomplete",
         "max_length", "error_limit", "reason_max_len", "reason_max_context"),
        "length",
    ),
    **dict.fromkeys(
        ("content_filter", "content_filtered", "refusal", "safety", "recitation", "blocklist", "prohibited_content",
         "spii", "image_safety", "guardrail_intervened", "error_toxic", "model_armor", "language",
         "image_prohibited_content", "image_recitation"),
        "refusal",
    ),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call", "tool_call"), "tool_calls"),
}  # fmt: skip
"""By the words of OpenAI, Anthropic, Google, Ollama, Mistral, Cohere, Bedrock, vLLM and llama.cpp, in lower case."""

_TWICE: Final = re.compile(r"^(\w{3,}?)\1+$")
"""A word that came with several chunks of a stream, which LangChain joins: "stopstop"."""

_KEYS: Final = ("finish_reason", "stop_reason", "done_reason", "stopReason", "finishReason", "status")


def finish_of(reply: AIMessage) -> tuple[Finish | None, str | None]:
    """Why a reply ended, and the provider's own word for it; nothing where it does not say."""
    metadata = reply.response_metadata
    details = metadata.get("incomplete_details")
    given = details.get("reason") if isinstance(details, Mapping) else None
    given = given or next((value for key in _KEYS if (value := metadata.get(key))), None) or _blocked(metadata)
    word = _TWICE.sub(r"\1", str(getattr(given, "name", given))) if given else None
    finish: Finish | None = _FINISH.get(word.lower().removeprefix("finish_reason_"), "other") if word else None
    if _refusal_text(reply) or (_blocked(metadata) and is_empty(reply)):
        return "refusal", word
    if (reply.tool_calls or reply.invalid_tool_calls) and finish in {None, "stop", "other"}:
        return "tool_calls", word
    return finish, word


def tokens_of(reply: AIMessage) -> dict[str, int | None]:
    """What a reply cost in tokens, by the names of `ModelCall`, as its provider counted; None where it does not say.

    The cached tokens are among the input's.
    """
    usage = reply.usage_metadata
    if usage is None:
        return {"input_tokens": None, "output_tokens": None, "cached_tokens": None}
    cached = (usage.get("input_token_details") or {}).get("cache_read")
    return {"input_tokens": usage["input_tokens"], "output_tokens": usage["output_tokens"], "cached_tokens": cached}


def unusable(reply: AIMessage) -> Failure | None:
    """Why a reply cannot be taken, if it cannot: it says nothing and calls nothing."""
    if not is_empty(reply) or _refusal_text(reply):
        return None
    finish, word = finish_of(reply)
    if finish == "refusal":
        return Failure("refusal", f"no text, {word}")
    if finish == "length":
        reason = "the reply was cut before its first word: raise EVERTHREAD_MAX_REPLY_TOKENS"
        return Failure("empty", reason, again=False)
    return Failure("empty", f"the reply was empty ({word})" if word and finish == "other" else "the reply was empty")


def made_whole(reply: AIMessage) -> tuple[AIMessage, dict[str, str]]:
    """The reply with an id, with the words of a refusal as its text, and with tool calls that can be answered.

    Each call gets an id of its own. A call whose arguments are no JSON becomes one without arguments, since providers
    refuse to see the broken text again. The second value holds, by the ids of such calls, what the model wrote. The
    last call of a reply that was cut off is among them: LangChain closes the brackets of what there is, and a tool
    would be run with half of its arguments.
    """
    update: dict[str, Any] = {} if reply.id else {"id": str(uuid.uuid4())}
    if (refusal := _refusal_text(reply)) and is_empty(reply):
        update["content"] = refusal
    calls: list[ToolCall] = []
    given: list[ToolCall | InvalidToolCall] = [*reply.tool_calls, *reply.invalid_tool_calls]
    unreadable: dict[str, str] = {}
    for call in given:
        taken = {known["id"] for known in calls}
        call_id = call["id"] if call["id"] and call["id"] not in taken else f"call_{uuid.uuid4().hex}"
        args = call["args"] if isinstance(call["args"], dict) else {}
        if not isinstance(call["args"], dict):
            unreadable[call_id] = str(call["args"] or "")
        calls.append(ToolCall(name=call["name"] or "unknown", args=args, id=call_id, type="tool_call"))
    if calls and finish_of(reply)[0] == "length":
        unreadable.setdefault(str(calls[-1]["id"]), f"{calls[-1]['args']} (the reply was cut off here)")
    if calls != reply.tool_calls or reply.invalid_tool_calls:
        update |= {"tool_calls": calls, "invalid_tool_calls": []}
    return (reply.model_copy(update=update) if update else reply), unreadable


def without_calls(reply: AIMessage) -> AIMessage:
    """The reply with its text alone."""
    content = reply.content
    if isinstance(content, list):
        kinds = {"tool_use", "tool_call", "function_call", "input_json_delta"}
        content = [block for block in content if not (isinstance(block, dict) and block.get("type") in kinds)]
    extra = {key: value for key, value in reply.additional_kwargs.items() if key not in {"tool_calls", "function_call"}}
    return reply.model_copy(
        update={"content": content, "tool_calls": [], "invalid_tool_calls": [], "additional_kwargs": extra}
    )


def _blocked(metadata: Mapping[str, Any]) -> Any:
    """Why Google did not let the prompt through to its model; nothing where it did."""
    feedback = metadata.get("prompt_feedback")
    return feedback.get("block_reason") if isinstance(feedback, Mapping) else None


def _refusal_text(reply: AIMessage) -> str:
    """What the model says in refusing, where its provider sets that apart from the text."""
    blocks = reply.content if isinstance(reply.content, list) else []
    words = [block.get("refusal") for block in blocks if isinstance(block, dict) and block.get("type") == "refusal"]
    return str(reply.additional_kwargs.get("refusal") or next((word for word in words if word), "") or "")
