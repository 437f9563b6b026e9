"""A picture of a match: the query beside the part of the target that it was mapped to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import ParameterError
from pyapsp.base.extras import extra
from pyapsp.graph.validation import integer
from pyapsp.matching.network import Network

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

with extra("matching", "a picture of a match"):
    import networkx
    from matplotlib.figure import Figure

__all__ = ["Drawable", "draw", "save"]

# Colours that people with any kind of colour vision can tell apart.
_MATCHED, _SIMILAR, _MISSING, _FAINT = "#0072b2", "#e69f00", "#d55e00", "#999999"
_INCHES = 5


class Drawable(Protocol):
    """What a picture shows of `pyapsp.matching.Matches`."""

    @property
    def query(self) -> Network:
        """The query."""

    @property
    def target(self) -> Network:
        """The target."""

    @property
    def partners(self) -> NDArray[np.int32]:
        """The target vertex of each query node, a row for each match."""

    @property
    def order(self) -> NDArray[np.int64]:
        """The rows of the distinct matches, the cheapest first."""

    @property
    def costs(self) -> NDArray[np.float64]:
        """The cost of each match."""

    def node_similarities(self) -> NDArray[np.float64]:
        """Return the similarity of each node and its partner."""

    def matched_edges(self) -> NDArray[np.bool_]:
        """Return which query edges each match has."""


def draw(
    matches: Drawable, match: int = 0, axes: Iterable[Axes] | None = None
) -> Figure | SubFigure:
    """Draw the query beside one of its matches.

    Nodes and vertices with the same place belong together. Blue: similarity 1, orange: less, red:
    no partner or similarity 0. Edges: solid if matched, red and dashed if the target lacks them,
    dotted for edges between partners that the query does not have.

    Parameters
    ----------
    matches : Drawable
    match : int
        0 is the cheapest distinct match.
    axes : pair of matplotlib.axes.Axes, optional
        For the query and for the target; new ones by default.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ParameterError
        There is no such match.
    """
    match = integer("match", "draw", match, 0, matches.order.size - 1)
    if axes is None:
        axes = Figure(figsize=(2 * _INCHES, _INCHES), layout="constrained").subplots(1, 2)
    left, right = axes
    chosen = int(matches.order[match])
    query, target = matches.query, matches.target
    partner = matches.partners[chosen]
    similar = matches.node_similarities()[chosen]
    colours = np.where(similar >= 1, _MATCHED, np.where(similar > 0, _SIMILAR, _MISSING))
    matched = matches.matched_edges()[chosen]
    places = networkx.spring_layout(query.to_networkx(), seed=1)
    spots = np.array([places[name] for name in query.vertices.tolist()])
    left.set_title(query.name or "query")
    right.set_title(f"{target.name or 'target'}: cost {matches.costs[chosen]:.3f}")
    mapped = partner >= 0
    _edges(left, spots, query.edges[matched], _MATCHED, "solid")
    _edges(left, spots, query.edges[~matched], _MISSING, "dashed")
    _edges(right, spots, query.edges[matched], _MATCHED, "solid")
    _edges(right, spots, _others(matches, partner), _FAINT, "dotted")
    _nodes(left, spots, colours, query.labels.tolist())
    labels = [f"{target.vertices[t]}\n{target.labels[t]}" for t in partner[mapped]]
    if np.array_equal(target.vertices[partner[mapped]], target.labels[partner[mapped]]):
        labels = target.labels[partner[mapped]].tolist()
    _nodes(right, spots[mapped], colours[mapped], labels)
    for each in (left, right):
        each.set_axis_off()
        each.margins(0.15)
    return left.figure


def save(matches: Drawable, path: str | os.PathLike[str], match: int = 0) -> None:
    """Draw a match into a file; the suffix says which format.

    Raises
    ------
    ParameterError
        There is no such match, or Matplotlib does not write such files.
    OSError
        The file cannot be written.
    """
    from pyapsp.base.files import atomic_write

    figure = draw(matches, match)
    assert isinstance(figure, Figure)
    kind = os.fspath(path).rpartition(".")[2].lower()
    known = figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise ParameterError.of("picture", "match", f"a file .{', .'.join(sorted(known))}", path)
    with atomic_write(path, "wb") as file:
        figure.savefig(file, format=kind)


def _others(matches: Drawable, partner: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return pairs of query nodes whose partners have an edge that the query does not have."""
    nodes = np.flatnonzero(partner >= 0)
    first, second = (nodes[each] for each in np.triu_indices(nodes.size, 1))
    there = matches.target.has_edges(partner[first], partner[second])
    pairs = np.stack([first[there], second[there]], axis=1)
    others: NDArray[np.int64] = pairs[~matches.query.has_edges(pairs[:, 0], pairs[:, 1])]
    return others


def _edges(
    axes: Axes,
    spots: NDArray[np.float64],
    pairs: NDArray[np.int32] | NDArray[np.int64],
    colour: str,
    style: str,
) -> None:
    from matplotlib.collections import LineCollection

    axes.add_collection(
        LineCollection(list(spots[pairs]), colors=colour, linestyles=style, zorder=1)
    )


def _nodes(
    axes: Axes, spots: NDArray[np.float64], colours: NDArray[np.str_], labels: Sequence[Hashable]
) -> None:
    axes.scatter(spots[:, 0], spots[:, 1], s=60, c=colours, zorder=2)
    for spot, label in zip(spots, labels, strict=True):
        axes.annotate(
            str(label), spot, (0, 6), textcoords="offset points", ha="center", fontsize="x-small"
        )
