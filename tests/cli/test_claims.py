"""bench/claims.py: the rules of its verdicts, what it takes from the results, and its check."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(os.environ["POLYAD_ROOT"]) / "bench"
sys.path.insert(0, str(FOLDER))
import claims  # noqa: E402
import hls_table  # noqa: E402
import profile_table  # noqa: E402
from measured import Measured  # noqa: E402


def test_verdicts():
    mean = {"kind": "mean", "least": 2}
    assert claims.verdict(mean, {}) == "not measured"
    assert claims.verdict(mean, {"a": 1, "b": 4}) == "holds"
    assert claims.verdict(mean, {"a": 1, "b": 3.9}) == "smaller"
    assert claims.verdict(mean, {"a": 0.5, "b": 1.9}) == "fails"
    spread = {"kind": "range", "least": 2, "most": 3}
    assert claims.verdict(spread, {"a": 2, "b": 9}) == "holds"
    assert claims.verdict(spread, {"a": 1.9, "b": 9}) == "in part"
    assert claims.verdict(spread, {"a": 1.9}) == "fails"
    assert claims.verdict({"kind": "most", "most": 1}, {"a": 1, "b": 0.5}) == "holds"
    assert claims.verdict({"kind": "most", "most": 1}, {"a": 1.01}) == "fails"
    assert claims.verdict({"kind": "average", "least": 0.2}, {"a": 0.1, "b": 0.3}) == "holds"
    assert claims.verdict({"kind": "average-most", "most": 0.2}, {"a": 0.1, "b": 0.4}) == "larger"


def line(tensor, *rows):
    return json.dumps({"file": "like:" + tensor, "dims": [2, 3], "nnz": 5, "results": [
        {"format": name, "variant": variant, "mode": mode, "median_seconds": 1e-3 * ms,
         "bytes_format": 1} for name, variant, mode, ms in rows]}) + "\n"


def test_measured(tmp_path):
    """All modes or nothing; the file of the later kernels; the program that ran in the same run."""
    folder = tmp_path / "h200"
    folder.mkdir()
    (folder / "field.jsonl").write_text(line("vast", ("flycoo", "auto", 1, 2),
                                             ("flycoo", "auto", 2, 3), ("blco", "auto", 1, 9)))
    (folder / "small.jsonl").write_text(line("vast", ("flycoo", "auto", 1, 7),
                                             ("flycoo", "auto", 2, 7)))
    (folder / "peers.json").write_text('{"f32": {"vast": {"blco": 20, "mmcsf": null}}}')
    (folder / "peers_run.json").write_text('{"f32": {"vast": {"blco": 10}}}')
    m = Measured(str(tmp_path))
    assert m.time("vast", "flycoo").ms == pytest.approx(5)
    assert m.time("vast", "flycoo").file == "field.jsonl"
    assert m.time("vast", "blco") is None
    values, files = claims.speedups(m, "A", "auto", ("vast", "uber"), "blco", True)
    assert values == {"vast": pytest.approx(2)} and files == ["field.jsonl", "peers_run.json"]
    assert claims.speedups(m, "A", "auto", ("vast",), "mmcsf", True) == ({}, [])
    (folder / "field_fibers.jsonl").write_text(line("vast", ("flycoo", "auto", 1, 1), ("flycoo", "auto", 2, 1)))
    (folder / "peers_fibers.json").write_text('{"f32": {"vast": {"genten": 8}}}')
    m = Measured(str(tmp_path), fibers=True)
    assert m.time("vast", "flycoo").ms == pytest.approx(2) and m.peers == {("vast", "genten"): (8, "peers_fibers.json")}
    assert Measured(str(tmp_path)).time("vast", "flycoo").ms == pytest.approx(5)


def test_published():
    """Every number has its place, and table IV gives the averages of the paper's text to 2 points."""
    published = claims.published()
    for claim in published["claims"].values():
        assert claim["paper"] in published["papers"]
        assert any(word in claim["source"] for word in ("table", "figure"))
        assert any(word in claim["source"] for word in ("section", "table"))
    table = published["table_iv_mib"]
    for part, name in (("hls-s", "d-memory-s"), ("hls-d", "d-memory-d"), ("coo", "d-memory-coo")):
        saved = [1 - hls / other for hls, other in zip(table["hls"], table[part])]
        assert sum(saved) / len(saved) == pytest.approx(published["claims"][name]["least"], abs=0.02)


def test_check(tmp_path, monkeypatch):
    """The page is current; one changed digit is found."""
    monkeypatch.setattr(sys, "argv", ["claims.py", "--check"])
    claims.main()
    page = tmp_path / "claims.md"
    text = pathlib.Path(claims.PAGE).read_text(encoding="utf-8")
    page.write_text(text.replace("vast 0.113", "vast 1.13", 1), encoding="utf-8")
    monkeypatch.setattr(claims, "PAGE", str(page))
    with pytest.raises(SystemExit, match="differs"):
        claims.main()


def test_one_threshold():
    """The best over all tensors of those that each of them has, with what it gains."""
    curves = {"a": {80: 4, 96: 2, 8: 1}, "b": {80: 4, 96: 8, 104: 2}, "c": {80: 4, 96: 1}}
    assert claims.one_threshold(curves) == \
        "96 (1.59 times as fast in geometric mean, 0.50 on b, 4.00 on c)"


def test_profile_table(monkeypatch, capsys):
    """Kernels' names have commas, and numbers may; what the program prints is passed over."""
    time, stall = "gpu__time_duration.sum", \
        "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"
    monkeypatch.setattr(sys, "stdin", [
        "==PROF== Connected\n", '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n',
        f'"0","void sums<float, Of<float, 8>>(Job<A::B>)","{time}","ns","1,234,500"\n',
        "flycoo 1 0.2\n", f'"0","void sums<float, Of<float, 8>>(Job<A::B>)","{stall}","","1.5"\n',
        f'"1","join(int)","{time}","ns","2000"\n'])
    profile_table.main()
    assert [row.split() for row in capsys.readouterr().out.splitlines()] == [
        ["kernel", "us", "wait"], ["sums", "1234.5", "1.50"], ["join", "2.0", "-"]]
    monkeypatch.setattr(sys, "stdin", ["no kernel ran\n"])
    with pytest.raises(SystemExit, match="no metric"):
        profile_table.main()


def test_hls_table():
    """The committed table is what the script writes; a GPU's copies are counted as the library counts them."""
    row = {"about": "32129 dense tiles over modes 1, 2 and 3 with 8211401 of 11440996 nonzeros (threshold 78)"}
    assert hls_table.copies(row, [1238, 5665, 1078]) == 3 * (3229595 * (2 * 4 + 2) + 8)  # 11 + 13 + 11 bits
    assert hls_table.copies(row, [669, 379, 251]) == 3 * (3229595 * (4 + 2) + 8)  # 10 + 9 + 8
    folder = FOLDER / "results/h200"
    done = subprocess.run([sys.executable, FOLDER / "hls_table.py", folder / "hls.jsonl"], check=True, capture_output=True,
                          text=True)
    assert done.stdout == (folder / "HLS.md").read_text()


@pytest.mark.parametrize("page, options", [
    ("FIELD.md", ("--peers", FOLDER / "results/h200/peers_run.json")), ("FIELD_FIBERS.md", ("--fibers",))])
def test_field_table(page, options):
    """The committed tables are what the script writes."""
    folder = FOLDER / "results/h200"
    done = subprocess.run([sys.executable, FOLDER / "field_table.py", folder, *options], check=True, capture_output=True,
                          text=True)
    assert (folder / page).read_text().endswith("`.\n" + done.stdout)


def test_fibers_of_peers():
    """What counts of each program is the fastest correct result of its runs."""
    record = json.loads((FOLDER / "results/h200/peers_fibers.json").read_text())
    found = {"f32": {}, "f64": {}}
    for run in record["runs"]:
        programs = found[run["precision"]].setdefault(run["tensor"], {})
        if run.get("seconds_all_modes") and run["correct"]:
            name, ms = run["program"].removesuffix("-head"), 1e3 * run["seconds_all_modes"]
            programs[name] = min(ms, programs.get(name, ms))
    for precision, tensors in found.items():
        assert record[precision] == {tensor: {name: pytest.approx(ms, abs=1e-4) for name, ms in programs.items()}
                                     for tensor, programs in tensors.items()}
