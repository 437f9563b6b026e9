"""[B] chapter 9: the parameters of components in several steps, and what they are compared with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csgraph

from papers.busato_paths.components.stand_ins import NAMES, stand_in
from papers.experiment import Case, InTurns, Request, Settings
from papers.published import Published
from papers.runner import Label, Runner, require_equal
from papers.values import Parameters
from pyapsp.device import Device
from pyapsp.graph import Graph
from pyapsp.registry import Method, method
from pyapsp.registry.timing import Turn
from pyapsp.traversal.components.component_methods import numbered
from pyapsp.traversal.components.components import strongly_connected_components
from pyapsp.traversal.components.scc_multi_step import DEVSHATWAR

__all__ = ["EXPERIMENTS", "MAPPED", "PARAMETERS", "SEARCHES", "STRATEGIES", "TRIMS", "published"]

#: The parameters in the order of labels.
PARAMETERS = ("search", "colour_search", "trim", "searches")
#: The values of table 9.3.
TRIMS: tuple[int | str, ...] = (0, 1, 2, 3, 5, "full")
SEARCHES = (1, 2, 17, 20)
STRATEGIES = ("quadratic", "virtual-warp", "linear")
#: The graphs of figure 9.1, for which all pairs of turns and rounds are measured.
MAPPED = ("amazon-2008", "Wiki-Talk", "Flickr", "R-MAT")
# What one parameter at a time departs from.
_LINEAR: Parameters = {"search": "linear", "colour_search": "linear", "trim": 1, "searches": 1}


def published(name: str) -> Parameters:
    """Return the parameters of table 9.3; of two that are as fast, the first."""
    paper = Published("busato_paths/components")
    parameters: Parameters = {}
    for each in PARAMETERS:
        value: Any = paper.value(exhibit="table 9.3", quantity=each, graph=name)
        parameters[each] = value.split(" or ")[0] if isinstance(value, str) else value
    return parameters


def _sets(name: str) -> list[Parameters]:
    """Return the parameters that are tried on a graph, each set once."""
    best = published(name)
    sets = [best, dict(DEVSHATWAR)]
    for search in STRATEGIES:
        sets += [{**best, "search": search, "colour_search": each} for each in STRATEGIES]
    sets += [{**_LINEAR, "trim": trim} for trim in TRIMS]
    sets += [{**_LINEAR, "searches": searches} for searches in SEARCHES]
    if name in MAPPED:
        sets += [
            {**_LINEAR, "trim": trim, "searches": searches}
            for trim in TRIMS
            for searches in SEARCHES
        ]
    unique = {tuple(each[parameter] for parameter in PARAMETERS): each for each in sets}
    return list(unique.values())


@dataclass(frozen=True)
class _Input:
    """A stand-in and its components."""

    name: str
    graph: Graph
    right: np.ndarray
    device: Device

    def runner(self, label: Label, chosen: Method) -> Runner:
        """Return a run of a method."""

        def turn() -> Turn:
            started = time.perf_counter()
            answer = strongly_connected_components(self.graph, chosen, device=self.device)
            wall = time.perf_counter() - started
            require_equal(answer.labels, self.right, f"{chosen!r} on {self.name}")
            seconds = {"kernel": answer.stats["kernel_seconds"], "wall": wall}
            return Turn(seconds, {name: answer.stats[name] for name in ("method", "parameters")})

        return Runner({"graph": self.name, **label}, turn)

    def by_scipy(self) -> Runner:
        """Return SciPy's sequential algorithm, Pearce's form of Tarjan's."""
        matrix = self.graph.to_scipy()

        def turn() -> Turn:
            started = time.perf_counter()
            _, labels = csgraph.connected_components(matrix, connection="strong")
            wall = time.perf_counter() - started
            require_equal(numbered(labels), self.right, f"SciPy on {self.name}")
            return Turn({"kernel": wall, "wall": wall}, {})

        return Runner({"graph": self.name, "method": "tarjan"}, turn)

    def case(self, runners: list[Runner]) -> Case:
        """Return a case with the statistics of table 9.1."""
        degrees, sizes = np.diff(self.graph.indptr), np.bincount(self.right)
        n = self.graph.n
        about = {
            "n": n,
            "graph": self.graph.name,
            "arcs": self.graph.m,
            "average degree": float(degrees.mean()),
            "vertices without leaving arcs": 100 * float((degrees == 0).mean()),
            "deviation of degrees": float(degrees.std()),
            "average diameter": self._depth(),
            "components": int(sizes.size),
            "vertices in the largest component": 100 * int(sizes.max()) / n,
            "vertices in components of one": 100 * int((sizes == 1).sum()) / n,
        }
        label = {"graph": self.name}
        what = {"what": "the components that the graph was made of"}
        return Case({"label": label, "reference": what, **about}, runners)

    def _depth(self) -> float:
        """Return the mean eccentricity of some vertices; the thesis has 100."""
        drawn = np.random.default_rng(1).choice(self.graph.n, min(5, self.graph.n), replace=False)
        levels = csgraph.dijkstra(self.graph.to_scipy(), unweighted=True, indices=drawn)
        return float(np.where(np.isfinite(levels), levels, 0).max(axis=1).mean())


def _components(n: int, request: Request) -> Iterator[Case]:
    """Yield all methods and sets of parameters, for each graph."""
    for name in NAMES:
        subject = _Input(name, *stand_in(name, n), request.device)
        runners = [subject.by_scipy()]
        runners += [
            subject.runner({"method": each}, method(each))
            for each in ("scc-tarjan", "scc-colouring")
        ]
        for each in _sets(name):
            label: Label = {parameter: str(each[parameter]) for parameter in PARAMETERS}
            chosen = method("scc-multi-step", **each)
            runners.append(subject.runner({"method": chosen.id, **label}, chosen))
        yield subject.case(runners)


def _memory(n: int, settings: Settings) -> float:
    """Return an estimate of the host memory: 19 arcs for each vertex, several times."""
    return 1e9 + 3000 * n


EXPERIMENTS = {
    "busato-paths-components": InTurns(
        exhibits="tables 9.1 to 9.3, figure 9.1",
        methods=("scc-multi-step", "scc-tarjan", "scc-colouring"),
        sizes=(5000,),
        least=60,
        make=_components,
        memory=_memory,
    )
}
