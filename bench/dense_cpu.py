#!/usr/bin/env python3
"""CP-ALS of tensors that are more than 30% full, from Python: polyad beside TensorLy on NumPy.

usage: PYTHON bench/dense_cpu.py --output results.json [--shapes 60x60x60,...] [--rank 8]
           [--iterations 20] [--full 1,0.35] [--rounds 3] [--threads 2]

PYTHON has polyad, NumPy and TensorLy. A tensor is a model of rank --rank with 10% noise, float64, of which
`full` is the share of cells that are not zero; aminoacids is the one of data/. A round starts an
interpreter for each package, which times one call on the NumPy array, from the same start (TensorLy's is
random too) and without tests of convergence. polyad's makes its tensor and plan in it, and computes the
fit in every iteration, which TensorLy does not with a tolerance of zero. `iteration` is the seconds of
twice as many iterations less those of one call, over the iterations between. Ratios are TensorLy's seconds
over polyad's, medians over the rounds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import tensors

PACKAGES = ("polyad", "tensorly")


def array_of(name, full, rank):
    import numpy

    if name == "aminoacids":
        import polyad
        return polyad.read(os.path.join(tensors.DATA, name + ".tns.gz")).to_numpy()
    rng = numpy.random.default_rng(0)
    shape = [int(n) for n in name.split("x")]
    cells = numpy.ones(rank)
    for factor in (rng.random((n, rank)) for n in shape):
        cells = cells[..., None, :] * factor
    cells = cells.sum(axis=-1)
    cells += 0.1 * cells.std() * rng.standard_normal(shape)
    cells[rng.random(shape) >= full] = 0
    return cells


def call(package, array, rank, iterations, threads):
    begin = time.perf_counter()
    if package == "polyad":
        import polyad
        polyad.cp_als(array, rank, tol=0, max_iters=iterations, threads=threads, device="cpu")
    else:
        from tensorly.decomposition import parafac
        parafac(array, rank, n_iter_max=iterations, init="random", tol=0, random_state=0)
    return time.perf_counter() - begin


def child(package, name, full, rank, iterations, threads):
    array = array_of(name, float(full), int(rank))
    rank, iterations, threads = int(rank), int(iterations), int(threads)
    __import__("polyad" if package == "polyad" else "tensorly.decomposition")
    once = call(package, array, rank, iterations, threads)
    again = call(package, array, rank, iterations, threads)
    more = call(package, array, rank, 3 * iterations, threads)
    print(json.dumps({"call": once, "iteration": (more - again) / (2 * iterations),
                      "full": float((array != 0).mean())}))


def run(package, name, full, options):
    environment = dict(os.environ, OMP_NUM_THREADS=str(options.threads),
                       OPENBLAS_NUM_THREADS=str(options.threads))
    done = subprocess.run([sys.executable, os.path.abspath(__file__), "--child", package, name, full,
                           str(options.rank), str(options.iterations), str(options.threads)],
                          env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measure(name, full, options):
    rounds = []
    for number in range(options.rounds):
        order = PACKAGES if number % 2 == 0 else PACKAGES[::-1]
        rounds.append({package: run(package, name, full, options) for package in order})
    row = {"tensor": name, "full": rounds[0]["polyad"]["full"]}
    for kind in ("call", "iteration"):
        for package in PACKAGES:
            row[f"{kind}_{package}"] = statistics.median(one[package][kind] for one in rounds)
        row[f"{kind}_ratio"] = statistics.median(one["tensorly"][kind] / one["polyad"][kind]
                                                 for one in rounds)
    print("{tensor} {full:.2f} full: call {call_ratio:.2f}, iteration {iteration_ratio:.2f} "
          "({iteration_polyad:.5f} s)".format(**row), file=sys.stderr, flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True)
    parser.add_argument("--shapes", default="aminoacids,60x60x60,150x150x150,40x40x40x40")
    parser.add_argument("--full", default="1,0.35")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    record = {"command": " ".join(os.path.basename(word) for word in sys.argv),
              "rank": options.rank, "iterations": options.iterations, "rounds": options.rounds,
              "threads": options.threads, "load_before": os.getloadavg()}
    record["results"] = [measure(name, full, options) for name in options.shapes.split(",")
                         for full in (["1"] if name == "aminoacids" else options.full.split(","))]
    record["load_average"] = os.getloadavg()
    with open(options.output, "w", encoding="utf-8") as out:
        json.dump(record, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
    else:
        main()
