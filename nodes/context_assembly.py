"""Context assembly: search results, memories and the live chain become the messages for the model."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel

from ..models.chat import input_window
from ..prompts.system import SYSTEM, SYSTEM_TINY
from ..state.conversation import ConversationState, Update
from ..state.messages import check_input, live_chain
from ..state.records import Recall
from ..state.settings import Settings
from ..state.turn_records import Context, ContextReport
from .assembly import assemble
from .tools import cut_results
from .turn import Turn


async def context_assembly(state: ConversationState, turn: Turn) -> Update:
    """Assemble the context of this turn within the token budget.

    Raises:
        InputError: the newest message is empty or cannot be read.
        ModelError: the chat model, whose window is asked for, cannot be loaded.
    """
    check_input(state["messages"])
    context, report = await assembled(state, turn)
    return {"context": context, "context_report": report}


async def assembled(
    state: ConversationState, turn: Turn, *, budget: int | None = None
) -> tuple[Context, ContextReport]:
    """The messages for the model, and what they cost; the same for the same state but for the fence's nonce.

    Args:
        state: the state of the turn.
        turn: settings, resources, thread.
        budget: tokens of the prompt, at most; by default what settings and model say.
    """
    model = await turn.resources.chat_model(turn.settings)
    search = state.get("search")
    messages, report = assemble(
        cut_results(live_chain(state["messages"]), turn.settings.max_tool_tokens),
        state.get("recall", Recall()).memories,
        search.results if search is not None else (),
        system_prompt=turn.settings.system_prompt.strip() or own_prompt(turn),
        budget=budget if budget is not None else token_budget(turn.settings, model),
    )
    return Context(messages=tuple(messages)), report


def own_prompt(turn: Turn) -> str:
    """everthread's own instructions, in the form that suits the model."""
    return SYSTEM if turn.resources.has_capable_model(turn.settings) else SYSTEM_TINY


def token_budget(settings: Settings, model: BaseChatModel) -> int:
    """Tokens for the prompt: `max_context_tokens`, or what the model's window leaves beside the reply."""
    window = input_window(model)
    budget = settings.max_context_tokens - settings.max_reply_tokens
    return budget if window is None else min(budget, window)
