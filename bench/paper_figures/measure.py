#!/usr/bin/env python3
"""Runs the papers' experiments on this machine and keeps what came out in one JSON archive.

usage: bench/paper_figures/measure.py ARCHIVE [--polyad build/polyad] [--device cuda]
           [--papers ABCD] [--data generated|real] [--scale S] [--tensors DIR] [--minutes M]

What the archive has is not run again, so that measuring goes on where it stopped; delete the file
or a record to measure anew. A run of polyad takes at most 8 minutes. What fails (no such device, a
kernel that this build lacks, no memory) is kept with its message and leaves a gap in the figures.
FIGURES=quick takes tensors of at most 80 million nonzeros. --data real reads DIR/NAME.ptn or
NAME.tns.gz (bench/data/fetch), and leaves out tensors that are not there.
"""
import argparse
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import time

from experiments import all_steps

LIMIT = 480
COUNTERS = {"sm": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
            "l1": "l1tex__throughput.avg.pct_of_peak_sustained_elapsed"}
DURATION = "gpu__time_duration.sum"


def sources(options):
    def generated(tensor):
        return "like:" + tensor + ("" if options.scale == 1 else f"@{options.scale:g}")

    def real(tensor):
        for extension in (".ptn", ".tns.gz", ".tns"):
            path = os.path.join(options.tensors, tensor + extension)
            if os.path.exists(path):
                return path
        return os.path.join(options.tensors, tensor + ".ptn")
    return generated if options.data == "generated" else real


def run_polyad(command):
    """The JSON object of a command, or the reason why there is none."""
    try:
        done = subprocess.run(command + ["--json", "-", "--quiet"], capture_output=True, text=True,
                              timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None, f"took longer than {LIMIT} s"
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["failed"])[-1]
    return json.loads(done.stdout), None


def run_counters(command):
    """Throughputs of all kernels of a command, weighted by their time, from Nsight Compute."""
    if shutil.which("ncu") is None:
        return None, "Nsight Compute (ncu) is not installed"
    metrics = ",".join([*COUNTERS.values(), DURATION])
    try:
        done = subprocess.run(["ncu", "--csv", "--clock-control", "none", "--metrics", metrics,
                               *command, "--quiet"], capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None, f"took longer than {LIMIT} s"
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    kernels = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        try:
            value = float(row["Metric Value"].replace(",", ""))
        except (KeyError, ValueError, AttributeError):
            continue
        kernels.setdefault(row["ID"], {})[row["Metric Name"]] = value
    times = [k.get(DURATION, 0) for k in kernels.values()]
    if sum(times) == 0:
        return None, (done.stderr.strip().splitlines() or ["no kernel was profiled"])[-1]
    return {name: sum(k.get(metric, 0) * t for k, t in zip(kernels.values(), times)) / sum(times)
            for name, metric in COUNTERS.items()}, None


def run(options, arguments, counters):
    command = [options.polyad, *arguments, "--device", options.device]
    if arguments[1] != "stream":
        command += ["-r", "32", "--precision", "f32"]
    begin = time.monotonic()
    output, message = (run_counters if counters else run_polyad)(command)
    return {"command": " ".join(["polyad", *command[1:]]), "output": output, "message": message,
            "seconds": round(time.monotonic() - begin, 3),
            "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}


def load(path):
    if not os.path.exists(path):
        return {"records": []}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(path, archive):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(archive, file, indent=1)
    os.replace(path + ".new", path)


def device_of(options):
    output, message = run_polyad([options.polyad, "devices"])
    wanted = "cpu" if options.device == "auto" else options.device
    for device in (output or {}).get("devices", []):
        if device["name"].startswith(wanted):
            return device
    return {"name": wanted, "description": message or "not found"}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive")
    parser.add_argument("--polyad", default="build/polyad")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--papers", default="ABCD")
    parser.add_argument("--data", choices=["generated", "real"], default="generated")
    parser.add_argument("--scale", type=float, default=1, help="part of the nonzeros to generate")
    parser.add_argument("--tensors", default="bench/data/tensors")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no step after so many")
    options = parser.parse_args()
    archive = load(options.archive)
    if "machine" not in archive:
        archive["machine"] = device_of(options)
    done = {(r["paper"], r["figure"], r["tensor"], r["data"]) for r in archive["records"]}
    data = options.data if options.scale == 1 else f"{options.data}, {options.scale:g} of them"
    begin = time.monotonic()
    for step in all_steps(sources(options), os.environ.get("FIGURES") == "quick"):
        key = (step.paper, step.figure, step.tensor, data)
        if step.paper not in options.papers or key in done:
            continue
        if time.monotonic() - begin > 60 * options.minutes:
            print("time is up; run again to go on", file=sys.stderr)
            break
        runs = {r.label: run(options, r.arguments, r.label.startswith("counters "))
                for r in step.runs}
        archive["records"].append(dict(zip(("paper", "figure", "tensor", "data"), key), runs=runs))
        save(options.archive, archive)
        failed = [f"{label}: {r['message']}" for label, r in runs.items() if r["message"]]
        print(f"paper {step.paper}, figure {step.figure}, {step.tensor or 'machine'}: "
              f"{sum(r['seconds'] for r in runs.values()):.1f} s", *failed, sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
