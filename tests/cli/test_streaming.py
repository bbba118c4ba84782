"""Tensors that stream from disk: the command decides, says so, and finds what it finds in memory."""

import math
import os
import re

import pytest
from conftest import check_error

SANITIZED = bool(os.environ.get("POLYAD_SANITIZE"))


def tensor(polyad, nonzeros=400000):
    polyad.ok("generate", "x.ptn", "--dims", "600,500,400", "--nnz", str(nonzeros), "--seed", "1")
    return "x.ptn"


@pytest.mark.parametrize("method", [(), ("--nonnegative",), ("--nonnegative=2,3",), ("-a", "apr-mu"), ("--precision", "f32")])
def test_a_tensor_that_streams_has_the_model_of_one_in_memory(polyad, method):
    arguments = ("cpd", tensor(polyad, 50000), "-r", "4", "--max-iters", "4", "--device", "cpu", *method)
    memory = polyad.json(*arguments, "--output", "a.ktensor", "--format", "coo")
    disk = polyad.json(*arguments, "--output", "b.ktensor", "--stream", "always", "--spill-dir", ".")
    assert not memory["streamed"] and memory["stream"] is None
    assert disk["streamed"] and disk["stream"]["chunks"] == 1
    assert len(disk["stream"]["pass_bytes"]) == 3
    assert sum(disk["stream"]["pass_bytes"]) == disk["stream"]["spilled_bytes"]
    assert disk["manifest"]["tensor_hash"] == memory["manifest"]["tensor_hash"]
    key = "log_likelihood" if "apr-mu" in method else "fit"
    places = 1e-5 if "f32" in method else 1e-10
    assert math.isclose(disk[key], memory[key], rel_tol=places, abs_tol=places)
    score = polyad.json("score", "a.ktensor", "b.ktensor")
    assert score["score"] > 1 - (1e-3 if "f32" in method else 1e-8)
    assert sorted(p.name for p in polyad.folder.iterdir()) == \
        ["a.ktensor", "b.ktensor", "good.tns", "x.ptn"]


def test_the_hash_of_a_long_tensor_is_that_in_memory(polyad):
    """The file's blocks are those of the hash; the last one is shorter, and one is all there is."""
    for nonzeros in (131072, 131073, 300000):
        arguments = ("cpd", tensor(polyad, nonzeros), "-r", "1", "--max-iters", "1", "--device", "cpu")
        memory = {polyad.json(*arguments, "-t", threads)["manifest"]["tensor_hash"] for threads in (1, 3)}
        for precision in ("f64", "f32"):
            disk = polyad.json(*arguments, "--stream", "always", "--spill-dir", ".", "--precision", precision)
            same = polyad.json(*arguments, "--precision", precision)
            assert disk["streamed"] and disk["manifest"]["tensor_hash"] == same["manifest"]["tensor_hash"]
            memory.add(same["manifest"]["tensor_hash"])
        assert len(memory) == 2


def test_the_limit_decides_and_the_threads_do_not_matter(polyad):
    name = tensor(polyad)
    arguments = ("cpd", name, "-r", "8", "--max-iters", "3", "--tol", "0", "--device", "cpu")
    limited = ("--memory-limit", "12M", "--spill-dir", ".")
    one = polyad.json(*arguments, *limited, "--threads", "1", "--output", "1.ktensor")
    four = polyad.json(*arguments, *limited, "--threads", "4", "--output", "4.ktensor")
    assert one["streamed"] and one["stream"]["chunks"] > 1
    assert one["stream"]["memory_bytes"] <= 12 << 20
    assert one["fit"] == four["fit"]
    assert polyad.path("1.ktensor").read_bytes() == polyad.path("4.ktensor").read_bytes()
    assert not polyad.json(*arguments)["streamed"]
    polyad.fails(1, *arguments, *limited[:2], "--stream", "never", says="memory limit")
    told = polyad.ok(*arguments, *limited).err
    assert "it streams from disk" in told and "at most" in told


def test_more_memory_is_not_refused_where_less_is_enough(polyad):
    """Between what a stream takes and what a format beside the tensor takes, the tensor streams."""
    name, told, streams = tensor(polyad), [], []
    for megabytes in (8, 12, 14, 16, 18, 20, 24, 28, 40):
        run = polyad.ok("cpd", name, "-r", "4", "--max-iters", "1", "--device", "cpu", "--memory-limit",
                        f"{megabytes}M", "--spill-dir", ".", "--json", "x.json")
        told.append("leaves no room for the tensor and a format" in run.err)
        streams.append("it streams from disk" in run.err)
    assert any(told) and streams[0] and not streams[-1]
    assert streams == sorted(streams, reverse=True)
    polyad.fails(1, "cpd", name, "-r", "4", "--device", "cpu", "--memory-limit", "18M", "--stream",
                 "never", says="memory limit")


@pytest.mark.skipif(SANITIZED, reason="sanitizers keep shadow memory")
def test_memory_that_is_said_is_kept(polyad):
    name = tensor(polyad, 4000000)
    bare = polyad.json("cpd", "good.tns", "-r", "8", "--device", "cpu")["peak_bytes"]
    run = polyad.json("cpd", name, "-r", "8", "--max-iters", "3", "--device", "cpu",
                      "--memory-limit", "24M", "--spill-dir", ".")
    assert run["streamed"]
    assert run["peak_bytes"] - bare <= 1.1 * run["stream"]["memory_bytes"]


def test_labels_are_those_of_the_file(polyad):
    polyad.write("x.csv", "who,what,value\nann,tea,2\nbob,tea,3\nann,rum,1\n")
    polyad.ok("convert", "x.csv", "x.ptn")
    arguments = ("cpd", "x.ptn", "-r", "1", "--device", "cpu")
    disk = polyad.ok(*arguments, "--stream", "always").out
    assert b"ann" in disk and b"rum" in disk


def test_a_run_that_streams_is_replayed(polyad):
    polyad.json("cpd", tensor(polyad, 20000), "-r", "2", "--max-iters", "3", "--device", "cpu",
                "--stream", "always", "--output", "m.ktensor")
    run = polyad.run("cpd", "x.ptn", "-r", "2", "--max-iters", "3", "--device", "cpu", "--stream",
                     "always", "--output", "m.ktensor", "--json", "run.json")
    assert run.status == 0
    assert polyad.json("replay", "run.json")["same"]


def test_what_cannot_stream_is_refused(polyad):
    name = tensor(polyad, 2000)
    always = ("-r", "2", "--stream", "always", "--device", "cpu")
    polyad.fails(2, "cpd", name, *always, "--init", "hosvd", says="--init hosvd")
    polyad.fails(2, "cpd", name, *always, "--algorithm", "apr-pdnr", says="apr-pdnr")
    polyad.fails(2, "cpd", name, *always, "--report", "r.html", says="--report")
    polyad.write("x.csv", "who,what,value\nann,tea,2\nbob,rum,3\n")
    polyad.fails(1, "cpd", "x.csv", *always, says="polyad convert")
    polyad.fails(1, "cpd", name, *always, "--spill-dir", "missing", says="missing")


def test_a_limit_of_file_sizes_is_told_before_the_work(polyad):
    name = tensor(polyad, 200000)

    def limit():
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    result = polyad.run("cpd", name, "-r", "2", "--stream", "always", "--spill-dir", ".", "--device",
                        "cpu", preexec=limit)
    assert result.status == 1 and "needs a file of" in result.err and "File too large" in result.err
    check_error(result.err)
    assert sorted(p.name for p in polyad.folder.iterdir()) == ["good.tns", "x.ptn"]


@pytest.fixture
def text(polyad):
    """Lines in no order, half of them twice, in which a value is halved."""
    polyad.ok("generate", "x.tns", "--dims", "60,50,40", "--nnz", "20000", "--seed", "1")
    lines = [line.split() for line in polyad.path("x.tns").read_text().splitlines() if line[0] != "#"]
    halves = [[*line[:3], repr(float(line[3]) / 2)] for line in lines[::2]]
    shuffled = sorted(halves + halves + lines[1::2], key=lambda line: (7 * int(line[2]) + 13 * int(line[0])) % 101)
    polyad.write("x.tns", "# dims: 61 50 40\n" + "".join(" ".join(line) + "\n" for line in shuffled))
    polyad.ok("convert", "x.tns", "x.ptn")
    return polyad


@pytest.mark.parametrize("name", ["x.tns", "x.tns.gz", "x.tns.zst", "-"])
def test_text_streams_as_the_binary_file_does(text, name):
    """Bit for bit: what streams is the same tensor, whatever file it came from."""
    arguments = ("-r", "4", "--max-iters", "4", "--device", "cpu", "--stream", "always", "--spill-dir", ".")
    if name not in ("x.tns", "-"):
        text.ok("convert", "x.tns", name)
    expected = text.json("cpd", "x.ptn", *arguments, "--output", "a.ktensor")
    before = sorted(p.name for p in text.folder.iterdir())
    given = {"stdin": text.path("x.tns").read_bytes()} if name == "-" else {}
    found = text.json("cpd", name, *arguments, "--output", "b.ktensor", **given)
    assert found["streamed"] and found["stream"]["packed_bytes"] > 12 * found["nnz"]
    assert expected["stream"]["packed_bytes"] == 0
    assert found["dims"] == expected["dims"] == [61, 50, 40]
    assert found["manifest"]["tensor_hash"] == expected["manifest"]["tensor_hash"]
    assert text.path("a.ktensor").read_bytes() == text.path("b.ktensor").read_bytes()
    assert sorted(p.name for p in text.folder.iterdir()) == sorted({*before, "b.ktensor"})


def test_policies_for_repeats_hold_where_text_streams(text):
    arguments = ("cpd", "x.tns", "-r", "2", "--max-iters", "2", "--device", "cpu")
    for policy in ("max", "first", "mean", "count"):
        hashes = [text.json(*arguments, "--duplicates", policy, "--stream", when)["manifest"]["tensor_hash"]
                  for when in ("always", "never")]
        assert hashes[0] == hashes[1], policy
    for when in ("always", "never"):
        text.fails(1, *arguments, "--duplicates", "error", "--stream", when, says="occurs 2 times")
    text.fails(2, *arguments, "--format", "none", "--stream", "always", says="--format")
    text.fails(1, *arguments, "--zeros", "keep", "--stream", "always", says="zeros")


@pytest.mark.skipif(SANITIZED, reason="sanitizers keep shadow memory")
@pytest.mark.parametrize("name", ["x.tns", "x.tns.gz", "x.tns.zst"])
def test_text_that_does_not_fit_streams_by_itself(polyad, name):
    polyad.ok("generate", name, "--dims", "600,500,400", "--nnz", "400000", "--seed", "1")
    arguments = ("cpd", name, "-r", "4", "--max-iters", "2", "--device", "cpu", "--memory-limit", "12M")
    found = polyad.json(*arguments, "--spill-dir", ".")
    assert found["streamed"] and found["stream"]["memory_bytes"] <= 12 << 20
    told = polyad.ok(*arguments, "--spill-dir", ".").err
    assert "it streams from disk" in told
    room = re.search(r"it takes about (\S+) (\S+) of room on disk", told)
    room = float(room[1]) * {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[room[2]]
    # What is there in the end is less than what is there while it is sorted.
    in_the_end = found["stream"]["spilled_bytes"] + found["stream"]["packed_bytes"]
    assert in_the_end < room < 3 * in_the_end
    assert not polyad.json(*arguments[:-2])["streamed"]
    polyad.fails(1, *arguments, "--stream", "never", says="memory limit")


def test_a_bad_line_of_text_that_streams_is_named(polyad):
    polyad.write("bad.tns", "1 1 1 2\n2 1 three 4\n")
    polyad.fails(1, "cpd", "bad.tns", "-r", "1", "--stream", "always", "--device", "cpu",
                 says="bad.tns:2:5")


def test_labels_beside_text_that_streams_are_found(polyad):
    polyad.write("x.tns", "1 1 2\n2 1 3\n1 2 1\n")
    polyad.path("x.labels").mkdir()
    polyad.write("x.labels/mode-1-who.map", "ann\nbob\n")
    polyad.path("other").mkdir()
    polyad.write("other/mode-1-who.map", "eve\nzoe\n")
    arguments = ("cpd", "x.tns", "-r", "1", "--device", "cpu", "--stream", "always")
    assert b"ann" in polyad.ok(*arguments).out
    assert b"zoe" in polyad.ok(*arguments, "--labels", "other").out
    polyad.write("y.tns", "1 1 2\n2 1 3\n1 2 1\n")
    polyad.ok("convert", "y.tns", "y.ptn")
    assert b"eve" in polyad.ok("cpd", "y.ptn", *arguments[2:], "--labels", "other").out
