#!/usr/bin/env python3
"""Whether format "auto" takes the format of the least time of a whole run.

usage: bench/auto_choice.py --tensors DIR --output results.json [--polyad build/polyad]
           [--names auto] [--formats coo,alto,csf,twotree] [--rank 16] [--iterations 20] [--rounds 3]
           [--threads 2] [--device cpu] [--precision f64]

A run is `polyad cpd` from NAME.ptn in DIR (made there when missing) with so many iterations: start,
reading, choosing, building, iterations and the end. Its seconds are those of the processor, user and
system together, which other programs on the machine disturb less than the clock. On a GPU they are
those of the clock without `seconds_start`; what is waited for of the driver's start, the same for every
format, is in `seconds_build`. Each round runs auto
and every format once, one after the other, with more rounds where all of auto's together are below a
second; figures are medians over rounds. `auto_over_best` is the
median over rounds of auto's seconds over those of the best format in the same round, the best being that
of the least median; `choice_over_best` compares the format that auto took, as it was asked for by name,
with the best: the choice without the facts that it rests on. What auto itself expected is
`explanation`.
"""
import json
import os
import resource
import statistics
import subprocess

import cpu_script
import tensors

LEAST, MOST_ROUNDS = 1, 40


def run(options, file, form):
    """A run's record and what it says."""
    command = [options.polyad, "cpd", file, "--rank", str(options.rank), "--format", form,
               "--max-iters", str(options.iterations), "--tol", "0", "--seed", "1", "--threads",
               str(options.threads), "--device", options.device, "--precision", options.precision,
               "--verbose", "--json", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        output, talk = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {talk.strip()[-300:]}")
    return json.loads(output), talk


def timed(options, file, form):
    """Seconds of a run."""
    if options.device != "cpu":
        record, _ = run(options, file, form)
        return record["seconds_wall"] - record["seconds_start"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(options, file, form)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def explanation_of(talk):
    """Lines about formats that compete; the baselines are hundreds of times as long."""
    lines = [line for line in talk.splitlines() if "sweeps of" in line]
    return [line for line in lines if not line.startswith("not fcoo")]


def measure(options, name):
    file = tensors.path(options.tensors, name, ".ptn", options.polyad)
    forms = options.formats.split(",")
    chosen, talk = run(options, file, "auto")
    if chosen["format"] not in forms:  # dense, where a tensor is full enough
        forms.append(chosen["format"])
    explanation = explanation_of(talk)
    seconds = {form: [] for form in ["auto", *forms]}
    while (len(seconds["auto"]) < options.rounds or
           sum(seconds["auto"]) < LEAST and len(seconds["auto"]) < MOST_ROUNDS):
        for form in seconds:
            seconds[form].append(timed(options, file, form))
    median = {form: statistics.median(found) for form, found in seconds.items()}
    best, taken = min(forms, key=median.get), chosen["format"]
    return {"tensor": name, "order": chosen["order"], "nnz": chosen["nnz"], "choice": taken,
            "best": best, "processor_seconds" if options.device == "cpu" else "seconds": median,
            "auto_over_best": statistics.median(
                mine / theirs for mine, theirs in zip(seconds["auto"], seconds[best])),
            "choice_over_best": statistics.median(
                mine / theirs for mine, theirs in zip(seconds[taken], seconds[best])),
            "rounds": seconds, "explanation": explanation}


def main():
    parser = cpu_script.parser(__doc__)
    parser.add_argument("--names", default="auto")
    parser.add_argument("--formats", default="coo,alto,csf,twotree")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="f64")
    options = parser.parse_args()
    record = cpu_script.begin(options, rank=options.rank, iterations=options.iterations,
                              rounds=options.rounds, device=options.device,
                              precision=options.precision, load_average_before=os.getloadavg())
    for name in tensors.names(options.names):
        row = measure(options, name)
        record["results"].append(row)
        print("{tensor}: {choice}, best {best}: auto {auto_over_best:.2f}, choice "
              "{choice_over_best:.2f} times as long".format(**row), flush=True)
        cpu_script.save(options, record)


if __name__ == "__main__":
    main()
