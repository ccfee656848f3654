"""`OperatorSettings`: what who starts a process sets for it, and no run may change."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from .forms import Group, NamedValues, Names
from .retention import Retention
from .storage import StorageSettings

Telemetry = Literal["off", "otel", "prometheus"]
Price = Annotated[float, Field(ge=0, le=1_000_000)] | None
Seconds = Annotated[float, Field(gt=0, le=86_400)]

NO_COMMANDS: Final = "no_commands"
"""The name among `client_settings` that takes commands from clients."""


class Timeouts(NamedValues):
    """Seconds that a turn waits for each part."""

    model: Seconds = Field(120.0, title="One answer of a chat model")
    reply: Seconds = Field(300.0, title="The reply, with all retries and fallback models")
    tool: Seconds = Field(60.0, title="One tool call")
    search: Seconds = Field(8.0, title="Web search, all engines together")
    embedding: Seconds = Field(60.0, title="One embedding call, loading the model included")
    retries: int = Field(2, ge=0, le=20, title="How often a chat model is asked again after a passing failure")


class Turns(NamedValues):
    """How turns run in a process."""

    at_once: int = Field(100, ge=1, le=10_000, title="Turns that run at the same time")
    wait: Seconds = Field(30.0, title="Seconds that a turn waits for others")
    durability: Literal["sync", "async", "exit"] = Field("async", title="What a crash may lose")
    away: Literal["go_on", "refuse"] = Field("go_on", title="What a turn does while the storage does not answer")


class Prices(NamedValues):
    """What a million tokens cost, in any currency; what is not named is not known."""

    input: Price = Field(None, title="Input")
    cached: Price = Field(None, title="Input that the provider's prompt cache served")
    output: Price = Field(None, title="Output")


class RecallSettings(Group):
    """How memories are found in this process."""

    group: ClassVar[str] = "Embeddings"

    embedding_model: str = Field(
        "sentence-transformers/all-MiniLM-L6-v2",
        title="Embedding model",
        min_length=1,
        description="The embedding model: multilingual-e5-small for other languages than English "
        "(everthread[languages]), a Hugging Face name or folder, 'provider:name' for LangChain's init_embeddings, or "
        "'package.module:factory' for LangChain embeddings of your own. The default, which knows English, comes with "
        "everthread.",
    )
    vector_store: str | None = Field(
        None,
        title="Vector store",
        pattern=r"^[\w.]+:[\w.]+$",
        description="A LangChain vector store of your own instead of our table, as 'package.module:name' of a "
        "store, of a class, or of a function that takes the embeddings. Unset: vectors are kept in the storage.",
    )
    recall_cache: int = Field(
        512,
        title="Megabytes for recall",
        ge=1,
        le=1_000_000,
        description="Megabytes of users' memories that a process holds to search them: 1 to 2 kB a message, with "
        "vectors of 384 numbers. That of a user who is not among them is read from the database first, which takes "
        "8 kB a message while it lasts, and the process keeps that for the next. A 32nd of it beside holds embeddings "
        "of texts that come again.",
    )


class LimitSettings(Group):
    """How long a turn waits for what may be slow, how many run at once, and what is kept at hand."""

    group: ClassVar[str] = "Limits"

    timeouts: Timeouts = Field(
        Timeouts(),
        title="Timeouts",
        description="Seconds that a turn waits, as model=60,search=4. model: one answer of a chat model. reply: until "
        "there must be a reply, all retries and fallback models together; each round of tools has as many again, a "
        "responder of your own as many for all that it does. tool: one tool call; the model is told when it took "
        "longer. search: web search in a turn, all engines together. embedding: one embedding call, loading the model "
        "included, before the turn goes on without it. retries: how often a chat model is asked again after a passing "
        "failure (rate limit, overload, lost connection), beside the retries of the provider's own client.",
    )
    turns: Turns = Field(
        Turns(),
        title="Turns in a process",
        description="How turns run in this process, as at_once=100,wait=30,durability=async,away=go_on. at_once: turns "
        "that run at the same time; others wait, users in rotation, one turn of each. wait: seconds for which a turn "
        "may have to wait; one that would have to wait longer is refused at once, and told after how many seconds to "
        "retry. durability: what a crash of the process may lose. sync: nothing that a step has made. async: what was "
        "made while the step before was being written. exit: an "
        "unfinished turn with its question; the end of a turn is written whatever is set. away: while the storage "
        "does not answer. go_on: a thread that this process knows goes on from what it holds, and is written when the "
        "storage answers; a process that ends before loses that. refuse: each turn is refused, as it is on a full disk "
        "whatever is set (but in the profile archive).",
    )
    retention: Retention = Field(
        Retention(),
        title="Retention",
        description="How long what is stored is kept, as messages=365d,reports=30d,search_cache=1d,checkpoints=20,"
        "checkpoint_age=30d; ages in s, m, h, d or w. What is not named is kept, but for checkpoints. messages: since "
        "they were said; what was made from them goes with them, and summaries of them are made again from what is "
        "left. reports: of turns. search_cache: results for the same query; 0s keeps none. checkpoints: the newest of "
        "each thread, from which an edit can go on (16; forever keeps all). checkpoint_age: theirs; the newest stays. "
        "A thread may have its own.",
    )
    visible_messages: int = Field(
        200,
        title="Messages in the state",
        ge=2,
        le=100_000,
        description="Newest messages that a thread's state holds under `messages`, for chat clients to show. Older "
        "ones are in the archive: see `history`. Of very large ones fewer, as many as fit a megabyte.",
    )


class ServerSettings(Group):
    """Who may use this process, and what is measured of it."""

    group: ClassVar[str] = "Server"

    require_user: bool = Field(
        False,
        title="Require a user",
        description="Refuse runs that name no user, instead of giving them the memory of `user_id`.",
    )
    client_settings: Names = Field(
        ("safe",),
        title="What a client may choose",
        description="What a client of the LangGraph server may choose for a run, by the names of the settings. safe: "
        "all that a run may choose but models, instructions, the reply's tokens, search engines, reading pages and "
        "what leaves in a query. all: these too. no_commands: messages that are commands "
        "(/summary_off) are refused. A client may lower limits, and not raise them above what is set here. "
        "In Python a run may choose everything.",
    )
    removed_messages: Literal["leave", "forget"] = Field(
        "leave",
        title="Removed messages",
        description="What it means that a client removes messages of its thread (`RemoveMessage`). leave: they leave "
        "the conversation, and stay in the archive. forget: they are forgotten, with all that was made from them.",
    )
    telemetry: Telemetry = Field(
        "off",
        title="Telemetry",
        description="otel: spans and metrics to the OpenTelemetry providers that the process has set up. prometheus: "
        "metrics in the registry of prometheus_client, which the LangGraph server serves at /metrics. Neither holds "
        "anything that was said, or by whom.",
    )
    prices: Prices = Field(
        Prices(),
        title="Prices of tokens",
        description="What a million tokens cost, as input=3,cached=0.3,output=15: then `everthread explain` says what "
        "a turn cost, its summaries included. cached: input that the provider's cache served. Unset: only tokens.",
    )


class OperatorSettings(ServerSettings, LimitSettings, RecallSettings, StorageSettings):
    """What who starts a process sets for it, and no run may change."""
