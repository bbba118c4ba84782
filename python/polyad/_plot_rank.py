"""Picture of a rank scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._plot_base import COLOURS, SMALL, canvas
from ._rank import RankScan

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def rank_scan(scan: RankScan, *, title: str | None = None,
              figsize: tuple[float, float] | None = None, ax: Any = None) -> Figure:
    """A scan of ranks in three panels: fit (best and median) with the held-out error; core
    consistency, cut off below -100; stability and replicability. A line marks the recommended
    rank.

    Parameters
    ----------
    scan : RankScan
        Of :func:`polyad.rank_scan`.
    title, figsize : optional
    ax : figure or three axes, optional
        Where to draw; default: a new figure.
    """
    if not isinstance(scan, RankScan):
        raise TypeError(f"rank_scan draws a RankScan, not a {type(scan).__name__}")
    figure, axes = canvas(ax, 1, 3, figsize, (10.5, 3.0), title)
    fit, consistency, agreement = axes[0]
    _line(fit, scan, "fit_best", COLOURS[0], "best fit")
    _line(fit, scan, "fit_median", COLOURS[0], "median fit", style="--")
    _line(fit, scan, "holdout_error", COLOURS[1], "held-out error", "holdout_deviation")
    fit.set_title("fit and prediction", fontsize=9)
    _line(consistency, scan, "core_consistency", COLOURS[2], "core consistency (%)", least=-100)
    consistency.set_ylim(-110, 110)
    consistency.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    consistency.set_title("core consistency (%)", fontsize=9)
    _line(agreement, scan, "stability", COLOURS[3], "stability (starts)")
    _line(agreement, scan, "replicability", COLOURS[4], "replicability (folds)", style="--")
    agreement.set_ylim(0, 1.05)
    agreement.set_title("agreement of components", fontsize=9)
    for axis in axes[0]:
        axis.set_xticks([row["rank"] for row in scan.ranks])
        axis.tick_params(labelsize=SMALL)
        axis.set_xlabel("rank")
        if scan.recommended is not None:
            axis.axvline(scan.recommended, color="0.6", linestyle=":", zorder=0)
        if axis.get_legend_handles_labels()[1] and axis is not consistency:
            axis.legend(fontsize=SMALL)
    return figure


def _line(axis: Any, scan: RankScan, name: str, colour: str, label: str,
          deviation: str | None = None, style: str = "-", least: float = float("-inf")) -> None:
    """A column of the scan against the rank, where it is known; nothing where it never is."""
    rows: list[dict[str, Any]] = [{**row} for row in scan.ranks]
    rows = [row for row in rows if row[name] is not None]
    if not rows:
        return
    ranks, values = [row["rank"] for row in rows], [max(row[name], least) for row in rows]
    axis.plot(ranks, values, style, marker="o", markersize=3, color=colour, label=label)
    if deviation is not None:
        spread = [row[deviation] or 0.0 for row in rows]
        axis.fill_between(ranks, [v - s for v, s in zip(values, spread)],
                          [v + s for v, s in zip(values, spread)], color=colour, alpha=0.15)
