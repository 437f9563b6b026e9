"""Matrices of weights in the memory of a device, and arrays of other libraries."""

from __future__ import annotations

import dataclasses
import pickle
from functools import partial

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp.all_pairs import request
from pyapsp.all_pairs.dense import matrix
from pyapsp.device import Device
from pyapsp.device.kernels import staging
from pyapsp.errors import GraphError, NegativeCycleError, ParameterError, PrecisionError
from pyapsp.graph import as_graph, device_matrix
from pyapsp.graph.device_matrix import DeviceMatrix

_N = 70
_TYPES = ("float32", "float64", "int8", "int16", "int32", "int64")


@pytest.fixture
def queue(device):
    """A queue of a program's own context."""
    return cl.CommandQueue(cl.Context([device.handle]))


@pytest.fixture(params=["shared", "separate"])
def memory(request, monkeypatch):
    """Treat the memory of the device as what it is, or as separate from that of the host."""
    if request.param == "separate":
        monkeypatch.setattr(staging, "suits", lambda device, count: count > 0)


@pytest.fixture
def on_device(monkeypatch):
    """Let a copy of the matrix to the host be an error."""

    def refuse(self):
        raise AssertionError("the matrix was on the host")

    monkeypatch.setattr(DeviceMatrix, "_matrix", property(refuse))


@pytest.fixture(params=["own groups", "wide groups"])
def groups(request, monkeypatch):
    """Let kernels have groups as on the device, or groups of many work-items as on a GPU."""
    if request.param == "wide groups":
        traits = Device.traits.fget
        wide = property(lambda self: dataclasses.replace(traits(self), scalar_groups=False))
        monkeypatch.setattr(Device, "traits", wide)


def _weights(kind="float32", n=_N, part=0.3):
    """Draw weights; a part of them is 0, and some floats are infinite."""
    random = np.random.default_rng(n)
    weights = random.integers(1, 100, (n, n)).astype(kind)
    weights[random.random((n, n)) < part] = 0
    if weights.dtype.kind == "f":
        weights *= 1.5
        weights[random.random((n, n)) < part / 3] = np.inf
    return weights


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", _TYPES)
def test_facts_are_those_of_the_array(device, queue, on_device, groups, kind):
    for n, part in (1, 0.0), (1, 1.0), (2, 0.5), (_N, 0.0), (_N, 0.3):
        weights = _weights(kind, n, part)
        for some in weights, -weights if part == 0 else weights, np.minimum(weights, 1):
            want, graph = as_graph(some), as_graph(cl_array.to_device(queue, some), copy=False)
            assert isinstance(graph, DeviceMatrix)
            for name in "n", "m", "max_magnitude", "has_negative", "is_integer", "is_unweighted":
                assert getattr(graph, name) == getattr(want, name), name
            assert (graph.dtype, graph.is_complete) == (want.dtype, want.is_complete)


def test_facts_of_many_groups(device, queue, on_device, groups):
    for place in (0, 0), (499, 499), (250, 3):
        weights = np.ones((500, 500), np.float32)
        weights[place] = 2.5
        graph = as_graph(cl_array.to_device(queue, weights), copy=False)
        assert (graph.m, graph.max_magnitude, graph.is_integer) == (250_000, 2.5, False)
        assert graph.is_complete  # counts the loops


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", _TYPES)
def test_distances_are_those_of_the_array(device, queue, memory, on_device, kind):
    for dtype in "float64", "float32", "int32", "uint16", "auto":
        weights = _weights(kind)
        if kind.startswith("float") and dtype in ("int32", "uint16"):
            weights = np.floor(weights)
        if kind == "float64" and dtype == "float32":
            continue  # whether float32 holds the weights is checked on the host
        want = pyapsp.solve(weights, "fw-minplus", dtype=dtype, device=device)
        array = cl_array.to_device(queue, weights)
        result = pyapsp.solve(array, "fw-minplus", dtype=dtype)
        np.testing.assert_array_equal(result.distances, want.distances)
        assert result.distances.dtype == want.distances.dtype
        kept = pyapsp.solve(array, "fw-minplus", dtype=dtype, keep="device")
        np.testing.assert_array_equal(kept.device_distances.get(), want.distances)
        assert kept.device_distances.context == queue.context
        np.testing.assert_array_equal(array.get(), weights)


def test_more_rows_than_a_launch_has_groups(device, queue, memory, on_device, groups, monkeypatch):
    monkeypatch.setattr(matrix, "_ROWS", 9)
    for dtype in "float32", "float64":
        weights = _weights()
        want = pyapsp.solve(weights, "fw-minplus", dtype=dtype, device=device)
        result = pyapsp.solve(cl_array.to_device(queue, weights), "fw-minplus", dtype=dtype)
        np.testing.assert_array_equal(result.distances, want.distances)


@pytest.mark.parametrize("method", ["near-far", "johnson"])
def test_searches_need_the_array_on_the_host(device, queue, method):
    _assert_same_paths(device, queue, method)


@pytest.mark.parametrize("method", ["fw-blocked", "fw-naive", "fw-packed16"])
def test_methods_that_need_the_array_on_the_host(device, queue, memory, method):
    _assert_same_paths(device, queue, method)


def _assert_same_paths(device, queue, method):
    weights = _weights("int32")
    asked = {"predecessors": True, "dtype": "int32"}
    want = pyapsp.solve(weights, method, **asked, device=device)
    result = pyapsp.solve(cl_array.to_device(queue, weights), method, **asked)
    np.testing.assert_array_equal(result.distances, want.distances)
    np.testing.assert_array_equal(result.predecessors, want.predecessors)


@pytest.fixture
def sent_ones(device, monkeypatch):
    """Let the device have memory of its own, for any size; return what is copied there."""
    apart = dataclasses.replace(device.capabilities, unified_memory=False)
    monkeypatch.setattr(Device, "capabilities", apart)
    monkeypatch.setattr(device_matrix, "_LARGE", 1)
    done, send = [], request.sent

    def noted(matrix, there):
        done.append(matrix)
        return send(matrix, there)

    monkeypatch.setattr(request, "sent", noted)
    return done


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", _TYPES)
@pytest.mark.parametrize("method", ["auto", "fw-blocked", "fw-packed16"])
def test_a_matrix_of_the_host_is_copied_before_its_facts_are_known(
    device, sent_ones, kind, method, monkeypatch
):
    released, release = [], DeviceMatrix.release

    def noted(graph):
        release(graph)
        released.append(device_matrix.is_there(graph, device))

    monkeypatch.setattr(DeviceMatrix, "release", noted)
    weights = np.floor(_weights(kind)) if method == "fw-packed16" else _weights(kind)
    want = csgraph.floyd_warshall(np.where(np.isinf(weights), 0, weights).astype(float))
    before = weights.copy()
    result = pyapsp.solve(weights, method, device=device)
    np.testing.assert_allclose(result.distances, want, rtol=1e-12)
    assert result.distances.dtype == np.float64
    assert [each is weights for each in sent_ones] == [True]
    assert released == [False]
    np.testing.assert_array_equal(weights, before)


def test_what_is_not_copied_before(device, sent_ones, monkeypatch):
    weights = _weights("int32")
    solve = partial(pyapsp.solve, weights, device=device)
    want = solve().distances
    sent_ones.clear()
    for asked in (
        {"predecessors": True},
        {"sources": [0]},
        {"directed": False},
        {"method": "johnson"},
        {"memory_limit": 10**8},
        {"out": np.empty((_N, _N))},
    ):
        result = solve(**asked)
        if not {"sources", "directed"} & asked.keys():
            np.testing.assert_array_equal(result.distances, want)
    for other in (weights.T, weights.astype("uint16"), weights.tolist(), np.ma.array(weights)):
        pyapsp.solve(other, device=device)
    monkeypatch.setattr(device_matrix, "_PART", 2**62)  # the device has no room
    solve()
    assert len(sent_ones) == 1  # with an array for the answer, which has other memory
    monkeypatch.undo()
    solve()
    assert len(sent_ones) == 1  # the device uses the memory of the host, or the matrix is small


def test_faults_of_a_matrix_that_was_copied(device, sent_ones):
    for wrong in (np.nan, -np.inf):
        weights = _weights("float64")
        weights[3, 5] = wrong
        with pytest.raises(GraphError) as there:
            pyapsp.solve(weights, device=device)
        with pytest.raises(GraphError) as here:
            as_graph(weights)
        assert str(there.value) == str(here.value)
    with pytest.raises(PrecisionError):
        pyapsp.solve(_weights("float64"), dtype="int32", device=device)
    assert len(sent_ones) == 3


def test_functions_that_take_several_graphs(device, queue):
    matrices = [_weights(), _weights(n=8), _weights("int32")]
    arrays = [cl_array.to_device(queue, each) for each in matrices]
    want = pyapsp.solve_many(matrices, device=device)
    for where in device, queue.context:
        for result, each in zip(pyapsp.solve_many(arrays, device=where), want, strict=True):
            np.testing.assert_array_equal(result.distances, each.distances)
    deepest = pyapsp.eccentricity(arrays[0])
    np.testing.assert_array_equal(deepest, pyapsp.eccentricity(matrices[0], device=device))
    assert pyapsp.explain(arrays[0]).startswith("method")
    for block in pyapsp.row_blocks(arrays[0], device=queue.context):
        np.testing.assert_array_equal(block.distances[0], want[0].distances[block.sources[0]])


def test_half_precision(device, queue, on_device):
    if not device.capabilities.fp16:
        pytest.skip("no float16")
    weights = _weights("int16")
    want = pyapsp.solve(weights, "fw-naive", dtype="float16", device=device)
    result = pyapsp.solve(cl_array.to_device(queue, weights), "fw-naive", dtype="float16")
    np.testing.assert_array_equal(result.distances, want.distances)


def test_the_device_is_that_of_the_array(device, queue):
    result = pyapsp.solve(cl_array.to_device(queue, _weights()))
    assert result.stats["device"]["name"] == device.name
    levels = pyapsp.bfs(cl_array.to_device(queue, _weights()), 3).levels
    np.testing.assert_array_equal(levels, pyapsp.bfs(_weights(), 3, device=device).levels)


def test_another_context_is_refused(device, queue):
    array = cl_array.to_device(queue, _weights())
    for given in device, device.handle, cl.Context([device.handle]):
        with pytest.raises(ParameterError, match=r"in another context .* leave out device"):
            pyapsp.solve(array, device=given)
    pyapsp.solve(array, device=queue.context)


def test_parts_and_transposes(device, queue):
    weights = _weights()
    array = cl_array.to_device(queue, weights)
    np.testing.assert_array_equal(
        pyapsp.solve(array.T).distances, pyapsp.solve(weights.T, device=device).distances
    )
    pile = cl_array.to_device(queue, np.stack([weights, _weights(part=0.6)]))
    np.testing.assert_array_equal(
        pyapsp.solve(pile[1]).distances, pyapsp.solve(_weights(part=0.6), device=device).distances
    )
    unsigned = _weights("uint16")
    np.testing.assert_array_equal(
        pyapsp.solve(cl_array.to_device(queue, unsigned)).distances,
        pyapsp.solve(unsigned, device=device).distances,
    )


def test_loops(device, queue, on_device):
    weights = np.array([[5, 1], [1, 3]], np.float32)
    result = pyapsp.solve(cl_array.to_device(queue, weights), "fw-minplus")
    assert result.distances.tolist() == [[0, 1], [1, 0]]


def test_wrong_matrices(device, queue):
    for wrong, message in ((np.nan, "NaN"), (-np.inf, "-inf")):
        weights = _weights()
        weights[4, 7] = wrong
        array = cl_array.to_device(queue, weights)
        with pytest.raises(GraphError) as refused:
            pyapsp.solve(array)
        with pytest.raises(GraphError) as want:
            pyapsp.solve(weights, device=device)
        assert str(refused.value) == str(want.value), message
    with pytest.raises(GraphError, match="square"):
        pyapsp.solve(cl_array.to_device(queue, np.ones((2, 3), np.float32)))
    cycle = cl_array.to_device(queue, np.array([[0, 1], [-2, 0]], np.float32))
    with pytest.raises(NegativeCycleError):
        pyapsp.solve(cycle)
    with pytest.raises(PrecisionError, match="too large"):
        pyapsp.solve(cl_array.to_device(queue, np.full((3, 3), 10**6, np.int32)), dtype="int16")


def test_a_graph_that_outlives_the_call_has_a_copy(device, queue):
    array = cl_array.to_device(queue, _weights())
    with pyapsp.DeviceGraph(array, queue.context) as graph:
        array.fill(1)
        array.finish()
        want = pyapsp.solve(_weights(), device=device)
        np.testing.assert_array_equal(pyapsp.solve(graph).distances, want.distances)


def test_a_pickle_is_on_the_host(device, queue):
    graph = as_graph(cl_array.to_device(queue, _weights()), copy=False)
    copied = pickle.loads(pickle.dumps(graph))
    assert not isinstance(copied, DeviceMatrix)
    np.testing.assert_array_equal(copied.to_dense(), graph.to_dense())


class _Tensor:
    """An array of another library, on a device of some kind."""

    def __init__(self, array, kind=1, copies=True):
        self.array, self.kind, self.copies = array, kind, copies

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, *, dl_device=None, copy=None, **others):
        if self.kind != 1 and not (self.copies and dl_device == (1, 0)):
            raise BufferError("it is not in the memory of the host")
        return self.array.__dlpack__(**others)


def test_arrays_with_dlpack(device):
    want = pyapsp.solve(_weights(), device=device).distances
    for tensor in _Tensor(_weights()), _Tensor(_weights(), kind=2):
        np.testing.assert_array_equal(pyapsp.solve(tensor, device=device).distances, want)
    with pytest.raises(GraphError, match=r"_Tensor was not copied .* give a NumPy array"):
        pyapsp.solve(_Tensor(_weights(), kind=2, copies=False), device=device)
