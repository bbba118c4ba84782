#!/usr/bin/env python3
"""Where the processor time of building storages on the CPU goes, from samples of Linux's perf.

usage: bench/build_profile.py --tensors DIR --output results.json [--polyad build/polyad]
           [--names SET] [--formats coo,csf,modecopy,alto,twotree] [--threads 2] [--builds 8]

`perf record` watches `polyad bench build` of each tensor and format, of which reading the file is a
small part. Functions are put into the parts below by their names; what no part names is `rest`. Shares
are of all samples, and `functions` are the largest. Waiting is libgomp's: threads at the end of a loop.
"""
import os
import re
import subprocess
import sys
import tempfile

import cpu_script
import tensors

PARTS = (  # the first that matches an object and a function
    ("clearing of new pages", r"\[kernel.*", r"clear_page.*|folio_zero.*|clear_huge.*"),
    ("system, else", r"\[kernel.*", r".*"),
    ("waiting", r"libgomp.*", r".*"),
    ("statistics", r".*", r"tuple_.*|tensor_slices_.*|weigh_slices.*|count_cells.*|mark_cells.*|"
                          r"count_leading.*|see_.*|count_privately.*"),
    ("facts of values", r".*", r"XXH.*|wide_hash.*|look_at_values.*|pd_sum_of_squares.*|"
                               r"largest_magnitude.*"),
    ("packing", r".*", r"block_.*|pd_pack.*|pack_.*|encode_.*|decode_.*"),
    ("sorting", r".*", r"records_.*|scatter_.*|sort_.*|pd_sort.*|compare_part.*|count_part.*"),
    ("rest", r".*", r".*"))


def part_of(where, function):
    return next(name for name, objects, functions in PARTS
                if re.fullmatch(objects, where) and re.fullmatch(functions, function))


def samples(options, path, form):
    """(share in percent, object, function) of each function, and the seconds of a build."""
    with tempfile.TemporaryDirectory() as folder:
        data, told = os.path.join(folder, "perf.data"), os.path.join(folder, "bench.json")
        command = [options.polyad, "bench", "build", path, "--format", form, "--threads",
                   str(options.threads), "--repeat", str(options.builds), "--warmup", "1", "--quiet",
                   "--json", told]
        subprocess.run(["perf", "record", "-q", "-F", "3000", "-o", data, *command], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        text = subprocess.run(["perf", "report", "-i", data, "--stdio", "--sort", "dso,symbol"],
                              check=True, capture_output=True, text=True).stdout
        row = cpu_script.record_of(["cat", told])["results"][0]
    found = re.findall(r"^\s+([\d.]+)%\s+(\S+)\s+\[.\]\s+(\S+)", text, re.M)
    return [(float(share), where, function) for share, where, function in found], row


def measure(options, name, form):
    path = tensors.path(options.tensors, name, ".ptn", options.polyad)
    found, row = samples(options, path, form)
    shares = {part: 0.0 for part, _, _ in PARTS}
    for share, where, function in found:
        shares[part_of(where, function)] += share
    print(name, form, {part: round(share, 1) for part, share in shares.items()}, file=sys.stderr)
    return {"tensor": name, "format": form, "seconds": row["median_seconds"],
            "bytes_format": row["bytes_format"],
            "percent": {part: round(share, 2) for part, share in shares.items()},
            "functions": [f"{share:.2f} {function}" for share, _, function in found[:12]]}


def main():
    parser = cpu_script.parser(__doc__)
    parser.add_argument("--names", default="uber-apr-may,enron@0.15,nell-2@0.13")
    parser.add_argument("--formats", default="coo,csf,modecopy,alto,twotree")
    parser.add_argument("--builds", type=int, default=8)
    options = parser.parse_args()
    record = cpu_script.begin(options, builds=options.builds)
    for name in tensors.names(options.names):
        for form in options.formats.split(","):
            record["results"].append(measure(options, name, form))
            cpu_script.save(options, record)


if __name__ == "__main__":
    main()
