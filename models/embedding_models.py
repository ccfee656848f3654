"""`load_embeddings`: an embedding model by its name, as the settings name them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from langchain_core.embeddings import Embeddings

from ..state.errors import EmbeddingError, SettingsError, first_line
from .bundled_weights import BUNDLED_MODEL, MINILM, MULTILINGUAL, checked_folder
from .imports import imported
from .minilm import MiniLM
from .multilingual import Multilingual

_BATCH: Final = 32


def load_embeddings(name: str) -> Embeddings:
    """The LangChain embeddings of that name (blocking, seconds).

    Raises:
        EmbeddingError: there is no such model here.
    """
    provider, _, rest = name.partition(":")
    try:
        if rest and not Path(name).exists():
            if "." in provider:
                return _made_by(name)
            from langchain.embeddings import init_embeddings

            return init_embeddings(rest, provider=provider)
        if name == MULTILINGUAL.model:
            with checked_folder(MULTILINGUAL) as folder:
                return Multilingual(folder / "e5-small-q4.bin")
        if name == BUNDLED_MODEL:
            with checked_folder(MINILM) as folder:
                return MiniLM(folder)
        return _sentence_transformer(name)
    except EmbeddingError:
        raise
    except Exception as error:
        raise EmbeddingError(
            f"The embedding model {name!r} cannot be loaded: {first_line(error)}. Set EVERTHREAD_EMBEDDING_MODEL to "
            f"{MULTILINGUAL.model!r}, a sentence-transformers name, a folder, 'provider:name', or "
            "'package.module:factory'."
        ) from error


def check_embeddings(name: str) -> None:
    """Refuse the name of a model that cannot be had: its provider, a package or a key is missing (blocking).

    What is loaded from weights is not loaded by this.

    Raises:
        SettingsError: there is no such model here.
    """
    provider, _, rest = name.partition(":")
    try:
        if rest and provider != "huggingface" and not Path(name).exists():
            load_embeddings(name)
        elif name not in {MULTILINGUAL.model, BUNDLED_MODEL}:
            _check_sentence_transformers(name)
    except EmbeddingError as error:
        raise SettingsError(str(error)) from error


def _made_by(path: str) -> Embeddings:
    """The embeddings that an import path names: an `Embeddings`, or what makes one."""
    made = imported(path)
    made = made if isinstance(made, Embeddings) else made()
    if not isinstance(made, Embeddings):
        raise TypeError(f"{path} gives {type(made).__name__}, expected a LangChain Embeddings")
    return made


def _check_sentence_transformers(name: str) -> None:
    if find_spec("sentence_transformers") is None:
        raise EmbeddingError(
            f"The embedding model {name!r} needs packages that are missing: pip install 'everthread[huggingface]'."
        )


def _sentence_transformer(name: str) -> Embeddings:
    _check_sentence_transformers(name)
    from langchain_huggingface import HuggingFaceEmbeddings

    with _no_progress_bar():
        encoding = {"normalize_embeddings": True, "batch_size": _BATCH}
        return HuggingFaceEmbeddings(model_name=name, encode_kwargs=encoding)


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Keep transformers from drawing a progress bar into somebody's terminal."""
    from transformers.utils import logging as bars

    drawn = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if drawn:
            bars.enable_progress_bar()
