"""Power cuts: what a run wrote is recorded and replayed with data and names that were not synced
dropped, zeroed or cut. In every state the output is the old one or the whole new one, and of a
checkpoint the previous one or the new one can be resumed from, to the same bits: never neither."""

import random

import pytest
from crash_states import Change, read_record, states
from faults import SHIM
from reliability_figures import record
from writers import OLD

pytestmark = pytest.mark.skipif(not SHIM, reason="built with sanitizers: no LD_PRELOAD")


def record_run(polyad, *arguments):
    """The changes that a run makes in its folder; names in them are relative to it."""
    folder = str(polyad.folder.resolve())
    env = {"LD_PRELOAD": SHIM, "FAULT_NAME": "", "FAULT_LOG": "record",
           "OMP_WAIT_POLICY": "passive"}
    polyad.ok(*arguments, env=env)
    changes = read_record(polyad.path("record"))
    polyad.path("record").unlink()
    for change in changes:
        for name in ("path", "target"):
            if getattr(change, name, "").startswith(folder + "/"):
                setattr(change, name, getattr(change, name)[len(folder) + 1:])
    return changes


def restore(polyad, files, keep):
    for path in polyad.folder.iterdir():
        if path.name not in keep:
            path.unlink()
    for name, data in files.items():
        polyad.path(name).write_bytes(data)


class Checkpointed:
    """A run with checkpoints: its record, its checkpoints and its result."""

    def __init__(self, polyad, algorithm):
        self.polyad = polyad
        self.run = ("cpd", "good.tns", "-r", "2", "--threads", "2", "--max-iters", "4", "--tol",
                    "0", "--algorithm", algorithm)
        polyad.ok(*self.run, "--output", "m.ktensor")
        self.model = polyad.path("m.ktensor").read_bytes()
        polyad.path("m.ktensor").unlink()
        self.record = record_run(polyad, *self.run, "--checkpoint", "state", "--checkpoint-every",
                                 "1")
        for name in ("state", "state.prev"):
            polyad.path(name).unlink()

    def safe_checkpoints(self, end, record=None):
        """Checkpoints whose rename and the directory's sync are among the first `end` calls."""
        safe = renamed = 0
        for change in (record or self.record)[:end]:
            renamed += change.what == "rename" and change.target == "state"
            safe = renamed if change.what == "sync_directory" else safe
        return safe

    def generations(self):
        """The bytes of every checkpoint, in the order in which they were written."""
        kept, written = [], {}
        for change in self.record:
            if change.what == "create":
                written[change.path] = [change.file, b""]
            elif change.what == "write":
                for pair in written.values():
                    if pair[0] == change.file:
                        pair[1] = (pair[1][:change.offset] + change.data +
                                   pair[1][change.offset + len(change.data):])
            elif change.what == "rename" and change.target == "state":
                kept.append(written[change.path][1])
            elif change.what == "unlink":
                written.pop(change.path, None)
        return kept

    def flaw(self, end, files, generations):
        """What is wrong with this state, or None: the last safe checkpoint or a newer one must be
        behind FILE or FILE.prev."""
        safe = self.safe_checkpoints(end)
        if safe == 0:
            return None
        for name in ("state", "state.prev"):
            if files.get(name) in generations[max(0, safe - 1):]:
                return None
        return f"after {end} calls neither checkpoint {safe} nor a newer one is there"

    def resume(self, files):
        """Goes on from the state: the result, or None where there is no checkpoint."""
        restore(self.polyad, files, {"good.tns"})
        result = self.polyad.run(*self.run, "--resume", "state", "--output", "m.ktensor",
                                 env={"OMP_WAIT_POLICY": "passive"})
        assert result.status in (0, 1), (result.status, result.err)
        if result.status == 1:
            assert "checkpoint" in result.err or "cannot resume" in result.err, result.err
            return None
        return self.polyad.path("m.ktensor").read_bytes()


def replay_checkpoints(polyad, most, name):
    count = resumed = every = 0
    for algorithm in ("als", "apr-mu", "apr-pdnr", "apr-pqnr"):
        run = Checkpointed(polyad, algorithm)
        generations = run.generations()
        # When the command has ended, its last checkpoint is safe.
        assert len(generations) == 4 == run.safe_checkpoints(len(run.record))
        found = list(states(run.record, {}))
        every += len(found)
        for end, files in found:
            assert run.flaw(end, files, generations) is None
        for end, files in random.Random(1).sample(found, min(most, len(found))):
            model = run.resume(files)
            assert model == run.model or (model is None and run.safe_checkpoints(end) == 0), end
            resumed += model is not None
            count += 1
    assert resumed > count / 2
    record(name, states=every, commanded=count, resumed=resumed, lost=0)


def test_checkpoints_survive_power_cuts(polyad):
    replay_checkpoints(polyad, 60, "kill_replay")


@pytest.mark.long
def test_checkpoints_survive_every_power_cut(polyad):
    replay_checkpoints(polyad, 10 ** 6, "kill_replay_long")


OUTPUTS = [("cpd", "good.tns", "-r", "2", "--max-iters", "3", "--threads", "1", "--output", "out"),
           ("tucker", "good.tns", "-r", "1", "--threads", "1", "--output", "out"),
           ("convert", "good.tns", "out.ptn"), ("convert", "good.tns", "out.tns.gz"),
           ("convert", "good.tns", "out.csv"),
           ("generate", "out.ptn", "--dims", "9,9,9", "--nnz", "99")]


def broken_states(changes, name, new):
    """How many states there are, and those in which the output is neither old nor new."""
    found = [files.get(name) for _, files in states(changes, {name: OLD})]
    return len(found), [data for data in found if data not in (OLD, new)]


def test_outputs_survive_power_cuts(polyad):
    total = 0
    for arguments in OUTPUTS:
        name = next(a for a in arguments if a.startswith("out"))
        polyad.write(name, OLD)
        changes = record_run(polyad, *arguments)
        count, broken = broken_states(changes, name, polyad.path(name).read_bytes())
        assert not broken, (arguments, broken[0])
        at_the_end = [files[name] for end, files in states(changes, {name: OLD})
                      if end == len(changes)]
        assert OLD not in at_the_end, f"{arguments} ended before its output was safe"
        total += count
    record("kill_replay_outputs", states=total, torn=0)


def without(changes, *kinds):
    return [change for change in changes if change.what not in kinds]


def test_a_missing_sync_is_caught(polyad):
    """Planted faults: without fsync of the file some states are broken; so are they when the
    target is written in place."""
    polyad.write("out.tns", OLD)
    changes = record_run(polyad, "convert", "good.tns", "out.tns")
    new = polyad.path("out.tns").read_bytes()
    assert broken_states(changes, "out.tns", new)[1] == []
    assert broken_states(without(changes, "sync"), "out.tns", new)[1]
    in_place = [Change("create\t1\tout.tns"), Change("write\t1\t0\t" + new.hex()),
                Change("sync\t1\tout.tns"), Change("sync_directory\t2\t.")]
    assert broken_states(in_place, "out.tns", new)[1]


def test_a_missing_sync_of_the_directory_is_caught(polyad):
    """The last checkpoint counts as safe only when the directory was synced."""
    run = Checkpointed(polyad, "als")
    full = run.safe_checkpoints(len(run.record))
    assert full == 4
    assert run.safe_checkpoints(len(run.record), without(run.record, "sync_directory")) == 0
    generations = run.generations()
    lost = [1 for end, files in states(without(run.record, "sync"), {})
            if run.flaw(min(end, len(run.record)), files, generations)]
    assert lost
