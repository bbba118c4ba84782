"""The Tucker decomposition as users meet it: golden fits of pyttb.tucker_als, files, options."""

import functools
import itertools
import json
import math
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import COMMAND, ROOT, read_tns, validate

DATA = ROOT / "tests/data/tucker"
GOLDEN = json.loads((DATA / "golden.json").read_text())
DOUBLE, FLOAT = 2.0 ** -53, 2.0 ** -24


def ranks_of(name):
    return ",".join(map(str, GOLDEN[name]["ranks"]))


def read_ttensor(path):
    """Core (first mode fastest), ranks and factors."""
    words = path.read_text().split()
    order = int(words[1])
    assert words[0] == "ttensor" and words[2 + order] == "tensor"
    ranks = [int(word) for word in words[4 + order:4 + 2 * order]]
    at = 4 + 2 * order
    core = [float(word) for word in words[at:at + math.prod(ranks)]]
    at += len(core)
    factors = []
    for _ in range(order):
        assert words[at:at + 2] == ["matrix", "2"]
        rows, columns = int(words[at + 2]), int(words[at + 3])
        numbers = [float(word) for word in words[at + 4:at + 4 + rows * columns]]
        factors.append([numbers[i * columns:(i + 1) * columns] for i in range(rows)])
        at += 4 + rows * columns
    assert at == len(words)
    return core, ranks, factors


def apart(name, iterations):
    """How far apart the fits of two runs from the stored start may be, iteration by iteration: a
    share moves by at most twice what spaces turn by, and the fit by that over twice 1 - fit."""
    cells = read_tns(DATA / f"{name}.tns")
    core, _, factors = read_ttensor(DATA / f"{name}.ttensor")
    x = np.zeros([len(factor) for factor in factors])
    for cell, value in cells.items():
        x[tuple(np.array(cell) - 1)] = value
    turned = []
    shares = hooi_shares(x, [np.array(f) for f in factors], iterations, turned=turned)
    order = len(factors)
    return [2 * sum(turned[:order * (k + 1)]) / math.sqrt(1 - share) for k, share in enumerate(shares)]


@pytest.mark.parametrize("name", ["three", "four"])
@pytest.mark.parametrize("format", ["coo", "csf", "modecopy"])
def test_every_iteration_agrees_with_pyttb(polyad, name, format):
    golden = GOLDEN[name]["fits"]
    found = polyad.json("tucker", DATA / f"{name}.tns", "-r", ranks_of(name), "--tol", "0",
                        "--init", DATA / f"{name}.ttensor", "--max-iters", len(golden),
                        "--format", format)
    assert [row["iteration"] for row in found["trace"]] == list(range(1, len(golden) + 1))
    for row, fit, bound in zip(found["trace"], golden, apart(name, len(golden))):
        assert abs(row["fit"] - fit) <= row["fit_bound"] + bound < 1e-8
    assert found["fit"] == found["trace"][-1]["fit"] and found["reason"] == "max_iterations"
    assert found["ranks"] == GOLDEN[name]["ranks"] and found["format"] == format
    assert len(found["seconds_ttmc"]) == len(found["dims"]) and not found["converged"]


def test_single_precision(polyad):
    golden = GOLDEN["three"]["fits"]
    found = polyad.json("tucker", DATA / "three.tns", "-r", "4,3,5", "--tol", "0", "--init",
                        DATA / "three.ttensor", "--max-iters", 12, "--precision", "f32")
    for row, fit in zip(found["trace"], golden):
        assert abs(row["fit"] - fit) <= 1e-5  # the goal for data that are well-posed


def test_written_model(polyad):
    found = polyad.json("tucker", DATA / "three.tns", "-r", "4,3,5", "--tol", "1e-9",
                        "--max-iters", 200, "-o", "m.ttensor")
    core, ranks, factors = read_ttensor(polyad.path("m.ttensor"))
    assert ranks == [4, 3, 5] and [len(f) for f in factors] == found["dims"] == [14, 12, 9]
    for factor, rank in zip(factors, ranks):
        for r, s in itertools.product(range(rank), repeat=2):
            inner = sum(row[r] * row[s] for row in factor)
            # LAPACK's vectors are orthonormal to 30 roundings a column (its own tests' ratio).
            assert abs(inner - (r == s)) < 30 * rank * 2.0 ** -53
        for r in range(rank):
            assert max((row[r] for row in factor), key=abs) > 0
    x = read_tns(DATA / "three.tns")
    square = 0
    for i, j, k in itertools.product(*map(range, found["dims"])):
        m = sum(core[a + 4 * (b + 3 * c)] * factors[0][i][a] * factors[1][j][b] * factors[2][k][c]
                for a, b, c in itertools.product(*map(range, ranks)))
        square += (x.get((i + 1, j + 1, k + 1), 0) - m) ** 2
    whole = sum(v * v for v in x.values())
    fit = 1 - math.sqrt(square / whole)
    # What Python's sums lose: of an entry, whose terms are at most 60 in each of four products, and
    # of the squares of 14 * 12 * 9 cells.
    size = math.sqrt(sum(c * c for c in core) / whole)
    lost = 2.0 ** -53 * ((60 + 4) * math.sqrt(60) * size + 14 * 12 * 9)
    assert abs(fit - found["fit"]) <= found["fit_bound"] + lost


def test_goes_on_from_a_model(polyad):
    one = polyad.json("tucker", DATA / "three.tns", "-r", "4,3,5", "--tol", "0", "--max-iters", 6)
    polyad.ok("tucker", DATA / "three.tns", "-r", "4,3,5", "--tol", "0", "--max-iters", 3, "-o",
              "m.ttensor")
    two = polyad.json("tucker", DATA / "three.tns", "-r", "4,3,5", "--tol", "0", "--max-iters", 3,
                      "--init", "m.ttensor")
    assert abs(one["fit"] - two["fit"]) < 1e-12


def test_no_iteration_is_the_hosvd(polyad):
    words = ("tucker", DATA / "three.tns", "-r", "4,3,5", "--max-iters", 0)
    found = polyad.json(*words, "-o", "m.ttensor")
    validate("tucker", found)
    assert found["iterations"] == 0 and found["trace"] == [] and found["reason"] == "max_iterations"
    further = polyad.json("tucker", DATA / "three.tns", "-r", "4,3,5", "--tol", "0", "--max-iters", 1)
    assert 0.1 < found["fit"] < further["fit"]
    core, _, _ = read_ttensor(polyad.path("m.ttensor"))
    whole = sum(v * v for v in read_tns(DATA / "three.tns").values())
    fit = 1 - math.sqrt(1 - sum(c * c for c in core) / whole)
    assert abs(fit - found["fit"]) < 1e-12
    polyad.fails(2, *words, "--init", "random", says="--max-iters 0 found with --init random")
    kept = polyad.json("tucker", DATA / "three.tns", "-r", "auto:0.9", "--max-iters", 0)
    assert (1 - kept["fit"]) ** 2 <= 0.1


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_the_hosvd_of_unfoldings_of_low_rank_is_orthonormal(polyad, precision):
    """The unfoldings have ranks 2, 1 and 2, and 2 x 1 x 2 cells hold all there is of the tensor."""
    entries = {(i, 1, k): float(1 + i * k * k) for i in range(1, 7) for k in (1, 2)}
    polyad.path("low.tns").write_text(
        "# dims: 6 3 2\n" + "".join(f"{i} {j} {k} {v}\n" for (i, j, k), v in entries.items()))
    found = polyad.json("tucker", "low.tns", "-r", "4,3,2", "--max-iters", 0, "--precision",
                        precision, "-o", "m.ttensor")
    eps = 2.0 ** (-52 if precision == "f64" else -23)
    _, _, factors = read_ttensor(polyad.path("m.ttensor"))
    for factor in factors:
        for r in range(len(factor[0])):
            for s in range(len(factor[0])):
                inner = math.fsum(row[r] * row[s] for row in factor)
                assert abs(inner - (r == s)) <= 4 * len(factor) * eps
    assert 1 - 64 * eps ** 0.5 < found["fit"] <= 1 + 64 * eps


def test_directory(polyad):
    polyad.ok("tucker", "good.tns", "-r", "2,1,2", "-o", "model/")
    files = sorted(path.name for path in polyad.path("model").iterdir())
    assert files == ["core.txt", "mode1.txt", "mode2.txt", "mode3.txt"]
    core = [line.split() for line in (polyad.path("model/core.txt")).read_text().splitlines()]
    assert [len(line) for line in core] == [2, 2]


def test_full_ranks_are_exact(polyad):
    found = polyad.json("tucker", DATA / "three.tns", "-r", "14,12,9")
    assert found["fit"] > 1 - 1e-12


# ---- a reference in NumPy

def unfold(x, n):
    return np.moveaxis(x, n, 0).reshape(x.shape[n], -1)


def multiply(x, factors, skip=None):
    """x times the transpose of every factor but that of mode `skip`."""
    for n, factor in enumerate(factors):
        if n != skip:
            x = np.moveaxis(np.tensordot(factor.T, x, (1, n)), 0, n)
    return x


def hosvd(x, ranks):
    return [np.linalg.svd(unfold(x, n), full_matrices=False)[0][:, :r]
            for n, r in enumerate(ranks)]


def turn(s, rank, error):
    """By how much a space of left singular vectors turns when the squares of the singular values
    are off by `error` of the largest: that over the gap that tells it from what is left out."""
    return error * s[0] ** 2 / (s[rank - 1] ** 2 - s[rank] ** 2) if rank < len(s) else 0


def hooi_shares(x, factors, iterations, least_gain=-math.inf, turned=None):
    """What higher-order orthogonal iteration keeps of the squared norm, iteration by iteration. A
    list `turned` gets by how much rounding may turn each space that is found: roundings of a
    column's sums (seven standard deviations)."""
    ranks, factors, shares = [f.shape[1] for f in factors], list(factors), []
    for _ in range(iterations):
        for n, r in enumerate(ranks):
            u, s, _ = np.linalg.svd(unfold(multiply(x, factors, n), n), full_matrices=False)
            factors[n] = u[:, :r]
            if turned is not None:
                rounded = 7 * math.sqrt(max(x.shape[n], x.size // x.shape[n])) * DOUBLE
                turned.append(turn(s, r, rounded))
        shares.append(float(np.sum(s[:ranks[-1]] ** 2) / np.sum(x ** 2)))
        if len(shares) > 1 and shares[-1] - shares[-2] < least_gain:
            break
    return shares


def write_tns(polyad, name, x):
    cells = np.argwhere(x)
    polyad.write(name, "".join(f"{' '.join(map(str, c + 1))} {float(x[tuple(c)])!r}\n"
                               for c in cells))
    return name


def residual_of(path, x):
    """||X - M|| / ||X|| of a written model: from its entries alone."""
    core, ranks, factors = read_ttensor(path)
    m = np.array(core).reshape(ranks, order="F")
    for n, factor in enumerate(factors):
        m = np.moveaxis(np.tensordot(np.array(factor), m, (1, n)), 0, n)
    return float(np.linalg.norm(x - m) / np.linalg.norm(x))


# ---- the fit

@pytest.mark.parametrize("noise", [1e-3, 1e-5, 0])
def test_fit_of_a_nearly_exact_model(polyad, noise):
    """The norms' difference has no digits of so small a residual: in single precision from 1e-3 on,
    where float32 knows a squared norm to 1e-6 or so, in double from 1e-7 on. In single precision the
    values are rounded, too, and from one iteration to the next the factors and the core."""
    rng = np.random.default_rng(9)
    factors = [rng.random((n, 2)) for n in (12, 10, 8)]
    x = np.einsum("ir,jr,kr->ijk", *factors) + noise * rng.standard_normal((12, 10, 8))
    name = write_tns(polyad, "x.tns", x)
    for precision, unit in (("f64", DOUBLE), ("f32", FLOAT)):
        found = polyad.json("tucker", name, "-r", "2,2,2", "--tol", "0", "--max-iters", 6, "-o",
                            "m.ttensor", "--precision", precision)
        if precision == "f64":
            expected = [row["fit"] for row in found["trace"]]
        # NumPy rounds each of an entry's 8 terms five times, and all 960 squares.
        lost = DOUBLE * (5 * math.sqrt(8) + 960)
        residual = residual_of(polyad.path("m.ttensor"), x)
        assert abs(1 - found["fit"] - residual) <= found["fit_bound"] + unit + lost
        moved = unit * (3 + 3 * math.sqrt(2))  # values, core, three factors of two columns
        for row, fit in zip(found["trace"], expected):
            assert abs(row["fit"] - fit) <= row["fit_bound"] + moved


# ---- HOSVD

@pytest.mark.parametrize("shape, ranks", [((48, 40, 33), (3, 4, 5)), ((9, 12, 7, 8), (2, 3, 4, 1)),
                                          ((60, 20), (4, 4))])
def test_hosvd_of_a_flat_spectrum(polyad, shape, ranks):
    """Uniform noise: apart from the first, singular values lie close together."""
    x = np.random.default_rng(7).random(shape) - 0.4
    dims = ",".join(map(str, shape))
    found = polyad.json("tucker", write_tns(polyad, "x.tns", x), "-r", ",".join(map(str, ranks)),
                        "--tol", "0", "--max-iters", 7, "--dims", dims)
    turned = []
    shares = hooi_shares(x, hosvd(x, ranks), 7, turned=turned)
    for row, share in zip(found["trace"], shares):
        # Both turn; a share moves by at most twice as much, and the fit by that over twice 1 - fit.
        exact = 2 * sum(turned) / math.sqrt(1 - share)
        assert abs(row["fit"] - 1 + math.sqrt(1 - share)) <= row["fit_bound"] + exact < 1e-6
    assert found["diagnosis"] == ""


def test_hosvd_of_a_long_mode(polyad):
    """A mode above 1024 rows is solved by products, whose residuals are at most 1e-8 of the largest
    eigenvalue (PD_HOSVD_TOLERANCE). It is the last one: the first iteration forgets the first
    mode's factor before it is used."""
    rng = np.random.default_rng(8)
    x = np.where(rng.random((12, 10, 1300)) < 0.05, rng.random((12, 10, 1300)), 0)
    x[0, 0, 0] = x[-1, -1, -1] = 1
    ranks = (3, 3, 5)
    found = polyad.json("tucker", write_tns(polyad, "x.tns", x), "-r", "3,3,5", "--tol", "0",
                        "--max-iters", 4)
    turned = [turn(np.linalg.svd(unfold(x, 2), compute_uv=False), 5, 1e-8)]
    for row, share in zip(found["trace"], hooi_shares(x, hosvd(x, ranks), 4, turned=turned)):
        exact = 2 * sum(turned) / math.sqrt(1 - share)
        assert abs(row["fit"] - 1 + math.sqrt(1 - share)) <= row["fit_bound"] + exact < 1e-5
    assert found["diagnosis"] == ""


# ---- ranks by a share of the norm

def small_tensor(kind):
    rng = np.random.default_rng(3)
    if kind == "ratings":  # sparse, 1 to 5, users who like the same
        taste = rng.random((12, 3)) @ rng.random((3, 9 * 8)) * 4
        x = np.clip(np.round(taste), 1, 5).reshape(12, 9, 8) * (rng.random((12, 9, 8)) < 0.3)
    elif kind == "binary":
        x = (rng.random((10, 11, 9)) < 0.12).astype(float)
    elif kind == "counts":
        x = rng.poisson(np.exp(rng.normal(-1, 1.2, (14, 8, 10)))).astype(float)
    elif kind == "low rank":
        factors = [rng.random((n, 3)) for n in (9, 10, 8)]
        x = np.einsum("ir,jr,kr->ijk", *factors) + 0.3 * rng.standard_normal((9, 10, 8))
    else:
        x = rng.gamma(0.4, 1.0, (8, 9, 8, 8)) * (rng.random((8, 9, 8, 8)) < 0.15)
    for n, length in enumerate(x.shape):  # no empty slices: the file tells the dims
        for i in range(length):
            if not np.take(x, i, n).any():
                x[tuple(i if m == n else 0 for m in range(x.ndim))] = 1.0
    return x


def smallest_core(x, energy):
    """Exhaustive search: the fewest cells of all ranks with which higher-order orthogonal iteration
    from the truncated HOSVD, run until it gains less than 1e-7 of the squared norm, keeps the
    share. Ranks are passed over only when a bound proves that no model of them keeps it: each
    mode's leading singular values."""
    total, full = np.sum(x ** 2), hosvd(x, x.shape)
    least = []
    for n in range(x.ndim):
        kept = np.cumsum(np.linalg.svd(unfold(x, n), compute_uv=False) ** 2) / total
        least.append(int(np.argmax(kept >= energy * (1 - 1e-12))) + 1)
    core = multiply(x, full)
    everything = sorted(itertools.product(*(range(a, min(b, core.shape[n]) + 1)
                                            for n, (a, b) in enumerate(zip(least, x.shape)))),
                        key=math.prod)
    for ranks in everything:
        if any(r * r > math.prod(ranks) for r in ranks):
            continue  # more columns than the others' product add nothing: fewer cells keep it too
        start = [np.eye(n)[:, :r] for n, r in zip(core.shape, ranks)]
        if hooi_shares(core, start, 100, 1e-7)[-1] >= energy:
            return math.prod(ranks)
    raise AssertionError("full ranks keep everything")


@pytest.mark.parametrize("kind, energy", [("ratings", 0.5), ("binary", 0.4), ("counts", 0.6),
                                          ("low rank", 0.9), ("four modes", 0.4)])
def test_ranks_are_nearly_the_smallest(polyad, kind, energy):
    x = small_tensor(kind)
    found = polyad.json("tucker", write_tns(polyad, "x.tns", x), "-r", f"auto:{energy}", "-o",
                        "m.ttensor")
    assert found["dims"] == list(x.shape)
    assert 1 - residual_of(polyad.path("m.ttensor"), x) ** 2 >= energy
    assert math.prod(found["ranks"]) <= 1.1 * smallest_core(x, energy)


@functools.cache
def three():
    x = np.zeros((14, 12, 9))
    for index, value in read_tns(DATA / "three.tns").items():
        x[tuple(i - 1 for i in index)] = value
    return x


@pytest.mark.parametrize("precision, exact", [("f64", 1e-12), ("f32", 1e-5)])
@pytest.mark.parametrize("energy", [0.05, 0.3, 0.8, 0.99, 1.0])
def test_a_share_is_kept(polyad, energy, precision, exact):
    found = polyad.json("tucker", DATA / "three.tns", "-r", f"auto:{energy}", "-o", "m.ttensor",
                        "--precision", precision)
    residual = residual_of(polyad.path("m.ttensor"), three()) ** 2
    assert 1 - residual >= energy - (exact if energy == 1 else 0)
    assert abs((1 - found["fit"]) ** 2 - residual) < exact
    assert found["ranks"] == found["dims"] if energy == 1 else energy > 0.8 or (
        math.prod(found["ranks"]) < math.prod(found["dims"]))


@pytest.mark.plain  # a minute of the loops that the others run
def test_ranks_of_chicago(polyad):
    """95 x 10 x 16 x 5 = 76,000 cells keep 0.203."""
    result = polyad.ok("tucker", ROOT / "data/chicago-crime-2022.tns.gz", "-r", "auto:0.2",
                       "--max-iters", 1, "--json", "f.json", "--verbose")
    found = json.loads(polyad.path("f.json").read_text())
    assert math.prod(found["ranks"]) <= 78000 and 1 - found["trace"][-1]["residual"] >= 0.2
    ranks = ",".join(map(str, found["ranks"]))
    assert f"ranks {ranks} (a core of {math.prod(found['ranks'])} cells) keep 0.2" in result.err
    assert result.err.count("its first singular vectors keep of the squared norm: 1: 0.") == 4


@pytest.mark.plain
def test_share_out_of_reach(polyad):
    """No model can keep more than the leading singular vectors of one mode do."""
    polyad.ok("generate", "x.ptn", "--dims", "3000,2500,2000", "--nnz", "100000", "--seed", "1")
    result = polyad.fails(1, "tucker", "x.ptn", "-r", "auto:0.9", "--memory-limit", "100M",
                          says=["no ranks found keep the share 0.9 within the memory limit, "
                                "100.0 MiB", "; the most found is "])
    found, ranks, bound = re.search(
        r"found is ([0-9.e-]+) with ranks ([0-9,]+), and none that fit the memory can keep more "
        r"than ([0-9.]+)", result.err).groups()
    assert 0 < float(found) <= float(bound) < 0.9
    model = polyad.json("tucker", "x.ptn", "-r", ranks, "--max-iters", "3")
    assert float(found) * 0.999 <= 1 - model["trace"][-1]["residual"] <= float(bound)


@pytest.mark.parametrize("dims, nnz, ranks", [
    ("30000,20000,10000", 1000000, "auto:0.5"), ("30000,20000,10000", 1000000, "300,4,4"),
    ("5000,60,60", 200000, "1300,40,40")])  # a dense eigenproblem of 5000 rows
def test_a_signal_ends_the_start(polyad, dims, nnz, ranks):
    """There is no model yet: nothing is written."""
    polyad.ok("generate", "x.ptn", "--dims", dims, "--nnz", str(nnz), "--seed", "1")
    process = subprocess.Popen([COMMAND, "tucker", "x.ptn", "-r", ranks, "-o", "m.ttensor", "-v"],
                               cwd=polyad.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while b"mode" not in process.stderr.readline():  # of the plan's choice
        assert process.poll() is None
    time.sleep(1)
    begin = time.monotonic()
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 143 and time.monotonic() - begin < 2
    assert out == b"" and not polyad.path("m.ttensor").exists()


@pytest.mark.parametrize("more", [("--init", "random"), ("--svd", "randomized")])
def test_a_share_brings_its_own_start(polyad, more):
    polyad.fails(2, "tucker", "good.tns", "-r", "auto:0.5", *more, says="--ranks auto:X")


def test_randomized_is_close(polyad):
    exact = polyad.json("tucker", DATA / "three.tns", "-r", "4,3,5", "--tol", "1e-6")
    found = polyad.json("tucker", DATA / "three.tns", "-r", "4,3,5", "--tol", "1e-6", "--svd",
                        "randomized")
    assert found["svd"] == "randomized" and abs(found["fit"] - exact["fit"]) < 5e-3
    again = polyad.json("tucker", DATA / "three.tns", "-r", "4,3,5", "--tol", "1e-6", "--svd",
                        "randomized")
    assert [r["fit"] for r in again["trace"]] == [r["fit"] for r in found["trace"]]


def test_starts(polyad):
    fits = [polyad.json("tucker", DATA / "three.tns", "-r", "4", "--init", init, "--tol", "1e-7",
                        "--max-iters", 500)["fit"] for init in ("hosvd", "random")]
    assert all(0.1 < fit < 0.4 for fit in fits)


def test_tolerance_and_time_end_a_run(polyad):
    found = polyad.json("tucker", DATA / "three.tns", "-r", "3")
    assert found["reason"] == "tolerance" and found["converged"]
    assert abs(found["trace"][-1]["fit"] - found["trace"][-2]["fit"]) < 1e-4
    found = polyad.json("tucker", DATA / "three.tns", "-r", "3", "--max-seconds", "1e-9")
    assert found["reason"] == "max_seconds" and found["iterations"] == 1


def test_output_for_people(polyad):
    text = polyad.ok("tucker", "good.tns", "-r", "1,1,1").out.decode()
    assert text.startswith("2 x 2 x 2, 3 nonzeros\ncore 1 x 1 x 1, hooi, ")
    assert "(100% of the model's squared norm)" in text
    assert "core of" not in polyad.ok("tucker", "good.tns", "-r", "1", "--top", "0").out.decode()


def test_more_columns_than_the_others_give(polyad):
    result = polyad.ok("tucker", DATA / "three.tns", "-r", "8,2,3")
    assert "warning: Rank 8 of mode 1 is more than the product of the other ranks, 6" in result.err


@pytest.mark.parametrize("ranks", ["0", "x", "2,", ",2", "2,,2", "auto:", "auto:0", "auto:1.1",
                                   "auto:-1", "-3", "1" * 40, ",".join("1" * 17)])
def test_bad_ranks(polyad, ranks):
    polyad.fails(2, "tucker", "good.tns", f"--ranks={ranks}", says="--ranks")


def test_ranks_missing(polyad):
    polyad.fails(2, "tucker", "good.tns", says="ranks are missing")


@pytest.mark.parametrize("ranks, says", [("2,2", "2 ranks found; expected 3"),
                                         ("2,3,2", "rank 3 of mode 2 found; expected at most"),
                                         ("5", "rank 5 of mode 1")])
def test_ranks_that_do_not_fit(polyad, ranks, says):
    polyad.fails(1, "tucker", "good.tns", "-r", ranks, says=says)


def test_too_large_for_memory(polyad):
    polyad.ok("generate", "long.tns", "--dims", "200000,5000,5000", "--nnz", "100")
    polyad.fails(1, "tucker", "long.tns", "-r", "2,3000,3000", "--memory-limit", "1G", "--dims",
                 "200000,5000,5000", says=["bytes", "memory limit"])


def test_format_without_the_chain(polyad):
    polyad.fails(1, "tucker", "good.tns", "-r", "1", "--format", "flycoo",
                 says="tensor-times-matrix chain")


@pytest.mark.parametrize("content, says", [
    ("ktensor\n", "expected ttensor"),
    ("ttensor\n3\n2 2 2\ntensor\n3\n1 1 1\n", "truncated"),
    ("ttensor\n3\n2 2 2\ntensor\n2\n1 1\n", "modes of the core"),
    ("ttensor\n1\n2\ntensor\n1\n1\n5\nmatrix\n2\n3 1\n", "rows of a matrix"),
    ("ttensor\n1\n2\ntensor\n1\n1\n5\nmatrix\n2\n2 1\n1\n2\n", "3 modes|1 modes"),
])
def test_init_file(polyad, content, says):
    polyad.write("start.txt", content)
    result = polyad.fails(1, "tucker", "good.tns", "-r", "1", "--init", "start.txt")
    assert any(text in result.err for text in says.split("|")), result.err


def test_init_that_is_no_file(polyad):
    polyad.fails(1, "tucker", "good.tns", "-r", "1", "--init", "nvecs",
                 says="'nvecs' found, and there is no such file; expected random, hosvd or a ttensor")


def test_init_file_of_other_ranks(polyad):
    polyad.fails(1, "tucker", DATA / "three.tns", "-r", "4,3,4", "--init", DATA / "three.ttensor",
                 says="the factor of mode 3 of the initial model is 9 x 5; expected 9 x 4")


def test_bench_ttmc(polyad):
    found = polyad.json("bench", "ttmc", DATA / "three.tns", "-r", "3", "--format", "all",
                        "--repeat", "1", "--warmup", "0")
    assert found["kernel"] == "ttmc" and found["rank"] == 3
    formats = {row["format"] for row in found["results"]}
    assert {"alto", "coo", "csf", "modecopy"} <= formats and "flycoo" not in formats
    assert {row["mode"] for row in found["results"]} == {1, 2, 3}
    for row in found["results"]:
        assert row["flops"] == 2 * found["nnz"] * 9
        assert row["max_relative_error"] < (1e-2 if row["format"] == "hls" else 1e-13)
