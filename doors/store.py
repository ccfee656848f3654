"""`MemoryStore`: a memory as LangGraph's store: documents under namespaces and keys, filtered, searched by meaning."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from langgraph.config import get_config
from langgraph.runtime import get_runtime
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from langgraph.store.base.embed import get_text_at_path, tokenize_path

from ..runtime.run_settings import check_user
from ..runtime.user import User
from ..state.errors import EmbeddingError, InputError
from ..state.records import now
from ..storage.documents import Document, Namespace, change_documents, checked_json, note_vectors
from ..storage.loop_thread import node_thread
from .memory import ConversationMemory

_NONE: Final = np.zeros(0, np.float32)

_AT_ONCE: Final = 512
"""Documents without vectors of the model in use that one search embeds, at most: the next one goes on."""

_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": operator.eq, "$ne": operator.ne, "$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt,
    "$lte": operator.le,
}  # fmt: skip


class MemoryStore(BaseStore):
    """Documents that agents keep, beside what was said: `create_agent(..., store=MemoryStore(memory))`.

    They are the user's as messages are: nobody else's store finds them, forgetting everything takes them, and
    forgetting a message those that repeat a sentence of it; export, encryption and row-level security cover them.
    Those of a search stand in the order of their similarity to the query, a cosine; without a query the newest first.

    Args:
        memory: whose.
        fields: the paths in a document that are searched by meaning, where `put` names none; "$" is all of it.
        user_of_run: whether the user is that of the run in which the store is used, as for the middleware, and not the
            memory's: one store for an agent that many use.
    """

    def __init__(
        self, memory: ConversationMemory, *, fields: Sequence[str] = ("$",), user_of_run: bool = False
    ) -> None:
        self._memory = memory
        self._fields = tuple(fields)
        self._of_run = user_of_run

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """`abatch`, blocking."""
        return node_thread.run_sync(self._done(list(ops), self._user()))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations; those that read see nothing of those that write, and of two puts in one place the last holds.

        Raises:
            InputError: a label, key or value cannot be stored; or no run says whose store it is.
            StorageError: the storage fails; nothing was put.
        """
        return await self._done(list(ops), self._user())

    def _user(self) -> User:
        if not self._of_run:
            return self._memory.user
        resources = self._memory.resources
        try:
            runtime, config = get_runtime(), get_config()
            check_user(resources.settings, runtime, config)
            settings = resources.runs.settings_of(runtime, config)
        except RuntimeError as error:
            if isinstance(error, ValueError):  # a setting of the run is not allowed
                raise
            raise InputError("The store of a run's user was used outside of a run: use MemoryStore(memory).") from None
        return resources.of_user(settings.user_id)

    async def _done(self, ops: list[Op], user: User) -> list[Result]:
        found = await user.documents.at((op.namespace, op.key) for op in ops if isinstance(op, GetOp))
        results: list[Result] = []
        puts: dict[tuple[Namespace, str], PutOp] = {}
        for op in ops:
            result: Result = None
            if isinstance(op, GetOp):
                document = found.get((op.namespace, op.key))
                result = None if document is None else Item(**_shown(document))
            elif isinstance(op, SearchOp):
                result = await self._search(op, user)
            elif isinstance(op, ListNamespacesOp):
                result = _listed(op, await user.documents.namespaces())
            else:
                puts[op.namespace, op.key] = op
            results.append(result)
        if puts:
            put = [self._document(op) for op in puts.values() if op.value is not None]
            removed = [place for place, op in puts.items() if op.value is None]
            await change_documents(user.rows, await self._embedded(put, user), removed)
        return results

    def _document(self, op: PutOp) -> Document:
        checked_json(op.value)
        fields = self._fields if op.index is None else tuple(op.index or ())
        return Document(op.namespace, op.key, dict(op.value or {}), fields, None, _NONE, now(), now())

    async def _search(self, op: SearchOp, user: User) -> list[SearchItem]:
        found = await user.documents.under(tuple(op.namespace_prefix))
        found = [one for one in found if _fits(one.value, op.filter or {})]
        scores: list[float | None] = [None] * len(found)
        if op.query:
            found, scores = await self._by_meaning(op.query, found, user)
        page = slice(op.offset, op.offset + op.limit)
        return [
            SearchItem(**_shown(document), score=score)
            for document, score in zip(found[page], scores[page], strict=True)
        ]

    async def _by_meaning(
        self, query: str, documents: list[Document], user: User
    ) -> tuple[list[Document], list[float | None]]:
        """The documents with their scores, the most similar first; those that have no vectors last, without a score."""
        embedder, timeout = self._memory.resources.embedder, self._memory.resources.settings.timeouts.embedding
        missing = [one for one in documents if one.fields and one.model != embedder.name][:_AT_ONCE]
        made = [one for one in await self._embedded(missing, user) if one.model is not None]
        if made:
            await note_vectors(user.rows, embedder.name, made)
            places = {(one.namespace, one.key): one for one in made}
            documents = [places.get((one.namespace, one.key), one) for one in documents]
        try:
            asked = np.asarray(await embedder.query(query, timeout=timeout, user_id=user.id), np.float32)
        except EmbeddingError:  # found in their order, as without a query
            return documents, [None] * len(documents)
        scored = [(one, _similarity(asked, one) if one.model == embedder.name else None) for one in documents]
        scored.sort(key=lambda pair: -2.0 if pair[1] is None else pair[1], reverse=True)
        return [one for one, _ in scored], [score for _, score in scored]

    async def _embedded(self, documents: list[Document], user: User) -> list[Document]:
        """The documents with the vectors of their texts; as they are where the model fails: a search tries again."""
        texts = [[text for path in one.fields for text in _texts(one.value, path)] for one in documents]
        embedder, timeout = self._memory.resources.embedder, self._memory.resources.settings.timeouts.embedding
        try:
            flat = [text for some in texts for text in some]
            vectors = iter(await embedder.documents(flat, timeout=timeout, user_id=user.id) if flat else [])
        except EmbeddingError:
            return documents
        return [
            one._replace(model=embedder.name, vectors=np.asarray([next(vectors) for _ in some], np.float32).ravel())
            for one, some in zip(documents, texts, strict=True)
        ]


def _shown(document: Document) -> dict[str, Any]:
    names = ("namespace", "key", "value", "created_at", "updated_at")
    return {name: getattr(document, name) for name in names}


def _texts(value: dict[str, Any], path: str) -> list[str]:
    found = get_text_at_path(value, path if path == "$" else tokenize_path(path))
    return [text for text in found if text.strip()]


def _similarity(asked: np.ndarray[Any, Any], document: Document) -> float | None:
    """The cosine of a query and the text of a document that is most like it; None where it has none."""
    if not len(document.vectors) or len(document.vectors) % len(asked):
        return None
    vectors = document.vectors.reshape(-1, len(asked))
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(asked)
    return float(np.max(vectors @ asked / np.where(lengths, lengths, 1.0)))


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value is what a filter wants: equal, key by key, or as its comparisons say."""
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compares(value, name, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(_fits(value.get(name), other) for name, other in wanted.items())
    if isinstance(wanted, list | tuple):
        same = isinstance(value, list | tuple) and len(value) == len(wanted)
        return same and all(_fits(one, other) for one, other in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _compares(value: Any, name: str, other: Any) -> bool:
    if name not in _COMPARISONS:
        raise InputError(f"The filter {name!r} is none: expected one of {', '.join(_COMPARISONS)}.")
    if name not in {"$eq", "$ne"}:
        try:
            value, other = float(value), float(other)
        except (TypeError, ValueError):
            if not (isinstance(value, str) and isinstance(other, str)):
                return False
    return _COMPARISONS[name](value, other)


def _listed(op: ListNamespacesOp, namespaces: Iterable[Namespace]) -> list[Namespace]:
    found = [one for one in namespaces if all(_matches(one, condition) for condition in op.match_conditions or ())]
    if op.max_depth is not None:
        found = sorted({one[: op.max_depth] for one in found})
    return found[op.offset : op.offset + op.limit]


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
