"""Anomalies: what in a tensor its model does not explain."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from ._arguments import items, single
from ._context import index, real
from ._errors import Interrupted, text
from ._model import KruskalTensor
from ._native import ffi, lib
from ._newdata import matched, word
from ._tensor import as_tensor
from ._types import Anomaly, MatchBy, Mode, Unseen

if TYPE_CHECKING:
    import pandas

_KINDS = {"auto": lib.POLYAD_KIND_AUTO, "gaussian": lib.POLYAD_KIND_SIGNED,
          "poisson": lib.POLYAD_KIND_POISSON}
_UNITS = {"cell": lib.POLYAD_ANOMALY_CELL, "slice": lib.POLYAD_ANOMALY_SLICE,
          "index": lib.POLYAD_ANOMALY_INDEX}
_TAILS = {"both": lib.POLYAD_TAIL_BOTH, "upper": lib.POLYAD_TAIL_UPPER,
          "lower": lib.POLYAD_TAIL_LOWER}
_CELLS = {"all": lib.POLYAD_TESTED_ALL, "stored": lib.POLYAD_TESTED_STORED}
_NUMBERS = ("value", "expected", "score", "p_upper", "p_lower", "p", "q")


@dataclass(frozen=True)
class Anomalies:
    """What :func:`anomalies` found; a sequence of its rows.

    Attributes
    ----------
    rows : list of dict
        The oddest first: ``index`` (of a cell in each mode, as a tuple; of a slice or an index a
        number), ``label`` (the same with labels where there are any), of slices and indices
        ``mode``; then ``value``, ``expected``, ``score``, ``p_upper``, ``p_lower``, ``p`` and ``q``,
        the least false-discovery rate at which it is found.
    found : int
        How many have ``q`` of at most ``fdr``.
    tested : float
        Number of tests.
    kind : str
        "poisson" or "gaussian".
    fdr : float
    by : str
    center, scale : float or None
        Cells of a Gaussian model: median of the residuals, and their robust standard deviation.
    skipped : int
        Nonzeros that were left out.
    seconds : float
        Wall-clock time.
    device : str
        Where the model's values were computed, such as "cuda:0".
    """

    rows: list[Anomaly]
    found: int
    tested: float
    kind: str
    fdr: float
    by: str
    center: float | None
    scale: float | None
    skipped: int
    seconds: float
    device: str = "cpu"
    names: tuple[str, ...] = field(default=(), repr=False)

    __hash__ = None  # type: ignore[assignment] # it has a list

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Anomaly]:
        return iter(self.rows)

    def __getitem__(self, k: int) -> Anomaly:
        return self.rows[k]

    def __repr__(self) -> str:
        lines = [f"{self.found} of {self.tested:.15g} found at a false-discovery rate of "
                 f"{self.fdr:g} ({self.kind} model)"]
        for row in self.rows[:20]:
            where = row["label"] if self.by == "cell" else (row["mode"], row["label"])
            lines.append(f"{row['value']:10.6g} {row['expected']:10.4g} {row['score']:8.3f} "
                         f"p {row['p']:.2e} q {row['q']:.2e}  {where}")
        return "\n".join(lines + (["..."] if len(self.rows) > 20 else []))

    def to_dataframe(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame: a column for each mode (of slices and indices ``mode`` and
        ``index``) with labels where there are any, then the numbers."""
        import pandas

        table = []
        for row in self.rows:
            label = row["label"]
            place = (dict(zip(self.names, label)) if isinstance(label, tuple) else
                     {"mode": self.names[row["mode"]], "index": label})
            numbers: Mapping[str, object] = row
            table.append({**place, **{name: numbers[name] for name in _NUMBERS}})
        places = list(self.names) if self.by == "cell" else ["mode", "index"]
        return pandas.DataFrame(table, columns=[*places, *_NUMBERS])


def anomalies(model: KruskalTensor, x: Any, *, by: Literal["cell", "slice", "index"] = "cell",
              modes: Mode | Sequence[Mode] | None = None,
              kind: Literal["auto", "gaussian", "poisson"] = "auto", fdr: float = 0.05,
              top: int | None = None, tail: Literal["both", "upper", "lower"] = "both",
              cells: Literal["all", "stored"] = "all", match: MatchBy = "auto",
              unseen: Unseen = "error", threads: int | None = None,
              device: str = "auto") -> Anomalies:
    """What in a tensor its model does not explain, with control of the false-discovery rate
    (Benjamini and Hochberg 1995).

    Parameters
    ----------
    model : KruskalTensor
    x : SparseTensor, NumPy array, or a sparse tensor of another package
        What is not in it counts as zero. :meth:`KruskalTensor.project` gives new slices their rows
        in the model first.
    by : {"cell", "slice", "index"}
        Stored cells; slices, by their sums (absent cells included); indices, by their cells.
    modes : int or str, or a sequence of them, optional
        With by="slice" or "index": of these modes; default: all.
    kind : {"auto", "gaussian", "poisson"}
        Whether values are counts with the model's rates, whose p-values are exact, given the model;
        or residuals are judged in a robust scale. "auto": "poisson" where all values are counts and
        no number of the model is negative.
    fdr : float
        The share of false ones among those found, above 0 and below 1.
    top : int, optional
        So many rows, found or not; default: all that are found.
    tail : {"both", "upper", "lower"}
        Whether more than expected, less, or both are odd.
    cells : {"all", "stored"}
        Of counts: every cell of the tensor is one of the tests (absent ones are zeros that are never
        found); or stored cells alone, with p-values conditional on being stored.
    match, unseen
        As in :meth:`KruskalTensor.project`.
    threads, device
        As in :class:`Plan`. A GPU of CUDA computes the model's values; slices need none.

    Returns
    -------
    Anomalies
        With ``rows``, ``found``, ``tested``, ``to_dataframe()``.

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    if not isinstance(model, KruskalTensor):
        raise TypeError(f"anomalies needs a KruskalTensor, not {type(model).__name__}")
    options, result = ffi.new("polyad_anomaly_options *"), ffi.new("polyad_anomaly_result *")
    lib.polyad_anomaly_options_init(options)
    options.unit, options.kind = word(_UNITS, by, "by"), word(_KINDS, kind, "kind")
    options.tail, options.cells = word(_TAILS, tail, "tail"), word(_CELLS, cells, "cells")
    options.fdr, options.top = real(fdr, "fdr"), 0 if top is None else index(top, "top", 0)
    if modes is not None and by == "cell":
        raise ValueError('modes found with by="cell"; expected it with by="slice" or by="index"')
    if kind == "gaussian" and cells != "all":
        raise ValueError(f'cells={cells!r} found with kind="gaussian"; it is for counts')
    if kind == "gaussian" and by == "index" and tail != "both":
        raise ValueError(f'tail={tail!r} found with by="index" and kind="gaussian", which looks for '
                         "large squared residuals alone")
    if modes is not None:
        chosen = [modes] if single(modes) else items(modes, "modes", "numbers or names")
        options.mode_count = len(chosen)
        for k, mode in enumerate(chosen[:len(options.modes)]):
            options.modes[k] = model._mode(mode)
    tensor = as_tensor(x)
    ctx, handle = model._c()
    ctx.configure(threads=threads, device=device)
    new, skipped = matched(ctx, model, handle, tensor, {}, match, unseen)
    try:
        status = ctx.run(lib.polyad_anomalies, handle, new._handle, options, result)
        if ctx.interrupted:
            raise Interrupted("interrupted while anomalies were being searched for")
        ctx.check(status)
        rows = [_row(result.rows[k], new.labels) for k in range(result.row_count)]
        poisson = result.kind == lib.POLYAD_KIND_POISSON
        if not poisson and by == "index" and tail != "both":
            warnings.warn("of values that are no counts indices are judged by their squared residuals, and "
                          "tail does not count", stacklevel=2)
        return Anomalies(rows=rows, found=int(result.found), tested=result.tested,
                         kind="poisson" if poisson else "gaussian", fdr=float(fdr), by=by,
                         center=_known(result.center), scale=_known(result.scale),
                         skipped=skipped, seconds=result.seconds, device=text(result.device),
                         names=tuple(name or f"mode{n + 1}" for n, name in
                                     enumerate(new.mode_names)))
    finally:
        lib.polyad_anomaly_result_clear(result)


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number


def _row(row: Any, labels: Sequence[Sequence[str] | None]) -> Anomaly:
    def name(mode: int) -> int | str:
        column = labels[mode]
        return int(row.index[mode]) if column is None else column[row.index[mode]]

    order = range(len(labels))
    if row.mode < 0:
        place: dict[str, Any] = {"index": tuple(int(row.index[n]) for n in order),
                                 "label": tuple(name(n) for n in order)}
    else:
        place = {"mode": row.mode, "index": int(row.index[row.mode]), "label": name(row.mode)}
    return cast(Anomaly, {**place, **{number: getattr(row, number) for number in _NUMBERS}})
