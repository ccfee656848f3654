"""What the first turn would wait for: word lists, and the model that tells languages."""

from __future__ import annotations

import logging
import threading
from functools import cache

logger = logging.getLogger(__name__)


@cache
def read_ahead() -> None:
    """Begin to read them in a thread, once in a process. What cannot be read is reported by the turn that needs it."""
    threading.Thread(target=_read, name="everthread-read-ahead", daemon=True).start()


def _read() -> None:
    try:
        from ..text.language import language_of

        language_of("words in Latin letters")
        from ..facts.commands import may_ask
        from ..search.router.keywords import read_question
        from ..search.router.model import local_router

        may_ask("words in Latin letters")
        read_question("words in Latin letters", 2000)
        local_router()
    except Exception as error:
        logger.debug("What the first turn needs could not be read ahead: %s.", type(error).__name__)
