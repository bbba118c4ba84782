"""Every code block of the Python pages runs; the reference is up to date."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import polyad

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


PAGES = ["python/README.md", "README.md",
         *(page for page in sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
           if blocks(page))]


@pytest.mark.parametrize("page", PAGES)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("pandas")
    found = blocks(page)
    (tmp_path / "data").symlink_to(ROOT / "data")
    polyad.read(ROOT / "data/nycflights13.tns.gz").save(tmp_path / "flights.csv")
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, block in enumerate(found):
        exec(compile(block, f"{page}, block {number + 1}", "exec"), names)


def test_pages_are_found():
    assert {"README.md", "docs/python/tutorial.md", "docs/theory/tucker.md"} <= set(PAGES) and all(map(blocks, PAGES))


def test_pictures_need_no_import_of_their_own():
    pytest.importorskip("matplotlib")
    code = "import polyad; polyad.plot.components; assert 'plot' in dir(polyad)"
    subprocess.run([sys.executable, "-c", code], check=True)
    first = subprocess.run([sys.executable, "-c", "import polyad, sys; print('matplotlib' in sys.modules)"],
                           check=True, text=True, capture_output=True)
    assert first.stdout == "False\n"
    with pytest.raises(AttributeError, match="has no attribute 'plott'"):
        polyad.plott


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
