"""The forms of a graph in other libraries, and the array for its matrix."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import DTypeLike

from pyapsp.base.errors import ParameterError, PrecisionError
from pyapsp.base.extras import extra
from pyapsp.graph import validation

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas

__all__ = ["array_to_fill", "edges_of", "names_of", "to_igraph", "to_networkx", "to_pandas"]


class Exported(Protocol):
    """What an export reads of a graph."""

    name: str | None

    @property
    def n(self) -> int:
        """The number of vertices."""

    @property
    def directed(self) -> bool:
        """Whether arcs have directions."""

    @property
    def labels(self) -> np.ndarray | None:
        """The names of the vertices."""

    @property
    def weights(self) -> np.ndarray:
        """The weight of each arc."""

    @property
    def max_magnitude(self) -> int | float:
        """The largest absolute weight."""

    @property
    def has_negative(self) -> bool:
        """Whether a weight is negative."""

    @property
    def is_integer(self) -> bool:
        """Whether all weights are whole numbers."""

    def arcs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return tails, heads and weights of all arcs."""


def array_to_fill(
    graph: Exported, dtype: DTypeLike, no_arc: float, out: np.ndarray | None
) -> np.ndarray:
    """Return the array for `to_dense`; raise an error if it cannot hold the values."""
    shape = (graph.n, graph.n)
    if out is not None and (not isinstance(out, np.ndarray) or out.shape != shape):
        raise ParameterError.of("out", "Graph.to_dense", f"an array of shape {shape}", out)
    try:
        target: np.dtype = np.dtype(dtype) if out is None else out.dtype
    except (TypeError, ValueError):
        target = np.dtype(object)
    if target.kind not in "iuf":
        rule = "a type of integers or floats"
        raise ParameterError.of("dtype", "Graph.to_dense", rule, dtype if out is None else target)
    if not validation.is_real(no_arc):
        raise ParameterError.of("no_arc", "Graph.to_dense", "a real number", no_arc)
    if target.kind in "iu":
        _check_range(graph, target, no_arc)
    return np.empty(shape, dtype=target) if out is None else out


def _check_range(graph: Exported, target: np.dtype, no_arc: float) -> None:
    """Raise an error if an integer type cannot hold the weights or `no_arc`."""
    limits = np.iinfo(target)
    if not (limits.min <= no_arc <= limits.max and no_arc == math.floor(no_arc)):
        raise ParameterError.of("no_arc", "Graph.to_dense", f"a value of {target.name}", no_arc)
    lowest = -graph.max_magnitude if graph.has_negative else 0
    if graph.is_integer and limits.min <= lowest and graph.max_magnitude <= limits.max:
        return
    weights = graph.weights
    # float64 cannot hold 2**63 - 1, but 2**63
    below = weights < int(limits.max) + 1
    fits = (weights >= limits.min) & below & (weights == weights // 1)
    if not fits.all():
        raise PrecisionError(f"{target.name} cannot hold the weight {weights[~fits][0]}")


def to_networkx(graph: Exported) -> networkx.Graph:
    """See `Graph.to_networkx`."""
    with extra("networkx", "Graph.to_networkx"):
        import networkx

    result = networkx.DiGraph() if graph.directed else networkx.Graph()
    if graph.name is not None:
        result.graph["name"] = graph.name
    result.add_nodes_from(names_of(graph).tolist())
    tails, heads, weights = _labelled_edges(graph)
    result.add_weighted_edges_from(
        zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True)
    )
    return result


def to_pandas(graph: Exported) -> pandas.DataFrame:
    """See `Graph.to_pandas`."""
    with extra(None, "Graph.to_pandas"):
        import pandas

    tails, heads, weights = _labelled_edges(graph)
    return pandas.DataFrame({"source": tails, "target": heads, "weight": weights})


def to_igraph(graph: Exported) -> igraph.Graph:
    """See `Graph.to_igraph`."""
    with extra(None, "Graph.to_igraph"):
        import igraph

    tails, heads, weights = edges_of(graph)
    result = igraph.Graph(
        n=graph.n,
        edges=np.stack([tails, heads], axis=1).tolist(),
        directed=graph.directed,
        edge_attrs={"weight": weights.tolist()},
    )
    if graph.labels is not None:
        result.vs["name"] = graph.labels.tolist()
    if graph.name is not None:
        result["name"] = graph.name
    return result


def names_of(graph: Exported) -> np.ndarray:
    """Return the labels of the vertices, or their numbers."""
    return np.arange(graph.n) if graph.labels is None else graph.labels


def edges_of(graph: Exported) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all arcs of a directed graph, or each edge of an undirected graph once."""
    tails, heads, weights = graph.arcs()
    if graph.directed:
        return tails, heads, weights
    once = tails <= heads
    return tails[once], heads[once], weights[once]


def _labelled_edges(graph: Exported) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    tails, heads, weights = edges_of(graph)
    names = names_of(graph)
    return names[tails], names[heads], weights
