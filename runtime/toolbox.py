"""`Toolbox`: the tools given by argument, as what is bound to a model, and as what can be run here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from ..state.errors import SettingsError, first_line

Tool = BaseTool | Callable[..., Any] | type | Mapping[str, Any]
"""A LangChain tool, a function, or a schema alone: a dictionary, a pydantic class, a TypedDict."""


class Toolbox:
    """Tools by name.

    A schema alone is bound to the model and not run here: a provider's own tool, which the provider runs, or one that
    the caller runs. The turn ends with the call then, and goes on with the tool message that the caller sends.

    Args:
        tools: see `Tool`.

    Raises:
        SettingsError: something is no tool, or two have the same name.
    """

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self.bound: list[Any] = []
        self.executable: list[BaseTool] = []
        self._callers: set[str] = set()
        names: list[str] = []
        for given in tools:
            read = _read(given)
            self.bound.append(read)
            if isinstance(read, BaseTool):
                self.executable.append(read)
                names.append(read.name)
            elif name := _schema_name(read):
                self._callers.add(name)
                names.append(name)
        if double := next((name for name in names if names.count(name) > 1), None):
            raise SettingsError(f"Two tools are called {double!r}: give each a name of its own.")

    def is_reply(self, name: str) -> bool:
        """Whether what the tool of this name returns is the answer of the turn (LangChain's `return_direct`)."""
        return any(tool.name == name and tool.return_direct for tool in self.executable)

    def runs(self, name: str) -> bool:
        """Whether a call of this name is answered here: by the tool, or by an error where there is no such tool."""
        return bool(self.executable) and name not in self._callers


def _read(given: Tool) -> Any:
    if isinstance(given, (BaseTool, Mapping, type)):
        return given
    if not callable(given):
        raise SettingsError(
            f"A {type(given).__name__} is no tool: give a LangChain tool, a function with a docstring, or a schema."
        )
    try:
        return as_tool(given)
    except (ValueError, TypeError) as error:
        name = getattr(given, "__name__", type(given).__name__)
        raise SettingsError(f"The function {name!r} cannot be a tool: {first_line(error)}.") from None


def _schema_name(schema: Any) -> str | None:
    """The name that a model calls a schema by; a provider's own tool need not have one."""
    try:
        return str(convert_to_openai_tool(schema)["function"]["name"])
    except (ValueError, TypeError, KeyError):
        return None
