"""What notebooks show of tensors, plans and models: small tables."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

ROWS, STRONGEST = 8, 3  # components of a model, labels of a component


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]], title: str) -> str:
    cells = "".join(f"<th>{html.escape(each)}</th>" for each in head)
    lines = "".join("<tr>" + "".join(f"<td>{html.escape(str(each))}</td>" for each in row) + "</tr>"
                    for row in rows)
    return (f"<div><strong>{html.escape(title)}</strong>"
            f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table></div>")


def _sizes(shape: Sequence[int]) -> str:
    return " × ".join(f"{length:,}" for length in shape)


def _modes(x: Any, labels: Sequence[Sequence[str] | None]) -> list[list[Any]]:
    rows = []
    for mode, length in enumerate(x.shape):
        column = labels[mode]
        shown = "" if column is None else ", ".join(column[:STRONGEST]) + (
            ", …" if len(column) > STRONGEST else "")
        rows.append([mode, x.mode_names[mode] or "", f"{length:,}", shown])
    return rows


def tensor(x: Any) -> str:
    """A SparseTensor."""
    return _table(["mode", "name", "length", "labels"], _modes(x, x.labels),
                  f"SparseTensor {_sizes(x.shape)}, {x.nnz:,} nonzeros, {x.dtype}, "
                  f"{x.nbytes / 1e6:,.1f} MB")


def plan(x: Any) -> str:
    """A Plan."""
    return _table(["", ""], [
        ["format", f"{x.format} ({x.variant})"], ["device", x.device], ["type", x.dtype],
        ["nonzeros", f"{x.nnz:,}"], ["memory", f"{x.nbytes / 1e6:,.1f} MB"]],
        f"Plan of {_sizes(x.shape)}")


def _fit(model: Any) -> str:
    info = model.info
    if "fit" not in info:
        return ""
    return f", fit {info['fit']:.4f} after {info['iterations']} iterations ({info['reason']})"


def _names(model: Any) -> list[str]:
    return [name or f"mode {mode}" for mode, name in enumerate(model.mode_names)]


def kruskal(model: Any) -> str:
    """A KruskalTensor: its first components by their strongest rows."""
    rows: list[list[Any]] = [[r, f"{model.weights[r]:.4g}",
                              *[", ".join(str(name) for name, _ in model.top(r, mode, STRONGEST))
                                for mode in range(model.ndim)]]
                             for r in range(min(model.rank, ROWS))]
    if model.rank > ROWS:
        rows.append(["…"] + [""] * (model.ndim + 1))
    return _table(["component", "weight", *_names(model)], rows,
                  f"KruskalTensor {_sizes(model.shape)}, rank {model.rank}{_fit(model)}")


def tucker(model: Any) -> str:
    """A TuckerTensor: the first columns of each factor by their strongest rows."""
    rows: list[list[Any]] = [
        [r, *[", ".join(str(name) for name, _ in model.top(r, mode, STRONGEST))
              if r < model.ranks[mode] else "" for mode in range(model.ndim)]]
        for r in range(min(max(model.ranks), ROWS))]
    if max(model.ranks) > ROWS:
        rows.append(["…"] + [""] * model.ndim)
    return _table(["column", *_names(model)], rows,
                  f"TuckerTensor {_sizes(model.shape)}, core {_sizes(model.ranks)}{_fit(model)}")
