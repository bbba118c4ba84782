"""Estimators in the style of scikit-learn (which is not needed)."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import numpy.typing as npt

from ._algorithms import cp_als
from ._apr import cp_apr
from ._model import KruskalTensor


class CPDecomposition:
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
                 threads: int | None = None, verbose: bool = False) -> None:
        self.algorithm = algorithm
        self.rank, self.tol, self.max_iters, self.init = rank, tol, max_iters, init
        self.seed, self.restarts, self.nonnegative = seed, restarts, nonnegative
        self.ridge, self.device, self.format = ridge, device, format
        self.precision, self.threads, self.verbose = precision, threads, verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters given to the constructor."""
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **parameters: Any) -> CPDecomposition:
        """Changes parameters; an unknown one is a ValueError."""
        known = self.get_params()
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(f"{name!r} is no parameter; expected one of {', '.join(known)}")
            setattr(self, name, value)
        return self

    def fit(self, X: Any, y: None = None) -> CPDecomposition:
        """Decomposes a tensor."""
        parameters = self.get_params()
        rank, algorithm = parameters.pop("rank"), parameters.pop("algorithm")
        if parameters["max_iters"] is None:
            del parameters["max_iters"]
        if algorithm == "als":
            self.model_: KruskalTensor = cp_als(X, rank, **parameters)
        else:
            if any([parameters.pop("nonnegative"), parameters.pop("ridge")]):
                raise ValueError('nonnegative and ridge are for algorithm "als"')
            self.model_ = cp_apr(X, rank, algorithm=algorithm, **parameters)
        self.weights_: npt.NDArray[Any] = self.model_.weights
        self.factors_: list[npt.NDArray[Any]] = self.model_.factors
        self.fit_ = float(self.model_.info["fit"])
        self.n_iter_ = int(self.model_.info["iterations"])
        return self

    def fit_transform(self, X: Any, y: None = None) -> KruskalTensor:
        """Decomposes a tensor and returns the model."""
        return self.fit(X).model_

    def predict(self, coords: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Values of the model at coordinates (count, N)."""
        return self.model_.reconstruct(coords)

    def score(self, X: Any, y: None = None) -> float:
        """Fit of the model to a tensor of the same shape."""
        return self.model_.fit(X)

    def __repr__(self) -> str:
        return f"CPDecomposition(rank={self.rank})"
