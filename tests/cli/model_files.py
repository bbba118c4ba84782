"""Runs of the command that write a model and JSON: their model is read, their input is read again,
and both are given to the invariant's check."""

import json
import os
import pathlib
import re
import subprocess
import tempfile

import numpy as np

from model_check import Kruskal, SUBCOMMANDS, Tucker, check, too_large

# Options of `convert` that say how the input is to be read; those without an argument.
READING = {"--index-base", "--duplicates", "--dims", "--labels", "--columns", "--value",
           "--delimiter", "--pattern", "--zeros", "--log1p", "--tf-idf", "--scale"}
ALONE = {"--pattern", "--log1p"}


def option(arguments, *names):
    """The last argument of an option, or None."""
    found = None
    for word, after in zip(arguments, [*arguments[1:], None]):
        name, equals, value = word.partition("=")
        if name in names:
            found = value if equals else after
    return found


def reading_options(arguments):
    found = []
    for word, after in zip(arguments, [*arguments[1:], None]):
        name, equals, _ = word.partition("=")
        if name in READING:
            found += [word] if equals or name in ALONE else [word, after]
    return found


def is_text_model(path):
    """The file of a model that a person has asked for: no directory, device or pipe."""
    return path is not None and not str(path).endswith("/") and pathlib.Path(path).is_file()


def read_model(path, precision):
    """Weights and factors, or core and factors, as they are stored."""
    words = path.read_text().split()
    kind, order, at = words[0], int(words[1]), 2

    def numbers(count):
        nonlocal at
        at += count
        kept = np.array(words[at - count:at], np.float32 if precision == "f32" else np.float64)
        return kept.astype(np.longdouble)

    at += order
    if kind == "ktensor":
        at += 1
        first = numbers(int(words[at - 1]))
    else:
        ranks = [int(word) for word in words[at + 2:at + 2 + order]]
        at += 2 + order
        first = numbers(int(np.prod(ranks))).reshape(ranks, order="F")
    factors = []
    for _ in range(order):
        rows, columns = int(words[at + 2]), int(words[at + 3])
        at += 4
        factors.append(numbers(rows * columns).reshape(rows, columns))
    assert at == len(words), path
    return (Kruskal if kind == "ktensor" else Tucker)(first, factors)


def read_tensor(command, arguments, file, folder, stdin, precision):
    """Coordinates and values of the run's input, by way of `convert`: as the run has them."""
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "x.tns"
        subprocess.run([command, "convert", file, path, "-q", "-t", "1", *reading_options(arguments)],
                       cwd=folder, input=stdin, check=True, stdout=subprocess.DEVNULL,
                       env={k: v for k, v in os.environ.items() if not k.startswith("LD_")})
        text = path.read_text(encoding="ascii", errors="replace")
    return parse_tns(text, precision)


def parse_tns(text, precision):
    """Coordinates, from 0, and values of lines of numbers; comments and empty lines are left out. NumPy
    splits the text, in a tenth of Python's time: many runs have 400,000 lines."""
    text = re.sub(r"^(?:#.*)?\n", "", text, flags=re.MULTILINE)
    width = len(text.partition("\n")[0].split())
    rows = np.fromstring(text, np.float64, sep=" ").reshape(-1, max(width, 1))
    assert len(rows) == text.count("\n"), "not one entry a line"
    values = np.ascontiguousarray(rows[:, -1])
    return rows[:, :-1].astype(np.int64) - 1, \
        values.astype(np.float32).astype(np.float64) if precision == "f32" else values


def zeros_kept(words):
    """The option with which a completion has read its input."""
    unknown = option(words, "--absent") == "unknown" and option(words, "--zeros") is None
    return ["--zeros", "keep"] if unknown else []


def check_run(command, arguments, folder, stdin, output):
    """Checks a run that ended well; False where it left no model or no JSON to compare."""
    words = [os.fsdecode(word) for word in arguments]
    if not words or words[0] not in SUBCOMMANDS.values() or len(words) < 2:
        return False
    target, model_file = option(words, "--json"), option(words, "-o", "--output")
    where = None if model_file is None else folder / model_file
    if target is None or not is_text_model(where) or where.suffix == ".gz":
        return False
    info = json.loads(output if target == "-" else (folder / target).read_text())
    if info.get("compute", "native") != "native" or option(words, "--compute"):
        return False  # factors are kept wider than products see them
    if too_large(info["nnz"], info["dims"], info["ranks"] if "ranks" in info else [info["rank"]]):
        return False
    precision = info["precision"]
    coords, values = read_tensor(command, words + zeros_kept(words), info["file"], folder, stdin, precision)
    exact = "--ridge" not in words and option(words, "--svd") != "randomized"
    if info["fit_from"] == "observed":
        exact = not {"--weights", "--validation"} & {word.split("=")[0] for word in words}
    return check(coords, values, read_model(where, precision), info, precision, monotone=exact)
