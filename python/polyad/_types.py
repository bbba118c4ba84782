"""Types of arguments and results: the words that options take, and what a run reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, Union

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ._model import KruskalTensor

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
FloatType = Union[np.float32, np.float64]
Floats = npt.NDArray[FloatType]  # numbers of a tensor or a model
# No ArrayLike, for a string is one.
Matrices = Sequence[Union[npt.NDArray[Any], Sequence[Sequence[float]]]]
Mode = Union[int, str]
Seed = Union[int, np.random.Generator, np.random.RandomState, None]


ScaleBy = Literal["norm", "sum", "max"]

# The classes below say what a key holds. Where it depends on the algorithm whether a key is there, they
# do not say so: a type checker would then complain of every info["fit"].


class Transform(TypedDict, total=False):
    """How values were changed: ``kind`` is "log1p", "tf-idf" or "scale by norm", "... sum", "... max";
    ``mode`` that of the terms, or whose slices were scaled; ``documents`` that of the documents."""

    kind: str
    mode: int
    documents: int


class TraceRow(TypedDict):
    """One iteration in a run's trace; which keys there are depends on the algorithm. ``iteration``
    counts from 1, ``seconds`` from the start of the run."""

    iteration: int
    seconds: float
    fit: float
    fit_bound: float
    residual: float
    log_likelihood: float
    kkt_violation: float
    inner_iterations: int
    validation_rmse: float
    half_rows: bool


class StartInfo(TypedDict):
    """How one start of a run ended; ``model`` is there where all starts were kept."""

    objective: float
    iterations: int
    reason: str
    model: KruskalTensor


class Progress(TypedDict):
    """What a callback is told after an iteration; NaN where an algorithm has no such number.
    ``stage`` is empty but before the first iteration."""

    iteration: int
    max_iterations: int
    fit: float
    change: float
    log_likelihood: float
    kkt_violation: float
    seconds: float
    restart: int
    stage: str


class Statistics(TypedDict):
    """What :meth:`SparseTensor.statistics` counts; lists have one number for each mode."""

    density: float
    value_min: float
    value_max: float
    value_sum: float
    norm: float
    key_bits: int
    slices: list[int]
    slice_max: list[int]
    slice_mean: list[float]
    slice_deviation: list[float]
    fibers: list[int]
    fibers_exact: bool


class FormatParameter(TypedDict):
    """A parameter of a storage format; ``usual`` is None where it depends on tensor or device."""

    name: str
    help: str
    least: float
    most: float
    usual: float | None


class FormatInfo(TypedDict):
    """A storage format, as :func:`formats` lists it."""

    name: str
    summary: str
    paper: str
    devices: str
    tuned: str
    deterministic: str
    kernels: str
    variants: str
    compute: str
    parameters: list[FormatParameter]


class DeviceInfo(TypedDict):
    """A device, as :func:`devices` lists it; bytes of 0 are unknown."""

    name: str
    description: str
    processors: int
    memory_bytes: int
    cache_bytes: int
    capability: str


class StreamInfo(TypedDict):
    """What a plan that streams holds on disk and in memory (``Plan.streaming``)."""

    chunks: int
    chunk_nonzeros: int
    spilled_bytes: int
    packed_bytes: int
    memory_bytes: int


class ScaleEstimate(TypedDict):
    """A row of :func:`plan_scale`."""

    ranks: int
    grid: tuple[int, ...]
    nnz_most: int
    rows_read_most: int
    rows_owned_most: int
    bytes_sent: int
    bytes_sent_most: int
    bytes_most: int
    seconds_compute: float
    seconds_network: float
    seconds: float
    efficiency: float


class PredictionScore(TypedDict):
    """What :func:`prediction_score` returns; None where a number is not defined."""

    count: int
    rmse: float
    mae: float
    positives: int
    negatives: int
    groups: int
    k: int
    hit_rate: float | None
    ndcg: float | None
    auc: float | None
    device: str


class RankRow(TypedDict):
    """A rank in ``RankScan.ranks``; None where a number is not known."""

    rank: int
    starts: int
    starts_at_best: int
    fit_best: float | None
    fit_median: float | None
    log_likelihood: float | None
    core_consistency: float | None
    stability: float | None
    replicability: float | None
    holdout_error: float | None
    holdout_deviation: float | None
    seconds: float | None


class RankInfo(TypedDict):
    """How the ranks were scanned (``RankScan.info``)."""

    algorithm: str
    starts: int
    seed: int
    format: str
    device: str


class Anomaly(TypedDict):
    """A row of :class:`Anomalies`: of a cell ``index`` and ``label`` are tuples; of a slice or an
    index they are single ones, and there is a ``mode``."""

    mode: int
    index: int | tuple[int, ...]
    label: int | str | tuple[int | str, ...]
    value: float
    expected: float
    score: float
    p_upper: float
    p_lower: float
    p: float
    q: float


class UpdateInfo(TypedDict):
    """What :meth:`Updater.add` did; see there."""

    appended: int
    changed: int
    fit: float
    kind: str
    skipped: int
    device: str
    seconds: float


class RunInfo(TypedDict):
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
    starts: list[StartInfo]
    best_restart: int
    regularized_solves: int
    diagnosis: str
    nonnegative: list[int]
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
    trace: list[TraceRow]


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
