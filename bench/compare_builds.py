#!/usr/bin/env python3
"""Old build against new build, in turn: how many times as fast the new one is.

usage: bench/compare_builds.py OLD NEW --tensors DIR --output results.json [--names SET]
           [--kernels mttkrp,phi,ttmc,cpd] [--formats auto,coo,csf,alto,modecopy] [--ranks 16]
           [--threads 2] [--devices cpu] [--precisions f64] [--pairs 7] [--repeat 3]
           [--iterations 5] [--least 0.9] [--seconds N] [--resume]

OLD and NEW are polyad commands. A format OLD:NEW is one that each build is asked for. SET is one of
bench/tensors.py; NAME.ptn is made in DIR, by NEW, where it is missing: both builds read the same
file. A row is one kernel, tensor, format, rank, precision, number of threads and device: mttkrp, phi
and ttmc are sums over modes of the medians of `--repeat` runs after one that is not timed, cpd the
whole of reading, building and `--iterations` iterations of CP-ALS, beside its median iteration. One
command times all formats of a kernel; where a build fails then, each has a command of its own.

Each pair runs both builds one right after the other, the first of a pair being the second of the
next. A row's ratio, old seconds over new seconds, is the median over its pairs; its interval is
between those order statistics of the pairs' ratios that hold the median with at least 95 %
(binomial distribution; no other assumption): with 7 pairs the least and the largest, 98.4 %.
`geometric_mean` is over all rows, with the interval of the pairs' geometric means, and by kernel.

What a build cannot do (a format without that kernel) is left out with its message. After
--seconds no case is begun, and with --resume those that results.json has are not measured again: a
long comparison of two builds can be made in parts. The exit status is 3 while cases are left, and 1
when the interval of a row lies below --least, or when NEW fails where OLD does not.
"""
import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import time

import tensors

CONFIDENCE = 0.95
LEAST_PAIRS = 7


class Failed(Exception):
    """A build's own message."""


def record_of(command, threads):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False,
                          timeout=3600)
    if done.returncode != 0:
        raise Failed(done.stderr.strip()[-300:])
    return json.loads(done.stdout)


def asked_of(which, case):
    """The formats that a build is asked for, and what the case calls them."""
    both = [(name, name.partition(":")) for name in case["asked"].split(",")]
    return [(new if new and which == "new" else old, name) for name, (old, _, new) in both]


def seconds_of(which, case, options):
    """(seconds, format that was taken) by what was timed and format asked for; and the commit."""
    build, formats = getattr(options, which), asked_of(which, case)
    common = [case["file"], "--rank", str(case["rank"]), "--format",
              ",".join(asked for asked, _ in formats), "--precision", case["precision"],
              "--threads", str(case["threads"]), "--device", case["device"], "--json", "-"]
    if case["kernel"] == "cpd":
        record = record_of([build, "cpd", *common, "--max-iters", str(options.iterations), "--tol",
                            "0", "--quiet"], case["threads"])
        whole = record["seconds_read"] + record["seconds_build"] + record["seconds"]
        return ({("cpd", case["asked"]): (whole, record["format"]),
                 ("cpd iteration", case["asked"]): (record["seconds_per_iteration"],
                                                    record["format"])}, None)
    record = record_of([build, "bench", case["kernel"], *common, "--repeat", str(options.repeat),
                        "--warmup", "1"], case["threads"])
    if not record["results"]:
        raise Failed("no results")
    times = {}
    for asked, name in formats:  # where one is asked for, "auto" and variants have another name
        rows = [row for row in record["results"]
                if len(formats) == 1 or row["format"] == asked]
        if rows:
            times[case["kernel"], name] = (sum(row["median_seconds"] for row in rows),
                                           rows[0]["format"])
    return times, record["commit"]


def interval(values):
    """Order statistics between which the median lies with at least CONFIDENCE."""
    ordered, count = sorted(values), len(values)
    outside, rank = 0.5 ** count, 0  # probability that all values lie on one side
    while rank + 1 < count // 2:
        more = outside + math.comb(count, rank + 1) * 0.5 ** count
        if 2 * more > 1 - CONFIDENCE:
            break
        outside, rank = more, rank + 1
    return [ordered[rank], ordered[count - 1 - rank]]


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def cases(options):
    """One for each set of formats that a command times together: those with a plain name."""
    for name, kernel, rank, precision, threads, device in itertools.product(
            tensors.names(options.names), options.kernels.split(","),
            map(int, options.ranks.split(",")), options.precisions.split(","),
            map(int, options.threads.split(",")), options.devices.split(",")):
        formats = options.formats.split(",")
        together = [asked for asked in formats
                    if asked != "auto" and ":" not in asked and kernel != "cpd"]
        alone = [asked for asked in formats if asked not in together]
        for asked in ([",".join(together)] if together else []) + alone:
            yield {"tensor": name, "kernel": kernel, "asked": asked, "rank": rank,
                   "precision": precision, "threads": threads, "device": device,
                   "file": tensors.path(options.tensors, name, ".ptn", options.new)}


def measure(case, options, record):
    """Rows of one case; a build that fails ends it."""
    about = {key: value for key, value in case.items() if key != "file"}
    pairs, taken = {}, {}
    for number in range(options.pairs):
        times, failures = {"old": {}, "new": {}}, {}
        order = ("old", "new") if number % 2 == 0 else ("new", "old")
        for build in order:
            try:
                times[build], commit = seconds_of(build, case, options)
            except (Failed, subprocess.TimeoutExpired) as failure:
                failures[build] = str(failure)
                continue
            if commit is not None and record["commits"].setdefault(build, commit) != commit:
                sys.exit(f"{build} build: commit {commit} found; "
                         f"expected {record['commits'][build]}, as before")
        if failures and "," in case["asked"]:
            return [row for asked in case["asked"].split(",")
                    for row in measure({**case, "asked": asked}, options, record)]
        if failures:
            record["left_out"].append({**about, "messages": failures})
            return []
        for what in times["old"].keys() ^ times["new"].keys() if number == 0 else ():
            build = "new" if what in times["old"] else "old"
            record["left_out"].append({**about, "asked": what[1],
                                       "messages": {build: "not this kernel"}})
        for what in [each for each in times["old"] if each in times["new"]]:
            (old, format_old), (new, format_new) = times["old"][what], times["new"][what]
            pairs.setdefault(what, []).append((old, new))
            taken[what] = {"format_old": format_old, "format_new": format_new}
    return [row_of({**about, "kernel": what[0], "asked": what[1], **taken[what]}, seconds, options)
            for what, seconds in pairs.items()]


def row_of(about, seconds, options):
    ratios = [old / new for old, new in seconds]
    low, high = interval(ratios)
    row = {**about, "seconds_old": statistics.median(old for old, _ in seconds),
           "seconds_new": statistics.median(new for _, new in seconds),
           "ratio": statistics.median(ratios), "interval": [low, high],
           "slower": high < options.least, "ratios": ratios}
    print("{tensor} {kernel} {asked} ({format_new}) r{rank} {precision} {device}/{threads}: "
          "{ratio:.3f} [{0:.3f}, {1:.3f}]{2}".format(low, high, " SLOWER" * row["slower"], **row),
          flush=True)
    return row


def summary(rows, pairs):
    """Geometric mean of the rows' ratios, with the interval of the pairs' own."""
    if not rows:
        return None
    of_pairs = [geometric_mean([row["ratios"][k] for row in rows]) for k in range(pairs)]
    return {"rows": len(rows), "ratio": geometric_mean([row["ratio"] for row in rows]),
            "interval": interval(of_pairs)}


def write(options, record):
    rows = record["results"]
    record["geometric_mean"] = summary(rows, options.pairs)
    record["by_kernel"] = {kernel: summary([row for row in rows if row["kernel"] == kernel],
                                           options.pairs)
                           for kernel in dict.fromkeys(row["kernel"] for row in rows)}
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
    parser.add_argument("--names", default="compare")
    parser.add_argument("--kernels", default="mttkrp,phi,ttmc,cpd")
    parser.add_argument("--formats", default="auto,coo,csf,alto,modecopy")
    parser.add_argument("--ranks", default="16")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--devices", default="cpu")
    parser.add_argument("--precisions", default="f64")
    parser.add_argument("--pairs", type=int, default=LEAST_PAIRS)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--least", type=float, default=0.9)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    if options.pairs < LEAST_PAIRS:
        parser.error(f"--pairs {options.pairs} found; expected at least {LEAST_PAIRS}")
    return options


def begun(options):
    """The record of an earlier part, or an empty one."""
    how = {name: getattr(options, name) for name in ("pairs", "repeat", "iterations", "least")}
    record = {"commands": [], "commits": {}, **how, "results": [], "left_out": []}
    if options.resume and os.path.exists(options.output):
        with open(options.output, encoding="utf-8") as earlier:
            record = json.load(earlier)
        if any(record[name] != value for name, value in how.items()):
            sys.exit(f"{options.output}: measured otherwise; expected {how}")
    command = " ".join(os.path.basename(word) for word in sys.argv)
    if command not in record["commands"]:
        record["commands"].append(command)
    return record


def same(row, case):
    return (all(row[key] == case[key] for key in ("tensor", "rank", "precision", "threads", "device"))
            and row["kernel"].split()[0] == case["kernel"]
            and (row["asked"] == case["asked"] or row["asked"] in case["asked"].split(",")))


def main():
    options, start = arguments(), time.monotonic()
    record, left = begun(options), 0
    for case in cases(options):
        if any(same(row, case) for row in record["results"] + record["left_out"]):
            continue
        if time.monotonic() - start > options.seconds:
            left += 1
            continue
        record["results"] += measure(case, options, record)
        write(options, record)
    write(options, record)
    if left > 0:
        print(f"{left} cases are left")
        return 3
    for row in record["left_out"]:
        print("left out: {tensor} {kernel} {asked} {device}: {messages}".format(**row))
    for kernel, mean in [*record["by_kernel"].items(), ("all", record["geometric_mean"])]:
        if mean is not None:
            print("{0}: {ratio:.3f} [{1:.3f}, {2:.3f}] over {rows} rows".format(
                kernel, *mean["interval"], **mean))
    lost = [row for row in record["left_out"] if list(row["messages"]) == ["new"]]
    return 1 if lost or any(row["slower"] for row in record["results"]) else 0


if __name__ == "__main__":
    sys.exit(main())
