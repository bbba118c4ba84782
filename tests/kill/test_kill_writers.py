"""SIGKILL at every call that changes files, and in the middle of every write: the output is the
old one or the whole new one, and the same command, run again, gives what it always gives and
removes the temporary files of the dead."""

import shutil
import signal
import subprocess

import pytest
from faults import ENDINGS, SHIM, fault, kill_everywhere
from reliability_figures import record
from writers import WRITERS, temporaries

pytestmark = pytest.mark.skipif(not SHIM, reason="built with sanitizers: no LD_PRELOAD")
reached = {"kills": 0, "torn": 0}


def teardown_module():
    record("kill_writers", writers=len(WRITERS), **reached)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("writer", WRITERS, ids=str)
def test_outputs_are_old_or_new(polyad, writer, ending):
    writer.prepare(polyad)
    polyad.ok(*writer.arguments)
    reference = writer.contents(polyad)

    def check(at):
        found = writer.contents(polyad)
        assert writer.is_old(found) or writer.is_new(found, reference), (at, found)

    kills = kill_everywhere(polyad, writer.arguments, ending, "out",
                            lambda: writer.prepare(polyad), check)
    assert kills >= (4 if ending == "before the call" else 1)
    reached["kills"] += kills
    writer.prepare(polyad)
    polyad.ok(*writer.arguments)
    assert writer.is_new(writer.contents(polyad), reference)
    assert temporaries(polyad.folder) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_model_that_is_left_has_its_labels(polyad, ending):
    """Where no model stood before, and where one of the same names did. Temporary files of labels
    are in their directory, whose name begins as the model's."""
    polyad.write("rides.csv", "who,day,value\nann,mon,2\nbob,tue,3\nann,tue,1\n")
    arguments = ("cpd", "rides.csv", "-r", "1", "--threads", "1", "--max-iters", "3", "-o", "out.ktensor")
    polyad.ok(*arguments)
    labels = polyad.path("out.ktensor.labels")

    def named():
        return {path.name: path.read_bytes() for path in labels.glob("*.map")}

    expected, found = named(), []
    assert len(expected) == 2

    def check(at):
        found.append(polyad.path("out.ktensor").exists())
        assert not found[-1] or named() == expected, at

    def forget():
        polyad.path("out.ktensor").unlink(missing_ok=True)
        shutil.rmtree(labels, ignore_errors=True)

    for name in ("out", "map"):
        kill_everywhere(polyad, arguments, ending, name, forget, check)
    kill_everywhere(polyad, arguments, ending, "map", lambda: None, check)
    assert False in found and True in found
    assert named() == expected and temporaries(polyad.folder) == []


def test_a_writer_in_place_is_caught(polyad):
    """A planted fault: this program overwrites its target, so a kill inside its write tears it."""
    old, new = b"o" * 5000, b"n" * 5000
    polyad.write("out.new", new)
    polyad.write("out.file", old)
    program = ("import os; f = os.open('out.file', os.O_WRONLY); "
               "os.write(f, open('out.new', 'rb').read())")
    done = subprocess.run(["/usr/bin/python3", "-c", program], cwd=polyad.folder, check=False,
                          env=fault("out.file", "write", "torn", 1))
    assert done.returncode == -signal.SIGKILL
    assert polyad.path("out.file").read_bytes() == new[:2500] + old[2500:]
