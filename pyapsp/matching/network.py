"""Networks: undirected graphs whose vertices have labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyapsp.base.errors import GraphError
from pyapsp.base.extras import extra
from pyapsp.graph import Graph, validation

if TYPE_CHECKING:
    import networkx
    import pandas

__all__ = ["Network", "distinct_labels"]


@dataclass(frozen=True, eq=False)
class Network:
    """An undirected graph without loops and parallel edges, with a label at each vertex.

    Parameters
    ----------
    offsets : (n + 1,) int32 ndarray
        The neighbours of v are ``neighbours[offsets[v]:offsets[v + 1]]``, in increasing order.
    neighbours : (2 m,) int32 ndarray
        Each edge is in the rows of both its ends.
    labels : (n,) ndarray of object
        The label of each vertex. Labels are equal as keys of a dict are: 1 and 1.0, but not "1".
    vertices : (n,) ndarray of object
        The name of each vertex; 0 to n - 1 if the source has no names.
    name : str
        The name of the network.
    """

    offsets: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    labels: NDArray[np.object_]
    vertices: NDArray[np.object_]
    name: str = ""

    @classmethod
    def from_edges(
        cls,
        edges: ArrayLike,
        labels: Iterable[Hashable],
        *,
        vertices: Iterable[Hashable] | None = None,
        name: str = "",
    ) -> Network:
        """Make a network from pairs of vertex numbers.

        Parameters
        ----------
        edges : (m, 2) array-like of int
            In one direction or in both; loops are left out.
        labels : iterable
            The label of each vertex: text, a number, or what else is hashable. Their number is n.
        vertices : iterable of hashable, optional
            The name of each vertex.
        name : str, optional

        Raises
        ------
        GraphError
            There is no vertex, a label is missing or not hashable, an edge is no pair of vertex
            numbers, or the names are not n different ones.

        Examples
        --------
        >>> Network.from_edges([(0, 1), (1, 2)], "ABA").m
        2
        """
        checked = _objects(_checked(labels))
        n = checked.size
        if n == 0:
            raise GraphError("a network needs a vertex")
        if np.ma.is_masked(edges):
            raise GraphError("the edges must not be masked: leave out what is not there")
        try:
            pairs = validation.array("the edges", edges)
            pairs = pairs.reshape(-1, 2) if pairs.size == 0 else pairs
        except ValueError:
            raise GraphError("edges must be pairs of vertex numbers") from None
        if pairs.ndim != 2 or pairs.shape[1] != 2 or (pairs.size and pairs.dtype.kind not in "iu"):
            raise GraphError("edges must be pairs of vertex numbers")
        outside = np.flatnonzero(((pairs < 0) | (pairs >= n)).any(axis=1))
        if outside.size:
            edge = pairs[outside[0]].tolist()
            raise GraphError(f"edge {outside[0]} is {edge}: the vertices are 0 to {n - 1}")
        pairs = pairs.astype(np.int64)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        graph = Graph.from_arcs(n, pairs[:, 0], pairs[:, 1], directed=False)
        if graph.m >= 2**31:
            raise GraphError(f"{graph.m // 2} edges are too many: at most 2^30")
        if not isinstance(vertices, Iterable | None) or getattr(vertices, "ndim", 1) == 0:
            raise GraphError(f"the names of vertices must be a sequence, not {vertices!r}")
        distinct = range(n) if vertices is None else list(vertices)
        if len(distinct) != n or len(set(distinct)) != n:
            raise GraphError(f"a network of {n} vertices needs {n} different names of vertices")
        names = _objects(distinct)
        return cls(graph.indptr.astype(np.int32), graph.indices, checked, names, name)

    @classmethod
    def from_networkx(cls, graph: networkx.Graph, label: str = "label") -> Network:
        """Make a network from a graph of NetworkX.

        Parameters
        ----------
        graph : networkx.Graph
            Directions are ignored.
        label : str
            The attribute of the nodes that is the label.

        Raises
        ------
        GraphError
            There is no node, or one without the attribute.
        """
        nodes = list(graph)
        labels = []
        for node in nodes:
            if label not in graph.nodes[node]:
                raise GraphError(f"node {node!r} has no attribute {label!r}")
            labels.append(graph.nodes[node][label])
        number = {node: at for at, node in enumerate(nodes)}
        edges = [(number[u], number[v]) for u, v in graph.edges()]
        return cls.from_edges(edges, labels, vertices=nodes, name=str(graph.name or ""))

    @classmethod
    def from_frames(
        cls,
        edges: pandas.DataFrame,
        nodes: pandas.DataFrame,
        *,
        source: Hashable = "source",
        target: Hashable = "target",
        vertex: Hashable = "vertex",
        label: Hashable = "label",
        name: str = "",
    ) -> Network:
        """Make a network from two data frames.

        Parameters
        ----------
        edges : pandas.DataFrame
            The columns `source` and `target` have names of vertices.
        nodes : pandas.DataFrame
            The columns `vertex` and `label`.

        Raises
        ------
        GraphError
            A column is missing, a vertex is named twice, or an edge has an unknown vertex.
        """
        for frame, column in ((edges, source), (edges, target), (nodes, vertex), (nodes, label)):
            if not hasattr(frame, "columns"):
                raise GraphError(f"edges and nodes must be data frames, not {type(frame).__name__}")
            if column not in frame.columns:
                raise GraphError(f"the data frame has no column {column!r}")
        names = nodes[vertex].tolist()
        if len(set(names)) != len(names):
            raise GraphError(f"column {vertex!r} has a vertex twice")
        number = {each: at for at, each in enumerate(names)}
        pairs = []
        for row, pair in enumerate(zip(edges[source], edges[target], strict=True), start=1):
            for each in pair:
                if each not in number:
                    raise GraphError(f"row {row} of the edges has the unknown vertex {each!r}")
            pairs.append((number[pair[0]], number[pair[1]]))
        return cls.from_edges(pairs, nodes[label].tolist(), vertices=names, name=name)

    @property
    def n(self) -> int:
        """Number of vertices."""
        return int(self.labels.size)

    @property
    def m(self) -> int:
        """Number of edges."""
        return self.neighbours.size // 2

    @cached_property
    def degrees(self) -> NDArray[np.int32]:
        """Number of neighbours of each vertex."""
        return np.diff(self.offsets)

    @cached_property
    def edges(self) -> NDArray[np.int32]:
        """The edges as pairs of vertex numbers, the smaller first: an (m, 2) array."""
        tails = np.repeat(np.arange(self.n, dtype=np.int32), self.degrees)
        pairs = np.stack([tails, self.neighbours], axis=1)
        return pairs[tails < self.neighbours]

    def has_edges(self, tails: ArrayLike, heads: ArrayLike) -> NDArray[np.bool_]:
        """Return which pairs of vertices are edges, as an array of bool.

        Raises
        ------
        GraphError
            An end is no vertex.
        """
        keys = np.repeat(np.arange(self.n), self.degrees) * self.n + self.neighbours
        ends = (("tails", tails), ("heads", heads))
        first, second = (validation.vertices(name, each, self.n) for name, each in ends)
        return np.isin(first.astype(np.int64) * self.n + second, keys)

    def to_networkx(self) -> networkx.Graph:
        """Return the network as a networkx.Graph, with the attribute ``label``."""
        with extra("networkx", "Network.to_networkx"):
            import networkx

        graph = networkx.Graph(name=self.name)
        names = self.vertices.tolist()
        graph.add_nodes_from(
            (name, {"label": label}) for name, label in zip(names, self.labels, strict=True)
        )
        graph.add_edges_from((names[u], names[v]) for u, v in self.edges.tolist())
        return graph

    def __repr__(self) -> str:
        """Return name and size."""
        return f"<Network {self.name!r}: {self.n:,} vertices, {self.m:,} edges>"


def distinct_labels(labels: Iterable[Hashable]) -> list[Hashable]:
    """Return the labels that differ, in the order of their texts."""
    return sorted(dict.fromkeys(labels), key=str)


def _objects(values: Sequence[Hashable]) -> NDArray[np.object_]:
    """Return an array of objects, of which each may be a tuple."""
    array = np.empty(len(values), object)
    for number, value in enumerate(values):
        array[number] = value
    return array


def _checked(labels: Iterable[Hashable]) -> list[Hashable]:
    """Return labels; missing ones would otherwise be equal to each other."""
    several = isinstance(labels, Iterable) and getattr(labels, "ndim", 1) > 0
    if np.ma.is_masked(labels) or not several:
        raise GraphError("labels must be a sequence with a label for each vertex, none masked")
    checked: list[Hashable] = []
    for number, label in enumerate(labels):
        try:
            hash(label)
        except TypeError:
            raise GraphError(
                f"the label of vertex number {number} is not hashable: {label!r}"
            ) from None
        # NaN and pandas.NaT differ from themselves; pandas.NA is neither equal nor different
        if label is None or type(label).__name__ == "NAType" or label != label:
            raise GraphError(f"vertex number {number} has no label, but {label!r}")
        if isinstance(label, np.generic) and label.dtype.kind in "biufU":
            checked.append(label.item())
        else:
            checked.append(label)
    return checked
