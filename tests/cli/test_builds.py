"""bench/tensors.py and bench/compare_builds.py: which tensors are measured, and how two builds are
compared. The builds here are scripts that print times instead of measuring."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ["POLYAD_ROOT"])
sys.path.insert(0, str(ROOT / "bench"))

import compare_builds  # noqa: E402
import tensors  # noqa: E402

# Prints times as polyad's JSON does; what is in no list of formats fails.
BUILD = """#!{python}
import json, sys
times, formats = {times}, {formats}
words = sys.argv
asked = words[words.index("--format") + 1].split(",")
for name in asked:
    if name not in formats:
        sys.exit("error: no " + name)
with open({count!r}, "a") as file:
    file.write({name!r})
with open({count!r}) as file:
    second = times[file.read().count({name!r}) % len(times)]
if words[1] == "bench":
    print(json.dumps({{"commit": {name!r}, "results": [
        {{"format": name, "median_seconds": second / 2}} for name in asked for mode in range(2)]}}))
else:
    print(json.dumps({{"format": asked[0], "seconds_read": 0, "seconds_build": second / 2,
                       "seconds": second / 2, "seconds_per_iteration": second}}))
"""


def build(folder, name, times, formats=("csf", "coo")):
    path = folder / name
    path.write_text(BUILD.format(python=sys.executable, times=times, formats=formats, name=name[0],
                                 count=str(folder / "runs")))
    path.chmod(0o755)
    return path


def compare(folder, *options):
    folder.joinpath("uber.ptn").touch()
    command = [sys.executable, ROOT / "bench/compare_builds.py", folder / "old", folder / "new",
               "--tensors", folder, "--output", folder / "out.json", "--names", "uber", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    record = folder / "out.json"
    return done, json.loads(record.read_text()) if record.exists() else None


def test_faster(tmp_path):
    build(tmp_path, "old", [2.0, 3.0])
    build(tmp_path, "new", [1.0])
    done, record = compare(tmp_path, "--formats", "csf,coo", "--kernels", "mttkrp,cpd")
    assert done.returncode == 0, done.stderr
    rows = record["results"]
    assert [(row["kernel"], row["asked"]) for row in rows] == [
        ("mttkrp", "csf"), ("mttkrp", "coo"), ("cpd", "csf"), ("cpd iteration", "csf"),
        ("cpd", "coo"), ("cpd iteration", "coo")]
    for row in rows:
        assert len(row["ratios"]) == 7 and set(row["ratios"]) == {2.0, 3.0}
        assert row["interval"] == [2.0, 3.0] and not row["slower"]
    assert record["commits"] == {"old": "o", "new": "n"}
    mean = record["geometric_mean"]
    assert mean["rows"] == 6 and 2 <= mean["interval"][0] <= mean["ratio"] <= 3
    # in turn, and the first of a pair is the second of the next
    assert (tmp_path / "runs").read_text().startswith("onnoonnoonno")


def test_a_format_of_each_build(tmp_path):
    build(tmp_path, "old", [3.0], ("csf",))
    build(tmp_path, "new", [1.0], ("coo",))
    done, record = compare(tmp_path, "--formats", "csf:coo", "--kernels", "mttkrp")
    assert done.returncode == 0, done.stderr
    row, = record["results"]
    assert (row["asked"], row["format_old"], row["format_new"]) == ("csf:coo", "csf", "coo")
    assert row["ratio"] == 3


@pytest.mark.parametrize("times, status", [([1.2], 1), ([1.05], 0), ([1.2, 1.0], 0)])
def test_slower(tmp_path, times, status):
    """The whole interval has to lie below 0.9."""
    build(tmp_path, "old", [1.0])
    build(tmp_path, "new", times)
    done, record = compare(tmp_path, "--formats", "csf", "--kernels", "phi")
    assert done.returncode == status
    assert record["results"][0]["slower"] == bool(status)


@pytest.mark.parametrize("old, new, status", [
    (("csf",), ("csf",), 0), (("csf",), ("csf", "alto"), 0), (("csf", "alto"), ("csf",), 1)])
def test_left_out(tmp_path, old, new, status):
    """What the old build can do, the new one has to."""
    build(tmp_path, "old", [1.0], old)
    build(tmp_path, "new", [1.0], new)
    done, record = compare(tmp_path, "--formats", "csf,alto", "--kernels", "ttmc")
    assert done.returncode == status
    assert [row["asked"] for row in record["results"]] == ["csf"]
    assert record["left_out"][0]["asked"] == "alto"


def test_too_few_pairs(tmp_path):
    done, record = compare(tmp_path, "--pairs", "6")
    assert done.returncode == 2 and "at least 7" in done.stderr and record is None


def test_intervals():
    """Ranks of the binomial distribution's tables for the median's 95 % interval."""
    for count, rank in ((7, 1), (8, 1), (9, 2), (12, 3), (20, 6)):
        values = list(range(1, count + 1))
        assert compare_builds.interval(values[::-1]) == [rank, count + 1 - rank]


def test_tensors_exist():
    """Every name is a file of data/ or one that polyad generates; every set has real tensors beside
    the generated ones, but for those that take large ones."""
    names = {name for chosen in tensors.SETS.values() for name in chosen}
    for name in sorted(names):
        if name in tensors.REAL:
            assert (ROOT / "data" / (name + ".tns.gz")).exists()
        else:
            help_text = subprocess.run([os.environ["POLYAD_COMMAND"], "generate", "--help"],
                                       capture_output=True, text=True, check=True).stdout
            assert name.split("@")[0] in help_text.split()
    for chosen, members in tensors.SETS.items():
        assert chosen in ("gpu-medium", "gpu-large") or set(members) & set(tensors.REAL)
    for file, name in (("like:uber@0.1", "uber@0.1"), ("data/uber-apr-may.tns.gz", "uber-apr-may")):
        assert tensors.name_of(file) == name


def test_tensors_are_made(tmp_path):
    made = tensors.path(str(tmp_path), "uber@0.001", ".ptn", os.environ["POLYAD_COMMAND"])
    real = tensors.path(str(tmp_path), "nycflights13", ".tns", os.environ["POLYAD_COMMAND"])
    assert Path(made).stat().st_size > 0 and sum(1 for _ in open(real, "rb")) >= 103075
