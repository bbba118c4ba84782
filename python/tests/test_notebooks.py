"""The notebooks of examples/ run, and are committed as they ran."""

import json
import pathlib

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_notebooks_are_listed():
    """The page that leads to them names each, with what it is about."""
    listed = (FOLDER / "README.md").read_text()
    assert len(NOTEBOOKS) == 6
    assert all(f"]({path.name})" in listed for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, monkeypatch):
    for package in ("matplotlib", "pandas"):
        pytest.importorskip(package)
    monkeypatch.chdir(path.parent)
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert path.stat().st_size < 400_000
    names = {}
    for number, cell in enumerate(cells):
        outputs = cell["outputs"]
        assert all(each["output_type"] != "error" for each in outputs), path
        # run_notebooks.py has run it as it is: whole, in order, without warnings.
        assert cell["execution_count"] == number + 1
        assert not any(each.get("name") == "stderr" for each in outputs)
        exec(compile("".join(cell["source"]), f"{path.name}, cell {number + 1}", "exec"), names)
