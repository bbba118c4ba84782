"""bench/readme_tables.py and whole_runs.py: which rounds count, what is quoted, and the check."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ["POLYAD_ROOT"])
sys.path.insert(0, str(ROOT / "bench"))
import readme_tables  # noqa: E402


def test_completion_page_is_current():
    subprocess.run([sys.executable, ROOT / "bench/completion_docs.py", "--check"], check=True)


def test_least_favourable():
    """At least three rounds, or none is quoted; fewer rounds count where they are worse."""
    row = readme_tables.least_row
    assert row("what", "program", [(9, "a", 2), (8, "b", 1)]) == []
    assert row("what", "program", [(9, "a", 3), (7.04, "b", 5)]) == [["what", "program", "7.0 (b)"]]
    assert row("what", "program", [(9, "a", 3), (11, "b", 1)]) == [["what", "program", "9.0 (a)"]]
    assert row("what", "program", [(9, "a", 3), (0.964, "b", 1)]) == [
        ["what", "program", "0.96 (b; 1 round)"]]


def test_times_too_short_to_print(monkeypatch):
    """What a program prints with too few digits, or did not run, is not quoted."""
    rows = [{"tensor": name, "rank": 16, "peer_seconds": seconds, "peer_over_polyad": ratio,
             "peer_rounds": [1, 2, 3]} for name, seconds, ratio in
            (("a", 0.001, 0.5), ("b", 0.02, 3), ("c", None, None))]
    monkeypatch.setattr(readme_tables, "load", lambda *path: {"results": rows})
    assert readme_tables.ratios(("file",), "peer", 0.02) == [(3, "b, R = 16", 3)]
    assert [name for _, name, _ in readme_tables.ratios(("file",), "peer")] == ["a, R = 16", "b, R = 16"]


@pytest.mark.parametrize("page, cell, place", [
    ("README.md", "| reading `.tns` text | SPLATT | 11", "cpu"),
    ("docs/measured.md", "| uber, flat | 0.41", "whole-gpu")])
def test_check(tmp_path, monkeypatch, page, cell, place):
    """Both pages are current; on each a changed digit and a lost place are found."""
    monkeypatch.setattr(sys, "argv", ["readme_tables.py", "--check"])
    readme_tables.main()
    (tmp_path / "docs").mkdir()
    for name in readme_tables.PAGES:
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(readme_tables, "ROOT", str(tmp_path))
    readme_tables.main()
    text = (ROOT / page).read_text(encoding="utf-8")
    assert cell in text
    (tmp_path / page).write_text(text.replace(cell, cell + "1"), encoding="utf-8")
    with pytest.raises(SystemExit, match=f"{page}: tables differ"):
        readme_tables.main()
    (tmp_path / page).write_text(text.replace(f"readme_tables.py {place} -->", "readme_tables.py other -->"),
                                 encoding="utf-8")
    with pytest.raises(SystemExit, match=f"{page}: no place for table {place}"):
        readme_tables.main()


def test_whole_runs(tmp_path, monkeypatch):
    """Medians over rounds in which every tensor runs once; too few rounds are refused."""
    polyad = tmp_path / "polyad"
    polyad.write_text(f"""#!{sys.executable}
import json, sys
with open("{tmp_path}/calls", "a") as calls:
    calls.write(sys.argv[2].split("/")[-1] + " ")
count = len(open("{tmp_path}/calls").read().split())
print(json.dumps({{"nnz": 2000000, "order": 3, "format": "coo", "iterations": 7, "fit": 0.5,
                  "peak_bytes": 9, "seconds_read": count, "seconds_build": 0.25,
                  "seconds_iterations": 0.5, "seconds_wall": 1}}))
""")
    polyad.chmod(0o755)
    (tmp_path / "uber.ptn").touch()
    output = tmp_path / "cpu" / "whole_runs.json"
    output.parent.mkdir()
    command = [sys.executable, ROOT / "bench/whole_runs.py", "--polyad", polyad, "--tensors",
               tmp_path, "--names", "uber,aminoacids", "--output", output]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    assert (tmp_path / "calls").read_text().split() == ["uber.ptn", "aminoacids.tns.gz"] * 3
    rows = json.loads(output.read_text())["results"]
    assert [row["seconds_read"] for row in rows] == [3, 4] and len(rows[0]["rounds_clock"]) == 3
    monkeypatch.setattr(readme_tables, "FOLDER", str(tmp_path))
    text = readme_tables.whole()
    assert "| aminoacids (real) | 2.00 M |" in text and "medians of 3 alternating rounds" in text
    subprocess.run([*command, "--rounds", "2"], check=True, capture_output=True, cwd=ROOT)
    with pytest.raises(SystemExit, match="2 rounds found; expected at least 3"):
        readme_tables.whole()
