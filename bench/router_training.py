"""How the weights of the local router are made; `python bench/search_gate.py --train` writes them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.search.router.features import NAMES, features
from everthread.search.router.keywords import KeywordReading
from everthread.search.router.model import BUCKETS, buckets

LICENCES = {
    "freshqa": "Apache-2.0",
    "retrievalqa": "MIT",
    "metatool": "MIT",
    "clinc150": "CC BY 3.0",
    "longmemeval": "MIT",
    "mt_bench": "Apache-2.0",
    "vicuna_bench": "Apache-2.0",
    "mt_bench_ja": "Apache-2.0",
    "longmemeval turns": "MIT",
    "memorybank": "MIT",
    "xpersona": "MIT",
    "everthread": "MIT",
}
"""What the shipped weights are trained on. LoCoMo (NC), xSID (share-alike) and sources without a licence are not."""
CHAT = ("locomo", "longmemeval turns", "memorybank", "xpersona")
OWN = "everthread"
"""The source of the questions written for this, in `router_questions.txt`."""
THRESHOLD = 0.45
WEIGHTS = {
    "signs": {"chat": 0.1, "borderline": 0.1, "own": 0.0},
    "english": {"chat": 0.2, "borderline": 0.15, "own": 0.7},
}
"""What an item counts beside a question of the public sets with a clear label."""
STRENGTH = {"signs": 10.0, "linear": 3.0}
SCALE = {"linear": 2.0, "networks": 3.0}
"""By what the embedding is multiplied before the fit, so that it is not held back as much as the signs."""
SCALE_OF_WORDS = 1.5
HIDDEN, EPOCHS, NETWORKS, BATCH = 24, 100, 3, 1024


@dataclass
class Item:
    text: str
    needed: bool
    borderline: bool
    language: str
    source: str
    group: str


def own_questions() -> list[Item]:
    """The questions of `router_questions.txt`."""
    items: list[Item] = []
    section = ""
    for line in Path(__file__).with_name("router_questions.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            items.append(Item(line, section.startswith("yes"), False, "en", OWN, f"{OWN} {len(items)}"))
    return items


class Trainer:
    """Makes routers of some of the items."""

    def __init__(self, items: Sequence[Item], readings: Sequence[KeywordReading], vectors: np.ndarray) -> None:
        self.signs = np.array([features(i.text, r) for i, r in zip(items, readings, strict=True)], dtype=np.float32)
        self.vectors = vectors
        self.words = _hashed([item.text for item in items])
        self.needed = np.array([item.needed for item in items])
        self.english = np.array(["en" in reading.languages for reading in readings])
        self.allowed = np.array([item.source in LICENCES for item in items])
        self.weights = {
            name: np.array([_weight(item, shares) for item in items], dtype=np.float32)
            for name, shares in WEIGHTS.items()
        }

    def data(self, chosen: np.ndarray) -> dict[str, Any]:
        """The data of a router from the chosen items, as in search/router/model.json."""
        every = chosen & self.allowed & (self.weights["signs"] > 0)
        english = chosen & self.allowed & self.english
        return {
            "threshold": THRESHOLD,
            "embedding_model": BUNDLED_MODEL,
            "features": list(NAMES),
            "signs": packed(self._regression("signs", sparse.csr_matrix(self.signs), every, "signs")),
            "linear": packed(self._linear(english)),
            "networks": [self._network(english, seed) for seed in range(NETWORKS)],
        }

    def _linear(self, chosen: np.ndarray) -> np.ndarray:
        scale, size = SCALE["linear"], self.signs.shape[1]
        matrix = sparse.hstack(
            [sparse.csr_matrix(np.hstack([self.signs, self.vectors * scale])), self.words * SCALE_OF_WORDS]
        ).tocsr()
        found = self._regression("linear", matrix, chosen, "english")
        found[1 + size : 1 + size + self.vectors.shape[1]] *= scale
        found[1 + size + self.vectors.shape[1] :] *= SCALE_OF_WORDS
        return found

    def _regression(self, name: str, matrix: Any, chosen: np.ndarray, weights: str) -> np.ndarray:
        """Bias and weights of a logistic regression."""
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=STRENGTH[name], max_iter=1000)
        model.fit(matrix[chosen], self.needed[chosen], sample_weight=self.weights[weights][chosen])
        return np.concatenate([model.intercept_, model.coef_[0]])

    def _network(self, chosen: np.ndarray, seed: int) -> dict[str, Any]:
        """A network of one hidden layer, on signs and embedding."""
        import torch
        from torch.nn.functional import binary_cross_entropy_with_logits

        torch.set_num_threads(1)  # threads that wait for each other take longer on a busy machine
        torch.manual_seed(seed)
        scale, size = SCALE["networks"], self.signs.shape[1]
        values = torch.tensor(np.hstack([self.signs, self.vectors * scale])[chosen], dtype=torch.float32)
        needed = torch.tensor(self.needed[chosen], dtype=torch.float32)
        weights = torch.tensor(self.weights["english"][chosen], dtype=torch.float32)
        inner, outer = torch.nn.Linear(values.shape[1], HIDDEN), torch.nn.Linear(HIDDEN, 1)
        network = torch.nn.Sequential(
            torch.nn.Dropout(0.15), inner, torch.nn.ReLU(), torch.nn.Dropout(0.3), outer, torch.nn.Flatten(0)
        )
        optimizer = torch.optim.AdamW(network.parameters(), lr=0.01, weight_decay=0.02)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(values)).split(BATCH):
                optimizer.zero_grad()
                losses = binary_cross_entropy_with_logits(network(values[rows]), needed[rows], reduction="none")
                ((losses * weights[rows]).sum() / weights[rows].sum()).backward()
                optimizer.step()
            schedule.step()
        matrix = inner.weight.detach().numpy().copy()
        matrix[:, size:] *= scale
        return {
            "inner": packed(matrix),
            "inner_bias": packed(inner.bias.detach().numpy()),
            "outer": packed(outer.weight.detach().numpy()[0]),
            "outer_bias": packed(outer.bias.detach().numpy()),
        }


def _weight(item: Item, shares: dict[str, float]) -> float:
    if item.source in CHAT:
        return shares["chat"]
    if item.source == OWN:
        return shares["own"]
    return shares["borderline"] if item.borderline else 1.0


def _hashed(texts: Sequence[str]) -> Any:
    """The hashed words of the texts, each row of length 1."""
    found = [buckets(text) for text in texts]
    rows = [n for n, indices in enumerate(found) for _ in indices]
    columns = [index for indices in found for index in indices]
    values = [1 / np.sqrt(len(indices)) for indices in found for _ in indices]
    return sparse.csr_matrix((values, (rows, columns)), shape=(len(texts), BUCKETS), dtype=np.float32)


def packed(array: npt.ArrayLike) -> dict[str, Any]:
    """An array as the router reads it: its shape, and its numbers in half precision and base64."""
    half = np.asarray(array, dtype="<f2")
    return {"shape": list(half.shape), "half": base64.b64encode(half.tobytes()).decode("ascii")}
