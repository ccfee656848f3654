"""`ToolSettings`: how the tools that the model may call are run."""

from __future__ import annotations

from pydantic import BaseModel, Field

from .forms import on_node


class ToolSettings(BaseModel):
    """How the tools that the model may call are run."""

    max_tool_rounds: int = Field(
        10,
        ge=0,
        le=1000,
        description="Rounds of tool calls in one turn, at most; after them the model must answer. 0 binds no tools.",
        json_schema_extra=on_node("llm_call", "tools"),
    )
    max_tool_tokens: int = Field(
        4000,
        ge=50,
        le=1_000_000,
        description="Tokens of one tool result that go to the model; the archive keeps the whole result.",
        json_schema_extra=on_node("llm_call", "tools"),
    )
