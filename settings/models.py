"""`ModelSettings`: which models answer, decide and summarize."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from .forms import Group, Names, on_node


class ModelSettings(Group):
    """Which models answer, decide and summarize."""

    group: ClassVar[str] = "Models"

    model: str | None = Field(
        None,
        title="Chat model",
        description="The chat model: 'provider:name' (openai:gpt-5-mini, anthropic:..., ollama:...), the path of a "
        "GGUF file, 'smollm2' or 'offline'. Unset: SmolLM2-135M where its weights are installed, else offline.",
        json_schema_extra=on_node("llm_call", trusted=True),
    )
    fallback_models: Names = Field(
        (),
        title="Fallback models",
        description="Models that answer where `model` fails before it has said anything, in this order. "
        "In the environment: names separated by commas.",
        json_schema_extra=on_node("llm_call", trusted=True),
    )
    slm_model: str | None = Field(
        None,
        title="Small model for search decisions",
        description="A small model that decides whether to search the web where keywords do not. Unset: a local "
        "classifier decides, and no call is paid for.",
        json_schema_extra=on_node("slm_router", trusted=True),
    )
    summary_model: str | None = Field(
        None,
        title="Model for summaries",
        description="The model that writes summaries. Unset: `model`, if that is set; else the extractive summarizer. "
        "'extractive' always uses the latter.",
        json_schema_extra=on_node("summarize", trusted=True),
    )
    system_prompt: str = Field(
        "",
        title="Instructions",
        max_length=100_000,
        description="Instructions that lead every prompt. Empty: everthread's own short ones.",
        json_schema_extra={**on_node("llm_call", trusted=True), "langgraph_type": "prompt"},
    )
