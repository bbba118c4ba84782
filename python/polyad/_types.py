"""Types of arguments and results: the words that options take, and what a run reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypedDict, Union

import numpy as np
import numpy.typing as npt

Precision = Union[Literal["f32", "f64"], type[np.float32], type[np.float64]]
Collapse = Literal["sum", "count", "mean", "min", "max"]
Duplicates = Literal["sum", "max", "min", "first", "error", "mean", "last", "count"]
Missing = Literal["keep", "skip", "error"]
Numbers = Literal["plain", "grouped", "point", "comma"]
Zeros = Literal["drop", "keep"]
Kernel = Literal["mttkrp", "phi", "ttmc"]
Loss = Literal["poisson", "bernoulli-logit", "gaussian"]
Compute = Literal["native", "f16", "bf16", "tf32"]
CPInit = Literal["random", "hosvd", "nvecs"]
Svd = Literal["exact", "randomized"]
APRAlgorithm = Literal["mu", "pdnr", "pqnr"]
CompleteAlgorithm = Literal["als", "ccd", "sgd"]
CPAlgorithm = Literal["als", "mu", "pdnr", "pqnr"]
RankAlgorithm = Literal["als", "nonnegative", "apr-mu", "apr-pdnr", "apr-pqnr"]
ModelKind = Literal["auto", "signed", "nonnegative", "poisson"]
UpdateKind = Literal["auto", "signed", "nonnegative", "poisson"]
MatchBy = Literal["auto", "number"]
Unseen = Literal["error", "skip"]
OnInterrupt = Literal["raise", "return"]
FramePackage = Literal["pandas", "polars", "pyarrow"]
PlotKind = Literal["bar", "line", "stems"]
# No ArrayLike, for a string is one.
Matrices = Sequence[Union[npt.NDArray[Any], Sequence[Sequence[float]]]]
Mode = Union[int, str]
Seed = Union[int, np.random.Generator, np.random.RandomState, None]


ScaleBy = Literal["norm", "sum", "max"]


class Transform(TypedDict, total=False):
    """How values were changed: ``kind`` is "log1p", "tf-idf" or "scale by norm", "... sum", "... max";
    ``mode`` that of the terms, or whose slices were scaled; ``documents`` that of the documents."""

    kind: str
    mode: int
    documents: int


class RunInfo(TypedDict, total=False):
    """What a decomposition reports of itself (``model.info``); times in seconds. Which keys there
    are depends on the algorithm; a model that was made by hand or read has none."""

    fit: float
    fit_bound: float | None
    fit_from: str | None
    iterations: int
    converged: bool
    reason: str
    seconds: float
    seconds_per_iteration: float
    seconds_mttkrp: list[float]
    seconds_ttmc: list[float]
    seconds_phi: list[float]
    seconds_pi: list[float]
    seconds_kkt: list[float]
    seconds_mu: list[float]
    starts: list[dict[str, Any]]
    best_restart: int
    regularized_solves: int
    diagnosis: str
    log_likelihood: float
    kkt_violation: float
    kind: str
    skipped: int
    appended: int
    changed: int
    rmse: float
    validation_rmse: float | None
    best_iteration: int | None
    format: str
    device: str
    seed: int
    transforms: list[Transform]
    trace: list[dict[str, Any]]


class CPLike(Protocol):
    """A Kruskal tensor of another package: ``pyttb.ktensor`` or TensorLy's ``CPTensor``."""

    @property
    def weights(self) -> Any:
        """Weight of each component."""


class TuckerLike(Protocol):
    """A Tucker tensor of another package: ``pyttb.ttensor`` or TensorLy's ``TuckerTensor``."""

    @property
    def core(self) -> Any:
        """The core."""
