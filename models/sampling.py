"""A chat model with a temperature and a length of its replies of its own, by the fields that its class has for them."""

from __future__ import annotations

from typing import Any, Final

from langchain_core.language_models import BaseChatModel

from .chat import model_name

_LENGTHS: Final = ("max_tokens", "max_output_tokens", "num_predict", "max_new_tokens")
"""How LangChain's chat models call the tokens of a reply: OpenAI, Anthropic and most; Google; Ollama; Hugging Face."""

_without_temperature: set[str] = set()
"""Names of models whose provider refused a temperature, as those that think do."""


def sampled(model: BaseChatModel, *, temperature: float, max_tokens: int | None) -> BaseChatModel:
    """A copy of the model, on the same connections, with these values in place of its own; itself where it has none.

    Args:
        model: which.
        temperature: from 0, which says the likeliest, to 1.
        max_tokens: tokens of a reply, at most; None leaves them to the model. A smaller limit of its own stays.
    """
    fields, values = type(model).model_fields, dict[str, Any]()
    if "temperature" in fields and model_name(model) not in _without_temperature:
        values["temperature"] = temperature
    length = next((name for name in _LENGTHS if name in fields), None)
    if length is not None and max_tokens is not None:
        own = getattr(model, length)
        values[length] = min(own, max_tokens) if isinstance(own, int) and own > 0 else max_tokens
    return model.model_copy(update=values) if values else model


def refuses_temperature(model: BaseChatModel, error: Exception) -> bool:
    """Whether a provider refused a call for its temperature; it is remembered, and the next copy has none."""
    name = model_name(model)
    if "temperature" not in str(error).lower() or name in _without_temperature:
        return False
    _without_temperature.add(name)
    return True
