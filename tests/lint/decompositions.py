#!/usr/bin/env python3
"""Every public decomposition is checked after every run that a test makes of it: in the C tests by
a wrapper of the linker's, in the command's and Python's by tests/cli/model_check.py. A decomposition
is a public function that makes a model of what a plan holds, or of data on which it reports a run; each
method of src/algorithms belongs to one. A planted decomposition that nobody checks is found first."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def text(path):
    return (ROOT / path).read_text()


PLANTED = """POLYAD_API POLYAD_CHECKED polyad_status polyad_planted(
    polyad_context *context, const polyad_plan *of, polyad_ptensor **result, polyad_planted_info *told);"""


def decompositions(headers):
    """Functions that give out a model, whatever its kind and the parameters' names."""
    headers = re.sub(r"/\*.*?\*/", "", headers, flags=re.S)
    for name, parameters in re.findall(r"POLYAD_API[^;{}()]*?\b(polyad_\w+)\(([^;{}]*?)\);", headers):
        makes = re.search(r"\bpolyad_(?!tensor\b)\w*tensor\s*\*\s*\*", parameters)
        if makes and re.search(r"const polyad_plan \*|\bpolyad_run_info\s*\*", parameters):
            yield name


def methods_without(names):
    """Sources that define methods of the frame (algorithms/method.h) but no decomposition."""
    for path in sorted((ROOT / "src/algorithms").glob("*.c")):
        source = path.read_text()
        defined = re.search(r"^(?:static )?const struct pd_method \w+(?:\[\w*\])? =", source, re.M)
        if defined and not any(re.search(rf"^polyad_status {name}\(", source, re.M) for name in names):
            yield path.relative_to(ROOT)


def complaints():
    headers = "\n".join(path.read_text() for path in sorted((ROOT / "include/polyad").glob("*.h")))
    names = list(decompositions(headers))
    if len(names) < 4:
        yield f"include/polyad: {len(names)} decompositions found; expected four at least"
    if list(decompositions(PLANTED)) != ["polyad_planted"] or not list(unchecked(["polyad_planted"])):
        yield "a planted decomposition that nobody checks is not found"
    yield from unchecked(names)
    for path in methods_without(names):
        yield f"{path}: a method, but no function of {', '.join(names)}"
    if not list(methods_without(["polyad_planted"])):
        yield "src/algorithms: no method is found"


def unchecked(names):
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
