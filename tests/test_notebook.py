"""The notebook in docs/: its code compiles, and runs from top to bottom."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "first_evaluation.ipynb"


def test_the_code_compiles_and_no_output_is_stored():
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 4
    for cell in code:
        compile("".join(cell["source"]), "cell", "exec")
        assert cell["outputs"] == []


@pytest.mark.slow
@pytest.mark.skipif(find_spec("nbclient") is None, reason="install the extra `notebook`")
def test_the_notebook_runs(tmp_path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=1_200, resources={"metadata": {"path": tmp_path}}).execute()
    text = "".join(
        output.get("text", "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    assert "careless -> distinguishable" in text
    assert "shuffled -> inconclusive" in text
