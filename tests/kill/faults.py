"""The command run with the fault shim (tests/cli/fault_shim.h says what it can do)."""

import os
import signal

SHIM = os.environ.get("POLYAD_FAULT_SHIM", "")
MOST = 400
# Where SIGKILL falls: the kind of call that is counted, and what happens at it.
ENDINGS = {"before the call": ("change", "kill"), "inside a write": ("write", "torn")}


def fault(name, call, how, at):
    """The environment in which the at-th call of a kind, on files named `name`, goes wrong."""
    return {"LD_PRELOAD": SHIM, "FAULT_CALL": call, "FAULT_HOW": str(how), "FAULT_AT": str(at),
            "FAULT_NAME": name, "OMP_WAIT_POLICY": "passive"}


def kill_everywhere(polyad, arguments, ending, name, prepare, check):
    """Runs the command killed at call 1, 2, … until it gets through; returns the kills."""
    for at in range(1, MOST):
        prepare()
        result = polyad.run(*arguments, env=fault(name, *ENDINGS[ending], at))
        if result.status == 0:
            return at - 1
        assert result.status == -signal.SIGKILL, (at, result.status, result.err)
        check(at)
    raise AssertionError("the calls never end")
