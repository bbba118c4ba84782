"""Where results go: names that cannot be, names that clash, what killed runs leave behind."""

import csv
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
import zipfile

import jsonschema
import numpy as np
import pytest

from conftest import COMMAND, ROOT

CPD = ("cpd", "good.tns", "-r", "1", "-i", "1")


# ---- names that are too long are refused before the work ----------------------------------------

def long_name(extension, length=300):
    return "n" * (length - len(extension)) + extension


@pytest.mark.parametrize("arguments", [
    (*CPD, "--output", long_name(".ktensor")), (*CPD, "--json", long_name(".json")),
    (*CPD, "--output", long_name("/")), (*CPD, "--checkpoint", long_name(".state")),
    ("tucker", "good.tns", "-r", "1", "--output", long_name(".ttensor")),
    ("info", "good.tns", "--json", long_name(".json")),
    ("generate", "--dims", "3,4", "--nnz", "5", "-r", "1", "--truth", long_name(".ktensor"), "o.tns"),
    *[("convert", "good.tns", long_name(e)) for e in (".tns", ".txt", ".ptn", ".csv", ".tns.gz",
                                                      ".csv.zst")],
    *[("generate", "--dims", "3,4", "--nnz", "5", long_name(e)) for e in (".tns", ".ptn")]])
def test_names_too_long(polyad, arguments):
    """An input that does not exist would be the first error of the work itself."""
    absent = [a if a != "good.tns" else "absent.tns" for a in arguments]
    polyad.fails(1, *absent, says="name too long")


def test_longest_name_is_accepted(polyad):
    name = long_name(".ktensor", os.pathconf(polyad.folder, "PC_NAME_MAX"))
    polyad.ok(*CPD, "--output", name)
    assert polyad.path(name).exists()


# ---- extensions ----------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["m.npy", "m.ttensor", "a.b/m.tns", "m.sptensor.gz"])
def test_unknown_extension_of_a_model(polyad, name):
    polyad.path("a.b").mkdir()
    polyad.fails(2, *CPD, "-o", name,
                 says=("--output", ".ktensor", ".txt", "DIR/", ".npz", ".parquet", ".html"))


def test_unknown_extension_of_a_tucker_model_and_of_the_truth(polyad):
    polyad.fails(2, "tucker", "good.tns", "-r", "1", "-o", "m.ktensor", says=(".ttensor", "DIR/"))
    polyad.fails(2, "generate", "--dims", "3,4", "--nnz", "5", "-r", "1", "--truth", "t.parquet",
                 "o.tns", says=("--truth", ".ktensor"))


@pytest.mark.parametrize("name", ["m.ktensor", "m.txt", "m.ptm", "m.ktensor.gz", "m.ptm.zst", "m.csv",
                                  "m.tsv.gz", "m.json", "m.npz", "m.html", "model",
                                  ".model", "a.b/model", "/dev/null", "d.x/"])
def test_known_names_of_a_model(polyad, name):
    polyad.path("a.b").mkdir()
    polyad.ok(*CPD, "-o", name)


def table_with_labels(polyad):
    polyad.write("rides.csv", 'from,"day, local",value\n' + "".join(
        f'"place ""{k % 3}"", {k % 3}",day {k % 4},{1 + k % 5}\n' for k in range(12)))
    return "rides.csv"


def read_ktensor(path):
    """Weights and factors of Tensor Toolbox text, by hand."""
    words = iter(path.read_text().split())
    assert next(words) == "ktensor"
    dims = [int(next(words)) for _ in range(int(next(words)))]
    rank = int(next(words))
    weights = [float(next(words)) for _ in range(rank)]
    factors = []
    for dim in dims:
        assert [next(words) for _ in range(4)] == ["matrix", "2", str(dim), str(rank)]
        factors.append([[float(next(words)) for _ in range(rank)] for _ in range(dim)])
    return weights, factors


def test_model_as_a_long_table(polyad):
    options = ("-r", "2", "-i", "7", "--tol", "0")
    name = table_with_labels(polyad)
    for output in ("m.ktensor", "m.csv", "m.tsv"):
        polyad.ok("cpd", name, *options, "-o", output)
    weights, factors = read_ktensor(polyad.path("m.ktensor"))
    expected = [
        {"component": str(r + 1), "mode": mode, "label": label, "strength": factors[n][i][r],
         "weight": weights[r]}
        for r in range(2)
        for n, (mode, labels) in enumerate([
            ("from", [f'place "{k}", {k}' for k in range(3)]),
            ("day, local", [f"day {k}" for k in range(4)])])
        for i, label in enumerate(labels)]
    for output, delimiter in (("m.csv", ","), ("m.tsv", "\t")):
        with open(polyad.path(output), newline="") as file:
            found = list(csv.DictReader(file, delimiter=delimiter))
        for row in found:
            row["strength"], row["weight"] = float(row["strength"]), float(row["weight"])
        assert found == expected
    polyad.fails(2, "tucker", name, "-r", "1", "-o", "t.csv", says=(".ttensor", ".json"))


def test_modes_without_names_are_counted_in_the_table(polyad):
    polyad.ok(*CPD, "-o", "m.csv")
    lines = polyad.path("m.csv").read_text().splitlines()
    assert lines[0] == "component,mode,label,strength,weight" and lines[1].startswith("1,1,1,")


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_model_as_json(polyad, precision):
    name = table_with_labels(polyad)
    for output in ("m.ktensor", "m.json"):
        polyad.ok("cpd", name, "-r", "2", "-i", "7", "--tol", "0", "--precision", precision, "-o",
                  output)
    model = json.loads(polyad.path("m.json").read_text())
    schema = json.loads((ROOT / "docs/json/model.json").read_text())
    jsonschema.validate(model, schema)
    weights, factors = read_ktensor(polyad.path("m.ktensor"))
    assert model["weights"] == weights and model["dims"] == [3, 4] and model["rank"] == 2
    assert [mode["factor"] for mode in model["modes"]] == factors
    assert [mode["name"] for mode in model["modes"]] == ["from", "day, local"]
    assert model["modes"][0]["labels"] == [f'place "{k}", {k}' for k in range(3)]
    polyad.ok("tucker", name, "-r", "2,3", "-o", "t.json", "--precision", precision)
    model = json.loads(polyad.path("t.json").read_text())
    jsonschema.validate(model, schema)
    assert model["ranks"] == [2, 3] and len(model["core"]) == 6


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_model_as_an_archive(polyad, precision):
    """NumPy reads what the command writes, and the command reads it as NumPy writes it."""
    name = table_with_labels(polyad)
    options = ("-r", "2", "-i", "7", "--tol", "0", "--precision", precision)
    for output in ("m.ktensor", "m.npz"):
        polyad.ok("cpd", name, *options, "-o", output)
    weights, factors = read_ktensor(polyad.path("m.ktensor"))
    with np.load(polyad.path("m.npz"), allow_pickle=False) as archive:
        arrays = dict(archive)
    dtype = np.dtype({"f64": np.float64, "f32": np.float32}[precision])
    assert arrays["weights"].dtype == arrays["factor_1"].dtype == dtype
    assert arrays["weights"].tolist() == [dtype.type(each) for each in weights]
    for mode, factor in enumerate(factors):
        assert np.array_equal(arrays[f"factor_{mode}"], np.array(factor, dtype))
    assert arrays["mode_names"].tolist() == ["from", "day, local"]
    assert arrays["labels_0"].tolist() == [f'place "{k}", {k}' for k in range(3)]
    assert sorted(arrays) == ["factor_0", "factor_1", "labels_0", "labels_1", "mode_names", "weights"]
    np.savez_compressed(polyad.path("again.npz"),
                        **{key: np.asfortranarray(each) for key, each in arrays.items()})
    polyad.ok("cpd", name, *options, "--init", "again.npz", "--max-iters", "1", "-o", "from.json")
    assert polyad.json("score", "m.ktensor", "again.npz")["score"] == pytest.approx(1, abs=1e-6)
    polyad.ok("tucker", name, "-r", "2,3", "-o", "t.npz", "--precision", precision)
    polyad.ok("tucker", name, "-r", "2,3", "-o", "t.json", "--precision", precision)
    core = json.loads(polyad.path("t.json").read_text())["core"]
    with np.load(polyad.path("t.npz")) as archive:
        assert archive["core"].shape == (2, 3)
        assert archive["core"].ravel().tolist() == [dtype.type(each) for each in core]
    polyad.fails(1, "cpd", name, "-r", "2", "--init", "t.npz", says="a Tucker model")


def test_tensor_as_an_archive(polyad):
    """What sparse.save_npz writes, with labels beside it; also through a pipe."""
    name = table_with_labels(polyad)
    polyad.ok("convert", name, "x.npz")
    with np.load(polyad.path("x.npz"), allow_pickle=False) as archive:
        arrays = dict(archive)
    assert arrays["coords"].shape == (2, 12) and arrays["coords"].dtype == np.int32
    assert arrays["shape"].tolist() == [3, 4] and arrays["fill_value"] == 0
    polyad.ok("convert", "x.npz", "back.csv")
    polyad.ok("convert", name, "straight.csv")
    assert polyad.path("back.csv").read_bytes() == polyad.path("straight.csv").read_bytes()
    found = polyad.json("info", "-", stdin=polyad.path("x.npz").read_bytes())
    assert found["nnz"] == 12 and found["dims"] == [3, 4]
    wide = dict(coords=np.array([[0, 2**40]], np.int64), data=np.array([1.0, 2.0]),
                shape=np.array([2**41]))
    np.savez(polyad.path("wide.npz"), **wide)
    polyad.ok("convert", "wide.npz", "wide.tns")
    polyad.ok("convert", "wide.tns", "again.npz", "--dims", str(2**41))
    with np.load(polyad.path("again.npz")) as archive:
        for key, array in wide.items():
            assert np.array_equal(archive[key].reshape(array.shape), array)


@pytest.mark.parametrize("change, says", [
    ({"fill_value": 1.0}, "fill_value is 1; expected 0"),
    ({"coords": np.array([[0, 1]])}, "coords has shape (1, 2)"),
    ({"coords": np.array([[0, 1], [0, -1]])}, "nonzero 2 has index 0 in mode 2"),
    ({"coords": np.array([[0.0, 1], [0, 1]])}, "coords has type f8; expected integers"),
    ({"data": np.array([1.0, np.nan])}, "data: entry 2 is nan"),
    ({"data": np.array([1.0])}, "data has shape (1)"),
    ({"data": np.array([1, 2], np.float16)}, "little-endian"),
    ({"data": np.array([1.0, 2.0], ">f8")}, "little-endian"),
    ({"shape": np.array([2, 0])}, "mode 2 has length 0"),
    ({"shape": np.array([2**64 - 1, 2], np.uint64)}, "entry 1 is 18446744073709551615"),
    ({"labels_1": np.array(["one"])}, "labels_1 has shape (1)"),
    ({"mode_names": np.array(["one"])}, "mode_names has shape (1)"),
    ({"factor_0": np.eye(2)}, "a model; expected a tensor")])
def test_archives_that_are_refused(polyad, change, says):
    arrays = {"coords": np.array([[0, 1], [0, 1]]), "data": np.array([1.0, 2.0]),
              "shape": np.array([2, 2])}
    np.savez(polyad.path("x.npz"), **arrays)
    assert polyad.json("info", "x.npz")["nnz"] == 2
    np.savez(polyad.path("x.npz"), **{**arrays, **change})
    polyad.fails(1, "info", "x.npz", says=("x.npz", says))


def test_dense_arrays(polyad):
    """What numpy.save writes, whatever its type and order, alone in an archive, and from a pipe."""
    cells = np.random.default_rng(1).integers(-3, 4, (5, 1, 7)).astype(np.float64)
    np.save(polyad.path("x.npy"), cells)
    polyad.ok("convert", "x.npy", "x.tns")
    expected = polyad.json("info", "x.tns", "--dims", "5,1,7")
    assert expected["nnz"] == np.count_nonzero(cells)
    for other in (np.asfortranarray(cells), cells.astype(np.float32), cells.astype(np.int8)):
        np.save(polyad.path("y.npy"), other)
        np.savez_compressed(polyad.path("y.npz"), anything=other)
        for name in ("y.npy", "y.npz"):
            polyad.ok("convert", name, "y.tns")
            assert polyad.path("y.tns").read_text() == polyad.path("x.tns").read_text()
    assert polyad.json("info", "-", stdin=polyad.path("x.npy").read_bytes())["nnz"] == expected["nnz"]
    np.save(polyad.path("truth.npy"), cells > 0)
    assert polyad.json("info", "truth.npy")["nnz"] == (cells > 0).sum()
    polyad.fails(1, "cpd", "x.npy", "-r", "1", "--init", "x.npy", says="expected a model")
    polyad.fails(2, "convert", "x.tns", "x.npy", says="no known extension")


@pytest.mark.parametrize("array, says", [
    (np.array([[1.0, 2], [3, np.nan]]), "cell (2, 2) (counted from 1) has value nan"),
    (np.array([[1.0, 2], [np.inf, 3]], order="F"), "cell (2, 1) (counted from 1) has value inf"),
    (np.array(1.0), "array has shape (); expected 1 to 16 modes"),
    (np.zeros((3, 0)), "mode 2 has length 0"), (np.array(["a"]), "expected numbers"),
    (np.ones((1,) * 17), "the shape does not fit"), (np.ones(3, ">f8"), "little-endian")])
def test_dense_arrays_that_are_refused(polyad, array, says):
    np.save(polyad.path("x.npy"), array)
    polyad.fails(1, "info", "x.npy", says=("x.npy", says))


def test_dense_arrays_that_are_cut(polyad):
    np.save(polyad.path("x.npy"), np.ones((4, 5)))
    whole = polyad.path("x.npy").read_bytes()
    for cut in (whole[:-1], whole[:100], whole[:9], whole[:6], whole + b"x"):
        polyad.path("x.npy").write_bytes(cut)
        polyad.fails(1, "info", "x.npy", says="x.npy")


def test_zip_archives_of_other_things(polyad):
    with zipfile.ZipFile(polyad.path("good.zip"), "w") as archive:
        archive.write(polyad.path("good.tns"), "good.tns")
    polyad.fails(1, "info", "good.zip", says=("'good.tns'", "decompress the file first"))
    shutil.copy(polyad.path("good.zip"), polyad.path("good.csv"))
    polyad.fails(1, "info", "good.csv", says="compressed by zip")


def test_a_page_as_the_output(polyad):
    for command in (CPD, ("tucker", "good.tns", "-r", "1")):
        polyad.ok(*command, "-o", "page.html")
        assert polyad.path("page.html").read_text().startswith("<!doctype html>")
        polyad.path("page.html").unlink()
        polyad.fails(2, *command, "-o", "page.html", "--report", "other.html",
                     says="--output and --report")


@pytest.mark.parametrize("name", ["m.csv", "m.json"])
def test_models_for_other_programs_are_not_read(polyad, name):
    polyad.ok(*CPD, "-o", name)
    polyad.fails(1, "score", name, name, says=("for other programs", "expected .ptm, .npz"))


def test_labels_of_any_bytes_in_json(polyad):
    """Control bytes are escaped; what is no UTF-8 becomes U+FFFD."""
    polyad.write("odd.csv", b"a,b,value\nx\x01\x7f\\,\xc3\xa9,1\ny,\xff\xed\xa0\x80,2\n")
    polyad.ok("cpd", "odd.csv", "-r", "1", "-o", "m.json")
    model = json.loads(polyad.path("m.json").read_bytes().decode("utf-8"))
    assert model["modes"][0]["labels"] == ["x\x01\x7f\\", "y"]
    assert model["modes"][1]["labels"] == ["\u00e9", "\ufffd\ufffd\ufffd\ufffd"]
    polyad.ok(*CPD, "-o", "n.json")
    assert json.loads(polyad.path("n.json").read_text())["modes"][0]["labels"] is None


# ---- two results in one file ----------------------------------------------------------------------

@pytest.mark.parametrize("options", [
    ("--json", "q.prev", "--checkpoint", "q"), ("--json", "./q.prev", "--checkpoint", "q"),
    ("--json", "sub/../q.prev", "--checkpoint", "q"), ("--json", "./m", "--output", "m")])
def test_results_that_would_share_a_file(polyad, options):
    polyad.path("sub").mkdir()
    polyad.fails(2, *CPD, *options, says="both go to the same file")


def test_previous_checkpoint_that_is_the_input(polyad):
    polyad.write("q.prev", polyad.path("good.tns").read_bytes())
    polyad.fails(1, "cpd", "q.prev", "-r", "1", "--checkpoint", "q", says="is the input")


def test_a_resumed_checkpoint_is_no_place_for_other_results(polyad):
    polyad.ok(*CPD, "--checkpoint", "state")
    polyad.fails(1, *CPD, "--resume", "state", "--json", "state", says="is the input")
    polyad.ok(*CPD, "--resume", "state", "--checkpoint", "state")


# ---- what killed runs leave ------------------------------------------------------------------------

def hidden(polyad):
    return sorted(path.name for path in polyad.folder.iterdir() if path.name.startswith("."))


def kill_while_writing(polyad, out):
    """Kills a writer while its temporary file is there."""
    process = subprocess.Popen([COMMAND, "convert", "large.ptn", out], cwd=polyad.folder)
    try:
        end = time.monotonic() + 60
        while not hidden(polyad) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.0005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_the_next_writer_removes_what_a_killed_one_left(polyad):
    polyad.ok("generate", "--dims", "3000,2000,1000", "--nnz", "1000000", "large.ptn")
    end = time.monotonic() + 60  # a busy machine may let the writer finish before it is killed
    while not hidden(polyad) and time.monotonic() < end:
        kill_while_writing(polyad, "out.tns")
    assert hidden(polyad) == [".out.tns.polyad-0.tmp"]
    polyad.ok("convert", "good.tns", "other.tns")
    assert hidden(polyad) == [".out.tns.polyad-0.tmp"]  # of another target
    polyad.ok("convert", "good.tns", "out.tns")
    assert hidden(polyad) == []


def test_left_over_directories_and_gaps(polyad):
    for number in (0, 3):
        left = polyad.path(f".m.polyad-{number}.tmp")
        left.mkdir()
        (left / "lambda.txt").write_text("1\n")
        (left / ".mode1.txt.polyad-0.tmp").write_text("1\n")
    polyad.ok(*CPD, "-o", "m/")
    assert hidden(polyad) == []


def test_a_writer_that_lives_keeps_its_temporary(polyad):
    alive, foreign = ".out.tns.polyad-0.tmp", ".out.tns.mine.tmp"
    polyad.write(alive, "half\n")
    polyad.write(foreign, "x\n")
    polyad.path(".out.tns.polyad-1.tmp").symlink_to("good.tns")
    with open(polyad.path(alive), "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        polyad.ok("convert", "good.tns", "out.tns")
        assert hidden(polyad) == [foreign, alive, ".out.tns.polyad-1.tmp"]
    polyad.ok("convert", "good.tns", "out.tns")
    assert hidden(polyad) == [foreign, ".out.tns.polyad-1.tmp"]
    assert polyad.path("good.tns").exists()


def test_many_writers_of_one_file(polyad):
    processes = [subprocess.Popen([COMMAND, "convert", "good.tns", "out.tns"], cwd=polyad.folder)
                 for _ in range(20)]
    assert [process.wait() for process in processes] == [0] * 20
    assert hidden(polyad) == []
    assert polyad.path("out.tns").read_bytes() == polyad.path("good.tns").read_bytes().replace(
        b".0", b"")


# ---- inputs ---------------------------------------------------------------------------------------

def test_label_file_that_is_a_pipe(polyad):
    polyad.path("good.labels").mkdir()
    os.mkfifo(polyad.path("good.labels/mode-1-a.map"))
    result = polyad.run("info", "good.tns", timeout=20)
    assert result.status == 1 and result.out == b""
    assert "mode-1-a.map: error: a pipe found; expected a regular file" in result.err


@pytest.mark.parametrize("kind", [0x50, 0x57, 0x5f])
def test_zstd_that_begins_with_a_frame_to_be_skipped(polyad, kind):
    polyad.ok("convert", "good.tns", "z.tns.zst")
    frame = bytes([kind]) + b"\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    content = polyad.path("z.tns.zst").read_bytes()
    polyad.write("s.tns.zst", frame + content)
    polyad.write("t.tns", frame + content + frame)
    for name in ("s.tns.zst", "t.tns"):
        polyad.ok("convert", name, "back.tns")
        assert polyad.path("back.tns").read_bytes() == b"1 1 1 1\n1 2 1 2\n2 1 2 3\n"
    polyad.write("cut.tns.zst", frame[:-2])
    polyad.fails(1, "info", "cut.tns.zst", says="truncated")


# ---- dims of text ------------------------------------------------------------------------------------

def test_text_keeps_empty_slices_at_the_end(polyad):
    polyad.ok("generate", "--dims", "40,50,60", "--nnz", "30", "a.tns")
    assert polyad.path("a.tns").read_text().startswith("# dims: 40 50 60\n")
    assert polyad.json("info", "a.tns")["dims"] == [40, 50, 60]
    polyad.ok("generate", "--dims", "40,50,60", "--nnz", "30", "-r", "2", "--truth", "t.ktensor",
              "b.tns.gz")
    assert polyad.json("info", "b.tns.gz")["dims"] == [40, 50, 60]
    polyad.ok("cpd", "b.tns.gz", "-r", "2", "-o", "m.ktensor")
    polyad.ok("score", "t.ktensor", "m.ktensor")
    polyad.ok("convert", "a.tns", "a.ptn")
    polyad.ok("convert", "a.ptn", "c.tns")
    assert polyad.json("info", "c.tns")["dims"] == [40, 50, 60]
    assert polyad.json("info", "c.tns", "--dims", "41,51,61")["dims"] == [41, 51, 61]


def test_text_whose_nonzeros_tell_the_dims_has_no_comment(polyad):
    polyad.ok("convert", "good.tns", "out.tns")
    assert polyad.path("out.tns").read_bytes() == b"1 1 1 1\n1 2 1 2\n2 1 2 3\n"


@pytest.mark.parametrize("comment, dims", [
    ("# dims: 5 6 7\n", [5, 6, 7]), ("# by hand\n\n# dims: 5 6 7\r\n", [5, 6, 7]),
    ("# dims: 5 6\n", [2, 2, 2]), ("# dims: 5x6x7\n", [2, 2, 2]), ("# dims:\n", [2, 2, 2]),
    ("# dims: 5 6 0\n", [2, 2, 2]), ("# dims:  5 6 7\n", [2, 2, 2]),
    ("# dims: 5 6 99999999999999999999\n", [2, 2, 2])])
def test_comment_with_dims(polyad, comment, dims):
    polyad.write("c.tns", comment + polyad.path("good.tns").read_text())
    assert polyad.json("info", "c.tns")["dims"] == dims


def test_comment_with_dims_that_are_too_small(polyad):
    polyad.write("c.tns", "# dims: 2 1 2\n" + polyad.path("good.tns").read_text())
    polyad.fails(1, "info", "c.tns", says=("c.tns:3:3: error:", "expected at most 1"))


def test_who_writes_other_files_is_said(polyad):
    polyad.fails(2, "project", "m.ktensor", "good.tns", "--mode", "1", "-o", "m.parquet",
                 says=("no model has", "polyad-table"))
    polyad.fails(2, "generate", "--dims", "3,4", "--nnz", "5", "-r", "1", "--truth", "t.html", "o.tns",
                 says=("no model has", "polyad report"))


def test_label_files_of_another_tensor(polyad):
    """They stay, and are named: readers of the new file take them for its own."""
    polyad.path("out.labels").mkdir()
    polyad.write("out.labels/notes.txt", "not of labels")
    assert "label files" not in polyad.ok("convert", "good.tns", "out.tns").err
    polyad.write("out.labels/mode-1-who.map", "ann\nbob\n")
    assert polyad.ok("convert", "good.tns", "out.tns").err.count("out.labels has label files") == 1
    assert polyad.path("out.labels/mode-1-who.map").read_text() == "ann\nbob\n"
    assert "label files" not in polyad.ok("convert", "good.tns", "out.ptn").err
