"""Data frames into tensors and back.

Every column that is a mode is turned into codes, 0 to the number of its distinct values: sorted, or
in the order of a categorical column. pandas and polars are used where the frame is theirs, tables
of pyarrow go by way of pandas; of other frames only ``columns`` and ``frame[name].to_numpy()`` are read."""

from __future__ import annotations

import decimal
import importlib
import numbers
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _convert
from ._arguments import items, known, mapping
from ._context import switch
from ._bins import binned
from ._keys import Keys, infer, label

Codes = npt.NDArray[np.int64]


def package_of(x: Any) -> str:
    """The package that an object's class comes from."""
    return type(x).__module__.split(".")[0]


def from_dataframe(frame: Any, columns: Sequence[str] | None, value: str | None,
                   bins: Mapping[str, str | int] | None,
                   observed: bool) -> tuple[Codes, Any, tuple[int, ...], dict[str, Keys]]:
    """Coordinates, values, shape and, by the name of its column, the keys of each mode."""
    frame, value = _table(frame, columns, value)
    real = {str(name): name for name in frame.columns}
    if len(real) < len(frame.columns):
        raise ValueError("two columns of the data frame have one name; expected different names")
    if isinstance(columns, str):
        raise TypeError(f"columns must be a sequence of names, not the string {columns!r}")
    switch(observed, "observed")
    modes = None if columns is None else [str(name) for name in items(columns, "columns", "names")]
    value = None if value is None else str(value)
    if value is None and "value" in real and (modes is None or "value" not in modes):
        value = "value"
    if modes is None:
        modes = [name for name in real if name != value]
    bins = {str(name): each for name, each in
            mapping(bins, "bins", "from columns to widths or counts").items()}
    for name in [*modes, *([value] if value is not None else []), *bins]:
        if name not in real:
            raise ValueError(f"the data frame has no column {name!r}; it has {', '.join(real)}")
    for name in bins:
        if name not in modes:
            raise ValueError(f"bins of column {name!r}, which is no mode; expected one of {', '.join(modes)}")
    if not modes:
        raise ValueError("the data frame has no column for a mode")
    if len(set(modes)) < len(modes):
        raise ValueError(f"columns {modes} has a name twice; expected different names")
    coords = np.empty((len(frame), len(modes)), np.int64)
    keys: dict[str, Keys] = {}
    for mode, name in enumerate(modes):
        column = _plain(frame[real[name]], name)
        if name in bins:
            codes, keys[name] = binned(_values(_clock(column), name), bins[name], name)
        else:
            codes, keys[name] = _factorized(column, name)
        if observed:
            codes, keys[name] = _observed(codes, keys[name])
        if len(keys[name].values) == 0:
            raise ValueError(f"column {name!r} has no rows; expected at least one")
        coords[:, mode] = codes
    if columns is None and value is None:
        _warn_of_amounts(keys, bins)
    values = None if value is None else _amounts(_plain(frame[real[value]], value), value)
    return coords, values, tuple(len(each.values) for each in keys.values()), keys


def _warn_of_amounts(keys: Mapping[str, Keys], bins: Mapping[str, str | int]) -> None:
    """Columns that look like values and became modes, as reading a table says of them: numbers with
    fractions, and the last column where it has numbers."""
    for mode, (name, each) in enumerate(keys.items()):
        numbers = name not in bins and not each.categories and each.values.dtype.kind in "iuf"
        if numbers and (0 < mode == len(keys) - 1 or np.any(each.values % 1 != 0)):
            warnings.warn(f"column {name!r} has only numbers, and became a mode: rows are counted; if it "
                          f"holds the values, name it as the value (value={name!r}), else name the "
                          "modes (columns=)", stacklevel=4)


def _table(frame: Any, columns: Sequence[str] | None, value: str | None) -> tuple[Any, str | None]:
    """The frame with what is in its index as columns, and the column of values where the frame
    says it."""
    package = package_of(frame)
    if package == "polars" and hasattr(frame, "collect"):
        return frame.collect(), value
    if package == "pyarrow":
        return frame.to_pandas(date_as_object=False), value
    if package == "pandas" and not hasattr(frame, "columns"):
        name = "value" if frame.name is None else frame.name
        if value is not None and value != str(name):
            raise ValueError(f"value is {value!r}, but the Series holds {str(name)!r}")
        if frame.dtype.kind not in "biuf":
            raise TypeError(f"the Series {str(name)!r} holds {frame.dtype}; expected numbers, with a mode "
                            "in each level of the index")
        return frame.rename(name).reset_index(), str(name)
    if not hasattr(frame, "columns"):
        raise TypeError(f"cannot take modes from a {type(frame).__name__}; expected a data frame")
    if package != "pandas" or (frame.index.nlevels == 1 and frame.index.name is None):
        return frame, value
    left = [str(name) for name in frame.columns]
    frame = frame.reset_index()
    if value is None and columns is None and len(left) == 1 and "value" not in left and (
            frame[frame.columns[-1]].dtype.kind in "biuf"):
        value = left[0]
    return frame, value


def _missing(found: npt.NDArray[np.bool_], name: str) -> None:
    if found.any():
        raise ValueError(f"column {name!r} has a missing value in row {int(found.argmax())}")


def _plain(column: Any, name: str) -> Any:
    """A column of pandas whose type may have missing values (Int64, int64[pyarrow]), with NumPy's type;
    others as they are."""
    kind = getattr(column.dtype, "numpy_dtype", None)
    if package_of(column) != "pandas" or kind is None or kind.kind not in "biuf":
        return column
    _missing(column.isna().to_numpy(bool), name)
    return column.astype(kind)


def _clock(column: Any) -> Any:
    """Times as the clocks of their time zone show them."""
    if package_of(column) == "polars":
        zone = getattr(column.dtype, "time_zone", None)
        return column if zone is None else column.dt.replace_time_zone(None)
    times = getattr(column, "dt", None)  # of pandas' times alone
    local = column if getattr(times, "tz", None) is None else column.dt.tz_localize(None)
    kind = getattr(local.dtype, "numpy_dtype", None)
    return local.astype("datetime64[ns]") if kind is not None and kind.kind == "M" else local


def _amounts(column: Any, name: str) -> npt.NDArray[Any]:
    """The column of values."""
    array = _values(column, name)
    if array.dtype == object and all(isinstance(item, (numbers.Real, decimal.Decimal)) for item in array):
        array = array.astype(np.float64)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"column {name!r} has type {column.dtype}; expected numbers as values")
    return array


def _values(column: Any, name: str) -> npt.NDArray[Any]:
    """A column without missing values as an array."""
    array = np.asarray(column.to_numpy())
    _missing(np.fromiter(map(_is_missing, array), bool, len(array)) if array.dtype == object
             else array != array, name)
    return array


def _is_missing(item: Any) -> bool:
    """None, NaN, NaT, or pandas.NA, which is not even comparable."""
    return item is None or str(item) == "<NA>" or bool(item != item)


def _factorized(column: Any, name: str) -> tuple[Codes, Keys]:
    """A column's codes and keys."""
    package = package_of(column)
    dtype: Any = getattr(column, "dtype", None)
    if package == "pandas" and hasattr(column, "cat"):
        codes = column.cat.codes.to_numpy()
        _missing(codes < 0, name)
        return codes, Keys(np.asarray(column.cat.categories), True, bool(column.cat.ordered))
    if package == "polars" and str(dtype).startswith("Enum"):
        _missing(column.is_null().to_numpy(), name)
        categories = np.array(dtype.categories.to_list(), object)
        return column.to_physical().to_numpy(), Keys(categories, True, True)
    if package == "pandas":
        codes, distinct = importlib.import_module("pandas").factorize(column)
        _missing(codes < 0, name)
        return _sorted(codes, np.asarray(distinct))
    array = np.asarray(column.to_numpy())
    if array.dtype != object:
        _missing(array != array, name)
        distinct, first, codes = np.unique(array, return_index=True, return_inverse=True)
        if package == "polars" and getattr(dtype, "time_zone", None) is not None:
            local = column.gather(first).to_list()  # the array has the clocks of UTC
            distinct = np.empty(len(local), object)
            distinct[:] = local
        return codes, Keys(distinct)
    seen: dict[Any, int] = {}
    codes = np.fromiter((seen.setdefault(item, len(seen)) for item in array), np.int64, len(array))
    gone = [number for item, number in seen.items() if _is_missing(item)]
    _missing(np.isin(codes, gone), name)
    distinct = np.empty(len(seen), object)
    distinct[:] = list(seen)
    return _sorted(codes, distinct)


def _sorted(codes: Codes, distinct: npt.NDArray[Any]) -> tuple[Codes, Keys]:
    """Codes of sorted values. Values that are no text, numbers or dates are sorted, and told apart,
    by how they are written."""
    if distinct.dtype == object and not _comparable(distinct):
        written = [str(item) for item in distinct]
        first = {name: i for i, name in reversed(list(enumerate(written)))}
        number = {name: i for i, name in enumerate(sorted(first))}
        place = np.asarray([number[name] for name in written], np.int64)
        return place[codes], Keys(distinct[[first[name] for name in number]])
    order = np.argsort(distinct, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[codes], Keys(distinct[order])


def _comparable(items: npt.NDArray[Any]) -> bool:
    """Whether Python's objects are sorted as such: times with their zones, or numbers."""
    return (all(getattr(item, "tzinfo", None) is not None for item in items) or
            all(isinstance(item, (numbers.Real, decimal.Decimal)) for item in items))


def _observed(codes: Codes, keys: Keys) -> tuple[Codes, Keys]:
    """Without the keys that no row has."""
    present = np.bincount(codes, minlength=len(keys.values)) > 0
    place = np.cumsum(present) - 1
    return place[codes], keys.take(np.flatnonzero(present))


def to_dataframe(tensor: Any, package: str, index: bool) -> Any:
    """One row per nonzero."""
    switch(index, "index")
    if not known(package, ("pandas", "polars", "pyarrow")):
        raise ValueError(f"package {package!r} is unknown; expected 'pandas', 'polars' or 'pyarrow'")
    if package == "pyarrow":
        if index:
            raise ValueError("tables of pyarrow have no index; expected index=False")
        arrow: Any = importlib.import_module("pyarrow")
        return arrow.Table.from_pandas(to_dataframe(tensor, "pandas", False), preserve_index=False)
    frames = importlib.import_module(package)
    if index and package == "polars":
        raise ValueError("data frames of polars have no index; expected index=False")
    columns: dict[str, Any] = {}
    labels = tensor.labels
    for mode, name in enumerate(tensor.mode_names):
        codes = tensor.indices(mode).astype(np.int64)
        keys = tensor._keys.get(mode)
        if keys is None and labels[mode] is not None:
            keys = Keys(infer(labels[mode]))
        title = _free(name or f"mode{mode + 1}", columns)
        columns[title] = codes if keys is None else _column(frames, codes, keys)
    modes = list(columns)
    columns[_free("value", columns)] = np.array(tensor.values)
    frame = frames.DataFrame(columns)
    return frame.set_index(modes) if index else frame


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """A name for a column that no other has."""
    while name in taken:
        name += "_"
    return name


def from_xarray(array: Any) -> tuple[_convert.Parts | _convert.Cells, dict[int, Keys]]:
    """Coordinates, values and shape, or the cells, of an xarray.DataArray, and the keys of
    dimensions that have coordinates."""
    _convert.expect(array, "an xarray.DataArray", "dims", "coords", "data")
    found = (_convert.from_sparse(array.data) if hasattr(array.data, "coords")
             else _convert.cells(array.values))
    return found, {mode: Keys(np.asarray(array.coords[name].values))
                   for mode, name in enumerate(array.dims) if name in array.coords}


def to_xarray(tensor: Any) -> Any:
    """An xarray.DataArray over a sparse.COO."""
    xarray: Any = importlib.import_module("xarray")
    names = [name or f"mode{mode}" for mode, name in enumerate(tensor.mode_names)]
    coords = {}
    for mode, column in enumerate(tensor.labels):
        if mode in tensor._keys:
            coords[names[mode]] = tensor._keys[mode].values
        elif column is not None:
            coords[names[mode]] = infer(column)
    return xarray.DataArray(_convert.to_sparse(tensor), dims=names, coords=coords)


def _column(frames: Any, codes: Codes, keys: Keys) -> Any:
    """A column of pandas or polars with the keys' own type."""
    if keys.categories and frames.__name__ == "pandas":
        return frames.Categorical.from_codes(codes, keys.values, keys.ordered)
    if keys.categories and keys.values.dtype == object and hasattr(frames, "Enum"):
        names = [label(item) for item in keys.values]
        return frames.Series([names[code] for code in codes], dtype=frames.Enum(names))
    return keys.values[codes]
