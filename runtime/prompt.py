"""The prompt of a turn: assembled for the chat model, and made smaller for one that takes less."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, ToolMessage

from ..assembly.assemble import Assembled, assemble
from ..assembly.cut import Cut, cut
from ..assembly.days import days_of
from ..assembly.layout import Layout
from ..assembly.marks import Marks
from ..assembly.material import found_tokens
from ..facts.sheet import parted
from ..models.cache_marks import with_cache_marks
from ..models.chat import input_window, model_name
from ..models.counting import TokenCounter, counter_for
from ..models.failures import Failure
from ..models.gguf import GGUFChatModel
from ..settings.profiles import PROFILES
from ..settings.settings import Settings
from ..state.chain import is_summary
from ..state.errors import StorageError
from ..state.fact_records import FactSheet
from ..state.messages import message_text
from ..state.offload import offload
from ..state.records import Recall, now
from ..state.report_records import Progress, reply_and_context
from ..state.tool_calls import results_after_calls, with_results
from ..state.turn_records import Context, ContextReport, ReplyReport
from ..state.update import Update
from ..text.shorten import truncate_to_tokens
from .chat_forgetting import note
from .events import tell
from .said import begins_of, with_said
from .turn import Turn

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)

_INLINE: Final = 60_000
"""Characters above which the assembly runs in a thread, so that counting does not hold up the event loop."""

_MARGIN: Final = 0.95
_BLIND: Final = 0.6
"""By how much a prompt that was too long is made smaller, where the provider does not give the numbers."""


class Asked(NamedTuple):
    """What is asked where it is not the model of the settings, with the tools of the graph.

    Attributes:
        model: None for one of unknown window, whose tokens are estimated.
        tools: their definitions are counted.
        instructions: the system prompt.
    """

    model: BaseChatModel | None
    tools: Sequence[Any] = ()
    instructions: str = ""


async def assembled(
    state: ConversationState, turn: Turn, *, budget: int | None = None, asked: Asked | None = None
) -> Update:
    """The messages for the model, what they cost, and of what was recalled what stands in them.

    The same for the same state.

    Args:
        state: the state of the turn.
        turn: settings, resources, thread.
        budget: tokens of the prompt, at most; by default what settings and model say.
        asked: what is asked instead of the turn's own model.

    Raises:
        ModelError: the chat model, whose window is asked for, cannot be loaded, or its own token counter fails.
        SettingsError: the definitions of the tools take most of the budget.
    """
    if asked is None:
        bound = turn.resources.toolbox.bound if turn.settings.max_tool_rounds else ()
        asked = Asked(await turn.resources.models.answering(turn.settings), bound, turn.instructions)
    model, tools, instructions = asked
    counter = await _counter(state, turn, model) if model is not None else TokenCounter()
    search, progress = state.get("search"), Progress.read(state.get("progress"))
    recall, sheet = state.get("recall", Recall()), state.get("facts", FactSheet())
    try:
        state, _ = await with_said(state, turn)
    except StorageError as error:
        logger.warning("What was said under the summaries could not be read: %s", error)
    budget = budget if budget is not None else _room_for(model, turn)
    layout, shown = Layout.of(turn.settings), shown_of(state, turn, budget, asked, counter)
    whole, light = offload(shown.view)
    chain = _cut_results(with_results(whole), turn.settings.max_tool_tokens)
    said = {str(message.id) for message in whole if not is_summary(message)}
    known = parted(sheet, thread_id=turn.thread_id, shown=said, since=shown.since)
    results = search.results if search is not None else ()

    days = days_of(chain, state.get("places") or {}, now().date())
    importance = await _importance(chain, turn) if layout.by_importance else {}

    def make() -> Assembled:
        return assemble(
            chain,
            recall.memories,
            results,
            system_prompt=instructions,
            budget=budget,
            facts=known.standing,
            news=(*note(sheet.forgotten), *known.news),
            tools=tools,
            counter=counter,
            layout=layout,
            thread_id=turn.thread_id,
            turn_before=progress.before if progress is not None else None,
            light=light | shown.light,
            unfolded=shown.unfolded,
            importance=importance,
            days=days,
            found=[hit.source_id for hit in recall.hits],
        )

    weight = sum(len(str(message.content)) for message in chain)
    weight += sum(len(fragment.content) for memory in recall.memories for fragment in memory.fragments)
    weight += sum(len(result.content) for result in results)
    made = make() if weight <= _INLINE else await asyncio.to_thread(make)
    if state.get("context") is None:
        tell("remembered", memories=len(made.memories))
    report = made.report.model_copy(update={"begins": shown.begins})
    update: Update = {"context": Context(messages=tuple(made.messages)), "context_report": report}
    if "recall" in state:
        update["recall"] = recall.model_copy(update={"memories": made.memories})
    return update


def shown_of(
    state: ConversationState, turn: Turn, budget: int, asked: Asked, counter: TokenCounter | None = None
) -> Cut:
    """What a prompt of so many tokens shows of the conversation; see `assembly.cut`."""
    counter = counter or TokenCounter()
    beside = counter.text(asked.instructions) + counter.tools(asked.tools)
    layout, search = Layout.of(turn.settings), state.get("search")
    results = search.results if search is not None else ()
    found = found_tokens(results, state.get("recall", Recall()).memories, layout, budget)
    live, marks = turn.live(state), Marks.of(layout, budget, beside, found)
    return cut(live.view, live.texts, state.get("places") or {}, marks, counter, before=begins_of(state))


class Prompt:
    """The messages for each model that is asked: the assembled context, made again where a model takes less.

    Attributes:
        update: what was assembled here, for the state.
    """

    def __init__(self, state: ConversationState, turn: Turn) -> None:
        self._state = state
        self._turn = turn
        context = state.get("context")
        sent = {message.id for message in context.messages} if context is not None else set()
        # What came back from tools is not in a context that was assembled before they ran.
        self._context = context if not sent.isdisjoint(m.id for m in state["messages"][-1:]) else None
        self._report = state.get("context_report")
        self.update: Update = {}

    async def __call__(self, model: BaseChatModel | None = None, failure: Failure | None = None) -> list[AnyMessage]:
        """The messages for a model; after a failure for length, smaller ones."""
        if self._context is None or self._report is None:
            await self._assemble(None)
        if failure is not None:
            if model is not None and failure.window is not None:
                self._turn.resources.calibration.learn_window(model_name(model), failure.window)
            await self._assemble(_smaller_budget(failure, self._report))
        elif model is not None and self._report is not None:
            room = _room_for(model, self._turn)
            if room < self._report.budget and room < self._report.tokens:
                await self._assemble(room)
        assert self._context is not None  # noqa: S101  # made above
        messages = results_after_calls(cast("Sequence[AnyMessage]", self._context.messages))
        return with_cache_marks(messages, model)

    async def _assemble(self, budget: int | None) -> None:
        self.update = await assembled(self._state, self._turn, budget=budget)
        self._context, self._report = self.update["context"], self.update["context_report"]


def _smaller_budget(failure: Failure, report: ContextReport | None) -> int:
    """Tokens, as we count them, for the second try of a prompt that was too long.

    Where the provider said what it counted and what it takes, our count is scaled by these; else it is a guess.
    """
    counted = report.tokens if report is not None else 0
    if failure.window is None:
        return max(1, int(counted * _BLIND))
    if failure.asked is None or failure.asked <= failure.window:
        return max(1, int(min(counted, failure.window) * _BLIND))
    return max(1, int(counted * failure.window / failure.asked * _MARGIN))


def _room_for(model: BaseChatModel | None, turn: Turn) -> int:
    """Tokens for the prompt of a model; see `token_budget`. A window that its provider named in an error counts."""
    told = turn.resources.calibration.window(model_name(model)) if model is not None else None
    return token_budget(turn.settings, model, told=told)


def token_budget(settings: Settings, model: BaseChatModel | None, *, told: int | None = None) -> int:
    """Tokens for the prompt: `max_context_tokens`, or what the model's window leaves beside the reply.

    Where neither the model nor the profile nor the provider (`told`) names the window, `max_context_tokens` is taken
    for it.
    """
    own = input_window(model) if model is not None else None
    windows = [window for window in (own, told) if window is not None]
    usual = PROFILES[settings.profile].window
    if usual is not None and usual > settings.max_context_tokens:  # who asks for more has a model with a larger one
        windows.append(usual)
    if not windows:
        return settings.max_context_tokens - settings.max_reply_tokens
    window = min(windows)
    # What a GGUF model takes as input has the reply's room taken out already.
    reply = 0 if isinstance(model, GGUFChatModel) and window == own else settings.max_reply_tokens
    return min(settings.max_context_tokens, window - min(reply, window // 2))


async def _importance(chain: Sequence[AnyMessage], turn: Turn) -> dict[str, float]:
    """Of the messages of the chain; none where the storage fails: then the newest stay."""
    try:
        return await turn.user.importance.of(turn.thread_id, [str(message.id) for message in chain])
    except StorageError as error:
        logger.warning("The importance of messages could not be read: %s", error)
        return {}


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
    return reply_and_context(state.get("report"))


def _is_same_model(answered: str, asked: str) -> bool:
    """Whether the model that answered is the one asked, whose name the provider may have made longer by a date."""
    return answered.startswith(asked) or asked.startswith(answered)


def _cut_results(messages: Sequence[AnyMessage], limit: int) -> list[AnyMessage]:
    """The messages with each result of a tool that is longer than `limit` tokens cut to its head and its end."""
    return [_cut(message, limit) if isinstance(message, ToolMessage) else message for message in messages]


def _cut(message: ToolMessage, limit: int) -> ToolMessage:
    if isinstance(message.content, str):
        content: Any = truncate_to_tokens(message.content, limit, keep="both")
    elif any(isinstance(block, dict) and block.get("type") not in {"text", None} for block in message.content):
        return message
    else:
        text = message_text(message)
        short = truncate_to_tokens(text, limit, keep="both")
        content = message.content if short == text else short
    return message if content == message.content else message.model_copy(update={"content": content})
