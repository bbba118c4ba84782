#!/usr/bin/env python3
"""CP-ALS on a GPU with factors in bfloat16 for a time, beside single precision throughout.

usage: bench/half_rows_gpu.py TENSOR... [--polyad build/polyad] [--formats modecopy,twotree] [--rank 32]
           [--rounds 3] [--iterations 16] [--tolerance 1e-5] > half_rows.json

First iterations alone, in alternating rounds at a tolerance so small that those of --half-rows stay
in bfloat16: `seconds_float` and `seconds_half` are medians of an iteration, `mttkrp_...` of its
products; `gain` is the ratio of the former, `gain_mttkrp` of the latter (the goal is 1.2 where L2 binds).
Then a run each to the tolerance: fits, iterations, those in bfloat16, seconds of all iterations.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tensors", nargs="+")
    parser.add_argument("--polyad", default="build/polyad")
    parser.add_argument("--formats", default="modecopy,twotree")
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=16)
    parser.add_argument("--tolerance", default="1e-5")
    return parser.parse_args()


def run(options, tensor, format_, half, *more):
    command = [options.polyad, "cpd", tensor, "--rank", str(options.rank), "--device", "cuda", "--precision", "f32",
               "--format", format_, "--seed", "1", "--top", "0", "--quiet", "--json", "-", *more]
    done = subprocess.run(command + ["--half-rows"] * half, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def iteration(found, half):
    """Median seconds of the iterations in bfloat16, or of all but the first two."""
    rows = found["trace"]
    steps = [(row["seconds"] - before["seconds"], bool(row.get("half_rows")))
             for before, row in zip(rows[1:], rows[2:])]
    chosen = [seconds for seconds, is_half in steps if is_half or not half]
    return statistics.median(chosen) if chosen else None


def measure(options, tensor, format_):
    seconds = {0: [], 1: []}
    mttkrp = {0: [], 1: []}
    halves = 0
    for _ in range(options.rounds):
        for half in (0, 1):
            found = run(options, tensor, format_, half, "--tol", "1e-12", "--max-iters", str(options.iterations))
            halves = sum(bool(row.get("half_rows")) for row in found["trace"]) if half else halves
            seconds[half].append(iteration(found, half))
            mttkrp[half].append(sum(found["seconds_mttkrp"]))
    if None in seconds[1]:
        return {"half_iterations": halves}
    middle = [statistics.median(seconds[half]) for half in (0, 1)]
    products = [statistics.median(mttkrp[half]) for half in (0, 1)]
    return {"seconds_float": middle[0], "seconds_half": middle[1], "gain": round(middle[0] / middle[1], 3),
            "mttkrp_float": products[0], "mttkrp_half": products[1], "gain_mttkrp": round(products[0] / products[1], 3),
            "half_iterations": halves}


def to_the_end(options, tensor, format_):
    found = {}
    for half, name in ((0, "float"), (1, "half")):
        ended = run(options, tensor, format_, half, "--tol", options.tolerance, "--max-iters", "500")
        found[name] = {"fit": ended["fit"], "iterations": ended["iterations"],
                       "half_iterations": sum(bool(row.get("half_rows")) for row in ended["trace"]),
                       "seconds_iterations": ended["trace"][-1]["seconds"] - ended["trace"][0]["seconds"]}
    found["fits_differ_by"] = abs(found["float"]["fit"] - found["half"]["fit"])
    return found


def main():
    options = arguments()
    results = []
    for tensor in options.tensors:
        for format_ in options.formats.split(","):
            results.append({"tensor": pathlib.Path(tensor).stem, "format": format_,
                            **measure(options, tensor, format_), "runs": to_the_end(options, tensor, format_)})
            print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    device = subprocess.run([options.polyad, "devices"], capture_output=True, text=True).stdout.strip().splitlines()
    json.dump({"command": " ".join(["half_rows_gpu.py"] + [pathlib.Path(word).name for word in sys.argv[1:]]),
               "device": [line for line in device if "cuda" in line], "rank": options.rank, "rounds": options.rounds,
               "iterations": options.iterations, "tolerance": options.tolerance, "results": results},
              sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
