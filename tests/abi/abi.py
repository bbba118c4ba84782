#!/usr/bin/env python3
"""Compares the binary interface that the public headers declare with the one that is committed,
libpolyad.so.SONAME.abi: functions, their parameters, enumerations, layouts of structs. docs/abi.md
has the rules.

A library of empty functions is made from the headers, so that nothing internal shows; the test
exported_symbols proves that the real one exports the same functions. <polyad/bench.h> is left out:
it promises nothing.

usage: abi.py             0: no difference; 1: a difference, which is told; 77: libabigail is missing
       abi.py --update    writes the description; refuses an incompatible change of a released one
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCOMPATIBLE = 8  # a bit of abidiff's exit status


def soname():
    version = (ROOT / "include/polyad/version.h").read_text()
    major, minor = (re.search(rf"POLYAD_VERSION_{part} (\d+)", version)[1] for part in ("MAJOR", "MINOR"))
    return f"0.{minor}" if major == "0" else major


def empty_library(folder):
    """A shared library with debugging information that has every function of <polyad/polyad.h>."""
    compiler = os.environ.get("CC", "cc")
    text = subprocess.run([compiler, "-E", "-P", "-I", ROOT / "include", "-x", "c", "-"], text=True,
                          input="#include <polyad/polyad.h>\n", capture_output=True, check=True).stdout
    # Definitions in place of the prototypes; those of callbacks, in parentheses, stay.
    text = re.sub(r"(\bpolyad_\w+\([^;{}]*\));", r"\1 { __builtin_trap(); }", text)
    source, library = folder / "empty.c", folder / "libpolyad.so"
    source.write_text(text)
    subprocess.run([compiler, "-w", "-g", "-O0", "-fno-eliminate-unused-debug-types", "-shared",
                    "-fPIC", f"-Wl,-soname,libpolyad.so.{soname()}", "-o", library, source],
                   check=True)
    return library


def describe(library, description):
    subprocess.run(["abidw", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path",
                    "--short-locs", "--type-id-style", "hash", "--out-file", description, library],
                   check=True)
    # The folder of the scratch file is no part of the interface.
    text = re.sub(r" path='[^']*'", "", description.read_text())
    description.write_text(re.sub(r" language='[^']*'", "", text))


def released():
    """Whether a release of this soname is tagged: from then on its programs keep working."""
    tags = subprocess.run(["git", "-C", ROOT, "tag", "--list", f"v{soname()}.*"], text=True,
                          capture_output=True, check=False).stdout
    return tags.strip() != ""


def main():
    if platform.machine() != "x86_64":
        print("the description is that of x86-64")
        sys.exit(77)
    if not shutil.which("abidw") or not shutil.which("abidiff"):
        print("libabigail (abigail-tools) is missing")
        sys.exit(77)
    committed = ROOT / f"tests/abi/libpolyad.so.{soname()}.abi"
    update = "--update" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        present = folder / "present.abi"
        describe(empty_library(folder), present)
        if not committed.exists():
            if not update:
                sys.exit(f"{committed.name} is missing: run tests/abi/abi.py --update")
            shutil.copy(present, committed)
            return
        compared = subprocess.run(["abidiff", committed, present], text=True, capture_output=True,
                                  check=False)
        print(compared.stdout + compared.stderr, end="")
        broken = compared.returncode & INCOMPATIBLE != 0
        if update:
            if broken and released():
                sys.exit(f"libpolyad.so.{soname()} is released, and the change is incompatible: it "
                         "needs another soname (docs/abi.md)")
            shutil.copy(present, committed)
        elif compared.returncode != 0:
            sys.exit(f"the interface has changed{' incompatibly' if broken else ''}: run "
                     "tests/abi/abi.py --update, and tell of it in CHANGELOG.md (docs/abi.md)")


if __name__ == "__main__":
    main()
