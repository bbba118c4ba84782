"""The command polyad-table: a Parquet or Arrow file as delimited text, for polyad to read.

``polyad cpd`` reads delimited text from a pipe: ``polyad-table trips.parquet | polyad cpd - -r 8
--input-format csv``. Rows are converted one batch at a time."""

from __future__ import annotations

import argparse
import sys

from ._errors import Error
from ._files import is_table, write_delimited


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="polyad-table", description="Writes a Parquet or Arrow file as delimited text.",
        epilog="example: polyad-table trips.parquet | polyad cpd - -r 8 --input-format csv "
               "--columns when:hour,city --value fare")
    made.add_argument("file", help="a file whose name ends in .parquet, .arrow, .feather or .ipc")
    made.add_argument("--columns", metavar="NAME,…", help="columns to write (default: all)")
    return made


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if not is_table(options.file):
        print(f"polyad-table: error: {options.file}: expected a name that ends in .parquet, .arrow, "
              ".feather or .ipc", file=sys.stderr)
        return 2
    try:
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
