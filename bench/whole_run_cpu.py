#!/usr/bin/env python3
"""Whole runs of CP-ALS on the CPU, polyad beside other programs: from a .tns file to the written model.

usage: bench/whole_run_cpu.py --tensors DIR --output results.json [--polyad build/polyad]
           [--splatt PROGRAM] [--alto PROGRAM] [--python PYTHON] [--names peers] [--rank 16]
           [--iterations 20] [--threads 2] [--rounds 3] [--limit 30]

Every program reads the same text, takes float64, the same rank, number of iterations and threads, a
tolerance of zero, and starts of its own; programs that are not given are left out. PYTHON is one that
has pygenten (GenTen) and pyttb (bench/python_peers.py). Each round runs all programs on a tensor one
after another, in an order that turns from round to round. `seconds` is the clock from the process's
start to its end, without what it reports as the time of reading in `seconds_after_reading`; medians
over the rounds. A program that takes longer than --limit seconds is stopped and not asked again; its
seconds are then a lower bound (`stopped`).

A peer's `ratio` is the median over rounds of its seconds over polyad's in the same round. ALTO has no
option that writes the model: its time lacks that; what it prints when it has read the tensor dates the
end of reading.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import cpu_script
import tensors
import whole_runs

TIMES = ("seconds", "seconds_after_reading")


def commands(options, file, model):
    """What each program is started with."""
    rank, iterations, threads = (str(n) for n in (options.rank, options.iterations, options.threads))
    made = {"polyad": [options.polyad, "cpd", file, "-r", rank, "-i", iterations, "--tol", "0", "-t",
                       threads, "--device", "cpu", "--quiet", "--json", "-", "-o",
                       model + options.model]}
    if options.splatt:
        made["splatt"] = [options.splatt, "cpd", file, "-r", rank, "-i", iterations, "--tol", "0",
                          "-t", threads, "-s", model, "-v"]
    if options.alto:
        made["alto"] = ["stdbuf", "-oL", options.alto, "-l", "als", "-i", file, "-r", rank, "-m",
                        iterations, "-e", "1e-30"]
    if options.python:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_peers.py")
        for package in ("genten", "pyttb"):
            made[package] = [options.python, script, package, file, model, rank, iterations]
    return made


def last_number(pattern, text):
    return float(re.findall(pattern, text)[-1])


def about(program, lines):
    """Seconds of reading and the fit, from the lines that a program prints at their times."""
    text = "".join(line for _, line in lines)
    if program == "splatt":
        return last_number(r"\bIO\s+([\d.]+)s", text), last_number(r"Final fit: (\S+)", text)
    if program == "alto":  # tells of the tensor when it has read it
        return (next(when for when, line in lines if line.startswith("# Modes")),
                last_number(r"\bfit: (\S+)", text))
    record = json.loads(text if program == "polyad" else lines[-1][1])
    return record["seconds_read"], record["fit"]


def run(program, command, options):
    """One run: its times and fit; None when it took too long."""
    environment = dict(os.environ)
    if program != "polyad":
        environment |= {"OMP_NUM_THREADS": str(options.threads), "OMP_PROC_BIND": "false",
                        "OPENBLAS_NUM_THREADS": str(options.threads)}
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as process:
        timer = threading.Timer(options.limit, process.kill)
        timer.start()
        lines = [(time.perf_counter() - begin, line) for line in process.stdout]
        process.wait()
        seconds = time.perf_counter() - begin
        timer.cancel()
        errors.seek(0)
        if seconds >= options.limit:
            return None
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {errors.read().strip()[-300:]}")
    read, fit = about(program, lines)
    return {"seconds": seconds, "seconds_after_reading": seconds - read, "fit": fit}


def file_of(name, options):
    """The tensor's text without comments, which only polyad and SPLATT take."""
    made = tensors.path(options.tensors, name, ".tns", options.polyad)
    plain = made.removesuffix(".tns") + ".plain.tns"
    if not os.path.exists(plain):
        with open(made, encoding="ascii") as lines, open(plain, "w", encoding="ascii") as out:
            out.writelines(line for line in lines if not line.startswith("#"))
    return plain


def measure(name, options):
    """A row for each program."""
    file = file_of(name, options)
    rounds, stopped = [], set()
    for number in range(options.rounds):
        rounds.append({})
        with tempfile.TemporaryDirectory() as folder:
            order = list(commands(options, file, os.path.join(folder, "model")).items())
            turn = number % len(order)
            for program, command in order[turn:] + order[:turn]:
                found = None if program in stopped else run(program, command, options)
                if found is None:
                    stopped.add(program)
                else:
                    rounds[-1][program] = found
    return [row_of(name, program, rounds, program in stopped, options) for program in dict(order)]


def row_of(name, program, rounds, stopped, options):
    ours = [one["polyad"] for one in rounds]
    theirs = [one.get(program, dict.fromkeys(TIMES, options.limit) | {"fit": None})
              for one in rounds]
    row = {"tensor": name, "program": program, "stopped": stopped, "fit": theirs[-1]["fit"]}
    for kind in TIMES:
        row[kind] = statistics.median(one[kind] for one in theirs)
        ratios = [a[kind] / b[kind] for a, b in zip(theirs, ours)]
        row["ratio" + kind.removeprefix("seconds")] = statistics.median(ratios)
        row["rounds" + kind.removeprefix("seconds")] = [one[kind] for one in theirs]
    print("{tensor} {program}: {seconds:.3f} s ({ratio:.2f}), after reading {seconds_after_reading:.3f} s "
          "({ratio_after_reading:.2f}), fit {fit}".format(**row), file=sys.stderr, flush=True)
    return row


def arguments():
    parser = cpu_script.parser(__doc__)
    for program in ("splatt", "alto", "python"):
        parser.add_argument("--" + program)
    parser.add_argument("--names", default="peers")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=30)
    parser.add_argument("--model", default=".ktensor", help="how polyad's model ends: .ktensor, .ptm")
    return parser.parse_args()


def main():
    options = arguments()
    names = tensors.names(options.names)
    for name in names:
        file_of(name, options)
    record = cpu_script.begin(options, machine=whole_runs.processor(), rounds=options.rounds,
                              rank=options.rank, iterations=options.iterations, limit=options.limit,
                              load_before=os.getloadavg())
    for name in names:
        record["results"] += measure(name, options)
        cpu_script.save(options, record)


if __name__ == "__main__":
    main()
