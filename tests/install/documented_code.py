#!/usr/bin/env python3
"""Compiles every C block of the documentation against installed headers, with warnings as errors,
and runs those that are whole programs.

A block with a main() is a program: it is linked with the installed library and run in a folder that
has data/, and must succeed. Another block is a fragment: it is compiled as the body of a function
whose parameters stand in a comment on the line before the block, which pages do not show:

    <!-- c: polyad_context *context, const char *path -->

usage: documented_code.py ROOT COMPILER PREFIX LIBRARY_FOLDER
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(?:^<!-- c: (?P<parameters>.*?) -->\n)?^```c\n(?P<code>.*?)^```$", re.M | re.S)
MAIN = re.compile(r"^int main\(", re.M)
FLAGS = ["-std=c17", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
FIRST_MOST = 8  # functions of polyad in a first program


def pages(root):
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def source(match):
    code = match["code"]
    if MAIN.search(code):
        return code
    # The prototype is for compilers that warn of functions without one.
    headers = "".join(f"#include <{name}>\n" for name in ("polyad/polyad.h", "stdio.h", "stdlib.h"))
    return (f"{headers}void fragment({match['parameters']});\n"
            f"void fragment({match['parameters']}) {{\n{code}}}\n")


def run(command, where):
    """What the command says when it fails, else nothing."""
    done = subprocess.run(command, cwd=where, text=True, capture_output=True, timeout=120)
    return f"status {done.returncode}\n{done.stdout}{done.stderr}" if done.returncode != 0 else ""


def check(match, compiler, prefix, libraries, scratch):
    code = source(match)
    program = MAIN.search(code) is not None
    if not program and match["parameters"] is None:
        return "a fragment without a comment <!-- c: parameters --> on the line before it"
    (scratch / "block.c").write_text(code)
    command = [compiler, *FLAGS, "-I", prefix / "include", "block.c"]
    if not program:
        return run([*command, "-fsyntax-only"], scratch)
    failure = run([*command, "-o", "block", "-L", libraries, "-lpolyad", f"-Wl,-rpath,{libraries}"],
                  scratch)
    return failure or run(["./block"], scratch)


def functions(code):
    return sorted(set(re.findall(r"\b(polyad_\w+)\(", code)))


def first_programs(root):
    """Programs that a newcomer sees first use few functions."""
    readme = next(BLOCK.finditer((root / "README.md").read_text()))["code"]
    for name, code in (("README.md", readme),
                       ("examples/decompose_file.c", (root / "examples/decompose_file.c").read_text())):
        used = functions(code)
        if not 0 < len(used) <= FIRST_MOST:
            yield f"{name}: {len(used)} functions of polyad; expected 1 to {FIRST_MOST}: {used}"


def main():
    root, compiler, prefix, libraries = (sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4])
    root, prefix, libraries = (pathlib.Path(each).resolve() for each in (root, prefix, libraries))
    failures, count = list(first_programs(root)), 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        os.symlink(root / "data", scratch / "data")
        for page in pages(root):
            text = page.read_text()
            for match in BLOCK.finditer(text):
                count += 1
                failure = check(match, compiler, prefix, libraries, scratch)
                line = text.count("\n", 0, match.start("code"))
                if failure:
                    failures.append(f"{page.relative_to(root)}:{line}: {failure}")
    print("\n".join(failures) or f"{count} blocks of C")
    sys.exit(1 if failures or count < 5 else 0)


if __name__ == "__main__":
    main()
