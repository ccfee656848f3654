"""Which checkpoints of a run are stored: those from which something would be lost, not each step of the graph.

A turn takes seven to nine steps. What it searches and remembers can be made again, so a turn that breaks off there goes
on from its question, or from its reply once that is archived. What stands in the history of a thread is the question
and the end of each turn, and between them what cannot be done twice: calls of tools, an interrupt, an error. So who
edits an older message finds its checkpoint among the newest ten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from langchain_core.runnables import RunnableConfig

if TYPE_CHECKING:
    from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata

RUN_KEY: Final = "__everthread_run"
"""Names in a `configurable` the `RunCheckpoints` of the run. A run without it stores each step."""

_BRANCH: Final = "branch:to:"
TASKS: Final = "__pregel_tasks"
"""Stands among the nodes that wait for the calls of tools that do."""

_REPEATABLE: Final = frozenset(
    {"slm_router", "web_search", "pairing", "context_assembly", "llm_call", "summarize", "keyword_check",
     "memory_retrieval", "remember"}
)  # fmt: skip
"""Nodes that may be run again without a trace: what they archive they archive once, by its id."""

_ARCHIVING: Final = {"remember"}
"""The node that archives a reply first of all: from there it comes back, see `graph.recognition`."""

_BETWEEN: Final = frozenset({"llm_call", "tools", "remember", "summarize", TASKS})
"""Nodes before which a step lies inside a turn."""


class Writes(NamedTuple):
    """What a task wrote after a checkpoint, before its step was complete."""

    values: Sequence[tuple[str, Any]]
    task_id: str
    task_path: str

    @property
    def are_special(self) -> bool:
        """Whether it is an interrupt, an error, or an answer to an interrupt."""
        from langgraph.checkpoint.base import WRITES_IDX_MAP

        return any(channel in WRITES_IDX_MAP for channel, _ in self.values)

    @property
    def must_be_stored(self) -> bool:
        """Whether it cannot be made again."""
        return self.are_special or not _is_of_repeatable(self.task_path)


class Step(NamedTuple):
    """A checkpoint as it came, with what tasks wrote after it."""

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    versions: ChannelVersions
    writes: list[Writes]


class Passing(NamedTuple):
    """A stored checkpoint that the end of its turn replaces: its id, that of its parent, the values it brought."""

    id: str
    parent_id: str | None
    versions: ChannelVersions


class Stored(NamedTuple):
    """A step that is to be stored, and the checkpoints that it replaces."""

    step: Step
    replaces: tuple[Passing, ...] = ()


THINNED_AT_ONCE: Final = 32
"""Checkpoints that the end of a turn deletes, at most: of a thread from before, more are due."""


class RunCheckpoints:
    """What of one run is stored, and what waits to be. Used by one saver, in the order of the steps.

    Args:
        user_id: whose run it is; of None nothing is held for later.
        is_away: whether it goes on from what the process holds, and stores nothing.

    Attributes:
        texts: working values of the turn, which the next one needs where the storage does not answer.
        figures: those of which its report is made, when the reply is there.
        newest: the newest step.
        read: ids of messages that others said, and that the run has read while it went on.
    """

    def __init__(self, user_id: str | None = None, *, is_away: bool = False) -> None:
        self.user_id, self.is_away = user_id, is_away
        self.texts: Mapping[str, Any] = {}
        self.figures: Mapping[str, Any] = {}
        self.newest: Step | None = None
        self.read: set[str | None] = set()
        self._first: Step | None = None
        self._skipped: Step | None = None
        self._passing: list[Passing] = []
        self._early: dict[str, list[Writes]] = {}
        self._stored: set[str] = set()

    def following(self) -> RunCheckpoints:
        """Those of a run that ends the turn which this one began."""
        following = RunCheckpoints(self.user_id)
        following.figures = self.figures
        return following

    def take(self, step: Step) -> Stored | None:
        """The step as it is to be stored; None where it need not be.

        What was skipped before it becomes part of it: its new values, and its place behind its parent.
        """
        self.newest = step
        self._first = self._first or step
        step = self._merged(step)._replace(writes=self._early.pop(step.checkpoint["id"], []))
        if self._is_repeatable(step) and not any(writes.are_special for writes in step.writes):
            self._skipped = step
            return None
        return self._store(step)

    @property
    def said(self) -> list[Any]:
        """The messages that the run has brought so far."""
        if self.newest is None or self._first is None:
            return []
        before = {message.id for message in _messages(self._first)} | self.read
        return [message for message in _messages(self.newest) if message.id not in before]

    def changed(self) -> dict[str, Any]:
        """The channels that the run has changed so far, by their names."""
        if self.newest is None or self._first is None:
            return {}
        new, old = self.newest.checkpoint, self._first.checkpoint["channel_versions"]
        return {n: v for n, v in new["channel_values"].items() if new["channel_versions"].get(n) != old.get(n)}

    def take_writes(self, id_: str, writes: Writes) -> Stored | bool:
        """Whether what a task wrote after a checkpoint is to be stored; or that checkpoint, which must be for it."""
        if id_ in self._stored:
            return writes.must_be_stored
        if self._skipped is None or self._skipped.checkpoint["id"] != id_:
            self._early.setdefault(id_, []).append(writes)
            return False
        self._skipped.writes.append(writes)
        return self._store(self._skipped) if writes.are_special else False

    def _is_repeatable(self, step: Step) -> bool:
        """Whether nothing would be lost with a step: what follows it can be run again, and it says nothing new."""
        source, following = step.metadata.get("source"), waiting_nodes(step.checkpoint)
        if source == "input":
            return bool(step.config["configurable"].get("checkpoint_id"))
        if source != "loop" or not following or not following <= _REPEATABLE:
            return False
        return "messages" not in step.versions or following == _ARCHIVING

    def _store(self, step: Step) -> Stored:
        self._skipped = None
        id_ = step.checkpoint["id"]
        self._stored.add(id_)
        replaced: tuple[Passing, ...] = ()
        if is_end(step) and self._passing:
            replaced, self._passing = tuple(self._passing), []
            step = step._replace(config=_behind(step.config, replaced[0].parent_id))
        elif _is_passing(step):
            self._passing.append(Passing(id_, step.config["configurable"].get("checkpoint_id"), step.versions))
        return Stored(step, replaced)

    def _merged(self, step: Step) -> Step:
        before = self._skipped
        if before is None or step.config["configurable"].get("checkpoint_id") != before.checkpoint["id"]:
            return step
        current = step.checkpoint["channel_versions"]
        changed = before.versions.keys() | step.versions.keys()
        versions = {name: current[name] for name in changed if name in current}
        parent_id = before.config["configurable"].get("checkpoint_id")
        return step._replace(config=_behind(step.config, parent_id), versions=versions)


def run_of(config: RunnableConfig) -> RunCheckpoints | None:
    """The run of a config, where it stores its checkpoints sparsely; not for a graph inside another."""
    return None if config["configurable"].get("checkpoint_ns") else _around(config)


def is_away(config: RunnableConfig) -> bool:
    """Whether the run of a config goes on from what the process holds; also for a graph inside another."""
    run = _around(config)
    return run is not None and run.is_away


def note_read(config: RunnableConfig, ids: Iterable[str | None]) -> None:
    """Note what the run of a config, if it is one of ours, has read of what others said."""
    if (run := _around(config)) is not None:
        run.read.update(ids)


def _around(config: RunnableConfig) -> RunCheckpoints | None:
    run = config["configurable"].get(RUN_KEY)
    return run if isinstance(run, RunCheckpoints) else None


def _messages(step: Step) -> Sequence[Any]:
    return step.checkpoint["channel_values"].get("messages") or ()


def is_end(step: Step) -> bool:
    """Whether a turn ends with a step."""
    return step.metadata.get("source") == "loop" and not waiting_nodes(step.checkpoint)


def thins(step: Step) -> bool:
    """Whether the older checkpoints of the thread go with a step: with the end of a turn of everthread's own."""
    return run_of(step.config) is not None and is_end(step)


def _is_passing(step: Step) -> bool:
    """Whether a stored step lies between the question and the end of a turn."""
    following = waiting_nodes(step.checkpoint)
    return step.metadata.get("source") == "loop" and bool(following) and following <= _BETWEEN


def waiting_nodes(checkpoint: Checkpoint) -> set[str]:
    """The nodes that run next."""
    values: Mapping[str, Any] = checkpoint["channel_values"]
    nodes = {name.removeprefix(_BRANCH) for name in values if name.startswith(_BRANCH)}
    return nodes | ({TASKS} if values.get(TASKS) else set())


def _is_of_repeatable(task_path: str) -> bool:
    """Whether a task is of a node that may be run again; its path names the node."""
    parts = [part.strip() for part in task_path.split(",")]
    return len(parts) > 1 and parts[-1] in _REPEATABLE and parts[0].endswith("pull")


def _behind(config: RunnableConfig, parent_id: str | None) -> RunnableConfig:
    return {**config, "configurable": {**config["configurable"], "checkpoint_id": parent_id}}
