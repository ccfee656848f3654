"""`SearchSettings`: when the web is searched, and how."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from .forms import PROCESS, on_node

SearchMode = Literal["auto", "always", "off"]


class SearchSettings(BaseModel):
    """When the web is searched, and how."""

    web_search: SearchMode = Field(
        "auto",
        description="auto: when keywords or the small model ask for it. always: on every turn. off: never.",
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
        description="Search engines in order of preference; one without its key is passed over. "
        "In the environment: names separated by commas.",
        json_schema_extra=on_node("web_search"),
    )
    max_results: int = Field(
        3, ge=1, le=20, description="Web search results used in a turn.", json_schema_extra=on_node("web_search")
    )
    search_timeout: float = Field(
        8.0,
        gt=0,
        le=120,
        description="Seconds that web search may take in a turn, all engines together.",
        json_schema_extra=on_node("web_search"),
    )
    tavily_api_key: SecretStr | None = Field(
        None, description="Key for Tavily. Unset: the variable TAVILY_API_KEY.", json_schema_extra=PROCESS
    )

    @field_validator("search_engines", mode="before")
    @classmethod
    def _split_names(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value
