"""[O], chapter 3 and figure 4.17: searches from sources, on graphs of many kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from papers.contender import Contender
from papers.experiment import (
    OnGraphs,
    Settings,
    Task,
    contender,
    one,
    search,
)
from papers.runner import Label
from pyapsp.graph import Graph, generators
from pyapsp.registry import method

__all__ = ["EXPERIMENTS"]

# [O] 3.4: N sources at once, B vertices in a group; [O] 4.5.1 and 4.5.3: fw-mm with t = 32
_TASKS = {"sources": 32, "vertices": 4}
_SEARCHES = ("apsp-iterative", "apsp-tasks", "apsp-tasks-unshared", "near-far", "dijkstra-cpu")
_MATRICES = ("fw-mm", "fw-minplus")
_TILED: dict[str, int | str] = {"tile": 32, "h_pivot": 8, "h_panel": 4, "selector": "AT"}
# [O] 3.5.2: table 3.1
_VERTICES, _ARCS, _LARGEST_WEIGHT = 4677, 16384, 4096
_WEIGHTS = tuple(4**power for power in range(9))


def _searches(task: Task) -> Iterator[Contender]:
    yield search(task, method("apsp-iterative", vertices=256))
    yield search(task, method("apsp-tasks", **_TASKS))
    yield search(task, method("apsp-tasks-unshared", **_TASKS))
    yield search(task, method("near-far"))
    yield search(task, method("dijkstra-cpu"))


def _matrices(task: Task) -> Iterator[Contender]:
    yield contender(task, {}, method("fw-mm", **_TILED))
    yield contender(task, {}, method("fw-minplus"))


def _searches_and_matrices(task: Task) -> Iterator[Contender]:
    yield from _searches(task)
    yield from _matrices(task)


def _with_paths(task: Task) -> Iterator[Contender]:
    yield from _searches_and_matrices(task)
    for solver in (method("apsp-tasks", **_TASKS), method("near-far")):
        yield replace(search(task, solver), label={"recording": solver.id}, predecessors=True)


def _degrees(n: int, settings: Settings) -> Iterator[tuple[Label, Graph]]:
    """Yield random graphs with different numbers of arcs, from one per vertex to all."""
    doubled = {2**power for power in range((n - 1).bit_length())}
    for degree in settings.get("degrees") or sorted({*doubled, n - 1}):
        yield {"degree": degree}, generators.random_graph(n, int(degree) * n)


def _weights(n: int, settings: Settings) -> Iterator[tuple[Label, Graph]]:
    """Yield random graphs with m = 4n and a largest weight."""
    for largest in settings.get("weights") or _WEIGHTS:
        yield {"weight": largest}, generators.random_graph(n, max_weight=int(largest))


def _topologies(n: int, settings: Settings) -> Iterator[tuple[Label, Graph]]:
    """Yield the graphs of table 3.1, with degrees in the same proportion to n."""
    m = min(round(n * _ARCS / _VERTICES), n * (n - 1))
    yield {"topology": "random"}, generators.random_graph(n, m, _LARGEST_WEIGHT)
    yield {"topology": "power law"}, generators.power_law(n, m, max_weight=_LARGEST_WEIGHT)
    yield {"topology": "ring"}, generators.ring(n, 1)
    yield {"topology": "complete"}, generators.complete(n, 1)


_experiment = partial(
    OnGraphs, methods=_SEARCHES, sizes=(256,), dtype="int32", contenders=_searches
)
EXPERIMENTS = {
    "okuyama-sources": _experiment(
        exhibits="figures 3.10, 3.11, 3.14 and 4.17",
        methods=(*_SEARCHES, *_MATRICES),
        sizes=(256, 512, 1024, 2048),
        graphs=one(generators.random_graph),
        contenders=_with_paths,
    ),
    "okuyama-degrees": _experiment(
        exhibits="figure 3.12, and 4.17 over density",
        methods=(*_SEARCHES, *_MATRICES),
        settings=("degrees",),
        graphs=_degrees,
        contenders=_searches_and_matrices,
    ),
    "okuyama-weights": _experiment(exhibits="figure 3.13", settings=("weights",), graphs=_weights),
    "okuyama-topologies": _experiment(exhibits="table 3.1", graphs=_topologies),
}
