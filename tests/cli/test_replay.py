"""A run that left a JSON object can be done again, to the same bits."""

import json
import math
import os
import re
import subprocess
import time

import pytest
from conftest import COMMAND, validate

RUNS = {
    "als": ("cpd", "x.tns", "-r3", "--tol=1e-3", "-qo", "m.ktensor"),
    "restarts": ("cpd", "x.tns", "-r", "2", "--restarts", "3", "--precision", "f32", "--seed", "7"),
    "nonnegative": ("cpd", "-r2", "--nonneg", "x.tns", "--checkpoint", "state"),
    "some nonnegative": ("cpd", "-r2", "--nonneg=3,1", "x.tns", "--checkpoint", "state"),
    "mu": ("cpd", "x.tns", "-r2", "-a", "apr-mu", "-i", "9"),
    "pdnr": ("cpd", "x.tns", "-r2", "-a", "apr-pdnr", "-i", "4"),
    "tucker": ("tucker", "x.tns", "-r2", "--top", "2"),
    "dashes": ("cpd", "-r2", "--", "-x.tns"),
}


# What has a manifest beside decompositions; files in braces are results.
OTHERS = {
    "rank": ("rank", "x.tns", "-r1-3", "--starts", "2"),
    "info": ("info", "x.tns"),
    "convert": ("convert", "--log1p", "x.tns", "{y.csv}"),
    "generate": ("generate", "--like", "uber", "--scale", "0.001", "{y.ptn}"),
    "truth": ("generate", "--dims", "4,5,6", "--nnz", "30", "-r2", "--truth", "{t.ptm}", "{y.tns.gz}"),
    "bench": ("bench", "mttkrp", "x.tns", "-r2", "--format", "coo,csf", "--repeat", "1"),
    "end": ("bench", "end-to-end", "like:nips@0.001", "-r2", "-i3"),
    "build": ("bench", "build", "x.tns", "--repeat", "1"),
    "plan": ("plan", "x.tns", "-r2"),
    "score": ("score", "m.ptm", "other.ptm", "-v"),
    "consistency": ("core-consistency", "m.ptm", "x.tns"),
    "split": ("split", "x.tns", "--negatives", "1", "-o", "part"),
    "predict": ("predict", "m.ptm", "x.tns", "-o", "{p.csv}"),
    "project": ("project", "m.ptm", "x.tns", "--mode", "1", "-o", "{p.ptm}"),
    "update": ("update", "m.ptm", "x.tns", "--mode", "1", "-o", "{p.ptm}"),
    "directory": ("project", "m.ptm", "x.tns", "--mode", "1", "-o", "{parts/}"),
    "anomalies": ("anomalies", "m.ptm", "x.tns", "-o", "{p.csv}"),
    "report": ("report", "m.ptm", "x.tns", "-o", "page.html"),
}


@pytest.fixture
def tensor(polyad):
    polyad.ok("generate", "--dims", "9,8,7", "--nnz", "200", "--poisson", "--rank", "2", "x.tns")
    polyad.path("-x.tns").write_bytes(polyad.path("x.tns").read_bytes())
    return polyad


@pytest.mark.parametrize("name", RUNS)
def test_a_run_comes_out_again(tensor, name):
    command, *rest = RUNS[name]
    tensor.ok(command, "--json", "run.json", *rest)
    before = {path.name: path.read_bytes() for path in tensor.folder.iterdir()}
    found = tensor.json("replay", "run.json")
    assert found["file"] == "run.json" and found["same"] and found["differences"] == []
    assert before == {path.name: path.read_bytes() for path in tensor.folder.iterdir()}


@pytest.fixture
def model(tensor):
    tensor.ok("cpd", "x.tns", "-r2", "-i5", "-qo", "m.ptm")
    tensor.ok("cpd", "x.tns", "-r2", "-i5", "--seed", "1", "-qo", "other.ptm")
    return tensor


@pytest.mark.parametrize("command", [("cpd", "-r", "2"), ("tucker", "-r", "2,2,2"), ("cpd", "-r", "2", "-a", "apr-mu"),
                                     ("cpd", "-r", "2", "--log1p"), ("cpd", "-r", "2", "--precision", "f32")])
@pytest.mark.parametrize("report", [(), ("--report", "page.html")])
def test_the_hash_of_a_run_is_that_of_what_was_read(polyad, command, report):
    """It is the plan's, unless the run has none."""
    name, *options = command
    read = [option for option in options if option in ("--log1p", "--precision", "f32")]
    found = polyad.json(name, "good.tns", *options, *report, "--device", "cpu")["manifest"]
    assert found["tensor_hash"] == polyad.json("info", "good.tns", *read)["hash"]
    assert [each["hash"] for each in found["inputs"]] == [found["tensor_hash"]]


@pytest.mark.parametrize("name", OTHERS)
def test_every_command_comes_out_again(model, name):
    command, *words = OTHERS[name]
    results = [word.strip("{}") for word in words if word.startswith("{")]
    model.ok(command, "--json", "run.json", *[word.strip("{}") for word in words])
    recorded = json.loads(model.path("run.json").read_text())
    validate(command, recorded)
    manifest = recorded["manifest"]
    assert manifest["command"] == command
    assert {row["file"] for row in manifest["outputs"]} >= set(results)
    hashed = [row for row in manifest["outputs"] if row["file"] in results]
    assert all(re.fullmatch("[0-9a-f]{16}", row["hash"]) for row in hashed)
    place = model.path("place")
    place.mkdir()
    before = model.snapshot()
    found = model.json("replay", "run.json", env={"TMPDIR": str(place)})
    assert found["same"] and found["differences"] == []
    assert model.snapshot() == before and list(place.iterdir()) == []


# A change of an input, and the first two differences that it must make.
CHANGES = {
    "rank": ("x.tns", ["tensor_hash", "inputs 1: hash"], "ranks 1: fit_best"),
    "info": ("x.tns", ["tensor_hash", "inputs 1: hash"], "value_sum"),
    "convert": ("x.tns", ["tensor_hash", "inputs 1: hash"], "outputs 1: hash"),
    "split": ("x.tns", ["tensor_hash", "inputs 1: hash"], "outputs 2: hash"),
    "score": ("other.ptm", ["inputs 2: hash"], "score"),
    "predict": ("m.ptm", ["inputs 1: hash"], "rmse"),
    "update": ("m.ptm", ["inputs 2: hash"], "outputs 1: hash"),
    "end": (None, [], "results 2: iterations"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_differs_is_listed(model, name):
    command, *words = OTHERS[name]
    changed, made_of, result = CHANGES[name]
    model.ok(command, "--json", "run.json", *[word.strip("{}") for word in words])
    if changed == "x.tns":
        model.path(changed).write_text(model.path(changed).read_text() + "1 1 1 99\n")
    elif changed is not None:
        model.ok("cpd", "x.tns", "-r2", "-i5", "--seed", "2", "-qo", changed)
    else:
        made = json.loads(model.path("run.json").read_text())
        arguments = made["manifest"]["arguments"]
        arguments[arguments.index("--max-iters") + 1] = "2"
        model.write("run.json", json.dumps(made))
    done = model.run("replay", "run.json", "--json", "-")
    assert done.status == 1 and not done.json["same"]
    what = [row["what"] for row in done.json["differences"]]
    assert what[:len(made_of)] == made_of and result in what
    assert not any("seconds" in row or "gflops" in row for row in what)


def test_times_are_said_not_to_be_compared(tensor):
    tensor.ok("bench", "read", "x.tns", "--repeat", "1", "--json", "run.json")
    shown = tensor.ok("replay", "run.json").out.decode().splitlines()
    assert shown == ["times and rates were measured anew and are not compared", "the same came out"]


def test_an_input_that_its_run_replaces_is_hashed_before(model):
    model.ok("update", "m.ptm", "x.tns", "--mode", "1", "-o", "m.ptm", "--json", "run.json")
    done = model.run("replay", "run.json", "--json", "-")
    assert done.status == 1
    assert {"inputs 2: hash", "outputs 1: hash"} <= {row["what"] for row in done.json["differences"]}


def test_other_choices_with_the_same_results_are_no_difference_of_results(tensor):
    tensor.ok("cpd", "x.tns", "-r2", "--format", "coo", "--json", "run.json")
    made = json.loads(tensor.path("run.json").read_text())
    made["manifest"]["version"], made["variant"] = "0.0.1", "another"
    tensor.write("run.json", json.dumps(made))
    found = tensor.json("replay", "run.json")
    assert found["same"] and [row["what"] for row in found["differences"]] == ["version", "variant"]


def test_a_stopped_replay_leaves_nothing(polyad):
    """Also where the signal came to it alone."""
    polyad.ok("generate", "--dims", "300,300,300", "--nnz", "300000", "x.tns")
    polyad.ok("cpd", "x.tns", "-r2", "-i2", "--tol", "0", "-qo", "m.ptm", "--json", "run.json")
    made = json.loads(polyad.path("run.json").read_text())
    arguments = made["manifest"]["arguments"]
    arguments[arguments.index("--max-iters") + 1] = "999999999"
    polyad.write("run.json", json.dumps(made))
    place = polyad.path("place")
    place.mkdir()
    started = subprocess.Popen([COMMAND, "replay", "run.json"], cwd=polyad.folder,
                               env={**os.environ, "TMPDIR": str(place), "OMP_WAIT_POLICY": "passive"},
                               stderr=subprocess.PIPE)
    time.sleep(1)
    assert [path.name.startswith("polyad-replay-") for path in place.iterdir()] == [True]
    started.terminate()
    started.communicate(timeout=60)
    assert started.returncode == 143 and list(place.iterdir()) == []


def test_a_tuned_run_keeps_no_measurements(tensor):
    """Which format is fastest may change from run to run; no cache is written, asked for or not."""
    environment = {"XDG_CACHE_HOME": str(tensor.path("home"))}
    tensor.ok("cpd", "x.tns", "-r2", "--tune", "--tune-cache", "cache", "--json", "run.json",
              env=environment)
    tensor.path("cache").unlink()
    assert tensor.run("replay", "run.json", env=environment).status in (0, 1)
    assert not tensor.path("cache").exists() and not tensor.path("home").exists()


def test_differences_are_listed(tensor):
    tensor.ok("cpd", "x.tns", "-r2", "--json", "run.json")
    lines = tensor.path("x.tns").read_text().splitlines()
    place, value = lines[-1].rsplit(" ", 1)
    tensor.write("x.tns", "\n".join([*lines[:-1], f"{place} {float(value) + 1}", ""]))
    result = tensor.run("replay", "run.json", "--json", "-")
    assert result.status == 1 and result.json["same"] is False
    what = [row["what"] for row in result.json["differences"]]
    assert what[0] == "tensor_hash" and what[-1] == "model_hash"
    assert any(row.startswith("iteration 1: fit") for row in what)
    assert not any(row.startswith("iteration 2") for row in what)
    shown = tensor.run("replay", "run.json")
    assert shown.status == 1 and shown.out.endswith(b"the model differs\n")


def test_the_last_bit_of_a_number_counts(tensor):
    tensor.ok("cpd", "x.tns", "-r2", "--json", "run.json")
    made = json.loads(tensor.path("run.json").read_text())
    fit = made["fit"]
    made["fit"] = math.nextafter(fit, 1)
    tensor.write("run.json", json.dumps(made))
    done = tensor.run("replay", "run.json", "--json", "-")
    assert done.status == 1
    assert done.json["differences"] == [{"what": "fit", "was": math.nextafter(fit, 1), "is": fit}]


@pytest.mark.parametrize("rows", [[["x.tns"]], [1], [{}, 2]])
def test_rows_of_another_kind_differ(tensor, rows):
    """A recorded object may have anything where a run has rows of members."""
    tensor.ok("cpd", "x.tns", "-r2", "--json", "run.json")
    made = json.loads(tensor.path("run.json").read_text())
    made["trace"] = rows
    tensor.write("run.json", json.dumps(made))
    done = tensor.run("replay", "run.json", "--json", "-")
    assert done.status == 1 and done.json["differences"][0]["what"].startswith("iteration 1")


def test_the_number_of_threads_is_that_of_the_run(tensor):
    tensor.ok("cpd", "x.tns", "-r2", "--threads", "1", "--json", "run.json")
    assert json.loads(tensor.path("run.json").read_text())["manifest"]["threads"] == 1
    assert tensor.json("replay", "run.json")["differences"] == []


@pytest.mark.parametrize("content, says", [
    ("{}", "run.json: no manifest found; expected what --json of a run wrote"),
    ("[1", "run.json: no JSON found"),
    ('{"manifest": {"command": "replay", "arguments": [], "threads": 1}}', "no manifest found"),
    ('{"manifest": {"command": "convert", "arguments": ["--", "x.tns", "-"], "threads": 1}}',
     "the run wrote to standard output, which nothing keeps"),
    ('{"manifest": {"command": "convert", "arguments": ["--", "x.tns", "/"], "threads": 1}}',
     "the manifest has the file '/'; expected a name"),
    ('{"manifest": {"command": "cpd", "arguments": [1], "threads": 1}}', "are not all text"),
    ('{"manifest": {"command": "cpd", "arguments": ["--rank", "2", "--", "-"], "threads": 1}}',
     "the run read standard input, which is gone"),
])
def test_other_objects_are_refused(polyad, content, says):
    polyad.write("run.json", content)
    polyad.fails(1, "replay", "run.json", says=says)


@pytest.mark.parametrize("word", ["--output=stolen", "--outp", "-ostolen", "-o", "--js", "--check",
                                  "--tune-c"])
def test_options_in_another_spelling_are_refused(tensor, word):
    tensor.ok("cpd", "x.tns", "-r2", "--json", "run.json")
    made = json.loads(tensor.path("run.json").read_text())
    made["manifest"]["arguments"][:0] = [word, "stolen"]
    tensor.write("run.json", json.dumps(made))
    tensor.fails(1, "replay", "run.json", says="expected options as a run writes them")


@pytest.mark.parametrize("words", [["--where", "--", "--output", "stolen"],
                                   ["--init", "--output", "--log", "stolen"],
                                   ["--output", "--", "--report", "stolen.html"],
                                   ["--checkpoint", "stolen", "--tune-cache", "stolen"],
                                   ["--output", "stolen"], ["--output", "../stolen/"],
                                   ["--output", "-"]])
def test_no_value_hides_an_option_that_writes(tensor, words):
    """Two dashes that are a value do not end the options, and names of options may be values."""
    tensor.ok("cpd", "x.tns", "-r2", "--json", "run.json")
    made = json.loads(tensor.path("run.json").read_text())
    made["manifest"]["arguments"][:0] = words
    tensor.write("run.json", json.dumps(made))
    before = {path.name for path in tensor.folder.iterdir()}
    assert tensor.run("replay", "run.json").status in (0, 1)
    assert {path.name for path in tensor.folder.iterdir()} == before


def test_a_run_that_fails_is_told(tensor):
    tensor.ok("cpd", "x.tns", "-r2", "--json", "run.json")
    tensor.path("x.tns").unlink()
    result = tensor.run("replay", "run.json")
    assert result.status == 1
    assert "x.tns" in result.err and "it was recorded in directory" in result.err
