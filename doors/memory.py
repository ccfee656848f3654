"""`ConversationMemory`: what everthread keeps and finds of a user, without the graph."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any, Final, cast

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, MessageLikeRepresentation

from ..facts.commands import may_ask
from ..maintenance.explain import find_report
from ..runtime.forget import forget
from ..runtime.forget_wanted import part_named, whole_threads
from ..runtime.left_out import without_left_out
from ..runtime.prompt import Asked
from ..runtime.resources import Resources
from ..runtime.turn import LOOKING_KEY, NESTED_KEY, Turn
from ..state.errors import InputError
from ..state.messages import read_input
from ..state.records import Deleted, Memory, Summary, ThreadRow
from ..state.report_records import TurnReport
from ..state.threads import checked_thread_id
from ..storage.archive import ArchivedMessage
from ..storage.loop_thread import blocking
from ..storage.sources import SummaryTree
from .carried import Carried
from .curation import Curated
from .known import Known, check_moment
from .spaces import Shared
from .steps import found_for, kept, prompt_of, recalled, unknown

Messages = MessageLikeRepresentation | Sequence[MessageLikeRepresentation]
"""Messages as LangChain reads them: objects, pairs of role and text, dictionaries; or one of these."""

_ROLES: Final = ("user", "human", "assistant", "ai", "system", "tool")


class ConversationMemory(Carried, Curated, Known, Shared):
    """What is kept of one user: said, summarized, known; and how it is found again.

    Each method comes twice: `recall` blocks, `arecall` is awaited. The graph works on the same storage: a thread may be
    begun here and go on there.

    Args:
        resources: storage and models, shared with the memories of other users.
        user_id: whose.
        space: the owner of a space in which this user acts; see `space`.
    """

    def __init__(self, resources: Resources, user_id: str, *, space: str | None = None) -> None:
        self.resources = resources
        self.user = resources.of_user(user_id) if space is None else resources.of_member(space, user_id)
        self.user_id = self.user.id
        self._member = user_id

    async def aexplain(self, thread_id: str, turn: int = -1) -> TurnReport:
        """The report of a turn: 1 is the first, -1 the last.

        Raises:
            InputError: the user has no such thread, or there is no report of this turn in it.
            StorageError: the storage fails.
        """
        return await find_report(self, self.user_id, thread_id, turn)

    explain = blocking(aexplain)

    def of(self, user_id: str) -> ConversationMemory:
        """The memory of another user, on the same storage and models.

        Raises:
            StorageError: the user id is empty, or holds what cannot be stored.
        """
        return ConversationMemory(self.resources, user_id)

    async def aremember(self, messages: Messages, *, thread_id: str) -> int:
        """Keep messages of a conversation, in their order; returns how many were new.

        They are embedded and read for facts in the background (`asettled` waits for that), summarized as the profile
        says. One that is there already, by its id, or as part of the whole history sent again, is not kept twice.

        Args:
            messages: as LangChain reads them: objects, pairs of role and text, dictionaries; or one of these, and a
                text alone is the user's. When one was said, if not at this moment, is its `created_at` (a key of the
                dictionary, or among `additional_kwargs`), in any usual form.
            thread_id: which conversation.

        Raises:
            InputError: a message cannot be read, or the thread id cannot be kept.
            ModelError: the summary model fails, and the settings want no fallback; the messages are kept.
            StorageError: the storage fails.
            ThreadOwnershipError: the thread belongs to another user.
        """
        turn, read = self._turn(checked_thread_id(thread_id)), read_input(_each(messages))
        async with self.resources.locks.hold(thread_id):
            await self.user.archive.own_thread(thread_id)
            given = await without_left_out(self.user, thread_id, read, asked=True)
            return await kept(await unknown(given, turn), turn)

    async def arecall(
        self,
        query: str,
        *,
        thread_id: str | None = None,
        limit: int = 5,
        as_of: datetime | None = None,
        spaces: Sequence[str] = (),
    ) -> list[Memory]:
        """What was said that bears on a query, the best first: exchanges and summaries, with sources and scores.

        Args:
            query: any text.
            thread_id: the only thread to search; None for all of the user's.
            limit: memories, at most.
            as_of: a moment, with its zone: nothing that was said later, and "yesterday" is the day before it.
            spaces: names of team spaces that are searched as well; each memory says as `space` which it is from.

        Raises:
            InputError: the query is empty, or `as_of` has no zone.
            RightsError: the user may not read one of the spaces.
            StorageError: the storage fails.
        """
        if not query.strip():
            raise InputError("The query is empty: expected a non-empty text.")
        check_moment(as_of)
        scope = "user" if thread_id is None else "thread"
        turn = self._turn(thread_id or "", max_memories=limit, memory_scope=scope)
        found = list((await recalled(query, turn, as_of)).memories)
        for name in spaces:
            shared = await self.space(name).arecall(query, thread_id=thread_id, limit=limit, as_of=as_of)
            found += [memory.model_copy(update={"space": name}) for memory in shared]
        return sorted(found, key=lambda memory: memory.score, reverse=True)[:limit] if spaces else found[:limit]

    async def acontext(
        self, question: str, *, thread_id: str, budget: int | None = None, instructions: str = ""
    ) -> list[AnyMessage]:
        """The messages that the graph would send to a model for a question in a thread.

        A question that asks to forget something ("forget my address") is carried out by this, as in the graph.

        Instructions and what is known about the user first, then the conversation and its summaries, then what was
        remembered, with the question.

        Args:
            question: the question, which is not kept by this.
            thread_id: which conversation.
            budget: tokens, at most; by default `max_context_tokens` without the reply's room.
            instructions: the system prompt of your application.

        Raises:
            InputError: the question is empty, or the thread id cannot be kept.
            StorageError: the storage fails.
            ThreadOwnershipError: the thread belongs to another user.
        """
        turn = self._turn(checked_thread_id(thread_id))
        # A request to forget is carried out, and waits for a turn of the thread.
        removes = bool(await asyncio.to_thread(may_ask, question))
        async with self.resources.locks.hold(thread_id) if removes else nullcontext():
            state = await found_for([HumanMessage(question, id=str(uuid.uuid4()))], turn)
        return await prompt_of(state, turn, Asked(None, instructions=instructions), budget)

    async def ahistory(
        self, thread_id: str, *, before: str | None = None, limit: int = 50, with_left: bool = False
    ) -> list[ArchivedMessage]:
        """A page of a thread as it was said; see `Conversation.ahistory` for the arguments."""
        return await self.user.archive.page(thread_id, before=before, limit=limit, with_left=with_left)

    async def athreads(self) -> list[ThreadRow]:
        """The user's threads in which something was said, the latest first."""
        return [cast("ThreadRow", dict(row)) for row in await self.user.archive.threads() if row["messages"]]

    async def atrace(self, thread_id: str, summary_id: str) -> SummaryTree:
        """What a summary was made from: the tree under it, down to the messages as they were said.

        Raises:
            InputError: the user has no such summary in this thread.
            StorageError: the storage fails.
        """
        if (tree := await self.user.archive.sources(thread_id, summary_id)) is None:
            raise InputError(f"There is no summary {summary_id!r} in this thread: `summaries` lists those there are.")
        return tree

    async def asummaries(self, thread_id: str) -> list[Summary]:
        """The summaries of a thread, each with the ids that it was made from."""
        return list(await self.user.archive.summaries(thread_id))

    async def aforget(
        self,
        thread_id: str | None = None,
        *,
        messages: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        fact: str | None = None,
    ) -> Deleted:
        """Forget messages, a span of time or a fact, with all that was made from it; see `Conversation.aforget`.

        Raises:
            InputError: not one of these is named, or it is not there.
            EverthreadError: something failed, and nothing was forgotten.
        """
        wanted = await part_named(self.user, thread_id, messages=messages, since=since, until=until, fact=fact)
        return await forget(self.user, wanted, asked_by="program", locks=self.resources.locks)

    async def adelete(self, thread_id: str | None = None) -> Deleted:
        """Delete a thread, or all of the user's, with everything that was made from them.

        Raises:
            InputError: the user has no such thread.
            StorageError: the storage fails; nothing was deleted.
        """
        wanted = await whole_threads(self.user, thread_id)
        return await forget(self.user, wanted, asked_by="program", locks=self.resources.locks)

    async def asettled(self) -> None:
        """Wait until all that was kept is embedded and read for facts."""
        await self.resources.background.settled()

    remember = blocking(aremember)
    recall = blocking(arecall)
    context = blocking(acontext)
    history = blocking(ahistory)
    threads = blocking(athreads)
    summaries = blocking(asummaries)
    trace = blocking(atrace)
    forget = blocking(aforget)
    delete = blocking(adelete)
    settled = blocking(asettled)

    def _turn(self, thread_id: str, *, only_looks: bool = False, **changes: Any) -> Turn:
        settings = self.resources.settings.model_copy(update={"user_id": self.user_id, **changes})
        # As where the graph is a part of another one: the messages are those given, the rest is in the archive.
        own = {"thread_id": thread_id, NESTED_KEY: True, LOOKING_KEY: only_looks}
        return Turn(self.resources, settings, {"configurable": own}, user=self.user)


def _each(messages: Messages) -> list[MessageLikeRepresentation]:
    """The messages; a pair of a role and a text is one, and not two texts."""
    is_pair = isinstance(messages, tuple) and len(messages) == 2 and messages[0] in _ROLES
    one = is_pair or isinstance(messages, (str, dict, BaseMessage))
    return [cast("MessageLikeRepresentation", messages)] if one else list(cast("Sequence[Any]", messages))
