"""Sparse tensor decomposition, fast, on CPUs and GPUs.

>>> import polyad
>>> x = polyad.read("rides.csv")                        # doctest: +SKIP
>>> model = polyad.cp_als(x, rank=8)                    # doctest: +SKIP
>>> model.top(component=0, mode=1)                      # doctest: +SKIP
"""

from typing import TYPE_CHECKING

from . import _load as _load  # before all that needs the native module
from ._anomalies import Anomalies, anomalies
from ._algorithms import cp_als, formats, gcp_objective, generate, innerprod, mttkrp, norm, version
from ._apr import cp_apr
from ._complete import cp_complete, prediction_score, split
from ._device_tensor import DeviceTensor
from ._devices import devices
from ._errors import (ArgumentError, DeviceError, Error, FileError, FilePermissionError, Interrupted,
                      MemoryLimitError, MissingFileError, NotFittedError, ParseError,
                      UnsupportedError)
from ._model import KruskalTensor, score
from ._plan import Plan
from ._rank import RankScan, core_consistency, rank_scan
from ._scale import plan_scale
from ._tensor import SparseTensor
from ._tucker import ttmc, tucker, tucker_ranks
from ._tucker_model import TuckerTensor
from ._types import (Anomaly, DeviceInfo, FormatInfo, FormatParameter, PredictionScore, Progress, RankInfo,
                     RankRow, RunInfo, ScaleEstimate, StartInfo, Statistics, StreamInfo, TraceRow, Transform,
                     UpdateInfo)
from ._update import Updater, update
from .estimators import CPDecomposition, EntryKFold, TuckerDecomposition

if TYPE_CHECKING:
    from . import plot as plot
else:
    def __getattr__(name):
        """``polyad.plot``, which imports matplotlib, is imported when it is asked for."""
        if name != "plot":
            raise AttributeError(f"module 'polyad' has no attribute {name!r}")
        from importlib import import_module
        return import_module("polyad.plot")

    def __dir__():
        return [*globals(), "plot"]

read = SparseTensor.read
__version__ = version()

__all__ = [
    "Anomalies", "Anomaly", "ArgumentError", "CPDecomposition", "DeviceError", "DeviceInfo",
    "DeviceTensor", "EntryKFold", "Error", "FileError", "FilePermissionError", "FormatInfo",
    "FormatParameter", "Interrupted", "KruskalTensor", "MemoryLimitError", "MissingFileError",
    "NotFittedError", "ParseError", "Plan", "PredictionScore", "Progress", "RankInfo", "RankRow",
    "RankScan", "RunInfo", "ScaleEstimate", "SparseTensor", "StartInfo", "Statistics", "StreamInfo", "TraceRow",
    "Transform", "TuckerDecomposition", "TuckerTensor", "UnsupportedError", "UpdateInfo", "Updater",
    "anomalies", "core_consistency", "cp_als", "cp_apr", "cp_complete", "devices", "formats",
    "gcp_objective", "generate", "innerprod", "mttkrp", "norm", "plan_scale", "prediction_score",
    "rank_scan", "read", "score", "split", "ttmc", "tucker", "tucker_ranks", "update", "version",
]
