"""The notebooks run from top to bottom."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file: Path, default_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in default_environment.items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(file, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "strip the outputs before a commit"
    NotebookClient(notebook, timeout=180, kernel_name="python3").execute()
    printed = "".join(str(output.get("text", "")) for cell in notebook.cells for output in cell.get("outputs", []))
    assert "Biscuit" in printed
    assert "summary |" in printed
