#!/usr/bin/env python3
"""Prints name and hash of each model in a folder: 64-bit FNV-1a over the doubles of weights, core
(last mode fastest) and factors. It reads text, .ptm and .npz by itself, so that a fault of
polyad's readers shows.

usage: hash_models.py FOLDER > FOLDER/models.hash"""

import itertools
import pathlib
import struct
import sys

import numpy as np


def fnv(values):
    found = 0xcbf29ce484222325
    for byte in struct.pack(f"<{len(values)}d", *values):
        found = ((found ^ byte) * 0x100000001b3) % 2 ** 64
    return found


class Words:
    def __init__(self, path):
        self.left = path.read_text(encoding="ascii").split()

    def take(self, count=1):
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def integers(self, count):
        return [int(word) for word in self.take(count)]

    def matrix(self):
        assert self.take() == ["matrix"]
        rows, columns = self.integers(3)[1:]
        return [float(word) for word in self.take(rows * columns)]


def ktensor(words):
    order = words.integers(1)[0]
    words.integers(order)
    values = [float(word) for word in words.take(words.integers(1)[0])]
    return values + [x for _ in range(order) for x in words.matrix()]


def ttensor(words):
    order = words.integers(1)[0]
    words.integers(order)
    assert words.take() == ["tensor"]
    ranks = words.integers(1 + order)[1:]
    cells = [range(rank) for rank in ranks]
    first_fastest = [index[::-1] for index in itertools.product(*reversed(cells))]
    core = {index: float(words.take()[0]) for index in first_fastest}
    values = [core[index] for index in itertools.product(*cells)]
    return values + [x for _ in range(order) for x in words.matrix()]


def text(path):
    found = Words(path)
    return {"ktensor": ktensor, "ttensor": ttensor}[found.take()[0]](found)


def ptm(path):
    """docs/ptm-format.md: weights or core, then the factors."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PTM\r\n\x1a\n" and struct.unpack_from("<I", data, 12) == (1,)
    order, value_bytes = struct.unpack_from("<2I", data, 24)
    values = []
    for section in range(order + 1):
        offset, size = struct.unpack_from("<2Q", data, 304 + 24 * section)
        count = size // value_bytes
        values += struct.unpack_from(f"<{count}{'f' if value_bytes == 4 else 'd'}", data, offset)
    return values


def npz(path):
    """docs/file-formats.md: arrays by name; NumPy reads them."""
    with np.load(path, allow_pickle=False) as arrays:
        factors = [name for name in arrays.files if name.startswith("factor_")]
        assert factors == [f"factor_{mode}" for mode in range(len(factors))]
        first = "weights" if "weights" in arrays else "core"
        return [float(x) for name in [first, *factors] for x in arrays[name].ravel()]


folder = pathlib.Path(sys.argv[1])
for path in sorted([*folder.glob("*.?tensor"), *folder.glob("*.ptm"),
                    *(path for path in folder.glob("*.npz") if path.stem != "rides")]):
    values = {".ptm": ptm, ".npz": npz}.get(path.suffix, text)(path)
    print(f"{path.name} {fnv(values):016x}")
