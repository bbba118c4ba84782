"""Types: mypy passes the package, results have types, and wrong words are errors in a user's program."""

import importlib.util
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

import polyad
import polyad.plot

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_types_check():
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stdout


def test_wrong_words_are_type_errors():
    pytest.importorskip("mypy")
    program = "\n".join([
        "import polyad", "x = polyad.generate((3, 3), 5)[0]", "m = polyad.cp_als(x, 2, seed=None)",
        "fit: float = m.info['fit']",
        "polyad.cp_als(x, 2, init='nosuch')", "polyad.cp_als(x, 2, precision='f16')",
        "polyad.tucker(x, 2, svd='fast')", "polyad.cp_apr(x, 2, algorithm='newton')",
        "polyad.cp_als(x, 2, on_interrupt='ignore')", "m.info['fits']",
        "x.to_dataframe('numpy')"])
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports",
                           "-c", program], cwd=ROOT,
                          text=True, capture_output=True, env={**os.environ, "MYPYPATH": str(ROOT / "python")})
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines()
             if line.startswith("<string>") and ": error:" in line}
    assert lines == set(range(5, 12)), done.stdout


def results():
    """Every result of the public interface, as (where, its annotation in words)."""
    for module, names in ((polyad, polyad.__all__), (polyad.plot, polyad.plot.__all__)):
        for name in names:
            thing = getattr(module, name)
            if not inspect.isclass(thing):
                yield name, thing.__annotations__["return"]
                continue
            for base in [each for each in thing.__mro__ if each.__module__.startswith("polyad")]:
                for field, kind in vars(base).get("__annotations__", {}).items():
                    yield f"{name}.{field}", getattr(kind, "__forward_arg__", str(kind))
                for member, each in vars(base).items():
                    each = each.fget if isinstance(each, property) else getattr(each, "__func__", each)
                    if inspect.isfunction(each) and not re.fullmatch("_[^_].*", member):
                        yield f"{name}.{member}", str(each.__annotations__.get("return"))


def test_no_result_is_anything():
    found = dict(results())
    assert len(found) > 250 and found["RunInfo.trace"] == "list[TraceRow]"
    # Part is SparseTensor | Any: a number where no mode is left, which its values alone tell.
    # Unpacking has one type for all items, and whoever unpickles knows what was pickled.
    known = {f"{kind}Tensor.__iter__" for kind in ("Kruskal", "Tucker")}
    named = {where for where, kind in found.items() if re.search(r"\bAny\b", kind)}
    python = ("__reduce__", "__array__", "__getstate__", "__sklearn_tags__")  # asked for by protocols
    assert {where for where in named if not where.endswith(python)} == known
    assert {where.split(".")[-1] for where, kind in found.items() if "Part" in kind} == {
        "__getitem__", "collapse", "sel", "sum", "ttv"}


def revealed(expressions, *options):
    """What mypy says of expressions in a user's program."""
    program = "\n".join(["import numpy, polyad, polyad.plot", "x = polyad.generate((3, 3), 5)[0]",
                         "m, t = polyad.cp_als(x, 2, callback=lambda p: p['fit'] > 0.9), polyad.tucker(x, 2)",
                         "weights, factors = m", "print(weights.sum(), factors[0].shape)",
                         *(f"reveal_type({each})" for each in expressions)])
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports",
                           *options, "-c", program], cwd=ROOT, text=True, capture_output=True,
                          env={**os.environ, "MYPYPATH": str(ROOT / "python")})
    told = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert len(told) == len(expressions) and done.returncode == 0, done.stdout
    return dict(zip(expressions, told))


def test_types_of_results():
    pytest.importorskip("mypy")
    wanted = {"x.sum()": "float", "x.collapse(how='max')": "float", "x[:1]": "SparseTensor",
              "x[..., 0]": "SparseTensor", "x[[0, 2], 1:]": "SparseTensor",
              "x[numpy.arange(2)]": "SparseTensor", "x[0]": "SparseTensor | Any",
              "x.ttv({0: [1, 2, 3]})": "SparseTensor | Any", "m.info['fit']": "float",
              "m.info['trace'][0]['iteration']": "int", "m.top(0, 0)": "list[tuple[int | str, float]]",
              "polyad.rank_scan(x, 2).ranks[0]['fit_best']": "float | None",
              "polyad.anomalies(m, x)[0]['p']": "float", "polyad.devices()[0]['processors']": "int",
              "polyad.CPDecomposition(2).model_": "KruskalTensor",
              "polyad.CPDecomposition(2).inverse_transform([[1.0, 2.0]])": "KruskalTensor | TuckerTensor"}
    for expression, kind in revealed(list(wanted)).items():
        assert re.sub(r"polyad\._\w+\.", "", kind) == wanted[expression], expression


def test_types_of_other_packages():
    pytest.importorskip("mypy")
    wanted = {"pyttb": {"x.to_pyttb()": "sptensor", "m.to_pyttb()": "ktensor", "t.to_pyttb()": "ttensor"},
              "tensorly": {"m.to_tensorly()": "CPTensor", "t.to_tensorly()": "TuckerTensor"},
              "scipy": {"x.to_scipy()": "coo_array", "x.unfold(0)": "csr_array"},
              "pandas": {"x.to_dataframe()": "DataFrame", "m.to_dataframe()": "DataFrame",
                         "m.factor(0)": "DataFrame"},
              "polars": {"x.to_dataframe('polars')": "polars.dataframe.frame.DataFrame"},
              "sparse": {"x.to_sparse()": "COO"}, "torch": {"x.to_torch()": "Tensor"},
              "xarray": {"x.to_xarray()": "DataArray", "m.to_xarray()": "Dataset"},
              "matplotlib": {"polyad.plot.components(m)": "Figure"}}
    here = {expression: kind for package, each in wanted.items()
            if importlib.util.find_spec(package) for expression, kind in each.items()}
    for expression, kind in revealed(list(here), "--follow-untyped-imports").items():
        assert kind.endswith(here[expression]), expression
