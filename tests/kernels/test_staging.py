"""Copies in pieces through pinned memory, forced on devices that share the memory of the host."""

from itertools import product

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.device import choose
from pyapsp.errors import PrecisionError
from pyapsp.graph import Graph
from pyapsp.kernels import staging

_N = 97  # a prime number: rows are never a multiple of a piece
_METHODS = ("fw-minplus", "fw-blocked", "fw-packed16", "near-far", "apsp-tasks", "ms-bfs")


@pytest.fixture(params=[1 << 12, 200])
def pieces(request, monkeypatch):
    """All copies in pieces of several rows, or of parts of a row."""
    for name in ("_PIECE", "_LEAST"):
        monkeypatch.setattr(staging, name, request.param)
    monkeypatch.setattr(staging, "suits", lambda device, count: count > 0)
    for module in ("sparse.device_block", "sparse.ms_bfs"):
        monkeypatch.setattr(f"pyapsp.{module}.in_place", lambda device: False)
    return request.param


@pytest.fixture
def stage(device):
    return staging.stage(device.context)


def _graph(weight, seed=3):
    """Return a graph in which some vertices cannot be reached."""
    random = np.random.default_rng(seed)
    tails, heads = random.integers(0, _N, (2, 3 * _N))
    heads[heads == 5] = 6
    weights = random.integers(1, weight + 1, tails.size)
    return Graph.from_arcs(_N, tails, heads, weights)


def _filled(device, values):
    queue = device.queue()
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, values.nbytes)
    cl.enqueue_copy(queue, buffer, values)
    return queue, buffer


@pytest.mark.parametrize(("height", "width", "columns"), [(1, 1, 1), (7, 97, 97), (50, 61, 64)])
@pytest.mark.parametrize("dtype", ["uint16", "int32", "float64"])
def test_rows_arrive_in_any_pieces(height, width, columns, dtype, pieces, device, stage):
    values = np.random.default_rng(1).integers(0, 9999, (height, columns)).astype(dtype)
    queue, buffer = _filled(device, values)
    rows = np.full((height, width), -1.0)

    def place(piece, target):
        target[...] = piece[:, : target.shape[1]]

    for whole in (False, True):
        rows[...] = -1
        stage.fetch(queue, buffer, values.dtype, columns, rows, place, whole=whole)
        np.testing.assert_array_equal(rows, values[:, :width])


def test_rows_leave_in_any_pieces(pieces, device, stage):
    values = np.random.default_rng(1).integers(0, 9999, (50, 64))
    queue, buffer = _filled(device, np.zeros_like(values))

    def fill(first, last, piece):
        piece[...] = values[first:last]

    stage.send(queue, buffer, values.dtype, values.shape, fill)
    back = np.empty_like(values)
    cl.enqueue_copy(queue, back, buffer)
    np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize(
    ("method", "dtype"),
    [
        *product(_METHODS[:-1], ("float32", "uint16")),
        *product(("fw-minplus", "near-far", "ms-bfs"), ("float64", "int64", "int32", "int16")),
    ],
)
def test_answers_are_those_of_whole_copies(method, dtype, pieces, device):
    graph = _graph(1 if method == "ms-bfs" else 9)
    given = {"dtype": dtype, "predecessors": True, "device": device}
    with pytest.MonkeyPatch.context() as whole:
        whole.setattr(staging, "suits", lambda *_: False)
        expected = pyapsp.solve(graph, method, **given)
    assert (expected.distances == expected.infinity).any()
    out = np.empty((_N, _N), dtype)
    for answer in (pyapsp.solve(graph, method, **given), pyapsp.solve(graph, method, out=out, **given)):
        np.testing.assert_array_equal(answer.distances, expected.distances)
        np.testing.assert_array_equal(answer.predecessors, expected.predecessors)
    assert answer.distances is out
    alone = pyapsp.solve(graph, method, dtype=dtype, sources=[5, 0], device=device)
    np.testing.assert_array_equal(alone.distances, expected.distances[[5, 0]])


@pytest.mark.parametrize("held", ["uint16", "int32"])
@pytest.mark.parametrize("method", _METHODS)
@pytest.mark.parametrize("predecessors", [False, True])
def test_narrow_distances_are_widened_on_the_way(
    method, held, predecessors, pieces, device, monkeypatch
):
    from pyapsp import runs
    from pyapsp.distances import choice
    from pyapsp.distances.request import requested

    graph = _graph(1 if method == "ms-bfs" else 9)
    expected = pyapsp.solve(graph, "dijkstra-cpu", device=device).distances
    request = requested(graph, pyapsp.method(method), device=device, predecessors=predecessors)
    suited = choice.suited
    monkeypatch.setattr(
        choice, "suited", lambda asked, graph, options, _: suited(asked, graph, options, np.dtype(held))
    )
    solved = runs.solve(request)
    assert solved.record["held_dtype"] == held
    assert solved.answer.distances.dtype == np.float64
    np.testing.assert_array_equal(solved.answer.distances, expected)
