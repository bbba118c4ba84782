#!/usr/bin/env python3
"""Fits of CP-ALS on data of a known rank, asked for in higher ranks, in float32 and float64.

Tensors of exact rank 3 with relative noise from 0 to 1e-2 are decomposed at ranks from 3 to 16, in
every format, on every device named, from several seeds. Each row has the reported fit, its bound,
and the true fit of the model that was written, computed here from the text of the model and of the
tensor in long double.

usage: float32_fits.py POLYAD [--devices cpu,cuda] [--formats coo,alto,...] [--seeds 3] > fits.json
Exit status 1: a reported fit is further from the true one than its bound.
"""

import argparse
import json
import pathlib
import platform
import subprocess
import sys
import tempfile

import numpy as np

NOISES = ("0", "1e-5", "1e-4", "1e-3", "1e-2")
RANKS = (3, 10, 16)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("polyad")
    parser.add_argument("--devices", default="cpu")
    parser.add_argument("--formats", default="auto,coo,alto,csf,modecopy,flycoo,hls,blco")
    parser.add_argument("--seeds", type=int, default=3)
    return parser.parse_args()


def read_model(path, dtype):
    """Weights and factors of Tensor Toolbox text, as long doubles: the numbers of `dtype` that the
    digits stand for."""
    words = iter(pathlib.Path(path).read_text().split())
    assert next(words) == "ktensor"
    order = int(next(words))
    for _ in range(order):
        next(words)
    rank = int(next(words))
    weights = np.array([np.longdouble(dtype(next(words))) for _ in range(rank)])
    factors = []
    for _ in range(order):
        assert next(words) == "matrix" and next(words) == "2"
        rows, columns = int(next(words)), int(next(words))
        factors.append(np.array([np.longdouble(dtype(next(words))) for _ in range(rows * columns)])
                       .reshape(rows, columns))
    return weights, factors


def true_fit(path, index, values, dtype):
    """1 - ||X - M|| / ||X|| over all cells; zeros of X are counted through the model's norm."""
    weights, factors = read_model(path, dtype)
    at, grams = weights[None, :].repeat(len(values), 0), np.outer(weights, weights)
    for mode, factor in enumerate(factors):
        at = at * factor[index[:, mode]]
        grams = grams * (factor.T @ factor)
    model = at.sum(1)
    square = ((values - model) ** 2).sum() + grams.sum() - (model ** 2).sum()
    return float(1 - np.sqrt(max(square, 0) / (values ** 2).sum()))


def rows_of(options, folder, noise):
    tensor = folder / f"noise-{noise}.tns"
    subprocess.run([options.polyad, "generate", "--dims", "60,50,40", "--nnz", "12000", "--rank", "3",
                    "--noise", noise, "--seed", "7", tensor], check=True, capture_output=True)
    lines = [line.split() for line in tensor.read_text().splitlines() if not line.startswith("#")]
    index = np.array([[int(word) - 1 for word in line[:-1]] for line in lines])
    exact = np.array([float(line[-1]) for line in lines])
    for device in options.devices.split(","):
        for form in options.formats.split(","):
            for rank in RANKS:
                for precision in ("f64", "f32"):
                    dtype = np.float32 if precision == "f32" else np.float64
                    values = exact.astype(dtype)
                    for seed in range(1, options.seeds + 1):
                        run = [options.polyad, "cpd", tensor, "--rank", str(rank), "--precision",
                               precision, "--seed", str(seed), "--device", device, "--format", form,
                               "--json", folder / "run.json", "--output", folder / "m.ktensor", "-q"]
                        done = subprocess.run(run, capture_output=True, text=True, check=False)
                        if done.returncode != 0:
                            print(done.stderr.strip(), file=sys.stderr)
                            continue
                        found = json.loads((folder / "run.json").read_text())
                        yield {"noise": noise, "device": device, "format": found["format"],
                               "asked": form, "rank": rank, "precision": precision, "seed": seed,
                               "fit": found["fit"], "fit_bound": found["fit_bound"],
                               "fit_from": found["fit_from"],
                               "true_fit": true_fit(folder / "m.ktensor", index,
                                                    values.astype(np.longdouble), dtype),
                               "iterations": found["iterations"], "reason": found["reason"],
                               "rows_from_residual": sum(row["fit_from"] == "residual"
                                                         for row in found["trace"])}


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for noise in NOISES for row in rows_of(options, pathlib.Path(folder), noise)]
    # Long double sums are not exact either.
    wrong = [row for row in rows
             if abs(row["fit"] - row["true_fit"]) > row["fit_bound"] + 1e-12]
    pairs = {}
    for row in rows:
        key = tuple(row[name] for name in ("noise", "device", "asked", "rank", "seed"))
        pairs.setdefault(key, {})[row["precision"]] = row
    shares = [pair["f32"]["true_fit"] / pair["f64"]["true_fit"] for pair in pairs.values()
              if len(pair) == 2]
    version = subprocess.run([options.polyad, "--version"], capture_output=True, text=True,
                             check=True).stdout.splitlines()[0]
    head = {"command": " ".join(sys.argv[1:]), "version": version, "machine": platform.machine(),
            "runs": len(rows), "outside_their_bound": len(wrong),
            "least_f32_over_f64": min(shares),
            "breakdowns_f32": sum(row["reason"] == "breakdown" for row in rows
                                  if row["precision"] == "f32")}
    print("{" + json.dumps(head)[1:-1] + ', "results": [')
    print(",\n".join(json.dumps(row) for row in rows))
    print("]}")
    for row in wrong[:10]:
        print("outside its bound:", json.dumps(row), file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
