#!/usr/bin/env python3
"""Draws the figures of docs/theory: docs/images/cp-als.svg, nonnegative.svg, cp-apr.svg and tucker.svg, with
matplotlib, from bundled data.
usage: method_figures.py

cp-als.svg: emission spectra of three components of the amino acids, found by least squares alone.
nonnegative.svg: carriers in six components of the flights, without and with nonnegative factors.
cp-apr.svg: the optimality violation of three algorithms by outer iteration, from the same first model.
tucker.svg: share of the squared norm of the flights that is kept, by the numbers of the core."""

import pathlib

import numpy as np
import polyad
from newdata_figures import BLUE, OCHRE, RED, axes, plt, save

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
DARK = "0.2"
COLOURS = (BLUE, OCHRE, RED)


def read(name):
    return polyad.read(DATA / f"{name}.tns.gz", labels=DATA / f"{name}.labels")


def wavelengths(x):
    return [float(label) for label in x.labels[1]]


def draw_als():
    """Columns have a sign of their own: each is turned so that it is positive."""
    x = read("aminoacids")
    model = polyad.cp_als(x, 3, restarts=10, tol=1e-8, max_iters=500)
    emission = wavelengths(x)
    figure, ax = axes(0.96)
    for column, colour in zip(np.asarray(model.factors[1]).T, COLOURS):
        column = column * np.sign(column.sum())
        peak = int(np.argmax(column))
        ax.plot(emission, column, color=colour, linewidth=1.6)
        ax.text(emission[peak], column[peak], f"{emission[peak]:g} nm", color=colour, ha="center", va="bottom")
    ax.axhline(0, color="0.7", linewidth=0.8)
    ax.set(xlabel="emission, nm", ylabel="strength", xlim=(emission[0], emission[-1]), ylim=(-0.02, 0.25))
    save(figure, "cp-als")


def draw_nonnegative():
    x = read("nycflights13")
    figure, ax = axes(0.98)
    ax.remove()
    for place, nonnegative in enumerate((False, True)):
        ax = figure.add_subplot(1, 2, place + 1)
        model = polyad.cp_als(x, 6, nonnegative=nonnegative, seed=1, tol=1e-5, max_iters=100)
        ax.pcolormesh(np.asarray(model.factors[1]).T, cmap="RdBu", vmin=-1, vmax=1, edgecolors="w", linewidth=1)
        ax.invert_yaxis()
        carriers = len(x.labels[1])
        ax.set_xticks(np.arange(carriers) + 0.5, x.labels[1], rotation=90, fontsize=8)
        ax.set_yticks(np.arange(6) + 0.5, range(6), fontsize=8)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_title(f"{'nonnegative' if nonnegative else 'any sign'}, fit {model.info['fit']:.3f}", fontsize=10)
    figure.axes[0].set_ylabel("component")
    figure.subplots_adjust(top=0.9, wspace=0.15)
    save(figure, "nonnegative")


def draw_apr():
    """Violations are those of outer iterations; each costs the Newton methods more."""
    x = read("nycflights13")
    figure, ax = axes(0.96)
    for place, (algorithm, colour) in enumerate(zip(("mu", "pqnr", "pdnr"), COLOURS)):
        model = polyad.cp_apr(x, 8, algorithm=algorithm, seed=1, max_iters=200, tol=1e-4)
        found = [row["kkt_violation"] for row in model.info["trace"]]
        ax.semilogy(range(1, len(found) + 1), found, color=colour, linewidth=1.6)
        ax.text(0.98, 0.97 - 0.11 * place, f"apr-{algorithm}", color=colour, ha="right", va="top",
                transform=ax.transAxes)
    ax.set(xlabel="outer iteration", ylabel="violation", xlim=(1, 200))
    save(figure, "cp-apr")


def draw_tucker():
    x = read("nycflights13")
    figure, ax = axes(0.97)
    square = float(np.sum(np.asarray(x.values) ** 2))
    sizes, shares = [], []
    for share in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
        ranks = polyad.tucker_ranks(x, share)
        core = np.asarray(polyad.tucker(x, ranks).core)
        sizes.append(core.size)
        shares.append(float(np.sum(core ** 2)) / square)
        ax.annotate("×".join(map(str, ranks)), (sizes[-1], shares[-1]), xytext=(0, 6), color=DARK, fontsize=8,
                    textcoords="offset points", ha="center" if sizes[-1] == 1 else "right")
    ax.semilogx(sizes, shares, color=BLUE, linewidth=1.6, marker="o", markersize=4)
    ax.set(xlabel="numbers of the core", ylabel="share of ‖X‖²", ylim=(0, 1),
           xlim=(0.7, 130), xticks=(1, 10, 100), xticklabels=("1", "10", "100"))
    save(figure, "tucker")


if __name__ == "__main__":
    draw_als()
    draw_nonnegative()
    draw_apr()
    draw_tucker()
