#!/usr/bin/env python3
"""Checks from the includes that dependencies point one way (see docs/architecture.md).

usage: include_directions.py ROOT
"""

import pathlib
import re
import sys

# What each part may include besides itself and the public headers.
ALLOWED = {
    "core": set(),
    "tensor": {"core"},
    "build": {"core", "tensor"},
    "io": {"core", "tensor"},
    "device": {"core", "tensor", "linalg", "portable"},
    "linalg": {"core", "tensor", "device"},
    "portable": {"core"},
    "engine": {"core", "tensor", "device", "linalg"},
    "formats": {"core", "tensor", "build", "device", "linalg", "portable", "engine"},
    "plan": {"core", "tensor", "device", "linalg", "engine", "formats"},
    "algorithms": {"core", "tensor", "device", "linalg", "engine", "plan"},
    "cli": set(),  # the command stands on the public headers alone, as any program does
}
# Files with a reason to reach further.
EXCEPTIONS = [
    (r"src/device/module\.[ch]$", {"formats"}, "registers the kernels of a loaded module"),
    (r"src/device/(cuda|opencl)/", {"formats"}, "a module brings the kernels of its formats"),
    (r"src/linalg/(row_system\.c|newton_sums\.h)$", {"engine"}, "their sums are operations on a row's cells"),
    (r"src/portable/portable_job\.h$", {"engine"}, "kernels of every backend have the losses"),
    (r"src/tensor/tensor_sort\.c$", {"build"}, "nonzeros are sorted as packed records"),
    (r"src/plan/tune_cache\.[ch]$", {"io"}, "what tuning measured is kept in a file"),
    (r"src/plan/stream[a-z_]*\.[ch]$", {"io"}, "the nonzeros stay in files"),
    (r"src/algorithms/archive\.c$", {"io"}, "checkpoints are files"),
]
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)


def part_of(path):
    """The part of the house that a source file belongs to."""
    return "cli" if path.parts[0] == "cli" else path.parts[1]


def target_of(path, name, root):
    """The part that an include leads to; None for system and public headers."""
    if name.startswith("polyad/"):
        return None
    for base in (root / "src", root / "cli", root / path.parent):
        found = base / name
        if found.exists():
            return part_of(found.resolve().relative_to(root))
    return None


def complaints(root):
    sources = [path for folder in ("src", "cli") for path in sorted((root / folder).rglob("*"))
               if path.suffix in {".c", ".h", ".cu", ".cuh", ".inc"}]
    for source in sources:
        path = source.relative_to(root)
        part = part_of(path)
        if part not in ALLOWED:
            yield f"{path}: the folder '{part}' has no place in the order of parts"
            continue
        allowed = {part} | ALLOWED[part]
        for pattern, more, _ in EXCEPTIONS:
            if re.match(pattern, path.as_posix()):
                allowed |= more
        for match in INCLUDE.finditer(source.read_text()):
            target = target_of(path, match[1], root)
            if target is not None and target not in allowed:
                yield (f"{path}: includes \"{match[1]}\": {part} must not depend on {target} "
                       f"(allowed: {', '.join(sorted(allowed))})")
    for header in sorted((root / "include/polyad").glob("*.h")):
        for match in INCLUDE.finditer(header.read_text()):
            if not re.match(r"polyad/|std(def|int|bool)\.h$", match[1]):
                yield f"{header.relative_to(root)}: a public header must not include {match[1]}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = list(complaints(root))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
