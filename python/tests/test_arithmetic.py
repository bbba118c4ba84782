"""Arithmetic of tensors, compared with NumPy's of the dense array."""

import pickle

import numpy as np
import pytest

import polyad


@pytest.fixture
def pair(random_tensor):
    return random_tensor(shape=(7, 5, 6), nnz=60), random_tensor(shape=(7, 5, 6), nnz=80, seed=9)


def test_sums_and_products(pair):
    x, y = pair
    a, b = x.to_numpy(), y.to_numpy()
    for made, expected in (
            (x + y, a + b), (x - y, a - b), (x * y, a * b), (2 * x, 2 * a), (x * np.float32(0.5), a / 2),
            (np.float64(3) * x, 3 * a), (x / 4, a / 4), (-x, -a), (x.map(np.square), a * a),
            (x ** 2, a ** 2), (abs(x - y), abs(a - b)), (abs(x) ** 0.5, abs(a) ** 0.5)):
        assert isinstance(made, polyad.SparseTensor)
        np.testing.assert_allclose(made.to_numpy(), expected, rtol=1e-15)
    assert (x - x).nnz == 0 and (x * y).nnz < min(x.nnz, y.nnz)


def test_types(pair):
    x, y = pair
    single = x.astype(np.float32)
    assert (single + single).dtype == (2 * single).dtype == single.map(np.log1p).dtype == np.float32
    assert (single * y).dtype == (y - single).dtype == np.float64


def test_long_modes_are_compared_index_by_index():
    x = polyad.SparseTensor([[2**62, 2**61, 1], [0, 5, 2**60]], [2.0, 3.0], (2**62 + 1, 2**62, 2**62))
    y = polyad.SparseTensor([[2**62, 2**61, 1], [0, 5, 2**60 + 1]], [5.0, 7.0], x.shape)
    assert (x * y).values.tolist() == [10] and (x + y).nnz == 3 and x.innerprod(y) == 10


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_products_along_modes(pair, mode):
    x, a = pair[0], pair[0].to_numpy()
    rng = np.random.default_rng(mode)
    vector, matrix = rng.normal(size=a.shape[mode]), rng.normal(size=(4, a.shape[mode]))
    np.testing.assert_allclose(x.ttv({mode: vector}).to_numpy(), np.tensordot(a, vector, (mode, 0)),
                               atol=1e-13)
    np.testing.assert_allclose(x.ttm(matrix, mode).to_numpy(),
                               np.moveaxis(np.tensordot(matrix, a, (1, mode)), 0, mode), atol=1e-13)


def test_vectors_of_several_modes(pair):
    x, a = pair[0], pair[0].to_numpy()
    u, v, w = (np.random.default_rng(n).normal(size=length) for n, length in enumerate(a.shape))
    np.testing.assert_allclose(x.ttv({0: u, 2: w}).to_numpy(), np.einsum("ijk,i,k", a, u, w), atol=1e-13)
    assert x.ttv({0: u, 1: v, 2: w}) == pytest.approx(np.einsum("ijk,i,j,k", a, u, v, w))


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_unfolding_is_kolda_and_baders(pair, mode):
    pytest.importorskip("scipy")
    x, a = pair[0], pair[0].to_numpy()
    expected = np.moveaxis(a, mode, 0).reshape(a.shape[mode], -1, order="F")
    np.testing.assert_array_equal(x.unfold(mode).toarray(), expected)


def test_labels_go_along():
    labels = {"day": ["Mon", "Tue"], "hour": ["8", "9", "10"]}
    x = polyad.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], (2, 3), labels)
    assert (x + x).labels == (2 * x).labels == (x * x).labels == x.labels
    assert x.ttv({"hour": [1, 2, 3]}).labels == [["Mon", "Tue"]]
    assert x.ttm(np.ones((4, 2)), "day").labels == [None, ["8", "9", "10"]]
    other = polyad.SparseTensor([[0, 0]], [1.0], (2, 3), {"day": ["Mon", "Wed"], "hour": labels["hour"]})
    for operation in (x.__add__, x.__sub__, x.__mul__):
        with pytest.raises(ValueError, match="different labels in mode 0"):
            operation(other)


def test_what_does_not_fit(pair):
    x = pair[0]
    with pytest.raises(ValueError, match="shapes"):
        x + x[:3]
    for wrong in ("a", [1, 2], np.ones(3), None):
        with pytest.raises(TypeError):
            x * wrong
    with pytest.raises(TypeError):
        x + 1  # which would not be sparse
    with pytest.raises(ValueError, match=r"expected \(7,\)"):
        x.ttv({0: np.ones(5)})
    with pytest.raises(ValueError, match=r"expected \(rows, 5\)"):
        x.ttm(np.ones((5, 4)), 1)
    with pytest.raises(TypeError, match="list; expected a mapping"):
        x.ttv([np.ones(7)])
    for power in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="above 0"):
            x ** power
    with pytest.raises(ValueError, match="one value for each"):
        x.map(np.sum)
    with pytest.raises(ValueError, match="2\\^63 columns"):
        polyad.SparseTensor([[0, 0, 0]], [1.0], (2, 2**62, 2**62)).unfold(0)


def words():
    """How often words occur in documents, per year (terms x documents x years)."""
    rng = np.random.default_rng(2)
    return rng.poisson(0.4, (9, 14, 3)).astype(float)


def test_logarithms_tf_idf_and_scaling():
    dense = words()
    x = polyad.SparseTensor.from_numpy(dense)
    np.testing.assert_allclose(x.log1p().to_numpy(), np.log1p(dense), rtol=1e-15)
    have = (dense.sum(axis=2) > 0).sum(axis=1)
    idf = np.log((1 + 14) / (1 + have)) + 1
    np.testing.assert_allclose(x.tf_idf(0, 1).to_numpy(), dense * idf[:, None, None], rtol=1e-14)
    for by, order in (("norm", 2), ("sum", 1), ("max", np.inf)):
        size = np.linalg.norm(dense.reshape(9, -1), ord=order, axis=1)
        np.testing.assert_allclose(x.scale(0, by).to_numpy(), dense / size[:, None, None], rtol=1e-14)
    for call, says in ((lambda: x.scale(3), "mode 3"), (lambda: x.scale(0, "median"), "median"),
                       (lambda: x.tf_idf(1, 1), "mode 1 both"), (lambda: (x * -1).log1p(), "-1")):
        with pytest.raises((ValueError, IndexError), match=says):
            call()


def test_models_say_how_values_were_changed(data):
    x = polyad.read(data / "nycflights13.tns.gz")
    changed = x.log1p().scale("carrier", "sum")
    record = [{"kind": "log1p"}, {"kind": "scale by sum", "mode": x._mode("carrier")}]
    assert changed.labels == x.labels and x.transforms == []
    for source in (changed, pickle.loads(pickle.dumps(changed)), changed.astype(np.float32),
                   polyad.Plan(changed, 2), changed[:100]):
        assert polyad.cp_als(source, 2, max_iters=2).info["transforms"] == record
    assert "transforms" not in polyad.cp_als(x, 2, max_iters=2).info


@pytest.mark.peer
def test_tf_idf_is_that_of_scikit_learn():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    counts = words().sum(axis=2)  # terms x documents
    ours = polyad.SparseTensor.from_numpy(counts).tf_idf(0, 1).to_numpy()
    theirs = text.TfidfTransformer(norm=None).fit_transform(counts.T).toarray().T
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_quotients_are_those_of_numpy(pair):
    x, dense = pair[0], pair[0].to_numpy()
    for divisor in (3, 7.0, np.float32(0.1), 1e-310):
        with np.errstate(over="ignore"):
            wanted = dense / float(divisor)
        if np.isfinite(wanted).all():
            assert np.array_equal((x / divisor).to_numpy(), wanted)
    tiny = polyad.SparseTensor([[0], [1]], [1e-310, 3e-310])
    assert np.array_equal((tiny / 1e-310).values, tiny.values / 1e-310)
    with pytest.raises(ZeroDivisionError):
        x / 0


def test_pythons_sum(pair):
    x = pair[0]
    assert sum([x, x, x]) == x + x + x
    with pytest.raises(TypeError):
        1 + x


def test_what_is_no_real_number(pair):
    x = pair[0]
    complex_matrix = np.ones((2, x.shape[0])) * 1j
    for call in (lambda: x.map(lambda values: values * 1j), lambda: x.map(lambda values: values.astype(str)),
                 lambda: x.ttv({0: complex_matrix[0]}), lambda: x.ttm(complex_matrix, 0)):
        with pytest.raises(TypeError, match="expected real numbers"):
            call()


def test_an_inner_product_goes_by_labels():
    """As of models: labels in another order, and fewer of them."""
    labels = {"day": ["Mon", "Tue"], "hour": ["8", "9", "10"]}
    x = polyad.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], (2, 3), labels)
    turned = polyad.SparseTensor([[1, 0], [0, 2]], [3.0, 5.0], (2, 3), {**labels, "day": ["Tue", "Mon"]})
    assert x.innerprod(turned) == turned.innerprod(x) == 1 * 3 + 2 * 5
    assert polyad.innerprod(x, turned) == 13 and x.innerprod(x) == 5
    few = polyad.SparseTensor([[0, 1]], [7.0], (1, 3), {**labels, "day": ["Tue"], "hour": ["8", "10", "9"]})
    assert x.innerprod(few) == 14
    with pytest.raises(ValueError, match="Wed"):
        x.innerprod(polyad.SparseTensor([[0, 0]], [1.0], (2, 3), {**labels, "day": ["Wed", "Mon"]}))
    plain = polyad.SparseTensor(turned.coords, turned.values, turned.shape)
    assert x.innerprod(plain) == 0
    with pytest.raises(ValueError, match="expected equal ones"):
        plain.innerprod(polyad.SparseTensor([[0, 0]], [1.0], (2, 2)))


def test_what_becomes_zero_is_no_nonzero():
    """But of a tensor that keeps zeros as cells which were observed."""
    coords, values = [[0, 0], [0, 1], [1, 1], [2, 0]], [1.0, 5.0, -2.0, 3.0]
    x = polyad.SparseTensor(coords, values, (3, 2))
    above = x.map(lambda v: np.where(v > 2, v, 0))
    assert above.nnz == 2 and above.zeros_kept == 0 and above.values.tolist() == [5, 3]
    assert above.statistics()["slices"] == [2, 2]
    assert (x * 0).nnz == 0 and (x * 1e-320 / 1e10).nnz == 0
    assert x.ttv({1: [0.0, 1.0]}).nnz == 2
    kept = polyad.SparseTensor([*coords, [2, 1]], [*values, 0.0], (3, 2), zeros="keep")
    assert kept.map(lambda v: np.where(v > 2, v, 0)).zeros_kept == 3
    for made in (x + kept, kept + x, x.concatenate(kept), kept.concatenate(x)):
        assert made.zeros_kept == 1
    assert (x * kept).nnz == 4 and (kept * kept).zeros_kept == 1


def test_a_tensor_that_keeps_zeros_does_so_before_it_has_any(tmp_path):
    """Ratings less their mean are observed still where they are the mean."""
    coords, values = [[0, 0], [0, 1], [1, 1]], [1.0, 3.0, 5.0]
    x = polyad.SparseTensor(coords, values, (2, 2), zeros="keep")
    x.save(tmp_path / "x.tns")
    read = polyad.read(tmp_path / "x.tns", zeros="keep")
    for each in (x, read, pickle.loads(pickle.dumps(x)), x.scale(0), x.permute([1, 0]), x * 1):
        each = each.map(lambda v: v - v[1])
        assert (each.nnz, each.zeros_kept) == (3, 1)
    y = polyad.SparseTensor(coords, values, (2, 2))
    assert pickle.loads(pickle.dumps(y)).map(lambda v: v - 3).nnz == 2
