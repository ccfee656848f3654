"""`Documents`: what agents keep of a user beside conversations, each under a namespace and a key."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import numpy as np

from ..state.errors import InputError
from ..state.messages import clean_text
from ..state.records import now
from .readable import UNREADABLE, readable
from .user_rows import Exchange, UserRows
from .values import Row

Namespace = tuple[str, ...]
Place = tuple[Namespace, str]
"""Namespace and key."""

_BETWEEN: Final = "."


class Document(NamedTuple):
    """A document.

    Attributes:
        namespace: labels, from the outermost inwards.
        key: what names it there.
        value: it itself: what JSON holds.
        fields: the paths in it whose texts are searched by meaning.
        model: of which embedding model `vectors` are; None where they are still to be made.
        vectors: of these texts, one after the other, in single precision.
        created_at: when it was put first.
        updated_at: when it was put last.
    """

    namespace: Namespace
    key: str
    value: dict[str, Any]
    fields: tuple[str, ...]
    model: str | None
    vectors: np.ndarray[Any, np.dtype[np.float32]]
    created_at: datetime
    updated_at: datetime


class Documents:
    """The documents of one user.

    Args:
        rows: the user's, or those of a transaction.
    """

    def __init__(self, rows: UserRows | Exchange) -> None:
        self._rows = rows

    async def at(self, places: Iterable[Place]) -> dict[Place, Document]:
        """Those at these places that are there, without vectors.

        Raises:
            InputError: a label or key cannot be stored.
            StorageError: the storage fails.
        """
        found = self._read(await self._rows.fetch("documents.at", **_columns(places)))
        return {(document.namespace, document.key): document for document in found}

    async def under(self, namespace: Namespace = ()) -> list[Document]:
        """Those of a namespace and of all inside it, the newest first; errors as for `at`."""
        name = _name(namespace) if namespace else ""
        inside = f"{name}{_BETWEEN}" if name else ""
        found = await self._rows.fetch("documents.under", namespace=name, inside=inside, length=len(inside))
        return self._read(found)

    async def namespaces(self) -> list[Namespace]:
        """All that hold a document; errors as for `at`."""
        rows = await self._rows.fetch("documents.namespaces")
        return sorted(tuple(row["namespace"].split(_BETWEEN)) for row in rows)

    async def remove(self, places: Iterable[Place]) -> int:
        """Remove those at these places; returns how many there were. Errors as for `at`."""
        return len(await self._rows.fetch("documents.remove", **_columns(places)))

    async def damaged(self) -> list[tuple[Place, Document | None]]:
        """Those that cannot be read, each as it can be kept; None for one whose value is lost. Errors as for `at`."""
        found = []
        for row in await self._rows.fetch("documents.under", namespace="", inside="", length=0):
            try:
                _document(row)
            except UNREADABLE:
                found.append((_place_of(row), _mended(row)))
        return found

    def _read(self, rows: Iterable[Row]) -> list[Document]:
        return readable(self._rows, "documents", rows, _document)


async def change_documents(rows: UserRows, put: Sequence[Document], removed: Iterable[Place]) -> None:
    """Put documents, in place of those of the same place, and remove others, in one transaction.

    Raises:
        InputError: a label, key or value cannot be stored.
        StorageError: the storage fails; nothing has changed.
    """
    lines = json.dumps([_row(document) for document in put])
    gone = _columns(removed)
    await rows.transaction(
        ("users.not_alone", {}),
        *([("documents.remove", gone)] if gone["names"] else []),
        *([("documents.put", {"rows": lines, "created_at": now()})] if put else []),
    )


async def note_vectors(rows: UserRows, model: str, embedded: Iterable[Document]) -> None:
    """Keep the vectors of documents that had none of this model.

    Raises:
        StorageError: the storage fails.
    """
    lines = [{**_place(document), "vectors": _encoded(document), "updated_at": str(document.updated_at)}
             for document in embedded]  # fmt: skip
    await rows.transaction(("users.not_alone", {}), ("documents.embedded", {"rows": json.dumps(lines), "model": model}))


def _document(row: Row) -> Document:
    value, vectors = json.loads(row["content"]), np.frombuffer(base64.b64decode(row["vectors"]), np.float32)
    if not isinstance(value, dict) or row["updated_at"] is None or row["created_at"] is None:
        raise TypeError("expected an object and two times")
    return Document(
        *_place_of(row), value, tuple(json.loads(row["fields"])), row["model"],
        vectors, row["created_at"], row["updated_at"],
    )  # fmt: skip


def _place_of(row: Row) -> Place:
    return tuple(row["namespace"].split(_BETWEEN)), row["id"]


def _mended(row: Row) -> Document | None:
    """A damaged document with what of it can be read: its vectors are made again."""
    value, fields = _json_in(row["content"]), _json_in(row["fields"])
    if not isinstance(value, dict):
        return None
    fields = [path for path in fields if isinstance(path, str)] if isinstance(fields, list) else []
    at = row["created_at"] or now()
    return Document(*_place_of(row), value, tuple(fields), None, np.zeros(0, np.float32), at, row["updated_at"] or at)


def _json_in(text: Any) -> Any:
    try:
        return json.loads(text)
    except UNREADABLE:
        return None


def checked_json(value: Any) -> str:
    """The JSON of a document.

    Raises:
        InputError: there is none.
    """
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        raise InputError("The document cannot be kept: expected values that JSON can hold.") from None


def _row(document: Document) -> dict[str, Any]:
    return {
        **_place(document), "content": checked_json(document.value), "fields": json.dumps(document.fields),
        "model": document.model, "vectors": _encoded(document),
    }  # fmt: skip


def _encoded(document: Document) -> str:
    return base64.b64encode(document.vectors.astype(np.float32).tobytes()).decode()


def _place(document: Document) -> dict[str, str]:
    return {"namespace": _name(document.namespace), "id": _checked(document.key)}


def _columns(places: Iterable[Place]) -> dict[str, list[str]]:
    pairs = [(_name(namespace), _checked(key)) for namespace, key in places]
    return {"namespaces": [name for name, _ in pairs], "names": [key for _, key in pairs]}


def _name(namespace: Namespace) -> str:
    """A namespace as it is stored."""
    if not namespace or any(not isinstance(label, str) or not label or _BETWEEN in label for label in namespace):
        raise InputError(f"The namespace {namespace!r} is none: expected labels, texts without {_BETWEEN!r}.")
    return _checked(_BETWEEN.join(namespace))


def _checked(text: str) -> str:
    if not isinstance(text, str) or clean_text(text) != text:
        raise InputError(f"{text!r} cannot be stored: expected a text without NUL and lone surrogates.")
    return text
