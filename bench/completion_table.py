#!/usr/bin/env python3
"""Completion measured: errors on cells that no method has seen, over several splits.

usage: completion_table.py [--tensors NAME,...] [--ranks 2,5,10] [--max-iters 500] [--seeds 5]
                           [--threads 1] [--processes 1] [--peers] [--splatt COMMAND] [--chosen FILE]
                           [--keep FILE] --json FILE

A tensor of data/ is dealt out to 80% of its entries for fitting, 10% for validation and 10% for the
test, anew for each seed. Entries alone are known: a cell that is not in the file is unknown.
uber-cut is uber-apr-may at its 30 most frequent latitudes and longitudes, small enough for a dense
tensor. Rows are the mean, the sample deviation, and all of the root mean squared errors of the test
cells over the seeds, and of the processor seconds (user and system) of a fit; `seconds_to_best` is
the share of them until the validation error was within 1% of the least, by iterations.

  mean, biases          the mean; the mean and a bias for each index (ridge 0.2), by sweeps here
  als, ccd, sgd         polyad with biases, until 20 iterations without gain on the validation cells; its rank
                        is that of the least validation error of `als` at seed 0 among the ranks and
                        the ridges of 1, 3 and 10, and each method's ridge that of its own least among
                        these; the same for all seeds
  als, ccd, no biases   the same without biases
  SPLATT als, ccd, sgd  `splatt complete` of branch sc16 (--splatt: the built command), without biases,
                        until 20 epochs without gain on the validation cells, at most --max-iters;
                        its rank is that of the least validation error of its ALS at seed 0 among the
                        same ranks and ridges, its regularization that of the least of each method
                        among these ridges and its own default. It reads and writes text files:
                        seconds are of the process less those of one that ends after one epoch
  pyttb                 gcp_opt of a dense tensor with a mask, Gaussian, L-BFGS-B of at most 60
                        iterations; its rank at seed 0 by the validation error, uniform start
                        scaled to the mean
--processes: so many seeds at once, each in a process of its own with all its methods.
--keep: the rows of a seed are written there when it is done, and a later call with the same options
takes them from there.
With --seeds 0 ranks and ridges are chosen and no more; --chosen takes those of such a record.
`seconds_to_splatt` of polyad's methods is their time to the validation error that SPLATT's best method
ends with on the same split, and of SPLATT its own to its best; null where it was not reached.
aminoacids is dense: 30% of its cells are taken away, rank 3, polyad (ridge 1e-6) against TensorLy's
`parafac` with a mask, both to a tolerance of 1e-8 or 1000 iterations.
`--peers` runs pyttb (where the dense tensor has at most 2^23 cells) and TensorLy.
"""

import argparse
import concurrent.futures
import json
import math
import multiprocessing
import os
import pathlib
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import polyad

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
RIDGES = (1.0, 3.0, 10.0)
PATIENCE = 20  # epochs without gain on the validation cells, as SPLATT has it
OWN = {"als": {"algorithm": "als", "biases": True}, "ccd": {"algorithm": "ccd", "biases": True},
       "sgd": {"algorithm": "sgd", "biases": True}, "als, no biases": {"algorithm": "als"},
       "ccd, no biases": {"algorithm": "ccd"}}


def rmse(values, predicted):
    return math.sqrt(np.mean((np.asarray(values) - predicted) ** 2))


def read(name):
    x = polyad.read(str(DATA / f"{name.replace('uber-cut', 'uber-apr-may')}.tns.gz"))
    if name != "uber-cut":
        return x
    coords, keep = x.coords, np.ones(x.nnz, bool)
    for mode in (2, 3):
        counts = np.bincount(coords[:, mode])
        keep &= np.isin(coords[:, mode], np.argsort(-counts, kind="stable")[:30])
    coords, values = coords[keep], x.values[keep]
    columns = [np.unique(column, return_inverse=True)[1] for column in coords.T]
    return polyad.SparseTensor(np.stack(columns, 1), values)


def fit_biases(train, ridge=0.2, sweeps=20):
    """Mean and biases by coordinate descent; a function of coordinates."""
    coords, values = train.coords, train.values
    mean, biases = values.mean(), [np.zeros(n) for n in train.shape]
    for _ in range(sweeps):
        for mode, column in enumerate(coords.T):
            rest = values - mean - sum(biases[m][coords[:, m]] for m in range(len(biases))
                                       if m != mode)
            sums = np.bincount(column, rest, train.shape[mode])
            biases[mode] = sums / (np.bincount(column, minlength=train.shape[mode]) + ridge)
    return lambda c: mean + sum(b[c[:, m]] for m, b in enumerate(biases))


def write_text(path, tensor, shape):
    """Writes the tensor's cells within a shape, with indices from 1."""
    inside = (tensor.coords < shape).all(axis=1)
    np.savetxt(path, np.column_stack((tensor.coords[inside] + 1, tensor.values[inside])),
               fmt=["%d"] * len(shape) + ["%.17g"])


def timed_splatt(folder, *words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def splatt_files(parts, options, seed):
    """The text files of a split, written once; and the shape of what they have."""
    train, shape = parts[2], parts[2].coords.max(axis=0) + 1
    folder = pathlib.Path(options.folder) / f"{'x'.join(map(str, train.shape))}-{seed}"
    if not folder.exists():
        folder.mkdir()
        write_text(folder / "train.tns", train, shape)
        write_text(folder / "valid.tns", parts[1], shape)
    return folder, shape


def fit_splatt(parts, algorithm, rank, ridge, options, seed):
    """Errors on the validation and test cells, seconds, and those to the best epoch. An index that
    the fitted cells do not have has a row of zeros. Errors are those of the model that it writes."""
    test, valid, train = parts
    folder, shape = splatt_files(parts, options, seed)
    words = [options.splatt, "complete", "train.tns", "valid.tns", "-a", algorithm, "-r", str(rank),
             f"--seed={seed + 1}", "-t", str(options.threads),
             *([] if ridge is None else [f"--reg={ridge}"])]
    _, first = timed_splatt(folder, *words, "-i", "1")
    text, whole = timed_splatt(folder, *words, "-i", str(options.max_iters))
    factors = [np.loadtxt(f"{folder}/mode{mode + 1}.mat", ndmin=2).reshape(length, rank)
               for mode, length in enumerate(shape)]
    if algorithm == "ccd":  # it writes its columns, one behind the other, as if they were rows
        factors = [factor.reshape(rank, len(factor)).T for factor in factors]
    factors = [np.vstack((factor, np.zeros((full - len(factor), rank))))
               for factor, full in zip(factors, train.shape)]
    errors = []
    for part in (valid, test):
        product = np.ones((part.nnz, rank))
        for factor, column in zip(factors, part.coords.T):
            product *= factor[column]
        errors.append(rmse(part.values, product.sum(axis=1)))
    epochs = int(re.findall(r"^epoch: *(\d+)", text, re.M)[-1])
    best = int(re.search(r"\(epoch (\d+)\)", text).group(1))
    seconds = max(whole - first, 0.0) * epochs / max(epochs - 1, 1)
    return *errors, seconds, seconds * best / epochs


def fit_polyad(train, valid, rank, ridge, options, **more):
    began = time.process_time()
    model = polyad.cp_complete(train, rank, ridge=ridge, validation=valid, patience=PATIENCE,
                               max_iters=options.max_iters, threads=options.threads, **more)
    seconds = time.process_time() - began
    errors = np.array([row["validation_rmse"] for row in model.info["trace"]])
    near = int(np.argmax(errors <= 1.01 * errors.min())) + 1

    def until(error):
        reached = np.flatnonzero(errors <= error)
        return seconds * (int(reached[0]) + 1) / len(errors) if len(reached) else None

    return model, seconds, seconds * near / len(errors), until


def fit_pyttb(train, rank, seed):
    import pyttb

    dense, mask = np.zeros(train.shape), np.zeros(train.shape)
    dense[tuple(train.coords.T)], mask[tuple(train.coords.T)] = train.values, 1
    scale = (train.values.mean() / rank) ** (1 / dense.ndim) * 2
    random = np.random.default_rng(seed)
    guess = [np.asfortranarray(scale * random.random((n, rank))) for n in train.shape]
    began = time.process_time()
    model, _, _ = pyttb.gcp_opt(pyttb.tensor(dense), rank, pyttb.gcp.handles.Objectives.GAUSSIAN,
                                pyttb.gcp.optimizers.LBFGSB(maxiter=60), init=guess,
                                mask=pyttb.tensor(mask), printitn=0)
    seconds = time.process_time() - began

    def predict(coords):
        product = np.tile(model.weights, (len(coords), 1))
        for mode, factor in enumerate(model.factor_matrices):
            product *= factor[coords[:, mode]]
        return product.sum(axis=1)

    return predict, seconds


class Table:
    def __init__(self):
        self.rows = {}

    def add(self, method, error, seconds, seconds_to_best=None, to_splatt=None, **more):
        row = self.rows.setdefault(method, {"rmse": [], "seconds": [], "seconds_to_best": [],
                                            "seconds_to_splatt": []})
        row["rmse"].append(error)
        row["seconds"].append(seconds)
        row["seconds_to_best"].append(seconds if seconds_to_best is None else seconds_to_best)
        row["seconds_to_splatt"].append(to_splatt)
        row |= more

    def finish(self):
        for row in self.rows.values():
            for key in ("rmse", "seconds", "seconds_to_best"):
                numbers = row[key]
                row[f"{key}_mean"] = float(np.mean(numbers))
                row[f"{key}_deviation"] = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else 0.0
            if all(second is None for second in row["seconds_to_splatt"]):
                del row["seconds_to_splatt"]
        return self.rows


def try_all(attempt, methods, ranks, ridges):
    """What attempt(method, rank, ridge) finds of the first method at all ranks and ridges, and of the
    others at the rank of its least error."""
    def row(method, rank, ridge):
        return {"method": method, "rank": rank, "ridge": ridge,
                "validation_rmse": attempt(method, rank, ridge)}

    first, *others = methods
    tried = [row(first, rank, ridge) for rank in ranks for ridge in ridges]
    rank = min(tried, key=lambda found: found["validation_rmse"])["rank"]
    return tried + [row(method, rank, ridge) for method in others for ridge in ridges]


def chosen(tried):
    """The rank and the ridge of each method."""
    best = {}
    for row in tried:
        if row["validation_rmse"] < best.get(row["method"], {"validation_rmse": math.inf})["validation_rmse"]:
            best[row["method"]] = row
    return {method: (row["rank"], row["ridge"]) for method, row in best.items()}


def choose(parts, options, result):
    """Tries ranks and ridges at seed 0, where a record has not done that."""
    _, valid, train = parts
    for old in json.loads(pathlib.Path(options.chosen).read_text())["results"] if options.chosen else ():
        if old["tensor"] == result["tensor"]:
            result |= {key: old[key] for key in ("tried", "tried_splatt") if key in old}
    if "tried_splatt" not in result and options.splatt:
        result["tried_splatt"] = try_all(
            lambda method, rank, ridge: fit_splatt(parts, method, rank, ridge, options, 0)[0],
            ("als", "ccd", "sgd"), options.ranks, (None, *RIDGES))
    if "tried" not in result:
        result["tried"] = try_all(
            lambda method, rank, ridge: fit_polyad(train, valid, rank, ridge, options,
                                                   **OWN[method])[0].info["validation_rmse"],
            OWN, options.ranks, RIDGES)
    return chosen(result["tried"]), chosen(result.get("tried_splatt", ()))


def choose_pyttb(train, valid, options):
    errors = {rank: rmse(valid.values, fit_pyttb(train, rank, 0)[0](valid.coords))
              for rank in options.ranks}
    return min(errors, key=errors.get), errors


def rows_of_seed(name, seed, options, ours, theirs, pyttb_rank):
    """One split by all methods: what Table.add() takes."""
    test, valid, train = parts = polyad.split(read(name), [0.1, 0.1], seed=seed)
    rows = []

    def add(*words, **more):
        rows.append((words, more))

    add("mean", rmse(test.values, train.values.mean()), 0.0)
    began = time.process_time()
    biases = fit_biases(train)
    add("biases", rmse(test.values, biases(test.coords)), time.process_time() - began)
    least = math.inf
    for method, (rank, ridge) in theirs.items():
        error, tested, seconds, near = fit_splatt(parts, method, rank, ridge, options, seed)
        least = min(least, error)
        add(f"SPLATT {method}", tested, seconds, near, near, rank=rank, ridge=ridge)
    for method, (rank, ridge) in ours.items():
        model, seconds, near, until = fit_polyad(train, valid, rank, ridge, options, seed=seed,
                                                 **OWN[method])
        add(method, rmse(test.values, model.reconstruct(test.coords)), seconds, near,
            until(least) if theirs else None, rank=rank, ridge=ridge)
    if pyttb_rank is not None:
        predict, seconds = fit_pyttb(train, pyttb_rank, seed)
        add("pyttb", rmse(test.values, predict(test.coords)), seconds, rank=pyttb_rank)
    print(name, "seed", seed, {row[0][0]: round(row[0][1], 4) for row in rows}, file=sys.stderr,
          flush=True)
    return rows


def kept_rows(options):
    """Rows by tensor and seed that an earlier call has left."""
    kept = pathlib.Path(options.keep)
    return json.loads(kept.read_text()) if options.keep and kept.exists() else {}


def table_of(name, options):
    x = read(name)
    table, result = Table(), {"tensor": name, "nnz": x.nnz, "shape": list(x.shape)}
    dense = options.peers and math.prod(x.shape) <= 2 ** 23
    first = test, valid, train = polyad.split(x, [0.1, 0.1], seed=0)
    ours, theirs = choose(first, options, result)
    pyttb_rank = None
    if dense and options.seeds:
        pyttb_rank, result["tried_pyttb"] = choose_pyttb(train, valid, options)
    kept = kept_rows(options)
    with concurrent.futures.ProcessPoolExecutor(
            options.processes, multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(rows_of_seed, name, seed, options, ours, theirs, pyttb_rank): seed
                   for seed in range(options.seeds) if f"{name} {seed}" not in kept}
        for done in concurrent.futures.as_completed(running):
            kept[f"{name} {running[done]}"] = done.result()
            if options.keep:
                pathlib.Path(options.keep).write_text(json.dumps(kept))
    for seed in range(options.seeds):
        for words, more in kept[f"{name} {seed}"]:
            table.add(*words, **more)
    return result | {"methods": table.finish()}


def dense_case(options):
    import tensorly
    from tensorly.decomposition import parafac

    amino, table = read("aminoacids"), Table()
    x = np.zeros(amino.shape)
    x[tuple(amino.coords.T)] = amino.values
    for seed in range(options.seeds):
        mask = np.random.default_rng(seed).random(x.shape) < 0.7
        began = time.process_time()
        model = polyad.cp_complete(np.where(mask, x, np.nan), 3, ridge=1e-6, tol=1e-8,
                                   max_iters=1000, seed=seed, threads=options.threads)
        taken = time.process_time() - began
        hidden = np.argwhere(~mask)
        table.add("als", rmse(x[~mask], model.reconstruct(hidden)), taken, rank=3, ridge=1e-6)
        began = time.process_time()
        theirs = parafac(tensorly.tensor(np.where(mask, x, 0)), 3, n_iter_max=1000, tol=1e-8,
                         init="random", random_state=seed, mask=tensorly.tensor(mask * 1.0))
        taken = time.process_time() - began
        predicted = tensorly.cp_to_tensor(theirs)[~mask]
        table.add("TensorLy", rmse(x[~mask], predicted), taken, rank=3)
    return {"tensor": "aminoacids, 30% of the cells taken away", "shape": list(x.shape),
            "nnz": int(np.count_nonzero(x)), "methods": table.finish()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tensors", default="nycflights13,uber-apr-may,uber-cut")
    parser.add_argument("--ranks", default="2,5,10",
                        type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--max-iters", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--splatt", default="")
    parser.add_argument("--chosen", default="")
    parser.add_argument("--keep", default="")
    parser.add_argument("--json", required=True)
    options = parser.parse_args()
    record = {"command": "completion_table.py " + " ".join(sys.argv[1:-1]), "threads": options.threads,
              "polyad": polyad.version(), "processor": polyad.devices()[0]["description"],
              "python": platform.python_version(), "results": []}
    if options.peers:
        record["results"].append(dense_case(options))
    with tempfile.TemporaryDirectory() as options.folder:
        for name in options.tensors.split(","):
            record["results"].append(table_of(name, options))
            record["load_average"] = os.getloadavg()
            pathlib.Path(options.json).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
