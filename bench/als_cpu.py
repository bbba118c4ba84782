#!/usr/bin/env python3
"""CP-ALS on the CPU: the part of an iteration outside MTTKRP, beside streaming the factors.

usage: bench/als_cpu.py --tensors DIR --output results.json [--polyad build/polyad]
           [--names SET] [--ranks 16,32] [--precisions f64,f32] [--rounds 3] [--threads 2]

What is streamed is the least there is: every update reads the MTTKRP's result and writes the
factor, 2 I R numbers per mode, which take `stream_seconds` at the triad bandwidth that
`polyad bench stream` finds right before the run, with the same threads. `outside_seconds` is the
median over iterations of all that is not MTTKRP: the products of Gram matrices, their
factorisation, the update of every factor with its norms and Gram matrix, the fit.
"""
import statistics
import sys

import cpu_script
import tensors

ITERATIONS = 20


def triad(options):
    record = cpu_script.record_of([options.polyad, "bench", "stream", "--threads",
                                   str(options.threads), "--json", "-"])
    return next(r["gbytes_per_second"] for r in record["results"] if r["format"] == "triad") * 1e9


def measure(options, name, rank, precision):
    outside, inside, limits = [], [], []
    path = tensors.path(options.tensors, name, ".ptn", options.polyad)
    for number in range(options.rounds):
        bandwidth = triad(options)
        record = cpu_script.record_of([
            options.polyad, "cpd", path, "-r", str(rank), "-i", str(ITERATIONS), "--tol", "0",
            "--precision", precision, "-t", str(options.threads), "--device", "cpu", "--quiet",
            "--json", "-"])
        inside.append(sum(record["seconds_mttkrp"]))
        outside.append(record["seconds_outside"])
        numbers = 2 * sum(record["dims"]) * rank
        limits.append(numbers * (8 if precision == "f64" else 4) / bandwidth)
        print(f"{name} r{rank} {precision} round {number + 1}: MTTKRP {inside[-1]:.4f}, "
              f"outside {outside[-1]:.4f}, streaming {limits[-1]:.4f}", file=sys.stderr)
    return {"tensor": name, "rank": rank, "precision": precision,
            "mttkrp_seconds": statistics.median(inside),
            "outside_seconds": statistics.median(outside),
            "stream_seconds": statistics.median(limits),
            "outside_over_stream": statistics.median(a / b for a, b in zip(outside, limits)),
            "outside_rounds": outside}


def main():
    parser = cpu_script.parser(__doc__)
    parser.add_argument("--names", default="als")
    parser.add_argument("--ranks", default="16,32")
    parser.add_argument("--precisions", default="f64,f32")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    record = cpu_script.begin(options, rounds=options.rounds, iterations=ITERATIONS)
    for name in tensors.names(options.names):
        for rank in options.ranks.split(","):
            for precision in options.precisions.split(","):
                record["results"].append(measure(options, name, int(rank), precision))
                cpu_script.save(options, record)


if __name__ == "__main__":
    main()
