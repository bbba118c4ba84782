"""KruskalTensor: computations, files, other packages."""

import copy
import json
import pathlib
import pickle
import subprocess

import numpy as np
import pytest

import polyad


@pytest.fixture
def model():
    rng = np.random.default_rng(4)
    return polyad.KruskalTensor([2.0, 5.0, 1.0], [rng.standard_normal((n, 3)) for n in (4, 5, 6)],
                                labels=[list("abcd"), None, None], mode_names=["letter", None, None])


def test_reconstruct(model):
    dense = np.einsum("r,ir,jr,kr->ijk", model.weights, *model.factors)
    np.testing.assert_allclose(model.reconstruct(), dense, atol=1e-12)
    coords = np.array([[0, 0, 0], [3, 4, 5]])
    np.testing.assert_allclose(model.reconstruct(coords), dense[tuple(coords.T)], rtol=1e-12)
    for bad, error in (([[0, 0]], ValueError), ([[0, 0, 9]], ValueError),
                       ([[0, 0, -1]], ValueError), ([[0.5, 0, 0]], TypeError)):
        with pytest.raises(error):
            model.reconstruct(bad)


def test_norms(model):
    dense = model.reconstruct()
    assert model.norm() == pytest.approx(np.linalg.norm(dense), rel=1e-12)
    x = polyad.SparseTensor.from_numpy(dense)
    assert model.innerprod(x) == pytest.approx(np.linalg.norm(dense) ** 2, rel=1e-12)
    assert polyad.innerprod(x, model) == model.innerprod(x)
    assert polyad.norm(x) == pytest.approx(polyad.norm(model), rel=1e-12)
    assert model.fit(x) == pytest.approx(1, abs=1e-12)


def test_normalize_arrange_signs(model):
    normal = model.normalize()
    for factor in normal.factors:
        np.testing.assert_allclose(np.linalg.norm(factor, axis=0), 1, rtol=1e-14)
    sorted_model = normal.arrange()
    assert list(sorted_model.weights) == sorted(normal.weights, reverse=True)
    fixed = sorted_model.fix_signs()
    np.testing.assert_allclose(fixed.reconstruct(), model.reconstruct(), atol=1e-12)
    assert fixed.labels[0] == list("abcd")
    one = model.normalize(1)
    np.testing.assert_allclose(np.abs(one.factors[1]).sum(axis=0), 1, rtol=1e-14)
    with pytest.raises(ValueError):
        model.normalize(3)


def test_permute(model):
    swapped = model.permute([2, 0, 1])
    np.testing.assert_allclose(swapped.reconstruct(), model.reconstruct().transpose(2, 0, 1),
                               atol=1e-12)
    assert swapped.labels[1] == list("abcd")
    with pytest.raises(ValueError):
        model.permute([0, 0, 1])


def test_score(model):
    assert polyad.score(model, model) == pytest.approx(1, abs=1e-12)
    shuffled = polyad.KruskalTensor(model.weights[[2, 0, 1]],
                                    [-f[:, [2, 0, 1]] if n < 2 else f[:, [2, 0, 1]]
                                     for n, f in enumerate(model.factors)])
    assert polyad.score(model, shuffled) == pytest.approx(1, abs=1e-12)


def test_score_wants_kruskal_tensors(model):
    with pytest.raises(TypeError, match="TuckerTensor"):
        polyad.score(model, polyad.TuckerTensor(np.ones(1), [np.ones((2, 1))]))


def test_top(model):
    found = model.top(0, 0, 2)
    column = model.factors[0][:, 0]
    assert found[0] == ("abcd"[np.argmax(np.abs(column))], column[np.argmax(np.abs(column))])
    assert len(found) == 2 and len(model.top(0, 1, 99)) == 5
    with pytest.raises(ValueError):
        model.top(3, 0)


def test_file_round_trip(tmp_path, model):
    model.save(tmp_path / "m.ktensor")
    back = polyad.KruskalTensor.load(tmp_path / "m.ktensor")
    assert np.array_equal(back.weights, model.weights)
    assert all(np.array_equal(a, b) for a, b in zip(back.factors, model.factors))


def test_labels_go_with_the_file(tmp_path, model, caplog):
    path = tmp_path / "m.ktensor"
    model.labels[2] = [f"sixth/{i}" for i in range(6)]
    model.save(path)
    assert sorted(f.name for f in (tmp_path / "m.ktensor.labels").iterdir()) == [
        "mode-1-letter.map", "mode-3.map"]
    back = polyad.KruskalTensor.load(path)
    assert back.labels == [list("abcd"), None, model.labels[2]]
    assert back.mode_names == ["letter", None, None]
    assert back.top(0, 0, 1)[0][0] == model.top(0, 0, 1)[0][0]
    # What an earlier model had does not stay.
    polyad.KruskalTensor(model.weights, model.factors).save(path)
    assert polyad.KruskalTensor.load(path).labels == [None] * 3
    model.labels[0] = ["a", "b\nc", "d", "e"]
    model.save(tmp_path / "n.ktensor")
    assert "written without labels" in caplog.text and "line break" in caplog.text
    assert polyad.KruskalTensor.load(tmp_path / "n.ktensor").labels == [None] * 3


def test_labels_go_from_the_command_and_to_it(tmp_path):
    """Beside text and in binary files, in any order."""
    command = pathlib.Path(polyad.__file__).parents[2] / "polyad"
    if not command.is_file():
        pytest.skip("needs the command beside the package")

    def run(*words):
        return subprocess.run([command, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    (tmp_path / "x.csv").write_text("day,place,value\n" + "".join(
        f"{day},{place},{2 + d * p}\n" for d, day in enumerate(["wed", "mon", "tue"]) for p, place in enumerate("cab")))
    for name in ("m.ktensor", "m.ktensor.gz", "m.ptm", "m.npz"):
        run("cpd", "x.csv", "-r", "1", "-o", name)
        model = polyad.KruskalTensor.load(tmp_path / name)
        assert model.labels == [["mon", "tue", "wed"], list("abc")] and model.mode_names == ["day", "place"]
        x = polyad.read(tmp_path / "x.csv")
        turned = polyad.KruskalTensor(model.weights, [f[::-1] for f in model.factors],
                                      labels=[column[::-1] for column in model.labels], mode_names=model.mode_names)
        assert turned.fit(x) == pytest.approx(model.fit(x), abs=1e-12)
        turned.save(tmp_path / f"turned-{name}")
        for one in (name, f"turned-{name}"):
            found = json.loads(run("predict", one, "x.csv", "--json", "-"))["rmse"]
            assert found == pytest.approx(polyad.prediction_score(model, x)["rmse"], rel=1e-9)


def test_what_is_computed_of_two_matches_labels(random_tensor):
    """A tensor and models whose rows stand in another order than the model's."""
    x = random_tensor((5, 4, 3), 40)
    x._set_labels([list("abcde"), list("wxyz"), list("pqr")], ["one", "two", "three"])
    model, order = polyad.cp_als(x, 2, max_iters=20), [[4, 2, 0, 1, 3], [3, 0, 1, 2], [1, 2, 0]]
    places = np.stack([np.argsort(o)[x.coords[:, m]] for m, o in enumerate(order)], axis=1)
    labels = [[column[i] for i in o] for column, o in zip(model.labels, order)]
    turned = polyad.SparseTensor(places, x.values, x.shape, dict(zip(model.mode_names, labels)))
    other = polyad.KruskalTensor(model.weights, [f[o] for f, o in zip(model.factors, order)], labels=labels,
                                 mode_names=model.mode_names)
    assert model.fit(turned) == pytest.approx(model.fit(x), abs=1e-12)
    assert model.innerprod(turned) == pytest.approx(model.innerprod(x), rel=1e-12)
    assert model.innerprod(other) == pytest.approx(model.norm() ** 2, rel=1e-12)
    assert polyad.score(model, other) == pytest.approx(1, abs=1e-12)
    assert polyad.core_consistency(model, turned) == pytest.approx(polyad.core_consistency(model, x), abs=1e-8)
    begun = [polyad.cp_als(data, 2, max_iters=1, init=start).info["fit"]
             for data, start in ((x, model), (x, other), (turned, model), (polyad.Plan(turned, 2), model))]
    assert begun == pytest.approx([begun[0]] * 4, abs=1e-10)
    core = polyad.tucker(x, (2, 2, 2), max_iters=30)
    assert core.fit(turned) == pytest.approx(core.fit(x), abs=1e-12)
    assert core.innerprod(turned) == pytest.approx(core.innerprod(x), rel=1e-12)
    assert polyad.tucker(turned, (2, 2, 2), max_iters=1, init=core).info["fit"] == pytest.approx(core.fit(x), abs=1e-3)
    weights = [polyad.SparseTensor(places, 1.0 + x.coords[:, 0], x.shape, dict(zip(model.mode_names, labels))),
               polyad.SparseTensor(x.coords, 1.0 + x.coords[:, 0], x.shape,
                                   dict(zip(model.mode_names, model.labels)))]
    fits = [polyad.cp_complete(x, 1, weights=w).info["fit"] for w in weights]
    assert fits[0] == pytest.approx(fits[1], abs=1e-12)
    other.labels[0] = list("abcdf")
    with pytest.raises(ValueError, match="'a'|'f'|'e'"):
        polyad.score(model, other)
    # Without labels on one side rows are numbers.
    assert abs(model.fit(polyad.SparseTensor(places, x.values, x.shape)) - model.fit(x)) > 1e-3


@pytest.mark.parametrize("name", ["m.ptm", "m.ptm.gz"])
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_binary_files(tmp_path, model, name, precision):
    """All of the model is in the file: no directory lies beside it."""
    model.labels[2] = [f"sixth\n{i}" for i in range(6)]
    model.mode_names[1] = "no labels"
    model.save(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    back = polyad.KruskalTensor.load(tmp_path / name, precision)
    assert back.labels == model.labels and back.mode_names == model.mode_names
    for ours, theirs in zip([model.weights, *model.factors], [back.weights, *back.factors]):
        assert np.array_equal(ours.astype(theirs.dtype), theirs)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-40])
    with pytest.raises(polyad.ParseError):
        polyad.KruskalTensor.load(tmp_path / name)
    model.labels[2] = None
    with pytest.raises(ValueError, match=r"expected \.ktensor, .*\.ptm"):
        model.save(tmp_path / "m.xyz")


def test_labels_that_do_not_fit(tmp_path, model):
    path = tmp_path / "m.ktensor"
    model.save(path)
    (tmp_path / "m.ktensor.labels/mode-1-letter.map").write_text("a\nb\n")
    with pytest.raises(ValueError, match="2 labels found; expected 4"):
        polyad.KruskalTensor.load(path)
    (tmp_path / "m.ktensor.labels/mode-9.map").write_text("a\n")
    (tmp_path / "m.ktensor.labels/mode-1-letter.map").unlink()
    with pytest.raises(ValueError, match="modes 1 to 3"):
        polyad.KruskalTensor.load(path)
    for wrong in ({"labels": [["a"], None, None]}, {"labels": [None]}, {"mode_names": ["x"]}):
        with pytest.raises(ValueError):
            polyad.KruskalTensor(None, model.factors, **wrong)


def test_inner_products(model):
    x = polyad.SparseTensor.from_numpy(model.reconstruct())
    other = polyad.KruskalTensor(None, [f[:, :2] for f in model.factors])
    want = np.vdot(model.reconstruct(), other.reconstruct())
    assert polyad.innerprod(model, other) == pytest.approx(want, rel=1e-12)
    assert polyad.innerprod(other, x) == pytest.approx(want, rel=1e-12)
    rng = np.random.default_rng(3)
    first, second = (rng.integers(0, 2, (4, 5, 6)) * rng.random((4, 5, 6)) for _ in range(2))
    a, b = polyad.SparseTensor.from_numpy(first), polyad.SparseTensor.from_numpy(second)
    assert polyad.innerprod(a, b) == pytest.approx(np.vdot(first, second), rel=1e-13)
    with pytest.raises(ValueError):
        polyad.innerprod(a, polyad.SparseTensor([[0, 0, 0]], shape=(4, 5, 7)))
    with pytest.raises(ValueError):
        model.innerprod(polyad.KruskalTensor(None, [np.ones((2, 1))]))


def test_unpacks_and_pickles(model):
    weights, factors = model
    assert len(factors) == 3 and weights[1] == 5
    back = pickle.loads(pickle.dumps(model))
    assert np.array_equal(back.factors[2], model.factors[2]) and back.labels == model.labels


def test_result_of_a_run_pickles(random_tensor):
    found = polyad.cp_als(random_tensor(), 2)
    back = pickle.loads(pickle.dumps(found))
    assert np.array_equal(back.factors[0], found.factors[0])


def test_dataframe(model):
    pytest.importorskip("pandas")
    frame = model.to_dataframe()
    assert len(frame) == (4 + 5 + 6) * 3
    assert set(frame["mode"]) == {"letter", "mode2", "mode3"}


@pytest.mark.peer
def test_pyttb(model):
    pytest.importorskip("pyttb")
    np.testing.assert_allclose(model.to_pyttb().full().double(), model.reconstruct(), atol=1e-12)


@pytest.mark.peer
def test_tensorly(model):
    tensorly = pytest.importorskip("tensorly")
    np.testing.assert_allclose(tensorly.cp_to_tensor(model.to_tensorly()), model.reconstruct(),
                               atol=1e-12)


@pytest.mark.parametrize("arguments, error", [
    ((None, []), ValueError), ((None, [np.ones(3)]), ValueError),
    ((None, [np.ones((3, 2)), np.ones((3, 3))]), ValueError),
    (([1.0], [np.ones((3, 2))]), ValueError), ((None, [np.array([["a"]])]), TypeError),
])
def test_bad_input(arguments, error):
    with pytest.raises(error):
        polyad.KruskalTensor(*arguments)


def test_generate_and_recover():
    x, truth = polyad.generate((30, 25, 20), 15000, rank=3, seed=3)
    assert x.nnz == 15000 and truth.rank == 3
    with pytest.raises(ValueError):
        polyad.generate((2, 2), 5)
    like, model = polyad.generate(like="uber", scale=0.001)
    assert like.ndim == 4 and model is None
    flat, _ = polyad.generate(like="uber", scale=0.001, structure="flat")
    fibers, _ = polyad.generate(like="uber", scale=0.001, structure="fibers")
    pairs = [len(np.unique(np.asarray(x.coords)[:, :2], axis=0)) for x in (like, fibers, flat)]
    assert pairs[0] == pairs[1] < 10 < pairs[2]
    with pytest.raises(ValueError, match="structure"):
        polyad.generate(like="uber", structure="real")


def test_equality_and_modes_by_name(random_tensor):
    x = polyad.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0],
                            labels={"day": ["2024-01-01", "2024-01-02"], "hour": ["10", "9"]})
    for model in (polyad.cp_als(x, 2), polyad.tucker(x, 2)):
        same = type(model)(model.weights if isinstance(model, polyad.KruskalTensor) else model.core,
                           [f.copy() for f in model.factors], labels=model.labels,
                           mode_names=model.mode_names)
        assert model == same and model != 1 and not model == polyad.cp_als(random_tensor(), 2)
        same.factors[0][0, 0] += 1
        assert model != same
        assert model.permute([0, 1]) == model and model.permute([1, 0]) != model
        assert model.top(0, "hour") == model.top(0, 1)
        with pytest.raises(ValueError, match="no mode 'week'; it has day, hour"):
            model.top(0, "week")
        with pytest.raises(TypeError):
            hash(model)


def test_factor_as_a_frame():
    pytest.importorskip("pandas")
    model = polyad.KruskalTensor([2.0, 1], [np.arange(4.0).reshape(2, 2), np.ones((3, 2))],
                                 labels=[["2024-01-01", "2024-01-02"], None], mode_names=["day", None])
    frame = model.factor("day")
    assert frame.index.name == "day" and frame.index.dtype.kind == "M"
    assert frame[1].tolist() == [1, 3] and frame.columns.name == "component"
    assert model.factor(1).index.tolist() == [0, 1, 2]


def test_to_xarray():
    xarray = pytest.importorskip("xarray")
    model = polyad.KruskalTensor([2.0, 1], [np.arange(4.0).reshape(2, 2), np.ones((3, 2))],
                                 labels=[["2024-01-01", "2024-01-02"], None], mode_names=["day", None])
    data = model.to_xarray()
    assert isinstance(data, xarray.Dataset) and dict(data.sizes) == {
        "component": 2, "day": 2, "mode2": 3}
    assert data["day_factor"].sel(day="2024-01-02", component=0).item() == 2
    dense = (data["weights"] * data["day_factor"] * data["mode2_factor"]).sum("component")
    np.testing.assert_allclose(dense.values, model.reconstruct())


@pytest.mark.peer
def test_models_of_pyttb(golden):
    pyttb = pytest.importorskip("pyttb")
    x, factors = golden
    theirs = pyttb.ktensor([np.asfortranarray(f) for f in factors], np.array([2.0, 1]))
    ours = polyad.KruskalTensor([2.0, 1], factors)
    assert polyad.KruskalTensor.from_pyttb(theirs) == ours
    assert polyad.KruskalTensor.from_pyttb(ours.to_pyttb()) == ours
    for call in (polyad.cp_als, polyad.cp_apr):
        assert call(x, 2, init=theirs, max_iters=3) == call(x, 2, init=ours, max_iters=3)
    core = polyad.tucker(x, 2, max_iters=2)
    assert polyad.TuckerTensor.from_pyttb(core.to_pyttb()) == core
    assert polyad.tucker(x, 2, init=core.to_pyttb()) == polyad.tucker(x, 2, init=core)


@pytest.mark.peer
def test_models_of_tensorly(golden):
    pytest.importorskip("tensorly")
    from tensorly.cp_tensor import CPTensor

    x, factors = golden
    ours = polyad.KruskalTensor(None, factors)
    for theirs in (CPTensor((None, factors)), CPTensor((np.ones(2), factors))):
        assert polyad.KruskalTensor.from_tensorly(theirs) == ours
        assert polyad.cp_als(x, 2, init=theirs) == polyad.cp_als(x, 2, init=ours)
    core = polyad.tucker(x, 2, max_iters=2)
    assert polyad.TuckerTensor.from_tensorly(core.to_tensorly()) == core
    assert polyad.tucker(x, 2, init=core.to_tensorly()) == polyad.tucker(x, 2, init=core)


def test_an_edited_model_has_no_fit(random_tensor):
    x = random_tensor()
    for make in (lambda: polyad.cp_als(x, 2, max_iters=3), lambda: polyad.tucker(x, 2, max_iters=3)):
        assert make().info["fit"] == make().info["fit"]
        for kept in (copy.deepcopy(make()), pickle.loads(pickle.dumps(make()))):
            assert "fit" in kept.info
        inside, replaced = make(), make()
        inside.factors[1][0, 0] += 1
        replaced.factors[0] = replaced.factors[0] * 2
        for edited in (inside, replaced):
            assert "fit" not in edited.info and edited.info["iterations"] == 3
            assert "fit" not in repr(edited)
    weighted = polyad.cp_als(x, 2, max_iters=3)
    weighted.weights[:] = 0
    assert "fit" not in weighted.info
