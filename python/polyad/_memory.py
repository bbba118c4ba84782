"""NumPy arrays over memory that the C library owns, and the other way round."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._native import ffi, lib

TYPES: dict[np.dtype[Any], int] = {
    np.dtype(np.float32): lib.POLYAD_F32,
    np.dtype(np.float64): lib.POLYAD_F64,
}
DTYPES: dict[int, Any] = {lib.POLYAD_F32: np.float32, lib.POLYAD_F64: np.float64}
INDEX_TYPES: dict[np.dtype[Any], int] = {
    np.dtype(np.int32): lib.POLYAD_I32,
    np.dtype(np.uint32): lib.POLYAD_U32,
    np.dtype(np.int64): lib.POLYAD_I64,
    np.dtype(np.uint64): lib.POLYAD_U64,
}
PRECISIONS: dict[str, int] = {"f32": lib.POLYAD_F32, "f64": lib.POLYAD_F64}


class _Memory:
    """Keeps `owner` alive as long as an array looks at its memory."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: Any, owner: Any,
                 writable: bool) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "shape": shape,
                                    "typestr": np.dtype(dtype).str,
                                    "data": (address, not writable)}


def view(pointer: Any, shape: tuple[int, ...], dtype: Any, owner: Any,
         writable: bool = False) -> npt.NDArray[Any]:
    """An array over C memory; no copy."""
    if 0 in shape:
        return np.zeros(shape, dtype)
    address = int(ffi.cast("uintptr_t", pointer))
    return np.asarray(_Memory(address, shape, dtype, owner, writable))


def precision_type(precision: Any) -> int:
    """The C type of "f32" or "f64", or of a NumPy type."""
    try:
        return PRECISIONS[precision] if isinstance(precision, str) else TYPES[np.dtype(precision)]
    except (KeyError, TypeError, ValueError):  # of what has a dtype that NumPy has not, pandas' text
        raise ValueError(f"precision {precision!r} is unknown; expected 'f32' or 'f64'") from None


def values_type(dtype: Any) -> np.dtype[Any]:
    """The NumPy type of values that is asked for."""
    try:
        wanted: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError):
        wanted = np.dtype(object)
    if wanted not in TYPES:
        raise TypeError(f"dtype {dtype!r:.60} is not supported; expected float32 or float64")
    return wanted


def pointer(array: npt.NDArray[Any]) -> Any:
    """Address of an array's first element as void *. Valid while the array lives."""
    return ffi.cast("void *", array.__array_interface__["data"][0])
