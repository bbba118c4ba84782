"""Outlines of maps (coasts, borders, districts): the lines in GeoJSON, and in objects that show
themselves as such (``__geo_interface__``), as those of GeoPandas, Shapely and Cartopy do."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Line = npt.NDArray[np.float64]
# How many lists lie around the lines of each kind of geometry (LinearRing is Shapely's).
DEPTHS = {"LineString": 0, "LinearRing": 0, "MultiLineString": 1, "Polygon": 1, "MultiPolygon": 2}


def lines(source: Any) -> list[Line]:
    """All lines of an outline: arrays (n, 2) of longitudes and latitudes in degrees."""
    if isinstance(source, (str, os.PathLike)):
        with open(source, encoding="utf-8") as file:
            try:
                source = json.load(file)
            except ValueError as error:
                raise ValueError(f"{os.fspath(source)} is no GeoJSON: {error}") from error
    return list(_lines(source))


def _lines(thing: Any) -> Iterator[Line]:
    thing = getattr(thing, "__geo_interface__", thing)
    if not isinstance(thing, Mapping):
        if isinstance(thing, (str, bytes)) or not hasattr(thing, "__iter__"):
            raise TypeError(f"an outline has a {type(thing).__name__}; expected GeoJSON, or objects with "
                            "a __geo_interface__")
        for part in thing:
            yield from _lines(part)
        return
    kind = thing.get("type")
    if kind == "FeatureCollection":
        yield from _lines(thing["features"])
    elif kind == "Feature":
        if thing.get("geometry") is not None:
            yield from _lines(thing["geometry"])
    elif kind == "GeometryCollection":
        yield from _lines(thing["geometries"])
    elif kind in DEPTHS:
        yield from _flat(thing["coordinates"], DEPTHS[kind])
    elif kind not in ("Point", "MultiPoint"):
        raise ValueError(f"an outline has an object of type {kind!r}; expected GeoJSON")


def _flat(coordinates: Any, depth: int) -> Iterator[Line]:
    if depth > 0:
        for part in coordinates:
            yield from _flat(part, depth - 1)
        return
    line = np.array([position[:2] for position in coordinates], np.float64)
    if len(line) > 1:
        yield line
