"""What was said under the newest summaries of the chain: read once a turn, as much as a prompt may show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ..assembly.layout import Layout
from ..assembly.marks import Marks
from ..assembly.unfold import to_read
from ..models.counting import TokenCounter
from ..state.report_records import reply_and_context
from ..state.update import Update
from .turn import Turn

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

_ROUNDS: Final = 12
"""Times that what stands under summaries is looked up, at most: each goes down one level."""

_EACH: Final = 60
"""Tokens that a message which was not read is taken for."""

_AT_ONCE: Final = 2_000
"""Messages and summaries that are read at once, at most."""


async def with_said(state: ConversationState, turn: Turn) -> tuple[ConversationState, Update]:
    """The state with what was said under the newest summaries of its chain, and what of that the state lacked.

    Raises:
        StorageError: the archive cannot be read.
    """
    if state.get("places") is not None:
        return state, {}
    marks = Marks.of(Layout.of(turn.settings), turn.settings.max_context_tokens)
    counter, archive, stood = TokenCounter(), turn.user.archive, begins_of(state)[:-1]
    reached, said = set[str](), list[str]()
    for _ in range(_ROUNDS):
        live = turn.live(state)
        wanted, reached, said = to_read(
            live.view,
            live.texts,
            marks.is_enough,
            lambda one: counter.messages([one]),
            _EACH,
            stood=stood,
        )
        found = await archive.below(turn.thread_id, wanted[:_AT_ONCE]) if wanted else {}
        if not found:
            break
        texts = {**(state.get("chain_texts") or {}), **found}
        state = cast("ConversationState", {**state, "chain_texts": texts})
    live = turn.live(state)
    if unplaced := [id_ for id_ in said if id_ not in turn.places]:
        turn.places.update(await archive.places(turn.thread_id, unplaced))
    update: Update = {"places": {id_: turn.places[id_] for id_ in said if id_ in turn.places}}
    if (known := state.get("chain_texts")) is not None:
        # What the turn before needed was read at once, and may be more than this one does.
        needed = reached | {link["id"] for link in live.chain["links"]}
        update["chain_texts"] = {id_: text for id_, text in known.items() if id_ in needed}
    return cast("ConversationState", {**state, **update}), update


def begins_of(state: ConversationState) -> tuple[str, ...]:
    """With what the prompt before this one began: see `assembly.cut`."""
    report = state.get("context_report") or reply_and_context(state.get("report"))[1]
    return report.begins if report is not None else ()


def within_reach(state: ConversationState, turn: Turn) -> set[str]:
    """Ids of what the prompt may show of the conversation: the chain, and what stands under its summaries."""
    return {
        *(str(message.id) for message in turn.live(state).view),
        *(state.get("places") or {}),
        *(state.get("chain_texts") or {}),
    }
