#!/usr/bin/env python3
"""Turning the columns of a data frame into numbers: polyad beside pandas.

usage: bench/python_factorize.py --output results.json [--rounds 7]

A round does the same columns of one frame three times: by pandas.factorize, sorted as polyad's labels are;
by what SparseTensor.from_dataframe does for it alone; and by SparseTensor.from_dataframe as a whole, which
also gathers, sorts and merges the nonzeros. The three take turns, so that a busy machine slows all.
Reported are medians over rounds, by the clock and of the processor, and the median of the rounds' ratios
to pandas. The frames: the bundled tensors of flights and rides as tables with their labels, and one made
of 500,000 rows of two columns of text.
"""
import argparse
import json
import os
import platform
import statistics
import time

import numpy
import pandas
import polyad
import tensors
from polyad._frames import _factorized


def frames():
    for name in ("nycflights13", "uber-apr-may"):
        yield name, polyad.read(os.path.join(tensors.DATA, name + ".tns.gz")).to_dataframe()
    rng = numpy.random.default_rng(0)
    rows = 500_000
    yield "made of text", pandas.DataFrame({
        "place": numpy.array([f"place {k}" for k in range(2000)])[rng.integers(0, 2000, rows)],
        "kind": numpy.array([f"kind {k}" for k in range(200)])[rng.integers(0, 200, rows)],
        "value": 1.0})


def timed(call):
    begin = time.perf_counter(), time.process_time()
    call()
    return {"clock": time.perf_counter() - begin[0], "processor": time.process_time() - begin[1]}


def measure(frame, rounds):
    modes = [name for name in frame.columns if name != "value"]
    calls = {"pandas": lambda: [pandas.factorize(frame[name], sort=True) for name in modes],
             "polyad": lambda: [_factorized(frame[name], name) for name in modes],
             "whole": lambda: polyad.SparseTensor.from_dataframe(frame, value="value")}
    for call in calls.values():  # pages and libraries are there for all
        call()
    spent = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            spent[name].append(timed(call))
    row = {"rows": len(frame), "columns": len(modes), "types": [str(frame[name].dtype) for name in modes]}
    for name, times in spent.items():
        row[name] = {clock: statistics.median(each[clock] for each in times)
                     for clock in ("clock", "processor")}
        row[name]["ratio"] = statistics.median(
            each["processor"] / base["processor"] for each, base in zip(times, spent["pandas"]))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--output", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    found = {"machine": platform.platform(), "processors": os.cpu_count(), "load": os.getloadavg(),
             "versions": {each.__name__: getattr(each, "__version__", None) for each in (numpy, pandas)},
             "rounds": options.rounds,
             "frames": {name: measure(frame, options.rounds) for name, frame in frames()}}
    with open(options.output, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
