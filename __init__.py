"""everthread: a LangGraph agent graph that lets any chat model hold one conversation without end.

The public API, re-exported: nothing is defined here. Names are imported when they are first used, so that
`everthread --help` and the embedded server need not wait for LangGraph.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from everthread.doors.adapters import MemoryRetriever, ThreadHistory, memory_tools
    from everthread.doors.curation import BuiltContext
    from everthread.doors.memory import ConversationMemory
    from everthread.doors.middleware import Everthread
    from everthread.doors.open import open_memory
    from everthread.doors.spaces import TeamSpace
    from everthread.doors.store import MemoryStore
    from everthread.graph.build import build_graph
    from everthread.graph.open import open_graph
    from everthread.maintenance.doctor import examine
    from everthread.maintenance.explain import find_report
    from everthread.maintenance.findings import Checkup, Finding
    from everthread.maintenance.regenerate import correct_summary, regenerate, regenerate_rejected
    from everthread.maintenance.retention import retain_thread, retention_runs, run_retention
    from everthread.runtime.components import Components
    from everthread.settings.profiles import PROFILES, Profile
    from everthread.settings.retention import Retention
    from everthread.settings.settings import Settings
    from everthread.state.compression_records import Regenerated, SummaryVersion
    from everthread.state.conversation import ConversationState, TurnResult
    from everthread.state.errors import (
        ClaimLostError,
        EmbeddingError,
        EverthreadError,
        InputError,
        ModelError,
        OverloadError,
        RightsError,
        SearchError,
        SettingsError,
        StorageError,
        ThreadOwnershipError,
    )
    from everthread.state.fact_records import Fact, Pin
    from everthread.state.records import Deleted, Fragment, Memory, Recall, RetentionRun, Summary, ThreadRow
    from everthread.state.report_records import Recalled, TurnReport
    from everthread.state.search_records import EngineFailure, SearchOutcome, SearchResult, Sign
    from everthread.state.threads import DEFAULT_USER, thread_id
    from everthread.state.turn_records import AfterReply, ContextReport, ModelCall, ReplyReport, Section
    from everthread.storage.archive import ArchivedMessage
    from everthread.storage.sources import SummaryTree

_HOMES = {
    "doors.adapters": ("MemoryRetriever", "ThreadHistory", "memory_tools"),
    "doors.curation": ("BuiltContext",),
    "doors.memory": ("ConversationMemory",),
    "doors.middleware": ("Everthread",),
    "doors.open": ("open_memory",),
    "doors.spaces": ("TeamSpace",),
    "doors.store": ("MemoryStore",),
    "graph.build": ("build_graph",),
    "maintenance.doctor": ("examine",),
    "maintenance.explain": ("find_report",),
    "graph.open": ("open_graph",),
    "maintenance.regenerate": ("correct_summary", "regenerate", "regenerate_rejected"),
    "maintenance.retention": ("retain_thread", "retention_runs", "run_retention"),
    "settings.retention": ("Retention",),
    "storage.archive": ("ArchivedMessage",),
    "storage.sources": ("SummaryTree",),
    "state.compression_records": ("Regenerated", "SummaryVersion"),
    "state.conversation": ("ConversationState", "TurnResult"),
    "state.errors": (
        "ClaimLostError", "EmbeddingError", "EverthreadError", "InputError", "ModelError", "OverloadError",
        "RightsError", "SearchError", "SettingsError", "StorageError", "ThreadOwnershipError",
    ),
    "state.fact_records": ("Fact", "Pin"),
    "maintenance.findings": ("Checkup", "Finding"),
    "runtime.components": ("Components",),
    "settings.profiles": ("PROFILES", "Profile"),
    "state.records": ("Deleted", "Fragment", "Memory", "Recall", "RetentionRun", "Summary", "ThreadRow"),
    "state.report_records": ("Recalled", "TurnReport"),
    "state.search_records": ("EngineFailure", "SearchOutcome", "SearchResult", "Sign"),
    "settings.settings": ("Settings",),
    "state.threads": ("DEFAULT_USER", "thread_id"),
    "state.turn_records": ("AfterReply", "ContextReport", "ModelCall", "ReplyReport", "Section"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "DEFAULT_USER",
    "PROFILES",
    "AfterReply",
    "ArchivedMessage",
    "BuiltContext",
    "Checkup",
    "ClaimLostError",
    "Components",
    "ContextReport",
    "ConversationMemory",
    "ConversationState",
    "Deleted",
    "EmbeddingError",
    "EngineFailure",
    "Everthread",
    "EverthreadError",
    "Fact",
    "Finding",
    "Fragment",
    "InputError",
    "Memory",
    "MemoryRetriever",
    "MemoryStore",
    "ModelCall",
    "ModelError",
    "OverloadError",
    "Pin",
    "Profile",
    "Recall",
    "Recalled",
    "Regenerated",
    "ReplyReport",
    "Retention",
    "RetentionRun",
    "RightsError",
    "SearchError",
    "SearchOutcome",
    "SearchResult",
    "Section",
    "Settings",
    "SettingsError",
    "Sign",
    "StorageError",
    "Summary",
    "SummaryTree",
    "SummaryVersion",
    "TeamSpace",
    "ThreadHistory",
    "ThreadOwnershipError",
    "ThreadRow",
    "TurnReport",
    "TurnResult",
    "build_graph",
    "correct_summary",
    "examine",
    "find_report",
    "memory_tools",
    "open_graph",
    "open_memory",
    "regenerate",
    "regenerate_rejected",
    "retain_thread",
    "retention_runs",
    "run_retention",
    "thread_id",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("everthread")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'everthread' has no attribute {name!r}")
    return getattr(import_module(f"everthread.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
