"""Memory runs out anywhere: in polyad and in every library that it links (the C library, OpenMP's,
OpenBLAS, zlib, zstd, libdeflate, cJSON); modules for devices, and with them drivers, are left out.
The k-th allocation after the start fails, once or for ever after. The command ends with status 0 or
1, never with a signal; a failure is told; an output is the old one or the whole new one; and no
temporary file stays."""

import ctypes.util
import os
import subprocess

import pytest
from reliability_figures import record
from without_modules import without_modules

SHIM = os.environ.get("POLYAD_FAULT_SHIM", "")
pytestmark = pytest.mark.skipif(not SHIM, reason="built with sanitizers: no LD_PRELOAD")
OLD = b"what was there before\n"
RUN = ("--threads", "2", "--max-iters", "2", "--quiet")
CPD = ("cpd", "good.tns", "-r", "2", *RUN)
PHI = ("coo", "csf", "modecopy", "alto")
TTMC = ("coo", "csf", "modecopy", "alto", "hls")
COMMANDS = {
    **{f"als {name}": (*CPD, "--format", name, "--output", "out.ktensor")
       for name in ("coo", "csf", "modecopy", "flycoo", "blco", "mmcsf", "bcsf", "hbcsf", "hicoo",
                    "fcoo", "fwc", "alto", "hls", "portable", "twotree", "dense")},
    "als hosvd": (*CPD, "--init", "hosvd", "--output", "out.ktensor"),
    "als nonnegative f32": (*CPD, "--nonnegative", "--precision", "f32", "--output", "out.ktensor"),
    **{f"{a} {f}": (*CPD, "-a", a, "--format", f, "--output", "out.ktensor")
       for a, f in zip(("apr-mu",) * len(PHI), PHI)},
    "apr-pdnr": (*CPD, "-a", "apr-pdnr", "--output", "out.ktensor"),
    "apr-pqnr": (*CPD, "-a", "apr-pqnr", "--output", "out.ktensor"),
    **{f"tucker {f}": ("tucker", "good.tns", "-r", "1,2,2", *RUN, "--format", f, "--output",
                       "out.ttensor") for f in TTMC},
    "info": ("info", "good.tns", "--threads", "2", "--json", "out.json"),
    **{f"convert {name}": ("convert", "good.tns", name, "--threads", "2")
       for name in ("out.tns", "out.tns.gz", "out.tns.zst", "out.ptn", "out.csv")},
    "generate": ("generate", "out.tns", "--dims", "9,8,7", "--nnz", "60", "--threads", "2"),
    "formats": ("formats",),
    "devices": ("devices",),
}


def target_of(arguments):
    return next((a for a in arguments if a.startswith("out")), None)


@pytest.fixture
def alone(tmp_path):
    # OpenBLAS crashes when it is refused memory while it loads; polyad loads it only where there is
    # room. Here it is there before the first allocation fails.
    lapack = next((library for library in ("libopenblas.so.0", "liblapack.so.3")
                   if ctypes.util.find_library(library[3:library.index(".")])), None)
    preload = SHIM if lapack is None else f"{SHIM}:{lapack}"
    return {**without_modules(tmp_path), "LD_PRELOAD": preload, "FAULT_CALL": "memory",
            "FAULT_COUNT": "count", "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}


def sweep(polyad, alone, arguments, ever, first, stride):
    """Fails allocation first, first + stride, … to the last and beyond; returns the points."""
    target, points, at = target_of(arguments), 0, first
    polyad.ok(*arguments, env={**alone, "FAULT_AT": "1000000000"})
    most = int(polyad.path("count").read_text())
    while at <= most + 2 * stride:
        if target:
            polyad.write(target, OLD)
        env = {**alone, "FAULT_AT": str(at), **({"FAULT_AFTER": "1"} if ever else {})}
        point = f"allocation {at}{' and all later ones' if ever else ''}"
        try:
            result = polyad.run(*arguments, env=env)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{' '.join(arguments)}: {point}: no end")
        assert result.status in (0, 1), (point, result.status, result.err)
        assert result.status == 0 or result.err, (point, "no message")
        left = sorted(p.name for p in polyad.folder.iterdir())
        stale = [name for name in left if name.endswith(".tmp")]
        # OpenMP's library ends the process itself when it has no memory; the next run tidies up.
        assert not stale or "libgomp:" in result.err, (point, left, result.err)
        for name in stale:
            polyad.path(name).unlink()
        if target:
            assert polyad.path(target).read_bytes() == OLD or is_whole(polyad, target), point
        points += at <= most
        at += stride
    assert result.status == 0, "the faults never end"
    return points


def is_whole(polyad, target):
    """Complete outputs end in their last byte; readers refuse others."""
    if target.endswith((".ktensor", ".ttensor", ".json")):
        return polyad.path(target).read_bytes().endswith(b"\n")
    return polyad.run("info", target, "--quiet").status == 0


def sweep_command(polyad, alone, command, stride, points):
    number = list(COMMANDS).index(command)
    for how, ever in (("once", False), ("ever", True)):
        first = 1 + (number + ever) % stride
        points[how] += sweep(polyad, alone, COMMANDS[command], ever, first, stride)
    points["commands"] += 1


def test_memory_runs_out(polyad, alone):
    points = {"commands": 0, "once": 0, "ever": 0}
    for command in COMMANDS:
        sweep_command(polyad, alone, command, 36, points)
    record("fault_libraries", **points)
    assert points["once"] + points["ever"] >= 300


EVERYWHERE = {"commands": 0, "once": 0, "ever": 0}


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_memory_runs_out_everywhere(polyad, alone, command):
    sweep_command(polyad, alone, command, 1, EVERYWHERE)


@pytest.mark.long
def test_there_were_many_points():
    if EVERYWHERE["commands"] < len(COMMANDS):
        pytest.skip("not every command ran to its end")
    record("fault_libraries_long", **EVERYWHERE)
    assert EVERYWHERE["once"] + EVERYWHERE["ever"] >= 6000


def test_the_shim_is_in_place(polyad, alone):
    """Without it nothing would fail and the sweeps would end at once."""
    result = polyad.run("info", "good.tns", env={**alone, "FAULT_AT": "60", "FAULT_AFTER": "1"})
    assert result.status == 1 and "ut of memory" in result.err
