"""What a command in the chat is answered: the state of the thread's summaries, their set-up, a summary made now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from langchain_core.messages import AnyMessage, HumanMessage

from ..compression.chain import is_open, open_indices, summaries_of
from ..compression.commands import STORAGES, SummaryCommand, read_threshold
from ..compression.engine import forced_batch, next_batch, policy_of
from ..compression.thread import after_rejection, control_of, settings_in, turn_of
from ..state.chain import Chain, summary_of
from ..state.compression_records import ThreadCompression
from ..state.errors import EverthreadError, SettingsError, StorageError
from ..state.records import MASTER_LEVEL
from ..state.turn_records import AfterReply
from .archiving import archive_new
from .make_summary import shrink
from .turn import Turn
from .user_defaults import keep_as_default

if TYPE_CHECKING:
    from ..state.conversation import ConversationState


class CommandAnswer(NamedTuple):
    """What a command is answered, and what it changes."""

    text: str
    control: ThreadCompression | None = None
    chain: Chain | None = None
    after_reply: AfterReply = AfterReply()


async def command_answer(found: SummaryCommand, state: ConversationState, turn: Turn) -> CommandAnswer:
    """Do what a command says, and what to answer it; `state` is that of the thread without the command."""
    control = control_of(state).model_copy(update={"pending": None})
    if found.name == "status":
        return CommandAnswer(await _status(state, turn), control)
    if found.name in {"on", "off"}:
        control = control.model_copy(update={"enabled": found.name == "on"})
        where = await _where(control, turn)
        if found.name == "on":
            return CommandAnswer(f"Summaries are on {where}: {_rhythm(state, turn)}.", control)
        return CommandAnswer(f"Summaries are off {where}. {_goes_on(turn)} /summary_on goes on.", control)
    if found.name == "now":
        return await _now(state, turn, control)
    answer = _setup(found, control, state, turn)
    if answer.control is not None and found.name == "threshold" and answer.control.pending is None:
        return answer._replace(text=f"{answer.text}\n- Holds {await _where(answer.control, turn)}")
    return answer


async def _where(control: ThreadCompression, turn: Turn) -> str:
    """Where what was chosen holds."""
    return "in this thread and in your new ones" if await keep_as_default(control, turn) else "in this thread"


def _goes_on(turn: Turn) -> str:
    """What goes on without summaries, and how to stop that as well."""
    settings = turn.settings
    going = ["all that is said is kept"]
    stops = []
    if settings.max_memories:
        going.append("recalled where it bears on a question")
        stops.append("recall: EVERTHREAD_MAX_MEMORIES=0")
    if settings.facts:
        going.append("read for facts about you")
        stops.append("facts: EVERTHREAD_FACTS=false")
    told = f"{', '.join(going[:-1])} and {going[-1]}" if len(going) > 1 else going[0]
    how = f" Who starts everthread, or a run, stops that by a setting ({'; '.join(stops)})." if stops else ""
    return f"{told[0].upper()}{told[1:]}.{how}"


def _storage(turn: Turn) -> str:
    """What keeps the conversation, by the name that the user is shown."""
    return STORAGES[turn.resources.database.kind]


def _setup(found: SummaryCommand, control: ThreadCompression, state: ConversationState, turn: Turn) -> CommandAnswer:
    """The two steps of `/summary`: where it is kept, then after how many messages."""
    storage = _storage(turn)
    if found.name == "setup":
        kinds = " ".join(f"[{name}{' (in use)' if name == storage else ''}]" for name in STORAGES.values())
        return CommandAnswer(f"Choose storage format: {kinds}", control.model_copy(update={"pending": "storage"}))
    threshold = "After how many messages should I compress? Send a number 1-500."
    if found.name == "storage":
        chosen = STORAGES[found.value]
        if chosen != storage:
            how = f"where everthread is started (EVERTHREAD_DATABASE_URL={found.value})"
            threshold = f"{chosen} is chosen {how}; here it is {storage}. {threshold}"
        return CommandAnswer(threshold, control.model_copy(update={"pending": "threshold"}))
    name = policy_of(turn.settings).threshold_name
    try:
        number = read_threshold(found.value)
        turn.settings.but(**{name: number})
    except SettingsError as error:
        return CommandAnswer(f"{error} {threshold}", control.model_copy(update={"pending": "threshold"}))
    text = f"External memory configured!\n\n- Storage: {storage}\n- Threshold: {number} messages"
    return CommandAnswer(
        text, control.model_copy(update={"enabled": True, "threshold_name": name, "threshold": number})
    )


async def _now(state: ConversationState, turn: Turn, control: ThreadCompression) -> CommandAnswer:
    """Summarize at once, whatever the threshold; then what that makes due above."""
    settings = settings_in(state, turn.settings)
    batch = forced_batch(turn.live(state).view, settings)
    if batch is None:
        return CommandAnswer("There is nothing to summarize: all that was said is in a summary already.", control)
    view = turn.live(state).view
    count = sum(1 for message in batch.sources if is_open(view, message))
    made: list[str] = []
    chain: Chain | None = None
    try:
        chain, _ = await archive_new(state, turn)
        while batch is not None:
            chain, written = await shrink(chain, turn.live(state).view, batch, settings, turn)
            made.append(written.summary.id)
            control = after_rejection(control, turn_of(state)) if written.summary.rejected else control
            texts = {**(state.get("chain_texts") or {}), written.summary.id: written.summary}
            state = {**state, "chain": chain, "chain_texts": texts}
            batch = next_batch(turn.live(state).view, settings)
    except EverthreadError as error:
        text = (
            f"Not everything was summarized: {error}"
            if made
            else f"Nothing was summarized, and nothing is lost: {error}"
        )
        return CommandAnswer(text, control, chain, AfterReply(summaries=tuple(made), error=str(error)))
    text = f"{count} messages are summarized now; all of them are kept in the archive."
    return CommandAnswer(text, control, chain, AfterReply(summaries=tuple(made)))


async def _status(state: ConversationState, turn: Turn) -> str:
    since = len(_since(state, turn))
    standing = summaries_of(turn.live(state).view)
    is_mastered = any(summary_of(message).level == MASTER_LEVEL for message in standing)
    lines = [
        f"Summaries: {'on' if control_of(state).enabled else 'off'}",
        f"Profile: {turn.settings.profile}",
        f"Storage: {_storage(turn)}",
        f"Compression: {_rhythm(state, turn)}",
        f"Messages since the last summary: {since}",
    ]
    try:
        counts = await turn.user.archive.compression(turn.thread_id)
    except StorageError as error:
        return _as_list([*lines, f"The archive cannot be asked: {error}"])
    return _as_list([
        *lines,
        f"Messages: {counts['messages']} kept, {counts['archived']} of them archived",
        # Not the archive's count, which has those of other branches too, where one went back to an earlier state.
        f"Active summaries: {len(standing)}",
        f"Highest level reached: {counts['level'] or 0}{', and the master summary' if is_mastered else ''}",
    ])  # fmt: skip


def _since(state: ConversationState, turn: Turn) -> list[AnyMessage]:
    """The messages that are in no summary; of a profile that counts the user's, only those."""
    chain = turn.live(state).view
    said = [chain[index] for index in open_indices(chain)]
    return [m for m in said if isinstance(m, HumanMessage)] if turn.settings.profile == "archive" else said


def _rhythm(state: ConversationState, turn: Turn) -> str:
    settings = settings_in(state, turn.settings)
    name = policy_of(settings).threshold_name
    whose = "messages of yours" if settings.profile == "archive" else "messages"
    return f"after {getattr(settings, name)} {whose}"


def _as_list(lines: Sequence[str]) -> str:
    """The lines as a list in Markdown, which chat clients would else run together."""
    return "\n".join(f"- {line}" for line in lines)
