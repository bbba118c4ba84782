#!/usr/bin/env python3
"""Writing a model, old build against new build, in turn: seconds of the processor and by the clock.

usage: bench/write_cpu.py OLD NEW --output results.json [--dims 200000,150000,118750] [--rank 16]
           [--threads 2] [--pairs 5] [--model model.ktensor] [--manifest]

OLD and NEW are polyad commands. The model is that of one iteration of `cpd` on as many nonzeros as give
nearly every row one, of such dims: 7.5 million numbers by default. Both builds read the same .ptn file.
`clock` and `processor` are the seconds of a run that writes the model, durably and beside the output, less
those of the same run without a file. With --manifest runs also write JSON, for which the model's file is
read again and hashed. A ratio is old over new, the median over the pairs; the first of a pair is the second of
the next.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time


def run(build, tensor, options, output):
    """Seconds of a run by the clock and of the processor."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([build, "cpd", tensor, "-r", str(options.rank), "-i", "1", "--tol", "0", "--format",
                    "coo", "--device", "cpu", "-t", str(options.threads), "--quiet", "--top", "0",
                    *(["--json", "-"] if options.manifest else []), *output], stdout=subprocess.DEVNULL, check=True,
                   env=dict(os.environ, OMP_WAIT_POLICY="passive"))
    clock, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"clock": clock, "processor": after.ru_utime + after.ru_stime - before.ru_utime
                                         - before.ru_stime}


def seconds_of(build, tensor, options, folder):
    model = os.path.join(folder, options.model)
    without = run(build, tensor, options, [])
    found = run(build, tensor, options, ["-o", model])
    os.remove(model)
    return {kind: found[kind] - without[kind] for kind in found}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--output", required=True)
    parser.add_argument("--dims", default="200000,150000,118750")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--model", default="model.ktensor")
    parser.add_argument("--manifest", action="store_true")
    options = parser.parse_args()
    pairs = []
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(options.output))) as folder:
        tensor = os.path.join(folder, "x.ptn")
        subprocess.run([options.new, "generate", "--dims", options.dims, "--nnz", "1500000", "--seed", "1",
                        "--quiet", tensor], check=True)
        for number in range(options.pairs):
            builds = ("old", "new") if number % 2 == 0 else ("new", "old")
            pairs.append({build: seconds_of(getattr(options, build), tensor, options, folder)
                          for build in builds})
    record = {"command": " ".join(os.path.basename(word) for word in sys.argv),
              "numbers": sum(map(int, options.dims.split(","))) * options.rank, "pairs": pairs}
    for kind in ("clock", "processor"):
        record[kind] = {build: statistics.median(pair[build][kind] for pair in pairs)
                        for build in ("old", "new")}
        record[kind]["ratio"] = statistics.median(pair["old"][kind] / pair["new"][kind] for pair in pairs)
        print(kind, record[kind])
    record["load_average"] = os.getloadavg()
    with open(options.output, "w", encoding="utf-8") as out:
        json.dump(record, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
