"""Maps of components: the product of a latitude and a longitude mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._context import index, real
from ._model import KruskalTensor
from ._outline import lines
from ._plot_base import (MAP_COLOURS, SMALL, canvas, chosen, component_name, kruskal, mode_title)
from ._plot_models import positions
from ._types import Mode

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAINT = 1e-2  # of the strongest cell: less is left to the background
RARE = 10  # cells: so few are ringed, for they are hard to see


def map(model: KruskalTensor, latitude: Mode, longitude: Mode, *,  # noqa: A001 - what it is
        components: int | Sequence[int] | None = None, cells: int = 80, share: float = 0.99,
        outline: Any = None, cmap: str = MAP_COLOURS, title: str | None = None,
        figsize: tuple[float, float] | None = None, ax: Any = None) -> Figure:
    """Maps of components: the product of a latitude and a longitude mode as a heat map, over all
    components in grey. Colours follow the square root of the strength, so that weak cells are
    seen beside strong ones; the colour bar has the strengths.

    Parameters
    ----------
    model : KruskalTensor
    latitude, longitude : int or str
        The modes; their labels are degrees.
    components : int or sequence of int, optional
        How many of the strongest, or which; default: up to 6.
    cells : int
        Most cells along a side.
    share : float
        Share of each mode's strength that lies inside the map: a few places far away do not
        shrink the rest.
    outline : optional
        Coasts, borders or districts to draw: a GeoJSON file or mapping, or what has a
        ``__geo_interface__``, such as a GeoDataFrame, geometries of Shapely, or a list of them.
    cmap, title, figsize : optional
    ax : figure, subfigure or array of axes (one per component), optional
        Where to draw; default: a new figure. The title is then that of the first of given axes.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.colors import PowerNorm

    cells, share = index(cells, "cells"), real(share, "share")
    borders = [] if outline is None else lines(outline)
    wanted = chosen(components, kruskal(model, "map").rank, 6)
    modes = [model._mode(latitude), model._mode(longitude)]
    across = min(len(wanted), 3)
    down = -(-len(wanted) // across)
    given = ax is not None and not hasattr(ax, "subplots")
    figure, axes = canvas(ax, *((1, len(wanted)) if given else (down, across)), figsize,
                          (4.0 * across, 3.4 * down), title)
    places = [positions(model, mode) for mode in modes]
    edges = [_edges(model.factors[mode][:, wanted], at, cells, share)
             for mode, at in zip(modes, places)]
    sums = [_sums(np.abs(model.factors[mode]), at, edge)
            for mode, at, edge in zip(modes, places, edges)]
    everything = np.einsum("ir,jr,r->ij", sums[0], sums[1], np.abs(model.weights))
    for axis, component in zip(axes.flat, wanted):
        strength = np.outer(sums[0][:, component], sums[1][:, component])
        shown = np.where(strength > FAINT * strength.max(), strength, np.nan)
        axis.pcolormesh(edges[1], edges[0], np.sqrt(everything), cmap="Greys", rasterized=True,
                        vmax=1.5 * float(np.sqrt(everything.max())) or 1.0)
        image = axis.pcolormesh(edges[1], edges[0], shown, cmap=cmap, rasterized=True,
                                norm=PowerNorm(0.5, vmin=0, vmax=float(strength.max()) or 1.0))
        axis.add_collection(LineCollection(borders, colors="0.35", linewidths=0.5), autolim=False)
        if (strength > strength.max() / 10).sum() < RARE:
            _ring(axis, strength, edges)
        bar = figure.colorbar(image, cax=axis.inset_axes((1.03, 0, 0.05, 1)))  # as high as the map
        bar.ax.tick_params(labelsize=SMALL)
        bar.ax.yaxis.get_offset_text().set_fontsize(SMALL)
        _decorate(axis, model, modes, component, float(np.mean(edges[0])))
    if given and title is not None:
        axes.flat[0].set_title(title, fontsize=9)
    for axis in list(axes.flat)[len(wanted):]:
        axis.set_axis_off()
    return figure


def _ring(axis: Any, strength: npt.NDArray[Any], edges: Sequence[npt.NDArray[Any]]) -> None:
    """A ring around the strongest cell."""
    row, column = np.unravel_index(int(np.argmax(strength)), strength.shape)
    axis.plot((edges[1][column] + edges[1][column + 1]) / 2,
              (edges[0][row] + edges[0][row + 1]) / 2, "o", markersize=12, fillstyle="none",
              color="#c53030")


def _decorate(axis: Any, model: KruskalTensor, modes: Sequence[int], component: int,
              middle: float) -> None:
    if model.labels[modes[0]] is not None and abs(middle) < 85:
        axis.set_aspect(1 / np.cos(np.radians(middle)))
    axis.set_title(f"{component_name(component)}\nλ = {model.weights[component]:.4g}", fontsize=9)
    axis.set_xlabel(mode_title(model, modes[1]), fontsize=8)
    axis.set_ylabel(mode_title(model, modes[0]), fontsize=8)
    axis.tick_params(labelsize=SMALL)


def _sums(factor: npt.NDArray[Any], places: npt.NDArray[Any],
          edges: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Each column's strength in the cells."""
    return np.stack([np.histogram(places, edges, weights=column)[0] for column in factor.T], axis=1)


def _edges(factor: npt.NDArray[Any], places: npt.NDArray[Any], cells: int,
           share: float) -> npt.NDArray[Any]:
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
    edges: npt.NDArray[Any] = np.linspace(
        low, high, 1 + min(cells, max(1, round((high - low) / step))))
    return edges
