"""--log: a JSON object a line for everything that happens, written when it happens."""

import json
import signal
import subprocess
import time
from datetime import datetime

import jsonschema
import pytest

from conftest import COMMAND, ROOT

SCHEMA = json.loads((ROOT / "docs/json/log.json").read_text())


def read_log(path):
    events = [json.loads(line) for line in path.read_text().splitlines()]
    for event in events:
        jsonschema.validate(event, SCHEMA)
        datetime.fromisoformat(event["time"].replace("Z", "+00:00"))
    seconds = [event["seconds"] for event in events]
    assert seconds == sorted(seconds)
    return events


def of_kind(events, kind):
    return [event for event in events if event["event"] == kind]


def test_a_run_is_told_from_begin_to_end(polyad):
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    words = ["cpd", "good.tns", "-r", "1", "--restarts", "2", "--quiet", "--log", "run.log",
             "--json", "run.json", "-o", "m.ktensor"]
    assert polyad.ok(*words).err == ""
    events = read_log(polyad.path("run.log"))
    assert events[0]["event"] == "begin" and events[0]["arguments"] == words
    assert [event["step"] for event in of_kind(events, "step")] == ["read", "compute", "write"]
    assert of_kind(events, "step")[0]["file"] == "good.tns"
    assert events[-1]["event"] == "end" and events[-1]["status"] == 0
    assert of_kind(events, "message")  # what is chosen and why, also with --quiet
    run = json.loads(polyad.path("run.json").read_text())
    for number, start in enumerate(run["starts"], 1):
        rows = [row for row in of_kind(events, "iteration") if row["start"] == number]
        assert [row["iteration"] for row in rows] == list(range(1, start["iterations"] + 1))
        assert rows[-1]["fit"] == pytest.approx(start["fit"], rel=1e-12)


def test_the_result_does_not_depend_on_the_log(polyad):
    polyad.ok("cpd", "good.tns", "-r", "2", "-o", "a.ktensor")
    polyad.ok("cpd", "good.tns", "-r", "2", "-o", "b.ktensor", "--log", "run.log")
    assert polyad.path("a.ktensor").read_bytes() == polyad.path("b.ktensor").read_bytes()


def test_errors_are_told(polyad):
    assert polyad.run("cpd", "nothing.tns", "-r", "1", "--log", "run.log").status == 1
    events = read_log(polyad.path("run.log"))
    assert [event["event"] for event in events[-2:]] == ["error", "end"]
    assert "nothing.tns: error: cannot open" in events[-2]["text"]
    assert events[-1]["status"] == 1


def test_a_name_that_is_no_text_stays_json(polyad):
    assert polyad.run("info", b"a\xff.tns", "--log", "run.log").status == 1
    assert "\ufffd" in read_log(polyad.path("run.log"))[0]["arguments"][1]


@pytest.mark.parametrize("arguments", [
    ("info", "good.tns", "--log", "good.tns"),
    ("cpd", "good.tns", "-r", "1", "--log", "./good.tns"),
    ("cpd", "good.tns", "-r", "1", "--init", "m.ktensor", "--log", "m.ktensor")])
def test_the_log_is_no_input(polyad, arguments):
    polyad.ok("cpd", "good.tns", "-r", "1", "-o", "m.ktensor")
    before = polyad.path("good.tns").read_bytes(), polyad.path("m.ktensor").read_bytes()
    polyad.fails(1, *arguments, says="is the input; expected another file")
    assert before == (polyad.path("good.tns").read_bytes(), polyad.path("m.ktensor").read_bytes())


def test_the_log_is_no_other_output(polyad):
    polyad.fails(2, "cpd", "good.tns", "-r", "1", "--json", "x.json", "--log", "x.json",
                 says="--json and --log both go to the same file")
    assert not polyad.path("x.json").exists()
    polyad.fails(2, "info", "good.tns", "--log", "-", says="--log - found; expected a file")


def test_a_log_that_cannot_be_written_is_an_error(polyad):
    polyad.fails(1, "info", "good.tns", "--log", "none/run.log", says="No such file or directory")
    result = polyad.run("info", "good.tns", "--log", "/dev/full")
    assert result.status == 1 and "--log '/dev/full': No space left on device" in result.err


def test_a_killed_command_has_no_end(polyad):
    polyad.ok("generate", "--dims", "60,50,40", "--nnz", "5000", "x.ptn")
    process = subprocess.Popen(
        [COMMAND, "cpd", "x.ptn", "-r", "8", "--tol", "0", "-i", "100000000", "--log", "run.log"],
        cwd=polyad.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    log, end = polyad.path("run.log"), time.monotonic() + 60
    while time.monotonic() < end and not (log.exists() and '"iteration"' in log.read_text()):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    whole = log.read_text().rpartition("\n")[0]
    events = [json.loads(line) for line in whole.splitlines()]
    assert of_kind(events, "iteration") and not of_kind(events, "end")
