"""The answer to a prompt: the chat model's, or that of a responder of one's own, as it enters the conversation."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from langchain_core.messages import AIMessage, AnyMessage

from ..models.answering import Answering, RetryPolicy
from ..models.callbacks import CallRecorder, heard_by
from ..models.replies import finish_of, made_whole, tokens_of, without_calls
from ..state.errors import ModelError
from ..state.messages import cleaned, is_empty
from ..state.turn_records import ModelCall, ReplyReport
from ..state.update import Update
from .prompt import Prompt
from .responder import Responder, ResponderError, Response
from .run_settings import without_ours
from .turn import Turn

if TYPE_CHECKING:
    from ..state.conversation import ConversationState


class Answered(NamedTuple):
    """What was answered.

    Attributes:
        messages: new ones, the reply last.
        model: who answered.
        calls: the requests that were made.
        degraded: what could not be done as asked: one sentence each.
        update: what a responder says beside its messages, by the keys of the state.
    """

    messages: Sequence[AnyMessage]
    model: str
    calls: tuple[ModelCall, ...]
    degraded: tuple[str, ...] = ()
    update: Update = {}  # noqa: RUF012  # never changed


async def answered(prompt: Prompt, state: ConversationState, turn: Turn) -> Answered:
    """The answer of the responder, or else of the first model that answers.

    Raises:
        ModelError: no model can be loaded, all fail, or are too slow.
    """
    if turn.resources.responder is not None:
        return await _respond(turn.resources.responder, prompt, state, turn)
    settings = turn.settings
    policy = RetryPolicy(settings.timeouts.model, settings.timeouts.reply, settings.timeouts.retries)
    tools = turn.resources.toolbox.bound if settings.max_tool_rounds else []
    answer = await Answering(prompt, tools, policy, turn.shown()).first(turn.resources.models.candidates(settings))
    return Answered([answer.reply], answer.model, answer.calls, answer.degraded)


def settled(
    answer: Answered, said: Sequence[AnyMessage], rounds: int, turn: Turn
) -> tuple[list[AnyMessage], Mapping[str, str]]:
    """The messages of an answer as they enter the conversation, and the calls of tools in it that cannot be read.

    Each has an id that none of those that were said has: some models give all replies one id. Calls beyond the last
    round, which was refused, are left out.

    Raises:
        ModelError: nothing is left of the reply without these calls.
    """
    *earlier, reply = answer.messages
    whole, unreadable = made_whole(cast("AIMessage", reply))
    final, limit = cast("AIMessage", cleaned(whole)), turn.settings.max_tool_rounds
    if rounds > limit and any(turn.resources.toolbox.runs(call["name"]) for call in final.tool_calls):
        final, unreadable = without_calls(final), {}
        if is_empty(final):
            raise ModelError(
                f"The chat model {answer.model!r} goes on calling tools after {limit} rounds. What you said is kept: "
                "ask again, or raise EVERTHREAD_MAX_TOOL_ROUNDS."
            )
    taken = {message.id for message in said}
    new = [m.model_copy(update={"id": str(uuid.uuid4())}) if m.id in taken else m for m in (*earlier, final)]
    return new, unreadable


def reply_report(reply: AnyMessage, answer: Answered, seconds: float) -> ReplyReport:
    """Which model gave a reply, and what it cost."""
    assert isinstance(reply, AIMessage)  # noqa: S101  # both ways to answer end with one
    finish, given = finish_of(reply)
    return ReplyReport(
        model=str(reply.response_metadata.get("model_name") or answer.model),
        milliseconds=round(seconds * 1000, 1),
        finish=finish,
        finish_given=given,
        calls=answer.calls,
        degraded=answer.degraded,
        **tokens_of(reply),
    )


async def _respond(responder: Responder, prompt: Prompt, state: ConversationState, turn: Turn) -> Answered:
    """The responder's new messages; a prompt that was too long for it is made smaller once."""
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
    update: Update = {}
    if response.state is not None and (response.state or kept):
        update["responder_state"] = response.state
    if response.structured is not None or state.get("structured_response") is not None:
        update["structured_response"] = response.structured
    *earlier, last = response.messages
    whole = [made_whole(message)[0] if isinstance(message, AIMessage) else message for message in earlier]
    return Answered([*whole, last], responder.name, recorder.calls, update=update)


async def _attempt(
    responder: Responder,
    messages: Sequence[AnyMessage],
    kept: Mapping[str, Any] | None,
    recorder: CallRecorder,
    turn: Turn,
) -> Response:
    before, started = len(recorder.calls), time.perf_counter()
    config, own = heard_by(recorder, turn.shown()), turn.own_context
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
