"""The Tucker decomposition as users meet it: golden fits of pyttb.tucker_als, files, options."""

import itertools
import json
import math

import pytest
from conftest import ROOT, read_tns

DATA = ROOT / "tests/data/tucker"
GOLDEN = json.loads((DATA / "golden.json").read_text())
EXACT = 1e-8


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


@pytest.mark.parametrize("name", ["three", "four"])
@pytest.mark.parametrize("format", ["coo", "csf", "modecopy"])
def test_every_iteration_agrees_with_pyttb(polyad, name, format):
    golden = GOLDEN[name]["fits"]
    found = polyad.json("tucker", DATA / f"{name}.tns", "-r", ranks_of(name), "--tol", "0",
                        "--init", DATA / f"{name}.ttensor", "--max-iters", len(golden),
                        "--format", format)
    assert [row["iteration"] for row in found["trace"]] == list(range(1, len(golden) + 1))
    for row, fit in zip(found["trace"], golden):
        assert abs(row["fit"] - fit) < EXACT
    assert found["fit"] == found["trace"][-1]["fit"] and found["reason"] == "max_iterations"
    assert found["ranks"] == GOLDEN[name]["ranks"] and found["format"] == format
    assert len(found["seconds_ttmc"]) == len(found["dims"]) and not found["converged"]


def test_single_precision(polyad):
    golden = GOLDEN["three"]["fits"]
    found = polyad.json("tucker", DATA / "three.tns", "-r", "4,3,5", "--tol", "0", "--init",
                        DATA / "three.ttensor", "--max-iters", 12, "--precision", "f32")
    for row, fit in zip(found["trace"], golden):
        assert abs(row["fit"] - fit) < 1e-5


def test_written_model(polyad):
    found = polyad.json("tucker", DATA / "three.tns", "-r", "4,3,5", "--tol", "1e-9",
                        "--max-iters", 200, "-o", "m.ttensor")
    core, ranks, factors = read_ttensor(polyad.path("m.ttensor"))
    assert ranks == [4, 3, 5] and [len(f) for f in factors] == found["dims"] == [14, 12, 9]
    for factor, rank in zip(factors, ranks):
        for r, s in itertools.product(range(rank), repeat=2):
            inner = sum(row[r] * row[s] for row in factor)
            assert abs(inner - (r == s)) < 1e-13
        for r in range(rank):
            assert max((row[r] for row in factor), key=abs) > 0
    x = read_tns(DATA / "three.tns")
    square = 0
    for i, j, k in itertools.product(*map(range, found["dims"])):
        m = sum(core[a + 4 * (b + 3 * c)] * factors[0][i][a] * factors[1][j][b] * factors[2][k][c]
                for a, b, c in itertools.product(*map(range, ranks)))
        square += (x.get((i + 1, j + 1, k + 1), 0) - m) ** 2
    fit = 1 - math.sqrt(square / sum(v * v for v in x.values()))
    assert abs(fit - found["fit"]) < 1e-12


def test_goes_on_from_a_model(polyad):
    one = polyad.json("tucker", DATA / "three.tns", "-r", "4,3,5", "--tol", "0", "--max-iters", 6)
    polyad.ok("tucker", DATA / "three.tns", "-r", "4,3,5", "--tol", "0", "--max-iters", 3, "-o",
              "m.ttensor")
    two = polyad.json("tucker", DATA / "three.tns", "-r", "4,3,5", "--tol", "0", "--max-iters", 3,
                      "--init", "m.ttensor")
    assert abs(one["fit"] - two["fit"]) < 1e-12


def test_directory(polyad):
    polyad.ok("tucker", "good.tns", "-r", "2,1,2", "-o", "model/")
    files = sorted(path.name for path in polyad.path("model").iterdir())
    assert files == ["core.txt", "mode1.txt", "mode2.txt", "mode3.txt"]
    core = [line.split() for line in (polyad.path("model/core.txt")).read_text().splitlines()]
    assert [len(line) for line in core] == [2, 2]


def test_full_ranks_are_exact(polyad):
    found = polyad.json("tucker", DATA / "three.tns", "-r", "14,12,9")
    assert found["fit"] > 1 - 1e-12


@pytest.mark.parametrize("energy", [0.3, 0.8, 1.0])
def test_ranks_by_energy(polyad, energy):
    found = polyad.json("tucker", DATA / "three.tns", "-r", f"auto:{energy}")
    residual = found["trace"][-1]["residual"]
    assert 1 - residual >= energy - 1e-9
    assert all(1 <= rank <= dim for rank, dim in zip(found["ranks"], found["dims"]))
    if energy == 1.0:
        assert found["ranks"] == found["dims"]
    else:
        assert found["ranks"] < found["dims"]


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
    assert "warning: rank 8 of mode 1 is more than the product of the other ranks, 6" in result.err


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
