"""`Overheard`: the requests to chat models that a responder of one's own makes, as its callbacks tell of them."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import LLMResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from ..state.turn_records import ModelCall
from .failures import Failure, failure_of
from .replies import finish_of


class Overheard(BaseCallbackHandler):
    """Notes each request with its model, time, tokens and end."""

    run_inline = True

    def __init__(self) -> None:
        self._begun: dict[UUID, tuple[str, float]] = {}
        self._calls: list[ModelCall] = []

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """The requests that have ended, in the order in which they did."""
        return tuple(self._calls)

    def heard_in(self, config: RunnableConfig) -> RunnableConfig:
        """The config of a call to which this listens, too."""
        return merge_configs(config, {"callbacks": [self]})

    def failed(self, name: str, seconds: float, failure: Failure) -> None:
        """Note a failure of the responder that is none of its requests'."""
        self._note(name, seconds, failure=failure.kind, error=failure.reason)

    def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: UUID, metadata: dict[str, Any] | None = None, **_: Any
    ) -> None:
        """A request begins."""
        name = (metadata or {}).get("ls_model_name") or (serialized or {}).get("name") or "unknown"
        self._begun[run_id] = (str(name), time.perf_counter())

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """A request was answered."""
        begun = self._begun.pop(run_id, None)
        generation = response.generations[0][0] if response.generations and response.generations[0] else None
        reply = getattr(generation, "message", None)
        if begun is None or not isinstance(reply, AIMessage):
            return
        name, started = begun
        usage = reply.usage_metadata
        self._note(
            str(reply.response_metadata.get("model_name") or name),
            time.perf_counter() - started,
            input_tokens=usage["input_tokens"] if usage else None,
            output_tokens=usage["output_tokens"] if usage else None,
            finish=finish_of(reply)[0],
        )

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A request failed."""
        if (begun := self._begun.pop(run_id, None)) is not None:
            failure = failure_of(error)
            self._note(begun[0], time.perf_counter() - begun[1], failure=failure.kind, error=failure.reason)

    def _note(self, model: str, seconds: float, **how: Any) -> None:
        self._calls.append(ModelCall(model=model, milliseconds=round(seconds * 1000, 1), **how))
