"""What the command does before its work: libraries and drivers that misbehave when they are loaded."""

import os
import resource

import pytest

from conftest import check_error

FAKE_OPENCL = os.environ.get("POLYAD_FAKE_OPENCL")
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


needs_module = pytest.mark.skipif(not FAKE_OPENCL, reason="built without the OpenCL module")


def broken(how):
    return {"LD_LIBRARY_PATH": FAKE_OPENCL, "FAKE_OPENCL": how}


@needs_module
@pytest.mark.parametrize("how", ["load", "platforms", "exit"])
@pytest.mark.parametrize("arguments", [
    ("--version",), ("--help",), ("formats",), ("cpd", "--help"), ("info", "good.tns"),
    ("convert", "good.tns", "good.ptn"), ("generate", "g.tns", "--dims", "4,5", "--nnz", "6"),
    ("cpd", "good.tns", "-r", "2"), ("cpd", "good.tns", "-r", "2", "--device", "cpu"),
    ("tucker", "good.tns", "-r", "1,1,1"),
    ("bench", "mttkrp", "good.tns", "-r", "2", "--repeat", "1", "--json", "bench.json")])
def test_a_driver_that_nobody_asked_for_does_no_harm(polyad, how, arguments):
    polyad.ok(*arguments, env=broken(how))


@needs_module
@pytest.mark.parametrize("arguments", [
    (), ("cpdd",), ("cpd",), ("cpd", "good.tns"), ("cpd", "good.tns", "-r", "2", "--format", "x"),
    ("devices", "--kind", "gpu")])
def test_a_driver_does_not_disturb_errors_of_usage(polyad, arguments):
    assert polyad.run(*arguments, env=broken("load")).status == 2


@needs_module
@pytest.mark.parametrize("how, says", [("load", "signal 6"), ("platforms", "signal 6"),
                                       ("exit", "exit status 3")])
def test_a_driver_that_ends_its_process_is_named(polyad, how, says):
    devices = polyad.json("devices", env=broken(how))
    assert devices["devices"][0]["name"] == "cpu"
    assert says in devices["absent"]["opencl"] and "driver" in devices["absent"]["opencl"]
    assert "no opencl: " in polyad.ok("devices", env=broken(how)).out.decode()
    for named in ("opencl", "opencl:0", "cpu,opencl"):
        polyad.fails(1, "cpd", "good.tns", "-r", "2", "--device", named, env=broken(how),
                     says=["opencl", "driver", says])


@needs_module
def test_opencl_without_a_driver(polyad):
    devices = polyad.json("devices", env=broken("none"))
    assert devices["absent"]["opencl"] == "this machine has no OpenCL driver"
    polyad.fails(1, "cpd", "good.tns", "-r", "2", "--device", "opencl", env=broken("none"),
                 says="no OpenCL driver")


@needs_module
def test_devices_of_one_kind(polyad):
    assert [d["name"] for d in polyad.json("devices", "--kind", "cpu")["devices"]] == ["cpu"]
    found = polyad.json("devices", "--kind", "opencl")
    assert all(d["name"].startswith("opencl:") for d in found["devices"])
    assert found["devices"] or "opencl" in found["absent"]
