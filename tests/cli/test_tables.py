"""Tables in: columns of times, rows that are chosen, rows that lack something, how rows are joined."""

import csv
import datetime
import random

import pytest


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
    ("x<3", "t.csv:2:18: error: 'a' cannot be compared with a number"),
    ("value>2024-03-09", "cannot be compared with a date"), ("x=nobody", "no row is left"),
    (",".join(["x=a"] * 33), "32 at most")])
def test_wrong_conditions(polyad, where, says):
    write(polyad, TABLE)
    polyad.fails(1, "info", "t.csv", "--columns", "when,x", "--where", where, says=says)


def test_conditions_need_columns(polyad):
    polyad.fails(1, "info", "good.tns", "--where", "x=a", says="expected delimited text")
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
                 says="--input-format 'parquet' found; expected")
