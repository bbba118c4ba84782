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
        source = "6" if figure.kind == "counter" else figure.figure
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
         "gbytes_per_second": 1, "bytes_format": 1000}} for m in (1, 2, 3)]
print(json.dumps({{"results": rows, "dims": [3, 4, 5], "rank": 32, "precision": "f32",
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
    run = archive["records"][0]["runs"]["hls"]
    assert run["output"] is None and run["message"] == "polyad: error: no such thing here"
    calls = len((tmp_path / "calls").read_text().splitlines())
    measure(tmp_path)
    assert len((tmp_path / "calls").read_text().splitlines()) == calls


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
