#!/usr/bin/env python3
"""How many of planted anomalies `polyad.anomalies` finds, and how many of those it finds are false,
against the false-discovery rate that was asked for. Prints a JSON object, a row for each kind of
model, size of the anomalies and rate.

usage: anomaly_rate.py [--cases N] [--seed S]

Tensors of 20 x 15 x 12 cells, models of rank 3, 30 planted cells. Counts have a mean of 2, and a
planted cell of rate m has SIZE sqrt(m) + 1.5 SIZE more; other values have normal errors, and planted
cells SIZE standard deviations more.
"""

import argparse
import json
import platform

import numpy as np
import polyad

SHAPE, RANK, PLANTED = (20, 15, 12), 3, 30
KINDS = (("poisson", "all"), ("poisson", "stored"), ("gaussian", "all"))
SIZES, RATES = (4, 6, 8), (0.01, 0.05, 0.1, 0.2)


def make(kind, size, random):
    draw = random.random if kind == "poisson" else random.standard_normal
    model = polyad.KruskalTensor(None, [draw((length, RANK)) for length in SHAPE])
    dense = model.reconstruct()
    if kind == "poisson":
        model.weights *= 2 / dense.mean()
        dense = model.reconstruct()
        x, more = random.poisson(dense).astype(float), np.ceil(size * np.sqrt(dense) + 1.5 * size)
    else:
        x, more = dense + random.standard_normal(SHAPE), np.full(SHAPE, float(size))
    planted = np.zeros(x.size, bool)
    planted[random.choice(x.size, PLANTED, replace=False)] = True
    planted = planted.reshape(SHAPE)
    x[planted] += more[planted]
    return model, x, planted


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = []
    for kind, cells in KINDS:
        for size in SIZES:
            false, right = {rate: [] for rate in RATES}, {rate: [] for rate in RATES}
            for case in range(options.cases):
                model, x, planted = make(kind, size, np.random.default_rng([options.seed, case]))
                tensor = polyad.SparseTensor(np.argwhere(x), x[x != 0], SHAPE)
                for rate in RATES:
                    found = polyad.anomalies(model, tensor, kind=kind, fdr=rate, cells=cells)
                    hits = sum(bool(planted[row["index"]]) for row in found)
                    false[rate].append(1 - hits / max(found.found, 1))
                    right[rate].append(hits / PLANTED)
            rows += [{"kind": kind, "cells": cells, "size": size, "fdr": rate,
                      "false_share": float(np.mean(false[rate])),
                      "false_share_error": float(np.std(false[rate]) / options.cases**0.5),
                      "found_share": float(np.mean(right[rate]))} for rate in RATES]
    print(json.dumps({"polyad": polyad.__version__, "machine": platform.machine(), "shape": SHAPE,
                      "rank": RANK, "planted": PLANTED, "cases": options.cases,
                      "seed": options.seed, "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
