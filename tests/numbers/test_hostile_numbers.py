"""Tensors that break naive ALS, in every format and precision: the answer is finite, its reason has
a name, and the fit that is reported is the fit of the model that is written, computed here anew."""

import math
import os

import numpy as np
import pytest
from hostile_tensors import hostile_tensors
from reliability_figures import record
from without_modules import without_modules

FORMATS = ["coo", "csf", "modecopy", "flycoo", "blco", "mmcsf", "bcsf", "hbcsf", "hicoo", "fcoo",
           "fwc", "alto", "hls", "portable", "twotree", "dense"]
PRECISIONS = {"f64": 2.0 ** -53, "f32": 2.0 ** -24}
# With fp_traps.c, where there is it: an invalid operation ends the run, in every format.
TRAPS = os.environ.get("POLYAD_FP_TRAPS")
reached = {"runs": 0, "tensors": 0}


def teardown_module():
    record("hostile_numbers", formats=len(FORMATS), precisions=len(PRECISIONS), **reached)


def read_ktensor(path):
    words = path.read_text().split()
    order = int(words[1])
    dims, rank = [int(w) for w in words[2:2 + order]], int(words[2 + order])
    at = 3 + order
    weights = np.array(words[at:at + rank], dtype=np.longdouble)
    at, factors = at + rank, []
    for length in dims:
        at += 4  # matrix, 2, rows, columns
        values = np.array(words[at:at + length * rank], dtype=np.longdouble)
        factors.append(values.reshape(length, rank))
        at += length * rank
    return weights, factors


def true_fit(cells, weights, factors):
    """1 - |X - M| / |X| over all cells, in extended precision, scaled against overflow."""
    scale = np.longdouble(max(abs(v) for v in cells.values()))
    model = np.einsum("ar,br,cr->abc", factors[0] * (weights / scale), factors[1], factors[2])
    tensor = np.zeros(model.shape, dtype=np.longdouble)
    for index, value in cells.items():
        tensor[index] = np.longdouble(value) / scale
    return float(1 - np.sqrt(((tensor - model) ** 2).sum() / (tensor ** 2).sum()))


def can_hold(storage, cells):
    """Whether a format takes a tensor: dense refuses large ones that are almost empty."""
    room = math.prod(1 + max(index[n] for index in cells) for n in range(3))
    return storage != "dense" or room <= 2 ** 20 or 100 * len(cells) >= room


@pytest.mark.parametrize("precision", PRECISIONS)
def test_hostile_numbers(polyad, tmp_path, precision):
    environment = without_modules(tmp_path)
    if TRAPS:
        environment["LD_PRELOAD"] = TRAPS
    for name, (cells, rank) in hostile_tensors(precision).items():
        polyad.write("x.tns", "".join(f"{' '.join(str(i + 1) for i in index)} {value!r}\n"
                                      for index, value in cells.items()))
        reached["tensors"] += 1
        for storage in [each for each in FORMATS if can_hold(each, cells)]:
            found = polyad.json("cpd", "x.tns", "-r", rank, "--max-iters", "60", "--threads", "1",
                                "--precision", precision, "--format", storage, "--output",
                                "m.ktensor", env=environment)
            where = (name, precision, storage)
            assert found["reason"] in ("tolerance", "max_iterations", "breakdown"), where
            weights, factors = read_ktensor(polyad.path("m.ktensor"))
            assert all(np.isfinite(part).all() for part in (weights, *factors)), where
            assert math.isfinite(found["fit"]) and found["fit"] <= 1, where
            # Inner products of R components are sums of rounded products: the squared residual is
            # off by a multiple of R u of the squared norm, its root by the root of that.
            bound = math.sqrt(64 * rank * PRECISIONS[precision])
            assert abs(found["fit"] - true_fit(cells, weights, factors)) <= bound, where
            assert not (found["converged"] and found["fit"] < -bound), where
            reached["runs"] += 1
