"""LLM call: the chat model answers; LangGraph streams its tokens as they come."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from ..models.answering import Answer, Answering, Policy
from ..models.callbacks import CallRecorder, heard_by
from ..models.replies import finish_of, made_whole, without_calls
from ..runtime.prompt import Prompt
from ..runtime.responder import Responder, ResponderError, Response
from ..runtime.run_settings import without_ours
from ..runtime.turn import Turn
from ..search.citations import cited
from ..state.conversation import ConversationState, Update
from ..state.errors import InputError, ModelError
from ..state.messages import cleaned, is_empty, message_text
from ..state.tool_calls import count_rounds, newest_results, open_calls
from ..state.turn_records import ModelCall, ReplyReport


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
    update: Update = {}
    prompt = Prompt(state, turn)
    started = time.perf_counter()
    unreadable: Mapping[str, str] = {}
    if turn.resources.responder is not None:
        new, model, calls, degraded = await _respond(turn.resources.responder, prompt, state, update, turn)
    else:
        answer = await _ask(prompt, turn)
        new, model, calls, degraded = [answer.reply], answer.model, answer.calls, answer.degraded
    final, unreadable = _final(new[-1], model, rounds, turn)
    new = _with_new_ids([*new[:-1], final], state["messages"])
    report = _report(new[-1], model, time.perf_counter() - started, calls)
    search = state.get("search")
    sources = cited(message_text(new[-1]), search.results) if search is not None and search.results else ()
    report = report.model_copy(
        update={
            "calls": (*before, *report.calls),
            "tool_rounds": rounds + count_rounds(new[:-1]),
            "degraded": degraded,
            "sources": tuple(source.url for source in sources),
        }
    )
    return {**update, "messages": new, "reply": report, "unreadable": unreadable, **prompt.update}


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


async def _ask(prompt: Prompt, turn: Turn) -> Answer:
    settings = turn.settings
    policy = Policy(settings.timeouts.model, settings.timeouts.reply, settings.model_retries)
    tools = turn.resources.toolbox.bound if settings.max_tool_rounds else []
    return await Answering(prompt, tools, policy, turn.config).first(turn.resources.candidates(settings))


def _is_reply(result: ToolMessage, turn: Turn) -> bool:
    return result.status != "error" and turn.resources.toolbox.is_reply(result.name or "")


def _with_new_ids(new: Sequence[AnyMessage], said: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The new messages, each under an id that none of those that were said has: some models give all replies one id."""
    taken = {message.id for message in said}
    return [m.model_copy(update={"id": str(uuid.uuid4())}) if m.id in taken else m for m in new]


def _final(reply: AnyMessage, model: str, rounds: int, turn: Turn) -> tuple[AIMessage, Mapping[str, str]]:
    """The reply as it enters the conversation, and its calls that cannot be read.

    Calls beyond the last round, which was refused, are left out of it.
    """
    whole, unreadable = made_whole(cast("AIMessage", reply))
    final = cast("AIMessage", cleaned(whole))
    limit = turn.settings.max_tool_rounds
    if rounds <= limit or not any(turn.resources.toolbox.runs(call["name"]) for call in final.tool_calls):
        return final, unreadable
    final = without_calls(final)
    if is_empty(final):
        raise ModelError(
            f"The chat model {model!r} goes on calling tools after {limit} rounds. What you said is kept: ask "
            "again, or raise EVERTHREAD_MAX_TOOL_ROUNDS."
        )
    return final, {}


async def _respond(
    responder: Responder, prompt: Prompt, state: ConversationState, update: Update, turn: Turn
) -> tuple[Sequence[AnyMessage], str, tuple[ModelCall, ...], tuple[str, ...]]:
    """The responder's new messages; a prompt that was too long for it is made smaller once.

    What it says beside them goes into the update.
    """
    recorder, kept = CallRecorder(), state.get("responder_state")
    try:
        try:
            response = await _attempt(responder, await prompt(), kept, recorder, turn)
        except ResponderError as error:
            if error.failure.kind != "context":
                raise
            response = await _attempt(responder, await prompt(failure=error.failure), kept, recorder, turn)
    except ResponderError as error:
        error.calls = recorder.calls
        raise
    if response.state is not None and (response.state or kept):
        update["responder_state"] = response.state
    if response.structured is not None or state.get("structured_response") is not None:
        update["structured_response"] = response.structured
    *earlier, last = response.messages
    whole = [made_whole(message)[0] if isinstance(message, AIMessage) else message for message in earlier]
    return [*whole, last], responder.name, recorder.calls, ()


async def _attempt(
    responder: Responder,
    messages: Sequence[AnyMessage],
    kept: Mapping[str, Any] | None,
    recorder: CallRecorder,
    turn: Turn,
) -> Response:
    before, started = len(recorder.calls), time.perf_counter()
    config, own = heard_by(recorder, turn.config), turn.own_context
    try:
        return await responder.respond(
            messages,
            config,
            turn.settings.timeouts.reply,
            context=turn.settings if own is None else without_ours(own),
            state=kept,
        )
    except ResponderError as error:
        if not any(call.failure for call in recorder.calls[before:]):
            recorder.failed(responder.name, time.perf_counter() - started, error.failure)
        raise


def _report(reply: AnyMessage, model: str, seconds: float, calls: tuple[ModelCall, ...]) -> ReplyReport:
    assert isinstance(reply, AIMessage)  # noqa: S101  # both ways to answer end with one
    usage = reply.usage_metadata
    finish, given = finish_of(reply)
    return ReplyReport(
        model=str(reply.response_metadata.get("model_name") or model),
        milliseconds=round(seconds * 1000, 1),
        input_tokens=usage["input_tokens"] if usage else None,
        output_tokens=usage["output_tokens"] if usage else None,
        finish=finish,
        finish_given=given,
        calls=calls,
    )
