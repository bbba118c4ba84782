"""Pictures of tensors and of how models fit them: nonzeros, slices, residuals, convergence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ._arguments import items, known
from ._context import index, switch
from ._match import in_terms_of
from ._model import KruskalTensor
from ._plot_base import (COLOURS, MAP_COLOURS, SMALL, TITLE, canvas, check_model, inches, kinds_of,
                         mode_title, name_places, panel)
from ._tensor import SparseTensor, as_tensor
from ._tucker_model import TuckerTensor
from ._types import Mode

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Numbers = npt.NDArray[np.float64]


def sparsity(x: SparseTensor, *, modes: tuple[Mode, Mode] = (0, 1), bins: int = 200,
             cmap: str = MAP_COLOURS, title: str | None = None,
             figsize: tuple[float, float] | None = None, ax: Any = None) -> Figure:
    """Where the nonzeros lie: two modes, the others summed, on a logarithmic scale.

    Parameters
    ----------
    x : SparseTensor
    modes : pair of int or str
        Down and across.
    bins : int
        Most cells along a side.
    cmap, title, figsize : optional
    ax : axes or figure, optional
        Where to draw; default: a new figure.
    """
    from matplotlib.colors import LogNorm

    x, chosen = as_tensor(x), items(modes, "modes", "numbers or names")
    if len(chosen) != 2:
        raise ValueError(f"modes has {len(chosen)} modes; expected 2")
    first, second = x._mode(chosen[0]), x._mode(chosen[1])
    most = index(bins, "bins")
    if most < 1:
        raise ValueError(f"bins is {most}; expected at least 1")
    size = [min(most, x.shape[first]), min(most, x.shape[second])]
    counts, _, _ = np.histogram2d(x.indices(first), x.indices(second), bins=size,
                                  range=[[0, x.shape[first]], [0, x.shape[second]]])
    figure, axes = canvas(ax, 1, 1, figsize, (6, 5))
    axis = axes[0][0]
    image = axis.imshow(np.where(counts > 0, counts, np.nan), aspect="auto", cmap=cmap,
                        norm=LogNorm(), interpolation="nearest",
                        extent=(-0.5, x.shape[second] - 0.5, x.shape[first] - 0.5, -0.5))
    for mode, which in ((first, "y"), (second, "x")):
        labels = x._labels_of(mode)
        if labels is not None:
            name_places(axis, labels, True, which, 10)
    axis.set_ylabel(mode_title(x, first))
    axis.set_xlabel(mode_title(x, second))
    axis.set_title(f"{x.nnz:,} nonzeros" if title is None else title)
    figure.colorbar(image, ax=axis, label="nonzeros")
    return figure


def slices(x: SparseTensor, *, color: str = COLOURS[0], title: str | None = None,
           figsize: tuple[float, float] | None = None, ax: Any = None) -> Figure:
    """Histograms of slice sizes, one panel per mode, both axes logarithmic.

    Parameters
    ----------
    x : SparseTensor
    color, title, figsize : optional
    ax : figure, subfigure or array of axes (one per mode), optional
        Where to draw; default: a new figure.
    """
    from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter

    x = as_tensor(x)
    figure, grid = canvas(ax, 1, x.ndim, figsize, (3.4 * x.ndim, 3), title)
    axes = grid[0]
    for mode, axis in enumerate(axes):
        sizes = np.unique(x.indices(mode), return_counts=True)[1]
        low, high = int(sizes.min(initial=1)), int(sizes.max(initial=1))
        edges = np.logspace(np.log10(low), np.log10(high + 1), 25)
        axis.hist(sizes, bins=edges, color=color)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_ylim(bottom=0.5)  # a bar of one slice has a height
        narrow = inches(axis) < 1.5
        for side in (axis.xaxis, axis.yaxis):
            side.set_minor_formatter(NullFormatter())
            side.set_tick_params(labelsize=SMALL)
        # Releases of Matplotlib differ in how many ticks a narrow LogLocator leaves.
        tens = [1, 10 ** max(1, int(np.log10(high)))] if narrow else []
        axis.xaxis.set_major_locator(FixedLocator(tens) if narrow else LogLocator(numticks=6))
        axis.set_xlabel("nonzeros" if narrow else "nonzeros in a slice", fontsize=8)
        axis.set_title(f"{mode_title(x, mode)}\n{len(sizes):,} slices",
                       fontsize=SMALL if narrow else TITLE)
    axes[0].set_ylabel("slices", fontsize=8)
    return figure


def slice_errors(model: KruskalTensor | TuckerTensor, x: Any, mode: Mode) -> Numbers:
    """||X_i - M_i|| / ||X_i|| of every slice of a mode, zeros included; NaN for empty slices."""
    check_model(model, "slice_errors")
    tensor, mode = in_terms_of(model, as_tensor(x))[0], model._mode(mode)
    if tensor.shape != model.shape:
        raise ValueError(f"the tensor has shape {tensor.shape}; expected {model.shape}")
    place, count = tensor.indices(mode).astype(np.int64), tensor.shape[mode]
    values = tensor.values.astype(np.float64)
    squares = np.bincount(place, values**2, minlength=count)
    inner = np.bincount(place, values * model.reconstruct(tensor.coords), minlength=count)
    left = np.maximum(squares - 2 * inner + _slice_squares(model, mode), 0)
    ratio = np.full(count, np.nan)
    np.divide(left, squares, out=ratio, where=squares > 0)
    errors: Numbers = np.sqrt(ratio)
    return errors


def _slice_squares(model: KruskalTensor | TuckerTensor, mode: int) -> Numbers:
    """Squared norms of a model's slices, from the Gram matrices of the other factors."""
    grams = [np.asarray(f, np.float64).T @ f for f in model.factors]
    rows = np.asarray(model.factors[mode], np.float64)
    if isinstance(model, KruskalTensor):
        product = np.outer(model.weights, model.weights).astype(np.float64)
        for m, gram in enumerate(grams):
            if m != mode:
                product = product * gram
    else:
        core = np.asarray(model.core, np.float64)
        weighed = core
        for m, gram in enumerate(grams):
            if m != mode:
                weighed = np.moveaxis(np.tensordot(gram, weighed, (1, m)), 0, m)
        product = (np.moveaxis(weighed, mode, 0).reshape(len(grams[mode]), -1) @
                   np.moveaxis(core, mode, 0).reshape(len(grams[mode]), -1).T)
    squares: Numbers = np.einsum("ir,rs,is->i", rows, product, rows)
    return squares


def residuals(model: KruskalTensor | TuckerTensor, x: Any, *, modes: Sequence[Mode] | None = None,
              top: int = 25, kinds: Any = None, color: str = COLOURS[0], title: str | None = None,
              figsize: tuple[float, float] | None = None, ax: Any = None) -> Figure:
    """What the model leaves out, slice by slice: ||X_i - M_i|| / ||X_i|| of every date, hour, …,
    zeros included. 0: described exactly; 1: as badly as by nothing at all.

    Parameters
    ----------
    model : KruskalTensor or TuckerTensor
    x : the tensor that it is a model of
    modes : sequence of int or str, optional
        Default: all, one panel each.
    top : int
        Number of bars, of the slices that are described worst.
    kinds, title, figsize
        As in :func:`components`.
    color : color
    ax : figure, subfigure or array of axes (one per mode), optional
        Where to draw; default: a new figure.
    """
    check_model(model, "residuals")
    tensor, _ = in_terms_of(model, as_tensor(x))
    wanted = (list(range(model.ndim)) if modes is None else
              [model._mode(mode) for mode in items(modes, "modes", "numbers or names")])
    how = kinds_of(model, kinds)
    figure, grid = canvas(ax, 1, len(wanted), figsize, (3.6 * len(wanted), 3.2), title)
    for axis, mode in zip(grid[0], wanted):
        errors = slice_errors(model, tensor, mode)
        worst = np.sort(np.argsort(-np.nan_to_num(errors), kind="stable")[:index(top, "top")])
        panel(axis, model.labels[mode], [errors], how[mode], worst, [color], True)
        axis.axhline(1 - model.fit(tensor), color="0.4", linewidth=0.8, linestyle="--")
        axis.set_ylim(bottom=0)
        axis.set_title(mode_title(model, mode), fontsize=TITLE)
    grid[0][0].set_ylabel("‖X − M‖ / ‖X‖ of a slice\n(dashed: of all)", fontsize=8)
    return figure


def convergence(*models: KruskalTensor | TuckerTensor, names: Sequence[str] | None = None,
                x: Literal["iteration", "seconds"] = "iteration", log: bool = False,
                title: str | None = None, figsize: tuple[float, float] | None = None,
                ax: Any = None) -> Figure:
    """Fit (of :func:`cp_apr`'s models: log-likelihood) against iterations or seconds of one or
    several runs.

    Parameters
    ----------
    models : KruskalTensor or TuckerTensor
    names : sequence of str, optional
        What the legend calls them; default: their ranks.
    x : {"iteration", "seconds"}
    log : bool
        Logarithmic axis of what is left: the best fit (log-likelihood) of all runs minus that of
        the iteration.
    title, figsize : optional
    ax : axes or figure, optional
        Where to draw; default: a new figure.
    """
    from matplotlib.ticker import MaxNLocator

    switch(log, "log")
    if not known(x, ("iteration", "seconds")):
        raise ValueError(f"x {x!r} is unknown; expected 'iteration' or 'seconds'")
    if names is not None:
        names = items(names, "names", "names")
        if len(names) != len(models):
            raise ValueError(f"names has {len(names)} names; expected {len(models)}, one for each model")
    for model in models:
        check_model(model, "convergence")
    traces = [model.info.get("trace") or [] for model in models]
    if not traces or not all(traces):
        raise ValueError("the model has no trace; it was not made by a decomposition")
    what = {"fit" if "fit" in trace[0] else "log_likelihood" for trace in traces}
    if len(what) > 1:
        raise ValueError("some of the models have a fit, others a log-likelihood per iteration")
    column: Literal["fit", "log_likelihood"] = (
        "fit" if what == {"fit"} else "log_likelihood")
    figure, axes = canvas(ax, 1, 1, figsize, (6, 4))
    axis = axes[0][0]
    best = max(row[column] for trace in traces for row in trace)
    for number, (model, trace) in enumerate(zip(models, traces)):
        rank = model.rank if isinstance(model, KruskalTensor) else model.ranks
        values = np.asarray([row[column] for row in trace])
        if log:
            values = np.where(values < best, best - values, np.nan)
        axis.plot([row[x] for row in trace], values, marker="o", markersize=3,
                  color=COLOURS[number % len(COLOURS)],
                  label=names[number] if names is not None else f"rank {rank}")
    axis.set_yscale("log" if log else "linear")
    if x == "iteration":
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    name = column.replace("_", "-")
    axis.set_xlabel(x)
    axis.set_ylabel(f"best {name} of all − {name}" if log else name)
    axis.set_title(title or "")
    axis.legend(fontsize=SMALL + 1)
    axis.grid(alpha=0.3)
    return figure
