"""The command polyad-table: Parquet and Arrow files, which the command polyad has no library for.

``polyad cpd`` reads delimited text from a pipe: ``polyad-table trips.parquet | polyad cpd - -r 8
--input-format csv``. Rows are converted one batch at a time. The other way, ``polyad-table model.ptm
-o model.parquet`` writes a model as a long table; the command runs it so for ``--output m.parquet``."""

from __future__ import annotations

import argparse
import importlib
import sys

from ._errors import Error, ParseError
from ._files import is_table, write_delimited
from ._model import KruskalTensor
from ._tucker_model import TuckerTensor


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="polyad-table",
        description="Writes a Parquet or Arrow file as delimited text for polyad to read, or a model "
                    "as a Parquet file.",
        epilog="examples: polyad-table trips.parquet | polyad cpd - -r 8 --input-format csv "
               "--columns when:hour,city --value fare; polyad-table model.ptm -o model.parquet")
    made.add_argument("file", nargs="?", help="a file whose name ends in .parquet, .arrow, .feather or .ipc; with "
                                   "--output a model (.ptm, .npz, .ktensor, .ttensor)")
    made.add_argument("--columns", metavar="NAME,…", help="columns to write (default: all)")
    made.add_argument("-o", "--output", metavar="FILE.parquet",
                      help="write a model as a long table: component, mode, label, strength, weight")
    made.add_argument("--check", action="store_true",
                      help="do nothing but say whether Parquet files can be written here")
    return made


def write_model(source: str, output: str) -> None:
    """Writes a model of either kind as a Parquet file."""
    model: KruskalTensor | TuckerTensor
    try:
        model = KruskalTensor.load(source)
    except ParseError as error:
        if "Tucker" not in str(error) and "ttensor" not in str(error):
            raise
        model = TuckerTensor.load(source)
    model.save(output)


def check_libraries() -> None:
    """Whether what writes Parquet files is here."""
    for needed in ("pyarrow", "pandas"):
        try:
            importlib.import_module(needed)
        except ImportError:
            raise ImportError(f"{needed}, which Parquet files need, is not installed "
                              "(pip install 'polyad[tables]')") from None


def wrong_use(options: argparse.Namespace) -> str | None:
    """What is wrong with the names that were given."""
    if options.file is None:
        return "expected the name of a file"
    if options.output is None:
        return None if is_table(options.file) else (
            f"{options.file}: expected a name that ends in .parquet, .arrow, .feather or .ipc")
    if not options.output.endswith(".parquet"):
        return f"--output {options.output}: expected a name that ends in .parquet"
    return "--columns is for tables, not for models" if options.columns is not None else None


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    wrong = None if options.check else wrong_use(options)
    if wrong is not None:
        print(f"polyad-table: error: {wrong}", file=sys.stderr)
        return 2
    try:
        if options.check:
            check_libraries()
        elif options.output is not None:
            write_model(options.file, options.output)
        else:
            write_delimited(options.file, sys.stdout.buffer, options.columns)
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        sys.stderr.close()  # the reader has ended, and has said why
        return 1
    except (Error, OSError, ImportError, TypeError) as error:
        print(f"polyad-table: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
