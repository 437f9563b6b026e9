"""The container: its memory, its arguments, and what its formats hold."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from dataclasses import replace

import networkx as nx
import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest
from scipy.sparse import csr_array

from pyapsp.device import Device
from pyapsp.dynamic import Hornet, PathRows, analytics, loading, store
from pyapsp.dynamic.blocks import NEW, NO_BLOCK, BlockArrays, room, tree_words
from pyapsp.dynamic.rows import HornetRows
from pyapsp.dynamic.store import Store
from pyapsp.errors import CapabilityError, DeviceMemoryError, GraphError, ParameterError
from pyapsp.graph import Graph, generators


def classes(graph):
    """The class and the blocks of each block array."""
    table = graph._store.blocks.table
    return sorted(int(kind) & 255 for kind in table[graph._store.blocks._used, 0])


def test_the_example_of_the_thesis(device):
    """Figures 18.1 and 18.2: block arrays of 8 edges; two vertices outgrow their blocks."""
    degrees = [1, 2, 2, 2, 2, 2, 4]
    tails = np.repeat(np.arange(7), degrees)
    heads = np.concatenate([np.arange(degree) for degree in degrees])
    graph = Hornet.from_graph(
        Graph.from_arcs(8, tails, heads), block_array=8, block_steps=1, device=device
    )
    assert classes(graph) == [0, 1, 1, 3]
    assert graph.insert_edges([1, 4, 0], [7, 7, 7], duplicates="keep") == 3
    assert classes(graph) == [0, 1, 1, 3, 3] or classes(graph) == [1, 1, 3, 3]
    assert graph.neighbors(1).tolist() == [0, 1, 7]
    assert graph.degree().tolist() == [2, 3, 2, 2, 3, 2, 4, 0]


@pytest.mark.parametrize("directed", [True, False])
def test_a_graph_in_and_out(directed, device):
    arcs = generators.random_graph(300, m=2500, seed=3)
    graph = arcs if directed else arcs.symmetrized()
    held = Hornet.from_graph(graph, block_array=64, device=device)
    assert held.m == graph.m
    assert held.to_graph() == graph
    rows = held.to_csr()
    assert (rows.indptr == graph.indptr).all()
    assert (rows.data == graph.weights).all()
    assert (held.degree([5, 7]) == np.diff(graph.indptr)[[5, 7]]).all()
    row = held.row(9)
    part = slice(*graph.indptr[9:11])
    assert row["head"].tolist() == graph.indices[part].tolist()
    assert row["weight"].tolist() == graph.weights[part].tolist()


@pytest.mark.parametrize("weight", ["int8", "uint8", "int64", "float32"])
def test_weights_of_another_type(weight, device):
    weights = [-128, 127, 0] if weight == "int8" else [0, 127, 255]
    graph = Graph.from_arcs(3, [0, 0, 2], [1, 2, 0], weights)
    held = Hornet.from_graph(graph, weight=weight, device=device)
    found = held.row(0)["weight"].tolist() + held.row(2)["weight"].tolist()
    assert (found, held.row(0)["weight"].dtype) == (weights, weight)
    if weight.endswith("int8"):
        for wrong in (-129, 256):
            beyond = Graph.from_arcs(3, [0, 1], [1, 2], [1, wrong])
            with pytest.raises(ParameterError, match=f"values that {weight} can hold. Got {wrong}"):
                Hornet.from_graph(beyond, weight=weight, device=device)


@pytest.mark.parametrize("weight", ["uint8", "int32", "int64", "float32"])
def test_one_weight_for_all_edges_of_a_batch(weight, device):
    kinds = {"on": np.bool_, "rank": np.int16}
    held = Hornet(70, weight=weight, edge_properties=kinds, layout="arrays", device=device)
    heads = np.arange(2, 62)
    held.insert_edges(np.zeros(60, int), heads)
    held.insert_edges(np.ones(60, int), heads, 7, properties={"on": True, "rank": -3})
    for tail, expected in ((0, (1, False, 0)), (1, (7, True, -3))):
        row = held.row(tail)
        assert row["head"].tolist() == heads.tolist()
        for name, value in zip(("weight", "on", "rank"), expected, strict=True):
            assert row[name].tolist() == [value] * 60


def test_a_networkx_graph(device):
    graph = nx.karate_club_graph()
    held = Hornet.from_networkx(graph, device=device)
    tails, heads = np.array(graph.edges()).T
    assert held.has_edges(tails, heads).all()
    assert held.has_edges(heads, tails).all()
    assert held.m == 2 * graph.number_of_edges()
    weights = dict(zip(held.row(0)["head"].tolist(), held.row(0)["weight"].tolist(), strict=True))
    assert weights == {head: graph[0][head]["weight"] for head in graph[0]}


def test_growth_by_a_thousand_moves_no_row_that_fits(device):
    graph = Hornet(64, block_array=16, device=device)
    graph.insert_edges([0, 1, 2], [1, 2, 3])
    first = graph._store._arenas[0][0]
    random = np.random.default_rng(5)
    for step in range(14):
        graph.insert_vertices(graph.n // 2)
        ends = random.integers(3, graph.n, (2, 60 << min(step, 6)))
        graph.insert_edges(*ends, duplicates="keep")
    assert graph.m > 3000
    assert graph._store._arenas[0][0] is first
    assert len(graph._store.blocks.arenas) <= 16
    assert [graph.neighbors(v).tolist() for v in range(3)] == [[1], [2], [3]]
    random = np.random.default_rng(5)
    tails, heads = graph.to_csr().nonzero()
    graph.delete_edges(tails, heads)
    assert graph.m == 0
    assert graph.memory.edges == 0


def test_equal_edges_that_are_kept(device):
    graph = Hornet(5, directed=False, weight="float32", device=device)
    assert graph.insert_edges([0, 0, 2], [1, 1, 2], [1.5, 2.5, 4], duplicates="keep") == 5
    assert graph.neighbors(0).tolist() == [1, 1]
    assert graph.to_graph().m == 3
    assert graph.to_graph().weights.tolist() == [1.5, 1.5, 4]
    assert graph.delete_edges([1, 2, 2], [0, 2, 2]) == 5
    assert graph.m == 0


def test_both_ways_of_an_edge_have_one_weight(device):
    graph = Hornet(3, directed=False, weight="int32", device=device)
    for duplicates, weight in (("ignore", 5), ("update", 9)):
        weights = [5, 6] if duplicates == "ignore" else [8, 9]
        graph.insert_edges([0, 1], [1, 0], weights, duplicates=duplicates)
        assert graph.row(0)["weight"].tolist() == graph.row(1)["weight"].tolist() == [weight]


@pytest.mark.parametrize("layout", ["adaptive", "records", "arrays"])
def test_layouts_hold_the_same(layout, device):
    types = {"a": "int32", "b": "float32", "c": "int16", "d": "uint8", "e": "bool"}
    graph = Hornet(40, edge_properties=types, layout="adaptive", device=device)
    assert len(graph._columns) == 5  # 12 bytes are in no vector
    if layout == "records":
        with pytest.raises(ParameterError, match="layout"):
            Hornet(4, edge_properties=types, layout=layout, device=device)
        types.pop("c"), types.pop("d"), types.pop("e")
    graph = Hornet(40, edge_properties=types, layout=layout, device=device)
    assert len(graph._columns) == (1 if layout == "records" else 5)
    random = np.random.default_rng(2)
    tails, heads = random.integers(0, 40, (2, 300))
    values = {name: random.integers(0, 2, 300) for name in types}
    graph.insert_edges(tails, heads, properties=values)
    now = graph.snapshot()
    first = {edge: i for i, edge in reversed(list(enumerate(zip(tails, heads, strict=True))))}
    rows = np.repeat(np.arange(40), np.diff(now.indptr))
    order = [first[edge] for edge in zip(rows, now.indices, strict=True)]
    for name, dtype in types.items():
        assert now.values[name].dtype == dtype
        assert (now.values[name] == values[name][order].astype(dtype)).all()


def test_edges_that_are_on_the_device(device):
    graph = Hornet(100, directed=False, device=device)
    queue = cl.CommandQueue(device.context)
    ends = np.random.default_rng(1).integers(0, 100, (2, 400)).astype(np.int32)
    tails, heads = (cl_array.to_device(queue, each) for each in ends)
    model = set(zip(*ends.tolist(), strict=True))
    model |= {(head, tail) for tail, head in model}
    assert graph.insert_edges(tails, heads) == len(model)
    assert graph.has_edges(tails, heads).all()
    with pytest.raises(ParameterError, match="tails"):
        graph.insert_edges(tails[1:], heads[1:])
    with pytest.raises(ParameterError, match="tails"):
        graph.insert_edges(tails[::2], heads[::2])
    many = cl_array.Array(queue, 2**29 + 1, np.int32, data=tails.base_data)
    with pytest.raises(ParameterError, match="edges"):
        graph.insert_edges(many, many)
    with pytest.raises(ParameterError, match="heads"):
        graph.insert_edges(tails, ends[1])
    assert graph.delete_edges(tails, heads) == len(model)


@pytest.mark.parametrize("duplicates", ["ignore", "update", "keep"])
@pytest.mark.parametrize("directed", [True, False])
def test_edges_on_the_device_may_change_after_the_call(directed, duplicates, device, monkeypatch):
    """The commands that write them are held back until the arrays have changed."""
    graph = Hornet(100, directed=directed, weight="int32", device=device)
    queue, gate = cl.CommandQueue(device.context), cl.UserEvent(device.context)
    ends = np.arange(20, dtype=np.int32).reshape(2, 10)
    graph.insert_edges(*ends[:, :4])
    tails, heads = (cl_array.to_device(queue, each) for each in ends)
    command = Store.column_command

    def held_back(self, name, *arguments, **options):
        if name == "column_write":
            cl.enqueue_barrier(self.queue, wait_for=[gate])
        return command(self, name, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "column_command", held_back)
        try:
            graph.insert_edges(tails, heads, duplicates=duplicates)
            for array in (tails, heads):
                array.set(np.zeros_like(ends[0]), queue=queue)
            queue.finish()
        finally:
            gate.set_status(cl.command_execution_status.COMPLETE)
    expected = Hornet(100, directed=directed, weight="int32", device=device)
    expected.insert_edges(*ends[:, :4])
    expected.insert_edges(*ends, duplicates=duplicates)
    now, then = graph.snapshot(), expected.snapshot()
    assert now.indptr.tolist() == then.indptr.tolist()
    assert now.indices.tolist() == then.indices.tolist()
    assert now.values["weight"].tolist() == then.values["weight"].tolist()


def test_copies_of_small_arrays_are_not_kept(device):
    graph = Hornet(3, device=device)
    graph.insert_edges([0, 1], [1, 2])
    for _ in range(20):
        graph.snapshot()
    assert len(graph._store._sent) < 3


@pytest.mark.parametrize("degree", [1, 20])
def test_a_deleted_vertex_has_no_block(degree, device, form):
    graph = Hornet(30, block_array=32, device=device)
    graph.insert_edges([3], [0])
    before = graph.memory.block_arrays
    graph.insert_edges(np.full(degree, 5), np.arange(degree))
    assert graph.delete_vertices([5]) == degree
    assert sum(graph._store.blocks.blocks_in_use) == 1
    assert graph.memory.block_arrays == before
    assert graph.insert_vertices().tolist() == [5]
    assert graph.insert_edges([5, 5], [1, 2]) == 2
    assert graph.neighbors(5).tolist() == [1, 2]


@pytest.mark.parametrize("update", ["insert", "delete", "vertices"])
def test_memory_that_ends_anywhere_loses_nothing(update, device, monkeypatch):
    """Each allocation of a batch fails in turn."""
    random = np.random.default_rng(4)
    old, new = random.integers(0, 60, (2, 500)), random.integers(0, 60, (2, 900))
    allocate, left = Store.allocate, [0]

    def failing(self, size):
        left[0] -= 1
        if left[0] == 0:
            raise DeviceMemoryError(size, 0, "none left")
        return allocate(self, size)

    graph = Hornet(60, block_array=16, device=device)
    graph.insert_edges(*old)
    monkeypatch.setattr(Store, "allocate", failing)
    failures = 0
    for turn in range(1, 60):
        before = graph.to_csr()
        graph.release_scratch()
        left[0] = turn
        try:
            if update == "insert":
                graph.insert_edges(*new)
            elif update == "delete":
                graph.delete_edges(*old)
            else:
                graph.delete_vertices(np.arange(20))
        except DeviceMemoryError:
            failures += 1
        else:
            break
        finally:
            left[0] = 0
        after = graph.to_csr()
        assert (after != before).nnz == 0
        assert graph.m == after.nnz == before.nnz
    assert failures >= 8
    monkeypatch.undo()
    left_over = {"insert": old, "delete": old[:, :0], "vertices": old}[update]
    model = set(zip(*left_over.tolist(), strict=True))
    if update == "insert":
        model |= set(zip(*new.tolist(), strict=True))
    if update == "vertices":
        model = {edge for edge in model if min(edge) >= 20}
    assert set(zip(*map(np.ndarray.tolist, graph.to_csr().nonzero()), strict=True)) == model


def test_a_deleted_vertex_stays_deleted(device):
    graph = Hornet(6, device=device)
    graph.insert_edges([0, 1, 2, 4], [1, 2, 3, 5])
    assert graph.delete_vertices(0) == 1
    assert graph.delete_vertices([2, 4]) == 3
    for vertex in (0, 2, 4):
        with pytest.raises(GraphError, match=f"edge number 0 goes from 1 to {vertex}"):
            graph.insert_edges([1], [vertex])
    assert graph.insert_vertices(2).tolist() == [0, 2]
    assert graph.insert_edges([0, 2], [2, 0]) == 2
    assert graph.vertices.tolist() == [0, 1, 2, 3, 5]


def test_the_manager_takes_and_returns(device):
    opened, most = {}, [100]

    def open_(arena, regions):
        if sum(opened.values()) + regions > most[0]:
            raise DeviceMemoryError(regions, most[0], "none")
        opened[arena] = regions

    manager = BlockArrays(4, 40, open_, opened.pop)
    need = [0] * NO_BLOCK
    need[3], need[11] = 5, 2  # two block arrays of 4 blocks, and two blocks of 4 regions
    takes = manager.reserve(need)
    assert opened == {0: 10}
    assert [int(take[1] & (NEW - 1)) for take in takes] == [4, 1, 1, 1]
    assert manager.blocks_in_use[3] == 5
    need[11] = 0
    need[3] = 2
    again = manager.reserve(need)  # from the block array that has room
    assert again.tolist() == [[int(takes[1][0]), 2, 0, 0]]
    most[0] = 12
    need[3] = 4 * 9
    before = manager.blocks_in_use
    with pytest.raises(DeviceMemoryError):
        manager.reserve(need)
    assert manager.blocks_in_use == before
    assert opened == {0: 10}
    need[3] = 4 * 2 + 1  # more than two regions would be opened for growth
    last = manager.reserve(need)
    assert len(last) == 3
    freed = np.zeros(len(manager.table), np.int64)
    for region, amount, *_ in [*takes, *again, last[0]]:
        freed[region] += int(amount & (NEW - 1))
    manager.release(freed)
    manager.give_back()
    assert opened == {1: 2}
    need[3], need[61] = 0, 1
    with pytest.raises(DeviceMemoryError, match="too many edges"):
        manager.reserve(need)
    assert [tree_words(blocks) for blocks in (1, 32, 33, 1025)] == [1, 1, 3, 36]


@pytest.mark.every(2)
def test_a_stable_deletion_keeps_the_order_of_rows(device, form):
    random = np.random.default_rng(6)
    arcs = generators.random_graph(80, m=3000, seed=6)
    graph = Graph.from_arcs(80, *arcs.arcs()[:2], np.arange(arcs.m))
    held = Hornet.from_graph(graph, block_array=64, device=device)
    edges = zip(*map(np.ndarray.tolist, graph.arcs()[:2]), strict=True)
    model = dict(zip(edges, graph.weights.tolist(), strict=True))
    for count in (5, 900, 2000):
        doomed = random.integers(0, 80, (2, count))
        for edge in zip(*doomed.tolist(), strict=True):
            model.pop(edge, None)
        held.delete_edges(*doomed, stable=True)
        indptr, (heads, weights) = loading.pack(held._store, 80)
        tails = np.repeat(np.arange(80), np.diff(indptr))
        # as packed, without a sort
        assert list(zip(tails.tolist(), heads.tolist(), strict=True)) == list(model)
        assert weights.tolist() == list(model.values())


@pytest.mark.every(2)
def test_sizes_of_blocks(device, form):
    """Rows of every size, in blocks that are as small as the classes allow."""
    assert [room(kind) for kind in range(9)] == [1, 2, 3, 4, 6, 8, 12, 16, 24]
    degrees = np.arange(1, 60)
    tails = np.repeat(np.arange(59), degrees)
    heads = np.concatenate([np.arange(degree) for degree in degrees])
    for steps, sizes in (
        (1, [1, 2, 4, 8, 16, 32, 64]),
        (2, [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]),
    ):
        graph = Hornet(60, block_array=32, block_steps=steps, device=device)
        for part in (slice(0, None, 2), slice(1, None, 2)):
            graph.insert_edges(tails[part], heads[part], duplicates="keep")
        store = graph._store
        place = store.fetch(store.place, 59, np.uint32)
        kinds = store.blocks.table[place >> 5, 0] & 255
        least = [min(size for size in sizes if size >= degree) for degree in degrees]
        # a row that shrinks below half of its block is not here: they only grew
        assert [room(int(kind)) for kind in kinds] == least
        assert (graph.to_csr().indices == heads).all()


def test_block_arrays_fit_the_graph_that_is_loaded(device):
    for arcs, size in ((3000, 2**10), (2**19, 2**10)):
        graph = generators.random_graph(3000, m=arcs, seed=1)
        held = Hornet.from_graph(graph, device=device)
        assert held._store.blocks.bits == size.bit_length() - 1
    csr = 4 * (graph.n + 1) + sum(column.dtype.itemsize for column in held._store.columns) * graph.m
    assert held.memory.total < 1.35 * csr


def test_too_many_slots(device):
    opened = {}
    manager = BlockArrays(28, 16, opened.__setitem__, opened.pop)
    need = [0] * NO_BLOCK
    need[55] = 16
    with pytest.raises(CapabilityError, match="slots"):
        manager.reserve(need)
    assert opened == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"block_array": 12}, "a power of two"),
        ({"least_block": 3}, "a power of two"),
        ({"block_array": 8, "least_block": 16}, "from 1 to 8"),
        ({"weight": "complex64"}, "at most 8 bytes"),
        ({"edge_properties": {"weight": "int8"}}, "other than .*'weight'"),
        ({"layout": "both"}, "one of adaptive, records, arrays"),
        ({"directed": 1}, "True or False"),
        ({"memory_limit": -1}, "at least 0"),
    ],
)
def test_arguments_of_a_container(arguments, message, device):
    with pytest.raises(ParameterError, match=message):
        Hornet(4, device=device, **arguments)


def test_arguments_of_updates(device):
    graph = Hornet(4, weight="int8", vertex_properties={"size": "int32"}, device=device)
    with pytest.raises(GraphError, match="do not go with"):
        graph.insert_edges([1, 2], [3])
    with pytest.raises(GraphError, match="integers"):
        graph.insert_edges([1.5], [3])
    with pytest.raises(GraphError, match="edge number 1 has 1099511627776"):
        graph.insert_edges([0, 2], [3, 2**40])
    with pytest.raises(GraphError, match="shape"):
        graph.insert_edges([1, 2], [3, 3], [1, 2, 3])
    with pytest.raises(ParameterError, match="int8 can hold"):
        graph.insert_edges([1], [3], [300])
    with pytest.raises(ParameterError, match=r"'colour', .* do not have, only weight"):
        graph.insert_edges([1], [3], properties={"colour": 1})
    with pytest.raises(ParameterError, match="one of ignore, update, keep"):
        graph.insert_edges([1], [3], duplicates="sum")
    with pytest.raises(ParameterError, match="one of weight"):
        graph.to_csr("colour")
    with pytest.raises(ParameterError, match="'colour', and there are: size"):
        graph.insert_vertices(1, {"colour": 1})
    graph.delete_vertices([2])
    with pytest.raises(ParameterError, match="vertices of the graph"):
        graph.delete_vertices(2)
    with pytest.raises(ParameterError, match="vertices of the graph"):
        graph.set_vertex_property("size", 3, [2])
    graph.set_vertex_property("size", [3, 4], [0, 1])
    assert graph.vertex_property("size").tolist() == [3, 4, 0, 0]
    assert graph.m == 0


MASKED = np.ma.array([0, 1], mask=[False, True])


@pytest.mark.parametrize(
    "call",
    [
        lambda graph: graph.insert_edges(MASKED, [1, 2]),
        lambda graph: graph.insert_edges([1, 2], MASKED),
        lambda graph: graph.insert_edges([1, 2], [0, 0], MASKED),
        lambda graph: graph.insert_edges([1, 2], [0, 0], properties={"colour": MASKED}),
        lambda graph: graph.delete_edges(MASKED, [1, 2]),
        lambda graph: graph.has_edges(MASKED, [1, 2]),
        lambda graph: graph.delete_vertices(MASKED),
        lambda graph: graph.insert_vertices(2, {"size": MASKED}),
        lambda graph: analytics.spmv(graph, np.ma.array(np.ones(4), mask=[1, 0, 0, 0])),
        # a float type rounds integers that it cannot hold
        lambda graph: graph.insert_edges([1], [0], [2**24 + 1]),
        lambda graph: graph.insert_edges([1, 2], [0, 0], [0.5, 2**53 + 1]),
        lambda graph: graph.insert_edges([1], [0], [1], properties={"weight": [2]}),
        lambda graph: graph.insert_edges([[1], [2, 3]], [0, 0]),
        lambda graph: graph.insert_edges([1], [0], properties=[2]),
        lambda graph: Hornet(4, edge_properties={"head": "int8"}),
        lambda graph: Hornet(4, edge_properties={"": "int8"}),
        lambda graph: Hornet(4, vertex_properties=["size"]),
        lambda graph: Hornet(0).row(0),
    ],
)
def test_values_that_would_be_lost_are_refused(call, device):
    graph = Hornet(
        4,
        weight="float32",
        edge_properties={"colour": "int8"},
        vertex_properties={"size": "int8"},
        device=device,
    )
    graph.insert_edges([0, 1], [1, 2])
    with pytest.raises((GraphError, ParameterError)):
        call(graph)
    assert (graph.m, graph.vertices.tolist()) == (2, [0, 1, 2, 3])


def test_a_container_is_not_copied(device):
    graph = Hornet(4, device=device)
    for action in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="from_graph"):
            action(graph)


def test_vertices_that_do_not_fit_are_refused_before_they_are_made(device):
    graph = Hornet(4, device=device)
    most = device.capabilities.global_memory // 8
    if most < 2**31 - 5:
        with pytest.raises(DeviceMemoryError, match="8 bytes each"):
            graph.insert_vertices(most + 1)
    assert graph.n == 4


@pytest.mark.parametrize("short", ["device", "buffer", "host"])
@pytest.mark.parametrize("properties", [None, {"mass": "float64"}])
def test_a_container_that_does_not_fit_allocates_nothing(short, properties, device, monkeypatch):
    n, limit = 2**22, 2**24
    limits = {"device": {"global_memory": limit}, "buffer": {"max_allocation": limit - 1}}
    capabilities = replace(device.capabilities, unified_memory=True, **limits.get(short, {}))
    monkeypatch.setattr(Device, "capabilities", capabilities)
    if short == "host":
        monkeypatch.setattr(store, "available_memory", lambda: limit)
    tracemalloc.start()
    try:
        with pytest.raises(DeviceMemoryError, match="4,194,304 vertices") as caught:
            Hornet(n, vertex_properties=properties, device=device)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    item = 8 + (short == "host") * (1 if properties is None else 9)
    available = {"device": limit, "buffer": 2 * limit - 2, "host": limit}[short]
    assert (caught.value.needed, caught.value.available) == (item * n, available)
    assert peak < n


@pytest.mark.slow
@pytest.mark.every(2)
def test_blocks_that_are_found_in_high_trees(form, device):
    """A full block array has no free word on any level of its tree; then some blocks return."""
    graph = Hornet(9000, block_array=4096, device=device)
    everyone = np.arange(4096)
    graph.insert_edges(everyone, everyone + 1)
    assert classes(graph) == [0]
    lost = np.random.default_rng(3).permutation(4096)[:300]
    graph.delete_edges(lost, lost + 1)
    others = 5000 + np.arange(300)
    graph.insert_edges(others, others - 7)
    assert classes(graph) == [0]
    rows = graph.to_csr().nonzero()
    kept = np.setdiff1d(everyone, lost)
    assert rows[0].tolist() == [*kept.tolist(), *others.tolist()]
    assert rows[1].tolist() == [*(kept + 1).tolist(), *(others - 7).tolist()]


@pytest.mark.every(2)
@pytest.mark.parametrize("directed", [True, False])
def test_updates_reach_all_equal_edges(form, device, directed):
    """Also after deletions have moved them to other places in the rows of both ends."""
    graph = Hornet(
        70, directed=directed, weight="int32", edge_properties={"at": "float64"}, device=device
    )
    many = np.arange(60)
    graph.insert_edges(np.full(60, 65), many, many, duplicates="keep")
    graph.insert_edges([65, 66, 65, 66], [66, 65, 66, 66], [5, 7, 9, 3], duplicates="keep")
    graph.delete_edges(np.full(40, 65), many[:40])
    new = [65, 66, 1], [66, 66, 2], [1, 2, 4]
    found = graph.insert_edges(*new, properties={"at": [0.5, 1.5, 2.5]}, duplicates="update")
    assert found == (1 if directed else 2)
    row = graph.row(65)
    assert row["weight"][row["head"] == 66].tolist() == ([1, 1] if directed else [1, 1, 1])
    assert set(row["at"][row["head"] == 66]) == {0.5}
    assert row["weight"][row["head"] < 66].tolist() == list(range(40, 60))
    assert graph.row(1)["weight"][graph.row(1)["head"] == 2].tolist() == [4]
    own = graph.row(66)
    assert set(own["weight"][own["head"] == 66]) == {2}
    assert directed or set(own["weight"][own["head"] == 65]) == {1}


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
@pytest.mark.parametrize("duplicates", ["ignore", "update", "keep"])
def test_weights_that_are_none(kind, bad, duplicates, device):
    graph = Hornet(3, weight=kind, edge_properties={"note": "float32"}, device=device)
    graph.insert_edges([0], [1], [2.5], properties={"note": np.nan})  # a property may be anything
    for weights in ([1.0, bad], bad, np.full(2, bad)):
        with pytest.raises(ParameterError, match=r"'weights' .* neither NaN nor -inf"):
            graph.insert_edges([0, 1], [1, 2], weights, duplicates=duplicates)
    assert graph.m == 1
    assert graph.row(0)["weight"].tolist() == [2.5]
    assert graph.insert_edges([1], [2], np.inf) == 1
    assert graph.to_graph().m == 1  # a weight of inf means that there is no arc


def test_no_graph_brings_weights_that_are_none(device):
    for bad in (np.nan, -np.inf):
        matrix = csr_array(([1.0, bad], ([0, 1], [1, 2])), shape=(3, 3))
        with pytest.raises(GraphError, match="the weight of the arc 1 -> 2"):
            Hornet.from_graph(matrix, device=device)
        network = nx.DiGraph()
        network.add_edge(0, 1, weight=bad)
        with pytest.raises(GraphError, match="the weight of"):
            Hornet.from_networkx(network, device=device)


@pytest.mark.parametrize("vertex", [-1, 3])
def test_a_vertex_out_of_range_is_refused(vertex, device):
    with pytest.raises(ParameterError, match=rf"vertices in 0\.\.2\. Got {vertex} instead"):
        Hornet(3, device=device).delete_vertices([0, vertex])


@pytest.mark.parametrize(
    "call",
    [
        lambda graph: graph.row(1),
        lambda graph: graph.neighbors(1),
        lambda graph: graph.degree([0, 1]),
        lambda graph: analytics.bfs(graph, 1),
        lambda graph: analytics.bfs(HornetRows(graph), 1),
        lambda graph: analytics.distances(graph, 1),
        lambda graph: analytics.distances(HornetRows(graph), 1),
        lambda graph: PathRows(graph, [0, 1]),
        lambda graph: graph.delete_vertices([1]),
        lambda graph: graph.set_vertex_property("size", 1, [1]),
        lambda graph: graph.insert_edges([0], [1]),
        lambda graph: graph.delete_edges([1], [0]),
        lambda graph: graph.has_edges([1], [0]),
    ],
)
@pytest.mark.parametrize("weight", [None, "int32"])
def test_a_deleted_vertex_is_refused(call, weight, device):
    graph = Hornet(3, weight=weight, vertex_properties={"size": "int8"}, device=device)
    graph.insert_edges([0, 1], [1, 2])
    graph.delete_vertices([1])
    gone = r"(not deleted|of the graph)\. Got 1 instead|not deleted: edge number 0"
    with pytest.raises((ParameterError, GraphError), match=gone):
        call(graph)
    graph.insert_vertices(1)
    assert graph.neighbors(1).size == 0
    assert analytics.bfs(graph, 1).tolist() == [-1, 0, -1]
