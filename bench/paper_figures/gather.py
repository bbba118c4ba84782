#!/usr/bin/env python3
"""Fills an archive for draw.py from results that bench/h200.sh wrote, without running anything.

usage: bench/paper_figures/gather.py ARCHIVE FOLDER   (such as bench/results/h200)

What measure.py put into ARCHIVE, if it exists, stays. Every other run of experiments.py is looked up
by tensor, kernel, format, variant and settings among the rows of FOLDER's *.jsonl; one that is not
there stays a gap. FOLDER/peers_run.json and peers.json, where they exist, add what the peers' own
programs took.
"""
import glob
import json
import os
import subprocess
import sys

from experiments import MODES, all_steps

# Files with the newest kernels first: the first that has a run is taken.
ORDER = ("field", "huge", "large", "small", "hls")
# What figures are drawn from; the files have the rest.
DRAWN = ("format", "variant", "mode", "median_seconds", "runs", "build_seconds", "bytes_format",
         "smape_percent")
THRESHOLDS = {"mttkrp": 78, "ttmc": 82}
OWN_PROGRAMS = {("A", "9"): ("blco", "mmcsf", "hicoo", "genten"),
                ("B", "3"): ("blco", "mmcsf", "hicoo", "genten")}


def objects(path):
    """JSON objects of a file, one per line."""
    with open(path, encoding="utf-8") as lines:
        yield from map(json.loads, filter(str.strip, lines))


def date_of(path):
    done = subprocess.run(["git", "log", "-1", "--format=%cs", "--", path], capture_output=True,
                          text=True, check=False)
    return done.stdout.strip() or "undated"


def place(path):
    stem = os.path.splitext(os.path.basename(path))[0]
    return ORDER.index(stem) if stem in ORDER else len(ORDER)


def key(tensor, row):
    """What tells one measurement from another."""
    kernel, name = row.get("kernel") or "mttkrp", row["format"]
    hybrid = name == "hls"
    return (tensor, kernel, name, row.get("variant") or "auto",
            row.get("columns", 32) if name == "flycoo" else None,
            (row.get("compute", "native"), row.get("threshold")) if hybrid else None)


def load(folder):
    """Rows by key and mode, each with the device and the file that it came from."""
    table = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl")), key=place):
        if path.endswith("_fibers.jsonl"):  # the other tensors are flat
            continue
        for found in objects(path):
            tensor = found["file"].partition(":")[2]
            for row in found["results"]:
                if row.get("kernel") == "als":
                    continue
                if row.get("kernel") != "phi" and row.get("precision", "f32") != "f32":
                    continue
                modes = table.setdefault((found["device"], *key(tensor, row)), {})
                modes.setdefault(row["mode"], (row, found, path))
    return table


def wanted(step, run):
    """The key of a run: what its command line asks for."""
    kernel, options = run.arguments[1], dict(zip(run.arguments[3::2], run.arguments[4::2]))
    if "--format" not in options or "--portable" in run.arguments:
        return None
    name, *words = options["--format"].split(":")
    given = dict(word.split("=") for word in words if "=" in word)
    variant = next((word for word in words if "=" not in word), "auto")
    if "order-for-mode" in given:
        return None
    hybrid = (run.pick.get("precision") or options.get("--compute", "f32"),
              int(given.get("tile-threshold", THRESHOLDS.get(kernel, 0))))
    return (step.tensor, kernel, name, variant,
            int(given.get("block-columns", 32)) if name == "flycoo" else None,
            hybrid if name == "hls" else None)


def output_of(modes):
    row, found, _ = next(iter(modes.values()))
    rows = [{name: modes[mode][0][name] for name in DRAWN if name in modes[mode][0]}
            for mode in sorted(modes)]
    return {"file": found["file"], "dims": found["dims"], "nnz": found["nnz"],
            "rank": row["rank"], "precision": row.get("precision", "f32"), "results": rows}


def missing(message):
    return {"command": "", "output": None, "message": message, "seconds": 0, "when": ""}


def gather(table, step, run, device):
    asked = None if run.label.startswith("counters ") else wanted(step, run)
    modes = table.get((device, *asked), {}) if asked else {}
    if len(modes) != MODES.get(step.tensor):
        return missing("not measured")
    path = next(iter(modes.values()))[2]
    stage = os.path.splitext(os.path.basename(path))[0]
    return {"command": f"bench/h200.sh ({stage}.jsonl); polyad {' '.join(run.arguments)}",
            "output": output_of(modes), "message": None,
            "seconds": 0, "when": date_of(path)}


def own_programs(folder, step):
    """Of each program the first file that has it: what ran beside polyad comes before the rest."""
    for name in OWN_PROGRAMS.get((step.paper, step.figure), ()):
        for path in filter(os.path.exists, (os.path.join(folder, "peers_run.json"),
                                            os.path.join(folder, "peers.json"))):
            with open(path, encoding="utf-8") as file:
                time = json.load(file)["f32"].get(step.tensor, {}).get(name)
            if time:
                output = {"results": [{"median_seconds": time / 1e3}]}
                yield f"{name} (its own program)", {
                    "command": os.path.basename(path), "output": output, "message": None,
                    "seconds": 0, "when": date_of(path)}
                break


def measured(path):
    """The archive that measure.py left, or an empty one, and its runs by step and label."""
    archive = {"records": []}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            archive = json.load(file)
    runs = {(record["paper"], record["figure"], record["tensor"], label): run
            for record in archive["records"] for label, run in record["runs"].items()
            if run["output"] and "process" in run}
    return archive, runs


def machine_of(table):
    for modes in table.values():
        found = next(iter(modes.values()))[1]
        if found["device"] == "cuda:0" and "device_name" in found:
            return {"name": "cuda:0", "description": found["device_name"]}
    return {"name": "cuda:0", "description": "?"}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder = sys.argv[2]
    archive, kept = measured(sys.argv[1])
    table, records = load(folder), []
    for step in all_steps(lambda tensor: "like:" + tensor, quick=False):
        place_of = (step.paper, step.figure, step.tensor)
        runs = {run.label: kept.get((*place_of, run.label)) or gather(table, step, run, "cuda:0")
                for run in step.runs}
        runs.update(own_programs(folder, step))
        records.append({"paper": step.paper, "figure": step.figure, "tensor": step.tensor,
                        "data": "generated", "runs": runs})
    archive = {"machine": machine_of(table), **archive, "records": records, "left": []}
    with open(sys.argv[1] + ".new", "w", encoding="utf-8") as file:
        json.dump(archive, file, indent=1)
        file.write("\n")
    os.replace(sys.argv[1] + ".new", sys.argv[1])
    found = sum(run["output"] is not None for record in records for run in record["runs"].values())
    print(f"{found} of {sum(len(record['runs']) for record in records)} runs are there")


if __name__ == "__main__":
    main()
