"""The commands of the guides and of README.md run as they are written."""

import os
import re
import subprocess

import pytest

from conftest import COMMAND, ROOT

# Other pages' commands are for developers (abi.md, CONTRIBUTING.md), or of C and Python, whose own tests
# run them.
PAGES = sorted(page.relative_to(ROOT).as_posix()
               for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/guide").glob("*.md"),
                            *(ROOT / "docs/theory").glob("*.md")] if page.name != "abi.md")


def commands(page):
    """The blocks of a page in `sh`, also those inside a list."""
    text = (ROOT / page).read_text()
    return [re.sub("^" + indent, "", block, flags=re.M)
            for indent, block in re.findall(r"^( *)```sh\n(.*?)^ *```", text, re.M | re.S)]


def test_pages_are_found():
    assert "docs/guide/methods.md" in PAGES and len(commands("docs/guide/methods.md")) == 4


def run_script(script, folder):
    path = os.path.dirname(COMMAND) + ":" + os.environ["PATH"]
    done = subprocess.run(["bash", "-c", "set -euo pipefail\n" + script], cwd=folder, capture_output=True,
                          text=True, timeout=110,
                          env={**os.environ, "PATH": path, "XDG_CACHE_HOME": str(folder)})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_commands_of_a_page(page, tmp_path):
    """Blocks of one page follow each other, so that later ones use the files of earlier ones."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    run_script("\n".join(commands(page)), tmp_path)


def test_commands_of_the_readme(polyad):
    """The overview, with tables such as it speaks of; what needs a GPU is left out."""
    block, = (block for block in commands("README.md") if block.startswith("polyad cpd rides.csv"))
    rows = [f"2024-05-{day:02},{hour},{place}" for day in range(1, 15) for hour in range(6, 20)
            for place in ("station", "harbour", "museum") if (day * hour + len(place)) % 3]
    values = [f"{row},{1 + (7 * k) % 5}" for k, row in enumerate(rows)]
    for name, found in (("rides", values), ("ratings", values[::2]), ("held-out", values[1::2]),
                        ("new", [row.replace("2024-05", "2024-06") for row in values])):
        polyad.write(f"{name}.csv", "\n".join(["date,hour,place,value", *found]) + "\n")
    polyad.ok("generate", "big.ptn", "--dims", "300,200,100", "--nnz", "30000")
    run_script("\n".join(line for line in block.splitlines() if "--device cuda" not in line),
               polyad.path("."))


# Of Slurm, mpirun, pip and scripts of this tree.
OTHERS = {"--bind", "--cpus-per-task", "--cuda", "--gpus-per-node", "--gpus-per-task", "--host",
          "--install", "--mpi", "--nodes", "--ntasks-per-node", "--oversubscribe", "--papers"}


@pytest.mark.parametrize("page", ["README.md", *PAGES])
def test_options_of_a_page_exist(polyad, page):
    """What a page calls an option is one."""
    known = {"--help", "--version"} | OTHERS
    for command in re.findall(r"^  ([a-z-]+)  +", polyad.ok("--help").out.decode(), re.M):
        known |= set(re.findall(r"(--[a-z][a-z0-9-]+)", polyad.ok(command, "--help").out.decode()))
    text = re.sub(r"<!--.*?-->", "", (ROOT / page).read_text())
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", text)) <= known
