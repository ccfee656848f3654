"""LLM call: the chat model answers; LangGraph streams its tokens as they come."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from langchain_core.messages import ToolMessage

from ..runtime.answer import answered, reply_report, settled
from ..runtime.prompt import Prompt
from ..runtime.turn import Turn
from ..search.citations import cited
from ..state.errors import InputError
from ..state.messages import message_text
from ..state.tool_calls import count_rounds, newest_results, open_calls
from ..state.update import Update

if TYPE_CHECKING:
    from ..state.conversation import ConversationState


async def llm_call(state: ConversationState, turn: Turn) -> Update:
    """Answer the assembled context.

    A turn that is resumed after a crash finds no context in its state, and assembles it again; so does one that comes
    back from its tools. Where calls wait for a result that the caller has to send, nothing is asked; nor where all that
    was called are tools that return their result directly, and none failed: their results are the answer.

    Raises:
        InputError: nothing was said in the thread that could be answered.
        ModelError: no model can be loaded, all fail, or are too slow; the question stays in the thread.
    """
    if is_nothing_to_ask(state, turn):
        return _without_asking(state)
    if not state["messages"]:
        raise InputError("There is nothing to answer: nothing was said in this thread. Send a message.")
    rounds = count_rounds(state["messages"])
    before = state["reply"].calls if rounds and state.get("reply") is not None else ()
    prompt, started = Prompt(state, turn), time.perf_counter()
    answer = await answered(prompt, state, turn)
    new, unreadable = settled(answer, state["messages"], rounds, turn)
    report, search = reply_report(new[-1], answer, time.perf_counter() - started), state.get("search")
    sources = cited(message_text(new[-1]), search.results) if search is not None and search.results else ()
    report = report.model_copy(
        update={
            "calls": (*before, *report.calls),
            "tool_rounds": rounds + count_rounds(new[:-1]),
            "sources": tuple(source.url for source in sources),
        }
    )
    return {**answer.update, "messages": new, "reply": report, "unreadable": unreadable, **prompt.update}


def is_nothing_to_ask(state: ConversationState, turn: Turn) -> bool:
    """Whether calls wait for a result that the caller has to send, or the results of all calls are the answer."""
    if open_calls(state["messages"]):
        return True
    results = newest_results(state["messages"])
    return bool(results) and all(_is_reply(result, turn) for result in results)


def _without_asking(state: ConversationState) -> Update:
    rounds = count_rounds(state["messages"])
    reply = state.get("reply") if rounds and not open_calls(state["messages"]) else None
    return {"reply": reply.model_copy(update={"tool_rounds": rounds})} if reply is not None and reply.calls else {}


def _is_reply(result: ToolMessage, turn: Turn) -> bool:
    return result.status != "error" and turn.resources.toolbox.is_reply(result.name or "")
