"""The problems `bfs`, `sssp` and `scc` of the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from scipy.sparse.csgraph import connected_components

from pyapsp.base.json import Json
from pyapsp.graph import Graph, read
from pyapsp.graph.families import FAMILIES
from pyapsp.numbers.precision import DTYPES, infinity
from pyapsp.paths import PathOptions, Rows, Weights, about, fits, sample
from pyapsp.paths import certificate as verify
from pyapsp.paths.device_rows import DeviceRows
from pyapsp.registry import (
    Check,
    Choice,
    Options,
    Problem,
    Request,
    Requirements,
    in_order,
    register_problem,
)
from pyapsp.traversal.comparison import Comparison, compared
from pyapsp.traversal.components import components
from pyapsp.traversal.components.component_methods import Arcs, ComponentOptions, settle
from pyapsp.traversal.request import requested, sourced

__all__ = ["BFS", "SCC", "SSSP"]

# "auto" selects the first of these methods that can solve the problem. A search by one work-item is
# the fastest on CPUs.
_PREFERRED = (
    "bfs-direction-optimising",
    "bfs-virtual-warp",
    "sssp-delta-stepping",
    "sssp-near-far",
    "scc-hooking",
    "scc-colouring",
)
# Sends arcs again and again, but needs little memory of the device.
_LAST = ("bfs-streamed",)
_PREFERRED_ON_CPUS = ("scc-tarjan", *_PREFERRED)


def _work(graph: Graph, options: PathOptions, answer: Rows) -> int:
    """Return the arcs that leave the vertices reached, summed over the sources.

    Some methods have counted them.
    """
    if "work" in answer.stats:
        return int(answer.stats["work"])
    distances = answer.distances
    if isinstance(distances, DeviceRows):
        distances = distances.distances()
    others = (distances == infinity(distances.dtype)).nonzero()[1]
    missing = (graph.indptr[others + 1] - graph.indptr[others]).sum()
    return len(distances) * graph.m - int(missing)


def _choices(request: Request) -> Iterator[Choice]:
    """Yield the methods that can solve the problem, the preferred ones first."""
    scalar = request.options.device.traits.scalar_groups
    return in_order(request, _PREFERRED_ON_CPUS if scalar else _PREFERRED, _LAST)


def _unweighted_oracle(graph: Graph, options: PathOptions) -> Callable[[Rows], Check]:
    return verify.oracle(graph.unweighted(), sourced(graph, options))


def _oracle(graph: Graph, options: PathOptions) -> Callable[[Rows], Check]:
    return verify.oracle(graph, sourced(graph, options))


def _fits_all(requires: Weights, row: Mapping[str, Json]) -> bool:
    """Return True, because weights are ignored."""
    return True


def _components_sample(size: int, family: str, seed: int, requires: Requirements) -> Graph:
    """Return a random directed graph with components of several sizes.

    It is the sample graph of shortest paths, in which some vertices have no entering arc. In a
    mesh, each edge is replaced by one arc in a random direction. If the graph must be symmetric, it
    is the sample graph without directions.
    """
    graph = sample(size, family, seed, Weights(unweighted=True))
    if isinstance(requires, Arcs) and requires.symmetric:
        tails, heads, _ = graph.arcs()
        return Graph.from_arcs(graph.n, tails, heads, directed=False, name=graph.name)
    if family != "mesh":
        return graph
    tails, heads, _ = graph.arcs()
    ends = np.unique(np.sort(np.stack([tails, heads], axis=1), axis=1), axis=0)
    turned = np.random.default_rng(seed).random(len(ends)) < 0.5
    ends[turned] = ends[turned, ::-1]
    return Graph.from_arcs(graph.n, ends[:, 0], ends[:, 1], name=graph.name)


def _components_oracle(graph: Graph, options: Options) -> Comparison:
    """Return a function that compares labels with SciPy's components.

    SciPy's components are numbered in the order of their smallest vertices first.
    """
    labels = np.zeros(0, np.int32)
    if graph.n:
        weak = isinstance(options, ComponentOptions) and options.weak
        kind = "weak" if weak else "strong"
        labels = connected_components(graph.to_scipy(), connection=kind)[1]
    _, smallest, each = np.unique(labels, return_index=True, return_inverse=True)
    expected = np.argsort(np.argsort(smallest))[each]
    return compared(expected, "labels", "vertex {} is in component", "SciPy, all vertices")


# What the three problems share.
_of_arcs = partial(
    Problem,
    unit="arcs",
    packages=("pyapsp.traversal",),
    families=FAMILIES,
    read=read,
    about=about,
    choices=_choices,
)


def _search(
    name: str,
    summary: str,
    dtypes: tuple[str, ...],
    oracle: Callable[[Graph, PathOptions], Callable[[Rows], Check]],
    fits: Callable[[Weights, Mapping[str, Json]], bool],
) -> Problem:
    """Register the problem of a search from one source."""
    return register_problem(
        _of_arcs(
            id=name,
            summary=summary,
            dtypes=dtypes,
            sample=sample,
            ask=partial(requested, name),
            work=_work,
            oracle=oracle,
            fits=fits,
            asks=("sources", "predecessors"),
        )
    )


BFS = _search(
    "bfs",
    "levels of the vertices around a source, where every arc counts 1",
    ("int32",),
    _unweighted_oracle,
    _fits_all,
)
SSSP = _search(
    "sssp",
    "shortest paths from a source",
    ("float64", *(name for name in DTYPES if name != "float64")),
    _oracle,
    fits,
)
SCC = register_problem(
    _of_arcs(
        "scc",
        "strongly connected components",
        dtypes=("int32",),
        sample=_components_sample,
        ask=components.requested,
        work=lambda graph, options, answer: graph.m,
        settle=settle,
        oracle=_components_oracle,
        fits=lambda requires, row: not (requires.symmetric and row["directed"]),
    )
)
