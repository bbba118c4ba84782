"""NumPy archives, and Parquet and Arrow files, of tensors and models."""

import io
import subprocess
import sys

import numpy as np
import pytest

import polyad

pandas = pytest.importorskip("pandas")


def labelled():
    return polyad.SparseTensor([[0, 0, 1], [1, 2, 0], [0, 1, 1]], [1.5, -2.0, 3.25], (2, 3, 2),
                               {"day": ["Mon", "Tue"], "place": ["Ålesund", "b,c", ""], "hour": None})


def test_archive_of_a_tensor(tmp_path):
    x = labelled()
    x.save(tmp_path / "x.npz")
    y = polyad.read(tmp_path / "x.npz")
    assert x == y and y.labels == x.labels and y.mode_names == ["day", "place", "hour"]
    assert polyad.read(tmp_path / "x.npz", dtype="f4").dtype == np.float32
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.npz"]


def test_archive_and_pydata_sparse(tmp_path):
    sparse = pytest.importorskip("sparse")
    x = labelled()
    x.save(tmp_path / "x.npz")
    assert np.array_equal(sparse.load_npz(tmp_path / "x.npz").todense(), x.to_numpy())
    sparse.save_npz(tmp_path / "y.npz", x.to_sparse())
    assert np.array_equal(polyad.read(tmp_path / "y.npz").to_numpy(), x.to_numpy())
    ones = sparse.COO(np.array([[0], [1]]), np.array([5.0]), (2, 2), fill_value=1.0)
    sparse.save_npz(tmp_path / "ones.npz", ones)
    with pytest.raises(ValueError, match="fill_value"):
        polyad.read(tmp_path / "ones.npz")


MATRIX = np.array([[0, 2.5, 0, 1], [0, 0, 0, 0], [-3, 0, 0, 4]])
CSR = {"indices": [1, 3, 0, 3], "indptr": [0, 2, 2, 4], "data": [2.5, 1, -3, 4]}
PARTS = {"csr": CSR,
         "csc": {"indices": [2, 0, 0, 2], "indptr": [0, 1, 2, 2, 4], "data": [-3, 2.5, 1, 4]},
         "coo": {"row": [2, 0, 0, 2], "col": [0, 1, 3, 3], "data": [-3, 2.5, 1, 4]}}


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("text", [bytes, str])
def test_archive_of_a_matrix(tmp_path, kind, text):
    """The arrays of scipy.sparse.save_npz, whose format is bytes."""
    name = kind.encode() if text is bytes else kind
    np.savez_compressed(tmp_path / "m.npz", format=name, shape=MATRIX.shape, _is_array=True,
                        **{key: np.array(each, np.int32 if key != "data" else np.float64)
                           for key, each in PARTS[kind].items()})
    assert np.array_equal(polyad.read(tmp_path / "m.npz").to_numpy(), MATRIX)


@pytest.mark.parametrize("change, words", [
    ({"indptr": [0, 3, 2, 4]}, "indptr is not in order"), ({"indptr": [0, 2, 9, 4]}, "indptr is not in order"),
    ({"indptr": [0, -2, 2, 4]}, "indptr is not in order"), ({"indptr": [0, 2, 4]}, "indptr has shape"),
    ({"indptr": [0, 2, 2, 3]}, "indptr is not in order"), ({"indices": [1, 4, 0, 3]}, "nonzero 1 has index 4 in mode 1"),
    ({"indices": [1, 3, 0]}, "indices has shape"), ({"shape": (3, 4, 1)}, "shape has shape"),
    ({"format": b"dia"}, r"format .dia.; expected coo, csr or csc"), ({"format": b"dictionary"}, "format"),
    ({"data": np.ones((4, 1, 1))}, r"data has shape \(4, 1, 1\); expected one dimension"),
    ({"data": np.array([b"1", b"2", b"3", b"4"])}, "data has type S1; expected numbers")])
def test_archives_of_matrices_that_are_wrong(tmp_path, change, words):
    np.savez(tmp_path / "m.npz", **{"format": b"csr", "shape": (3, 4), **CSR, **change})
    with pytest.raises(polyad.Error, match=words):
        polyad.read(tmp_path / "m.npz")


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_archive_of_models(tmp_path, precision):
    x = labelled()
    for model in (polyad.cp_als(x, 2, precision=precision),
                  polyad.tucker(x, (2, 2, 2), precision=precision)):
        model.save(tmp_path / "m.npz")
        assert type(model).load(tmp_path / "m.npz", precision) == model


def test_archives_that_are_wrong(tmp_path):
    (tmp_path / "no.npz").write_text("no archive")
    np.savez(tmp_path / "other.npz", first=np.arange(3), second=np.ones(2))
    np.savez(tmp_path / "object.npz", data=np.array([{}], object), coords=[[0]], shape=[1])
    np.savez(tmp_path / "labels.npz", data=[1.0], coords=[[0]], shape=[1], labels_0=["a", "b"])
    for name, words in (("no", "expected a NumPy archive"), ("other", "no array 'coords'"),
                        ("object", "without Python objects"), ("labels", "labels_0 has shape")):
        with pytest.raises(polyad.ParseError, match=words) as caught:
            polyad.read(tmp_path / f"{name}.npz")
        assert caught.value.file == str(tmp_path / f"{name}.npz")
    with pytest.raises(FileNotFoundError):
        polyad.read(tmp_path / "none.npz")
    np.savez(tmp_path / "x.npz", data=[1.0], coords=[[0]], shape=[1])
    with pytest.raises(ValueError, match="expected delimited text"):
        polyad.read(tmp_path / "x.npz", columns="a")


def rides():
    return pandas.DataFrame({
        "when": pandas.to_datetime(["2024-01-01 05:10", "2024-01-02 06:00", "2024-01-02 06:30"]),
        "city": pandas.Categorical(["Oslo", 'Bergen, "N"', "Oslo"]),
        "fare": [1.5, 2.0, None], "seats": np.array([1, 2, 3], np.int16)})


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path, row_group_size=2)
    elif path.suffix == ".feather":
        frame.to_feather(path)
    else:
        arrow = pytest.importorskip("pyarrow")
        table = arrow.Table.from_pandas(frame)
        with arrow.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
def test_tables(tmp_path, name):
    pytest.importorskip("pyarrow")
    write(rides(), tmp_path / name)
    rides().to_csv(tmp_path / "t.csv", index=False)
    for options in ({"columns": ["when:hour", "city"], "value": "fare", "missing": "skip"},
                    {"columns": "city", "value": "seats", "where": "seats<3"},
                    {"columns": ["when", "city"], "value": "seats"}):
        x = polyad.read(tmp_path / name, **options)
        y = polyad.read(tmp_path / "t.csv", **options)
        assert x == y and x.labels == y.labels and x.mode_names == y.mode_names


def test_tables_that_are_wrong(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "t.parquet").write_text("no table")
    (tmp_path / "t.arrow").write_text("no table")
    for name in ("t.parquet", "t.arrow"):
        with pytest.raises(polyad.ParseError, match=name):
            polyad.read(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        polyad.read(tmp_path / "none.parquet")
    nested = rides().assign(stops=[[1], [2], [3]])
    nested.to_parquet(tmp_path / "n.parquet")
    with pytest.raises(TypeError, match="column 'stops' has type list"):
        polyad.read(tmp_path / "n.parquet")
    assert polyad.read(tmp_path / "n.parquet", columns="city", value="seats").nnz == 2
    with pytest.raises(ValueError, match="n.parquet.*nothere"):
        polyad.read(tmp_path / "n.parquet", columns="city,nothere", value="seats")


def test_values_of_a_table_need_not_be_named(tmp_path):
    pytest.importorskip("pyarrow")
    pandas.DataFrame({"city": ["a", "b"], "other": [7, 8], "value": [2.0, 3.0]}).to_parquet(
        tmp_path / "v.parquet")
    assert list(polyad.read(tmp_path / "v.parquet", columns="city").values) == [2, 3]


def test_model_as_a_table(tmp_path):
    pytest.importorskip("pyarrow")
    model = polyad.cp_als(labelled(), 2)
    model.save(tmp_path / "m.parquet")
    model.save(tmp_path / "m.csv")
    ours = pandas.read_parquet(tmp_path / "m.parquet")
    theirs = pandas.read_csv(tmp_path / "m.csv", keep_default_na=False, dtype={"label": str})
    keys = ["component", "mode", "label"]
    pandas.testing.assert_frame_equal(ours.sort_values(keys, ignore_index=True),
                                      theirs.sort_values(keys, ignore_index=True))


def write_half(_frame, path, **_options):
    path.write_text("half")
    raise OSError("no space")


def test_table_command(tmp_path, capsysbinary, monkeypatch):
    pytest.importorskip("pyarrow")
    from polyad._table_command import main

    rides().to_parquet(tmp_path / "t.parquet")
    assert main([str(tmp_path / "t.parquet"), "--columns", "city,seats"]) == 0
    back = pandas.read_csv(io.BytesIO(capsysbinary.readouterr().out))
    assert list(back.columns) == ["city", "seats"] and list(back["city"]) == list(rides()["city"])
    assert main([str(tmp_path / "t.csv")]) == 2
    assert main([str(tmp_path / "none.parquet")]) == 1
    x = labelled()
    for model, name in ((polyad.cp_als(x, 2), "k.npz"), (polyad.tucker(x, (2, 2, 2)), "t.ptm"),
                        (polyad.tucker(x, (2, 2, 2)), "t.npz")):
        model.save(tmp_path / name)
        model.save(tmp_path / "straight.parquet")
        assert main([str(tmp_path / name), "-o", str(tmp_path / "m.parquet")]) == 0
        pandas.testing.assert_frame_equal(pandas.read_parquet(tmp_path / "m.parquet"),
                                          pandas.read_parquet(tmp_path / "straight.parquet"))
    assert main([str(tmp_path / "k.npz"), "-o", "m.csv"]) == 2
    assert main([]) == 2 and main(["--check"]) == 0
    (tmp_path / "m.parquet").write_text("as it was")
    monkeypatch.setattr(pandas.DataFrame, "to_parquet", write_half)
    assert main([str(tmp_path / "k.npz"), "-o", str(tmp_path / "m.parquet")]) == 1
    assert (tmp_path / "m.parquet").read_text() == "as it was"
    assert not list(tmp_path.glob(".*"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["--check"]) == 1
    assert "pip install 'polyad[tables]'" in capsysbinary.readouterr().err.decode()
    monkeypatch.undo()
    assert main([str(tmp_path / "t.parquet"), "-o", str(tmp_path / "m.parquet")]) == 1
    shown = subprocess.run([sys.executable, "-m", "polyad._table_command", "--help"],
                           capture_output=True, text=True, check=True)
    assert "polyad cpd -" in shown.stdout


def test_dense_arrays_are_read(tmp_path):
    cells = np.random.default_rng(0).integers(0, 3, (4, 5, 3))
    np.save(tmp_path / "x.npy", cells)
    assert polyad.read(tmp_path / "x.npy") == polyad.SparseTensor.from_numpy(cells)
    with open(tmp_path / "x.npy", "rb") as file:
        assert polyad.read(file).nnz == np.count_nonzero(cells)
