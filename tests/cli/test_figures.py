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
    assert {step.paper for step in steps} == set("ABCD")
    quick = experiments.all_steps(lambda tensor: "like:" + tensor, True)
    assert 0 < len(quick) < len(steps)
    assert all(experiments.MILLIONS.get(step.tensor, 0) <= 80 for step in quick)
    for figure in experiments.FIGURES:
        source = experiments.SOURCES.get((figure.paper, figure.figure), figure.figure)
        assert any(step.paper == figure.paper and step.figure == source for step in steps)


def fake_polyad(folder, fails=""):
    """Answers like polyad: every mode takes as many milliseconds as the format's name has letters."""
    path = folder / "polyad"
    path.write_text(f"""#!{sys.executable}
import json, sys
name = sys.argv[sys.argv.index("--format") + 1] if "--format" in sys.argv else "none"
with open("{folder}/calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
if name in {fails.split()!r} or sys.argv[1] == "cpd":
    sys.exit("polyad: error: no such thing here")
rows = [{{"format": name, "variant": "tuned", "mode": m, "median_seconds": 1e-3 * len(name),
         "gbytes_per_second": 1, "bytes_format": 1000, "smape_percent": 0.1}} for m in (1, 2, 3)]
print(json.dumps({{"results": rows, "dims": [3, 4, 5], "nnz": 9, "rank": 32, "precision": "f32",
                  "devices": [{{"name": "cpu", "description": "a machine"}}]}}))
""")
    path.chmod(0o755)
    return path


def measure(folder, *more):
    return subprocess.run([sys.executable, FOLDER / "measure.py", folder / "archive.json",
                           "--polyad", folder / "polyad", "--device", "cpu", "--papers", "D", *more],
                          capture_output=True, text=True, check=True)


def test_measuring_resumes(tmp_path):
    fake_polyad(tmp_path, fails="hls")
    measure(tmp_path, "--minutes", "0")
    assert (tmp_path / "calls").read_text() == "devices --json - --quiet\n"
    measure(tmp_path)
    archive = json.loads((tmp_path / "archive.json").read_text())
    assert {record["tensor"] for record in archive["records"]} == set(experiments.TENSORS["D"])
    run = next(r for r in archive["records"] if r["figure"] == "12")["runs"]["hls"]
    assert run["output"] is None and run["message"] == "polyad: error: no such thing here"
    calls = len((tmp_path / "calls").read_text().splitlines())
    measure(tmp_path)
    assert len((tmp_path / "calls").read_text().splitlines()) == calls


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
    (tmp_path / "hls.jsonl").write_text(json.dumps(found, indent=1) + "\n" + json.dumps(
        {**found, "file": "like:book"}))
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
    assert runs["D", "14", "art"]["hls"]["output"]["results"][0]["median_seconds"] == 0.5
    assert runs["A", "9", "vast"]["blco (its own program)"]["output"]["results"] == [
        {"median_seconds": 0.0828}]
    assert "mmcsf (its own program)" not in runs["A", "9", "vast"]


def test_drawing(tmp_path):
    pytest.importorskip("matplotlib")
    fake_polyad(tmp_path, fails="hls")
    measure(tmp_path)
    subprocess.run([sys.executable, FOLDER / "draw.py", tmp_path / "archive.json",
                    tmp_path / "out"], check=True, capture_output=True)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "mmcsf: 1.00 times as long" in page  # as many letters as hicoo
    assert "art hls: polyad: error: no such thing here" in page
    assert page.count("<section>") == len(experiments.FIGURES)
    assert "http://" not in page and "https://" not in page
    for figure in experiments.FIGURES:
        assert (tmp_path / "out" / f"{figure.paper}-{figure.figure}.svg").exists()
