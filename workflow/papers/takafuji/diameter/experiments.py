"""[T] tables 3.4 and 3.5: packed words against searches, for diameter and average path length."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from papers.contender import Contender
from papers.experiment import OnGraphs, Settings, Task, contender, search
from papers.runner import Label
from pyapsp.base.json import Record
from pyapsp.graph import Graph, generators
from pyapsp.registry import method

__all__ = ["EXPERIMENTS"]

# edges in per cent of those of a clique
_DENSITIES = (0.05, 0.1, 0.25, 0.5, 1, 5, 10, 20, 50)
_FIELDS = ("fw-packed4", "fw-packed8", "fw-packed16")
_SEARCHES = ("apsp-bfs", "ms-bfs")


def _connected(n: int, settings: Settings) -> Iterator[tuple[Label, Graph]]:
    """Yield connected graphs with given percentages of all edges, if these suffice for a tree."""
    for percent in settings.get("densities") or _DENSITIES:
        edges = int(n * (n - 1) // 2 * percent / 100)
        if edges >= n - 1:
            yield {"percent": percent}, generators.connected_graph(n, edges, max_weight=1)


def _packed_and_searches(task: Task) -> Iterator[Contender]:
    for id_ in _FIELDS:
        yield contender(task, {}, method(id_), roof=False)
    for id_ in _SEARCHES:
        yield search(task, method(id_))


def _facts(distances: np.ndarray) -> Record:
    """Return the diameter and the mean distance of all pairs."""
    n, total = len(distances), float(distances.sum(dtype=np.float64))
    return {"diameter": int(distances.max()), "average_path_length": total / (n * (n - 1))}


EXPERIMENTS = {
    "takafuji-diameter": OnGraphs(
        exhibits="tables 3.4 and 3.5",
        methods=(*_FIELDS, *_SEARCHES),
        sizes=(256, 512, 1024),
        settings=("densities",),
        graphs=_connected,
        dtype="int32",
        contenders=_packed_and_searches,
        facts=_facts,
    ),
}
