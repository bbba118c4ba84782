#!/usr/bin/env python3
"""Draws the papers' figures from an archive of measure.py: SVG, PNG, and one HTML page that needs
no other file.

usage: bench/paper_figures/draw.py ARCHIVE OUTPUT_FOLDER

Bars that were not measured are left out, and the caption says why: nothing is made up.
"""
import base64
import html
import io
import json
import math
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from experiments import FIGURES, MODES, SOURCES  # noqa: E402

matplotlib.rcParams["svg.hashsalt"] = "polyad"  # the same file from the same data


def total(output):
    return 1e3 * sum(row["median_seconds"] for row in output["results"])


def build(output):
    return min(row.get("build_seconds") or row["median_seconds"] for row in output["results"])


def gigabytes(output):
    factors = sum(output["dims"]) * output["rank"] * (4 if output["precision"] == "f32" else 8)
    return 1e-9 * (output["results"][0]["bytes_format"] + factors)


def megabytes(output):
    return 1e-6 * output["results"][0]["bytes_format"]


def index_bandwidth(output):
    """Indices' bytes over the mean time of a mode, as paper D counts; its values take two bytes."""
    seconds = [row["median_seconds"] for row in output["results"]]
    return (output["results"][0]["bytes_format"] - 2 * output["nnz"]) * len(seconds) / sum(
        seconds) * 1e-9


def smape(output):
    return max(row["smape_percent"] for row in output["results"])


VALUES = {"total": total, "build": build, "bytes": gigabytes, "megabytes": megabytes,
          "index_bandwidth": index_bandwidth, "smape": smape}


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
    for tensor, points in table.items():
        pairs = sorted((int(label), value) for label, value in points.items())
        axes.plot(*zip(*pairs), marker="o", label=tensor)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("P")
    axes.set_ylabel(figure.unit)
    axes.legend(fontsize="x-small")


def geometric_means(table):
    """How many times as long as the first label each other takes, over tensors that have both."""
    first = next((label for bars in table.values() for label in bars), None)
    others = dict.fromkeys(label for bars in table.values() for label in bars if label != first)
    for label in others:
        ratios = [bars[label] / bars[first] for bars in table.values()
                  if label in bars and bars.get(first, 0) > 0 and bars[label] > 0]
        if ratios:
            yield label, math.exp(sum(map(math.log, ratios)) / len(ratios)), len(ratios)


def gaps_of(figure, source, archive, records):
    """What was tried in vain, and what there was no time for."""
    gaps = {f"{record['tensor']} {label}: {run['message']}" for record in records
            for label, run in record["runs"].items() if run["message"]}
    gaps |= {f"{tensor}: not reached in time" for paper, name, tensor in archive.get("left", ())
             if (paper, name) == (figure.paper, source)}
    return sorted(gaps)


def caption(figure, records, table, machine):
    runs = [run for record in records for run in record["runs"].values() if run["output"]]
    data = sorted({record["data"] for record in records})
    text = [f"{machine.get('description', '?')} ({machine.get('name', '?')}), {data[0]} tensors"
            if data else "Not measured."]
    if runs:
        text.append(f"measured {runs[0]['when']}; for example: {runs[0]['command']}")
    if figure.kind == "modes" or figure.value in ("total", "build") and figure.kind == "bars":
        text += [f"{label}: {ratio:.2f} times as long (geometric mean over {count})"
                 for label, ratio, count in geometric_means(table)]
    if figure.published:
        text.append(figure.published)
    return text


def place(figure):
    kind = "figure" if figure.figure.isdigit() else "table"
    return f"Paper {figure.paper}, {kind} {figure.figure}"


def draw(figure, archive, folder):
    source = SOURCES.get((figure.paper, figure.figure), figure.figure)
    records = [r for r in archive["records"]
               if r["paper"] == figure.paper and r["figure"] == source]
    table = {}
    for record in records:
        table.update(mode_table(record) if figure.kind == "modes" else
                     {record["tensor"] or "this machine": numbers(figure, record)})
    table = {tensor: bars for tensor, bars in table.items() if bars}
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
    plot.savefig(name + ".png", dpi=110, metadata={"Software": None})
    image = io.BytesIO()
    plot.savefig(image, format="png", dpi=110, metadata={"Software": None})
    plt.close(plot)
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


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>polyad: the papers' figures</title>
<style>body{{font:15px/1.4 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}}
img{{max-width:100%}}p{{margin:.2em 0;color:#333}}section{{margin-bottom:2.5em}}</style>
<h1>The papers' figures, measured with polyad</h1>
<p>A: FLYCOO with dynamic remapping. B: mode-specific copies. C: performance portability of CP-APR.
D: hybrid linear storage on tensor cores. Rank 32, float32. What is missing was not measured.</p>
{sections}</html>
"""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        archive = json.load(file)
    os.makedirs(sys.argv[2], exist_ok=True)
    sections = [section(figure, *draw(figure, archive, sys.argv[2])) for figure in FIGURES]
    page = os.path.join(sys.argv[2], "report.html")
    with open(page, "w", encoding="utf-8") as file:
        file.write(PAGE.format(sections="".join(sections)))
    print(page)


if __name__ == "__main__":
    main()
