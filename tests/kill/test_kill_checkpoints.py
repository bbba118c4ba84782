"""SIGKILL at every call that changes files while checkpoints are written: one that is there is
resumed from, and the run ends with the bits of the run that was left alone. The same of updates of
a model in place."""

import pytest
from faults import ENDINGS, SHIM, kill_everywhere
from reliability_figures import record
from writers import temporaries

pytestmark = pytest.mark.skipif(not SHIM, reason="built with sanitizers: no LD_PRELOAD")
UNKNOWN = ("--absent", "unknown")
ALGORITHMS = [("als",), ("apr-mu",), ("apr-pdnr",), ("apr-pqnr",), ("als", *UNKNOWN), ("sgd", *UNKNOWN)]
reached = {"kills": 0, "resumed": 0, "lost": 0}
updates = {"kills": 0, "redone": 0, "lost": 0}


def teardown_module():
    record("kill_checkpoints", algorithms=len(ALGORITHMS), **reached)
    record("kill_updates", **updates)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids="-".join)
def test_checkpoints_are_resumed_to_the_same_bits(polyad, algorithm, ending):
    run = ("cpd", "good.tns", "-r", "2", "--threads", "2", "--max-iters", "4", "--tol", "0",
           "--algorithm", *algorithm)
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


@pytest.mark.parametrize("ending", ENDINGS)
def test_updates_keep_model_and_sums_together(polyad, ending):
    """Two updates in place, the first one killed: where the model is still the one before, it is
    done again. Both go on with the sums, to the bits of updates that nobody disturbed."""
    few = ("--mode", "3", "--threads", "1", "--forget", "0.9")
    names = ("m.ptm", "m.ptm.state.ptm", "m.ptm.state.ptm.prev")
    polyad.write("day1.tns", "1 1 1 2\n2 1 1 1\n2 2 1 3\n")
    polyad.write("day2.tns", "1 2 1 1\n2 2 1 2\n1 1 2 4\n")
    polyad.ok("cpd", "good.tns", "-r", "2", "--threads", "1", "--max-iters", "3", "-o", "start.ptm")

    def update(new):
        return ("update", "m.ptm", new, *few, "-o", "m.ptm", "--unseen", "skip")

    def contents():
        return [polyad.path(name).read_bytes() if polyad.path(name).exists() else None
                for name in names]

    def put(what):
        for name, content in zip(names, what):
            polyad.path(name).unlink(missing_ok=True)
            if content is not None:
                polyad.write(name, content)

    put((polyad.path("start.ptm").read_bytes(), None, None))
    polyad.ok(*update("day1.tns"))  # so that there are sums
    begin = contents()
    polyad.ok(*update("day2.tns"))
    middle = contents()
    polyad.ok(*update("day1.tns"))
    end = contents()
    assert begin[2] is None and begin[:2] != middle[:2]

    def check(at):
        if contents()[0] != middle[0]:
            assert contents()[0] == begin[0], f"kill {at}: a torn model"
            assert polyad.json(*update("day2.tns"))["resumed"], f"kill {at}"
            updates["redone"] += 1
        assert contents()[:2] == middle[:2], f"kill {at}"
        assert polyad.json(*update("day1.tns"))["resumed"], f"kill {at}"
        assert contents() == end, f"kill {at}"
        assert not temporaries(polyad.folder)

    kills = kill_everywhere(polyad, update("day2.tns"), ending, "m.ptm", lambda: put(begin), check)
    assert kills >= (10 if ending == "before the call" else 2)
    updates["kills"] += kills


def test_scans_of_ranks_go_on_to_the_same_numbers(polyad):
    """A scan keeps the ranks that are done: those of the tensor, then of each fold."""
    polyad.ok("generate", "--dims", "9,8,7", "--nnz", "120", "--rank", "2", "x.tns")
    run = ("rank", "x.tns", "--ranks", "1-2", "--starts", "2", "--folds", "2", "--threads", "2",
           "--max-iters", "4", "--device", "cpu")
    passive = {"OMP_WAIT_POLICY": "passive"}

    def numbers(*more):
        found = polyad.json(*run, *more, env=passive)
        return [{key: value for key, value in row.items() if key != "seconds"}
                for row in found["ranks"]], found["reason"]

    whole, resumed = numbers(), []

    def clear():
        for name in ("state", "state.prev"):
            polyad.path(name).unlink(missing_ok=True)

    def check(at):
        more = ("--resume", "state") if polyad.path("state").exists() else ()
        assert more or not polyad.path("state.prev").exists(), f"kill {at}"
        resumed.extend(more[1:])
        assert numbers("--checkpoint", "state", *more) == whole, f"kill {at}"
        assert not [t for t in temporaries(polyad.folder) if t.startswith(".state")]

    kills = kill_everywhere(polyad, (*run, "--checkpoint", "state"), "before the call", "state",
                            clear, check)
    assert kills >= 10 and len(resumed) >= 5
