#!/usr/bin/env python3
"""Tables of `polyad bench mttkrp --format all`: all modes in milliseconds, and how many times as fast
as the peers' own programs where they were measured on the same kind of machine.

usage: bench/field_table.py FOLDER [--peers FOLDER/peers.json]      prints Markdown

FOLDER holds field-TENSOR-PRECISION.json, as bench/h200.sh field writes them.
"""
import argparse
import glob
import json
import os

# Which of the peers' programs a format is to be compared with.
PEER = {"blco": "blco", "mmcsf": "mmcsf", "bcsf": "bcsf", "hbcsf": "bcsf", "hicoo": "hicoo",
        "coo": "coo atomics"}


def totals(path):
    """Milliseconds of all modes by format; a format that lacks a mode is left out."""
    with open(path, encoding="utf-8") as file:
        output = json.load(file)
    rows = [row for row in output["results"] if row["cache"] == "warm"]
    sums = {}
    for row in rows:
        sums.setdefault(row["format"], []).append(1e3 * row["median_seconds"])
    return {name: sum(times) for name, times in sums.items() if len(times) == output["order"]}, output


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--peers")
    options = parser.parse_args()
    with open(options.peers or os.path.join(options.folder, "peers.json"),
              encoding="utf-8") as file:
        peers = json.load(file)
    for precision in ("f32", "f64"):
        table, about = {}, None
        for path in sorted(glob.glob(os.path.join(options.folder, f"field-*-{precision}.json"))):
            tensor = os.path.basename(path)[len("field-"):-len(f"-{precision}.json")]
            table[tensor], about = totals(path)
        if not table:
            continue
        names = list(dict.fromkeys(name for sums in table.values() for name in sums))
        print(f"\n{precision}, rank {about['rank']}, {about['device_name']}, commit "
              f"{about['commit']}; ms for all modes, the fastest bold, in brackets how many times "
              "as fast as the program of the format's authors\n")
        print("| like | " + " | ".join(table) + " |\n| --- |" + " --- |" * len(table))
        for name in names:
            cells = []
            for tensor, sums in table.items():
                if name not in sums:
                    cells.append("-")
                    continue
                peer = peers[precision].get(tensor, {}).get(PEER.get(name))
                cell = f"{sums[name]:.3g}"
                if sums[name] == min(sums.values()):
                    cell = f"**{cell}**"
                cells.append(cell + (f" ({peer / sums[name]:.1f})" if peer else ""))
            print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
