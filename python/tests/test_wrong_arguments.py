"""Arguments of wrong types and shapes: every parameter of every public function and method is given
each of them. A call works, or raises an error that names what is wrong in the user's words.

What is public, and its parameters, are found by introspection: a new function without a call in CALLS
fails test_every_function_has_a_call(), and a new parameter is tried without further ado."""

import inspect
import re

import numpy as np
import pytest

import polyad
import polyad.plot

pandas = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")


class Strange:
    """An object that nothing knows."""

    def __repr__(self):
        return "<strange>"


def wrong_values():
    """Values that an argument may be given by mistake, by name."""
    ragged, numbers = [[1, 2], [3]], np.arange(24.0)
    return {
        "None": None, "text": "strange", "empty text": "", "bytes": b"strange", "NaN": float("nan"),
        "infinity": float("inf"), "fraction": 0.5, "negative": -7, "negative fraction": -1.5, "huge": 2**70,
        "minus huge": -2**70, "true": True, "complex": 1 + 2j, "object": Strange(), "class": Strange,
        "function": len, "empty list": [], "ragged": ragged, "list of None": [None, None, None],
        "list of texts": ["a", "b", "c"], "nested": [[["deep"]]], "dict": {"a": 1}, "dict of None": {None: None},
        "set": {1, 2, 3}, "generator": (n for n in range(3)),
        "complex array": np.ones((3, 3), complex), "object array": np.array([object()] * 3),
        "text array": np.array([["a", "b"]]), "no dimensions": np.array(0.25),
        "four dimensions": np.ones((2, 2, 2, 2)), "one dimension": numbers, "NaN array": np.full((4, 3), np.nan),
        "times": np.array(["2024-01-01"], "datetime64[D]"), "empty array": np.empty((0, 3)),
        "Series": pandas.Series(["a", "b"]), "frame": pandas.DataFrame({"a": ["x"], "b": [None]}),
    }


COORDS = np.array([[0, 0, 0], [1, 1, 1], [2, 2, 0], [3, 0, 1], [0, 2, 1], [1, 0, 0], [2, 1, 1]])


class Good:
    """What the calls are made of; one for each."""

    def __init__(self, folder):
        self.folder = folder
        self.x = polyad.SparseTensor(COORDS, np.arange(1.0, 8), (4, 3, 2), {
            "who": ["ann", "bob", "cid", "dan"], "where": ["a", "b", "c"], "when": ["2024-01-01", "2024-01-02"]})
        rng = np.random.default_rng(0)
        self.factors = [rng.random((n, 2)) + 0.1 for n in (4, 3, 2)]
        self.model = polyad.KruskalTensor([2.0, 1.0], self.factors, labels=self.x.labels,
                                          mode_names=self.x.mode_names)
        self.tucker = polyad.TuckerTensor(rng.random((2, 2, 2)), self.factors)
        self.plan = polyad.Plan(self.x, 2, kernel="phi", device="cpu")
        self.chain = polyad.Plan(self.x, 2, kernel="ttmc", device="cpu")
        self.fitted = polyad.cp_als(self.x, 2, max_iters=3)
        self.scan = polyad.RankScan(1, "why", [dict.fromkeys(
            ("rank", "starts", "starts_at_best", "fit_best", "fit_median", "log_likelihood", "core_consistency",
             "stability", "replicability", "holdout_error", "holdout_deviation", "seconds"), 1)], 0, (), True, 1.0)
        self.file = folder / "x.tns"
        self.x.save(self.file)
        self.model_file = folder / "m.ktensor"
        self.model.save(self.model_file)
        self.tucker_file = folder / "m.ttensor"
        self.tucker.save(self.tucker_file)
        self.cp = polyad.CPDecomposition(2, max_iters=3).fit(self.x)
        self.td = polyad.TuckerDecomposition(2, max_iters=3).fit(self.x)
        self.updater = polyad.Updater(self.model, "when")
        self.frame = pandas.DataFrame({"a": ["x", "y"], "b": [1, 2], "value": [1.0, 2.0]})


# A call of each function that works: its arguments beside the defaults.
CALLS = {
    "Anomalies.to_dataframe": lambda g: (polyad.anomalies(g.model, g.x).to_dataframe, {}),
    "CPDecomposition": lambda g: (lambda **k: polyad.CPDecomposition(**k).fit(g.x), {"max_iters": 3}),
    "DeviceTensor": None,  # needs a GPU: test_device_tensor.py
    "EntryKFold": lambda g: (lambda **k: list(polyad.EntryKFold(**k).split(g.x)), {}),
    "EntryKFold.get_n_splits": lambda g: (polyad.EntryKFold(2).get_n_splits, {}),
    "EntryKFold.split": lambda g: (lambda **k: list(polyad.EntryKFold(2).split(**k)), {"X": g.x}),
    "KruskalTensor": lambda g: (polyad.KruskalTensor, {"weights": None, "factors": g.factors}),
    "Plan": lambda g: (polyad.Plan, {"x": g.x, "rank": 2}),
    "RankScan.plot": lambda g: (g.scan.plot, {}),
    "RankScan.to_dataframe": lambda g: (g.scan.to_dataframe, {}),
    "SparseTensor": lambda g: (polyad.SparseTensor, {"coords": COORDS, "values": np.ones(7)}),
    "TuckerDecomposition": lambda g: (lambda **k: polyad.TuckerDecomposition(**k).fit(g.x),
                                      {"ranks": 2, "max_iters": 3}),
    "TuckerTensor": lambda g: (polyad.TuckerTensor, {"core": np.ones((2, 2, 2)), "factors": g.factors}),
    "Updater": lambda g: (polyad.Updater, {"model": g.model, "mode": "when"}),
    "Updater.add": lambda g: (g.updater.add, {"x": g.x}),
    "Updater.save": lambda g: (g.updater.save, {"path": g.folder / "u.ptm"}),
    "anomalies": lambda g: (polyad.anomalies, {"model": g.model, "x": g.x}),
    "core_consistency": lambda g: (polyad.core_consistency, {"model": g.model, "x": g.x}),
    "cp_als": lambda g: (polyad.cp_als, {"x": g.x, "rank": 2, "max_iters": 3}),
    "cp_apr": lambda g: (polyad.cp_apr, {"x": g.x, "rank": 2, "max_iters": 3}),
    "cp_complete": lambda g: (polyad.cp_complete, {"x": g.x, "rank": 2, "max_iters": 3}),
    "devices": None, "formats": None, "version": None,  # without parameters
    "gcp_objective": lambda g: (polyad.gcp_objective, {"x": g.x, "factors": g.factors}),
    "generate": lambda g: (polyad.generate, {"shape": (4, 3, 2), "nnz": 5}),
    "innerprod": lambda g: (polyad.innerprod, {"x": g.x, "y": g.model}),
    "mttkrp": lambda g: (polyad.mttkrp, {"x": g.x, "factors": g.factors, "mode": 0}),
    "norm": lambda g: (polyad.norm, {"x": g.x}),
    "plan_scale": lambda g: (polyad.plan_scale, {"x": g.x, "rank": 2, "ranks": 2, "seconds": 1.0}),
    "prediction_score": lambda g: (polyad.prediction_score, {"model": g.model, "x": g.x}),
    "rank_scan": lambda g: (polyad.rank_scan, {"x": g.x, "ranks": 2, "starts": 2, "max_iters": 3, "folds": 0}),
    "score": lambda g: (polyad.score, {"a": g.model, "b": g.model}),
    "split": lambda g: (polyad.split, {"x": g.x}),
    "ttmc": lambda g: (polyad.ttmc, {"x": g.x, "factors": g.factors, "mode": 0}),
    "tucker": lambda g: (polyad.tucker, {"x": g.x, "ranks": 2, "max_iters": 3}),
    "tucker_ranks": lambda g: (polyad.tucker_ranks, {"x": g.x, "energy": 0.5}),
    "update": lambda g: (polyad.update, {"model": g.model, "x": g.x, "mode": "when"}),
    "plot.compare": lambda g: (polyad.plot.compare, {"a": g.model, "b": g.model, "top": 2}),
    "plot.components": lambda g: (polyad.plot.components, {"model": g.model}),
    "plot.convergence": lambda g: (lambda **k: polyad.plot.convergence(g.fitted, **k), {}),
    "plot.core": lambda g: (polyad.plot.core, {"model": g.tucker}),
    "plot.heatmap": lambda g: (polyad.plot.heatmap, {"model": g.model, "mode": 0}),
    "plot.kind_of_mode": lambda g: (polyad.plot.kind_of_mode, {"model": g.model, "mode": 0}),
    "plot.map": lambda g: (polyad.plot.map, {"model": located(g), "latitude": "lat", "longitude": "lon"}),
    "plot.rank_scan": lambda g: (polyad.plot.rank_scan, {"scan": g.scan}),
    "plot.residuals": lambda g: (polyad.plot.residuals, {"model": g.model, "x": g.x}),
    "plot.similarity": lambda g: (polyad.plot.similarity, {"a": g.model}),
    "plot.slice_errors": lambda g: (polyad.plot.slice_errors, {"model": g.model, "x": g.x, "mode": 0}),
    "plot.slices": lambda g: (polyad.plot.slices, {"x": g.x}),
    "plot.sparsity": lambda g: (polyad.plot.sparsity, {"x": g.x}),
    "plot.top": lambda g: (polyad.plot.top, {"model": g.model}),
    "read": lambda g: (polyad.read, {"path": g.file}),
}
# Of methods: the object's attribute of Good (or the class), and their arguments beside the defaults.
METHODS = {
    "SparseTensor": ("x", {
        "astype": lambda g: {"dtype": "float32"}, "from_dataframe": lambda g: {"frame": g.frame},
        "from_numpy": lambda g: {"array": np.eye(3)}, "groupby": lambda g: {"mode": 0, "groups": list("aabb")},
        "from_pyttb": lambda g: {"tensor": g.x}, "from_scipy": lambda g: {"matrix": g.x},
        "from_sparse": lambda g: {"array": g.x}, "from_torch": lambda g: {"tensor": g.x},
        "from_xarray": lambda g: {"array": g.x}, "unfold": lambda g: {"mode": 0},
        "indices": lambda g: {"mode": 0}, "innerprod": lambda g: {"other": g.x},
        "map": lambda g: {"function": np.sqrt}, "permute": lambda g: {"modes": [2, 0, 1]},
        "read": lambda g: {"path": g.file}, "save": lambda g: {"path": g.folder / "y.tns"},
        "scale": lambda g: {"mode": 0}, "tf_idf": lambda g: {"terms": 0, "documents": 1},
        "ttm": lambda g: {"matrix": np.ones((2, 4)), "mode": 0}, "ttv": lambda g: {"vectors": {0: np.ones(4)}}}),
    "KruskalTensor": ("model", {
        "factor": lambda g: {"mode": 0}, "fit": lambda g: {"x": g.x}, "innerprod": lambda g: {"x": g.x},
        "from_pyttb": lambda g: {"model": g.x}, "from_tensorly": lambda g: {"model": (None, g.factors)},
        "load": lambda g: {"path": g.model_file}, "permute": lambda g: {"modes": [2, 0, 1]},
        "project": lambda g: {"x": g.x}, "save": lambda g: {"path": g.folder / "n.ktensor"},
        "take_labels": lambda g: {"tensor": g.x}, "top": lambda g: {"component": 0, "mode": 0}}),
    "TuckerTensor": ("tucker", {
        "factor": lambda g: {"mode": 0}, "fit": lambda g: {"x": g.x}, "innerprod": lambda g: {"x": g.x},
        "from_pyttb": lambda g: {"model": g.x}, "from_tensorly": lambda g: {"model": (g.tucker.core, g.factors)},
        "load": lambda g: {"path": g.tucker_file}, "permute": lambda g: {"modes": [2, 0, 1]},
        "save": lambda g: {"path": g.folder / "n.ttensor"}, "take_labels": lambda g: {"tensor": g.x},
        "top": lambda g: {"component": 0, "mode": 0}}),
    "Plan": ("plan", {
        "gcp_objective": lambda g: {"factors": g.factors}, "mttkrp": lambda g: {"factors": g.factors, "mode": 0},
        "stream": lambda g: {"path": g.file, "rank": 2}, "ttmc": lambda g: {"factors": g.factors, "mode": 0}}),
    "CPDecomposition": ("cp", {
        "fit": lambda g: {"X": g.x}, "fit_transform": lambda g: {"X": g.x}, "partial_fit": lambda g: {"X": g.x},
        "inverse_transform": lambda g: {"rows": np.ones((2, 2))}, "reconstruct": lambda g: {"coords": COORDS},
        "score": lambda g: {"X": g.x}, "transform": lambda g: {"X": g.x}}),
    "TuckerDecomposition": ("td", {
        "fit": lambda g: {"X": g.x}, "fit_transform": lambda g: {"X": g.x},
        "inverse_transform": lambda g: {"rows": np.ones((2, 2))}, "reconstruct": lambda g: {"coords": COORDS},
        "score": lambda g: {"X": g.x}, "transform": lambda g: {"X": g.x}}),
}


def located(good):
    """A model with a mode of latitudes and one of longitudes."""
    return polyad.KruskalTensor([2.0, 1.0], good.factors, labels=[["1", "2", "3", "4"], ["5", "6", "7"], None],
                                mode_names=["lat", "lon", "when"])


def public():
    """Every public function and method by name."""
    for module, prefix in ((polyad, ""), (polyad.plot, "plot.")):
        for name in module.__all__:
            thing = getattr(module, name)
            if not inspect.isclass(thing):
                yield prefix + name, thing
            elif not issubclass(thing, (BaseException, dict)):
                if name not in ("Anomalies", "RankScan"):  # made by functions
                    yield name, thing
                for member in dir(thing):
                    each = inspect.getattr_static(thing, member)
                    if not member.startswith("_") and not isinstance(each, property) and (
                            callable(getattr(thing, member))):
                        yield f"{name}.{member}", getattr(thing, member)


def call_of(name, good):
    """A function and arguments that it takes; None where there is nothing to try."""
    if name in CALLS:
        return None if CALLS[name] is None else CALLS[name](good)
    kind, member = name.split(".")
    attribute, arguments = METHODS[kind]
    found = arguments[member](good) if member in arguments else {}
    owner = good.chain if name == "Plan.ttmc" else getattr(good, attribute)
    return None if found is None else (getattr(owner, member), found)


def parameters(function):
    """The names of parameters that can be given by name."""
    return [name for name, each in inspect.signature(function).parameters.items()
            if name not in ("self", "cls") and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]


PUBLIC = dict(public())
CASES = [(name, parameter) for name, function in PUBLIC.items() for parameter in parameters(function)]

# What an error may say instead of the parameter's name.
ALIASES = {
    "X": r"real number|sample|feature|tensor|array|column|Series|mode|data",
    "x": r"tensor|shape|cell|array|column|Series|mode|model|factors",
    "y": r"tensor|array|column|Series|cell|mode", "other": r"tensor|array|column|Series|cell|mode",
    "validation": r"tensor|array|column|Series|cell|mode", "matrix": r"scipy",
    "array": r"sparse|xarray|tensor|cell|mode",
    "tensor": r"pyttb|PyTorch", "frame": r"data frame|column|Series", "a": r"Kruskal|model", "b": r"Kruskal|model",
    "model": r"Kruskal|CPTensor|ktensor|factor|core|weights|pyttb", "random_state": "seed",
    "latitude": "mode", "longitude": "mode", "scan": "RankScan",
    "n_jobs": "threads", "documents": "mode", "terms": "mode", "modes": "mode", "labels": "mode", "vectors": "mode",
    "nonnegative": "mode", "bins": "column", "columns": "column", "coords": "values", "factors": "factor",
    "init": "factor", "fdr": "false-discovery rate", "half_rows": "half rows", "index_base": "index",
    "inner_iters": "inner iterations", "max_iters": "iterations", "like": "published", "poisson": "Poisson",
    "memory_limit": "memory limit", "network": "bytes a second", "host_bandwidth": "bytes a second",
    "host_latency": "latency", "ranks_per_host": "processes", "restarts": "starts", "shares": "share",
    "ranks": "rank|processes", "shape": "length", "spill_dir": "spill file", "state": "ktensor|cannot open",
    "time_zone": "time zone|options of tables", "checkpoint": "cannot|checkpoint", "resume": "cannot|checkpoint",
    "kinds": "kind", "groups": "group", "components": "component", "path": "cannot open|error: ",
}
# Words of Python, NumPy and cffi about what they, not the user, had in hand.
INNER = re.compile(
    r"cdata|ctype|has no attribute|initializer|not iterable|not subscriptable|unhashable|_handle|could not convert|"
    r"is not callable|unsupported operand|not supported between|ufunc|len\(\)|has no len\(\)|inhomogeneous|bad operand|"
    r"truth value of an|invalid literal|cannot unpack|values to unpack|__(?!geo_interface)\w+__|iteration over|"
    r"can't convert|only integer scalar")
ALLOWED = (TypeError, ValueError, OverflowError, KeyError, polyad.Error)
# Errors may come out of a function that was given.
THEIRS = {"callback", "function", "groups"}


def complaint(name, parameter, value, good):
    """What is wrong with how a call with one wrong value ends; None: nothing."""
    function, arguments = call_of(name, good)
    try:
        function(**{**arguments, parameter: value})
    except ImportError as error:  # a package that is not installed
        return None if name.split(".")[-1].startswith(("to_", "from_")) else repr(error)
    except Exception as error:
        text = str(error)
        if not isinstance(error, ALLOWED):
            return f"raises {error!r:.200}"
        if parameter in THEIRS and "Strange() takes no arguments" in text:
            return None
        said = INNER.search(text.replace(repr(value)[:60], ""))
        if said is not None:
            return f"says {said.group()!r} in {type(error).__name__}: {text:.200}"
        names = rf"\b{parameter}\b|{ALIASES.get(parameter, parameter)}"
        if re.search(names, text) is None:
            return f"does not name the argument in {type(error).__name__}: {text:.200}"
    return None


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return Good(tmp_path_factory.mktemp("good"))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder for the files that text as a path names."""
    monkeypatch.chdir(tmp_path)


def test_every_function_has_a_call(good):
    """A new function needs a call here; what the table names is there."""
    named = set(CALLS) | {f"{kind}.{member}" for kind, (_, members) in METHODS.items() for member in members}
    assert named <= set(PUBLIC)
    missing = [name for name, function in PUBLIC.items() if name not in CALLS and parameters(function) and
               name.split(".")[0] not in METHODS]
    assert missing == []
    for name, function in PUBLIC.items():
        needed = [p.name for p in inspect.signature(function).parameters.values()
                  if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        call = None if name in CALLS and CALLS[name] is None else call_of(name, good)
        assert call is None or set(needed) <= set(call[1]) | {"self"}, f"{name} needs arguments in CALLS or METHODS"


@pytest.mark.parametrize("name", [name for name in PUBLIC if not name.startswith(("plot.", "RankScan."))])
@pytest.mark.filterwarnings("ignore")
def test_wrong_arguments(name, good, here, capfd):
    if CALLS.get(name, name) is None:
        return
    found = [f"{name}({parameter}={kind}) {told}" for parameter in parameters(PUBLIC[name])
             for kind, value in wrong_values().items()
             if (told := complaint(name, parameter, value, good)) is not None]
    assert found == [], "\n".join(found)


def integers_of(value):
    """An integer in the types that NumPy has for it."""
    return [kind(value) for kind in (np.int64, np.int32, np.uint16)]


@pytest.mark.parametrize("name", [name for name in PUBLIC if not name.startswith(("plot.", "RankScan."))])
@pytest.mark.filterwarnings("ignore")
def test_integers_of_numpy_and_paths(name, good, here, capfd):
    """Wherever an integer is taken one of NumPy is, and wherever a path is a pathlib.Path is."""
    if CALLS.get(name, name) is None:
        return
    for parameter, default in inspect.signature(PUBLIC[name]).parameters.items():
        function, arguments = call_of(name, good)
        value = arguments.get(parameter, default.default)
        if type(value) is int and value >= 0:
            for each in integers_of(value):
                function, arguments = call_of(name, good)
                function(**{**arguments, parameter: each})
        if parameter == "path":
            function(**{**arguments, parameter: str(value)})
            function(**{**arguments, parameter: str(value).encode()})


def variants(array):
    """The same numbers in other arrays: read-only, with strides, in the other order, of another package."""
    frozen = np.array(array)
    frozen.flags.writeable = False
    spread = np.zeros(tuple(2 * n for n in array.shape), array.dtype)[tuple(slice(None, None, 2) for _ in array.shape)]
    spread[...] = array
    yield from (frozen, spread, np.asfortranarray(array), array[::-1].copy()[::-1], array.tolist())
    if array.ndim < 3:
        yield pandas.DataFrame(array) if array.ndim == 2 else pandas.Series(array, index=range(5, 5 + len(array)))


def test_arrays_of_any_layout(good):
    values, x = np.arange(1.0, 8), good.x
    wanted = polyad.SparseTensor(COORDS, values, (4, 3, 2))
    for coords in variants(COORDS):
        assert polyad.SparseTensor(coords, values, (4, 3, 2)) == wanted
    for each in variants(values):
        assert polyad.SparseTensor(COORDS, each, (4, 3, 2)) == wanted
    for shape in (np.array([4, 3, 2]), [np.int64(4), np.uint8(3), 2], pandas.Series([4, 3, 2])):
        assert polyad.SparseTensor(COORDS, values, shape) == wanted
    product, places = polyad.mttkrp(x, good.factors, 0), good.model.reconstruct(COORDS)
    for k in range(6):
        factors = [list(variants(factor))[k] for factor in good.factors]
        assert np.array_equal(polyad.mttkrp(x, factors, 0), product)
        assert polyad.KruskalTensor(list(variants(np.array([2.0, 1.0])))[k], factors).factors[1].flags.c_contiguous
        assert np.array_equal(good.model.reconstruct(list(variants(COORDS))[k]), places)
        assert polyad.cp_als(x, 2, init=factors, max_iters=2) == polyad.cp_als(x, 2, init=good.factors, max_iters=2)


def test_the_factor_that_is_not_read(good):
    """mttkrp() and ttmc() say that they do not read the mode's own factor: None and text do."""
    for nothing in (None, "nothing", np.ones(3)):
        assert np.array_equal(polyad.mttkrp(good.x, [good.factors[0], nothing, good.factors[2]], 1),
                              polyad.mttkrp(good.x, good.factors, 1))
        assert np.array_equal(polyad.ttmc(good.x, [nothing, *good.factors[1:]], 0),
                              polyad.ttmc(good.x, good.factors, 0))


def test_only_numbers_and_words(good):
    """Mistakes that once were taken for something else."""
    with pytest.raises(TypeError, match="verbose must be True or False"):
        polyad.cp_als(good.x, 2, verbose="no")
    with pytest.raises(TypeError, match="observed must be True or False"):
        polyad.SparseTensor.from_dataframe(good.frame, observed="no")
    with pytest.raises(TypeError, match="index must be True or False"):
        good.x.to_dataframe(index="no")
    with pytest.raises(ValueError, match="match 'name' is unknown"):
        polyad.Updater(good.model, "when", match="name")
    with pytest.raises(TypeError, match="shape must be a sequence of lengths, not set"):
        polyad.generate({3, 4, 5}, 10)
    with pytest.raises(TypeError, match="mode_names has 1; expected names"):
        polyad.KruskalTensor(None, good.factors, mode_names=[1, 2, 3])
    with pytest.raises(TypeError, match="info must be a mapping"):
        polyad.KruskalTensor(None, good.factors, info="fit 1")
    with pytest.raises(ValueError, match="coords has rows of unequal length"):
        polyad.SparseTensor([[0, 1], [0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="delimiter '::' found; expected one character"):
        polyad.read(good.file, delimiter="::")


@pytest.mark.parametrize("name, call, says", [
    ("cp_complete", {"learn_rate": 0.1}, 'learn_rate=0.1 found; it counts with algorithm="sgd" alone'),
    ("cp_complete", {"bias_ridge": 1.0}, "bias_ridge=1.0 found; it counts with biases alone"),
    ("cp_complete", {"patience": 2}, "patience=2 found; it counts with validation alone"),
    ("cp_apr", {"algorithm": "pdnr", "kappa": 0.0}, 'kappa=0.0 found; it counts with algorithm="mu" alone'),
    ("cp_apr", {"algorithm": "pqnr", "store_pi": True}, "store_pi=True found"),
    ("cp_apr", {"algorithm": "pqnr", "damping": 1.0}, 'damping=1.0 found; it counts with algorithm="pdnr" alone'),
    ("cp_apr", {"inexact": False}, "inexact=False found"),
    ("cp_apr", {"memory": 5}, 'memory=5 found; it counts with algorithm="pqnr" alone'),
    ("cp_apr", {"active_tol": 0.1}, "active_tol=0.1 found"),
    ("split", {"mode": 1}, "mode=1 found; it counts with negatives alone")])
def test_what_would_do_nothing_is_refused(tmp_path, name, call, says):
    good = Good(tmp_path)
    arguments = (good.x, 2) if name != "split" else (good.x, 0.2)
    with pytest.raises(ValueError, match=re.escape(says)):
        getattr(polyad, name)(*arguments, **call)
