#!/usr/bin/env python3
"""Every public decomposition is checked after every run that a test makes of it: in the C tests by
a wrapper of the linker's, in the command's and Python's by tests/cli/model_check.py. A decomposition
is a public function that fills in a polyad_run_info."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def text(path):
    return (ROOT / path).read_text()


def decompositions():
    headers = "\n".join(path.read_text() for path in sorted((ROOT / "include/polyad").glob("*.h")))
    headers = re.sub(r"/\*.*?\*/", "", headers, flags=re.S)
    return [name for name, parameters in
            re.findall(r"POLYAD_API[^;{}()]*?\b(polyad_\w+)\(([^;{}]*?)\);", headers)
            if "**model" in parameters and re.search(r"polyad_run_info\s*\*\s*info", parameters)]


def complaints():
    names = decompositions()
    if len(names) < 3:
        yield f"include/polyad: {len(names)} decompositions found; expected three at least"
    wrapped = re.search(r"set\(POLYAD_CHECKED_DECOMPOSITIONS ([^)]*)\)", text("tests/CMakeLists.txt"))
    invariant, python = text("tests/invariant.c"), text("tests/cli/model_check.py")
    conftest = text("python/tests/conftest.py")
    for name in names:
        if name not in wrapped[1].split():
            yield f"tests/CMakeLists.txt: {name} is not among POLYAD_CHECKED_DECOMPOSITIONS"
        if f"polyad_status __wrap_{name}(" not in invariant:
            yield f"tests/invariant.c: there is no __wrap_{name}()"
        if f'"{name}": "' not in python:
            yield f"tests/cli/model_check.py: {name} has no subcommand"
        yield from python_complaints(name)
    for module in sorted({path.stem for path in (ROOT / "python/polyad").glob("*.py")
                          if re.search(r"\bexecute\(", path.read_text())}):
        if f"polyad.{module}" not in conftest:
            yield f"python/tests/conftest.py: execute() of polyad.{module} is not wrapped"


def python_complaints(name):
    """The package calls a decomposition through execute(), or decompose(), which does, alone."""
    users = 0
    for path in sorted((ROOT / "python/polyad").glob("*.py")):
        source = path.read_text()
        users += source.count(f"lib.{name},")
        if len(re.findall(rf"lib\.{name}\b(?!,)(?!_)", source)) > 0:
            yield f"{path.relative_to(ROOT)}: lib.{name} is not called through execute()"
    if users == 0:
        yield f"python/polyad: nothing uses lib.{name}"


found = list(complaints())
print("\n".join(found))
sys.exit(1 if found else 0)
