"""Plans given instead of tensors: labels go along, options that the plan does not have are errors."""

import copy
import pickle

import numpy as np
import pytest

import polyad


@pytest.fixture
def labelled():
    rng = np.random.default_rng(0)
    labels = {"day": [f"2024-01-0{i}" for i in range(1, 7)], "who": list("abcde"), "what": None}
    return polyad.SparseTensor(rng.integers(0, [6, 5, 4], (60, 3)), rng.random(60), (6, 5, 4), labels)


def test_labels_go_along(labelled):
    for model in (polyad.cp_als(polyad.Plan(labelled, 2), 2),
                  polyad.cp_apr(polyad.Plan(labelled, 2, kernel="phi"), 2, max_iters=2),
                  polyad.tucker(polyad.Plan(labelled, kernel="ttmc"), 2)):
        assert model.labels == labelled.labels and model.mode_names == labelled.mode_names


@pytest.mark.parametrize("option", [{"precision": "f32"}, {"format": "coo"}, {"variant": "none"},
                                    {"device": "cuda"}], ids=str)
def test_conflicting_options_are_errors(labelled, option):
    plan = polyad.Plan(labelled, 2, format="csf", device="cpu")
    factors = [np.ones((n, 2)) for n in labelled.shape]
    name = next(iter(option))
    for call in (lambda: polyad.cp_als(plan, 2, **option), lambda: polyad.cp_apr(plan, 2, **option),
                 lambda: polyad.mttkrp(plan, factors, 0, **option)):
        with pytest.raises(ValueError, match=f"{name} .* is asked for, but the plan has"):
            call()
    chain = polyad.Plan(labelled, kernel="ttmc", format="csf", device="cpu")
    for call in (lambda: polyad.tucker(chain, 2, **option),
                 lambda: polyad.ttmc(chain, factors, 0, **option),
                 lambda: polyad.tucker_ranks(chain, 0.5, **option)):
        with pytest.raises(ValueError, match=f"{name} .* is asked for"):
            call()


def test_what_the_plan_has_may_be_asked_for(labelled):
    plan = polyad.Plan(labelled, 2, format="csf", precision="f32")
    model = polyad.cp_als(plan, 2, format="csf", precision="f32", device="cpu", threads=1,
                          variant=plan.variant)
    assert model.dtype == np.float32 and model.info["format"] == "csf"
    for variant in ("plain", "tiled"):
        chosen = polyad.Plan(labelled, 2, format="coo", variant=variant)
        assert polyad.cp_als(chosen, 2, format="coo", variant=variant).info["format"] == "coo"
    # A plan of single precision needs no word about it; a tensor has double by default.
    assert polyad.cp_als(plan, 2).dtype == np.float32
    assert polyad.cp_als(labelled.astype(np.float32), 2).dtype == np.float64
    assert "csf" in repr(plan) and "6×5×4" in repr(plan) and "float32" in repr(plan)
    assert (plan.nnz, plan.precision, plan.rank) == (labelled.nnz, "f32", 2)


def test_the_rank_is_the_plan_s_where_none_is_given(labelled):
    plan = polyad.Plan(labelled, 3, kernel="phi")
    for run in (polyad.cp_als, polyad.cp_apr, polyad.cp_complete):
        assert run(plan, max_iters=2).rank == 3
        assert run(plan, 2, max_iters=2).rank == 2
        assert run(labelled, max_iters=2).rank == 16


def test_a_format_without_the_kernel_says_which_plan_to_make(labelled):
    """Full arrays are stored whole, which serves MTTKRP alone."""
    counts = polyad.SparseTensor.from_numpy(np.random.default_rng(1).poisson(9.0, (6, 5, 4)) + 1.0)
    plan = polyad.Plan(counts, 2, format="dense")
    assert polyad.cp_als(plan).rank == 2
    ones = [np.ones((length, 2)) for length in counts.shape]
    with pytest.raises(polyad.UnsupportedError, match="make the plan for kernel phi"):
        polyad.cp_apr(plan)
    with pytest.raises(polyad.UnsupportedError, match="make the plan for kernel phi"):
        polyad.gcp_objective(plan, ones)
    with pytest.raises(polyad.UnsupportedError, match="make the plan for kernel ttmc"):
        polyad.tucker(plan, 2)
    for kernel in ("phi", "ttmc"):  # what the message and the reference promise
        assert polyad.cp_als(polyad.Plan(counts, 2, kernel=kernel)).rank == 2
    assert polyad.cp_apr(polyad.Plan(counts, 2, kernel="phi")).rank == 2


def test_formats_have_parameters(labelled):
    """The same text as for the command, in every place that takes a format."""
    text = "flycoo:paper:kappa=3"
    plan = polyad.Plan(labelled, 2, format=text, device="cpu")
    assert plan.format == "flycoo" and "3 partitions" in plan.variant
    assert polyad.cp_als(plan, 2, format=text).info["format"] == "flycoo"
    assert polyad.cp_als(labelled, 2, format=text, device="cpu").info["format"] == "flycoo"
    for wrong, says in (("flycoo:kappa=0", "from 1 to 1048576"), ("flycoo:rank=3", "kappa=N"),
                        ("csf:one:kappa=3", "no parameters"), ("none", "expected auto, coo")):
        with pytest.raises(ValueError, match=says):
            polyad.Plan(labelled, 2, format=wrong)
    keys = {entry["name"]: entry["parameters"] for entry in polyad.formats()}
    assert [key["name"] for key in keys["flycoo"]] == ["kappa", "block-columns"]
    assert keys["flycoo"][0]["usual"] is None and keys["flycoo"][1]["usual"] == 32
    assert keys["csf"] == []


def test_types_of_products_and_tuning(labelled, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    half = polyad.Plan(labelled, 2, compute="f16", device="cpu")
    assert half.format == "hls" and "f16 values" in half.variant
    assert {entry["name"] for entry in polyad.formats() if "f16" in entry["compute"]} == {"hls"}
    with pytest.raises(polyad.UnsupportedError, match="precision"):
        polyad.Plan(labelled, 2, compute="f16", format="csf", device="cpu")
    with pytest.raises(ValueError, match="'f8' is unknown"):
        polyad.Plan(labelled, 2, compute="f8")
    tuned = polyad.Plan(labelled, 2, tune=True, device="cpu", threads=1)
    assert "measured" in tuned.explanation and (tmp_path / "polyad" / "tune").exists()
    assert "estimated" in polyad.Plan(labelled, 2, device="cpu").explanation


def test_notebooks_show_tables(labelled):
    model = polyad.cp_als(labelled, 10, max_iters=2)
    evil = polyad.SparseTensor([[1, 0]], labels={"<b>": ["<script>", "&"], "y": None})
    shown = {name: thing._repr_html_() for name, thing in {
        "tensor": labelled, "plan": polyad.Plan(labelled), "model": model,
        "tucker": polyad.tucker(labelled, 2), "evil": evil}.items()}
    assert "6 × 5 × 4" in shown["tensor"] and "2024-01-01" in shown["tensor"]
    assert "rank 10" in shown["model"] and "fit" in shown["model"] and "…" in shown["model"]
    assert model.top(0, "who", 1)[0][0] in shown["model"]
    assert "core 2 × 2 × 2" in shown["tucker"] and "nonzeros" in shown["plan"]
    assert "&lt;script&gt;" in shown["evil"] and "<script>" not in shown["evil"]


def test_messages_reach_the_logger(labelled, caplog):
    with caplog.at_level("DEBUG", logger="polyad"):
        polyad.cp_als(labelled, 3, max_iters=1)
    assert any(record.name == "polyad" and record.levelname in ("INFO", "DEBUG")
               for record in caplog.records)
    caplog.clear()
    polyad.cp_als(labelled, 4, max_iters=1)
    assert not caplog.records


def test_a_copy_is_the_plan_itself(random_tensor):
    """Nothing changes a plan, so that two names of one do as copies of it."""
    plan = polyad.Plan(random_tensor(), 2)
    assert copy.copy(plan) is plan and copy.deepcopy([plan])[0] is plan
    with pytest.raises(TypeError, match="a Plan cannot be pickled"):
        pickle.dumps(plan)
