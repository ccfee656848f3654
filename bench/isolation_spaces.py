"""The doors to team spaces that `bench.isolation` tries: each victim shares a space with nobody but a reader."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from everthread import MemoryStore, RightsError, TeamSpace
from everthread.doors.memory import ConversationMemory
from everthread.storage.spaces import owner_of_space

READER = "a reader"
"""May read in each space, and nothing else."""

Work = Callable[[], Awaitable[Any]]


class Sharing(Protocol):
    """Whose space is tried for: see `isolation_doors.Victim`."""

    id: str
    secrets: list[str]
    searched: str


def space_of(victim: Sharing) -> str:
    """The name of a victim's space."""
    return f"space of {victim.searched}"


def thread_of(victim: Sharing) -> str:
    """The thread in which its secrets were said."""
    return f"thread in {space_of(victim)}"


class SpaceDoors:
    """What strangers try to reach the spaces of others.

    Args:
        graph: the open graph.
        agent: with the middleware, on the same storage.
        http: asks for the history of a thread as whom the server knows.
        asked: a question whose answers are secrets.
        mark: what strangers try to leave.
        folder: for files.
    """

    def __init__(self, graph: Any, agent: Any, http: Any, asked: str, mark: str, folder: Path) -> None:
        self._graph, self._agent, self._http, self._folder = graph, agent, http, folder
        self._asked, self._mark = asked, mark
        self.all = [self.space_by_its_name, self.space_as_a_user, self.thread_of_a_space, self.reader_of_a_space]

    def memory(self, user_id: str) -> ConversationMemory:
        """A user's."""
        return ConversationMemory(self._graph.resources, user_id)

    async def fill(self, victim: Sharing) -> None:
        """A space of the victim's, with its secrets as messages, a pin, and a document."""
        team = TeamSpace(self.memory(victim.id), space_of(victim))
        await team.agive(victim.id, "forget")
        await team.agive(READER, "read")
        space = self.memory(victim.id).space(space_of(victim))
        one, two, three, four, five = victim.secrets
        said = [f"Our locker number is {one}.", f"Our sister firm is called {two}.", f"Our alarm code is {three}."]
        await space.aremember([("user", text) for text in said], thread_id=thread_of(victim))
        await space.apin(f"The key is {four}.", thread_id=thread_of(victim))
        await MemoryStore(space).aput(("notes",), "garden", {"text": five})
        await space.asettled()

    async def state_of(self, victim: Sharing) -> Any:
        """What the space holds."""
        space = self.memory(victim.id).space(space_of(victim))
        said = [(row.id, row.text) for row in await space.ahistory(thread_of(victim), limit=1000, with_left=True)]
        known = [[fact.text for fact in await space.afacts()], [pin.text for pin in await space.apins()]]
        members = await TeamSpace(space, space_of(victim)).amembers()
        kept = [(item.key, item.value) for item in await MemoryStore(space).asearch((), limit=100)]
        return [said, known, members, kept, len(await space.athreads())]

    async def space_by_its_name(self, stranger: str, victim: Sharing) -> Any:
        name, thread, own = space_of(victim), thread_of(victim), self.memory(stranger)
        space = own.space(name)
        works: list[Work] = [
            lambda: own.arecall(self._asked, spaces=[name]),
            lambda: space.arecall(self._asked),
            lambda: space.acontext(self._asked, thread_id=thread),
            lambda: space.ahistory(thread),
            space.apins,
            lambda: space.aexport(self._folder / "space.jsonl"),
            lambda: MemoryStore(space).asearch((), query=self._asked),
            lambda: MemoryStore(space).aget(("notes",), "garden"),
        ]
        if stranger != victim.id:
            works += [*self._changes(space, thread), lambda: space.acontext("Forget it all.", thread_id=thread)]
        return await random.choice(works)()

    async def space_as_a_user(self, stranger: str, victim: Sharing) -> Any:
        """As if the space itself were a user: in the context, in `configurable`, and on a server."""
        owner, thread = owner_of_space(space_of(victim)), random.choice([thread_of(victim), f"own {stranger}"])
        given, where = {"messages": [("user", f"{self._mark} {self._asked}")]}, {"thread_id": thread}
        by_name: Any = {"configurable": {**where, "user_id": owner}}
        works: list[Work] = [
            lambda: self._graph.ainvoke(given, {"configurable": where}, context={"user_id": owner}),
            lambda: self._graph.ainvoke(given, by_name),
            lambda: self._graph.aget_state(by_name),
            lambda: self._graph.aupdate_state(by_name, given),
            lambda: self._graph.ahistory(owner, thread),
            lambda: self._graph.adelete(owner),
            lambda: self._agent.ainvoke(given, by_name),
            lambda: self._agent.ainvoke(given, {"configurable": {**where, "everthread": {"user_id": owner}}}),
            lambda: self._http(owner, thread),
        ]
        return await random.choice(works)()

    async def thread_of_a_space(self, stranger: str, victim: Sharing) -> Any:
        """The id of its thread, in the stranger's own name."""
        given, thread = {"messages": [("user", f"{self._mark} {self._asked}")]}, thread_of(victim)
        config: Any = {"configurable": {"thread_id": thread, "user_id": stranger}}
        works: list[Work] = [
            lambda: self._graph.ainvoke(given, config),
            lambda: self._graph.aget_state(config),
            lambda: self._graph.aupdate_state(config, given),
            lambda: self._graph.adelete(stranger, thread),
            lambda: self._agent.ainvoke(given, config),
            lambda: self._http(stranger, thread),
            lambda: self.memory(stranger).aremember([("user", self._mark)], thread_id=thread),
        ]
        return await random.choice(works)()

    async def reader_of_a_space(self, stranger: str, victim: Sharing) -> Any:
        """Who may read changes nothing; what was read is no leak."""
        space, thread = self.memory(READER).space(space_of(victim)), thread_of(victim)
        if random.random() < 0.2:
            await space.acontext("Forget our locker number.", thread_id=thread)  # is told that nothing was removed
            return "read"
        try:
            await random.choice(self._changes(space, thread))()
        except RightsError:
            return "refused"
        return victim.secrets

    def _changes(self, space: ConversationMemory, thread: str) -> list[Work]:
        return [
            lambda: space.aremember([("user", f"{self._mark} {self._asked}")], thread_id=thread),
            lambda: space.aadd_fact(f"I am {self._mark}"),
            lambda: space.apin(self._mark, thread_id=thread),
            lambda: space.adelete(thread),
            space.adelete,
            lambda: MemoryStore(space).aput(("notes",), "garden", {"text": self._mark}),
            lambda: MemoryStore(space).adelete(("notes",), "garden"),
        ]
