#!/usr/bin/env python3
"""Prints the tables of papers A and B from the results of bench/h200.sh, in Markdown.

usage: h200_tables.py FILE.jsonl...
"""
import json
import math
import os
import sys

from tensors import name_of

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results/h200/peers.json")
PROGRAMS = {"mmcsf": "MM-CSF", "blco": "BLCO", "bcsf": "B-CSF", "genten": "GenTen",
            "hicoo": "HiCOO", "coo atomics": "COO with atomics"}


def peers_of(tensors):
    """The peers' milliseconds in float32 by tensor and program, where they were measured on tensors
    of the same structure (without a word: those of before fibers were counted)."""
    with open(PEERS, encoding="utf-8") as file:
        record = json.load(file)
    measured = {name: {program: value for program, value in of.items() if value is not None}
                for name, of in record["f32"].items()}
    return {name: of for name, of in measured.items()
            if name in tensors and tensors[name]["structure"] == record.get("structure")}


def load(files):
    """Tensors by name, later files over earlier ones; rows of one kernel add up over the modes."""
    measured = {}
    for name in files:
        with open(name, encoding="utf-8") as lines:
            for line in lines:
                if not line.strip():
                    continue
                one = json.loads(line)
                into = measured.setdefault(name_of(one["file"]),
                                           {"nnz": one["nnz"], "dims": one["dims"], "runs": {},
                                            "als": [], "structure": one.get("structure")})
                add(into, one)
    return measured


def add(into, one):
    runs = {}
    for row in one["results"]:
        if row.get("kernel") == "als":
            into["als"].append(row)
            continue
        key = (row["format"], row["variant"], row["precision"], row["columns"],
               row.get("kernel", "mttkrp"))
        run = runs.setdefault(key, {"modes": {}, "build": row["build_seconds"],
                                    "bytes": row["bytes_format"], "about": row["about"]})
        run["modes"].setdefault(row["mode"], row["median_seconds"])
    into["runs"].update(runs)


def total(tensor, fmt, variant, precision="f32", columns=32):
    run = tensor["runs"].get((fmt, variant, precision, columns, "mttkrp"))
    return None if run is None else 1e3 * sum(run["modes"].values())


def number(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}"


def table(title, head, rows):
    print(f"\n## {title}\n")
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def speed(tensors):
    rows, gains, over_blco = [], [], []
    peers = peers_of(tensors)
    for name, programs in peers.items():
        copies = total(tensors[name], "modecopy", "auto")
        fly = total(tensors[name], "flycoo", "auto")
        if copies is None:
            continue
        peer = min(programs, key=programs.get)
        gains.append(programs[peer] / copies)
        over_blco.append(programs["blco"] / fly if fly and "blco" in programs else None)
        rows.append([name, f"{PROGRAMS[peer]} {programs[peer]}", number(copies, 3),
                     number(gains[-1]), number(fly, 3), number(over_blco[-1])])
    for name in tensors:
        if name not in peers:
            rows.append([name, "–", number(total(tensors[name], "modecopy", "auto"), 3), "–",
                         number(total(tensors[name], "flycoo", "auto"), 3), "–"])
    rows.append(["geometric mean", "", "", number(mean(gains)), "", number(mean(over_blco))])
    table("All modes, R = 32, float32, default variants (ms)",
          ["tensor", "fastest peer", "modecopy", "times the peer", "flycoo", "times BLCO"], rows)


def remapping(tensors):
    rows = []
    for name, tensor in tensors.items():
        whole, alone = (total(tensor, "flycoo", v) for v in ("paper", "paper-no-remap"))
        if None not in (whole, alone):
            rows.append([name, number(whole), number(alone), f"{100 * (1 - alone / whole):.0f}%"])
    table("Paper A, section 5.2: share of remapping in the total time (paper: 5% to 35%)",
          ["tensor", "paper (ms)", "without remapping", "share"], rows)


def influence_of_p(tensors):
    sizes = [1, 2, 4, 8, 16, 32, 64]
    rows = [[name] + [number(total(tensor, "flycoo", "paper", columns=p)) for p in sizes]
            for name, tensor in tensors.items()
            if total(tensor, "flycoo", "paper", columns=1) is not None]
    table("Paper A, figure 8: P elements at once (ms, paper's variant)",
          ["tensor"] + [f"P = {p}" for p in sizes], rows)


def balancing(tensors):
    rows, first, second = [], [], []
    for name, tensor in tensors.items():
        adaptive, one, two = (total(tensor, "modecopy", v)
                              for v in ("paper", "paper-scheme1", "paper-scheme2"))
        if None in (adaptive, one, two):
            continue
        first.append(one / adaptive)
        second.append(two / adaptive)
        rows.append([name, number(adaptive), number(one), number(two), number(first[-1]),
                     number(second[-1]), number(total(tensor, "modecopy", "auto"), 3)])
    rows.append(["geometric mean", "", "", "", number(mean(first)), number(mean(second)), ""])
    table("Paper B, figure 4: adaptive balancing against one scheme (paper: 2.2 and 1.3 times)",
          ["tensor", "adaptive (ms)", "scheme 1", "scheme 2", "over 1", "over 2",
           "default variant"], rows)


def memory(tensors):
    rows = []
    for name, tensor in tensors.items():
        bits = sum(math.log2(d) for d in tensor["dims"]) + 32
        order, nnz = len(tensor["dims"]), tensor["nnz"]
        factors = sum(tensor["dims"]) * 32 * 4
        stored = [tensor["runs"].get((fmt, "auto", "f32", 32, "mttkrp"), {}).get("bytes")
                  for fmt in ("modecopy", "flycoo")]
        copy_a = nnz * (bits + order * math.log2(nnz)) / 8
        rows.append([name, number(order * nnz * bits / 8e9, 3),
                     number(stored[0] and stored[0] / 1e9, 3), number(copy_a / 1e9, 3),
                     number(stored[1] and stored[1] / 1e9, 3), number(factors / 1e9, 3)])
    table("Memory (GB): paper B's figure 5 and paper A's section 3.5.1, R = 32",
          ["tensor", "N copies, formula", "modecopy, stored", "one FLYCOO copy, formula",
           "flycoo's plan, stored", "factors"], rows)


def preprocessing(tensors):
    rows = []
    for name, tensor in tensors.items():
        seconds = [tensor["runs"].get((fmt, variant, "f32", 32, "mttkrp"), {}).get("build")
                   for fmt, variant in (("modecopy", "auto"), ("modecopy", "paper"),
                                        ("flycoo", "auto"), ("flycoo", "paper"))]
        rows.append([name, f"{tensor['nnz'] / 1e6:.1f} M"] + [number(s) for s in seconds])
    table("Preprocessing (s, the host's 16 threads)",
          ["tensor", "nonzeros", "modecopy", "modecopy/paper", "flycoo", "flycoo/paper"], rows)


def iterations(tensors):
    rows = []
    for name, tensor in tensors.items():
        for row in tensor["als"]:
            if "seconds_mttkrp" not in row:
                continue
            rows.append([name, row["precision"], number(1e3 * row["seconds_per_iteration"], 3),
                         number(1e3 * row["seconds_mttkrp"], 3),
                         number(row["seconds_per_iteration"] / row["seconds_mttkrp"])])
    table("One CP-ALS iteration, R = 32 (ms)",
          ["tensor", "precision", "iteration", "its MTTKRP", "ratio"], rows)


def main():
    tensors = load(sys.argv[1:])
    print("# Papers A and B, measured\n\nWritten by `bench/h200_tables.py` from the results beside "
          "it: one NVIDIA H200,\ngenerated tensors, rank 32.")
    for one in (speed, iterations, remapping, influence_of_p, balancing, memory, preprocessing):
        one(tensors)


if __name__ == "__main__":
    main()
