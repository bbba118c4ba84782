"""Choosing the rank: scans, core consistency, scores of several models."""

import json
import re

import numpy as np
import pytest
from conftest import ROOT, validate
from test_report import Page

AMINO = ROOT / "data/aminoacids.tns.gz"
FEW = ("--starts", "3", "--threads", "1", "--device", "cpu")


@pytest.fixture(scope="module")
def amino(tmp_path_factory):
    """One scan that several tests read."""
    from conftest import Polyad

    polyad = Polyad(tmp_path_factory.mktemp("amino"))
    return polyad.json("rank", AMINO, "--ranks", "1-5", "--device", "cpu", timeout=300)


def plant(polyad, name, rank, noise, seed=1):
    """Every cell of a model of normal factors, with noise of this part of its norm."""
    random = np.random.default_rng(seed)
    factors = [random.normal(size=(length, rank)) for length in (18, 15, 12)]
    exact = np.einsum("ir,jr,kr->ijk", *factors) if rank else np.zeros((18, 15, 12))
    error = random.normal(size=exact.shape)
    size = noise * np.linalg.norm(exact) / np.linalg.norm(error) if rank else 1
    lines = [" ".join(map(str, np.add(place, 1))) + f" {value:.17g}\n"
             for place, value in np.ndenumerate(exact + size * error)]
    return polyad.write(name, "".join(lines))


# ---- rank ----------------------------------------------------------------------------------------

def test_amino_acids_have_three_components(amino):
    """Three amino acids: Bro's data, on which core consistency was published."""
    validate("rank", amino)
    rows = {row["rank"]: row for row in amino["ranks"]}
    assert amino["recommended"] == 3 and "rank 4" in amino["reason"]
    assert rows[3]["core_consistency"] > 99 and rows[4]["core_consistency"] < 0
    assert rows[3]["fit_best"] == pytest.approx(0.97495, abs=1e-4)
    assert rows[3]["stability"] > 0.98 > 0.9 > rows[4]["stability"]
    assert rows[3]["holdout_error"] < 0.01 < 0.1 < rows[2]["holdout_error"]
    assert amino["folds"] == 4 and amino["holdout_modes"] == [2, 3] and amino["complete"]
    fits = [row["fit_best"] for row in amino["ranks"]]
    assert fits == sorted(fits)
    assert all(row["fit_median"] <= row["fit_best"] for row in amino["ranks"])


def test_a_scan_of_exact_models_ends(polyad):
    """Rank 2 is exact here; rounding may leave larger ranks a last digit below it."""
    polyad.write("t.tns", "1 2 4.5\n2 1 3.5\n3 2 5\n4 1 2.5\n")
    found = polyad.json("rank", "t.tns", "--ranks", "1-6", "--folds", "0", "--device", "cpu", timeout=60)
    assert found["complete"] and len(found["ranks"]) == 6


@pytest.mark.parametrize("algorithm", ["als", "nonnegative", "apr-mu"])
def test_values_at_the_ends_of_the_range_are_no_fault_of_first_models(polyad, algorithm):
    """Models of 1e-310 and of 1e308 are found as those of 1, or refused for what they are: the sum of
    their weights overflowed in the first model that is grown from a smaller rank, and a weight of 1
    was infinite beside the small ones."""
    random = np.random.default_rng(3)
    cells = {tuple(random.integers(1, 7, 3)): random.uniform(.1, 1) for _ in range(40)}

    def rows(size):
        polyad.write("x.tns", "".join(f"{i} {j} {k} {value:.6f}{size}\n"
                                      for (i, j, k), value in cells.items()))
        run = polyad.run("rank", "x.tns", "--ranks", "1-3", "-a", algorithm, *FEW, "--json", "-")
        if run.status == 0:
            return [row["fit_best"] for row in json.loads(run.out)["ranks"]]
        assert size == "e308" and "of the model is too large for double precision; scale" in run.err
        return None

    usual, tiny, large = rows(""), rows("e-310"), rows("e308")
    assert tiny == pytest.approx(usual, abs=1e-3)
    assert algorithm != "nonnegative" or large == pytest.approx(usual, abs=1e-3)


@pytest.mark.parametrize("seed", [0, 7, 8])
def test_failed_starts_do_not_count_against_a_rank(polyad, seed):
    """With these seeds at most two of three starts of rank 3 find its model."""
    found = polyad.json("rank", AMINO, "--ranks", "1-4", "--starts", "3", "--folds", "0",
                        "--seed", str(seed))
    row = found["ranks"][2]
    assert found["recommended"] == 3 and row["stability"] > 0.99
    assert row["starts_at_best"] < row["starts"] == 3
    assert f"the {row['starts_at_best']} of 3 starts" in found["reason"]


def test_table(polyad):
    name = plant(polyad, "x.tns", 2, 0.2)
    text = polyad.ok("rank", name, "--ranks", "1,2,4", *FEW).out.decode()
    table = re.findall(r"^ +(\d+)  +(0\.\d{6})(.*)$", text, re.M)
    assert [row[0] for row in table] == ["1", "2", "4"]
    assert [row[2].endswith("<-") for row in table] == [False, True, False]
    assert "\nrecommended: rank 2\n" in text
    found = polyad.json("rank", name, "--ranks", "1,2,4", *FEW)
    assert found["reason"] + "\n" == text[text.index("rank 2\n") + len("rank 2\n"):]


def test_a_page_shows_the_table(polyad):
    plant(polyad, "<b>t.tns", 2, 0.1)
    found = polyad.json("rank", "<b>t.tns", "--ranks", "1-3", "--report", "page.html", *FEW)
    page = Page(polyad.path("page.html").read_text())
    assert "<b>t.tns" in page.text and "Recommended: rank 2" in page.text
    assert found["reason"] in page.text
    charts = page.all("svg")
    assert len(charts) == 6 and len(page.all("path", **{"class": "line"})) == 6
    assert charts[0]["aria-label"].startswith("best fit of 3 ranks, from ")
    for row in found["ranks"]:
        assert f"{row['fit_best']:.4g}" in page.text
    polyad.ok("rank", "<b>t.tns", "--ranks", "2", "--folds", "0", "--report", "one.html", *FEW)
    assert not Page(polyad.path("one.html").read_text()).all("svg")  # one point is no chart
    polyad.fails(2, "rank", "<b>t.tns", "--report", "page.svg", says="ends in .html")
    polyad.fails(2, "rank", "<b>t.tns", "--report", "a.html", "--json", "a.html", says="--json")


def test_same_seed_same_scan(polyad):
    name = plant(polyad, "x.tns", 2, 0.2)
    first, second = (polyad.json("rank", name, "--ranks", "1-3", "--seed", "5", *FEW)
                     for _ in range(2))
    for found in (first, second):
        for key in [key for key in found if key.startswith("seconds")]:
            del found[key]
        for row in found["ranks"]:
            del row["seconds"]
    assert first == second


def test_noise_has_no_rank(polyad):
    found = polyad.json("rank", plant(polyad, "noise.tns", 0, 1), "--ranks", "1-4", *FEW)
    assert found["recommended"] is None and "no rank stands out" in found["reason"]
    text = polyad.ok("rank", "noise.tns", "--ranks", "1-2", *FEW).out.decode()
    assert "recommended: none\nno rank stands out" in text


@pytest.mark.parametrize("algorithm", ["nonnegative", "apr-mu", "apr-pdnr", "apr-pqnr"])
def test_algorithms(polyad, algorithm):
    polyad.ok("generate", "--dims", "12,10,9", "--nnz", "400", "--rank", "2", "--poisson", "c.tns")
    found = polyad.json("rank", "c.tns", "--ranks", "1-3", "--algorithm", algorithm, *FEW,
                        "--max-iters", "40")
    validate("rank", found)
    assert found["algorithm"] == algorithm and len(found["ranks"]) == 3
    for row in found["ranks"]:
        assert (row["log_likelihood"] is not None) == algorithm.startswith("apr")
        assert row["fit_best"] is not None and row["holdout_error"] is not None


def test_without_folds_and_with_one_start(polyad):
    name = plant(polyad, "x.tns", 2, 0.2)
    found = polyad.json("rank", name, "--ranks", "1-3", "--folds", "0", *FEW)
    validate("rank", found)
    assert found["folds"] == 0 and found["holdout_modes"] == [] and found["recommended"] == 2
    assert all(row["holdout_error"] is None for row in found["ranks"])
    found = polyad.json("rank", name, "--ranks", "2", "--starts", "1", "--folds", "0")
    assert found["ranks"][0]["stability"] is None


def test_out_of_time_shows_what_is_done(polyad):
    name = plant(polyad, "x.tns", 2, 0.2)
    result = polyad.ok("rank", name, "--ranks", "1-400", "--max-seconds", "0.5", "--json", "r.json",
                       "--folds", "0")
    assert re.search(r"stopped after \d+ of 400 ranks", result.err)


def test_a_scan_that_ended_goes_on(polyad):
    name = plant(polyad, "x.tns", 2, 0.2)
    scan = ("rank", name, "--ranks", "1-3", *FEW)
    whole = polyad.json(*scan)
    ended = polyad.ok(*scan, "--checkpoint", "state", "--max-seconds", "1e-9")
    assert "stopped after 0 of 3 ranks; work on others is lost\n" in ended.err
    polyad.ok(*scan, "--checkpoint", "state")
    again = polyad.ok(*scan, "--resume", "state", "--checkpoint", "state", "--max-seconds", "1e-9",
                      "--json", "again.json")
    assert "stopped" not in again.err  # all was done
    found = json.loads(polyad.path("again.json").read_text())
    assert [row | {"seconds": 0} for row in found["ranks"]] == [
        row | {"seconds": 0} for row in whole["ranks"]]
    polyad.fails(1, *scan, "--resume", "state", "--starts", "4", says="starts 3; expected 4")
    polyad.fails(1, *scan, "--resume", "nothing")
    polyad.fails(1, *scan, "--resume", "state", "--json", "state", says="is the input")
    polyad.fails(2, *scan, "--checkpoint", "-", says="name of a file")
    polyad.fails(2, *scan, "--checkpoint", "j", "--json", "j", says="same file")


@pytest.mark.parametrize("ranks", ["", "0", "3-2", "1,1", "2,1", "1-", "-3", "1,,2", "x", "1-2000",
                                   "99999999999999999999999999", "1,"])
def test_bad_ranks(polyad, ranks):
    polyad.fails(2, "rank", "good.tns", f"--ranks={ranks}")


def test_bad_options(polyad):
    polyad.fails(2, "rank", "good.tns", "--folds", "1", says="expected 0, or 2 to 64")
    polyad.fails(2, "rank", "good.tns", "--starts", "0")
    polyad.fails(2, "rank", "good.tns", "--algorithm", "svd", says="als nonnegative")
    polyad.fails(2, "rank")
    polyad.fails(1, "rank", "missing.tns")
    polyad.fails(2, "rank", "good.tns", "--format", "nothing")


def test_cpd_without_rank_tells_of_rank(polyad):
    polyad.fails(2, "cpd", "good.tns", says="polyad rank FILE")


# ---- core consistency ----------------------------------------------------------------------------

def test_core_consistency(polyad):
    for rank in (3, 4):
        polyad.ok("cpd", AMINO, "-r", rank, "--restarts", "3", "-o", f"{rank}.ktensor",
                  "--threads", "1")
    three, four = (polyad.json("core-consistency", f"{rank}.ktensor", AMINO) for rank in (3, 4))
    validate("core-consistency", three)
    assert three["rank"] == 3 and three["core_consistency"] > 99 > 0 > four["core_consistency"]
    text = polyad.ok("core-consistency", "3.ktensor", AMINO).out.decode()
    assert float(text) == pytest.approx(three["core_consistency"], abs=1e-6)
    polyad.fails(1, "core-consistency", "3.ktensor", "good.tns", says="mode 1 has length 5")
    polyad.fails(2, "core-consistency", "3.ktensor")


# ---- score of several models ---------------------------------------------------------------------

def test_score_of_several(polyad):
    """Columns (3, 4) and (4, 3) have the cosine 24/25, (3, 4) and (0, 1) have 4/5."""
    for name, column in (("a", "3\n4"), ("b", "4\n3"), ("c", "0\n1")):
        polyad.write(f"{name}.ktensor", f"ktensor\n2\n2 1\n1\n1\nmatrix\n2\n2 1\n{column}\n"
                                        "matrix\n2\n1 1\n1\n")
    found = polyad.json("score", "a.ktensor", "b.ktensor", "c.ktensor", "--no-weights")
    validate("score", found)
    assert np.array(found["scores"]) == pytest.approx(
        np.array([[1, 0.96, 0.8], [0.96, 1, 0.6], [0.8, 0.6, 1]]))
    assert found["mean_score"] == pytest.approx((0.96 + 0.8 + 0.6) / 3)
    assert found["models"] == ["a.ktensor", "b.ktensor", "c.ktensor"]
    (component,) = found["components"]
    assert component["similarity"] == pytest.approx(0.88)
    assert component["modes"] == pytest.approx([0.88, 1])
    text = polyad.ok("score", "a.ktensor", "b.ktensor", "c.ktensor", "--no-weights").out.decode()
    assert text.startswith("0.786667\n") and "  0.8800    0.8800    1.0000\n" in text
    two = polyad.json("score", "a.ktensor", "b.ktensor")
    validate("score", two)
    polyad.write("d.ktensor", "ktensor\n2\n3 1\n1\n1\nmatrix\n2\n3 1\n1\n1\n1\nmatrix\n2\n1 1\n1\n")
    polyad.fails(1, "score", "a.ktensor", "b.ktensor", "d.ktensor")
    polyad.fails(1, "score", "a.ktensor", "b.ktensor", "missing.ktensor")


def test_score_of_several_ranks(polyad):
    """A component without a partner counts as nothing, whichever model has more."""
    for rank in (1, 2):
        columns = "\n".join(["1 0", "0 1"] if rank == 2 else ["1", "0"])
        polyad.write(f"{rank}.ktensor", f"ktensor\n2\n2 2\n{rank}\n{' '.join(['1'] * rank)}\n"
                     + f"matrix\n2\n2 {rank}\n{columns}\n" * 2)
    more = polyad.json("score", "2.ktensor", "1.ktensor", "1.ktensor")
    assert [row["similarity"] for row in more["components"]] == [1, 0]
    less = polyad.json("score", "1.ktensor", "2.ktensor", "2.ktensor")
    assert [row["similarity"] for row in less["components"]] == [1]
