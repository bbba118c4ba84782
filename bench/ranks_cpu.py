#!/usr/bin/env python3
"""CP-ALS by several processes of one machine: what polyad plan predicted, what polyad measured, and what
SPLATT's medium-grained MPI took beside it.

usage: bench/ranks_cpu.py --tensors DIR --output results.json [--polyad build/polyad]
           [--splatt SPLATT] [--splatt-ranks 2] [--names ...] [--ranks 1,2,4] [--rank 16] [--iterations 12] [--rounds 3]
           [--mpirun "mpirun --oversubscribe"] [--limit SECONDS]

SPLATT is a splatt built with MPI by the same MPI; without it polyad runs alone. It runs with the numbers of
--splatt-ranks; where it fails, as its version 2.0.0 did on four processes, the row has its message. Every process has one
thread, and all are on one machine, which predictions know (--ranks-per-host); rows say where processes were more than
processors. In every round all programs run once on every tensor, one after the other. With
--limit no round begins after so many seconds, but for the first of each tensor; rows have their rounds. The
time of an iteration is the median over the iterations 3 and later of all rounds; polyad's by its trace,
with the fit, SPLATT's by what it prints, in milliseconds. Seconds of a message between two processes are
measured first, by mpi4py where it is there, and given to polyad plan."""
import os
import re
import shlex
import statistics
import subprocess
import sys
import time

import cpu_script
import tensors

PING = """
from mpi4py import MPI
import numpy as np, time
c, r = MPI.COMM_WORLD, MPI.COMM_WORLD.Get_rank()
a, b = np.ones(1, np.uint8), np.ones(1, np.uint8)
c.Barrier()
began = time.perf_counter()
for _ in range(2000):
    c.Sendrecv(a, 1 - r, 0, b, 1 - r, 0)
if r == 0:
    print((time.perf_counter() - began) / 2000)
"""


def latency_between(launcher):
    """Seconds of a message between two processes; what polyad plan takes by default where mpi4py is missing."""
    done = subprocess.run([*launcher, "-n", "2", sys.executable, "-c", PING], capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    return float(done.stdout) if done.returncode == 0 else 1e-6


def predicted(options, path, latency):
    told = cpu_script.record_of([
        options.polyad, "plan", path, "-r", str(options.rank), "--threads", "1", "--ranks",
        str(max(options.counts)), "--ranks-per-host", str(max(options.counts)), "--host-latency", repr(latency),
        "--quiet", "--json", "-"])
    return told, {row["ranks"]: row for row in told["predictions"]}


def polyad_times(options, path, count):
    record = cpu_script.record_of([
        *options.launcher, "-n", str(count), options.polyad, "cpd", path, "-r", str(options.rank),
        "--threads", "1", "--device", "cpu", "--max-iters", str(options.iterations), "--tol", "0",
        "--seed", "1", "--top", "0", "--quiet", "--json", "-"])
    clock = [row["seconds"] for row in record["trace"]]
    return [after - before for before, after in zip(clock[1:], clock[2:])], record


def splatt_times(options, path, count):
    """Times of iterations and the fit; where SPLATT fails, no times and what it said."""
    done = subprocess.run([*options.launcher, "-n", str(count), options.splatt, "cpd", path, "-r",
                           str(options.rank), "-i", str(options.iterations), "--tol=0", "-t", "1",
                           "--seed=1", "--nowrite"], capture_output=True, text=True, timeout=1800)
    times = [float(t) for t in re.findall(r"its =\s*\d+ \(([0-9.]+)s\)", done.stdout)]
    if len(times) != options.iterations:
        return [], f"status {done.returncode}: {done.stderr.strip()[-300:]}"
    fits = re.findall(r"fit = ([0-9.]+|-?nan|-?inf)", done.stdout)
    return times[2:], float(fits[-1]) if fits else None


def measure(options, name, latency):
    binary = tensors.path(options.tensors, name, ".ptn", options.polyad)
    text = tensors.path(options.tensors, name, ".tns", options.polyad) if options.splatt else None
    told, before = predicted(options, binary, latency)
    ours, theirs, failed, fits = {c: [] for c in options.counts}, {c: [] for c in options.counts}, {}, {}
    rounds = 0
    while rounds < options.rounds and (rounds == 0 or time.monotonic() < options.until):
        rounds += 1
        for count in options.counts:
            times, last = polyad_times(options, binary, count)
            ours[count] += times
            if count in options.splatt_counts and count not in failed:
                times, fit_or_error = splatt_times(options, text, count)
                (fits if times else failed)[count] = fit_or_error
                theirs[count] += times
            members = last["team"]["members"] if last["team"] else []
            if len(members) > 1:
                same = [m["nnz"] for m in members]
                assert max(same) == before[count]["nnz_most"], "what was counted is what was shared"
    for count in options.counts:
        seconds, expected = statistics.median(ours[count]), before[count]["seconds"]
        row = {"tensor": name, "ranks": count, "nnz": last["nnz"], "dims": last["dims"],
               "rounds": rounds, "grid": before[count]["grid"], "shared_processors": count > (os.cpu_count() or 1),
               "predicted_seconds": expected, "seconds": seconds, "seconds_least": min(ours[count]),
               "seconds_most": max(ours[count]), "predicted_over_measured": expected / seconds,
               "efficiency": statistics.median(ours[options.counts[0]]) / (count * seconds),
               "predicted_efficiency": before[count]["efficiency"]}
        row |= {key: told[key] for key in ("host_bytes_per_second", "process_bytes_per_second", "host_speedup")}
        if count in failed:
            row["splatt_failed"] = failed[count]
        elif theirs[count]:
            peer = statistics.median(theirs[count])
            row |= {"splatt_seconds": peer, "splatt_over_polyad": peer / seconds, "splatt_fit": fits[count]}
        yield row


def main():
    parser = cpu_script.parser(__doc__)
    parser.add_argument("--splatt")
    parser.add_argument("--splatt-ranks", default="2")
    parser.add_argument("--names", default="chicago-crime-2022,uber,nell-2@0.1")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--iterations", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mpirun", default="mpirun --oversubscribe")
    parser.add_argument("--limit", type=float, default=float("inf"))
    options = parser.parse_args()
    options.threads = 1
    options.until = time.monotonic() + options.limit
    options.launcher = shlex.split(options.mpirun)
    options.counts = [int(word) for word in options.ranks.split(",")]
    options.splatt_counts = [int(word) for word in options.splatt_ranks.split(",")] if options.splatt else []
    latency = latency_between(options.launcher)
    record = cpu_script.begin(options, rank=options.rank, precision="f64", iterations=options.iterations,
                              rounds=options.rounds, processors=os.cpu_count(), host_latency=latency)
    for name in tensors.names(options.names):
        for row in measure(options, name, latency):
            record["results"].append(row)
            print("{tensor}, {ranks} ranks: {seconds:.4f} s an iteration, {predicted_seconds:.4f} "
                  "predicted".format(**row), row.get("splatt_over_polyad", ""), flush=True)
        cpu_script.save(options, record)


if __name__ == "__main__":
    main()
