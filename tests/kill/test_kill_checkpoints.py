"""SIGKILL at every call that changes files while checkpoints are written: one that is there is
resumed from, and the run ends with the bits of the run that was left alone."""

import pytest
from faults import ENDINGS, SHIM, kill_everywhere
from reliability_figures import record
from writers import temporaries

pytestmark = pytest.mark.skipif(not SHIM, reason="built with sanitizers: no LD_PRELOAD")
ALGORITHMS = ["als", "apr-mu", "apr-pdnr", "apr-pqnr"]
reached = {"kills": 0, "resumed": 0, "lost": 0}


def teardown_module():
    record("kill_checkpoints", algorithms=len(ALGORITHMS), **reached)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_checkpoints_are_resumed_to_the_same_bits(polyad, algorithm, ending):
    run = ("cpd", "good.tns", "-r", "2", "--threads", "2", "--max-iters", "4", "--tol", "0",
           "--algorithm", algorithm)
    passive = {"OMP_WAIT_POLICY": "passive"}
    polyad.ok(*run, "--output", "whole.ktensor", env=passive)
    whole = polyad.path("whole.ktensor").read_bytes()

    def clear():
        for name in ("state", "state.prev", "m.ktensor"):
            polyad.path(name).unlink(missing_ok=True)

    def check(at):
        more = ()
        if polyad.path("state").exists() or polyad.path("state.prev").exists():
            assert polyad.path("state").exists(), f"kill {at}: FILE is missing beside FILE.prev"
            more = ("--resume", "state")
            reached["resumed"] += 1
        polyad.ok(*run, "--checkpoint", "state", *more, "--output", "m.ktensor", env=passive)
        assert polyad.path("m.ktensor").read_bytes() == whole, f"kill {at}"
        assert not [t for t in temporaries(polyad.folder) if t.startswith(".state")]

    kills = kill_everywhere(polyad, (*run, "--checkpoint", "state", "--checkpoint-every", "1"),
                            ending, "state", clear, check)
    assert kills >= (40 if ending == "before the call" else 8)
    reached["kills"] += kills
