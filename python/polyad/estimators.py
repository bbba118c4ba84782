"""Estimators in the style of scikit-learn (which is not needed)."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ._algorithms import cp_als
from ._apr import cp_apr
from ._context import Callback
from ._tucker import tucker

Self = TypeVar("Self", bound="_Decomposition")


class _Decomposition:
    """What the estimators share: parameters are attributes, fit() sets model_."""

    model_: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
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

    def _take(self: Self, model: Any) -> Self:
        self.model_ = model
        self.factors_: list[npt.NDArray[Any]] = model.factors
        self.fit_ = float(model.info["fit"])
        self.n_iter_ = int(model.info["iterations"])
        return self

    def fit(self: Self, X: Any, y: None = None) -> Self:
        """Decomposes a tensor."""
        raise NotImplementedError

    def fit_transform(self, X: Any, y: None = None) -> Any:
        """Decomposes a tensor and returns the model."""
        return self.fit(X).model_

    def predict(self, coords: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Values of the model at coordinates (count, N), 0-based."""
        values: npt.NDArray[np.float64] = self.model_.reconstruct(coords)
        return values

    def score(self, X: Any, y: None = None) -> float:
        """Fit of the model to a tensor of the same shape."""
        return float(self.model_.fit(X))


class CPDecomposition(_Decomposition):
    """CP decomposition as an estimator.

    ``algorithm`` is "als" (:func:`polyad.cp_als`, whose parameters these are), or "mu", "pdnr"
    or "pqnr" for counts (:func:`polyad.cp_apr`; ``max_iters`` None is 50 for "als", else 1000;
    ``nonnegative`` and ``ridge`` are for "als"). After :meth:`fit`:

    Attributes
    ----------
    model_ : KruskalTensor
    weights_ : ndarray, shape (R,)
    factors_ : list of ndarray, shape (I_n, R)
    fit_ : float
        1 - ||X - M|| / ||X||.
    n_iter_ : int
    """

    def __init__(self, rank: int = 16, *, algorithm: str = "als", tol: float = 1e-4,
                 max_iters: int | None = None, init: Any = "random", seed: int = 0,
                 restarts: int = 1, nonnegative: bool = False, ridge: float = 0.0,
                 device: str = "auto", format: str = "auto", precision: str = "f64",
                 threads: int | None = None, callback: Callback | None = None,
                 verbose: bool = False) -> None:
        self.algorithm = algorithm
        self.rank, self.tol, self.max_iters, self.init = rank, tol, max_iters, init
        self.seed, self.restarts, self.nonnegative = seed, restarts, nonnegative
        self.ridge, self.device, self.format = ridge, device, format
        self.precision, self.threads = precision, threads
        self.callback, self.verbose = callback, verbose

    def fit(self, X: Any, y: None = None) -> CPDecomposition:
        """Decomposes a tensor."""
        parameters = self.get_params()
        rank, algorithm = parameters.pop("rank"), parameters.pop("algorithm")
        if parameters["max_iters"] is None:
            del parameters["max_iters"]
        if algorithm == "als":
            self._take(cp_als(X, rank, **parameters))
        else:
            if any([parameters.pop("nonnegative"), parameters.pop("ridge")]):
                raise ValueError('nonnegative and ridge are for algorithm "als"')
            self._take(cp_apr(X, rank, algorithm=algorithm, **parameters))
        self.weights_: npt.NDArray[Any] = self.model_.weights
        return self

    def __repr__(self) -> str:
        return f"CPDecomposition(rank={self.rank})"


class TuckerDecomposition(_Decomposition):
    """Tucker decomposition as an estimator; the parameters are those of :func:`polyad.tucker`.
    After :meth:`fit`:

    Attributes
    ----------
    model_ : TuckerTensor
    core_ : ndarray, shape (R_1, …, R_N)
    factors_ : list of ndarray, shape (I_n, R_n)
    fit_ : float
        1 - ||X - M|| / ||X||.
    n_iter_ : int
    """

    def __init__(self, ranks: int | str | Sequence[int] = "auto", *, tol: float = 1e-4,
                 max_iters: int = 50, init: Any = "hosvd", svd: str = "exact", seed: int = 0,
                 device: str = "auto", format: str = "auto", precision: str = "f64",
                 threads: int | None = None, callback: Callback | None = None,
                 verbose: bool = False) -> None:
        self.ranks, self.tol, self.max_iters, self.init = ranks, tol, max_iters, init
        self.svd, self.seed, self.device, self.format = svd, seed, device, format
        self.precision, self.threads = precision, threads
        self.callback, self.verbose = callback, verbose

    def fit(self, X: Any, y: None = None) -> TuckerDecomposition:
        """Decomposes a tensor."""
        self._take(tucker(X, **self.get_params()))
        self.core_: npt.NDArray[Any] = self.model_.core
        return self

    def __repr__(self) -> str:
        return f"TuckerDecomposition(ranks={self.ranks!r})"
