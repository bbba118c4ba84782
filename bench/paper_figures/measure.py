#!/usr/bin/env python3
"""Runs the papers' experiments on this machine and keeps what came out in one JSON archive.

usage: bench/paper_figures/measure.py ARCHIVE [--polyad build/polyad] [--device cuda]
           [--papers ABD] [--data generated|real] [--scale S] [--tensors DIR] [--minutes M]

What the archive has is not run again, so that measuring goes on where it stopped; delete the file
or a record to measure anew. A step takes at most 8 minutes. What fails (no such device, a kernel
that this build lacks, no memory) is kept with its message and leaves a gap in the figures.

Tensors are generated when first needed, into a folder that is removed at the end, or into DIR,
where they stay. --data real reads DIR/NAME.ptn or NAME.tns.gz (bench/data/fetch; by default from
bench/data/tensors).

FIGURES=quick takes tensors of at most 80 million nonzeros, fewer repetitions and 8 minutes: no step
begins in the last half of a minute, and one that is not ready by then is not kept. What is left is
listed, also in the archive.
"""
import argparse
import json
import os
import shutil
import sys
import time

from experiments import LEFT_OUT, all_steps
from runs import Clock, OutOfTime, Runner, Tensors, run_polyad


def load(path):
    if not os.path.exists(path):
        return {"records": []}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(path, archive, indent=None):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(json.dumps(archive, indent=indent))  # without indent many times as fast
    os.replace(path + ".new", path)


def device_of(options):
    output, message = run_polyad([options.polyad, "devices"], None, Clock(1))
    wanted = "cpu" if options.device == "auto" else options.device
    for device in (output or {}).get("devices", []):
        if device["name"].startswith(wanted):
            return device
    return {"name": wanted, "description": message or "not found"}


def key_of(record):
    return tuple(record[name] for name in ("paper", "figure", "tensor", "data"))


def is_whole(record, quick):
    """Whether the archive's record is all that is asked for."""
    return quick or all(run["message"] != LEFT_OUT for run in record["runs"].values())


def name_of(step):
    return f"paper {step.paper}, figure {step.figure}, {step.tensor or 'machine'}"


def keep(options, archive, record, made):
    archive["records"] = [r for r in archive["records"] if key_of(r) != key_of(record)] + [record]
    archive.setdefault("tensors", {}).update(made)
    save(options.archive, archive)


def report(step, runs, seconds):
    failed = [f"{label}: {run['message']}" for label, run in runs.items() if run["message"]]
    print(f"{name_of(step)}: {seconds:.1f} s", *failed, sep="\n  ", flush=True)


def measure(options, archive, pending, tensors, clock, data):
    """Runs steps while there is time; returns those that are left."""
    runner, left = Runner(options, tensors, clock), list(pending)
    while left and clock.begins_step():
        step, begin = left[0], time.monotonic()
        try:
            same = [other for other in left if other.tensor == step.tensor]
            runs = {run.label: runner.record(step, run, same) for run in step.runs}
        except OutOfTime:
            break
        left.pop(0)
        record = {"paper": step.paper, "figure": step.figure, "tensor": step.tensor, "data": data,
                  "runs": runs}
        keep(options, archive, record, tensors.made)
        report(step, runs, time.monotonic() - begin)
        if all(other.tensor != step.tensor for other in left):
            tensors.forget(step.tensor)
    return left


def parse(quick):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive")
    parser.add_argument("--polyad", default="build/polyad")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--papers", default="ABD")
    parser.add_argument("--data", choices=["generated", "real"], default="generated")
    parser.add_argument("--scale", type=float, default=1, help="part of the nonzeros to generate")
    parser.add_argument("--tensors", metavar="DIR", help="where tensors are, or are kept")
    parser.add_argument("--minutes", type=float, default=8 if quick else 1e9,
                        help="end after so many; 8 with FIGURES=quick")
    options = parser.parse_args()
    options.polyad = os.path.abspath(shutil.which(options.polyad) or options.polyad)
    return options


def main():
    quick = os.environ.get("FIGURES") == "quick"
    options = parse(quick)
    clock = Clock(options.minutes)
    archive = load(options.archive)
    if "machine" not in archive:
        archive["machine"] = device_of(options)
    data = options.data if options.scale == 1 else f"{options.data}, {options.scale:g} of them"
    done = {key_of(record) for record in archive["records"] if is_whole(record, quick)}
    tensors = Tensors(options, clock)
    pending = [step for step in all_steps(tensors.source, quick) if step.paper in options.papers
               and (step.paper, step.figure, step.tensor, data) not in done]
    try:
        left = measure(options, archive, pending, tensors, clock, data)
    finally:
        tensors.close()
    archive["left"] = [[step.paper, step.figure, step.tensor] for step in left]
    save(options.archive, archive, indent=1)
    print(f"{len(pending) - len(left)} steps done in {clock.passed():.0f} s, {len(left)} left")
    for step in left:
        print(f"  left: {name_of(step)}")
    if left:
        print("time is up; run again to go on", file=sys.stderr)


if __name__ == "__main__":
    main()
