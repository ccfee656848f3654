"""`forget_removed`: what a client takes out of a conversation is forgotten, where the operator wants that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from langchain_core.messages import AnyMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from ..runtime.forget import forget
from ..runtime.forget_wanted import some_messages, span_of_time
from ..runtime.resources import Resources
from ..state.errors import InputError


async def forget_removed(
    resources: Resources,
    user_id: str,
    thread_id: str,
    given: Sequence[AnyMessage],
    *,
    scrub: Callable[..., Awaitable[None]],
) -> None:
    """Forget the messages of the user's own thread that an input removes, if `removed_messages` says so.

    Args:
        resources: those of the graph.
        user_id: whose thread.
        thread_id: which; its lock is held.
        given: the messages of the input.
        scrub: forgets what was found in a checkpointer of another make; `held` names the thread.

    Raises:
        StorageError: the database fails, and nothing was forgotten.
    """
    removed = [str(message.id) for message in given if isinstance(message, RemoveMessage)]
    if not removed or resources.settings.removed_messages != "forget":
        return
    user = resources.of_user(user_id)
    with suppress(InputError):  # what is not there need not be forgotten
        if REMOVE_ALL_MESSAGES in removed:
            wanted = await span_of_time(user, None, None, thread_id)
        else:
            wanted = await some_messages(user, thread_id, removed)
        await forget(user, wanted, asked_by="client", also=partial(scrub, held=thread_id))
