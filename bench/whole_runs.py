#!/usr/bin/env python3
"""Whole runs of `polyad cpd` by the clock: start, reading, building, iterations, the end.

usage: bench/whole_runs.py --tensors DIR --output results.json [--polyad build/polyad]
           [--names whole] [--rank 16] [--rounds 3] [--threads 2]

Each round runs every tensor once, one after another, with the command's defaults but rank and seed;
generated tensors from NAME.ptn in DIR (made there when missing), real ones from data/NAME.tns.gz, as a
user has them. Seconds are medians over rounds; `seconds_clock` is the process from start to end.
"""
import platform
import statistics
import time

import cpu_script
import tensors

PARTS = ("seconds_read", "seconds_build", "seconds_iterations", "seconds_wall")


def file_of(options, name):
    if name in tensors.REAL:
        return tensors.source(name)
    return tensors.path(options.tensors, name, ".ptn", options.polyad)


def run(options, name):
    begin = time.perf_counter()
    record = cpu_script.record_of([
        options.polyad, "cpd", file_of(options, name), "--rank", str(options.rank), "--seed", "1",
        "--threads", str(options.threads), "--device", "cpu", "--quiet", "--json", "-"])
    return {**record, "seconds_clock": time.perf_counter() - begin}


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":")[1].strip() for line in lines
                        if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def row_of(name, rounds):
    last = rounds[-1]
    times = {part: [one[part] for one in rounds] for part in ("seconds_clock", *PARTS)}
    return {"tensor": name, "nnz": last["nnz"], "order": last["order"], "format": last["format"],
            "iterations": last["iterations"], "fit": last["fit"], "peak_bytes": last["peak_bytes"],
            **{part: statistics.median(found) for part, found in times.items()},
            "rounds_clock": times["seconds_clock"]}


def main():
    parser = cpu_script.parser(__doc__)
    parser.add_argument("--names", default="whole")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    record = cpu_script.begin(options, machine=processor(), rounds=options.rounds, rank=options.rank)
    names = tensors.names(options.names)
    for name in names:
        file_of(options, name)
    runs = {name: [] for name in names}
    for number in range(options.rounds):
        for name in names:
            runs[name].append(run(options, name))
        print(f"round {number + 1} of {options.rounds}", flush=True)
    record["results"] = [row_of(name, rounds) for name, rounds in runs.items()]
    cpu_script.save(options, record)
    for row in record["results"]:
        print("{tensor}: {seconds_clock:.3f} s ({format}, {iterations} iterations)".format(**row))


if __name__ == "__main__":
    main()
