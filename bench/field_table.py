#!/usr/bin/env python3
"""Tables of what `bench/h200.sh field` measured: MTTKRP over all modes in milliseconds in every
format, and how many times as fast as the peers' own programs on the same kind of machine.

usage: bench/field_table.py FOLDER [--peers FOLDER/peers.json]      prints Markdown
       bench/field_table.py FOLDER --fibers     of tensors with the fibers of real ones, also beside the
                                                fastest of all other programs

FOLDER holds field*.jsonl; of those, field_fibers.jsonl and peers_fibers.json are for --fibers.
"""
import argparse
import glob
import json
import os

from measured import PROGRAMS
from tensors import name_of

# Which of the peers' programs a format is to be compared with.
PEER = {"blco": "blco", "mmcsf": "mmcsf", "bcsf": "bcsf", "hbcsf": "bcsf", "hicoo": "hicoo",
        "coo": "coo atomics"}


def totals(output):
    """Milliseconds of all modes by precision and format, of a format's default variant."""
    sums = {}
    for row in output["results"]:
        if row.get("variant") == "auto":
            key = (row["precision"], row["format"])
            sums.setdefault(key, []).append(1e3 * row["median_seconds"])
    return {key: sum(times) for key, times in sums.items() if len(times) == output["order"]}


def read(paths):
    """Sums by precision, tensor and format, the fewest nonzeros first; what was measured last counts.
    Also the machine, and the structure of each tensor."""
    table, machine, outputs, structures = {}, "?", [], {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            outputs += map(json.loads, filter(str.strip, file))
    for output in sorted(outputs, key=lambda output: output["nnz"]):
        machine = output["device_name"]
        for (precision, name), value in totals(output).items():
            tensor = name_of(output["file"])
            table.setdefault(precision, {}).setdefault(tensor, {})[name] = value
            structures[tensor] = output.get("structure")
    return table, machine, structures


def fastest_rows(table, peers):
    """The fastest of all programs on each tensor, and how many times as fast polyad's formats are."""
    fastest = {tensor: min(peers[tensor].items(), key=lambda item: item[1]) for tensor in table}
    yield "fastest other program", [f"{PROGRAMS[program]} {ms:.3g}" for program, ms in fastest.values()]
    yield "modecopy, times as fast", [f"{fastest[tensor][1] / sums['modecopy']:.1f}" for tensor, sums in table.items()]
    yield "the fastest format, times as fast", [f"{fastest[tensor][1] / min(sums.values()):.1f}"
                                                for tensor, sums in table.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--peers")
    parser.add_argument("--fibers", action="store_true")
    options = parser.parse_args()
    with open(options.peers or
              os.path.join(options.folder, "peers_fibers.json" if options.fibers else "peers.json"),
              encoding="utf-8") as file:
        peers = json.load(file)
    table_of, machine, structures = read(
        path for path in sorted(glob.glob(os.path.join(options.folder, "field*.jsonl")))
        if path.endswith("_fibers.jsonl") == options.fibers)
    for precision, table in table_of.items():
        names = list(dict.fromkeys(name for sums in table.values() for name in sums))
        print(f"\n{precision}, rank 32, {machine}; ms for all modes, the fastest bold, in brackets "
              "how many times as fast as the program of the format's authors\n")
        print("| like | " + " | ".join(table) + " |\n| --- |" + " --- |" * len(table))
        for name in names:
            cells = []
            for tensor, sums in table.items():
                if name not in sums:
                    cells.append("-")
                    continue
                # Tensors of another structure than the peers' cannot be compared.
                same = structures[tensor] == peers.get("structure")
                peer = peers[precision].get(tensor, {}).get(PEER.get(name)) if same else None
                cell = f"{sums[name]:.3g}"
                if sums[name] == min(sums.values()):
                    cell = f"**{cell}**"
                cells.append(cell + (f" ({peer / sums[name]:.1f})" if peer else ""))
            print(f"| {name} | " + " | ".join(cells) + " |")
        for name, cells in fastest_rows(table, peers[precision]) if options.fibers else ():
            print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
