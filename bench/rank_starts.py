#!/usr/bin/env python3
"""A scan of ranks, whose starts share their passes over the nonzeros, against loops over starts:
polyad's own (`polyad.cp_als` of each rank from each of as many seeds, on one plan) and pyttb's.

usage: rank_starts.py [--tensors NAME,...] [--most 8] [--starts 10] [--rounds 5] [--threads 1]
                      [--pyttb SECONDS] [--json FILE]

Tensors are those of data/. The scan also grows models from rank to rank, iterates on the best of
each rank, and finds core consistency and stability; both loops do none of that. The scan makes its
plan in the first round, and takes the format that is best for starts side by side. Rounds alternate
between the scan and polyad's loop; `seconds` are processor time (user and system) of the process,
which other programs on the machine disturb less than the clock, and `wall_seconds` the clock's.
`times_faster` is the median over the rounds of the ratio of processor times, `interval` its least
and largest. pyttb's loop runs once per rank with one start, until SECONDS have passed, and
counts as many times as there are starts: `pyttb_seconds` is processor time of the ranks that ran,
to be compared with `loop_seconds_of_these` and, by the work of these ranks in polyad's own loop,
`times_faster_than_pyttb`.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import sys
import time

import numpy as np
import polyad

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


def timed(function):
    wall, process = time.perf_counter(), time.process_time()
    result = function()
    return result, time.process_time() - process, time.perf_counter() - wall


def own_loop(plan, ranks, options):
    """Best fits, and processor seconds of each rank."""
    fits, seconds = [], []
    for rank in ranks:
        found, taken, _ = timed(lambda r=rank: [
            polyad.cp_als(plan, r, seed=seed, threads=options.threads).info["fit"]
            for seed in range(options.starts)])
        fits.append(max(found))
        seconds.append(taken)
    return fits, seconds


def pyttb_loop(x, ranks, options):
    """Processor seconds of one start of each rank, the largest rank first, while there is time."""
    import pyttb

    theirs, random, seconds = x.to_pyttb(), np.random.default_rng(0), {}
    began = time.perf_counter()
    for rank in reversed(ranks):
        if time.perf_counter() - began > options.pyttb:
            break
        guess = pyttb.ktensor([np.asfortranarray(random.random((n, rank))) for n in x.shape],
                              np.ones(rank))
        _, seconds[rank], _ = timed(lambda g=guess, r=rank: pyttb.cp_als(
            theirs, r, init=g, stoptol=1e-4, maxiters=50, printitn=0))
    return seconds


def compare(name, options):
    x = polyad.read(str(DATA / f"{name}.tns.gz"))
    ranks = list(range(1, options.most + 1))
    plan = polyad.Plan(x, options.most, threads=options.threads)
    rounds = []
    for number in range(options.rounds):
        scan = lambda: polyad.rank_scan(x, options.most, starts=options.starts, folds=0,
                                        threads=options.threads)
        loop = lambda: own_loop(plan, ranks, options)
        if number % 2 == 0:
            found, taken, wall = timed(scan)
            (fits, by_rank), loop_taken, loop_wall = timed(loop)
        else:
            (fits, by_rank), loop_taken, loop_wall = timed(loop)
            found, taken, wall = timed(scan)
        rounds.append({"scan_seconds": taken, "loop_seconds": loop_taken,
                       "scan_wall_seconds": wall, "loop_wall_seconds": loop_wall,
                       "loop_seconds_by_rank": by_rank})
    ratios = [row["loop_seconds"] / row["scan_seconds"] for row in rounds]
    result = {"tensor": name, "nnz": x.nnz, "shape": list(x.shape), "format": found.info["format"], "format_of_loop": plan.format,
              "times_faster": statistics.median(ratios), "interval": [min(ratios), max(ratios)],
              "least_gain_of_fit": min(row["fit_best"] - fit for row, fit in
                                       zip(found.ranks, fits)),
              "rounds": rounds}
    if options.pyttb > 0:
        theirs = pyttb_loop(x, ranks, options)
        ours = statistics.median(sum(row["loop_seconds_by_rank"][r - 1] for r in theirs)
                                 for row in rounds)
        result |= {"pyttb_ranks": sorted(theirs),
                   "pyttb_seconds": options.starts * sum(theirs.values()),
                   "loop_seconds_of_these": ours}
        result["times_faster_than_pyttb"] = (result["pyttb_seconds"] / ours *
                                             result["times_faster"])
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tensors", default="aminoacids,nycflights13,uber-apr-may")
    parser.add_argument("--most", type=int, default=8)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pyttb", type=float, default=0)
    parser.add_argument("--json", default="-")
    options = parser.parse_args()
    record = {"command": "rank_starts.py " + " ".join(sys.argv[1:]), "threads": options.threads,
              "most": options.most, "starts": options.starts, "polyad": polyad.version(),
              "processor": polyad.devices()[0]["description"], "python": platform.python_version(),
              "load_average_before": os.getloadavg(),
              "results": [compare(name, options) for name in options.tensors.split(",")]}
    record["load_average_after"] = os.getloadavg()
    text = json.dumps(record, indent=1)
    if options.json == "-":
        print(text)
    else:
        pathlib.Path(options.json).write_text(text + "\n")


if __name__ == "__main__":
    main()
