"""Triangles that follow updates, against NetworkX and sets of edges after each of them."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest

from pyapsp.dynamic import Hornet, TriangleChange, TriangleCounts, triangles
from pyapsp.dynamic.store import Store
from pyapsp.errors import CapabilityError, DeviceMemoryError, GraphError, ParameterError
from pyapsp.graph import Graph


def edges_of(held):
    """The edges as pairs of different vertices, the smaller one first."""
    now = held.snapshot()
    tails = np.repeat(np.arange(held.n), np.diff(now.indptr)).tolist()
    return {(u, v) for u, v in zip(tails, now.indices.tolist(), strict=True) if u < v}


def require(counts, edges, n):
    """Compare all counts with those of NetworkX."""
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(n))
    right = nx.triangles(graph)
    assert counts.per_vertex.tolist() == [right[v] for v in range(n)]
    assert counts.per_vertex.dtype == np.int64
    assert counts.total == sum(right.values()) // 3


def by_edges(changed, edges):
    """The triangles of a set of edges with one, two and three of those that change."""
    found, ends = [0, 0, 0, 0], sorted({v for edge in edges for v in edge})
    for three in combinations(ends, 3):
        sides = list(combinations(three, 2))
        if all(side in edges for side in sides):
            found[sum(side in changed for side in sides)] += 1
    return found[1:]


@pytest.mark.every(3)
@pytest.mark.parametrize("weight", [None, "float32"])
@pytest.mark.parametrize("stable", [False, True])
def test_counts_after_every_update(weight, stable, device, form):
    """Batches have loops, equal and reversed edges, edges that are there, and some that are not."""
    random, n = np.random.default_rng(11), 26
    held = Hornet(n, directed=False, weight=weight, block_array=64, device=device)
    plain = Hornet(n, directed=False, weight=weight, block_array=64, device=device)
    counts, edges, changes = TriangleCounts(held), set(), np.zeros(3, int)
    for step in range(24):
        count = (90, 1, 12, 40)[step % 4]
        ends = random.integers(0, n, (2, count))
        ends = np.concatenate([ends, ends[:, : count // 3], ends[::-1, : count // 4]], axis=1)
        if step % 3 == 2:
            change = counts.delete_edges(*ends, stable=stable)
            assert change.edges == plain.delete_edges(*ends)
            left, changed_of = edges_of(held), edges
        else:
            kind = ("ignore", "update")[step % 2]
            weights = None if weight is None else random.random(ends.shape[1])
            change = counts.insert_edges(*ends, weights, duplicates=kind)
            assert change.edges == plain.insert_edges(*ends, weights, duplicates=kind)
            left = changed_of = edges_of(held)
        assert [change.one, change.two, change.three] == by_edges(edges ^ left, changed_of)
        assert change.triangles == change.one + change.two + change.three
        edges = left
        require(counts, edges, n)
        assert held.m == plain.m
        assert (held.to_csr() != plain.to_csr()).nnz == 0
        changes += [change.one, change.two, change.three]
    assert (changes > 0).all()


def test_one_two_and_three_new_edges(device, form):
    counts = TriangleCounts(Hornet(6, directed=False, device=device))
    assert counts.insert_edges([0, 1, 2], [1, 2, 0]) == TriangleChange(6, 0, 0, 1)
    assert counts.insert_edges([3, 0], [1, 3]) == TriangleChange(4, 0, 1, 0)
    assert counts.insert_edges([2], [3]) == TriangleChange(2, 2, 0, 0)
    assert counts.total == 4
    assert counts.per_vertex.tolist() == [3, 3, 3, 3, 0, 0]
    # all four triangles of four vertices: one edge is left, and two of them have it
    assert counts.delete_edges([0, 0, 0, 1, 1], [1, 2, 3, 2, 3]) == TriangleChange(10, 0, 2, 2)
    assert counts.total == 0
    assert not counts.per_vertex.any()


def test_what_is_no_new_edge_changes_nothing(device):
    counts = TriangleCounts(Hornet(4, directed=False, device=device))
    nothing = TriangleChange(0, 0, 0, 0)
    assert counts.insert_edges([], []) == nothing
    assert counts.delete_edges([], []) == nothing
    counts.insert_edges([0, 1, 2], [1, 2, 0])
    assert counts.insert_edges([1, 2, 1], [0, 1, 0]) == nothing
    assert counts.delete_edges([0, 3], [3, 3]) == nothing
    assert counts.insert_edges([0, 1], [0, 1]) == TriangleChange(2, 0, 0, 0)  # loops
    assert counts.total == 1
    assert counts.delete_edges([0, 1], [0, 2]) == TriangleChange(3, 1, 0, 0)


def test_rows_of_many_tiles(device, form):
    """Two vertices share more neighbours than work-items take at once."""
    n = 5202
    shared = np.arange(2, n)
    held = Hornet(n, directed=False, device=device)
    counts = TriangleCounts(held)
    counts.insert_edges(np.repeat([0, 1], n - 2), np.tile(shared, 2))
    assert counts.total == 0
    assert counts.insert_edges([0], [1]) == TriangleChange(2, n - 2, 0, 0)
    assert counts.per_vertex.tolist() == [n - 2] * 2 + [1] * (n - 2)
    gone = np.repeat([0, 1], 4000), np.tile(shared[:4000], 2)
    assert counts.delete_edges(*gone) == TriangleChange(16000, 0, 4000, 0)
    assert counts.total == n - 2 - 4000
    back = counts.insert_edges([0, *gone[0][:4000]], [1, *gone[1][:4000]])
    assert back.triangles == 0
    assert TriangleCounts(held).per_vertex.tolist() == counts.per_vertex.tolist()


@pytest.mark.slow
def test_counts_of_a_large_graph(device, form):
    random, n = np.random.default_rng(3), 3000
    ends = (n * random.random((2, 60_000)) ** 3).astype(np.int64)
    graph = Graph.from_arcs(n, *ends, directed=False)
    held = Hornet.from_graph(graph, device=device)
    counts = TriangleCounts(held)
    for part in np.array_split(ends, 3, axis=1):
        first = counts.delete_edges(*part)
        assert min(first.one, first.two, first.three) > 0
        again = TriangleCounts(held)
        assert (counts.total, counts.per_vertex.tolist()) == (
            again.total,
            again.per_vertex.tolist(),
        )
        assert counts.insert_edges(*part) == first


def test_the_order_of_a_batch_changes_no_count(device, form):
    random = np.random.default_rng(4)
    ends, answers = random.integers(0, 60, (2, 700)), []
    for _ in range(3):
        counts = TriangleCounts(Hornet(60, directed=False, device=device))
        change = counts.insert_edges(*random.permutation(ends, axis=1))
        answers.append((change, counts.total, counts.per_vertex.tobytes()))
    assert answers[0] == answers[1] == answers[2]


def test_only_the_first_count_reads_all_edges(device, monkeypatch):
    held = Hornet.from_graph(nx.complete_graph(7), device=device)
    counts = TriangleCounts(held)
    assert counts.total == 35
    monkeypatch.setattr(Hornet, "snapshot", None)
    assert counts.delete_edges([0], [1]).one == 5
    assert counts.insert_edges([1], [0]).one == 5
    assert counts.per_vertex.tolist() == [15] * 7


def test_equal_edges_are_one(device, form):
    held = Hornet(4, directed=False, device=device)
    held.insert_edges([0, 0, 1, 0, 2, 2], [1, 1, 2, 3, 2, 0], duplicates="keep")
    held.insert_edges([1, 2], [0, 1], duplicates="keep")
    counts = TriangleCounts(held)
    require(counts, edges_of(held), 4)
    assert counts.delete_edges([2], [0]) == TriangleChange(2, 1, 0, 0)
    assert counts.insert_edges([0], [2]) == TriangleChange(2, 1, 0, 0)
    assert counts.delete_edges([2], [1]).one == 1
    assert counts.insert_edges([3, 1], [2, 3]) == TriangleChange(4, 2, 0, 0)
    require(counts, edges_of(held), 4)


def test_edges_of_infinite_weight_are_edges(device):
    held = Hornet(3, directed=False, weight="float32", device=device)
    held.insert_edges([0, 1, 2], [1, 2, 0], np.inf)
    assert TriangleCounts(held).total == 1


def test_values_and_ends_of_the_device(device):
    held = Hornet(3, directed=False, weight="int32", edge_properties={"day": "int8"}, device=device)
    counts = TriangleCounts(held)
    counts.insert_edges([0], [1], [5], properties={"day": [6]})
    counts.insert_edges([0], [1], [7], duplicates="update")
    assert held.row(0)["weight"].tolist() == [7]
    queue = device.queue()
    ends = [cl_array.to_device(queue, np.array(each, np.int32)) for each in ([1, 2], [2, 0])]
    plain = TriangleCounts(Hornet.from_graph(nx.path_graph(2), device=device))
    assert plain.insert_edges([0], [0]).edges == 1
    other = TriangleCounts(Hornet(3, directed=False, device=device))
    other.insert_edges([0], [1])
    assert other.insert_edges(*ends) == TriangleChange(4, 0, 1, 0)
    assert other.delete_edges(*ends) == TriangleChange(4, 0, 1, 0)


def test_sums_of_more_than_32_bits(device, form, monkeypatch):
    def begin(self, edges):
        words = np.array([2**32 - 1, 7, 2**32 - 3, 0, 2**32 - 1, 2**31], np.uint32)
        cl.enqueue_copy(self._store.queue, self._sums, words)

    monkeypatch.setattr(triangles._Reader, "begin", begin)
    counts = TriangleCounts(Hornet(5, directed=False, device=device))
    change = counts.insert_edges([0, 1, 2], [1, 2, 0])
    assert change == TriangleChange(6, 2**35 - 1, 2**32 - 3, (2**31 + 1) * 2**32)
    change = counts.insert_edges([3, 3, 4, 4], [0, 1, 1, 2])
    assert change == TriangleChange(8, 2**35 - 1, 2**32 - 1, (2**31 + 1) * 2**32 - 1)


@pytest.mark.parametrize(
    "failing",
    [
        # before the rows are read, and after that
        *(
            (update, name)
            for update in ("insert", "delete")
            for name in ("tables", "sets", "edges")
        ),
        ("insert", "moves"),
        ("delete", "gaps"),
    ],
    ids="-".join,
)
def test_an_update_without_memory_changes_nothing(failing, device, form, monkeypatch):
    held = Hornet.from_graph(nx.complete_graph(5), device=device)
    held.insert_vertices(1)
    counts = TriangleCounts(held)
    before, blocks = held.snapshot(), list(held._store.blocks.blocks_in_use)
    real = Store.scratch

    def full(self, name, size):
        if name == failing[1]:
            raise DeviceMemoryError(1, 0, "none")
        return real(self, name, size)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "scratch", full)
        update, heads = counts.insert_edges, [5, 5]
        if failing[0] == "delete":
            update, heads = counts.delete_edges, [1, 2]
        with pytest.raises(DeviceMemoryError):
            update([0, 1], heads)
    assert list(held._store.blocks.blocks_in_use) == blocks
    assert held.m == 20
    assert (held.snapshot().indices == before.indices).all()
    assert held.has_edges(*np.nonzero(1 - np.eye(5))).all()
    require(counts, edges_of(held), 6)
    assert counts.insert_edges([0, 1], [5, 5]) == TriangleChange(4, 0, 1, 0)
    assert counts.delete_edges([0], [1]) == TriangleChange(2, 4, 0, 0)
    require(counts, edges_of(held), 6)


def test_counts_after_an_interrupt(device, monkeypatch):
    """It comes when the container has changed, and the total has not."""
    held = Hornet.from_graph(nx.complete_graph(5), device=device)
    counts = TriangleCounts(held)
    real = Hornet._delete

    def interrupted(*arguments):
        real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Hornet, "_delete", interrupted)
        with pytest.raises(KeyboardInterrupt):
            counts.delete_edges([0], [1])
    assert counts.insert_edges([0], [1]).one == 3
    require(counts, edges_of(held), 5)


def test_an_edge_without_vertices_changes_nothing(device, monkeypatch):
    held = Hornet.from_graph(nx.complete_graph(4), device=device)
    counts = TriangleCounts(held)
    monkeypatch.setattr(Hornet, "snapshot", None)  # nothing is counted again
    for update in (counts.insert_edges, counts.delete_edges):
        with pytest.raises(GraphError, match="edge number 1 goes from 2 to 9"):
            update([0, 2], [1, 9])
    with pytest.raises(GraphError):
        counts.insert_edges([0], [1, 2])
    with pytest.raises(ParameterError, match="'weight'"):
        counts.insert_edges([0], [1], properties={"weight": 2})
    assert held.m == 12
    assert counts.total == 4
    assert counts.delete_edges([0], [1]).one == 2


def test_too_many_edges_are_refused(device, monkeypatch):
    held = Hornet(4, directed=False, device=device)
    counts = TriangleCounts(held)
    monkeypatch.setattr(triangles, "_MOST", 5 * 6)
    counts.insert_edges([0, 1], [1, 2])
    for update in (counts.insert_edges, counts.delete_edges):
        with pytest.raises(CapabilityError, match="at most 6 edges"):
            update([2, 0], [0, 1])
    assert held.m == 4
    assert counts.total == 0


def test_what_is_refused(device):
    with pytest.raises(ParameterError, match=r"'held'.*Graph"):
        TriangleCounts(Graph.from_arcs(2, [0], [1]))
    with pytest.raises(ParameterError, match="undirected"):
        TriangleCounts(Hornet(3, device=device))
    counts = TriangleCounts(Hornet(3, directed=False, device=device))
    with pytest.raises(ParameterError, match="duplicates"):
        counts.insert_edges([0], [1], duplicates="keep")
    with pytest.raises(ParameterError, match="stable"):
        counts.delete_edges([0], [1], stable="yes")


@pytest.mark.parametrize(
    "change",
    [
        lambda held: held.insert_edges([0], [3]),
        lambda held: held.delete_edges([0], [1]),
        lambda held: held.insert_vertices(1),
        lambda held: held.delete_vertices([4]),
        # as many edges as before
        lambda held: held.insert_edges([0], [3]) - held.delete_edges([0], [1]),
    ],
)
def test_a_container_that_others_change_is_refused(change, device):
    held = Hornet.from_graph(nx.complete_graph(3), device=device)
    held.insert_vertices(2)
    counts = TriangleCounts(held)
    # these change nothing
    held.insert_edges([0], [1])
    held.delete_edges([0], [4])
    held.insert_vertices(0)
    held.delete_vertices([])
    assert counts.total == 1
    change(held)
    reads = (lambda: counts.total), (lambda: counts.per_vertex)
    updates = (
        lambda each=each: each([1], [2]) for each in (counts.insert_edges, counts.delete_edges)
    )
    for use in (*reads, *updates):
        with pytest.raises(ParameterError, match="others have changed the container"):
            use()
    assert TriangleCounts(held).total == nx_total(held)


def nx_total(held):
    return sum(nx.triangles(nx.Graph(list(edges_of(held)))).values()) // 3


def test_an_empty_container(device):
    counts = TriangleCounts(Hornet(0, directed=False, device=device))
    assert counts.total == 0
    assert counts.per_vertex.shape == (0,)
    assert counts.insert_edges([], []).edges == 0
