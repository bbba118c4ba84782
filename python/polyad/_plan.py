"""A tensor stored for a kernel."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import count, takewhile
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ._arguments import items, known
from ._context import context, encode, index, real, switch
from ._convert import reals
from ._device_tensor import DeviceTensor
from ._errors import Interrupted, text
from ._memory import DTYPES, pointer, precision_type
from ._native import ffi, lib
from ._tensor import SparseTensor, as_tensor, read_options
from ._types import (Compute, Duplicates, Floats, Kernel, Loss, Precision, StreamInfo, Transform,
                     Zeros)

# Numbers of losses by name.
_LOSSES = {text(lib.polyad_loss_name(number)): number
           for number in takewhile(lambda number: lib.polyad_loss_name(number) != ffi.NULL, count())}
KERNELS = {"mttkrp": lib.POLYAD_KERNEL_MTTKRP, "ttmc": lib.POLYAD_KERNEL_TTMC,
            "phi": lib.POLYAD_KERNEL_PHI}
_COMPUTE = {"native": lib.POLYAD_COMPUTE_NATIVE, "f16": lib.POLYAD_COMPUTE_F16,
            "bf16": lib.POLYAD_COMPUTE_BF16, "tf32": lib.POLYAD_COMPUTE_TF32}


class Plan:
    """A tensor stored in one format on one device, ready for many kernel calls and decompositions.

    Where a Plan is given instead of a tensor, format, variant, precision and device are the
    plan's: to ask for others is a ValueError. The tensor's labels go along to the models.

    Parameters
    ----------
    x : SparseTensor (or what can be made into one), or DeviceTensor
    rank : int
        Number of columns the kernels will be called with.
    format : str
        "auto", or NAME[:VARIANT][:KEY=N]...: a name of :func:`formats`, a variant and parameters,
        such as "flycoo:paper:kappa=82".
    precision : {"f64", "f32"}
    device : str
        "auto", "cpu", "cuda", "cuda:1"; several GPUs, "cuda:all" or "cuda:0-3"; or a GPU
        and the CPU, "cuda,cpu", with parts by their measured speed.
    threads : int, optional
        Default: all processors this process may use; with `comm` its part of those that several
        of the processes may use.
    variant : str
        "auto" or a variant of the format.
    kernel : {"mttkrp", "phi", "ttmc"}
        The kernel that the format must have: "mttkrp" for :func:`cp_als`, "phi" for :func:`cp_apr`
        and :func:`gcp_objective`, "ttmc" for :func:`tucker`. Formats that have one of the latter serve
        :func:`cp_als` as well; the one that "auto" takes for "mttkrp" may have nothing else.
    compute : {"native", "f16", "bf16", "tf32"}
        Types of products, for formats that list them; "native": the precision.
    tune : bool
        Measure the formats that can be used, and take the fastest. What was measured is kept for
        the next plan of the same tensor, in polyad/tune in the user's cache, as the command does.
    zeros : {"drop", "keep"}
        Whether zeros that the tensor keeps are stored, as entries for :func:`cp_complete`.
    sweeps : float
        How many times the kernel is expected to run in all modes: format "auto" takes the least
        time of building and so many sweeps. 0: 15, as :func:`cp_als` takes in the middle; math.inf:
        building does not count.

    comm : mpi4py.MPI.Comm, optional
        Its processes share the plan: all make it, and x is each one's share of the nonzeros, with
        the indices of the whole tensor (see :meth:`SparseTensor.read`). It serves :func:`cp_als`
        and :func:`cp_apr` with algorithm "mu", which all call and which return the model to the
        first process and None to the others.

    Raises
    ------
    ValueError, TypeError, polyad.Error
        polyad.UnsupportedError where no format has the kernel on that device.
    """

    def __init__(self, x: Any, rank: int = 16, *, format: str = "auto",
                 precision: Precision = "f64", device: str = "auto", threads: int | None = None,
                 variant: str = "auto", kernel: Kernel = "mttkrp", compute: Compute = "native",
                 tune: bool = False, zeros: Zeros = "drop", sweeps: float = 0,
                 comm: Any = None) -> None:
        tensor = x if isinstance(x, DeviceTensor) else as_tensor(x)
        self._make(tensor, rank, format, precision, device, threads, variant, kernel, compute, tune,
                   zeros, sweeps, comm)
        self.threads: int | None
        self.labels: list[list[str] | None]
        self.mode_names: list[str | None]
        self.transforms: list[Transform]
        if isinstance(tensor, SparseTensor):
            self.labels, self.mode_names = tensor.labels, tensor.mode_names
            self.transforms = tensor.transforms

    def _make(self, tensor: SparseTensor | DeviceTensor, rank: int, format: str, precision: Precision,
              device: str, threads: int | None, variant: str, kernel: str, compute: str = "native",
              tune: bool = False, zeros: str = "drop", sweeps: float = 0,
              comm: Any = None, columns: int = 0) -> None:
        if not known(zeros, ("drop", "keep")):
            raise ValueError(f"zeros {zeros!r} is unknown; expected 'drop' or 'keep'")
        if not known(kernel, KERNELS):
            raise ValueError(f"kernel {kernel!r} is unknown; expected 'mttkrp', 'phi' or "
                             "'ttmc'")
        if not known(compute, _COMPUTE):
            raise ValueError(f"compute {compute!r} is unknown; expected 'native', 'f16', 'bf16' or "
                             "'tf32'")
        if isinstance(tensor, DeviceTensor) and device == "auto":
            device = tensor._device
        ctx, options, kept = self._asked(rank, format, precision, device, threads, variant)
        options.kernel, options.compute = KERNELS[kernel], _COMPUTE[compute]
        options.tune, options.sweeps, options.columns = switch(tune, "tune"), real(sweeps, "sweeps"), columns
        options.zeros = lib.POLYAD_ZEROS_KEEP if zeros == "keep" else lib.POLYAD_ZEROS_DROP
        if comm is not None:
            options.team = ctx.team(comm)
            self.threads = int(lib.polyad_threads(ctx.pointer))  # of what is computed on the plan
        cache = ffi.new("char[]", 4096)
        if tune and lib.polyad_tune_cache_path(cache, len(cache)):
            options.tune_cache = cache
        made = ffi.new("polyad_plan **")
        if isinstance(tensor, DeviceTensor):
            arrays = tensor._input()
            self._take(options, made,
                       ctx.run(lib.polyad_plan_create_from_device, arrays[0], options, made))
            del arrays
            self.labels, self.mode_names = [None] * len(self.shape), [None] * len(self.shape)
            self.transforms = []
        else:
            self._take(options, made,
                       ctx.run(lib.polyad_plan_create, tensor._handle, options, made))
        del kept

    def _asked(self, rank: int, format: str, precision: Precision, device: str,
               threads: int | None, variant: str) -> tuple[Any, Any, Any]:
        """The context, and options with what else has to live as long."""
        self.threads, self.device_asked, self.variant_asked = threads, device, variant
        self.format_asked = format
        self._context = ctx = context()
        ctx.configure(threads=threads, device=device)
        options = ffi.new("polyad_plan_options *")
        lib.polyad_plan_options_init(options)
        kept = [ffi.new("char[]", encode(format, "format")),
                ffi.new("char[]", encode(variant, "variant"))]
        options.format, options.variant = kept
        options.rank, options.precision = rank_argument(rank), precision_type(precision)
        return ctx, options, kept

    def _take(self, options: Any, made: Any, status: int) -> None:
        ctx = self._context
        if not ctx.interrupted:
            ctx.check(status)
        self._handle = ffi.gc(made[0], lib.polyad_plan_destroy)
        if made[0] != ffi.NULL:
            ctx.used_gpu |= not text(lib.polyad_plan_device(made[0])).startswith("cpu")
        if ctx.interrupted:
            raise Interrupted("interrupted while the tensor was being stored; there is no model yet")
        lengths = lib.polyad_plan_dims(self._handle)
        self.rank = int(options.rank)
        self.shape = tuple(int(lengths[n]) for n in range(lib.polyad_plan_order(self._handle)))
        self.dtype = np.dtype(DTYPES[options.precision])

    @classmethod
    def stream(cls, path: str | os.PathLike[str], rank: int = 16, *, precision: Precision = "f64",
               device: str = "cpu", threads: int | None = None, memory_limit: int | None = None,
               spill_dir: str | os.PathLike[str] | None = None, index_base: int = 1,
               pattern: bool = False, duplicates: Duplicates = "sum",
               shape: Sequence[int] | None = None,
               labels: str | os.PathLike[str] | None = None) -> Plan:
        """A plan whose tensor stays on disk, for tensors that are larger than the memory; or, for
        a GPU whose memory is too small, in the host's where it fits there.

        It serves :func:`cp_als` (also nonnegative), :func:`cp_apr` with algorithm "mu", and
        :meth:`mttkrp`; what needs all nonzeros at once is a
        :class:`polyad.UnsupportedError`. The model is that of a run in memory to rounding.

        Parameters
        ----------
        path : str or path
            A .ptn file, which has to stay as it is for as long as the plan; or text of indices
            (``.tns``, also ``.gz`` or ``.zst``), which is read once and sorted into a packed copy
            in `spill_dir`.
        rank : int
            Number of columns the kernels will be called with.
        precision : {"f64", "f32"}
        device : str
            "cpu", or a GPU of CUDA such as "cuda" or "cuda:1".
        threads : int, optional
            Default: all processors this process may use.
        memory_limit : int, optional
            Bytes of the host's memory, and of the GPU's, that making the plan and a decomposition
            may take; :attr:`streaming` says what they will. Default: what there is.
        spill_dir : str or path, optional
            Where temporary files are made, which have no names. Default: $TMPDIR, else /var/tmp.
        index_base, pattern, duplicates, shape, labels
            As for :meth:`SparseTensor.read`.
        """
        plan = cls.__new__(cls)
        ctx, options, kept = plan._asked(rank, "auto", precision, device, threads, "auto")
        if memory_limit is not None:
            ctx.check(lib.polyad_set_memory_limit(ctx.pointer, index(memory_limit, "memory_limit", 0)))
        stream = ffi.new("polyad_stream_options *")
        lib.polyad_stream_options_init(stream)
        directory = ffi.NULL if spill_dir is None else ffi.new("char[]", encode(spill_dir, "spill_dir"))
        stream.spill_directory = directory
        read, texts = read_options(index_base, pattern, duplicates, shape, {"labels": labels})
        stream.read = read
        made = ffi.new("polyad_plan **")
        plan._take(options, made, ctx.run(lib.polyad_plan_create_from_file, encode(path, "path"),
                                          options, stream, made))
        outline = ffi.new("polyad_tensor **")
        ctx.check(lib.polyad_plan_stream_outline(ctx.pointer, plan._handle, read.labels, outline))
        del kept, directory, texts
        names = SparseTensor._wrap(ctx, outline[0])
        plan.labels, plan.mode_names = names.labels, names.mode_names
        plan.transforms = []  # a file's values stay as they are
        return plan

    @property
    def streaming(self) -> StreamInfo | None:
        """None, or of a plan that :meth:`stream` made: "chunks" of each mode, "chunk_nonzeros",
        "spilled_bytes" and "packed_bytes" (the copy of text) on disk, and "memory_bytes", the most
        that a decomposition by :func:`cp_als` has in use."""
        about = ffi.new("polyad_stream_info *")
        lib.polyad_plan_stream_info(self._handle, about)
        if not about.streamed:
            return None
        return {"chunks": int(about.chunks), "chunk_nonzeros": int(about.chunk_nonzeros),
                "spilled_bytes": int(about.spilled_bytes), "packed_bytes": int(about.packed_bytes),
                "memory_bytes": int(about.memory_bytes)}

    def __copy__(self) -> Plan:
        """The plan itself: nothing changes it."""
        return self

    def __deepcopy__(self, memo: Any) -> Plan:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a Plan cannot be pickled; pickle the tensor and make the plan again")

    @property
    def format(self) -> str:
        """Name of the chosen format."""
        return text(lib.polyad_plan_format(self._handle))

    @property
    def variant(self) -> str:
        """Variant of the format, as a description of what is stored."""
        return text(lib.polyad_plan_variant(self._handle))

    @property
    def precision(self) -> Precision:
        """Precision of the values: "f32" or "f64"."""
        return "f32" if self.dtype == np.float32 else "f64"

    @property
    def nnz(self) -> int:
        """Number of nonzeros."""
        return int(lib.polyad_plan_nnz(self._handle))

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

    def __repr__(self) -> str:
        return (f"<polyad.Plan {'×'.join(map(str, self.shape))}, {self.nnz} nonzeros, "
                f"{self.format} ({self.variant}) on {self.device}, {self.dtype}>")

    def _repr_html_(self) -> str:
        from ._html import plan

        return plan(self)

    def _check(self, choice: dict[str, Any]) -> None:
        """An option that asks for something else than the plan has is an error."""
        for name, asked in choice.items():
            if asked is None or name in ("threads", "kernel"):
                continue
            if name != "precision":
                encode(asked, name)  # no array, which has no single truth
            if isinstance(asked, str) and asked == "auto":
                continue
            has = getattr(self, name)
            if name == "precision" and precision_type(asked) == precision_type(has):
                continue
            possible = (has, getattr(self, f"{name}_asked", has))
            # "cuda" is the first of "cuda:0", "cuda:1", …
            if asked not in possible and not (name == "device" and f"{asked}:0" == has):
                raise ValueError(f"{name} {asked!r} is asked for, but the plan has {has!r}; make "
                                 "another plan, or leave the option out")

    def _matrices(self, factors: Sequence[npt.ArrayLike],
                  mode: int) -> tuple[int, list[npt.NDArray[Any]]]:
        order = len(self.shape)
        mode, factors = index(mode, "mode"), items(factors, "factors", "matrices")
        if not -order <= mode < order:
            raise ValueError(f"mode {mode} does not exist; the tensor has {order} modes")
        if len(factors) != order:
            raise ValueError(f"{len(factors)} factors are given; expected {order}")
        mode %= order
        found = [np.ascontiguousarray(np.zeros(1) if m == mode and order > 1 else reals(factor, f"factor {m}"),
                                      self.dtype) for m, factor in enumerate(factors)]
        if order > 1:  # the mode's own factor is not read: any array of its shape will do
            found[mode] = np.zeros((self.shape[mode], found[mode - 1].shape[-1]), self.dtype)
        return mode, found

    def ttmc(self, factors: Sequence[npt.ArrayLike], mode: int, *,
             threads: int | None = None) -> Floats:
        """See :func:`ttmc`."""
        mode, matrices = self._matrices(factors, mode)
        for m, matrix in enumerate(matrices):
            if m != mode and (matrix.ndim != 2 or len(matrix) != self.shape[m]):
                raise ValueError(f"factor {m} has shape {matrix.shape}; expected "
                                 f"({self.shape[m]}, R_{m})")
        others = [m for m in range(len(self.shape)) if m != mode]
        ranks = [1 if m == mode else matrices[m].shape[1] for m in range(len(self.shape))]
        ctx = context()
        ctx.configure(threads=self.threads if threads is None else threads,
                      device=self.device_asked)
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

    def mttkrp(self, factors: Sequence[npt.ArrayLike], mode: int, *,
               threads: int | None = None) -> Floats:
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
        ctx.configure(threads=self.threads if threads is None else threads,
                      device=self.device_asked, quick=True)
        made = ffi.new("polyad_workspace **")
        ctx.check(lib.polyad_workspace_create(ctx.pointer, self._handle, rank, made))
        try:
            pointers = ffi.new("void *[]", [pointer(matrix) for matrix in matrices])
            ctx.check(lib.polyad_mttkrp(ctx.pointer, self._handle, made[0], mode, pointers,
                                        pointer(out)))
        finally:
            lib.polyad_workspace_destroy(made[0])
        return out

    def gcp_objective(self, factors: Sequence[npt.ArrayLike], loss: Loss = "poisson", *,
                      threads: int | None = None) -> tuple[float, list[Floats]]:
        """See :func:`gcp_objective`."""
        if not known(loss, _LOSSES):
            raise ValueError(f"loss {loss!r} is unknown; expected one of {', '.join(_LOSSES)}")
        matrices = [np.ascontiguousarray(reals(factor, f"factor {m}"), self.dtype)
                    for m, factor in enumerate(items(factors, "factors", "matrices"))]
        rank = matrices[0].shape[-1] if matrices and matrices[0].ndim == 2 else 0
        if [matrix.shape for matrix in matrices] != [(size, rank) for size in self.shape]:
            raise ValueError(f"factors of shapes {[matrix.shape for matrix in matrices]} found; "
                             f"expected (I_n, R) for the modes of {self.shape}")
        ctx = context()
        ctx.configure(threads=self.threads if threads is None else threads,
                      device=self.device_asked, quick=True)
        made, objective = ffi.new("polyad_workspace **"), ffi.new("double *")
        gradients = [np.empty_like(matrix) for matrix in matrices]
        ctx.check(lib.polyad_workspace_create(ctx.pointer, self._handle, rank, made))
        try:
            status = ctx.run(
                lib.polyad_gcp_objective, self._handle, made[0], _LOSSES[loss],
                ffi.new("void *[]", [pointer(matrix) for matrix in matrices]), objective,
                ffi.new("void *[]", [pointer(gradient) for gradient in gradients]))
            if ctx.interrupted:
                raise Interrupted("interrupted while all cells were being visited")
            ctx.check(status)
        finally:
            lib.polyad_workspace_destroy(made[0])
        return float(objective[0]), gradients


def plan_of(x: Any, rank: int, *, format: str, precision: Precision | None, device: str,
            threads: int | None, variant: str, kernel: str = "mttkrp",
            zeros: str = "drop", sweeps: float = 0, comm: Any = None,
            columns: int = 0) -> tuple[SparseTensor | None, Plan]:
    """The tensor behind `x` and a plan for it, kept with the tensor for the next call, whatever
    number of sweeps that has. `columns` are those of all runs that go side by side."""
    if isinstance(x, Plan):
        x._check({"format": format, "precision": precision, "device": device, "variant": variant})
        return None, x
    if comm is not None and isinstance(x, (str, os.PathLike)):
        x = SparseTensor.read(x, comm=comm)
    tensor = x if isinstance(x, DeviceTensor) else as_tensor(x)
    for name, value in (("format", format), ("device", device), ("variant", variant)):
        encode(value, name)
    if precision is not None:
        precision_type(precision)
    threads = None if threads is None else index(threads, "threads")
    choice = (format, "f64" if precision is None else precision, device, threads, variant, kernel,
              "native", False, zeros)
    key = (rank, columns, choice)
    kept = tensor._plans.get(key) if comm is None else None
    named = tensor if isinstance(tensor, SparseTensor) else None
    if kept is not None:
        return named, cast(Plan, kept)
    plan = Plan.__new__(Plan)
    plan._make(tensor, rank, *choice, sweeps, comm, columns)
    if comm is None:
        tensor._plans = {key: plan}  # one; another thread may still use the older
    return named, plan


def rank_argument(rank: Any) -> int:
    number = index(rank, "rank")
    if number < 1:
        raise ValueError(f"rank {number} is not possible; expected at least 1")
    return number
