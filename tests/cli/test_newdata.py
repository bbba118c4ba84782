"""New data in a fitted model: project, update, anomalies."""

import decimal
import json
import re
import shutil

import numpy as np
import pytest
from conftest import validate

FEW = ("--device", "cpu", "--threads", "2")


def planted(polyad):
    """Pickups by day and place, a model of the first days, and rows for another one."""
    lines = ["day,place,hour,value\n"]
    for d, day in enumerate(("mon", "tue", "wed", "thu", "fri", "sat")):
        for p, place in enumerate("abcd"):
            for hour in range(3):
                value = (d + 1) * (p + 1) * (hour == 1) + (7 - d)**2 * (5 - p) * (hour != 1)
                lines.append(f"{day},{place},{hour},{value}\n")
    polyad.write("all.csv", "".join(lines))
    polyad.write("old.csv", "".join(line for line in lines if not line.startswith("sat")))
    polyad.write("new.csv", "".join([lines[0]] + [line for line in lines[:0:-1]
                                                  if line.startswith(("sat", "mon"))]))
    polyad.ok("cpd", "old.csv", "--rank", "2", "--nonnegative", "--tol", "1e-12", "--max-iters", "2000",
              "-o", "model.ptm", "--seed", "1", *FEW)


def test_project(polyad):
    planted(polyad)
    found = polyad.json("project", "model.ptm", "new.csv", "--mode", "day", "-o", "rows.ptm", *FEW)
    validate("project", found)
    assert found["model_kind"] == "nonnegative" and found["dims"] == [2, 4, 3]
    assert found["fit"] > 1 - 1e-6 and found["skipped"] == 0 and found["converged"]
    text = polyad.ok("project", "model.ptm", "new.csv", "--mode", "1", *FEW).out.decode()
    assert re.match(r"2 x 4 x 3, 24 nonzeros, nonnegative model of rank 2, new rows in mode 1 \(on cpu\): fit "
                    r"(1.000000|0.99999\d)\n", text)
    assert "sat" in text and "wed" not in text
    score = polyad.json("project", "model.ptm", "new.csv", "--mode", "day", "--rows", "unseen", *FEW)
    assert score["dims"] == [1, 4, 3] and score["skipped"] == 12


@pytest.mark.parametrize("scale", [2.0 ** 900, 2.0 ** -900])
def test_extreme_values_have_the_same_rows(polyad, scale):
    """Squares of the weights would be infinite, or zero."""
    polyad.ok("generate", "--dims", "9,8,7", "--nnz", "200", "--rank", "3", "--seed", "2", "x.tns")
    lines = [line.split() for line in polyad.path("x.tns").read_text().splitlines() if line[0] != "#"]
    polyad.write("far.tns", "".join(f"{' '.join(index)} {float(value) * scale!r}\n"
                                    for *index, value in lines))
    rows = []
    for name in ("x", "far"):
        polyad.ok("cpd", f"{name}.tns", "-r", "3", "--max-iters", "5", "--output", f"{name}.ktensor")
        polyad.ok("project", f"{name}.ktensor", f"{name}.tns", "--mode", "1", "-o", f"{name}-1.ktensor")
        words = polyad.path(f"{name}-1.ktensor").read_text().split()
        rows.append(words[words.index("matrix"):])
    assert rows[0] == rows[1] and any(float(word) != 0 for word in rows[0][4:])


def test_names_of_modes_are_asked_of_models_that_have_them(polyad):
    planted(polyad)
    polyad.fails(2, "project", "model.ptm", "new.csv", "--mode", "date", says="by number (1 to 3) or name")
    polyad.ok("cpd", "old.csv", "--rank", "2", "-i", "2", "-o", "model.ktensor", *FEW)
    shutil.rmtree(polyad.path("model.ktensor.labels"))
    polyad.fails(2, "project", "model.ktensor", "new.csv", "--mode", "day", says="those of a .ktensor")


def test_projected_model_is_written_with_labels(polyad):
    planted(polyad)
    polyad.ok("project", "model.ptm", "new.csv", "--mode", "day", "-o", "rows.json", *FEW)
    text = polyad.path("rows.json").read_text()
    assert '"sat"' in text and '"mon"' in text and '"tue"' not in text and '"d"' in text
    polyad.ok("project", "model.ptm", "new.csv", "--mode", "day", "-o", "rows/", *FEW)
    rows = np.loadtxt(polyad.path("rows/mode1.txt"))
    assert rows.shape == (2, 2)


def test_fixed_entries(polyad):
    planted(polyad)
    polyad.ok("project", "model.ptm", "new.csv", "--mode", "day", "--fix", "day:1=0,1:2:sat=0.25",
              "-o", "rows/", *FEW)
    rows = np.loadtxt(polyad.path("rows/mode1.txt"))
    assert np.all(rows[:, 0] == 0) and (rows[:, 1] == 0.25).sum() == 1
    for wrong in ("day:9", "place:1=0:", "x:1=2", "day:1:sun=1", "day:0=1", "day:1=a", ""):
        polyad.fails(2, "project", "model.ptm", "new.csv", "--mode", "day", "--fix", wrong,
                     says="--fix")
    polyad.fails(1, "project", "model.ptm", "new.csv", "--mode", "day", "--fix", "place:1=0",
                 says="expected one of the projected modes")
    polyad.fails(1, "project", "model.ptm", "new.csv", "--mode", "day", "--fix", "day:9=1",
                 says="error: an entry is fixed in component 9; the model has 2\n")
    polyad.fails(1, "project", "model.ptm", "new.csv", "--mode", "day", "--fix", "day:1=-1",
                 says="at least 0")


def test_two_modes(polyad):
    planted(polyad)
    found = polyad.json("project", "model.ptm", "new.csv", "--mode", "day,3", "--seed", "3", *FEW)
    assert found["modes"] == [1, 3] and found["converged"] and found["fit"] > 1 - 1e-6
    stopped = polyad.run("project", "model.ptm", "new.csv", "--mode", "1,3", "-i", "1", "--json", "-",
                         *FEW)
    assert "not converged after 1 round" in stopped.err and not json.loads(stopped.out)["converged"]


def test_counts(polyad):
    planted(polyad)
    found = polyad.json("project", "model.ptm", "new.csv", "--mode", "day", "--model-kind", "poisson",
                        *FEW)
    assert found["model_kind"] == "poisson" and found["converged"]


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_precisions(polyad, precision):
    planted(polyad)
    found = polyad.json("project", "model.ptm", "new.csv", "--mode", "day", "--precision", precision,
                        "-o", "rows.ptm", *FEW)
    assert found["fit"] > 1 - 1e-5


def test_unseen_labels(polyad):
    planted(polyad)
    polyad.write("more.csv", "day,place,hour,value\nsun,a,1,3\nsun,z,1,4\n")
    polyad.fails(1, "project", "model.ptm", "more.csv", "--mode", "day",
                 says="mode 2 (place) has indices that the model lacks: 'z'")
    found = polyad.json("project", "model.ptm", "more.csv", "--mode", "day", "--unseen", "skip", *FEW)
    assert found["skipped"] == 1 and found["nnz"] == 1
    polyad.write("plain.tns", "1 1 2 5\n")
    polyad.fails(1, "project", "model.ptm", "plain.tns", "--mode", "day",
                 says="mode 2 has labels in the model only; expected labels in both or in neither, or indices "
                      "to be matched by number (match: number)")
    polyad.ok("cpd", "new.csv", "-r", "1", "-o", "model.ktensor")
    shutil.rmtree(polyad.path("model.ktensor.labels"))
    polyad.fails(1, "project", "model.ktensor", "new.csv", "--mode", "1",
                 says="mode 2 has labels in the tensor only (.ptm files keep a model's labels")
    found = polyad.json("project", "model.ptm", "plain.tns", "--mode", "day", "--match", "number",
                        *FEW)
    assert found["match"] == "number" and found["dims"] == [1, 4, 3]
    polyad.write("plain.tns", "1 5 2 5\n")
    polyad.fails(1, "project", "model.ptm", "plain.tns", "--mode", "day", "--match", "number",
                 says="mode 2 has indices that the model lacks: 5;")


def test_wrong_usage(polyad):
    planted(polyad)
    polyad.fails(2, "project", "model.ptm", "new.csv", says="--mode")
    polyad.fails(2, "project", "model.ptm", "--mode", "1")
    for mode in ("0", "4", "x", "1,1", "", "day,1"):
        polyad.fails(2, "project", "model.ptm", "new.csv", "--mode", mode, says="--mode")
    polyad.fails(1, "project", "model.ptm", "new.csv", "--mode", "1,2,3", says="expected 1 to 2")
    polyad.write("line.tns", "1 3\n2 4\n")
    polyad.ok("cpd", "line.tns", "-r", "1", "-o", "line.ptm")
    polyad.fails(1, "project", "line.ptm", "line.tns", "--mode", "1", says="a model of one mode found; expected one of at least 2")
    polyad.fails(1, "project", "model.ptm", "new.csv", "--mode", "1", "-o", "model.ptm",
                 says="is the input")
    polyad.fails(1, "project", "absent.ptm", "new.csv", "--mode", "1", says="absent.ptm")


# ---- update --------------------------------------------------------------------------------------

def test_update(polyad):
    """The day that the model lacks is appended, and all data are described then."""
    planted(polyad)
    polyad.write("sat.csv", "".join(line for line in polyad.path("all.csv").read_text().splitlines(True)
                                    if line.startswith(("day", "sat"))))
    found = polyad.run("update", "model.ptm", "sat.csv", "--mode", "day", "-o", "model.ptm", "--json",
                       "-", *FEW)
    assert found.status == 0 and "taken from the model itself" in found.err
    validate("update", found.json)
    assert found.json["dims"] == [6, 4, 3] and found.json["appended"] == 1
    assert found.json["fit"] > 1 - 1e-6 and not found.json["resumed"]
    assert found.json["state"] == "model.ptm.state.ptm"
    rows = polyad.json("project", "model.ptm", "all.csv", "--mode", "day", *FEW)
    assert rows["fit"] > 1 - 1e-6
    again = polyad.json("update", "model.ptm", "new.csv", "--mode", "1", "--forget", "0.9", "--rounds",
                        "2", "-o", "two.json", *FEW)
    assert again["resumed"] and again["changed"] == 2 and again["appended"] == 0
    assert again["fit"] is None and '"sat"' in polyad.path("two.json").read_text()
    text = polyad.ok("update", "model.ptm", "sat.csv", "--mode", "1", "-o", "three/", "-q",
                     *FEW).out.decode()
    assert text.startswith("6 x 4 x 3, nonnegative model of rank 2: 12 nonzeros, 0 slices of mode 1 "
                           "appended, 1 changed (on cpu)\n")
    assert polyad.path("three/mode1.txt").exists() and polyad.path("three.state.ptm").exists()


def test_update_goes_on_with_its_own_sums_only(polyad):
    planted(polyad)
    polyad.ok("update", "model.ptm", "new.csv", "--mode", "1", "-o", "next.ptm", *FEW)
    polyad.path("model.ptm.state.ptm").write_bytes(polyad.path("next.ptm.state.ptm").read_bytes())
    found = polyad.run("update", "model.ptm", "new.csv", "--mode", "1", "-o", "other.ptm", *FEW)
    assert found.status == 0 and "expected the sums that belong to the model" in found.err
    assert "taken from the model itself" in found.err
    damaged = bytearray(polyad.path("next.ptm.state.ptm").read_bytes())
    damaged[1100] ^= 1
    polyad.path("next.ptm.state.ptm").write_bytes(damaged)
    polyad.fails(1, "update", "next.ptm", "new.csv", "--mode", "1", "-o", "other.ptm",
                 says="next.ptm.state.ptm")


def test_update_without_labels(polyad):
    """All slices are new, and must fit the other modes."""
    polyad.write("old.tns", "1 1 1 2\n1 2 2 1\n2 1 2 3\n2 2 1 4\n")
    polyad.ok("cpd", "old.tns", "--rank", "2", "-o", "model.ktensor", *FEW)
    polyad.write("new.tns", "1 1 1 2\n3 2 2 1\n")
    found = polyad.json("update", "model.ktensor", "new.tns", "--mode", "1", "-o", "next.ktensor", *FEW)
    assert found["dims"] == [5, 2, 2] and found["appended"] == 3
    polyad.write("new.tns", "1 1 3 2\n")
    polyad.fails(1, "update", "model.ktensor", "new.tns", "--mode", "1", "-o", "x.ktensor",
                 says="mode 3 has indices that the model lacks: 3")


@pytest.mark.parametrize("kind", ["signed", "poisson"])
def test_sums_of_an_update_that_would_vanish_are_an_error(polyad, kind):
    """Squares of the weights are no numbers any more: the factors would be rounding, or zero."""
    ones = "matrix\n2\n2 1\n1\n1\n"
    for exponent, status in ((-400, 0), (-535, 1), (-700, 1)):
        scale = 2.0 ** exponent
        polyad.write("far.ktensor", f"ktensor\n3\n2 2 2\n1\n{scale!r}\n{ones * 3}")
        polyad.write("far.tns", f"1 1 1 {2 * scale!r}\n1 2 2 {scale!r}\n1 2 1 {scale!r}\n")
        command = ("update", "far.ktensor", "far.tns", "--mode", "1", "--model-kind", kind, "-o", "next.ktensor")
        if status == 0:
            assert polyad.json(*command)["fit"] > 0
        else:
            polyad.fails(1, *command, says="underflow; scale the tensor's values")


def test_wrong_usage_of_update(polyad):
    planted(polyad)
    command = ("update", "model.ptm", "new.csv")
    polyad.fails(2, *command, "-o", "x.ptm", says="--mode")
    polyad.fails(2, *command, "--mode", "1", says="--output")
    polyad.fails(2, *command, "--mode", "1,2", "-o", "x.ptm", says="one that grows")
    for forget in ("0", "1.5", "x"):
        polyad.fails(2, *command, "--mode", "1", "-o", "x.ptm", "--forget", forget, says="--forget")
    polyad.fails(1, *command, "--mode", "1", "-o", "new.csv", says="is the input")
    polyad.fails(1, *command, "--mode", "1", "-o", "x.ptm", "--json", "model.ptm", says="is the input")


# ---- anomalies -----------------------------------------------------------------------------------

def rides(polyad):
    """Counts of a model of one component, with a cell and a day that are odd."""
    random = np.random.default_rng(0)
    rate = 4 * np.outer(random.uniform(0.5, 2, 30), random.uniform(0.5, 2, 20))
    counts = random.poisson(rate)
    lines = [f"{d + 1} {p + 1} {counts[d, p]}\n" for d, p in np.ndindex(30, 20) if counts[d, p]]
    polyad.write("known.tns", "".join(lines))
    polyad.ok("cpd", "known.tns", "--dims", "30,20", "--rank", "1", "--nonnegative", "-o",
              "model.ktensor", *FEW)
    counts[3, 4], counts[9] = 90, 0
    polyad.write("new.tns", "".join(f"{d + 1} {p + 1} {counts[d, p]}\n"
                                    for d, p in np.ndindex(30, 20) if counts[d, p]))
    return counts


def test_what_is_computed_on_the_cpu_refuses_other_devices(polyad):
    planted(polyad)
    for command, *words in (("core-consistency", "model.ptm", "new.csv"),
                            ("split", "new.csv", "-o", "parts")):
        polyad.fails(2, command, *words, *FEW, "--device", "cuda",
                     says="--device 'cuda' found; this is computed on the CPU: expected cpu or auto")


def test_what_one_gpu_computes_refuses_several_devices(polyad):
    planted(polyad)
    for device in ("cuda:all", "cuda:0-1", "cuda,cpu", "opencl", "cuda:"):
        for command, *words in (("update", "model.ptm", "new.csv", "--mode", "day", "-o", "x.ptm"),
                                ("anomalies", "model.ptm", "new.csv"),
                                ("predict", "model.ptm", "new.csv")):
            polyad.fails(2, command, *words, *FEW, "--device", device,
                         says=f"--device '{device}' found; this is computed on the CPU or on one GPU")


def test_anomalies(polyad):
    counts = rides(polyad)
    found = polyad.json("anomalies", "model.ktensor", "new.tns", *FEW)
    validate("anomalies", found)
    assert found["model_kind"] == "poisson" and found["tested"] == 600 and found["found"] == 1
    row = found["rows"][0]
    assert row["index"] == [4, 5] and row["value"] == 90 and row["labels"] == [None, None]
    assert row["q"] == min(1, row["p"] * 600)
    text = polyad.ok("anomalies", "model.ktensor", "new.tns", *FEW).out.decode()
    assert text.startswith("1 of 600 cells found at a false-discovery rate of 0.05 (poisson model)")
    assert re.search(r"^ +90 .*  4  5$", text, re.M)
    stored = polyad.json("anomalies", "model.ktensor", "new.tns", "--cells", "file", "--top", "3", *FEW)
    assert stored["tested"] == np.count_nonzero(counts) and len(stored["rows"]) == 3
    lower = polyad.json("anomalies", "model.ktensor", "new.tns", "--tail", "lower", *FEW)
    assert lower["found"] == 0


def test_slices_and_indices(polyad):
    rides(polyad)
    slices = polyad.json("anomalies", "model.ktensor", "new.tns", "--by", "slice", "--mode", "1", *FEW)
    places = {tuple(row["index"]) for row in slices["rows"]}
    assert slices["tested"] == 30 and {(4,), (10,)} <= places and len(places) <= 4
    assert all(row["modes"] == [1] for row in slices["rows"])
    indices = polyad.json("anomalies", "model.ktensor", "new.tns", "--by", "index", *FEW)
    assert indices["tested"] == 50
    assert {(tuple(row["modes"]), tuple(row["index"])) for row in indices["rows"]} >= {
        ((1,), (4,)), ((2,), (5,))}
    assert indices["rows"][0]["p_upper"] is None


def test_gaussian(polyad):
    rides(polyad)
    found = polyad.json("anomalies", "model.ktensor", "new.tns", "--model-kind", "gaussian", *FEW)
    assert found["cells"] is None and found["scale"] > 0
    assert found["rows"][0]["index"] == [4, 5]
    found = polyad.json("anomalies", "model.ktensor", "new.tns", "--model-kind", "gaussian", "--by",
                        "index", "--top", "1", "--precision", "f32", *FEW)
    assert found["rows"][0]["index"] == [4]


def test_indices_whose_probabilities_are_all_zero_are_ordered_by_score(polyad):
    """Of two cells of an index with p = 0, too, the odder one counts."""
    polyad.write("m.ktensor", "ktensor\n2\n3 2\n1\n1\nmatrix\n2\n3 1\n1\n1\n1\nmatrix\n2\n2 1\n1\n1\n")
    polyad.write("x.tns", "1 1 5000\n1 2 900\n2 1 3\n3 1 800\n3 2 7000\n")
    cells = polyad.json("anomalies", "m.ktensor", "x.tns", "--top", "9", *FEW)["rows"]
    found = polyad.json("anomalies", "m.ktensor", "x.tns", "--by", "index", "--mode", "1", "--top", "9",
                        *FEW)["rows"]
    assert [row["index"] for row in found] == [[3], [1], [2]]
    assert [row["p"] for row in found[:2]] == [0, 0]
    for row in found:
        assert row["score"] == max(cell["score"] for cell in cells if cell["index"][0] == row["index"][0])


@pytest.mark.parametrize("scale, size, absent", [
    (1, 1e-3, False), (1, 1e-10, False), (1, 1e-10, True), (2.0 ** 600, 1e-3, True), (2.0 ** -600, 1e-3, False)])
def test_mean_squares_of_indices(polyad, scale, size, absent):
    """Of models that are close x^2 - 2 x m + m^2 cancels, and squares of large or small values are
    no numbers."""
    rng = np.random.default_rng(3)
    dims = (9, 7, 6)
    factors = [rng.integers(1, 9, (length, 2)) / 8 for length in dims]
    if absent:
        factors[1][3] = 0  # cells that the model knows to be 0
    values = np.einsum("ir,jr,kr->ijk", *factors) * (1 + size * rng.standard_normal(dims))
    values[4] *= 1 + size
    lines = [" ".join(str(i + 1) for i in cell) + f" {float(values[tuple(cell)]) * scale!r}\n"
             for cell in np.argwhere(values)]
    polyad.write("x.tns", "# dims: 9 7 6\n" + "".join(lines))
    rows = "".join(f"matrix\n2\n{len(f)} 2\n" + "".join(f"{a!r} {b!r}\n" for a, b in f.tolist()) for f in factors)
    polyad.write("m.ktensor", f"ktensor\n3\n9 7 6\n2\n{scale!r} {scale!r}\n{rows}")
    found = polyad.json("anomalies", "m.ktensor", "x.tns", "--by", "index", "--mode", "1", "--top", "9",
                        "--model-kind", "gaussian", *FEW)
    residual = values - np.einsum("ir,jr,kr->ijk", *factors)
    expected = np.sqrt((residual ** 2).mean(axis=(1, 2)))
    got = {row["index"][0] - 1: row["value"] / scale for row in found["rows"]}
    # a residual is the difference of two numbers of at most 2, of some 30 roundings each
    assert [got[i] for i in range(9)] == pytest.approx(expected, abs=60 * 2.0 ** -52, rel=1e-12)
    assert found["rows"][0]["expected"] / scale == pytest.approx(np.sqrt(np.median(expected ** 2)), rel=1e-4)


def test_table_with_labels(polyad):
    lines = ['day,place,value\n', '"mon, early",a,1\n', '"mon, early",b,1\n', 'tue,a,1\n', 'tue,b,1\n']
    polyad.write("old.csv", "".join(lines))
    polyad.ok("cpd", "old.csv", "--rank", "1", "--nonnegative", "-o", "model.ptm", *FEW)
    polyad.write("new.csv", "day,place,value\n\"mon, early\",b,60\ntue,a,1\n")
    text = polyad.ok("anomalies", "model.ptm", "new.csv", "-o", "-", *FEW).out.decode()
    head, row = text.splitlines()
    assert head == "day,place,value,expected,score,p_upper,p_lower,p,q"
    assert row.startswith('"mon, early",b,60,')
    polyad.ok("anomalies", "model.ptm", "new.csv", "--by", "slice", "-m", "place", "-o", "t.csv", *FEW)
    assert polyad.path("t.csv").read_text().splitlines()[1].startswith("place,b,60,2")


def test_wrong_usage_of_anomalies(polyad):
    rides(polyad)
    command = ("anomalies", "model.ktensor", "new.tns")
    polyad.fails(2, *command, "--mode", "1", says="--by slice")
    polyad.fails(2, *command, "--fdr", "1", says="--fdr")
    polyad.fails(2, *command, "--by", "slice", "--mode", "3", says="--mode")
    polyad.fails(1, *command, "-o", "new.tns", says="is the input")
    polyad.write("halves.tns", "1 1 0.5\n")
    polyad.fails(1, "anomalies", "model.ktensor", "halves.tns", "--model-kind", "poisson",
                 says="nonzero 1 is 0.5; expected a count")
    polyad.write("long.tns", "31 1 1\n")
    polyad.fails(1, "anomalies", "model.ktensor", "long.tns",
                 says="mode 1 has indices that the model lacks: 31")


# ---- two inputs whose labels are in different orders ---------------------------------------------

def turned(polyad, name="turned", table="old.csv"):
    """The table in which every label has another number: NAME.tns with its labels, and
    NAME-plain.tns without any."""
    polyad.ok("convert", table, "straight.tns")
    lines = [line.split() for line in polyad.path("straight.tns").read_text().splitlines() if line[0] != "#"]
    dims = [max(int(line[n]) for line in lines) for n in range(3)]
    text = "".join(" ".join([*(str(dims[n] + 1 - int(line[n])) for n in range(3)), line[3]]) + "\n"
                   for line in lines)
    polyad.write(f"{name}.tns", text)
    polyad.write(f"{name}-plain.tns", text)
    polyad.path(f"{name}.labels").mkdir()
    for file in polyad.path("straight.labels").iterdir():
        labels = file.read_text().splitlines()
        polyad.write(f"{name}.labels/{file.name}", "\n".join(labels[::-1]) + "\n")


def test_core_consistency_matches_labels(polyad):
    planted(polyad)
    turned(polyad)
    words = ("core-consistency", "model.ptm")
    right = polyad.json(*words, "old.csv")["core_consistency"]
    assert polyad.json(*words, "turned.tns")["core_consistency"] == pytest.approx(right, abs=1e-6)
    polyad.fails(1, *words, "all.csv", says="'sat'")
    assert abs(polyad.json(*words, "turned-plain.tns")["core_consistency"] - right) > 1  # by number


@pytest.mark.parametrize("command", [("cpd", "-r", "2"), ("tucker", "-r", "2,2,2")])
def test_report_matches_labels(polyad, command):
    planted(polyad)
    turned(polyad)
    polyad.ok(*command, "old.csv", "-o", "m.ptm", *FEW)
    right = polyad.json("report", "m.ptm", "old.csv", "-o", "p.html")["explained"]
    assert polyad.json("report", "m.ptm", "turned.tns", "-o", "q.html")["explained"] == pytest.approx(right, abs=1e-9)
    polyad.fails(1, "report", "m.ptm", "all.csv", "-o", "p.html", says="'sat'")


def test_score_matches_labels(polyad):
    planted(polyad)
    turned(polyad)
    words = ("--rank", "2", "--nonnegative", "--tol", "1e-12", "--max-iters", "2000", *FEW)
    polyad.ok("cpd", "turned.tns", *words, "-o", "turned.ptm", "--seed", "2")
    assert polyad.json("score", "model.ptm", "turned.ptm")["score"] > 0.999
    polyad.ok("cpd", "turned.tns", *words, "-o", "turned.npz", "--seed", "2")
    assert polyad.json("score", "model.ptm", "turned.npz", "turned.ptm")["mean_score"] > 0.999
    polyad.write("renamed.csv", polyad.path("old.csv").read_text().replace("mon", "moon"))
    polyad.ok("cpd", "renamed.csv", *words, "-o", "renamed.ptm")
    polyad.fails(1, "score", "model.ptm", "renamed.ptm", says="label 'mon' that the model lacks")


@pytest.mark.parametrize("command", [("cpd", "-r", "2"), ("tucker", "-r", "2,2,2")])
def test_first_factors_match_labels(polyad, command):
    """They give the same model of data whose labels stand in another order."""
    planted(polyad)
    turned(polyad)
    polyad.ok(*command, "--max-iters", "3", "old.csv", "-o", "m.ptm", *FEW)
    words = (*command, "--tol", "0", "--max-iters", "0" if command[0] == "cpd" else "1", "--init", "m.ptm", *FEW)
    fits = [polyad.json(*words, file)["fit"] for file in ("old.csv", "turned.tns", "turned-plain.tns")]
    assert fits[1] == pytest.approx(fits[0], abs=1e-12)
    if command[0] == "cpd":  # HOOI forgets its first factors sooner
        assert abs(fits[2] - fits[0]) > 1e-5


def test_weights_match_labels(polyad):
    planted(polyad)
    header, *rows = polyad.path("old.csv").read_text().splitlines()
    weights = [",".join([*row.split(",")[:3], str(1 + k % 5)]) for k, row in enumerate(rows)]
    polyad.write("w.csv", "\n".join([header, *weights]) + "\n")
    turned(polyad, "v", "w.csv")
    words = ("cpd", "old.csv", "-r", "1", "--absent", "unknown", *FEW, "--weights")
    right = polyad.json(*words, "w.csv")
    assert polyad.json(*words, "v.tns")["fit"] == pytest.approx(right["fit"], abs=1e-12)


# ---- labels beside a model's text ----------------------------------------------------------------

def test_text_of_a_model_has_its_labels_beside_it(polyad):
    planted(polyad)
    words = ("cpd", "old.csv", "--rank", "2", "-i", "5", *FEW, "-o")
    polyad.ok(*words, "m.ktensor")
    polyad.ok(*words, "same.ptm")
    assert sorted(path.name for path in polyad.path("m.ktensor.labels").iterdir()) == [
        "mode-1-day.map", "mode-2-place.map", "mode-3-hour.map"]
    assert polyad.path("m.ktensor.labels/mode-1-day.map").read_text() == "fri\nmon\nthu\ntue\nwed\n"
    for name, *words in (("project", "new.csv", "--mode", "day"), ("predict", "old.csv")):
        found = [polyad.json(name, model, *words, *FEW) for model in ("m.ktensor", "same.ptm")]
        assert found[0]["skipped"] == found[1]["skipped"]
        assert all(found[0].get(key) == found[1].get(key) for key in ("fit", "rmse"))
    polyad.ok("update", "m.ktensor", "new.csv", "--mode", "day", "-o", "m.ktensor", *FEW)
    assert polyad.path("m.ktensor.labels/mode-1-day.map").read_text().split()[-1] == "sat"
    polyad.ok("tucker", "old.csv", "-r", "2,2,2", "-o", "t.ttensor", *FEW)
    assert polyad.path("t.ttensor.labels/mode-2-place.map").read_text() == "a\nb\nc\nd\n"
    # A model without labels takes those of an earlier one away, and no other file.
    polyad.write("m.ktensor.labels/mine.txt", "x")
    polyad.write("plain.tns", "1 1 1 2\n2 2 2 3\n")
    for name in ("m.ktensor", "t.ktensor"):
        polyad.ok("cpd", "plain.tns", "-r", "1", "-o", name)
    assert [path.name for path in polyad.path("m.ktensor.labels").iterdir()] == ["mine.txt"]
    assert not polyad.path("t.ktensor.labels").exists()
    polyad.write("broken.csv", 'day,place,value\n"a\nb",x,1\nc,y,2\n')
    told = polyad.ok("cpd", "broken.csv", "-r", "1", "-o", "b.ktensor").err
    assert told.count("b.ktensor is written without labels: ") == 1 and "line break" in told
    assert polyad.path("b.ktensor").exists() and not polyad.path("b.ktensor.labels").exists()
    polyad.ok("cpd", "old.csv", "--rank", "2", "-i", "5", *FEW, "-o", "m.ktensor")
    polyad.write("m.ktensor.labels/mode-2-place.map", "a\n")
    polyad.fails(1, "project", "m.ktensor", "new.csv", "--mode", "day", says="1 labels found; expected 4")


def exact_tails(count, rate):
    """P(X >= count) and P(X <= count) of a Poisson variable, with 40 digits: Stirling's formula, and all
    terms of the tail that is away from the mean."""
    decimal.getcontext().prec = 40
    k, mean = decimal.Decimal(count), decimal.Decimal(rate)
    two_pi = decimal.Decimal("6.283185307179586476925286766559005768394")
    factorial = k * k.ln() - k + (two_pi * k).ln() / 2 + 1 / (12 * k) - 1 / (360 * k ** 3)
    here = (k * mean.ln() - mean - factorial).exp()
    total = term = here
    step = 0
    while term > total * decimal.Decimal("1e-20"):
        term *= mean / (k + step + 1) if count > rate else (k - step) / mean
        total += term
        step += 1
    return (total, 1 - total + here) if count > rate else (1 - total + here, total)


def test_tails_of_large_counts(polyad):
    """From a million on they come from an expansion: the sum of a tail had a term for each count in ten
    standard deviations, and no end where a count and the next are the same double."""
    rates = [2e6, 2e6, 2e6, 2e6, 5e8, 5e8]
    counts = [2001000, 1995000, 2040000, 1952000, 500100000, 499800000]
    factor = "".join(f"{rate!r}\n" for rate in [*rates, 1e300, 1e25])
    polyad.write("m.ktensor", f"ktensor\n2\n8 1\n1\n1\nmatrix\n2\n8 1\n{factor}matrix\n2\n1 1\n1\n")
    polyad.write("x.tns", "".join(f"{i + 1} 1 {count!r}\n" for i, count in
                                  enumerate([*counts, 1.0000000001e300, 1.0000000000001e25])))
    found = polyad.json("anomalies", "m.ktensor", "x.tns", "--top", "8", timeout=20)
    rows = {row["index"][0]: row for row in found["rows"]}
    for i, (count, rate) in enumerate(zip(counts, rates)):
        upper, lower = exact_tails(count, rate)
        row = rows[i + 1]
        assert row["p_upper"] == pytest.approx(float(upper), rel=3e-12)
        assert row["p_lower"] == pytest.approx(float(lower), rel=3e-12)
    assert rows[7]["p_upper"] == 0 and rows[8]["p_upper"] == pytest.approx(0.376, abs=0.02)
