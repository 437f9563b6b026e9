"""Triangles: every method and its parameters, against SciPy, NetworkX and known counts."""

from __future__ import annotations

import os
import re
from itertools import combinations
from math import comb
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyapsp
from pyapsp.errors import DeviceMemoryError, GraphError, ParameterError
from pyapsp.graph import Graph, generators
from pyapsp.registry import Parameters, problem
from pyapsp.registry.tuning import Space
from pyapsp.trusses.counting import HashCounter
from pyapsp.trusses.counts import TriangleOptions

from .drawn import random_graphs, undirected

METHODS = [cls.id for cls in pyapsp.methods("triangles")]
PROBLEM = problem("triangles")


def star_of_cliques(arms, size):
    """Return cliques that share one vertex of many arcs, and a tail without triangles."""
    edges = [(0, v) for v in range(1, arms * size + 1)]
    for arm in range(arms):
        edges += combinations(range(1 + arm * size, 1 + (arm + 1) * size), 2)
    last = arms * size
    return [*edges, (last, last + 1), (last + 1, last + 2)]


# graphs with as many triangles as can be told without counting
GRAPHS = {
    "nothing": (undirected(0, []), 0),
    "no edge": (undirected(3, []), 0),
    "one edge": (undirected(2, [(0, 1)]), 0),
    "loops alone": (undirected(3, [(v, v) for v in range(3)]), 0),
    "triangle with loops": (undirected(3, [*combinations(range(3), 2), (0, 0), (1, 1)]), 1),
    "clique": (undirected(90, list(combinations(range(90), 2))), comb(90, 3)),
    "bipartite": (undirected(40, [(a, b) for a in range(20) for b in range(20, 40)]), 0),
    "star of cliques": (undirected(403, star_of_cliques(50, 8)), 50 * comb(9, 3)),
    "wheel": (
        undirected(600, [(0, v) for v in range(1, 600)] + [(v, v + 1) for v in range(1, 599)]),
        598,
    ),
}


def counted(graph, device, name, per_vertex=True, **parameters):
    """Count, check with the oracle, and return the total."""
    method = pyapsp.method(name, **parameters)
    request = PROBLEM.ask(graph, method, device=device, per_vertex=per_vertex)
    answer = method.run(method.plan(request.input, request.options))
    PROBLEM.oracle(request.input, request.options)(answer).require()
    assert (answer.per_vertex is not None) == per_vertex
    return answer.total


@pytest.mark.parametrize("name", METHODS)
def test_counts_that_are_known(name, device):
    for graph, total in GRAPHS.values():
        for per_vertex in (True, False):
            assert counted(graph, device, name, per_vertex) == total


@pytest.mark.slow
@pytest.mark.every(4)
@pytest.mark.parametrize("name", METHODS)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_any_parameters_on_random_graphs(name, device, data):
    graph = data.draw(random_graphs(40, 200))
    options = TriangleOptions(device, np.dtype(np.int64))
    # programs are compiled for each set, so that few are drawn
    space = list(Space(pyapsp.method(name), options))
    parameters = data.draw(st.sampled_from(space[:: max(1, len(space) // 4)]))
    per_vertex = data.draw(st.booleans())
    counted(graph, device, name, per_vertex, **parameters)


def test_rows_longer_than_a_table_are_taken_in_pieces(device):
    small = {"small_group": 1, "small_width": 1, "small_slots": 64}
    for group, width in ((1, 1), (64, 8)):
        # 89 heads, and at most 32 in a table of 64 slots
        shape = {"group": group, "width": width, "slots": 64, **small}
        for per_vertex in (True, False):
            graph, total = GRAPHS["clique"]
            assert counted(graph, device, "triangles-hash", per_vertex, **shape) == total


def test_names_and_directions_make_no_difference(device):
    graph = PROBLEM.sample(400, "power-law", 3, None)
    expected = pyapsp.triangles(graph, device=device)
    tails, heads, _ = graph.arcs()
    some = tails <= heads  # one arc of each edge
    directed = Graph.from_arcs(graph.n, tails[some], heads[some])
    found = pyapsp.triangles(directed, device=device)
    assert (found.per_vertex == expected.per_vertex).all()
    places = np.random.default_rng(1).permutation(graph.n)
    moved = Graph.from_arcs(graph.n, places[tails], places[heads])
    again = pyapsp.triangles(moved, device=device)
    assert (again.per_vertex[places] == expected.per_vertex).all()
    assert (again.degrees[places] == expected.degrees).all()


def test_measures_are_those_of_networkx(device):
    for family in PROBLEM.families:
        graph = PROBLEM.sample(300, family, 5, None)
        found = pyapsp.triangles(graph, device=device)
        simple = nx.Graph(graph.to_networkx())
        simple.remove_edges_from(list(nx.selfloop_edges(simple)))
        assert dict(enumerate(found.per_vertex.tolist())) == nx.triangles(simple)
        np.testing.assert_allclose(found.clustering, list(nx.clustering(simple).values()))
        assert found.average_clustering == pytest.approx(nx.average_clustering(simple))
        assert found.transitivity == pytest.approx(nx.transitivity(simple))
        frame = found.to_frame()
        assert list(frame.columns) == ["vertex", "triangles", "clustering"]
        assert frame["triangles"].sum() == 3 * found.total
    nothing = pyapsp.triangles(GRAPHS["nothing"][0], device=device)
    assert (nothing.total, nothing.average_clustering, nothing.transitivity) == (0, 0.0, 0.0)


def test_the_function(device):
    names = ["a", "b", "c", "d"]
    graph = Graph.from_arcs(4, [0, 1, 2, 2], [1, 2, 0, 3], labels=names, name="four")
    found = pyapsp.triangles(graph, device=device)
    assert (found.total, found.per_vertex.tolist()) == (1, [1, 1, 1, 0])
    assert found.per_vertex.dtype == np.int64
    assert found.degrees.tolist() == [2, 2, 3, 1]
    assert found.to_columns()["vertex"].tolist() == names
    first = "triangles-bitmap" if device.traits.scalar_groups else "triangles-hash"
    assert found.explain().startswith(f"method {first}: auto")
    assert (found.stats["unit"], found.stats["work"]) == ("edges", 4)
    assert found.stats["orientation_seconds"] > 0
    total = pyapsp.triangles(graph, per_vertex=False, device=device)
    assert total.total == 1
    with pytest.raises(ParameterError, match="the total only"):
        _ = total.per_vertex


def test_progress_and_memory(device):
    graph, told = GRAPHS["clique"][0], []
    pyapsp.triangles(graph, device=device, progress=lambda *done: told.append(done))
    assert told == [(90, 90)]
    with pytest.raises(DeviceMemoryError):
        pyapsp.triangles(graph, device=device, memory_limit=10_000)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"method": "scc-tarjan"}, "triangles-hash"),
        ({"memory_limit": 0}, "a positive number of bytes"),
        ({"per_vertex": 2}, "per_vertex"),
    ],
)
def test_arguments_outside_their_rules(arguments, rule, device):
    with pytest.raises(ParameterError, match=rule):
        pyapsp.triangles(np.ones((3, 3)), **{"device": device, **arguments})
    with pytest.raises(GraphError):
        pyapsp.triangles(np.ones((3, 2)), device=device)
    with pytest.raises(ParameterError, match="int64"):
        PROBLEM.ask(np.ones((3, 3)), dtype="int32", device=device)


def test_parameters_outside_their_rules(device):
    with pytest.raises(ParameterError, match="multiples of the widths"):
        pyapsp.triangles(
            np.ones((3, 3)), pyapsp.method("triangles-hash", group=1, width=8), device=device
        )


def test_the_oracle_says_what_is_wrong(device):
    graph = generators.random_graph(50, 300, seed=1).symmetrized()
    method = pyapsp.method(METHODS[0])
    request = PROBLEM.ask(graph, method, device=device)
    answer = method.run(method.plan(graph, request.options))
    check = PROBLEM.oracle(graph, request.options)
    moved = answer.per_vertex.copy()
    moved[[3, 4]] += [1, -1]
    assert "vertex 3" in check(type(answer)(total=answer.total, per_vertex=moved)).fault
    wrong = type(answer)(total=answer.total + 1, per_vertex=answer.per_vertex)
    assert "triangles, not" in check(wrong).fault


MIRROR = os.environ.get("PYAPSP_DATA_MIRROR")
PUBLISHED = {
    "facebook_combined.txt": 1_612_010,
    "wiki-Vote.txt.gz": 608_389,
    "ca-GrQc.txt": 48_260,
    "email-Enron.txt": 727_044,
}


@pytest.mark.nightly
@pytest.mark.parametrize("file", PUBLISHED)
def test_published_counts(file, device):
    """The counts that SNAP states for its graphs; PYAPSP_DATA_MIRROR is a folder with the files."""
    path = Path(MIRROR or "", file)
    ends = np.loadtxt(path, np.int64, comments="#")  # also if it is compressed
    labels, places = np.unique(ends, return_inverse=True)
    tails, heads = places.reshape(ends.shape).T
    graph = Graph.from_arcs(labels.size, tails, heads)
    for name in METHODS:
        assert pyapsp.triangles(graph, name, device=device).total == PUBLISHED[file]


def test_the_largest_table_is_that_of_the_rule(device):
    """The local memory that the message of an error names."""
    _, slot, item, beside, local = map(int, re.findall(r"\d+", HashCounter.rule(device)))
    small = {"small_group": 1, "small_width": 1, "small_slots": 64}
    most = (local - item - beside) // slot
    for slots in (most, most + 1):
        parameters = Parameters(group=1, width=1, slots=slots, **small)
        assert HashCounter.fits(parameters, device) == (slots == most)
