#!/usr/bin/env python3
"""A function of a .c file in src/ shares its name with no other function of src/, so that a profile,
a debugger and a search name one function. Where two files would have one of the same name, each
begins with the stem of its file's name: csf_build() in csf.c.

A GPU's kernel shares its name with no other kernel: that is what a profile of the GPU shows.

Not looked at are names that macros make in files compiled once for each type or instruction set,
and functions that kernels (.cu, .cuh) call, among themselves.

usage: unique_functions.py [ROOT]
"""

import collections
import pathlib
import re
import sys

# A definition begins at the start of a line and may go on over several.
DEFINITION = re.compile(
    r"^(?:template <[^>]*>\s*)?(?:\w+ |__attribute__\(\([^)]*\)\) |__launch_bounds__\([^)]*\) |\*)*"
    r"\b([a-z]\w*)\([^;{}]*\)\s*\{", re.M)
BOUNDS = re.compile(r"__launch_bounds__\([^()]*(?:\([^()]*\)[^()]*)*\)")
KERNEL = re.compile(r"\b__global__\b[^;{(]*?\b(\w+)\s*\(")
ONCE_FOR_EACH_MODULE = {"pd_module_entry"}


def definitions(root):
    found = collections.defaultdict(set)
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in {".c", ".h", ".cu", ".cuh"}:
            for name in DEFINITION.findall(path.read_text()):
                found[name].add(path.relative_to(root).as_posix())
    return found


def kernels(root):
    found = collections.defaultdict(set)
    for path in sorted((root / "src").rglob("*.cu*")):
        for name in KERNEL.findall(BOUNDS.sub("", path.read_text())):
            found[name].add(path.relative_to(root).as_posix())
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = definitions(root)
    shared = {name: paths for name, paths in found.items()
              if len(paths) > 1 and any(path.endswith(".c") for path in paths)
              and name not in ONCE_FOR_EACH_MODULE}
    on_gpu = kernels(root)
    shared |= {name: paths for name, paths in on_gpu.items() if len(paths) > 1}
    for name, paths in sorted(shared.items()):
        print(f"{name}() is defined in {' and '.join(sorted(paths))}")
    print(f"{len(found)} names of functions, {len(on_gpu)} of kernels")
    sys.exit(1 if shared or len(found) < 1000 or len(on_gpu) < 100 else 0)


if __name__ == "__main__":
    main()
