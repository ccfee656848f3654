"""`SearchSettings`: when the web is searched, and how."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field, field_validator
from pydantic_settings import NoDecode

from .forms import on_node

SearchMode = Literal["auto", "always", "off"]

_SWITCHES: Final = frozenset({"true", "false", "1", "0", "yes", "no", "on", "off"})
"""Texts that turn something on or off."""


class SearchSettings(BaseModel):
    """When the web is searched, and how."""

    web_search: SearchMode = Field(
        "auto",
        description="auto: when keywords, the small model or the local classifier ask for it. always: on every turn. "
        "off: never.",
        json_schema_extra=on_node("keyword_check"),
    )
    keyword_threshold: float = Field(
        1.0,
        ge=0.0,
        le=10.0,
        description="The summed weight of search signs in a message from which the web is searched at once.",
        json_schema_extra=on_node("keyword_check"),
    )
    search_engines: Annotated[tuple[str, ...], NoDecode] = Field(
        ("tavily", "duckduckgo"),
        min_length=1,
        description="Search engines in order of preference: tavily, duckduckgo, google, searxng, brave, or a LangChain "
        "search wrapper as package.module:Class. In the environment: names separated by commas. Their keys are in "
        "their own variables: TAVILY_API_KEY; GOOGLE_API_KEY and GOOGLE_CSE_ID; BRAVE_SEARCH_API_KEY; SEARXNG_URL is a "
        "server's address. One without its key is passed over.",
        json_schema_extra=on_node("web_search"),
    )
    max_results: int = Field(
        3, ge=1, le=20, description="Web search results used in a turn.", json_schema_extra=on_node("web_search")
    )
    search_at_once: int = Field(
        1,
        ge=1,
        le=5,
        description="Search engines asked at the same time; what several find is fused by rank. 1: the next engine is "
        "asked only where one fails.",
        json_schema_extra=on_node("web_search"),
    )
    search_language: str = Field(
        "auto",
        pattern=r"^(auto|any|[a-z]{2})$",
        description="The language of the results, as a code of two letters. auto: that of the query, or the one it "
        "asks for. any: the engine decides.",
        json_schema_extra=on_node("web_search"),
    )
    max_search_tokens: int = Field(
        1500,
        ge=50,
        le=100_000,
        description="Tokens of the contents of all results together; of longer ones, the passages that bear on the "
        "query are kept.",
        json_schema_extra=on_node("web_search"),
    )
    redact_queries: Annotated[bool | tuple[str, ...], NoDecode] = Field(
        True,
        description="true: take emails, phone, card and bank numbers, postal addresses, keys and known facts about the "
        "user out of a query before it leaves. Names, separated by commas in the environment: take these out as well. "
        "false: queries leave as they are.",
        json_schema_extra=on_node("web_search"),
    )
    fetch_pages: bool = Field(
        False,
        description="Read the pages found, not only their snippets. Only public addresses are ever connected to.",
        json_schema_extra=on_node("web_search"),
    )
    search_cache_seconds: int = Field(
        900,
        ge=0,
        le=2_592_000,
        description="How long results are kept for the same query; 0 keeps none.",
        json_schema_extra=on_node("web_search"),
    )

    @field_validator("search_engines", mode="before")
    @classmethod
    def _split_names(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @field_validator("redact_queries", mode="before")
    @classmethod
    def _split_private_names(cls, value: object) -> object:
        if isinstance(value, str) and value.strip().lower() not in _SWITCHES:
            value = tuple(name.strip() for name in value.split(",") if name.strip())
        return True if value in ((), []) else value

    @property
    def private_names(self) -> tuple[str, ...]:
        """Names that are taken out of a query."""
        return self.redact_queries if isinstance(self.redact_queries, tuple) else ()
