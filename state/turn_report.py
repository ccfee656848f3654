"""How a turn's report is made out of the state: pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.graph.message import Messages
from langgraph.types import Overwrite

from ..text.shorten import one_line
from .conversation import TURN_CHANNELS, ConversationState, Update
from .messages import add_said, newest_question
from .records import Record, Summary, now
from .report_records import EXCERPT, Progress, Recalled, TurnReport, advanced, brief
from .turn_records import ModelCall

_FAILURES: Final = frozenset({"error", "errors", "degraded"})


def question_id(messages: Sequence[BaseMessage]) -> str:
    """The id of the user's newest message, which tells one turn from another; empty where there is none."""
    return next((str(message.id) for message in reversed(messages) if isinstance(message, HumanMessage)), "")


def next_progress(state: Mapping[str, Any], node: str, milliseconds: float, started_at: datetime) -> Progress:
    """What a node adds to `progress` when it is done.

    Args:
        state: the state that the node was given.
        node: its name.
        milliseconds: how long it took.
        started_at: when it started; of the first node of a turn, this is when the turn did.
    """
    before, asked = Progress.read(state.get("progress")), question_id(state.get("messages", ()))
    turn = 1
    if before is not None:
        turn, started_at = (
            (before.turn, before.started_at) if before.question_id == asked else (before.turn + 1, started_at)
        )
    return Progress(
        question_id=asked,
        turn=turn,
        started_at=started_at,
        milliseconds={node: round(milliseconds, 1)},
    )


def turn_report(state: Mapping[str, Any], progress: Progress) -> TurnReport:
    """The report of the turn that the state is in, or of what there is of it so far.

    Args:
        state: all channels.
        progress: that of the turn.
    """
    of_turn = {name: state[name] for name in TURN_CHANNELS if state.get(name) is not None}
    upkeep, recall = of_turn.get("upkeep"), of_turn.get("recall")
    hits, memories = (recall.hits, recall.memories) if recall is not None else ((), ())
    if recall is not None:
        recall = of_turn["recall"] = recall.model_copy(update={"hits": (), "memories": ()})
    messages = state.get("messages", ())
    return TurnReport(
        turn=progress.turn,
        question=one_line(newest_question(messages), EXCERPT),
        started_at=progress.started_at,
        milliseconds=round((now() - progress.started_at).total_seconds() * 1000, 1),
        nodes=progress.milliseconds,
        search=_brief(of_turn.get("search")),
        recall=recall,
        hits=len(hits),
        memories=tuple(Recalled.of(memory) for memory in memories),
        context=_brief(of_turn.get("context_report")),
        reply=_brief(of_turn.get("reply")),
        upkeep=_brief(upkeep),
        summaries=tuple(_summaries(of_turn.get("chain_texts", {}), upkeep.summaries if upkeep else ())),
        degraded=tuple(dict.fromkeys(error for record in of_turn.values() for error in _errors(record))),
    )


def after(state: ConversationState, update: Update) -> ConversationState:
    """The state as it is once what a node returned is written: by the reducers of `messages` and `progress`."""
    written = {**state, **update, "progress": advanced(state.get("progress"), update["progress"])}
    messages = update.get("messages")
    if isinstance(messages, Overwrite):
        written["messages"] = messages.value
    elif messages is not None:
        written["messages"] = add_said(cast("Messages", state.get("messages", [])), messages)
    return cast("ConversationState", written)


def _brief(record: Any) -> Any:
    return None if record is None else brief(record)


def _summaries(texts: Mapping[str, Any], ids: Sequence[str]) -> Iterator[Summary]:
    """Those of the summaries that were made in this turn."""
    yield from (brief(text) for id_ in ids if isinstance(text := texts.get(id_), Summary))


def _errors(record: Any) -> Iterator[str]:
    """Every sentence that a field named as a failure of the record, or of a record in it, holds."""
    if not isinstance(record, Record):
        return
    if isinstance(record, ModelCall) and record.error:
        yield f"The chat model {record.model!r} failed: {record.error.rstrip('.')}."
        return
    for name in type(record).model_fields:
        value = getattr(record, name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, str) and item and name in _FAILURES:
                yield item
            yield from _errors(item)
