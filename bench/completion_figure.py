#!/usr/bin/env python3
"""Draws docs/images/completion.svg: errors of a completion of bundled data by iteration.
usage: completion_figure.py POLYAD"""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
WIDTH, HEIGHT, LEFT, BOTTOM = 560, 260, 60, 44
ITERATIONS, FIRST = 100, 2  # the first errors are many times as large as the others


def run_of(polyad):
    """The trace of a fit with a small ridge, and the root mean square of the fitted values."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([polyad, "split", ROOT / "data/nycflights13.tns.gz", "-o", f"{folder}/x",
                        "--test", "0.2", "-q"], check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run(
            [polyad, "cpd", f"{folder}/x-train.ptn", "-r", "20", "--absent", "unknown", "--biases",
             "--ridge", "0.1", "--validation", f"{folder}/x-test.ptn", "--patience", str(ITERATIONS),
             "--tol", "0", "--max-iters", str(ITERATIONS), "--seed", "1", "-q", "--json", "-"], check=True,
            stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    norm = found["rmse"] / (1 - found["fit"])
    return found["trace"], norm, found["best_iteration"]


def line(points, low, high, colour):
    across = (WIDTH - LEFT - 130) / (len(points) - 1)
    up = (HEIGHT - BOTTOM - 20) / (high - low)
    path = " ".join(f"{LEFT + k * across:.1f},{HEIGHT - BOTTOM - (y - low) * up:.1f}"
                    for k, y in enumerate(points))
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'


def draw(trace, norm, best):
    fitted = [norm * (1 - row["fit"]) for row in trace][FIRST:]
    held = [row["validation_rmse"] for row in trace][FIRST:]
    low, high = int(9.5 * min(fitted + held)) / 10, 1.05 * max(fitted + held)
    across = (WIDTH - LEFT - 130) / (len(held) - 1)
    up = (HEIGHT - BOTTOM - 20) / (high - low)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             f'<path d="M{LEFT},16V{HEIGHT - BOTTOM}H{WIDTH - 125}" fill="none" stroke="black"/>']
    for k in range(round(10 * low), int(10 * high) + 1):
        y = HEIGHT - BOTTOM - (k / 10 - low) * up
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{k / 10:.1f}</text>')
    for iteration in range(20, ITERATIONS + 1, 20):
        x = LEFT + (iteration - 1 - FIRST) * across
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
                     f'{iteration}</text>')
    parts += [f'<text x="{LEFT + 150}" y="{HEIGHT - 8}">iteration</text>',
              f'<text x="{LEFT - 48}" y="12">RMSE</text>',
              line(fitted, low, high, "#1b6ca8"), line(held, low, high, "#c0392b")]
    for name, values, colour in (("fitted cells", fitted, "#1b6ca8"),
                                 ("validation cells", held, "#c0392b")):
        y = HEIGHT - BOTTOM - (values[-1] - low) * up
        parts.append(f'<text x="{WIDTH - 122}" y="{y + 4:.1f}" fill="{colour}">{name}</text>')
    if best > FIRST:
        at = best - 1 - FIRST
        parts.append(f'<circle cx="{LEFT + at * across:.1f}" '
                     f'cy="{HEIGHT - BOTTOM - (held[at] - low) * up:.1f}" r="4" fill="#c0392b"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    (ROOT / "docs/images/completion.svg").write_text(draw(*run_of(pathlib.Path(sys.argv[1]).resolve())))
