"""Tables in: columns of times, rows that are chosen, rows that lack something, how rows are joined."""

import csv
import datetime
import math
import os
import pathlib
import random
import subprocess
import sys

import pytest
from conftest import COMMAND


def rows_of(polyad, *options, name="t.csv"):
    """The rows of a table as polyad reads it, by the names of the columns."""
    polyad.ok("convert", name, "out.csv", *options)
    with open(polyad.path("out.csv"), newline="") as file:
        return list(csv.DictReader(file))


def write(polyad, lines, header="when,x,value"):
    polyad.write("t.csv", "\n".join([header, *lines]) + "\n")


# ---- times ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("text", [
    "2024-03-09 17:05", "2024-03-09T17:05:30", "2024-03-09 17:05:30.25", "2024/3/9 17:05",
    "20240309T17:05", "9.3.2024 17:05", "09.03.2024 17:05:59", "2024-03-09 5:05 PM",
    "9.3.2024 5:05pm", "2024-03-09T17:05Z", "2024-03-09 17:05:30+01:00", "2024-03-09T17:05-0330",
    "2024-03-09 17:05:00 UTC", " 2024-03-09  17:05 "])
def test_forms_of_times(polyad, text):
    write(polyad, [f"{text},a,1"])
    columns = ",".join(f"when:{unit}" for unit in ("hour", "weekday", "date", "week", "month"))
    [row] = rows_of(polyad, "--columns", columns)
    assert row == {"when:hour": "17", "when:weekday": "6 Saturday", "when:date": "2024-03-09",
                   "when:week": "2024-W10", "when:month": "2024-03", "value": "1"}


def test_days_agree_with_the_calendar(polyad):
    """Weekdays and ISO weeks of days at the ends of years, in leap years and of any century."""
    draw = random.Random(5)
    days = {datetime.date(year, month, day) for year in range(1995, 2030)
            for month, day in ((1, 1), (1, 2), (1, 3), (1, 4), (12, 28), (12, 29), (12, 31))}
    days |= {datetime.date.fromordinal(draw.randint(1, 3652059)) for _ in range(500)}
    days |= {datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(2000, 2, 29)}
    write(polyad, [f"{day.isoformat()},a,1" for day in sorted(days)])
    found = rows_of(polyad, "--columns", "when:date,when:weekday,when:week,when:month")
    names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    expected = [{"when:date": day.isoformat(),
                 "when:weekday": f"{day.isoweekday()} {names[day.weekday()]}",
                 "when:week": "{:04d}-W{:02d}".format(*day.isocalendar()[:2]),
                 "when:month": day.isoformat()[:7], "value": "1"} for day in sorted(days)]
    assert found == expected


@pytest.mark.parametrize("text", ["3/9/2024", "03-09-2024 17:05", "3/9/2024 5 PM"])
def test_an_ambiguous_date_shows_both_readings(polyad, text):
    write(polyad, ["2024-01-01,a,1", f"{text},b,2"])
    polyad.fails(1, "info", "t.csv", "--columns", "when:date,x",
                 says=("t.csv:3:1", text, "2024-09-03 or 2024-03-09", "=dmy", "=mdy"))
    for order, day in (("dmy", "2024-09-03"), ("mdy", "2024-03-09")):
        assert rows_of(polyad, "--columns", f"when:date={order},x")[1]["when:date"] == day


@pytest.mark.parametrize("text,day", [("13/4/2024", "2024-04-13"), ("4/13/2024", "2024-04-13"),
                                      ("5/5/2024", "2024-05-05"), ("30-2-2024", None),
                                      ("29/2/2023", None), ("13/13/2024", None)])
def test_dates_of_one_reading(polyad, text, day):
    write(polyad, [f"{text},a,1"])
    if day is None:
        polyad.fails(1, "info", "t.csv", "--columns", "when:date,x", says=("t.csv:2:1", "no date"))
    else:
        assert rows_of(polyad, "--columns", "when:date,x")[0]["when:date"] == day


@pytest.mark.parametrize("text", [
    "2024-02-30", "2023-02-29", "2024-13-01", "2024-00-10", "0000-01-01", "2024-3", "2024", "soon",
    "24-03-09", "3/9/24", "2024-03-09x", "2024-03-09 24:00", "2024-03-09 17:60", "2024-03-09 13:00 PM",
    "2024-03-09 17:05 CEST", "2024-03-09T", "2024-03-09 17:05+1", "1710003900", "", "\u0662024-03-09"])
def test_what_is_no_time(polyad, text):
    write(polyad, ["2024-01-01,a,1", f"{text},b,2"])
    polyad.fails(1, "info", "t.csv", "--columns", "when:date,x", says="t.csv:3:1")


def test_an_hour_needs_a_time_of_day(polyad):
    write(polyad, ["2024-03-09 0:00,a,1", "2024-03-10,a,1"])
    polyad.fails(1, "info", "t.csv", "--columns", "when:hour,x",
                 says=("t.csv:3:1", "has no time of day"))


@pytest.mark.parametrize("columns,says", [
    ("when:day,x", "no column 'when:day'"), ("when:hour,when:hour", "chosen twice"),
    ("when,when:hour", "chosen twice"), ("when:date=ymd,x", "no column")])
def test_wrong_columns(polyad, columns, says):
    write(polyad, ["2024-03-09 17:05,a,1"])
    polyad.fails(1, "info", "t.csv", "--columns", columns, says=says)


def test_a_column_of_that_name_comes_first(polyad):
    write(polyad, ["2024-03-09,a,1"], header="when:hour,x,value")
    assert rows_of(polyad, "--columns", "when:hour,x")[0]["when:hour"] == "2024-03-09"


def test_times_are_the_same_with_any_number_of_threads(polyad):
    """Blocks of many rows are read by all threads; the first error is the same."""
    draw = random.Random(1)
    start = datetime.datetime(2023, 12, 1)
    lines = [f"{start + datetime.timedelta(minutes=draw.randrange(90 * 1440))},p{draw.randrange(50)},1"
             for _ in range(40000)]
    write(polyad, lines)
    options = ("--columns", "when:hour,x,when:weekday,when:week")
    found = [polyad.json("info", "t.csv", *options, "--threads", threads)["hash"]
             for threads in (1, 2, 5)]
    assert len(set(found)) == 1
    total = sum(int(row["value"]) for row in rows_of(polyad, *options))
    assert total == 40000
    lines[31000] = "3/4/2024 1:00,p1,1"
    write(polyad, lines)
    for threads in (1, 4):
        polyad.fails(1, "info", "t.csv", *options, "--threads", threads, says="t.csv:31002:1")


# ---- rows ----------------------------------------------------------------------------------------

TABLE = ["2024-03-09 17:05,a,1", "2024-03-09 23:30,a,5", '2024-03-10 1:00,"b ""q""",2',
         "2024-03-11 2:00,c,7.5"]


@pytest.mark.parametrize("where,values", [
    ("x=a", [1, 5]), ('x=b "q"', [2]), ("value>2", [5, 7.5]), ("value<2", [1]), ("value>1,x=a", [5]),
    ("when>2024-03-09T17:05", [2, 5, 7.5]), ("when<2024-03-10", [1, 5]),
    ("when>2024-03-09 18:00,when<2024-03-11", [2, 5]), ("value>-1e3", [1, 2, 5, 7.5])])
def test_where(polyad, where, values):
    write(polyad, TABLE)
    found = rows_of(polyad, "--columns", "when,x", "--where", where)
    assert sorted(float(row["value"]) for row in found) == values


def test_labels_of_rows_left_out_are_none(polyad):
    write(polyad, TABLE)
    assert polyad.json("info", "t.csv", "--columns", "x", "--where", "value<3")["dims"] == [2]


@pytest.mark.parametrize("where,says", [
    ("x", "condition 'x'; expected COLUMN=TEXT"), ("=a", "expected COLUMN=TEXT"),
    ("y=a", "no column 'y'"), ("value<x", "expected COLUMN=TEXT"), ("x=a,", "expected COLUMN=TEXT"),
    ("x<3", "t.csv:2:18: error: 'a' cannot be compared with a number; expected a number (missing: skip"),
    ("value>2024-03-09", "cannot be compared with a date"), ("x=nobody", "no row is left"),
    (",".join(["x=a"] * 33), "32 at most")])
def test_wrong_conditions(polyad, where, says):
    write(polyad, TABLE)
    polyad.fails(1, "info", "t.csv", "--columns", "when,x", "--where", where, says=says)


def test_conditions_need_columns(polyad):
    polyad.fails(1, "info", "good.tns", "--where", "x=a",
                 says="options of tables (columns, value, delimiter, where, missing, numbers, time zone) are given "
                      "for a file that is no table; expected delimited text")
    polyad.fails(1, "info", "good.tns", "--missing", "skip", says="expected delimited text")


def test_missing(polyad):
    write(polyad, ["2024-03-09,a,1", "2024-03-10,NA,2", ",a,3", "2024-03-11,b,NaN", "2024-03-12,c,9"])
    columns = ("--columns", "when:date,x")
    done = polyad.ok("info", "t.csv", *columns, "--missing", "skip", "--json", "j.json")
    assert "rows skipped that lack a label or value: 3" in done.err
    assert [row["value"] for row in rows_of(polyad, *columns, "--missing", "skip")] == ["1", "9"]
    polyad.fails(1, "info", "t.csv", *columns, "--missing", "error",
                 says=("t.csv:3:12", "'NA' stands for nothing"))
    polyad.fails(1, "info", "t.csv", *columns, says="t.csv:4:1")
    # A column that is not used may lack what it likes.
    found = rows_of(polyad, "--columns", "x", "--missing", "skip")
    assert [(row["x"], row["value"]) for row in found] == [("a", "4"), ("c", "9")]


@pytest.mark.parametrize("how,value", [("sum", "9"), ("count", "4"), ("mean", "2.25"), ("min", "-1"),
                                       ("max", "7"), ("last", "1")])
def test_aggregate(polyad, how, value):
    write(polyad, ["a,x,2", "b,x,5", "a,x,7", "a,x,-1", "a,x,1"])
    for option in ("--aggregate", "--duplicates"):
        found = rows_of(polyad, option, how)
        assert [row["value"] for row in found] == [value, "1" if how == "count" else "5"]


def test_pipes_name_their_format(polyad):
    text = "a\tb,c\tv\nx\ty\t1\nz\ty\t2\n"
    shown = polyad.json("info", "-", "--value", "v", "--input-format", "tsv",
                        stdin=text.encode())
    assert shown["dims"] == [2, 1]
    polyad.write("odd", text.replace("\t", ";"))
    shown = polyad.json("info", "odd", "--value", "v", "--input-format", ".csv", "--delimiter", ";")
    assert shown["dims"] == [2, 1]
    polyad.fails(2, "info", "-", "--input-format", "parquet",
                 says=["--input-format 'parquet' found; expected", "by their name, not from a pipe"])


# ---- Parquet and Arrow files, by another program -------------------------------------------------

# Stands for polyad-table: "Parquet" files are its text, and a model is copied as it is. Files that
# are called bad cannot be read, and of those called long rows never end.
STAND_IN = """#!/bin/sh
echo "$@" >>"$POLYAD_CALLS"
case "$*" in
*bad*) echo "polyad-table: error: no table" >&2; exit 1 ;;
*killed*) kill -9 $$ ;;
*long*) while echo "Bonn,x"; do :; done; exit 1 ;;
--check) exit "${POLYAD_MISSING:-0}" ;;
--output=*) cp -- "$3" "${1#--output=}" ;;
*) for last in "$@"; do :; done; cat -- "$last" ;;
esac
"""


@pytest.fixture
def tables(polyad, monkeypatch, tmp_path_factory):
    """The calls of the other program, as lines of text."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "polyad-table"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setenv("POLYAD_CALLS", str(folder / "calls"))
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("scratch")))
    write(polyad, ["2024-03-09,Bonn,1", "2024-03-10,Bonn,2", "2024-03-10,Ulm,4"], "when,city,fare")
    return folder / "calls"


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather", "t.ipc", "-t.parquet"])
def test_tables_of_the_other_program_are_read(polyad, tables, name):
    polyad.path("t.csv").rename(polyad.path(name))
    options = ["--columns", "when:month,city", "--value", "fare", "--where", "fare>1", "--json", "-"]
    assert polyad.ok("info", *options, "--", name).json["value_sum"] == 6
    assert tables.read_text() == f"--columns=when:month,city fare fare>1 -- {name}\n"
    tables.unlink()
    assert polyad.ok("info", "--json", "-", "--value", "fare", "--", name).json["dims"] == [2, 2]
    assert tables.read_text() == f"-- {name}\n"  # without --columns all are needed
    polyad.fails(1, "info", "--columns", "town", "--", name, says=("<stdin>:1:", "town"))


def test_tables_of_which_only_a_part_came_are_refused(polyad, tables):
    for name in ("bad.parquet", "long.parquet", "killed.parquet"):
        polyad.path("t.csv").rename(polyad.path(name)).with_name("t.csv").write_text("")
    result = polyad.run("info", "bad.parquet")
    assert (result.status, result.err) == (1, "polyad-table: error: no table\n")
    assert "only" not in result.err and result.out == b""
    polyad.fails(1, "info", "killed.parquet", says=("'killed.parquet'", "ended by signal 9"))
    polyad.fails(1, "info", "long.parquet", "--value", "x", says="<stdin>:2:")  # and does not wait
    # Its text is what is read, so that these go past it.
    polyad.fails(1, "info", "killed.parquet", "--delimiter", ";")
    polyad.fails(1, "info", "killed.parquet", "--input-format", "tns")


def test_models_as_parquet_files(polyad, tables):
    for command in (["cpd", "good.tns", "-r", "1"], ["tucker", "good.tns", "-r", "1"]):
        polyad.ok(*command, "-o", "m.parquet")
        polyad.ok(*command, "-o", "m.ptm")
        assert polyad.path("m.parquet").read_bytes() == polyad.path("m.ptm").read_bytes()
        assert not list(pathlib.Path(os.environ["TMPDIR"]).iterdir())
        polyad.path("m.parquet").unlink()
        result = polyad.run(*command, "-o", "bad.parquet")
        assert (result.status, result.err) == (1, "polyad-table: error: no table\n")
        assert not list(pathlib.Path(os.environ["TMPDIR"]).iterdir())
        polyad.fails(1, *command, "-o", "m.parquet", env={"TMPDIR": "/nowhere"}, says="/nowhere")
        # What is missing is told before the work.
        polyad.path("m.ptm").unlink()
        result = polyad.run(*command, "-o", "m.parquet", "--report", "m.html",
                            env={"POLYAD_MISSING": "1"})
        assert result.status == 1 and not polyad.path("m.html").exists()


def test_other_program_is_missing(polyad):
    here = {"PATH": "/nowhere"}
    polyad.fails(1, "cpd", "good.tns", "-r", "1", "-o", "m.parquet", env=here,
                 says=("'m.parquet'", "polyad-table", "pip install"))
    polyad.write("t.parquet", "PAR1")
    polyad.fails(1, "info", "t.parquet", env=here, says=("'t.parquet'", "pip install"))


def test_parquet_both_ways(polyad, monkeypatch, tmp_path):
    """With the program that is there in truth."""
    package = pathlib.Path(COMMAND).resolve().parent / "python"
    python = package / "venv/bin/python"
    python = str(python) if python.exists() else sys.executable
    known = subprocess.run([python, "-c", "import pandas, pyarrow, polyad"], capture_output=True,
                           env={**os.environ, "PYTHONPATH": str(package)}, check=False)
    if known.returncode != 0:
        pytest.skip("polyad's package, pandas and pyarrow are not there together")
    program = tmp_path / "polyad-table"
    program.write_text(f"#!/bin/sh\nPYTHONPATH={package} exec {python} -m polyad._table_command \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    write(polyad, ["2024-03-09,Bonn,1.5", "2024-03-10,Bonn,2", "2024-03-10,Ulm,4"], "when,city,value")
    turn = "import pandas; pandas.read_csv('t.csv', parse_dates=['when']).to_parquet('t.parquet')"
    subprocess.run([python, "-c", turn], cwd=polyad.folder, check=True)
    columns = ("--columns", "when:date,city")
    assert rows_of(polyad, *columns, name="t.parquet") == rows_of(polyad, *columns)
    polyad.ok("cpd", "t.parquet", *columns, "-r", "2", "-o", "m.parquet")
    polyad.ok("cpd", "t.parquet", *columns, "-r", "2", "-o", "m.csv")
    turn = "import pandas; pandas.read_parquet('m.parquet').to_csv('n.csv', index=False)"
    subprocess.run([python, "-c", turn], cwd=polyad.folder, check=True)
    tables = []
    for name in ("m.csv", "n.csv"):
        with open(polyad.path(name), newline="") as file:
            tables.append(sorted((row["component"], row["mode"], row["label"], float(row["strength"]))
                                 for row in csv.DictReader(file)))
    assert tables[0] == tables[1]
    polyad.path("m.parquet").write_text("no table")
    result = polyad.run("info", "m.parquet")
    assert result.status == 1 and result.err.startswith("polyad-table: error: m.parquet: ")


# ---- amounts that nobody named -------------------------------------------------------------------

def test_a_column_of_amounts_is_told(polyad):
    polyad.write("t.csv", "rating,hour,city\n4.5,1,a\n3,2,b\n")
    err = polyad.run("info", "t.csv").err
    assert "column 'rating' has only numbers" in err and "'hour'" not in err
    polyad.write("t.csv", "hour,city,fare\n1,a,12\n2,b,15\n")
    err = polyad.run("info", "t.csv").err
    assert "column 'fare' has only numbers" in err and "(--value 'fare')" in err
    for options in (["--value", "fare"], ["--columns", "hour,city,fare"], ["--pattern"]):
        assert "only numbers" not in polyad.run("info", "t.csv", *options).err
    polyad.fails(1, "info", "t.csv", "--columns", "hour:year,city",
                 says=["no column 'hour:year'", ", which round=D, bin=W, hour, weekday, date"])
    assert "round=D" not in polyad.fails(1, "info", "t.csv", "--columns", "our:year,city").err
    polyad.write("t.csv", "hour,city\n1,a\n2,b\n")
    assert "only numbers" not in polyad.run("info", "t.csv").err


@pytest.mark.parametrize("amounts, options, advice", [
    (["1,200.50", "3"], [], "(--value 'fare' --numbers grouped)"),
    (["$12", "$15.50"], [], "(--value 'fare' --numbers grouped)"),
    (["1,200", "2,300"], [], "(--value 'fare' --numbers point|comma)"),
    (["1,5", "2,25"], ["--numbers", "comma"], "(--value 'fare')"),
    (["1,200.50", ""], ["--numbers", "grouped"], "(--value 'fare')"),
    (["1,200.50", "many"], [], None),
    (["", ""], [], None),
    (["2024-03-05", "2024-03-06"], [], None),
    (["1.2.3", "4.5.6"], [], None),
])
def test_amounts_as_people_write_them_are_told(polyad, amounts, options, advice):
    rows = "".join(f'a{k},"{amount}"\n' for k, amount in enumerate(amounts))
    polyad.write("t.csv", "city,fare\n" + rows)
    err = polyad.run("info", "t.csv", *options).err
    assert (f"column 'fare' has only numbers" in err) == (advice is not None)
    assert advice is None or advice in err
    if advice is not None and "|" not in advice:
        words = advice.strip("()").replace("'", "").split()
        assert "only numbers" not in polyad.ok("info", "t.csv", *words, *options,
                                               "--missing", "skip").err


# ---- numbers as people write them ----------------------------------------------------------------

def value_of(polyad, text, *options):
    """The value that a field is read as."""
    polyad.write("t.csv", 'x,value\na,"%s"\n' % text.replace('"', '""'))
    [row] = rows_of(polyad, *options)
    return float(row["value"])


@pytest.mark.parametrize("text,value", [
    ("1,234,567", 1234567), ("1.234.567", 1234567), ("1,234.5", 1234.5), ("1.234,5", 1234.5),
    ("12,5", 12.5), ("0,125", 0.125), ("0.125", 0.125), ("1234.567", 1234.567), ("1234,567", 1234.567),
    ("1 234,567", 1234.567), ("1'234.567", 1234.567), ("1\u202f234,5", 1234.5), ("12", 12), (".5", 0.5),
    ("$12", 12), ("-$12.5", -12.5), ("$-12.5", -12.5), ("(1,234.50)", -1234.5), ("€ 1.234,50", 1234.5),
    ("1.234,50 €", 1234.5), ("12.5 EUR", 12.5), ("CHF 1'234.50", 1234.5), ("\u221212,5", -12.5),
    ("£12", 12), ("+12", 12), ("1.5e3", 1500), (" 7 ", 7), ("₹5", 5)])
def test_grouped_numbers(polyad, text, value):
    assert value_of(polyad, text, "--numbers", "grouped") == value


@pytest.mark.parametrize("text,point,comma", [("1,234", 1234, 1.234), ("1.234", 1.234, 1234),
                                              ("$12,345", 12345, 12.345)])
def test_a_number_of_two_readings_shows_both(polyad, text, point, comma):
    polyad.write("t.csv", f'x,value\na,1\nb,"{text}"\n')
    polyad.fails(1, "info", "t.csv", "--numbers", "grouped",
                 says=("t.csv:3:4", text, f"{point} or {comma}", "point or comma"))
    for how, value in (("point", point), ("comma", comma)):
        assert value_of(polyad, text, "--numbers", how) == value


@pytest.mark.parametrize("how,text", [
    *(("grouped", text) for text in (
        "12K", "5 MWh", "12%", "1,23,456", "1,2345.6", "1.234.5", "1,234 567.8", "$12 EUR", "", "$", "--5",
        "+-5", "(-5)", "1-2", "0x10", "nan", "1,234e", "e5", "1" * 80, "12€3", "1..2", ",", "1,234,56")),
    ("point", "12,5"), ("point", "1.234,5"), ("comma", "1,234.5"), ("comma", "12.5"),
    ("plain", "$12"), ("plain", "1,234"), ("plain", "1 234")])
def test_what_is_no_number(polyad, how, text):
    polyad.write("t.csv", f'x,value\na,1\nb,"{text}"\n')
    polyad.fails(1, "info", "t.csv", "--numbers", how, says="t.csv:3:4")


def test_two_currencies_are_not_added(polyad):
    write(polyad, ["1,a,$1", "2,b,2", "3,c,€3"])
    polyad.fails(1, "info", "t.csv", "--numbers", "grouped", says=("t.csv:4:5", "another currency"))


@pytest.mark.parametrize("broken", [False, True])
def test_grouped_numbers_by_several_threads(polyad, broken):
    """Whole blocks of rows go another way than single rows; a wrong one is found in both."""
    lines = [f"{k % 7};{k % 11};${k // 1000},{k % 1000:03d}.25" for k in range(1000, 60000)]
    if broken:
        lines[50000] = lines[50000].replace("$", "€")
    polyad.write("t.csv", "a;b;value\n" + "\n".join(lines) + "\n")
    options = ("--delimiter", ";", "--numbers", "point", "--threads", "4")
    if broken:
        polyad.fails(1, "info", "t.csv", *options, says=("t.csv:50002:", "another currency"))
        return
    expected = {}
    for k in range(1000, 60000):
        expected[k % 7, k % 11] = expected.get((k % 7, k % 11), 0) + k + 0.25
    assert {(int(row["a"]), int(row["b"])): float(row["value"]) for row in rows_of(polyad, *options)} == \
        expected


def test_numbers_of_grids_and_conditions(polyad):
    polyad.write("t.csv", 'fare,x\n"$1,250.40",a\n"$900.60",b\n"$2,000.00",c\n')
    rows = rows_of(polyad, "--numbers", "point", "--columns", "fare:bin=500,x", "--where", "fare<1500")
    assert [(row["fare"], row["x"]) for row in rows] == [("500", "b"), ("1000", "a")]


# ---- time zones ----------------------------------------------------------------------------------

def test_times_agree_with_the_tz_database(polyad):
    """Random instants of two centuries, and those around every change of clocks near 2024."""
    zoneinfo = pytest.importorskip("zoneinfo")
    draw = random.Random(9)
    utc = datetime.timezone.utc
    for name in ("America/New_York", "Europe/London", "Australia/Lord_Howe", "Asia/Kolkata",
                 "Africa/Casablanca", "America/Sao_Paulo", "Etc/GMT+5"):
        zone = zoneinfo.ZoneInfo(name)
        times = [datetime.datetime(1900, 1, 1) + datetime.timedelta(seconds=draw.randrange(6311433600))
                 for _ in range(300)]
        times += [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=hour)
                  for hour in range(0, 366 * 24, 7)]
        write(polyad, [f"{time:%Y-%m-%d %H:%M:%S},a{k},1" for k, time in enumerate(times)])
        rows = rows_of(polyad, "--columns", "when:date,when:hour,x", "--time-zone", f"UTC:{name}")
        found = {row["x"]: (row["when:date"], row["when:hour"]) for row in rows}
        for k, time in enumerate(times):
            local = time.replace(tzinfo=utc).astimezone(zone)
            assert found[f"a{k}"] == (f"{local:%Y-%m-%d}", f"{local:%H}"), (name, time)


@pytest.mark.parametrize("text,zone,expected", [
    ("2024-07-01 12:30", "America/New_York:UTC", "2024-07-01 16"),
    ("2024-01-01 23:30", "America/New_York:Asia/Tokyo", "2024-01-02 13"),
    ("2024-07-01 12:30Z", "America/New_York", "2024-07-01 08"),
    ("2024-07-01 12:30", "America/New_York", "2024-07-01 12"),
    ("2024-07-01 12:30+05:30", ":Europe/Berlin", "2024-07-01 09"),
    ("2024-07-01 12:30-03:30", "Asia/Tokyo:UTC", "2024-07-01 16"),
    ("2024-11-03 01:30", "America/New_York=earlier:UTC", "2024-11-03 05"),
    ("2024-11-03 01:30", "America/New_York=later:UTC", "2024-11-03 06"),
    ("2024-03-10 02:30", "America/New_York", "2024-03-10 02"),
    ("9999-12-31 23:30", "UTC", "9999-12-31 23")])
def test_times_are_moved(polyad, text, zone, expected):
    write(polyad, [f"{text},a,1"])
    [row] = rows_of(polyad, "--columns", "when:date,when:hour", "--time-zone", zone)
    assert f"{row['when:date']} {row['when:hour']}" == expected


@pytest.mark.parametrize("text,zone,says", [
    ("2024-03-10 02:30", "America/New_York:UTC", ("t.csv:3:1", "left out")),
    ("2024-11-03 01:30", "America/New_York:UTC",
     ("t.csv:3:1", "2024-11-03 05:30 or 2024-11-03 06:30", "=earlier")),
    ("2024-07-01 12:30", ":UTC", ("t.csv:3:1", "has no time zone")),
    ("9999-12-31 23:30", "UTC:Asia/Tokyo", ("t.csv:3:1", "years")),
    ("2024-07-01 12:30", "Mars/Base:UTC", ("Mars/Base", "not known")),
    ("2024-07-01 12:30", "../../etc/passwd", ("not known",)),
    ("2024-07-01 12:30", "UTC:", ("not known",)),
    ("2024-07-01 12:30", "UTC=sooner", ("not known",))])
def test_times_that_cannot_be_moved(polyad, text, zone, says):
    write(polyad, ["2024-06-01 00:00Z,a,1", f"{text},b,2"])
    polyad.fails(1, "info", "t.csv", "--columns", "when:hour,x", "--time-zone", zone, says=says)


def test_dates_stay_and_bounds_are_on_the_wanted_clock(polyad):
    write(polyad, ["2024-07-01,a,1", "2024-07-01 01:00,b,1", "2024-07-01 05:00,c,1"])
    rows = rows_of(polyad, "--columns", "when:date,x", "--time-zone", "UTC:America/New_York")
    assert [row["when:date"] for row in rows] == ["2024-06-30", "2024-07-01", "2024-07-01"]
    rows = rows_of(polyad, "--columns", "when:date,x", "--time-zone", "UTC:America/New_York",
                   "--where", "when>2024-07-01 00:30")
    assert [row["x"] for row in rows] == ["c"]


@pytest.mark.parametrize("content", [b"", b"TZif", b"TZif2" + bytes(200), b"no zone at all" * 10])
def test_a_broken_time_zone_file(polyad, content, monkeypatch):
    polyad.path("zones").mkdir()
    polyad.write("zones/Broken", content)
    monkeypatch.setenv("TZDIR", str(polyad.path("zones")))
    write(polyad, ["2024-06-01 00:00Z,a,1"])
    polyad.fails(1, "info", "t.csv", "--columns", "when:hour", "--time-zone", "Broken",
                 says=("Broken", "tz database"))


# ---- values --------------------------------------------------------------------------------------

TERMS = [("cat", "a", 2022, 5), ("cat", "b", 2022, 1), ("dog", "a", 2023, 2), ("the", "a", 2022, 40),
         ("the", "b", 2022, 30), ("the", "b", 2023, 9), ("the", "c", 2023, 20)]


def write_terms(polyad, name="t.csv"):
    polyad.write(name, "word,text,year,value\n" + "".join(
        ",".join(map(str, row)) + "\n" for row in TERMS))


def values_of(polyad, *options):
    return [float(row["value"]) for row in rows_of(polyad, *options)]


def test_values_are_changed_in_order(polyad):
    write_terms(polyad)
    counts = [row[3] for row in TERMS]
    assert values_of(polyad, "--log1p") == pytest.approx([math.log1p(x) for x in counts], rel=1e-15)
    texts = {word: len({row[1] for row in TERMS if row[0] == word}) for word in ("cat", "dog", "the")}
    weighed = [x * (math.log(4 / (1 + texts[row[0]])) + 1) for row, x in zip(TERMS, counts)]
    for modes in ("word,text", "1,2", "word,2"):
        assert values_of(polyad, "--tf-idf", modes) == pytest.approx(weighed, rel=1e-14)
    for way, size in (("", lambda column: math.hypot(*column)), (":norm", lambda column: math.hypot(*column)),
                      (":sum", sum), (":max", max)):
        sizes = {text: size([x for row, x in zip(TERMS, weighed) if row[1] == text]) for text in "abc"}
        scaled = [x / sizes[row[1]] for row, x in zip(TERMS, weighed)]
        assert values_of(polyad, "--scale", "text" + way, "--tf-idf", "1,2") == pytest.approx(
            scaled, rel=1e-14)
    assert values_of(polyad, "--scale", "1:max,text", "--log1p") == pytest.approx(
        values_of(polyad, "--scale", "word:max,2:norm", "--log1p"), rel=1e-15)


def test_records_and_pages_say_how_values_were_changed(polyad):
    write_terms(polyad)
    options = ("--log1p", "--tf-idf", "word,text", "--scale", "year:max")
    done = [{"kind": "log1p"}, {"kind": "tf-idf", "mode": 1, "documents": 2},
            {"kind": "scale by max", "mode": 3}]
    run = ("t.csv", "-r", "2", "--seed", "3")
    assert polyad.json("convert", "t.csv", "u.ptn", *options)["transforms"] == done
    changed = polyad.json("cpd", *run, *options)
    assert changed["transforms"] == done
    plain = polyad.json("cpd", "u.ptn", *run[1:])
    assert plain["transforms"] == [] and plain["fit"] == changed["fit"]
    assert polyad.json("tucker", "t.csv", "-r", "2", *options)["transforms"] == done
    assert polyad.json("rank", "t.csv", "--ranks", "1-2", *options)["transforms"] == done
    polyad.ok("cpd", *run, *options, "--report", "r.html", "-o", "m.ktensor", "--json", "r.json")
    words = ("log1p; then tf-idf, mode 1, documents are mode 2; then scale by max, mode 3",)
    assert words[0] in polyad.path("r.html").read_text()
    polyad.ok("report", "m.ktensor", "t.csv", *options, "--run", "r.json", "-o", "again.html")
    assert words[0] in polyad.path("again.html").read_text()
    polyad.fails(2, "report", "m.ktensor", "t.csv", "--run", "r.json", "-o", "other.html",
                 says=("--log1p", "3 steps", "0"))


@pytest.mark.parametrize("option, text, says", [
    ("--tf-idf", "word", "two modes"), ("--tf-idf", "word,word", "two modes"),
    ("--tf-idf", "1,4", "(1 to 3)"), ("--tf-idf", "0,1", "two modes"), ("--scale", "", "is empty"),
    ("--scale", "month", "different modes"), ("--scale", "1,word:max", "different modes"),
    ("--scale", "1:mean", ":norm, :sum or :max"), ("--scale", "1,", "different modes")])
def test_wrong_modes_of_changes(polyad, option, text, says):
    write_terms(polyad)
    polyad.fails(2, "info", "t.csv", option, text, says=(option, says))


def test_changes_where_they_cannot_be(polyad):
    polyad.write("n.tns", "1 1 -2\n1 2 3\n2 1 4\n")
    for option in (("--log1p",), ("--tf-idf", "1,2")):
        polyad.fails(1, "info", "n.tns", *option, says=("value -2 at coordinate (1, 1)",))
    polyad.ok("convert", "good.tns", "good.ptn")
    for arguments in (("good.ptn", "--stream", "always", "--log1p"),
                      ("good.tns", "--absent", "unknown", "--validation", "good.tns", "--scale", "1")):
        polyad.fails(2, "cpd", *arguments, "-r", "1", says=(arguments[-1 if "--log1p" in arguments
                                                                      else -2],))
    weighed = ("cpd", "good.tns", "-r", "1", "--absent", "unknown", "--weights", "good.tns")
    assert polyad.json(*weighed)["fit"] != polyad.json(*weighed, "--log1p")["fit"]


def test_a_table_from_a_pipe_is_told_how(polyad):
    write_terms(polyad)
    table = polyad.path("t.csv").read_bytes()
    polyad.fails(1, "info", "-", stdin=table, says=("--input-format csv",))
    polyad.ok("info", "-", "--input-format", "csv", stdin=table)
