"""What all pictures share: where they are drawn, titles, labels along an axis, one panel of a mode.

A picture is drawn into a new figure, or into axes (or a figure or subfigure) that the caller gives,
so that pictures compose. Nothing here needs a display or changes matplotlib's global state."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._arguments import items, known, single
from ._context import index
from ._factors import FactorModel
from ._keys import infer
from ._model import KruskalTensor
from ._types import PlotKind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#2b6cb0", "#dd6b20", "#2f855a", "#b83280", "#6b46c1", "#b7791f", "#319795", "#c53030")
MAP_COLOURS, SIGNED_COLOURS = "viridis", "RdBu_r"
SMALL = 7  # points
TITLE = 10  # points: of panels
LINE_INCHES = SMALL / 72  # height of a line of small letters
_first = 0  # the number of the first component and mode in titles


@contextlib.contextmanager
def numbered_from(first: int) -> Iterator[None]:
    """Components and modes are numbered from `first` meanwhile; the shell counts from 1."""
    global _first
    before, _first = _first, first
    try:
        yield
    finally:
        _first = before


def component_name(component: int) -> str:
    """Title of a component."""
    return f"component {component + _first}"


def component_number(component: int) -> str:
    """A component where only its number has room."""
    return str(component + _first)


def mode_title(thing: Any, mode: int) -> str:
    """Name of a mode, or its number."""
    return thing.mode_names[mode] or f"mode {mode + _first}"


@functools.cache
def _figure_class() -> Any:
    """matplotlib's Figure, which also shows itself in notebooks where pyplot was never imported."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("polyad.plot needs matplotlib: pip install 'polyad[plot]'") from error

    def picture(self: Any) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=72)
        return file.getvalue()

    return type("Figure", (Figure,), {"_repr_png_": picture, "__module__": Figure.__module__})


def canvas(ax: Any, rows: int, columns: int, figsize: tuple[float, float] | None,
           usual: tuple[float, float], title: str | None = None) -> tuple[Figure, Any]:
    """A figure and its axes as an array (rows, columns): new, of a given (sub)figure, or given."""
    if ax is None:
        ax = _figure_class()(figsize=usual if figsize is None else figsize, layout="constrained")
    if hasattr(ax, "subplots"):
        if title is not None:
            ax.suptitle(title)
        return ax, ax.subplots(rows, columns, squeeze=False)
    axes = np.empty(np.size(ax), object)
    axes[:] = np.asarray(ax, object).reshape(-1)
    if len(axes) != rows * columns:
        raise ValueError(f"{len(axes)} axes are given; expected {rows * columns} ({rows} rows of "
                         f"{columns}), or a figure")
    return axes[0].figure, axes.reshape(rows, columns)


def check_model(model: Any, what: str) -> None:
    """Refuses what is no Kruskal or Tucker tensor."""
    if not isinstance(model, FactorModel):
        raise TypeError(f"{what} needs a model (KruskalTensor or TuckerTensor), not a {type(model).__name__}")


def kruskal(model: Any, what: str) -> KruskalTensor:
    """The model, which must be a Kruskal tensor."""
    if not isinstance(model, KruskalTensor):
        raise TypeError(f"{what} draws a KruskalTensor, not a {type(model).__name__}; heatmap and "
                        "core draw Tucker tensors")
    return model


def chosen(components: int | Sequence[int] | None, rank: int, most: int) -> list[int]:
    """The components to draw: so many of the strongest, or those that are named."""
    if components is None or single(components):
        count = most if components is None else index(components, "components")
        if count < 1:
            raise ValueError(f"{count} components are asked for; expected at least 1")
        return list(range(min(rank, count)))
    found = [index(component, "components") for component in items(components, "components", "numbers")]
    for component in found:
        if not -rank <= component < rank:
            raise ValueError(f"component {component} does not exist; the rank is {rank}")
    if not found:
        raise ValueError("no components are given; expected at least one")
    return [component % rank for component in found]


def colour_of(colours: str | Sequence[str] | None, which: int) -> str:
    """The colour of a component."""
    if colours is None or isinstance(colours, str):
        return colours or COLOURS[0]
    return colours[which % len(colours)]


def kind_of_mode(model: FactorModel, mode: int) -> PlotKind:
    """How a mode is drawn: "line" for dates and decimal numbers, "stems" for whole numbers (which
    may be codes) and long modes without labels, else "bar"."""
    check_model(model, "kind_of_mode")
    mode = model._mode(mode)
    labels = model.labels[mode]
    if labels is None:
        return "bar" if model.shape[mode] <= 40 else "stems"
    kind = infer(labels).dtype.kind
    return "line" if kind in "Mf" else "stems" if kind == "i" else "bar"


def kinds_of(model: FactorModel,
             kinds: Sequence[PlotKind] | Mapping[Any, PlotKind] | None) -> list[PlotKind]:
    """How each mode is drawn."""
    usual = [kind_of_mode(model, mode) for mode in range(model.ndim)]
    if kinds is None:
        return usual
    if isinstance(kinds, Mapping):
        for mode, kind in kinds.items():
            usual[model._mode(mode)] = kind
    else:
        usual = items(kinds, "kinds", "kinds of modes")
    if len(usual) != model.ndim:
        raise ValueError(f"{len(usual)} kinds are given; expected {model.ndim}")
    for kind in usual:
        if not known(kind, ("bar", "line", "stems")):
            raise ValueError(f"kind {kind!r} is unknown; expected 'bar', 'line' or 'stems'")
    return usual


def strongest(columns: npt.NDArray[Any], top: int) -> npt.NDArray[Any]:
    """The rows that are strong in any column, each column by its own scale, in their order."""
    size = np.abs(columns)
    largest = size.max(axis=0)
    strength = (size / np.where(largest > 0, largest, 1)).max(axis=1)
    return np.sort(np.argsort(-strength, kind="stable")[:max(index(top, "top"), 1)])


def panel(axis: Any, labels: Sequence[str] | None, columns: Sequence[npt.NDArray[Any]], kind: str,
          rows: npt.NDArray[Any], colours: Sequence[str], named: bool,
          around: npt.NDArray[Any] | None = None) -> None:
    """One or more columns of a mode beside each other; `rows` are those that have bars, `named` says
    whether the axis has labels, a line reaches where the strength of the columns `around` is."""
    if kind == "bar":
        width = 0.8 / len(columns)
        for which, column in enumerate(columns):
            axis.bar(np.arange(len(rows)) + (which - (len(columns) - 1) / 2) * width, column[rows],
                     width, color=colours[which])
        names = [str(i) if labels is None else labels[i][:18] for i in rows]
        name_bars(axis, names if named else [""] * len(rows))
    else:
        values = None if labels is None else infer(labels)
        numbers = values is not None and values.dtype.kind in "if"
        places = values if numbers and values is not None else np.arange(len(columns[0]))
        order = np.argsort(places, kind="stable")
        for which, column in enumerate(columns):
            if kind == "line":  # what lies below is wider
                axis.plot(places[order], column[order], color=colours[which],
                          linewidth=1.2 if which == len(columns) - 1 else 3, alpha=1 - 0.5 * (
                              which < len(columns) - 1))
            else:
                stems(axis, places[order], column[order], colours[which], which, len(columns))
        if numbers and kind == "line" and around is not None:
            axis.set_xlim(*middle(places[order], np.abs(around)[order]))
        if labels is not None and not numbers:
            name_places(axis, labels, named)
        elif not named:
            axis.tick_params(labelbottom=False)
    axis.axhline(0, color="0.8", linewidth=0.6, zorder=0)
    axis.tick_params(labelsize=SMALL)


def inches(axis: Any) -> float:
    """The width of an axis."""
    return float(axis.bbox.width / axis.figure.dpi)


def name_bars(axis: Any, names: Sequence[str]) -> None:
    """Names below bars: upright where they are narrow, and only some where they would overlap."""
    room = inches(axis) / max(len(names), 1)
    step = max(1, int(np.ceil(LINE_INCHES / room)))
    upright = room < 2.5 * LINE_INCHES
    axis.set_xticks(range(0, len(names), step), names[::step], rotation=90 if upright else 60,
                    ha="center" if upright else "right", fontsize=SMALL)


def middle(places: npt.NDArray[Any], strength: npt.NDArray[Any]) -> tuple[float, float]:
    """The range of sorted places without the half per cent of the strength at either end: a few
    places far away leave the others their room."""
    total = strength.sum(axis=1).cumsum()
    if not total[-1] > 0:
        return float(places[0]) - 0.5, float(places[-1]) + 0.5
    first, last = np.searchsorted(total, [0.005 * total[-1], 0.995 * total[-1]])
    low, high = float(places[first]), float(places[min(int(last), len(places) - 1)])
    margin = (high - low) / 20 or 0.5
    return low - margin, high + margin


def stems(axis: Any, places: npt.NDArray[Any], column: npt.NDArray[Any], colour: str, which: int,
          count: int) -> None:
    """Narrow bars at numbers, where a line would join what does not belong together."""
    gap = float(np.diff(np.unique(places)).min()) if len(np.unique(places)) > 1 else 1.0
    width = 0.9 * gap / count
    shift = (which - (count - 1) / 2) * width
    # Thousands of bars are thinner than a pixel: lines of one pixel show them all.
    if len(places) > 400:
        axis.vlines(places + shift, 0, column, color=colour, linewidth=0.7)
    else:
        axis.bar(places + shift, column, width, color=colour)


def name_places(axis: Any, labels: Sequence[str], named: bool, which: str = "x",
                most: int = 6) -> None:
    """A few labels along an axis of indices."""
    if which == "x":  # labels at an angle lie beside each other
        most = max(2, min(most, int(inches(axis) / (4 * LINE_INCHES))))
    shown = np.unique(np.linspace(0, len(labels) - 1, min(most, len(labels))).astype(int))
    names = [labels[i][:16] for i in shown] if named else []
    if which == "x":
        axis.set_xticks(shown, names, rotation=30, ha="right", fontsize=SMALL)
    else:
        axis.set_yticks(shown, names, fontsize=SMALL)


def shades(values: npt.NDArray[Any], cmap: str | None) -> dict[str, Any]:
    """Colours for numbers: from 0 up, or around 0 where some are negative."""
    if values.size and values.min() < 0:
        most = float(np.abs(values).max())
        return {"cmap": cmap or SIGNED_COLOURS, "vmin": -most, "vmax": most}
    return {"cmap": cmap or MAP_COLOURS}
