"""The command polyad-plot: a picture of a model file."""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import Any

from ._errors import Error
from ._labels import read_labels
from ._model import KruskalTensor


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="polyad-plot", description="Draws the components of a CP model.",
        epilog="example: polyad-plot uber.ktensor --labels uber.labels -o uber.png")
    made.add_argument("model", help="a Tensor Toolbox 'ktensor' file, as polyad cpd writes it")
    made.add_argument("-o", "--output", required=True,
                      help="picture to write; its extension chooses the format (png, svg, pdf)")
    made.add_argument("--labels", metavar="DIR", type=pathlib.Path,
                      help="directory with mode-K-NAME.map[.gz] (default: MODEL.labels, if there)")
    made.add_argument("--kind", choices=["components", "heatmap", "map", "similarity", "top"],
                      default="components", help="what to draw (default: components)")
    made.add_argument("--mode", type=int, default=1, help="mode of a heatmap, from 1")
    made.add_argument("--map-modes", default="1,2", metavar="LAT,LON",
                      help="latitude and longitude modes of a map, from 1")
    made.add_argument("--outline", metavar="FILE", type=pathlib.Path,
                      help="GeoJSON of coasts, borders or districts for a map")
    made.add_argument("--count", type=int, help="number of components")
    made.add_argument("--dpi", type=int, default=150, help="resolution (default 150)")
    return made


def draw(plot: Any, model: KruskalTensor, options: argparse.Namespace) -> Any:
    """The figure that the options ask for."""
    if options.kind == "heatmap":
        if not 1 <= options.mode <= model.ndim:
            raise ValueError(f"mode {options.mode} does not exist; the model has {model.ndim}")
        return plot.heatmap(model, options.mode - 1, components=options.count)
    if options.kind == "map":
        latitude, longitude = (int(mode) - 1 for mode in options.map_modes.split(","))
        return plot.map(model, latitude, longitude, components=options.count,
                        outline=options.outline)
    if options.kind == "similarity":
        return plot.similarity(model)
    if options.kind == "top":
        return plot.top(model, components=options.count)
    return plot.components(model, components=options.count)


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        from . import plot
        from ._plot_base import numbered_from

        model = KruskalTensor.load(options.model)
        if options.labels is not None:
            model.labels, model.mode_names = read_labels(options.labels, model.shape)
        with numbered_from(1):
            figure = draw(plot, model, options)
        figure.savefig(options.output, dpi=options.dpi)
    except (Error, OSError, ValueError, IndexError, ImportError) as error:
        text = str(error)
        print(text if text.startswith("polyad") else f"polyad-plot: error: {text}",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
