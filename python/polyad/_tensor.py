"""The sparse tensor."""

from __future__ import annotations

import numbers as _numbers
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union, overload

import numpy as np
import numpy.typing as npt

from . import _algebra, _arithmetic, _convert, _frames
from ._arguments import items, known, mapping
from ._context import context, encode, index, mode_number, switch
from ._device_tensor import DeviceTensor
from ._errors import text
from ._files import column_list, readable
from ._keys import Keys
from ._memory import (DTYPES, INDEX_TYPES, PRECISIONS, TYPES, pointer, precision_type, values_type,
                      view)
from ._native import ffi, lib
from ._policies import duplicates_policy, zeros_policy
from ._types import (Collapse, Duplicates, Floats, FloatType, FramePackage, Missing, Mode, Numbers,
                     ScaleBy, Statistics, Transform, Zeros)

if TYPE_CHECKING:
    from types import EllipsisType

    import pandas
    import polars
    import pyarrow
    import scipy.sparse
    import sparse
    import torch
    import xarray
    from pyttb.sptensor import sptensor

    _Key = int | slice | EllipsisType | Sequence[int] | npt.NDArray[Any]

MAX_ORDER = int(lib.POLYAD_MAX_ORDER)
# A tensor, but a float where no mode is left, which only the values tell: `x[:3].nnz` must pass.
Part: TypeAlias = Union["SparseTensor", Any]

_MISSING = {"keep": lib.POLYAD_MISSING_KEEP, "skip": lib.POLYAD_MISSING_SKIP,
            "error": lib.POLYAD_MISSING_ERROR}
_NUMBERS = {"plain": lib.POLYAD_NUMBERS_PLAIN, "grouped": lib.POLYAD_NUMBERS_GROUPED,
            "point": lib.POLYAD_NUMBERS_POINT, "comma": lib.POLYAD_NUMBERS_COMMA}

Labels = Sequence[Sequence[str] | None] | Mapping[str, Sequence[str] | None]


def read_options(index_base: int, pattern: bool, duplicates: Duplicates,
                 shape: Sequence[int] | None, texts: dict[str, Any]) -> tuple[Any, list[Any]]:
    """How a file is read, as C has it, and what has to live as long."""
    options, kept = ffi.new("polyad_read_options *"), []
    lib.polyad_read_options_init(options)
    options.index_base, options.pattern = index(index_base, "index_base"), switch(pattern, "pattern")
    options.duplicates = duplicates_policy(duplicates)
    if shape is not None:
        shape = items(shape, "shape", "lengths")
        if not shape:
            raise ValueError("shape has no lengths; expected one for each mode")
        options.order = len(shape)
        if len(shape) > MAX_ORDER:
            raise ValueError(f"shape has {len(shape)} lengths; at most {MAX_ORDER} are possible")
        for mode, length in enumerate(shape):
            options.dims[mode] = index(length, "shape")
    for name, argument in texts.items():
        if argument is not None:
            kept.append(ffi.new("char[]", encode(argument, name)))
            setattr(options, name, kept[-1])
    return options, kept


class SparseTensor:
    """A sparse tensor of order 1 to 16: coordinates and values of its nonzeros.

    It is immutable. Its nonzeros are sorted by coordinate, repeated coordinates are merged and
    zeros dropped when it is made (``repeats_merged`` and ``zeros_dropped`` count them).

    Parameters
    ----------
    coords : array_like of integers, shape (nnz, N)
        0-based coordinates, any integer type and stride.
    values : array_like, shape (nnz,), optional
        Values; ones when left out. float32 values are kept as float32, all others as float64.
    shape : sequence of int, optional
        Length of each mode; default: the largest index of each mode plus one.
    labels : optional
        Names of the indices: one sequence of strings (or None) per mode, or a mapping from mode
        names to such sequences.
    duplicates : {"sum", "max", "min", "first", "error", "mean", "last", "count"}
        What becomes of entries with equal coordinates.
    zeros : {"drop", "keep"}
        Whether entries whose value is zero are left out, or kept among the nonzeros as cells that
        were observed (``zeros_kept`` counts them). Plans and decompositions leave them out.

    Raises
    ------
    TypeError
        When coordinates are no integers or values no numbers.
    ValueError
        When an index lies outside the shape or a value is not finite.
    """

    def __init__(self, coords: npt.ArrayLike, values: npt.ArrayLike | None = None,
                 shape: Sequence[int] | None = None, labels: Labels | None = None, *,
                 duplicates: Duplicates = "sum", zeros: Zeros = "drop") -> None:
        indices = _convert.array(coords, "coords")
        if indices.ndim != 2:
            raise ValueError(f"coords has {indices.ndim} dimensions; expected 2: (nnz, N)")
        if indices.size == 0 and indices.dtype == np.float64:
            indices = indices.astype(np.int64)
        if indices.dtype.kind not in "iu":
            raise TypeError(f"coords has type {indices.dtype}; expected integers")
        if indices.dtype not in INDEX_TYPES:
            indices = indices.astype(np.int64)
        nnz, order = indices.shape
        if not 1 <= order <= MAX_ORDER:
            raise ValueError(f"coords has {order} columns; expected 1 to {MAX_ORDER} modes")
        data = _values(values, nnz)

        given = ffi.new("polyad_tensor_input *")
        lib.polyad_tensor_input_init(given)
        given.order, given.nnz = order, nnz
        given.index_type = INDEX_TYPES[indices.dtype]
        for mode in range(order):
            given.index[mode] = ffi.cast("void *", indices.ctypes.data + mode * indices.strides[1])
            given.index_stride[mode] = indices.strides[0]
        if data is not None:
            given.value_type = given.type = TYPES[data.dtype]
            given.values, given.value_stride = pointer(data), data.strides[0] if nnz else 0
        dims = None
        if shape is not None:
            lengths = [index(length, "shape") for length in items(shape, "shape", "lengths")]
            if len(lengths) != order:
                raise ValueError(f"shape has {len(lengths)} lengths; expected {order}")
            if min(lengths) < 1:
                raise ValueError(f"shape {tuple(lengths)} has a length below 1")
            dims = given.dims = ffi.new("uint64_t[]", lengths)
        given.duplicates, given.zeros = duplicates_policy(duplicates), zeros_policy(zeros)
        made = ffi.new("polyad_tensor **")
        ctx = context()
        ctx.check(lib.polyad_tensor_create(ctx.pointer, given, made))
        del dims  # was needed until here
        self._take(ctx, made[0])
        self._keeps_zeros = zeros == "keep"
        if labels is not None:
            self._set_labels(labels)

    def _take(self, ctx: Any, handle: Any) -> None:
        self._context = ctx
        self._handle = ffi.gc(handle, lib.polyad_tensor_destroy)
        order = lib.polyad_tensor_order(handle)
        dims = lib.polyad_tensor_dims(handle)
        self._shape = tuple(int(dims[mode]) for mode in range(order))
        self._labels: dict[int, list[str] | None] = {}
        self._plans: dict[Any, Any] = {}
        self._keeps_zeros = self.zeros_kept > 0  # or would, if it had any
        self._keys: dict[int, Keys] = {}  # what labels were in a data frame
        self.transforms: list[Transform] = []  # how log1p(), tf_idf() and scale() changed the values

    @classmethod
    def _made_of(cls, found: _convert.Parts | _convert.Cells) -> SparseTensor:
        """Of coordinates, values and shape, or of a dense array's cells."""
        if isinstance(found, tuple):
            return cls(*found)
        given = ffi.new("polyad_dense_input *")
        lib.polyad_dense_input_init(given)
        dims = ffi.new("uint64_t[]", found.shape)
        strides = ffi.new("int64_t[]", found.strides)
        if found.ndim > MAX_ORDER:
            raise ValueError(f"the array has {found.ndim} dimensions; expected 1 to {MAX_ORDER} modes")
        given.order, given.dims, given.strides = found.ndim, dims, strides
        given.cell_type = given.type = TYPES[found.dtype]
        given.cells = pointer(found)
        made = ffi.new("polyad_tensor **")
        ctx = context()
        ctx.check(lib.polyad_tensor_create_dense(ctx.pointer, given, made))
        return cls._wrap(ctx, made[0])

    @classmethod
    def _wrap(cls, ctx: Any, handle: Any) -> SparseTensor:
        self = cls.__new__(cls)
        self._take(ctx, handle)
        return self

    # ---- what it is -----------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each mode."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of modes (the order)."""
        return len(self._shape)

    order = ndim

    @property
    def nnz(self) -> int:
        """Number of nonzeros."""
        return int(lib.polyad_tensor_nnz(self._handle))

    @property
    def dtype(self) -> np.dtype[FloatType]:
        """Type of the values: float32 or float64."""
        kept: np.dtype[FloatType] = np.dtype(DTYPES[lib.polyad_tensor_type(self._handle)])
        return kept

    @property
    def values(self) -> Floats:
        """The values, shape (nnz,); a read-only view."""
        return view(lib.polyad_tensor_values(self._handle), (self.nnz,), self.dtype, self)

    def indices(self, mode: Mode) -> npt.NDArray[np.uint32 | np.uint64]:
        """The 0-based indices of a mode, shape (nnz,); a read-only view (uint32, or uint64 for
        modes longer than 2**32)."""
        mode = self._mode(mode)
        width = lib.polyad_tensor_index_bytes(self._handle, mode)
        return view(lib.polyad_tensor_indices(self._handle, mode), (self.nnz,),
                    np.uint32 if width == 4 else np.uint64, self)

    @property
    def coords(self) -> npt.NDArray[np.int64]:
        """All coordinates, shape (nnz, N), int64; a copy."""
        out = np.empty((self.nnz, self.ndim), np.int64)
        for mode in range(self.ndim):
            out[:, mode] = self.indices(mode)
        return out

    @property
    def repeats_merged(self) -> int:
        """Entries that were merged into another with the same coordinate."""
        return int(lib.polyad_tensor_repeats_merged(self._handle))

    @property
    def zeros_dropped(self) -> int:
        """Entries that were dropped because their value was zero."""
        return int(lib.polyad_tensor_zeros_dropped(self._handle))

    @property
    def zeros_kept(self) -> int:
        """Nonzeros whose value is zero: none but with ``zeros="keep"``."""
        return int(lib.polyad_tensor_zeros_kept(self._handle))

    @property
    def nbytes(self) -> int:
        """Bytes the tensor holds."""
        return int(lib.polyad_tensor_bytes(self._handle))

    def norm(self) -> float:
        """Frobenius norm."""
        return float(lib.polyad_tensor_norm(self._handle))

    def innerprod(self, other: SparseTensor) -> float:
        """Inner product with a sparse tensor of the same shape; where both have labels, they are
        matched by name."""
        from ._match import in_terms_of

        other = in_terms_of(self, as_tensor(other))[0]
        if other.shape != self.shape:
            raise ValueError(f"the tensors have shapes {self.shape} and {other.shape}; expected "
                             "equal ones")
        return _arithmetic.innerprod(self, other)

    def statistics(self) -> Statistics:
        """Density, value range, and slices and fibers per mode."""
        ctx, found = context(), ffi.new("polyad_tensor_statistics *")
        ctx.configure()
        ctx.check(lib.polyad_tensor_statistics_compute(ctx.pointer, self._handle, found))
        modes = range(self.ndim)
        return {"density": found.density, "value_min": found.value_min,
                "value_max": found.value_max, "value_sum": found.value_sum, "norm": found.norm,
                "key_bits": found.key_bits, "slices": [int(found.slices[m]) for m in modes],
                "slice_max": [int(found.slice_max[m]) for m in modes],
                "slice_mean": [found.slice_mean[m] for m in modes],
                "slice_deviation": [found.slice_deviation[m] for m in modes],
                "fibers": [int(found.fibers[m]) for m in modes],
                "fibers_exact": bool(found.fibers_exact)}

    def astype(self, dtype: npt.DTypeLike) -> SparseTensor:
        """The same tensor with float32 or float64 values."""
        wanted = values_type(dtype)
        if wanted == self.dtype:
            return self
        ctx, made = context(), ffi.new("polyad_tensor **")
        ctx.check(lib.polyad_tensor_convert(ctx.pointer, self._handle, TYPES[wanted], made))
        converted = SparseTensor._wrap(ctx, made[0])
        converted._remember(self)
        return converted

    def _remember(self, source: SparseTensor) -> None:
        """What another tensor with the same modes knows beside its numbers and labels."""
        self._keys, self.transforms = dict(source._keys), list(source.transforms)

    # ---- labels ---------------------------------------------------------------------------

    @property
    def mode_names(self) -> list[str | None]:
        """Name of each mode, None where it has none."""
        return [text(lib.polyad_tensor_mode_name(self._handle, mode)) or None
                for mode in range(self.ndim)]

    @property
    def labels(self) -> list[list[str] | None]:
        """Labels of each mode's indices, None where it has none."""
        return [self._labels_of(mode) for mode in range(self.ndim)]

    def _labels_of(self, mode: int) -> list[str] | None:
        if mode not in self._labels:
            found: list[str] | None = None
            if lib.polyad_tensor_label(self._handle, mode, 0, ffi.NULL) != ffi.NULL:
                found = [text(lib.polyad_tensor_label(self._handle, mode, i, ffi.NULL))
                         for i in range(self._shape[mode])]
            self._labels[mode] = found
        return self._labels[mode]

    def _set_labels(self, labels: Labels, names: Sequence[str | None] | None = None) -> None:
        if isinstance(labels, Mapping):
            names, columns = list(labels), list(labels.values())
        else:
            columns = items(labels, "labels", "labels of each mode")
            names = [None] * len(columns) if names is None else names
        if len(columns) != self.ndim:
            raise ValueError(f"labels are given for {len(columns)} modes; expected {self.ndim}")
        for mode, (name, column) in enumerate(zip(names, columns)):
            strings = ffi.NULL
            if column is not None:
                column = [str(label) for label in items(column, f"labels of mode {mode}", "names")]
                if len(column) != self._shape[mode]:
                    raise ValueError(f"mode {mode} has {len(column)} labels; expected "
                                     f"{self._shape[mode]}")
                kept = [ffi.new("char[]", encode(label, "a label")) for label in column]
                strings = ffi.new("char *[]", kept)
            elif name is None:
                continue
            title = ffi.NULL if name is None else ffi.new("char[]", encode(name, "a mode name"))
            ctx = context()
            ctx.check(lib.polyad_tensor_set_labels(ctx.pointer, self._handle, mode, title,
                                                   strings))
        self._labels = {}

    # ---- files ----------------------------------------------------------------------------

    @staticmethod
    def read(path: Any, *, dtype: npt.DTypeLike = np.float64, index_base: int = 1,
             pattern: bool = False, duplicates: Duplicates = "sum", zeros: Zeros = "drop",
             shape: Sequence[int] | None = None, labels: Any = None,
             columns: str | Sequence[str] | None = None, value: str | None = None,
             delimiter: str | None = None, where: str | None = None,
             missing: Missing = "keep", numbers: Numbers = "plain",
             time_zone: str | None = None, comm: Any = None) -> SparseTensor:
        """Reads a tensor from a file: ``.tns``, Tensor Toolbox text, ``.ptn``, ``.csv`` or
        ``.tsv``, also compressed (``.gz``, ``.zst``); ``.parquet``, ``.arrow`` or ``.feather`` (the
        package pyarrow reads them; what is said below of delimited text holds of them); ``.npz`` as
        :meth:`save`, the command or ``sparse.save_npz`` wrote it; a dense array as ``numpy.save`` wrote
        it (``.npy``).

        Parameters
        ----------
        path : str, path or file object
            The file; "-" is standard input. A file object is read to its end; its ``name``, where
            it has one, says by its extension what it holds.
        dtype : float32 or float64
            Type of the values in memory.
        index_base : {1, 0}
            Smallest index in text files.
        pattern : bool
            Lines have indices only; all values are one.
        duplicates : {"sum", "max", "min", "first", "error", "mean", "last", "count"}
            What becomes of repeated coordinates.
        zeros : {"drop", "keep"}
            Whether entries whose value is zero are left out, or kept as cells that were observed.
        shape : sequence of int, optional
            Length of each mode; an index outside is an error.
        labels : str or path, optional
            Directory with label files; default: STEM.labels beside the file; "": none.
        columns : sequence of str, or str, optional
            Delimited text: the columns that are modes, such as ["date", "hour", "lat:round=2"] or
            "date,hour,lat:round=2". Of times "when:hour", "when:weekday", "when:date", "when:week"
            or "when:month", with "=dmy" or "=mdy" behind it where 3/4/2024 may occur.
        value, delimiter : str, optional
            Delimited text: the column of the values, the delimiter.
        where : str, optional
            Delimited text: rows to take, such as "city=Paris,fare>5,when<2024-04-01".
        missing : {"keep", "skip", "error"}
            Delimited text: what becomes of rows where a column that is used is empty or NA.
        numbers : {"plain", "grouped", "point", "comma"}
            Delimited text: numbers as 1234.5, or with marks between thousands, a currency
            ("$1,234.50") or parentheses for a minus, where the decimal mark is the one that each
            number tells ("grouped"; 1,234, which does not tell, is an error), a point or a comma.
        time_zone : str, optional
            Delimited text: "FROM:TO" moves times from the clocks of one time zone to those of
            another, such as "UTC:America/New_York", by the system's tz database; "FROM" moves only
            times with a zone behind them, ":TO" takes no others. Times that clocks left out are
            errors, and so are times that came twice without "FROM=earlier" or "FROM=later".
        comm : mpi4py.MPI.Comm, optional
            The tensor is this process's share of the file, for a :class:`Plan` of the same
            communicator: blocks of a ``.ptn``, lines of a plain ``.tns``; of others the first
            process has all. Its shape is that of the share.

        Raises
        ------
        polyad.ParseError
            With ``file``, ``line`` and ``column`` of what is wrong.
        polyad.FileError, polyad.MemoryLimitError, ValueError, TypeError
            A file that is not there is a FileNotFoundError, too.
        """
        options, kept = read_options(
            index_base, pattern, duplicates, shape,
            {"labels": labels, "columns": column_list(columns), "value": value, "where": where,
             "time_zone": time_zone})
        options.type = precision_type(dtype) if known(dtype, PRECISIONS) else TYPES[values_type(dtype)]
        options.zeros = zeros_policy(zeros)
        for name, choice, words in (("missing", missing, _MISSING), ("numbers", numbers, _NUMBERS)):
            if not known(choice, words):
                raise ValueError(f"{name} {choice!r} is unknown; expected one of {', '.join(words)}")
            setattr(options, name, words[choice])
        if delimiter is not None:
            character = encode(delimiter, "delimiter")
            if len(character) != 1:
                raise ValueError(f"delimiter {delimiter!r:.60} found; expected one character")
            options.delimiter = character
        if comm is not None:
            if not hasattr(comm, "Get_rank"):
                raise TypeError(f"comm is {type(comm).__name__}; expected a communicator of mpi4py, such "
                                "as MPI.COMM_WORLD")
            options.share, options.shares = comm.Get_rank(), comm.Get_size()
        ctx, made = context(), ffi.new("polyad_tensor **")
        ctx.configure()
        delimited = any(each is not None for each in (columns, value, delimiter, where))
        wanted = None if columns is None else " ".join(
            filter(None, (column_list(columns), value or "value", where)))
        with readable(path, delimited, wanted) as file:
            ctx.check(lib.polyad_tensor_read(ctx.pointer, encode(file, "path"), options, made))
        read = SparseTensor._wrap(ctx, made[0])
        read._keeps_zeros = zeros == "keep"
        return read

    def save(self, path: Any) -> None:
        """Writes the tensor; the extension of ``path`` chooses the format (``.tns``, ``.txt``:
        Tensor Toolbox, ``.ptn``, ``.csv``, ``.tsv``; ``.gz`` and ``.zst`` compress; ``.npz`` is a
        NumPy archive that ``sparse.load_npz`` reads, too)."""
        ctx = context()
        ctx.configure()
        ctx.check(lib.polyad_tensor_write(ctx.pointer, self._handle, encode(path, "path"),
                                          lib.POLYAD_FILE_AUTO))

    # ---- other packages -------------------------------------------------------------------

    @classmethod
    def from_numpy(cls, array: npt.ArrayLike, labels: Labels | None = None) -> SparseTensor:
        """The nonzeros of a dense array."""
        made = cls._made_of(_convert.cells(array))
        if labels is not None:
            made._set_labels(labels)
        return made

    def to_numpy(self) -> Floats:
        """A dense array (of the product of all lengths)."""
        return _convert.to_numpy(self)

    @classmethod
    def from_sparse(cls, array: Any) -> SparseTensor:
        """From ``sparse.COO``, ``GCXS`` or ``DOK`` (or what has ``coords``, ``data`` and ``shape``).
        A fill value other than 0 is a ValueError."""
        return cls(*_convert.from_sparse(array))

    def to_sparse(self) -> sparse.COO:
        """To ``sparse.COO``."""
        return _convert.to_sparse(self)

    @classmethod
    def from_scipy(cls, matrix: Any) -> SparseTensor:
        """From a matrix or array of ``scipy.sparse``, of any number of modes."""
        return cls(*_convert.from_scipy(matrix))

    def to_scipy(self) -> scipy.sparse.coo_array:
        """To ``scipy.sparse.coo_array`` (of scipy before 1.15 with order 2 only)."""
        return _convert.to_scipy(self)

    @classmethod
    def from_pyttb(cls, tensor: Any) -> SparseTensor:
        """From ``pyttb.sptensor``, or the nonzeros of a ``pyttb.tensor``."""
        return cls._made_of(_convert.from_pyttb(tensor))

    def to_pyttb(self) -> sptensor:
        """To ``pyttb.sptensor``."""
        return _convert.to_pyttb(self)

    @classmethod
    def from_torch(cls, tensor: Any) -> SparseTensor:
        """From a tensor of PyTorch (on the CPU or a GPU): sparse (COO, CSR, CSC, BSR, BSC), or the nonzeros
        of a dense one."""
        return cls._made_of(_convert.from_torch(tensor))

    def to_torch(self) -> torch.Tensor:
        """To a sparse COO tensor of PyTorch."""
        return _convert.to_torch(self)

    @classmethod
    def from_dataframe(cls, frame: Any, columns: Sequence[str] | None = None,
                       value: str | None = None, *, bins: Mapping[str, str | int] | None = None,
                       observed: bool = False, duplicates: Duplicates = "sum",
                       zeros: Zeros = "drop") -> SparseTensor:
        """From a data frame (pandas or polars), a pandas Series or a table of pyarrow: columns become
        modes.

        Labels are sorted; a categorical column (of pandas, or an Enum of polars) keeps its
        categories and their order. The levels of a pandas index that has names are modes like
        columns. :meth:`to_dataframe` gives columns of the same types back.

        Parameters
        ----------
        frame : data frame, Series, LazyFrame or pyarrow.Table
        columns : sequence of str, optional
            The columns that are modes; default: all but ``value``.
        value : str, optional
            The column of values; default: "value" where there is such a column, the values of a
            Series, the only column of numbers beside an index with names; else rows are counted, and
            a UserWarning names columns that look like values.
        bins : mapping, optional
            Columns whose values are gathered: times into "Y", "Q", "M", "W" (from Monday), "D",
            "h" or "min", by the clocks of the column's time zone where it has one; numbers into so many
            ranges of equal width, as {"date": "W", "km": 20}.
            Bins between the first and the last have an index even without rows.
        observed : bool
            Whether categories and bins without rows are left out.
        duplicates : {"sum", "max", "min", "first", "error", "mean", "last", "count"}
            What becomes of rows with equal modes.
        zeros : {"drop", "keep"}
            Whether rows whose value is zero are left out, or kept as cells that were observed, such
            as ratings of zero.

        Raises
        ------
        ValueError
            When a column is not there, or a mode has a missing value (its row is named).
        TypeError
        """
        coords, values, shape, keys = _frames.from_dataframe(frame, columns, value, bins, observed)
        made = cls(coords, values, shape, duplicates=duplicates, zeros=zeros)
        made._name(list(keys), [each.labels() for each in keys.values()],
                   dict(enumerate(keys.values())))
        return made

    @overload
    def to_dataframe(self, package: Literal["pandas"] = "pandas", *,
                     index: bool = False) -> pandas.DataFrame: ...

    @overload
    def to_dataframe(self, package: Literal["polars"], *,
                     index: bool = False) -> polars.DataFrame: ...

    @overload
    def to_dataframe(self, package: Literal["pyarrow"], *,
                     index: bool = False) -> pyarrow.Table: ...

    def to_dataframe(self, package: FramePackage = "pandas", *,
                     index: bool = False) -> pandas.DataFrame | polars.DataFrame | pyarrow.Table:
        """To a data frame of "pandas" or "polars", or a table of "pyarrow": one row per nonzero,
        labels where they are known, the values in the last column ("value", or "value_" where a mode has
        that name). Columns have the types that they had in
        :meth:`from_dataframe`; other labels are numbers or dates where all look so.

        Parameters
        ----------
        package : {"pandas", "polars", "pyarrow"}
        index : bool
            Whether the modes are the levels of a pandas index instead of columns.
        """
        made: pandas.DataFrame | polars.DataFrame | pyarrow.Table = _frames.to_dataframe(
            self, package, index)
        return made

    @classmethod
    def from_xarray(cls, array: Any) -> SparseTensor:
        """From an ``xarray.DataArray``, dense or over ``sparse.COO``: dimensions are modes, their
        coordinates labels. NaN, which xarray has for missing cells, is a ValueError."""
        found, keys = _frames.from_xarray(array)
        made = cls._made_of(found)
        made._name([str(name) for name in array.dims],
                   [keys[mode].labels() if mode in keys else None for mode in range(made.ndim)], keys)
        return made

    def to_xarray(self) -> xarray.DataArray:
        """To an ``xarray.DataArray`` over ``sparse.COO``, with labels as coordinates of the types that
        they had; ``as_numpy()`` makes it dense."""
        made: xarray.DataArray = _frames.to_xarray(self)
        return made

    # ---- new tensors ------------------------------------------------------------------------

    @overload
    def __getitem__(self, key: int | tuple[int, ...]) -> Part: ...

    @overload
    def __getitem__(self, key: _Key | tuple[_Key, ...]) -> SparseTensor: ...

    def __getitem__(self, key: _Key | tuple[_Key, ...]) -> Part:
        """A part of the tensor, as ``x[:31]`` or ``x[..., [0, 2, 5], 3]``: integers (their modes are
        dropped), slices, and arrays of integers or booleans. Every index is for one mode, so two
        arrays select all pairs, unlike NumPy's; one index may be selected several times. Labels go
        along. A float where every mode has an integer."""
        part: Part = _algebra.get(self, key)
        return part

    def sel(self, labels: Mapping[Mode, Any] | None = None, **named: Any) -> Part:
        """A part of the tensor by labels, as ``x.sel(date=slice("2013-01", "2013-03"), carrier="UA")``
        or ``x.sel({"day of week": ["Sat", "Sun"]})``.

        A single label drops its mode; a list keeps these labels, in this order; a slice has both
        ends. Slices of numbers and dates are compared (a date may be a beginning: "2013-03" ends
        with March), other slices follow the order of the indices. Numbers and times may be objects
        (``datetime``, ``pandas.Timestamp``, ``numpy.datetime64``) instead of text. A label that is not
        there is a KeyError.
        """
        wanted: dict[Mode, Any] = mapping(labels, "labels", "from modes to labels")
        for name, each in named.items():
            wanted[name] = each
        part: Part = _algebra.sel(self, wanted)
        return part

    @overload
    def sum(self, modes: None = None) -> float: ...

    @overload
    def sum(self, modes: Mode | Sequence[Mode]) -> Part: ...

    def sum(self, modes: Mode | Sequence[Mode] | None = None) -> Part:
        """The sum over modes (numbers or names): a tensor of the others, or a float where none is
        left or ``modes`` is None."""
        made: Part = _algebra.collapse(self, modes, "sum")
        return made

    @overload
    def collapse(self, modes: None = None, how: Collapse = "sum") -> float: ...

    @overload
    def collapse(self, modes: Mode | Sequence[Mode], how: Collapse = "sum") -> Part: ...

    def collapse(self, modes: Mode | Sequence[Mode] | None = None,
                 how: Collapse = "sum") -> Part:
        """As :meth:`sum`, but ``how`` says what nonzeros become that differ in these modes alone: their
        "sum", "count", "mean", "min" or "max". Cells that are not stored take no part."""
        made: Part = _algebra.collapse(self, modes, how)
        return made

    def permute(self, modes: Sequence[Mode]) -> SparseTensor:
        """The tensor with its modes (numbers or names) in another order."""
        made: SparseTensor = _algebra.permute(self, modes)
        return made

    def concatenate(self, *others: SparseTensor, mode: Mode = 0) -> SparseTensor:
        """This tensor and others one after the other along a mode; lengths and labels of the other
        modes must be equal."""
        made: SparseTensor = _algebra.concatenate([self, *others], mode)
        return made

    def groupby(self, mode: Mode, groups: Any) -> SparseTensor:
        """The slices of a mode added up by groups, which become its labels, sorted.

        Parameters
        ----------
        mode : int or str
        groups : sequence, mapping or function
            A group for every index; or from labels (indices where there are none) to groups, as
            ``x.groupby("date", lambda date: date[:7])``.
        """
        made: SparseTensor = _algebra.groupby(self, mode, groups)
        return made

    # ---- arithmetic -------------------------------------------------------------------------

    __array_ufunc__ = None  # NumPy's numbers leave products to the methods here

    def __add__(self, other: Any) -> SparseTensor:
        if not isinstance(other, SparseTensor):
            return NotImplemented
        made: SparseTensor = _arithmetic.added(self, other, 1)
        return made

    def __radd__(self, other: Any) -> SparseTensor:
        # Python's sum() begins with 0.
        return self if isinstance(other, _numbers.Real) and other == 0 else NotImplemented

    def __sub__(self, other: Any) -> SparseTensor:
        if not isinstance(other, SparseTensor):
            return NotImplemented
        made: SparseTensor = _arithmetic.added(self, other, -1)
        return made

    def __mul__(self, other: Any) -> SparseTensor:
        made: SparseTensor
        if isinstance(other, SparseTensor):
            made = _arithmetic.multiplied(self, other)
        elif isinstance(other, _numbers.Real):
            made = _arithmetic.scaled(self, float(other))
        else:
            return NotImplemented
        return made

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        if not isinstance(other, _numbers.Real):
            return NotImplemented
        made: SparseTensor = _arithmetic.divided(self, float(other))
        return made

    def __neg__(self) -> SparseTensor:
        made: SparseTensor = _arithmetic.scaled(self, -1)
        return made

    def __abs__(self) -> SparseTensor:
        return self.map(np.abs)

    def __pow__(self, power: float) -> SparseTensor:
        if not isinstance(power, _numbers.Real):
            return NotImplemented
        if not power > 0:  # 0 ** power is no zero
            raise ValueError(f"power {power} found; expected one above 0, which leaves zeros zero")
        return self.map(lambda values: values ** float(power))

    def map(self, function: Callable[[npt.NDArray[Any]], npt.ArrayLike]) -> SparseTensor:
        """The tensor with every stored value through a function of arrays, such as ``np.log1p``.
        Cells that are not stored stay zero, whatever the function makes of zero. What it makes zero is
        left out, but of a tensor made or read with ``zeros="keep"``, as of ratings less their mean."""
        made: SparseTensor = _arithmetic.mapped(self, function)
        return made

    def log1p(self) -> SparseTensor:
        """The tensor of ln(1 + x): large counts outweigh others less. Models of it say so in
        ``info["transforms"]``, as after :meth:`tf_idf` and :meth:`scale`.

        Raises
        ------
        ValueError
            When a value is -1 or below.
        """
        made: SparseTensor = _arithmetic.transformed(self, "log1p")
        return made

    def tf_idf(self, terms: Mode, documents: Mode) -> SparseTensor:
        """The tensor with every value times ln((1 + D) / (1 + d)) + 1, where D is the length of the
        mode ``documents`` and d how many of its indices have a nonzero with this index of the mode
        ``terms``: what is everywhere counts less. Of a matrix this is what scikit-learn's
        ``TfidfTransformer(norm=None)`` makes.

        Raises
        ------
        ValueError
            When a value is below 0, or both modes are the same.
        """
        made: SparseTensor = _arithmetic.transformed(self, "tf-idf", terms, documents)
        return made

    def scale(self, mode: Mode, by: ScaleBy = "norm") -> SparseTensor:
        """The tensor with every slice of a mode divided by its Euclidean norm, by the sum of its
        magnitudes or by its largest magnitude. Scaling a second mode changes the first again."""
        made: SparseTensor = _arithmetic.transformed(self, "scale", mode, by=by)
        return made

    def ttv(self, vectors: Mapping[Mode, npt.ArrayLike]) -> Part:
        """The tensor times vectors: each mode that is named is summed with the weights of a vector of
        its length, and gone. A float where none is left."""
        made: Part = _arithmetic.ttv(self, vectors)
        return made

    def ttm(self, matrix: npt.ArrayLike, mode: Mode) -> SparseTensor:
        """The tensor times a matrix (J, I_n) in a mode, whose length is J then. The result has up to
        J times as many nonzeros; :func:`polyad.ttmc` multiplies all modes but one at once."""
        made: SparseTensor = _arithmetic.ttm(self, matrix, mode)
        return made

    def unfold(self, mode: Mode) -> scipy.sparse.csr_array:
        """The mode-n matricisation as ``scipy.sparse.csr_array``, shape (I_n, product of the others);
        the first of the other modes runs fastest, as in Kolda and Bader (2009)."""
        return _arithmetic.unfolded(self, mode)

    # ---- Python ---------------------------------------------------------------------------

    def _mode(self, mode: Mode) -> int:
        if isinstance(mode, str):
            return mode_number(mode, self.mode_names, "tensor")
        return mode_number(mode, [None] * self.ndim, "tensor")

    def _name(self, names: Sequence[str | None], labels: Sequence[Sequence[str] | None],
              keys: dict[int, Keys]) -> None:
        """Gives names and labels to some of the modes."""
        self._set_labels(labels, names)
        self._keys = keys

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        raise TypeError("a sparse tensor is not made dense without being asked to; use to_numpy()")

    def _repr_html_(self) -> str:
        from ._html import tensor

        return tensor(self)

    def __repr__(self) -> str:
        dims = "×".join(str(length) for length in self.shape)
        return f"<polyad.SparseTensor {dims}, {self.nnz} nonzeros, {self.dtype}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseTensor):
            return NotImplemented
        return (self.shape == other.shape and self.dtype == other.dtype and
                bool(lib.polyad_tensor_hash(self._handle) == lib.polyad_tensor_hash(other._handle))
                and np.array_equal(self.values, other.values) and
                all(np.array_equal(self.indices(m), other.indices(m)) for m in range(self.ndim)))

    def __hash__(self) -> int:
        return int(lib.polyad_tensor_hash(self._handle))

    def __reduce__(self) -> Any:
        return _restore, (self.coords, np.array(self.values), self.shape, self.mode_names,
                          self.labels, self._keys, self.transforms, self._keeps_zeros)


def _restore(coords: npt.NDArray[Any], values: npt.NDArray[Any], shape: tuple[int, ...],
             names: list[str | None], labels: list[list[str] | None],
             keys: dict[int, Keys], transforms: list[Transform],
             keeps_zeros: bool = False) -> SparseTensor:
    """A tensor from what __reduce__ gave."""
    made = SparseTensor(coords, values, shape, zeros="keep")
    made._keeps_zeros = keeps_zeros or made.zeros_kept > 0
    made._name(names, labels, keys)
    made.transforms = transforms
    return made


def _values(values: npt.ArrayLike | None, nnz: int) -> npt.NDArray[Any] | None:
    """The values as a float32 or float64 array of nnz numbers, without a copy where possible."""
    if values is None:
        return None
    data = _convert.array(values, "values")
    if data.dtype.kind not in "biuf" and data.size > 0:
        raise TypeError(f"values has type {data.dtype}; expected real numbers")
    if data.ndim == 2 and data.shape[1] == 1:
        data = data[:, 0]
    if data.shape != (nnz,):
        raise ValueError(f"values has shape {data.shape}; expected ({nnz},)")
    return data if data.dtype in TYPES else data.astype(np.float64)


def as_tensor(x: Any) -> SparseTensor:
    """A SparseTensor of whatever can be made into one."""
    if isinstance(x, SparseTensor):
        return x
    if isinstance(x, DeviceTensor):
        raise TypeError("a DeviceTensor's arrays lie on a GPU; expected a tensor in memory of the "
                        "host. Plan and decompositions take a DeviceTensor")
    if _frames.package_of(x) in ("pandas", "polars", "pyarrow"):
        return SparseTensor.from_dataframe(x)
    if _frames.package_of(x) == "xarray":
        return SparseTensor.from_xarray(x)
    return SparseTensor._made_of(_convert.anything(x))
