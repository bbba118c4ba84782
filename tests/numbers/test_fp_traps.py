"""Decompositions of hostile tensors with invalid floating-point operations trapping in every thread
(fp_traps.c): a NaN is noticed where it arises, also where a later step would hide it."""

import os
import signal
import subprocess

import pytest
from hostile_tensors import hostile_tensors
from reliability_figures import record
from without_modules import without_modules

TRAPS, CANARY = os.environ["POLYAD_FP_TRAPS"], os.environ["POLYAD_FP_CANARY"]
# Each is done with three threads, which share even the smallest work where the format lets them.
METHODS = {
    "als": ("cpd", "-r", "R"),
    "nonnegative": ("cpd", "-r", "R", "--nonnegative"),
    "ridge": ("cpd", "-r", "R", "--ridge", "0.1"),
    "hosvd": ("cpd", "-r", "R", "--init", "hosvd"),
    "apr-mu": ("cpd", "-r", "R", "-a", "apr-mu"),
    "apr-pdnr": ("cpd", "-r", "R", "-a", "apr-pdnr"),
    "apr-pqnr": ("cpd", "-r", "R", "-a", "apr-pqnr"),
    "absent als": ("cpd", "-r", "R", "--absent", "unknown", "--biases"),
    "absent ccd": ("cpd", "-r", "R", "--absent", "unknown", "-a", "ccd"),
    "absent sgd": ("cpd", "-r", "R", "--absent", "unknown", "-a", "sgd"),
    "tucker": ("tucker", "-r", "2"),
    "tucker auto": ("tucker", "-r", "auto:0.9"),
    "rank": ("rank", "-r", "1-3", "--starts", "2"),
}
# `update` is not among them: it tells sums that overflow by the infinities and NaN that they are.
AFTER = {
    "core-consistency": ("core-consistency", "m.ktensor", "x.tns"),
    "predict": ("predict", "m.ktensor", "x.tns"),
    "project": ("project", "m.ktensor", "x.tns", "--mode", "1", "-o", "p.ktensor"),
    "anomalies": ("anomalies", "m.ktensor", "x.tns"),
}
reached = {"runs": 0, "refused": 0, "methods": len(METHODS) + len(AFTER)}


def teardown_module():
    record("fp_traps", **reached)


@pytest.mark.parametrize("what", ["main", "thread", "worker", "compare"])
def test_a_planted_invalid_operation_is_caught(what):
    assert subprocess.run([CANARY, what], check=False).returncode == 0
    found = subprocess.run([CANARY, what], env={**os.environ, "LD_PRELOAD": TRAPS}, check=False,
                           capture_output=True)
    assert found.returncode == -signal.SIGFPE, found
    assert b"trap: invalid floating-point operation" in found.stderr


def test_what_is_exact_goes_on():
    assert subprocess.run([CANARY, "exact"], env={**os.environ, "LD_PRELOAD": TRAPS},
                          check=False).returncode == 0


def run(polyad, where, environment, *words):
    """Status 0, or 1 with its one line of error: counts have no negative values, for one."""
    result = polyad.run(*words, "--threads", "3", "--quiet", env=environment)
    assert result.status in (0, 1), (where, words, result.status, result.err)
    assert result.status == 0 or result.err.count("error:") == 1, (where, words, result.err)
    reached["runs" if result.status == 0 else "refused"] += 1
    return result.status == 0


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_hostile_tensors_by_every_method(polyad, tmp_path, precision):
    environment = {**without_modules(tmp_path), "LD_PRELOAD": TRAPS}
    for name, (cells, rank) in hostile_tensors(precision).items():
        polyad.write("x.tns", "".join(f"{' '.join(str(i + 1) for i in index)} {value!r}\n"
                                      for index, value in cells.items()))
        for method, words in METHODS.items():
            words = [str(rank) if word == "R" else word for word in words]
            run(polyad, (name, method), environment, words[0], "x.tns", *words[1:],
                "--max-iters", "40", "--precision", precision)
        assert run(polyad, name, environment, "cpd", "x.tns", "-r", rank, "--output", "m.ktensor")
        for method, words in AFTER.items():
            run(polyad, (name, method), environment, *words)
