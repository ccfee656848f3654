"""`UserKeys`: the data keys of the users of a storage, wrapped by the master key of the operator."""

from __future__ import annotations

import asyncio
import base64
import secrets
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from uuid import uuid4
from weakref import WeakValueDictionary

from cachetools import TTLCache

from ..state.errors import EverthreadError, StorageError
from .encryption import KEY_BYTES, Cipher, MasterKey, MasterKeySource, SealedError, master_key_of
from .loop_thread import io_thread

if TYPE_CHECKING:
    from .storage import Connection, Storage
    from .values import Row

T = TypeVar("T")

NOBODY: Final = ""
"""Whose key the database's own is."""

_HELD: Final = 10_000
"""Keys of users that a process holds, at most."""

_SECONDS: Final = 60.0
"""After which it is asked whether a key is still there."""


class _Recent(Generic[T]):
    """What was found out in the last `seconds`, of those asked for last; used from any thread."""

    def __init__(self, seconds: float) -> None:
        self._held: TTLCache[str, T] = TTLCache(_HELD, seconds)
        self._lock = threading.Lock()

    def get(self, name: str) -> T | None:
        with self._lock:
            return self._held.get(name)

    def put(self, name: str, found: T) -> None:
        with self._lock:
            self._held[name] = found

    def pop(self, name: str) -> T | None:
        with self._lock:
            return self._held.pop(name, None)


class UserKeys:
    """Keys are made with the first use of a user's rows; what the user had before is encrypted then.

    Args:
        database: where the wrapped keys are.
        source: the master key; None where nothing is encrypted.
    """

    def __init__(self, database: Storage, source: MasterKeySource | None) -> None:
        self._database = database
        self._source = source
        self._master: MasterKey | None = None
        self._own: Cipher | None = None
        self._checked = False
        self._fresh = _Recent[Cipher](_SECONDS)
        self._by_id = _Recent[Cipher](3600)
        self._owners = _Recent[str](_SECONDS)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def is_given(self) -> bool:
        """Whether there is a master key: what is stored is encrypted."""
        return self._source is not None

    async def check(self) -> None:
        """Whether the master key is that of the database; the first one makes the database's own key.

        Raises:
            SettingsError: the setting holds no key.
            StorageError: the database is encrypted and no key was given, or another one.
        """
        if not self._checked:
            try:
                await io_thread.run(self._check())
            except EverthreadError:
                await self._database.close()  # what was opened for this is held no longer
                raise

    async def of(self, user_id: str) -> Cipher | None:
        """The cipher of a user; None where nothing is encrypted.

        Raises:
            StorageError: the key cannot be unwrapped, or the database fails.
        """
        await self.check()
        if self._master is None:
            return None
        return self._fresh.get(user_id) or await io_thread.run(self._cipher(user_id, self._master))

    async def of_thread(self, thread_id: str) -> Cipher | None:
        """The cipher of who owns a thread; that of the database where nobody does yet.

        Raises:
            StorageError: as `of`.
        """
        from .thread_copy import owner_of  # which knows `UserRows`

        await self.check()
        if self._master is None:
            return None
        owner = self._owners.get(thread_id) or await owner_of(self._database, thread_id)
        if owner is not None:
            self._owners.put(thread_id, owner)
        return await self.of(owner or NOBODY)

    def held(self, key_id: str) -> Cipher | None:
        """The cipher of a key that was asked for before."""
        return self._own if self._own is not None and self._own.id == key_id else self._by_id.get(key_id)

    async def load(self, key_id: str) -> None:
        """Have the cipher of a key at hand.

        Raises:
            SealedError: there is no such key any more.
            StorageError: the key cannot be unwrapped, or the database fails.
        """
        rows = await self._rows("user_keys.with_id", key_id=key_id)
        if not rows or self._master is None:
            raise SealedError("What is stored there was sealed under a key that was destroyed: it cannot be read.")
        self._by_id.put(key_id, await _unwrapped(rows[0], self._master))

    async def encrypt_all(self, done: Callable[[str], None] = lambda _: None) -> int:
        """Encrypt what users have from before; returns how many users it was. Their plain rows leave the files.

        Raises:
            StorageError: there is no master key, or the database fails; what was done stays done.
        """
        from .encrypt_checkpoints import encrypt_checkpoints  # which know this module
        from .encrypt_stored import erase_plain
        from .entering import across_users

        if (own := await self.of(NOBODY)) is None:
            raise StorageError(
                "There is no master key: set EVERTHREAD_ENCRYPTION_KEY. `everthread keys new` makes one."
            )
        users = [row["user_id"] for row in await across_users(self._database, "user_keys.incomplete")]
        for user_id in users:
            await self.of(user_id)
            done(user_id)
        await encrypt_checkpoints(self._database, own)
        await self._rows("user_keys.empty_cache")
        await erase_plain(self._database)
        return len(users)

    async def rotate(self, source: MasterKeySource) -> int:
        """Wrap all data keys with another master key, in one transaction; returns how many there are.

        Processes that run keep the data keys that they hold, and make none for new users: start them again with the new
        key.

        Raises:
            SettingsError: the new key is none.
            StorageError: the database is not encrypted, or fails; nothing was changed then.
        """
        new = await asyncio.to_thread(master_key_of, source)
        await self.check()
        if self._master is None:
            raise StorageError("The database is not encrypted: there is nothing to rotate.")
        old, queries = self._master, self._database.queries

        async def work(connection: Connection) -> int:
            rows = await (await connection.execute(queries["user_keys.all"])).fetchall()
            for row in rows:
                data_key = await asyncio.to_thread(old.unwrap, base64.b64decode(row["wrapped"]))
                wrapped = base64.b64encode(await asyncio.to_thread(new.wrap, data_key)).decode()
                values = {"owner": row["owner"], "wrapped": wrapped, "master_id": new.id}
                await connection.execute(queries["user_keys.rewrap"], values)
            return len(rows)

        count = await self._database.run(work)
        self._master = new
        return count

    async def destroy(self, user_id: str) -> None:
        """Destroy the key of a user: what it sealed cannot be read again, wherever a copy of it is."""
        if self._master is not None or not self._checked:
            await self._rows("user_keys.destroy", owner=user_id)
            if (cipher := self._fresh.pop(user_id)) is not None:
                self._by_id.pop(cipher.id)

    async def _check(self) -> None:
        async with self._locks.setdefault(NOBODY, asyncio.Lock()):
            if self._checked:
                return
            rows = await self._rows("user_keys.find", owner=NOBODY)
            if rows and self._source is None:
                raise StorageError(
                    "This database is encrypted: set EVERTHREAD_ENCRYPTION_KEY to the master key it was encrypted with."
                )
            if self._source is not None:
                master = await asyncio.to_thread(master_key_of, self._source)
                row = rows[0] if rows else await self._made(NOBODY, master)
                self._own = self._hold(await _unwrapped(row, master))
                self._master = master
            self._checked = True

    async def _cipher(self, user_id: str, master: MasterKey) -> Cipher:
        async with self._locks.setdefault(user_id, asyncio.Lock()):
            if (cipher := self._fresh.get(user_id)) is not None:
                return cipher
            rows = await self._rows("user_keys.find", owner=user_id)
            row = rows[0] if rows else await self._made(user_id, master)
            cipher = self._by_id.get(row["key_id"]) or await _unwrapped(row, master)
            if not row["is_complete"]:
                from .encrypt_checkpoints import encrypt_checkpoints  # which know this module
                from .encrypt_stored import encrypt_stored

                await encrypt_stored(self._database, cipher)
                await encrypt_checkpoints(self._database, cipher)
                await self._rows("user_keys.complete", owner=user_id)
            return self._hold(cipher)

    def _hold(self, cipher: Cipher) -> Cipher:
        self._by_id.put(cipher.id, cipher)
        self._fresh.put(cipher.user_id, cipher)
        return cipher

    async def _made(self, user_id: str, master: MasterKey) -> Row:
        """The row of a user that has none yet; that of another process where it was faster."""
        wrapped = await asyncio.to_thread(master.wrap, secrets.token_bytes(KEY_BYTES))
        await self._rows(
            "user_keys.add",
            owner=user_id,
            key_id=uuid4().hex,
            master_id=master.id,
            wrapped=base64.b64encode(wrapped).decode(),
            is_complete=not await self._has_threads(user_id),
        )
        rows = await self._rows("user_keys.find", owner=user_id)
        if not rows:
            raise StorageError("The master key was replaced: start again with the new EVERTHREAD_ENCRYPTION_KEY.")
        return rows[0]

    async def _has_threads(self, user_id: str) -> bool:
        async def work(connection: Connection) -> bool:
            if (scope := self._database.scope(user_id)) is not None:
                await connection.execute(*scope)
            statement = self._database.queries["user_keys.has_threads"]
            row = await (await connection.execute(statement, {"user_id": user_id})).fetchone()
            return bool(row and row["found"])

        return await self._database.run(work)

    async def _rows(self, query: str, **values: Any) -> list[Row]:
        statement = self._database.queries[query]

        async def work(connection: Connection) -> list[Row]:
            async with connection.pipeline():
                if (scope := self._database.scope(None)) is not None:
                    await connection.execute(*scope)
                cursor = await connection.execute(statement, values)
            return await cursor.fetchall() if cursor.description is not None else []

        return await self._database.run(work, one_statement=True)


async def _unwrapped(row: Row, master: MasterKey) -> Cipher:
    try:
        data_key = await asyncio.to_thread(master.unwrap, base64.b64decode(row["wrapped"]))
    except Exception as error:  # whatever a service raises
        raise StorageError(
            f"EVERTHREAD_ENCRYPTION_KEY is not the master key of this database: the key {row['master_id']} is wanted, "
            f"and {master.id} was given ({type(error).__name__})."
        ) from error
    return Cipher(row["owner"], row["key_id"], data_key)
