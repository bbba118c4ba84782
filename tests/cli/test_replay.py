"""A run that left a JSON object can be done again, to the same bits."""

import json

import pytest

RUNS = {
    "als": ("cpd", "x.tns", "-r3", "--tol=1e-3", "-qo", "m.ktensor"),
    "restarts": ("cpd", "x.tns", "-r", "2", "--restarts", "3", "--precision", "f32", "--seed", "7"),
    "nonnegative": ("cpd", "-r2", "--nonneg", "x.tns", "--checkpoint", "state"),
    "mu": ("cpd", "x.tns", "-r2", "-a", "apr-mu", "-i", "9"),
    "pdnr": ("cpd", "x.tns", "-r2", "-a", "apr-pdnr", "-i", "4"),
    "tucker": ("tucker", "x.tns", "-r2", "--top", "2"),
    "dashes": ("cpd", "-r2", "--", "-x.tns"),
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


def test_the_number_of_threads_is_that_of_the_run(tensor):
    tensor.ok("cpd", "x.tns", "-r2", "--threads", "1", "--json", "run.json")
    assert json.loads(tensor.path("run.json").read_text())["manifest"]["threads"] == 1
    assert tensor.json("replay", "run.json")["differences"] == []


@pytest.mark.parametrize("content, says", [
    ("{}", "run.json: no manifest found; expected what --json of cpd or tucker wrote"),
    ("[1", "run.json: no JSON found"),
    ('{"manifest": {"command": "convert", "arguments": [], "threads": 1}}', "no manifest found"),
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
                                   ["--checkpoint", "stolen", "--tune-cache", "stolen"]])
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
