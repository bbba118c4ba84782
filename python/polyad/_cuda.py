"""Where the CUDA module finds cuBLAS, cuSOLVER and NCCL when the system has none: NVIDIA's wheels."""

from __future__ import annotations

import ctypes
import os
import pathlib
import sys
import threading

_FOLDERS = ("cublas/lib", "cusolver/lib", "cu[0-9]*/lib")  # of the wheels for CUDA 12, and from 13 on
_LIBRARIES = ("libcublasLt.so.*", "libcublas.so.*", "libcusolver.so.*")
_NCCL = "libnccl.so.2"
_lock = threading.Lock()
_loaded: list[ctypes.CDLL] | None = None


def wheel_libraries(paths: list[str] | None = None) -> list[pathlib.Path]:
    """The libraries that NVIDIA's wheels brought into one of the folders of packages, in the
    order in which they can be loaded."""
    for folder in sys.path if paths is None else paths:
        found: list[pathlib.Path] = []
        for pattern in _LIBRARIES:
            for inside in _FOLDERS:
                found += sorted(pathlib.Path(folder, "nvidia").glob(f"{inside}/{pattern}"))
        if found:
            return found
    return []


def prepare(device: str) -> None:
    """Before a GPU is used for the first time: loads the libraries of the wheels, so that the
    C library finds them by name. What the system's loader finds comes first."""
    global _loaded
    if _loaded is not None or device == "cpu" or device.startswith("opencl"):
        return
    with _lock:
        if _loaded is not None:
            return
        _loaded = []
        beside = pathlib.Path(__file__).with_name("libpolyad_cuda.so")
        if not beside.exists() or not pathlib.Path("/dev/nvidiactl").exists() or _system_has():
            return
        _loaded = load(wheel_libraries())


def prepare_nccl(device: str) -> None:
    """Before processes with a GPU each share a tensor: loads NCCL's wheel, unless the system has the
    library or the environment says which one to take."""
    if device == "cpu" or device.startswith("opencl") or not pathlib.Path("/dev/nvidiactl").exists():
        return
    with _lock:
        if "POLYAD_NCCL" not in os.environ and not _loads(_NCCL):
            load([found for folder in sys.path
                  for found in pathlib.Path(folder, "nvidia/nccl/lib").glob(_NCCL)][:1])


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def load(libraries: list[pathlib.Path]) -> list[ctypes.CDLL]:
    """Loads what loads; what does not is missed, and named, when it is needed."""
    kept = []
    for path in libraries:
        try:
            kept.append(ctypes.CDLL(str(path)))
        except OSError:
            continue
    return kept


def _system_has() -> bool:
    return any(_loads(name) for name in ("libcublas.so.13", "libcublas.so.12", "libcublas.so"))
