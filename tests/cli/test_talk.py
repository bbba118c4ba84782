"""What the command says: modes counted from 1, results with --quiet, how starts and signals end."""

import json
import math
import os
import re
import resource
import signal
import subprocess
import time

import pytest

from conftest import COMMAND, check_error
from raised_fit import raise_fit

SANITIZED = bool(os.environ.get("POLYAD_SANITIZE"))

MODEL = "ktensor\n3\n{0} {1} {2}\n1\n1\n"


def write_model(polyad, name, *dims):
    text = MODEL.format(*dims)
    for length in dims:
        text += f"matrix\n2\n{length} 1\n" + "1\n" * length
    polyad.write(name, text)


# ---- modes are counted from 1 -------------------------------------------------------------------

def test_score_names_the_mode_as_people_count(polyad):
    write_model(polyad, "a.ktensor", 4, 5, 6)
    write_model(polyad, "b.ktensor", 4, 9, 6)
    polyad.fails(1, "score", "a.ktensor", "b.ktensor", says="mode 2 has length 5 in one model and 9")


def test_generate_names_the_mode_as_people_count(polyad):
    polyad.fails(1, "generate", "--dims", "4,5", "--nnz", "3", "--skew", "0,9", "o.tns",
                 says="skew 9 of mode 2")


# ---- --quiet keeps results ----------------------------------------------------------------------

@pytest.mark.parametrize("arguments", [
    ("info", "good.tns"), ("formats",), ("devices",), ("score", "m.ktensor", "m.ktensor"),
    ("cpd", "good.tns", "-r", "1"), ("tucker", "good.tns", "-r", "1"),
    ("bench", "read", "good.tns", "--repeat", "1")])
def test_quiet_keeps_results(polyad, arguments):
    polyad.ok("cpd", "good.tns", "-r", "1", "-o", "m.ktensor")
    quiet = polyad.ok(*arguments, "--quiet")
    assert quiet.err == ""
    assert len(quiet.out.splitlines()) == len(polyad.ok(*arguments).out.splitlines()) > 0


def test_a_plan_of_nothing_is_compared_with_nothing(polyad):
    polyad.write("zero.tns", "1 1 1 0\n")
    err = polyad.run("cpd", "zero.tns", "-r", "2", "--verbose").err
    assert re.search(r"^not csf: estimated 0 s [^(]*, \d", err, re.M), err
    assert not re.search(r"\b(nan|inf)\b", err)


def test_shares_of_an_extreme_core_are_told(polyad):
    polyad.write("huge.tns", "1 1 1 3e300\n2 1 2 4e300\n1 2 2 1e290\n")
    out = polyad.ok("tucker", "huge.tns", "-r", "2").out.decode()
    shares = [int(share) for share in re.findall(r"\((\S+)% of the model's squared norm\)", out)]
    assert shares[0] == 64 and sum(shares) == pytest.approx(100, abs=len(shares))


def test_shares_of_weights_whose_sum_overflows_are_told(polyad):
    polyad.write("huge.tns", "".join(f"{i} {i} {i} 1.5e308\n" for i in (1, 2, 3, 4)))
    out = polyad.ok("cpd", "huge.tns", "-r", "4", "--init", "hosvd",
                    "--report", "huge.html").out.decode()
    page = polyad.path("huge.html").read_text()
    assert out.count("(25% of all weights)") == page.count("(25.0 % of all weights)") == 4


# ---- several starts -----------------------------------------------------------------------------

def test_every_start_is_told(polyad):
    polyad.ok("generate", "--dims", "30,20,10", "--nnz", "600", "--rank", "3", "x.tns")
    result = polyad.ok("cpd", "x.tns", "-r", "3", "--restarts", "4", "--json", "j.json")
    starts = json.loads(polyad.path("j.json").read_text())["starts"]
    lines = re.findall(r"^start (\d): fit (-?[\d.]+) after (\d+) iterations? \((\w+)\)$",
                       result.err, re.M)
    assert [int(number) for number, *_ in lines] == [1, 2, 3, 4]
    for (_, fit, iterations, reason), start in zip(lines, starts, strict=True):
        assert float(fit) == pytest.approx(start["fit"], abs=1e-6)
        assert (int(iterations), reason) == (start["iterations"], start["reason"])
    fits = [start["fit"] for start in starts]
    assert f"4 starts: fit from {min(fits):.6f} to {max(fits):.6f}" in result.err
    differ = "the starts ended in different models" in result.err
    assert differ == (max(fits) - min(fits) > 1e-3)
    told = polyad.ok("cpd", "x.tns", "-r", "3", "--restarts", "4", "--verbose").err
    for number, start in enumerate(starts, 1):  # they run side by side: each line tells whose it is
        name = f"rank 3, start {number}: "
        assert len(re.findall(rf"^{name}iteration \d+: fit ", told, re.M)) == start["iterations"]
        assert re.search(rf"^{name}fit .* after {start['iterations']} iterations", told, re.M)
    assert not re.search(r"^iteration|after 0 iterations", told, re.M)
    assert "start 1" not in polyad.ok("cpd", "x.tns", "-r", "3").err


def test_starts_of_counts_are_told_by_their_likelihood(polyad):
    polyad.ok("generate", "--dims", "9,8,7", "--nnz", "90", "--rank", "2", "--poisson", "x.tns")
    found = polyad.json("cpd", "x.tns", "-r", "2", "-a", "apr-mu", "--restarts", "2", "-i", "5")
    assert [set(start) for start in found["starts"]] == 2 * [
        {"log_likelihood", "iterations", "reason"}]
    assert max(s["log_likelihood"] for s in found["starts"]) == found["log_likelihood"]


# ---- times add up --------------------------------------------------------------------------------

PARTS = ("start", "read", "build", "init", "iterations", "finish", "write")


def parts_of(found):
    each = [found[f"seconds_{part}"] for part in PARTS]
    assert all(seconds >= 0 for seconds in each)
    assert sum(each) == pytest.approx(found["seconds_wall"], rel=len(each) * 2**-52)
    return dict(zip(PARTS, each, strict=True))


@pytest.mark.parametrize("arguments", [
    ("cpd", "x.tns", "-r", "2", "--restarts", "3"),
    ("cpd", "x.tns", "-r", "2", "-a", "apr-mu", "-i", "4"), ("tucker", "x.tns", "-r", "2")])
def test_parts_of_a_decomposition_add_up(polyad, arguments):
    polyad.ok("generate", "--dims", "30,20,10", "--nnz", "600", "--rank", "2", "--poisson", "x.tns")
    found = polyad.json(*arguments, "-o", "m.txt")
    parts = parts_of(found)
    assert all(seconds > 0 for seconds in parts.values())
    assert found["seconds_init"] + found["seconds_iterations"] <= found["seconds"] + 1e-9  # rounded


# What each command does, by the parts that must not be empty.
COMMANDS = {
    ("rank", "x.tns", "-r", "1-2", "--starts", "2"): {"read", "build", "iterations"},
    ("cpd", "x.tns", "-r", "2", "--absent", "unknown", "-i", "3"):
        {"read", "build", "init", "iterations"},
    ("info", "x.tns"): {"read", "iterations"},
    ("convert", "x.tns", "y.ptn"): {"read", "write"},
    ("score", "m.ktensor", "m.ktensor"): {"read", "iterations"},
    ("core-consistency", "m.ktensor", "x.tns"): {"read", "iterations"},
    ("predict", "m.ktensor", "x.tns", "-o", "p.tns"): {"read", "iterations", "write"},
    ("project", "m.ktensor", "x.tns", "--mode", "1", "-o", "n.ktensor"):
        {"read", "iterations", "write"},
    ("update", "m.ktensor", "x.tns", "--mode", "1", "-o", "u.ktensor"):
        {"read", "init", "iterations", "write"},
    ("anomalies", "m.ktensor", "x.tns", "-o", "a.csv"): {"read", "iterations", "write"},
    ("split", "x.tns", "-o", "part"): {"read", "iterations", "write"},
    ("generate", "--dims", "9,8,7", "--nnz", "50", "-r", "1", "--truth", "t.ktensor", "g.tns"):
        {"iterations", "write"},
    ("generate", "--dims", "9,8,7", "--nnz", "50", "s.tns"): {"write"},
    ("report", "m.ktensor", "x.tns", "-o", "r.html"): {"read", "write"},
    ("bench", "end-to-end", "x.tns", "-r", "2", "-i", "2"): {"read", "build", "init", "iterations"},
    ("formats",): set(),
}


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda words: words[0])
def test_every_command_tells_where_its_time_went(polyad, arguments):
    polyad.ok("generate", "--dims", "30,20,10", "--nnz", "600", "--rank", "2", "--poisson",
              "--truth", "m.ktensor", "x.tns")
    parts = parts_of(polyad.json(*arguments))
    spent = {part for part, seconds in parts.items() if seconds > 0} - {"start", "finish"}
    assert COMMANDS[arguments] <= spent <= COMMANDS[arguments] | {"write", "build"}


@pytest.mark.skipif(SANITIZED or "POLYAD_COVERAGE" in os.environ,
                    reason="leaks are looked for, or counters written, after the command's end")
@pytest.mark.parametrize("arguments", [("cpd", "big.ptn", "-r", "8", "-i", "5"), *COMMANDS],
                         ids=lambda words: words[0])
def test_the_parts_are_the_shell_s_time(polyad, arguments):
    """Within 10 ms, or 2 %: the least of a few runs, since a busy machine starts processes late."""
    polyad.ok("generate", "--dims", "3000,2000,1000", "--nnz", "200000", "big.ptn")
    polyad.ok("generate", "--dims", "30,20,10", "--nnz", "600", "--rank", "2", "--poisson",
              "--truth", "m.ktensor", "x.tns")
    for _ in range(8):
        begin = time.perf_counter()
        done = subprocess.run([COMMAND, *arguments, "--json", "-"], cwd=polyad.folder,
                              capture_output=True, check=True)
        clock = time.perf_counter() - begin
        wall = json.loads(done.stdout)["seconds_wall"]
        if abs(clock - wall) <= max(0.010, 0.02 * clock):
            return
    pytest.fail(f"{wall} s are told, and the shell saw {clock} s")


def test_totals_stand_beside_medians(polyad):
    polyad.ok("generate", "--dims", "30,20,10", "--nnz", "600", "--rank", "2", "x.tns")
    found = polyad.json("cpd", "x.tns", "-r", "2", "-i", "9", "--tol", "0")
    for median, total in zip(found["seconds_mttkrp"], found["seconds_mttkrp_total"], strict=True):
        assert 0 < 5 * median <= total  # five of nine times are at least the median
    assert sum(found["seconds_mttkrp_total"]) <= found["seconds_iterations"]


# ---- signals -------------------------------------------------------------------------------------

def start(polyad, *options, **popen):
    polyad.ok("generate", "--dims", "60,50,40", "--nnz", "5000", "x.ptn")
    return subprocess.Popen(
        [COMMAND, "cpd", "x.ptn", "-r", "8", "--tol", "0", "-i", "100000000", *options],
        cwd=polyad.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen)


def wait_for(path):
    end = time.monotonic() + 60
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_says_what_is_kept(polyad, number):
    process = start(polyad, "-o", "m.ktensor", "--checkpoint", "state", "--json", "j.json")
    wait_for(polyad.path("state"))
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    done = json.loads(polyad.path("j.json").read_text())["iterations"]
    assert (f"polyad: stopped after iteration {done}; model in m.ktensor; go on with --resume state\n"
            in err)
    polyad.ok("cpd", "x.ptn", "-r", "8", "-i", done, "--tol", "0", "--resume", "state")


def test_a_stopped_run_without_output_says_so(polyad):
    process = start(polyad, "--top", "0")
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "; the model is kept by --output or --checkpoint only\n" in err


@pytest.mark.parametrize("limits", [(1, 60), (2, 2)])
def test_the_limit_of_processor_time_keeps_the_model(polyad, limits):
    """Soft and hard limit, or both at once as `ulimit -t` sets them."""
    process = start(polyad, "-o", "m.ktensor",
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limits))
    _, err = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGXCPU, err
    assert "; model in m.ktensor" in err
    polyad.ok("score", "m.ktensor", "m.ktensor")


# ---- score ---------------------------------------------------------------------------------------

def test_score_tells_cosines(polyad):
    """Columns (3, 4) and (4, 3) have the cosine 24/25; huge and tiny scales change nothing."""
    head = "ktensor\n2\n2 1\n1\n1\n"
    polyad.write("a.ktensor", head + "matrix\n2\n2 1\n3e200\n4e200\nmatrix\n2\n1 1\n1\n")
    polyad.write("b.ktensor", head + "matrix\n2\n2 1\n4e-200\n3e-200\nmatrix\n2\n1 1\n-1\n")
    out = polyad.ok("score", "a.ktensor", "b.ktensor", "--verbose").out.decode()
    assert "component 1 of B matches 1 of A; cosine of each mode: 0.9600 -1.0000\n" in out
    found = polyad.json("score", "a.ktensor", "b.ktensor")["cosines"]
    assert found == [[pytest.approx(0.96, abs=8 * 2**-53), -1]]


# ---- memory --------------------------------------------------------------------------------------

def test_a_refusal_of_memory_adds_up(polyad):
    polyad.ok("generate", "--dims", "3000,2000,1000", "--nnz", "300000", "x.ptn")
    result = polyad.run("cpd", "x.ptn", "-r", "16", "--memory-limit", "12M",
                        "--stream", "never")
    assert result.status == 1
    check_error(result.err.splitlines()[-1])
    found = re.search(r"([\d.]+) MiB \(\d+ bytes\) more are needed and ([\d.]+) ([KM])iB are in use, "
                      r"([\d.]+) MiB in all; the memory limit is 12.0 MiB", result.err)
    assert found, result.err
    need, used, unit, total = found.groups()
    used = float(used) / (1024 if unit == "K" else 1)
    assert float(need) + used == pytest.approx(float(total), abs=0.15)  # each has one decimal
    assert float(total) > 12


def test_a_ridge_that_outweighs_the_data(polyad):
    """Its rows are zero for another reason than that their slices are empty."""
    found = polyad.json("cpd", "good.tns", "-r", "2", "--ridge", "1e308")
    assert found["diagnosis"].endswith("components are zero: the data supports a lower rank, or the "
                                       "ridge outweighs them.")
    assert "no nonzero" not in found["diagnosis"]


# ---- breakdowns ----------------------------------------------------------------------------------

def test_a_breakdown_is_a_warning(polyad):
    """The run itself, not polyad.run(): the model's fit is not what the raised state says."""
    options = ("cpd", "x.tns", "-r", "3", "--tol", "0", "--threads", "1")
    polyad.ok("generate", "--dims", "12,11,10", "--nnz", "400", "x.tns")
    first = polyad.json(*options, "--max-iters", "5", "--checkpoint", "state", "--output", "a.ktensor")
    if not raise_fit(polyad.path("state"), first["fit"], 0.25):
        pytest.skip("no libxxhash")
    run = subprocess.run([COMMAND, *options, "--max-iters", "9", "--resume", "state", "--output",
                          "b.ktensor", "--json", "j.json"], cwd=polyad.folder, capture_output=True,
                         text=True, check=False)
    found = json.loads(polyad.path("j.json").read_text())
    assert run.returncode == 0, run.stderr
    assert re.search(r"^polyad: warning: The fit fell to \S+ in iteration 6, ", run.stderr, re.M)
    assert (found["reason"], found["converged"], found["iterations"]) == ("breakdown", False, 5)
    assert found["diagnosis"].startswith("The fit fell to")
    assert polyad.path("a.ktensor").read_bytes() == polyad.path("b.ktensor").read_bytes()
