#!/usr/bin/env python3
"""What a second thread costs where processors are busy, and what brief spinning costs where not.

usage: bench/threads_by_work.py [--polyad build/polyad] [--load 10] [--threads 2] [--rounds 5]
           [--repeat 10] [--large-nonzeros 2000000] [--output results.json]

small  300 iterations of apr-mu on a tensor of 5,332 nonzeros at rank 8, beside processes that only
       count (--load of them): wall seconds with one thread and with --threads, in turn. The ratio of
       the medians may be 1.5 at most.
large  MTTKRP of all modes of a tensor with --large-nonzeros, with --threads, as the threads wait: the
       command's own choice, libgomp's default, asleep at once. Without the load and beside it, in
       turn; seconds are the sum over modes of the medians that `polyad bench` gives.

libgomp's default is set by name here (GOMP_SPINCOUNT=300000): the command leaves a number that the
user has set.
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

WAITING = {"chosen": None, "libgomp": "300000", "asleep": "0"}


def environment(spins=None):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_"))}
    return kept if spins is None else dict(kept, GOMP_SPINCOUNT=spins)


@contextlib.contextmanager
def load(count):
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        time.sleep(0.5)
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def polyad(options, *arguments, spins=None):
    begin = time.perf_counter()
    done = subprocess.run([options.polyad, *map(str, arguments)], env=environment(spins),
                          capture_output=True, text=True, timeout=1800)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, arguments))}: {done.stderr.strip()[-300:]}")
    return time.perf_counter() - begin, done.stdout


def small(options, folder):
    tensor = os.path.join(folder, "small.tns")
    polyad(options, "generate", "--dims", "100,80,60", "--nnz", 5332, "--rank", 8, "--poisson",
           "--seed", 1, tensor)
    run = ("cpd", tensor, "-r", 8, "-a", "apr-mu", "-i", 300, "--tol", 0, "-q", "--json", "-")
    seconds, used = {1: [], options.threads: []}, {}
    with load(options.load):
        for _ in range(options.rounds):
            for threads, found in seconds.items():
                wall, out = polyad(options, *run, "-t", threads)
                found.append(wall)
                used[threads] = json.loads(out)["threads"]
    medians = {threads: statistics.median(found) for threads, found in seconds.items()}
    return {"load": options.load, "threads": options.threads, "threads_used": used[options.threads],
            "seconds_one": seconds[1], "seconds_more": seconds[options.threads],
            "ratio": medians[options.threads] / medians[1]}


def sum_over_modes(out):
    return sum(row["median_seconds"] for row in json.loads(out)["results"])


def large(options, folder, count):
    tensor = os.path.join(folder, "large.ptn")
    if not os.path.exists(tensor):
        polyad(options, "generate", "--dims", "20000,15000,10000", "--nnz", options.large_nonzeros,
               "--skew", "0.5,0.5,0.5", "--seed", 1, tensor)
    seconds = {name: [] for name in WAITING}
    with load(count):
        for _ in range(options.rounds):
            for name, spins in WAITING.items():
                _, out = polyad(options, "bench", "mttkrp", tensor, "-r", 16, "-t", options.threads,
                                "--repeat", options.repeat, "-q", "--json", "-", spins=spins)
                seconds[name].append(sum_over_modes(out))
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    return {"load": count, "threads": options.threads, "nonzeros": options.large_nonzeros,
            "seconds": seconds,
            "over_libgomp": {name: medians[name] / medians["libgomp"] for name in medians}}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polyad", default="build/polyad")
    parser.add_argument("--load", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--large-nonzeros", type=int, default=2000000)
    parser.add_argument("--output")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = {"processors": os.cpu_count(), "load_before": os.getloadavg()[0],
                  "small": small(options, folder),
                  "large": [large(options, folder, count) for count in (0, options.load)]}
    text = json.dumps(result, indent=1)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    print(text)
    sys.exit(0 if result["small"]["ratio"] <= 1.5 else 1)


if __name__ == "__main__":
    main()
