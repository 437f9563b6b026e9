"""cuSTINGER, AIM and DCSR: their contents after batches, against sets of pairs and SciPy."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from papers.busato_dynamic.dcsr import Dcsr
from papers.busato_dynamic.lists import Aim, Custinger

from pyapsp.device import Device
from pyapsp.dynamic import rows
from pyapsp.errors import CapabilityError, GraphError, ParameterError
from pyapsp.graph import Graph, generators

SYSTEMS = {"cuSTINGER": Custinger, "AIM": Aim}
N, HUB = 60, 7
GRAPHS = {"random": generators.random_graph(N, m=300, seed=3), "empty": Graph.from_arcs(N, [], [])}
POOL = 2**16


@pytest.fixture(params=["items", "groups"])
def form(request, device, monkeypatch):
    """Groups of one work-item, and groups whose work-items share rows; pages are small."""
    traits = replace(device.traits, scalar_groups=request.param == "items")
    monkeypatch.setattr(Device, "traits", traits)
    monkeypatch.setattr(rows, "_GROUP", 32)
    monkeypatch.setattr(rows, "_LONG", 2)
    monkeypatch.setattr(Aim, "_page", 4)


def made(system, graph, device):
    options = {"pool": POOL} if system == "AIM" else {}
    return SYSTEMS[system](graph, device=device, **options)


def pairs(ends):
    return list(zip(*(each.tolist() for each in ends), strict=True))


def edges_of(container):
    """Return the pairs of a container, in their order in compressed sparse rows."""
    matrix = container.to_csr()
    assert (matrix.data == 1).all()
    assert (container.degree() == np.diff(matrix.indptr)).all()
    return pairs((np.repeat(np.arange(N), np.diff(matrix.indptr)), matrix.indices))


def batches(random, *counts):
    """Draw batches; a third of the edges begins at the hub, and some are loops or come again."""
    for count in counts:
        ends = random.integers(0, N, (2, count))
        ends[0, ::3] = HUB
        ends[1, ::7] = ends[0, ::7]
        yield np.concatenate([ends, ends[:, : count // 5]], axis=1)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("of", GRAPHS)
def test_rows_have_the_edges_of_a_set(system, of, device, form):
    random = np.random.default_rng(5)
    container = made(system, GRAPHS[of], device)
    model = set(pairs(GRAPHS[of].arcs()[:2]))
    assert edges_of(container) == sorted(model)
    for ends in batches(random, 1, 20, 0, 200, 3, 600, 60):
        given = set(pairs(ends))
        assert container.insert_edges(*ends) == len(given - model)
        model |= given
        assert edges_of(container) == sorted(model)
        sought = random.integers(0, N, (2, 90))
        there = [pair in model for pair in pairs(sought)]
        assert container.has_edges(*sought).tolist() == there
        [gone] = batches(random, len(given) // 2)
        assert container.delete_edges(*gone) == len(model & set(pairs(gone)))
        model -= set(pairs(gone))
        assert edges_of(container) == sorted(model)
        assert container.m == len(model)
    [hub] = container.degree([HUB])
    assert hub > 2 * Aim._page


@pytest.mark.parametrize("batches_of_rows", [1, 3])
def test_segments_have_all_edges_until_they_are_packed(batches_of_rows, device, form):
    random = np.random.default_rng(6)
    tails, heads, _ = GRAPHS["random"].arcs()
    # the first segments of some rows are empty
    graph = Graph.from_arcs(N, tails[tails > 9], heads[tails > 9])
    container = Dcsr(graph, batches=batches_of_rows, spare=500, device=device)
    model = Counter(pairs(graph.arcs()[:2]))
    rebuilt = []
    for ends in batches(random, 40, 700, 0, 100, 30, 10, 20):
        assert container.insert_edges(*ends) == ends.shape[1]
        model.update(pairs(ends))
        assert edges_of(container) == sorted(model.elements())
        assert container.m == model.total()
        vector = random.random(N, np.float32)
        np.testing.assert_allclose(container.product(vector), container.to_csr() @ vector, 1e-5)
        rebuilt.append(container.rebuilt)
    # after so many batches that have edges, and before the second one, which has no room
    assert rebuilt == {1: [1, 2, 2, 3, 4, 5, 6], 3: [1, 2, 2, 2, 2, 3, 3]}[batches_of_rows]


def test_memory_is_that_of_the_formats(device, form):
    graph, (ends,) = GRAPHS["random"], batches(np.random.default_rng(7), 500)
    degrees = np.diff(graph.indptr)
    arrays = int(np.maximum(2 * degrees, 8).sum())
    vertices = 20 * N  # three numbers of 4 bytes, and a place
    custinger, aim = (made(system, graph, device) for system in SYSTEMS)
    assert custinger.memory == vertices + 4 * arrays
    assert aim.memory == vertices + 8 * N + POOL + POOL // Aim._page
    dcsr = Dcsr(graph, batches=2, spare=100, device=device)
    assert dcsr.memory == 4 * 3 * N + 8 * 3 * N + 4 * (graph.m + 100)
    # arrays that are copied leave theirs behind, and nothing comes back
    for container in (custinger, aim):
        before = container.memory
        container.insert_edges(*ends)
        grown = container.memory
        assert (grown > before) == (container is custinger)
        container.delete_edges(*ends)
        assert container.memory == grown


def test_rows_grow_to_twice_their_size_or_by_pages(device, form):
    empty = GRAPHS["empty"]
    custinger, aim = (made(system, empty, device) for system in SYSTEMS)
    taken, pages = [], []
    for head in range(40):
        for container in (custinger, aim):
            container.insert_edges([HUB], [head])
        taken.append(custinger._taken)
        pages.append(aim._taken)
    # arrays of 16, 32 and 64 edges, of which one arena has as many edges as the first arrays
    assert taken == [8 * N] * 8 + [16] * 8 + [16 + 32] * 16 + [16 + 32 + 64] * 8
    assert pages == [1 + head // Aim._page for head in range(40)]


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_batch_for_which_there_is_no_memory_changes_nothing(system, device, form):
    container = made(system, GRAPHS["random"], device)
    before = edges_of(container)
    tail = int(np.flatnonzero(container.degree() % Aim._page)[0])
    if system == "AIM":
        container._taken = container._pages
    else:
        container._arenas *= 8
        container._taken = container._arenas[-1].size // 4
    many = np.full(N, tail), np.arange(N)
    with pytest.raises(CapabilityError, match=r"the pool has|arenas are full"):
        container.insert_edges(*many)
    assert edges_of(container) == before
    # one of them, for which the row has room
    new = next(pair for pair in pairs(many) if pair not in before)
    assert container.insert_edges(*np.array([new]).T) == 1
    assert edges_of(container) == sorted([*before, new])


def test_what_is_no_batch_changes_nothing(device, form):
    graph = GRAPHS["random"]
    for cls in (Custinger, Dcsr):
        container = cls(graph, device=device)
        before = edges_of(container)
        for tails, heads in (([0, 2], [1, N]), ([0, -1], [1, 3])):
            with pytest.raises(GraphError, match=f"edge number 1 goes from {tails[1]} to"):
                container.insert_edges(tails, heads)
        with pytest.raises(ParameterError, match="duplicates"):
            container.insert_edges([0], [1], duplicates="update")
        assert edges_of(container) == before
        new = [(0, 0), (0, 0)][: 2 - (cls is Custinger)]
        assert container.insert_edges([0, 0], [0, 0]) == len(new)
        assert edges_of(container) == sorted([*before, *new])
    container = Custinger(graph, device=device)
    tails, heads = graph.arcs()[:2]
    for act in (container.has_edges, container.delete_edges):
        with pytest.raises(GraphError, match=f"edge number 1 goes from {N} to 0"):
            act([tails[0], N], [heads[0], 0])
    assert container.m == graph.m
    assert edges_of(container) == before[: graph.m]
