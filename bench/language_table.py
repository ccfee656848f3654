"""Writes `text/data/languages.npz`, what byte sequences say of languages: `python -m bench.language_table`.

Out of the model of the package py3langid 0.4, which this needs: a walk over bytes whose states stand for the longest
known sequence that ends there. What is kept are the sequences in Latin, Cyrillic and Arabic letters, and the columns of
those of our languages whose script does not tell them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from everthread.text.data import FOLDER
from everthread.text.language import OF_SCRIPT
from everthread.text.language_table import LONGEST, STEP

_KNOWN: Final = frozenset(
    [*range(0xC0), *range(0xC2, 0xCB), 0xCC, 0xCD, *range(0xD0, 0xD4), *range(0xD8, 0xDC), 0xE1, 0xE2]
)
"""Bytes of the letters, accents and marks of these scripts in UTF-8."""


def sequences_of(model: LanguageIdentifier) -> dict[int, bytes]:
    """The sequence for which each state stands: the shortest way to it."""
    moves = np.array(model.tk_nextmove).reshape(-1, 256)
    found, waiting = {0: b""}, [0]
    for state in waiting:
        for byte, after in enumerate(moves[model.tk_row[state]].tolist()):
            if after not in found:
                found[after] = found[state] + bytes([byte])
                waiting.append(after)
    return found


def main() -> None:
    """Write the table."""
    model = LanguageIdentifier.from_model_file(MODEL_FILE)
    ours = {code for codes in OF_SCRIPT.values() if len(codes) > 1 for code in codes}
    columns = [at for at, code in enumerate(model.nb_classes) if code in ours]
    every = sorted((sequence, model.tk_output[state]) for state, sequence in sequences_of(model).items())
    kept = {sequence: row for sequence, row in every if sequence and _KNOWN.issuperset(sequence)}
    assert max(map(len, kept)) <= LONGEST
    told = np.array(list(kept.values()))
    weights = np.where(told[:, None] >= 0, model.nb_ptc[told][:, columns].astype(np.float32), 0)
    costs = np.minimum(np.round((weights.max(axis=1, keepdims=True) - weights) / STEP), 255).astype(np.uint8)
    np.savez_compressed(
        FOLDER / "languages.npz",
        codes=np.array(model.nb_classes)[columns],
        sequences=np.array(list(kept)),
        costs=np.ascontiguousarray(costs),
        before=model.nb_pc[columns].astype(np.float32),
    )
    print(f"{len(kept):,} sequences, {len(columns)} columns: {(FOLDER / 'languages.npz').stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
