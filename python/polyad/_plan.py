"""A tensor stored for a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._context import context, encode, index
from ._errors import text
from ._memory import DTYPES, pointer, precision_type
from ._native import ffi, lib
from ._tensor import SparseTensor, as_tensor

_KERNELS = {"mttkrp": lib.POLYAD_KERNEL_MTTKRP, "ttmc": lib.POLYAD_KERNEL_TTMC}


class Plan:
    """A tensor stored in one format on one device, ready for many kernel calls.

    Parameters
    ----------
    x : SparseTensor (or what can be made into one)
    rank : int
        Number of columns the kernels will be called with.
    format : str
        "auto" or a name of :func:`formats`.
    precision : {"f64", "f32"}
    device : str
        "auto", "cpu", "cuda", "cuda:1"; or two that share the work, such as "cuda,cpu".
    threads : int, optional
        Default: all processors this process may use.
    variant : str
        "auto" or a variant of the format.
    kernel : {"mttkrp", "ttmc"}
        The kernel that the format must have.

    Raises
    ------
    ValueError, TypeError, polyad.Error
        polyad.UnsupportedError where no format has the kernel on that device.
    """

    def __init__(self, x: Any, rank: int = 16, *, format: str = "auto", precision: str = "f64",
                 device: str = "auto", threads: int | None = None, variant: str = "auto",
                 kernel: str = "mttkrp") -> None:
        if kernel not in _KERNELS:
            raise ValueError(f"kernel {kernel!r} is unknown; expected 'mttkrp' or 'ttmc'")
        tensor = as_tensor(x)
        self.threads, self.device_asked = threads, device
        self._context = ctx = context()
        ctx.configure(threads=threads, device=device)
        options = ffi.new("polyad_plan_options *")
        lib.polyad_plan_options_init(options)
        kept = [ffi.new("char[]", encode(format, "format")),
                ffi.new("char[]", encode(variant, "variant"))]
        options.format, options.variant = kept
        options.rank, options.precision = rank_argument(rank), precision_type(precision)
        options.kernel = _KERNELS[kernel]
        made = ffi.new("polyad_plan **")
        ctx.check(lib.polyad_plan_create(ctx.pointer, tensor._handle, options, made))
        self._handle = ffi.gc(made[0], lib.polyad_plan_destroy)
        self.shape = tensor.shape
        self.dtype = np.dtype(DTYPES[options.precision])

    def __reduce__(self) -> Any:
        raise TypeError("a Plan cannot be pickled; pickle the tensor and make the plan again")

    @property
    def format(self) -> str:
        """Name of the chosen format."""
        return text(lib.polyad_plan_format(self._handle))

    @property
    def device(self) -> str:
        """Name of the device that holds the plan."""
        return text(lib.polyad_plan_device(self._handle))

    @property
    def nbytes(self) -> int:
        """Bytes that the stored tensor takes."""
        return int(lib.polyad_plan_bytes(self._handle))

    @property
    def explanation(self) -> str:
        """The choice of format, the other candidates, and why."""
        return text(lib.polyad_plan_explanation(self._handle))

    def _matrices(self, factors: Sequence[npt.ArrayLike],
                  mode: int) -> tuple[int, list[npt.NDArray[Any]]]:
        order = len(self.shape)
        mode = index(mode, "mode")
        if not -order <= mode < order:
            raise ValueError(f"mode {mode} does not exist; the tensor has {order} modes")
        if len(factors) != order:
            raise ValueError(f"{len(factors)} factors are given; expected {order}")
        return mode % order, [np.ascontiguousarray(factor, self.dtype) for factor in factors]

    def ttmc(self, factors: Sequence[npt.ArrayLike], mode: int) -> npt.NDArray[Any]:
        """See :func:`ttmc`."""
        mode, matrices = self._matrices(factors, mode)
        for m, matrix in enumerate(matrices):
            if m != mode and (matrix.ndim != 2 or len(matrix) != self.shape[m]):
                raise ValueError(f"factor {m} has shape {matrix.shape}; expected "
                                 f"({self.shape[m]}, R_{m})")
        others = [m for m in range(len(self.shape)) if m != mode]
        ranks = [1 if m == mode else matrices[m].shape[1] for m in range(len(self.shape))]
        ctx = context()
        ctx.configure(threads=self.threads, device=self.device_asked)
        made, columns = ffi.new("polyad_workspace **"), ffi.new("uint64_t *")
        ctx.check(lib.polyad_ttmc_columns(ctx.pointer, self._handle, ranks, mode, columns))
        ctx.check(lib.polyad_ttmc_workspace_create(ctx.pointer, self._handle, ranks, made))
        try:
            out = np.empty((self.shape[mode], *[ranks[m] for m in others]), self.dtype)
            pointers = ffi.new("void *[]", [pointer(matrix) for matrix in matrices])
            ctx.check(lib.polyad_ttmc(ctx.pointer, self._handle, made[0], mode, pointers,
                                      pointer(out)))
        finally:
            lib.polyad_workspace_destroy(made[0])
        return out

    def mttkrp(self, factors: Sequence[npt.ArrayLike], mode: int) -> npt.NDArray[Any]:
        """See :func:`mttkrp`."""
        mode, matrices = self._matrices(factors, mode)
        order = len(self.shape)
        rank = matrices[0 if mode else order - 1].shape[-1]
        for m, matrix in enumerate(matrices):
            if m != mode and matrix.shape != (self.shape[m], rank):
                raise ValueError(f"factor {m} has shape {matrix.shape}; expected "
                                 f"({self.shape[m]}, {rank})")
        out = np.empty((self.shape[mode], rank), self.dtype)
        ctx = context()
        ctx.configure(threads=self.threads, device=self.device_asked, quick=True)
        made = ffi.new("polyad_workspace **")
        ctx.check(lib.polyad_workspace_create(ctx.pointer, self._handle, rank, made))
        try:
            pointers = ffi.new("void *[]", [pointer(matrix) for matrix in matrices])
            ctx.check(lib.polyad_mttkrp(ctx.pointer, self._handle, made[0], mode, pointers,
                                        pointer(out)))
        finally:
            lib.polyad_workspace_destroy(made[0])
        return out


def plan_of(x: Any, rank: int, **choice: Any) -> tuple[SparseTensor | None, Plan]:
    """The tensor behind `x` and a plan for it, kept with the tensor for the next call."""
    if isinstance(x, Plan):
        return None, x
    tensor = as_tensor(x)
    key = tuple(sorted(choice.items())) + (rank,)
    plan = tensor._plans.get(key)
    if plan is None:
        plan = Plan(tensor, rank, **choice)
        tensor._plans = {key: plan}  # one at a time; another thread may still use the older
    return tensor, plan


def rank_argument(rank: Any) -> int:
    number = index(rank, "rank")
    if number < 1:
        raise ValueError(f"rank {number} is not possible; expected at least 1")
    return number
