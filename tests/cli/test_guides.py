"""The commands of the guides run as they are written."""

import os
import re
import subprocess

import pytest

from conftest import COMMAND, ROOT

PAGES = sorted(page.relative_to(ROOT).as_posix()
               for page in [ROOT / "docs/index.md", *(ROOT / "docs/guide").glob("*.md"),
                            *(ROOT / "docs/theory").glob("*.md")])


def commands(page):
    """The blocks of a page in `sh`, also those inside a list."""
    text = (ROOT / page).read_text()
    return [re.sub("^" + indent, "", block, flags=re.M)
            for indent, block in re.findall(r"^( *)```sh\n(.*?)^ *```", text, re.M | re.S)]


def test_pages_are_found():
    assert "docs/guide/methods.md" in PAGES and len(commands("docs/guide/methods.md")) == 4


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_commands_of_a_page(page, tmp_path):
    """Blocks of one page follow each other, so that later ones use the files of earlier ones."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    script = "set -euo pipefail\n" + "\n".join(commands(page))
    path = os.path.dirname(COMMAND) + ":" + os.environ["PATH"]
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True,
                          timeout=110, env={**os.environ, "PATH": path, "XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_options_of_a_page_exist(polyad, page):
    """What a page calls an option is one."""
    known = {"--help", "--version"}
    for command in re.findall(r"^  ([a-z]+)  +", polyad.ok("--help").out.decode(), re.M):
        known |= set(re.findall(r"(--[a-z][a-z0-9-]+)", polyad.ok(command, "--help").out.decode()))
    text = re.sub(r"<!--.*?-->", "", (ROOT / page).read_text())
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", text)) <= known
