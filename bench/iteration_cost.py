#!/usr/bin/env python3
"""What an iteration costs, of an old build and a new one, at several tolerances.

CP-ALS's tolerance decides how precise fits must be, and so how they are computed: by their formula or, where
that cancels too many digits, from the nonzeros. Each pair runs both builds one right after the other,
the first of a pair being the second of the next. A ratio is new seconds over old seconds of the median
iteration, the median over the pairs. On a machine that others use too, --processor-time counts the
processor's time in user mode instead: that of a run, less that of one of two iterations, over the
iterations between.

usage: bench/iteration_cost.py OLD NEW TENSOR... [--device cpu] [--precision f32] [--rank 32]
           [--format auto] [--algorithm als] [--tolerances 1e-4,0] [--iterations 30] [--pairs 5] [--threads 0]
           [--processor-time] > cost.json
"""

import argparse
import json
import math
import pathlib
import resource
import statistics
import subprocess
import sys


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("tensors", nargs="+")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--format", default="auto")
    parser.add_argument("--algorithm", default="als",
                        help="as polyad cpd takes it, or nonnegative: als with --nonnegative")
    parser.add_argument("--tolerances", default="1e-4,0")
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="0: as many as the command takes")
    parser.add_argument("--processor-time", action="store_true")
    return parser.parse_args()


def run(polyad, tensor, tolerance, options, iterations):
    """A run's JSON, and the processor time that it took."""
    threads = ["--threads", str(options.threads)] if options.threads > 0 else []
    nonnegative = options.algorithm == "nonnegative"
    algorithm = ["--nonnegative"] if nonnegative else ["--algorithm", options.algorithm]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(
        [polyad, "cpd", tensor, "--rank", str(options.rank), "--precision", options.precision,
         "--device", options.device, "--format", options.format, "--tol", tolerance,
         "--max-iters", str(iterations), "--quiet", "--json", "-", *algorithm, *threads],
        capture_output=True, check=True)
    return json.loads(done.stdout), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def cost(polyad, tensor, tolerance, options):
    """A run's JSON, and the seconds of its iterations."""
    found, processor = run(polyad, tensor, tolerance, options, options.iterations)
    if not options.processor_time:
        return found, found["seconds_per_iteration"]
    short, least = run(polyad, tensor, tolerance, options, 2)
    return found, (processor - least) / max(1, found["iterations"] - short["iterations"])


def measure(tensor, tolerance, options):
    pairs, last = [], None
    for k in range(options.pairs):
        found = {}
        for which in ("old", "new") if k % 2 == 0 else ("new", "old"):
            found[which] = cost(getattr(options, which), tensor, tolerance, options)
        pairs.append((found["old"][1], found["new"][1]))
        last = found["new"][0]
    ratios = [new / old for old, new in pairs]
    return {"tensor": pathlib.Path(tensor).name, "tolerance": float(tolerance),
            "format": last["format"], "iterations": last["iterations"],
            "rows_from_residual": sum(row.get("fit_from") == "residual" for row in last["trace"]),
            "seconds_old": statistics.median(old for old, _ in pairs),
            "seconds_new": statistics.median(new for _, new in pairs),
            "ratio": statistics.median(ratios), "ratios": ratios}


def main():
    options = arguments()
    rows = [measure(tensor, tolerance, options) for tolerance in options.tolerances.split(",")
            for tensor in options.tensors]
    means = {tolerance: math.exp(statistics.mean(math.log(row["ratio"]) for row in rows
                                                 if row["tolerance"] == float(tolerance)))
             for tolerance in options.tolerances.split(",")}
    json.dump({"command": " ".join(["iteration_cost.py", *map(lambda word: pathlib.Path(word).name,
                                                              sys.argv[1:])]),
               "device": options.device, "time": "processor" if options.processor_time else "clock",
               "algorithm": options.algorithm, "precision": options.precision,
               "rank": options.rank,
               "geometric_mean": means, "results": rows}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
