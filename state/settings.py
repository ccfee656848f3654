"""`Settings`: the one place where every default of everthread lives.

The same object is the environment (`EVERTHREAD_*`), the per-run context of the graph, the form that LangGraph Studio
shows, the options of the command line, and the generated table in the README.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, PrivateAttr, SecretStr, ValidationError, field_validator, model_validator
from pydantic.config import JsonDict
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from .errors import SettingsError, one_sentence
from .profiles import PROFILES, ProfileName

DEFAULT_USER = "default"
"""Who owns what runs without a `user_id`."""

SearchMode = Literal["auto", "always", "off"]
MemoryScope = Literal["user", "thread"]
SummaryWindow = Literal["last", "oldest"]


def _node(*names: str) -> JsonDict:
    """JSON schema metadata that makes Studio show a setting on the nodes it belongs to."""
    return {"langgraph_nodes": list(names)}


_PROCESS: JsonDict = {"scope": "process"}
"""Marks what is fixed when the process starts: a single run cannot change it."""


class Settings(BaseSettings):
    """Everything that can be configured, each field with its default, range and meaning.

    Values come, in this order, from: the context of the run, the argument of `open_graph`, the environment
    (`EVERTHREAD_` and the field's name in capitals), the profile, the default.

    Raises:
        SettingsError: a value is not allowed or a name is unknown; the text names field, value and what is allowed.
    """

    model_config = SettingsConfigDict(
        env_prefix="EVERTHREAD_", env_ignore_empty=True, extra="forbid", frozen=True, title="everthread settings"
    )
    PROCESS_FIELDS: ClassVar[frozenset[str]]
    _given: frozenset[str] = PrivateAttr(default=frozenset())

    user_id: str = Field(
        DEFAULT_USER,
        min_length=1,
        max_length=255,
        description="Whose memory this is. Under a server with authentication, the authenticated user wins.",
    )
    profile: ProfileName = Field("multi_strategy", description="Which set of settings fills what is not set otherwise.")

    model: str | None = Field(
        None,
        description="The chat model: 'provider:name' (openai:gpt-5-mini, anthropic:..., ollama:...), the path of a "
        "GGUF file, 'smollm2' or 'offline'. Unset: SmolLM2-135M where its weights are installed, else offline.",
        json_schema_extra=_node("llm_call"),
    )
    slm_model: str | None = Field(
        None,
        description="A small model that decides whether to search the web where keywords do not. Unset: no search is "
        "made then, and no call is paid for.",
        json_schema_extra=_node("slm_router"),
    )
    summary_model: str | None = Field(
        None,
        description="The model that writes summaries. Unset: `model`, if that is set; else the extractive summarizer. "
        "'extractive' always uses the latter.",
        json_schema_extra=_node("summarize"),
    )
    model_timeout: float = Field(
        120.0,
        gt=0,
        le=3600,
        description="Seconds a chat model may take for one answer.",
        json_schema_extra=_node("llm_call", "summarize"),
    )
    system_prompt: str = Field(
        "",
        max_length=100_000,
        description="Instructions that lead every prompt. Empty: everthread's own short ones.",
        json_schema_extra={**_node("llm_call"), "langgraph_type": "prompt"},
    )

    max_context_tokens: int = Field(
        8000,
        ge=500,
        le=2_000_000,
        description="Tokens of the assembled prompt, at most. A model with a smaller window gets what fits it.",
        json_schema_extra=_node("context_assembly"),
    )
    max_reply_tokens: int = Field(
        1024,
        ge=16,
        le=200_000,
        description="Tokens kept free for the reply.",
        json_schema_extra=_node("context_assembly", "llm_call"),
    )

    web_search: SearchMode = Field(
        "auto",
        description="auto: when keywords or the small model ask for it. always: on every turn. off: never.",
        json_schema_extra=_node("keyword_check"),
    )
    keyword_threshold: float = Field(
        1.0,
        ge=0.0,
        le=10.0,
        description="The summed weight of search signs in a message from which the web is searched at once.",
        json_schema_extra=_node("keyword_check"),
    )
    search_engines: Annotated[tuple[str, ...], NoDecode] = Field(
        ("tavily", "duckduckgo"),
        min_length=1,
        description="Search engines in order of preference; one without its key is passed over. "
        "In the environment: names separated by commas.",
        json_schema_extra=_node("web_search"),
    )
    max_results: int = Field(
        3, ge=1, le=20, description="Web search results used in a turn.", json_schema_extra=_node("web_search")
    )
    search_timeout: float = Field(
        8.0,
        gt=0,
        le=120,
        description="Seconds that web search may take in a turn, all engines together.",
        json_schema_extra=_node("web_search"),
    )
    tavily_api_key: SecretStr | None = Field(
        None, description="Key for Tavily. Unset: the variable TAVILY_API_KEY.", json_schema_extra=_PROCESS
    )

    similarity_threshold: float = Field(
        0.7,
        ge=0.0,
        le=1.0,
        description="How similar a memory found by its vector must be, as (1 + cosine) / 2 in [0, 1].",
        json_schema_extra=_node("memory_retrieval"),
    )
    max_memories: int = Field(
        5,
        ge=0,
        le=100,
        description="Memories recalled in a turn, at most; 0 recalls none.",
        json_schema_extra=_node("memory_retrieval"),
    )
    memory_scope: MemoryScope = Field(
        "user",
        description="user: recall from all threads of the user. thread: from this thread only.",
        json_schema_extra=_node("memory_retrieval"),
    )
    embedding_timeout: float = Field(
        60.0,
        gt=0,
        le=3600,
        description="Seconds that an embedding call may take, loading the model included, before the turn goes on "
        "without it.",
        json_schema_extra=_node("memory_retrieval", "remember"),
    )

    n_sum: int = Field(
        6,
        ge=2,
        le=10_000,
        description="Messages in the live chain that trigger a level-1 summary.",
        json_schema_extra=_node("summarize"),
    )
    sum_window: int = Field(
        3,
        ge=1,
        le=10_000,
        description="Messages in each summary; also the summaries of the highest level that make the master summary.",
        json_schema_extra=_node("summarize"),
    )
    n_sum_sum: int = Field(
        3,
        ge=2,
        le=1000,
        description="Summaries of one level that become one of the next.",
        json_schema_extra=_node("summarize"),
    )
    max_sum_lvl: int = Field(
        3,
        ge=1,
        le=20,
        description="The highest level of summary below the master summary.",
        json_schema_extra=_node("summarize"),
    )
    summary_window: SummaryWindow = Field(
        "last",
        description="Which messages of the chain are summarized: the last ones, as seed 000 says, or the oldest.",
        json_schema_extra=_node("summarize"),
    )
    summary_length: int = Field(
        150,
        ge=10,
        le=10_000,
        description="Target length of a summary, in tokens.",
        json_schema_extra=_node("summarize"),
    )

    database_url: SecretStr | None = Field(
        None,
        description="A Postgres server with pgvector, as postgresql://... Unset: an embedded server in `data_dir`.",
        json_schema_extra=_PROCESS,
    )
    database_schema: str = Field(
        "everthread",
        pattern=r"^[a-z_][a-z0-9_]{0,62}$",
        description="The Postgres schema that holds our tables.",
        json_schema_extra=_PROCESS,
    )
    pool_size: int = Field(10, ge=1, le=500, description="Database connections, at most.", json_schema_extra=_PROCESS)
    prepare_statements: bool = Field(
        True, description="Turn off behind PgBouncer in transaction mode.", json_schema_extra=_PROCESS
    )
    data_dir: Path | None = Field(
        None,
        description="Folder of the embedded server. Unset: the platform's folder for user data "
        "(/var/lib/everthread for root).",
        json_schema_extra=_PROCESS,
    )
    embedding_model: str = Field(
        "sentence-transformers/all-MiniLM-L6-v2",
        min_length=1,
        description="The embedding model: a Hugging Face name or folder, or 'provider:name' for LangChain's "
        "init_embeddings. The default's weights come with everthread.",
        json_schema_extra=_PROCESS,
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise SettingsError(one_sentence(error, type(self).model_fields)) from None
        self._given = frozenset(values)

    @field_validator("search_engines", mode="before")
    @classmethod
    def _split_names(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @model_validator(mode="before")
    @classmethod
    def _fill_from_profile(cls, values: dict[str, Any]) -> dict[str, Any]:
        profile = PROFILES.get(values.get("profile", "multi_strategy"))
        return {**profile.settings, **values} if profile else values

    @model_validator(mode="after")
    def _limits_agree(self) -> Self:
        if self.sum_window > self.n_sum:
            raise ValueError(
                f"sum_window is {self.sum_window} but must not be larger than n_sum, which is {self.n_sum}"
            )
        if self.max_reply_tokens >= self.max_context_tokens:
            raise ValueError(
                f"max_reply_tokens is {self.max_reply_tokens} but must be smaller than max_context_tokens, "
                f"which is {self.max_context_tokens}"
            )
        return self

    def but(self, **values: Any) -> Settings:
        """These settings with some values replaced.

        Raises:
            SettingsError: a value or the combination is not allowed.
        """
        kept = {name: getattr(self, name) for name in self.model_fields_set | self._given}
        return Settings(**{**kept, **values}) if values else self

    def over(self, base: Settings) -> Settings:
        """These settings laid over `base`: what was given here by name wins, process-wide fields stay as in `base`.

        Raises:
            SettingsError: the combination is not allowed.
        """
        return base.but(**{name: getattr(self, name) for name in self._given - self.PROCESS_FIELDS})


Settings.PROCESS_FIELDS = frozenset(
    name
    for name, field in Settings.model_fields.items()
    if isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get("scope") == "process"
)
