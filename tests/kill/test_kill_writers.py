"""SIGKILL at every call that changes files, and in the middle of every write: the output is the
old one or the whole new one, and the same command, run again, gives what it always gives and
removes the temporary files of the dead."""

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
