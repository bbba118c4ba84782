#!/usr/bin/env python3
"""Draws docs/images/update.svg and docs/images/project.svg, with matplotlib.
usage: newdata_figures.py

update.svg: a stream of slices with planted components, noise of a tenth of the norm, and other components
from slice 40 on. Lines: the fit of each new slice by the updated model, for three forgetting factors.
project.svg: a component of Uber pickups by day, of a model of 47 days and of its projection on the
others."""

import pathlib

import matplotlib
import numpy as np
import polyad

matplotlib.use("svg")
from matplotlib import pyplot as plt  # noqa: E402 (the backend comes first)

ROOT = pathlib.Path(__file__).resolve().parents[1]
RANK, PLACES, CHANGE, SLICES, FIRST = 3, (30, 25), 40, 100, 10  # of the stream
KNOWN = 47  # days of the model, 1 April to 17 May
BLUE, OCHRE, RED = "#3b75af", "#a68a1c", "#c0506a"


def stream():
    """The slices, one after the other: (slice, place, place)."""
    rng = np.random.default_rng(1)
    for number in range(SLICES):
        if number % CHANGE == 0 and number <= CHANGE:
            factors = [rng.random((length, RANK)) ** 4 for length in PLACES]
        x = np.einsum("r,jr,kr->jk", rng.uniform(1, 2, RANK), *factors)
        noise = rng.standard_normal(x.shape)
        yield (x + 0.1 * np.linalg.norm(x) / np.linalg.norm(noise) * noise)[np.newaxis]


def fits(forget):
    """Of slices FIRST and later, each added to the model of those before it."""
    slices = list(stream())
    model = polyad.cp_als(np.concatenate(slices[:FIRST]), RANK, tol=1e-8, max_iters=500)
    updater = polyad.Updater(model, 0, forget=forget)
    return [updater.add(each)["fit"] for each in slices[FIRST:]]


def axes(right):
    """Axes that leave the figure's part to the right of `right` free."""
    matplotlib.rcParams.update({"svg.hashsalt": "polyad", "svg.fonttype": "none", "font.size": 10,
                                "font.family": "sans-serif", "axes.spines.top": False,
                                "axes.spines.right": False})
    figure, ax = plt.subplots(figsize=(7, 2.6))
    figure.subplots_adjust(left=0.09, right=right, bottom=0.18, top=0.96)
    return figure, ax


def save(figure, name):
    path = ROOT / f"docs/images/{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    path.write_text("\n".join(line.rstrip() for line in path.read_text().split("\n")))


def draw_update():
    figure, ax = axes(0.84)
    height = -1.0
    for forget, colour in ((1.0, BLUE), (0.98, OCHRE), (0.9, RED)):
        found = fits(forget)
        ax.plot(range(FIRST, SLICES), found, color=colour, linewidth=1.6)
        height = max(np.mean(found[-5:]), height + 0.1)  # names from below, none over another
        ax.text(SLICES + 1, height, f"forget {forget:g}", color=colour, va="center")
    ax.axvline(CHANGE, color="0.5", linestyle=":", linewidth=1)
    ax.set(xlabel="slice", ylabel="fit of the slice", xlim=(FIRST, SLICES), ylim=(0, 1))
    save(figure, "update")


def weekly(column):
    """How alike a column is to itself seven days later."""
    return np.corrcoef(column[7:], column[:-7])[0, 1]


def draw_project():
    x = polyad.read(ROOT / "data/uber-apr-may.tns.gz", labels=ROOT / "data/uber-apr-may.labels")
    days = x.shape[0]
    model = polyad.cp_als(x[:KNOWN], 6, nonnegative=True, seed=1)
    rows = model.project(x[KNOWN:], mode=0).factors[0]
    which = int(np.argmax([weekly(column) for column in model.factors[0].T]))
    figure, ax = axes(0.96)
    for first, column, name, colour in ((0, model.factors[0][:, which], "model", BLUE),
                                        (KNOWN, rows[KNOWN - days:, which], "projected", RED)):
        ax.plot(range(first, first + len(column)), column, color=colour, linewidth=1.6)
        ax.text(first + len(column) / 2, 1, name, color=colour, ha="center", va="top",
                transform=ax.get_xaxis_transform())
    top = max(model.factors[0][:, which].max(), rows[:, which].max())
    ax.set(ylabel=f"component {which}", xlim=(0, days - 1), ylim=(0, 1.2 * top))
    ax.set_xticks(range(0, days, 10), [x.labels[0][day][-5:] for day in range(0, days, 10)])
    save(figure, "project")


if __name__ == "__main__":
    draw_update()
    draw_project()
