#!/usr/bin/env python3
"""The portable kernels name no backend: neither words that one language has and others lack, nor
headers of a backend. And every backend defines the words that the kernels use.

usage: portable_words.py, in the root of the repository
"""

import pathlib
import re
import sys

FOLDER = pathlib.Path("src/portable")
KERNELS = ["kernels_stream.h", "kernels_rows.h", "rows_products.h", "rows_sums.h", "rows_join.h",
           "kernels_join.h", "portable_job.h", "../engine/loss.h", *sorted(f"../engine/losses/{each.name}" for each in pathlib.Path("src/engine/losses").glob("*.h"))]
BACKENDS = {"cpu": [], "cuda": ["vector_struct.h"], "hip": ["vector_struct.h"], "opencl": []}
FOREIGN = re.compile(
    r"\b(cuda\w*|hip\w*|opencl|openmp|omp|nvidia|amd|pragma|_Pragma|asm|__asm__|__builtin\w*|__\w+|"
    r"threadIdx|blockIdx|blockDim|gridDim|warpSize|atomicAdd|atomic_\w+|atom_\w+|barrier|get_\w+_id|"
    r"vload\d*|vstore\d*|(?:float|double|u?int|u?long)(?:2|4|8|16)|as_\w+|convert_\w+|template|"
    r"typename|static_cast|reinterpret_cast|uint(?:32|64)_t|size_t|_mm\w*|kernel|global|local)\b", re.I)
WORD = re.compile(r"\bPD_[A-Z0-9_]+\b(?!##)")  # not a part that is pasted into a word
# Given by what includes the kernels, not by the backend.
PARAMETERS = {"PD_F64", "PD_INPUTS", "PD_LANES", "PD_VECTORS", "PD_PARTIAL", "PD_KIND",
              "PD_INSTANCE"}
# OpenCL's come from the host, which compiles for the device that it finds.
FROM_HOST = {"opencl": {"PD_GROUPS", "PD_WIDE_SUMS", "PD_REUSE_ROWS"}}


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def main():
    complaints, used, defined = [], set(), set()
    for name in KERNELS:
        text = (FOLDER / name).read_text()
        code = without_comments(text)
        for number, line in enumerate(code.splitlines(), 1):
            for word in FOREIGN.findall(re.sub(r'#include "[\w/]+\.h"', "", line)):
                complaints.append(f"{FOLDER / name}: '{word}' belongs to a backend: {line.strip()}")
        for include in re.findall(r"#\s*include\s+(\S+)", code):
            if not re.match(r'"(portable/(?!backend)|engine/(loss|losses/\w+))\w*\.h"', include):
                complaints.append(f"{FOLDER / name} includes {include}")
        used |= set(WORD.findall(code))
        defined |= set(re.findall(r"#\s*define\s+(PD_\w+)", code))
    for kernel in (FOLDER / "kernels_rows.h", FOLDER / "kernels_stream.h"):
        if len(without_comments(kernel.read_text())) < 1000:
            complaints.append(f"{kernel} is empty")
    for backend, more in BACKENDS.items():
        text = "".join((FOLDER / name).read_text() for name in [f"backend_{backend}.h", *more])
        has = set(re.findall(r"#\s*define\s+(PD_\w+)", text)) | PARAMETERS
        has |= FROM_HOST.get(backend, set())
        for word in sorted(used - defined - has):
            complaints.append(f"backend_{backend}.h lacks {word}")
    print("\n".join(complaints))
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
