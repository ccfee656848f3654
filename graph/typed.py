"""The compiled graph as a type checker sees it: its results are `TurnResult`, so that a misspelt key is an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict, overload

from langgraph.graph.state import CompiledStateGraph
from typing_extensions import Unpack

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.types import All, Durability

    from ..state.conversation import TurnResult

    class _Options(TypedDict, total=False):
        """Options of LangGraph that leave the result as it is."""

        context: Any
        interrupt_before: All | Sequence[str] | None
        interrupt_after: All | Sequence[str] | None
        durability: Durability | None

    class TypedConversation(CompiledStateGraph[Any, Any, Any, Any]):
        """LangGraph's class says `dict[str, Any] | Any`; with another `stream_mode` or `version` so does this one."""

        @overload  # type: ignore[override]  # LangGraph has a result for each `version`, which **options stands for here
        def invoke(
            self, input: Any, config: RunnableConfig | None = None, **options: Unpack[_Options]
        ) -> TurnResult: ...

        @overload
        def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any: ...

        def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:  # noqa: A002
            """LangGraph's `invoke`."""
            raise NotImplementedError

        @overload  # type: ignore[override]  # as above
        async def ainvoke(
            self, input: Any, config: RunnableConfig | None = None, **options: Unpack[_Options]
        ) -> TurnResult: ...

        @overload
        async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any: ...

        async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:  # noqa: A002
            """LangGraph's `ainvoke`."""
            raise NotImplementedError

else:
    TypedConversation = CompiledStateGraph[Any, Any, Any, Any]
