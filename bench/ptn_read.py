#!/usr/bin/env python3
"""How near to the speed of memory a .ptn file is read from the page cache.

usage: bench/ptn_read.py --tensors DIR --output results.json --old BIN [--polyad build/polyad]
           [--names SET] [--rounds 7] [--threads 2]

Each round runs, in turn, `polyad bench read` of the old and the new build (each the median of
five reads: reading, checksums, all checks), the bare reading of as many bytes into memory that is
new (huge pages where there are some, several threads, nothing looked at), and the copy of as many
bytes at the speed of `polyad bench stream`, in memory that was used before. The system clears new
memory before it copies the file there: no program that keeps its own copy gets below that.
"""
import mmap
import os
import statistics
import sys
import threading
import time

import cpu_script
import tensors


def read_tensor(binary, options, path):
    record = cpu_script.record_of([binary, "bench", "read", path, "--threads", str(options.threads),
                                   "--repeat", "5", "--json", "-"])
    return record["results"][0]["median_seconds"], record


def read_bare(path, threads):
    """Seconds that pread takes into a new mapping, a block of each thread in turn."""
    block, size = 1 << 19, os.path.getsize(path)
    file = os.open(path, os.O_RDONLY)
    begin = time.perf_counter()
    room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    room.madvise(mmap.MADV_HUGEPAGE)
    view = memoryview(room)

    def take(first):
        for at in range(first * block, size, threads * block):
            os.preadv(file, [view[at:min(at + block, size)]], at)

    workers = [threading.Thread(target=take, args=(k,)) for k in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - begin
    os.close(file)
    view.release()
    room.close()
    return seconds


def copy_seconds(options, size):
    record = cpu_script.record_of([options.polyad, "bench", "stream", "--threads",
                                   str(options.threads), "--json", "-"])
    rate = next(row["gbytes_per_second"] for row in record["results"] if row["format"] == "copy")
    return 2 * size / (1e9 * rate)


def measure(options, name):
    path = tensors.path(options.tensors, name, ".ptn", options.polyad)
    size, seconds = os.path.getsize(path), {"old": [], "new": [], "bare": [], "copy": []}
    for number in range(options.rounds):
        for kind, binary in (("old", options.old), ("new", options.polyad)):
            taken, record = read_tensor(binary, options, path)
            seconds[kind].append(taken)
            seconds[kind + "_commit"] = record["commit"]
        seconds["bare"].append(statistics.median(read_bare(path, options.threads)
                                                 for _ in range(5)))
        seconds["copy"].append(copy_seconds(options, size))
    commits = {kind: seconds.pop(kind + "_commit") for kind in ("old", "new")}
    ratios = {f"{a}_over_{b}": statistics.median(x / y for x, y in zip(seconds[a], seconds[b]))
              for a, b in (("old", "new"), ("new", "bare"), ("new", "copy"), ("old", "copy"))}
    print(name, " ".join(f"{key} {value:.2f}" for key, value in ratios.items()), file=sys.stderr)
    return {"tensor": name, "nnz": record["nnz"], "bytes": size, "commits": commits,
            "seconds": seconds, **ratios}


def main():
    parser = cpu_script.parser(__doc__)
    parser.add_argument("--old", required=True)
    parser.add_argument("--names", default="ptn")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    record = cpu_script.begin(options, rounds=options.rounds)
    for name in tensors.names(options.names):
        record["results"].append(measure(options, name))
        cpu_script.save(options, record)


if __name__ == "__main__":
    main()
