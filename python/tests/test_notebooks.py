"""The notebooks of examples/ run, are committed as they ran, and show still what they showed."""

import ast
import contextlib
import io
import json
import pathlib
import re

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# Cells that show what the machine is or how long it took: devices, the format that a plan takes, seconds.
OF_THE_MACHINE = {("large", 1), ("large", 3), ("large", 7), ("large", 8), ("rides", 3)}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def run_cell(source, name, names):
    """What a cell prints, and its last expression's value as text, None where it has none."""
    tree, last, printed = ast.parse(source, name), None, io.StringIO()
    if isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        last = compile(ast.Expression(tree.body.pop().value), name, "eval")
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), names)
        value = None if last is None else eval(last, names)
    return printed.getvalue(), None if value is None else repr(value)


def alike(found, shown):
    """Whether two texts differ in white space and in roundings alone: numbers by less than the runs' tolerances
    settle, or by one in their last digit."""
    texts = [re.sub(r"\bnp\.\w+\(([^()]*)\)", r"\1", "".join(text.split())) for text in (found, shown)]
    numbers = [NUMBER.findall(text) for text in texts]
    if NUMBER.sub("#", texts[0]) != NUMBER.sub("#", texts[1]) or len(numbers[0]) != len(numbers[1]):
        return False
    for pair in zip(*numbers):
        digits = min(len(text.partition("e")[0].partition(".")[2]) - int(text.partition("e")[2] or 0) for text in pair)
        one, other = map(float, pair)
        if abs(one - other) > 1e-6 * max(abs(one), abs(other)) + (1.01 * 10.0**-digits if "." in pair[0] else 0):
            return False
    return True


@pytest.mark.parametrize(("found", "shown", "same"), [
    ("[(1, 'a')]", "[(1,\n 'a')]", True), ("{'a': 1.0}", "{'b': 1.0}", False), ("2.0000000001", "2.0", True),
    ("0.1234", "0.1235", True), ("0.1234", "0.1237", False), ("12", "13", False), ("np.float64(1.5)", "1.5", True),
    ("1.0 2.0", "1.0", False), ("4.1e-22", "4.3e-22", False), ("4.1e-22", "4.1e-22", True)])
def test_texts_are_compared(found, shown, same):
    assert alike(found, shown) is same


def test_notebooks_are_listed():
    """The page that leads to them names each, with what it is about."""
    listed = (FOLDER / "README.md").read_text()
    assert len(NOTEBOOKS) == 6
    assert all(f"]({path.name})" in listed for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, monkeypatch):
    pytest.importorskip("matplotlib")
    pandas = pytest.importorskip("pandas")
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
        with pandas.option_context("display.max_columns", 20, "display.width", 80):  # as in a notebook
            printed, value = run_cell("".join(cell["source"]), f"{path.name}, cell {number + 1}", names)
        if (path.stem, number + 1) in OF_THE_MACHINE:
            continue
        shown = "".join("".join(each["text"]) for each in outputs if each["output_type"] == "stream")
        assert alike(printed, shown), (path.stem, number + 1, printed, shown)
        for each in outputs:
            if each["output_type"] == "execute_result":
                text = "".join(each["data"]["text/plain"])
                assert value is not None and alike(value, text), (path.stem, number + 1, value, text)
