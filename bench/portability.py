#!/usr/bin/env python3
"""Tables of performance portability, from what `polyad bench … --portable --json` and
`polyad cpd --algorithm apr-mu --json` wrote.

usage: bench/portability.py [--out FOLDER] FILE.json|FOLDER…

Figure numbers are those of S. I. Geronimo Anderson and J. Choi, Performance Portability of Sparse
Tensor Decomposition Operations. Its portable code (Kokkos) is here the kernels of src/portable, its
code tuned by hand the formats coo (CPU), modecopy (CUDA) and alto. What was not measured leaves a
gap. Writes README.md with all tables and FIGURE.csv; bench/paper_figures/draw.py draws them.
"""

import argparse
import collections
import csv
import json
import pathlib
import sys

# Specified peak bandwidth in GB/s, by what a device's name contains: NVIDIA's data sheets of the H200
# (SXM, 4.8 TB/s), the H100 (SXM, 3.35 TB/s), the A100 (40 GB, 1555 GB/s) and the V100 (900 GB/s).
SPECIFIED = {"NVIDIA H200": 4800, "NVIDIA H100": 3350, "NVIDIA A100": 1555, "Tesla V100": 900}
LOOPS = ["copy", "scale", "add", "triad"]
TENSORS = ["chicago", "nell-2", "nips", "uber", "lbnl-network"]

Run = collections.namedtuple("Run", "device tensor precision rows data")


def read(paths):
    files = []
    for path in map(pathlib.Path, paths):
        files += sorted(path.rglob("*.json")) if path.is_dir() else [path]
    for file in files:
        text = file.read_text()
        for line in [text] if text.lstrip().startswith("{\n") else text.splitlines():
            if not line.strip():
                continue
            data = json.loads(line)
            if "device" in data:
                yield data


def device_of(data):
    name = data.get("device_name") or data["device"]
    kind = data["device"].split(":")[0]
    label = {"cpu": "CPU", "cuda": "CUDA", "opencl": "OpenCL"}.get(kind, kind)
    if kind == "opencl" and "pthread" in name:
        return f"PoCL ({data['threads']} threads)"
    if kind == "cpu":
        return f"CPU, {data['threads']} threads ({' '.join(name.split()[:4])})"
    return f"{name} ({label})"


def tensor_of(data):
    name = (data.get("file") or "").removeprefix("like:").split("/")[-1]
    return name.removesuffix(".ptn").removesuffix(".tns.gz").split("@")[0]


def specified(data):
    name = data.get("device_name") or ""
    return next((peak for key, peak in SPECIFIED.items() if key in name), None)


def pennycook(efficiencies, devices):
    """Harmonic mean of efficiencies over all devices; 0 when one of them is not supported."""
    if any(device not in efficiencies for device in devices) or not devices:
        return 0.0
    return len(devices) / sum(1 / efficiencies[device] for device in devices)


Table = collections.namedtuple("Table", "name title rows columns values unit log digits")


class Report:
    """Collects tables; writes them as Markdown and CSV."""

    def __init__(self):
        self.tables = []

    def table(self, name, title, rows, columns, values, unit="", log=False, digits=3):
        """values[(row, column)] -> number; rows without any are left out."""
        rows = [row for row in rows if any((row, column) in values for column in columns)]
        if rows:
            self.tables.append(Table(name, title, rows, columns, values, unit, log, digits))

    def find(self, name):
        return next((table for table in self.tables if table.name == name), None)

    def write(self, folder):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "README.md").write_text("\n".join(self.markdown()).rstrip() + "\n")
        for table in self.tables:
            with open(folder / f"{table.name}.csv", "w", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow([table.unit or "value", *table.columns])
                for row in table.rows:
                    writer.writerow([row, *(table.values.get((row, column), "")
                                            for column in table.columns)])

    def markdown(self):
        yield from ["# Performance portability", "",
                    "Written by `bench/portability.py`; figure numbers are the paper's. Medians. An "
                    "empty cell was not measured. `make figures` draws figures 2 to 11.", ""]
        for table in self.tables:
            unit = f" ({table.unit})" if table.unit else ""
            yield from [f"## {table.title}{unit}", "",
                        "| |" + "".join(f" {column} |" for column in table.columns),
                        "| --- |" + " ---: |" * len(table.columns)]
            for row in table.rows:
                cells = [table.values.get((row, column)) for column in table.columns]
                yield f"| {row} |" + "".join(
                    f" {format(cell, f'.{table.digits}g') if cell is not None else ''} |"
                    for cell in cells)
            yield ""


def ordered_tensors(names):
    known = [name for name in TENSORS if any(n.split("@")[0] == name for n in names)]
    return sorted(names, key=lambda n: (known.index(n.split("@")[0]) if n.split("@")[0] in known
                                        else len(known), n))


def total(rows, variant, format_name=None):
    """Seconds of all modes of one variant, or None."""
    seconds = [row["median_seconds"] for row in rows if row["variant"] == variant
               and (format_name is None or row["format"] == format_name)]
    return sum(seconds) if seconds else None


def stream_figures(report, runs):
    of_measured, of_specified, speedup, absolute, devices = {}, {}, {}, {}, []
    for run in runs:
        rate = {(row["variant"], row["format"]): row["gbytes_per_second"] for row in run.rows}
        best = max(rate.values())
        if run.precision == "f32":
            run = run._replace(device=run.device + ", float")
        devices.append(run.device)
        for loop in LOOPS:
            portable, tuned = rate.get(("portable", loop)), rate.get(("tuned", loop))
            if portable is None:
                continue
            absolute[run.device, loop] = portable
            of_measured[run.device, loop] = 100 * portable / best
            if specified(run.data):
                of_specified[run.device, loop] = 100 * portable / specified(run.data)
            if tuned is not None:
                speedup[run.device, loop] = portable / tuned
    devices = list(dict.fromkeys(devices))
    report.table("stream_bandwidth", "STREAM, portable: bandwidth", devices, LOOPS, absolute, "GB/s")
    report.table("figure3", "Figure 3: STREAM, portable, share of the best measured bandwidth",
                 devices, LOOPS, of_measured, "%")
    report.table("figure3_specified", "Figure 3: STREAM, portable, share of the specified bandwidth",
                 devices, LOOPS, of_specified, "%")
    report.table("figure4", "Figure 4: STREAM, speed-up of portable over tuned by hand", devices,
                 LOOPS, speedup, "tuned / portable seconds", log=True)
    return devices, of_measured, speedup


def best_stream(runs):
    best = {}
    for run in runs:
        rate = max(row["gbytes_per_second"] for row in run.rows)
        best[run.device] = max(rate, best.get(run.device, 0))
    return best


def mttkrp_figures(report, runs, peak):
    share, speedup, atomic, devices, tensors = {}, {}, {}, [], []
    for run in runs:
        tuned, portable = total(run.rows, "tuned"), total(run.rows, "portable")
        devices.append(run.device)
        tensors.append(run.tensor)
        key = (run.device, run.tensor)
        moved = sum(row["bytes_moved"] for row in run.rows if row["variant"] == "portable")
        if portable and run.device in peak:
            share[key] = 100 * moved / portable / 1e9 / peak[run.device]
        if portable and tuned:
            speedup[key] = tuned / portable
        if portable and total(run.rows, "portable-atomic"):
            atomic[key] = total(run.rows, "portable-atomic") / portable
    devices, tensors = list(dict.fromkeys(devices)), ordered_tensors(dict.fromkeys(tensors))
    report.table("figure5", "Figure 5: MTTKRP, portable, modelled bytes per second over the best "
                 "STREAM (caches make it more than 100)", devices, tensors, share, "%", log=True)
    report.table("figure6", "Figure 6: MTTKRP, speed-up of portable over tuned by hand", devices,
                 tensors, speedup, "tuned / portable seconds")
    report.table("mttkrp_atomic", "MTTKRP, portable: pull-based over atomic", devices, tensors,
                 atomic, "atomic / pull-based seconds")
    return devices, tensors, speedup


def phi_figures(report, runs, editions):
    seconds = {name: {} for name in ("portable", "portable-atomic", "AE", "PE", "tuned")}
    devices, tensors = [], []
    for run in runs:
        devices.append(run.device)
        tensors.append(run.tensor)
        for name in ("portable", "portable-atomic", "tuned"):
            if total(run.rows, name):
                seconds[name][run.device, run.tensor] = total(run.rows, name)
    for run in editions:
        devices.append(run.device)
        tensors.append(run.tensor)
        described = run.rows[0]["variant"]
        name = "AE" if "atomic" in described else "PE"
        seconds[name][run.device, run.tensor] = sum(row["median_seconds"] for row in run.rows)
    devices, tensors = list(dict.fromkeys(devices)), ordered_tensors(dict.fromkeys(tensors))
    report.table("figure7", "Figure 7: Phi, portable, pull-based, all modes", devices, tensors,
                 seconds["portable"], "seconds", log=True)
    report.table("figure7_atomic", "Figure 7: Phi, portable, atomic, all modes", devices, tensors,
                 seconds["portable-atomic"], "seconds", log=True)
    report.table("figure8", "Figure 8: Phi tuned by hand on coordinates in ALTO order, atomic "
                 "edition", devices, tensors, seconds["AE"], "seconds", log=True)
    report.table("figure9", "Figure 9: the same, pull-based edition", devices, tensors,
                 seconds["PE"], "seconds", log=True)
    ratios = {}
    for name in ("AE", "PE", "tuned"):
        ratios[name] = {key: seconds["portable"][key] / value
                        for key, value in seconds[name].items() if key in seconds["portable"]}
    report.table("figure10", "Figure 10: Phi, speed-up of the atomic edition over portable",
                 devices, tensors, ratios["AE"], "portable / AE seconds", log=True)
    report.table("figure11", "Figure 11: Phi, speed-up of the pull-based edition over portable",
                 devices, tensors, ratios["PE"], "portable / PE seconds", log=True)
    speedup = {key: 1 / value for key, value in ratios["tuned"].items()}
    report.table("phi_speedup", "Phi, speed-up of portable over tuned by hand with the same "
                 "algorithm", devices, tensors, speedup, "tuned / portable seconds")
    pulled = {key: seconds["portable-atomic"][key] / value
              for key, value in seconds["portable"].items() if key in seconds["portable-atomic"]}
    report.table("phi_atomic", "Phi, portable: pull-based over atomic", devices, tensors, pulled,
                 "atomic / pull-based seconds")
    return devices, tensors, speedup


def shares_figure(report, runs):
    parts = ["phi", "pi", "kkt", "mu"]
    values, tensors = {}, []
    for data in runs:
        tensor = tensor_of(data)
        seconds = {part: sum(data.get(f"seconds_{part}") or [0]) for part in parts}  # of all modes
        if not any(seconds.values()):
            continue
        tensors.append(tensor)
        for part in parts:
            values[tensor, part] = 100 * seconds[part] / sum(seconds.values())
    report.table("figure2", "Figure 2: shares of CP-APR MU's kernels",
                 ordered_tensors(dict.fromkeys(tensors)), parts, values, "%")


def metric(report, name, devices, columns, ratios):
    """Application efficiency of the portable kernel: best of the two over portable."""
    values = {}
    for column in columns:
        measured = {device: min(1.0, ratios[device, column]) for device in devices
                    if (device, column) in ratios}
        compared = [device for device in devices if any((device, c) in ratios for c in columns)]
        values["Pennycook's metric", column] = pennycook(measured, compared)
    report.table(f"metric_{name}", f"{name}: performance portability of the portable kernels "
                 "(harmonic mean of efficiencies over the devices with a tuned kernel)",
                 ["Pennycook's metric"], columns, values, "efficiency")


def collect(paths):
    """The tables of all results in files and folders."""
    kernels, decompositions = collections.defaultdict(list), []
    for data in read(paths):
        if "results" in data:
            run = Run(device_of(data), tensor_of(data), data["precision"], data["results"], data)
            kernels[data["kernel"]].append(run)
        elif str(data.get("algorithm", "")).startswith("apr"):
            decompositions.append(data)
    report = Report()
    shares_figure(report, decompositions)
    devices, _, speedup = stream_figures(report, kernels["stream"])
    metric(report, "STREAM", devices, LOOPS, speedup)
    peak = best_stream(kernels["stream"])
    devices, tensors, speedup = mttkrp_figures(report, kernels["mttkrp"], peak)
    metric(report, "MTTKRP", devices, tensors, speedup)
    editions = [run for run in kernels["phi"] if {row["format"] for row in run.rows} == {"alto"}]
    others = [run for run in kernels["phi"] if run not in editions]
    devices, tensors, speedup = phi_figures(report, others, editions)
    metric(report, "Phi", devices, tensors, speedup)
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="+", metavar="FILE|FOLDER")
    parser.add_argument("--out", default="portability", metavar="FOLDER")
    arguments = parser.parse_args()
    report = collect(arguments.paths)
    if not report.tables:
        sys.exit("portability.py: no results of polyad bench or cpd found")
    report.write(arguments.out)


if __name__ == "__main__":
    main()
