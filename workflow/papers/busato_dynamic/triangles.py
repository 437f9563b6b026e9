"""[B], section 18.4.4: triangles of a graph that changes, updated or counted again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from papers.busato_dynamic.inputs import power_graph, stand_in
from papers.experiment import Case, Request
from papers.runner import Label, Runner, require_equal
from pyapsp.base.json import Record
from pyapsp.device import Device
from pyapsp.dynamic import Hornet, TriangleCounts
from pyapsp.errors import VerificationError
from pyapsp.graph import Graph
from pyapsp.registry import problem, runs
from pyapsp.registry.timing import Turn
from pyapsp.trusses.products import adjacency

__all__ = ["AGAIN", "ALONE", "OF_TABLE", "UPDATE", "changing"]

#: Ways to know the triangles after a batch, and the batch without them.
UPDATE, AGAIN, ALONE = "update", "count again", "edges alone"
#: Graphs of table 18.2 that are made undirected.
OF_TABLE = ("dblp-2010", "soc-LiveJournal1", "cage15")
# Edges up to which SciPy counts.
_PRODUCTS = 200_000
_Ends: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
# Inserts or deletes a batch, and returns the triangles of each vertex, if they are known.
_Change: TypeAlias = Callable[..., Callable[[], NDArray[np.int64]] | None]


def changing(n: int, request: Request) -> Iterator[Case]:
    """Yield graphs of up to n edges, of which batches of growing size are deleted and inserted."""
    scale = (n // 16).bit_length() - 1
    graphs = {f"scale {scale}": power_graph(scale)}
    graphs |= {name: stand_in(name, n).symmetrized() for name in OF_TABLE}
    for name, graph in graphs.items():
        edges = _edges(graph)
        count, products = edges[0].size, graph.m // 2 <= _PRODUCTS
        right = partial(_by_products if products else _by_method, device=request.device)
        whole = right(graph)
        ways = {way: make(graph, request.device) for way, make in _WAYS.items()}
        runners = []
        for size in (10**power for power in range(8) if 10**power <= max(count // 4, 1)):
            chosen = np.random.default_rng(size).permutation(count)
            gone, stays = chosen[:size], np.sort(chosen[size:])
            left = Graph.from_arcs(graph.n, *(each[stays] for each in edges), directed=False)
            counts = right(left), whole
            ends = edges[0][gone], edges[1][gone]
            for way, change in ways.items():
                label: Label = {"graph": name, "batch": size, "way": way}
                runners.append(Runner(label, partial(_turn, change, ends, counts)))
        about: Record = {"label": {"graph": name}, "n": graph.n, "m": count}
        about["triangles"] = int(whole.sum()) // 3
        reference = "SciPy" if products else "the method that auto takes, on what is left"
        yield Case({**about, "reference": {"what": reference}}, runners)


def _edges(graph: Graph) -> _Ends:
    """Return the edges of an undirected graph, each once, without loops."""
    tails, heads, _ = graph.arcs()
    upper = tails < heads
    return tails[upper].astype(np.int64), heads[upper].astype(np.int64)


def _by_products(graph: Graph, device: Device) -> NDArray[np.int64]:
    matrix = adjacency(graph)
    paths = (matrix @ matrix).multiply(matrix)
    return np.asarray(paths.sum(axis=1), np.int64).ravel() // 2


def _by_method(graph: Graph, device: Device) -> NDArray[np.int64]:
    call = problem("triangles").ask(graph, per_vertex=True, device=device)
    found: NDArray[np.int64] = runs.solve(call).answer.per_vertex
    return found


def _updated(graph: Graph, device: Device) -> _Change:
    """Return what changes edges, and updates the counts."""
    counts = TriangleCounts(Hornet.from_graph(graph, device=device))

    def change(ends: _Ends, *, deleting: bool) -> Callable[[], NDArray[np.int64]]:
        (counts.delete_edges if deleting else counts.insert_edges)(*ends)
        return lambda: counts.per_vertex

    return change


def _counted(graph: Graph, device: Device) -> _Change:
    """Return what changes edges, and counts all triangles."""
    held = Hornet.from_graph(graph, device=device)

    def change(ends: _Ends, *, deleting: bool) -> Callable[[], NDArray[np.int64]]:
        (held.delete_edges if deleting else held.insert_edges)(*ends)
        counts = TriangleCounts(held)
        return lambda: counts.per_vertex

    return change


def _uncounted(graph: Graph, device: Device) -> _Change:
    """Return what changes edges alone."""
    held = Hornet.from_graph(graph, device=device)

    def change(ends: _Ends, *, deleting: bool) -> None:
        (held.delete_edges if deleting else held.insert_edges)(*ends)
        held.degree([0])  # waits

    return change


_WAYS = {UPDATE: _updated, AGAIN: _counted, ALONE: _uncounted}


def _turn(change: _Change, ends: _Ends, right: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Turn:
    """Delete a batch and insert it again; `right` are the triangles of vertices after each."""
    seconds = {}
    for phase, counts in zip(("delete", "insert"), right, strict=True):
        started = time.perf_counter()
        found = change(ends, deleting=phase == "delete")
        seconds[phase] = time.perf_counter() - started
        if found is not None:
            require_equal(found(), counts, f"the triangles after {phase}")
    broken = (int(right[1].sum()) - int(right[0].sum())) // 3
    if broken < 0:
        raise VerificationError("a deletion made triangles")
    facts = {"edges": ends[0].size, "triangles": broken}
    return Turn({**seconds, "wall": sum(seconds.values())}, facts)
