"""LLM call: the chat model answers; LangGraph streams its tokens as they come."""

from __future__ import annotations

import asyncio
import time
import uuid

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage

from ..models.chat import model_name
from ..state.conversation import ConversationState, Update
from ..state.errors import EverthreadError, ModelError, first_line
from ..state.turn_records import Context, ReplyReport
from .context_assembly import assembled
from .turn import Turn


async def llm_call(state: ConversationState, turn: Turn) -> Update:
    """Answer the assembled context.

    A turn that is resumed after a crash finds no context in its state, and assembles it again.

    Raises:
        ModelError: the model cannot be loaded, fails, or is too slow; the question stays in the thread.
    """
    model = await turn.resources.chat_model(turn.settings)
    context = state.get("context") or (await assembled(state, turn))[0]
    started = time.perf_counter()
    reply = await _answer(model, context, turn)
    return {"messages": [reply], "reply": _report(model, reply, time.perf_counter() - started)}


async def _answer(model: BaseChatModel, context: Context, turn: Turn) -> AIMessage:
    name = model_name(model)
    try:
        async with asyncio.timeout(turn.settings.model_timeout):
            reply = await model.ainvoke(list(context.messages), turn.config)
    except TimeoutError:
        raise ModelError(
            f"The chat model {name!r} took longer than {turn.settings.model_timeout:g} s. What you said is kept: ask "
            "again, or raise EVERTHREAD_MODEL_TIMEOUT."
        ) from None
    except EverthreadError:
        raise
    except Exception as error:
        reason = first_line(error)
        raise ModelError(
            f"The chat model {name!r} failed: {reason}. What you said is kept: ask again, or set another "
            "EVERTHREAD_MODEL."
        ) from error
    return reply if reply.id else reply.model_copy(update={"id": str(uuid.uuid4())})


def _report(model: BaseChatModel, reply: AIMessage, seconds: float) -> ReplyReport:
    usage = reply.usage_metadata
    finish = reply.response_metadata.get("finish_reason") or reply.response_metadata.get("stop_reason")
    return ReplyReport(
        model=str(reply.response_metadata.get("model_name") or model_name(model)),
        milliseconds=round(seconds * 1000, 1),
        input_tokens=usage["input_tokens"] if usage else None,
        output_tokens=usage["output_tokens"] if usage else None,
        finish=str(finish) if finish else None,
    )
