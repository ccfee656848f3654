"""`MessageSerializer`: LangGraph's serializer, which knows our types, and makes messages without validating each again.

A thread's state has hundreds of messages, which every turn reads: made as pickle makes them, they take a fifth of the
time.
"""

from __future__ import annotations

from typing import Any, Final

import ormsgpack
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import EXT_PYDANTIC_V2, JsonPlusSerializer

from ..state import errors
from ..state.compression_records import ThreadCompression
from ..state.fact_records import FactSheet
from ..state.records import Recall, Record
from ..state.report_records import Progress, TurnReport
from ..state.search_records import SearchOutcome
from ..state.turn_records import AfterReply, ContextReport, ReplyReport

_KINDS: Final[dict[tuple[str, str], tuple[type[BaseMessage], frozenset[str]]]] = {
    (kind.__module__, kind.__name__): (kind, frozenset(kind.model_fields))
    for kind in (HumanMessage, AIMessage, SystemMessage, ToolMessage)
}
"""By module and name, messages and their fields."""

_EARLIER: Final[tuple[type[Record], ...]] = (
    ThreadCompression, SearchOutcome, Recall, FactSheet, ContextReport, ReplyReport, AfterReply, Progress, TurnReport,
    *Record.__subclasses__(),
)  # fmt: skip
"""The records that checkpoints of earlier versions hold; today's hold plain data."""

_RECORDS: Final = {(record.__module__, record.__name__) for record in _EARLIER}
_read_record: Final = JsonPlusSerializer(allowed_msgpack_modules=_EARLIER)._unpack_ext_hook


class MessageSerializer(JsonPlusSerializer):
    """Writes what LangGraph's serializer writes, and reads it as that one does: our own types without a warning."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """A value as its type and bytes; an error of ours as its text, as other errors are."""
        return super().dumps_typed(repr(obj) if isinstance(obj, errors.EverthreadError) else obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of a type and its bytes."""
        if data[0] != "msgpack":
            return super().loads_typed(data)
        return _unpacked(data[1], self._read)

    def _read(self, code: int, data: bytes) -> Any:
        if code == EXT_PYDANTIC_V2:
            module, name, fields, *_ = _unpacked(data, self._read)
            kind, names = _KINDS.get((module, name), (None, None))
            # Messages of other versions of LangChain, which have other fields, are read the long way.
            if kind is not None and isinstance(fields, dict) and fields.keys() == names:
                return _made(kind, fields)
            if (module, name) in _RECORDS:
                return _read_record(code, data)
            if module == errors.__name__ and isinstance(fields, dict):  # as earlier versions wrote one
                return f"{name}({fields.get('message')!r})"
        return self._unpack_ext_hook(code, data)


def _unpacked(data: bytes, read: Any) -> Any:
    return ormsgpack.unpackb(data, ext_hook=read, option=ormsgpack.OPT_NON_STR_KEYS)


def _made(kind: type[BaseMessage], fields: dict[str, Any]) -> BaseMessage:
    """A message whose fields were validated before they were written."""
    message = kind.__new__(kind)
    message.__setstate__(
        {
            "__dict__": fields,
            "__pydantic_fields_set__": set(fields),
            "__pydantic_extra__": {},
            "__pydantic_private__": None,
        }
    )
    return message
