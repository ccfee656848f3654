"""Whether a chat model runs on this machine (seed `002`, "isLocalModel")."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel

from .gguf import GGUFChatModel
from .offline import OfflineChatModel

_LOCAL_PROVIDERS: Final = frozenset({"ollama", "llamacpp", "gpt4all", "mlx"})
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104  # compared, not bound
_ADDRESSES: Final = ("openai_api_base", "base_url", "anthropic_api_url", "endpoint")


def is_local_name(name: str | None) -> bool:
    """Whether a model of this name, as the settings name it, runs on this machine; one that is unset does."""
    given = (name or "").strip().lower()
    provider = given.partition(":")[0].replace("_", "").replace("-", "")
    return not given or ":" not in given or given.endswith(".gguf") or provider in _LOCAL_PROVIDERS


def is_local_model(model: BaseChatModel) -> bool:
    """Whether a model object runs in this process, or is asked at an address of this machine."""
    if isinstance(model, (GGUFChatModel, OfflineChatModel)):
        return True
    addresses = [str(value) for name in _ADDRESSES if (value := getattr(model, name, None))]
    if addresses:
        return all(_is_loopback(address) for address in addresses)
    kind = f"{type(model).__name__} {model._llm_type}".lower()
    return any(provider in kind for provider in _LOCAL_PROVIDERS)


def _is_loopback(address: str) -> bool:
    return (urlsplit(address if "//" in address else f"//{address}").hostname or "") in _LOOPBACK
