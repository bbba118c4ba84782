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
and largest; `wall_times_faster` is that of the clock. After each round pyttb runs
one start of each rank, the largest rank first, until SECONDS have passed in all; the mean of its
starts counts as many times as there are starts: `pyttb_seconds` and `pyttb_wall_seconds` are those
of the ranks that ran, to be compared with `loop_seconds_of_these`
and, by the work of these ranks in polyad's own loop, `times_faster_than_pyttb` (processor time)
and `wall_times_faster_than_pyttb` (clock). pyttb takes the threads that the environment gives to
NumPy. `restarts_seconds` is processor time of `polyad.cp_als` of each rank with all its starts in
one call, which share passes, too, and add nothing else: `restarts_times_faster` than the loop.
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
    """Best fits, processor seconds of each rank, and those of the clock."""
    fits, seconds, walls = [], [], []
    for rank in ranks:
        found, taken, wall = timed(lambda r=rank: [
            polyad.cp_als(plan, r, seed=seed, threads=options.threads).info["fit"]
            for seed in range(options.starts)])
        fits.append(max(found))
        seconds.append(taken)
        walls.append(wall)
    return fits, seconds, walls


def restarts(plan, ranks, options):
    for rank in ranks:
        polyad.cp_als(plan, rank, restarts=options.starts, threads=options.threads)


def pyttb_start(theirs, ranks, seed, left):
    """Processor seconds of one start of each rank and those of the clock, the largest rank first,
    until `left` seconds have passed."""
    import pyttb

    random, seconds = np.random.default_rng(seed), {}
    began = time.perf_counter()
    for rank in reversed(ranks):
        if time.perf_counter() - began > left:
            break
        guess = pyttb.ktensor([np.asfortranarray(random.random((n, rank))) for n in theirs.shape],
                              np.ones(rank))
        seconds[rank] = timed(lambda g=guess, r=rank: pyttb.cp_als(
            theirs, r, init=g, stoptol=1e-4, maxiters=50, printitn=0))[1:]
    return seconds


def against_pyttb(starts, rounds, wall_ratio, result, options):
    """Adds what the starts of pyttb took, counted as `options.starts` of each rank."""
    ranks = sorted(starts[0])
    whole = [start for start in starts if sorted(start) == ranks]
    taken, wall = (options.starts * sum(statistics.mean(start[r][k] for start in whole)
                                        for r in ranks) for k in (0, 1))
    ours, our_wall = (statistics.median(sum(row[key][r - 1] for r in ranks) for row in rounds)
                      for key in ("loop_seconds_by_rank", "loop_wall_seconds_by_rank"))
    return result | {"pyttb_ranks": ranks, "pyttb_starts": len(whole), "pyttb_seconds": taken,
                     "pyttb_wall_seconds": wall, "loop_seconds_of_these": ours,
                     "loop_wall_seconds_of_these": our_wall,
                     "times_faster_than_pyttb": taken / ours * result["times_faster"],
                     "wall_times_faster_than_pyttb": wall / our_wall * wall_ratio}


def compare(name, options):
    x = polyad.read(str(DATA / f"{name}.tns.gz"))
    ranks = list(range(1, options.most + 1))
    plan = polyad.Plan(x, options.most, threads=options.threads)
    theirs, left = x.to_pyttb() if options.pyttb > 0 else None, options.pyttb
    rounds, pyttb_starts = [], []
    for number in range(options.rounds):
        scan = lambda: polyad.rank_scan(x, options.most, starts=options.starts, folds=0,
                                        threads=options.threads)
        loop = lambda: own_loop(plan, ranks, options)
        if number % 2 == 0:
            found, taken, wall = timed(scan)
            (fits, by_rank, walls), loop_taken, loop_wall = timed(loop)
        else:
            (fits, by_rank, walls), loop_taken, loop_wall = timed(loop)
            found, taken, wall = timed(scan)
        shared = polyad.Plan(x, options.most, format=found.info["format"], threads=options.threads)
        together = timed(lambda p=shared: restarts(p, ranks, options))[1]
        rounds.append({"scan_seconds": taken, "loop_seconds": loop_taken,
                       "scan_wall_seconds": wall, "loop_wall_seconds": loop_wall,
                       "restarts_seconds": together, "loop_seconds_by_rank": by_rank,
                       "loop_wall_seconds_by_rank": walls})

        if left > 0:
            began = time.perf_counter()
            pyttb_starts.append(pyttb_start(theirs, ranks, number, left))
            left -= time.perf_counter() - began

    def ratio(above, below):
        return [row[above] / row[below] for row in rounds]

    ratios = ratio("loop_seconds", "scan_seconds")
    wall_ratio = statistics.median(ratio("loop_wall_seconds", "scan_wall_seconds"))
    result = {"tensor": name, "nnz": x.nnz, "shape": list(x.shape),
              "format": found.info["format"], "format_of_loop": plan.format,
              "times_faster": statistics.median(ratios), "interval": [min(ratios), max(ratios)],
              "wall_times_faster": wall_ratio,
              "restarts_times_faster": statistics.median(ratio("loop_seconds",
                                                               "restarts_seconds")),
              "least_gain_of_fit": min(row["fit_best"] - fit for row, fit in
                                       zip(found.ranks, fits)),
              "rounds": rounds}
    if pyttb_starts:
        result = against_pyttb(pyttb_starts, rounds, wall_ratio, result, options)
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
