"""Names of threads, and whose a thread's id is."""

from __future__ import annotations

import uuid
from hashlib import blake2b
from typing import Any, Final

from .errors import InputError
from .records import EVERTHREAD_NAMESPACE

DEFAULT_USER = "default"
"""Who owns what runs without a `user_id`."""

_MARK: Final = 0xE7E
"""The twelve bits that tell an id which is made of a name from other UUIDs of version 8."""


def thread_id(name: str, user_id: str = DEFAULT_USER) -> str:
    """The thread id for a name: a UUID, as the LangGraph server wants it, the same everywhere for the same user.

    Anybody can work out what it is, and only the user can begin a thread under it: 62 of its bits are a hash of the
    user, and everthread lets nobody else have it. It says nothing but whether a user and a name that one guesses are
    those of the thread.

    Args:
        name: any text; one that is a UUID already stays as it is.
        user_id: whose thread; two users may give the same name.
    """
    try:
        return str(uuid.UUID(name))
    except ValueError:
        return _made_of(_bits("name", name, 48), user_id)


def former_id(name: str, user_id: str) -> str:
    """The id that a name had before ids told their user: threads of that time are found by it."""
    return str(uuid.uuid5(EVERTHREAD_NAMESPACE, f"thread\x1f{user_id}\x1f{name}"))


def checked_thread_id(given: Any) -> str:
    """The id of a thread as a text.

    Raises:
        InputError: it cannot be kept as one.
    """
    text = "" if given is None else str(given)
    try:
        can_be_kept = bool(text.encode()) and "\x00" not in text
    except UnicodeEncodeError:
        can_be_kept = False
    if not can_be_kept:
        raise InputError(
            f"The thread id {given!r} cannot be used: expected a non-empty text without NUL characters and lone "
            "surrogates."
        )
    return text


def may_have(thread_id: str, user_id: str) -> bool:
    """Whether a user may begin a thread of this id: not where it is made of a name for another user."""
    found = _name_bits(thread_id)
    return found is None or str(uuid.UUID(thread_id)) == _made_of(found, user_id)


def handed_over(thread_id: str, old_user: str, new_user: str) -> str:
    """The id that a thread gets which becomes another user's: one made of a name is made of it for the new user."""
    found = _name_bits(thread_id)
    return thread_id if found is None or not may_have(thread_id, old_user) else _made_of(found, new_user)


def _made_of(name: int, user_id: str) -> str:
    """A UUID of version 8 (RFC 9562): 48 bits of the name, our mark, 62 bits of the user."""
    return str(uuid.UUID(int=name << 80 | 8 << 76 | _MARK << 64 | 2 << 62 | _bits("user", user_id, 62)))


def _name_bits(thread_id: str) -> int | None:
    """What an id that is made of a name has of that; None for other ids."""
    try:
        number = uuid.UUID(thread_id).int
    except ValueError:
        return None
    return number >> 80 if number >> 62 & 0x3FFFF == (8 << 12 | _MARK) << 2 | 2 else None


def _bits(kind: str, text: str, bits: int) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, person=f"thread {kind}".encode()).digest()
    return int.from_bytes(digest) >> (64 - bits)
