#!/usr/bin/env python3
"""Completion on a GPU beside the CPU's: the time to the same error, by the command alone.

usage: completion_device.py --polyad PATH [--tensors NAME,...] [--ranks 10,50] [--pairs 3]
                            [--device cuda] [--threads N] [--seconds 5] [--device-seconds 1]
                            [--limit 60] --json FILE

A tensor of data/ is dealt out to 80% of its entries for fitting, 10% for validation and 10% for the
test, anew for each seed. `als` and `ccd` with biases and ridge 2 run on the CPU and on the device, in
turn, for `--seconds` and `--device-seconds`: the least validation error of the CPU's run, plus 1%, is
what both have to come to. `iteration` is the median time of an iteration, `to_same_error` the time of the
iterations until then (null: not in that time), `wall` that of the whole command, with reading. Times
are by the clock, as a processor waits while a GPU works; ratios are the CPU's over the device's. After
`--limit` seconds no further run begins.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


def split(options, name, seed, folder):
    subprocess.run([options.polyad, "split", str(options.data / f"{name}.tns.gz"), "--test", "0.1",
                    "--validation", "0.1", "--seed", str(seed), "--output", f"{folder}/{name}"],
                   check=True, stdout=subprocess.DEVNULL)


def fit(options, name, folder, algorithm, rank, device):
    seconds = options.seconds if device == "cpu" else options.device_seconds
    out = f"{folder}/{name}.json"
    began = time.perf_counter()
    subprocess.run([options.polyad, "cpd", f"{folder}/{name}-train.ptn", "--absent", "unknown",
                    "--biases", "--validation", f"{folder}/{name}-validation.ptn", "--algorithm",
                    algorithm, "--rank", str(rank), "--ridge", "2", "--device", device, "--threads",
                    str(options.threads), "--max-seconds", str(seconds), "--patience", "1000",
                    "--tol", "0", "--max-iters", "1000", "--quiet", "--json", out],
                   check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - began
    return json.loads(pathlib.Path(out).read_text()) | {"wall": wall}


def seconds_of(trace):
    """Of each iteration; `seconds` in a trace are since the start of the run."""
    times = [row["seconds"] for row in trace]
    return [b - a for a, b in zip(times, times[1:])] or times


def until(result, error):
    """Seconds from the first iteration's begin, as all have it, to this validation error."""
    trace = result["trace"]
    first = trace[0]["seconds"] - statistics.median(seconds_of(trace))
    reached = (row["seconds"] for row in trace if row["validation_rmse"] <= error)
    at = next(reached, None)
    return None if at is None else at - first


def compare(options, name, algorithm, rank, seed, folder):
    results = {device: fit(options, name, folder, algorithm, rank, device)
               for device in (("cpu", options.device) if seed % 2 else (options.device, "cpu"))}
    cpu = results["cpu"]
    error = 1.01 * min(row["validation_rmse"] for row in cpu["trace"])
    row = {"tensor": name, "nnz": cpu["nnz"], "algorithm": algorithm, "rank": rank, "seed": seed,
           "error": error}
    for device, result in results.items():
        row[device] = {"device": result["device"], "iterations": result["iterations"],
                       "iteration": statistics.median(seconds_of(result["trace"])),
                       "to_same_error": until(result, error), "wall": result["wall"],
                       "setup": result["seconds_init"],
                       "validation_rmse": result["validation_rmse"],
                       "fit_of_iteration_3": result["trace"][min(2, len(result["trace"]) - 1)]["fit"]}
    there = row[options.device]
    row["ratio_iteration"] = row["cpu"]["iteration"] / there["iteration"]
    if there["to_same_error"] and row["cpu"]["to_same_error"]:
        row["ratio_to_same_error"] = row["cpu"]["to_same_error"] / there["to_same_error"]
    return row


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--polyad", required=True)
    parser.add_argument("--data", type=pathlib.Path, default=DATA)
    parser.add_argument("--tensors", default="flights-2001h1,uber-apr-may,nycflights13")
    parser.add_argument("--ranks", default="10,50",
                        type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--device-seconds", type=float, default=1)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--json", required=True)
    options = parser.parse_args()
    began = time.monotonic()
    devices = json.loads(subprocess.run([options.polyad, "devices", "--json", "-"], check=True,
                                        capture_output=True).stdout)
    words = [pathlib.Path(word).name for word in sys.argv[1:]]
    record = {"command": " ".join(["completion_device.py", *words]), "devices": devices,
              "processor": processor(), "threads": options.threads, "results": []}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.pairs):
            for name in options.tensors.split(","):
                split(options, name, seed, folder)
                for algorithm in ("als", "ccd"):
                    for rank in options.ranks:
                        if time.monotonic() - began > options.limit:
                            continue
                        row = compare(options, name, algorithm, rank, seed, folder)
                        record["results"].append(row)
                        record["load_average"] = os.getloadavg()
                        print(name, algorithm, rank, seed, row["ratio_iteration"],
                              row.get("ratio_to_same_error"), file=sys.stderr, flush=True)
                        pathlib.Path(options.json).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
