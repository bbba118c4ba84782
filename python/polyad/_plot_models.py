"""Pictures of models: components, maps, factors, cores, tables, two models side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import numpy.typing as npt

from ._arguments import items
from ._context import index
from ._keys import infer
from ._model import KruskalTensor
from ._plot_base import (COLOURS, MAP_COLOURS, SMALL, TITLE, canvas, check_model, chosen, colour_of,
                         component_name, component_number, inches, kinds_of, kruskal, mode_title, panel, shades,
                         strongest)
from ._tucker_model import TuckerTensor
from ._types import Mode, PlotKind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Matrix = npt.NDArray[Any]
Kinds = Union[Sequence[PlotKind], Mapping[Mode, PlotKind], None]


def components(model: KruskalTensor, *, components: int | Sequence[int] | None = None,
               top: int = 12, kinds: Kinds = None, colors: str | Sequence[str] | None = None,
               title: str | None = None, figsize: tuple[float, float] | None = None,
               ax: Any = None) -> Figure:
    """One row of panels per component, one panel per mode: bars of the strongest categories, lines
    along time and decimal numbers, stems at whole numbers.

    A mode's panels have the same categories in every row: those that are strong in any of the
    components.

    Parameters
    ----------
    model : KruskalTensor
    components : int or sequence of int, optional
        How many of the strongest, or which; default: up to 8.
    top : int
        Number of categories that have bars.
    kinds : sequence or mapping of {"bar", "line", "stems"}, optional
        How modes are drawn: one for each, or by a mode's name or number, as {"hour": "line"}.
    colors : color or sequence of colors, optional
        Of all components, or of one after the other.
    title, figsize : optional
        Of a new figure (the title also of a given one).
    ax : figure, subfigure or array of axes (components x modes), optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib figure
    """
    model = kruskal(model, "components")
    wanted, how = chosen(components, model.rank, 8), kinds_of(model, kinds)
    figure, axes = canvas(ax, len(wanted), model.ndim, figsize,
                          (3.4 * model.ndim, 1.5 * len(wanted) + 1.2), title)
    for mode in range(model.ndim):
        rows = strongest(model.factors[mode][:, wanted], top)
        for row, component in enumerate(wanted):
            panel(axes[row][mode], model.labels[mode], [model.factors[mode][:, component]],
                  how[mode], rows, [colour_of(colors, row)], row == len(wanted) - 1,
                  model.factors[mode][:, wanted])
        axes[0][mode].set_title(mode_title(model, mode), fontsize=TITLE)
    for row, component in enumerate(wanted):
        axes[row][0].set_ylabel(f"{component_name(component)}\nλ = {model.weights[component]:.4g}",
                                fontsize=8)
    return figure


def compare(a: KruskalTensor, b: KruskalTensor, *, components: int | Sequence[int] | None = None,
            top: int = 12, kinds: Kinds = None, names: tuple[str, str] = ("first", "second"),
            colors: Sequence[str] = COLOURS[:2], title: str | None = None,
            figsize: tuple[float, float] | None = None, ax: Any = None) -> Figure:
    """Components of two models over each other, as :func:`components` draws one: each component of
    the first with the one of the second that is most like it.

    Signs are made equal; beside a row stands how alike its components are (the product over modes
    of |cosine|).

    Parameters
    ----------
    a, b : KruskalTensor
        Of the same shape.
    components, top, kinds, title, figsize, ax
        As in :func:`components`; components are those of the first model.
    names : pair of str
        What the legend calls the models.
    colors : pair of colors
    """
    likeness = congruence(kruskal(a, "compare"), kruskal(b, "compare"))
    partner, called = matching(likeness), items(names, "names", "names")
    wanted, how = chosen(components, a.rank, 8), kinds_of(a, kinds)
    wanted = [component for component in wanted if partner[component] >= 0]
    figure, axes = canvas(ax, len(wanted), a.ndim, figsize, (3.4 * a.ndim, 1.5 * len(wanted) + 1.2),
                          title)
    for mode in range(a.ndim):
        columns = [(a.factors[mode][:, r], _with_sign(a.factors[mode][:, r],
                                                      b.factors[mode][:, partner[r]]))
                   for r in wanted]
        both = np.stack([each for pair in columns for each in pair], axis=1)
        rows = strongest(both, top)
        for row, pair in enumerate(columns):
            panel(axes[row][mode], a.labels[mode], pair, how[mode], rows, list(colors),
                  row == len(wanted) - 1, both)
        axes[0][mode].set_title(mode_title(a, mode), fontsize=TITLE)
    for row, r in enumerate(wanted):
        axes[row][0].set_ylabel(f"{component_number(r)} and {component_number(partner[r])}\n"
                                f"alike: {likeness[r, partner[r]]:.2f}", fontsize=8)
    _legend_above(axes[0][-1], colors, called)
    return figure


def _legend_above(axis: Any, colours: Sequence[str], names: Sequence[str]) -> None:
    """A legend over the title of a panel, where it hides nothing."""
    from matplotlib.patches import Patch
    from matplotlib.transforms import ScaledTranslation

    above = ScaledTranslation(0, 2 * TITLE / 72, axis.figure.dpi_scale_trans)
    axis.legend(handles=[Patch(color=colour, label=name) for colour, name in zip(colours, names)],
                fontsize=SMALL, handlelength=1, ncols=2, frameon=False, loc="lower right",
                borderaxespad=0, bbox_to_anchor=(1, 1), bbox_transform=axis.transAxes + above)


def _with_sign(like: Matrix, column: Matrix) -> Matrix:
    """The column scaled to the length of another, and pointing to its side."""
    length = float(np.linalg.norm(column))
    scale = float(np.linalg.norm(like)) / length if length > 0 else 1.0
    turned: Matrix = column * (-scale if like @ column < 0 else scale)
    return turned


def congruence(a: KruskalTensor, b: KruskalTensor) -> Matrix:
    """Product over modes of |cosine| of every component of `a` (rows) with every one of `b`."""
    if a.shape != b.shape:
        raise ValueError(f"the models have shapes {a.shape} and {b.shape}; expected equal ones")
    product: Matrix = np.ones((a.rank, b.rank))
    for first, second in zip(a.factors, b.factors):
        lengths = np.outer(np.linalg.norm(first, axis=0), np.linalg.norm(second, axis=0))
        product *= np.abs(first.T @ second) / np.where(lengths > 0, lengths, 1)
    return product


def matching(likeness: Matrix) -> list[int]:
    """For every row the column that is its partner, the most alike pairs first; -1 where there are
    too few columns."""
    left, partner = likeness.copy(), [-1] * len(likeness)
    for _ in range(min(likeness.shape)):
        row, column = np.unravel_index(int(np.argmax(left)), left.shape)
        partner[int(row)] = int(column)
        left[row, :], left[:, column] = -1, -1
    return partner


def similarity(a: KruskalTensor, b: KruskalTensor | None = None, *, cmap: str = MAP_COLOURS,
               title: str | None = None, figsize: tuple[float, float] | None = None,
               ax: Any = None) -> Figure:
    """How alike components are: product over modes of |cosine|, of one model with itself or of two
    models. The components of the second are put beside those of the first that they are most like;
    up to rank 12 the numbers are written.

    Parameters
    ----------
    a, b : KruskalTensor
    cmap, title, figsize : optional
    ax : axes or figure, optional
        Where to draw; default: a new figure.
    """
    kruskal(a, "similarity")
    product = congruence(a, a if b is None else kruskal(b, "similarity"))
    partner = [each for each in matching(product) if each >= 0]
    order = list(range(a.rank)) if b is None else partner + [
        column for column in range(product.shape[1]) if column not in partner]
    product = product[:, order]
    size = 0.45 if max(product.shape) <= 12 else 0.25
    figure, axes = canvas(ax, 1, 1, figsize, (2.2 + size * product.shape[1],
                                              1.6 + size * product.shape[0]))
    axis = axes[0][0]
    image = axis.imshow(product, vmin=0, vmax=1, cmap=cmap, interpolation="nearest")
    if max(product.shape) <= 12:
        for (row, column), value in np.ndenumerate(product):
            axis.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=6,
                      color="black" if value > 0.6 else "white")
    axis.set_xticks(range(len(order)), [component_number(r) for r in order], fontsize=SMALL)
    axis.set_yticks(range(a.rank), [component_number(r) for r in range(a.rank)], fontsize=SMALL)
    axis.set_xlabel("component" if b is None else "component of the second model", fontsize=8)
    axis.set_ylabel("component" if b is None else "component of the first model", fontsize=8)
    axis.set_title(title or "", fontsize=9)
    bar = figure.colorbar(image, ax=axis)
    bar.set_label("product of |cosines|", fontsize=8)
    bar.ax.tick_params(labelsize=SMALL)
    return figure


def heatmap(model: KruskalTensor | TuckerTensor, mode: Mode, *, top: int = 40,
            components: int | Sequence[int] | None = None, cmap: str | None = None,
            title: str | None = None, figsize: tuple[float, float] | None = None,
            ax: Any = None) -> Figure:
    """A mode's factor as a heat map: its strongest rows against components. Colours go both ways
    from zero where there are negative entries.

    Parameters
    ----------
    model : KruskalTensor or TuckerTensor
    mode : int or str
    top : int
        Number of rows.
    components : int or sequence of int, optional
        How many, or which; default: all.
    cmap, title, figsize : optional
    ax : axes or figure, optional
        Where to draw; default: a new figure.
    """
    check_model(model, "heatmap")
    mode = model._mode(mode)
    rank = model.factors[mode].shape[1]
    wanted = chosen(components, rank, rank)
    factor = model.factors[mode][:, wanted]
    weights = model.weights[wanted] if isinstance(model, KruskalTensor) else 1.0
    strength = np.abs(factor * weights).max(axis=1)
    rows = np.sort(np.argsort(-strength, kind="stable")[:index(top, "top")])
    labels = model.labels[mode]
    figure, axes = canvas(ax, 1, 1, figsize, (2.6 + 0.4 * len(wanted), 1.2 + 0.2 * len(rows)))
    axis = axes[0][0]
    image = axis.imshow(factor[rows], aspect="auto", interpolation="nearest",
                        **shades(factor[rows], cmap))
    axis.set_yticks(range(len(rows)), [str(i) if labels is None else labels[i][:24] for i in rows],
                    fontsize=SMALL)
    axis.set_xticks(range(len(wanted)), [component_number(r) for r in wanted], fontsize=SMALL)
    axis.set_xlabel("component")
    axis.set_title(mode_title(model, mode) if title is None else title)
    figure.colorbar(image, ax=axis, label="entry")
    return figure


def core(model: TuckerTensor, mode: Mode = 0, *, cmap: str | None = None, title: str | None = None,
         figsize: tuple[float, float] | None = None, ax: Any = None) -> Figure:
    """A Tucker tensor's core, unfolded: columns of one mode's factor against all combinations of
    the others' (the last mode fastest). Large entries say which columns go together.

    Parameters
    ----------
    model : TuckerTensor
    mode : int or str
    cmap, title, figsize : optional
    ax : axes or figure, optional
        Where to draw; default: a new figure.
    """
    if not isinstance(model, TuckerTensor):
        raise TypeError(f"core draws a TuckerTensor, not a {type(model).__name__}")
    mode = model._mode(mode)
    matrix = np.moveaxis(model.core, mode, 0).reshape(model.ranks[mode], -1)
    figure, axes = canvas(ax, 1, 1, figsize, (min(12.0, 2.6 + 0.16 * matrix.shape[1]),
                                              1.6 + 0.3 * matrix.shape[0]))
    axis = axes[0][0]
    image = axis.imshow(matrix, aspect="auto", interpolation="nearest", **shades(matrix, cmap))
    others = [m for m in range(model.ndim) if m != mode]
    axis.set_yticks(range(len(matrix)), [component_number(r) for r in range(len(matrix))],
                    fontsize=SMALL)
    axis.tick_params(axis="x", labelsize=SMALL)
    axis.set_ylabel(mode_title(model, mode))
    axis.set_xlabel(" × ".join(f"{mode_title(model, m)} ({model.ranks[m]})" for m in others))
    axis.set_title("core" if title is None else title)
    figure.colorbar(image, ax=axis, label="entry")
    return figure


def top(model: KruskalTensor, *, k: int = 5, components: int | Sequence[int] | None = None,
        title: str | None = None, figsize: tuple[float, float] | None = None,
        ax: Any = None) -> Figure:
    """A table of the strongest rows of each component in each mode.

    Parameters
    ----------
    model : KruskalTensor
    k : int
        Number of rows.
    components : int or sequence of int, optional
        How many of the strongest, or which; default: up to 8.
    title, figsize : optional
    ax : axes or figure, optional
        Where to draw; default: a new figure.
    """
    wanted = chosen(components, kruskal(model, "top").rank, 8)
    cells = [[f"{component_number(component)}: λ={model.weights[component]:.3g}"]
             + ["\n".join(f"{str(label)[:22]}  {entry:.2f}"
                          for label, entry in model.top(component, mode, k))
                for mode in range(model.ndim)] for component in wanted]
    heads = ["", *(mode_title(model, mode) for mode in range(model.ndim))]
    longest = [2 + max(len(line) for cell in (heads[column], *(row[column] for row in cells))
                       for line in cell.split("\n")) for column in range(len(heads))]
    height = 0.19 * k + 0.1
    figure, axes = canvas(ax, 1, 1, figsize,
                          (2.4 * model.ndim + 1.4, height * len(wanted) + 0.7))
    axis = axes[0][0]
    width = inches(axis) if isinstance(ax, type(axis)) else float(figure.bbox.width / figure.dpi)
    axis.set_axis_off()
    axis.set_title(title or "")
    table = axis.table(cellText=cells, cellLoc="left", bbox=[0, 0, 1, 1], colLabels=heads,
                       colWidths=[length / sum(longest) for length in longest])
    table.auto_set_font_size(False)
    table.set_fontsize(min(8.0, 72 * width / (0.6 * sum(longest))))  # a letter is about so wide
    for (row, _), cell in table.get_celld().items():
        cell.set_height(0.3 if row == 0 else height)
        cell.set_edgecolor("0.8")
        cell.PAD = 0.5 / max(longest)
    return figure


def positions(model: KruskalTensor, mode: int) -> Matrix:
    """Where a mode's indices lie: its labels as numbers, else the indices."""
    labels = model.labels[mode]
    numbers = np.arange(model.shape[mode]) if labels is None else infer(labels)
    if numbers.dtype.kind not in "if":
        raise ValueError(f"the labels of mode {mode} are no numbers; a map needs degrees")
    return numbers.astype(float)
