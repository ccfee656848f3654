"""`ChatModels`: which chat model answers, routes and summarizes: one given as a component, or named by the settings."""

from __future__ import annotations

from functools import partial

from langchain_core.language_models import BaseChatModel

from ..models.answering import Candidate
from ..models.chat import aload, check_models, is_capable, model_name
from ..models.locality import is_local_model, is_local_name
from ..models.offline import OfflineChatModel
from ..settings.profiles import PROFILES
from ..settings.settings import Settings
from ..state.errors import ModelError
from .components import Components


class ChatModels:
    """The chat models of a graph. Each is loaded when it is asked for.

    Args:
        components: `model`, `fallbacks` and `responder` count.

    Raises:
        SettingsError: one of them is no chat model.
    """

    def __init__(self, components: Components) -> None:
        self._model = components.get("model")
        self._fallbacks = tuple(components.get("fallbacks") or ())
        self._has_responder = components.get("responder") is not None
        check_models([*([] if self._model is None else [self._model]), *self._fallbacks])

    def has_capable(self, settings: Settings) -> bool:
        """Whether a real model answers, and not one of the built-in ones."""
        return self._has_responder or self._model is not None or is_capable(settings.model)

    def candidates(self, settings: Settings) -> list[Candidate]:
        """The models that may answer, in the order in which they are asked."""
        load = partial(aload, max_tokens=settings.max_reply_tokens, timeout=settings.timeouts.model)
        given = [model for model in (self._model, *self._fallbacks) if model is not None]
        by_object = [Candidate(model_name(model), partial(_already_loaded, model)) for model in given]
        named = [Candidate(name, partial(load, name)) for name in settings.fallback_models]
        if self._model is None:
            by_object.insert(0, Candidate(settings.model or "default", partial(load, settings.model)))
        return [*by_object, *named]

    async def answering(self, settings: Settings) -> BaseChatModel:
        """The model that answers: the first that can be loaded.

        Of a responder of one's own nothing is known; the offline model stands for it, whose window is open.

        Raises:
            ModelError: none can be loaded; the sentence is that of the first.
        """
        if self._has_responder and self._model is None:
            return OfflineChatModel()
        failed: ModelError | None = None
        for candidate in self.candidates(settings):
            try:
                return await candidate.load()
            except ModelError as error:
                failed = failed or error
        raise failed or ModelError("No chat model is given.")

    async def router(self, settings: Settings) -> BaseChatModel | None:
        """The small model that decides on web search, or None where none is set."""
        return await aload(settings.slm_model, timeout=settings.timeouts.model) if settings.slm_model else None

    async def summarizer(self, settings: Settings) -> BaseChatModel | None:
        """The model that writes summaries, or None for the extractive summarizer."""
        chosen = self._summarizer(settings)
        if not isinstance(chosen, str):
            return chosen
        return await aload(chosen, max_tokens=settings.max_reply_tokens, timeout=settings.timeouts.model)

    def summarizes(self, settings: Settings) -> bool:
        """Whether a model writes the summaries, and not the extractive summarizer."""
        return self._summarizer(settings) is not None

    def _summarizer(self, settings: Settings) -> BaseChatModel | str | None:
        """The model that writes summaries, or its name."""
        name = settings.summary_model
        if PROFILES[settings.profile].summarizes_locally and name != "extractive" and self._answers_locally(settings):
            name = None
        if name is None and self._model is not None:
            return self._model
        name = name or settings.model
        return None if name == "extractive" or not is_capable(name) else name

    def _answers_locally(self, settings: Settings) -> bool:
        return is_local_model(self._model) if self._model is not None else is_local_name(settings.model)


async def _already_loaded(model: BaseChatModel) -> BaseChatModel:
    return model
