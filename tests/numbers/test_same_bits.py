"""The same input gives the same bits: run after run with 1, 3 and 7 threads, whatever the order of
the nonzeros in the file. Two threads would prove nothing: a + b = b + a."""

import hashlib
import random

import pytest
from reliability_figures import record
from without_modules import without_modules

ALGORITHMS = {
    "mttkrp": [("cpd", "x.tns", "-r", "5"), ("cpd", "x.tns", "-r", "5", "--precision", "f32")],
    "phi": [("cpd", "x.tns", "-r", "5", "-a", name) for name in ("apr-mu", "apr-pdnr", "apr-pqnr")],
    "ttmc": [("tucker", "x.tns", "-r", "3,3,3")],
}
reached = {"runs": 0, "cases": 0}


def make_input(polyad):
    choose = random.Random(1)
    cells = sorted({(choose.randint(1, 40), choose.randint(1, 30),
                     int(20 * choose.random() ** 3) + 1) for _ in range(3000)})
    lines = [f"{i} {j} {k} {choose.randint(1, 9)}\n" for i, j, k in cells]
    polyad.write("x.tns", "".join(lines))
    choose.shuffle(lines)
    polyad.write("shuffled.tns", "".join(lines))


def bits(polyad, environment, arguments, threads, name):
    polyad.ok(*arguments, "--format", name, "--threads", threads, "--max-iters", "4", "--tol", "0",
              "--quiet", "--output", "model", env=environment)
    reached["runs"] += 1
    return hashlib.sha256(polyad.path("model").read_bytes()).hexdigest()


def compare_runs(polyad, tmp_path, repeats):
    make_input(polyad)
    environment = without_modules(tmp_path)
    formats = [f for f in polyad.json("formats", env=environment)["formats"] if "cpu" in f["deterministic"].split()]
    assert len(formats) >= 6
    for about in formats:
        for kernel, commands in ALGORITHMS.items():
            if kernel not in about["kernels"] or (kernel == "phi" and about["name"] != "coo"
                                                  and repeats < 10):
                continue
            if kernel == "phi" and about["name"] == "portable":
                continue  # it has no log-likelihood, which CP-APR reports
            for arguments in commands:
                for threads in (1, 3, 7):
                    seen = {bits(polyad, environment, arguments, threads, about["name"])
                            for _ in range(repeats)}
                    other = [a if a != "x.tns" else "shuffled.tns" for a in arguments]
                    seen.add(bits(polyad, environment, other, threads, about["name"]))
                    assert len(seen) == 1, (about["name"], arguments, threads)
                    reached["cases"] += 1


def test_runs_give_the_same_bits(polyad, tmp_path):
    compare_runs(polyad, tmp_path, 3)
    record("same_bits", **reached)


@pytest.mark.long
def test_20_runs_give_the_same_bits(polyad, tmp_path):
    compare_runs(polyad, tmp_path, 20)
    record("same_bits_long", **reached)
