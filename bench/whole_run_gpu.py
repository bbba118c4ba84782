#!/usr/bin/env python3
"""Whole runs of `polyad cpd` on a GPU by the clock: from the file to the written model and exit.

usage: bench/whole_run_gpu.py OLD NEW --tensors DIR --output results.json [--names SET]
           [--ends .ptn,.tns] [--rank 32] [--iterations 20] [--rounds 3] [--old-rounds 1]
           [--device cuda] [--precision f32]

OLD and NEW are polyad commands. NAME.ptn or NAME.tns is made in DIR, by NEW, where it is missing; a
first reading of it, which does not count, brings it into the page cache. A round is one run of each
build one right after the other, the first of a round being the second of the next; OLD, which takes
far longer, leaves out all but --old-rounds of them. Every run takes the same number of iterations
(--tol 0). NEW writes the binary model; OLD has no such file and writes none. `seconds_clock` is the
process from start to end, CUDA's start included; the other seconds are the parts that NEW's own JSON
gives, medians over rounds. `ratio` is OLD's median over NEW's.
"""
import argparse
import os
import statistics
import sys
import time

import cpu_script
import tensors

PARTS = ("seconds_start", "seconds_read", "seconds_build", "seconds_init", "seconds_iterations",
         "seconds_finish", "seconds_write", "seconds_wall")


def run(build, file, options, model):
    """A run's record, with the seconds of its process."""
    command = [build, "cpd", file, "--rank", str(options.rank), "--seed", "1", "--tol", "0",
               "--max-iters", str(options.iterations), "--device", options.device, "--precision",
               options.precision, "--quiet", "--json", "-"]
    if model:
        command += ["--output", model]
    begin = time.perf_counter()
    record = cpu_script.record_of(command)
    return {**record, "seconds_clock": time.perf_counter() - begin}


def measure(name, end, options):
    file = tensors.path(options.tensors, name, end, options.new)
    with open(file, "rb") as reader:
        while reader.read(1 << 24):
            pass
    model = os.path.join(options.tensors, name + ".ptm")
    found = {"old": [], "new": []}
    for number in range(options.rounds):
        for which in ("old", "new") if number % 2 == 0 else ("new", "old"):
            if which == "new" or number < options.old_rounds:
                found[which].append(run(getattr(options, which), file, options,
                                        model if which == "new" else None))
    last = found["new"][-1]
    clock = {which: [one["seconds_clock"] for one in runs] for which, runs in found.items()}
    row = {"tensor": name, "file": end, "nnz": last["nnz"], "order": last["order"],
           "format": last["format"], "iterations": last["iterations"], "fit": last["fit"],
           "seconds_clock": statistics.median(clock["new"]), "rounds": clock,
           "per_iteration": last["seconds_per_iteration"]}
    for part in PARTS:
        row[part] = statistics.median(one[part] for one in found["new"])
    if clock["old"]:
        row["format_old"] = found["old"][-1]["format"]
        row["seconds_clock_old"] = statistics.median(clock["old"])
        row["ratio"] = row["seconds_clock_old"] / row["seconds_clock"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--tensors", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--names", default="gpu-small")
    parser.add_argument("--ends", default=".ptn")
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--old-rounds", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="f32")
    options = parser.parse_args()
    record = {"command": " ".join(os.path.basename(word) for word in sys.argv), "results": []}
    for name in tensors.names(options.names):
        for end in options.ends.split(","):
            row = measure(name, end, options)
            record["results"].append(row)
            cpu_script.save(options, record)
            print("{tensor}{file}: {seconds_clock:.3f} s, {format}, {0}".format(
                "old {:.3f} s".format(row.get("seconds_clock_old", float("nan"))), **row), flush=True)


if __name__ == "__main__":
    main()
