"""Team spaces: a memory that several users share, beside each one's own. By default nobody shares anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..runtime.forget import forget
from ..runtime.forget_wanted import whole_threads
from ..runtime.resources import Resources
from ..runtime.user import User
from ..state.errors import InputError
from ..state.records import Deleted
from ..storage.entering import across_users
from ..storage.loop_thread import blocking
from ..storage.spaces import RIGHTS, Right, name_of_space, owner_of_space

if TYPE_CHECKING:
    from .memory import ConversationMemory


class Shared:
    """The part of a memory that is about spaces; see `ConversationMemory`."""

    user: User
    resources: Resources
    _member: str

    def space(self, name: str) -> ConversationMemory:
        """The memory that is shared under this name, in which this user acts.

        All its methods raise `RightsError` where the user may not do what they do, also from the moment on at which a
        right is taken. Who has none finds out nothing, not even whether there is such a space.

        Raises:
            InputError: the name is empty.
        """
        from .memory import ConversationMemory

        return ConversationMemory(self.resources, self._member, space=owner_of_space(name))

    async def aspaces(self) -> dict[str, Right]:
        """The spaces that this user may act in, by name, and the right there.

        Raises:
            StorageError: the storage fails.
        """
        rows = await self.resources.of_user(self._member).rows.fetch("spaces.of_user")
        return {name_of_space(row["space_id"]): row["may"] for row in rows}

    spaces = blocking(aspaces)


class TeamSpace:
    """Who may do what in a space: for the program, which decides it, and never for a user or a tool.

    There is a space as soon as somebody may act in it: `await TeamSpace(memory, "crew").agive("ada", "write")`.

    Args:
        memory: of any user: its storage is that of the space.
        name: of the space.

    Raises:
        InputError: the name is empty.
    """

    def __init__(self, memory: ConversationMemory, name: str) -> None:
        self._resources = memory.resources
        self._owner = owner_of_space(name)

    async def agive(self, user_id: str, right: Right) -> None:
        """Let a user read, write or forget there, in place of the right there was; each includes those before it.

        Raises:
            InputError: the right is none of these.
            StorageError: the user id cannot be stored, or the storage fails.
        """
        if right not in RIGHTS:
            raise InputError(f"There is no right {right!r}: expected one of {', '.join(RIGHTS)}.")
        await self._rows("spaces.give", user_id, may=right)

    async def atake(self, user_id: str) -> None:
        """Let a user do nothing there any more. What the user has said there stays: it is the space's."""
        await self._rows("spaces.take", user_id)

    async def amembers(self) -> dict[str, Right]:
        """By user, the right."""
        rows = await across_users(self._resources.database, "spaces.members", space_id=self._owner)
        return {row["user_id"]: row["may"] for row in rows}

    async def adelete(self) -> Deleted:
        """Delete the space with all that it holds; first all rights, so that nothing is added meanwhile."""
        for user_id in await self.amembers():
            await self.atake(user_id)
        user = self._resources.upkeep_of(self._owner)
        return await forget(user, await whole_threads(user), asked_by="program", locks=self._resources.locks)

    give = blocking(agive)
    take = blocking(atake)
    members = blocking(amembers)
    delete = blocking(adelete)

    async def _rows(self, query: str, user_id: str, **values: str) -> None:
        await self._resources.of_user(user_id).rows.fetch(query, space_id=self._owner, **values)
