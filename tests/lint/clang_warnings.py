#!/usr/bin/env python3
"""Every C file compiles with clang as with gcc, without a warning.

usage: clang_warnings.py FOLDER configure
       clang_warnings.py FOLDER K/N    (every N-th file from the K-th on)

First the preset "clang" is configured in FOLDER, then each file of its compile_commands.json is
checked, without making code; files that a build generates are left out, and those of the folders
that POLYAD_LINTED names, in which clang-tidy has found no warning of clang (.ci/run). One file at a
time, for ctest runs the parts side by side. Visibly skipped where clang is missing."""
import json
import os
import shlex
import shutil
import subprocess
import sys


def check(entry):
    """What clang says of a file, "" when nothing."""
    words = shlex.split(entry["command"])
    at = words.index("-o")
    words = [word for word in words[:at] + words[at + 2:] if word != "-c"]
    done = subprocess.run([*words, "-fsyntax-only"], cwd=entry["directory"], capture_output=True,
                          text=True, check=False)
    return done.stderr or ("" if done.returncode == 0 else f"{entry['file']}: failed\n")


def main():
    if shutil.which("clang") is None:
        print("clang is missing: run make setup")
        sys.exit(77)
    folder = os.path.abspath(sys.argv[1])
    if sys.argv[2] == "configure":
        sys.exit(subprocess.run(["cmake", "--preset", "clang", "-B", folder], check=False).returncode)
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
        entries = {entry["file"]: entry for entry in json.load(file)
                   if entry["file"].endswith(".c") and not entry["file"].startswith(folder + os.sep)}
    linted = tuple(os.path.abspath(each) + os.sep for each in os.environ.get("POLYAD_LINTED", "").split())
    entries = {file: entry for file, entry in entries.items() if not file.startswith(linted)}
    part, parts = map(int, sys.argv[2].split("/"))
    entries = list(entries.values())[part - 1::parts]
    said = "".join(check(entry) for entry in entries)
    print(said, end="")
    print(f"{len(entries)} files")
    sys.exit(1 if said or not entries else 0)


if __name__ == "__main__":
    main()
