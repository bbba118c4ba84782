"""The table of limits in docs/reliability.md: each row is tried on both sides of its limit. What is
inside succeeds; what is outside is refused with the number that was expected."""

import pytest
from reliability_figures import record

INFO = ("info", "x.tns")
CPD = ("cpd", "good.tns", "-r", "2", "--max-iters", "1")
GENERATE = ("generate", "made.ptn", "--dims")


def option(name, most, status=2):
    return f"option {name}", most, (*CPD, name, most), (*CPD, name, most + 1), status, str(most)


def parameter(name, most):
    sides = [(*CPD, "--format", f"{name}={value}") for value in (most, most + 1)]
    return f"parameter {name}", most, *sides, 2, str(most)


# What is limited; the largest that is accepted, as the table prints it; the file or the options on
# either side; the status of the refusal; what the refusal names.
ROWS = [
    ("modes of a tensor", 16, "1 " * 16 + "1\n", "1 " * 17 + "1\n", 1, "16"),
    ("an index in a text file, from 1", 2 ** 63 - 1, f"{2 ** 63 - 1} 1 1 1\n", f"{2 ** 63} 1 1 1\n",
     1, str(2 ** 63 - 1)),
    ("bytes of one value in a text file", 2048, "1 1 1 0." + "1" * 2046 + "\n",
     "1 1 1 0." + "1" * 2047 + "\n", 1, "2048"),
    ("a value's magnitude, f64", "1.7976931348623157e308", "1 1 1 1.7976931348623157e308\n",
     "1 1 1 1.8e308\n", 1, "1.8e308"),
    option("--seed", 2 ** 64 - 1),
    option("--max-iters", 999999999),
    option("--restarts", 1000000),
    option("--top", 100),
    parameter("flycoo:kappa", 1048576),
    parameter("hls:tile-threshold", 4097),
    parameter("flycoo:block-columns", 64),
    ("nonzeros of a generated tensor: the cells", 24, (*GENERATE, "2,3,4", "--nnz", 24),
     (*GENERATE, "2,3,4", "--nnz", 25), 1, "24"),
    ("rank of a mode in Tucker: its length", 2, ("tucker", "good.tns", "-r", "2,2,2"),
     ("tucker", "good.tns", "-r", "3,2,2"), 1, "2"),
]


def run_side(polyad, side, status, says):
    arguments = side
    if isinstance(side, str):
        polyad.write("x.tns", side)
        arguments = INFO
    elif side[0] == "cpd" and ("--restarts" in side or "--max-iters" in side[5:]):
        arguments = (*side, "--max-seconds", "0.001")
    if status == 0:
        polyad.ok(*arguments)
    else:
        polyad.fails(status, *arguments, says=says)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_both_sides(polyad, row):
    _, _, inside, outside, status, says = row
    run_side(polyad, inside, 0, ())
    run_side(polyad, outside, status, says)


def test_index_base_0(polyad):
    """Counting from 0 takes one from the largest index."""
    for largest, status in ((2 ** 63 - 2, 0), (2 ** 63 - 1, 1)):
        polyad.write("x.tns", f"{largest} 0 0 1\n")
        assert polyad.run(*INFO, "--index-base", "0").status == status


def test_single_precision(polyad):
    for value, status in (("3.4028234663852886e38", 0), ("3.41e38", 1)):
        polyad.write("x.tns", f"1 1 1 {value}\n")
        assert polyad.run(*INFO, "--precision", "f32").status == status


def test_columns_of_delimited_text(polyad):
    for fields, status in ((4096, 0), (4097, 1)):
        names = ",".join(f"c{k}" for k in range(fields))
        polyad.write("x.csv", f"{names}\n" + ",".join("1" * fields) + "\n")
        assert polyad.run("info", "x.csv", "--columns", "c0,c1").status == status


def test_the_table_is_recorded():
    rows = [[what, str(most)] for what, most, *_ in ROWS]
    rows += [["an index in a text file, from 0", str(2 ** 63 - 2)],
             ["a value's magnitude, f32", "3.4028234663852886e38"],
             ["columns of delimited text", "4096"]]
    record("limits", rows=rows)
