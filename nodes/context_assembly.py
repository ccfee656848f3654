"""Context assembly: search results, memories and the live chain become the messages for the model."""

from __future__ import annotations

import asyncio
from typing import Final

from langchain_core.language_models import BaseChatModel

from ..assembly.assemble import assemble
from ..assembly.layout import Layout
from ..models.chat import input_window, model_name
from ..models.counting import TokenCounter, counter_for
from ..models.gguf import GGUFChatModel
from ..runtime.turn import Turn
from ..settings.settings import Settings
from ..state.conversation import ConversationState, Update
from ..state.fact_records import FactSheet
from ..state.lighten import lighten
from ..state.live_chain import view_in
from ..state.messages import check_input
from ..state.records import Recall
from ..state.report_records import Progress, TurnReport
from ..state.tool_calls import with_results
from ..state.turn_records import Context, ContextReport, ReplyReport
from .tools import cut_results

_INLINE: Final = 60_000
"""Characters above which the assembly runs in a thread, so that counting does not hold up the event loop."""


async def context_assembly(state: ConversationState, turn: Turn) -> Update:
    """Assemble the context of this turn within the token budget.

    Raises:
        InputError: the newest message is empty or cannot be read.
        ModelError: the chat model, whose window is asked for, cannot be loaded, or its own token counter fails.
        SettingsError: the definitions of the tools take most of the budget.
    """
    check_input(state["messages"])
    context, report = await assembled(state, turn)
    return {"context": context, "context_report": report}


async def assembled(
    state: ConversationState, turn: Turn, *, budget: int | None = None
) -> tuple[Context, ContextReport]:
    """The messages for the model, and what they cost; the same for the same state.

    Args:
        state: the state of the turn.
        turn: settings, resources, thread.
        budget: tokens of the prompt, at most; by default what settings and model say.
    """
    model = await turn.resources.models.answering(turn.settings)
    counter = await _counter(state, turn, model)
    search, progress = state.get("search"), Progress.read(state.get("progress"))
    whole, light = lighten(view_in(state))
    chain = cut_results(with_results(whole), turn.settings.max_tool_tokens)
    memories = state.get("recall", Recall()).memories
    results = search.results if search is not None else ()

    def make() -> tuple[Context, ContextReport]:
        messages, report = assemble(
            chain,
            memories,
            results,
            system_prompt=turn.instructions,
            budget=budget if budget is not None else room_for(model, turn),
            facts=state.get("facts", FactSheet()).lines,
            tools=turn.resources.toolbox.bound if turn.settings.max_tool_rounds else (),
            counter=counter,
            layout=Layout.of(turn.settings),
            thread_id=turn.thread_id,
            turn_before=progress.before if progress is not None else None,
            light=light,
        )
        return Context(messages=tuple(messages)), report

    weight = sum(len(str(message.content)) for message in chain)
    weight += sum(len(fragment.content) for memory in memories for fragment in memory.fragments)
    weight += sum(len(result.content) for result in results)
    return make() if weight <= _INLINE else await asyncio.to_thread(make)


def room_for(model: BaseChatModel, turn: Turn) -> int:
    """Tokens for the prompt of a model; see `token_budget`. A window that its provider told in an error counts."""
    return token_budget(turn.settings, model, told=turn.resources.calibration.window(model_name(model)))


def token_budget(settings: Settings, model: BaseChatModel, *, told: int | None = None) -> int:
    """Tokens for the prompt: `max_context_tokens`, or what the model's window leaves beside the reply.

    Where neither the model nor `context_window` nor its provider (`told`) tells the window, `max_context_tokens` is
    taken for it.
    """
    windows = [window for window in (input_window(model), settings.context_window, told) if window is not None]
    if not windows:
        return settings.max_context_tokens - settings.max_reply_tokens
    window = min(windows)
    # What a GGUF model takes as input has the reply's room taken out already.
    reply = 0 if isinstance(model, GGUFChatModel) and window == input_window(model) else settings.max_reply_tokens
    return min(settings.max_context_tokens, window - min(reply, window // 2))


async def _counter(state: ConversationState, turn: Turn, model: BaseChatModel) -> TokenCounter:
    """What counts for the model, raised by what its provider reported for the turns before."""
    name = model_name(model)
    calibration = turn.resources.calibration
    reply, report = _reply_and_context(state)
    if reply is not None and report is not None and _is_same_model(reply.model, name):
        calibration.observe(name, counted=report.tokens / report.factor, reported=reply.input_tokens)
    return (await counter_for(model)).raised(calibration.factor(name))


def _reply_and_context(state: ConversationState) -> tuple[ReplyReport | None, ContextReport | None]:
    """Those of this turn, after a round of tools; else those of the turn before."""
    if (reply := state.get("reply")) is not None:
        return reply, state.get("context_report")
    before = TurnReport.read(state.get("report"))
    return (before.reply, before.context) if before is not None else (None, None)


def _is_same_model(answered: str, asked: str) -> bool:
    """Whether the model that answered is the one asked, whose name the provider may have made longer by a date."""
    return answered.startswith(asked) or asked.startswith(answered)
