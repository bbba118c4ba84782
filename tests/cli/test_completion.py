"""Completion: cpd --absent unknown, split and predict."""

import csv
import math
import re
import shutil

import numpy as np
import pytest
from conftest import ROOT, validate

FLIGHTS = ROOT / "data/nycflights13.tns.gz"
DIMS = (14, 12, 10)


def write_model(polyad, name, rank=2, share=0.5, seed=3, change=None):
    """About a share of the cells of a model with positive factors; the whole array too."""
    random = np.random.default_rng(seed)
    whole = np.einsum("ir,jr,kr->ijk", *[random.uniform(size=(length, rank)) for length in DIMS])
    whole = whole if change is None else change(whole)
    known = random.uniform(size=DIMS) < share
    lines = [" ".join(map(str, np.add(place, 1))) + f" {whole[tuple(place)]:.17g}\n"
             for place in np.argwhere(known)]
    polyad.write(name, f"# dims: {' '.join(map(str, DIMS))}\n" + "".join(lines))
    return whole, known


@pytest.mark.parametrize("algorithm", ["als", "ccd"])
def test_unknown_cells_are_predicted(polyad, algorithm):
    whole, known = write_model(polyad, "x.tns")
    found = polyad.json("cpd", "x.tns", "-r", "2", "--absent", "unknown", "--ridge", "1e-9", "--tol",
                        "1e-7", "--max-iters", "5000", "-a", algorithm, "-o", "x.ktensor")
    validate("cpd", found)
    assert found["fit_from"] == "observed" and found["fit"] > 0.9999
    assert found["absent"] == "unknown" and found["nnz"] == known.sum()
    rest = [" ".join(map(str, np.add(place, 1))) + f" {whole[tuple(place)]:.17g}\n"
            for place in np.argwhere(~known)]
    polyad.write("rest.tns", "".join(rest))
    score = polyad.json("predict", "x.ktensor", "rest.tns")
    validate("predict", score)
    assert score["count"] == (~known).sum() and score["rmse"] < 1e-3 and score["auc"] is None
    assert score["mae"] <= score["rmse"]


def test_zeros_are_observations(polyad):
    """With them a cell without a value is near 0; without, unknown, it is not."""
    write_model(polyad, "x.tns", change=lambda x: np.where(x > 0.4, 1.0, 0.0))
    kept = polyad.json("cpd", "x.tns", "-r", "2", "--absent", "unknown")
    dropped = polyad.json("cpd", "x.tns", "-r", "2", "--absent", "unknown", "--zeros", "drop")
    assert kept["nnz"] > dropped["nnz"] and dropped["fit"] > 0.9 > kept["fit"]


def test_weights_biases_and_validation(polyad):
    _, known = write_model(polyad, "x.tns")
    lines = [" ".join(map(str, np.add(place, 1))) + f" {k % 2}\n"
             for k, place in enumerate(np.argwhere(known))]
    polyad.write("w.tns", "".join(lines))
    polyad.ok("split", "x.tns", "--test", "0.2", "--seed", "5", "-o", "part")
    found = polyad.json("cpd", "x.tns", "-r", "2", "--absent", "unknown", "--weights", "w.tns",
                        "--biases", "--validation", "part-test.ptn", "--patience", "3")
    assert found["validation_rmse"] > 0 and found["best_iteration"] <= found["iterations"]
    assert min(row["validation_rmse"] for row in found["trace"]) == pytest.approx(
        found["validation_rmse"], rel=1e-9)
    polyad.write("few.tns", "1 1 1 1\n")
    polyad.fails(1, "cpd", "x.tns", "-r", "2", "--absent", "unknown", "--weights", "few.tns",
                 says="tensor and weights differ in their cells, first at")


def test_biases_are_the_last_components(polyad):
    write_model(polyad, "x.tns")
    polyad.ok("cpd", "x.tns", "-r", "2", "--absent", "unknown", "--biases", "-o", "x.ktensor")
    lines = polyad.path("x.ktensor").read_text().split("\n")
    assert lines[3].split()[0] == "5" or "5" in lines[3].split()


def test_options_of_completion_need_it(polyad):
    write_model(polyad, "x.tns")
    for words in (["--biases"], ["--validation", "0.1"], ["--patience", "3"], ["-a", "ccd"],
                  ["--weights", "x.tns"], ["--bias-ridge", "1"], ["--learn-rate", "1"]):
        polyad.fails(2, "cpd", "x.tns", "-r", "2", *words, says="add --absent unknown")
    polyad.fails(2, "cpd", "x.tns", "-r", "2", "--absent", "unknown", "-a", "apr-mu",
                 says="expected als, ccd or sgd")


def test_options_that_would_do_nothing_are_refused(polyad):
    write_model(polyad, "x.tns")
    command = ("cpd", "x.tns", "-r", "2", "--absent", "unknown")
    polyad.fails(2, *command, "--bias-ridge", "1", says="add --biases")
    polyad.fails(2, *command, "--patience", "3", says="add --validation")
    polyad.fails(2, *command, "--format", "csf", says="--format found with --absent unknown")
    polyad.fails(2, *command, "--tune", says="--tune found with --absent unknown")
    polyad.ok(*command, "--format", "coo")


@pytest.mark.parametrize("scale", [2.0 ** 600, 2.0 ** -600])
def test_errors_of_extreme_values(polyad, scale):
    """Squares of the errors would be infinite, or zero."""
    polyad.write("m.ktensor", f"ktensor\n2\n1 2\n1\n{scale!r}\nmatrix\n2\n1 1\n1\nmatrix\n2\n2 1\n1\n2\n")
    polyad.write("x.tns", f"1 1 {4 * scale!r}\n1 2 {6 * scale!r}\n")
    found = polyad.json("predict", "m.ktensor", "x.tns")
    assert found["rmse"] == math.sqrt((9 + 16) / 2) * scale and found["mae"] == 3.5 * scale


def test_parts_have_all_entries_and_labels(polyad):
    polyad.write("x.csv", "user,item,value\n" + "".join(
        f"u{u},i{i},{(u * i) % 4}\n" for u in range(12) for i in range(10) if (u + i) % 3))
    found = polyad.json("split", "x.csv", "--test", "0.25", "--validation", "0.1", "-o", "part",
                        "--type", "csv", "--seed", "9")
    validate("split", found)
    rows = []
    for part in found["parts"]:
        with open(polyad.path(part["file"])) as file:
            mine = list(csv.reader(file))[1:]
        assert len(mine) == part["nnz"]
        rows += [tuple(row) for row in mine]
    assert len(rows) == len(set(rows)) == found["nnz"] == 80
    assert {part["part"]: part["nnz"] for part in found["parts"]} == {
        "test": 20, "validation": 8, "train": 52}


def test_a_checkpoint_of_another_method_is_named_by_its_words(polyad):
    polyad.ok("cpd", "good.tns", "-r", "1", "--absent", "unknown", "--checkpoint", "state", "-i", "2")
    polyad.fails(1, "cpd", "good.tns", "-r", "1", "--resume", "state",
                 says="of a run with algorithm als of completion; expected als\n")
    polyad.fails(1, "cpd", "good.tns", "-r", "1", "--absent", "unknown", "-a", "sgd", "--resume", "state",
                 says="of a run with algorithm als of completion; expected sgd\n")


def test_names_of_parts(polyad):
    """A dot before the extension is not written twice; standard output cannot hold several files."""
    polyad.ok("split", "good.tns", "--test", "0.4", "-o", "part", "--type", ".tns")
    assert polyad.path("part-test.tns").exists() and polyad.path("part-train.tns").exists()
    polyad.fails(2, "split", "good.tns", "-o", "-", says="--output - found; expected the beginning")


def test_negatives_are_ranked_below(polyad):
    """The model knows which cells there are: every positive is above its negatives."""
    polyad.write("x.tns", "".join(f"{i} {j} 1\n" for i in range(1, 13) for j in range(1, 21)
                                  if (i <= 6) == (j <= 10)))
    polyad.write("all.ktensor", model_text())
    polyad.ok("split", "x.tns", "--test", "0.3", "--negatives", "4", "-o", "part")
    found = polyad.json("predict", "all.ktensor", "part-test.ptn", "-k", "1")
    assert found["positives"] == 36 and 0 < found["negatives"] <= 144
    assert found["auc"] == found["hit_rate"] == found["ndcg"] == 1 and found["rmse"] < 1e-12


def test_modes_of_negatives_have_names(polyad):
    polyad.write("x.csv", "user,film,value\n" + "".join(f"u{i},f{j},1\n" for i in range(6) for j in range(20)
                                                       if (i + j) % 3))
    for mode in ("film", "2"):
        polyad.ok("split", "x.csv", "--test", "0.2", "--negatives", "2", "--mode", mode, "-o", f"by-{mode}")
    assert polyad.path("by-film-test.ptn").read_bytes() == polyad.path("by-2-test.ptn").read_bytes()
    for wrong in ("actor", "0", "3"):
        polyad.fails(2, "split", "x.csv", "--negatives", "2", "-m", wrong, "-o", "by",
                     says="expected a mode by number (1 to 2) or name")
    polyad.ok("cpd", "x.csv", "-r", "2", "-o", "m.ptm")
    ranked = [polyad.json("predict", "m.ptm", "by-film-test.ptn", "--mode", mode) for mode in ("film", "user")]
    assert ranked[0]["groups"] != ranked[1]["groups"]
    polyad.fails(2, "predict", "m.ptm", "by-film-test.ptn", "-m", "week", says="--mode 'week' found")


def write_ratings(polyad, name, users, films):
    """Of rank one: user u gives film f the rating (u + 1)(f + 1)."""
    polyad.write(name, "user,film,value\n" + "".join(f"u{u},f{f},{(u + 1) * (f + 1)}\n"
                                                      for u in users for f in films))


def test_predictions_are_those_of_the_labels(polyad):
    """A table of its own numbers its labels anew: here each is one less than in the model."""
    write_ratings(polyad, "x.csv", range(6), range(5))
    write_ratings(polyad, "new.csv", range(1, 6), range(1, 5))
    for model in ("m.ptm", "m.ktensor"):
        polyad.ok("cpd", "x.csv", "-r", "1", "-o", model)
    found = polyad.json("predict", "m.ptm", "new.csv", "-o", "p.csv")
    validate("predict", found)
    assert found["rmse"] < 1e-10 and (found["count"], found["match"], found["skipped"]) == (20, "auto", 0)
    with open(polyad.path("p.csv")) as file:
        rows = {(row["user"], row["film"]): float(row["value"]) for row in csv.DictReader(file)}
    assert rows["u5", "f4"] == pytest.approx(30) and rows["u1", "f1"] == pytest.approx(4) and len(rows) == 20
    assert polyad.json("predict", "m.ktensor", "new.csv")["rmse"] < 1e-10
    shutil.rmtree(polyad.path("m.ktensor.labels"))
    polyad.fails(1, "predict", "m.ktensor", "new.csv", says=".ptm files keep a model's labels")
    assert polyad.json("predict", "m.ktensor", "new.csv", "--match", "number")["rmse"] > 1
    write_ratings(polyad, "more.csv", range(4, 8), range(5))
    polyad.fails(1, "predict", "m.ptm", "more.csv", says="'u6', 'u7'")
    skipping = polyad.json("predict", "m.ptm", "more.csv", "--unseen", "skip")
    assert (skipping["count"], skipping["skipped"]) == (10, 10) and skipping["rmse"] < 1e-10


def test_validation_cells_are_those_of_the_labels(polyad):
    write_ratings(polyad, "x.csv", range(6), range(5))
    write_ratings(polyad, "valid.csv", range(1, 6), range(1, 5))
    words = ("cpd", "x.csv", "-r", "1", "--absent", "unknown", "--ridge", "1e-6", "--validation")
    assert polyad.json(*words, "valid.csv")["validation_rmse"] < 1e-3
    write_ratings(polyad, "more.csv", range(4, 8), range(5))
    told = polyad.run(*words, "more.csv", "--json", "more.json")
    assert told.status == 0 and "10 cells of more.csv left out: their labels are not in x.csv" in told.err
    polyad.write("plain.tns", "".join(f"{u + 1} {f + 1} {(u + 1) * (f + 1)}\n" for u in range(6) for f in range(5)))
    assert polyad.json(*words, "plain.tns")["validation_rmse"] < 1e-3  # no labels: by number
    write_ratings(polyad, "others.csv", range(8, 10), range(5))
    polyad.fails(1, *words, "others.csv", says="validation")


def test_few_free_cells_are_told(polyad):
    """Of each row of four cells three are taken, so that six negatives become one."""
    polyad.write("x.tns", "".join(f"{i} {j} 1\n" for i in range(1, 11) for j in range(1, 4)) + "1 4 1\n")
    found = polyad.run("split", "x.tns", "--test", "0.3", "--negatives", "6", "-o", "part")
    count = int(re.search(r"polyad: (\d+) negatives of 54: ", found.err)[1])
    assert f"part-test.ptn: {9 + count} entries" in found.out.decode() and count < 54


def test_validation_by_a_number_is_a_share(polyad):
    polyad.write("x.tns", "1 1 1\n2 2 1\n")
    for wrong in ("2", "0", "1", "-0.1"):
        polyad.fails(2, "cpd", "x.tns", "-r", "1", "--absent", "unknown", f"--validation={wrong}",
                     says="expected a share between 0 and 1, or a file")


def model_text():
    """Two blocks of ones, as a ktensor file."""
    left = "".join(f"{int(i < 6)} {int(i >= 6)}\n" for i in range(12))
    right = "".join(f"{int(j < 10)} {int(j >= 10)}\n" for j in range(20))
    return f"ktensor\n2\n12 20\n2\n1 1\nmatrix\n2\n12 2\n{left}matrix\n2\n20 2\n{right}"


def test_ranking_by_hand(polyad):
    """One group: predictions 4, 3, 2, 1 of values 0, 2, 0, 1."""
    polyad.write("m.ktensor", "ktensor\n2\n1 4\n1\n1\nmatrix\n2\n1 1\n1\nmatrix\n2\n4 1\n4\n3\n2\n1\n")
    polyad.write("x.tns", "1 1 0\n1 2 2\n1 3 0\n1 4 1\n")
    found = polyad.json("predict", "m.ktensor", "x.tns", "-k", "2")
    assert found["auc"] == 0.25 and found["groups"] == 1 and found["hit_rate"] == 0.5
    assert found["ndcg"] == pytest.approx((2 / math.log2(3)) / (2 + 1 / math.log2(3)), rel=1e-12)
    assert found["rmse"] == math.sqrt((16 + 1 + 4 + 0) / 4) and found["mae"] == 7 / 4
    polyad.ok("predict", "m.ktensor", "x.tns", "-o", "p.tns")
    assert polyad.path("p.tns").read_text().split()[-1] == "1"


def test_better_than_biases_alone(polyad):
    """Flights: the components predict what the biases of date, carrier, origin, place cannot."""
    polyad.ok("split", FLIGHTS, "--validation", "0.1", "-o", "f")
    errors = {}
    for name, words in {"biases": ["-r", "1", "--ridge", "1e30"],
                        "model": ["-r", "4", "--ridge", "5"]}.items():
        polyad.ok("cpd", "f-train.ptn", "--absent", "unknown", "--biases", "--validation",
                  "f-validation.ptn", "--max-iters", "15", "-o", "f.ptm", *words)
        errors[name] = polyad.json("predict", "f.ptm", "f-test.ptn")["rmse"]
    assert errors["model"] < 0.6 * errors["biases"]


@pytest.mark.parametrize("algorithm", ["als", "ccd"])
def test_components_that_are_zero_get_new_chances(polyad, algorithm):
    """A nonnegative component that is zero in all modes stays so, unless it is given other columns:
    the same on any number of threads, and where the run is resumed."""
    write_model(polyad, "x.tns")
    factors = "".join(f"matrix\n2\n{length} 2\n" + "1 0\n" * length for length in DIMS)
    polyad.write("first.ktensor", f"ktensor\n3\n{' '.join(map(str, DIMS))}\n2\n1 1\n{factors}")
    run = ("cpd", "x.tns", "-r", "2", "--absent", "unknown", "--nonnegative", "--ridge", "1e-6", "--tol", "0",
           "-a", algorithm, "--init", "first.ktensor")
    whole = polyad.json(*run, "-i", "300", "--threads", "1", "-o", "a.ktensor")
    assert whole["fit"] > 0.99
    polyad.ok(*run, "-i", "2", "--threads", "2", "--checkpoint", "state")
    polyad.ok(*run, "-i", "300", "--threads", "2", "--resume", "state", "-o", "b.ktensor")
    assert polyad.path("a.ktensor").read_bytes() == polyad.path("b.ktensor").read_bytes()
