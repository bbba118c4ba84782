"""Every code block of the Python pages runs; the reference is up to date; types check."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import polyad

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["docs/python/tutorial.md", "docs/python/coming-from.md", "README.md"]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


@pytest.mark.parametrize("page", PAGES)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
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


def test_types_check():
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stdout
