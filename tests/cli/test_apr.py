"""polyad cpd --algorithm apr-...: results, errors, and the recovery of a known model."""

import json

import pytest
from conftest import ROOT

METHODS = ["apr-mu", "apr-pdnr", "apr-pqnr"]
TINY = "1 1 1 1\n2 1 2 2\n1 2 3 3\n3 2 1 4\n3 3 3 5\n2 3 2 6\n"


@pytest.mark.parametrize("method", METHODS)
def test_result(polyad, method):
    polyad.write("tiny.tns", TINY)
    result = polyad.json("cpd", "tiny.tns", "-r", "2", "-a", method, "--max-iters", "30")
    assert result["algorithm"] == method and result["log_likelihood"] < 0
    assert result["kkt_violation"] >= 0 and 0 < result["fit"] <= 1
    for name in ("seconds_phi", "seconds_pi", "seconds_kkt", "seconds_mu"):
        assert len(result[name]) == 3
    likelihoods = [row["log_likelihood"] for row in result["trace"]]
    assert likelihoods[-1] == result["log_likelihood"] >= likelihoods[0]
    assert all(row["inner_iterations"] >= 1 for row in result["trace"])
    text = polyad.ok("cpd", "tiny.tns", "-r", "2", "-a", method).out.decode()
    assert "log-likelihood -" in text and "KKT violation" in text


@pytest.mark.parametrize("method", METHODS)
def test_negative_value(polyad, method):
    polyad.write("bad.tns", TINY.replace("1 2 3 3", "1 2 3 -3").replace("3 3 3 5", "3 3 3 -5"))
    polyad.fails(1, "cpd", "bad.tns", "-r", "2", "-a", method, says=("(1, 2, 3) is -3", "counts"))


def test_init_from_a_model(polyad):
    polyad.write("tiny.tns", TINY)
    run = ["cpd", "tiny.tns", "-r", "2", "-a", "apr-mu", "--tol", "0"]
    first = polyad.json(*run, "--max-iters", "3", "--output", "m.ktensor")
    again = polyad.json(*run, "--max-iters", "1", "--init", "m.ktensor")
    assert again["log_likelihood"] >= first["log_likelihood"] - 1e-12
    start = polyad.json(*run, "--max-iters", "0", "--init", "m.ktensor")
    assert abs(start["log_likelihood"] - first["log_likelihood"]) < 1e-10


def test_resume(polyad):
    polyad.write("tiny.tns", TINY)
    run = ["cpd", "tiny.tns", "-r", "2", "-a", "apr-mu", "--tol", "0", "--quiet"]
    whole = polyad.json(*run, "--max-iters", "6")
    polyad.ok(*run, "--max-iters", "3", "--checkpoint", "state")
    rest = polyad.json(*run, "--max-iters", "6", "--resume", "state")
    assert [row["log_likelihood"] for row in rest["trace"]] == [
        row["log_likelihood"] for row in whole["trace"]]
    polyad.fails(1, *run, "--resume", "state", "--algorithm", "als", says="algorithm")


def test_pages_of_the_kernels(polyad):
    for kernel in ("phi", "pi"):
        result = polyad.json("bench", kernel, "like:uber@0.002", "-r", "5", "--repeat", "1",
                             "--warmup", "0", "--format", "coo", "--device", "cpu")
        assert [row["mode"] for row in result["results"]] == [1, 2, 3, 4]
        if kernel == "phi":
            assert all(row["max_relative_error"] < 1e-13 for row in result["results"])


@pytest.mark.parametrize("method", METHODS)
def test_recovers_a_known_model(polyad, method):
    """The committed case: tests/data/poisson_recovery.json says how it is made."""
    case = json.loads((ROOT / "tests/data/poisson_recovery.json").read_text())
    polyad.ok("generate", *case["generate"], "--truth", "truth.ktensor", "counts.tns")
    polyad.ok("cpd", "counts.tns", *case["cpd"], "--algorithm", method, "--quiet", "--output",
              "found.ktensor")
    score = polyad.json("score", "found.ktensor", "truth.ktensor")
    assert score["score"] >= case["least_score"]
