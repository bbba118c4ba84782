#!/usr/bin/env python3
"""A software bill of materials (CycloneDX 1.6, JSON): polyad and the shared libraries that lie beside it
in a wheel, with the packages of the system that they were copied from, their licences and checksums.

usage: sbom.py VERSION FOLDER      (a folder of libraries; the bill goes to standard output)
"""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

# SPDX expressions, by the name of the library up to ".so".
LICENCES = {
    "libcjson": "MIT", "libdeflate": "MIT", "libgfortran": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libgomp": "GPL-3.0-or-later WITH GCC-exception-3.1", "libisal": "BSD-3-Clause",
    "libopenblas": "BSD-3-Clause",
    "libquadmath": "LGPL-2.1-or-later", "libxxhash": "BSD-2-Clause", "libz": "Zlib",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only"}


def output(*command):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def original_name(library):
    """The name that a library had before auditwheel put a hash into it."""
    return re.sub(r"-[0-9a-f]{8}(?=[.-])", "", pathlib.Path(library).name, count=1)


def installed(name):
    """Where the dynamic loader finds the library of that name, up to the number of its interface."""
    name = re.sub(r"(\.so\.\d+).*", r"\1", name)
    for line in output("/sbin/ldconfig", "-p").splitlines():
        words = line.split()
        if words and words[0] == name:
            return pathlib.Path(words[-1]).resolve()
    return None


def package(library):
    """Kind, name and version of the system's package that brought a file; None when none did."""
    places = [library]
    if library.is_relative_to("/usr"):
        places.append(pathlib.Path("/") / library.relative_to("/usr"))
    for path in places:
        if shutil.which("dpkg-query"):
            name = output("dpkg-query", "-S", path).split(":")[0]
            if name:
                return "deb/debian", name, output("dpkg-query", "-W", "-f", "${Version}", name)
        elif shutil.which("rpm"):
            found = output("rpm", "-q", "--qf", "%{NAME} %{VERSION}-%{RELEASE}", "-f", path).split()
            if found:
                return "rpm/almalinux", found[0], found[1]
    return None


def component(library):
    """A library as an entry of the bill."""
    name = original_name(library)
    made = {"type": "library", "name": name, "bom-ref": library.name,
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(library.read_bytes()).hexdigest()}]}
    stem = re.split(r"[-.]", name)[0]
    if stem not in LICENCES:
        raise SystemExit(f"{library}: its licence is not known; name it in {__file__} and THIRD-PARTY.md")
    made["licenses"] = [{"expression": LICENCES[stem]}]
    source = installed(name)
    found = None if source is None else package(source)
    if found is not None:
        kind, packet, made["version"] = found
        made["purl"] = f"pkg:{kind}/{packet}@{found[2]}"
    return made


def bill(version, folder):
    """The bill of polyad and the libraries of a folder."""
    components = [component(path) for path in sorted(pathlib.Path(folder).glob("*.so*"))
                  if path.suffix != ".licence"]
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
            "metadata": {"component": {
                "type": "library", "name": "polyad", "version": version, "bom-ref": "polyad",
                "purl": f"pkg:pypi/polyad@{version}", "licenses": [{"expression": "Apache-2.0"}]}},
            "components": components,
            "dependencies": [{"ref": "polyad", "dependsOn": [each["bom-ref"] for each in components]}]}


if __name__ == "__main__":
    json.dump(bill(*sys.argv[1:]), sys.stdout, indent=2)
    print()
