#!/usr/bin/env python3
"""Building storages, or reading files, old build against new build, in turn: how many times as fast.

usage: bench/build_cpu.py OLD NEW --tensors DIR --output results.json [--names SET]
           [--formats coo,alto,csf,modecopy] [--threads 2] [--pairs 7] [--repeat 2] [--precision f64]
           [--device cpu] [--rank 16] [--read .tns,.unsorted.tns,.tns.gz] [--spin]

OLD and NEW are polyad commands. SET is one of bench/tensors.py; NAME.ptn is made in DIR, by NEW,
where it is missing: both builds read the same file. What is timed is making a plan: statistics and
choice, facts about the values, and building the storage.

With --read it is `bench read` of files NAME.tns, with their lines in random order, and compressed.

`bench build` is run with 1 build of each format and with 1 + --repeat. A row of a format is the
median second of a build on the clock (`wall`). The rows of all formats together are the difference
of the two runs' processor time, without reading and all else around the builds: `user` is the
program's own, `processor` has the system's beside it, which hands out zeroed pages (a virtual
machine whose host has taken unused memory back pays much for them, in both builds). Threads that
wait do not spin (OMP_WAIT_POLICY=passive), as that would count as processor time; with --spin they
do as they do in the command on free processors, and processor time means nothing.

Each pair runs both builds one right after the other, the first of a pair being the second of the
next. A ratio is old over new: the median over the pairs, and as interval those order statistics that
hold the median with at least 95% (compare_builds.py). `geometric_mean` is over the tensors, with the
interval of the pairs' geometric means.
"""
import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys

import compare_builds
import tensors

def run(build, case, options, builds):
    """Processor seconds of one run of `bench build`, and its record."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(options.threads), OPENBLAS_NUM_THREADS="1")
    if not options.spin:
        environment["OMP_WAIT_POLICY"] = "passive"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    what = ["read", case["file"]] if options.read else [
        "build", case["file"], "--format", options.formats, "--device", options.device, "--rank",
        str(options.rank)]
    done = subprocess.run([build, "bench", *what, "--precision", options.precision, "--threads",
                           str(options.threads), "--repeat", str(builds), "--warmup", "0", "--json",
                           "-"], env=environment, capture_output=True, text=True, check=True,
                          timeout=3600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user = after.ru_utime - before.ru_utime
    return user, user + after.ru_stime - before.ru_stime, json.loads(done.stdout)


def seconds_of(build, case, options):
    """Seconds of one build by (formats, kind)."""
    few_user, few, _ = run(build, case, options, 1)
    many_user, many, record = run(build, case, options, 1 + options.repeat)
    seconds = {("all", "user"): (many_user - few_user) / options.repeat,
               ("all", "processor"): (many - few) / options.repeat}
    for row in record["results"]:
        seconds[row["format"], "wall"] = row["median_seconds"]
    return seconds, record


def file_of(options, name, end):
    """The tensor's file; lines in random order, the same every time, where `end` asks for it."""
    if end != ".unsorted.tns":
        return tensors.path(options.tensors, name, end, options.new)
    path = os.path.join(options.tensors, name + end)
    if not os.path.exists(path):
        with open(tensors.path(options.tensors, name, ".tns", options.new), encoding="ascii") as file:
            lines = [line for line in file if not line.startswith("#")]
        random.Random(1).shuffle(lines)
        with open(path, "w", encoding="ascii") as file:
            file.writelines(lines)
    return path


def measure(case, options, record):
    """Rows of one tensor."""
    pairs = []
    for number in range(options.pairs):
        seconds = {}
        for build in ("old", "new") if number % 2 == 0 else ("new", "old"):
            seconds[build], about = seconds_of(getattr(options, build), case, options)
            record["commits"][build] = about["commit"]
            record["device_name"] = about["device_name"]
        pairs.append(seconds)
    for formats, kind in pairs[0]["new"]:
        old = [pair["old"][formats, kind] for pair in pairs]
        new = [pair["new"][formats, kind] for pair in pairs]
        if min(old + new) <= 0:  # a difference of two runs that their scatter hides
            sys.exit(f"{case['tensor']} takes too little time for {kind}: a run with more repeats took no longer than one "
                     "with fewer; take a larger tensor or a larger --repeat")
        ratios = [a / b for a, b in zip(old, new)]
        record["results"].append({
            "tensor": case["tensor"], "formats": formats, **case["what"], "kind": kind, "threads": options.threads,
            "precision": options.precision, "seconds_old": statistics.median(old),
            "seconds_new": statistics.median(new), "ratio": statistics.median(ratios),
            "interval": compare_builds.interval(ratios), "ratios": ratios})
        print("{tensor} {formats} {end} {kind}: {ratio:.2f} [{0:.2f}, {1:.2f}]".format(
            *record["results"][-1]["interval"], **{"end": "", **record["results"][-1]}), flush=True)


def write(options, record):
    groups = {}
    for row in record["results"]:
        groups.setdefault(f"{row.get('end', row['formats'])} {row['kind']}", []).append(row)
    record["geometric_mean"] = {name: compare_builds.summary(rows, options.pairs)
                                for name, rows in groups.items()}
    record["load_average"] = os.getloadavg()
    with open(options.output, "w", encoding="utf-8") as out:
        json.dump(record, out, indent=1)
        out.write("\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--tensors", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--names", default="build")
    parser.add_argument("--formats", default="coo,alto,csf,modecopy")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=compare_builds.LEAST_PAIRS)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--precision", default="f64")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--read", default="")
    parser.add_argument("--spin", action="store_true")
    options = parser.parse_args()
    if options.pairs < compare_builds.LEAST_PAIRS:
        parser.error(f"--pairs {options.pairs} found; expected at least "
                     f"{compare_builds.LEAST_PAIRS}")
    return options


def main():
    options = arguments()
    record = {"command": " ".join(os.path.basename(word) for word in sys.argv), "commits": {},
              "pairs": options.pairs, "repeat": options.repeat, "results": []}
    for name in tensors.names(options.names):
        for end in options.read.split(",") if options.read else [".ptn"]:
            measure({"tensor": name, "what": {"end": end} if options.read else {},
                     "file": file_of(options, name, end)}, options, record)
            write(options, record)
    for name, mean in record["geometric_mean"].items():
        print("{0}: {ratio:.2f} [{1:.2f}, {2:.2f}] over {rows} tensors".format(
            name, *mean["interval"], **mean))


if __name__ == "__main__":
    main()
