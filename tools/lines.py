#!/usr/bin/env python3
"""Counts what the lines of src/ are for: lines of code, neither blank nor comment, by feature and by
folder. docs/size.md is made from it; a test asks that every file has a feature and that the page is not
far from the tree.

usage: tools/lines.py [--update | --check] [--then REVISION] [ROOT]

Without an option the page is printed. --update writes it, with the counts of REVISION beside (default:
those that the page has are kept). --check fails where a file has no feature, or a count of the page is
off by more than a fifth and 300 lines.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

SOURCES = re.compile(r"\.(c|h|cu|cuh|hip|cl|inc)$")
SPACE = re.compile(r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|/\*.*?\*/|//[^\n]*', re.S)
# Part of the library, feature, the files of it: the first line that fits is a file's.
FEATURES = [
    ("Device", "teams: GPUs, MPI processes", r"device/(team|mpi/)|device/cuda/cuda_(team|nccl|linalg_team)"
     r"|plan/(part|members|shares)|algorithms/model_team|linalg/cpu_(lent_rows|mixed)"),
    ("Methods", "completion, observed cells", r"completion|algorithms/(complete_|cp_complete|observations)"
     r"|linalg/row_system|algorithms/predict"),
    ("Methods", "Tucker and TTMc", r"ttmc|tucker|hosvd|unfolding|svd|subspace|tensor/ttensor|decompose"),
    ("Methods", "choice of a rank", r"algorithms/(rank_|core_|starts_kept)"),
    ("Methods", "anomalies", r"anomal|poisson_tail"),
    ("Methods", "new data: project, update", r"algorithms/(project|update|double_model|poisson_row|quadratic)"),
    ("Methods", "CP-APR", r"algorithms/(apr_|cp_apr)|cuda_apr|cpu_apr"),
    ("Methods", "generalized CP", r"engine/(grid|loss)|plan/gcp"),
    ("Methods", "CP-ALS", r"algorithms/(als_|cp_als|model_start)"),
    ("Methods", "what methods share: runs, checkpoints", r"algorithms/|io/checkpoint"),
    ("Streaming", "tensors larger than memory", r"plan/stream_|plan/stream\.h|cuda_feed|io/(ptn_blocks|spill|sorted_runs"
     r"|packed_file|temporary|ptn_source)"),
    ("Files", "delimited text: columns, dates, filters", r"io/(delimited|time_zone)|tensor/columns"),
    ("Files", ".tns text", r"io/tns_"),
    ("Files", ".ptn, the binary format of tensors", r"io/(ptn_|binary_header|read_share)"),
    ("Files", ".ptm, the binary format of models", r"io/ptm_"),
    ("Files", "NumPy archives", r"io/npz"),
    ("Files", "Tensor Toolbox text", r"io/(toolbox|scanner|foreign)"),
    ("Files", "compressed files", r"io/(bgzf|compressor|decoder|inflater)"),
    ("Files", "labels", r"io/labels|tensor/tensor_labels"),
    ("Files", "models as tables, JSON, folders", r"io/(model_|ktensor_directory)"),
    ("Files", "what formats share", r"io/"),
    ("Tensors", "generators", r"tensor/generate"),
    ("Tensors", "models: Kruskal tensors", r"tensor/(ktensor|model_)"),
    ("Tensors", "tensors: checks, sorting, statistics", r"tensor/"),
    ("Device", "CUDA: device, updates, sorting", r"device/cuda/"),
    ("Device", "OpenCL", r"device/opencl/"),
    ("Device", "kernels written once, format portable", r"portable"),
    ("Device", "memory and time on the CPU, registry, roof", r"device/"),
    ("Formats", "hls: dense tiles", r"formats/hls/"),
    ("Formats", "alto", r"formats/alto/"),
    ("Formats", "coo, hicoo and their walk", r"formats/(coo|hicoo|nonzeros)/"),
    ("Formats", "modecopy, flycoo, blco and ordered rows", r"formats/(ordered|modecopy|flycoo|blco)/"),
    ("Formats", "sorted rows on the CPU", r"formats/rowsum/"),
    ("Formats", "twotree", r"formats/twotree/"),
    ("Formats", "csf and its relatives", r"formats/(csf|fibers|bcsf|hbcsf|mmcsf|fcoo|fwc)/"),
    ("Formats", "dense", r"formats/dense/"),
    ("Formats", "contract, registry, storages", r"formats/"),
    ("Plans", "choice, tuning, measurement", r"plan/(choose|tune|measurement)"),
    ("Plans", "making and using a plan", r"plan/"),
    ("Core", "operations as values", r"engine/"),
    ("Core", "packed records", r"build/"),
    ("Core", "dense algebra on the CPU", r"linalg/"),
    ("Core", "errors, memory, random numbers, threads", r"core/"),
]
PLANTED = 'int a; /* b\n c */\n\n// d\nchar *e = "/*";\n'  # two lines of code
PAGE = pathlib.Path("docs/size.md")
HEAD = """# How large the library is, and what for

Lines of code of `src/`, neither blank nor comment, by what they are for (`tools/lines.py` counts and makes this
page). A file is counted once: kernels that serve one method alone are that method's, on every device. "Then" is
revision {then}, before completion, choices of ranks, new data, anomalies, teams and streaming came.

`libpolyad.so` of GCC 12 for x86-64 has 2.4 MB of machine code (section `.text`), of which sums of sorted rows take
two sevenths and alto's walk a thirteenth: each is there for three instruction sets, two types and up to eight vectors of
columns. The CPU's kernels of format `portable`, 1.4 MB more, are a module.

"""
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([\d,]+) \| ([\d,]+|–) \|$", re.M)


def code_lines(text):
    """Lines that are neither blank nor comment."""
    text = SPACE.sub(lambda m: m[1] or "\n" * m[0].count("\n"), text)
    return sum(1 for line in text.splitlines() if line.strip())


def feature_of(path):
    """The part and the feature of a file below src/, or None."""
    for part, feature, files in FEATURES:
        if re.search(files, path):
            return part, feature
    return None


def now(root):
    """Texts of the files below src/, by path."""
    sources = sorted(p for p in (root / "src").rglob("*") if SOURCES.search(p.name))
    return {p.relative_to(root / "src").as_posix(): p.read_text(errors="replace") for p in sources}


def at(root, revision):
    """The same of a revision."""
    def git(*arguments):
        return subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True,
                              text=True, errors="replace").stdout
    paths = git("ls-tree", "-r", "--name-only", revision, "src").split()
    return {p.removeprefix("src/"): git("show", f"{revision}:{p}") for p in paths if SOURCES.search(p)}


def counts_of(texts):
    """Lines by (part, feature), and the files that have none."""
    counts, homeless = collections.Counter(), []
    for path, text in texts.items():
        feature = feature_of(path)
        if feature is None:
            homeless.append(path)
        else:
            counts[feature] += code_lines(text)
    return counts, homeless


def rows_of(page):
    """{(part, feature): (now, then)} of the page, "then" None where it is unknown."""
    def number(text):
        return None if text == "–" else int(text.replace(",", ""))
    return {(m[1], m[2]): (number(m[3]), number(m[4])) for m in ROW.finditer(page)}


def page_of(counts, before, then):
    """The page: parts by their size, features in theirs."""
    parts = collections.Counter()
    for (part, _), lines in counts.items():
        parts[part] += lines

    def row(part, feature, lines, old):
        return f"| {part} | {feature} | {lines:,} | {'–' if old is None else f'{old:,}'} |\n"
    text = HEAD.format(then=then) + "| part | for | now | then |\n| --- | --- | ---: | ---: |\n"
    for part, _ in parts.most_common():
        for (owner, feature), lines in counts.most_common():
            if owner == part:
                text += row(part, feature, lines, before.get((part, feature), 0) if before else None)
    old = sum(before.values()) if before else None
    return text + row("**All**", "", sum(counts.values()), old).replace("|  |", "| |")


def complaints(counts, homeless, page):
    for path in homeless:
        yield f"src/{path} has no feature: add it to FEATURES in tools/lines.py"
    said = rows_of(page)
    for feature in sorted(counts.keys() | {k for k in said if k[0] != "**All**"}):
        lines, told = counts[feature], said.get(feature, (0, None))[0]
        if abs(lines - told) > max(300, lines / 5):
            yield (f"{PAGE}: {' / '.join(feature)}: {told} lines; there are {lines}: "
                   "run tools/lines.py --update")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--then", metavar="REVISION")
    parser.add_argument("root", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    path = arguments.root / PAGE
    page = path.read_text() if path.exists() else ""
    counts, homeless = counts_of(now(arguments.root))
    if arguments.check:
        if code_lines(PLANTED) != 2 or feature_of("nowhere/x.c") is not None:
            sys.exit("lines.py: does not count what it was given")
        found = list(complaints(counts, homeless, page))
        print("\n".join(found))
        sys.exit(len(found) > 0)
    if arguments.then:
        before, then = counts_of(at(arguments.root, arguments.then))[0], arguments.then
    else:
        named = re.search(r"revision (\w+)", page)
        then = named[1] if named else "none"
        before = {k: old for k, (_, old) in rows_of(page).items() if k[0] != "**All**" and old is not None}
    text = page_of(counts, before, then)
    if arguments.update:
        path.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
