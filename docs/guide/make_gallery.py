#!/usr/bin/env python3
"""Draws the figures of gallery.md from the bundled tensors.

usage: PYTHONPATH=build/python python3 docs/guide/make_gallery.py, in the root of the repository
"""

import pathlib

import matplotlib

matplotlib.use("Agg")

import polyad  # noqa: E402
from polyad import plot  # noqa: E402

FIGURES = pathlib.Path(__file__).parent / "figures"


def save(figure, name):
    figure.savefig(FIGURES / f"{name}.png", dpi=80, metadata={"Software": None},
                   pil_kwargs={"optimize": True})


def main():
    FIGURES.mkdir(exist_ok=True)
    flights = polyad.read("data/nycflights13.tns.gz")
    save(plot.components(polyad.cp_als(flights, 3, nonnegative=True, seed=1), top=8), "flights")

    rides = polyad.read("data/uber-apr-may.tns.gz")
    model = polyad.cp_als(rides, 6, nonnegative=True, seed=1)
    save(plot.map(model, "latitude", "longitude", components=3), "uber-map")
    save(plot.components(model, components=3), "uber")

    crimes = polyad.read("data/chicago-crime-2022.tns.gz")
    save(plot.components(polyad.cp_apr(crimes, 4, seed=1, max_iters=100), top=8), "crimes")

    spectra = polyad.read("data/aminoacids.tns.gz")
    save(plot.components(polyad.cp_als(spectra, 3, nonnegative=True, seed=1, tol=1e-8,
                                       max_iters=500)), "aminoacids")


if __name__ == "__main__":
    main()
