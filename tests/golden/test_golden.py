"""Files that released versions wrote are read for ever: every kind, each to the same bits, but for
checkpoints, which live as long as a run does. A checkpoint of another version, and a file of a
version that does not exist yet, is refused with a message that says so."""

import json
import pathlib
import shutil

import pytest

GOLDEN = pathlib.Path(__file__).parent
VERSIONS = sorted(path.name for path in GOLDEN.glob("v*"))
HASH = dict.fromkeys(["v1", "v2", "v3"], "af31c063ede118d8")  # of the tensor, as `info` prints it
CHECKPOINTS = ["v3"]  # versions whose checkpoints are read
ZEROS = "9967a5682463b31f"
TENSORS = ["rides.ptn", "rides.tns", "rides.tns.gz", "rides.tns.zst", "rides.txt", "rides.csv",
           "rides.tsv"]
ALGORITHMS = ["als", "apr-mu", "apr-pdnr", "apr-pqnr"]


def copy_of(version, polyad):
    """The command in a folder with copies of one version's files."""
    shutil.copytree(GOLDEN / version, polyad.folder, dirs_exist_ok=True)
    polyad.version = version
    return polyad


@pytest.fixture(params=VERSIONS)
def golden(request, polyad):
    return copy_of(request.param, polyad)


@pytest.fixture(params=CHECKPOINTS)
def current(request, polyad):
    return copy_of(request.param, polyad)


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("threads", [1, 7])
def test_tensors(golden, name, threads):
    found = golden.json("info", name, "--threads", threads)
    assert found["hash"] == HASH[golden.version] and found["nnz"] == 60


def test_zeros(polyad):
    """Version 2 of .ptn: zeros that were observed."""
    shutil.copy(GOLDEN / "v2" / "zeros.ptn", polyad.folder)
    assert polyad.path("zeros.ptn").read_bytes()[12] == 2
    found = polyad.json("info", "zeros.ptn", "--zeros", "keep")
    assert (found["nnz"], found["zeros_kept"], found["dims"]) == (3, 2, [2, 3])
    assert found["hash"] == ZEROS


def test_archives(current):
    """NumPy archives: the tensor with its labels, and a model, written as they were."""
    assert current.json("info", "rides.npz")["hash"] == HASH["v2"]
    for name in ("rides.csv", "rides.npz"):
        current.ok("convert", "rides.npz", f"again-{name}")
        assert (current.path(f"again-{name}").read_bytes() ==
                (GOLDEN / "v2" / name).read_bytes())
    current.ok("cpd", "rides.ptn", "-r", "2", "--threads", "1", "--max-iters", "3", "--tol", "0",
              "--resume", "als.state", "--output", "again.npz")
    assert current.path("again.npz").read_bytes() == current.path("als.npz").read_bytes()


@pytest.mark.parametrize("name", ["rides.ptn", "rides.tns", "rides.csv"])
def test_labels(golden, name):
    """From .ptn, from the folder beside a .tns, from the cells of a .csv: the same words."""
    golden.ok("convert", name, "again.csv")
    assert (golden.path("again.csv").read_bytes() ==
            (GOLDEN / golden.version / "rides.csv").read_bytes())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("threads", [1, 3])
def test_checkpoints(current, algorithm, threads):
    """No iteration is left: the model is the state of the checkpoint, bit for bit."""
    current.ok("cpd", "rides.ptn", "-r", "2", "--algorithm", algorithm, "--threads", threads,
              "--max-iters", "3", "--tol", "0", "--resume", f"{algorithm}.state", "--output",
              "again.ktensor")
    assert (current.path("again.ktensor").read_bytes() ==
            current.path(f"{algorithm}.ktensor").read_bytes())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("version", [1, 2])
def test_an_older_checkpoint_is_refused(polyad, algorithm, version):
    copy_of(f"v{version}", polyad)
    polyad.fails(1, "cpd", "rides.ptn", "-r", "2", "--algorithm", algorithm, "--resume",
                 f"{algorithm}.state",
                 says=(f"{algorithm}.state: ", f"version {version}, older than the 3"))


def test_binary_models(current):
    """A .ptm is written as it was, names and labels with it; a model of text has the same bits."""
    current.ok("cpd", "rides.ptn", "-r", "2", "--threads", "1", "--max-iters", "3", "--tol", "0",
              "--resume", "als.state", "--output", "again.ptm")
    assert current.path("again.ptm").read_bytes() == current.path("als.ptm").read_bytes()
    assert current.json("score", "als.ptm", "als.ktensor")["score"] == pytest.approx(1, abs=1e-12)


def test_a_newer_binary_model_is_refused(golden):
    version = raise_version(golden, "als.ptm", 12)
    golden.fails(1, "score", "als.ptm", "als.ktensor", says=("newer", str(version)))


def test_model_directory(current):
    """The files of a folder are written as they were."""
    current.ok("cpd", "rides.ptn", "-r", "2", "--threads", "1", "--max-iters", "3", "--tol", "0",
              "--resume", "als.state", "--output", "again/")
    for path in sorted((GOLDEN / current.version / "model").iterdir()):
        assert current.path("again/" + path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.parametrize("name", ["rides.ptn", "rides.tns", "rides.csv", "rides.txt"])
def test_writers_write_as_before(golden, name):
    golden.ok("convert", "rides.ptn", "again" + pathlib.Path(name).suffix)
    assert (golden.path("again" + pathlib.Path(name).suffix).read_bytes() ==
            golden.path(name).read_bytes())


def raise_version(golden, name, offset):
    data = bytearray(golden.path(name).read_bytes())
    found = int.from_bytes(data[offset:offset + 4], "little")
    data[offset:offset + 4] = (found + 41).to_bytes(4, "little")
    golden.path(name).write_bytes(data)
    return found + 41


def test_a_newer_tensor_is_refused(golden):
    version = raise_version(golden, "rides.ptn", 12)
    golden.fails(1, "info", "rides.ptn", says=("newer", str(version)))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_newer_checkpoint_is_refused(golden, algorithm):
    version = raise_version(golden, f"{algorithm}.state", 8)
    golden.fails(1, "cpd", "rides.ptn", "-r", "2", "--algorithm", algorithm, "--resume",
                 f"{algorithm}.state", says=("newer", str(version)))


def test_a_newer_tuning_cache_is_not_used(golden):
    """A cache can be measured again: another version is replaced, not refused."""
    golden.write("cache", "polyad tune cache 42 0123456789abcdef\nanything\n")
    golden.ok("cpd", "rides.ptn", "-r", "2", "--tune", "--tune-cache", "cache", "--max-iters", "1")
    assert golden.path("cache").read_text().startswith("polyad tune cache 1 ")


def test_every_kind_is_there():
    """A kind that is added to the writers must be added here."""
    kinds = {path.suffix for path in (GOLDEN / VERSIONS[-1]).iterdir() if path.is_file()}
    assert kinds - {".hash"} == {".csv", ".gz", ".ktensor", ".npz", ".ptm", ".ptn", ".state", ".tns", ".tsv",
                                 ".ttensor", ".txt", ".zst"}
    assert json.dumps(sorted(HASH)) == json.dumps(VERSIONS)
