"""Team spaces: memories that several users share. A space owns rows as a user does; who acts in it is a member of it.

Each transaction of a member begins with what rights the member has in the space, and does nothing that they do not
cover; on Postgres the policies ask once more (`postgres/row_security.sql`). Without a member,
a space's rows are out of reach.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from ..state.errors import InputError, RightsError
from ..state.messages import clean_text
from .queries import read_queries

if TYPE_CHECKING:
    from .storage import Connection, Storage

Right = Literal["read", "write", "forget"]
"""What a member may do: find and list; keep and correct; remove what is there. Each includes those before it."""

RIGHTS: Final[tuple[Right, ...]] = get_args(Right)
_PREFIX: Final = "space:"
_WRITES: Final = re.compile(r"\b(INSERT INTO|UPDATE|DELETE FROM|nextval)\b")
_REMOVES: Final = re.compile(r"^(deletion|retention)\.|forget|\.drop|documents\.remove")


def owner_of_space(name: str) -> str:
    """Under which owner a space's rows stand.

    Raises:
        InputError: the name is empty, or holds what cannot be stored.
    """
    if not name.strip() or clean_text(name) != name:
        raise InputError("The name of a space is empty or holds NUL: expected a non-empty text.")
    return f"{_PREFIX}{name}"


def name_of_space(owner: str) -> str:
    """The name of the space whose rows stand under an owner."""
    return owner.removeprefix(_PREFIX)


def is_space(owner: str) -> bool:
    """Whether rows of this owner are a space's."""
    return owner.startswith(_PREFIX)


@cache
def _right_for(query: str) -> Right:
    """The right that a statement asks for, by its name; one that is given as it is counts by its text."""
    if not _WRITES.search(read_queries("postgres").get(query, query)):
        return "read"
    return "forget" if _REMOVES.search(query) else "write"


class Member(NamedTuple):
    """Who acts in a space.

    Attributes:
        space: its owner, see `owner_of_space`.
        user_id: the user.
    """

    space: str
    user_id: str

    async def rights(self, database: Storage, connection: Connection) -> frozenset[str]:
        """What the member may do now, in the transaction of a connection that has entered as this user."""
        cursor = await connection.execute(database.queries["spaces.rights"], self._asked())
        given = [row["may"] for row in await cursor.fetchall() if row["may"] in RIGHTS]
        return frozenset(right for may in given for right in RIGHTS[: RIGHTS.index(may) + 1])

    def check(self, rights: frozenset[str], queries: Iterable[str]) -> None:
        """Raises:
        RightsError: one of the statements asks for a right that is not among these; nothing was done.
        """
        for right in dict.fromkeys(map(_right_for, queries)):
            if right not in rights:
                name = name_of_space(self.space)
                raise RightsError(
                    f"User {self.user_id!r} may not {right} in the space {name!r}: the program gives that right."
                )

    def _asked(self) -> Mapping[str, Any]:
        return {"user_id": self.user_id, "space_id": self.space}
