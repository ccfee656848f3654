"""`ModelSettings`: which models answer, decide and summarize."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, field_validator
from pydantic_settings import NoDecode

from .forms import on_node


class ModelSettings(BaseModel):
    """Which models answer, decide and summarize."""

    model: str | None = Field(
        None,
        description="The chat model: 'provider:name' (openai:gpt-5-mini, anthropic:..., ollama:...), the path of a "
        "GGUF file, 'smollm2' or 'offline'. Unset: SmolLM2-135M where its weights are installed, else offline.",
        json_schema_extra=on_node("llm_call"),
    )
    fallback_models: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Models that answer where `model` fails before it has said anything, in this order. "
        "In the environment: names separated by commas.",
        json_schema_extra=on_node("llm_call"),
    )
    slm_model: str | None = Field(
        None,
        description="A small model that decides whether to search the web where keywords do not. Unset: a local "
        "classifier decides, and no call is paid for.",
        json_schema_extra=on_node("slm_router"),
    )
    summary_model: str | None = Field(
        None,
        description="The model that writes summaries. Unset: `model`, if that is set; else the extractive summarizer. "
        "'extractive' always uses the latter.",
        json_schema_extra=on_node("summarize"),
    )
    system_prompt: str = Field(
        "",
        max_length=100_000,
        description="Instructions that lead every prompt. Empty: everthread's own short ones.",
        json_schema_extra={**on_node("llm_call"), "langgraph_type": "prompt"},
    )

    @field_validator("fallback_models", mode="before")
    @classmethod
    def _split_models(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value
