#!/usr/bin/env python3
"""Processor time of two versions' builds without tests and Python, each from an empty folder and without
a compiler cache: first the libraries, modules and the command without CUDA, then the CUDA module for its
default architectures. User and system time of all processes, in seconds.

usage: build_time.py OLD NEW OUT.json [--jobs N] [--no-cuda]   (OLD and NEW are folders of sources)
"""
import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile

PARTS = {"without CUDA": ("off", []), "CUDA module": ("on", ["polyad_cuda"])}


def seconds(command, environment):
    """Processor seconds of a command and its children; its output where it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stdout[-4000:]}")
    return {"user": round(after.ru_utime - before.ru_utime, 1),
            "system": round(after.ru_stime - before.ru_stime, 1)}


def build(source, part, jobs):
    cuda, targets = PARTS[part]
    environment = dict(os.environ, CCACHE_DISABLE="1")
    with tempfile.TemporaryDirectory() as folder:
        seconds(["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 "-DPOLYAD_BUILD_TESTS=OFF", "-DPOLYAD_BUILD_PYTHON=OFF", f"-DPOLYAD_CUDA={cuda}"], environment)
        return seconds(["ninja", "-C", folder, f"-j{jobs}", *targets], environment)


def compiler():
    return subprocess.run(["cc", "--version"], text=True, capture_output=True, check=True).stdout.splitlines()[0]


def version(source):
    return subprocess.run(["git", "-C", source, "rev-parse", "--short", "HEAD"], text=True,
                          capture_output=True, check=False).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("out")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-cuda", action="store_true")
    options = parser.parse_args()
    result = {"command": f"bench/build_time.py OLD NEW {os.path.basename(options.out)} --jobs {options.jobs}"
                         + (" --no-cuda" if options.no_cuda else ""),
              "compiler": compiler(), "machine": platform.machine(), "processors": os.cpu_count(),
              "old": version(options.old), "new": version(options.new), "parts": {}}
    for part in list(PARTS)[:1 if options.no_cuda else None]:
        row = {"load_average_before": round(os.getloadavg()[0], 2)}
        for name in ("old", "new"):
            row[name] = build(getattr(options, name), part, options.jobs)
        row["ratio"] = round(sum(row["new"].values()) / sum(row["old"].values()), 3)
        result["parts"][part] = row
        whole = [sum(sum(parts[name].values()) for parts in result["parts"].values()) for name in ("old", "new")]
        result["ratio"] = round(whole[1] / whole[0], 3)
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
        print(part, row, flush=True)


if __name__ == "__main__":
    main()
