"""The scripts of the papers' figures: steps, resuming, gaps, and that drawing makes nothing up."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(os.environ["POLYAD_ROOT"]) / "bench" / "paper_figures"
sys.path.insert(0, str(FOLDER))
import experiments  # noqa: E402


def test_steps():
    steps = experiments.all_steps(lambda tensor: "like:" + tensor, False)
    keys = [(step.paper, step.figure, step.tensor) for step in steps]
    assert len(set(keys)) == len(keys)
    assert {step.paper for step in steps} == set("ABD")
    quick = experiments.all_steps(lambda tensor: "like:" + tensor, True)
    assert 0 < len(quick) < len(steps)
    assert all(experiments.MILLIONS.get(step.tensor, 0) <= 80 for step in quick)
    for figure in experiments.FIGURES:
        if figure.paper == "C":  # bench/portability.sh measures it
            continue
        source = experiments.SOURCES.get((figure.paper, figure.figure), figure.figure)
        assert any(step.paper == figure.paper and step.figure == source for step in steps)


def fake_polyad(folder, fails="", slow=""):
    """Answers like polyad: every mode takes as many milliseconds as the format's name has letters.
    What fails does so with this message, in a list it is left out."""
    path = folder / "polyad"
    path.write_text(f"""#!{sys.executable}
import json, os, sys, time
def after(name, default):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default
with open("{folder}/calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "generate":
    out = next(word for word in sys.argv if word.endswith(".ptn"))
    sys.exit(open(out, "w").write("a tensor") and 0)
if sys.argv[2].endswith(".ptn") or sys.argv[3:] and sys.argv[3].endswith(".ptn"):
    assert os.path.exists(next(word for word in sys.argv if word.endswith(".ptn")))
items = after("--format", "none").split(",")
rows = [{{"format": item.split(":")[0], "variant": item, "mode": m, "runs": 3,
         "median_seconds": 1e-3 * len(item.split(":")[0]), "build_seconds": 0.25,
         "gbytes_per_second": 1, "bytes_format": 1000, "smape_percent": 0.1, "precision": "f16",
         **({{"item": item}} if len(items) > 1 else {{}})}}
        for item in items for m in (1, 2, 3) if item.split(":")[0] not in {fails.split()!r}]
if any(item.split(":")[0] in {slow.split()!r} for item in items):
    time.sleep(60)
if not rows or sys.argv[1] == "cpd":
    sys.exit("polyad: error: no such thing here")
print(json.dumps({{"results": rows, "dims": [3, 4, 5], "nnz": 9, "rank": 32, "precision": "f32",
                  "devices": [{{"name": "cpu", "description": "a machine"}}]}}))
""")
    path.chmod(0o755)
    return path


def measure(folder, *more, papers="D", **environment):
    return subprocess.run([sys.executable, FOLDER / "measure.py", folder / "archive.json",
                           "--polyad", folder / "polyad", "--device", "cpu", "--papers", papers,
                           *more], capture_output=True, text=True, check=True, timeout=100,
                          env={**os.environ, "TMPDIR": str(folder), **environment})


def archive_of(folder):
    return json.loads((folder / "archive.json").read_text())


def calls_of(folder):
    return (folder / "calls").read_text().splitlines()


def runs_of(archive, paper, figure, tensor):
    return next(r["runs"] for r in archive["records"]
                if (r["paper"], r["figure"], r["tensor"]) == (paper, figure, tensor))


def test_measuring_resumes(tmp_path):
    fake_polyad(tmp_path, fails="hls")
    done = measure(tmp_path, "--minutes", "0")
    assert calls_of(tmp_path) == ["devices --json - --quiet"]
    assert len(archive_of(tmp_path)["left"]) == 42
    assert "left: paper D, figure 14, art" in done.stdout
    measure(tmp_path)
    archive = archive_of(tmp_path)
    assert {record["tensor"] for record in archive["records"]} == set(experiments.TENSORS["D"])
    run = runs_of(archive, "D", "12", "art")["hls"]
    assert run["output"] is None and run["message"] == "polyad: error: no such thing here"
    calls = len(calls_of(tmp_path))
    done = measure(tmp_path)
    assert len(calls_of(tmp_path)) == calls and "0 steps done" in done.stdout
    archive["records"] = [r for r in archive["records"] if r["figure"] != "13"]
    (tmp_path / "archive.json").write_text(json.dumps(archive))
    assert "6 steps done" in measure(tmp_path).stdout
    assert len(archive_of(tmp_path)["records"]) == 42 and archive_of(tmp_path)["left"] == []


def test_measuring_once(tmp_path):
    """A tensor is made once for each type, a list of formats is one process, nothing runs twice."""
    fake_polyad(tmp_path)
    done = measure(tmp_path)
    calls = calls_of(tmp_path)
    assert len(set(calls)) == len(calls) == 1 + 6 * (2 + 6)
    assert "42 steps done in" in done.stdout and "0 left" in done.stdout
    assert not list(tmp_path.glob("polyad-figures-*"))  # the tensors' folder
    archive = archive_of(tmp_path)
    assert archive["tensors"]["art.ptn"]["command"] == (
        "polyad generate --like art --precision f32 art.ptn")
    together, hybrid = (runs_of(archive, "D", figure, "art")[label] for figure, label in
                        (("8", "MTTKRP together"), ("10", "MTTKRP HLS")))
    assert together == hybrid and together["command"].startswith("polyad bench mttkrp like:art ")
    assert "hls,hls:sequential,hls:tile-threshold=4097" in together["process"]
    sparse = runs_of(archive, "D", "10", "art")["MTTKRP HLS-S"]["output"]["results"]
    assert [row["variant"] for row in sparse] == ["hls:tile-threshold=4097"] * 3


def test_measuring_keeps_tensors(tmp_path):
    fake_polyad(tmp_path)
    more = ("--tensors", tmp_path / "tensors", "--scale", "0.5")
    measure(tmp_path, *more)
    assert (tmp_path / "tensors" / "g1@0.5-f64.ptn").exists()
    assert runs_of(archive_of(tmp_path), "D", "11", "g1")["chain f16"]["output"] is not None
    (tmp_path / "archive.json").unlink()
    measure(tmp_path, *more)
    assert sum("generate" in call for call in calls_of(tmp_path)) == 12


def test_measuring_what_a_list_leaves_out(tmp_path):
    """Formats of a list that fail run again alone, for their own message; the others do not."""
    fake_polyad(tmp_path, fails="mmcsf")
    measure(tmp_path)
    alone = [call for call in calls_of(tmp_path) if "--format mmcsf " in call]
    assert len(alone) == len(experiments.TENSORS["D"]) * 2  # MTTKRP and the chain
    runs = runs_of(archive_of(tmp_path), "D", "12", "g2")
    assert runs["mmcsf"]["message"] == "polyad: error: no such thing here"
    assert runs["bcsf"]["output"]["results"][0]["median_seconds"] == 0.004


def test_measuring_ends_in_time(tmp_path, monkeypatch, capsys):
    """A step that is not ready in time is not kept, and the program ends."""
    import measure as program
    fake_polyad(tmp_path, slow="bcsf")
    monkeypatch.setattr("runs.LAST_BEGIN", 0)
    monkeypatch.setattr(sys, "argv", ["measure.py", str(tmp_path / "archive.json"), "--papers", "D",
                                      "--polyad", str(tmp_path / "polyad"), "--device", "cpu",
                                      "--minutes", "0.08"])
    program.main()
    archive = archive_of(tmp_path)
    assert {r["figure"] for r in archive["records"]} <= {"7", "8", "10", "11"}
    assert archive["left"][-1] == ["D", "14", "movies"] and ["D", "12", "art"] in archive["left"]
    assert "run again" in capsys.readouterr().err


def test_no_step_begins_at_the_end():
    import runs
    assert runs.Clock(1).begins_step() and not runs.Clock(0.4).begins_step()
    assert runs.execute(["false"], None, runs.Clock(1)) == (None, "failed")
    assert "No such file" in runs.execute(["./none"], None, runs.Clock(1))[1]
    assert runs.execute(["sleep", "9"], None, runs.Clock(1), 0.1)[1] == "took longer than 0.1 s"
    with pytest.raises(runs.OutOfTime):
        runs.execute(["sleep", "9"], None, runs.Clock(0.001))


def test_measuring_quickly(tmp_path):
    """Few repetitions; what is left out is said, and measured when all is asked for."""
    fake_polyad(tmp_path)
    measure(tmp_path, papers="A", FIGURES="quick")
    archive = archive_of(tmp_path)
    runs = runs_of(archive, "A", "8", "vast")
    assert runs["1"]["message"] == "left out by FIGURES=quick" and runs["16"]["output"]
    assert "--repeat 3 --warmup 1" in runs["16"]["command"] and not archive["left"]
    assert archive["records"][-1]["figure"] == "6"  # the profiler's come last
    calls = len(calls_of(tmp_path))
    measure(tmp_path, papers="A", FIGURES="quick")
    assert len(calls_of(tmp_path)) == calls
    measure(tmp_path, papers="A")
    assert runs_of(archive_of(tmp_path), "A", "8", "vast")["1"]["output"]


def test_gathering(tmp_path):
    """Rows are found by what a run asks for, all modes or none; the rest is said to be missing."""
    def row(mode, **more):
        return {"kernel": "mttkrp", "format": "hls", "variant": "auto", "compute": "f16",
                "threshold": 78, "mode": mode, "rank": 32, "median_seconds": 1e-3 * mode,
                "bytes_format": 7, "build_seconds": 0.5, **more}
    rows = [row(1), row(2), row(3), *(row(m, variant="sequential") for m in (1, 2)),
            *(row(m, threshold=1) for m in (1, 2, 3))]
    found = {"file": "like:art", "dims": [669, 379, 251], "nnz": 63066, "device": "cuda:0",
             "device_name": "a GPU", "results": rows}
    (tmp_path / "hls.jsonl").write_text(json.dumps(found) + "\n" + json.dumps(
        {**found, "file": "like:book"}))
    # Tensors with the fibers of real ones are no part of the figures.
    (tmp_path / "field_fibers.jsonl").write_text(json.dumps(
        {**found, "results": [row(m, variant="sequential") for m in (1, 2, 3)]}))
    (tmp_path / "peers.json").write_text('{"f32": {"vast": {"blco": 82.8, "mmcsf": null}}}')
    subprocess.run([sys.executable, FOLDER / "gather.py", tmp_path / "archive.json", tmp_path],
                   check=True, capture_output=True)
    archive = json.loads((tmp_path / "archive.json").read_text())
    runs = {(r["paper"], r["figure"], r["tensor"]): r["runs"] for r in archive["records"]}
    together = runs["D", "8", "art"]["MTTKRP together"]["output"]
    assert [r["median_seconds"] for r in together["results"]] == [1e-3, 2e-3, 3e-3]
    assert runs["D", "8", "art"]["MTTKRP in turn"]["message"] == "not measured"
    assert runs["D", "10", "book"]["MTTKRP HLS-D"]["output"]["nnz"] == 63066
    assert runs["D", "10", "book"]["MTTKRP HLS-S"]["output"] is None
    assert runs["D", "14", "art"]["hls"]["output"]["results"][0]["build_seconds"] == 0.5
    assert runs["A", "9", "vast"]["blco (its own program)"]["output"]["results"] == [
        {"median_seconds": 0.0828}]
    assert "mmcsf (its own program)" not in runs["A", "9", "vast"]


def test_gathering_adds(tmp_path):
    """What was measured stays, also when it is gathered again; what was gathered is found anew."""
    run = {"command": "polyad bench", "output": {"results": []}, "message": None, "seconds": 1,
           "when": "now"}
    kept = {"paper": "D", "figure": "8", "tensor": "art", "data": "generated",
            "runs": {"MTTKRP together": {**run, "process": "polyad bench"},
                     "MTTKRP in turn": run}}
    (tmp_path / "archive.json").write_text(json.dumps(
        {"machine": {"name": "cuda:0", "description": "it"}, "records": [kept],
         "left": [["A", "6", "vast"]]}))
    (tmp_path / "peers.json").write_text('{"f32": {"uber": {"blco": 9, "mmcsf": 8}}}')
    (tmp_path / "peers_run.json").write_text('{"f32": {"uber": {"blco": 1}}}')
    for _ in range(2):
        subprocess.run([sys.executable, FOLDER / "gather.py", tmp_path / "archive.json", tmp_path],
                       check=True, capture_output=True)
    archive = json.loads((tmp_path / "archive.json").read_text())
    runs = {(r["paper"], r["figure"], r["tensor"]): r["runs"] for r in archive["records"]}
    assert archive["machine"]["description"] == "it" and archive["left"] == []
    assert runs["D", "8", "art"]["MTTKRP together"] == kept["runs"]["MTTKRP together"]
    assert runs["D", "8", "art"]["MTTKRP in turn"]["message"] == "not measured"
    own = {name: runs["A", "9", "uber"][f"{name} (its own program)"]["output"]["results"][0]
           ["median_seconds"] for name in ("blco", "mmcsf")}
    assert own == {"blco": 1e-3, "mmcsf": 8e-3}


def test_drawing(tmp_path):
    pytest.importorskip("matplotlib")
    fake_polyad(tmp_path, fails="hls")
    measure(tmp_path)
    archive = archive_of(tmp_path)
    archive["left"] = [["A", "6", "vast"]]
    (tmp_path / "archive.json").write_text(json.dumps(archive))
    subprocess.run([sys.executable, FOLDER / "draw.py", tmp_path / "archive.json",
                    tmp_path / "out"], check=True, capture_output=True)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "mmcsf takes 1.00 times as long as hicoo" in page  # as many letters
    assert "art hls: polyad: error: no such thing here" in page
    assert page.count("vast: not reached in time") == 2  # figure 7 is of the same runs
    assert page.count("<section>") == len(experiments.FIGURES)
    assert "http://" not in page and "https://" not in page
    for figure in experiments.FIGURES:
        assert (tmp_path / "out" / f"{figure.paper}-{figure.figure}.svg").exists()


def test_drawing_results(tmp_path):
    """The committed archive: the verdicts, paper C's figures, the right numbers of table IV."""
    pytest.importorskip("matplotlib")
    import draw
    results = FOLDER.parent / "results"
    archive = json.loads((results / "h200" / "figures.json").read_text())
    report = draw.portability.collect([results / "portability" / "measured"])
    figures = {(f.paper, f.figure): f for f in experiments.FIGURES}
    for paper, name in (("A", "T4"), ("C", "3"), ("C", "11"), ("D", "7"), ("D", "TIV")):
        _, text, _ = draw.draw(figures[paper, name], archive, str(tmp_path), report)
        assert "not measured" not in (tmp_path / f"{paper}-{name}.svg").read_text().lower()
    assert "HLS-S 65.47, 0.30, 0.45, 50.95, 50.95, 50.73" in text[-1]
    assert "HLS-D 175.25, 0.87, 1.04, 48.23, 48.35, 48.23" in text[-1]
    assert "modecopy" in figures["C", "6"].published
    page = draw.verdicts(str(results))
    assert page.count("<tr>") == 1 + len(draw.claims.published()["claims"])


def test_speedups():
    """Table 4 of paper A: means over its own tensors apart from the others'."""
    pytest.importorskip("matplotlib")
    import draw

    def run(seconds):
        return {"output": {"results": [{"median_seconds": seconds}]}, "message": None}
    records = [{"tensor": tensor, "runs": {"flycoo": run(ours), "blco as it is": run(blco),
                                           "mmcsf": run(mmcsf)}}
               for tensor, ours, blco, mmcsf in (("vast", 1, 2, 4), ("music", 1, 8, 1),
                                                 ("uber", 2, 1, 1))]
    table = draw.speedup_table(records)
    own, others = (f"flycoo, variant paper, {which}" for which in ("its own tensors", "others"))
    assert table["polyad's blco"][own] == pytest.approx(4)
    assert table["polyad's mmcsf"][own] == pytest.approx(2)
    assert table["mean over polyad's"][own] == pytest.approx(8**0.5)
    assert table["polyad's blco"][others] == pytest.approx(0.5)
    assert list(table) == ["polyad's blco", "polyad's mmcsf", "mean over polyad's"]
