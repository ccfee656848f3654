"""The model files that this process has loaded with llama.cpp (`xllamacpp`)."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from pathlib import Path
from typing import Any, Final

from ..state.errors import ModelError

_MAX_THREADS: Final = 8
_BATCH: Final = 256
"""Prompt tokens between two chances to stop."""
_MAX_LOADED: Final = 2
"""Model files that stay loaded in a process."""

_servers: dict[str, tuple[int, Any]] = {}
"""By file, the longest unused first: its window in tokens, and its server."""
_loading: Final = threading.Lock()

_logger = logging.getLogger(__name__)


def server_for(path: Path, n_ctx: int) -> Any:
    """The server of a file, with a window of `n_ctx` tokens or more.

    Windows are powers of two, and a larger one takes the place of a smaller one, so that callers who vary the length of
    replies do not fill the memory. A server that still answers somebody is freed when it has.
    """
    key = os.path.realpath(path)
    with _loading:
        window, server = _servers.pop(key, (0, None))
        if window < n_ctx:
            server = None  # freed before the larger one is loaded
            window = 1 << (n_ctx - 1).bit_length()
            while len(_servers) >= _MAX_LOADED:
                del _servers[next(iter(_servers))]
            server = _open_server(path, window)
        _servers[key] = (window, server)
        return server


def _open_server(path: Path, n_ctx: int) -> Any:
    """A llama.cpp server without a port: the binding always listens, so it gets a socket that is removed at once."""
    if not path.is_file():
        raise ModelError(f"There is no model file at {path}: give the path of a GGUF file.")
    try:
        import xllamacpp
    except ImportError:
        raise ModelError("A GGUF model needs the package xllamacpp: pip install 'everthread[local]'.") from None
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = n_ctx, 1
    params.n_batch = params.n_ubatch = _BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = min(os.cpu_count() or 1, _MAX_THREADS)
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    params.verbosity, params.ui, params.warmup, params.cache_ram_mib = -1, False, False, 0
    with tempfile.TemporaryDirectory(prefix="everthread-") as folder:
        params.hostnames = [os.path.join(folder, "llama.sock")]
        try:
            server = xllamacpp.Server(params)
        except RuntimeError:
            raise ModelError(f"The file {path} cannot be loaded: it is no GGUF model that llama.cpp knows.") from None
    _logger.info("loaded %s with a window of %d tokens", path.name, n_ctx)
    return server
