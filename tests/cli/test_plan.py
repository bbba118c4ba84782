"""polyad plan: what several processes would make of a tensor (that it is true: test_team.py)."""

import math

import pytest

USUAL = [2 ** k for k in range(11)]


@pytest.fixture
def tensor(polyad):
    polyad.ok("generate", "x.ptn", "--dims", "400,300,50", "--nnz", "20000", "--seed", "1")
    return polyad


def test_every_number_of_processes_has_all_nonzeros_and_rows(tensor):
    for ranks, sizes in ((6, [1, 2, 4, 6, *USUAL[3:]]), (64, USUAL), (3000, [*USUAL, 3000])):
        found = tensor.json("plan", "x.ptn", "-r", "4", "--ranks", str(ranks), "--seconds", "0.5")
        rows = found["predictions"]
        assert [row["ranks"] for row in rows] == sizes and not found["measured"]
        assert all(math.prod(row["grid"]) == row["ranks"] for row in rows)
        members = next(row for row in rows if row["ranks"] == ranks)["members"]
        assert len(members) == ranks and all("members" not in r for r in rows if r["ranks"] != ranks)
        assert sum(m["nnz"] for m in members) == found["nnz"]
        assert sum(m["rows_owned"] for m in members) == sum(found["dims"])
        assert rows[0]["efficiency"] == 1 and rows[0]["bytes_sent"] == 0
        for row in rows:
            assert math.isclose(row["seconds"], row["seconds_compute"] + row["seconds_network"])
            assert math.isclose(row["efficiency"], 0.5 / (row["ranks"] * row["seconds"]))


def test_times_are_measured_and_the_network_counts(tensor):
    text = tensor.ok("plan", "x.ptn", "-r", "4").out.decode()
    assert "measured here" in text and text.count("%") == len(USUAL)
    seconds = ("--seconds", "1e-3")
    fast = tensor.json("plan", "x.ptn", "-r", "4", *seconds, "--network", "100Gbit")["predictions"]
    slow = tensor.json("plan", "x.ptn", "-r", "4", *seconds, "--network", "1Gbit")["predictions"]
    assert tensor.json("plan", "x.ptn", "-r", "4", *seconds)["network_bytes_per_second"] == 12.5e9
    assert tensor.json("plan", "x.ptn", "-r", "4", *seconds, "--network", "2G")[
        "network_bytes_per_second"] == 2 << 30
    for a, b in zip(fast[1:], slow[1:]):
        assert a["seconds_network"] < b["seconds_network"] and a["bytes_sent"] == b["bytes_sent"]
    late = tensor.json("plan", "x.ptn", "-r", "4", *seconds, "--latency", "1e-3")["predictions"]
    assert all(a["seconds_network"] < b["seconds_network"] for a, b in zip(fast[1:], late[1:]))


def test_memory_marks_what_does_not_fit(tensor):
    rows = tensor.json("plan", "x.ptn", "-r", "4", "--seconds", "1")["predictions"]
    assert all(row["fits"] for row in rows)
    limit = rows[2]["bytes_most"] // 1024 + 1
    arguments = ("plan", "x.ptn", "-r", "4", "--seconds", "1", "--memory", f"{limit}K")
    rows = tensor.json(*arguments)["predictions"]
    assert [row["fits"] for row in rows] == [row["bytes_most"] <= 1024 * limit for row in rows]
    assert not rows[0]["fits"] and rows[2]["fits"]
    assert tensor.ok(*arguments).out.count(b"!") == 1 + sum(not row["fits"] for row in rows)


def test_processes_share_a_machine(tensor):
    given = ("plan", "x.ptn", "-r", "4", "--ranks", "8", "--seconds", "1e-3")
    alone = tensor.json(*given)
    assert alone["ranks_per_host"] == 1 and alone["host_bytes_per_second"] is None
    assert tensor.json(*given, "--ranks-per-host", "1", "--host-bandwidth", "1K")["predictions"] == alone["predictions"]
    found = tensor.json(*given, "--ranks-per-host", "4", "--host-bandwidth", "1M", "--host-latency", "2e-6")
    assert found["host_bytes_per_second"] == 1 << 20 and found["ranks_per_host"] == 4
    assert found["host_latency"] == 2e-6 and found["process_bytes_per_second"] is found["host_speedup"] is None
    rows = {row["ranks"]: row for row in found["predictions"]}
    for ranks in (2, 4):  # all on one machine, which reads its nonzeros at least once
        assert rows[ranks]["seconds_compute"] >= found["bytes_format"] / (1 << 20)
    members = [member["seconds_network"] for member in rows[8]["members"]]
    assert len(members) == 8 and all(seconds > 0 for seconds in members)
    fast = tensor.json(*given, "--ranks-per-host", "4", "--host-bandwidth", "100G")["predictions"]
    assert all(a["seconds"] <= b["seconds"] for a, b in zip(fast, found["predictions"]))


def test_the_machine_is_measured(tensor):
    arguments = ("plan", "x.ptn", "-r", "4", "--threads", "1", "--ranks-per-host", "2")
    found = tensor.json(*arguments)
    assert found["host_bytes_per_second"] >= found["process_bytes_per_second"] > 0
    assert found["host_speedup"] >= 1 and found["host_latency"] == 1e-6
    given = tensor.json(*arguments, "--host-bandwidth", "3G")
    assert given["host_bytes_per_second"] == 3 << 30 and given["process_bytes_per_second"] > 0
    assert "2 processes share a machine" in tensor.ok(*arguments).out.decode()
    assert "share a machine" not in tensor.ok("plan", "x.ptn", "-r", "4").out.decode()


@pytest.mark.parametrize("arguments, says", [
    (("x.ptn",), "rank is missing"),
    (("x.ptn", "-r", "4", "--network", "fast"), "such as 100Gbit"),
    (("x.ptn", "-r", "4", "--network", "0Gbit"), "such as 100Gbit"),
    (("x.ptn", "-r", "4", "--ranks", "65537"), "65536"),
    (("x.ptn", "-r", "4", "--device", "cuda"), "cpu"),
    (("x.ptn", "-r", "4", "--ranks-per-host", "0"), "from 1 to 65536"),
    (("x.ptn", "-r", "4", "--ranks-per-host", "65537"), "65536"),
    (("x.ptn", "-r", "4", "--ranks-per-host", "two"), "two"),
    (("x.ptn", "-r", "4", "--ranks-per-host", "2", "--host-bandwidth", "0"), "such as 200G"),
    (("x.ptn", "-r", "4", "--ranks-per-host", "2", "--host-bandwidth", "-3G"), "such as 200G"),
    (("x.ptn", "-r", "4", "--ranks-per-host", "2", "--host-latency", "nan"), "nan"),
    (("x.ptn", "-r", "4", "--ranks-per-host", "2", "--host-latency", "-1"), "-1"),
    (("x.ptn", "-r", "4", "--ranks-per-host", "2", "--seconds", "1"), "give --host-bandwidth"),
    ((), "FILE")])
def test_wrong_usage(tensor, arguments, says):
    tensor.fails(2, "plan", *arguments, says=says)


def test_a_tensor_without_nonzeros_is_refused(polyad):
    polyad.write("none.tns", "# nothing\n")
    polyad.fails(1, "plan", "none.tns", "-r", "2", "--seconds", "1", says="nonzero")
