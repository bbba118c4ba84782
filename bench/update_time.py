#!/usr/bin/env python3
"""Processor time of adding a slice to a model on one thread: against the slice's nonzeros, and against
the number of slices that came before. Prints a JSON object; the time of each row is the median over
its additions.

usage: update_time.py [--repeats N]

Slices of 400 x 300 cells with nonzeros at random, rank 16. Rows of "by_nonzeros" add slices of
growing size to a model of 100 slices, in turn; rows of "by_history" add slices of 20000 nonzeros to
models of a growing number of slices, in turn.
"""

import argparse
import json
import platform
import statistics
import time

import numpy as np
import polyad

SHAPE, RANK = (400, 300), 16
SIZES = (2000, 5000, 10000, 20000, 50000, 100000)
HISTORIES = (100, 1000, 10000, 100000)


def updater(slices, random):
    return polyad.Updater(polyad.KruskalTensor(None, [random.random((length, RANK)) for length in
                                                      (slices, *SHAPE)]), 0)


def new_slice(nnz, random):
    cells = random.choice(SHAPE[0] * SHAPE[1], nnz, replace=False)
    coords = np.stack([np.zeros_like(cells), *np.unravel_index(cells, SHAPE)], axis=1)
    return polyad.SparseTensor(coords, random.random(nnz), (1, *SHAPE))


def timed(goes_on, x):
    begin = time.process_time()
    goes_on.add(x, threads=1)
    return time.process_time() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    by_size = {nnz: (updater(100, random), []) for nnz in SIZES}
    by_history = {count: (updater(count, random), []) for count in HISTORIES}
    for _ in range(options.repeats):
        for nnz, (goes_on, seconds) in by_size.items():
            seconds.append(timed(goes_on, new_slice(nnz, random)))
        for goes_on, seconds in by_history.values():
            seconds.append(timed(goes_on, new_slice(20000, random)))
    rows = [{"nonzeros": nnz, "seconds": statistics.median(seconds[1:]),
             "microseconds_per_nonzero": 1e6 * statistics.median(seconds[1:]) / nnz}
            for nnz, (_, seconds) in by_size.items()]
    fixed, slope = np.polynomial.polynomial.polyfit([row["nonzeros"] for row in rows],
                                                    [row["seconds"] for row in rows], 1)
    print(json.dumps({
        "polyad": polyad.__version__, "machine": platform.machine(), "shape": SHAPE, "rank": RANK,
        "threads": 1, "repeats": options.repeats, "by_nonzeros": rows,
        "line": {"seconds": fixed, "microseconds_per_nonzero": 1e6 * slope},
        "by_history": [{"slices": count, "nonzeros": 20000,
                        "seconds": statistics.median(seconds[1:])}
                       for count, (_, seconds) in by_history.items()]}, indent=2))


if __name__ == "__main__":
    main()
