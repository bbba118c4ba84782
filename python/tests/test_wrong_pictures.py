"""Arguments of wrong types and shapes to polyad.plot, as test_wrong_arguments.py tries those of other functions."""

import pytest
from test_wrong_arguments import PUBLIC, Good, complaint, parameters, wrong_values

pyplot = pytest.importorskip("matplotlib.pyplot")

# Parameters of pictures that go to matplotlib as they are.
MATPLOTLIB = {"title", "figsize", "ax", "cmap", "color", "colors"}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return Good(tmp_path_factory.mktemp("good"))


@pytest.mark.parametrize("name", [name for name in PUBLIC if name.startswith("plot.")])
@pytest.mark.filterwarnings("ignore")
def test_wrong_arguments_of_pictures(name, good):
    """Fewer values, for a picture takes a second."""
    kinds = ("object", "list of texts", "one dimension")
    found = [f"{name}({parameter}={kind}) {told}" for parameter in parameters(PUBLIC[name])
             if parameter not in MATPLOTLIB for kind in kinds
             if (told := complaint(name, parameter, wrong_values()[kind], good)) is not None]
    pyplot.close("all")
    assert found == [], "\n".join(found)
