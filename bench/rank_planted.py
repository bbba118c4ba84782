#!/usr/bin/env python3
"""How often `polyad.rank_scan` finds the rank of tensors whose rank is known, and what it says of
tensors without structure. Prints a JSON object, a row for each kind of tensor.

usage: rank_planted.py [--cases N] [--kinds KIND,...] [--threads N] [--seed S]

Kinds; noise is ||E|| / ||M||, M the planted model:
  noise          independent normal factors, noise 0.3
  unequal        the same with weights from 1 down to 0.3, noise 0.3
  collinear      factor columns with cosine 0.9 in every mode, noise 0.1
  collinear-0.3  the same with noise 0.3
  poisson        counts of a nonnegative model of unequal weights, about 1.3 a cell
  normal         standard normal noise alone
  sparse         ones in 2% of the cells, at random
  uniform        Poisson counts of one mean
Ranks are 2, 3, 4 and 5 in turn; shape 30 x 25 x 20; scans try ranks 1 to 8 with default options.
"""

import argparse
import json
import platform

import numpy as np
import polyad

SHAPE, MOST = (30, 25, 20), 8
PLANTED = ("noise", "unequal", "collinear", "poisson")
EMPTY = ("normal", "sparse", "uniform")


def model(factors, weights):
    return np.einsum("ir,jr,kr,r->ijk", *factors, weights)


def with_noise(exact, noise, random):
    error = random.normal(size=exact.shape)
    return exact + error * (noise * np.linalg.norm(exact) / np.linalg.norm(error))


def unit_normal(length, rank, random):
    columns = random.normal(size=(length, rank))
    return columns / np.linalg.norm(columns, axis=0)


def collinear(length, rank, random):
    """Unit columns that have cosine 0.9 with each other."""
    basis = np.linalg.qr(random.normal(size=(length, rank)))[0]
    return basis @ np.linalg.cholesky(np.full((rank, rank), 0.9) + 0.1 * np.eye(rank)).T


def make(kind, rank, random):
    ones, fading = np.ones(rank), np.linspace(1, 0.3, rank)
    if kind in ("noise", "unequal"):
        factors = [unit_normal(length, rank, random) for length in SHAPE]
        return with_noise(model(factors, ones if kind == "noise" else fading), 0.3, random)
    if kind.startswith("collinear"):
        factors = [collinear(length, rank, random) for length in SHAPE]
        return with_noise(model(factors, ones), 0.1 if kind == "collinear" else 0.3, random)
    if kind == "poisson":
        factors = [random.gamma(0.4, size=(length, rank)) for length in SHAPE]
        weights = np.linspace(1, 0.5, rank)
        return random.poisson(model([f / f.sum(axis=0) for f in factors],
                                    20000 * weights / weights.sum())).astype(float)
    if kind == "normal":
        return random.normal(size=SHAPE)
    if kind == "sparse":
        return (random.random(SHAPE) < 0.02).astype(float)
    return random.poisson(0.3, SHAPE).astype(float)


def as_sparse(values):
    places = np.argwhere(values)
    return polyad.SparseTensor(places, values[tuple(places.T)], values.shape)


def find(kind, case, seed, threads):
    """The planted rank (1 at most where there is none) and the one that is found."""
    planted = 2 + case % 4 if kind not in EMPTY else None
    random = np.random.default_rng([seed, *kind.encode(), case])
    scan = polyad.rank_scan(as_sparse(make(kind, planted or 1, random)), MOST, threads=threads,
                            device="cpu")
    return planted, scan


def run(kind, cases, seed, threads):
    found, seconds, wrong = [], 0.0, []
    for case in range(cases):
        planted, scan = find(kind, case, seed, threads)
        right = (scan.recommended == planted if planted is not None
                 else (scan.recommended or 0) <= 1 and "stands out" in scan.reason)
        if not right:
            wrong.append({"case": case, "planted": planted, "recommended": scan.recommended,
                          "reason": scan.reason})
        found.append(right)
        seconds += scan.seconds
    return {"kind": kind, "cases": cases, "right": sum(found), "seconds_per_scan": seconds / cases,
            "wrong": wrong}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=25)
    parser.add_argument("--kinds", default=",".join((*PLANTED, "collinear-0.3", *EMPTY)))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rows = [run(kind, arguments.cases, arguments.seed, arguments.threads)
            for kind in arguments.kinds.split(",")]
    planted = [row for row in rows if row["kind"] in PLANTED]
    result = {"polyad": polyad.__version__, "machine": platform.processor() or platform.machine(),
              "shape": SHAPE, "ranks": [1, MOST], "seed": arguments.seed,
              "planted_cases": sum(row["cases"] for row in planted),
              "planted_right": sum(row["right"] for row in planted), "kinds": rows}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
