#!/usr/bin/env python3
"""Makes iterates.json: the first ten iterates of pyttb's cp_als, cp_apr and tucker_als from the same
first factors, each as the model's values at a few cells, which do not depend on how a model is scaled.

usage: make_iterates.py > iterates.json    (needs pyttb; made with 1.8.6)
"""

import contextlib
import io
import json

import numpy as np
import pyttb as ttb

ITERATES, CELLS = 10, 6
# method, shape, nonzeros, rank or ranks
CASES = [
    ("als", (9, 7, 8), 90, 3),
    ("als", (6, 5, 4, 7), 150, 4),
    ("als", (4, 5, 3, 4, 3), 160, 2),
    ("als", (30, 4, 12), 240, 5),
    ("mu", (9, 7, 8), 90, 3),
    ("mu", (6, 5, 4, 7), 150, 4),
    ("pdnr", (8, 9, 5), 110, 2),
    ("pdnr", (7, 6, 9), 120, 3),
    ("hooi", (9, 7, 8), 90, (3, 2, 4)),
    ("hooi", (6, 5, 4, 7), 150, (2, 3, 2, 2)),
    ("hooi", (20, 11, 6), 200, (5, 5, 3)),
    ("hooi", (4, 5, 3, 4, 3), 160, (2, 2, 2, 2, 2)),
]


def make_case(number, method, shape, count, ranks):
    """A sparse tensor (counts for cp_apr) and first factors."""
    choose = np.random.default_rng(2000 + number)
    cells = np.sort(choose.choice(int(np.prod(shape)), count, replace=False))
    coords = np.stack(np.unravel_index(cells, shape), axis=1)
    values = (choose.normal(size=count).round(4) if method in ("als", "hooi")
              else 1.0 + choose.poisson(2, size=count))
    wide = ranks if isinstance(ranks, tuple) else (ranks,) * len(shape)
    factors = [choose.uniform(0.1, 1, size=(n, r)).round(4) for n, r in zip(shape, wide)]
    at = np.stack([choose.integers(n, size=CELLS) for n in shape], axis=1)
    return coords, values, factors, at


def model_after(iterations, method, tensor, ranks, factors):
    """The dense array of the model after so many iterations."""
    first = [f.copy(order="F") for f in factors]
    with contextlib.redirect_stdout(io.StringIO()):
        if method == "als":
            model = ttb.cp_als(tensor, ranks, stoptol=0, maxiters=iterations,
                               init=ttb.ktensor(first), printitn=0)[0]
        elif method == "hooi":
            model = ttb.tucker_als(tensor, list(ranks), stoptol=0, maxiters=iterations, init=first,
                                   printitn=0)[0]
        else:
            # Where an entry near zero counts as inadmissible pyttb asks for Phi > 0, Chi and Kolda for
            # Phi > 1: kappa 0 leaves both out.
            model = ttb.cp_apr(tensor, ranks, algorithm=method, stoptol=0, maxiters=iterations,
                               kappa=0, init=ttb.ktensor(first), printitn=0)[0]
    return model.full().double()


def main():
    cases = []
    for number, (method, shape, count, ranks) in enumerate(CASES):
        coords, values, factors, at = make_case(number, method, shape, count, ranks)
        tensor = ttb.sptensor(coords, values[:, None], shape)
        found = [model_after(k + 1, method, tensor, ranks, factors) for k in range(ITERATES)]
        cases.append({"method": method, "shape": shape, "ranks": ranks, "coords": coords.tolist(),
                      "values": values.tolist(), "factors": [f.tolist() for f in factors],
                      "at": at.tolist(), "largest": [float(abs(m).max()) for m in found],
                      "iterates": [m[tuple(at.T)].tolist() for m in found]})
    print("[" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "]")


if __name__ == "__main__":
    main()
