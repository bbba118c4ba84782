#!/usr/bin/env python3
"""Draws the papers' figures from an archive of measure.py: SVG, PNG, and one HTML page that needs
no other file.

usage: bench/paper_figures/draw.py ARCHIVE OUTPUT_FOLDER [--results bench/results]

Bars that were not measured are left out, and the caption says why: nothing is made up. With
--results the page begins with the verdicts on the papers' claims (bench/claims.py), and paper C's
figures are drawn from DIR/portability/measured (bench/portability.sh).
"""
import argparse
import base64
import html
import io
import json
import math
import os
import re
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from experiments import FIGURES, MODES, SOURCES  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import claims  # noqa: E402
import portability  # noqa: E402
from measured import Measured  # noqa: E402

matplotlib.rcParams["svg.hashsalt"] = "polyad"  # the same file from the same data


def total(output):
    return 1e3 * sum(row["median_seconds"] for row in output["results"])


def build(output):
    return min(row.get("build_seconds") or row["median_seconds"] for row in output["results"])


def gigabytes(output):
    factors = sum(output["dims"]) * output["rank"] * (4 if output["precision"] == "f32" else 8)
    return 1e-9 * (output["results"][0]["bytes_format"] + factors)


def mebibytes(output):
    return output["results"][0]["bytes_format"] / 2**20


def throughput(output):
    """10^9 nonzeros a second, each counted once for every mode."""
    return 1e-6 * output["nnz"] * len(output["results"]) / total(output)


def index_bandwidth(output):
    """Indices' bytes over the mean time of a mode, as paper D counts; its values take two bytes."""
    seconds = [row["median_seconds"] for row in output["results"]]
    return (output["results"][0]["bytes_format"] - 2 * output["nnz"]) * len(seconds) / sum(
        seconds) * 1e-9


def smape(output):
    return max(row["smape_percent"] for row in output["results"])


VALUES = {"total": total, "build": build, "bytes": gigabytes, "mebibytes": mebibytes,
          "throughput": throughput, "index_bandwidth": index_bandwidth, "smape": smape}


# What the labels of two figures' runs stand for.
TITLES = {("A", "9"): {"flycoo": "flycoo, variant paper", "flycoo default": "flycoo, default variant"},
          ("B", "3"): {"modecopy": "modecopy, variant paper",
                       "modecopy default": "modecopy, default variant"}}
# Paper A's table 4: baselines as its rows name them, with their own programs where these ran.
BASELINES = {"BLCO's program": "blco (its own program)", "MM-CSF's program": "mmcsf (its own program)",
             "HiCOO's program": "hicoo (its own program)", "polyad's blco": "blco as it is",
             "polyad's mmcsf": "mmcsf", "polyad's hicoo": "hicoo"}

MEANS = {"program": "mean over programs", "polyad's": "mean over polyad's"}


def usable(record):
    return {label: run["output"] for label, run in record["runs"].items() if run["output"]}


def bars_of(record, value):
    """Numbers by label; runs "name:1", "name:2", … are modes of a bar and have to be all there."""
    bars, modes = {}, {}
    for label, output in usable(record).items():
        name, _, mode = label.partition(":")
        if mode:
            modes.setdefault(name, []).append(VALUES[value](output))
        else:
            bars[name] = VALUES[value](output)
    for name, parts in modes.items():
        if len(parts) == MODES.get(record["tensor"]):
            bars[name + " (ordered)"] = sum(parts)
    return bars


def stream_bars(record):
    output = usable(record).get("stream")
    return {} if output is None else {
        f"{row['format']} {row['variant']}": row["gbytes_per_second"] for row in output["results"]}


def remap_bars(record):
    outputs = usable(record)
    if len(outputs) < 2:
        return {}
    return {"share": 1 - total(outputs["ordered copies"]) / total(outputs["flycoo"])}


def counter_bars(record, value):
    return {label.split()[1]: output[value] for label, output in usable(record).items()}


def apr_bars(record):
    output = usable(record).get("mu")
    if output is None:
        return {}
    parts = {key[8:]: sum(seconds or 0 for seconds in output.get(key, ()))  # of each mode
             for key in ("seconds_phi", "seconds_pi", "seconds_kkt", "seconds_mu")}
    parts = {key: value for key, value in parts.items() if value}
    return {key: value / sum(parts.values()) for key, value in parts.items()}


def mode_table(record):
    """Bars by label for each mode of the tensor."""
    table = {}
    for label, output in usable(record).items():
        for row in output["results"]:
            place = f"{record['tensor']} m-{row['mode']}"
            table.setdefault(place, {})[label] = 1e3 * row["median_seconds"]
    return table


def speedup_table(records):
    """Geometric means of how many times as fast as each baseline, over the paper's own tensors and
    over the others, and the mean over the baselines."""
    bars = {record["tensor"]: bars_of(record, "total") for record in records}
    table = {}
    for ours, name in TITLES["A", "9"].items():
        for own in (True, False):
            series = f"{name}, {'its own tensors' if own else 'others'}"
            for title, label in BASELINES.items():
                ratios = [found[label] / found[ours] for tensor, found in bars.items()
                          if (tensor in claims.OWN["A"]) == own and {ours, label} <= set(found)]
                if ratios:
                    table.setdefault(title, {})[series] = geometric_mean(ratios)
            for kind, title_of_mean in MEANS.items():
                means = [table[title][series] for title in BASELINES
                         if kind in title and series in table.get(title, ())]
                if len(means) > 1:
                    table.setdefault(title_of_mean, {})[series] = geometric_mean(means)
    order = [*BASELINES, *MEANS.values()]
    return {title: table[title] for title in order if title in table}


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def portability_table(report, name):
    """Bars by row (a device or a tensor) and column."""
    found = report.find(name) if report else None
    if found is None:
        return {}
    return {re.sub(r" \(.*Processor\)", "", row):
            {column: found.values[row, column] for column in found.columns
             if (row, column) in found.values} for row in found.rows}


def numbers(figure, record):
    makers = {"remap": remap_bars, "apr": apr_bars}
    if figure.value == "stream":
        return stream_bars(record)
    if figure.kind == "counter":
        return counter_bars(record, figure.value)
    if figure.kind in makers:
        return makers[figure.kind](record)
    return bars_of(record, figure.value)


def draw_bars(axes, table, figure):
    tensors = list(table)
    labels = list(dict.fromkeys(label for bars in table.values() for label in bars))
    width = 0.8 / max(1, len(labels))
    for k, label in enumerate(labels):
        places = [i + k * width for i, t in enumerate(tensors) if label in table[t]]
        heights = [table[t][label] for t in tensors if label in table[t]]
        axes.bar(places, heights, width, label=label)
    axes.set_xticks([i + 0.4 - width / 2 for i in range(len(tensors))], tensors, rotation=30,
                    ha="right", fontsize="small")
    values = [v for bars in table.values() for v in bars.values() if v > 0]
    if values and max(values) > 30 * min(values):
        axes.set_yscale("log")
    axes.set_ylabel(figure.unit or figure.value)
    axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5))


def draw_lines(axes, table, figure):
    """Labels are "X" or "SERIES X"."""
    for tensor, points in table.items():
        lines, color = {}, f"C{list(table).index(tensor)}"
        for label, value in points.items():
            series, _, x = label.rpartition(" ")
            lines.setdefault(series, []).append((int(x), value))
        for series, pairs in lines.items():
            axes.plot(*zip(*sorted(pairs)), marker=".", label=f"{tensor} {series}".strip(),
                      color=color, linestyle="--" if series == "chain" else "-")
    if figure.value == "throughput":
        axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("P" if figure.value == "throughput" else "nonzeros of a tile, at least")
    axes.set_ylabel(figure.unit)
    axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5))


def geometric_means(table):
    """How many times as long as the first label (and its default variant) each other takes, over the
    tensors that have both."""
    labels = list(dict.fromkeys(label for bars in table.values() for label in bars))
    ours = [label for label in labels[:2] if label == labels[0] or "default variant" in label]
    for base in ours:
        for label in labels:
            ratios = [bars[label] / bars[base] for bars in table.values()
                      if label in bars and bars.get(base, 0) > 0 and bars[label] > 0]
            if ratios and label not in ours:
                yield label, base, geometric_mean(ratios), len(ratios)


def gaps_of(figure, source, archive, records):
    """What was tried in vain, and what there was no time for."""
    gaps = {f"{record['tensor']} {label}: {run['message']}" for record in records
            for label, run in record["runs"].items() if run["message"]}
    gaps |= {f"{tensor}: not reached in time" for paper, name, tensor in archive.get("left", ())
             if (paper, name) == (figure.paper, source)}
    return sorted(gaps)


def longer(label, base, ratio, count):
    """The slower of two first, so that the number is above 1."""
    if ratio < 0.995:
        label, base, ratio = base, label, 1 / ratio
    return f"{label} takes {ratio:.2f} times as long as {base} (geometric mean over {count})"


def ranks_of(records):
    """The ranks that were not 32, by label's first word."""
    found = {(label.split()[0], run["output"]["rank"]) for record in records
             for label, run in record["runs"].items() if run["output"] and "rank" in run["output"]}
    return [f"{label}: rank {rank}" for label, rank in sorted(found) if rank != 32]


def caption(figure, records, table, machine):
    if figure.kind == "portability":
        return ["Medians of bench/portability.sh (bench/results/portability/measured), float64, rank "
                "16, generated tensors." if table else "Not measured.", *filter(None, [figure.published])]
    runs = [run for record in records for run in record["runs"].values() if run["output"]]
    data = sorted({record["data"] for record in records})
    text = [f"{machine.get('description', '?')} ({machine.get('name', '?')}), {data[0]} tensors"
            if data else "Not measured."]
    if runs:
        text.append(f"measured {runs[0]['when']}; for example: {runs[0]['command']}")
    if figure.kind == "modes" or figure.value in ("total", "build") and figure.kind == "bars":
        text += [longer(*found) for found in geometric_means(table)]
    text += ranks_of(records)
    if figure.published:
        text.append(figure.published)
    return text


def place(figure):
    kind = "table" if figure.figure.startswith("T") else "figure"
    return f"Paper {figure.paper}, {kind} {figure.figure.removeprefix('T')}"


def table_of(figure, records, report):
    if figure.kind == "portability":
        return portability_table(report, figure.value)
    if figure.kind == "speedup":
        return speedup_table(records)
    titles, table = TITLES.get((figure.paper, figure.figure), {}), {}
    for record in records:
        found = (mode_table(record) if figure.kind == "modes" else
                 {record["tensor"] or "this machine": numbers(figure, record)})
        table.update({tensor: {titles.get(label, label): value for label, value in bars.items()}
                      for tensor, bars in found.items()})
    return {tensor: bars for tensor, bars in table.items() if bars}


def draw(figure, archive, folder, report):
    source = SOURCES.get((figure.paper, figure.figure), figure.figure)
    records = [r for r in archive["records"]
               if r["paper"] == figure.paper and r["figure"] == source]
    table = table_of(figure, records, report)
    plot, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
    if not table:
        axes.text(0.5, 0.5, "not measured on this machine", ha="center", va="center")
        axes.set_axis_off()
    elif figure.kind == "line":
        draw_lines(axes, table, figure)
    else:
        draw_bars(axes, table, figure)
    axes.set_title(f"{place(figure)}: {figure.title}", fontsize=10)
    name = os.path.join(folder, f"{figure.paper}-{figure.figure}")
    plot.savefig(name + ".svg", metadata={"Date": None})
    image = io.BytesIO()
    plot.savefig(image, format="png", dpi=110, metadata={"Software": None})
    plt.close(plot)
    with open(name + ".png", "wb") as file:
        file.write(image.getvalue())
    return (image.getvalue(), caption(figure, records, table, archive.get("machine", {})),
            gaps_of(figure, source, archive, records))


def section(figure, image, text, gaps):
    lines = "".join(f"<p>{html.escape(line)}</p>" for line in text)
    missing = "".join(f"<li>{html.escape(gap)}</li>" for gap in gaps)
    return (f"<section><h2>{place(figure)}</h2>"
            f'<img alt="{html.escape(figure.title)}" src="data:image/png;base64,'
            f'{base64.b64encode(image).decode()}">{lines}'
            + (f"<details><summary>{len(gaps)} not measured</summary><ul>{missing}</ul></details>"
               if gaps else "") + "</section>\n")


def verdicts(folder):
    """The page's beginning: what became of every claim."""
    rows = claims.all_rows(Measured(folder))
    lines = []
    for _, claim, row, default in claims.heads(rows):
        cells = [claim["paper"], claim["text"], claims.said(claim), claim["source"],
                 f"{row.ours}: {claims.shown(claim, row.values)}",
                 claims.verdict(claim, row.values),
                 f"{claims.shown(claim, default.values)}: {claims.verdict(claim, default.values)}"
                 if default else ""]
        lines.append("<tr>" + "".join(f"<td>{html.escape(cell.replace('**', ''))}</td>"
                                      for cell in cells) + "</tr>")
    head = "".join(f"<th>{name}</th>" for name in (
        "paper", "claim", "published", "where", "measured, nearest to its setting", "verdict",
        "default variant"))
    return (f"<h2>Verdicts</h2><p>{html.escape(claims.VERDICTS)} Reasons: docs/claims.md.</p>"
            f"<table><tr>{head}</tr>\n" + "\n".join(lines) + "</table>\n")


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>polyad: the papers' figures</title>
<style>body{{font:15px/1.4 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}}
table{{border-collapse:collapse;font-size:13px}}td,th{{border:1px solid #ccc;padding:.2em .4em;
text-align:left;vertical-align:top}}
img{{max-width:100%}}p{{margin:.2em 0;color:#333}}section{{margin-bottom:2.5em}}</style>
<h1>The papers' figures, measured with polyad</h1>
<p>A: FLYCOO with dynamic remapping. B: mode-specific copies. C: performance portability of CP-APR.
D: hybrid linear storage on tensor cores. Rank 32, float32, where nothing else is said. What is
missing was not measured.</p>
{verdicts}{sections}</html>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive")
    parser.add_argument("folder")
    parser.add_argument("--results")
    options = parser.parse_args()
    with open(options.archive, encoding="utf-8") as file:
        archive = json.load(file)
    os.makedirs(options.folder, exist_ok=True)
    report, opening = None, ""
    if options.results:
        report = portability.collect([os.path.join(options.results, "portability", "measured")])
        opening = verdicts(options.results)
    sections = [section(figure, *draw(figure, archive, options.folder, report))
                for figure in FIGURES]
    page = os.path.join(options.folder, "report.html")
    with open(page, "w", encoding="utf-8") as file:
        file.write(PAGE.format(verdicts=opening, sections="".join(sections)))
    print(page)


if __name__ == "__main__":
    main()
