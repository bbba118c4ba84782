#!/usr/bin/env python3
"""What streaming from disk costs: MTTKRP of every mode of a tensor that streams, per nonzero, beside
the same tensor's in memory, and beside the time in which the bytes of a pass can be read.

usage: stream_cpu.py --polyad build/polyad [--like reddit --scale S | --dims I,J,K --nnz N]
                     [--memory-limit 2G] [--rank 16] [--precision f32] [--folder DIR] [--part P]
                     [--skew A,B,C --cluster C] [--run RUN.json] [--part-file PART.ptn]
                     [--rate-file FILE] [--device cuda]

The tensor is generated into DIR and decomposed there; or --run is the JSON object of such a run (polyad cpd
--stream always) of the same tensor, which may have been made before (held.py lets other programs be stopped
for its iterations alone). In-memory times come from a tensor of the same dims with P times the nonzeros,
since the whole one may not fit (PART.ptn, where it was made before). The rate of reading is that of a file
of one pass's bytes (or of so many of FILE), read in chunks as large as the run's, twice: from the disk (the
page cache was told to forget it) and again (from as much of the page cache as keeps it). To a GPU the bytes go
over its link too, whose rate is that of copies of a chunk's bytes from page-locked memory (by libcudart); a
tensor whose lists are kept in the host's memory is not read at all. One JSON object a line on standard
output."""

import argparse
import ctypes
import ctypes.util
import json
import os
import pathlib
import subprocess
import tempfile
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--polyad", default="build/polyad")
    parser.add_argument("--like")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--dims")
    parser.add_argument("--nnz", type=int)
    parser.add_argument("--skew")
    parser.add_argument("--cluster")
    parser.add_argument("--run", type=pathlib.Path)
    parser.add_argument("--part-file", type=pathlib.Path)
    parser.add_argument("--rate-file", type=pathlib.Path)
    parser.add_argument("--memory-limit", default="2G")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--part", type=float, default=0.1)
    parser.add_argument("--folder", default=".")
    return parser.parse_args()


def generate(args, path, part):
    words = [args.polyad, "generate", str(path), "--seed", "1", "--quiet", "--precision", args.precision]
    if args.like:
        words += ["--like", args.like, "--scale", repr(args.scale * part)]
    else:
        words += ["--dims", args.dims, "--nnz", str(int(args.nnz * part))]
        words += ["--skew", args.skew] if args.skew else []
        words += ["--cluster", args.cluster] if args.cluster else []
    subprocess.run(words, check=True)


def decompose(args, path, *more):
    out = subprocess.run(
        [args.polyad, "cpd", str(path), "-r", str(args.rank), "--precision", args.precision, "--device",
         args.device, "--threads", str(args.threads), "--max-iters", str(args.iterations), "--tol", "0",
         "--json", "-", *more], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)


def read_rate(path, size, bytes_each):
    """Bytes a second of reading the file from its start on."""
    buffer = bytearray(bytes_each)
    began, total = time.perf_counter(), 0
    with open(path, "rb", buffering=0) as file:
        while total < size and (got := file.readinto(buffer)):
            total += got
    return total / (time.perf_counter() - began)


def rates_of(path, size, bytes_each):
    """Reading from the disk, where the page cache does as it is told, and again."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return read_rate(path, size, bytes_each), read_rate(path, size, bytes_each)


def rates(folder, size, bytes_each, given):
    """The same of a file of `size` bytes."""
    if given:
        return rates_of(given, size, bytes_each)
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        block = os.urandom(1 << 22)
        for _ in range(0, size, len(block)):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        return rates_of(file.name, size, bytes_each)


def link_rate(bytes_each, copies=32):
    """Bytes a second of copies from page-locked memory of the host to the GPU, one after the other."""
    name = ctypes.util.find_library("cudart") or "/usr/local/cuda/lib64/libcudart.so"
    cuda = ctypes.CDLL(name)
    host, device = ctypes.c_void_p(), ctypes.c_void_p()
    size = ctypes.c_size_t(bytes_each)

    def works(status):
        if status != 0:
            raise RuntimeError(f"CUDA error {status}")

    works(cuda.cudaMallocHost(ctypes.byref(host), size))
    works(cuda.cudaMalloc(ctypes.byref(device), size))
    for _ in range(2):  # the first time to warm up
        works(cuda.cudaDeviceSynchronize())
        began = time.perf_counter()
        for _ in range(copies):
            works(cuda.cudaMemcpyAsync(device, host, size, 1, None))
        works(cuda.cudaDeviceSynchronize())
        took = time.perf_counter() - began
    works(cuda.cudaFree(device))
    works(cuda.cudaFreeHost(host))
    return copies * bytes_each / took


def streamed_run(args, scratch):
    if args.run:
        return json.loads(args.run.read_text())
    whole = pathlib.Path(scratch, "whole.ptn")
    generate(args, whole, 1)
    limit = ["--memory-limit", args.memory_limit] if args.memory_limit != "none" else []
    return decompose(args, whole, "--stream", "always", *limit, "--spill-dir", scratch)


def per_nonzero(run):
    return [1e9 * seconds / run["nnz"] for seconds in run["seconds_mttkrp"]]


def main():
    args = arguments()
    folder = pathlib.Path(args.folder)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        part = args.part_file or pathlib.Path(scratch, "part.ptn")
        if not args.part_file:
            generate(args, part, args.part)
        memory = {form: decompose(args, part, "--format", form, "--stream", "never")
                  for form in (("auto", "coo") if args.device == "cpu" else ("auto", "modecopy"))}
        if not args.part_file:
            part.unlink()
        streamed = streamed_run(args, scratch)
        (pathlib.Path(scratch, "whole.ptn")).unlink(missing_ok=True)
        stream = streamed["stream"]
        pass_bytes = max(stream["pass_bytes"])
        each = max(pass_bytes // stream["chunks"], 1)
        disk, again = rates(folder, pass_bytes, each, args.rate_file)
        link = link_rate(each) if args.device != "cpu" else None
    best = [min(pair) for pair in zip(*(per_nonzero(run) for run in memory.values()))]
    rows = []
    for mode, took in enumerate(per_nonzero(streamed)):
        from_disk, cached = (1e9 * stream["pass_bytes"][mode] / streamed["nnz"] / rate
                             for rate in (disk, again))
        rows.append({"mode": mode + 1, "streamed_ns": took, "in_memory_ns": best[mode],
                     "reading_disk_ns": from_disk, "reading_again_ns": cached,
                     "ratio": took / max(from_disk, best[mode]),
                     "ratio_again": took / max(cached, best[mode])})
        if link:
            over = 1e9 * stream["pass_bytes"][mode] / streamed["nnz"] / link
            rows[-1] |= {"link_ns": over, "ratio_link": took / max(over, best[mode])}
    print(json.dumps({
        "nnz": streamed["nnz"], "dims": streamed["dims"], "rank": args.rank, "threads": args.threads,
        "precision": args.precision, "memory_limit": args.memory_limit, "load": os.getloadavg()[0],
        "memory_nnz": memory["auto"]["nnz"], "device": args.device, "link_bytes_per_second": link,
        "device_memory": streamed.get("device_memory"),
        "memory_format": memory["auto"]["format"], "chunks": stream["chunks"],
        "chunk_nonzeros": stream["chunk_nonzeros"], "spilled_bytes": stream["spilled_bytes"],
        "memory_said": stream["memory_bytes"], "peak_bytes": streamed["peak_bytes"],
        "disk_bytes_per_second": disk, "again_bytes_per_second": again,
        "seconds_build": streamed["seconds_build"],
        "seconds_per_iteration": streamed["seconds_per_iteration"], "passes": rows,
        "version": streamed["manifest"]["version"]}))


if __name__ == "__main__":
    main()
