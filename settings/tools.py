"""`ToolSettings`: how the tools that the model may call are run."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from .forms import Group, on_node


class ToolSettings(Group):
    """How the tools that the model may call are run."""

    group: ClassVar[str] = "Tools"

    max_tool_rounds: int = Field(
        10,
        title="Rounds of tool calls",
        ge=0,
        le=1000,
        description="Rounds of tool calls in one turn, at most; after them the model must answer. 0 binds no tools.",
        json_schema_extra=on_node("llm_call", "tools", capped=True),
    )
    max_tool_tokens: int = Field(
        4000,
        title="Tokens of one tool result",
        ge=50,
        le=1_000_000,
        description="Tokens of one tool result that go to the model; the archive keeps the whole result.",
        json_schema_extra=on_node("llm_call", "tools", capped=True),
    )
