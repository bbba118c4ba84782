#!/usr/bin/env python3
"""The first call in a fresh process, from Python: polyad.cp_als beside pyttb.cp_als.

usage: bench/python_first_call.py --output results.json [--names chicago-crime-2022,...] [--rank 8]
           [--iterations 10] [--rounds 5]

A round starts a new interpreter for each package and tensor (files of data/, read by polyad in both).
It imports the package, makes its tensor, and times one call with the same first factors and as many
iterations; polyad's makes its plan in it. Reported are medians over rounds, by the clock and of the
processor, of that call and of importing the package, and the median of the rounds' ratios. The packages
take turns, so that a busy machine slows both. polyad runs with the threads it takes by itself.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time

import tensors

NAMES = "aminoacids,nycflights13,chicago-crime-2022,uber-apr-may"


def timed(call):
    begin = time.perf_counter(), time.process_time()
    made = call()
    return made, {"clock": time.perf_counter() - begin[0], "processor": time.process_time() - begin[1]}


def call_polyad(x, start, rank, iterations):
    import polyad

    return timed(lambda: polyad.cp_als(x, rank, init=start, tol=0, max_iters=iterations))


def call_pyttb(x, start, rank, iterations):
    import numpy
    import pyttb

    theirs = x.to_pyttb()
    guess = pyttb.ktensor([numpy.asfortranarray(f) for f in start], numpy.ones(rank))
    return timed(lambda: pyttb.cp_als(theirs, rank, init=guess, stoptol=0, printitn=0,
                                      maxiters=iterations))


def child(package, name, rank, iterations):
    """One fresh process: the seconds as JSON on standard output."""
    import numpy

    module, load = timed(lambda: __import__(package))
    import polyad

    x = polyad.read(os.path.join(tensors.DATA, name + ".tns.gz"))
    rng = numpy.random.default_rng(0)
    start = [rng.random((n, rank)) for n in x.shape]
    made, spent = (call_polyad if package == "polyad" else call_pyttb)(x, start, rank, iterations)
    fit = made.info["fit"] if package == "polyad" else made[2]["fit"]
    print(json.dumps({"import": load, "call": spent, "fit": float(fit), "nnz": x.nnz,
                      "version": getattr(module, "__version__", "")}))


def run(options, package, name):
    command = [sys.executable, __file__, "--child", package, "--names", name, "--rank",
               str(options.rank), "--iterations", str(options.iterations)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    return json.loads(done.stdout)


def measure(options, name):
    rounds = {"polyad": [], "pyttb": []}
    for _ in range(options.rounds):
        for package, found in rounds.items():
            found.append(run(options, package, name))
    row = {"tensor": name, "nnz": rounds["polyad"][0]["nnz"],
           "fit_difference": abs(rounds["polyad"][-1]["fit"] - rounds["pyttb"][-1]["fit"])}
    for clock in ("clock", "processor"):
        for package, found in rounds.items():
            for part in ("call", "import"):
                row[f"{package}_{part}_{clock}"] = statistics.median(
                    one[part][clock] for one in found)
        row[f"pyttb_over_polyad_{clock}"] = statistics.median(
            theirs["call"][clock] / mine["call"][clock]
            for mine, theirs in zip(rounds["polyad"], rounds["pyttb"]))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default="-")
    parser.add_argument("--names", default=NAMES)
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.child, options.names, options.rank, options.iterations)
    record = {"command": " ".join(os.path.basename(word) for word in sys.argv),
              "python": platform.python_version(), "cpus": os.cpu_count(), "rank": options.rank,
              "iterations": options.iterations, "rounds": options.rounds,
              "load_average_before": os.getloadavg(), "results": []}
    for name in options.names.split(","):
        row = measure(options, name)
        record["results"].append(row)
        print("{tensor}: {pyttb_over_polyad_clock:.1f} times by the clock, "
              "{pyttb_over_polyad_processor:.1f} of the processor".format(**row), flush=True)
    record["load_average"] = os.getloadavg()
    with open(options.output, "w", encoding="utf-8") if options.output != "-" else sys.stdout as out:
        json.dump(record, out, indent=1)
        out.write("\n")
    return None


if __name__ == "__main__":
    main()
