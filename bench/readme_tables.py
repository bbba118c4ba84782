#!/usr/bin/env python3
"""The speed tables of README.md and docs/measured.md, from the results that are committed under bench/results.

usage: bench/readme_tables.py [--check]     --check: only says whether the pages are current

A table stands between "<!-- bench/readme_tables.py NAME -->" and "<!-- end -->". Beside other programs
it quotes the least favourable tensor. A row needs a result of at least LEAST_ROUNDS alternating
rounds; results of fewer rounds count only where they are less favourable still.
"""
import json
import os
import re
import statistics
import sys

import tensors
from measured import FOLDER, PROGRAMS, Measured

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)
LEAST_ROUNDS = 3
GPU_TENSORS = ("uber", "nips", "chicago", "movies", "vast", "nell-2", "enron", "delicious", "nell-1",
               "music", "amazon", "twitch")
PEERS = {"genten": "GenTen", "mmcsf": "MM-CSF", "mmcsf-published": "MM-CSF", "bcsf": "B-CSF"}


def load(*path):
    with open(os.path.join(FOLDER, *path), encoding="utf-8") as file:
        return json.load(file)


def table(head, rows):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def short(ms):
    return f"{ms:.2f}" if ms < 1 else f"{ms:.3g}"


def fastest_program(m, tensor):
    """What the fastest of the other programs is and takes, and which times as fast modecopy is."""
    ours = m.time(tensor, "modecopy")
    found = {program: ms for (name, program), (ms, _) in m.peers.items() if name == tensor}
    if not ours:
        return None, None, None
    if not found:
        return ours.ms, None, None
    program = min(found, key=found.get)
    return ours.ms, program, found[program]


def fiber_rows():
    """modecopy on the same GPU, in float32: real tensors, and tensors with the fibers of real ones that
    no other program ran on."""
    found, beside = {}, Measured(fibers=True).dims
    for file in ("mttkrp_twotree.json", "mttkrp_twotree_more.json"):
        for row in load("h200", file)["results"]:
            if row["asked"] == "modecopy" and len(row["ratios"]) >= LEAST_ROUNDS and row["tensor"] not in beside:
                found.setdefault(row["tensor"], row["seconds_new"])
    return [[tensor + (" (real)" if tensor in tensors.REAL else ", with its fibers"), short(1e3 * seconds),
             *["–"] * 5] for tensor, seconds in found.items()]


def flat():
    """Rows of the tensors without fibers, and of each precision every (ratio, tensor)."""
    single, double = Measured(), Measured(precision="f64")
    rows, ratios_of = [], {}
    for tensor in GPU_TENSORS:
        cells = [tensor + ", flat"]
        for name, m in (("float32", single), ("float64", double)):
            ours, program, theirs = fastest_program(m, tensor)
            cells.append(short(ours) if ours else "–")
            if program:
                ratios_of.setdefault(name, []).append((theirs / ours, tensor))
                cells.append(f"{PROGRAMS[program]} {short(theirs)}")
                cells.append(f"{theirs / ours:.1f}")
            else:
                cells += ["–", "–"]
        rows.append(cells)
    return rows, ratios_of


def gpu():
    rows, ratios_of = flat()
    said = ", ".join(f"{min(found)[0]:.1f} in {name} ({min(found)[1]})"
                     for name, found in ratios_of.items())
    return (f"The least is {said}.\n\n" +
            table(["", "float32", "fastest other", "times", "float64", "fastest other",
                   "times"], rows + fiber_rows()))


def h200_fibers():
    """Rows of the H200's tensors with the fibers of real ones, and (ratio, tensor) of modecopy and of
    the fastest of all formats."""
    m = Measured(fibers=True)
    rows, chosen, best = [], [], []
    for tensor in m.dims:
        ours, program, theirs = fastest_program(m, tensor)
        taken = {key[2]: time.ms for key, time in m.times.items() if key[0] == tensor and key[3] == "auto"}
        fastest = min(taken, key=taken.get)
        chosen.append((theirs / ours, tensor))
        best.append((theirs / taken[fastest], tensor))
        rows.append([tensor, short(ours), f"{short(taken[fastest])} (`{fastest}`)", f"{PROGRAMS[program]} {short(theirs)}",
                     f"{chosen[-1][0]:.1f}", f"{best[-1][0]:.1f}"])
    return rows, chosen, best


def fibers_h200():
    """The H200's tensors with the fibers of real ones: their least and mean ratios in words, and the table."""
    rows, chosen, best = h200_fibers()
    said = " ".join(f"{what} the least is {min(found)[0]:.1f} ({min(found)[1]}), the geometric mean "
                    f"{statistics.geometric_mean(ratio for ratio, _ in found):.1f}{end}"
                    for what, found, end in (("Of `modecopy`", chosen, ","), ("of the fastest format", best, ".")))
    return said + "\n\n" + table(["", "`modecopy`", "fastest format", "fastest other", "times `modecopy`",
                                   "times the fastest format"], rows)


def program_rounds(record):
    """Seconds over all modes of one line of peers.jsonl, by program; polyad's by format."""
    if record["program"] != "polyad":
        exact = record["max_relative_error"] is not None
        return {record["program"]: record["seconds_all_modes"]} if exact else {}
    seconds = {}
    for row in record["record"]["results"]:
        name = "polyad " + row["format"]
        seconds[name] = seconds.get(name, 0) + row["median_seconds"]
    return seconds


def with_fibers():
    """Rows of the tensors with the fibers of real ones, and every (ratio of `auto`, tensor)."""
    found = {}
    with open(os.path.join(FOLDER, "h100", "peers.jsonl"), encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            for program, seconds in program_rounds(record).items():
                found.setdefault(record["tensor"], {}).setdefault(program, []).append(1e3 * seconds)
    rows, times = [], []
    for tensor, programs in found.items():
        medians = {program: statistics.median(rounds) for program, rounds in programs.items()
                   if len(rounds) >= LEAST_ROUNDS}
        ours = {program: ms for program, ms in medians.items() if program.startswith("polyad ")}
        chosen = next((program for program in ours if program != "polyad modecopy"), "polyad modecopy")
        peer = min(medians.keys() - ours.keys(), key=medians.get)
        times.append((medians[peer] / ours[chosen], tensor))
        rows.append([tensor + (" (real)" if tensor in tensors.REAL else ""),
                     f"{short(ours[chosen])} (`{chosen.removeprefix('polyad ')}`)",
                     short(ours["polyad modecopy"]), f"{PEERS[peer]} {short(medians[peer])}", f"{times[-1][0]:.1f}"])
    return rows, times


def fibers():
    """MTTKRP on one GPU of tensors with the fibers of real ones, beside the authors' programs."""
    rows, found = with_fibers()
    times = [ratio for ratio, _ in found]
    return (f"The least is {min(times):.1f}, the geometric mean {statistics.geometric_mean(times):.1f}.\n\n" +
            table(["", "`auto`", "`modecopy`", "fastest other", "times"], rows))


def gpu_least():
    """The least favourable tensor of each of the tables of GPUs."""
    _, ratios_of = flat()
    _, fibers_of_h200, _ = h200_fibers()
    _, fibers_h100 = with_fibers()
    rows = [[what, f"{min(found)[0]:.1f} ({min(found)[1]})"] for what, found in (
        ("H200, float32, format `modecopy`, random indices", ratios_of["float32"]),
        ("H200, float64, format `modecopy`, random indices", ratios_of["float64"]),
        ("H200, float32, format `modecopy`, the fibers of real tensors", fibers_of_h200),
        ("H100, float32, format `auto`, real indices or the fibers of real tensors", fibers_h100))]
    return table(["MTTKRP over all modes, rank 32, on an NVIDIA GPU", "at least this many times as fast as the fastest other"],
                 rows)


def iterations():
    """CP-ALS on the H200 with the newer of two builds, real tensors among the others."""
    columns = {}
    for asked in ("modecopy", "auto"):
        file = "iteration_cost.json" if asked == "modecopy" else "iteration_cost_auto.json"
        for row in load("h200", file)["results"]:
            assert len(row["ratios"]) >= LEAST_ROUNDS
            found = columns.setdefault(row["tensor"].split(".")[0], {})
            found[asked, row["tolerance"]] = row["seconds_new"]
    marked = [name + (" (real)" if name in tensors.REAL else "") for name in columns]
    rows = [[f"`{asked}`, tolerance {tolerance:g}",
             *(short(1e3 * found[asked, tolerance]) for found in columns.values())]
            for asked, tolerance in (("auto", 1e-4), ("modecopy", 1e-4), ("modecopy", 0))]
    return ("Milliseconds, medians of 3 runs that took turns with another build's.\n\n" + table(["", *marked], rows))


def ratios(files, peer, least=0, folder="cpu"):
    """(ratio, tensor, rounds) of results of bench/mttkrp_cpu.py, where the peer took at least so
    many seconds."""
    found = []
    for name in files:
        found += [(row[peer + "_over_polyad"], f"{row['tensor']}, R = {row['rank']}",
                   len(row[peer + "_rounds"])) for row in load(folder, name)["results"]
                  if row.get(peer + "_over_polyad") and row[peer + "_seconds"] >= least]
    return found


def phi_ratios(program, files):
    return [(row["outer_over_polyad"], f"{row['tensor']}, R = {row['rank']}", len(row["outer_rounds"]))
            for file in files for row in load("cpu", file)["results"] if row["program"] == program]


def read_ratios():
    record = load("cpu", "read_spr.json")
    return [(row["splatt_over_text"], row["tensor"], len(row["rounds"]["splatt"]))
            for row in record["results"]]


def python_ratios():
    record = load("cpu", "python_cp_als.json")
    tensor = record["tensor"].removesuffix(".tns.gz")
    return [(record["times_faster"], f"{tensor}, real", len(record["seconds"]["pyttb"]))]


def least_row(what, program, found):
    """A row of the table, or nothing where no result has enough rounds."""
    if not any(rounds >= LEAST_ROUNDS for _, _, rounds in found):
        return []
    ratio, tensor, rounds = min(found)
    few = f"; {rounds} round{'s' * (rounds > 1)}" if rounds < LEAST_ROUNDS else ""
    digits = 2 if ratio < 1 else 1 if ratio < 10 else 0
    return [[what, program, f"{ratio:.{digits}f} ({tensor}{few})"]]


MTTKRP_F64 = tuple(f"mttkrp_f64_{which}.json"
                   for which in ("real", "enron", "nell-2", "uber"))
PHI_SPARTEN = tuple(f"phi_r16_{tensor}.json" for tensor in ("uber", "nips", "chicago", "nell2"))
SPLATT_LEAST = 0.02  # it prints whole milliseconds of each mode


def cpu():
    rows = [*least_row("MTTKRP over all modes, float64", "SPLATT",
                       ratios(MTTKRP_F64, "splatt", SPLATT_LEAST)),
            *least_row("the same", "ALTO", ratios((*MTTKRP_F64, "mttkrp_alto_r32_f64.json"), "alto")),
            *least_row("the same, 16 threads of a Xeon", "ALTO",
                       ratios(("mttkrp_alto16.json",), "alto", folder="h100")),
            *least_row("reading `.tns` text", "SPLATT", read_ratios()),
            *least_row("CP-APR, an outer iteration of MU", "SparTen", phi_ratios("sparten", PHI_SPARTEN)),
            *least_row("the same", "ALTO", phi_ratios("alto", ("phi_alto_r16.json",))),
            *least_row("`polyad.cp_als`, plan included", "pyttb", python_ratios())]
    return table(["on the CPU, two threads unless the row names more", "at least this many times as fast as", ""], rows)


def whole():
    """Whole runs by the clock; nothing while none are committed."""
    path = os.path.join(FOLDER, "cpu", "whole_runs.json")
    if not os.path.exists(path):
        return ""
    record = load("cpu", "whole_runs.json")
    if record["rounds"] < LEAST_ROUNDS:
        sys.exit(f"{path}: {record['rounds']} rounds found; expected at least {LEAST_ROUNDS}")
    rows = [[row["tensor"] + (" (real)" if row["tensor"] in tensors.REAL else ""),
             f"{row['nnz'] / 1e6:.2f} M", f"{row['seconds_clock']:.2f}", f"{row['seconds_read']:.2f}",
             f"{row['seconds_build']:.2f}", f"{row['seconds_iterations']:.2f}",
             str(row["iterations"])] for row in record["results"]]
    return (f"Whole runs of `polyad cpd --rank {record['rank']}`, seconds by the clock, "
            f"{record['threads']} threads of {record['machine']} (`bench/whole_runs.py`, medians of {record['rounds']} "
            "alternating rounds):\n\n" +
            table(["", "nonzeros", "whole", "reading", "building", "iterations", "how many"], rows))


def whole_gpu():
    """Whole runs on a GPU, from the file to the written model."""
    rows = []
    for row in load("h200", "whole_runs.json")["results"]:
        parts = (row["seconds_start"], row["seconds_read"], row["seconds_build"],
                 row["seconds_iterations"],
                 row["seconds_init"] + row["seconds_finish"] + row["seconds_write"])
        rows.append([row["tensor"] + (" (real)" if row["tensor"] in tensors.REAL else ""),
                     f"{row['nnz'] / 1e6:.3g} M", f"{row['seconds_clock']:.2f}",
                     *(f"{seconds:.2f}" for seconds in parts), f"{row['ratio']:.1f}"])
    return table(["", "nonzeros", "whole", "CUDA's start", "reading", "building", "iterations",
                  "first factors, end and writing", "times as fast as 3985a2a"], rows)


def building_gpu():
    """Building on a GPU of arrays in the host's memory."""
    rows = []
    for name in ("uber", "nell-2", "delicious", "nell-1", "twitch"):
        record = load("h200", f"build_{name}.json")
        taken = {row["format"]: 1e3 * row["median_seconds"] for row in record["results"]}
        rows.append([name, f"{record['nnz'] / 1e6:.3g} M", str(record["order"]),
                     *(f"{taken[which]:.3g}" for which in ("modecopy", "twotree"))])
    return table(["", "nonzeros", "modes", "`modecopy`", "`twotree`"], rows)


PAGES = {"README.md": {"gpu-least": gpu_least, "cpu": cpu},
         os.path.join("docs", "measured.md"): {"gpu": gpu, "fibers-h200": fibers_h200, "fibers": fibers, "iterations": iterations, "whole": whole,
                                               "whole-gpu": whole_gpu,
                                               "building-gpu": building_gpu}}


def filled(page, text):
    """The page with every table made anew; a table without a place there is an error."""
    for name, make in PAGES[page].items():
        pattern = re.compile(rf"(<!-- bench/readme_tables\.py {name} -->\n).*?(<!-- end -->)", re.S)
        if not pattern.search(text):
            sys.exit(f"{page}: no place for table {name} found")
        made = make()
        text = pattern.sub(lambda match, made=made: match[1] + "\n" + (made + "\n\n" if made else "") +
                           match[2], text)
    return text


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    for page in PAGES:
        path = os.path.join(ROOT, page)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        made = filled(page, text)
        if sys.argv[1:] and made != text:
            sys.exit(f"{page}: tables differ from bench/results: run bench/readme_tables.py")
        if not sys.argv[1:]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(made)


if __name__ == "__main__":
    main()
