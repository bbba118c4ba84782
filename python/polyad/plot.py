"""Pictures of tensors and models (needs matplotlib: ``pip install polyad[plot]``).

Every function returns the matplotlib figure and shows nothing by itself. ``ax=`` draws into axes, a
figure or a subfigure of yours instead of a new figure; components are numbered from 0, as in
``model.top(0, mode)``."""

from ._plot_base import kind_of_mode
from ._plot_map import map
from ._plot_models import compare, components, core, heatmap, similarity, top
from ._plot_rank import rank_scan
from ._plot_tensors import convergence, residuals, slice_errors, slices, sparsity

__all__ = ["compare", "components", "convergence", "core", "heatmap", "kind_of_mode", "map",
           "rank_scan", "residuals", "similarity", "slice_errors", "slices", "sparsity", "top"]
