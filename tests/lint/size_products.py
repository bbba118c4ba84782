#!/usr/bin/env python3
"""Forbids products of two sizes in the counts of allocations: they may wrap, and the memory be too
small. pd_mul_saturated() gives a count that is refused instead. Products with a constant are left
alone: their other factor counts something that is in memory already, or is bounded itself.

usage: size_products.py [ROOT]
"""

import pathlib
import re
import sys

CALL = re.compile(r"\b(?:PD_NEW|PD_NEW_ZERO|pd_alloc|pd_alloc_zero|pd_realloc)\(")
CONSTANT = r"(?:\d+|[A-Z][A-Z_0-9]+)"
PLANTED = "PD_TRY(PD_NEW(context, (uint64_t)rows * f(a, b) + 1, &x));"
HARMLESS = ("PD_NEW(context, 2 * count, &x)", "PD_NEW(context, pd_mul_saturated(a, b), &x)",
            "pd_realloc(context, count, sizeof *run->starts, &x)")


def arguments_of(text, begin):
    """What stands between the commas of the call whose bracket opens before `begin`."""
    found, depth, start = [], 0, begin
    for at in range(begin, len(text)):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}" and depth > 0:
            depth -= 1
        elif text[at] in ",)" and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
            if text[at] == ")":
                break
    return found


def wrong_counts(text):
    """(offset, count) of every product of sizes."""
    for call in CALL.finditer(text):
        arguments = arguments_of(text, call.end())
        if len(arguments) < 3:
            continue
        count = re.sub(rf"\b{CONSTANT} \* |(?<=[\w\])]) \* {CONSTANT}\b", "", arguments[1])
        if re.search(r"[\w\])] \* [\w(]", count):
            yield call.start(), arguments[1]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    assert list(wrong_counts(PLANTED)), "the planted product is not found"
    assert not any(list(wrong_counts(text)) for text in HARMLESS)
    bad = 0
    for path in sorted((root / "src").rglob("*.c")):
        text = path.read_text()
        for offset, count in wrong_counts(text):
            line = text.count("\n", 0, offset) + 1
            print(f"{path}:{line}: {count}: expected pd_mul_saturated()")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
