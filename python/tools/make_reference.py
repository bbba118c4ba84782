"""Writes the reference of the Python package from its docstrings.

usage: make_reference.py > docs/python/reference.md
"""

import inspect
import pathlib
import sys

import polyad
from polyad import plot

SECTIONS = [
    ("Tensors", polyad, ["SparseTensor", "DeviceTensor", "read", "generate", "norm", "innerprod"]),
    ("Decompositions", polyad, ["cp_als", "cp_apr", "cp_complete", "split", "prediction_score", "tucker", "tucker_ranks", "CPDecomposition",
                                "TuckerDecomposition"]),
    ("What results hold", polyad, ["RunInfo", "TraceRow", "StartInfo", "Transform", "Progress", "UpdateInfo",
                           "RankRow", "RankInfo", "Anomaly", "Statistics", "FormatInfo",
                           "FormatParameter", "DeviceInfo", "StreamInfo", "ScaleEstimate"]),
    ("Choosing the rank", polyad, ["rank_scan", "RankScan", "core_consistency"]),
    ("Models", polyad, ["KruskalTensor", "TuckerTensor", "score"]),
    ("New data", polyad, ["Updater", "update", "anomalies", "Anomalies"]),
    ("Kernels", polyad, ["Plan", "mttkrp", "ttmc", "gcp_objective"]),
    ("What there is", polyad, ["formats", "devices", "version", "plan_scale"]),
    ("Pictures (`polyad.plot`)", plot, [
        "components", "compare", "map", "heatmap", "core", "top", "similarity", "rank_scan",
        "convergence", "residuals", "slice_errors", "sparsity", "slices", "kind_of_mode"]),
    ("Errors", polyad, ["Error", "ArgumentError", "ParseError", "FileError", "MissingFileError",
                        "FilePermissionError", "MemoryLimitError", "UnsupportedError", "DeviceError",
                        "NotFittedError", "Interrupted"]),
]


def signature(thing: object) -> str:
    """Parameters without annotations, which the text explains."""
    try:
        given = inspect.signature(thing)
    except (TypeError, ValueError):
        return "()"
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in given.parameters.values()
             if p.name not in ("self", "cls")]
    return str(given.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def body(thing: object) -> str:
    text = inspect.getdoc(thing) or ""
    return text.replace("<", "&lt;")


def members(kind: type) -> list[tuple[str, object, bool]]:
    """Public methods and properties in the order of the source, inherited ones first."""
    found = {}
    for each in reversed(kind.__mro__[:-1]):
        for name in vars(each):
            if name.startswith("_") and name != "__getitem__":
                continue
            raw = inspect.getattr_static(kind, name)
            if isinstance(raw, property) or callable(getattr(kind, name)):
                found[name] = raw
    return [(name, raw if isinstance(raw, property) else getattr(kind, name),
             not isinstance(raw, property)) for name, raw in found.items()]


def plain_types(kind: type) -> dict[str, str]:
    """The keys of a TypedDict and how their types are written."""
    return {key: getattr(found, "__forward_arg__", str(found))
            for key, found in kind.__annotations__.items()}


def source(thing: object) -> str:
    """The file of the package that a function or class is in."""
    return f"Source: `python/polyad/{pathlib.Path(inspect.getsourcefile(thing)).name}`.\n"


def main() -> None:
    write = sys.stdout.write
    write("# Reference of the Python package\n\nMade from the docstrings by "
          "`python/tools/make_reference.py`.\n")
    for title, module, names in SECTIONS:
        write(f"\n## {title}\n")
        for name in names:
            thing = getattr(module, name)
            prefix = module.__name__
            plain = inspect.isclass(thing) and issubclass(thing, (BaseException, dict))
            write(f"\n### `{prefix}.{name}{'' if plain else signature(thing)}`\n\n")
            write(f"```text\n{body(thing)}\n```\n\n{source(thing)}")
            if inspect.isclass(thing) and issubclass(thing, dict):
                keys = [f"`{key}`: {kind}" for key, kind in plain_types(thing).items()]
                write("\n" + "; ".join(keys) + ".\n")
            if inspect.isclass(thing) and not plain:
                for member, value, call in members(thing):
                    write(f"\n#### `{name}.{member}{signature(value) if call else ''}`\n\n")
                    write(f"```text\n{body(value)}\n```\n")


if __name__ == "__main__":
    main()
