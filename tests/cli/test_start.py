"""What the command does before its work: libraries and drivers that misbehave when they are loaded."""

import os
import resource

import pytest

from conftest import check_error

SANITIZED = bool(os.environ.get("POLYAD_SANITIZE"))
GOOD_RUN = ("cpd", "good.tns", "-r", "2", "-t", "2", "-i", "3", "-q")


def address_space(megabytes):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


def loaded_by(polyad, *arguments):
    """The libraries that the dynamic loader maps during a run."""
    result = polyad.ok(*arguments, env={"LD_DEBUG": "files"})
    return result.err


@pytest.mark.parametrize("arguments", [("--version",), ("info", "good.tns"), GOOD_RUN])
def test_lapack_is_loaded_only_for_eigenvalues(polyad, arguments):
    assert "lapack" not in loaded_by(polyad, *arguments)
    assert "openblas" not in loaded_by(polyad, *arguments)


def test_lapack_is_there_when_it_is_needed(polyad):
    loaded = loaded_by(polyad, "cpd", "good.tns", "-r", "2", "-i", "3", "-q", "--init", "hosvd")
    assert "libopenblas" in loaded or "liblapack" in loaded


@pytest.mark.skipif(SANITIZED, reason="sanitizers keep shadow memory")
@pytest.mark.parametrize("megabytes", [40, 50, 60, 80, 120, 160, 240])
@pytest.mark.parametrize("init", ["random", "hosvd"])
def test_lapack_under_a_limit_of_address_space(polyad, megabytes, init):
    """OpenBLAS raises SIGINT or waits for ever where it cannot map its buffers."""
    result = polyad.run(*GOOD_RUN, "--init", init, preexec=address_space(megabytes), timeout=60)
    assert result.status in (0, 1), (result.status, result.err)
    if result.status == 1:
        check_error(result.err.splitlines()[-1])
        assert "memory" in result.err
