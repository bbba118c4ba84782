#!/usr/bin/env python3
"""No public header names a storage format, except as an example: what formats can and take is said by
their tables, which `polyad formats` shows. Neither does an algorithm.

usage: named_formats.py   (in the tree's root)
"""

import pathlib
import re
import sys

# Names that are words of their own as well.
WORDS = {"dense", "portable"}
EXAMPLE = re.compile(r'such as "\w+', re.S)


def formats():
    tables = pathlib.Path("src/formats/tables.h").read_text()
    listed = tables.split("#define PD_FORMATS(X)")[1].split("/**")[0]
    return set(re.findall(r"X\((\w+)\)", listed)) - WORDS


def found(text, names):
    for match in re.finditer(rf"\b({'|'.join(sorted(names))})\b", text):
        if not EXAMPLE.search(text[max(0, match.start() - 12):match.end()]):
            yield text.count("\n", 0, match.start()) + 1, match[1]


def main():
    names, complaints = formats(), []
    headers = sorted(pathlib.Path("include/polyad").glob("*.h"))
    algorithms = sorted(path for path in pathlib.Path("src/algorithms").glob("*.[ch]"))
    for path in [*headers, *algorithms]:
        complaints += [f"{path}:{line}: names format {name}" for line, name in found(path.read_text(), names)]
    if len(names) < 10 or len(headers) < 10 or len(algorithms) < 10:
        complaints.append("formats, headers or algorithms were not found")
    if not list(found("Needs format csf.", {"csf"})) or list(found('one, such as "csf"', {"csf"})):
        complaints.append("a format that is named is not found, or an example is")
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
