"""An environment in which the command's library lies in a folder with the CPU's portable kernels alone:
no module for a device is found, so that none of a driver's memory, threads and time is part of a test."""

import pathlib
import shutil

from conftest import COMMAND


def without_modules(folder):
    alone = folder / "library"
    alone.mkdir()
    libraries = pathlib.Path(COMMAND).parent / "lib"
    for library in [*libraries.glob("libpolyad.so.*"), libraries / "libpolyad_portable.so"]:
        shutil.copy(library, alone / library.name)
    return {"LD_LIBRARY_PATH": str(alone), "OMP_WAIT_POLICY": "passive"}
