"""[B] chapter 21: searches and components from data frames, beside igraph."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csgraph

from papers.busato_paths.curnet.networks import (
    SPECIES,
    THRESHOLDS,
    homologues,
    interactions,
)
from papers.experiment import Case, InTurns, Request, Settings
from papers.runner import Label, Runner, require_equal
from pyapsp.all_pairs.solver import solve
from pyapsp.base.json import Record
from pyapsp.device import Device
from pyapsp.errors import CapabilityError
from pyapsp.graph import Graph, from_frame
from pyapsp.registry import Method, method
from pyapsp.registry.timing import Turn
from pyapsp.traversal.bfs.bfs import bfs
from pyapsp.traversal.components.component_methods import numbered
from pyapsp.traversal.components.components import strongly_connected_components
from pyapsp.traversal.sssp.sssp import sssp

__all__ = ["EXPERIMENTS", "PUBLISHED", "SHARES"]

#: Sources in per cent of the vertices; at least one.
SHARES = (0.1, 0.5, 5.0, 20.0)
#: The methods of cuRnet.
PUBLISHED = {"bfs": "bfs-4k", "sssp": "sssp-h-bf", "scc": "scc-multi-step"}


@dataclass(frozen=True)
class _Network:
    """A network as a data frame, in pyapsp and in igraph."""

    frame: pd.DataFrame
    graph: Graph
    label: Label
    device: Device

    @classmethod
    def of(cls, frame: pd.DataFrame, label: Label, device: Device, *, directed: bool) -> _Network:
        return cls(frame, from_frame(frame, directed=directed), label, device)

    def runner(self, label: Label, call: Callable[[], np.ndarray], right: np.ndarray) -> Runner:
        """Return a call that is timed by the clock of the host, as a user sees it."""

        def turn() -> Turn:
            started = time.perf_counter()
            answer = call()
            wall = time.perf_counter() - started
            require_equal(answer, right, f"{label} on {self.label}")
            return Turn({"wall": wall}, {})

        return Runner({**self.label, **label}, turn)

    def made(self) -> list[Runner]:
        """Return both ways to make the graph from the frame."""
        right = np.array([self.graph.n, self.graph.m])
        directed = self.graph.directed

        def ours() -> np.ndarray:
            graph = from_frame(self.frame, directed=directed)
            return np.array([graph.n, graph.m])

        def theirs() -> np.ndarray:
            graph = _igraph().Graph.DataFrame(self.frame, directed=directed, use_vids=False)
            return np.array([graph.vcount(), graph.ecount() * (1 if directed else 2)])

        return [
            self.runner({"problem": "graph", "with": "auto"}, ours, right),
            self.runner({"problem": "graph", "with": "igraph"}, theirs, right),
        ]

    def searches(self, problem: str, share: float) -> list[Runner]:
        """Return the searches from this part of the vertices."""
        graph, device = self.graph, self.device
        count = max(round(share / 100 * graph.n), 1)
        sources = np.random.default_rng(7).choice(graph.n, count, replace=False)
        unweighted = problem == "bfs"
        if unweighted:
            graph = graph.with_weights(np.ones(graph.m, np.int64))
        right = csgraph.dijkstra(graph.to_scipy(), indices=sources)
        search: Any = bfs if unweighted else sssp

        def each(chosen: str | Method) -> np.ndarray:
            rows = search(graph, sources, chosen, device=device).rows
            return np.where(rows.distances < rows.infinity, rows.distances, np.inf)

        def together() -> np.ndarray:
            rows = solve(graph, sources=sources, dtype="int32", device=device)
            return np.where(rows.distances < rows.infinity, rows.distances, np.inf)

        prepared: list[Any] = []  # the graph in igraph, made in the turn that warms up

        def by_igraph() -> np.ndarray:
            _igraph()
            if not prepared:
                prepared.append(graph.to_igraph())
            weights = None if unweighted else "weight"
            return np.array(prepared[0].distances(source=sources, weights=weights), float)

        label: Label = {"problem": problem, "per cent": share, "sources": count}
        calls: dict[str, Callable[[], np.ndarray]] = {
            "igraph": by_igraph,
            PUBLISHED[problem]: lambda: each(method(PUBLISHED[problem])),
            "auto": lambda: each("auto"),
            "solve": together,
        }
        return [self.runner({**label, "with": name}, call, right) for name, call in calls.items()]

    def components(self) -> list[Runner]:
        """Return the searches of strongly connected components."""
        _, labels = csgraph.connected_components(self.graph.to_scipy(), connection="strong")
        right, prepared = numbered(labels), list[Any]()

        def by_igraph() -> np.ndarray:
            _igraph()
            if not prepared:
                prepared.append(self.graph.to_igraph())
            components = prepared[0].connected_components(mode="strong")
            return numbered(np.array(components.membership))

        def ours(chosen: str | Method) -> np.ndarray:
            return strongly_connected_components(self.graph, chosen, device=self.device).labels

        calls: dict[str, Callable[[], np.ndarray]] = {
            "igraph": by_igraph,
            PUBLISHED["scc"]: lambda: ours(method(PUBLISHED["scc"])),
            "auto": lambda: ours("auto"),
        }
        return [
            self.runner({"problem": "scc", "with": name}, call, right)
            for name, call in calls.items()
        ]

    def case(self, runners: list[Runner]) -> Case:
        """Return a case."""
        about: Record = {"n": self.graph.n, "arcs": self.graph.m, "reference": {"what": "SciPy"}}
        return Case({"label": self.label, **about}, runners)


def _igraph() -> Any:
    try:
        import igraph
    except ImportError:
        raise CapabilityError("igraph is not installed: pip install igraph") from None
    return igraph


def _curnet(n: int, request: Request) -> Iterator[Case]:
    """Yield the networks of interactions with each threshold, and those of homologues."""
    for threshold in THRESHOLDS:
        label: Label = {"network": "interactions", "threshold": threshold}
        network = _Network.of(interactions(n, threshold), label, request.device, directed=False)
        runners = network.made()
        for problem in ("bfs", "sssp"):
            for share in SHARES:
                runners += network.searches(problem, share)
        yield network.case(runners)
    for species in SPECIES:
        label = {"network": "homologues", "species": species}
        network = _Network.of(homologues(n, species), label, request.device, directed=True)
        yield network.case([*network.made(), *network.components()])


def _memory(n: int, settings: Settings) -> float:
    """Return an estimate of the host memory: the arcs, and rows for a fifth of the vertices."""
    return 1e9 + 60_000 * n + 10 * n**2


EXPERIMENTS = {
    "busato-paths-curnet": InTurns(
        exhibits="figures 21.3 to 21.5",
        methods=("bfs-4k", "sssp-h-bf", "scc-multi-step"),
        sizes=(2000,),
        least=100,
        make=_curnet,
        memory=_memory,
    )
}
