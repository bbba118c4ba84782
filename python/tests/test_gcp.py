"""Loss and gradient over all cells against a dense tensor."""

import typing

import numpy as np
import pytest

import polyad
from polyad import _plan, _types

LOSSES = {
    "poisson": (lambda x, m: m - x * np.log(m), lambda x, m: 1 - x / m),
    "bernoulli-logit": (lambda x, m: np.log1p(np.exp(m)) - x * m, lambda x, m: 1 / (1 + np.exp(-m)) - x),
    "gaussian": (lambda x, m: (x - m) ** 2, lambda x, m: 2 * (m - x)),
}


def test_every_loss_of_the_library_is_here():
    assert list(_plan._LOSSES) == list(LOSSES) == list(typing.get_args(_types.Loss))
    assert all(f'"{loss}"' in polyad.gcp_objective.__doc__ for loss in LOSSES)


@pytest.mark.parametrize("loss", LOSSES)
def test_equals_the_dense_definition(loss):
    random = np.random.default_rng(3)
    dense = (random.random((4, 5, 6)) < 0.2).astype(float)
    a, b, c = (random.random((size, 2)) + 0.1 for size in dense.shape)
    model = np.einsum("ir,jr,kr->ijk", a, b, c)
    f, slope = LOSSES[loss]
    weights = slope(dense, model)
    x = polyad.SparseTensor(np.argwhere(dense), dense[dense != 0], shape=dense.shape)
    objective, gradients = polyad.gcp_objective(x, [a, b, c], loss, device="cpu")
    assert objective == pytest.approx(f(dense, model).sum(), rel=1e-12)
    for found, subscripts, others in zip(gradients, ("jr,kr->ir", "ir,kr->jr", "ir,jr->kr"),
                                         ((b, c), (a, c), (a, b)), strict=True):
        expected = np.einsum("ijk," + subscripts, weights, *others)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_a_model_s_weights_go_into_its_first_factor():
    random = np.random.default_rng(4)
    x = polyad.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], shape=(2, 3))
    model = polyad.KruskalTensor(random.random(2) + 1, [random.random((n, 2)) + 0.1 for n in x.shape])
    objective, gradients = polyad.gcp_objective(x, model, device="cpu")
    factors = [model.factors[0] * model.weights, model.factors[1]]
    expected, others = polyad.gcp_objective(x, factors, device="cpu")
    assert objective == expected and all(np.array_equal(*pair) for pair in zip(gradients, others))


def test_wrong_arguments_are_refused():
    x = polyad.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], shape=(2, 2))
    factors = [np.ones((2, 3)), np.ones((2, 3))]
    with pytest.raises(ValueError, match="loss 'hinge' is unknown"):
        polyad.gcp_objective(x, factors, "hinge", device="cpu")
    with pytest.raises(ValueError, match="expected"):
        polyad.gcp_objective(x, factors[:1], device="cpu")


@pytest.mark.parametrize(("loss", "values", "says"), [
    ("poisson", [1.0, -2.0], r"the value at \(1, 0\) is -2; the Poisson loss expects counts"),
    ("bernoulli-logit", [1.0, 2.0], "neither 0 nor 1"),
    ("bernoulli-logit", [1.0, 0.5], "neither 0 nor 1"),
    ("bernoulli-logit", [1.0, -1.0], "neither 0 nor 1"),
    ("bernoulli-logit", [1e200, 1.0], "neither 0 nor 1"),
    ("bernoulli-logit", [1.0, 1.0], None),
    ("poisson", [1.0, 2.5], None),
    ("gaussian", [1.0, -2.0], None)])
@pytest.mark.parametrize("zeros", ["drop", "keep"])
def test_values_that_a_loss_is_not_for_are_refused(loss, values, says, zeros):
    x = polyad.SparseTensor([[0, 1], [1, 0], [1, 1]], [*values, 0.0], shape=(2, 2), zeros=zeros)
    factors = [np.ones((2, 1)), np.ones((2, 1))]
    if says is None:
        assert np.isfinite(polyad.gcp_objective(x, factors, loss, device="cpu")[0])
    else:
        with pytest.raises(polyad.Error, match=says):
            polyad.gcp_objective(x, factors, loss, device="cpu")


def test_a_model_with_labels_is_taken_by_name():
    """The tensor has the rows of two modes in another order; the third has no labels."""
    rng = np.random.default_rng(5)
    names = [["a", "b", "c", "d"], ["u", "v", "w"], None]
    orders = [[2, 0, 3, 1], [1, 2, 0], [0, 1]]
    dense = rng.poisson(2.0, (4, 3, 2)).astype(float)
    model = polyad.KruskalTensor([1.5, 0.5], [rng.random((size, 2)) for size in dense.shape], labels=names)
    other = dense[np.ix_(*orders)]
    x = polyad.SparseTensor(np.argwhere(other), other[other != 0], (4, 3, 2),
                            [[name[i] for i in order] if name else None for name, order in zip(names, orders)])
    for given in (x, polyad.Plan(x, 2, kernel="phi")):
        value, gradients = polyad.gcp_objective(given, model)
        expected, known = polyad.gcp_objective(dense, model)
        assert value == pytest.approx(expected, rel=1e-12)
        for ours, theirs in zip(gradients, known):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    for mode, order in enumerate(orders):
        np.testing.assert_allclose(polyad.mttkrp(x, model, mode), polyad.mttkrp(dense, model, mode)[order],
                                   rtol=1e-12)
        core = polyad.TuckerTensor(rng.random((2, 2, 2)), model.factors, labels=names)
        np.testing.assert_allclose(polyad.ttmc(x, core, mode), polyad.ttmc(dense, core, mode)[order], rtol=1e-12)
    model.labels[0] = ["a", "b", "c", "e"]
    with pytest.raises(polyad.Error, match="d"):
        polyad.gcp_objective(x, model)
