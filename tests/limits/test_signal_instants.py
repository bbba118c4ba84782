"""SIGINT and SIGTERM at random instants of a decomposition: it ends soon, with the status of the
signal, the best model, whole JSON and a checkpoint from which it can go on."""

import json
import os
import random
import signal
import subprocess
import time

import pytest
from conftest import COMMAND, validate
from reliability_figures import record

STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}
ARGUMENTS = ("cpd", "x.ptn", "-r", "4", "--tol", "0", "--threads", "2", "--quiet", "--output",
             "m.ktensor", "--json", "m.json")


def interrupt(polyad, choose, number):
    """Seconds from the signal to the end."""
    for name in ("state", "state.prev", "m.ktensor", "m.json"):
        polyad.path(name).unlink(missing_ok=True)
    process = subprocess.Popen(
        [COMMAND, *ARGUMENTS, "--max-iters", "10000000", "--checkpoint", "state",
         "--checkpoint-every", "1"], cwd=polyad.folder, stderr=subprocess.PIPE,
        env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    deadline = time.monotonic() + 60
    while not polyad.path("state").exists():  # the first checkpoint: iterations are running
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.002)
    time.sleep(choose.uniform(0, 0.1))
    begin = time.monotonic()
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    seconds = time.monotonic() - begin
    assert process.returncode == STATUS[number] and err == b"", (process.returncode, err)
    result = json.loads(polyad.path("m.json").read_text())
    validate("cpd", result)
    assert result["reason"] == "cancelled" and result["iterations"] >= 1
    assert not [p.name for p in polyad.folder.iterdir() if p.name.endswith(".tmp")]
    polyad.ok("score", "m.ktensor", "m.ktensor")
    polyad.ok(*ARGUMENTS, "--max-iters", str(result["iterations"] + 1), "--resume", "state")
    return seconds


@pytest.mark.parametrize("number", STATUS, ids=lambda number: number.name)
def test_20_random_instants(polyad, number):
    polyad.ok("generate", "x.ptn", "--dims", "60,50,40", "--nnz", "3000", "--seed", "1")
    choose = random.Random(int(number))
    seconds = [interrupt(polyad, choose, number) for _ in range(20)]
    assert max(seconds) < 5, seconds
    record(f"signals_{number.name.lower()}", instants=len(seconds),
           slowest_milliseconds=round(1000 * max(seconds)))
