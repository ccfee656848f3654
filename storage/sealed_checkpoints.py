"""Checkpoints under the key of who owns their thread: each value says which key sealed it."""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from .encryption import Cipher
from .user_keys import NOBODY, UserKeys

if TYPE_CHECKING:
    from langgraph.checkpoint.base import Checkpoint, CheckpointTuple
    from langgraph.checkpoint.serde.base import SerializerProtocol

T = TypeVar("T")

_NAME: Final = "evt1."
"""What the name of a cipher begins with: then the id of the key."""

_INLINE: Final = re.compile(r"evt1\.([0-9a-f]{32})\.([A-Za-z0-9+/]+=*)")
_FIELD: Final = "checkpoints.value"


class _KeyNotHeld(Exception):  # noqa: N818  # no error: it asks for the key
    """A value is read whose key this process has not loaded yet."""

    def __init__(self, key_id: str) -> None:
        super().__init__(key_id)
        self.key_id = key_id


class _OfThread:
    """LangGraph's protocol for a cipher: seals under the key of one user, and opens under that of each value."""

    def __init__(self, keys: UserKeys, cipher: Cipher) -> None:
        self._keys = keys
        self._cipher = cipher

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return f"{_NAME}{self._cipher.id}", self._cipher.seal_bytes(_FIELD, plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        own = ciphername == f"{_NAME}{self._cipher.id}"
        cipher = self._cipher if own else _cipher_named(self._keys, ciphername)
        return cipher.open_bytes(_FIELD, ciphertext)


def _cipher_named(keys: UserKeys, name: str) -> Cipher:
    """The cipher with which a value was sealed.

    Raises:
        KeyNotHeld: it is not loaded.
    """
    key_id = name.removeprefix(_NAME)
    if (cipher := keys.held(key_id)) is None:
        raise _KeyNotHeld(key_id)
    return cipher


async def cipher_of(keys: UserKeys, thread_id: str | None) -> Cipher | None:
    """The cipher for what is written to a thread; None for the thread where it is only read.

    Raises:
        StorageError: the key is not to be had.
    """
    return await (keys.of(NOBODY) if thread_id is None else keys.of_thread(thread_id))


def sealed_serializer(keys: UserKeys, cipher: Cipher | None, serde: SerializerProtocol) -> SerializerProtocol:
    """The serializer that seals what `serde` makes; `serde` itself without a cipher."""
    if cipher is None:
        return serde
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

    return EncryptedSerializer(_OfThread(keys, cipher), serde)


async def with_keys(keys: UserKeys, work: Callable[[], Awaitable[T]]) -> T:
    """Do `work`, once more with each key that turns out to be wanted.

    Raises:
        StorageError: a key was destroyed.
    """
    while True:
        try:
            return await work()
        except _KeyNotHeld as wanted:
            await keys.load(wanted.key_id)


def seal_inline(cipher: Cipher, checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint whose texts are sealed that the Postgres saver keeps beside its blobs, as plain JSON."""
    sealed: dict[str, Any] = {
        name: _inline(cipher, value) if isinstance(value, str) and value else value
        for name, value in checkpoint["channel_values"].items()
    }
    return {**checkpoint, "channel_values": sealed}


def has_open_texts(checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint holds texts that `seal_inline` would seal, and has not."""
    texts = [value for value in checkpoint["channel_values"].values() if isinstance(value, str) and value]
    return not all(map(_INLINE.fullmatch, texts))


def sealed_value(cipher: Cipher, type_: str, value: bytes) -> tuple[str, bytes]:
    """A serialized value and its type, as `sealed_serializer` would have made them."""
    return f"{type_}+{_NAME}{cipher.id}", cipher.seal_bytes(_FIELD, value)


def open_inline(keys: UserKeys, found: CheckpointTuple) -> CheckpointTuple:
    """The checkpoint again.

    Raises:
        KeyNotHeld: the key is not loaded.
    """
    open_texts(keys, found.checkpoint["channel_values"])
    return found


def open_texts(keys: UserKeys, values: dict[str, Any]) -> None:
    """Open the texts among the values of a checkpoint that `seal_inline` sealed.

    Raises:
        KeyNotHeld: the key is not loaded.
    """
    for name, value in values.items():
        if isinstance(value, str) and (sealed := _INLINE.fullmatch(value)):
            values[name] = _cipher_named(keys, sealed[1]).open_bytes(_FIELD, base64.b64decode(sealed[2])).decode()


def _inline(cipher: Cipher, text: str) -> str:
    return f"{_NAME}{cipher.id}.{base64.b64encode(cipher.seal_bytes(_FIELD, text.encode())).decode()}"
