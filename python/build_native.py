"""Writes the C source of the extension module `polyad._native` (cffi, API mode).

The declarations come from the public headers, run through the C preprocessor: nothing is
repeated by hand, and an interface that the headers do not have cannot be bound.

usage: build_native.py COMPILER INCLUDE_DIR OUTPUT.c
"""

import pathlib
import subprocess
import sys
import tempfile

import cffi

# Macros that Python needs; the compiler fills in their values.
CONSTANTS = """
#define POLYAD_MAX_ORDER ...
"""

# The C library calls these; python/polyad/_context.py implements them.
CALLBACKS = """
extern "Python" void polyad_python_log(void *user, polyad_log_level level, const char *message);
extern "Python" int polyad_python_progress(void *user, const polyad_progress *progress);
"""

# Functions of interrupt.h, which is compiled into the extension.
INTERRUPT = """
int polyad_python_watch(polyad_context *context);
int polyad_python_unwatch(void);
void polyad_python_running(int yes);
"""


def declarations(compiler: str, include: str) -> str:
    """The public headers as plain declarations, without those of the C library."""
    with tempfile.TemporaryDirectory() as empty:
        for name in ("stddef.h", "stdint.h", "stdbool.h"):
            pathlib.Path(empty, name).touch()
        command = [compiler, "-E", "-P", "-nostdinc", "-U__GNUC__", "-x", "c",
                   "-I", empty, "-I", include, "-"]
        return subprocess.run(command, input="#include <polyad/polyad.h>\n", text=True,
                              capture_output=True, check=True).stdout


def main() -> None:
    compiler, include, output = sys.argv[1:]
    ffi = cffi.FFI()
    ffi.cdef(declarations(compiler, include) + CONSTANTS + CALLBACKS + INTERRUPT)
    interrupt = pathlib.Path(__file__).with_name("interrupt.h").read_text()
    ffi.set_source("polyad._native", "#include <polyad/polyad.h>\n" + interrupt,
                   py_limited_api=True)
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main()
