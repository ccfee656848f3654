"""`LimitSettings`: how long a turn waits for what may be slow, and how often it tries again."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field
from pydantic_settings import NoDecode

from .forms import PROCESS, Parts

Seconds = Annotated[float, Field(gt=0, le=86_400)]


class Timeouts(Parts):
    """Seconds that a turn waits for each part."""

    model: Seconds = Field(120.0, title="One answer of a chat model")
    reply: Seconds = Field(300.0, title="The reply, with all retries and fallback models")
    tool: Seconds = Field(60.0, title="One tool call")
    search: Seconds = Field(8.0, title="Web search, all engines together")
    embedding: Seconds = Field(60.0, title="One embedding call, loading the model included")


class LimitSettings(BaseModel):
    """How long a turn waits for what may be slow, and how often it tries again."""

    timeouts: Annotated[Timeouts, NoDecode] = Field(
        Timeouts(),
        description="Seconds that a turn waits, as model=60,search=4. model: one answer of a chat model. reply: until "
        "there must be a reply, all retries and fallback models together; each round of tools has as many again, a "
        "responder of your own as many for all that it does. tool: one tool call; the model is told when it took "
        "longer. search: web search in a turn, all engines together. embedding: one embedding call, loading the model "
        "included, before the turn goes on without it.",
        json_schema_extra=PROCESS,
    )
    model_retries: int = Field(
        2,
        ge=0,
        le=20,
        description="How often a chat model is asked again after a passing failure (rate limit, overload, lost "
        "connection), beside the retries of the provider's own client.",
        json_schema_extra=PROCESS,
    )
