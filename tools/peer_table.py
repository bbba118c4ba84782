#!/usr/bin/env python3
"""Asks polyad, pyttb and TensorLy the same questions and writes their answers into docs/guide/peers.md.

usage: PYTHONPATH=build/python python3 tools/peer_table.py [--check]

--check changes nothing: it fails (1) where the page says something else than the installed packages
do, and exits 77 where one of them is missing or of another version than the page names.
"""

import importlib.metadata
import pathlib
import re
import sys
import tempfile
import warnings

try:
    import numpy as np
    import polyad
    import pyttb
    import tensorly
    from tensorly.decomposition import parafac
except ImportError as error:
    print(f"{error.name} is missing: what the page says of other packages was not checked")
    sys.exit(77)

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/guide/peers.md"
START, END = "<!-- answers: tools/peer_table.py -->\n", "<!-- end of answers -->\n"
PACKAGES = ["pyttb", "tensorly"]


def answer(ask):
    """What happens, in a few words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ask()
    except Exception as error:  # noqa: BLE001 - which one is the answer
        return f"`{type(error).__name__}`"


def spots():
    """Two nonzeros in 4 x 4 x 4: of rank 2."""
    return np.array([[0, 0, 0], [1, 1, 1]]), np.array([1.0, 2.0]), (4, 4, 4)


def kept(count):
    return "summed" if count == 1 else f"kept as {count} entries"


def repeated_polyad():
    return kept(polyad.SparseTensor(np.zeros((2, 3), int), np.ones(2), (2, 2, 2)).nnz)


def repeated_pyttb():
    return kept(pyttb.sptensor(np.zeros((2, 3), int), np.ones((2, 1)), (2, 2, 2)).nnz)


def is_finite(fit, factors):
    fine = all(np.isfinite(factor).all() for factor in factors)
    return f"a finite model, fit {fit:.3f}" if fine else "a model that is not finite"


def too_large_polyad():
    model = polyad.cp_als(polyad.SparseTensor(*spots()), 6, seed=0)
    said = " and a diagnosis" if model.info["diagnosis"] else ""
    return is_finite(model.info["fit"], model.factors) + said


def too_large_pyttb():
    coordinates, values, shape = spots()
    np.random.seed(0)
    model, _, output = pyttb.cp_als(pyttb.sptensor(coordinates, values[:, None], shape), 6, printitn=0)
    return is_finite(output["fit"], model.factor_matrices)


def too_large_tensorly():
    dense = np.zeros((4, 4, 4))
    coordinates, values, _ = spots()
    dense[tuple(coordinates.T)] = values
    model, errors = parafac(dense, 6, init="random", random_state=0, return_errors=True)
    return is_finite(1 - errors[-1], model.factors)


def headless(read):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.tns"
        path.write_text("1 1 1 1.0\n2 2 2 2.0\n")
        return f"{read(str(path)).nnz} nonzeros"


def not_a_number(make):
    make(np.array([[0, 0, 0]]), np.array([np.nan]))
    return "accepted"


QUESTIONS = [
    ("Repeated coordinates of a sparse tensor", repeated_polyad, repeated_pyttb, None),
    ("CP-ALS of rank 6 on a tensor of rank 2", too_large_polyad, too_large_pyttb, too_large_tensorly),
    ("FROSTT text (`.tns`), which has no header", lambda: headless(polyad.read),
     lambda: headless(pyttb.import_data), None),
    ("A value that is not a number", lambda: not_a_number(
        lambda at, value: polyad.SparseTensor(at, value, (2, 2, 2))), lambda: not_a_number(
        lambda at, value: pyttb.sptensor(at, value[:, None], (2, 2, 2))), None),
]


def table():
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    rows = [f"| | polyad | pyttb {versions['pyttb']} | TensorLy {versions['tensorly']} |",
            "| --- | --- | --- | --- |"]
    for question, *asked in QUESTIONS:
        rows.append("| " + " | ".join([question] + [answer(ask) if ask else "–" for ask in asked]) +
                    " |")
    return "\n".join(rows) + "\n"


def main():
    page = PAGE.read_text()
    before, rest = page.split(START)
    found, after = rest.split(END)
    made = table()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(before + START + made + END + after)
        return 0
    heads = [re.findall(r"(?:pyttb|TensorLy) ([0-9.]+)", text.splitlines()[0]) for text in (found, made)]
    if heads[0] != heads[1]:
        print(f"the page is about versions {heads[0]}, installed are {heads[1]}: not checked")
        return 77
    if found != made:
        print(f"{PAGE.name} says otherwise; run tools/peer_table.py:\n{made}")
    return int(found != made)


if __name__ == "__main__":
    sys.exit(main())
