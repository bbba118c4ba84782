"""SIGKILL at random instants of runs that write checkpoints after every iteration, and of
conversions. A run that is killed, perhaps more than once, and resumed ends with the bits of the run
that was left alone; an output is the old one or the whole new one.

With no loss in K kills, at 95% confidence less than 3/K of all kills lose anything."""

import os
import random
import subprocess
import time

import pytest
from conftest import COMMAND
from reliability_figures import record

# Threads that wait must not spin: other tests run beside this one.
PASSIVE = {"OMP_WAIT_POLICY": "passive"}
ALGORITHMS = [("als",), ("als", "--nonnegative"), ("als", "--precision", "f32"), ("apr-mu",),
              ("apr-pdnr",), ("apr-pqnr",), ("als", "--absent", "unknown"),
              ("ccd", "--absent", "unknown"), ("sgd", "--absent", "unknown")]


def kill_after(polyad, seconds, *arguments):
    """Whether the process was still running when it was killed."""
    process = subprocess.Popen([COMMAND, *arguments, "--quiet"], cwd=polyad.folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env={**os.environ, **PASSIVE})
    try:
        _, err = process.communicate(timeout=seconds)
        assert process.returncode == 0, err
        return False
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return True


class Run:
    """A decomposition, its bits when nothing disturbs it, and how long it takes."""

    def __init__(self, polyad, algorithm):
        self.polyad = polyad
        self.arguments = ("cpd", "x.ptn", "-r", "3", "--threads", "2", "--tol", "0", "--algorithm",
                          *algorithm, "--max-iters", "15", "--checkpoint", "state",
                          "--checkpoint-every", "1", "--output", "m.ktensor")
        self.clear()
        begin = time.monotonic()
        polyad.ok(*self.arguments, env=PASSIVE)
        self.seconds = time.monotonic() - begin
        self.bits = polyad.path("m.ktensor").read_bytes()

    def clear(self):
        for name in ("state", "state.prev", "m.ktensor"):
            self.polyad.path(name).unlink(missing_ok=True)

    def resume(self):
        return ("--resume", "state") if self.polyad.path("state").exists() else ()

    def disturb(self, choose, kills):
        """Kills up to `kills` times, then lets the run end; returns how often it was killed and
        how often it went on from a checkpoint."""
        self.clear()
        killed = resumed = 0
        for _ in range(kills):
            more = self.resume()
            resumed += bool(more)
            if not kill_after(self.polyad, choose.uniform(0, self.seconds), *self.arguments, *more):
                break
            killed += 1
        more = self.resume()
        resumed += bool(more)
        self.polyad.ok(*self.arguments, *more, env=PASSIVE)
        assert self.polyad.path("m.ktensor").read_bytes() == self.bits
        return killed, resumed


def kill_runs(polyad, wanted, name):
    polyad.ok("generate", "x.ptn", "--dims", "30,20,10", "--nnz", "900", "--rank", "3",
              "--poisson", "--seed", "1")
    choose = random.Random(wanted)
    runs = [Run(polyad, algorithm) for algorithm in ALGORITHMS]
    killed = resumed = rounds = 0
    while killed < wanted:
        assert rounds < 4 * wanted, "runs end before they are killed"
        more, went_on = runs[rounds % len(runs)].disturb(choose, choose.choice((1, 1, 2, 3)))
        killed += more
        resumed += went_on
        rounds += 1
    assert resumed > killed / 4
    record(name, killed=killed, resumed=resumed, lost=0)


def kill_conversions(polyad, wanted, name):
    polyad.ok("generate", "x.ptn", "--dims", "600,500,400", "--nnz", "60000", "--seed", "1")
    choose, killed, rounds = random.Random(wanted), 0, 0
    targets = {}
    for target in ("out.tns", "out.tns.gz", "out.tns.zst", "out.ptn", "out.csv"):
        begin = time.monotonic()
        polyad.ok("convert", "x.ptn", target)
        targets[target] = time.monotonic() - begin, polyad.path(target).read_bytes()
    while killed < wanted:
        assert rounds < 6 * wanted, "conversions end before they are killed"
        target, (seconds, new) = choose.choice(list(targets.items()))
        polyad.write(target, "old")
        killed += kill_after(polyad, choose.uniform(0, seconds), "convert", "x.ptn", target)
        assert polyad.path(target).read_bytes() in (b"old", new)
        rounds += 1
    record(name, killed=killed, torn=0)


def test_100_kills_lose_nothing(polyad):
    kill_runs(polyad, 100, "kill_random")


def test_40_killed_conversions_tear_nothing(polyad):
    kill_conversions(polyad, 40, "kill_convert")


@pytest.mark.long
def test_1000_kills_lose_nothing(polyad):
    kill_runs(polyad, 1000, "kill_random_long")


@pytest.mark.long
def test_400_killed_conversions_tear_nothing(polyad):
    kill_conversions(polyad, 400, "kill_convert_long")
