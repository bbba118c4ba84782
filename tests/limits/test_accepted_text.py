"""Odd but valid text files (the accepted cases of tests/unit/io_text_cases.c) are one tensor
however they come: with 1 and 7 threads, through a pipe, compressed, and after conversion."""

import gzip
import os
import subprocess

import pytest
from reliability_figures import record
from without_modules import without_modules

CASES = os.environ.get("POLYAD_TEXT_CASES", "")
reached = {"files": 0, "ways": 0}


def teardown_module():
    record("accepted_text", **reached)


@pytest.fixture
def cases(polyad):
    """Names of the accepted files, which lie in the command's folder."""
    made = subprocess.run([CASES, polyad.folder], check=True, capture_output=True, text=True).stdout
    found = [line.split()[1] for line in made.splitlines() if line.split()[2] == "accept"]
    assert len(found) >= 40
    return found


def summary(polyad, environment, name, *more, **options):
    found = polyad.json("info", name, *more, env=environment, **options)
    return found["hash"], found["nnz"], found["dims"]


def test_every_way_gives_one_tensor(polyad, cases, tmp_path):
    environment = without_modules(tmp_path)
    for name in cases:
        data = polyad.path(name).read_bytes()
        expected = summary(polyad, environment, name, "--threads", "1")
        ways = {"7 threads": summary(polyad, environment, name, "--threads", "7")}
        delimited = name.endswith((".csv", ".tsv"))
        if not delimited:  # a pipe has no name that says what is in it
            ways["a pipe"] = summary(polyad, environment, "-", stdin=data)
        if data[:2] != b"\x1f\x8b" and not name.endswith((".gz", ".zst")):
            packed = f"packed-{name}.gz"
            polyad.path(packed).write_bytes(gzip.compress(data))
            ways["gzip"] = summary(polyad, environment, packed)
        for suffix in (".ptn", ".tns.zst"):
            # Text without a head has no lengths: those of the file are told.
            dims = ("--dims", ",".join(map(str, expected[2]))) if suffix.startswith(".tns") else ()
            polyad.ok("convert", name, f"again{suffix}", env=environment)
            ways[suffix] = summary(polyad, environment, f"again{suffix}", *dims)
        assert {way: found for way, found in ways.items() if found != expected} == {}, name
        reached["files"] += 1
        reached["ways"] += len(ways)
