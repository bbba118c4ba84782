#!/usr/bin/env python3
"""Iterations of CP-ALS on one GPU and on several GPUs of one host that share the tensor.

usage: bench/scale.py --tensors DIR --output results.json [--polyad build-gpu/polyad]
           [--names nell-2@0.25,amazon@0.05] [--lists cuda:0,cuda:all] [--rank 32]
           [--iterations 12] [--rounds 3] [--precision f32]

A list of devices is one word of --lists, and commas inside it are written as "+": cuda:0+cuda:1. Each
round runs every list once on every tensor, one after another; tensors are NAME.ptn in DIR, generated
there when missing. An iteration's time is the median over iterations 3 and later of all rounds, by
the trace of the run; efficiency is t1 / (n tn) against the first list. `seconds_build` and `seconds_finish` (the
model's normal form and its way to the host) are those of every round.
"""
import statistics

import cpu_script
import tensors


def run(options, name, devices):
    path = tensors.path(options.tensors, name, ".ptn", options.polyad)
    return cpu_script.record_of([
        options.polyad, "cpd", path, "--rank", str(options.rank), "--seed", "1", "--device", devices,
        "--max-iters", str(options.iterations), "--tol", "0", "--precision",
        options.precision, "--threads", str(options.threads), "--top", "0", "--quiet", "--json", "-"])


def iteration_times(record):
    """Seconds of each iteration but the first two, which record and choose."""
    clock = [row["seconds"] for row in record["trace"]]
    return [after - before for before, after in zip(clock[1:], clock[2:])]


def row_of(name, devices, records, alone):
    last = records[-1]
    times = [t for record in records for t in iteration_times(record)]
    seconds = statistics.median(times)
    members = last["team"]["members"] if last["team"] else []
    count = max(1, len(members))
    return {"tensor": name, "nnz": last["nnz"], "dims": last["dims"], "device": last["device"],
            "format": last["format"], "seconds_iteration": seconds,
            "seconds_iteration_least": min(times), "seconds_iteration_most": max(times),
            "seconds_build": [record["seconds_build"] for record in records],
            "seconds_finish": [record["seconds_finish"] for record in records],
            "efficiency": (alone or seconds) / (count * seconds), "fit": last["fit"],
            "grid": last["team"]["grid"] if last["team"] else None,
            "imbalance": last["team"]["imbalance"] if last["team"] else None,
            "bytes_sent_per_iteration": [member["bytes_sent"] / last["iterations"]
                                         for member in members],
            "members": members}


def main():
    parser = cpu_script.parser(__doc__)
    parser.add_argument("--names", default="nell-2@0.25,amazon@0.05")
    parser.add_argument("--lists", default="cuda:0,cuda:all")
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--iterations", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--precision", default="f32")
    options = parser.parse_args()
    lists = [word.replace("+", ",") for word in options.lists.split(",")]
    record = cpu_script.begin(options, rank=options.rank, iterations=options.iterations,
                              rounds=options.rounds, precision=options.precision)
    for name in tensors.names(options.names):
        runs = {devices: [] for devices in lists}
        for _ in range(options.rounds):
            for devices in lists:
                runs[devices].append(run(options, name, devices))
        alone = None
        for devices in lists:
            row = row_of(name, devices, runs[devices], alone)
            alone = alone or row["seconds_iteration"]
            record["results"].append(row)
            print("{tensor} on {device}: {seconds_iteration:.6f} s an iteration, efficiency "
                  "{efficiency:.3f}".format(**row), flush=True)
        cpu_script.save(options, record)


if __name__ == "__main__":
    main()
