"""Tensors that stay on disk, and what several processes would make of one."""

import numpy as np
import polyad
import pytest


@pytest.fixture
def file(tmp_path):
    x, _ = polyad.generate((300, 200, 100), nnz=150000, seed=1)
    x.save(tmp_path / "x.ptn")
    return tmp_path / "x.ptn", x


def test_a_plan_streams_and_finds_what_one_in_memory_finds(file, tmp_path):
    path, x = file
    polyad.generate((300, 200, 100), nnz=1000000)  # what was in use before does not count
    plan = polyad.Plan.stream(path, 4, memory_limit=12 << 20, spill_dir=tmp_path)
    about = plan.streaming
    assert about["chunks"] > 1 and about["memory_bytes"] <= 12 << 20
    assert polyad.Plan(x, 4).streaming is None
    assert (plan.shape, plan.nnz, plan.labels) == (x.shape, x.nnz, [None] * 3)
    rng = np.random.default_rng(0)
    factors = [rng.standard_normal((n, 4)) for n in x.shape]
    for mode in range(3):
        found = plan.mttkrp(factors, mode)
        exact = polyad.mttkrp(x, factors, mode)
        magnitudes = polyad.SparseTensor(x.coords, np.abs(x.values), x.shape)
        size = polyad.mttkrp(magnitudes, [np.abs(factor) for factor in factors], mode)
        terms = np.bincount(x.coords[:, mode]).max() + 4  # roundings of a row's entry
        assert np.all(np.abs(found - exact) <= 2 * terms * np.finfo(float).eps * size)
    plan.stored_for_tests = np.asarray(x.coords), np.asarray(x.values)  # conftest.py checks the model
    start = [np.abs(factor) for factor in factors]
    updates, move, unit = 5 * 3, 1e-6, 2 * (np.bincount(x.coords[:, 0]).max() + 4) * np.finfo(float).eps

    def run(data, moved=0.0):
        """From the start, each number of which is off by a share `moved`, up or down."""
        first = [factor * (1 + moved * rng.choice((-1, 1), factor.shape)) for factor in start]
        return polyad.cp_als(data, 4, init=polyad.KruskalTensor(np.ones(4), first), max_iters=5, tol=0)

    streamed, whole = run(plan), run(x)
    # The two round each update's sums, of positive terms, differently: by a share `unit` at most. How
    # far such a share moves the fit is seen from a larger one.
    reach = max(abs(run(x, move).info["fit"] - whole.info["fit"]) for _ in range(8)) / move
    bounds = streamed.info["fit_bound"] + whole.info["fit_bound"]
    assert abs(streamed.info["fit"] - whole.info["fit"]) <= updates * unit * reach + bounds
    assert run(plan).info["fit"] == streamed.info["fit"]


@pytest.mark.parametrize("extension", ["tns", "tns.gz"])
def test_text_streams_as_the_binary_file_does(file, tmp_path, extension):
    path, x = file
    text = tmp_path / f"y.{extension}"
    x.save(text)
    (tmp_path / "names").mkdir()
    (tmp_path / "names" / "mode-3-what.map").write_text("".join(f"n{i}\n" for i in range(100)))
    limits = {"memory_limit": 24 << 20, "spill_dir": tmp_path}
    plan = polyad.Plan.stream(text, 4, labels=tmp_path / "names", **limits)
    binary = polyad.Plan.stream(path, 4, **limits)
    assert plan.streaming["packed_bytes"] > 20 * x.nnz and binary.streaming["packed_bytes"] == 0
    assert (plan.shape, plan.nnz, plan.mode_names[2], plan.labels[2][7]) == \
        (x.shape, x.nnz, "what", "n7")
    factors = [np.random.default_rng(0).standard_normal((n, 4)) for n in x.shape]
    assert plan.streaming["chunks"] == binary.streaming["chunks"]
    assert all(np.array_equal(plan.mttkrp(factors, mode), binary.mttkrp(factors, mode))
               for mode in range(3))
    with pytest.raises(polyad.ParseError):
        polyad.Plan.stream(text, 4, shape=(3, 3, 3))


def test_what_cannot_stream_says_so(file, tmp_path):
    path, x = file
    plan = polyad.Plan.stream(path, 4, precision="f32")
    assert plan.dtype == np.float32
    with pytest.raises(polyad.UnsupportedError):
        polyad.cp_als(plan, 4, init="hosvd")
    with pytest.raises(polyad.MissingFileError):
        polyad.Plan.stream(tmp_path / "none.ptn", 4)
    with pytest.raises(polyad.MemoryLimitError):
        polyad.Plan.stream(path, 4, memory_limit=1000)


def test_predictions_are_counted(file):
    _, x = file
    rows = polyad.plan_scale(x, 4, [1, 3, 64], seconds=2.0, network=1e9)
    assert [row["ranks"] for row in rows] == [1, 3, 64]
    assert all(np.prod(row["grid"]) == row["ranks"] for row in rows)
    assert rows[0]["nnz_most"] == x.nnz and rows[0]["efficiency"] == 1
    assert rows[0]["rows_owned_most"] == sum(x.shape) and rows[1]["bytes_sent"] > 0
    for row in rows:
        assert np.isclose(row["efficiency"], 2 / (row["ranks"] * row["seconds"]))
    measured = polyad.plan_scale(x, 4, 2, threads=1)
    assert measured[0]["seconds"] > 0 and measured[0]["grid"] == \
        polyad.plan_scale(x, 4, 2, seconds=1)[0]["grid"]
    shared = polyad.plan_scale(x, 4, [1, 4], seconds=1e-3, ranks_per_host=4, host_bandwidth=1e6)
    assert shared[0]["seconds"] == 1e-3 and shared[1]["seconds_compute"] > x.nnz * 8 / 1e6
    assert polyad.plan_scale(x, 4, 2, threads=1, ranks_per_host=2)[0]["seconds_compute"] > 0
    with pytest.raises(ValueError, match="0 processes on a host"):
        polyad.plan_scale(x, 4, 2, seconds=1, ranks_per_host=0)
    with pytest.raises(ValueError, match="memory's rate is not known"):
        polyad.plan_scale(x, 4, 2, seconds=1, ranks_per_host=2)
    with pytest.raises(ValueError, match="65537 processes"):
        polyad.plan_scale(x, 4, 65537, seconds=1)
