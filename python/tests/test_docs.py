"""Every code block of the Python pages runs; the reference is up to date."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import polyad

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["docs/python/tutorial.md", "docs/python/coming-from.md", "docs/python/install.md",
         "docs/project.md", "python/README.md", "README.md"]


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
    # The wheel of the CUDA module has the licence too, which is looked for beside its pyproject.toml.
    assert (ROOT / "python/cuda13/LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert 'authors = [' in project and "Programming Language :: Python :: 3.13" in project
