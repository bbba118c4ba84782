#!/usr/bin/env python3
"""The papers' claims beside what is committed under bench/results: writes docs/claims.md.

usage: bench/claims.py [--check]     --check: only says whether the page is current

bench/published.json has what the papers say and where; here each claim gets the ratios of the same
quantity on this project's machines, and a verdict by rule (VERDICTS). Nothing here measures. The
words of the page are in bench/claims.md.in; names in braces there are figures from here.
"""
import collections
import json
import os
import re
import statistics
import sys

import portability
from measured import PROGRAMS, Measured, lines_of

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, os.pardir, "docs", "claims.md")
OWN = {"A": ("amazon", "delicious", "music", "nell-1", "twitch", "vast"),  # paper A, table 3
       "B": ("chicago", "enron", "nell-1", "nips", "uber", "vast"),  # paper B, table III
       "C": ("chicago", "nell-2", "nips", "uber"),  # paper C, table 3
       "D": ("movies", "art", "book", "g1", "g2", "g3")}  # paper D, table III
OTHERS = {"A": ("uber", "nips", "chicago", "movies", "nell-2"), "B": ("movies", "nell-2")}
VERDICTS = ("A mean holds when the geometric mean of ours is at least the paper's, is smaller when it "
            "is still above 1, and fails when it is not. A range holds when every ratio is at least "
            "the paper's least, holds in part when some are, and fails when none is. A bound holds "
            "when no value is above it. Averages of shares are compared as they are.")
FORMATS = {"A": ("flycoo", "paper"), "B": ("modecopy", "paper")}

# ours: what was measured; values by tensor (or device); where: files.
Row = collections.namedtuple("Row", "claim ours values where")


def published():
    with open(os.path.join(HERE, "published.json"), encoding="utf-8") as file:
        return json.load(file)


def mean(values):
    return statistics.geometric_mean(values)


def verdict(claim, values):
    """The words of VERDICTS for the values of one row."""
    if not values:
        return "not measured"
    numbers, kind = list(values.values()), claim["kind"]
    if kind == "mean":
        ours = mean(numbers)
        return "holds" if ours >= claim["least"] else "smaller" if ours > 1 else "fails"
    if kind == "average":
        return "holds" if statistics.fmean(numbers) >= claim["least"] else "smaller"
    if kind == "average-most":
        return "holds" if statistics.fmean(numbers) <= claim["most"] else "larger"
    within = [n <= claim["most"] if kind == "most" else n >= claim["least"] for n in numbers]
    return "holds" if all(within) else "in part" if any(within) else "fails"


def speedups(m, paper, variant, tensors, baseline, own_program):
    """Times as fast as a baseline, on the tensors where both were measured, and from which files."""
    values, files = {}, set()
    for tensor in tensors:
        ours = m.time(tensor, FORMATS[paper][0], variant)
        if own_program:
            other, file = m.peers.get((tensor, baseline), (None, None))
        else:
            time = m.time(tensor, baseline)
            other, file = (time.ms, time.file) if time else (None, None)
        if ours and other:
            values[tensor] = other / ours.ms
            files |= {ours.file, file}
    return values, sorted(files)


def speed_rows(m, paper):
    """Paper A's and B's total times against three baselines: programs of their authors and our own
    formats of the same name, the paper's variant and the default one."""
    for baseline in ("blco", "mmcsf", "hicoo"):
        for variant, name in (("paper", "variant paper"), ("auto", "default variant")):
            for tensors, which in ((OWN[paper], "its own tensors"), (OTHERS[paper], "others")):
                for own in (True, False):
                    values, files = speedups(m, paper, variant, tensors, baseline, own)
                    against = (f"{PROGRAMS[baseline]}'s program" if own else
                               f"polyad's {baseline}")
                    if values or which == "its own tensors":
                        yield Row(f"{paper.lower()}-{baseline}", f"{name} over {against}, {which}",
                                  values, files)


def overall_rows(m):
    for variant, name in (("paper", "variant paper"), ("auto", "default variant")):
        parts, files = {}, set()
        for baseline in ("blco", "mmcsf", "hicoo"):
            values, found = speedups(m, "A", variant, OWN["A"], baseline, False)
            if values:
                parts[baseline] = mean(values.values())
                files |= set(found)
        yield Row("a-overall", f"{name} over polyad's three formats, its own tensors", parts,
                  sorted(files))


def remap_row(m):
    values = {}
    for tensor in OWN["A"] + OTHERS["A"]:
        whole, alone = (m.time(tensor, "flycoo", v) for v in ("paper", "paper-no-remap"))
        if whole and alone:
            values[tensor] = 1 - alone.ms / whole.ms
    return Row("a-remap", "variant paper against paper-no-remap", values,
               ["figures.json", "small.jsonl"])


def counter_rows(m):
    for metric in ("sm", "l1"):
        for other in ("blco", "mmcsf"):
            values = {tensor: found[metric] / m.counters[tensor, other][metric]
                      for (tensor, name), found in m.counters.items() if name == "flycoo"}
            yield Row(f"a-{metric}-{other}", f"variant paper over polyad's {other} (Nsight Compute)",
                      values, ["figures.json"])


def column_rows(m):
    """Throughput over that of fewer columns P of a thread block."""
    grows, falls = {}, {}
    for tensor, outputs in m.archive_runs("A", "8").items():
        ms = {int(p): sum(row["median_seconds"] for row in output["results"])
              for p, output in outputs.items()}
        if {1, 32} <= set(ms):
            grows[tensor] = ms[1] / ms[32]
        if {32, 64} <= set(ms):
            falls[tensor] = ms[32] / ms[64]
    yield Row("a-p-32", "variant paper, P = 32 over P = 1", grows, ["figures.json"])
    yield Row("a-p-64", "variant paper, P = 64 over P = 32", falls, ["figures.json"])


def build_rows(m):
    for other in ("hicoo", "blco"):
        values = {}
        for tensor, outputs in m.archive_runs("A", "10").items():
            seconds = {name: min(row["build_seconds"] for row in output["results"])
                       for name, output in outputs.items()}
            if {"flycoo", other} <= set(seconds):
                values[tensor] = seconds[other] / seconds["flycoo"]
        yield Row(f"a-build-{other}", f"flycoo, times as fast to make as polyad's {other}", values,
                  ["figures.json"])


def scheme_rows(m):
    for scheme in ("scheme1", "scheme2"):
        for tensors, which in ((OWN["B"], "its own tensors"), (OTHERS["B"], "others")):
            values, files = {}, set()
            for tensor in tensors:
                adaptive = m.time(tensor, "modecopy", "paper")
                one = m.time(tensor, "modecopy", "paper-" + scheme)
                if adaptive and one:
                    values[tensor] = one.ms / adaptive.ms
                    files |= {adaptive.file, one.file}
            if values:
                yield Row("b-" + scheme, f"variant paper over variant paper-{scheme}, {which}",
                          values, sorted(files))


def memory_row(m):
    values = {}
    for tensor in OWN["B"]:
        time = m.time(tensor, "modecopy", "paper") or m.time(tensor, "modecopy")
        factors = sum(time.output["dims"]) * 32 * 4
        values[tensor] = 1e-9 * (time.rows[0]["bytes_format"] + factors)
    return Row("b-memory", "variant paper (nell-1: default), R = 32, float32, GB", values,
               ["figures.json", "field-large.jsonl"])


def seconds_by_variant(output, key="variant"):
    sums = collections.Counter()
    for row in output["results"]:
        sums[row[key]] += row["median_seconds"]
    return sums


def portable_rows(m):
    stream = {}
    for name, output in m.portable("stream").items():
        rates = {(row["variant"], row["format"]): row["gbytes_per_second"]
                 for row in output["results"]}
        for (variant, loop), rate in rates.items():
            if variant == "portable" and ("tuned", loop) in rates:
                stream[f"{name.removeprefix('stream-')} {loop}"] = rate / rates["tuned", loop]
    yield Row("c-stream", "CPU with two threads, H200 (CUDA)", stream, ["portability/measured"])
    found = {}
    for name, output in m.portable("mttkrp").items():
        seconds = seconds_by_variant(output)
        device, _, tensor = name.removeprefix("mttkrp-").partition("-")
        if "tuned" in seconds:
            found.setdefault(device, {})[tensor] = seconds["tuned"] / seconds["portable"]
    yield Row("c-mttkrp-cpu", "two threads, over coo (tuned), R = 16, float64", found["cpu"],
              ["portability/measured"])
    yield Row("c-mttkrp-gpu", "H200, over modecopy (the best tuned kernel), R = 16, float64",
              found["cuda"], ["portability/measured"])


def edition_rows(m):
    portable = {name.removeprefix("phi-cpu-"): seconds_by_variant(output)["portable"]
                for name, output in m.portable("phi-cpu").items()}
    for edition, claim in (("atomic", "c-phi-ae"), ("pull", "c-phi-pe")):
        values = {}
        for name, output in m.portable(f"phi-coo-{edition}-cpu").items():
            tensor = name.removeprefix(f"phi-coo-{edition}-cpu-")
            values[tensor] = sum(seconds_by_variant(output).values()) / portable[tensor]
        yield Row(claim, f"two threads, portable (pull-based) over alto's coo-{edition}", values,
                  ["portability/measured"])
    shares = {}
    for name, output in m.portable("cpd-cpu").items():
        parts = [sum(output[f"seconds_{part}"] or [0]) for part in ("phi", "pi", "kkt", "mu")]
        shares[name.removeprefix("cpd-cpu-")] = parts[0] / sum(parts)
    yield Row("c-shares", "two threads, Π stored", shares, ["portability/measured"])


def hybrid_rows(m):
    values = {}
    for tensor, outputs in m.archive_runs("D", "12").items():
        hls = {row["mode"]: row["median_seconds"] for row in outputs["hls"]["results"]}
        for name, output in outputs.items():
            if name != "hls":
                values |= {f"{tensor} {name} m-{row['mode']}": row["median_seconds"] /
                           hls[row["mode"]] for row in output["results"]}
    yield Row("d-mttkrp", "H200, float16, R = 32, over polyad's hicoo, blco, mmcsf, fcoo, fwc, bcsf",
              values, ["figures.json"])
    values = {}
    for tensor, outputs in m.archive_runs("D", "13").items():
        for name in ("hicoo", "mmcsf"):
            values[f"{tensor} {name}"] = total(outputs[name]) / total(outputs["hls"])
    yield Row("d-chain", "H200, float16, R = 32, over polyad's hicoo and mmcsf", values,
              ["figures.json"])
    for tensor in ("art", "book"):
        runs = m.archive_runs("D", "8")[tensor]
        for kernel, name, end in (("mttkrp", "MTTKRP", ""), ("ttmc", "chain", "-chain")):
            threshold = 78 if kernel == "mttkrp" else 82
            both = [m.time(tensor, "hls", variant, kernel, threshold).ms
                    for variant in ("paper-sequential", "paper")]
            yield Row(f"d-fusion-{tensor}{end}", "default variant, variant paper",
                      {"default": total(runs[f"{name} in turn"]) / total(runs[f"{name} together"]),
                       "paper": both[0] / both[1]}, ["figures.json", "hls.jsonl"])


def total(output):
    return sum(row["median_seconds"] for row in output["results"])


def part_rows(m):
    runs = m.archive_runs("D", "10")
    for kernel, tensors, end in (("MTTKRP", ("movies", "g1", "g2", "g3"), "mttkrp"),
                                 ("chain", OWN["D"], "chain")):
        values = {f"{tensor} {part}": total(runs[tensor][f"{kernel} {part}"]) /
                  total(runs[tensor][f"{kernel} HLS"])
                  for tensor in tensors for part in ("HLS-S", "HLS-D")}
        yield Row(f"d-parts-{end}", "H200, float16, R = 32", values, ["figures.json"])


def threshold_curves(m):
    """Milliseconds by kernel, tensor and threshold."""
    curves = {}
    for output in lines_of(os.path.join(m.folder, "hls.jsonl")):
        tensor = output["file"].removeprefix("like:")
        for row in output["results"]:
            if row["label"] == "hls-threshold":
                curve = curves.setdefault(row["kernel"], {}).setdefault(tensor,
                                                                        collections.Counter())
                curve[row["threshold"]] += 1e3 * row["median_seconds"]
    return curves


def threshold_rows(m):
    for kernel, tensors in threshold_curves(m).items():
        name = "mttkrp" if kernel == "mttkrp" else "chain"
        values = {tensor: min(curve.values()) / curve[80] for tensor, curve in tensors.items()}
        yield Row(f"d-threshold-{name}", f"H200, R = {32 if name == 'mttkrp' else 16}", values,
                  ["hls.jsonl"])


def storage_rows(m):
    runs = m.archive_runs("D", "10")
    stored, bandwidth = collections.defaultdict(dict), collections.defaultdict(dict)
    for tensor, outputs in runs.items():
        size = {part: outputs[f"MTTKRP {part}"]["results"][0]["bytes_format"]
                for part in ("HLS", "HLS-S", "HLS-D")}
        size["COO"] = 16 * outputs["MTTKRP HLS"]["nnz"]
        for part in ("HLS-S", "HLS-D", "COO"):
            stored[part][tensor] = 1 - size["HLS"] / size[part]
        for kernel in ("MTTKRP", "chain"):
            rate = {part: index_bandwidth(outputs[f"{kernel} {part}"])
                    for part in ("HLS", "HLS-S", "HLS-D")}
            bandwidth["HLS-S"][f"{tensor} {kernel}"] = rate["HLS"] / rate["HLS-S"] - 1
            bandwidth["HLS-D"][f"{tensor} {kernel}"] = 1 - rate["HLS"] / rate["HLS-D"]
    for part, claim in (("HLS-S", "d-memory-s"), ("HLS-D", "d-memory-d"), ("COO", "d-memory-coo")):
        yield Row(claim, "MTTKRP's threshold, float16", stored[part], ["figures.json"])
    for part, claim in (("HLS-S", "d-bandwidth-s"), ("HLS-D", "d-bandwidth-d")):
        yield Row(claim, "both kernels", bandwidth[part], ["figures.json"])
    errors = {f"{tensor} {label}": max(row["smape_percent"] for row in output["results"]) / 100
              for tensor, outputs in m.archive_runs("D", "11").items()
              for label, output in outputs.items() if not label.endswith("tf32")}
    yield Row("d-error", "float16 and bfloat16, both kernels", errors, ["figures.json"])


def index_bandwidth(output):
    """Bytes of the indices over the mean time of a mode, as paper D counts (section VII-B.2)."""
    modes = len(output["results"])
    return (output["results"][0]["bytes_format"] - 2 * output["nnz"]) * modes / total(output)


def all_rows(m):
    made = [*speed_rows(m, "A"), *overall_rows(m), remap_row(m), *counter_rows(m), *column_rows(m),
            *build_rows(m), *speed_rows(m, "B"), *scheme_rows(m), memory_row(m), *portable_rows(m),
            *edition_rows(m), *hybrid_rows(m), *part_rows(m), *threshold_rows(m), *storage_rows(m)]
    order = list(published()["claims"])
    return sorted(made, key=lambda row: order.index(row.claim))


def number(value, unit=""):
    if unit == "%":
        return f"{100 * value:.3g}%"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def said(claim):
    """What the paper says, in a cell."""
    if "range" in claim:
        return claim["range"]
    if claim["kind"] == "range" and "most" in claim:
        return f"{claim['least']:g}–{claim['most']:g}"
    value = claim["least"] if "least" in claim else claim["most"]
    return f"{100 * value:g}%" if claim.get("unit") == "%" else f"{value:g}"


def shown(claim, values):
    """Our values, in a cell: all when they are few, else the least and the largest."""
    if not values:
        return "–"
    unit, numbers = claim.get("unit", ""), list(values.values())
    least, most = min(values, key=values.get), max(values, key=values.get)
    if len(values) <= 4:
        text = ", ".join(f"{name} {number(value, unit)}" for name, value in values.items())
    else:
        text = (f"{number(values[least], unit)} ({least}) to {number(values[most], unit)} ({most})"
                f", {len(values)} values")
    if claim["kind"] == "mean" and len(values) > 1:
        return f"**{number(mean(numbers), unit)}** ({text})"
    if claim["kind"].startswith("average"):
        return f"**{number(statistics.fmean(numbers), unit)}** ({text})"
    return text


def tables(rows):
    """The lines of each paper's table; a row's claim stands in its first line only."""
    claims, text = published()["claims"], collections.defaultdict(list)
    last = None
    for row in rows:
        claim = claims[row.claim]
        first = [claim["text"], said(claim), claim["source"]] if row.claim != last else [""] * 3
        files = ", ".join(f"`{file}`" for file in row.where)
        text[claim["paper"]].append("| " + " | ".join([
            *first, row.ours, shown(claim, row.values), verdict(claim, row.values), files]) + " |")
        last = row.claim
    head = ("| claim | the paper | where | here | ours | verdict | files |\n"
            "| --- | --- | --- | --- | --- | --- | --- |\n")
    return {f"table_{paper.lower()}": head + "\n".join(lines) for paper, lines in text.items()}


def summary(rows):
    """One line a claim for the page's head: of a claim's rows the first that was measured, which is
    the nearest to the paper's own setting, and the first of the default variant."""
    claims = published()["claims"]
    lines = ["| paper | claim | the paper | ours, nearest to its setting | verdict | default variant |",
             "| --- | --- | --- | --- | --- | --- |"]
    for name, claim, row, default in heads(rows):
        other = f"{default.ours}: {shown(claim, default.values)}: " + \
            verdict(claim, default.values) if default else ""
        lines.append(f"| {claim['paper']} | {claim['text']} | {said(claim)} | {row.ours}: "
                     f"{shown(claim, row.values)} | {verdict(claim, row.values)} | {other} |")
    assert len(lines) == len(claims) + 2
    return "\n".join(lines)


def heads(rows):
    """For every claim its name, what is published, the row for the summary, the default variant's."""
    for name, claim in published()["claims"].items():
        ours = [row for row in rows if row.claim == name]
        row = next((row for row in ours if row.values), ours[0])
        default = next((row for row in ours if row.values and row.ours.startswith("default variant ")
                        ), None)
        yield name, claim, row, default


def fullest(time):
    """How full the fullest of a variant's partitions is, times the mean, as its description says."""
    row = time.rows[0]
    found = re.search(r"fullest ([0-9.]+) times the mean", row.get("about") or row["variant"])
    return float(found.group(1))


def one_threshold(curves, usual=80):
    """The threshold that is best over all tensors, and what it gains on each over the usual one."""
    common = set.intersection(*map(set, curves.values()))
    gains = {threshold: {tensor: curve[usual] / curve[threshold]
                         for tensor, curve in curves.items()} for threshold in common}
    best = max(sorted(gains), key=lambda threshold: statistics.geometric_mean(
        gains[threshold].values()))
    least, most = (choose(gains[best], key=gains[best].get) for choose in (min, max))
    return (f"{best} ({statistics.geometric_mean(gains[best].values()):.2f} times as fast in geometric "
            f"mean, {gains[best][least]:.2f} on {least}, {gains[best][most]:.2f} on {most})")


def reasons(m):
    """Numbers that the page's explanations quote, from the committed profiles and times by mode."""
    values = {}
    for (tensor, name), found in m.counters.items():
        for metric, value in found.items():
            values.setdefault(f"{metric}_{name}", []).append((value, tensor))
    facts = {name: f"{min(found)[0]:.0f}–{max(found)[0]:.0f}%" for name, found in values.items()}
    for tensor in ("uber", "nips", "chicago", "vast"):
        time = m.time(tensor, "flycoo", "paper")
        program = m.peers[tensor, "blco"][0]
        facts[f"full_{tensor}"] = f"{fullest(time):.1f}"
        facts[f"even_{tensor}"] = f"{time.ms / fullest(time):.3g}"
        facts[f"blco_{tensor}"] = f"{program:.3g}"
        facts[f"paper_{tensor}"] = f"{time.ms:.3g}"
    for tensor in ("uber", "enron", "chicago"):
        for scheme in ("scheme1", "scheme2"):
            modes = m.time(tensor, "modecopy", "paper-" + scheme).modes
            facts[f"{scheme}_{tensor}"] = ", ".join(f"{ms:.3g}" for _, ms in sorted(modes.items()))
    vast = m.time("vast", "flycoo", "paper")
    facts["vast_mode_3"] = f"{vast.modes[3]:.0f} of {vast.ms:.0f} ms"
    for kernel, curves in threshold_curves(m).items():
        facts[f"best_{kernel}"] = ", ".join(f"{tensor} {min(curve, key=curve.get)}"
                                            for tensor, curve in curves.items())
        facts[f"one_{kernel}".replace("ttmc", "chain")] = one_threshold(curves)
    facts["five_modes"] = ", ".join(
        f"{PROGRAMS[program]} {m.peers['vast', program][0]:.3g} ms"
        for program in PROGRAMS if ("vast", program) in m.peers)
    for name in ("mmcsf", "blco", "hicoo"):
        ratios = [peer / m.time(tensor, name).ms for (tensor, program), (peer, _) in m.peers.items()
                  if program == name and m.time(tensor, name)]
        facts[f"over_{name}"] = f"{min(ratios):.1f} to {max(ratios):.1f}"
    facts |= with_fibers()
    blocks = m.time("nell-2", "hicoo").rows[0]["about"]
    facts["blocks_nell-2"] = re.search(r"([0-9.e+]+) nonzeros in each", blocks).group(1)
    return facts


def with_fibers():
    """Formats beside their authors' programs on tensors with the fibers of the real ones."""
    m, facts = Measured(fibers=True), {}
    for name in ("mmcsf", "blco", "bcsf"):
        ratios = [ms / m.time(tensor, name).ms for (tensor, program), (ms, _) in m.peers.items() if program == name]
        facts[f"fibers_{name}"] = f"{min(ratios):.1f} to {max(ratios):.1f}"
    return facts


def hybrid_reasons(m, rows):
    """Numbers on paper D that the page quotes."""
    values = {row.claim: row.values for row in rows}
    facts = {}
    fusion = [ratio for claim, found in values.items() if claim.startswith("d-fusion")
              for ratio in found.values()]
    facts["fusion"] = f"{min(fusion):.2f} to {max(fusion):.2f}"
    for kernel in ("mttkrp", "chain"):
        facts[f"loss_{kernel}"] = number(1 - min(values[f"d-threshold-{kernel}"].values()), "%")
    claims = published()["claims"]
    apart = [abs(statistics.fmean(values[name].values()) - claims[name]["least"])
             for name in ("d-memory-s", "d-memory-d", "d-memory-coo")]
    facts["memory_apart"] = f"{100 * max(apart):.1f}"
    gains = {"coo-atomic": {}, "modecopy": {}}
    for output in lines_of(os.path.join(m.folder, "hls.jsonl")):
        rows = [row for row in output["results"] if row["kernel"] == "ttmc"]
        hls = sum(row["median_seconds"] for row in rows
                  if (row["label"], row["compute"]) == ("hls", "f16"))
        for label, found in gains.items():
            found[output["file"].removeprefix("like:")] = sum(
                row["median_seconds"] for row in rows if row["label"] == label) / hls
    for label, found in gains.items():
        facts[f"chain_{label}"] = ", ".join(f"{tensor} {number(ratio)}"
                                            for tensor, ratio in found.items())
    runs = m.archive_runs("D", "12")["movies"]
    facts["movies_others"] = ", ".join(f"{name} {total(output) / total(runs['hls']):.2f}"
                                       for name, output in runs.items() if name != "hls")
    return facts


def dynasor_ratios():
    """How many times as long Dynasor+ takes as a format of the CPU, over tensors and threads."""
    facts = {}
    for name in ("flycoo", "modecopy"):
        ratios = []
        for threads in (1, 2):
            path = os.path.join(HERE, "results", "cpu", f"dynasor_{name}_t{threads}.json")
            with open(path, encoding="utf-8") as file:
                ratios += [row["dynasor_over_polyad"] for row in json.load(file)["results"]]
        facts["dynasor_" + name] = (f"{min(ratios):.2g} to {max(ratios):.2g} times "
                                    f"({statistics.geometric_mean(ratios):.2g} in geometric mean)")
    return facts


def flycoo_against_own(m):
    """The default flycoo beside polyad's own blco, tensor by tensor."""
    values, _ = speedups(m, "A", "auto", OWN["A"] + OTHERS["A"], "blco", False)
    slower = [tensor for tensor, ratio in values.items() if ratio < 1]
    return {"own_slower": str(len(slower)), "own_all": str(len(values)),
            "own_faster": ", ".join(tensor for tensor in values if tensor not in slower) or "none"}


def page(m):
    rows = all_rows(m)
    figures = {**tables(rows), **reasons(m), **hybrid_reasons(m, rows), **flycoo_against_own(m),
               "summary": summary(rows),
               "rules": VERDICTS, **{f"paper_{p.lower()}_title": title
                                     for p, title in published()["papers"].items()}}
    figures |= portability_metric(m) | dynasor_ratios()
    with open(os.path.join(HERE, "claims.md.in"), encoding="utf-8") as file:
        text = file.read()
    return re.sub(r"\{([a-z0-9_-]+)\}", lambda match: figures[match.group(1)], text)


def portability_metric(m):
    report = portability.collect([m.portability])
    return {f"metric_{name.lower()}": ", ".join(
        f"{column} {value:.3g}" for (_, column), value in
        report.find(f"metric_{name}").values.items()) for name in ("MTTKRP", "Phi")}


def main():
    text = page(Measured())
    if sys.argv[1:] == ["--check"]:
        with open(PAGE, encoding="utf-8") as file:
            if file.read() != text:
                sys.exit("docs/claims.md differs from bench/results: run bench/claims.py")
        return
    if sys.argv[1:]:
        sys.exit(__doc__)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
