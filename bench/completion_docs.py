#!/usr/bin/env python3
"""The table of docs/completion.md, from bench/results/cpu/completion-*.json.

usage: bench/completion_docs.py [--check]     --check: only says whether the page is current

The table stands between "<!-- bench/completion_docs.py -->" and "<!-- end -->".
"""
import json
import pathlib
import re
import sys

from readme_tables import table

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/completion.md"
NAMES = {"als": "polyad `als`, biases", "ccd": "polyad `ccd`, biases", "sgd": "polyad `sgd`, biases",
         "als, no biases": "polyad `als` without biases",
         "ccd, no biases": "polyad `ccd` without biases", "mean": "the mean alone",
         "biases": "mean and biases alone", "pyttb": "pyttb, GCP with a mask",
         "TensorLy": "TensorLy, PARAFAC with a mask"}


def row_of(method, row, dense):
    error = f"{row['rmse_mean']:.3f} ± {row['rmse_deviation']:.3f}"
    reached = [seconds for seconds in row.get("seconds_to_splatt", []) if seconds is not None]
    times = f"{sum(reached) / len(reached):.2f}" if reached else "–"
    if 0 < len(reached) < len(row["rmse"]):
        times += f" ({len(reached)} of {len(row['rmse'])})"
    name = "polyad `als`" if dense and method == "als" else NAMES.get(method, method)
    return [name, str(row.get("rank", "–")), error,
            f"{row['seconds_mean']:.2f}", times]


def tables():
    found = []
    for path in sorted((ROOT / "bench/results/cpu").glob("completion-*.json")):
        for result in json.loads(path.read_text(encoding="utf-8"))["results"]:
            methods = sorted(result["methods"].items(), key=lambda item: item[1]["rmse_mean"])
            shape = " × ".join(map(str, result["shape"]))
            link = f"[result](../{path.relative_to(ROOT)})"
            head = f"{result['tensor']}: {shape}, {result['nnz']:,} entries ({link})"
            found.append(f"**{head}**\n\n" + table(
                ["method", "rank", "test RMSE", "s", "s to SPLATT's error"],
                [row_of(*item, dense="TensorLy" in result["methods"]) for item in methods]))
    return "\n\n".join(found)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    text = PAGE.read_text(encoding="utf-8")
    made, places = re.subn(r"(<!-- bench/completion_docs.py -->\n).*?(<!-- end -->)",
                           lambda found: f"{found[1]}\n{tables()}\n\n{found[2]}", text, flags=re.S)
    if places != 1:
        sys.exit(f"{PAGE}: {places} places for the table; expected one")
    if sys.argv[1:] and made != text:
        sys.exit("docs/completion.md differs from bench/results: run bench/completion_docs.py")
    if not sys.argv[1:]:
        PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
