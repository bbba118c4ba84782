#!/usr/bin/env python3
"""Writes docs/reliability.md from the figures that tests recorded in tests/figures.

usage: tools/reliability.py [--check]    --check: only says whether the page is current

Record figures anew with `make reliability`: it runs the tests with POLYAD_FIGURES set."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reliability.md"
TEMPLATE = ROOT / "tools/reliability.md.in"
FIGURES = ROOT / "tests/figures"
MUTATION = ROOT / "tests/mutation/report.json"
FUZZ = ROOT / "tests/fuzz/CMakeLists.txt"


def load():
    figures = {path.stem: json.loads(path.read_text(encoding="ascii"))
               for path in sorted(FIGURES.glob("*.json"))}
    summary = json.loads(MUTATION.read_text(encoding="utf-8"))["summary"]
    figures["mutation"] = {**summary, "percent": f"{100 * summary['score']:.1f}"}
    targets = re.findall(r"^polyad_add_fuzz\(", FUZZ.read_text(encoding="utf-8"), re.M)
    figures["fuzz"]["targets"] = len(targets)
    return figures


def record_lines():
    """Lines of the library, the command and the package, and of their tests. They are a figure like
    the others: the page is not out of date because a line was added."""
    def count(*folders):
        return sum(len(path.read_text(encoding="utf-8").splitlines())
                   for folder in folders for path in sorted((ROOT / folder).rglob("*"))
                   if path.suffix in (".c", ".h", ".cu", ".cuh", ".py", ".sh") and path.is_file()
                   and not path.is_symlink())
    source = count("src", "include", "cli", "python/polyad")
    ratio = f"{count('tests', 'python/tests') / source:.2f}"
    (FIGURES / "lines.json").write_text(json.dumps({"ratio": ratio}) + "\n", encoding="ascii")


def fill(text, figures):
    """Replaces {file.key} by its figure; an unknown one is an error."""
    def value(match):
        file, key = match.group(1).split(".")
        found = figures[file][key]
        if isinstance(found, list):
            return "\n".join(f"| {' | '.join(row)} |" for row in found)
        return f"{found:,}" if isinstance(found, int) else str(found)
    return re.sub(r"\{([a-z0-9_]+\.[a-z0-9_]+)\}", value, text)


def main():
    check = "--check" in sys.argv[1:]
    if not check:
        record_lines()
    page = fill(TEMPLATE.read_text(encoding="utf-8"), load())
    if not check:
        PAGE.write_text(page, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
        sys.exit("docs/reliability.md differs from tests/figures: run tools/reliability.py")


if __name__ == "__main__":
    main()
