"""The notebooks run from top to bottom, and show what they say.

`NOTEBOOK_PICTURES=docs/notebooks` has the pictures of the docs taken again.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
SHOWN = {
    "first_conversation": ("Biscuit", "summary |", "messages archived"),
    "a_year_imported": ("My knee hurt after", "52 threads, 312 messages"),
    "tokens_and_cost": ("of the tokens", "question"),
    "how_recall_finds": ("QX-4471", "0 memories for 'Thanks, that was nice!'"),
    "profiles_side_by_side": ("multi_strategy", "layered"),
}


def test_every_notebook_is_run_and_has_its_picture_in_the_docs() -> None:
    assert {file.stem for file in FOLDER.glob("*.ipynb")} == set(SHOWN)
    assert {file.stem for file in (FOLDER.parent / "docs" / "notebooks").glob("*.png")} == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_runs(name: str, default_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in default_environment.items():
        monkeypatch.setenv(variable, value)
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "strip the outputs before a commit"
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    printed = "".join(str(output.get("text", "")) for output in outputs)
    for text in SHOWN[name]:
        assert text in printed
    pictures = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    assert pictures, "a notebook to look at has a picture"
    if taken := os.environ.get("NOTEBOOK_PICTURES"):
        Path(taken, f"{name}.png").write_bytes(base64.b64decode(pictures[-1]))
