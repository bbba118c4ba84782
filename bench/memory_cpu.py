#!/usr/bin/env python3
"""Peak memory of `polyad cpd` on the CPU, beside tensor, storage and factors.

usage: bench/memory_cpu.py --tensors DIR --output results.json [--polyad build/polyad]
           [--names SET] [--formats auto,coo,csf,alto] [--ends .ptn,.tns] [--rank 16]
           [--precision f64] [--threads 2]

The peak is the kernel's own count of the process (ru_maxrss), code and libraries included;
`bytes_needed` is the sum of the tensor in memory, the chosen storage and the factors.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

import cpu_script
import tensors


def peak_of(command):
    """The JSON record of a command and the most memory that it had."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit status {child.returncode}")
        out.seek(0)
        return json.load(out), usage.ru_maxrss * 1024


def measure(options, name, end, storage):
    path = tensors.path(options.tensors, name, end, options.polyad)
    about = cpu_script.record_of([options.polyad, "info", path, "--precision", options.precision,
                               "--json", "-"])
    record, peak = peak_of([options.polyad, "cpd", path, "-r", str(options.rank), "-i", "2",
                            "--tol", "0", "--precision", options.precision, "--format", storage,
                            "-t", str(options.threads), "--device", "cpu", "--quiet", "--json", "-"])
    factors = sum(record["dims"]) * options.rank * (8 if options.precision == "f64" else 4)
    needed = about["bytes_tensor"] + record["bytes_format"] + factors
    row = {"file": name + end, "asked": storage, "format": record["format"],
           "bytes_tensor": about["bytes_tensor"], "bytes_format": record["bytes_format"],
           "bytes_factors": factors, "bytes_needed": needed, "peak_bytes": peak,
           "peak_over_needed": peak / needed}
    print(f"{name}{end} {storage}: {record['format']}, peak {peak / 2**20:.0f} MiB of "
          f"{needed / 2**20:.0f} MiB: {peak / needed:.2f}", file=sys.stderr)
    return row


def main():
    parser = cpu_script.parser(__doc__)
    parser.add_argument("--names", default="memory")
    parser.add_argument("--formats", default="auto,coo,csf,alto")
    parser.add_argument("--ends", default=".ptn,.tns")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--precision", default="f64")
    options = parser.parse_args()
    rows = [measure(options, name, end, storage) for name in tensors.names(options.names)
            for end in options.ends.split(",") for storage in options.formats.split(",")]
    ratios = [row["peak_over_needed"] for row in rows]
    record = cpu_script.begin(options, rank=options.rank, precision=options.precision,
                              median_ratio=statistics.median(ratios), largest_ratio=max(ratios))
    record["results"] = rows
    cpu_script.save(options, record)


if __name__ == "__main__":
    main()
