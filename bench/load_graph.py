"""The graph that a server of `bench.load` serves: everthread's own, a model that says little, vectors of a hash."""

from __future__ import annotations

import itertools
import os

from langchain_core.messages import AIMessage

from bench.load import MODEL_SECONDS, Answers
from bench.turn import HashEmbeddings
from everthread.graph.served import graph, resources
from everthread.models.embeddings import Embedder
from everthread.runtime.chat_models import ChatModels

__all__ = ["graph"]

_replies = (AIMessage(f"Noted, remark {n}.") for n in itertools.count(1))
_seconds = float(os.environ.get(MODEL_SECONDS, "0"))
resources.models = ChatModels({"model": Answers(messages=_replies, seconds=_seconds)})
resources.embedder = Embedder("hash", HashEmbeddings(), cache_bytes=1_000_000)
