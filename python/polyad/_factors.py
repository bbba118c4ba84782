"""What models made of one factor matrix per mode have in common."""

from __future__ import annotations

import functools
import os
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from . import _convert
from ._arguments import items, mapping
from ._context import Context, context, encode, index, mode_number, mode_order
from ._files import write_parquet
from ._keys import infer
from ._labels import Columns, Names
from ._match import in_terms_of
from ._memory import precision_type
from ._native import ffi, lib
from ._tensor import SparseTensor, as_tensor
from ._types import Floats, FloatType, Mode, Precision, RunInfo

if TYPE_CHECKING:
    import pandas

LETTERS = "abcdefghijklmnop"
# What a run says of the model itself: no longer true of one that was edited.
_OF_THE_MODEL = ("fit", "fit_bound", "fit_from", "log_likelihood", "kkt_violation", "rmse",
                 "validation_rmse", "diagnosis")
Self = TypeVar("Self", bound="FactorModel")


class FactorModel:
    """Factor matrices with the names of their rows; KruskalTensor and TuckerTensor add how the
    columns combine."""

    _kind: str  # of the C functions: polyad_KIND_norm, …
    factors: list[Floats]
    labels: list[Sequence[str] | None]
    mode_names: list[str | None]
    _info: RunInfo
    _stamp: int | None = None  # of the numbers that _info speaks of

    @property
    def info(self) -> RunInfo:
        """What the run that made the model says of itself. Its fit, and what else it says of the
        model's quality, is gone once numbers of the model have been changed."""
        if "fit" in self._info:
            stamp = self._checksum()
            if self._stamp is None:
                self._stamp = stamp
            elif stamp != self._stamp:
                kept = {key: each for key, each in self._info.items() if key not in _OF_THE_MODEL}
                self._info = cast(RunInfo, kept)
        return self._info

    @info.setter
    def info(self, info: RunInfo) -> None:
        self._info, self._stamp = info, None
        if "fit" in info:
            self._stamp = self._checksum()

    def _checksum(self) -> int:
        return functools.reduce(lambda sum, array: zlib.crc32(np.ascontiguousarray(array).data, sum),
                                self._arrays(), 0)

    def _name(self, labels: Sequence[Sequence[str] | None] | None,
              mode_names: Sequence[str | None] | None, info: Mapping[str, Any] | None) -> None:
        self.labels = [None] * self.ndim if labels is None else items(labels, "labels", "names of each mode")
        self.mode_names = ([None] * self.ndim if mode_names is None else
                           items(mode_names, "mode_names", "names"))
        for name in self.mode_names:
            if name is not None and not isinstance(name, str):
                raise TypeError(f"mode_names has {name!r:.60}; expected names, or None")
        self.info = cast(RunInfo, mapping(info, "info", "of what is known of the model"))
        for what, count in (("labels", len(self.labels)), ("mode_names", len(self.mode_names))):
            if count != self.ndim:
                raise ValueError(f"{what} is given for {count} modes; expected {self.ndim}")
        for mode, column in enumerate(self.labels):
            if column is not None and len(items(column, f"labels of mode {mode}", "names")) != self.shape[mode]:
                raise ValueError(f"mode {mode} has {len(column)} labels; expected "
                                 f"{self.shape[mode]}")

    # ---- what it is -----------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each mode."""
        return tuple(len(factor) for factor in self.factors)

    @property
    def ndim(self) -> int:
        """Number of modes."""
        return len(self.factors)

    @property
    def dtype(self) -> np.dtype[FloatType]:
        """Type of all numbers: float32 or float64."""
        return self.factors[0].dtype

    def _mode(self, mode: Mode) -> int:
        return mode_number(mode, self.mode_names, "model")

    def _arrays(self) -> list[npt.NDArray[Any]]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        """Whether numbers, labels and names of modes are equal; ``info`` does not count."""
        if not isinstance(other, FactorModel) or type(self) is not type(other):
            return NotImplemented
        ours, theirs = self._arrays(), other._arrays()
        return (len(ours) == len(theirs) and all(map(np.array_equal, ours, theirs)) and
                self.mode_names == other.mode_names and
                [None if column is None else list(column) for column in self.labels] ==
                [None if column is None else list(column) for column in other.labels])

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def factor(self, mode: Mode) -> pandas.DataFrame:
        """A mode's factor (mode: number or name) as a pandas data frame: labels as index, one column
        per component. Labels that look like numbers or dates are numbers or dates."""
        import pandas

        mode = self._mode(mode)
        labels, matrix = self.labels[mode], self.factors[mode]
        rows = np.arange(len(matrix)) if labels is None else infer(labels)
        return pandas.DataFrame(matrix, pandas.Index(rows, name=self.mode_names[mode]),
                                pandas.RangeIndex(matrix.shape[1], name="component"))

    def top(self, component: int, mode: Mode, k: int = 5) -> list[tuple[int | str, float]]:
        """The k strongest rows of a component (a column of the factor) in a mode (number or name),
        as (label or index, entry)."""
        component, mode = index(component, "component"), self._mode(mode)
        rank = self.factors[mode].shape[1]
        if not -rank <= component < rank:
            raise ValueError(f"component {component} does not exist; the rank is {rank}")
        column = self.factors[mode][:, component]
        order = np.argsort(-np.abs(column), kind="stable")[:max(index(k, "k"), 0)]
        names = self.labels[mode]
        return [(int(i) if names is None else names[i], float(column[i])) for i in order]

    # ---- computations ---------------------------------------------------------------------

    def _c(self) -> tuple[Context, Any]:
        """A C copy of this model, owned by the calling thread's context."""
        raise NotImplementedError

    def _number(self, function: str, *arguments: Any) -> float:
        ctx, handle = self._c()
        result = ffi.new("double *")
        ctx.check(getattr(lib, f"polyad_{self._kind}_{function}")(ctx.pointer, handle, *arguments,
                                                                  result))
        return float(result[0])

    def fit(self, x: Any) -> float:
        """1 - ||X - M|| / ||X|| for a sparse tensor X of the same shape; where both have labels,
        they are matched by name."""
        return self._number("fit", in_terms_of(self, as_tensor(x))[0]._handle)

    def norm(self) -> float:
        """Frobenius norm of the full tensor."""
        return self._number("norm")

    def _dense(self) -> npt.NDArray[np.float64]:
        raise NotImplementedError

    def reconstruct(self, coords: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
        """Values of the model.

        Parameters
        ----------
        coords : array_like of integers, shape (count, N), optional
            0-based coordinates; without them the whole dense array is made.

        Returns
        -------
        ndarray, shape (count,), or the shape of the model; float64
        """
        if coords is None:
            return self._dense()
        places = _convert.array(coords, "coords")
        if places.dtype.kind not in "iu" and places.size:
            raise TypeError(f"coords has type {places.dtype}; expected integers")
        if places.ndim != 2 or places.shape[1] != self.ndim:
            raise ValueError(f"coords has shape {places.shape}; expected (count, {self.ndim})")
        if places.size and places.min() < 0:
            raise ValueError(f"coords has the negative index {places.min()}")
        places = np.ascontiguousarray(places, np.uint64)
        values = np.empty(len(places))
        ctx, handle = self._c()
        ctx.check(getattr(lib, f"polyad_{self._kind}_values")(
            ctx.pointer, handle, len(places), ffi.cast("uint64_t *", places.ctypes.data),
            ffi.cast("double *", values.ctypes.data)))
        return values

    def _permutation(self, modes: Sequence[Mode]) -> list[int]:
        return mode_order(modes, self.mode_names, "model")

    # ---- files and other packages -----------------------------------------------------------

    def save(self, path: Any) -> None:
        """Writes the model; the extension of ``path`` chooses the format: ``.ktensor`` (or
        ``.ttensor``) and ``.txt`` are Tensor Toolbox text, ``.ptm`` is polyad's binary (fast, with
        checksums), ``.npz`` a NumPy archive, ``.csv`` and ``.parquet`` long tables for other
        programs; ``polyad help files`` lists those of the command. Names of rows go into the file where the format
        has a place for them, else into the directory PATH.labels beside it, as the command puts them."""
        if encode(path, "path").endswith(b".parquet"):
            write_parquet(self._long_table(), path)
            return
        name = encode(path, "path")
        ctx, handle = self._c()
        outline = self._outline()
        ctx.check(getattr(lib, f"polyad_{self._kind}_write_labelled")(
            ctx.pointer, handle, outline._handle, name))

    def _outline(self) -> SparseTensor:
        """A tensor without nonzeros that has the labels of this model."""
        outline = SparseTensor(np.empty((0, self.ndim), np.int64), shape=self.shape)
        outline._set_labels(self.labels, self.mode_names)
        return outline

    @classmethod
    def load(cls: type[Self], path: Any, precision: Precision = "f64") -> Self:
        """Reads what :meth:`save` or the command's ``--output`` wrote as text or binary, with the
        names of rows from the file or from the directory PATH.labels where it lies beside it.

        Parameters
        ----------
        path : str or path
        precision : {"f64", "f32"}
        """
        ctx, made = context(), ffi.new(f"polyad_{cls._kind} **")
        outline = ffi.new("polyad_tensor **")
        ctx.configure()
        ctx.check(getattr(lib, f"polyad_{cls._kind}_read_labelled")(
            ctx.pointer, encode(path, "path"), precision_type(precision), made, outline))
        model = cls._wrap(ctx, made[0])
        if outline[0] != ffi.NULL:
            names = SparseTensor._wrap(ctx, outline[0])
            model.labels, model.mode_names = list(names.labels), list(names.mode_names)
        return model

    def _long_table(self) -> Any:
        """The table that the command writes: component, mode, label, strength, and the component's
        weight where it has one. What has no name is counted from 1 there."""
        frame = self.to_dataframe().rename(columns={"entry": "strength"})
        unnamed = {name or f"mode{mode + 1}": name or str(mode + 1)
                   for mode, name in enumerate(self.mode_names)}
        counted = [str(row + 1) if labels is None else labels[row]
                   for labels, factor in zip(self.labels, self.factors)
                   for row in range(len(factor)) for _ in range(factor.shape[1])]
        frame = frame.assign(component=frame["component"] + 1, mode=frame["mode"].map(unnamed),
                             label=counted)
        order = ["component", "mode", "label", "strength", "weight"]
        return frame[[name for name in order if name in frame]]

    @classmethod
    def _wrap(cls: type[Self], ctx: Context, handle: Any) -> Self:
        """A model that takes over what the library made."""
        raise NotImplementedError

    def to_dataframe(self) -> pandas.DataFrame:
        """The factors as a tidy pandas data frame: mode, label, component, entry."""
        import pandas

        frames = []
        for mode, factor in enumerate(self.factors):
            names, rank = self.labels[mode], factor.shape[1]
            rows = np.arange(len(factor)) if names is None else np.asarray(names, dtype=object)
            frames.append(pandas.DataFrame({
                "mode": self.mode_names[mode] or f"mode{mode + 1}",
                "label": np.repeat(rows, rank), "component": np.tile(np.arange(rank), len(factor)),
                "entry": factor.reshape(-1)}))
        return pandas.concat(frames, ignore_index=True)

    def take_labels(self, tensor: Any) -> None:
        """Takes over the labels and mode names of a SparseTensor or Plan."""
        if not hasattr(tensor, "labels") or not hasattr(tensor, "mode_names"):
            raise TypeError(f"tensor must be a SparseTensor, a Plan or a model, not {type(tensor).__name__}")
        self.labels, self.mode_names = list(tensor.labels), list(tensor.mode_names)


def real_matrices(factors: Sequence[npt.ArrayLike]) -> list[npt.NDArray[Any]]:
    """The factors as arrays of real numbers with two dimensions."""
    given = items(factors, "factors", "matrices")
    matrices = [_convert.reals(factor, f"factor {mode}") for mode, factor in enumerate(given)]
    for mode, matrix in enumerate(matrices):
        if matrix.ndim != 2:
            raise ValueError(f"factor {mode} has shape {matrix.shape}; expected (I_{mode}, R)")
    return matrices


def common_type(arrays: Sequence[npt.NDArray[Any]]) -> np.dtype[Any]:
    """float32 where all arrays are, else float64."""
    single = all(array.dtype == np.float32 for array in arrays)
    return np.dtype(np.float32 if single else np.float64)
