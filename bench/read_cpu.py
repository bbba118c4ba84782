#!/usr/bin/env python3
"""Reading tensors: polyad (text, gzip, .ptn) beside SPLATT (text), in interleaved rounds.

usage: bench/read_cpu.py --tensors DIR --output results.json [--polyad build/polyad] [--splatt BIN]
           [--names SET] [--rounds 3] [--threads 2]

DIR holds NAME.tns, NAME.tns.gz and NAME.ptn. polyad's figure of a round is the median of three
reads (parsing, checking, sorting) of a file in the page cache; SPLATT's is what it reports as I/O.
Beside gzip stands zlib's inflate of the same file in one thread, beside .ptn the copy of as many
bytes at the speed of `polyad bench stream`: the limits of the two.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import time
import zlib

import cpu_script
import tensors


def output(command, threads):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")
    return done.stdout


def polyad(options, path):
    record = json.loads(output([options.polyad, "bench", "read", path, "--threads",
                                str(options.threads), "--repeat", "3", "--warmup", "1", "--json",
                                "-"], options.threads))
    return record["results"][0]["median_seconds"], record["nnz"]


def splatt(options, path):
    text = output([options.splatt, "cpd", path, "-r", "1", "-i", "1", "-t", str(options.threads),
                   "--nowrite", "-v", "-v"], options.threads)
    return float(re.search(r"^\s+IO\s+([0-9.]+)s", text, re.M).group(1))


def inflate(path):
    with open(path, "rb") as file:
        packed = file.read()
    begin = time.perf_counter()
    machine = zlib.decompressobj(31)
    for at in range(0, len(packed), 1 << 16):
        machine.decompress(packed[at:at + (1 << 16)])
    return time.perf_counter() - begin


def copy_rate(options):
    record = json.loads(output([options.polyad, "bench", "stream", "--threads",
                                str(options.threads), "--json", "-"], options.threads))
    return next(row["gbytes_per_second"] for row in record["results"] if row["format"] == "copy")


def measure(options, name):
    seconds = {}
    stem = os.path.join(options.tensors, name)
    for end in (".tns", ".tns.gz", ".ptn"):
        tensors.path(options.tensors, name, end, options.polyad)
    for number in range(options.rounds):
        for kind in ("tns", "tns.gz", "ptn"):
            if os.path.exists(stem + "." + kind):
                taken, nnz = polyad(options, stem + "." + kind)
                seconds.setdefault(kind, []).append(taken)
        if options.splatt:
            seconds.setdefault("splatt", []).append(splatt(options, stem + ".tns"))
        if os.path.exists(stem + ".tns.gz"):
            seconds.setdefault("inflate", []).append(inflate(stem + ".tns.gz"))
        seconds.setdefault("copy", []).append(
            2 * os.path.getsize(stem + ".ptn") / (1e9 * copy_rate(options)))
        print(f"{name} round {number + 1}: " +
              ", ".join(f"{k} {v[-1]:.3f}" for k, v in seconds.items()), file=sys.stderr)
    row = {"tensor": name, "nnz": nnz, "bytes_text": os.path.getsize(stem + ".tns"),
           "rounds": seconds}
    middle = {kind: statistics.median(values) for kind, values in seconds.items()}
    row["seconds"] = middle
    row["nonzeros_per_second"] = {kind: nnz / middle[kind] for kind in middle if kind != "copy"}
    pairs = {"splatt_over_text": ("splatt", "tns"), "gzip_over_inflate": ("tns.gz", "inflate"),
             "ptn_over_copy": ("ptn", "copy")}
    for key, (above, below) in pairs.items():
        if above in seconds and below in seconds:
            row[key] = statistics.median(a / b for a, b in zip(seconds[above], seconds[below]))
    return row


def main():
    parser = cpu_script.parser(__doc__)
    parser.add_argument("--splatt")
    parser.add_argument("--names", default="read")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    record = cpu_script.begin(options, rounds=options.rounds)
    for name in tensors.names(options.names):
        record["results"].append(measure(options, name))
        cpu_script.save(options, record)


if __name__ == "__main__":
    main()
