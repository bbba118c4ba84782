#!/usr/bin/env python3
"""Every C file compiles with clang as with gcc, without a warning.

usage: clang_warnings.py FOLDER [K/N]    (every N-th file from the K-th on)

Configures the preset "clang" in FOLDER and checks each file of its compile_commands.json, without
making code; files that a build generates are left out. Visibly skipped where clang is missing."""
import concurrent.futures
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
    done = subprocess.run(["cmake", "--preset", "clang", "-B", folder], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout)
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
        entries = {entry["file"]: entry for entry in json.load(file)
                   if entry["file"].endswith(".c") and not entry["file"].startswith(folder + os.sep)}
    part, parts = map(int, (sys.argv[2] if len(sys.argv) > 2 else "1/1").split("/"))
    entries = list(entries.values())[part - 1::parts]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = "".join(pool.map(check, entries))
    print(said, end="")
    print(f"{len(entries)} files")
    sys.exit(1 if said or not entries else 0)


if __name__ == "__main__":
    main()
