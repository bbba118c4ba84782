"""Pictures: not blank, labels present."""

import json

import numpy as np
import pytest

import polyad

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.figure")
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


def test_notebooks_show_figures(model):
    assert plot.components(model, components=1)._repr_png_().startswith(b"\x89PNG")


def test_codes_are_not_joined(tmp_path):
    codes = [str(code) for code in range(1, 78)]
    model = polyad.KruskalTensor(None, [np.eye(77)[:, :2], np.ones((500, 2))], labels=[codes, None])
    assert [plot.kind_of_mode(model, m) for m in range(2)] == ["stems", "stems"]
    figure = plot.components(model)
    pixels(figure, tmp_path)
    assert len(figure.axes[0].patches) == 77 and len(figure.axes[1].collections) == 1
    joined = plot.components(model, kinds=["line", "stems"])
    assert not joined.axes[0].patches
    for kinds in (["line"], ["line", "dots"]):
        with pytest.raises(ValueError):
            plot.components(model, kinds=kinds)


def test_rows_have_the_same_categories(tmp_path):
    # Each component has one category that the other does not have.
    labels = [list("abcdefghij")]
    model = polyad.KruskalTensor([2.0, 1.0], [np.eye(10)[:, [2, 7]] + 1e-3 * np.eye(10)[:, [0, 1]]],
                                 labels=labels)
    figure = plot.components(model, top=2)
    heights = [[bar.get_height() for bar in axis.patches] for axis in figure.axes]
    assert heights == [[1, 0], [0, 1]]
    assert [each.get_text() for each in figure.axes[1].get_xticklabels()] == ["c", "h"]
    assert not any(each.get_text() for each in figure.axes[0].get_xticklabels())


def test_pictures_compose(model, tensor, tmp_path):
    figure = matplotlib.figure.Figure(figsize=(12, 8), layout="constrained")
    left, right = figure.subfigures(1, 2)
    assert plot.components(model, components=[2, 0], ax=left, title="mine") is left
    axes = right.subplots(3, 2)
    for axis, draw in zip(axes.flat, (
            lambda ax: plot.heatmap(model, "kind", ax=ax), lambda ax: plot.convergence(model, ax=ax),
            lambda ax: plot.similarity(model, ax=ax), lambda ax: plot.top(model, ax=ax, k=1),
            lambda ax: plot.sparsity(tensor, ax=ax))):
        assert draw(axis) in (figure, right)
    plot.map(model, "lat", "lon", components=[1], ax=axes[2, 1], title="there")
    pixels(figure, tmp_path)
    assert {"mine", "there", "component 2", "component 0"} <= {
        each.get_text().split("\n")[0] for each in figure.findobj(matplotlib.text.Text)}
    assert tuple(plot.components(model, figsize=(5, 4)).get_size_inches()) == (5, 4)
    with pytest.raises(ValueError, match="6 axes"):
        plot.components(model, ax=axes)
    for wanted in ([], [3], 0, [-4]):
        with pytest.raises(ValueError):
            plot.components(model, components=wanted)


def test_compare(tensor, model, tmp_path):
    # The same model with components in another order, other signs and scales.
    order = [2, 0, 1]
    turned = [factor[:, order].copy() for factor in model.factors]
    turned[0] *= -3
    turned[1] *= -1
    other = polyad.KruskalTensor(model.weights[order], turned)
    figure = plot.compare(model, other, names=("here", "there"))
    pixels(figure, tmp_path)
    assert texts(figure).count("alike: 1.00") == 3 and "there" in texts(figure)
    for axis in (axis for axis in figure.axes if len(axis.lines) == 3):  # two and the zero line
        np.testing.assert_allclose(axis.lines[0].get_ydata(), axis.lines[1].get_ydata(), atol=1e-12)
    assert "0 and 1" in texts(figure)
    shown = plot.similarity(model, other).axes[0].images[0].get_array()
    np.testing.assert_allclose(np.diag(shown), 1, atol=1e-12)
    assert plot.compare(model, polyad.KruskalTensor(None, [f[:, :1] for f in model.factors]))
    with pytest.raises(ValueError, match="shapes"):
        plot.compare(model, model.permute([1, 0, 2, 3]))


@pytest.mark.parametrize("decompose", [lambda x: polyad.cp_als(x, 3),
                                       lambda x: polyad.tucker(x, (3, 2, 3, 2))])
def test_residuals(tensor, tmp_path, decompose):
    model = decompose(tensor)
    left = (tensor.to_numpy() - model.reconstruct())
    for mode in range(4):
        axes = tuple(m for m in range(4) if m != mode)
        want = np.sqrt((left**2).sum(axes) / (tensor.to_numpy()**2).sum(axes))
        np.testing.assert_allclose(plot.slice_errors(model, tensor, mode), want, rtol=1e-6)
    pixels(plot.residuals(model, tensor), tmp_path)
    assert len(plot.residuals(model, tensor, modes=["kind"]).axes) == 1
    empty = polyad.SparseTensor(tensor.coords, tensor.values, (31, *tensor.shape[1:]))
    wider = polyad.cp_als(empty, 2)
    assert np.isnan(plot.slice_errors(wider, empty, 0)[-1])
    pixels(plot.residuals(wider, empty), tmp_path)


def test_tucker_tensors_have_pictures_of_their_own(tensor, model, tmp_path):
    tucker = polyad.tucker(tensor, (3, 2, 3, 2))
    pixels(plot.core(tucker, "kind"), tmp_path)
    for call in (plot.components, plot.top, plot.similarity, lambda m: plot.map(m, 2, 3),
                 lambda m: plot.compare(m, m)):
        with pytest.raises(TypeError, match="KruskalTensor"):
            call(tucker)
    with pytest.raises(TypeError, match="TuckerTensor"):
        plot.core(model)


def test_colours_around_zero():
    factor = np.array([[1.0, -0.5], [0.25, 2]])
    image = plot.heatmap(polyad.KruskalTensor(None, [factor]), 0).axes[0].images[0]
    assert image.get_clim() == (-2, 2)
    image = plot.heatmap(polyad.KruskalTensor(None, [np.abs(factor)]), 0).axes[0].images[0]
    assert image.get_clim() == (0.25, 2)


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
    assert len(figure.axes) == 1 and len(figure.axes[0].child_axes) == 1  # the map and its colour bar
    with pytest.raises(ValueError):
        plot.map(model, 0, 1, components=0)


def test_heatmap(model, tmp_path):
    figure = plot.heatmap(model, 1)
    pixels(figure, tmp_path)
    assert "plum" in texts(figure)


def test_convergence(model, tmp_path):
    figure = plot.convergence(model, names=["mine"])
    pixels(figure, tmp_path)
    assert "mine" in texts(figure) and "iteration" in texts(figure)
    timed = plot.convergence(model, x="seconds", log=True)
    pixels(timed, tmp_path)
    assert timed.axes[0].get_yscale() == "log" and "seconds" in texts(timed)
    with pytest.raises(ValueError, match="'miles'"):
        plot.convergence(model, x="miles")
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
    assert "2024-01-01" in texts(figure) and "apple" in texts(figure)


def test_slices(tensor, tmp_path):
    figure = plot.slices(tensor)
    pixels(figure, tmp_path)
    assert all(axis.get_ylim()[0] < 1 for axis in figure.axes)


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
    assert "component 1" in out.read_text() and "component 0" not in out.read_text()
    assert "component 0" in texts(plot.components(model))


def test_command_errors(tmp_path, capsys):
    assert main([str(tmp_path / "none.ktensor"), "-o", str(tmp_path / "x.png")]) == 1
    assert "none.ktensor" in capsys.readouterr().err
    assert not (tmp_path / "x.png").exists()


def test_map_with_an_outline(model, tmp_path):
    island = [[-74.2, 40.2], [-73.0, 40.2], [-73.0, 41.0], [-74.2, 40.2]]
    far = [[10.0, 50.0, 3.0], [11.0, 51.0, 3.0]]  # a third number is a height
    parts = {"type": "FeatureCollection", "features": [
        {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [island, far]}},
        {"type": "Feature", "geometry": None},
        {"type": "Feature", "geometry": {"type": "GeometryCollection", "geometries": [
            {"type": "MultiPolygon", "coordinates": [[island], [far]]},
            {"type": "MultiLineString", "coordinates": [far]},
            {"type": "LineString", "coordinates": far}, {"type": "Point", "coordinates": [0, 0]}]}}]}
    path = tmp_path / "here.geojson"
    path.write_text(json.dumps(parts))

    class Shape:
        __geo_interface__ = {"type": "LinearRing", "coordinates": island}

    plain = plot.map(model, "lat", "lon", components=1).axes[0]
    for outline, count in ((path, 6), (str(path), 6), (parts, 6), (Shape(), 1), ([Shape(), Shape()], 2)):
        axis = plot.map(model, "lat", "lon", components=1, outline=outline).axes[0]
        found = axis.collections[-1].get_segments()
        assert len(found) == count
        np.testing.assert_array_equal(found[0], island)
        assert axis.get_xlim() == plain.get_xlim()  # what lies far away does not widen the map
    assert (pixels(plot.map(model, 2, 3, outline=path), tmp_path)
            != pixels(plot.map(model, 2, 3), tmp_path)).any()
    path.write_text("{")
    for wrong, error in ((path, ValueError), ({"type": "Topology"}, ValueError), (3, TypeError),
                         (["a"], TypeError), ("none.geojson", FileNotFoundError)):
        with pytest.raises(error):
            plot.map(model, 2, 3, outline=wrong)


def overlapping(axis_texts, figure):
    """Pairs of texts that lie on each other."""
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in axis_texts if text.get_text()]
    return [(a, b) for i, (a, first) in enumerate(boxes) for b, second in boxes[i + 1:]
            if first.overlaps(second)]


def test_columns_of_a_page_have_room(model, tensor):
    """At the width of a printed column no letters lie on each other or leave the picture."""
    figure = plot.slices(tensor, figsize=(3.4, 2.5))
    for what in (lambda axis: [axis.xaxis.label], lambda axis: [axis.title],
                 lambda axis: [label for place, label in zip(axis.get_xticks(), axis.get_xticklabels())
                               if axis.get_xlim()[0] <= place <= axis.get_xlim()[1]]):
        assert overlapping([text for axis in figure.axes for text in what(axis)], figure) == []
    figure = plot.top(model, figsize=(3.4, 3))
    figure.draw_without_rendering()
    for cell in figure.axes[0].tables[0].get_celld().values():
        inside, around = cell.get_text().get_window_extent(), cell.get_window_extent()
        assert around.x0 <= inside.x0 and inside.x1 <= around.x1, cell.get_text().get_text()
    figure = plot.compare(model, model, figsize=(7, 4))
    figure.draw_without_rendering()
    legend = figure.axes[3].get_legend().get_window_extent()
    assert not legend.overlaps(figure.axes[3].get_window_extent())
    assert legend.x1 <= figure.bbox.width and legend.y1 <= figure.bbox.height
    figure = plot.similarity(model, model, figsize=(3.4, 3))
    figure.draw_without_rendering()
    for text in (figure.axes[0].xaxis.label, figure.axes[0].yaxis.label, figure.axes[1].yaxis.label):
        box = text.get_window_extent()
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.width and box.y1 <= figure.bbox.height
