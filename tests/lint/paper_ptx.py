#!/usr/bin/env python3
"""Observations 1 and 2 of docs/papers.md, read from the PTX: the papers' kernels with local updates
hold atomics of block scope only, on values only; what remaps or sums in fixed order holds none.

usage: paper_ptx.py   (in the root of the sources; exit status 77 without nvcc)
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Kernel: (scope that each atomic must have, or None for no atomics at all). A kernel that is not
# named here, or a file without the kernel, is a failure.
FORMATS = "src/formats"
FILES = {
    f"{FORMATS}/flycoo/flycoo_paper.cu": {"fly_paper": "cta"},
    f"{FORMATS}/modecopy/modecopy_paper.cu": {"paper_scheme1": "cta", "paper_scheme2": "gpu"},
    f"{FORMATS}/flycoo/flycoo_remap.cu": {"remap_elements": None},
    f"{FORMATS}/ordered/ordered_elements_f32.cu": {"sum_segments": None, "join_blocks": None},
}
ENTRY = re.compile(r"\.entry\s+(\w+)\s*\(")
ATOMIC = re.compile(r"(?:^|[\s;{}])((?:atom|red|cas|multimem|cp\.reduce)\.[\w.:]+)")
CALL = re.compile(r"(?:^|[\s;{}])call(?:\.uni)?\b")


def compile_ptx(nvcc, source, folder):
    out = os.path.join(folder, "out.ptx")
    subprocess.run([nvcc, "-ptx", "-std=c++17", "-arch=compute_90", "-I", "include", "-I", "src",
                    source, "-o", out], check=True)
    with open(out, encoding="ascii") as file:
        return file.read()


def bodies(ptx):
    """(mangled name, text) of every kernel."""
    marks = list(ENTRY.finditer(ptx))
    ends = [mark.start() for mark in marks[1:]] + [len(ptx)]
    return [(mark.group(1), ptx[mark.end():end]) for mark, end in zip(marks, ends)]


def scope(instruction):
    """PTX: an atomic without a scope has that of the whole GPU."""
    parts = instruction.split(".")
    return next((part for part in ("cta", "cluster", "sys") if part in parts), "gpu")


def check(kernel, wanted, text):
    """What is wrong with a kernel."""
    found = ATOMIC.findall(text)
    if CALL.search(text):
        yield f"{kernel}: calls a function, whose atomics would not be seen"
    if wanted is None:
        yield from (f"{kernel}: {one} found; expected no atomics" for one in found)
        return
    if not found:
        yield f"{kernel}: no atomic found; expected updates of scope {wanted}"
    for one in found:
        if scope(one) != wanted:
            yield f"{kernel}: {one} found; expected scope {wanted}"
        # Elements are words of integers: an atomic on anything else than a float or a double
        # would be part of the remapping.
        if not re.search(r"\.add(\.\w+)*\.f(32|64)$", one):
            yield f"{kernel}: {one} found; expected only sums of values"


def check_file(ptx, kernels):
    seen = set()
    for mangled, text in bodies(ptx):
        kernel = next((name for name in kernels if name in mangled), None)
        if kernel is None:
            yield f"{mangled}: a kernel that this test does not know"
            continue
        seen.add(kernel)
        yield from check(mangled, kernels[kernel], text)
    yield from (f"{name}: the kernel is missing" for name in kernels if name not in seen)


def main():
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if nvcc is None:
        print("nvcc is missing: the papers' kernels were not checked")
        return 77
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for source, kernels in FILES.items():
            ptx = compile_ptx(nvcc, source, folder)
            wrong += [f"{source}: {what}" for what in check_file(ptx, kernels)]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
