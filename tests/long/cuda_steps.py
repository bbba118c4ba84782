#!/usr/bin/env python3
"""Sources of kernels whose architectures share their PTX (cmake/cuda_steps.cmake) have the same PTX
for each of them, and one whose PTX differs is noticed.

usage: cuda_steps.py   (in the root of the sources; exit status 77 without nvcc)
"""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ARCHITECTURES = [75, 80, 86, 90]
FOLDERS = ["src/device/cuda", "src/formats/*", "src/portable"]


def lists():
    """{stem: its steps} of the sources that are listed."""
    with open("cmake/cuda_steps.cmake", encoding="utf-8") as file:
        text = file.read()
    found = {}
    for steps, stems in re.findall(r"^set\(cuda_steps_([\d_]*)\s([^)]*)\)", text, re.M):
        for stem in stems.split():
            if stem in found:
                raise SystemExit(f"{stem} is in two lists")
            found[stem] = [int(step) for step in steps.split("_") if step]
    return found


def groups(steps):
    """The architectures that share their PTX."""
    parts = [[] for _ in range(len(steps) + 1)]
    for architecture in ARCHITECTURES:
        parts[sum(step <= architecture for step in steps)].append(architecture)
    return parts


def ptx(nvcc, source, architecture):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.ptx")
        subprocess.run([nvcc, "-ptx", "-std=c++17", "-DNDEBUG", f"-arch=compute_{architecture}", "-I",
                        "include", "-I", "src", source, "-o", out], check=True)
        with open(out, encoding="ascii") as file:
            lines = file.read().splitlines()
    assert any(".entry" in line for line in lines), f"{source}: no kernel"
    # CUB's names hold the architectures of the call of nvcc.
    return [re.sub(r"SM_\d+", "SM", line) for line in lines
            if not line.startswith(("//", ".target"))]


def differences(nvcc, source, steps):
    """What is wrong with a source's list."""
    wrong = []
    for group in groups(steps):
        first = ptx(nvcc, source, group[0]) if len(group) > 1 else None
        for architecture in group[1:]:
            if ptx(nvcc, source, architecture) != first:
                wrong.append(f"{source}: PTX for {architecture} is not that for {group[0]}")
    return wrong


def main():
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        print("skipped: nvcc is missing")
        return 77
    sources = {os.path.basename(path)[:-3]: path for folder in FOLDERS
               for path in glob.glob(f"{folder}/*.cu")}
    steps = lists()
    missing = sorted(set(steps) - set(sources))
    if missing:
        print("no such source:", *missing)
        return 1
    # A source with a step, taken for one without, must be noticed.
    if not differences(nvcc, sources["cuda_deal"], []):
        print("a planted difference passes")
        return 1
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = sum(pool.map(lambda stem: differences(nvcc, sources[stem], steps[stem]), steps), [])
    print(*wrong, sep="\n")
    print(f"{len(steps)} sources, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
