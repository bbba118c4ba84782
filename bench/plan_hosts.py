#!/usr/bin/env python3
"""What polyad plan predicts for processes that were measured: the records of bench/ranks_cpu.py again, each
with the time of its one process, and its processes on one machine.

usage: bench/plan_hosts.py --tensors DIR --output results.json [--polyad build/polyad]
           RECORD=RATE [RECORD=RATE ...]

RATE is what the memory of the record's machine moves in a second, such as 200G, for which the records have no
figure. The latency of a message is the record's; one that measured none has the default of 5e-6 s in it, in
whose place comes polyad plan's default for messages within a machine. Predictions for given times do not depend
on the machine where this runs."""
import json
import pathlib

import cpu_script
import tensors

USUAL_LATENCY = {"network": 5e-6, "host": 1e-6}


def predicted(options, path, rank, row, seconds, rate, latency):
    count = str(row["ranks"])
    told = cpu_script.record_of([
        options.polyad, "plan", path, "-r", str(rank), "--threads", "1", "--ranks", count, "--ranks-per-host", count,
        "--seconds", repr(seconds), "--host-bandwidth", rate, "--host-latency", repr(latency), "--quiet",
        "--json", "-"])
    return next(each["seconds"] for each in told["predictions"] if each["ranks"] == row["ranks"])


def compare(options, name, rate):
    record = json.loads(pathlib.Path(name).read_text(encoding="utf-8"))
    latency = record["network_latency"]
    if latency == USUAL_LATENCY["network"]:
        latency = USUAL_LATENCY["host"]
    alone = {row["tensor"]: row["seconds"] for row in record["results"] if row["ranks"] == 1}
    for row in record["results"]:
        if row["ranks"] == 1:
            continue
        path = tensors.path(options.tensors, row["tensor"], ".ptn", options.polyad)
        seconds = predicted(options, path, record["rank"], row, alone[row["tensor"]], rate, latency)
        yield {"record": pathlib.Path(name).name, "host_bandwidth": rate, "host_latency": latency,
               "tensor": row["tensor"], "ranks": row["ranks"], "seconds": row["seconds"],
               "seconds_least": row["seconds_least"], "predicted_seconds": seconds,
               "predicted_over_measured": seconds / row["seconds"],
               "predicted_over_least": seconds / row["seconds_least"]}


def main():
    parser = cpu_script.parser(__doc__)
    parser.add_argument("records", nargs="+", metavar="RECORD=RATE")
    options = parser.parse_args()
    options.threads = 1
    record = cpu_script.begin(options)
    for each in options.records:
        for row in compare(options, *each.rsplit("=", 1)):
            record["results"].append(row)
            print("{record} {tensor}, {ranks} ranks: {predicted_over_measured:.2f}".format(**row), flush=True)
    cpu_script.save(options, record)


if __name__ == "__main__":
    main()
