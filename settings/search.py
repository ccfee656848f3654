"""`SearchSettings`: when the web is searched, and how."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field

from .forms import Group, Names, names_in, on_node

SearchMode = Literal["auto", "always", "off"]

_SWITCHES: Final = frozenset({"true", "false", "1", "0", "yes", "no", "on", "off"})
"""Texts that turn something on or off."""


def _switch_or_names(value: object) -> object:
    if isinstance(value, str) and value.strip().lower() not in _SWITCHES:
        value = names_in(value)
    return True if value in ((), []) else value


class SearchSettings(Group):
    """When the web is searched, and how."""

    group: ClassVar[str] = "Web search"

    web_search: SearchMode = Field(
        "auto",
        title="Search the web",
        description="auto: when keywords, the small model or the local classifier ask for it. always: on every turn. "
        "off: never.",
        json_schema_extra=on_node("keyword_check", capped=True),
    )
    keyword_threshold: float = Field(
        1.0,
        title="Weight of search words",
        ge=0.0,
        le=10.0,
        description="The summed weight of search signs in a message from which the web is searched at once.",
        json_schema_extra=on_node("keyword_check"),
    )
    search_engines: Names = Field(
        ("tavily", "duckduckgo"),
        title="Search engines",
        min_length=1,
        description="Search engines in order of preference: tavily, duckduckgo, google, searxng, brave, or a LangChain "
        "search wrapper as package.module:Class. In the environment: names separated by commas. Their keys are in "
        "their own variables: TAVILY_API_KEY; GOOGLE_API_KEY and GOOGLE_CSE_ID; BRAVE_SEARCH_API_KEY; SEARXNG_URL is a "
        "server's address. One without its key is passed over.",
        json_schema_extra=on_node("web_search", trusted=True),
    )
    max_results: int = Field(
        3,
        title="Search results",
        ge=1,
        le=20,
        description="Web search results used in a turn.",
        json_schema_extra=on_node("web_search", capped=True),
    )
    search_at_once: int = Field(
        1,
        title="Engines asked at once",
        ge=1,
        le=5,
        description="Search engines asked at the same time; what several find is fused by rank. 1: the next engine is "
        "asked only where one fails.",
        json_schema_extra=on_node("web_search", capped=True),
    )
    search_language: str = Field(
        "auto",
        title="Language of the results",
        pattern=r"^(auto|any|[a-z]{2})$",
        description="The language of the results, as a code of two letters. auto: that of the query, or the one it "
        "asks for. any: the engine decides.",
        json_schema_extra=on_node("web_search"),
    )
    max_search_tokens: int = Field(
        1500,
        title="Tokens of the results",
        ge=50,
        le=100_000,
        description="Tokens of the contents of all results together; of longer ones, the passages that bear on the "
        "query are kept.",
        json_schema_extra=on_node("web_search", capped=True),
    )
    fetch_pages: bool = Field(
        False,
        title="Read the pages found",
        description="Read the pages found, not only their snippets. Only public addresses are ever connected to.",
        json_schema_extra=on_node("web_search", trusted=True),
    )
    redact_queries: Annotated[bool | tuple[str, ...], BeforeValidator(_switch_or_names)] = Field(
        True,
        title="Take what is private out of queries",
        description="true: take emails, phone, card and bank numbers, postal addresses, keys and known facts about the "
        "user out of a query before it leaves. Names, separated by commas in the environment: take these out as well. "
        "false: queries leave as they are.",
        json_schema_extra=on_node("web_search", trusted=True),
    )

    @property
    def private_names(self) -> tuple[str, ...]:
        """Names that are taken out of a query."""
        return self.redact_queries if isinstance(self.redact_queries, tuple) else ()
