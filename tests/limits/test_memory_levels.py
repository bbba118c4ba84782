"""--memory-limit at eight levels for every format: the process stays below it, or is refused with
the bytes that it would need."""

import os

import pytest
from conftest import check_error
from reliability_figures import record

SANITIZED = bool(os.environ.get("POLYAD_SANITIZE"))
pytestmark = pytest.mark.skipif(SANITIZED, reason="sanitizers keep shadow memory")
FORMATS = ["coo", "csf", "modecopy", "flycoo", "blco", "mmcsf", "bcsf", "hbcsf", "hicoo", "fcoo",
           "fwc", "alto", "hls", "portable", "twotree", "dense"]
DIMS = {"dense": "120,100,90"}  # it refuses tensors that are almost empty
LEVELS = (1, 4, 8, 12, 16, 24, 32, 64)
reached = {"runs": 0, "refusals": 0}


def teardown_module():
    record("memory_levels", formats=len(FORMATS), levels=len(LEVELS), **reached)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tensor")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_keeps_the_limit(polyad, folder, name):
    dims = DIMS.get(name, "3000,2000,1000")
    tensor = folder / f"{dims}.ptn"
    if not tensor.exists():
        polyad.ok("generate", tensor, "--dims", dims, "--nnz", "100000", "--seed", "1")
    options = ("-r", "8", "--max-iters", "1", "--threads", "2", "--format", name, "--device", "cpu")
    # What the process and the modules for devices take before any tensor is read.
    bare = polyad.json("cpd", "good.tns", *options)["peak_bytes"]
    kept = []
    for megabytes in LEVELS:
        result = polyad.run("cpd", tensor, *options, "--memory-limit", f"{megabytes}M", "--json",
                            "-", env={"OMP_WAIT_POLICY": "passive"})
        assert result.status in (0, 1), (megabytes, result.err)
        kept.append(result.status == 0)
        if result.status == 0:
            reached["runs"] += 1
            assert result.json["peak_bytes"] <= bare + 1.05 * (megabytes << 20)
        else:
            reached["refusals"] += 1
            check_error(result.err)
            assert "limit" in result.err and "iB" in result.err
    assert not kept[0] and kept[-1], kept
    assert kept == sorted(kept), "more memory must not be refused where less was enough"
