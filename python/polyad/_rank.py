"""Choosing the rank: a scan of ranks, and the core consistency of one model."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from ._arguments import items, known, single
from ._context import (Callback, check_callback, context, encode, index, mode_bits, nonnegative_modes, real,
                       seed_number, talks)
from ._errors import Interrupted, text
from ._match import in_terms_of
from ._model import KruskalTensor
from ._native import ffi, lib
from ._plan import rank_argument
from ._progress import ProgressLine
from ._run import choose, expected_sweeps
from ._tensor import as_tensor
from ._types import Mode, OnInterrupt, Precision, Progress, RankAlgorithm, RankInfo, RankRow, Seed

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_ALGORITHMS = {"als": lib.POLYAD_ALGORITHM_ALS, "nonnegative": lib.POLYAD_ALGORITHM_NONNEGATIVE,
               "apr-mu": lib.POLYAD_ALGORITHM_APR_MU, "apr-pdnr": lib.POLYAD_ALGORITHM_APR_PDNR,
               "apr-pqnr": lib.POLYAD_ALGORITHM_APR_PQNR}
_COLUMNS = ("fit_best", "fit_median", "log_likelihood", "core_consistency", "stability",
            "replicability", "holdout_error", "holdout_deviation", "seconds")


@dataclass(frozen=True)
class RankScan:
    """What :func:`rank_scan` found.

    Attributes
    ----------
    recommended : int or None
        The recommended rank; None: no rank stands out.
    reason : str
        Why, in words.
    ranks : list of dict
        One for each rank: ``rank``, ``starts``, ``starts_at_best`` (that came to the fit of the
        best), ``fit_best``, ``fit_median``, ``log_likelihood`` (CP-APR), ``core_consistency``
        (percent), ``stability``, ``replicability``, ``holdout_error``, ``holdout_deviation`` (its
        standard error), ``seconds``; None where a number is not known.
    folds : int
        Folds of the held-out error; 0: there is none.
    modes : tuple of int
        The two modes that were split into folds.
    complete : bool
        Whether all ranks were done.
    seconds : float
        Wall-clock time.
    info : dict
        ``algorithm``, ``starts``, ``seed``, ``format``, ``device``.
    """

    recommended: int | None
    reason: str
    ranks: list[RankRow]
    folds: int
    modes: tuple[int, ...]
    complete: bool
    seconds: float
    info: RankInfo = field(default_factory=lambda: cast(RankInfo, {}))

    __hash__ = None  # type: ignore[assignment] # it has a list

    def __repr__(self) -> str:
        lines = [" rank  fit best  core consistency  stability  held-out error"]
        for row in self.ranks:
            cells, numbers = [f"{row['rank']:5d}"], cast(dict[str, float | None], row)
            for name, width, digits in (("fit_best", 9, 6), ("core_consistency", 16, 2),
                                        ("stability", 9, 3), ("holdout_error", 14, 5)):
                value = numbers[name]
                cells.append(f"{'-' if value is None else format(value, f'.{digits}f'):>{width}}")
            mark = "  <-" if row["rank"] == self.recommended else ""
            lines.append("  ".join(cells) + mark)
        return "\n".join([*lines, f"recommended: {self.recommended}: {self.reason}"])

    def to_dataframe(self) -> pandas.DataFrame:
        """``ranks`` as a pandas DataFrame, indexed by rank."""
        import pandas

        return pandas.DataFrame(self.ranks).set_index("rank")

    def plot(self, **options: Any) -> Figure:
        """The scan as a picture: :func:`polyad.plot.rank_scan`."""
        from . import plot

        return plot.rank_scan(self, **options)


def _rank_list(ranks: Any) -> list[int]:
    given = range(1, index(ranks, "ranks") + 1) if single(ranks) else items(ranks, "ranks", "numbers")
    found = [rank_argument(rank) for rank in given]
    if not found or any(later <= before for before, later in zip(found, found[1:])):
        raise ValueError(f"ranks {found} found; expected ascending ranks from 1 on")
    return found


def rank_scan(x: Any, ranks: int | Sequence[int] = 10, *, algorithm: RankAlgorithm = "als",
              nonnegative: bool | Collection[Mode] = False,
              starts: int = 10, folds: int = 4, tol: float = 1e-4, max_iters: int | None = None,
              max_seconds: float = 0.0, seed: Seed = 0, device: str = "auto", format: str = "auto",
              precision: Precision | None = None, threads: int | None = None,
              variant: str = "auto", checkpoint: Any = None, resume: Any = None,
              callback: Callback | None = None, verbose: bool = False,
              on_interrupt: OnInterrupt = "raise") -> RankScan:
    """How many components a tensor supports: models of several ranks from several starts, with
    what they have in common and how well they predict.

    For each rank: the best and median fit; the core consistency of the best model (Bro and Kiers
    2003); the stability, how alike the starts are that came to the best fit (median factor match
    score); the replicability, how alike models of parts of the data are to it; and the held-out error by
    bi-cross-validation (Owen and Perry 2009).

    Parameters
    ----------
    x : SparseTensor, Plan, NumPy array, or a sparse tensor of another package
    ranks : int or sequence of int
        The ranks to try, ascending; a number means from 1 to it.
    algorithm : {"als", "nonnegative", "apr-mu", "apr-pdnr", "apr-pqnr"}
        :func:`cp_als`, also with nonnegative factors; :func:`cp_apr`.
    nonnegative : bool or sequence of int or str
        With "als": whether factors stay nonnegative, or the modes whose factors do.
    starts : int
        Random starts of each rank.
    folds : int
        Parts that the two longest modes are split into; 0: no held-out error.
    tol : float
        Tolerance of a start.
    max_iters : int, optional
        Limit on a start's iterations; default: 50, with CP-APR 1000.
    max_seconds : float
        Limit on the time of all; 0: none.
    seed : int, NumPy generator or None
        As in :func:`cp_als`; start k of a rank begins as start k there with ``restarts``.
    device, format, precision, threads, variant
        As in :class:`Plan`.
    checkpoint : path, optional
        File that keeps the ranks and folds that are done.
    resume : path, optional
        Checkpoint to go on from, of a scan of the same tensor with the same options and seed: to
        the same numbers.
    callback : callable, optional
        Called about twenty times a second with a dict whose ``stage`` says which rank and start
        is running; a true result ends the scan.
    verbose : bool
        Show a bar of tqdm where it is installed, else a line of progress.
    on_interrupt : {"raise", "return"}
        Ctrl-C raises :class:`polyad.Interrupted`, or returns the ranks done so far
        (``complete`` is False).

    Returns
    -------
    RankScan
        With ``recommended``, ``reason``, ``ranks``, ``to_dataframe()`` and ``plot()``.

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    if not known(algorithm, _ALGORITHMS):
        raise ValueError(f"algorithm {algorithm!r} is unknown; expected one of "
                         f"{', '.join(map(repr, _ALGORITHMS))}")
    if not known(on_interrupt, ("raise", "return")):
        raise ValueError(f"on_interrupt {on_interrupt!r} is unknown; expected 'raise' or 'return'")
    wanted, modes = _rank_list(ranks), nonnegative_modes(nonnegative)
    choice: dict[str, Any] = {"format": format, "precision": precision, "device": device,
                              "threads": threads, "variant": variant,
                              "kernel": "phi" if algorithm.startswith("apr") else "mttkrp"}
    options, numbers = ffi.new("polyad_rank_options *"), ffi.new("uint64_t[]", wanted)
    lib.polyad_rank_options_init(options)
    options.ranks, options.rank_count = numbers, len(wanted)
    options.algorithm = _ALGORITHMS[algorithm]
    options.starts, options.folds = index(starts, "starts", 0), index(folds, "folds")
    options.tolerance, options.max_seconds = real(tol, "tol"), real(max_seconds, "max_seconds")
    if max_iters is None:
        max_iters = 1000 if algorithm.startswith("apr") else 50
    options.max_iterations = index(max_iters, "max_iters")
    paths = [(name, ffi.new("char[]", encode(path, name)))  # they live until the call
             for name, path in (("checkpoint", checkpoint), ("resume", resume)) if path is not None]
    for name, path in paths:
        setattr(options, name, path)
    check_callback(callback)
    verbose = talks(verbose)
    run = ffi.new("polyad_run_options *", {"starts": options.starts * len(wanted),
                                           "max_iterations": options.max_iterations,
                                           "tolerance": options.tolerance})
    tensor, plan = choose(x, wanted[-1], choice, expected_sweeps(choice, run[0]),
                     min(sum(wanted) * options.starts, 2**32))
    options.nonnegative_modes = mode_bits(modes, (plan if tensor is None else tensor).mode_names, "nonnegative")
    number, result = seed_number(seed), ffi.new("polyad_rank_result *")
    with ProgressLine(verbose) as line:
        show, ctx = line.wrap(None), context()

        def tell(progress: Progress) -> Any:
            show(progress)
            return callback(progress) if callback is not None else False

        ctx.configure(threads=choice["threads"], device=choice["device"], seed=number,
                      verbose=verbose, callback=tell)
        try:
            status = ctx.run(lib.polyad_rank_scan, plan._handle, options, result)
            interrupted = ctx.interrupted
            ctx.finish()
            ctx.check(status)
            scan = _read(result, {"algorithm": algorithm, "starts": int(options.starts),
                                  "seed": number, "format": plan.format, "device": plan.device})
        finally:
            lib.polyad_rank_result_clear(result)
    if interrupted and on_interrupt == "raise":
        kept = f"; go on with resume={checkpoint!r}" if checkpoint is not None else ""
        raise Interrupted(f"interrupted after {len(scan.ranks)} of {len(wanted)} ranks; work on "
                          f"others, or on held-out errors, is lost{kept}")
    return scan


def _read(result: Any, info: RankInfo) -> RankScan:
    rows = []
    for k in range(result.row_count):
        row = result.rows[k]
        found: dict[str, Any] = {"rank": int(row.rank), "starts": int(row.starts),
                                 "starts_at_best": int(row.starts_at_best)}
        for name in _COLUMNS:
            value = getattr(row, name)
            found[name] = None if math.isnan(value) else value
        rows.append(cast(RankRow, found))
    return RankScan(recommended=int(result.recommended) or None, reason=text(result.reason),
                    ranks=rows, folds=result.folds,
                    modes=tuple(result.modes) if result.folds else (),
                    complete=not (result.cancelled or result.out_of_time),
                    seconds=result.seconds, info=info)


def core_consistency(model: KruskalTensor, x: Any) -> float:
    """Core consistency of a model of a tensor, in percent (Bro and Kiers 2003): near 100 when
    nothing but the components is there, small or negative when there are too many of them.

    Parameters
    ----------
    model : KruskalTensor
    x : SparseTensor, NumPy array, or a sparse tensor of another package
        The tensor that it models; where both have labels, they are matched by name.

    Raises
    ------
    ValueError, TypeError, polyad.Error
    """
    if not isinstance(model, KruskalTensor):
        raise TypeError(f"core_consistency needs a KruskalTensor, not {type(model).__name__}")
    tensor, value = in_terms_of(model, as_tensor(x))[0], ffi.new("double *")
    ctx, handle = model._c()
    ctx.configure()
    status = ctx.run(lib.polyad_core_consistency, handle, tensor._handle, value)
    if ctx.interrupted:
        raise Interrupted("interrupted while the core consistency was being computed")
    ctx.check(status)
    return float(value[0])
