"""What each subcommand gives when all is well."""

import json
import math
import os
import re

import numpy as np
import pytest
from conftest import GOOD, ROOT, read_tns, validate
from model_files import read_model

FLIGHTS = ROOT / "data/nycflights13.tns.gz"
UBER = ROOT / "data/uber-apr-may.tns.gz"
AMINO = ROOT / "data/aminoacids.tns.gz"


# ---- cpd

def test_cpd_shows_components_by_label(polyad):
    text = polyad.ok("cpd", FLIGHTS, "-r", "3", "--seed", "1").out.decode()
    lines = text.splitlines()
    assert "365 x 16 x 3 x 105" in text and "fit 0." in text
    assert [line.split()[1] for line in lines if line.startswith("component")] == ["1", "2", "3"]
    for mode, label in (("carrier", "UA"), ("origin", "EWR"), ("date", "2013-"),
                        ("destination", "LAX")):
        rows = [line for line in lines if line.strip().startswith(mode)]
        assert len(rows) == 3 and any(label in row for row in rows)


def test_cpd_without_labels_shows_indices(polyad):
    text = polyad.ok("cpd", "good.tns", "-r", "1", "--top", "1").out.decode()
    assert re.search(r"^  mode 3 +2 ", text, re.M)


def test_cpd_top_zero_shows_no_components(polyad):
    assert b"component" not in polyad.ok("cpd", "good.tns", "-r", "2", "--top", "0").out


def test_cpd_quiet_talks_of_nothing(polyad):
    result = polyad.ok("cpd", FLIGHTS, "-r", "2", "--quiet", "-o", "m.ktensor")
    assert b"component 1" in result.out and result.err == ""


def test_cpd_verbose_explains_the_plan(polyad):
    result = polyad.ok("cpd", FLIGHTS, "-r", "2", "--verbose")
    assert "csf" in result.err and "coo" in result.err


def test_cpd_json(polyad):
    result = polyad.json("cpd", FLIGHTS, "-r", "4", "--seed", "3", "--threads", "2")
    assert result["nnz"] == 103075 and result["dims"] == [365, 16, 3, 105]
    assert result["rank"] == 4 and result["seed"] == 3 and result["threads"] == 2
    assert result["converged"] and result["reason"] == "tolerance"
    trace = result["trace"]
    assert [row["iteration"] for row in trace] == list(range(1, result["iterations"] + 1))
    assert trace[-1]["fit"] == pytest.approx(result["fit"], abs=1e-12)
    assert abs(trace[-1]["fit"] - trace[-2]["fit"]) < 1e-4
    assert all(a["seconds"] <= b["seconds"] for a, b in zip(trace, trace[1:]))
    assert len(result["seconds_mttkrp"]) == 4 and result["log_likelihood"] is None


def drift(polyad, model, tensor, iterations):
    """What rounding may change the fit of such a run by."""
    about = polyad.json("info", tensor)
    return read_model(polyad.path(model), "f64").drift(about["norm"], about["nnz"], iterations)


@pytest.mark.parametrize("devices", ["cpu,cpu", "cpu,opencl"])
def test_cpd_on_two_devices(polyad, devices):
    """The second has 40% of the nonzeros; what both find is what one does."""
    alone = ("bench", "stream", "--device", devices.split(",")[1], "--elements", "1000")
    if polyad.run(*alone, "--repeat", "1").status != 0:
        pytest.skip("there is no OpenCL device")
    run = ("cpd", FLIGHTS, "-r", "3", "--tol", "0", "--max-iters", "5", "-o", "m.ktensor")
    one = polyad.json(*run, "--device", "cpu")
    apart = drift(polyad, "m.ktensor", FLIGHTS, 5)
    two = polyad.json(*run, "--device", devices, "--second-share", "0.4")
    assert two["device"].split(",")[0] == "cpu"
    parts = [member["nnz"] for member in two["team"]["members"]]
    assert len(parts) == 2 and 0.35 <= parts[1] / sum(parts) <= 0.45
    assert abs(two["fit"] - one["fit"]) <= apart + one["fit_bound"] + two["fit_bound"]


def test_cpd_is_reproducible(polyad):
    for name in ("a", "b"):
        polyad.ok("cpd", FLIGHTS, "-r", "3", "--threads", "2", "--output", f"{name}.ktensor")
    assert polyad.path("a.ktensor").read_bytes() == polyad.path("b.ktensor").read_bytes()


@pytest.mark.parametrize("name", ["coo", "csf", "modecopy", "flycoo"])
def test_cpd_in_every_format_finds_the_same(polyad, name):
    run = ("cpd", FLIGHTS, "-r", "3", "--tol", "0", "--max-iters", "5", "-o", "m.ktensor")
    auto = polyad.json(*run, "--format", "auto")
    result = polyad.json(*run, "--format", name)
    assert result["format"] == name
    apart = drift(polyad, "m.ktensor", FLIGHTS, 5)
    assert abs(result["fit"] - auto["fit"]) <= apart + result["fit_bound"] + auto["fit_bound"]


def test_cpd_precision(polyad):
    single = polyad.json("cpd", AMINO, "-r", "3", "--precision", "f32")
    double = polyad.json("cpd", AMINO, "-r", "3", "--precision", "f64")
    assert single["precision"] == "f32" and single["bytes_format"] < double["bytes_format"]
    assert single["fit"] == pytest.approx(double["fit"], abs=1e-3)


def test_cpd_fit_is_that_of_the_written_model(polyad):
    """1 - ||X - M|| / ||X||, computed here from the files."""
    polyad.write("x.tns", "".join(f"{i} {j} {k} {(i * 7 + j * 3 + k) % 5 + 1}\n"
                                  for i in range(1, 5) for j in range(1, 4) for k in range(1, 3)))
    result = polyad.json("cpd", "x.tns", "-r", "2", "--output", "m.ktensor")
    words = polyad.path("m.ktensor").read_text().split()
    order = int(words[1])
    dims = [int(w) for w in words[2:2 + order]]
    rank = int(words[2 + order])
    weights = [float(w) for w in words[3 + order:3 + order + rank]]
    at, factors = 3 + order + rank, []
    for length in dims:
        assert words[at:at + 2] == ["matrix", "2"]
        values = [float(w) for w in words[at + 4:at + 4 + length * rank]]
        factors.append([values[i * rank:(i + 1) * rank] for i in range(length)])
        at += 4 + length * rank
    x = read_tns(polyad.path("x.tns"))
    difference = square = 0.0
    for i in range(dims[0]):
        for j in range(dims[1]):
            for k in range(dims[2]):
                model = sum(weights[r] * factors[0][i][r] * factors[1][j][r] * factors[2][k][r]
                            for r in range(rank))
                value = x.get((i + 1, j + 1, k + 1), 0.0)
                difference += (value - model) ** 2
                square += value ** 2
    # Doubles are written so that they come back; what Python's sums lose, over the tensor's norm:
    # each entry of the model its products and additions, the squares theirs.
    lost = 2.0 ** -53 * ((order + rank) * sum(weights) / math.sqrt(square) + 2 * len(x))
    assert abs(result["fit"] - 1 + math.sqrt(difference / square)) <= result["fit_bound"] + lost
    assert weights == sorted(weights, reverse=True)
    for factor in factors:
        for r in range(rank):
            assert sum(row[r] ** 2 for row in factor) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("size", ["e-310", "e-318", "e-322"])
@pytest.mark.parametrize("how", [("cpd", "-r", "2"), ("cpd", "-r", "2", "--nonnegative"),
                                 ("cpd", "-r", "2", "-a", "apr-mu"), ("tucker", "-r", "2,2,2")])
def test_the_bound_of_a_fit_covers_numbers_without_all_digits(polyad, size, how):
    """Below 1e-308 weights and cores have few digits: numbers of more range tell what that does."""
    random = np.random.default_rng(1)
    cells = {tuple(map(int, random.integers(0, 6, 3))): random.uniform(.1, 1) for _ in range(40)}
    polyad.write("x.tns", "# dims: 6 6 6\n" + "".join(f"{i + 1} {j + 1} {k + 1} {value:.6f}{size}\n"
                                                      for (i, j, k), value in cells.items()))
    name = "m.ttensor" if how[0] == "tucker" else "m.ktensor"
    run = polyad.json(how[0], "x.tns", *how[1:], "-o", name)
    model = read_model(polyad.path(name), "f64")
    core = model.core if how[0] == "tucker" else np.diag(model.weights)[:, None, :] * np.eye(2)[:, :, None]
    for factor in model.factors:  # the axis in front goes, and comes back as the last
        core = np.tensordot(core, factor.T, (0, 0))
    values = np.zeros((6, 6, 6), np.longdouble)
    for place, value in cells.items():
        values[place] = float(f"{value:.6f}{size}")
    fit = 1 - np.sqrt(np.sum((values - core) ** 2) / np.sum(values ** 2))
    assert abs(run["fit"] - fit) <= run["fit_bound"] < 0.1


def test_cpd_nonnegative(polyad):
    polyad.ok("cpd", FLIGHTS, "-r", "3", "--nonnegative", "--output", "m.ktensor")
    assert "-" not in polyad.path("m.ktensor").read_text().replace("e-", "")


SIGNED = "a,day,c,value\n" + "".join(f"{i},{j},{k},{((i * 7 + j * 5 + k * 3) % 11) - 5}\n"
                                for i in range(6) for j in range(5) for k in range(4))


def signs_of(folder):
    """Whether each factor has a negative number."""
    return ["-" in (folder / f"mode{n}.txt").read_text().replace("e-", "") for n in (1, 2, 3)]


@pytest.mark.parametrize("modes, found", [
    ("", [1, 2, 3]), ("=1,3", [1, 3]), ("=3,1", [1, 3]), ("=2", [2]), ("=a,day", [1, 2]), ("=day", [2]),
    ("=1,2,3", [1, 2, 3])])
def test_cpd_keeps_some_modes_nonnegative(polyad, modes, found):
    polyad.write("x.csv", SIGNED)
    runs = {"als": (), "known": ("--absent", "unknown"), "ccd": ("--absent", "unknown", "-a", "ccd"),
            "sgd": ("--absent", "unknown", "-a", "sgd", "-i", "20")}
    for name, more in runs.items():
        result = polyad.json("cpd", "x.csv", "-r", "2", f"--nonnegative{modes}", "-o", f"{name}/", *more)
        validate("cpd", result)
        assert result["nonnegative_modes"] == found
        assert signs_of(polyad.path(name)) == [n not in found for n in (1, 2, 3)]
    assert polyad.json("cpd", "x.csv", "-r", "2")["nonnegative_modes"] == []
    assert "nonnegative_modes" not in polyad.json("cpd", FLIGHTS, "-r", "2", "-a", "apr-mu", "-i", "2")


@pytest.mark.parametrize("modes", ["0", "4", "1,1", "1,,2", ",1", "1,", "week", "day,2", "-1", "1-2"])
def test_cpd_nonnegative_modes_that_are_none(polyad, modes):
    polyad.write("x.csv", SIGNED)
    polyad.fails(2, "cpd", "x.csv", "-r", "2", f"--nonnegative={modes}",
                 says=f"--nonnegative='{modes}' found; expected different modes by number (1 to 3) or name")
    error = polyad.fails(2, "cpd", "good.tns", "-r", "2", "--nonnegative=day").err
    assert "by number (1 to" in error and "or name" not in error
    polyad.fails(2, "cpd", "x.csv", "-r", "2", "--nonnegative=", says="--nonnegative= is empty; expected MODES")


def test_a_blank_before_a_list_of_modes(polyad):
    polyad.write("x.csv", SIGNED)
    polyad.fails(2, "cpd", "--nonnegative", "1,3", "x.csv", "-r", "2",
                 says="joined to its option by =: --nonnegative=MODES, not --nonnegative '1,3'")
    polyad.fails(2, "cpd", "--nonnegative=1,3", "x.csv", "y.csv", "-r", "2", says="one too many; usage: polyad cpd")


def test_names_with_commas_are_modes(polyad):
    polyad.write("x.csv", SIGNED.replace("a,day,c", '"a,day",day,a', 1))
    for words, modes in (("a,day", [1]), ("a,day,day", [1, 2]), ("day,a", [2, 3]), ("a,a,day", [1, 3])):
        result = polyad.json("cpd", "x.csv", "-r", "2", f"--nonnegative={words}")
        assert result["nonnegative_modes"] == modes


def test_a_resumed_run_has_the_same_modes_nonnegative(polyad):
    polyad.write("x.csv", SIGNED)
    run = ("cpd", "x.csv", "-r", "2", "-i", "4")
    polyad.ok(*run, "--nonnegative=1,3", "--checkpoint", "state")
    polyad.ok(*run, "--nonnegative=c,a", "--resume", "state")
    for other, says in (("--nonnegative=1", "nonnegative in modes 1,3; expected in modes 1"),
                        ("--nonnegative", "nonnegative in modes 1,3; expected in all modes"),
                        ("-q", "nonnegative in modes 1,3; expected in no mode")):
        polyad.fails(1, *run, other, "--resume", "state", says=says)


def test_cpd_restarts_keep_the_best(polyad):
    fits = [polyad.json("cpd", AMINO, "-r", "4", "--restarts", n)["fit"] for n in (1, 4)]
    assert fits[1] >= fits[0]


@pytest.mark.plain
def test_cpd_max_seconds(polyad):
    result = polyad.json("cpd", UBER, "-r", "8", "--tol", "0", "--max-iters", "100000",
                         "--max-seconds", "0.2")
    assert result["reason"] == "max_seconds" and result["seconds"] < 20


def test_cpd_output_directory(polyad):
    polyad.ok("cpd", FLIGHTS, "-r", "2", "--output", "model/")
    names = {path.name for path in polyad.path("model").iterdir()}
    assert {"lambda.txt", "mode1.txt", "mode4.txt"} <= names
    assert len(polyad.path("model/lambda.txt").read_text().split()) == 2
    assert len(polyad.path("model/mode4.txt").read_text().splitlines()) == 105
    assert any("EWR" in path.read_text() for path in polyad.path("model").glob("*top*"))


def test_cpd_output_to_standard_output(polyad):
    result = polyad.ok("cpd", "good.tns", "-r", "2", "--output", "-")
    assert result.out.startswith(b"ktensor\n3\n2 2 2\n2\n") and b"component" not in result.out


def test_cpd_resumes_to_the_same_bits(polyad):
    whole = ("cpd", FLIGHTS, "-r", "3", "--tol", "0", "--threads", "2")
    polyad.ok(*whole, "--max-iters", "12", "--output", "whole.ktensor")
    polyad.ok(*whole, "--max-iters", "6", "--checkpoint", "c", "--checkpoint-every", "3")
    polyad.ok(*whole, "--max-iters", "12", "--resume", "c", "--output", "resumed.ktensor")
    assert (polyad.path("whole.ktensor").read_bytes() ==
            polyad.path("resumed.ktensor").read_bytes())


@pytest.mark.parametrize("change, says", [
    (("-r", "4"), "rank 2; expected 4"), (("--seed", "9"), "seed 0; expected 9"),
    (("--precision", "f32"), "precision f64; expected f32")])
def test_cpd_resume_of_another_run(polyad, change, says):
    """I04: the option and both values."""
    polyad.ok("cpd", "good.tns", "-r", "2", "--checkpoint", "c", "--checkpoint-every", "1")
    polyad.fails(1, "cpd", "good.tns", "-r", "2", *change, "--resume", "c", says=says)


def test_cpd_resume_of_another_tensor(polyad):
    """I03: one value changed."""
    polyad.ok("cpd", "good.tns", "-r", "2", "--checkpoint", "c", "--checkpoint-every", "1")
    polyad.write("other.tns", GOOD.replace("3.0", "3.5"))
    polyad.fails(1, "cpd", "other.tns", "-r", "2", "--resume", "c")


@pytest.mark.parametrize("keep", range(0, 200, 23))
def test_cpd_resume_of_a_cut_checkpoint(polyad, keep):
    """I01."""
    polyad.ok("cpd", "good.tns", "-r", "2", "--checkpoint", "c", "--checkpoint-every", "1",
              "--max-iters", "1", "--tol", "0")
    whole = polyad.path("c").read_bytes()
    polyad.write("cut", whole[:min(keep, len(whole) - 1)])
    polyad.fails(1, "cpd", "good.tns", "-r", "2", "--resume", "cut", says="cut")


def test_cpd_resume_of_nothing(polyad):
    polyad.fails(1, "cpd", "good.tns", "-r", "2", "--resume", "missing", says="missing")


# ---- info

def test_info(polyad):
    result = polyad.json("info", FLIGHTS, "-r", "10")
    x = read_tns(FLIGHTS)
    assert result["nnz"] == len(x) and result["order"] == 4
    assert result["value_sum"] == sum(x.values()) and result["value_max"] == max(x.values())
    assert result["norm"] == pytest.approx(math.sqrt(sum(v * v for v in x.values())), rel=1e-12)
    assert result["density"] == pytest.approx(len(x) / math.prod(result["dims"]), rel=1e-12)
    for n in range(4):
        slices = {}
        for index in x:
            slices[index[n]] = slices.get(index[n], 0) + 1
        assert result["slices"][n] == len(slices)
        assert result["slice_max"][n] == max(slices.values())
        assert result["fibers"][n] == len({index[:n] + index[n + 1:] for index in x})
    assert result["fibers_exact"]
    assert result["key_bits"] == sum(math.ceil(math.log2(d)) for d in result["dims"])
    for row in result["formats"]:
        assert row["bytes"] == row["bytes_format"] + row["bytes_factors"]
        assert row["bytes_factors"] == 8 * 10 * sum(result["dims"])
    assert {"coo", "csf"} <= {row["format"] for row in result["formats"]}


def test_info_bytes_are_those_of_the_plan(polyad):
    for name in ("coo", "csf"):
        estimate = polyad.json("info", FLIGHTS, "--format", name, "-r", "16")["formats"][0]
        real = polyad.json("cpd", FLIGHTS, "--format", name, "-r", "16", "--max-iters", "1")
        assert estimate["bytes_format"] == pytest.approx(real["bytes_format"], rel=0.35)


def test_info_text(polyad):
    text = polyad.ok("info", FLIGHTS).out.decode()
    for part in ("365 x 16 x 3 x 105", "103075", "density", "carrier", "csf", "coo"):
        assert part in text


def test_info_counts_what_was_merged_and_dropped(polyad):
    polyad.write("d.tns", "1 1 1\n1 1 2\n2 2 5\n2 2 -5\n3 1 0\n")
    result = polyad.json("info", "d.tns")
    assert (result["nnz"], result["repeats_merged"], result["zeros_dropped"]) == (1, 2, 2)
    assert result["dims"] == [3, 2] and result["value_sum"] == 3


@pytest.mark.parametrize("policy, value", [("sum", 6), ("max", 4), ("min", -1), ("first", 3)])
def test_duplicates(polyad, policy, value):
    polyad.write("d.tns", "1 1 3\n1 1 4\n1 1 -1\n")
    assert polyad.json("info", "d.tns", "--duplicates", policy)["value_sum"] == value


def test_duplicates_error(polyad):
    polyad.write("d.tns", "1 1 3\n1 1 4\n")
    polyad.fails(1, "info", "d.tns", "--duplicates", "error")


def test_reading_options(polyad):
    polyad.write("z.tns", "0 0 5\n1 1 6\n")
    assert polyad.json("info", "z.tns", "--index-base", "0")["dims"] == [2, 2]
    polyad.write("p.tns", "1 1\n2 3\n")
    pattern = polyad.json("info", "p.tns", "--pattern", "--dims", "5,6")
    assert pattern["dims"] == [5, 6] and pattern["value_sum"] == 2
    polyad.fails(1, "info", "p.tns", "--pattern", "--dims", "5,2", says="p.tns:2")
    polyad.fails(2, "info", "p.tns", "--index-base", "2")
    polyad.fails(2, "info", "p.tns", "--delimiter", "ab")


# ---- convert

@pytest.mark.parametrize("suffix", [".tns", ".tns.gz", ".tns.zst", ".txt", ".txt.gz", ".ptn",
                                    ".csv", ".tsv", ".csv.gz"])
def test_convert_round_trip(polyad, suffix):
    polyad.ok("convert", FLIGHTS, "x" + suffix)
    polyad.ok("convert", "x" + suffix, "back.tns")
    first, back = polyad.json("info", FLIGHTS), polyad.json("info", "back.tns")
    if suffix[:4] in (".csv", ".tsv"):  # labels are numbered in the order of their first use
        assert sorted(read_tns(FLIGHTS).values()) == sorted(
            read_tns(polyad.path("back.tns")).values())
    else:
        assert back["hash"] == first["hash"] and back["dims"] == first["dims"]
    text = polyad.ok("cpd", "x" + suffix, "-r", "1").out.decode()
    assert "UA" in text and "carrier" in text  # labels came along


def test_convert_json(polyad):
    result = polyad.json("convert", "good.tns", "x.ptn")
    assert result["nnz"] == 3 and result["output"] == "x.ptn"


def test_convert_to_standard_output(polyad):
    assert polyad.ok("convert", "good.tns", "-").out == b"1 1 1 1\n1 2 1 2\n2 1 2 3\n"


# ---- generate, score

def test_formats_say_what_holds_on_each_device(polyad):
    text = polyad.ok("formats").out.decode()
    for one in polyad.json("formats")["formats"]:
        devices, fixed = one["devices"].split(), one["deterministic"].split()
        assert set(one["tuned"].split()) <= set(devices) and "cpu" in fixed and set(fixed) <= set(devices)
        shown = " ".join(f"{kind} ({'tuned' if kind in one['tuned'].split() else 'plain'}"
                         f"{'' if kind in fixed else ', not deterministic'})" for kind in devices)
        assert f"devices: {shown}\n" in text.split(f"{one['name']:<10} {one['summary']}")[1].split("from:")[0]


def test_generate_is_deterministic(polyad):
    shape = ("--dims", "50,40,30", "--nnz", "5000", "--skew", "0.5", "--cluster", "0.3")
    for name, threads, seed in (("a.tns", 1, 5), ("b.tns", 2, 5), ("c.tns", 2, 6)):
        polyad.ok("generate", name, *shape, "--threads", threads, "--seed", seed)
    assert polyad.path("a.tns").read_bytes() == polyad.path("b.tns").read_bytes()
    assert polyad.path("a.tns").read_bytes() != polyad.path("c.tns").read_bytes()
    x = read_tns(polyad.path("a.tns"))
    assert len(x) == 5000 and all(1 <= i <= 50 and 1 <= j <= 40 and 1 <= k <= 30 for i, j, k in x)


def test_generate_like(polyad):
    polyad.ok("generate", "u.ptn", "--like", "uber", "--scale", "0.01")
    result = polyad.json("info", "u.ptn")
    assert result["dims"] == [183, 24, 1140, 1717] and result["nnz"] == round(33094.9)


def test_generate_structure(polyad):
    """As many distinct tuples of the first modes as the counts of the real tensor, scaled; flat
    tensors scatter their nonzeros over many more."""
    pairs, triples = {}, {}
    for kind in ("auto", "fibers", "flat"):
        polyad.json("generate", f"{kind}.tns", "--like", "uber", "--scale", "0.01", "--structure", kind)
        x = read_tns(polyad.path(f"{kind}.tns"))
        pairs[kind] = len({i[:2] for i in x})
        triples[kind] = len({i[:3] for i in x})
    assert polyad.path("auto.tns").read_bytes() == polyad.path("fibers.tns").read_bytes()
    assert pairs["fibers"] == 44 and triples["fibers"] == 6926  # 4391 and 692597 of the whole
    assert pairs["flat"] > 1000 and triples["flat"] > 15000
    result = polyad.json("bench", "mttkrp", "like:uber@0.001", "--structure", "flat", "--repeat",
                         "1", "--mode", "1")
    assert result["structure"] == "flat" and result["nnz"] == 3309


def test_generate_and_recover(polyad):
    polyad.ok("generate", "x.tns", "--dims", "20,18,16", "--nnz", "5760", "--rank", "3", "--truth",
              "truth.ktensor", "--seed", "2")
    result = polyad.json("cpd", "x.tns", "-r", "3", "--restarts", "5", "--tol", "1e-10",
                         "--max-iters", "2000", "-o", "m.ktensor")
    assert result["fit"] > 0.999
    assert polyad.json("score", "truth.ktensor", "m.ktensor")["score"] > 0.99


def test_generate_json(polyad):
    result = polyad.json("generate", "x.txt", "--dims", "9,9", "--nnz", "20")
    assert result["nnz"] == 20 and result["dims"] == [9, 9]


def test_score(polyad):
    for seed in (1, 2):
        polyad.ok("cpd", FLIGHTS, "-r", 2 + seed, "--seed", seed, "-o", f"{seed}.ktensor")
    same = polyad.json("score", "1.ktensor", "1.ktensor")
    assert same["score"] == pytest.approx(1, abs=1e-12) and same["matching"] == [1, 2, 3]
    other = polyad.json("score", "1.ktensor", "2.ktensor")
    assert 0 <= other["score"] < 1 and other["ranks"] == [3, 4]
    assert polyad.ok("score", "1.ktensor", "1.ktensor").out == b"1.000000\n"
    polyad.ok("cpd", "good.tns", "-r", "1", "-o", "small.ktensor")
    polyad.fails(1, "score", "1.ktensor", "small.ktensor")


# ---- formats, devices

def test_opencl_decomposition(polyad, tmp_path, monkeypatch):
    """An OpenCL device, where there is one, gives the CPU's fit."""
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path))
    if not any(device["name"].startswith("opencl") for device in polyad.json("devices")["devices"]):
        pytest.skip("no OpenCL device")
    arguments = ("cpd", FLIGHTS, "-r", "3", "--max-iters", "4", "--seed", "1", "-o", "m.ktensor")
    found = polyad.json(*arguments, "--device", "opencl")
    assert found["device"].startswith("opencl") and found["format"] == "portable"
    alone = polyad.json(*arguments, "--device", "cpu")
    apart = drift(polyad, "m.ktensor", FLIGHTS, 4)
    assert abs(found["fit"] - alone["fit"]) <= apart + found["fit_bound"] + alone["fit_bound"]


def test_formats(polyad):
    rows = {row["name"]: row for row in polyad.json("formats")["formats"]}
    assert {"coo", "csf"} <= set(rows)
    for name, row in rows.items():
        assert name.encode() in polyad.ok("formats").out
        assert row["kernels"].split()[0] == "mttkrp"
        if row["name"] == "coo":
            assert row["kernels"] == "mttkrp ttmc phi pi"


def test_devices(polyad):
    result = polyad.json("devices")
    assert result["devices"][0]["name"] == "cpu" and result["devices"][0]["processors"] >= 1
    assert "cuda" in result["absent"] or any(d["name"] == "cuda:0" for d in result["devices"])


# ---- JSON

def test_json_file_and_name_of_odd_bytes(polyad):
    name = b"odd\xff\x01.tns"
    (polyad.folder / os.fsdecode(name)).write_text(GOOD)
    polyad.ok("info", name, "--json", "x.json")
    result = json.loads(polyad.path("x.json").read_bytes().decode("utf-8", "strict"))
    validate("info", result)
    assert result["file"].startswith("odd")


@pytest.mark.parametrize("content", ["1 1 1 1e300\n2 2 2 1e-300\n", "1 1 1 1e-300\n2 2 2 2e-300\n",
                                     "1 1 1 1e150\n2 2 2 1e-150\n", "1 1 1 5.0\n",
                                     "2147483648 2147483648 2147483648 1\n1 1 1 2\n"])
def test_json_never_holds_nan(polyad, content):
    polyad.write("x.tns", content)
    polyad.json("info", "x.tns")
    result = polyad.run("cpd", "x.tns", "-r", "1", "--json", "-", "--memory-limit", "2G")
    if result.status == 0:
        validate("cpd", result.json)


def test_compute_types(polyad):
    fits = {}
    for compute in ("native", "f16", "bf16", "tf32"):
        result = polyad.json("cpd", AMINO, "-r", "3", "--compute", compute, "--format",
                             "hls:tile-threshold=40")
        assert result["format"] == "hls" and "(threshold 40)" in result["variant"]
        fits[compute] = result["fit"]
    assert all(abs(fit - fits["native"]) <= 1e-3 for fit in fits.values())
    assert "f64 values" not in result["variant"]


# ---- --tune

def tuned(polyad, *arguments, **environment):
    result = polyad.run("cpd", "good.tns", "-r", "2", "-i", "1", "--tune", "--verbose", *arguments,
                        env=environment)
    assert result.status == 0, result.err
    return result.err


def test_tune_remembers(polyad, tmp_path):
    cache = str(tmp_path / "cache")
    first = tuned(polyad, XDG_CACHE_HOME=cache)
    again = tuned(polyad, XDG_CACHE_HOME=cache)
    kept = tmp_path / "cache" / "polyad" / "tune"
    assert "measured" in first and "measured for this tensor before" not in first
    assert "measured for this tensor before is in " + str(kept) in again
    kept.write_bytes(kept.read_bytes()[:-5])
    assert f"the tuning cache {kept} is not used: it is damaged" in tuned(polyad,
                                                                         XDG_CACHE_HOME=cache)
    assert "measured for this tensor before" in tuned(polyad, XDG_CACHE_HOME=cache)


def test_tune_cache_option(polyad, tmp_path):
    cache = str(tmp_path / "cache")
    assert "measured" in tuned(polyad, "--tune-cache", "none", XDG_CACHE_HOME=cache)
    assert not (tmp_path / "cache").exists()
    tuned(polyad, "--tune-cache", str(tmp_path / "mine"), XDG_CACHE_HOME=cache)
    assert (tmp_path / "mine").read_bytes().startswith(b"polyad tune cache 1 ")
    assert not (tmp_path / "cache").exists()


def test_tune_without_a_place(polyad):
    assert "is not kept" in tuned(polyad, XDG_CACHE_HOME="", HOME="/proc/nowhere")
    assert "what was measured is not kept" in tuned(polyad, "--tune-cache", "/proc/nowhere/tune")
