"""`Answering`: a reply from the first model that gives one, with deadlines, retries, and fallback models in order."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import Runnable, RunnableConfig

from ..state.errors import ModelError
from ..state.turn_records import ModelCall
from .callbacks import StreamCounter, heard_by
from .chat import model_name
from .failures import Failure, failure_of
from .replies import finish_of, tokens_of, unusable

logger = logging.getLogger(__name__)

Prompt = Callable[[BaseChatModel, Failure | None], Awaitable[Sequence[AnyMessage]]]
"""Makes the messages for a model; after a failure of the kind `context`, smaller ones."""

_FIRST_WAIT: Final = 0.25
"""Seconds before the first retry; each further one waits twice as long."""

_PATIENCE: Final = 8.0
"""Seconds that a provider may ask us to wait while another model could answer."""


class Candidate(NamedTuple):
    """A model that may answer: its name, and how it is loaded."""

    name: str
    load: Callable[[], Awaitable[BaseChatModel]]


class RetryPolicy(NamedTuple):
    """How long to try: seconds for one request, seconds for all of them, and retries of passing failures."""

    timeout: float
    deadline: float
    retries: int


class ModelAnswer(NamedTuple):
    """A reply, and what it took to get it."""

    reply: AIMessage
    model: str
    calls: tuple[ModelCall, ...]
    degraded: tuple[str, ...]


class Answering:
    """One reply. A model that fails before it has said anything is asked again, then the next one is.

    One that broke off after its first word is not replaced: what it said has been shown, and another answer after it
    would read as one text. An empty reply is asked for once more. A refusal is final.

    Args:
        prompt: makes the messages for each model.
        tools: what is bound to the models; one that takes no tools answers without.
        policy: deadlines and retries.
        config: LangGraph's config, which carries the callbacks that stream tokens.
    """

    def __init__(self, prompt: Prompt, tools: Sequence[Any], policy: RetryPolicy, config: RunnableConfig) -> None:
        self._prompt = prompt
        self._tools = tools
        self._policy = policy
        self._config = config
        self._end = time.monotonic() + policy.deadline
        self._calls: list[ModelCall] = []
        self._degraded: list[str] = []

    async def first(self, candidates: Sequence[Candidate]) -> ModelAnswer:
        """The reply of the first candidate that gives one.

        Raises:
            ModelError: none did; the sentence says why.
        """
        failed: list[tuple[str, Failure]] = []
        for index, candidate in enumerate(candidates):
            name, outcome = await self._ask(candidate, is_last=index == len(candidates) - 1)
            if isinstance(outcome, AIMessage):
                return ModelAnswer(outcome, name, tuple(self._calls), tuple(self._degraded))
            failed.append((name, outcome))
            logger.warning("The chat model %r gave no reply: %s.", name, outcome.kind)
            if outcome.kind in {"refusal", "broken"} or self._left <= 0:
                break
        error, cause = _error(failed, self._policy), failed[-1][1].error
        error.calls = tuple(self._calls)
        raise error from (cause if cause is not error else None)

    @property
    def _left(self) -> float:
        return self._end - time.monotonic()

    async def _ask(self, candidate: Candidate, *, is_last: bool) -> tuple[str, AIMessage | Failure]:
        """The reply of one model after all its tries, or why there is none."""
        try:
            model = await candidate.load()
        except ModelError as error:
            return candidate.name, self._noted(candidate.name, failure_of(error), time.perf_counter())
        name, runnable = model_name(model), self._with_tools(model)
        messages = await self._prompt(model, None)
        retries, is_smaller, was_empty = 0, False, False
        while True:
            outcome = await self._call(name, runnable, messages)
            if isinstance(outcome, AIMessage):
                return name, outcome
            if outcome.kind == "context" and not is_smaller:
                is_smaller, messages = True, await self._prompt(model, outcome)
            elif outcome.kind == "empty" and outcome.again and not was_empty:
                was_empty = True
            elif outcome.is_passing and retries < self._policy.retries:
                wait = _FIRST_WAIT * 2**retries * random.uniform(0.8, 1.2)  # noqa: S311
                wait = max(wait, outcome.wait or 0.0)
                if wait > self._left or (wait > _PATIENCE and not is_last):
                    return name, outcome
                retries += 1
                await asyncio.sleep(wait)
            else:
                return name, outcome

    async def _call(
        self, name: str, model: Runnable[Any, AIMessage], messages: Sequence[AnyMessage]
    ) -> AIMessage | Failure:
        """One request."""
        streamed, started = StreamCounter(), time.perf_counter()
        limit = max(0.0, min(self._policy.timeout, self._left))
        clock = asyncio.timeout(limit)
        try:
            async with clock:
                reply = await model.ainvoke(list(messages), heard_by(streamed, self._config))
        except Exception as error:
            if clock.expired():
                # Not a passing failure: a model that was too slow once is not asked to be it again.
                failure = Failure("timeout", f"no reply in {limit:g} s", again=False)
            else:
                failure = failure_of(error)
            return self._noted(name, failure, started, streamed)
        if not isinstance(reply, AIMessage):  # a fake model may give back what it was sent
            reply = AIMessage(reply.content)
        if (failure_ := unusable(reply)) is not None:
            return self._noted(name, failure_, started, streamed)
        finish, _ = finish_of(reply)
        self._calls.append(
            ModelCall(
                model=name,
                milliseconds=_since(started),
                finish=finish,
                **tokens_of(reply),
            )
        )
        return reply

    def _noted(self, name: str, failure: Failure, started: float, streamed: StreamCounter | None = None) -> Failure:
        """The failure, among the calls of the turn; of the kind `broken` where something had been said."""
        if streamed is not None and streamed.characters and failure.kind != "refusal":
            reason = f"it broke off after {streamed.characters} characters: {failure.reason}"
            failure = failure._replace(kind="broken", reason=reason)
        self._calls.append(
            ModelCall(model=name, milliseconds=_since(started), failure=failure.kind, error=failure.reason)
        )
        return failure

    def _with_tools(self, model: BaseChatModel) -> Runnable[Any, AIMessage]:
        if not self._tools:
            return model
        try:
            return model.bind_tools(self._tools)
        except NotImplementedError:
            self._degraded.append(f"The chat model {model_name(model)!r} takes no tools: it answered without them.")
            logger.warning("The chat model %r takes no tools.", model_name(model))
            return model


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)


def _error(failed: Sequence[tuple[str, Failure]], policy: RetryPolicy) -> ModelError:
    """The error's sentence when no model answered."""
    name, last = failed[-1]
    if len(failed) == 1 or last.kind in {"refusal", "broken"}:
        if isinstance(last.error, ModelError) and last.kind == "other":
            return last.error
        return ModelError(_sentence(name, last, policy))
    told = "; ".join(f"{name!r}: {failure.reason}" for name, failure in failed)
    return ModelError(
        f"None of {len(failed)} chat models answered: {told}. What you said is kept: ask again, or set other "
        "EVERTHREAD_FALLBACK_MODELS."
    )


def _sentence(name: str, failure: Failure, policy: RetryPolicy) -> str:
    kept = "What you said is kept:"
    if failure.kind == "timeout" and not failure.again:
        variable = "MODEL_TIMEOUT" if policy.timeout <= policy.deadline else "REPLY_TIMEOUT"
        seconds = min(policy.timeout, policy.deadline)
        return (
            f"The chat model {name!r} took longer than {seconds:g} s. {kept} ask again, or raise EVERTHREAD_{variable}."
        )
    if failure.kind == "context":
        had = f"{failure.asked} tokens" if failure.asked is not None else "a number of tokens that it does not name"
        takes = f"takes {failure.window}" if failure.window is not None else "takes fewer"
        if failure.asked is not None and failure.window is not None and failure.asked <= failure.window:
            takes += " together with the reply"
        return (
            f"The prompt is too long for the chat model {name!r}, also after it was made smaller: it had {had}, the "
            f"model {takes}. {kept} lower EVERTHREAD_MAX_CONTEXT_TOKENS, or choose a model with a larger window."
        )
    if failure.kind == "refusal":
        return f"The chat model {name!r} refused to answer: {failure.reason}. {kept} say it in other words."
    if failure.kind == "broken":
        return f"The chat model {name!r} failed: {failure.reason}. {kept} what it had said is not; ask again."
    if failure.kind == "empty":
        tries = " twice" if failure.again else ""
        return f"The chat model {name!r} said nothing{tries}: {failure.reason}. {kept} ask again."
    again = "ask again" if not failure.wait else f"retry in {math.ceil(failure.wait)} s, as it asks"
    if failure.kind in {"key", "quota"}:
        again = f"check the {'API key' if failure.kind == 'key' else 'account'} at its provider and ask again"
    return f"The chat model {name!r} failed: {failure.reason}. {kept} {again}, or set another EVERTHREAD_MODEL."
