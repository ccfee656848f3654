"""`ContextSettings`: how much goes to the model in one turn."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field, model_validator

from .forms import on_node


class ContextSettings(BaseModel):
    """How much goes to the model in one turn."""

    max_context_tokens: int = Field(
        8000,
        ge=500,
        le=2_000_000,
        description="Tokens of the assembled prompt, at most. A model with a smaller window gets what fits it.",
        json_schema_extra=on_node("context_assembly"),
    )
    max_reply_tokens: int = Field(
        1024,
        ge=16,
        le=200_000,
        description="Tokens kept free for the reply.",
        json_schema_extra=on_node("context_assembly", "llm_call"),
    )

    @model_validator(mode="after")
    def _reply_fits(self) -> Self:
        if self.max_reply_tokens >= self.max_context_tokens:
            raise ValueError(
                f"max_reply_tokens is {self.max_reply_tokens} but must be smaller than max_context_tokens, "
                f"which is {self.max_context_tokens}"
            )
        return self
