"""Options: every wrong usage is told, names its option, and has exit status 2."""

import math
import os
import re
import subprocess

import pytest
from model_files import read_model

CPD = ("cpd", "good.tns", "-r", "2")


# ---- H01 subcommands

def test_no_arguments(polyad):
    result = polyad.run()
    assert result.status == 2 and result.out == b"" and "usage: polyad SUBCOMMAND" in result.err


def test_help_word(polyad):
    assert polyad.ok("help").out == polyad.ok("--help").out
    assert polyad.ok("help", "cpd").out == polyad.ok("cpd", "--help").out
    polyad.fails(2, "help", "cdp", says="did you mean cpd?")
    polyad.fails(2, "help", "cpd", "info", says="help [SUBCOMMAND]")


@pytest.mark.parametrize("typed, meant", [
    ("cdp", "cpd"), ("inof", "info"), ("covnert", "convert"), ("benhc", "bench"),
    ("formatss", "formats"), ("devies", "devices"), ("scroe", "score"), ("generat", "generate"),
    ("CPD", "cpd"), ("TUCKRE", "tucker"), ("Core-Consistency", "core-consistency"), ("Help", "help"),
    ("version", "--version")])
def test_did_you_mean(polyad, typed, meant):
    polyad.fails(2, typed, says=f"did you mean {meant}?")


@pytest.mark.parametrize("name", ["zzz", "tucker", "", "\x1b[2J", "--nonsense"])
def test_unknown_subcommand(polyad, name):
    assert "did you mean" not in polyad.fails(2, name).err


# ---- H02 getopt

@pytest.mark.parametrize("arguments, says", [
    (("--nosuch",), "--nosuch"), (("-Z",), "-Z"), (("--checkpont", "x"), "checkpoint"),
    (("--max",), "--max"), (("--max", "3"), "ambiguous"), (("--tol",), "--tol"),
    (("-r",), "rank"), (("--quiet=3",), "--quiet"), (("--quiet", "-Zq"), "-Z")])
def test_bad_option(polyad, arguments, says):
    polyad.fails(2, *CPD, *arguments, says=says)


def test_help_fits_a_terminal(polyad):
    """Lines of more than 92 characters are folded, or cut, in many windows."""
    names = re.findall(r"^  ([a-z-]+)  +", polyad.ok("--help").out.decode(), re.M)
    assert "cpd" in names
    for name in names:
        assert max(map(len, polyad.ok(name, "--help").out.decode().splitlines())) <= 92, name


def test_misspelt_option_suggests(polyad):
    polyad.fails(2, *CPD, "--restart-s", "2", says="did you mean --restarts?")
    polyad.fails(2, *CPD, "--RESTARTS", "2", says="did you mean --restarts?")
    polyad.fails(2, *CPD, "--checkpoint_every", "2", says="did you mean --checkpoint-every?")


def test_last_option_wins(polyad):
    assert polyad.json(*CPD, "--seed", "1", "--seed", "7", "-r", "1")["seed"] == 7


def test_abbreviation(polyad):
    assert polyad.json(*CPD, "--max-it", "3", "--tol", "0")["iterations"] == 3


# ---- H04 to H10 numbers

def test_argument_missing(polyad):
    polyad.fails(2, "cpd", "-r", "2", says="error: an argument is missing; usage: polyad cpd FILE -r RANK")
    polyad.fails(2, "score", "good.tns", says="error: an argument is missing; usage: polyad score A B")


def test_rank_missing(polyad):
    polyad.fails(2, "cpd", "good.tns", says="rank")


@pytest.mark.parametrize("rank", ["0", "-1", "abc", "1e3", "16x", "", "1.5", " 3", "0x10", "+3",
                                  "18446744073709551616"])
def test_rank(polyad, rank):
    polyad.fails(2, "cpd", "good.tns", "--rank", rank, says="rank")


def test_rank_beyond_memory(polyad):
    polyad.write("wide.tns", "10000 10000 10000 1\n1 1 1 2\n")
    for rank in ("100000000", "4611686018427387904", "18446744073709551615"):
        polyad.fails(1, "cpd", "wide.tns", "-r", rank, "--memory-limit", "1G")
    # Here factors, of 5 MB together, are not what is too much.
    polyad.fails(1, "cpd", "good.tns", "-r", "100000", "--memory-limit", "1G",
                 says="the factors and their rank x rank matrices: ")


@pytest.mark.parametrize("rank", [5, 8])
def test_rank_beyond_dims_and_nnz(polyad, rank):
    result = polyad.json("cpd", "good.tns", "-r", rank, "--max-iters", "30")
    assert 0.99 <= result["fit"] <= 1 and result["regularized_solves"] > 0


@pytest.mark.parametrize("tol", ["nan", "inf", "-1", "1,5", "1e", "", "0x1p-3", "1e400", "--"])
def test_tolerance(polyad, tol):
    polyad.fails(2, *CPD, f"--tol={tol}", says="tol")


@pytest.mark.parametrize("tol", ["0", "1e-400"])
def test_tolerance_zero_runs_to_the_limit(polyad, tol):
    assert polyad.json(*CPD, "--tol", tol, "--max-iters", "9")["iterations"] == 9


@pytest.mark.parametrize("count", ["-1", "1e3", "9223372036854775808", "2147483648", "x"])
def test_iterations(polyad, count):
    polyad.fails(2, *CPD, f"--max-iters={count}", says="max-iters")


def test_no_iterations_gives_the_guess(polyad):
    result = polyad.json(*CPD, "--max-iters", "0")
    assert result["iterations"] == 0 and result["trace"] == []


@pytest.mark.parametrize("count", ["0", "-1", "abc", "1.5", "99999999999999999999"])
def test_threads(polyad, count):
    polyad.fails(2, *CPD, f"--threads={count}", says="threads")


def test_too_many_threads_are_capped(polyad):
    result = polyad.run(*CPD, "--threads", "100000", "--json", "-")
    assert result.status == 0 and result.json["threads"] < 1000
    assert "100000" in result.err


@pytest.mark.parametrize("value", ["0", "a", "1000000", "-3"])
def test_omp_environment_is_ignored(polyad, value):
    threads = polyad.json(*CPD)["threads"]
    assert polyad.json(*CPD, env={"OMP_NUM_THREADS": value})["threads"] == threads


def test_processors_of_this_process(polyad):
    one = polyad.run(*CPD, "--json", "-", preexec=lambda: os.sched_setaffinity(0, {
        min(os.sched_getaffinity(0))}))
    assert one.json["threads"] == 1


@pytest.mark.parametrize("seed", ["-1", "18446744073709551616", "1.5", "abc"])
def test_seed(polyad, seed):
    polyad.fails(2, *CPD, f"--seed={seed}", says="seed")


@pytest.mark.parametrize("seed", [0, 18446744073709551615])
def test_seed_limits(polyad, seed):
    assert polyad.json(*CPD, "--seed", seed)["seed"] == seed


@pytest.mark.parametrize("size", ["0", "-1", "4X", "4GG", "G", "1e9", "", "99999999999T"])
def test_memory_limit(polyad, size):
    polyad.fails(2, *CPD, f"--memory-limit={size}", says="memory-limit")


@pytest.mark.parametrize("size", ["500M", "1G", "1g", "2GiB", "1GB", "1000000000"])
def test_memory_limit_accepted(polyad, size):
    polyad.ok(*CPD, "--memory-limit", size)


@pytest.mark.parametrize("command", [("cpd", "good.tns", "-r", "2"), ("info", "good.tns"),
                                     ("tucker", "good.tns", "-r", "2"),
                                     ("bench", "mttkrp", "good.tns")])
@pytest.mark.parametrize("value, says", [
    ("kappa=0", "from 1 to 1048576"), ("kappa=-1", "from 1 to 1048576"), ("kappa=x", "an integer"),
    ("kappa", "'kappa' found; expected a value: kappa=N, an integer from 1 to 1048576"),
    ("paper:kappa", "'kappa' found; expected a value: kappa=N"), ("kappa=", "an integer"),
    ("kappa=1048577", "from 1 to 1048576"), ("block-columns=65", "from 1 to 64"),
    ("block-columns=1.5", "from 1 to 64"), ("columns=3", "kappa=N or block-columns=N")])
def test_parameters(polyad, command, value, says):
    polyad.fails(2, *command, "--format", f"flycoo:{value}", says=says)


def test_format_and_variant_contradict(polyad):
    polyad.fails(2, *CPD, "--format", "csf:one", "--variant", "two", says="expected one variant")
    polyad.ok(*CPD, "--format", "csf:one", "--variant", "one")


@pytest.mark.parametrize("name", ["flycoo", "modecopy"])
def test_parameters_reach_the_format(polyad, name):
    def storage(kappa):
        return "--format", f"{name}:paper:block-columns=8:kappa={kappa}"

    for kappa in (1, 5, 82):
        found = polyad.json(*CPD, *storage(kappa))
        assert found["format"] == name and f"{kappa} partitions" in found["variant"]
        measured = polyad.json("bench", "mttkrp", "good.tns", "--repeat", "1", *storage(kappa))
        assert all(f"{kappa} partitions" in row["variant"] for row in measured["results"])
    few, many = (polyad.json("info", "good.tns", *storage(kappa))["formats"][0]
                 for kappa in (1, 1001))
    modes = len(polyad.json("info", "good.tns")["dims"])
    assert many["bytes_format"] - few["bytes_format"] == 8 * 1000 * modes


# ---- H11 devices

@pytest.mark.parametrize("device", ["cuda:-1", "cuda:x", "cuda:", "gpu", "cpu:1", "CUDA", "cuda:1.5"])
def test_device_syntax(polyad, device):
    polyad.fails(2, *CPD, "--device", device, says="device")


@pytest.mark.parametrize("device", ["cuda:99", "opencl:99"])
def test_device_missing(polyad, device):
    polyad.fails(1, *CPD, "--device", device)


def test_device_hidden(polyad):
    polyad.fails(1, *CPD, "--device", "cuda", env={"CUDA_VISIBLE_DEVICES": ""})


@pytest.mark.parametrize("device", ["cuda:0-", "cuda:2-1", "cuda:1-x", "cuda:0-1-2", "cuda:all:1"])
def test_range_syntax(polyad, device):
    polyad.fails(2, *CPD, "--device", device, says="device")


def test_more_devices_than_a_team_takes(polyad):
    polyad.fails(2, *CPD, "--device", ",".join(17 * ["cpu"]), says="16")


@pytest.mark.parametrize("method, key", [("als", "fit"), ("apr-mu", "log_likelihood")])
def test_several_devices_share_the_tensor(polyad, method, key):
    """What GPUs of one machine do, with processors of it in their place."""
    polyad.ok("generate", "counts.tns", "--dims", "40,30,50", "--rank", "3", "--poisson", "--nnz", "9000",
              "--seed", "1")
    arguments = ("cpd", "counts.tns", "-r", "3", "-i", "5", "--tol", "0", "-a", method, "--threads", "2")
    alone = polyad.json(*arguments, "--device", "cpu")
    found = polyad.json(*arguments, "--device", "cpu,cpu,cpu", "-o", "a.ktensor")
    if method == "als":
        about = polyad.json("info", "counts.tns")
        apart = read_model(polyad.path("a.ktensor"), "f64").drift(about["norm"], about["nnz"], 5)
    else:  # nothing cancels: every sum is of at most 9,000 terms of one sign
        apart = 9000 * 2.0 ** -53 * abs(alone[key])
    assert abs(found[key] - alone[key]) <= apart
    assert found["device"] == "cpu,cpu,cpu" and found["processes"] == 1
    members = found["team"]["members"]
    assert [m["rank"] for m in members] == [0, 1, 2] and {m["device"] for m in members} == {"cpu"}
    assert sum(m["nnz"] for m in members) == found["nnz"] == alone["nnz"]
    assert sum(m["rows_owned"] for m in members) == sum(alone["dims"])
    polyad.json(*arguments, "--device", "cpu,cpu,cpu", "-o", "b.ktensor")
    assert polyad.path("a.ktensor").read_bytes() == polyad.path("b.ktensor").read_bytes()


@pytest.mark.parametrize("words", [("tucker", "-r", "2,2,2"), ("cpd", "-r", "2", "-a", "apr-pdnr"),
                                   ("cpd", "-r", "2", "--init", "hosvd"), ("rank",)])
def test_what_several_devices_do_not_share_is_refused(polyad, words):
    polyad.ok("generate", "counts.tns", "--dims", "8,7,6", "--rank", "2", "--poisson", "--nnz", "150",
              "--seed", "1")
    polyad.fails(1, words[0], "counts.tns", *words[1:], "--device", "cpu,cpu,cpu")


def test_device_auto_falls_back(polyad):
    result = polyad.run(*CPD, "--verbose", "--json", "-", env={"CUDA_VISIBLE_DEVICES": ""})
    assert result.json["device"] == "cpu" and "CPU" in result.err


# ---- H12, H13 choices

def test_format_unknown_lists_them(polyad):
    result = polyad.fails(2, *CPD, "--format", "nosuch")
    for row in polyad.json("formats")["formats"]:
        assert row["name"] in result.err


def test_format_that_cannot(polyad):
    """Every format that is limited says so and does not fall back."""
    order = 17 - 1
    polyad.write("deep.tns", "1 " * order + "1\n" + "2 " * order + "2\n")
    for row in polyad.json("formats")["formats"]:
        result = polyad.run("cpd", "deep.tns", "-r", "1", "--format", row["name"], "--json", "-")
        if row["max_order"] < order:
            assert result.status == 1 and row["name"] in result.err
        else:
            assert result.status == 0 and result.json["format"] == row["name"]


def test_variant_unknown(polyad):
    polyad.fails((1, 2), *CPD, "--format", "csf", "--variant", "nosuch", says="nosuch")


@pytest.mark.parametrize("precision", ["f16", "F64", "", "double", "f3"])
def test_precision(polyad, precision):
    polyad.fails(2, *CPD, f"--precision={precision}", says="precision")


@pytest.mark.parametrize("algorithm", ["apr-mu", "apr-pdnr", "apr-pqnr"])
def test_options_of_als_alone(polyad, algorithm):
    polyad.fails(2, *CPD, "--algorithm", algorithm, "--nonnegative", says="--nonnegative is for")
    polyad.fails(2, *CPD, "--algorithm", algorithm, "--ridge", "1", says="--ridge is for")
    polyad.fails(2, *CPD, "--algorithm", algorithm, "--init", "hosvd", says="--init hosvd")


@pytest.mark.parametrize("words, algorithms", [
    (("--inner-iters", "4"), "apr-mu apr-pdnr apr-pqnr"), (("--store-pi",), "apr-mu"),
    (("--damping", "1", "-a", "apr-mu"), "apr-pdnr"), (("--exact", "-a", "apr-pqnr"), "apr-pdnr"),
    (("--lbfgs-pairs", "2", "-a", "apr-pdnr"), "apr-pqnr"), (("--zero-tol", "1", "-a", "apr-pqnr"), "apr-mu"),
    (("--learn-rate", "1", "--absent", "unknown"), "sgd")])
def test_options_of_other_algorithms(polyad, words, algorithms):
    """What would do nothing is refused: the algorithm was forgotten, perhaps."""
    found = words[words.index("-a") + 1] if "-a" in words else "als"
    polyad.fails(2, *CPD, *words, says=f"{words[0]} found with --algorithm {found}; expected one of: {algorithms}")


def test_a_value_that_looks_like_an_option_is_none(polyad):
    polyad.ok(*CPD, "--output=--exact")


def test_half_rows(polyad):
    polyad.fails(2, *CPD, "--algorithm", "apr-mu", "--half-rows", says="--half-rows is for --algorithm als")
    polyad.fails(2, *CPD, "--absent", "unknown", "--half-rows", says="--half-rows is for --algorithm als")
    polyad.fails(2, *CPD, "--nonnegative", "--half-rows", says="exclude each other")
    polyad.fails(1, *CPD, "--device", "cpu", "--half-rows", says="half rows need a GPU; device cpu found")


def test_algorithm_unknown(polyad):
    polyad.fails(2, *CPD, "--algorithm", "svd", says="algorithm")


# ---- H14 --init FILE

KTENSOR = "ktensor\n3\n2 2 2\n2\n1 1\n" + "matrix\n2\n2 2\n1 2\n3 4\n" * 3


@pytest.mark.parametrize("content, says", [
    (None, "'m.ktensor' found, and there is no such file; expected random, hosvd or a ktensor"),
    (KTENSOR.replace("2 2 2", "2 2 3").replace("2\n2 2\n1 2\n3 4\n", "2\n3 2\n1 2\n3 4\n5 6\n", 3),
     "m.ktensor"),
    (KTENSOR.replace("1 2\n3 4", "1 nan\n3 4", 1), "m.ktensor:9"),
    (KTENSOR[:-20], "m.ktensor"),
    ("sptensor\n3\n2 2 2\n1\n1 1 1 1.0\n", "m.ktensor:1"),
    ("", "m.ktensor")])
def test_init_file(polyad, content, says):
    if content is not None:
        polyad.write("m.ktensor", content)
    polyad.fails(1, *CPD, "--init", "m.ktensor", says=says)


def test_init_file_of_other_dims_or_rank(polyad):
    polyad.write("m.ktensor", KTENSOR)
    polyad.fails(1, "cpd", "good.tns", "-r", "3", "--init", "m.ktensor")
    polyad.write("wide.tns", "3 3 3 1\n1 1 1 2\n")
    polyad.fails(1, "cpd", "wide.tns", "-r", "2", "--init", "m.ktensor")


def test_init_file_is_used(polyad):
    polyad.write("m.ktensor", KTENSOR)
    first = polyad.json(*CPD, "--init", "m.ktensor", "--seed", "1")
    second = polyad.json(*CPD, "--init", "m.ktensor", "--seed", "2")
    assert first["fit"] == second["fit"]


# ---- H17, H18 operands

@pytest.mark.parametrize("arguments", [
    ("info",), ("info", "good.tns", "good.tns"), ("cpd", "-r", "2"), ("convert", "good.tns"),
    ("convert", "a", "b", "c"), ("score", "a"), ("generate",), ("formats", "x"), ("devices", "x"),
    ("bench",), ("bench", "mttkrp"), ("info", "")])
def test_operands(polyad, arguments):
    polyad.fails(2, *arguments)


def test_double_dash(polyad):
    polyad.write("-r", "1 1 1 1\n")
    assert polyad.json("info", "./-r")["nnz"] == 1
    result = polyad.run("info", "--json", "-", "--", "-r")
    assert result.status == 0 and result.json["nnz"] == 1


def test_long_argument(polyad):
    polyad.fails((1, 2), "info", "x" * 100000)
    polyad.fails(2, "x" * 100000)
    polyad.fails(2, *CPD, "--" + "y" * 100000)
    polyad.fails(2, *CPD, "--tol", "9" * 100000)


def test_many_arguments(polyad):
    polyad.fails(2, "info", *["good.tns"] * 10000)


@pytest.mark.parametrize("name", [b"\xff\xfe.tns", b"\x1b]0;owned\x07", b"%n%s%s", b"a\nb.tns"])
def test_argument_is_shown_escaped(polyad, name):
    result = polyad.fails(1, "info", name)
    assert "\x1b" not in result.err and "\\x" in result.err or b"%" in name
    polyad.fails(2, name)
    polyad.fails(2, *CPD, "--precision", name)


# ---- H19 locales

@pytest.mark.parametrize("locale", ["C", "de_DE.UTF-8", "tr_TR.UTF-8", ""])
def test_locale(polyad, locale):
    env = {"LC_ALL": locale}
    result = polyad.run("cpd", "good.tns", "-r", "2", "--tol", "1e-4", "--precision", "f32",
                        "--json", "-", env=env)
    assert result.status == 0 and b"," in result.out
    plain = polyad.json("cpd", "good.tns", "-r", "2", "--tol", "1e-4", "--precision", "f32")
    assert result.json["fit"] == plain["fit"]
    polyad.fails(2, *CPD, "--precision", "F32", env=env)
    polyad.fails(2, *CPD, "--tol", "1,5", env=env)


# ---- H20 generate

@pytest.mark.parametrize("arguments", [
    ("--dims", "0x3"), ("--dims", "3"), ("--dims", ""), ("--dims", "9223372036854775808,2"),
    ("--dims", "4,,4"), ("--dims", "4,0,4"), ("--dims", "4,x,4"), ("--dims", "4,4,"),
    ("--dims", ",".join(["2"] * 17)), ("--dims", "9,9", "--nnz", "-1"),
    ("--dims", "9,9", "--nnz", "0"), ("--dims", "9,9", "--rank", "0"),
    ("--dims", "9,9", "--rank", "2", "--noise", "nan"), ("--dims", "9,9", "--cluster", "1"),
    ("--dims", "9,9", "--skew", "-1"), ("--dims", "9,9", "--skew", "1,2,3"),
    ("--dims", "9,9", "--noise", "1"), ("--dims", "9,9", "--like", "uber"),
    ("--like", "nosuch"), ("--like", "uber", "--scale", "0"), ("--like", "uber", "--scale", "-1"),
    ("--like", "uber", "--structure", "real"), ("--dims", "9,9", "--structure", "flat"),
    ("--like", "uber", "--structure", "flat", "--rank", "2"), ()])
def test_generate(polyad, arguments):
    has_nnz = "--nnz" in arguments or "--like" in arguments
    polyad.fails(2, "generate", "x.tns", *arguments, *(() if has_nnz else ("--nnz", "3")))


@pytest.mark.parametrize("arguments, says", [
    (("--like", "uber", "--skew", "1"), "--skew found with --like"),
    (("--like", "uber", "--cluster", "0.5"), "--cluster found with --like"),
    (("--like", "uber", "--nnz", "9"), "--nnz found with --like"),
    (("--dims", "9,9", "--nnz", "9", "--rank", "2", "--skew", "1"), "--skew found with --rank"),
    (("--dims", "9,9", "--nnz", "9", "--rank", "2", "--poisson", "--cluster", "0.5"),
     "--cluster found with --rank"),
    (("--dims", "9,9", "--nnz", "9", "--scale", "2"), "--scale needs --like")])
def test_generate_refuses_what_would_do_nothing(polyad, arguments, says):
    polyad.fails(2, "generate", "x.tns", *arguments, says=says)


def test_generate_needs_a_count(polyad):
    polyad.fails(2, "generate", "x.tns", "--dims", "9,9", says="nnz")


def test_generate_fibers_not_published(polyad):
    polyad.fails(1, "generate", "x.tns", "--like", "art", "--structure", "fibers", says="art")


def test_generate_more_than_cells(polyad):
    polyad.fails(1, "generate", "x.tns", "--dims", "10,20", "--nnz", "201", says=("200", "201"))


# ---- H22 convert

@pytest.mark.parametrize("name", ["out.xyz", "out", "out.tns.xz", "out.gz", ".tns"])
def test_convert_to_unknown(polyad, name):
    polyad.fails(2, "convert", "good.tns", name, says=(".tns", ".ptn", ".csv"))


# ---- H23 bench

@pytest.mark.parametrize("arguments", [
    ("mttkrp", "good.tns", "--repeat", "0"), ("mttkrp", "good.tns", "--repeat", "-1"),
    ("nosuch", "good.tns"), ("mttkrp", "like:nosuch"), ("mttkrp", "like:uber@0"),
    ("mttkrp", "like:uber@x"), ("mttkrp", "good.tns", "--repeat", "1000000000"),
    ("mttkrp", "good.tns", "--structure", "flat"), ("stream", "--structure", "flat"),
    ("mttkrp", "like:uber", "--structure", "real")])
def test_bench(polyad, arguments):
    polyad.fails(2, "bench", *arguments)


def test_bench_format_unknown(polyad):
    polyad.fails(2, "bench", "mttkrp", "good.tns", "--format", "nosuch", says="csf")


# ---- H24 environment

def test_environment_is_not_an_interface(polyad):
    env = {f"POLYAD_{name}": "\x01garbage" for name in ("THREADS", "DEVICE", "FORMAT", "SEED", "X")}
    assert polyad.json(*CPD, env=env)["fit"] == polyad.json(*CPD)["fit"]


# ---- start-up

def test_version(polyad):
    for option in ("--version", "-V"):
        result = polyad.ok(option)
        assert result.out.startswith(b"polyad 0.") and b"csf" in result.out
        assert re.search(rb"^instruction set: (plain|avx2|avx512)$", result.out, re.M)


def test_the_instruction_set_can_be_named(polyad):
    """What runs is what the device says, and its model is another set's to rounding."""
    fits, run = [], (*CPD, "--tol", "0", "--max-iters", "5", "-o", "m.ktensor")
    for name in ("plain", "auto"):
        env = {"POLYAD_ISA": name}
        said = polyad.json("devices", "--kind", "cpu", env=env)["devices"][0]["capability"]
        assert name == "auto" or said == name
        assert f"instruction set: {said}\n".encode() in polyad.ok("--version", env=env).out
        fits.append(polyad.json(*run, env=env)["fit"])
    about = polyad.json("info", "good.tns")
    apart = read_model(polyad.path("m.ktensor"), "f64").drift(about["norm"], about["nnz"], 5)
    assert abs(fits[0] - fits[1]) <= apart


@pytest.mark.parametrize("arguments", [("--version",), ("devices", "--kind", "cpu"), CPD])
def test_an_unknown_instruction_set_is_an_error(polyad, arguments):
    result = polyad.run(*arguments, env={"POLYAD_ISA": "avx9"})
    assert result.status in (1, 2)
    assert "POLYAD_ISA is 'avx9'" in result.err and "expected" in result.err


@pytest.mark.parametrize(("options", "says"), [
    (("--checkpoint-every", "5"), "add --checkpoint FILE"),
    (("--tune-cache", "kept"), "add --tune"),
    (("--tune-cache=none",), "add --tune"),
    (("--stream", "never", "--spill-dir", "."), "--spill-dir found with --stream never"),
    (("--second-share", "0.3", "--device", "cpu"), "1 device is named; expected two")])
def test_what_nothing_would_heed_is_refused(polyad, options, says):
    result = polyad.run(*CPD, *options)
    assert result.status in (1, 2) and says in result.err


def test_a_directory_of_labels_that_has_none_is_refused(polyad):
    polyad.path("none").mkdir()
    for command in (CPD, ("info", "good.tns"), ("cpd", "good.tns", "-r", "2", "--stream", "always")):
        polyad.fails(1, *command, "--labels", "none", says="none: error: no label file found")
    polyad.path("none/mode-2-day.map").write_text("\n".join(f"day {k}" for k in range(1000)))
    polyad.fails(1, "info", "good.tns", "--labels", "none", says="mode-2-day.map")
    polyad.path("good.tns.labels").mkdir()  # nobody named this one
    polyad.path("good.labels").mkdir()
    polyad.ok("info", "good.tns")


@pytest.mark.parametrize(("command", "says"), [
    (("split", "good.tns", "-o", "part", "--mode", "2"), "add --negatives K"),
    (("report", "m.ptm", "-o", "page.html", "--log1p"), "--log1p found without FILE"),
    (("report", "m.ptm", "-o", "page.html", "--no-residuals"), "--no-residuals found without FILE"),
    (("report", "m.ptm", "-o", "page.html", "--labels", "."), "--labels found without FILE"),
    (("report", "m.ptm", "-o", "page.html", "--index-base", "0"), "--index-base found without FILE"),
    (("report", "m.ptm", "-o", "page.html", "--aggregate", "sum"), "--aggregate found without FILE"),
    (("report", "m.ptm", "-o", "page.html", "--delimiter", ";"), "--delimiter found without FILE"),
    (("anomalies", "m.ptm", "good.tns", "--model-kind", "gaussian", "--cells", "file"), "--cells found with"),
    (("anomalies", "m.ptm", "good.tns", "--model-kind", "gaussian", "--by", "index", "--tail", "lower"),
     "--tail found with --by index")])
def test_options_of_what_is_not_asked_for_are_refused(polyad, command, says):
    polyad.ok(*CPD, "-o", "m.ptm")
    polyad.fails(2, *command, says=says)


@pytest.mark.parametrize("name", ["x.ptn", "x.npz"])
def test_values_of_a_binary_file_are_no_pattern(polyad, name):
    polyad.ok("convert", "good.tns", name)
    polyad.fails(1, "info", name, "--pattern", says=f"{name}: error: values are asked to be 1 (pattern), but")
    polyad.write("rows.csv", "a,b\n1,2\n2,1\n")
    assert polyad.json("info", "rows.csv", "--pattern")["nnz"] == 2


def test_every_option_of_reading_needs_a_file(polyad):
    """What the help lists under reading is all that a report of a model alone refuses."""
    polyad.ok(*CPD, "-o", "m.ptm")
    text = polyad.ok("report", "--help").out.decode()
    reading = text[text.index("reading:"):].split("\n\n")[0]
    found = re.findall(r"^ +(--[a-z-]+)( \S+)?", reading, re.M)
    values = {"--index-base": "1", "--duplicates": "sum", "--aggregate": "sum", "--zeros": "drop", "--missing": "keep",
              "--numbers": "plain"}
    assert len(found) == 15
    for option, argument in found:
        polyad.fails(2, "report", "m.ptm", "-o", "page.html", option,
                     *([values.get(option, "x")] if argument else []), says=f"{option} found without FILE")


def test_a_tail_that_does_not_count_is_told(polyad):
    polyad.write("x.tns", "1 1 0.5\n2 2 -1.5\n3 1 2.5\n")
    polyad.ok("cpd", "x.tns", "-r", "1", "-o", "m.ptm")
    note = "--tail does not count"
    assert note in polyad.ok("anomalies", "m.ptm", "x.tns", "--by", "index", "--tail", "upper").err
    assert note not in polyad.ok("anomalies", "m.ptm", "x.tns", "--by", "index").err
    assert note not in polyad.ok("anomalies", "m.ptm", "x.tns", "--by", "slice", "--tail", "upper").err
