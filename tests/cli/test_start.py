"""What the command does before its work: libraries and drivers that misbehave when they are loaded."""

import os
import pathlib
import resource
import subprocess
import sys

import pytest

from conftest import COMMAND, GOOD, ROOT, check_error
from without_modules import without_modules

FAKE_OPENCL = os.environ.get("POLYAD_FAKE_OPENCL")
SHIM = os.environ.get("POLYAD_FAULT_SHIM", "")
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


def starts(polyad, *arguments, **options):
    """How often the program is started during a run."""
    env = {"LD_DEBUG": "files", "OMP_WAIT_POLICY": None, **options.pop("env", {})}
    return polyad.ok(*arguments, env=env, **options).err.count("initialize program:")


RUN = ("cpd", "good.tns", "-r", "2", "-i", "3", "--device", "cpu")


@pytest.mark.skipif(SANITIZED, reason="sanitizers set LD_PRELOAD and addresses of their own")
@pytest.mark.parametrize("arguments, env, expected", [
    (RUN + ("-t", "1"), {}, 1), (("formats",), {}, 1),
    (("--version",), {}, 1), (("devices", "--kind", "cpu"), {}, 1),
    (RUN + ("-t", "2"), {"OMP_WAIT_POLICY": "passive"}, 1),
    (RUN + ("-t", "2"), {"GOMP_SPINCOUNT": "300"}, 1)])
def test_the_command_does_not_start_again(polyad, arguments, env, expected):
    assert starts(polyad, *arguments, env=env) == expected


@pytest.mark.skipif(SANITIZED, reason="sanitizers set LD_PRELOAD and addresses of their own")
def test_the_command_starts_again_for_threads_that_wait_briefly(polyad):
    """More threads than processors, or processors on which another program runs."""
    assert starts(polyad, *RUN, "-t", str(min(os.cpu_count() + 1, 256))) == 2
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(os.cpu_count())]
    try:
        assert starts(polyad, *RUN, "-t", "2") == 2
    finally:
        for program in busy:
            program.kill()
            program.wait()


@pytest.mark.parametrize("arguments", [
    ("cpd", "good.tns", "-r", "2", "--format", "portable", "--device", "cpu"),
    ("bench", "stream", "--portable", "--device", "cpu", "--elements", "1000000")])
def test_a_missing_module_of_portable_kernels_is_named(polyad, tmp_path, arguments):
    """Other formats need no module; with the module the same call works."""
    env = without_modules(tmp_path)
    polyad.ok(*arguments, env=env)
    (tmp_path / "library" / "libpolyad_portable.so").unlink()
    result = polyad.run(*arguments, env=env)
    assert result.status == 1 and "no portable module (libpolyad_portable.so)" in result.err
    polyad.ok("cpd", "good.tns", "-r", "2", "--device", "cpu", env=env)


@pytest.mark.parametrize("variable, module", [
    ("OMPI_COMM_WORLD_SIZE", "Open MPI module (libpolyad_mpi_openmpi.so)"),
    ("PMI_SIZE", "MPICH module (libpolyad_mpi_mpich.so)")])
def test_a_missing_module_is_that_of_the_launcher(polyad, tmp_path, variable, module):
    launcher = {"OMPI_COMM_WORLD_SIZE": None, "PMI_SIZE": None, variable: "2"}
    polyad.fails(1, "cpd", "good.tns", "-r", "2", "--device", "cpu", env={**without_modules(tmp_path), **launcher},
                 says=("several processes need MPI", module))


@pytest.mark.parametrize("name", ["polyad", "another-name", "-polyad", ""])
def test_another_start_keeps_name_arguments_and_input(polyad, name):
    """Options after the file: what getopt_long() reorders comes in the old order again."""
    done = subprocess.run([name, "cpd", "-", "-r", "2", "-t", "2", "-i", "3", "--json", "-"],
                          executable=COMMAND, input=GOOD.encode(), capture_output=True,
                          cwd=polyad.folder, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert b'"nnz":\t3' in done.stdout


def test_another_start_repeats_no_message(polyad):
    result = polyad.ok("cpd", "good.tns", "-r", "2", "-t", "300", "-i", "1")
    assert result.err.count("threads are more than useful") == 1


@pytest.mark.skipif(not SHIM, reason="built with sanitizers: no LD_PRELOAD")
@pytest.mark.parametrize("arguments", [
    ("generate", "g.tns", "--dims", "90,80,70", "--nnz", "60000"),
    ("convert", "large.tns", "out.tns.gz"), ("convert", "large.tns", "out.ptn"),
    ("convert", "large.tns", "out.tns.zst")])
def test_an_exit_of_libgomp_leaves_no_temporary(polyad, arguments):
    """It ends the process where it cannot start a thread, also while an output is written."""
    polyad.ok("generate", "large.tns", "--dims", "90,80,70", "--nnz", "60000")
    before = polyad.snapshot()
    for k in range(1, 9):
        env = {"LD_PRELOAD": SHIM, "FAULT_CALL": "thread", "FAULT_AT": str(k)}
        result = polyad.run(*arguments, "-t", "6", env=env)
        assert result.status in (0, 1), (k, result.status, result.err)
        now = polyad.snapshot()
        output = arguments[1] if arguments[0] == "generate" else arguments[2]
        assert set(now) - set(before) == ({output} if result.status == 0 else set()), (k, result.err)
        if result.status == 0:
            polyad.path(output).unlink()


def test_small_tensors_take_one_thread(polyad):
    """The number follows from nonzeros and rank alone, and is reported."""
    polyad.ok("generate", "g.tns", "--dims", "100,80,60", "--nnz", "5332")
    polyad.ok("generate", "h.tns", "--dims", "100,80,60", "--nnz", "40000")
    run = ("-t", "3", "-i", "2", "--device", "cpu")
    assert polyad.json("cpd", "g.tns", "-r", "8", *run)["threads"] == 1
    assert polyad.json("cpd", "h.tns", "-r", "16", *run)["threads"] == 3
    assert polyad.json("tucker", "g.tns", "--ranks", "3,3,3", *run)["threads"] == 1
    assert "1 thread: there is too little work" in polyad.ok("cpd", "g.tns", "-r", "8", "-v", *run).err


def huge_pages():
    """Whether the system gives huge pages to a program that asks for them."""
    try:
        chosen = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text(encoding="ascii")
    except OSError:
        return False
    return "[never]" not in chosen


def faults(*arguments):
    """How many pages a run took from the system one by one."""
    process = subprocess.Popen([COMMAND, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_minflt


@pytest.mark.skipif(SANITIZED, reason="sanitizers have an allocator of their own")
@pytest.mark.skipif(not huge_pages(), reason="the system has no huge pages")
def test_a_small_tensor_is_held_by_huge_pages(polyad):
    """Its megabytes are no thousands of pages, and what is freed is not taken from the system anew."""
    polyad.ok("convert", ROOT / "data/nycflights13.tns.gz", "f.tns")
    run = ("-r", "16", "-i", "3", "--tol", "0", "-t", "1", "--device", "cpu", "-q", "-o")
    polyad.write("tiny.tns", b"1 1 1 1\n2 2 2 2\n")
    least = faults("cpd", polyad.path("tiny.tns"), *run, polyad.path("t.ktensor"))
    assert faults("cpd", polyad.path("f.tns"), *run, polyad.path("m.ktensor")) < least + 600
