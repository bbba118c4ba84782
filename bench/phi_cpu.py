#!/usr/bin/env python3
"""CP-APR's Phi and multiplicative update on the CPU: polyad, ALTO and SparTen in interleaved rounds.

usage: bench/phi_cpu.py --tensors DIR --output results.json [--polyad build/polyad]
           [--alto64 BIN] [--sparten BIN] [--names SET] [--formats auto,alto]
           [--rank 16] [--inner 5] [--rounds 3] [--threads 2]

DIR holds NAME.tns for ALTO and, where they are, NAME.ptn for polyad and NAME.bin (SPLATT's binary)
for SparTen. Each round runs every program once on the same tensor, so that what else the machine
does touches all alike; figures are medians over rounds, ratios medians of the rounds' ratios.

`phi`: seconds of Phi over all modes. `outer`: seconds of one outer iteration with --inner inner
iterations in every mode; nothing stops early in any of the programs, and each brings its own
random start, which costs the same. SparTen keeps the rows of Pi and needs them computed once per
mode and outer iteration; polyad and ALTO make them on the fly. ALTO runs its own benchmark mode.
--sparten names a program `BIN FILE.bin RANK OUTER INNER TIMES` around SparTen's
CpAprMultiplicativeUpdate that prints outer_seconds and phi_seconds as JSON.
"""
import argparse
import json
import re
import statistics
import sys

import mttkrp_cpu
import tensors


def time_polyad(options, name, storage):
    path = mttkrp_cpu.file_of(options, name, ".ptn")
    common = ["-r", str(options.rank), "--threads", str(options.threads), "--device", "cpu",
              "--format", storage, "--json", "-"]
    phi = json.loads(mttkrp_cpu.run([options.polyad, "bench", "phi", path, "--repeat", "3",
                                     "--warmup", "1", *common], options.threads))["results"]
    model = json.loads(mttkrp_cpu.run(
        [options.polyad, "cpd", path, "--algorithm", "apr-mu", "--max-iters", str(options.outer),
         "--inner-iters", str(options.inner), "--tol", "0", "--quiet", *common], options.threads))
    seconds = [step["seconds"] for step in model["trace"]]
    return {"phi": sum(row["median_seconds"] for row in phi),
            "outer": seconds[-1] / len(seconds),
            "format": phi[0]["format"], "variant": phi[0]["variant"]}


def time_alto(options, name):
    out = mttkrp_cpu.run([options.alto64, "-l", "apr", "-p", "-m", str(options.outer), "-n",
                          str(options.inner), "-r", str(options.rank), "-i",
                          mttkrp_cpu.file_of(options, name, ".tns")], options.threads)
    def seconds(what):
        return float(re.search(what + r"\s*= ([0-9.]+)", out).group(1)) / options.outer
    return {"phi": seconds("Phi accumulated time") / options.inner,
            "outer": seconds("main iteration time")}


def time_sparten(options, name):
    out = mttkrp_cpu.run([options.sparten, f"{options.tensors}/{name}.bin", str(options.rank), "1",
                          str(options.inner), "3"], options.threads)
    record = json.loads(out[out.index("{"):])
    return {"phi": record["phi_seconds"], "outer": record["outer_seconds"]}


def programs(options):
    found = {}
    for storage in options.formats.split(","):
        found["polyad " + storage] = lambda o, n, s=storage: time_polyad(o, n, s)
    if options.alto64:
        found["alto"] = time_alto
    if options.sparten:
        found["sparten"] = time_sparten
    return found


def measure(options, name):
    rounds = {program: [] for program in programs(options)}
    for number in range(options.rounds):
        for program, function in programs(options).items():
            rounds[program].append(function(options, name))
        print(f"{name} round {number + 1}: " + ", ".join(
            f"{p} phi {t[-1]['phi']:.4f} outer {t[-1]['outer']:.4f}" for p, t in rounds.items()),
            file=sys.stderr)
    rows = []
    ours = rounds["polyad " + options.formats.split(",", maxsplit=1)[0]]
    for program, times in rounds.items():
        row = {"tensor": name, "rank": options.rank, "program": program,
               "format": times[0].get("format"), "variant": times[0].get("variant")}
        for what in ("phi", "outer"):
            row[what + "_seconds"] = statistics.median(one[what] for one in times)
            row[what + "_rounds"] = [one[what] for one in times]
            row[what + "_over_polyad"] = statistics.median(
                one[what] / mine[what] for one, mine in zip(times, ours))
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensors", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--polyad", default="build/polyad")
    parser.add_argument("--alto64")
    parser.add_argument("--sparten")
    parser.add_argument("--names", default="phi")
    parser.add_argument("--formats", default="auto,alto")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--outer", type=int, default=2)
    parser.add_argument("--inner", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    rows = []
    for name in tensors.names(options.names):
        rows += measure(options, name)
        mttkrp_cpu.write(options, rows, ["tensor", "rank", "program", "format", "phi_seconds",
                                         "phi_over_polyad", "outer_seconds", "outer_over_polyad"],
                         {"outer": options.outer, "inner": options.inner})


if __name__ == "__main__":
    main()
