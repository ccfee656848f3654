"""The keys of encryption: a new master key, encrypting what is there, and another master key for it."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ..state.errors import InputError
from ..storage.encryption import new_master_key
from ..storage.storage import Storage
from .opening import say


async def keys(
    storage: Storage,
    what: Annotated[
        Literal["new", "encrypt", "rotate"],
        typer.Argument(
            help="new: print a new master key. encrypt: encrypt what users have from before, and rewrite the files. "
            "rotate: wrap the keys of users with another master key."
        ),
    ],
    to: Annotated[str | None, typer.Option("--to", help="rotate: the file of the other master key.")] = None,
) -> None:
    """Make a master key, or bring what is stored under one.

    Raises:
        InputError: there is no key to rotate to.
        SettingsError: a key is none.
        StorageError: the storage fails, or the master key is not that of the storage.
    """
    if what == "new":
        say(new_master_key())
    elif what == "encrypt":
        count = await storage.keys.encrypt_all(lambda user_id: say(f"Encrypted: {user_id}"))
        say(f"{count} users were encrypted; nothing that they said stands readable in the storage.")
    elif to is None:
        raise InputError("There is no key to rotate to: give the file of the new master key as --to FILE.")
    else:
        count = await storage.keys.rotate(to)
        say(f"{count} keys were wrapped again: set EVERTHREAD_ENCRYPTION_KEY to the new key, and start again.")
