#!/usr/bin/env python3
"""Seconds of an iteration of CP-ALS on a GPU at ranks that are multiples of four and at others.

usage: bench/rank_widths_gpu.py TENSOR... [--formats modecopy,twotree,alto,blco] [--precision f32]
           [--ranks 5,8,15,16,20,30,32,33,36,50,52,64] [--rounds 3] [--iterations 20] > widths.json

Rows of factors begin at multiples of 16 bytes on a GPU, so that a rank should take about as long as
the next multiple of four (of two in float64): `times_next` is its time over that of the next rank of
the list that is one. Every rank runs once per round; a time is the median over rounds of the mean of
an iteration, the first start and the plan left out.
"""
import argparse
import json
import pathlib
import statistics
import sys

import polyad


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tensors", nargs="+")
    parser.add_argument("--formats", default="modecopy,twotree,alto,blco")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--ranks", default="5,8,15,16,20,30,32,33,36,50,52,64")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=20)
    return parser.parse_args()


def rows_of(options, tensor, name, format_):
    ranks = [int(rank) for rank in options.ranks.split(",")]
    plan = polyad.Plan(tensor, max(ranks), device="cuda", format=format_, precision=options.precision)
    seconds = {rank: [] for rank in ranks}
    for rank in ranks:
        polyad.cp_als(plan, rank, tol=0, max_iters=2)
    for _ in range(options.rounds):
        for rank in ranks:
            info = polyad.cp_als(plan, rank, tol=0, max_iters=options.iterations).info
            seconds[rank].append(info["seconds_per_iteration"])
    median = {rank: statistics.median(seconds[rank]) for rank in ranks}
    unit = 4 if options.precision == "f32" else 2
    for rank in ranks:
        wide = [other for other in ranks if other >= rank and other % unit == 0]
        yield {"tensor": name, "format": format_, "rank": rank, "seconds_iteration": median[rank],
               "next": wide[0] if wide else None,
               "times_next": round(median[rank] / median[wide[0]], 3) if wide else None}


def main():
    options = arguments()
    results = []
    for path in options.tensors:
        tensor = polyad.read(path)
        for format_ in options.formats.split(","):
            results.extend(rows_of(options, tensor, pathlib.Path(path).stem, format_))
    names = [entry["description"] for entry in polyad.devices() if entry["name"].startswith("cuda")]
    json.dump({"command": " ".join(["rank_widths_gpu.py"] + [pathlib.Path(word).name for word in sys.argv[1:]]),
               "device": names, "precision": options.precision, "rounds": options.rounds,
               "iterations": options.iterations, "results": results}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
