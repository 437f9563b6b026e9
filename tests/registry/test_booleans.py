"""True and False are no numbers: no door takes them as a length, a limit or a count."""

from __future__ import annotations

from collections.abc import Callable

import networkx
import numpy as np
import pytest

import pyapsp
from pyapsp import Graph
from pyapsp.dynamic import Hornet, analytics
from pyapsp.errors import ParameterError
from pyapsp.graph import generators
from pyapsp.matching import Network
from pyapsp.networkx_backend import fitness

WEIGHTS = np.array([[0, 2.0, 0], [0, 0, 3], [1, 0, 0]])
GRAPH = Graph.from_dense(WEIGHTS)
HORNET = Hornet.from_graph(GRAPH)
NETWORK = Network.from_edges([(0, 1), (1, 2)], "ABA")

DOORS: dict[str, Callable[[bool], object]] = {
    "cutoff of solve": lambda value: pyapsp.solve(WEIGHTS, cutoff=value),
    "cutoff of sssp": lambda value: pyapsp.sssp(WEIGHTS, 0, cutoff=value),
    "cutoff of row_blocks": lambda value: list(pyapsp.row_blocks(WEIGHTS, cutoff=value)),
    "cutoff of explain": lambda value: pyapsp.explain(WEIGHTS, cutoff=value),
    "block of row_blocks": lambda value: list(pyapsp.row_blocks(WEIGHTS, block=value)),
    "memory_limit of solve": lambda value: pyapsp.solve(WEIGHTS, memory_limit=value),
    "memory_limit of bfs": lambda value: pyapsp.bfs(WEIGHTS, 0, memory_limit=value),
    "memory_limit of solve_many": lambda value: pyapsp.solve_many([WEIGHTS], memory_limit=value),
    "memory_limit of match": lambda value: pyapsp.match(NETWORK, NETWORK, memory_limit=value),
    "width of distance_histogram": lambda value: pyapsp.distance_histogram(WEIGHTS, value),
    "threshold of match": lambda value: pyapsp.match(
        NETWORK, NETWORK, similarity=np.eye(3), threshold=value
    ),
    "focus of match": lambda value: pyapsp.match(NETWORK, NETWORK, focus=value),
    "no_arc of from_dense": lambda value: Graph.from_dense(WEIGHTS, no_arc=value),
    "no_arc of to_dense": lambda value: GRAPH.to_dense(no_arc=value),
    "p of small_world": lambda value: generators.small_world(20, p=value),
    "damping of pagerank": lambda value: analytics.pagerank(HORNET, damping=value),
    "tolerance of pagerank": lambda value: analytics.pagerank(HORNET, tolerance=value),
    "a component": lambda value: pyapsp.weakly_connected_components(np.zeros((2, 2))).vertices(
        value
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_boolean_is_no_number(door: str) -> None:
    for value in (True, np.True_):
        with pytest.raises(ParameterError):
            DOORS[door](value)


def test_networkx_computes_with_a_cutoff_that_is_a_boolean() -> None:
    graph = networkx.path_graph(4)
    reason = fitness.can_run("single_source_shortest_path_length", (graph, 0), {"cutoff": True})
    assert reason == "the cutoff is no number from zero up"
