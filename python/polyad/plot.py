"""Pictures of tensors and models (needs matplotlib: ``pip install polyad[plot]``).

Every function returns the matplotlib figure and shows nothing by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._factors import FactorModel
from ._model import KruskalTensor
from ._tensor import SparseTensor
from ._tucker_model import TuckerTensor

COLOUR = "#2b6cb0"
MAP_COLOURS = "viridis"


def _figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("polyad.plot needs matplotlib: pip install 'polyad[plot]'") from error
    # A Figure of its own needs no display and no global state.
    return Figure(figsize=(width, height), layout="constrained")


def _title(model: FactorModel, mode: int) -> str:
    return model.mode_names[mode] or f"mode {mode + 1}"


def _numbers(labels: Sequence[str] | None) -> np.ndarray[Any, Any] | None:
    """The labels as numbers, when all of them are."""
    if labels is None:
        return None
    try:
        return np.asarray([float(label) for label in labels])
    except ValueError:
        return None


def _is_time(labels: Sequence[str] | None) -> bool:
    """Whether labels look like dates: YYYY-MM-DD…"""
    return labels is not None and len(labels) > 0 and all(
        len(label) >= 10 and label[4] == label[7] == "-" and label[:4].isdigit()
        for label in labels)


def kind_of_mode(model: KruskalTensor, mode: int) -> str:
    """"line" for dates, numbers and long unlabelled modes, else "bar"."""
    labels = model.labels[mode]
    if _is_time(labels) or _numbers(labels) is not None:
        return "line"
    return "bar" if labels is not None or model.shape[mode] <= 40 else "line"


def components(model: KruskalTensor, *, count: int | None = None, top: int = 12,
               kinds: Sequence[str] | None = None) -> Any:
    """One row of panels per component, one panel per mode: bars of the strongest categories,
    lines along time and numbers.

    Parameters
    ----------
    model : KruskalTensor
    count : int, optional
        Number of components (the strongest); default: up to 8.
    top : int
        Number of bars.
    kinds : sequence of {"bar", "line"}, optional
        How each mode is drawn.

    Returns
    -------
    matplotlib.figure.Figure
    """
    count = min(model.rank, 8 if count is None else count)
    if count < 1:
        raise ValueError("count must be at least 1")
    kinds = [kind_of_mode(model, m) for m in range(model.ndim)] if kinds is None else list(kinds)
    figure = _figure(3.4 * model.ndim, 2.2 * count + 0.4)
    axes = figure.subplots(count, model.ndim, squeeze=False)
    for component in range(count):
        for mode in range(model.ndim):
            axis = axes[component][mode]
            _component_panel(axis, model, component, mode, kinds[mode], top)
            if component == 0:
                axis.set_title(_title(model, mode))
        axes[component][0].set_ylabel(f"component {component + 1}\n"
                                      f"λ = {model.weights[component]:.4g}")
    return figure


def _component_panel(axis: Any, model: KruskalTensor, component: int, mode: int, kind: str,
                     top: int) -> None:
    column = model.factors[mode][:, component]
    labels = model.labels[mode]
    if kind == "bar":
        rows = sorted(np.argsort(-np.abs(column), kind="stable")[:top])
        names = [str(i) if labels is None else labels[i] for i in rows]
        axis.bar(range(len(rows)), column[rows], color=COLOUR)
        axis.set_xticks(range(len(rows)), [name[:18] for name in names], rotation=60, ha="right",
                        fontsize=7)
    else:
        numbers = _numbers(labels)
        places = np.arange(len(column)) if numbers is None else numbers
        order = np.argsort(places, kind="stable")
        axis.plot(places[order], column[order], color=COLOUR, linewidth=1.2)
        if _is_time(labels) and labels is not None:
            shown = np.linspace(0, len(labels) - 1, min(5, len(labels))).astype(int)
            axis.set_xticks(shown, [labels[i][:10] for i in shown], rotation=30, ha="right",
                            fontsize=7)
    axis.axhline(0, color="0.8", linewidth=0.6)
    axis.tick_params(axis="y", labelsize=7)


def map(model: KruskalTensor, latitude: int, longitude: int, *,  # noqa: A001 - what it is
        count: int | None = None, cells: int = 80, share: float = 0.99) -> Any:
    """Maps of components: the product of a latitude and a longitude mode as a heat map.

    Parameters
    ----------
    model : KruskalTensor
    latitude, longitude : int
        The modes; their labels are degrees.
    count : int, optional
        Number of components; default: up to 6.
    cells : int
        Most cells along a side.
    share : float
        Share of each mode's strength that lies inside the map: a few places far away do not
        shrink the rest.
    """
    count = min(model.rank, 6 if count is None else count)
    if count < 1:
        raise ValueError("count must be at least 1")
    across = min(count, 3)
    down = -(-count // across)
    figure = _figure(3.6 * across, 3.4 * down)
    axes = figure.subplots(down, across, squeeze=False)
    rows, columns = _positions(model, latitude), _positions(model, longitude)
    sides = [_cells(model.factors[mode][:, :count], places, cells, share)
             for mode, places in ((latitude, rows), (longitude, columns))]
    middle = float(np.mean(sides[0]))
    for component in range(down * across):
        axis = axes[component // across][component % across]
        if component >= count:
            axis.set_axis_off()
            continue
        strengths = [np.histogram(places, edges, weights=np.abs(model.factors[mode][:, component]))
                     for mode, places, edges in ((latitude, rows, sides[0]),
                                                 (longitude, columns, sides[1]))]
        axis.pcolormesh(sides[1], sides[0], np.sqrt(np.outer(strengths[0][0], strengths[1][0])),
                        cmap=MAP_COLOURS, rasterized=True)
        if model.labels[latitude] is not None and abs(middle) < 85:
            axis.set_aspect(1 / np.cos(np.radians(middle)))
        axis.set_title(f"component {component + 1}, λ = {model.weights[component]:.4g}",
                       fontsize=9)
        axis.set_xlabel(_title(model, longitude), fontsize=8)
        axis.set_ylabel(_title(model, latitude), fontsize=8)
        axis.tick_params(labelsize=7)
    return figure


def _cells(factor: np.ndarray[Any, Any], places: np.ndarray[Any, Any], cells: int,
           share: float) -> np.ndarray[Any, Any]:
    """Edges of cells over the places where the given share of all columns' strength lies."""
    order = np.argsort(places, kind="stable")
    sums = np.abs(factor).sum(axis=0)
    strength = (np.abs(factor) / np.where(sums > 0, sums, 1)).sum(axis=1)[order].cumsum()
    inside = (strength >= (1 - share) / 2 * strength[-1]) & (
        np.concatenate([[0.0], strength[:-1]]) <= (1 + share) / 2 * strength[-1])
    kept = np.unique(places[order][inside])
    step = float(np.median(np.diff(kept))) if len(kept) > 1 else 1.0
    margin = step / 2 + (kept[-1] - kept[0]) / 20
    low, high = kept[0] - margin, kept[-1] + margin
    edges: np.ndarray[Any, Any] = np.linspace(
        low, high, 1 + min(cells, max(1, round((high - low) / step))))
    return edges


def _positions(model: KruskalTensor, mode: int) -> np.ndarray[Any, Any]:
    numbers = _numbers(model.labels[mode])
    return np.arange(model.shape[mode], dtype=float) if numbers is None else numbers


def heatmap(model: KruskalTensor | TuckerTensor, mode: int, *, top: int = 40) -> Any:
    """A mode's factor as a heat map: its strongest rows against components."""
    factor = model.factors[mode]
    weights = model.weights if isinstance(model, KruskalTensor) else 1.0
    strength = np.abs(factor * weights).max(axis=1)
    rows = np.sort(np.argsort(-strength, kind="stable")[:top])
    labels = model.labels[mode]
    rank = factor.shape[1]
    figure = _figure(1.5 + 0.5 * rank, 1.2 + 0.22 * len(rows))
    axis = figure.subplots()
    image = axis.imshow(factor[rows], aspect="auto", cmap=MAP_COLOURS, interpolation="nearest")
    axis.set_yticks(range(len(rows)), [str(i) if labels is None else labels[i][:24] for i in rows],
                    fontsize=7)
    axis.set_xticks(range(rank), [str(r + 1) for r in range(rank)], fontsize=7)
    axis.set_xlabel("component")
    axis.set_title(_title(model, mode))
    figure.colorbar(image, ax=axis)
    return figure


def convergence(*models: KruskalTensor | TuckerTensor, names: Sequence[str] | None = None) -> Any:
    """Fit (of :func:`cp_apr`'s models: log-likelihood) against iterations of one or several
    runs."""
    figure = _figure(6, 4)
    axis = figure.subplots()
    traces = [model.info.get("trace") for model in models]
    if not traces or not all(traces):
        raise ValueError("the model has no trace; it was not made by a decomposition")
    what = {"fit" if "fit" in trace[0] else "log_likelihood" for trace in traces if trace}
    if len(what) > 1:
        raise ValueError("some of the models have a fit, others a log-likelihood per iteration")
    column = what.pop()
    for number, (model, trace) in enumerate(zip(models, traces)):
        rank = model.rank if isinstance(model, KruskalTensor) else model.ranks
        axis.plot([row["iteration"] for row in trace or ()], [row[column] for row in trace or ()],
                  marker="o", markersize=3,
                  label=names[number] if names is not None else f"rank {rank}")
    axis.set_xlabel("iteration")
    axis.set_ylabel(column.replace("_", "-"))
    axis.legend()
    axis.grid(alpha=0.3)
    return figure


def top(model: KruskalTensor, *, k: int = 5, count: int | None = None) -> Any:
    """A table of the strongest rows of each component in each mode."""
    count = min(model.rank, 8 if count is None else count)
    cells = [["\n".join(f"{str(label)[:22]}  {entry:.2f}"
                        for label, entry in model.top(component, mode, k))
              for mode in range(model.ndim)] for component in range(count)]
    height = 0.19 * k + 0.1
    figure = _figure(2.4 * model.ndim + 1.4, height * count + 0.7)
    axis = figure.subplots()
    axis.set_axis_off()
    table = axis.table(cellText=cells, cellLoc="left", bbox=[0, 0, 1, 1],
                       colLabels=[_title(model, mode) for mode in range(model.ndim)],
                       rowLabels=[f"{r + 1}: λ={model.weights[r]:.3g}" for r in range(count)])
    table.auto_set_font_size(False)
    table.set_fontsize(8)
    for (row, _), cell in table.get_celld().items():
        cell.set_height(0.3 if row == 0 else height)
        cell.set_edgecolor("0.8")
    return figure


def sparsity(x: SparseTensor, *, modes: tuple[int, int] = (0, 1), bins: int = 200) -> Any:
    """Where the nonzeros lie: two modes, the others summed, on a logarithmic scale."""
    from matplotlib.colors import LogNorm

    first, second = modes
    size = [min(bins, x.shape[first]), min(bins, x.shape[second])]
    counts, _, _ = np.histogram2d(x.indices(first), x.indices(second), bins=size,
                                  range=[[0, x.shape[first]], [0, x.shape[second]]])
    figure = _figure(6, 5)
    axis = figure.subplots()
    image = axis.imshow(np.where(counts > 0, counts, np.nan), aspect="auto", cmap=MAP_COLOURS,
                        norm=LogNorm(), interpolation="nearest",
                        extent=(0, x.shape[second], x.shape[first], 0))
    names = x.mode_names
    axis.set_ylabel(names[first] or f"mode {first + 1}")
    axis.set_xlabel(names[second] or f"mode {second + 1}")
    axis.set_title(f"{x.nnz} nonzeros")
    figure.colorbar(image, ax=axis, label="nonzeros")
    return figure


def slices(x: SparseTensor) -> Any:
    """Histograms of slice sizes, one panel per mode, both axes logarithmic."""
    figure = _figure(3.4 * x.ndim, 3)
    axes = figure.subplots(1, x.ndim, squeeze=False)[0]
    for mode, axis in enumerate(axes):
        sizes = np.unique(x.indices(mode), return_counts=True)[1]
        edges = np.logspace(0, np.log10(max(int(sizes.max()), 1) + 1), 30)
        axis.hist(sizes, bins=edges, color=COLOUR)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("nonzeros in a slice")
        axis.set_title(f"{x.mode_names[mode] or f'mode {mode + 1}'}: {len(sizes)} slices")
    axes[0].set_ylabel("slices")
    return figure


def similarity(a: KruskalTensor, b: KruskalTensor | None = None) -> Any:
    """How alike components are: product over modes of |cosine|, of one model with itself or of
    two models."""
    other = a if b is None else b
    if a.shape != other.shape:
        raise ValueError(f"the models have shapes {a.shape} and {other.shape}; expected equal ones")
    product = np.ones((a.rank, other.rank))
    for first, second in zip(a.factors, other.factors):
        lengths = np.outer(np.linalg.norm(first, axis=0), np.linalg.norm(second, axis=0))
        product *= np.abs(first.T @ second) / np.where(lengths > 0, lengths, 1)
    figure = _figure(1.8 + 0.35 * other.rank, 1.4 + 0.35 * a.rank)
    axis = figure.subplots()
    image = axis.imshow(product, vmin=0, vmax=1, cmap=MAP_COLOURS, interpolation="nearest")
    axis.set_xticks(range(other.rank), [str(r + 1) for r in range(other.rank)], fontsize=7)
    axis.set_yticks(range(a.rank), [str(r + 1) for r in range(a.rank)], fontsize=7)
    axis.set_xlabel("component" if b is None else "component of the second model")
    axis.set_ylabel("component" if b is None else "component of the first model")
    figure.colorbar(image, ax=axis, label="product of |cosines|")
    return figure
