"""Pictures: not blank, labels present."""

import numpy as np
import pytest

import polyad

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from polyad import plot  # noqa: E402
from polyad._plot_command import main  # noqa: E402


@pytest.fixture
def tensor():
    rng = np.random.default_rng(0)
    coords = np.stack([rng.integers(0, n, 800) for n in (30, 6, 12, 15)], axis=1)
    labels = {"date": [f"2024-01-{day:02}" for day in range(1, 31)],
              "kind": ["apple", "pear", "plum", "fig", "lime", "kiwi"],
              "lat": [f"{40 + i / 10}" for i in range(12)],
              "lon": [f"{-74 + i / 10}" for i in range(15)]}
    return polyad.SparseTensor(coords, rng.random(800), (30, 6, 12, 15), labels)


@pytest.fixture
def model(tensor):
    return polyad.cp_als(tensor, 3, nonnegative=True)


def pixels(figure, tmp_path):
    path = tmp_path / "picture.png"
    figure.savefig(path, dpi=80)
    image = matplotlib.image.imread(path)[..., :3]
    assert image.shape[0] > 100 and image.shape[1] > 100
    # Neither blank nor a solid block.
    assert 0.005 < (image.min(axis=2) < 0.9).mean() < 0.95
    return image


def texts(figure):
    found = figure.findobj(matplotlib.text.Text)
    for table in figure.findobj(matplotlib.table.Table):
        found += [cell.get_text() for cell in table.get_celld().values()]
    return " ".join(text.get_text() for text in found)


def test_components(model, tmp_path):
    figure = plot.components(model)
    pixels(figure, tmp_path)
    assert {"date", "kind", "apple"} <= set(texts(figure).split())
    assert [plot.kind_of_mode(model, m) for m in range(4)] == ["line", "bar", "line", "line"]


def test_map(model, tmp_path):
    figure = plot.map(model, 2, 3)
    pixels(figure, tmp_path)
    assert "lat" in texts(figure) and "lon" in texts(figure)


def test_map_shows_where_the_strength_is(tmp_path):
    # A thousand places within a tenth of a degree, and one far away that hardly counts.
    labels = [f"{40 + i / 10000:.4f}" for i in range(1000)] + ["80.0"]
    factor = np.full((1001, 1), 1.0)
    factor[-1] = 1e-3
    model = polyad.KruskalTensor(None, [factor, factor], labels=[labels, labels],
                                 mode_names=["lat", "lon"])
    figure = plot.map(model, 0, 1)
    image = pixels(figure, tmp_path)
    assert figure.axes[0].get_ylim()[1] < 40.2 and figure.axes[0].get_xlim()[1] < 40.2
    assert (image[..., 0] > 0.8).any() and (image.std(axis=2) > 0.1).mean() > 0.2
    with pytest.raises(ValueError):
        plot.map(model, 0, 1, count=0)


def test_heatmap(model, tmp_path):
    figure = plot.heatmap(model, 1)
    pixels(figure, tmp_path)
    assert "plum" in texts(figure)


def test_convergence(model, tmp_path):
    figure = plot.convergence(model, names=["mine"])
    pixels(figure, tmp_path)
    assert "mine" in texts(figure) and "iteration" in texts(figure)
    with pytest.raises(ValueError):
        plot.convergence(polyad.KruskalTensor(None, [np.ones((2, 1))]))


def test_convergence_of_every_algorithm(tensor, tmp_path):
    counts = polyad.cp_apr(tensor, 2, max_iters=3)
    figure = plot.convergence(counts)
    pixels(figure, tmp_path)
    assert "log-likelihood" in texts(figure)
    core = polyad.tucker(tensor, 2, max_iters=3)
    pixels(plot.convergence(core), tmp_path)
    with pytest.raises(ValueError, match="likelihood"):
        plot.convergence(counts, core)


def test_heatmap_of_a_tucker_tensor(tensor, tmp_path):
    figure = plot.heatmap(polyad.tucker(tensor, 2, max_iters=3), 1)
    pixels(figure, tmp_path)
    assert "plum" in texts(figure)


def test_top(model, tmp_path):
    figure = plot.top(model, k=3)
    pixels(figure, tmp_path)
    assert model.top(0, 1, 1)[0][0] in texts(figure)


def test_sparsity(tensor, tmp_path):
    figure = plot.sparsity(tensor)
    pixels(figure, tmp_path)
    assert "date" in texts(figure) and "nonzeros" in texts(figure)


def test_slices(tensor, tmp_path):
    pixels(plot.slices(tensor), tmp_path)


def test_similarity(model, tmp_path):
    pixels(plot.similarity(model), tmp_path)
    pixels(plot.similarity(model, model), tmp_path)


@pytest.mark.parametrize("kind", ["components", "heatmap", "map", "similarity", "top"])
def test_command(model, tmp_path, kind):
    model.save(tmp_path / "m.ktensor")
    labels = tmp_path / "m.labels"
    labels.mkdir()
    (labels / "mode-2-kind.map").write_text("\n".join(["apple", "pear", "plum", "fig", "lime",
                                                       "kiwi"]) + "\n")
    out = tmp_path / f"{kind}.png"
    assert main([str(tmp_path / "m.ktensor"), "--labels", str(labels), "-o", str(out), "--kind",
                 kind, "--mode", "2", "--map-modes", "3,4"]) == 0
    assert out.stat().st_size > 5000


def test_command_finds_the_labels_of_the_model(model, tmp_path):
    model.save(tmp_path / "m.ktensor")
    out = tmp_path / "m.svg"
    assert main([str(tmp_path / "m.ktensor"), "-o", str(out)]) == 0
    assert "apple" in out.read_text()


def test_command_errors(tmp_path, capsys):
    assert main([str(tmp_path / "none.ktensor"), "-o", str(tmp_path / "x.png")]) == 1
    assert "none.ktensor" in capsys.readouterr().err
    assert not (tmp_path / "x.png").exists()
