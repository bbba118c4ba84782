"""Pages of polyad report: what they show, that labels are data, and that a browser agrees."""

import html.parser
import itertools
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import zlib

import pytest

from conftest import ROOT

VOID = {"meta", "br", "path", "rect", "use", "link", "img", "hr", "input", "col"}
HOSTILE = ["<script>alert(1)</script>", "\" onmouseover=\"alert(1)", "' & ' &lt; &#60;", "a" * 5000,
           "שלום עולם", "\u202eevil\u202c", "</title></style></svg>", "]]>--><!--", "日本語 🚲",
           "{{7*7}} %s %n", "javascript:alert(1)", "\x01\x02\x7f"]


class Page(html.parser.HTMLParser):
    """A page as its elements, which must be well nested."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        assert len(attributes) == len(dict(attributes)), "an attribute is given twice"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return "".join(self.words)

    def all(self, tag, **attributes):
        return [found for name, found in self.elements
                if name == tag and all(found.get(k) == v for k, v in attributes.items())]


def report(polyad, *arguments):
    polyad.ok("report", *arguments, "-o", "page.html")
    text = polyad.path("page.html").read_bytes().decode("utf-8", "strict")
    page = Page(text)
    check(page, text)
    return page


def check(page, text):
    """What every page must be: self-contained, without scripts, with headings and words for
    pictures."""
    assert text.startswith("<!doctype html>\n<html lang=\"en\">")
    assert not page.all("script") and not page.all("link") and not page.all("img")
    policy = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy[0]["content"] == "default-src 'none'; style-src 'unsafe-inline'"
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")], attributes
        assert attributes.get("href", "#").startswith("#")
        assert "src" not in attributes
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 2 for before, after in itertools.pairwise(levels)), levels
    assert all(found["role"] == "img" and found["aria-label"] for found in page.all("svg"))
    names = [a["id"] for _, a in page.elements if "id" in a]
    assert len(names) == len(set(names))
    assert all(found["href"][1:] in names for found in page.all("a") + page.all("use"))
    assert "nan" not in text.lower().replace("finan", "").split() and "inf" not in text.split()


def write_ktensor(polyad, name, dims, weights, factors):
    lines = ["ktensor", str(len(dims)), " ".join(map(str, dims)), str(len(weights)),
             " ".join(map(str, weights))]
    for length, factor in zip(dims, factors):
        lines += ["matrix", "2", f"{length} {len(weights)}"]
        lines += [" ".join(map(repr, row)) for row in factor]
    polyad.write(name, "\n".join(lines) + "\n")


def random_model(polyad, name, dims, rank, seed=1):
    rng = random.Random(seed)
    factors = [[[rng.uniform(-1, 1) for _ in range(rank)] for _ in range(n)] for n in dims]
    weights = [rng.uniform(1, 3) for _ in range(rank)]
    write_ktensor(polyad, name, dims, weights, factors)
    return weights, factors


def values_of(weights, factors, dims):
    for at in itertools.product(*map(range, dims)):
        value = 0.0
        for r, weight in enumerate(weights):
            for mode, i in enumerate(at):
                weight = weight * factors[mode][i][r]
            value += weight
        yield at, value


# ---- numbers -------------------------------------------------------------------------------------

def explained_by_hand(dims, tensor, model):
    """Share of the squared norm explained: of all, and of each slice, from all entries."""
    totals = {}
    for at in itertools.product(*map(range, dims)):
        x, m = tensor.get(at, 0.0), model[at]
        for key in [None, *enumerate(at)]:
            data, left = totals.get(key, (0.0, 0.0))
            totals[key] = data + x * x, left + (x - m) ** 2
    return {key: 1 - left / data if data else None for key, (data, left) in totals.items()}


@pytest.mark.parametrize("dims", [(7,), (4, 3), (3, 4, 2), (2, 3, 2, 2), (2,) * 8])
def test_shares_of_slices(polyad, dims):
    """Against sums over all entries, of models that explain some slices better than others."""
    weights, factors = random_model(polyad, "m.ktensor", dims, 2)
    rng = random.Random(2)
    model = dict(values_of(weights, factors, dims))
    tensor = {at: value + rng.gauss(0, 0.3) for at, value in model.items() if rng.random() < 0.7}
    tensor[tuple(n - 1 for n in dims)] = 1.0
    polyad.write("x.tns", "".join(f"{' '.join(str(i + 1) for i in at)} {value!r}\n"
                                  for at, value in tensor.items()))
    expected = explained_by_hand(dims, tensor, model)
    result = polyad.json("report", "m.ktensor", "x.tns", "-o", "page.html")
    # Sums of a few dozen products of numbers of order one, each rounded to eps.
    assert result["explained"] == pytest.approx(expected[None], abs=1e-12)
    page = report(polyad, "m.ktensor", "x.tns", "--top", "100")
    text = polyad.path("page.html").read_text()
    for mode, table in enumerate(re.findall(r"hold most of what is left.*?</table>", text, re.S)):
        rows = re.findall(r"<bdi>(\d+)</bdi></th><td[^>]*>[^<]*</td><td[^>]*>([^<]*)</td>", table)
        assert {int(label) - 1 for label, _ in rows} == set(range(dims[mode]))
        for label, shown in rows:
            wanted = expected[mode, int(label) - 1]
            assert (shown == "–") == (wanted is None)
            if wanted is not None and "&lt;" not in shown:
                found = float(shown.replace("−", "-").replace(" %", "")) / 100
                assert found == pytest.approx(wanted, abs=0.00051), (mode, label)
    assert len(page.all("svg")) == 0  # no labels: bars and tables


def test_shares_of_what_rounding_leaves(polyad):
    """A model that leaves nothing: no share of it is more than all, in no mode."""
    factors = [(0.1, 0.1), (0.0, 0.2), (0.2, 0.0)], [(0.0, 1.4), (0.0, 0.7)], [(1.4, 0.0), (0.0, 0.7)]
    polyad.write("m.ktensor", "ktensor\n3\n3 2 2\n2\n3.1 0.7\n" + "".join(
        f"matrix\n2\n{len(rows)} 2\n" + "".join(f"{a!r} {b!r}\n" for a, b in rows) for rows in factors))
    polyad.write("x.tns", "1 1 2 0.06859999999999998\n1 2 2 0.03429999999999999\n"
                 "2 1 2 0.13719999999999996\n2 2 2 0.06859999999999998\n")
    result = polyad.json("report", "m.ktensor", "x.tns", "-o", "page.html", "--dims", "3,2,2")
    assert result["explained"] == pytest.approx(1, abs=1e-14)
    tables = re.findall(r"hold most of what is left.*?</table>", polyad.path("page.html").read_text(), re.S)
    assert len(tables) == 3
    shares = re.findall(r'class="number">(\d[^<]*) %</td></tr>', "".join(tables))
    assert all(float(share) <= 100 for share in shares), shares


def test_shares_of_a_tucker_model(polyad):
    """The share that the residuals give is that of the fit of the run, which is computed otherwise;
    and a model whose factors are not orthonormal has the Gram matrices in it."""
    source = ROOT / "data/aminoacids.tns.gz"
    run = polyad.json("tucker", source, "-r", "3,2,4", "-o", "m.ttensor", "--top", "0")
    result = polyad.json("report", "m.ttensor", source, "-o", "p.html")
    assert 1 - result["explained"] == pytest.approx((1 - run["fit"]) ** 2, rel=1e-9)
    polyad.write("n.ttensor", "ttensor\n2\n2 3\ntensor\n2\n2 2\n1\n2\n3\n-4\n"
                 "matrix\n2\n2 2\n1 2\n3 4\nmatrix\n2\n3 2\n1 1\n0 2\n5 -1\n")
    core = {(0, 0): 1, (1, 0): 2, (0, 1): 3, (1, 1): -4}
    a, b = [[1, 2], [3, 4]], [[1, 1], [0, 2], [5, -1]]
    model = {(i, j): sum(value * a[i][r] * b[j][s] for (r, s), value in core.items())
             for i in range(2) for j in range(3)}
    polyad.write("x.tns", "1 1 2\n2 3 7\n")
    expected = explained_by_hand((2, 3), {(0, 0): 2.0, (1, 2): 7.0}, model)
    result = polyad.json("report", "n.ttensor", "x.tns", "-o", "q.html")
    assert result["explained"] == pytest.approx(expected[None], rel=1e-12)


@pytest.mark.parametrize("algorithm", ["als", "nonnegative", "apr-mu"])
def test_fit_and_course_of_a_run(polyad, algorithm):
    source = ROOT / "data/chicago-crime-2022.tns.gz"
    how = ["--nonnegative"] if algorithm == "nonnegative" else ["-a", algorithm]
    run = polyad.json("cpd", source, "-r", "3", "-i", "4", "-o", "m.ktensor", "--seed", "7", *how)
    polyad.write("run.json", json.dumps(run))
    page = report(polyad, "m.ktensor", source, "--run", "run.json")
    explained = polyad.json("report", "m.ktensor", source, "-o", "q.html")["explained"]
    if algorithm == "apr-mu":
        assert "log-likelihood after each iteration" in page.text
        assert "violation of the KKT conditions" in page.text
    else:
        assert f"{run['fit']:.6f}" in page.text
        assert explained == pytest.approx(1 - (1 - run["fit"]) ** 2, rel=1e-9)
        assert "fit after each iteration" in page.text
    assert "202,313" in page.text and "seed7" in page.text.replace("\n", "")
    assert page.text.count(": weight ") == 3
    # date and hour are lines, community areas columns, crimes bars
    shown = [found["aria-label"] for found in page.all("svg")]
    assert sum(label.startswith("Strengths, a line of 334") for label in shown) == 3
    assert sum(label.startswith("Strengths, a line of 24") for label in shown) == 3
    assert sum(label.startswith("Strengths, a column for each of 77") for label in shown) == 3
    assert "THEFT" in page.text


def test_numbers_are_for_people(polyad):
    write_ktensor(polyad, "m.ktensor", (9,), [1234567.891, 1e-7, 1e300],
                  [[[v, 0.0, 1.0] for v in (1, -0.5, 0.123456, 1e-5, 12345.678, 0, 0, 0, 0)]])
    page = report(polyad, "m.ktensor")
    for text in ["1,234,568", "1.000 × 10⁻⁷", "1.000 × 10³⁰⁰", "−0.5", "0.1235", "12,346",
                 "1.000 × 10⁻⁵"]:
        assert text in page.text, text


# ---- labels are data -----------------------------------------------------------------------------

def write_labelled(polyad, labels, mode_names=("who", "what")):
    """A tensor whose first mode has these labels (bytes), and a model of it."""
    folder = polyad.path("x.labels")
    folder.mkdir()
    (folder / f"mode-1-{mode_names[0]}.map").write_bytes(b"\n".join(labels) + b"\n")
    (folder / f"mode-2-{mode_names[1]}.map").write_bytes(b"one\ntwo\n")
    polyad.write("x.tns", "".join(f"{i + 1} {j + 1} {i + 1}.5\n" for i in range(len(labels))
                                  for j in range(2)))
    polyad.ok("cpd", "x.tns", "-r", "1", "-o", "m.ktensor", "--top", "0")


def test_hostile_labels_stay_text(polyad):
    write_labelled(polyad, [label.encode() for label in HOSTILE])
    page = report(polyad, "m.ktensor", "x.tns", "--top", "50", "--title", "<b>\"&'")
    assert not page.all("b") and "<b>\"&'" in page.text
    for label in HOSTILE[:3] + HOSTILE[4:-1]:
        assert label in page.text, label
    assert "a" * 48 + "…" in page.text and "a" * 400 not in page.text
    titles = [found.get("title") for found in page.all("th")]
    assert "a" * 300 + "…" in titles
    assert "\ufffd\ufffd\ufffd" in page.text and "\x01" not in page.text


def test_labels_that_are_no_utf8(polyad):
    """Where a reader lets bytes through that are no UTF-8, the page has U+FFFD for them."""
    folder = polyad.path("x.labels")
    folder.mkdir()
    (folder / "mode-1-who.map").write_bytes(b"ab\xff\xfecd\n\xc3\n\xed\xa0\x80\n")
    polyad.write("x.tns", "1 1 1\n2 1 2\n3 1 3\n")
    if polyad.run("cpd", "x.tns", "-r", "1", "-o", "m.ktensor").status != 0:
        pytest.skip("the reader refuses such labels")
    page = report(polyad, "m.ktensor", "x.tns")
    assert "ab\ufffd\ufffdcd" in page.text


def test_hostile_names_of_modes_and_files(polyad):
    write_labelled(polyad, [b"a", b"b"], ("<i>&", "\"><script>"))
    polyad.path("m.ktensor").rename(polyad.path("<u>&'.ktensor"))
    page = report(polyad, "<u>&'.ktensor", "x.tns")
    assert not page.all("i") and not page.all("u")
    assert "<i>&" in page.text and "\"><script>" in page.text and "<u>&'.ktensor" in page.text


def test_hostile_run(polyad):
    random_model(polyad, "m.ktensor", (3, 3), 1)
    for content in ["[]", "{", "", "null", "{\"trace\": 7", "\x00"]:
        polyad.write("run.json", content)
        polyad.fails(1, "report", "m.ktensor", "--run", "run.json", "-o", "p.html", says="--run")
    polyad.fails(1, "report", "m.ktensor", "--run", "absent.json", "-o", "p.html", says="--run")
    polyad.write("run.json", json.dumps({
        "fit": "<script>", "trace": [1, {"iteration": "x"}, {"iteration": 1, "fit": 1e300}, None],
        "algorithm": "<script>", "reason": "max_<b>", "iterations": 5, "seed": {}, "starts": {},
        "diagnosis": "<img src=x>", "threads": 1e300, "device": ["x"]}).replace("1e+300", "1e999"))
    page = report(polyad, "m.ktensor", "--run", "run.json")
    assert "max <b>" in page.text and "<img src=x>" in page.text


# ---- kinds of labels and models ------------------------------------------------------------------

@pytest.mark.parametrize("labels, kind", [
    (["2024-02-28", "2024-03-01", "2024-02-29"], "line"), (["2024-01", "2024-03"], "line"),
    (["2024-W09", "2024-W10"], "line"), (["2024-05-01T10:00", "2024-05-01T11:30:15Z"], "line"),
    (["08:00", "09:30"], "line"), (["Monday", "Tuesday"], "line"), (["Mar", "Jan"], "line"),
    (["1.5", "-2.25"], "line"), (["12", "7", "3"], "column"), (["2024-13-01", "x"], None),
    (["1", "two"], None), (["nan", "1"], None), (["24-02-28", "24-03-01"], None),
    (["0x10", "3"], None), (["Mon", "Jan"], None)])
def test_kinds_of_modes(polyad, labels, kind):
    write_labelled(polyad, [label.encode() for label in labels])
    shown = [found["aria-label"] for found in report(polyad, "m.ktensor", "x.tns").all("svg")]
    assert bool(shown) == (kind is not None), shown
    if kind is not None:
        assert f"a {kind}" in shown[0]


def test_times_are_drawn_in_order(polyad):
    """Dates that stand in another order than they passed are a line from left to right."""
    labels = ["2024-03-01", "2024-01-01", "2024-12-31", "2024-02-29"]
    write_labelled(polyad, [label.encode() for label in labels])
    report(polyad, "m.ktensor", "x.tns")
    text = polyad.path("page.html").read_text()
    path = re.search(r'class="line" d="M([^"]+)"', text)[1]
    x = [float(point.split()[0]) for point in path.split("L")]
    assert len(x) == 4 and x == sorted(x)
    assert x[2] - x[1] == pytest.approx((x[3] - x[0]) / 365, abs=0.11)  # the 29th, then the 1st


def write_places(polyad, names, columns):
    """A tensor and a model with modes that are called so."""
    lines = [",".join([*names, "value"])]
    lines += [",".join([*row, str(k + 1)]) for k, row in enumerate(columns)]
    polyad.write("x.csv", "\n".join(lines) + "\n")
    polyad.ok("cpd", "x.csv", "-r", "2", "-i", "2", "-o", "m.ktensor", "--top", "0")


@pytest.mark.parametrize("names, is_map", [
    (("latitude", "longitude", "kind"), True), (("lat", "lon", "kind"), True),
    (("kind", "pickup_lng", "pickup_lat"), True), (("pickup_lat", "dropoff_lng", "kind"), False),
    (("plateau", "longitude", "kind"), False), (("latitude", "longish", "kind"), False)])
def test_maps_of_two_modes(polyad, names, is_map):
    rows = []
    for k in range(20):
        place = {"lat": f"{40 + k % 5 / 10:.1f}", "lon": f"{-74 + k % 4 / 10:.1f}"}
        rows.append([place["lat"] if "lat" in name else place["lon"] if re.search("lo|ln", name)
                     else "ab"[k % 2] for name in names])
    write_places(polyad, names, rows)
    page = report(polyad, "m.ktensor", "x.csv")
    maps = page.all("svg", **{"class": "map"})
    assert len(maps) == (2 if is_map else 0)
    if is_map:
        assert all("° N".replace(" ", "\u202f") in found["aria-label"] for found in maps)
        assert len(page.all("path", **{"class": "places"})) == 1 and len(page.all("use")) == 1


def test_maps_of_pairs(polyad):
    polyad.write("x.csv", "place;day;value\n" + "".join(
        f"({48 + i / 100:.2f}, {11 + i / 50:.2f});d{j};{i + j + 1}\n"
        for i in range(12) for j in range(3)))
    polyad.ok("cpd", "x.csv", "--delimiter", ";", "-r", "2", "-o", "m.ktensor", "--top", "0")
    page = report(polyad, "m.ktensor", "x.csv", "--delimiter", ";")
    assert len(page.all("svg", **{"class": "map"})) == 2
    polyad.ok("tucker", "x.csv", "--delimiter", ";", "-r", "2,2", "-o", "m.ttensor", "--top", "0")
    page = report(polyad, "m.ttensor", "x.csv", "--delimiter", ";")
    assert len(page.all("svg", **{"class": "map"})) == 2


def geometry(kind, coordinates):
    return {"type": kind, "coordinates": coordinates}


def collection(*geometries):
    return {"type": "FeatureCollection",
            "features": [{"type": "Feature", "geometry": each} for each in geometries]}


def test_outlines_of_maps(polyad):
    """Lines of GeoJSON are drawn where they lie, and cut off at the frame."""
    polyad.write("x.csv", "lat,lon,value\n" + "".join(
        f"{40 + i / 10:.1f},{10 + j / 10:.1f},1\n" for i in range(11) for j in range(11)))
    polyad.ok("cpd", "x.csv", "-r", "2", "-i", "2", "-o", "m.ktensor", "--top", "0")

    def drawn(outline):
        polyad.write("o.geojson", json.dumps(outline))
        page = report(polyad, "m.ktensor", "x.csv", "--outline", "o.geojson")
        paths = page.all("path", **{"class": "borders"})
        assert len(paths) == 1 and len(page.all("use", href="#borders-1-2")) == 1
        lines = [[tuple(map(float, point.split())) for point in line.split("L")]
                 for line in paths[0]["d"].split("M")[1:]]
        _, _, width, height = map(float, page.all("svg", **{"class": "map"})[0]["viewbox"].split())
        # A left margin of 72 and one of 10, above 6 and below 24: inside the frame, or on its edge.
        assert all(72 <= x <= width - 10 and 6 <= y <= height - 24 for line in lines for x, y in line)
        return lines, (72, width - 10, 6, height - 24)

    inside = [[10.2, 40.2], [10.8, 40.2, 7.0], [10.8, 40.8]]
    lines, (left, right, above, below) = drawn(geometry("LineString", inside))
    assert len(lines) == 1 and len(lines[0]) == 3
    across = [10 - 0.03, 11 + 0.03]  # the data and 3 % on either side
    for (x, y), (east, north, *_) in zip(lines[0], inside):
        assert x == pytest.approx(left + (east - across[0]) / 1.06 * (right - left), abs=0.06)
        assert y == pytest.approx(below - (north - 39.97) / 1.06 * (below - above), abs=0.06)
    (line,), edges = drawn(geometry("LineString", [[0, 40.5], [20, 40.5]]))  # through the frame
    assert [x for x, _ in line] == pytest.approx(edges[:2], abs=0.06)
    lines, _ = drawn(geometry("LineString", [[10.5, 40.5], [10.5, 50], [10.6, 50], [10.6, 40.5]]))
    assert [len(line) for line in lines] == [2, 2]  # out and in again
    lines, _ = drawn(collection(
        geometry("Polygon", [inside, inside]), None, geometry("MultiPolygon", [[inside], [inside]]),
        {"type": "GeometryCollection", "geometries": [geometry("MultiLineString", [inside])]},
        geometry("Point", [10.5, 40.5]), geometry("LineString", [[0, 0], [1, 1]]),
        geometry("LineString", [[10.5, "x"], None, [10.5]]), geometry("LineString", 3), {"type": 4}))
    assert len(lines) == 5
    assert drawn({"type": "Feature"})[0] == []
    for text in ("{", "[]", '{"type": "Topology"}'):
        polyad.write("o.geojson", text)
        polyad.fails(1, "report", "m.ktensor", "--outline", "o.geojson", "-o", "p.html", says="GeoJSON")
    polyad.fails(1, "report", "m.ktensor", "--outline", "none", "-o", "p.html", says="No such file")


def test_degrees_outside_the_globe_are_no_map(polyad):
    write_places(polyad, ("lat", "lon", "kind"), [["91.5", "1.5", "a"], ["10.5", "2.5", "b"]])
    assert not report(polyad, "m.ktensor", "x.csv").all("svg", **{"class": "map"})


@pytest.mark.parametrize("order", range(1, 9))
@pytest.mark.parametrize("rank", [1, 3])
def test_orders_and_ranks(polyad, order, rank):
    dims = [3] * order
    random_model(polyad, "m.ktensor", dims, rank)
    page = report(polyad, "m.ktensor")
    assert page.text.count("Component ") == rank
    assert len(page.all("table", **{"class": "bars"})) == rank * order
    ranks = [2] * order
    polyad.write("t.ttensor", "\n".join(
        ["ttensor", str(order), " ".join(map(str, dims)), "tensor", str(order),
         " ".join(map(str, ranks)), *["0.5"] * 2**order] +
        ["matrix\n2\n3 2\n1 0\n0 1\n0 0"] * order) + "\n")
    page = report(polyad, "t.ttensor")
    assert len(page.all("table", **{"class": "bars"})) == 2 * order and "Core" in page.text


def test_empty_factors_and_tensors(polyad):
    write_ktensor(polyad, "m.ktensor", (2, 3), [0, 1], [[[0.0, 1.0]] * 2, [[0.0, 0.0]] * 3])
    polyad.write("x.tns", "2 3 0\n")
    assert "All entries are zero." in report(polyad, "m.ktensor").text
    page = report(polyad, "m.ktensor", "x.tns")
    assert "no nonzeros" in page.text
    assert polyad.json("report", "m.ktensor", "x.tns", "-o", "p.html")["explained"] is None


def test_components_that_are_alike(polyad):
    write_ktensor(polyad, "m.ktensor", (2, 2), [1, 1, 1],
                  [[[1.0, 0.0, 1.0], [0.0, 1.0, 0.001]], [[1.0, 0.0, -1.0], [0.0, 1.0, 0.0]]])
    text = report(polyad, "m.ktensor").text
    assert "components 1 and 3" in text and "is −1" in text and "try a smaller rank" in text


def test_what_is_shown_can_be_limited(polyad):
    random_model(polyad, "m.ktensor", (30, 4), 6)
    page = report(polyad, "m.ktensor", "--components", "2", "--top", "3")
    assert "The first 2 of 6 components are shown." in page.text
    assert len(page.all("tr")) == 2 * 2 * 3 + len(page.all("table", **{"class": "facts"})) * 3


def test_long_modes_make_short_pages(polyad):
    dims = (20000, 2)
    labels = [f"{k / 8:.3f}".encode() for k in range(dims[0])]
    folder = polyad.path("x.labels")
    folder.mkdir()
    (folder / "mode-1-metre.map").write_bytes(b"\n".join(labels) + b"\n")
    polyad.write("x.tns", "".join(f"{i + 1} 1 {i % 97 + 1}\n" for i in range(dims[0])) + "1 2 1\n")
    polyad.ok("cpd", "x.tns", "-r", "2", "-i", "2", "-o", "m.ktensor", "--top", "0")
    report(polyad, "m.ktensor", "x.tns")
    assert polyad.path("page.html").stat().st_size < 150_000


# ---- pages of the decompositions themselves ----------------------------------------------------

def without_origin(polyad, name):
    """The page but for how it was made and for seconds, which differ from run to run."""
    text = polyad.path(name).read_text()
    return re.sub(r"<dt>seconds.*?</div>", "", text[:text.index("id=\"origin\"")])


@pytest.mark.parametrize("arguments", [
    ("cpd", "-r", "3", "--nonnegative"), ("cpd", "-r", "2", "-a", "apr-pqnr", "-i", "3"),
    ("tucker", "-r", "2,3,2,2", "--svd", "randomized")])
def test_report_of_a_run(polyad, arguments):
    """cpd and tucker write the page that polyad report writes of their model and JSON; and the
    tensor that they keep for it leaves the model as it is."""
    source = ROOT / "data/nycflights13.tns.gz"
    kind = "ktensor" if arguments[0] == "cpd" else "ttensor"
    command = [arguments[0], source, *arguments[1:], "--seed", "3", "--top", "0", "-t", "1"]
    polyad.ok(*command, "-o", f"m.{kind}", "--json", "run.json", "--report", "a.html")
    polyad.ok("report", f"m.{kind}", source, "--run", "run.json", "-o", "b.html")
    assert without_origin(polyad, "a.html") == without_origin(polyad, "b.html")
    text = polyad.path("a.html").read_text()
    check(Page(text), text)
    origin = polyad.path("b.html").read_text().split("command of the run")[1].split("</tr>")[0]
    assert f"<code>polyad {arguments[0]} " in origin and "--seed 3" in origin
    assert "<code>polyad " + arguments[0] in text and " --seed 3 " in text
    polyad.ok(*command, "-o", f"n.{kind}")
    assert polyad.path(f"n.{kind}").read_bytes() == polyad.path(f"m.{kind}").read_bytes()


@pytest.mark.parametrize("command, kind", [("cpd", "ktensor"), ("tucker", "ttensor")])
def test_kinds_of_model_files(polyad, command, kind):
    """Text, compressed text, and binary files, which bring labels along."""
    source = ROOT / "data/nycflights13.tns.gz"
    for name in [f"m.{kind}", f"m.{kind}.gz", "m.ptm"]:
        polyad.ok(command, source, "-r", "2", "--seed", "3", "--top", "0", "-o", name)
    pages = [report(polyad, name).words for name in [f"m.{kind}", f"m.{kind}.gz"]]
    assert len(pages[0]) == len(pages[1])
    page = report(polyad, "m.ptm")
    assert "carrier" in page.text and "UA" in page.text and page.all("svg")
    polyad.write("junk.ktensor", "nothing of the kind\n")
    polyad.fails(1, "report", "junk.ktensor", "-o", "p.html", says="expected")


@pytest.mark.parametrize("command", ["cpd", "tucker"])
def test_report_names_are_checked_before_the_work(polyad, command):
    polyad.fails(2, command, "absent.tns", "-r", "1", "--report", "p.txt", says=".html")
    polyad.fails(2, command, "absent.tns", "-r", "1", "--report", "-", says=".html")
    polyad.fails(1, command, "absent.tns", "-r", "1", "--report", "no/p.html", says="no")
    polyad.fails(2, command, "absent.tns", "-r", "1", "--report", "p.html", "--json", "./p.html",
                 says="same file")
    polyad.write("in.html", polyad.path("good.tns").read_bytes())
    polyad.fails(1, command, "in.html", "-r", "1", "--report", "in.html", says="is the input")


# ---- usage ---------------------------------------------------------------------------------------

def test_usage(polyad):
    random_model(polyad, "m.ktensor", (3, 3), 1)
    polyad.fails(2, "report", "m.ktensor", says="--output PAGE.html")
    polyad.fails(2, "report", "m.ktensor", "-o", "page.pdf", says=".html")
    polyad.fails(2, "report", "m.ktensor", "-o", ".html", says=".html")
    polyad.fails(1, "report", "absent.ktensor", "-o", "p.html", says="absent.ktensor")
    polyad.fails(1, "report", "m.ktensor", "absent.tns", "-o", "p.html", says="absent.tns")
    polyad.fails(1, "report", "m.ktensor", "good.tns", "-o", "p.html", says=("2 modes", "3"))
    polyad.write("y.tns", "1 4 1\n")
    polyad.fails(1, "report", "m.ktensor", "y.tns", "-o", "p.html", says="mode 1 has length 3")
    polyad.fails(1, "report", "m.ktensor", "-o", "absent/p.html", says="absent")
    polyad.path("m.html").write_bytes(polyad.path("m.ktensor").read_bytes())
    polyad.fails(1, "report", "m.html", "-o", "m.html", says="is the input")


def test_standard_output_and_repetition(polyad):
    random_model(polyad, "m.ktensor", (3, 3), 2)
    first = polyad.ok("report", "m.ktensor", "-o", "-").out
    assert first.startswith(b"<!doctype html>")
    assert polyad.ok("report", "m.ktensor", "-o", "-").out == first
    polyad.fails(2, "report", "m.ktensor", "-o", "-", "--json", "-", says="standard output")


# ---- a real browser ------------------------------------------------------------------------------

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
               None)


def browse(polyad, *arguments):
    return subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         f"--user-data-dir={polyad.path('profile')}", *arguments],
        cwd=polyad.folder, capture_output=True, timeout=100,
        env={**os.environ, "HOME": str(polyad.folder)})


def pixels(path):
    """Width, height and rows of RGB bytes of a PNG as browsers write it."""
    data = path.read_bytes()
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    assert depth == 8 and colour in (2, 6)
    size = 3 if colour == 2 else 4
    packed, at = b"", 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    raw, rows, before = zlib.decompress(packed), [], bytes(width * size)
    for y in range(height):
        start = y * (width * size + 1)
        before = unfilter(raw[start], raw[start + 1:start + 1 + width * size], before, size)
        rows.append(before)
    return width, height, size, rows


def unfilter(kind, line, above, size):
    out = bytearray(line)
    for k in range(len(out)):
        left, up = out[k - size] if k >= size else 0, above[k]
        corner = above[k - size] if k >= size else 0
        if kind == 1:
            out[k] = (out[k] + left) & 255
        elif kind == 2:
            out[k] = (out[k] + up) & 255
        elif kind == 3:
            out[k] = (out[k] + (left + up) // 2) & 255
        elif kind == 4:
            guess = left + up - corner
            near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up),
                       (abs(guess - corner), 2, corner))[2]
            out[k] = (out[k] + near) & 255
    return bytes(out)


def colours(path):
    width, _, size, rows = pixels(path)
    return {bytes(row[x * size:x * size + 3]) for row in rows for x in range(width)}


@pytest.mark.skipif(BROWSER is None, reason="no browser: chromium is missing")
def test_a_browser_shows_the_page(polyad):
    """Bars, lines and maps are drawn in their colours, light and dark, and hostile labels run
    nothing: a script would change the title, which the browser prints."""
    bad = "<script>document.title='run'</script>"
    polyad.write("x.csv", "lat,lon,date,who,value\n" + "".join(
        f"{40 + k % 7 / 10:.1f},{-74 + k % 5 / 10:.1f},2024-01-{k % 28 + 1:02d},"
        f"{bad if k % 3 else 'w' * 3000},{k % 11 + 1}\n" for k in range(200)))
    polyad.ok("cpd", "x.csv", "-r", "2", "-o", "m.ktensor", "--top", "0")
    report(polyad, "m.ktensor", "x.csv")
    page = f"file://{polyad.path('page.html')}"
    for scheme, ground, plus in [("1", (255, 255, 255), (43, 108, 176)),
                                 ("0", (20, 23, 28), (99, 164, 232))]:
        done = browse(polyad, "--window-size=900,1500", f"--blink-settings=preferredColorScheme={scheme}",
                      "--screenshot=shot.png", page)
        assert polyad.path("shot.png").exists(), done.stderr
        seen = colours(polyad.path("shot.png"))
        assert {bytes(ground), bytes(plus)} <= seen
        assert len(seen) > 50
        polyad.path("shot.png").unlink()
    done = browse(polyad, "--dump-dom", page)
    assert b"<title>x.csv</title>" in done.stdout, done.stderr
    assert b"Content-Security-Policy" not in done.stderr  # nothing that the page asks for is refused
    browse(polyad, "--print-to-pdf=page.pdf", page)
    assert polyad.path("page.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.skipif(BROWSER is None, reason="no browser: chromium is missing")
def test_numbers_stay_in_their_panels(polyad):
    """Rounding leaves entries of 1e-17, which are the longest numbers."""
    tiny = [[1.0], [-8.3571e-17], [2.58e-112], [-0.00012345], [0.5]]
    large = [[-123456789.0], [-1234.5], [-999999.4], [-1e300], [1.0]]
    write_ktensor(polyad, "m.ktensor", (5, 5), [2.0], [tiny, large])
    report(polyad, "m.ktensor")
    page = polyad.path("page.html").read_text()
    assert "2.580 × 10⁻¹¹²" in page
    over = ("<script>document.title=[...document.querySelectorAll('.panel,.panel td')]"
            ".filter(each=>each.scrollWidth>each.clientWidth).length</script></body>")
    polyad.write("asked.html", re.sub("<meta[^>]*Content-Security-Policy[^>]*>", "", page)
                 .replace("</body>", over))
    done = browse(polyad, "--dump-dom", "--window-size=900,1500", f"file://{polyad.path('asked.html')}")
    assert b"<title>0</title>" in done.stdout, done.stdout[:2000]


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
