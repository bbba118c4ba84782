#!/usr/bin/env python3
"""A scan of ranks on a GPU against polyad's own loop over starts there.

usage: rank_gpu.py [--tensor FILE] [--most 8] [--starts 10] [--rounds 5] [--device cuda] [--json FILE]

Rounds alternate between `polyad.rank_scan` of ranks 1 to --most without held-out error, which makes
its own plan, and `polyad.cp_als` of each rank from each of as many seeds, on a plan that is there, after
one round of both that does not count. Seconds are the clock's, for the GPU's work is not the process's. `times_faster` is the median over
the rounds of the ratios, `interval` their least and largest.
"""
import argparse
import json
import pathlib
import statistics
import sys
import time

import polyad

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


def timed(function):
    began = time.perf_counter()
    result = function()
    return result, time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tensor", default=str(DATA / "uber-apr-may.tns.gz"))
    parser.add_argument("--most", type=int, default=8)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", default="-")
    options = parser.parse_args()
    x = polyad.read(options.tensor)
    plan = polyad.Plan(x, options.most, device=options.device)
    ranks = range(1, options.most + 1)

    def scan():
        return polyad.rank_scan(x, options.most, starts=options.starts, folds=0, device=options.device)

    def loop():
        return [max(polyad.cp_als(plan, rank, seed=seed).info["fit"] for seed in range(options.starts))
                for rank in ranks]

    rounds, gains = [], []
    for number in range(options.rounds + 1):
        order = (scan, loop) if number % 2 == 0 else (loop, scan)
        done = {function.__name__: timed(function) for function in order}
        if number == 0:
            continue
        rounds.append({name: seconds for name, (_, seconds) in done.items()})
        gains += [row["fit_best"] - fit for row, fit in zip(done["scan"][0].ranks, done["loop"][0])]
    ratios = [row["loop"] / row["scan"] for row in rounds]
    record = {"command": "rank_gpu.py " + " ".join(sys.argv[1:]), "polyad": polyad.version(),
              "device": plan.device, "format": plan.format, "nnz": x.nnz, "shape": list(x.shape),
              "ranks": options.most, "starts": options.starts,
              "scan_seconds": statistics.median(row["scan"] for row in rounds),
              "loop_seconds": statistics.median(row["loop"] for row in rounds),
              "times_faster": statistics.median(ratios), "interval": [min(ratios), max(ratios)],
              "least_gain_of_fit": min(gains), "rounds": rounds}
    text = json.dumps(record, indent=1)
    if options.json == "-":
        print(text)
    else:
        pathlib.Path(options.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
