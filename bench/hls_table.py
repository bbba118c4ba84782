#!/usr/bin/env python3
"""Tables of what `bench/h200.sh hls` measured, in Markdown: the hybrid beside its parts and other
formats, errors, and bytes against equation 16.

usage: bench/hls_table.py FILE.jsonl
"""
import json
import re
import sys

# hicoo and mmcsf in the file are older than their kernels: figures D-12 and D-13 have the present ones.
OTHERS = ("modecopy", "coo-atomic")
COLUMNS = ("hls", "hls-s", "hls-d", "hls-sequential", "hls-diagonal", *OTHERS)
TITLES = {"mttkrp": "MTTKRP, R = 32", "ttmc": "Tensor-times-matrix chain, R = 16"}


def runs_of(tensor, kernel):
    """Rows of all modes by label and compute type."""
    runs = {}
    for row in tensor["results"]:
        if row["kernel"] == kernel and row["label"] != "hls-threshold":
            runs.setdefault((row["label"], row["compute"]), []).append(row)
    return runs


def microseconds(rows):
    return f"{1e6 * sum(row['median_seconds'] for row in rows):.0f}" if rows else "–"


def times(tensors, kernel):
    print(f"\n## {TITLES[kernel]}, all modes (microseconds; hls with f16, the others in float)\n")
    print("| tensor | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 1))
    for name, tensor in tensors.items():
        runs = runs_of(tensor, kernel)
        cells = [microseconds(runs.get((label, "native" if label in OTHERS else "f16")))
                 for label in COLUMNS]
        print(f"| {name} | " + " | ".join(cells) + " |")


def errors(tensors):
    print("\n## Largest error of a mode, equation 17 (percent)\n")
    print("| tensor | kernel | f16 | bf16 | tf32 |\n|---|---|---|---|---|")
    for name, tensor in tensors.items():
        for kernel in TITLES:
            runs = runs_of(tensor, kernel)
            cells = [f"{max(row['smape_percent'] for row in runs['hls', compute]):.4f}"
                     for compute in ("f16", "bf16", "tf32")]
            print(f"| {name} | {kernel} | " + " | ".join(cells) + " |")


def copies(row, dims):
    """Bytes of the reordered copies of the single nonzeros, one for each mode, that a workspace on a GPU adds
    (pd_hls_schedule_bytes): whole words of 32 bits for the indices, and the value."""
    found = re.search(r"with (\d+) of (\d+) nonzeros", row["about"])
    singles = int(found.group(2)) - int(found.group(1))
    words = (sum((dim - 1).bit_length() for dim in dims) + 31) // 32
    return len(dims) * (singles * (4 * words + 2) + 8)


def memory(tensors):
    print("\n## Bytes (MTTKRP's threshold, f16)\n")
    print("Copies: on a GPU a workspace adds the single nonzeros once more for each mode, which table IV does not count; for HLS-S these "
          "are\nall nonzeros. COO as GPUs sum it in any order needs none.\n")
    print("| tensor | HLS, MB | over equation 16 | less than HLS-S | less than COO of 32 bits | copies, MB | with copies: less than HLS-S | "
          "less than COO |\n|---|---|---|---|---|---|---|---|")
    shares = []
    for name, tensor in tensors.items():
        runs = runs_of(tensor, "mttkrp")
        whole, single = runs["hls", "f16"][0], runs["hls-s", "f16"][0]
        stored = whole["bytes_format"]
        added = copies(whole, tensor["dims"])
        all_single = single["bytes_format"] + copies(single, tensor["dims"])
        shares.append((1 - stored / single["bytes_format"], 1 - stored / (16 * tensor["nnz"]),
                       1 - (stored + added) / all_single, 1 - (stored + added) / (16 * tensor["nnz"])))
        print(f"| {name} | {stored / 1e6:.3f} | {stored / whole['bytes_equation_16'] - 1:.2%} | "
              f"{shares[-1][0]:.0%} | {shares[-1][1]:.0%} | {added / 1e6:.3f} | {shares[-1][2]:.0%} | "
              f"{shares[-1][3]:.0%} |")
    means = [f"{sum(s) / len(s):.0%}" for s in zip(*shares)]
    print(f"| mean | | | {means[0]} | {means[1]} | | {means[2]} | {means[3]} |")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    tensors = {one["file"].partition(":")[2]: one for one in found}
    print("# Paper D, measured\n\nWritten by `bench/hls_table.py` from `hls.jsonl`: one NVIDIA H200, "
          "generated tensors, medians\nof 20 runs; every result is compared with float64.")
    for kernel in TITLES:
        times(tensors, kernel)
    errors(tensors)
    memory(tensors)


if __name__ == "__main__":
    main()
