"""A checkpoint of CP-ALS whose last fit is said to be higher than it is, with a checksum that fits:
the iteration after it seems to fall, as no data is known to make it."""

import ctypes
import ctypes.util
import struct
from pathlib import Path

HEAD, CHECKSUM = 32, 24  # bytes of the file's head, and where its checksum is


def checksum(data):
    """XXH3 of the library that polyad links; None where it is not to be had."""
    name = ctypes.util.find_library("xxhash")
    if name is None:
        return None
    function = ctypes.CDLL(name).XXH3_64bits
    function.restype, function.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t)
    return function(data, len(data)).to_bytes(8, "little")


def raise_fit(path, fit, by):
    """False where no checksum can be computed."""
    before = Path(path).read_bytes()
    state = before[HEAD:].replace(struct.pack("<d", fit), struct.pack("<d", fit + by))
    assert state != before[HEAD:], "the state has no such fit"
    seal = checksum(state)
    if seal is not None:
        Path(path).write_bytes(before[:CHECKSUM] + seal + state)
    return seal is not None
