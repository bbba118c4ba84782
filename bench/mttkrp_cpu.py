#!/usr/bin/env python3
"""MTTKRP in all modes on the CPU: polyad, SPLATT, ALTO and Dynasor+ in interleaved rounds.

usage: bench/mttkrp_cpu.py --tensors DIR --output results.json [--polyad build/polyad]
           [--splatt BIN] [--splatt-f32 BIN] [--alto64 BIN] [--alto128 BIN] [--dynasor BIN]
           [--dynasor-layout auto] [--names SET] [--ranks 16,32] [--precisions f64,f32]
           [--format auto] [--rounds 5] [--threads 2]

SET is one of bench/tensors.py: generated tensors beside real ones. DIR holds NAME.tns (what ALTO
and, without NAME.bin, SPLATT reads) and NAME.ptn for polyad; what is missing is made there, but
NAME.bin (binary files only load faster). Each round runs
every program once on the same tensor, so that what else the machine does touches all alike. A
program's figure is the median over rounds of the sum over modes of its medians over iterations;
ALTO prints only the mean of its iterations. SPLATT runs with its defaults (two CSF) as `splatt cpd`,
which reports its MTTKRP times; ALTO runs its own MTTKRP benchmark (keys of more than 64 bits need
its 128-bit build); Dynasor+, in float32 only and with the layout that is named, prints the sum over
the iterations of a CP-ALS: that of a run with few iterations is taken from that of one with many.
It is asked for the kernel that does one mode after the other: by itself it takes, for some tensors,
one that adds to all modes in one pass with the same factors, which is not what CP-ALS needs.
"""
import argparse
import csv
import json
import os
import platform
import re
import statistics
import subprocess
import sys

import tensors

ITERATIONS = 5


def run(command, threads):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3600)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")
    return done.stdout


def file_of(options, name, end):
    return tensors.path(options.tensors, name, end, options.polyad)


def time_polyad(options, name, rank, precision):
    out = run([options.polyad, "bench", "mttkrp", file_of(options, name, ".ptn"), "-r", str(rank),
               "--precision", precision, "--threads", str(options.threads), "--device", "cpu",
               "--format", options.format, "--repeat", str(ITERATIONS), "--warmup", "1",
               "--json", "-"], options.threads)
    record = json.loads(out)
    rows = record["results"]
    options.bits[name] = sum(max(1, (dim - 1).bit_length()) for dim in record["dims"])
    return {"seconds": sum(row["median_seconds"] for row in rows),
            "format": rows[0]["format"], "variant": rows[0]["variant"],
            "bytes_format": rows[0]["bytes_format"], "build_seconds": rows[0]["build_seconds"],
            "max_relative_error": max(row["max_relative_error"] for row in rows)}


def time_splatt(options, name, rank, precision):
    program = options.splatt if precision == "f64" else options.splatt_f32
    if not program:
        return None
    binary = os.path.join(options.tensors, name + ".bin")
    path = binary if os.path.exists(binary) else file_of(options, name, ".tns")
    out = run([program, "cpd", path, "-r", str(rank), "-i",
               str(ITERATIONS), "-t", str(options.threads), "--tol", "0", "--nowrite", "-v", "-v"],
              options.threads)
    modes = {}
    for mode, slowest in re.findall(r"MTTKRP mode (\d+):.*max: ([0-9.]+)s", out):
        modes.setdefault(mode, []).append(float(slowest))
    return {"seconds": sum(statistics.median(times) for times in modes.values())}


def time_alto(options, name, rank, precision):
    program = options.alto64 if options.bits[name] <= 64 else options.alto128
    if not program or precision != "f64":
        return None
    path = file_of(options, name, ".tns")
    out = run([program, "-l", "als", "-p", "-m", str(ITERATIONS), "-r", str(rank), "-t", "-1", "-i",
               path], options.threads)
    return {"seconds": float(re.search(r"ALTO runtime:\s+([0-9.]+)", out).group(1)) / ITERATIONS}


def time_dynasor(options, name, rank, precision):
    if not options.dynasor or precision != "f32":
        return None
    seconds = {}
    for iterations in (ITERATIONS, 10 * ITERATIONS):
        out = run([options.dynasor, file_of(options, name, ".tns"), "--rank", str(rank), "--threads",
                   str(options.threads), "--no-cache", "--layout", options.dynasor_layout,
                   "--decompose", "cpals", "--cp-kernel", "gs", "--cp-iters", str(iterations),
                   "--cp-tol", "0"], options.threads)
        done = int(re.search(r"done\s+iters=(\d+)", out).group(1))
        if done != iterations:
            raise RuntimeError(f"Dynasor+ on {name}: {done} iterations found; expected {iterations}")
        seconds[iterations] = float(re.search(r"spMTTKRP\s*=\s*([0-9.]+)", out).group(1))
    return {"seconds": (seconds[10 * ITERATIONS] - seconds[ITERATIONS]) / (9 * ITERATIONS)}


PROGRAMS = {"polyad": time_polyad, "splatt": time_splatt, "alto": time_alto, "dynasor": time_dynasor}
PEERS = tuple(program for program in PROGRAMS if program != "polyad")


def measure(options, name, rank, precision):
    times = {program: [] for program in PROGRAMS}
    about = {}
    for number in range(options.rounds):
        for program, function in PROGRAMS.items():
            result = function(options, name, rank, precision)
            if result is None:
                continue
            times[program].append(result.pop("seconds"))
            if program == "polyad":
                about = result
        print(f"{name} r{rank} {precision} round {number + 1}: " +
              ", ".join(f"{p} {t[-1]:.4f}" for p, t in times.items() if t), file=sys.stderr)
    row = {"tensor": name, "rank": rank, "precision": precision, **about}
    for program, seconds in times.items():
        row[program + "_seconds"] = statistics.median(seconds) if seconds else None
        row[program + "_rounds"] = seconds
    for peer in PEERS:
        # A round's programs ran side by side: the median of its ratios is steadier than the ratio.
        pairs = zip(times[peer], times["polyad"])
        row[peer + "_over_polyad"] = (statistics.median(a / b for a, b in pairs)
                                      if times[peer] else None)
    return row


COLUMNS = ["tensor", "rank", "precision", "format", "polyad_seconds",
           *(peer + "_seconds" for peer in PEERS), *(peer + "_over_polyad" for peer in PEERS)]


def write(options, rows, columns, conditions):
    """Writes all rows with the machine's state as JSON, their columns as CSV beside it."""
    load = os.getloadavg()
    record = {"machine": platform.processor() or platform.machine(), "cpus": os.cpu_count(),
              "threads": options.threads, "rounds": options.rounds, **conditions,
              "load_average": load,
              "command": " ".join(os.path.basename(word) for word in sys.argv), "results": rows}
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
        record["machine"] = names[0] if names else record["machine"]
    with open(options.output, "w", encoding="utf-8") as out:
        json.dump(record, out, indent=1)
        out.write("\n")
    with open(os.path.splitext(options.output)[0] + ".csv", "w", encoding="utf-8") as out:
        table = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensors", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--polyad", default="build/polyad")
    for peer in ("splatt", "splatt-f32", "alto64", "alto128", "dynasor"):
        parser.add_argument("--" + peer)
    parser.add_argument("--dynasor-layout", default="auto")
    parser.add_argument("--names", default="mttkrp")
    parser.add_argument("--ranks", default="16,32")
    parser.add_argument("--precisions", default="f64,f32")
    parser.add_argument("--format", default="auto", help="polyad's")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    options.bits = {}
    rows = []
    for precision in options.precisions.split(","):
        for rank in options.ranks.split(","):
            for name in tensors.names(options.names):
                rows.append(measure(options, name, int(rank), precision))
                write(options, rows, COLUMNS, {"iterations": ITERATIONS})


if __name__ == "__main__":
    main()
