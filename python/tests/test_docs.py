"""Every code block of the Python pages runs; the reference is up to date; types check."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import polyad

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["docs/python/tutorial.md", "docs/python/coming-from.md", "docs/python/install.md",
         "python/README.md", "README.md"]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


@pytest.mark.parametrize("page", PAGES)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("pandas")
    found = blocks(page)
    assert found, f"{page} has no code block"
    (tmp_path / "data").symlink_to(ROOT / "data")
    polyad.read(ROOT / "data/nycflights13.tns.gz").save(tmp_path / "flights.csv")
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, block in enumerate(found):
        exec(compile(block, f"{page}, block {number + 1}", "exec"), names)


def test_reference_is_up_to_date():
    made = subprocess.run([sys.executable, ROOT / "python/tools/make_reference.py"], text=True,
                          capture_output=True, check=True, env={**os.environ, "COLUMNS": "80"})
    assert made.stdout == (ROOT / "docs/python/reference.md").read_text(), (
        "run python/tools/make_reference.py > docs/python/reference.md")


def test_everything_public_is_documented():
    for name in polyad.__all__:
        assert getattr(polyad, name).__doc__, name


def test_metadata():
    project = (ROOT / "pyproject.toml").read_text()
    page = (ROOT / re.search(r'readme = "(.*)"', project)[1]).read_text()
    # A page of a package index has no folder beside it.
    assert all(target.startswith("https://") for target in re.findall(r"\]\((.*?)\)", page))
    # Nobody who installs the package waits for CUDA without having asked for it.
    assert re.search(r'^POLYAD_CUDA = "off"$', project, re.M)
    assert 'authors = [' in project and "Programming Language :: Python :: 3.13" in project


def test_types_check():
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stdout


def test_wrong_words_are_type_errors():
    pytest.importorskip("mypy")
    program = "\n".join([
        "import polyad", "x = polyad.generate((3, 3), 5)[0]", "m = polyad.cp_als(x, 2, seed=None)",
        "fit: float = m.info['fit']",
        "polyad.cp_als(x, 2, init='nosuch')", "polyad.cp_als(x, 2, precision='f16')",
        "polyad.tucker(x, 2, svd='fast')", "polyad.cp_apr(x, 2, algorithm='newton')",
        "polyad.cp_als(x, 2, on_interrupt='ignore')", "m.info['fits']",
        "x.to_dataframe('numpy')"])
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports",
                           "-c", program], cwd=ROOT,
                          text=True, capture_output=True, env={**os.environ, "MYPYPATH": str(ROOT / "python")})
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines()
             if line.startswith("<string>") and ": error:" in line}
    assert lines == set(range(5, 12)), done.stdout


def test_types_of_results():
    pytest.importorskip("mypy")
    wanted = {"x.sum()": "float", "x.collapse(how='max')": "float", "x[:1]": "SparseTensor | Any",
              "x.ttv({0: [1, 2, 3]})": "SparseTensor | Any",
              "polyad.CPDecomposition(2).inverse_transform([[1.0, 2.0]])": "KruskalTensor | "}
    program = "\n".join(["import polyad", "x = polyad.generate((3, 3), 5)[0]",
                         *(f"reveal_type({each})" for each in wanted)])
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports",
                           "-c", program], cwd=ROOT,
                          text=True, capture_output=True, env={**os.environ, "MYPYPATH": str(ROOT / "python")})
    told = [line.replace("polyad._tensor.", "").replace("polyad._model.", "")
            for line in done.stdout.splitlines() if "Revealed type" in line]
    assert len(told) == len(wanted), done.stdout
    for line, kind in zip(told, wanted.values()):
        assert f'Revealed type is "{kind}' in line
