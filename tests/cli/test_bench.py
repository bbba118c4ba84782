"""polyad bench: what it measures, checks and prints."""

import json
import re
import subprocess

import pytest
from conftest import COMMAND, ROOT

FLIGHTS = ROOT / "data/nycflights13.tns.gz"
AMINO = ROOT / "data/aminoacids.tns.gz"


@pytest.mark.parametrize("precision, epsilon", [("f64", 2.0 ** -53), ("f32", 2.0 ** -24)])
def test_bench_mttkrp(polyad, precision, epsilon):
    result = polyad.json("bench", "mttkrp", FLIGHTS, "-r", "8", "--repeat", "3", "--format", "all",
                         "--precision", precision)
    formats = {row["format"] for row in result["results"]}
    assert {"coo", "csf"} <= formats and len(result["results"]) == 4 * len(formats)
    longest = max(polyad.json("info", FLIGHTS)["slice_max"])
    for row in result["results"]:
        assert row["min_seconds"] <= row["median_seconds"] <= row["max_seconds"]
        assert row["runs"] == 3 and row["flops"] == 4 * 8 * 103075
        assert row["gflops"] == pytest.approx(row["flops"] / row["median_seconds"] / 1e9)
        # |error| / sum of magnitudes is at most (terms + factors) roundings of a sum in any order.
        assert 0 <= row["max_relative_error"] <= (longest + 4) * epsilon
        assert row["bound_share"] is None or 0 < row["bound_share"] <= 1.2


def test_bench_cache_and_best(polyad):
    quick = ("-r", "4", "--repeat", "1", "--warmup", "0", "--format", "all", "--mode", "3")
    result = polyad.json("bench", "mttkrp", FLIGHTS, "--cache", "both", *quick)
    rows = result["results"]
    assert {row["mode"] for row in rows} == {3}
    for cache in ("warm", "cold"):
        same = [row for row in rows if row["cache"] == cache]
        best = [row for row in same if row["best"]]
        assert len(best) == 1 and len(same) > 5
        assert best[0]["median_seconds"] == min(row["median_seconds"] for row in same)
    text = polyad.ok("bench", "mttkrp", FLIGHTS, *quick).out.decode()
    table = text.split("* the fastest")[1].splitlines()[2:]
    assert {line.split()[0] for line in table} == {row["format"] for row in rows}
    assert sum(line.count("*") for line in table) == 1
    assert all(float(line.split()[-2]) > 0 for line in table)  # MB
    assert len({len(line) for line in table}) == 1


@pytest.mark.parametrize("more", [(), ("--mode", "3"), ("--cache", "both")])
def test_bench_flycoo_in_turn(polyad, more):
    """No run has to sort back what the run before left in the next mode's order."""
    result = polyad.ok("bench", "mttkrp", FLIGHTS, "-r", "4", "--format", "flycoo", "--repeat", "3",
                       "--verbose", "--json", "-", *more)
    assert "out of turn" not in result.err
    modes = [3] if "--mode" in more else [1, 2, 3, 4]
    rows = result.json["results"]
    assert [row["mode"] for row in rows] == modes * (2 if "--cache" in more else 1)
    assert all(row["runs"] == 3 and row["max_relative_error"] < 1e-12 for row in rows)


def test_bench_list_of_formats(polyad):
    """Each item has its variant and options, and the results of it alone."""
    items = ["coo", "flycoo:paper:block-columns=4", "blco:order-for-mode=2", "csf:one",
             "flycoo:kappa=3"]
    quick = ("-r", "4", "--repeat", "1", "--warmup", "0")
    rows = polyad.json("bench", "mttkrp", FLIGHTS, *quick, "--format", ",".join(items))["results"]
    assert [row["item"] for row in rows] == [item for item in items for _ in range(4)]
    assert sum(row["best"] for row in rows) == 4
    alone = polyad.json("bench", "mttkrp", FLIGHTS, *quick, "--format", "flycoo", "--variant",
                        "paper")["results"]
    for row, other in zip(rows[4:8], alone):
        assert "item" not in other
        for key in ("format", "variant", "mode", "bytes_format", "max_relative_error"):
            assert row[key] == other[key]
    assert rows[4]["variant"] != rows[16]["variant"]
    text = polyad.ok("bench", "build", FLIGHTS, *quick, "--format", ",".join(items)).out.decode()
    assert all(f"\n{item} " in text for item in items)


def test_bench_says_which_kernels_are_tuned(polyad):
    """In every row and in the table at the end, as `polyad formats` says of the device."""
    result = polyad.ok("bench", "mttkrp", "good.tns", "-r", "4", "--repeat", "1", "--warmup", "0", "--device", "cpu",
                       "--format", "all", "--json", "rows.json")
    tuned = {one["name"]: "cpu" in one["tuned"].split() for one in polyad.json("formats")["formats"]}
    rows = json.loads(polyad.path("rows.json").read_text())["results"]
    assert {row["format"] for row in rows if row["tuned"]} == {name for name in tuned if tuned[name]}
    assert tuned["csf"] and tuned["alto"] and not tuned["hicoo"] and not tuned["portable"]
    table = [line.split() for line in result.out.decode().split("* the fastest")[1].splitlines()[2:]]
    assert {line[0]: line[-1] for line in table} == {name: "tuned" if tuned[name] else "plain"
                                                     for name in {row["format"] for row in rows}}


def test_bench_list_goes_on(polyad):
    """What one format of a list cannot do is said, and the others are measured."""
    result = polyad.ok("bench", "mttkrp", "good.tns", "--repeat", "1", "--json", "-", "--format",
                       "coo,csf:none,flycoo")
    assert result.err.count("error: ") == 1 and "it has no variant 'none'" in result.err
    assert {row["item"] for row in result.json["results"]} == {"coo", "flycoo"}


@pytest.mark.parametrize("formats, says", [
    ("coo,", "format '' found"), ("coo,all", "format 'all' found"), ("coo:plain:tiled", "tiled"),
    ("flycoo:kappa=0", "from 1 to 1048576"), ("flycoo:kappa", "expected a value: kappa=N"),
    ("coo:rank=3", "--format 'coo:rank=3': 'rank=3' found; format coo has no parameters"),
    ("flycoo:rank=3", "kappa=N or block-columns=N"),
    ("blco:order-for-mode=1,flycoo:block-columns=65", "from 1 to 64"), ("coo:none", "none"),
    ("hicoo:block=3", "block=3 found; expected a power of two")])
def test_bench_list_is_refused(polyad, formats, says):
    polyad.fails((1, 2), "bench", "mttkrp", "good.tns", "--repeat", "1", "--format", formats,
                 says=says)


def test_bench_roof(polyad):
    result = polyad.json("bench", "roof", "-r", "4", "--repeat", "1", "--memory-limit", "200M")
    rows = result["results"]
    assert {row["format"] for row in rows} == {"copy", "gather", "add", "flops"}
    assert all(row["median_seconds"] > 0 for row in rows)
    assert all(row["gbytes_per_second"] > 0 for row in rows if row["format"] in ("copy", "gather"))
@pytest.mark.parametrize("kernel, variants", [
    ("mttkrp", ["tuned", "portable", "portable-atomic"]),
    ("phi", ["tuned", "portable", "portable-atomic"]), ("pi", ["tuned", "portable"])])
@pytest.mark.parametrize("precision, epsilon", [("f64", 2.0**-53), ("f32", 2.0**-24)])
def test_bench_portable_kernels(polyad, kernel, variants, precision, epsilon):
    """Tuned and portable kernels in turn, each result checked."""
    result = polyad.json("bench", kernel, FLIGHTS, "-r", "8", "--repeat", "2", "--portable",
                         "--precision", precision)
    rows = result["results"]
    if rows[0]["variant"] == "portable":
        variants = [name for name in variants if name != "tuned"]  # nothing is tuned yet
    assert [row["variant"] for row in rows] == variants * 4
    for row in rows:
        assert row["runs"] == 2 and row["median_seconds"] > 0 and row["bytes_moved"] > 0
        if kernel != "pi":
            assert 0 <= row["max_relative_error"] <= 1000 * epsilon


@pytest.mark.parametrize("kernel", ["mttkrp", "ttmc"])
def test_bench_compute_types(polyad, kernel):
    """What half precision rounds is told from what is wrong."""
    for compute, unit in (("f16", 2.0**-11), ("bf16", 2.0**-8), ("tf32", 2.0**-11)):
        result = polyad.json("bench", kernel, AMINO, "-r", "3", "--repeat", "1", "--format", "hls",
                             "--compute", compute, "--cache", "both")
        rows = result["results"]
        assert [row["cache"] for row in rows] == ["warm", "cold"] * 3
        assert all(1e-12 < row["max_relative_error"] <= 5 * unit for row in rows)


def test_bench_pi(polyad):
    """Formats are measured in the variant that stores Pi."""
    result = polyad.json("bench", "pi", FLIGHTS, "-r", "4", "--repeat", "1", "--format", "all")
    formats = {row["format"] for row in result["results"]}
    assert {"alto", "portable"} <= formats
    assert all(row["median_seconds"] > 1e-5 and row["best"] in (True, False)
               for row in result["results"])


@pytest.mark.parametrize("kernel", ["read", "build", "end-to-end"])
def test_bench_other_kernels(polyad, kernel):
    result = polyad.json("bench", kernel, FLIGHTS, "-r", "2", "--repeat", "2")
    assert result["kernel"] == kernel and result["nnz"] == 103075 and result["results"]
    assert result["command"].startswith(f"polyad bench {kernel}")


@pytest.mark.parametrize("algorithm", ["als", "apr-mu", "apr-pqnr"])
def test_bench_end_to_end(polyad, algorithm):
    """Parts add up; the goal of an earlier run is reached before the end."""
    def run(*more):
        result = polyad.json("bench", "end-to-end", FLIGHTS, "-r", "2", "-a", algorithm, "-i", "4",
                             "--tol", "0", "--format", "alto", "--threads", "1", *more)
        return {row["format"]: row for row in result["results"]}

    parts = run()
    total = parts["total"]
    assert set(parts) == {"read", "build", "decompose", "total"} and total["iterations"] == 4
    assert total["median_seconds"] == pytest.approx(
        sum(parts[name]["median_seconds"] for name in ("read", "build", "decompose")))
    if algorithm == "als":
        assert 0 < total["fit"] < 1 and total["log_likelihood"] is None
        goal = ("--fit", repr(total["fit"] - 1e-9))
    else:
        assert total["log_likelihood"] < 0
        goal = ("--log-likelihood", repr(total["log_likelihood"] * (1 + 1e-9)))
    parts = run(*goal)
    before = parts["read"]["median_seconds"] + parts["build"]["median_seconds"]
    assert before < parts["to-fit"]["median_seconds"] <= parts["total"]["median_seconds"]


def test_bench_end_to_end_list(polyad):
    """Parts keep their names where formats are a list."""
    text = polyad.ok("bench", "end-to-end", FLIGHTS, "-r", "2", "-i", "1", "--format",
                     "alto,coo:auto").out.decode()
    for part in ("build", "decompose", "total"):
        assert [line.split()[1] for line in text.splitlines() if line.startswith(part)] == [
            "alto", "coo:auto"]


@pytest.mark.parametrize("options, message", [
    (("mttkrp", FLIGHTS, "-a", "apr-mu"), "are for end-to-end, not for mttkrp"),
    (("end-to-end", FLIGHTS, "-a", "apr-mu", "--fit", "0.5"), "expected --log-likelihood"),
    (("end-to-end", FLIGHTS, "--log-likelihood", "-5"), "expected --fit"),
    (("end-to-end", FLIGHTS, "--log-likelihood", "many"), "expected a number"),
    (("end-to-end", FLIGHTS, "-i", "0"), "expected an integer from 1"),
])
def test_bench_end_to_end_wrong(polyad, options, message):
    assert message in polyad.fails(2, "bench", *options).err


def test_bench_stream(polyad):
    result = polyad.json("bench", "stream", "--repeat", "2")
    assert [row["format"] for row in result["results"]] == ["copy", "scale", "add", "triad"]
    assert all(row["gbytes_per_second"] > 0.1 for row in result["results"])
    assert all(row["variant"] == "tuned" for row in result["results"])


@pytest.mark.parametrize("precision, width", [("f64", 8), ("f32", 4)])
def test_bench_stream_portable(polyad, precision, width):
    result = polyad.json("bench", "stream", "--portable", "--elements", "1000000", "--repeat", "2",
                         "--precision", precision)
    rows = result["results"]
    assert [row["variant"] for row in rows] == ["tuned", "portable"] * 4
    assert [row["format"] for row in rows[::2]] == ["copy", "scale", "add", "triad"]
    assert all(row["max_relative_error"] == 0 and 0 < row["bound_share"] <= 1 for row in rows)
    numbers = 1003520  # 1000000 rounded up to a multiple of 4096
    arrays = [2, 2, 2, 2, 3, 3, 3, 3]
    assert [row["bytes_moved"] for row in rows] == [numbers * width * n for n in arrays]


def test_bench_like(polyad):
    result = polyad.json("bench", "mttkrp", "like:uber@0.01", "-r", "4", "--repeat", "1", "--mode",
                         "2")
    assert result["nnz"] == 33095 and [row["mode"] for row in result["results"]] == [2]


def test_bench_text(polyad):
    text = polyad.ok("bench", "mttkrp", "good.tns", "--repeat", "1").out.decode()
    lines = text.splitlines()
    assert lines[0].startswith("mttkrp of good.tns: ") and "nonzeros" in lines[0]
    heading = ["format", "mode", "median", "ms", "least", "ms", "GB/s", "Gflop/s", "bound", "ms",
               "reached", "error"]
    assert lines[2].split() == heading
    assert [line.split()[1] for line in lines[3:]] == ["1", "2", "3"]
    assert len({len(line) for line in lines[2:]}) == 1  # columns stand below their headings


def test_bench_ends_when_nobody_reads(polyad):
    """As with head: no message, the status of a closed pipe, and no rows measured in vain."""
    done = subprocess.run(
        ["bash", "-c", f"'{COMMAND}' bench tile-threshold -r 1 --repeat 1 | head -2; "
                       "echo ${PIPESTATUS[0]}"], capture_output=True, timeout=60, check=True)
    assert done.stderr == b"" and done.stdout.splitlines()[-1] == b"141"


def test_bench_error(polyad):
    result = polyad.json("bench", "mttkrp", AMINO, "-r", "4", "--error", "--repeat", "1",
                         "--warmup", "0", "--format", "hls")
    rows = result["results"]
    assert result["precision"] == "f64"
    assert [row["precision"] for row in rows[::3]] == ["f64", "f32", "tf32", "bf16", "f16"]
    worst = {"f64": 1e-12, "f32": 1e-4, "tf32": 0.1, "bf16": 0.8, "f16": 0.1}  # percent
    for row in rows:
        assert 0 <= row["smape_percent"] <= worst[row["precision"]]
        assert 0 <= row["relative_error"] <= worst[row["precision"]] / 100
        assert row["relative_error"] > 0 or row["precision"] == "f64"
    by = {row["precision"]: row["smape_percent"] for row in rows if row["mode"] == 2}
    assert by["f64"] < by["f32"] < by["f16"] < by["bf16"]
    # A format for one precision only is measured in the two that every format has.
    rows = polyad.json("bench", "ttmc", AMINO, "-r", "2", "--error", "--repeat", "1", "--format",
                       "csf", "--mode", "1")["results"]
    assert [row["precision"] for row in rows] == ["f64", "f32"]
    text = polyad.ok("bench", "ttmc", AMINO, "-r", "2", "--error", "--repeat", "1").out.decode()
    assert "SMAPE" in text and " f16 " in text


def test_bench_error_of_one_nonzero(polyad):
    """Half precision rounds 1 + 2^-11 to 1: every entry of the result is off by that factor."""
    polyad.write("one.tns", f"2 1 1 {1 + 2.0**-11!r}\n1 2 2 1\n")
    rows = polyad.json("bench", "mttkrp", "one.tns", "-r", "1", "--error", "--repeat", "1",
                       "--format", "hls", "--device", "cpu")["results"]
    half = [row for row in rows if row["precision"] == "f16"]
    assert len(half) == 3
    for row in half:  # of the two entries of each mode one is off
        exact, found = 1 + 2.0**-11, 1.0
        assert row["smape_percent"] == pytest.approx(
            100 * (exact - found) / (exact + found) / 2, rel=1e-2)


@pytest.mark.parametrize("arguments", [
    ("phi", "good.tns"), ("mttkrp", "good.tns", "--precision", "f32"), ("roof",),
    ("ttmc", "good.tns", "--compute", "f16"), ("mttkrp", "good.tns", "--portable")])
def test_bench_error_is_refused(polyad, arguments):
    polyad.fails(2, "bench", *arguments, "--error", says="--error")


@pytest.mark.parametrize("formats", ["all", "coo,csf"])
def test_bench_portable_with_several_formats(polyad, formats):
    polyad.fails(2, "bench", "mttkrp", "good.tns", "--portable", "--format", formats,
                 says="--format auto or a name")


def test_bench_tile_threshold(polyad, tmp_path):
    """What it finds on this device is what --tune then uses."""
    keep = ("--tune", "--tune-cache", str(tmp_path / "tune"), "-r", "2", "--repeat", "1")
    result = polyad.json("bench", "tile-threshold", "--warmup", "0", *keep)
    rows = [row["variant"].split(", ") for row in result["results"]]
    assert [row[0] for row in rows] == ["mttkrp"] * 40 + ["ttmc"] * 40
    assert [row[1] for row in rows[:40:2]] == [f"{8 * k} nonzeros a tile" for k in range(1, 21)]
    assert {row[2] for row in rows} == {"dense tiles", "single nonzeros"}

    def threshold(kernel, *arguments, name="hls"):
        measured = polyad.json("bench", kernel, AMINO, "--mode", "1", "--format", name, *arguments)
        return int(re.search(r"\(threshold (\d+)\)", measured["results"][0]["variant"])[1])

    times = [row["median_seconds"] for row in result["results"]]
    for first, kernel in ((0, "mttkrp"), (40, "ttmc")):
        wins = [k for k in range(20) if times[first + 2 * k + 1] <= times[first + 2 * k]]
        if wins:
            assert threshold(kernel, *keep) == 8 * (wins[0] + 1)
    assert threshold("mttkrp", *keep, name="hls:tile-threshold=33") == 33
    assert threshold("mttkrp", "-r", "2", "--repeat", "1") == 78
