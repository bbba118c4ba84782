"""Estimators in the style of scikit-learn (which is not needed).

A tensor's first mode is what scikit-learn calls samples: transform() gives new slices of it a row
each, score() tells how well they are described, and splitters divide it. Matrices and dense arrays
are checked as scikit-learn checks them, so that its check_estimator() passes."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from ._algorithms import cp_als
from ._apr import cp_apr
from ._complete import split
from ._context import Callback, index, mode_bits, nonnegative_modes
from ._convert import array, reals
from ._errors import NotFittedError
from ._model import KruskalTensor
from ._plan import Plan
from ._project import check_shape, kruskal_rows, tucker_rows
from ._tensor import SparseTensor, as_tensor
from ._tucker import tucker
from ._tucker_model import TuckerTensor
from ._types import CPAlgorithm, Floats, Mode, ModelKind, OnInterrupt, Precision, Seed, Svd
from ._update import Updater

if TYPE_CHECKING:
    import sklearn.utils

Self = TypeVar("Self", bound="_Decomposition")


class _Decomposition:
    """What the estimators share: parameters are attributes, fit() sets model_."""

    model_: KruskalTensor | TuckerTensor
    n_jobs: int | None

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """The parameters given to the constructor."""
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self: Self, **parameters: Any) -> Self:
        """Changes parameters; an unknown one is a ValueError."""
        known = self.get_params()
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(f"{name!r} is no parameter; expected one of {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = inspect.signature(type(self).__init__).parameters
        changed = [f"{name}={value!r}" for name, value in self.get_params().items()
                   if value is not usual[name].default and value != usual[name].default]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> sklearn.utils.Tags:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False),
                    transformer_tags=TransformerTags(),
                    input_tags=InputTags(three_d_array=True, sparse=True))

    def _fitted(self) -> KruskalTensor | TuckerTensor:
        if not hasattr(self, "model_"):
            raise _not_fitted()(f"this {type(self).__name__} has no model yet; call fit() first")
        return self.model_

    def _arguments(self) -> dict[str, Any]:
        """The parameters under the names that the decompositions have for them."""
        parameters: dict[str, Any] = dict(self.get_params())
        parameters["seed"] = parameters.pop("random_state")
        parameters["threads"] = parameters.pop("n_jobs")
        return parameters

    def _to_fit(self, x: Any) -> SparseTensor | Plan:
        """What is decomposed; `n_features_in_` is what scikit-learn calls the length of its second
        mode."""
        given = x if isinstance(x, Plan) else _tensor(x)
        self.n_features_in_ = given.shape[1]
        return given

    def _take(self: Self, model: KruskalTensor | TuckerTensor) -> Self:
        self.model_ = model
        self.factors_: list[Floats] = model.factors
        self.fit_ = float(model.info["fit"])
        self.n_iter_ = int(model.info["iterations"])
        return self

    def _new(self, x: Any, mode: int) -> SparseTensor:
        """New slices of a mode. Of a matrix a wrong number of features is told as scikit-learn does."""
        tensor, expected = _tensor(x), self.model_.shape
        if tensor.ndim == len(expected) == 2 and mode == 0 and tensor.shape[1] != expected[1]:
            raise ValueError(f"X has {tensor.shape[1]} features, but {type(self).__name__} is "
                             f"expecting {expected[1]} features as input")
        return tensor

    def fit(self: Self, X: Any, y: Any = None) -> Self:
        """Decomposes a tensor."""
        raise NotImplementedError

    def _rows(self, tensor: SparseTensor, mode: int) -> npt.NDArray[np.float64]:
        raise NotImplementedError

    def _with_rows(self, rows: npt.NDArray[Any], mode: int) -> KruskalTensor | TuckerTensor:
        raise NotImplementedError

    def transform(self, X: Any, mode: Mode = 0) -> npt.NDArray[np.float64]:
        """Rows for the slices of a tensor, the other modes' factors held fast.

        Parameters
        ----------
        X : tensor of the shape that was fitted, but for the length of ``mode``
        mode : int or str

        Returns
        -------
        ndarray, shape (length of ``mode``, columns of its factor)
            For :class:`CPDecomposition` with the weights in them.
        """
        place = self._fitted()._mode(mode)
        tensor = self._new(X, place)
        check_shape(tensor, self.model_.shape, place)
        return self._rows(tensor, place)

    def fit_transform(self, X: Any, y: Any = None) -> npt.NDArray[np.float64]:
        """Decomposes a tensor and returns the rows of its first mode."""
        return self.fit(X).transform(X)

    def inverse_transform(self, rows: npt.ArrayLike,
                          mode: Mode = 0) -> KruskalTensor | TuckerTensor:
        """The model that has these rows in a mode, as :meth:`transform` gives them; its
        ``reconstruct()`` makes it dense."""
        place = self._fitted()._mode(mode)
        matrix = reals(rows, "rows").astype(np.float64, copy=False)
        columns = self.model_.factors[place].shape[1]
        if matrix.ndim != 2 or matrix.shape[1] != columns:
            raise ValueError(f"rows has shape {matrix.shape}; expected (count, {columns})")
        return self._with_rows(matrix, place)

    def reconstruct(self, coords: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Values of the model at coordinates (count, N), 0-based."""
        values: npt.NDArray[np.float64] = self._fitted().reconstruct(coords)
        return values

    def score(self, X: Any, y: Any = None) -> float:
        """How well the slices of a tensor, which may be new ones of the first mode, are described:
        1 - ||X - M|| / ||X|| for M of :meth:`inverse_transform` of :meth:`transform`."""
        tensor = _tensor(X)
        return float(self.inverse_transform(self.transform(tensor)).fit(tensor))


def _not_fitted() -> type[NotFittedError]:
    """The error before fit(), which is scikit-learn's, too, where that is in use."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    if theirs is None:
        return NotFittedError
    return type("NotFittedError", (NotFittedError, theirs), {})


def _tensor(x: Any) -> SparseTensor:
    """A tensor of what may be samples by features; errors are in the words of scikit-learn."""
    if isinstance(x, Plan):
        raise TypeError("a Plan is not enough for new slices; give the tensor")
    if isinstance(x, (np.ndarray, list, tuple)) or (
            hasattr(x, "__array__") and not hasattr(x, "dtypes") and not hasattr(x, "tocoo")
            and not isinstance(x, SparseTensor) and type(x).__module__ != "torch"):
        x = _dense(x)
    tensor = as_tensor(x)
    if tensor.ndim < 2:
        raise ValueError("Expected 2D array, got 1D array instead: a tensor of at least 2 modes, the "
                         "first of which are samples. Reshape your data: x.reshape(-1, 1)")
    return tensor


def _dense(x: Any) -> npt.NDArray[Any]:
    dense = array(x, "X")
    if dense.dtype.kind == "c":
        raise ValueError("Complex data not supported; expected real numbers")
    if dense.dtype.kind == "O":
        dense = dense.astype(np.float64)
    for axis, what in ((0, "sample"), (1, "feature")):
        if dense.ndim > axis and dense.shape[axis] == 0:
            raise ValueError(f"Found array with 0 {what}(s) (shape={dense.shape}) while a minimum of 1 "
                             "is required.")
    if dense.dtype.kind == "f" and not np.isfinite(dense).all():
        raise ValueError("Input X contains NaN or infinity; expected finite numbers")
    return dense


class CPDecomposition(_Decomposition):
    """CP decomposition as an estimator.

    ``algorithm`` is "als" (:func:`polyad.cp_als`, whose parameters these are; ``random_state`` is
    its ``seed`` and ``n_jobs`` its ``threads``), or "mu", "pdnr" or "pqnr" for counts
    (:func:`polyad.cp_apr`; ``max_iters`` None is 50 for "als", else 1000; ``nonnegative`` and
    ``ridge`` are for "als"). New rows are those of least squares, nonnegative where their mode is, and
    for counts those of the largest likelihood.
    After :meth:`fit`:

    Attributes
    ----------
    model_ : KruskalTensor
    weights_ : ndarray, shape (R,)
    factors_ : list of ndarray, shape (I_n, R)
    fit_ : float
        1 - ||X - M|| / ||X||.
    n_iter_ : int
    """

    model_: KruskalTensor

    def __init__(self, rank: int = 16, *, algorithm: CPAlgorithm = "als", tol: float = 1e-4,
                 max_iters: int | None = None, init: Any = "random", random_state: Seed = 0,
                 restarts: int = 1, nonnegative: bool | Collection[Mode] = False,
                 ridge: float = 0.0, device: str = "auto", format: str = "auto", precision: Precision | None = None,
                 n_jobs: int | None = None, callback: Callback | None = None,
                 verbose: bool = False, on_interrupt: OnInterrupt = "raise") -> None:
        self.algorithm = algorithm
        self.rank, self.tol, self.max_iters, self.init = rank, tol, max_iters, init
        self.random_state, self.restarts, self.nonnegative = random_state, restarts, nonnegative
        self.ridge, self.device, self.format = ridge, device, format
        self.precision, self.n_jobs = precision, n_jobs
        self.callback, self.verbose, self.on_interrupt = callback, verbose, on_interrupt

    def fit(self, X: Any, y: Any = None) -> CPDecomposition:
        """Decomposes a tensor."""
        parameters, given = self._arguments(), self._to_fit(X)
        rank, algorithm = parameters.pop("rank"), parameters.pop("algorithm")
        if parameters["max_iters"] is None:
            del parameters["max_iters"]
        if isinstance(algorithm, str) and algorithm == "als":
            self._take(cp_als(given, rank, **parameters))
        else:
            nonnegative = nonnegative_modes(parameters.pop("nonnegative"))
            if any([nonnegative, parameters.pop("ridge")]):
                raise ValueError('nonnegative and ridge are for algorithm "als"')
            self._take(cp_apr(given, rank, algorithm=algorithm, **parameters))
        self.weights_: Floats = self.model_.weights
        return self

    def partial_fit(self, X: Any, y: Any = None, *, mode: Mode = 0,
                    forget: float = 1.0) -> CPDecomposition:
        """Goes on with new slices of a mode, in time for these alone (:class:`polyad.Updater`); the
        first call, or the first after another mode or :meth:`fit`, starts from the model that is
        there, or from a decomposition of ``X``.

        Parameters
        ----------
        X : tensor of the shape that was fitted, but for the length of ``mode``
        mode : int or str
            The mode that grows. New labels are appended, slices that are there get more data.
        forget : float
            What the weight of all that came before is multiplied by, above 0 and at most 1.

        ``fit_`` is then that of the slices that were added.
        """
        if not hasattr(self, "model_"):
            return self.fit(X)
        place = self.model_._mode(mode)
        tensor = self._new(X, place)
        going: Updater | None = getattr(self, "_updater", None)
        if going is None or going.mode != place or getattr(self, "_updated", None) is not self.model_:
            some = self._nonnegative() if self.algorithm == "als" else []
            if 0 < len(some) < len(self.factors_):
                going = Updater(self.model_, place, kind="signed", nonnegative=some)
            else:
                going = Updater(self.model_, place, kind="poisson" if self.algorithm != "als" else "auto")
        info = going.add(tensor, forget=forget, threads=self.n_jobs, device=self.device)
        model = going.model
        model.info["fit"], model.info["iterations"] = info["fit"], self.n_iter_
        self._take(model)
        self.weights_ = model.weights
        self._updater, self._updated = going, model
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Without the sums of partial_fit(), which the model stands for."""
        return {name: each for name, each in vars(self).items()
                if name not in ("_updater", "_updated")}

    def _rows(self, tensor: SparseTensor, mode: int) -> npt.NDArray[np.float64]:
        kind: ModelKind = ("poisson" if self.algorithm != "als" else
                           "nonnegative" if mode in self._nonnegative() else "signed")
        return kruskal_rows(tensor, self.model_, mode, kind, self.n_jobs)

    def _nonnegative(self) -> list[int]:
        """The modes whose factors, and new rows, are nonnegative."""
        names = self.model_.mode_names
        bits = mode_bits(nonnegative_modes(self.nonnegative), names, "nonnegative")
        return [mode for mode in range(len(names)) if bits >> mode & 1]

    def _with_rows(self, rows: npt.NDArray[Any], mode: int) -> KruskalTensor:
        model = self.model_
        factors = [rows if m == mode else f for m, f in enumerate(model.factors)]
        labels = [None if m == mode else column for m, column in enumerate(model.labels)]
        return KruskalTensor(None, factors, labels=labels, mode_names=model.mode_names)


class TuckerDecomposition(_Decomposition):
    """Tucker decomposition as an estimator; the parameters are those of :func:`polyad.tucker`
    (``random_state`` is its ``seed`` and ``n_jobs`` its ``threads``). After :meth:`fit`:

    Attributes
    ----------
    model_ : TuckerTensor
    core_ : ndarray, shape (R_1, …, R_N)
    factors_ : list of ndarray, shape (I_n, R_n)
    fit_ : float
        1 - ||X - M|| / ||X||.
    n_iter_ : int
    """

    model_: TuckerTensor

    def __init__(self, ranks: int | str | Sequence[int] = "auto", *, tol: float = 1e-4,
                 max_iters: int = 50, init: Any = "hosvd", svd: Svd = "exact",
                 random_state: Seed = 0, device: str = "auto", format: str = "auto",
                 precision: Precision | None = None, n_jobs: int | None = None,
                 callback: Callback | None = None, verbose: bool = False,
                 on_interrupt: OnInterrupt = "raise") -> None:
        self.ranks, self.tol, self.max_iters, self.init = ranks, tol, max_iters, init
        self.svd, self.random_state, self.device, self.format = svd, random_state, device, format
        self.precision, self.n_jobs = precision, n_jobs
        self.callback, self.verbose, self.on_interrupt = callback, verbose, on_interrupt

    def fit(self, X: Any, y: Any = None) -> TuckerDecomposition:
        """Decomposes a tensor."""
        self._take(tucker(self._to_fit(X), **self._arguments()))
        self.core_: Floats = self.model_.core
        return self

    def _rows(self, tensor: SparseTensor, mode: int) -> npt.NDArray[np.float64]:
        return tucker_rows(tensor, self.model_, mode, self.n_jobs)

    def _with_rows(self, rows: npt.NDArray[Any], mode: int) -> TuckerTensor:
        model = self.model_
        factors = [rows if m == mode else f for m, f in enumerate(model.factors)]
        labels = [None if m == mode else column for m, column in enumerate(model.labels)]
        return TuckerTensor(model.core, factors, labels=labels, mode_names=model.mode_names)


class EntryKFold:
    """Deals the entries of a tensor into folds, to fit a model to all but one and to test it on that
    one: for completion, where absent cells are unknown. (Slices of the first mode are what
    scikit-learn's own splitters divide.)

    Parameters
    ----------
    n_splits : int
        Folds, at least 2.
    random_state : int or numpy.random.Generator
    """

    def __init__(self, n_splits: int = 5, *, random_state: Seed = 0) -> None:
        n_splits = index(n_splits, "n_splits")
        if n_splits < 2:
            raise ValueError(f"n_splits is {n_splits}; expected at least 2")
        self.n_splits, self.random_state = n_splits, random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None,
              groups: Any = None) -> Iterator[tuple[SparseTensor, SparseTensor]]:
        """Pairs of tensors, what to fit to and what to test on; every entry is tested on once, and
        entries that are zero stay."""
        tensor = _tensor(X)
        parts = split(tensor, [1 / self.n_splits] * (self.n_splits - 1), seed=self.random_state)
        for k, test in enumerate(parts):
            others = parts[:k] + parts[k + 1:]
            yield functools.reduce(lambda one, two: one + two, others), test
