"""What is sealed under the data key of a user, and how a master key wraps that key.

The cipher is AES-256-GCM of `cryptography`, with a nonce of its own for each value; what the database has to compare is
AES-SIV (RFC 5297) or a keyed hash. Each purpose has a key of its own, derived from the data key by HKDF.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from uuid import UUID

from ..models.imports import imported
from ..state.errors import SettingsError, StorageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

MARK: Final = "evt1."
"""What a sealed text begins with: then the field it belongs to, a dot, the nonce and the ciphertext in base64."""

KEY_BYTES: Final = 32
_NONCE: Final = 12
_IMPORT: Final = re.compile(r"[a-zA-Z_][\w.]*:[a-zA-Z_][\w.]*")
_SEALED: Final = re.compile(r"evt1\.[a-z_]+\.[a-z]+\.[A-Za-z0-9+/]{20,}=*[?\uff1f\u061f]?")


def looks_sealed(text: str) -> bool:
    """Whether a text has the form of one that `Cipher.seal` made."""
    return _SEALED.fullmatch(text) is not None


class SealedError(StorageError):
    """A value does not open: it was damaged, or sealed under another key or for another place, or not at all."""


class MasterKey(Protocol):
    """Wraps data keys: the key of a setting, or a key management service of your own. Called in a thread."""

    @property
    def id(self) -> str:
        """A name that tells it from the key before and after it; not secret."""

    def wrap(self, data_key: bytes) -> bytes:
        """The data key, 32 bytes, as only this master key can unwrap it."""

    def unwrap(self, wrapped: bytes) -> bytes:
        """The data key again. It raises where it was wrapped by another master key."""


class _LocalMasterKey:
    """A master key that this process holds: 32 bytes.

    Raises:
        SettingsError: it has another size.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise SettingsError(f"The master key has {len(key)} bytes: expected 32. `everthread keys new` makes one.")
        self.id = blake2b(key, digest_size=6, person=b"everthread-id").hexdigest()
        self._cipher = _library().gcm(_derived(key, "wrap"))

    def wrap(self, data_key: bytes) -> bytes:
        """The data key under this one."""
        nonce = os.urandom(_NONCE)
        return nonce + self._cipher.encrypt(nonce, data_key, b"everthread data key")

    def unwrap(self, wrapped: bytes) -> bytes:
        """The data key again."""
        return self._cipher.decrypt(wrapped[:_NONCE], wrapped[_NONCE:], b"everthread data key")


MasterKeySource = MasterKey | Callable[[], bytes] | str
"""A master key, what returns its 32 bytes, or a text: the bytes in base64, the path of a file with either, or the
import path of a master key or of such a function."""


def master_key_of(source: MasterKeySource) -> MasterKey:
    """The master key that is given (blocking).

    Raises:
        SettingsError: it is none.
    """
    if isinstance(source, str) and _IMPORT.fullmatch(source):
        try:
            source = imported(source)
        except ImportError as error:
            raise SettingsError(f"EVERTHREAD_ENCRYPTION_KEY names {source!r}, which cannot be imported.") from error
    if isinstance(source, str):
        return _LocalMasterKey(_from_text(source))
    return _LocalMasterKey(source()) if callable(source) else source


def new_master_key() -> str:
    """A random master key, in base64."""
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def _from_text(text: str) -> bytes:
    if (key := _base64(text)) is not None:
        return key
    try:
        held = Path(text).expanduser().read_bytes()
    except (OSError, ValueError):
        held = b""
    key = held if len(held) == KEY_BYTES else _base64(held.decode("ascii", "replace"))
    if key is None:  # whatever it is instead may be a secret
        raise SettingsError(
            "EVERTHREAD_ENCRYPTION_KEY is neither 32 bytes in base64 nor a file that holds them: `everthread keys new` "
            "makes a key."
        )
    return key


def _base64(text: str) -> bytes | None:
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) == KEY_BYTES else None


class _Library(NamedTuple):
    """What is used of `cryptography`; imported where something is encrypted."""

    gcm: type[AESGCM]
    siv: type[AESSIV]
    refusal: type[Exception]
    derived: Callable[[bytes, bytes, int], bytes]


@cache
def _library() -> _Library:
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    except ImportError:
        raise SettingsError(
            "Encryption needs the package cryptography: pip install 'everthread[encryption]'."
        ) from None

    def derived(key: bytes, info: bytes, size: int) -> bytes:
        return HKDF(SHA256(), size, salt=None, info=info).derive(key)

    return _Library(AESGCM, AESSIV, InvalidTag, derived)


def _derived(key: bytes, purpose: str, size: int = KEY_BYTES) -> bytes:
    return _library().derived(key, f"everthread {purpose}".encode(), size)


class Cipher:
    """What is sealed and opened under the data key of one user.

    User and field are authenticated with each value, so that none opens in the place of another's.

    Args:
        user_id: whose key it is; empty for that of the database itself.
        key_id: the id of the key.
        data_key: 32 bytes.
    """

    def __init__(self, user_id: str, key_id: str, data_key: bytes) -> None:
        self.user_id = user_id
        self.id = key_id
        self._gcm = _library().gcm(_derived(data_key, "values"))
        self._siv = _library().siv(_derived(data_key, "equal values", 64))
        self._hash = _derived(data_key, "hashes")

    def seal(self, field: str, text: str, ending: str = "") -> str:
        """A text sealed; `ending` stays readable behind it."""
        nonce = os.urandom(_NONCE)
        sealed = nonce + self._gcm.encrypt(nonce, text.encode(), self._bound(field))
        return f"{MARK}{field}.{base64.b64encode(sealed).decode()}{ending}"

    def seal_equal(self, field: str, text: str) -> str:
        """A text sealed so that equal ones of the user are equal."""
        return f"{MARK}{field}.{base64.b64encode(self._siv.encrypt(text.encode(), [self._bound(field)])).decode()}"

    def open(self, text: str, fields: Collection[str]) -> str:
        """The text again.

        Args:
            text: sealed.
            fields: those to which it may belong.

        Raises:
            SealedError: it is not sealed, or not under this key, or belongs elsewhere.
        """
        field, sealed = self._parts(text, fields)
        return self._opened(lambda: self._gcm.decrypt(sealed[:_NONCE], sealed[_NONCE:], self._bound(field)))

    def open_equal(self, text: str, field: str) -> str:
        """What `seal_equal` sealed.

        Raises:
            SealedError: as `open`.
        """
        _, sealed = self._parts(text, (field,))
        return self._opened(lambda: self._siv.decrypt(sealed, [self._bound(field)]))

    def seal_bytes(self, field: str, content: bytes) -> bytes:
        """Bytes sealed."""
        nonce = os.urandom(_NONCE)
        return nonce + self._gcm.encrypt(nonce, content, self._bound(field))

    def open_bytes(self, field: str, sealed: bytes) -> bytes:
        """The bytes again.

        Raises:
            SealedError: as `open`.
        """
        try:
            return self._gcm.decrypt(sealed[:_NONCE], sealed[_NONCE:], self._bound(field))
        except (_library().refusal, ValueError) as error:
            raise self._unreadable() from error

    def digest(self, content: bytes, size: int = 16) -> bytes:
        """A keyed hash, by which the database tells equal contents of the user."""
        return blake2b(content, key=self._hash, digest_size=size).digest()

    def terms(self, keys: Sequence[int]) -> list[int]:
        """The numbers of terms, see `term_keys`, as they are stored: nobody without the key finds the word again."""
        return [int.from_bytes(self.digest(key.to_bytes(8, signed=True), 8), signed=True) for key in keys]

    def uuid(self, value: UUID | str) -> str:
        """The UUID of a content, as it is stored."""
        return str(UUID(bytes=self.digest(UUID(str(value)).bytes)))

    def _bound(self, field: str) -> bytes:
        return f"{self.user_id}\x1f{field}".encode()

    def _parts(self, text: str, fields: Collection[str]) -> tuple[str, bytes]:
        if not text.startswith(MARK):
            raise SealedError(
                "What is stored of this user is not encrypted as a whole: `everthread keys encrypt` does that."
            )
        field, _, sealed = text[len(MARK) :].rpartition(".")
        if field not in fields:
            raise self._unreadable()
        try:
            return field, base64.b64decode(sealed.rstrip("?\uff1f\u061f"))
        except ValueError as error:
            raise self._unreadable() from error

    def _opened(self, work: Callable[[], bytes]) -> str:
        try:
            return work().decode()
        except (_library().refusal, ValueError) as error:
            raise self._unreadable() from error

    def _unreadable(self) -> SealedError:
        return SealedError(
            "What is stored of this user was sealed under another key, or was changed: it cannot be read. Put back a "
            "backup, or delete what the user has."
        )
