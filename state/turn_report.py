"""How a turn's report is made out of the state: pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from ..text.fold import lower
from ..text.language import language_of
from ..text.shorten import one_line
from ..text.stop_words import stop_words
from ..text.words import words
from .messages import STOPPED_KEY, message_text, newest_question
from .records import Summary, now
from .report_records import EXCERPT, Progress, Recalled, TurnReport, advanced, as_plain, brief
from .update import TURN_CHANNELS, Update, Whole

if TYPE_CHECKING:
    from .conversation import ConversationState


def question_id(messages: Sequence[BaseMessage]) -> str:
    """The id of the user's newest message, which tells one turn from another; empty where there is none."""
    return next((str(message.id) for message in reversed(messages) if isinstance(message, HumanMessage)), "")


def next_progress(state: Mapping[str, Any], node: str, milliseconds: float, started_at: datetime) -> dict[str, Any]:
    """What a node adds to `progress` when it is done: a `Progress` as plain data.

    Args:
        state: the state that the node was given.
        node: its name.
        milliseconds: how long it took.
        started_at: when it started; of the first node of a turn, this is when the turn did.
    """
    asked = question_id(state.get("messages", ()))
    turn, started = 1, started_at.isoformat()
    if (before := as_plain(state.get("progress"))) is not None:
        is_same = before["question_id"] == asked
        turn, started = (before["turn"], before["started_at"]) if is_same else (before["turn"] + 1, started)
    spent = {node: round(milliseconds, 1)}
    return {"question_id": asked, "turn": turn, "started_at": started, "milliseconds": spent, "before": None}


def turn_report(state: Mapping[str, Any], progress: Progress) -> TurnReport:
    """The report of the turn that the state is in, or of what there is of it so far.

    Args:
        state: all channels.
        progress: that of the turn.
    """
    of_turn = {name: state[name] for name in TURN_CHANNELS if state.get(name) is not None}
    after_reply, recall = of_turn.get("after_reply"), of_turn.get("recall")
    hits, memories = (recall.hits, recall.memories) if recall is not None else ((), ())
    if recall is not None:
        recall = of_turn["recall"] = recall.model_copy(update={"hits": (), "memories": ()})
    messages = state.get("messages", ())
    forgotten = sheet.forgotten if (sheet := of_turn.get("facts")) is not None else None
    is_forgotten = forgotten is not None and forgotten.is_set_aside
    told = _told(messages) if memories else frozenset[str]()
    return TurnReport(
        turn=progress.turn,
        question="" if is_forgotten else one_line(newest_question(messages), EXCERPT),
        started_at=progress.started_at,
        milliseconds=round((now() - progress.started_at).total_seconds() * 1000, 1),
        nodes=progress.milliseconds,
        forgotten=forgotten.model_copy(update={"may_be_meant": ()}) if forgotten is not None else None,
        search=_brief(of_turn.get("search")),
        recall=recall,
        hits=len(hits),
        memories=tuple(Recalled.of(memory, told) for memory in memories),
        context=_brief(of_turn.get("context_report")),
        reply=_brief(of_turn.get("reply")),
        after_reply=_brief(after_reply),
        summaries=tuple(_summaries(of_turn.get("chain_texts", {}), after_reply.summaries if after_reply else ())),
        stopped=bool(messages) and bool(messages[-1].response_metadata.get(STOPPED_KEY)),
        degraded=tuple(dict.fromkeys(filter(None, _failures(of_turn)))),
    )


def _told(messages: Sequence[BaseMessage]) -> frozenset[str]:
    """The words of the reply that are neither the question's nor stop words: by these it tells what it has used."""
    reply = message_text(messages[-1]) if messages and isinstance(messages[-1], AIMessage) else ""
    asked = words(lower(newest_question(messages)))
    return frozenset(words(lower(reply))) - frozenset(asked) - stop_words(language_of(reply))


def after(state: ConversationState, update: Update) -> ConversationState:
    """The state as it is once what a node returned is written: all of `messages`, or new ones at their end."""
    written = {**state, **update, "progress": advanced(state.get("progress"), update["progress"])}
    messages = update.get("messages")
    if isinstance(messages, Whole):
        written["messages"] = messages.value
    elif messages is not None:
        written["messages"] = [*state.get("messages", []), *messages]
    return cast("ConversationState", written)


def _brief(record: Any) -> Any:
    return None if record is None else brief(record)


def _summaries(texts: Mapping[str, Any], ids: Sequence[str]) -> Iterator[Summary]:
    """Those of the summaries that were made in this turn."""
    yield from (brief(text) for id_ in ids if isinstance(text := texts.get(id_), Summary))


def _failures(of_turn: Mapping[str, Any]) -> Iterator[str]:
    """What failed in the turn without failing it: one sentence each."""
    yield from (record.error for name in ("search", "recall", "facts") if (record := of_turn.get(name)) is not None)
    if (sheet := of_turn.get("facts")) is not None and sheet.forgotten is not None:
        yield sheet.forgotten.error
    if (reply := of_turn.get("reply")) is not None:
        for call in reply.calls:
            yield f"The chat model {call.model!r} failed: {call.error.rstrip('.')}." if call.error else ""
        yield from reply.degraded
    if (after_reply := of_turn.get("after_reply")) is not None:
        yield after_reply.error
        yield from after_reply.degraded
