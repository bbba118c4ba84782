"""The invariant of every decomposition, for runs that leave a model and what they say of it: the
reported fit (of CP-APR the log-likelihood too) is that of the model, computed here anew with NumPy
in extended precision and without polyad's arithmetic, to the bound that the run states; and the
trace falls by no more than its bounds (of Tucker, and the factors' rounding)."""

import math

import numpy as np

# Decompositions of the public headers, and who checks the models that they make. A new one is
# refused by tests/lint/decompositions.py until it is here.
SUBCOMMANDS = {"polyad_cp_als": "cpd", "polyad_cp_apr": "cpd",
               "polyad_cp_complete": "cpd", "polyad_tucker": "tucker"}

REAL = np.longdouble
MOST_PRODUCTS = 1 << 24
CHUNK = 1 << 12


class Kruskal:
    """Weights and factors (matrices, one row for each index of a mode)."""

    def __init__(self, weights, factors):
        self.weights = np.asarray(weights, REAL)
        self.factors = [np.asarray(factor, REAL) for factor in factors]
        self.ranks = [len(self.weights)]

    def values(self, coords):
        products = np.broadcast_to(self.weights, (len(coords), len(self.weights)))
        for n, factor in enumerate(self.factors):
            products = products * factor[coords[:, n]]
        return products.sum(axis=1)

    def norm_squared(self):
        gram = np.outer(self.weights, self.weights)
        for factor in self.factors:
            gram = gram * (factor.T @ factor)
        return gram.sum()

    def magnitude(self):
        """A bound of the norm in which nothing cancels."""
        norms = np.abs(self.weights)
        for factor in self.factors:
            norms = norms * np.sqrt((factor ** 2).sum(axis=0))
        return norms.sum()

    def rounding(self, _unit):
        """What the fit may fall by from one iteration to the next: such a fall is a breakdown."""
        return 0

    def drift(self, norm, nnz, iterations):
        """How far apart the fits of two runs in float64 may be that begin alike and round
        differently. An update's sums are off by seven standard deviations of as many roundings as
        a row has terms (at most all nonzeros), and solving multiplies that by the condition of the
        normal equations; the fit moves by no more than that of the components' norms. Updates that
        converge make earlier errors no larger."""
        condition = 0
        for n in range(len(self.factors)):
            gram = np.ones((len(self.weights),) * 2)
            for factor in self.factors[:n] + self.factors[n + 1:]:
                gram = gram * (factor.T @ factor).astype(float)
            condition += np.linalg.cond(gram)
        roundings = 7 * math.sqrt(nnz + len(self.weights) + len(self.factors))
        return float(2 * iterations * condition * roundings * 2.0 ** -53 * self.magnitude() / norm)

    def mass(self):
        sums = self.weights
        for factor in self.factors:
            sums = sums * factor.sum(axis=0)
        return sums.sum()


class Tucker:
    """A core and factors."""

    def __init__(self, core, factors):
        self.core = np.asarray(core, REAL)
        self.factors = [np.asarray(factor, REAL) for factor in factors]
        self.ranks = self.core.shape

    def values(self, coords):
        first, *others = self.factors
        found = np.tensordot(first[coords[:, 0]], self.core, (1, 0))
        for n, factor in enumerate(others, 1):
            found = np.einsum("pr...,pr->p...", found, factor[coords[:, n]])
        return found

    def norm_squared(self):
        turned = self.core
        for n, factor in enumerate(self.factors):
            turned = np.moveaxis(np.tensordot(factor.T @ factor, turned, (1, n)), 0, n)
        return (turned * self.core).sum()

    def magnitude(self):
        norms = [np.sqrt((factor ** 2).sum()) for factor in self.factors]
        return np.sqrt((self.core ** 2).sum()) * np.prod(np.array(norms, REAL))

    def rounding(self, unit):
        """What the fit may fall by from one iteration to the next: rounding orthonormal factors and
        a core of norm at most ||X|| to their type moves the model by so much, over ||X||."""
        return unit * (2 + sum(math.sqrt(factor.shape[1]) for factor in self.factors))


def too_large(nnz, dims, ranks):
    """Whether a check would take long: of a core, or of one rank for all modes."""
    return nnz * math.prod(ranks) + sum(dims) * max(ranks) ** 2 > MOST_PRODUCTS


def parts(values, model, coords):
    """Pieces of the nonzeros with the model's values at them."""
    for begin in range(0, len(values), CHUNK):
        end = begin + CHUNK
        yield values[begin:end].astype(REAL), model.values(coords[begin:end])


def fit_of(coords, values, model):
    """The fit, and what extended precision may have lost of it."""
    data = missed = covered = REAL(0)
    for x, m in parts(values, model, coords):
        data += (x ** 2).sum()
        missed += ((x - m) ** 2).sum()
        covered += (m ** 2).sum()
    rho = (missed + (model.norm_squared() - covered)) / data
    error = 64 * np.finfo(REAL).eps * (1 + model.magnitude() ** 2 / data)
    root = np.sqrt(max(rho, REAL(0)))
    return 1 - root, np.sqrt(max(rho, REAL(0)) + error) - np.sqrt(max(rho - error, REAL(0)))


def log_likelihood_of(coords, values, model, unit):
    """The log-likelihood and a bound: nothing is negative, so that entries of the model are within
    one rounding (of `unit`) per product and addition and those of the scaling of factors and
    weights; sums are in double."""
    logarithms = counts = magnitude = REAL(0)
    for x, m in parts(values, model, coords):
        x, m = x[x != 0], m[x != 0]
        logarithms += (x * np.log(m)).sum()
        counts += x.sum()
        magnitude += (x * np.abs(np.log(m))).sum()
    mass = model.mass()
    rows = sum(len(factor) for factor in model.factors)
    steps = len(model.weights) + 4 * len(model.factors) + 8
    bound = (steps * unit * (counts + mass)
             + 2.0 ** -53 * (len(values) + rows + 8) * (magnitude + counts + mass))
    return logarithms - mass, bound


def check_observed(coords, values, model, info):
    """Completion: the fit is of the entries alone."""
    data = missed = REAL(0)
    for x, m in parts(values, model, coords):
        data += (x ** 2).sum()
        missed += ((x - m) ** 2).sum()
    fit, rmse = 1 - np.sqrt(missed / data), np.sqrt(missed / len(values))
    bound = info["fit_bound"] + 64 * np.finfo(REAL).eps
    assert abs(fit - info["fit"]) <= bound, (fit, info["fit"], bound)
    assert abs(rmse - info["rmse"]) <= bound * np.sqrt(data / len(values)), (rmse, info["rmse"])


def check(coords, values, model, info, precision, monotone=True):
    """Raises AssertionError unless `info` (a run's JSON object, or Python's dict) tells the truth
    of the model of this tensor. Values are those that were decomposed, in `precision`; of a
    completion with weights or a share for validation, which are not known here, `monotone` is
    False. Returns whether there was something to check that is not too large."""
    if too_large(len(values), [len(f) for f in model.factors], model.ranks) or info["fit"] is None:
        return False
    if info["fit_from"] == "observed":
        if monotone:
            check_observed(coords, values, model, info)
        return monotone
    assert info["fit_bound"] is not None and info["fit_from"] in ("formula", "residual"), info
    fit, lost = fit_of(coords, values, model)
    assert abs(fit - info["fit"]) <= info["fit_bound"] + lost, (
        f"fit {info['fit']!r} is reported, to {info['fit_bound']}; that of the model is {fit!r}")
    unit = 2.0 ** -24 if precision == "f32" else 2.0 ** -53
    if info.get("log_likelihood") is not None:
        expected, bound = log_likelihood_of(coords, values, model, unit)
        bound += 2.0 ** -1074  # doubles lie that far apart, at least
        assert abs(expected - info["log_likelihood"]) <= bound, (
            f"log-likelihood {info['log_likelihood']!r} is reported; that of the model is "
            f"{expected!r}, to {bound}")
    elif monotone:
        below = isinstance(model, Kruskal) and info["fit"] < 0
        assert info["reason"] != "tolerance" or not below, "a run converged to less than no model"
        moved = model.rounding(unit)
        for before, row in zip(info["trace"], info["trace"][1:]):
            fall = before["fit"] - row["fit"]
            assert fall <= before["fit_bound"] + row["fit_bound"] + moved, (before, row)
    return True
