"""Graphs whose arrays stay on a device."""

import copy
import gc
import pickle

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest

import pyapsp
from pyapsp.device.kernels import residents, transfer
from pyapsp.errors import GraphError, ParameterError
from pyapsp.graph import Graph, as_graph
from pyapsp.graph.device_graph import device_for


@pytest.fixture
def graph():
    rng = np.random.default_rng(5)
    tails, heads = rng.integers(0, 3000, (2, 20000))
    return Graph.from_arcs(3000, tails, heads, rng.integers(1, 100, 20000), labels=range(1, 3001))


@pytest.fixture
def sent(device, monkeypatch):
    """Return the bytes of each copy to the device from now on; arrays are copied, also to a CPU."""
    monkeypatch.setattr(transfer, "in_place", lambda handle: False)
    monkeypatch.setattr(residents, "_all", {})
    sizes, send = [], transfer.send

    def counted(queue, *copies):
        # arcs
        sizes.extend(kind.itemsize * each.size for _, each, kind in copies if each.size > 5000)
        send(queue, *copies)

    monkeypatch.setattr(transfer, "send", counted)
    return sizes


_CALLS = {
    "bfs": lambda graph: pyapsp.bfs(graph, 7).levels,
    "sssp": lambda graph: pyapsp.sssp(graph, 7, predecessors=True).predecessors,
    "weak": lambda graph: pyapsp.weakly_connected_components(graph).labels,
    "strong": lambda graph: pyapsp.strongly_connected_components(graph).labels,
    "colouring": lambda graph: pyapsp.strongly_connected_components(graph, "scc-colouring").labels,
    "triangles": lambda graph: pyapsp.triangles(graph).per_vertex,
    "truss": lambda graph: pyapsp.truss_decomposition(graph).trussness,
    "solve": lambda graph: pyapsp.solve(graph, sources=[1, 2], method="near-far").distances,
    "matrix": lambda graph: _matrix_of(graph, "host").distances,
    "matrix on the device": lambda graph: _matrix_of(graph, "device").distances,
    # predecessors, without which the host searches
    "within": lambda graph: pyapsp.within(graph, [1, 2], 90, predecessors=True).distances.toarray(),
    "closeness": lambda graph: pyapsp.closeness_centrality(graph, sources=[3, 4]),
}


def _matrix_of(graph, keep):
    some = graph.to_dense(no_arc=0)[:300, :300].astype(np.float32)
    return pyapsp.solve(some, "fw-minplus", dtype="uint16", keep=keep)


@pytest.mark.parametrize("name", _CALLS)
def test_scratch_memory_with_the_values_of_other_calls(name, graph, device, monkeypatch):
    monkeypatch.setattr(residents, "_pools", lambda device: True)
    monkeypatch.setattr(residents, "_all", {})
    call, ring = _CALLS[name], Graph.from_arcs(40, np.arange(40), (np.arange(40) + 1) % 40)
    expected = [call(each) for each in (graph, ring)]
    for _ in range(3):
        for each, right in zip((graph, ring), expected, strict=True):
            np.testing.assert_array_equal(call(each), right)


@pytest.mark.parametrize("name", [name for name in _CALLS if "matrix" not in name])
def test_the_second_call_copies_no_arcs_and_answers_the_same(name, graph, device, sent):
    call = _CALLS[name]
    expected = call(graph)
    residents.release_all()
    with pyapsp.DeviceGraph(graph, device) as there:
        np.testing.assert_array_equal(call(there), expected)
        del sent[:]
        np.testing.assert_array_equal(call(there), expected)
        assert not sent
        assert there.nbytes > 0
    assert there.nbytes == 0
    np.testing.assert_array_equal(call(there), expected)


def test_a_plain_graph_stays_within_the_budget(graph, device, sent, monkeypatch):
    first = pyapsp.bfs(graph, 7, device=device).levels
    del sent[:]
    np.testing.assert_array_equal(pyapsp.bfs(graph, 7, device=device).levels, first)
    assert not sent
    monkeypatch.setenv("PYAPSP_RESIDENT", "0")
    residents.release_all()
    np.testing.assert_array_equal(pyapsp.bfs(graph, 7, device=device).levels, first)
    np.testing.assert_array_equal(pyapsp.bfs(graph, 7, device=device).levels, first)
    assert len(sent) == 2


def test_the_arrays_of_a_caller_are_copied_each_time(graph, device, sent):
    matrix = graph.to_scipy()
    matrix.data[:] = 1
    one = pyapsp.sssp(matrix, 0, device=device).distances
    matrix.data[:] = 3
    np.testing.assert_array_equal(pyapsp.sssp(matrix, 0, device=device).distances, 3 * one)
    there = pyapsp.DeviceGraph(matrix, device)
    matrix.data[:] = 7
    np.testing.assert_array_equal(pyapsp.sssp(there, 0).distances, 3 * one)


def test_without_device_the_call_runs_on_that_of_the_graph(graph, device):
    there = pyapsp.DeviceGraph(graph, device)
    assert device_for(there, None) == device
    assert device_for(graph, device) == device
    assert pyapsp.bfs(there, 7).stats["device"]["name"] == device.name
    assert there.device == device


def test_derived_graphs_are_made_once(graph, device, monkeypatch):
    monkeypatch.setattr(Graph, "_stores", 0)
    assert graph.reversed() is not graph.reversed()
    there = pyapsp.DeviceGraph(graph, device)
    for derive in (Graph.reversed, Graph.symmetrized):
        derived = getattr(there, derive.__name__)()
        assert isinstance(derived, pyapsp.DeviceGraph)
        assert getattr(there, derive.__name__)() is derived
        assert derived == derive(graph)


def test_a_graph_that_is_deleted_leaves_the_device(graph, device, sent):
    there = pyapsp.DeviceGraph(graph, device)
    pyapsp.bfs(there, 7)
    del there
    gc.collect()
    kept = residents.residents(device.context)
    assert kept.bytes_of([graph.indices]) > 0
    assert not kept._pins


def test_pickles_and_copies_are_plain_graphs(graph, device):
    there = pyapsp.DeviceGraph(graph, device)
    for other in (pickle.loads(pickle.dumps(there)), copy.deepcopy(there)):
        assert type(other) is Graph
        assert other == graph
        assert other.labels.tolist() == list(range(1, 3001))


@pytest.mark.parametrize(
    "source",
    [
        lambda graph: graph.to_scipy(),
        lambda graph: graph.to_dense(no_arc=0),
        lambda graph: as_graph(graph.to_dense(no_arc=0), copy=False),
        lambda graph: pickle.loads(pickle.dumps(graph)),
        lambda graph: graph.symmetrized(),
        lambda graph: graph.reversed(),
    ],
)
def test_every_source_stays(source, device, sent):
    tails, heads = np.random.default_rng(5).integers(0, 300, (2, 9000))
    graph = source(Graph.from_arcs(300, tails, heads, np.arange(9000)))
    there = pyapsp.DeviceGraph(graph, device)
    expected = pyapsp.bfs(there, 7).levels
    assert there.nbytes > 0
    del sent[:]
    np.testing.assert_array_equal(pyapsp.bfs(there, 7).levels, expected)
    assert not sent


def test_a_directed_view_is_a_plain_graph(graph, device):
    ring = Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], directed=False)
    there = pyapsp.DeviceGraph(Graph(ring.indptr, ring.indices, ring.weights), device)
    undirected = there.symmetrized()
    assert there.symmetrized() is undirected
    assert undirected == ring
    assert isinstance(undirected, pyapsp.DeviceGraph)


def _there(queue, graph, offsets=np.int32, weights=np.float32):
    """The arrays of a graph on a device, in these types."""
    rows = graph.indptr.astype(offsets), graph.indices, graph.weights.astype(weights)
    return [cl_array.to_device(queue, each) for each in rows]


def test_arrays_of_a_device_are_used_where_they_are(graph, device, sent):
    queue = cl.CommandQueue(cl.Context([device.handle]))
    arrays = _there(queue, graph)
    there = pyapsp.DeviceGraph.from_arrays(*arrays)
    assert there.device.context == queue.context
    assert there.nbytes == sum(each.nbytes for each in arrays if each.nbytes >= 2**14)
    levels = pyapsp.bfs(graph, 7, device=device).levels
    want = pyapsp.sssp(graph, 7, dtype="float32", device=device)
    sent.clear()
    np.testing.assert_array_equal(pyapsp.bfs(there, 7).levels, levels)
    found = pyapsp.sssp(there, 7, "sssp-near-far", dtype="float32")
    np.testing.assert_array_equal(found.distances, want.distances)
    assert not sent
    found = pyapsp.sssp(there, 7, "sssp-near-far", dtype="float64")
    np.testing.assert_array_equal(found.distances, want.distances)
    assert sent == [8 * graph.m]  # the weights in the other type
    there.release()
    assert there.nbytes == 0
    np.testing.assert_array_equal(arrays[1].get(), graph.indices)
    np.testing.assert_array_equal(pyapsp.bfs(there, 7).levels, levels)


@pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")  # of kernels of PyOpenCL
def test_arrays_of_a_device_in_other_forms(graph, device, sent):
    queue = cl.CommandQueue(cl.Context([device.handle]))
    want = pyapsp.sssp(graph, 7, device=device).distances
    for types in (np.int64, np.int32), (np.int32, np.float64), (np.uint32, np.int64):
        there = pyapsp.DeviceGraph.from_arrays(*_there(queue, graph, *types))
        np.testing.assert_array_equal(pyapsp.sssp(there, 7).distances, want)
    indptr, indices, _ = _there(queue, graph)
    long = cl_array.concatenate((cl_array.zeros_like(indices), indices))
    part = pyapsp.DeviceGraph.from_arrays(indptr, long[graph.m :])
    levels = pyapsp.bfs(graph, 7, device=device).levels
    np.testing.assert_array_equal(pyapsp.bfs(part, 7).levels, levels)
    assert part.is_unweighted


def test_arcs_of_infinite_weight_on_a_device(graph, device, sent):
    queue = cl.CommandQueue(cl.Context([device.handle]))
    indptr, indices, _ = _there(queue, graph)
    weights = graph.weights.astype(np.float32)
    weights[::3] = np.inf
    there = pyapsp.DeviceGraph.from_arrays(indptr, indices, cl_array.to_device(queue, weights))
    want = Graph(graph.indptr, graph.indices, weights)
    assert there.m == want.m < graph.m
    found = pyapsp.sssp(there, 7).distances
    np.testing.assert_array_equal(found, pyapsp.sssp(want, 7, device=device).distances)


def test_arrays_that_are_no_graph_of_a_device(graph, device):
    queue = cl.CommandQueue(cl.Context([device.handle]))
    indptr, indices, weights = _there(queue, graph)
    with pytest.raises(ParameterError, match=r"'indptr' parameter of DeviceGraph\.from_arrays"):
        pyapsp.DeviceGraph.from_arrays(graph.indptr, indices, weights)
    other = _there(cl.CommandQueue(cl.Context([device.handle])), graph)
    with pytest.raises(ParameterError, match=r"'weights' .* all in one context"):
        pyapsp.DeviceGraph.from_arrays(indptr, indices, other[2])
    with pytest.raises(GraphError):
        pyapsp.DeviceGraph.from_arrays(indptr, indices, weights[1:])
    with pytest.raises(GraphError):
        pyapsp.DeviceGraph.from_arrays(indptr, cl_array.zeros_like(indices), weights)


def test_the_unweighted_graph_shares_arcs_and_device(graph, device, sent):
    there = pyapsp.DeviceGraph(graph, device)
    pyapsp.bfs(there, 7)
    sent.clear()
    sources = [7, 9, 2999]
    levels = pyapsp.bfs(there, sources, parents=False).levels
    deepest = pyapsp.eccentricity(there, sources, weight=None)
    np.testing.assert_array_equal(deepest, levels.max(axis=1))
    counts = pyapsp.distance_histogram(there, sources, weight=None)
    np.testing.assert_array_equal(counts[1:], np.bincount(levels[levels > 0])[1:])
    ones = as_graph(there, weight=None)
    assert isinstance(ones, pyapsp.DeviceGraph)
    assert ones is there.unweighted() is ones.unweighted()
    assert ones.device == there.device
    assert ones.indices is there.indices
    assert (ones.weights == 1).all()
    assert ones.dtype == np.int64
    assert as_graph(graph, weight=None) == graph.with_weights(np.ones(graph.m, np.int64))
    floats = graph.with_weights(np.ones(graph.m))
    assert floats.unweighted().dtype == np.int64


def test_the_unweighted_graph_of_another_direction():
    graph = Graph.from_arcs(3, [0, 1, 1, 2], [1, 0, 2, 1], [5, 5, 6, 6])
    assert graph.unweighted().directed
    assert not graph.symmetrized().unweighted().directed
    assert pickle.loads(pickle.dumps(graph)).unweighted() == graph.unweighted()
