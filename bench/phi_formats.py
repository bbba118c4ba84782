#!/usr/bin/env python3
"""CP-APR's Phi and MTTKRP of polyad's formats on the CPU: what the plan's rule for Phi rests on.

usage: bench/phi_formats.py --tensors DIR --output results.json [--polyad build/polyad]
           [--names SET] [--formats coo,csf,alto,modecopy] [--rank 16]
           [--rounds 3] [--threads 2] [--iterations 5]

Formats take turns in every round; `phi_seconds` and `mttkrp_seconds` are medians over rounds of
the sum over modes, `estimate_seconds` is the plan's estimate for Phi without building, and `chosen` is
the format that `polyad cpd --algorithm apr-mu` takes for so many iterations.
"""
import os
import re
import statistics
import subprocess
import sys

import cpu_script
import tensors


def kernel_seconds(options, kernel, path, storage):
    rows = cpu_script.record_of([
        options.polyad, "bench", kernel, path, "-r", str(options.rank), "-t", str(options.threads),
        "--device", "cpu", "--format", storage, "--repeat", "3", "--warmup", "1", "--json",
        "-"])["results"]
    return sum(row["median_seconds"] for row in rows)


def plan_of(options, path):
    """The chosen format, and the estimate of each one that could be."""
    done = subprocess.run([options.polyad, "cpd", path, "-r", str(options.rank),
                           "-i", str(options.iterations), "-t", str(options.threads),
                           "--device", "cpu", "--algorithm", "apr-mu", "--verbose"],
                          capture_output=True, text=True, check=True, timeout=1800)
    found = re.findall(r"^(?:not )?(\w+)(?: \(.*\))?: estimated .* sweeps of ([0-9.e+-]+) s",
                       done.stderr, re.M)
    return found[0][0], {name: float(seconds) for name, seconds in found}


def measure(options, name):
    path = tensors.path(options.tensors, name, ".ptn", options.polyad)
    chosen, estimates = plan_of(options, path)
    names = options.formats.split(",")
    seconds = {(kernel, f): [] for kernel in ("phi", "mttkrp") for f in names}
    for _ in range(options.rounds):
        for kernel, storage in seconds:
            seconds[kernel, storage].append(kernel_seconds(options, kernel, path, storage))
    median = {key: statistics.median(times) for key, times in seconds.items()}
    fastest = min(median["phi", f] for f in names)
    for f in names:
        print(f"{name} {f}: Phi {median['phi', f]:.4f} s, MTTKRP {median['mttkrp', f]:.4f} s, "
              f"estimated {estimates.get(f)}{', chosen' if f == chosen else ''}", file=sys.stderr)
    return {"tensor": name, "chosen": chosen,
            "chosen_over_fastest": median["phi", chosen] / fastest if chosen in names else None,
            "formats": [{"format": f, "phi_seconds": median["phi", f],
                         "mttkrp_seconds": median["mttkrp", f],
                         "phi_over_mttkrp": median["phi", f] / median["mttkrp", f],
                         "estimate_seconds": estimates.get(f)} for f in names]}


def main():
    parser = cpu_script.parser(__doc__)
    parser.add_argument("--names", default="phi")
    parser.add_argument("--formats", default="coo,csf,alto,modecopy")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=5)
    options = parser.parse_args()
    record = cpu_script.begin(options, rounds=options.rounds, rank=options.rank)
    for name in tensors.names(options.names):
        record["results"].append(measure(options, name))
        cpu_script.save(options, record)


if __name__ == "__main__":
    main()
