#!/usr/bin/env python3
"""A table of what `ncu --csv --metrics …` wrote: a line for each launch of a kernel, a column for each
metric: times in microseconds, counts (instructions, sectors) in millions, and, by their reasons, for how many
cycles a warp is stalled for each instruction that is issued.

usage: ncu --csv … | bench/profile_table.py
"""

import csv
import sys

NAMES = {"gpu__time_duration.sum": "us",
         "sm__throughput.avg.pct_of_peak_sustained_elapsed": "sm%",
         "l1tex__throughput.avg.pct_of_peak_sustained_elapsed": "l1%",
         "lts__throughput.avg.pct_of_peak_sustained_elapsed": "l2%",
         "dram__throughput.avg.pct_of_peak_sustained_elapsed": "dram%",
         "sm__warps_active.avg.pct_of_peak_sustained_active": "warps%",
         "smsp__inst_executed.sum": "inst",
         "l1tex__t_sector_hit_rate.pct": "l1-hit%",
         "lts__t_sectors_op_read.sum": "l2-read",
         "lts__t_sectors_op_write.sum": "l2-write",
         "dram__bytes_read.sum": "dram-read",
         "dram__bytes_write.sum": "dram-write"}
STALL = "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"


def short_name(metric):
    return NAMES.get(metric, metric.removeprefix(STALL[0]).removesuffix(STALL[1]))


def short_value(metric, text):
    value = float(text.replace(",", ""))
    if metric.startswith("gpu__time_duration"):
        return f"{value / 1e3:.1f}"
    if metric.endswith(".sum"):
        return f"{value / 1e6:.2f}"
    return f"{value:.2f}"


def read_launches(lines):
    """Of each launch, its kernel and its metrics; what the program itself printed is passed over."""
    launches = {}
    quoted = [line for line in lines if line.startswith('"')]
    for row in csv.DictReader(quoted):
        kernel = row["Kernel Name"].removeprefix("void ").split("<")[0].split("(")[0]
        _, metrics = launches.setdefault(row["ID"], (kernel, {}))
        metrics[short_name(row["Metric Name"])] = short_value(row["Metric Name"],
                                                              row["Metric Value"])
    return launches


def main():
    launches = read_launches(sys.stdin)
    if not launches:
        sys.exit("no metric came")
    names = list(dict.fromkeys(name for _, metrics in launches.values() for name in metrics))
    rows = [["kernel", *names]]
    rows += [[kernel, *(metrics.get(name, "-") for name in names)]
             for kernel, metrics in launches.values()]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print(row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in
                                         zip(row[1:], widths[1:])))


if __name__ == "__main__":
    main()
