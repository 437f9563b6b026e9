"""The structure of a directed graph around its components: condensation and bow tie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pyapsp.base.shown import Shown
from pyapsp.device import DeviceLike
from pyapsp.graph import Graph, GraphLike, as_structure
from pyapsp.graph.frames import Tabular
from pyapsp.graph.validation import choice
from pyapsp.registry import Method
from pyapsp.traversal.bfs.bfs import bfs
from pyapsp.traversal.components.components import Components, strongly_connected_components

__all__ = ["PARTS", "BowTie", "Condensation", "bow_tie", "condensation"]

#: The parts of a bow tie, in the order of their numbers.
PARTS = ("core", "in", "out", "tubes", "tendrils", "others")
_CORE, _IN, _OUT, _TUBES, _TENDRILS, _OTHERS = range(len(PARTS))


@dataclass(frozen=True, eq=False, repr=False)
class Condensation(Shown):
    """A graph in which every strongly connected component is one vertex.

    Attributes
    ----------
    components : Components
        The components of the graph; vertex c of the condensation is component c.
    graph : Graph
        An arc goes from one component to another if any arc does. Its weight is the number of these
        arcs, int64. The graph has no cycle.
    """

    components: Components
    graph: Graph

    def _facts(self) -> Mapping[str, object]:
        about = {"components": self.graph.n, "arcs": self.graph.m}
        return about | {"vertices": self.components.labels.size}


def condensation(
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    device: DeviceLike = None,
    memory_limit: int | None = None,
) -> Condensation:
    """Make one vertex of each strongly connected component.

    The components are found on the device; the arcs between them are counted on the host.

    Errors are those of `strongly_connected_components`.

    Parameters
    ----------
    graph, method, device, memory_limit
        As for `strongly_connected_components`.

    Returns
    -------
    Condensation

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(4, [0, 1, 0, 1, 2], [1, 0, 2, 2, 3])
    >>> found = pyapsp.condensation(graph)
    >>> found.components.labels, found.graph.arcs()[2]
    (array([0, 0, 1, 2], dtype=int32), array([2, 1]))
    """
    graph = as_structure(graph)
    components = strongly_connected_components(
        graph, method, device=device, memory_limit=memory_limit
    )
    tails, heads, _ = graph.arcs()
    ends = components.labels[tails], components.labels[heads]
    between = ends[0] != ends[1]
    keys = ends[0][between].astype(np.int64) * components.count + ends[1][between]
    pairs, counts = np.unique(keys, return_counts=True)
    smaller = Graph.from_arcs(components.count, *np.divmod(pairs, max(components.count, 1)), counts)
    return Condensation(components, smaller)


@dataclass(frozen=True, eq=False, repr=False)
class BowTie(Shown, Tabular):
    """The parts of a directed graph around its largest strongly connected component.

    Attributes
    ----------
    parts : (n,) int8 ndarray
        The part of each vertex, a place in `PARTS`.
    components : Components
        The strongly connected components.
    """

    parts: np.ndarray
    components: Components

    def _facts(self) -> Mapping[str, object]:
        return self.sizes

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The number of vertices of each part."""
        counts = np.bincount(self.parts, minlength=len(PARTS))
        return dict(zip(PARTS, counts.tolist(), strict=True))

    def vertices(self, part: str) -> np.ndarray:
        """Return the vertices of a part in increasing order, int64.

        Parameters
        ----------
        part : {"core", "in", "out", "tubes", "tendrils", "others"}

        Raises
        ------
        ParameterError
            If there is no such part.
        """
        part = choice("part", "BowTie.vertices", part, PARTS)
        return np.flatnonzero(self.parts == PARTS.index(part))

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return the columns ``vertex``, by name, ``part`` and ``component``, each (n,)."""
        return {
            "vertex": self.components.to_columns()["vertex"],
            "part": np.array(PARTS)[self.parts],
            "component": self.components.labels,
        }


def bow_tie(
    graph: GraphLike,
    method: str | Method = "auto",
    *,
    device: DeviceLike = None,
    memory_limit: int | None = None,
) -> BowTie:
    """Divide a directed graph into the parts of a bow tie.

    The core is the largest strongly connected component; of several, the one of the smallest
    vertex. Other vertices are

    - "in" if they reach the core, and "out" if the core reaches them;
    - "tubes" if "in" reaches them and they reach "out";
    - "tendrils" if only one of both holds;
    - "others" if none of this holds.

    The components, and four searches in their condensation, are computed on the device.

    Parameters and errors are those of `condensation`.

    Returns
    -------
    BowTie

    References
    ----------
    A. Broder et al., Graph structure in the Web, Computer Networks 33, 2000,
    doi:10.1016/S1389-1286(00)00083-9, section 3.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.Graph.from_arcs(5, [0, 1, 1, 2, 3], [1, 2, 4, 1, 1])
    >>> pyapsp.bow_tie(graph).sizes
    {'core': 2, 'in': 2, 'out': 1, 'tubes': 0, 'tendrils': 0, 'others': 0}
    """
    condensed = condensation(graph, method, device=device, memory_limit=memory_limit)
    components, forward = condensed.components, condensed.graph
    part = np.full(components.count, _OTHERS, np.int8)
    if components.count:
        backward = forward.reversed()

        def reached(within: Graph, starts: np.ndarray) -> np.ndarray:
            return _reached(within, starts, device, memory_limit)

        core = np.zeros(components.count, bool)
        core[components.sizes.argmax()] = True
        into, out = reached(backward, core), reached(forward, core)
        after, before = reached(forward, into), reached(backward, out)
        part[after | before] = _TENDRILS
        part[after & before] = _TUBES
        part[into], part[out], part[core] = _IN, _OUT, _CORE
    return BowTie(part[components.labels], components)


def _reached(
    graph: Graph, starts: np.ndarray, device: DeviceLike, memory_limit: int | None
) -> np.ndarray:
    """Return which vertices are starts or reached from one; starts is a bool array, some True."""
    n, places = graph.n, np.flatnonzero(starts)
    tails, heads, _ = graph.arcs()
    joined = Graph.from_arcs(
        n + 1, np.append(tails, np.full(places.size, n)), np.append(heads, places)
    )
    search = bfs(joined, n, parents=False, device=device, memory_limit=memory_limit)
    is_reached: np.ndarray = search.levels[:n] >= 0
    return is_reached
