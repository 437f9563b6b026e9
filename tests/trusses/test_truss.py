"""Trusses: every method and its parameters, against NetworkX and brute force."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pyopencl as cl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import pyapsp
from pyapsp.device import choose
from pyapsp.errors import DeviceMemoryError, GraphError, ParameterError
from pyapsp.graph import Graph, datasets
from pyapsp.registry import problem
from pyapsp.registry.tuning import Space
from pyapsp.trusses import truss_serial
from pyapsp.trusses.decomposition import TrussOptions
from pyapsp.trusses.simple import edges
from pyapsp.trusses.steps import ALIVE
from pyapsp.trusses.truss_delta import TrussDelta
from pyapsp.trusses.truss_iterative import TrussIterative

from .drawn import random_graphs, undirected

METHODS = [cls.id for cls in pyapsp.methods("truss")]
PROBLEM = problem("truss")
# A folder with real graphs, which a checkout alone does not have. The first six are those of
# config/real.yaml; the last one is no data set of the package.
MIRROR = Path(os.environ.get("PYAPSP_DATA_MIRROR", Path(__file__).parents[3] / "shared" / "data"))
REAL = (
    "as20000102",
    "ca-GrQc",
    "facebook_combined",
    "rome99",
    "soc-sign-bitcoinotc",
    "wiki-Vote",
    "email-Enron",
)


def joined_cliques(*sizes):
    """Return cliques, each with an edge to the next, and a loop."""
    edges, first = [(0, 0)], 0
    for size in sizes:
        edges += combinations(range(first, first + size), 2)
        first += size
        edges.append((first - 1, first))
    return edges


def trussness(graph, device, name, k=None, **parameters):
    """Run a method, check with the oracle, and return the values and what was reported."""
    method = pyapsp.method(name, **parameters)
    request = PROBLEM.ask(graph, method, device=device, k=k)
    answer = method.run(method.plan(request.input, request.options))
    PROBLEM.oracle(request.input, request.options)(answer).require()
    return answer.values[edges(request.input)], answer.stats["more"]


GRAPHS = {
    "nothing": undirected(0, []),
    "no edge": undirected(3, []),
    "one edge": undirected(2, [(0, 1)]),
    "loops alone": undirected(3, [(v, v) for v in range(3)]),
    "cliques": undirected(50, joined_cliques(3, 4, 5, 12, 20)),
    # each edge of the strip is removed by the one before it
    "strip": undirected(200, [(v, v + d) for v in range(198) for d in (1, 2)]),
    "fan": undirected(100, [(0, v) for v in range(1, 100)] + [(v, v + 1) for v in range(1, 99)]),
}


@pytest.mark.parametrize("name", METHODS)
def test_graphs_of_known_trusses(name, device):
    for graph in GRAPHS.values():
        for k in (None, 2, 3, 4, 20, 21):
            trussness(graph, device, name, k)
    values, _ = trussness(GRAPHS["cliques"], device, name)
    sizes, counts = np.unique(values, return_counts=True)
    assert dict(zip(sizes.tolist(), counts.tolist(), strict=True)) == {
        2: 5, 3: 3, 4: 6, 5: 10, 12: 66, 20: 190
    }  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("family", PROBLEM.families)
def test_every_truss_is_that_of_networkx(name, family, device):
    graph = PROBLEM.sample(250, family, 7, None)
    simple = nx.Graph(graph.to_networkx())
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    found = pyapsp.truss_decomposition(graph, name, device=device)
    for k in range(2, found.k_max + 2):
        expected = set(map(frozenset, nx.k_truss(simple, k).edges))
        for truss in (found.truss(k), pyapsp.k_truss(graph, k, name, device=device)):
            tails, heads, _ = truss.arcs()
            assert set(map(frozenset, zip(tails.tolist(), heads.tolist(), strict=True))) == expected
            assert truss.m == 2 * len(expected)
            assert (truss.n, truss.directed) == (graph.n, False)


@pytest.mark.slow
@pytest.mark.every(4)
@pytest.mark.parametrize("name", METHODS)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_any_parameters_on_random_graphs(name, device, data):
    graph = data.draw(random_graphs(30, 250))
    # programs are compiled for each set, so that few are drawn
    space = list(Space(pyapsp.method(name), TrussOptions(device, np.dtype(np.int32))))
    parameters = data.draw(st.sampled_from(space[:: max(1, len(space) // 4)]))
    k = data.draw(st.sampled_from([None, 3, 4, 5]))
    trussness(graph, device, name, k, **parameters)


@pytest.mark.parametrize("container", ["csr", "hornet"])
@pytest.mark.parametrize("cls", [TrussDelta, TrussIterative])
def test_supports_after_every_step(cls, container, device, monkeypatch):
    """The triangles of each edge that is left, counted again in SciPy."""
    take, checked = cls.take, []

    def check(method, steps, removed):
        take(method, steps, removed)
        arrays = steps.tails, steps.ends, steps.supports, steps.marks
        tails, ends, supports, marks = (np.empty(steps.edges, np.int32) for _ in arrays)
        for array, buffer in zip((tails, ends, supports, marks), arrays, strict=True):
            cl.enqueue_copy(steps.queue, array, buffer)
        left = marks == ALIVE
        assert left.sum() == steps.left
        u, v = tails[left], ends[left]
        n = steps.plan.input.n
        ones, arcs = np.ones(2 * u.size, int), (np.r_[u, v], np.r_[v, u])
        matrix = csr_array((ones, arcs), shape=(n, n))
        assert (supports[left] == (matrix @ matrix)[u, v]).all()
        checked.append(removed)

    monkeypatch.setattr(cls, "take", check)
    graph = PROBLEM.sample(250, "power-law", 7, None)
    trussness(graph, device, cls.id, container=container)
    trussness(graph, device, cls.id, 4, container=container)
    assert len(checked) > 5


@pytest.mark.parametrize("width", [1, 8])
def test_most_edges_are_removed_at_once(width, device):
    """A clique of 30 vertices among edges in few triangles; those of cliques of 12 go later."""
    rng = np.random.default_rng(5)
    edges = [*combinations(range(30), 2), *map(tuple, rng.integers(0, 500, (6000, 2)))]
    for first in range(30, 66, 12):
        edges += combinations(range(first, first + 12), 2)
    graph = undirected(500, edges)
    group = 1 if width == 1 else 32
    for k in (5, 9, 13, 31):
        _, more = trussness(graph, device, "truss-peeling", k, group=group, width=width)
        assert more["rounds"] > 1
        trussness(graph, device, "truss-serial", k)


def test_rows_are_rewritten_when_half_of_the_edges_are_gone(device):
    """Two thirds of the edges are in no triangle, and of the others most are in few."""
    rng = np.random.default_rng(3)
    edges = [*combinations(range(15), 2), *map(tuple, rng.integers(0, 3000, (9000, 2)))]
    graph = undirected(3000, edges)
    for ahead in (1, 4):
        values, _ = trussness(graph, device, "truss-peeling", ahead=ahead)
        assert values.max() == 15


def test_auto_takes_one_work_item_for_small_graphs_on_cpus(device, monkeypatch):
    def chosen():
        return [choice.method.id for choice in PROBLEM.choices(PROBLEM.ask(graph, device=device))]

    graph = PROBLEM.sample(100, "uniform", 1, None)
    if device.traits.scalar_groups:
        assert chosen()[:2] == ["truss-serial", "truss-peeling"]
        monkeypatch.setattr(truss_serial, "_ARCS", graph.m // 4)
    assert chosen()[0] == "truss-peeling"
    assert chosen()[-1] == "truss-serial"


def test_vertices_outside_a_core_are_pruned(device):
    """Long tails, stars and loops around a clique: no round would find their edges."""
    clique = [(a, b) for a in range(100, 108) for b in range(100, a + 1)]
    tail = [(v, v + 1) for v in range(100)]
    star = [(107, v) for v in range(150, 200)]
    graph = undirected(200, [*clique, *tail, *star])
    for k in (None, 2, 3, 8, 9):
        values, _ = trussness(graph, device, "truss-serial", k)
        inner = values[values > 2] if k is None else values[values > 0]
        assert inner.tolist() == [k or 8] * {2: 178, 9: 0}.get(k, 28)


def test_the_function(device):
    names = ["a", "b", "c", "d"]
    graph = Graph.from_arcs(4, [0, 1, 2, 2], [1, 2, 0, 3], [5, 6, 7, 8], labels=names, name="four")
    found = pyapsp.truss_decomposition(graph, device=device)
    assert found.tails.tolist() == [0, 0, 1, 2]
    assert found.heads.tolist() == [1, 2, 2, 3]
    assert found.trussness.tolist() == [3, 3, 3, 2]
    assert found.k_max == 3
    fastest = "serial" if choose(device).traits.scalar_groups else "peeling"
    assert found.explain().startswith(f"method truss-{fastest}: auto")
    by_rounds = pyapsp.truss_decomposition(graph, "truss-peeling", device=device)
    assert by_rounds.stats["levels"] == 2
    frame = found.to_frame()
    assert frame["source"].tolist() == ["a", "a", "b", "c"]
    truss = pyapsp.k_truss(graph, 3, device=device)
    assert (truss.n, truss.m, truss.labels.tolist()) == (4, 6, names)
    assert sorted(truss.weights.tolist()) == [5, 5, 6, 6, 7, 7]
    assert found.truss(3) == truss
    assert pyapsp.k_truss(graph, 10**12, device=device).m == 0
    assert pyapsp.truss_decomposition(GRAPHS["nothing"], device=device).k_max == 0


@pytest.mark.parametrize("k", [1, -3, 2.5, "4", True, None, np.timedelta64(3, "s")])
def test_k_outside_its_rule(k, device):
    with pytest.raises(ParameterError, match="an integer of at least 2"):
        pyapsp.k_truss(GRAPHS["one edge"], k, device=device)
    found = pyapsp.truss_decomposition(GRAPHS["one edge"], device=device)
    with pytest.raises(ParameterError, match="an integer of at least 2"):
        found.truss(k)


def test_what_is_refused(device):
    with pytest.raises(ParameterError, match="truss-peeling"):
        pyapsp.truss_decomposition(GRAPHS["fan"], "triangles-hash", device=device)
    with pytest.raises(GraphError):
        pyapsp.k_truss(np.ones((3, 2)), 3, device=device)
    with pytest.raises(ParameterError, match="int32"):
        PROBLEM.ask(GRAPHS["fan"], dtype="int64", device=device)
    with pytest.raises(DeviceMemoryError):
        pyapsp.truss_decomposition(GRAPHS["cliques"], device=device, memory_limit=5000)
    method = pyapsp.method("truss-peeling", group=1, width=8)
    with pytest.raises(ParameterError, match="a multiple of width"):
        pyapsp.k_truss(GRAPHS["fan"], 3, method, device=device)


def real(name):
    """A real graph; email-Enron has both arcs of each edge in its file."""
    if name != "email-Enron":
        return datasets.load(name)
    if not (path := MIRROR / "email-Enron.txt").is_file():
        pytest.skip("no folder with email-Enron")
    ends = np.loadtxt(path, np.int64, comments="#")
    return Graph.from_arcs(int(ends.max()) + 1, *ends.T)


@pytest.mark.nightly
@pytest.mark.timeout(0)
@pytest.mark.skipif(
    not (MIRROR.is_dir() or "PYAPSP_DATA_MIRROR" in os.environ), reason="no folder of real graphs"
)
@pytest.mark.parametrize("name", REAL)
def test_every_truss_of_real_graphs(name, device):
    graph = real(name)
    simple = nx.Graph(graph.to_networkx())
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    found = pyapsp.truss_decomposition(graph, device=device)
    for k in range(3, found.k_max + 2):
        simple = nx.k_truss(simple, k)  # trusses are nested
        is_in, columns = found.trussness >= k, found.to_columns()
        ends = [columns[name][is_in].tolist() for name in ("source", "target")]
        assert set(map(frozenset, simple.edges)) == set(map(frozenset, zip(*ends, strict=True)))
        assert pyapsp.k_truss(graph, k, device=device) == found.truss(k)


@pytest.mark.nightly
@pytest.mark.parametrize("name", METHODS)
def test_the_largest_truss_of_many_random_graphs(name, device):
    rng = np.random.default_rng(0)
    for _ in range(500):
        n = int(rng.integers(2, 60))
        edges = rng.integers(0, n, (int(rng.integers(1, 6 * n)), 2))
        trussness(undirected(n, [tuple(edge) for edge in edges.tolist()]), device, name)
