"""`solve`: arguments, errors, number types, results."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph, csr_array

import pyapsp
from pyapsp import errors
from pyapsp.all_pairs import request
from pyapsp.all_pairs.problem import ALL_PAIRS
from pyapsp.all_pairs.request import Arguments, requested
from pyapsp.graph import Graph, as_graph, generators
from pyapsp.graph.dense import DenseGraph
from pyapsp.numbers import bounds
from pyapsp.numbers.checks import check_answer, convert
from pyapsp.numbers.precision import infinity
from pyapsp.paths import Rows
from pyapsp.paths.certificate import oracle
from pyapsp.paths.result import Result

# One vertex is unreachable, one arc weighs nothing, and the long way round is shorter.
WEIGHTS = np.array([[0, 9, 2, 0], [0, 0, 0, 0], [0, 3, 0, 0], [1, 0, 0, 0]], dtype=float)


def chain(n, weight):
    """0 -> 1 -> ... -> n - 1, every arc of the same weight."""
    return Graph.from_arcs(n, np.arange(n - 1), np.arange(1, n), np.full(n - 1, weight))


def test_defaults_are_those_of_scipy(device):
    result = pyapsp.solve(WEIGHTS, device=device, predecessors=True)
    expected, before = csgraph.floyd_warshall(WEIGHTS, return_predecessors=True)
    assert result.distances.dtype == np.float64
    assert result.predecessors.dtype == np.int32
    np.testing.assert_array_equal(result.distances, expected)
    np.testing.assert_array_equal(result.predecessors, before)


FIRST = """
import sys
import numpy as np
import pyapsp

listed = pyapsp.Graph.from_arcs(2000, *np.random.default_rng(1).integers(1, 2000, (3, 40000)))
for graph in (pyapsp.read(sys.argv[2]), listed):
    assert pyapsp.solve(graph, sys.argv[1]).distances.shape == (graph.n, graph.n)
print("scipy.sparse" in sys.modules)
"""


@pytest.mark.every(2)
@pytest.mark.parametrize("method", ["auto", "fw-minplus"])
def test_a_solve_does_not_import_sparse_arrays(method, device, monkeypatch, tmp_path):
    """Their import takes longer than the solve of a small graph."""
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    path = tmp_path / "edges.txt"
    path.write_text("0 1 5\n1 2 7\n2 0 1\n")
    command = [sys.executable, "-c", FIRST, method, str(path)]
    for _ in range(2):  # the first may run self tests, which compare with SciPy
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_undirected_takes_the_smaller_weight(device):
    weights = np.array([[0, 5, 0], [2, 0, 1], [0, 4, 0]], dtype=float)
    result = pyapsp.solve(weights, directed=False, device=device)
    np.testing.assert_array_equal(result.distances, [[0, 2, 3], [2, 0, 1], [3, 1, 0]])


@pytest.mark.parametrize(
    "ask",
    [
        lambda no: pyapsp.solve(WEIGHTS, directed=no),
        lambda no: next(iter(pyapsp.row_blocks(WEIGHTS, directed=no))),
        lambda no: pyapsp.solve_many(WEIGHTS[None], directed=no),
        lambda no: pyapsp.solve_many([WEIGHTS], directed=no),
        lambda no: pyapsp.diameter(WEIGHTS, directed=no),
        lambda no: pyapsp.wiener_index(WEIGHTS, directed=no),
        lambda no: pyapsp.bfs(WEIGHTS, 0, directed=no),
        lambda no: pyapsp.sssp(WEIGHTS, 0, directed=no),
        lambda no: pyapsp.csgraph.shortest_path(WEIGHTS, directed=no),
        lambda no: pyapsp.csgraph.floyd_warshall(WEIGHTS, no),
        lambda no: pyapsp.csgraph.bellman_ford(WEIGHTS, no, 0),
        lambda no: pyapsp.csgraph.dijkstra(WEIGHTS, no, 0, min_only=True),
        lambda no: Graph.from_arcs(2, [0], [1], directed=no),
        lambda no: Graph([0, 0], [], [], directed=no),
        lambda no: Graph.from_dense(WEIGHTS, directed=no),
        lambda no: as_graph(WEIGHTS, no),
        lambda no: as_graph(WEIGHTS, directed=no),
        lambda no: pyapsp.read("no such file.gr", directed=no),
    ],
)
@pytest.mark.parametrize("no", ["no", 0, np.array([False]), [True]], ids=str)
def test_directed_must_be_a_bool(ask, no):
    with pytest.raises(errors.ParameterError, match=r"'directed' parameter of .* True or False"):
        ask(no)


def test_directed_may_be_a_bool_of_numpy(device):
    weights = np.array([[0, 5], [2, 0]], dtype=float)
    result = pyapsp.solve(weights, directed=np.False_, device=device)
    np.testing.assert_array_equal(result.distances, [[0, 2], [2, 0]])


def test_sources_give_the_rows_asked_for_in_that_order(device):
    everything = pyapsp.solve(WEIGHTS, device=device, predecessors=True)
    some = pyapsp.solve(WEIGHTS, sources=[3, 0, 3], device=device, predecessors=True)
    np.testing.assert_array_equal(some.distances, everything.distances[[3, 0, 3]])
    np.testing.assert_array_equal(some.predecessors, everything.predecessors[[3, 0, 3]])
    assert some.path(3, 1) == [3, 0, 2, 1]
    none = pyapsp.solve(WEIGHTS, sources=[], device=device)
    assert none.distances.shape == (0, 4)


def test_cutoff_hides_what_is_farther(device):
    result = pyapsp.solve(WEIGHTS, cutoff=2, predecessors=True, device=device)
    expected = csgraph.floyd_warshall(WEIGHTS)
    np.testing.assert_array_equal(result.distances, np.where(expected > 2, np.inf, expected))
    assert result.path(0, 1) == []
    assert result.path(0, 2) == [0, 2]


@pytest.mark.parametrize("cutoff", [np.float16(2), np.float32(2), Fraction(2), np.uint8(2)])
def test_a_cutoff_of_any_kind(cutoff, device, tmp_path):
    """Any number type works as a cutoff, without warnings, and is saved with the result."""
    expected = np.where(csgraph.floyd_warshall(WEIGHTS) > cutoff, np.inf, 0)
    for dtype in ("float64", "int32", "uint16"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = pyapsp.solve(WEIGHTS, cutoff=cutoff, dtype=dtype, device=device)
        np.testing.assert_array_equal(result.distances == result.infinity, np.isinf(expected))
        result.save(tmp_path / "r.npz")
        assert pyapsp.Result.load(tmp_path / "r.npz").stats["cutoff"] == cutoff


def test_a_cutoff_between_large_integers(device):
    """The two integers are equal as float64."""
    graph = Graph.from_arcs(2, [0, 1], [1, 0], [2**53 + 1, 2**53])
    for cutoff in (2**53, float(2**53)):
        result = pyapsp.solve(graph, cutoff=cutoff, dtype="int64", device=device)
        assert (result.distances < result.infinity).tolist() == [[True, False], [True, True]]


def real(problem):
    """The methods of a problem that take weights which are not whole numbers."""
    known = pyapsp.methods(problem)
    return [each for each in known if not (each.requires.integer or each.requires.unweighted)]


# Each is a weight and a cutoff; float32 rounds the first up, and the second down.
@pytest.mark.slow
@pytest.mark.every(2)
@pytest.mark.parametrize("length", [0.1, 0.7])
def test_a_vertex_at_the_cutoff_is_within_it(length, device):
    """The cutoff is compared in the type of the answer, whatever the method and the function."""
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [length, 1.0])
    options = {"dtype": "float32", "device": device, "cutoff": length}
    both = {**options, "predecessors": True}
    results = [pyapsp.solve(graph, each(), **both) for each in real("all-pairs")]
    results += [pyapsp.sssp(graph, [0], each(), **both).rows for each in real("sssp")]
    results += [next(pyapsp.row_blocks(graph, **both)), pyapsp.solve(graph, sources=[0], **both)]
    results += [pyapsp.solve(graph, keep="device", **options)]
    request = requested(graph, Arguments(**both), "solve")
    for each in results:
        assert each.distances[0].tolist() == [0, np.float32(length), np.inf]
        if each.predecessors is not None:
            assert each.predecessors[0].tolist() == [-9999, 0, -9999]
        if each.distances.shape == (3, 3):
            assert oracle(graph, request.options)(Rows(each.distances, None)).ok
    below = np.nextafter(np.float32(length), np.float32(0))
    for cutoff, kept in ((below, False), (float(length), True), (float(np.float32(length)), True)):
        found = pyapsp.solve(graph, dtype="float32", cutoff=cutoff, device=device)
        assert (found.distances[0, 1] < np.inf) is np.bool_(kept)


def test_out_is_filled_and_returned(device, tmp_path):
    out = np.memmap(tmp_path / "d.bin", dtype=np.float32, mode="w+", shape=(4, 4))
    result = pyapsp.solve(WEIGHTS, out=out, device=device)
    assert result.distances is out
    np.testing.assert_array_equal(out, csgraph.floyd_warshall(WEIGHTS))
    pyapsp.solve(WEIGHTS, out=out, cutoff=2, device=device)
    assert np.isinf(out[0, 1])
    rows = np.empty((2, 4))
    result = pyapsp.solve(WEIGHTS, out=rows, sources=[1, 3], device=device)
    assert result.distances is rows
    np.testing.assert_array_equal(rows, csgraph.floyd_warshall(WEIGHTS)[[1, 3]])


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"sources": [0, 4]}, "sources"),
        ({"sources": [-1]}, "sources"),
        ({"sources": [0.5]}, "sources"),
        ({"cutoff": -1}, "cutoff"),
        ({"cutoff": float("nan")}, "cutoff"),
        ({"memory_limit": 0}, "memory_limit"),
        ({"dtype": "int8"}, "dtype"),
        ({"dtype": "uint32"}, "dtype"),
        ({"dtype": "no such"}, "dtype"),
        ({"dtype": np.dtype("float64").newbyteorder()}, "dtype"),
        ({"out": np.empty((4, 4), np.dtype("float64").newbyteorder())}, "dtype"),
        ({"out": [[0.0] * 4] * 4}, "out"),
        ({"out": np.ma.masked_all((4, 4))}, "out"),
        ({"cutoff": np.timedelta64(3, "s")}, "cutoff"),
        ({"cutoff": "far"}, "cutoff"),
        ({"cutoff": True}, "cutoff"),
        ({"sources": np.ma.array([0, 1], mask=[0, 1])}, "sources"),
        ({"sources": [[0, 1], [2]]}, "sources"),
        ({"predecessors": "no"}, "predecessors"),
        ({"check": "no"}, "check"),
        ({"memory_limit": "1G"}, "memory_limit"),
        ({"memory_limit": float("nan")}, "memory_limit"),
        ({"progress": 3}, "progress"),
        ({"method": "dijkstra?"}, "method"),
        ({"out": np.empty((3, 3))}, "out"),
        ({"out": np.empty((4, 4), order="F")}, "out"),
        ({"out": np.empty((4, 4)), "dtype": "float32"}, "out"),
    ],
)
def test_bad_arguments_are_named(arguments, parameter, device):
    with pytest.raises(errors.ParameterError, match=f"The '{parameter}' parameter of solve"):
        pyapsp.solve(WEIGHTS, device=device, **arguments)


def test_an_out_that_cannot_have_the_answer_is_refused(device):
    graph = generators.random_graph(5, seed=1)
    fixed = np.empty((5, 5))
    fixed.flags.writeable = False
    sideways = np.empty((5, 5), order="F")
    wrong = [fixed, np.empty((5, 4)), np.ma.empty((5, 5)), [[0.0] * 5] * 5]
    for out in (*wrong, sideways):
        with pytest.raises(errors.ParameterError, match="out"):
            pyapsp.solve(graph, dtype="float64", out=out, device=device)
    for out in wrong:
        with pytest.raises(errors.ParameterError, match="out"):
            pyapsp.distances(graph, out=out, dtype="float64", device=device)
    with pytest.raises(errors.ParameterError, match="out"):
        pyapsp.solve(graph, dtype="float64", out=np.empty((5, 5), np.float32), device=device)
    found = pyapsp.distances(graph, out=sideways, device=device)
    assert found is sideways
    np.testing.assert_array_equal(found, pyapsp.solve(graph, device=device).distances)


@pytest.mark.parametrize("overlap", [False, True])
def test_a_matrix_is_not_sent_if_the_answer_is_written_over_it(overlap, device, monkeypatch):
    class SentError(Exception):
        """In place of a copy to the device."""

    def send(*_):
        raise SentError

    monkeypatch.setattr(request, "should_be_sent", lambda *_: True)
    monkeypatch.setattr(request, "sent", send)
    matrix = np.array([[0.0, 3, 1], [2, 0, 0], [0, 4, 0]])
    expected = csgraph.floyd_warshall(matrix)
    out = matrix if overlap else np.empty_like(matrix)
    if overlap:
        pyapsp.solve(matrix, "fw-naive", out=out, device=device)
        np.testing.assert_array_equal(out, expected)
    else:
        with pytest.raises(SentError):
            pyapsp.solve(matrix, "fw-naive", out=out, device=device)


def test_checkpoint_is_refused_by_methods_without(device, tmp_path):
    with pytest.raises(errors.CapabilityError, match="fw-minplus writes no checkpoints"):
        pyapsp.solve(WEIGHTS, "fw-minplus", checkpoint=tmp_path, device=device)


def test_a_truth_of_numpy_is_one(device):
    result = pyapsp.solve(WEIGHTS, predecessors=np.array(True), device=device)
    assert result.predecessors is not None


def test_nan_weight_is_named(device):
    with pytest.raises(errors.GraphError, match="weight of the arc 0 -> 1 is nan"):
        pyapsp.solve(np.array([[0, np.nan], [1, 0]]), device=device)


# -- number types ------------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("graph", "dtype"),
    [
        (chain(100, 7), "uint16"),
        (chain(100, 330), "uint16"),  # 99 x 330 is just below 2**15 - 1
        (chain(100, 331), "int32"),
        (chain(100, -165), "int16"),  # 99 x 165 is just below 2**14 - 1
        (chain(100, -166), "int32"),
        (chain(100, 2**25), "int64"),
        (chain(100, 2**60), "float64"),
        (chain(100, 0.5), "float64"),
        (chain(100, np.float32(0.5)), "float32"),
    ],
    ids=str,
)
def test_auto_dtype_is_the_narrowest_exact_one(graph, dtype, device):
    result = pyapsp.solve(graph, dtype="auto", device=device)
    assert result.distances.dtype == dtype
    assert result.distances[0, -1] == 99 * graph.max_weight


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_bound_behind_auto_is_one(seed):
    """The graphs are connected or not, with arcs of weight zero, directed and undirected."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    m = int(rng.integers(0, 4 * n))
    tails, heads = rng.integers(0, n, (2, m))
    if rng.random() < 0.3:  # a directed acyclic one
        tails, heads = np.minimum(tails, heads), np.maximum(tails, heads)
    weights = rng.integers(0, 10 ** int(rng.integers(1, 5)), m) * (rng.random(m) < 0.8)
    graph = Graph.from_arcs(n, tails, heads, weights, directed=bool(rng.random() < 0.7))
    for found in (bounds.hop_bound, bounds.eccentricity_bound):
        bound = found(graph)
        if graph.m:
            distances = csgraph.johnson(graph.to_scipy().astype(float))
            assert distances.max(where=np.isfinite(distances), initial=0) <= bound
        assert bound <= bounds.distance_bound(graph)


def test_a_bound_from_the_fewest_arcs():
    # from the hub to each vertex; back by way of the tens
    others = np.arange(1, 100)
    tails, heads = (
        [*np.zeros(99, int), *others],
        [*others, *np.where(others % 10, others // 10 * 10, 0)],
    )
    weights = np.full(198, 7)
    graph = Graph.from_arcs(100, tails, heads, weights)
    assert bounds.hop_bound(graph) == 7 * (1 + 2)
    both = Graph.from_arcs(100, tails, heads, weights, directed=False)
    assert bounds.hop_bound(both) == 7 * (1 + 1)
    # with a vertex that none leads to, or that leads nowhere
    for arc in ((0, 100), (100, 0)):
        ends = zip([*tails, arc[0]], [*heads, arc[1]], strict=True)
        apart = Graph.from_arcs(101, *zip(*ends, strict=True), np.full(199, 7))
        assert bounds.hop_bound(apart) == 7 * (1 + 2)
    # with a way of 30 vertices to the centre, from the centre, or beside it
    way = np.arange(100, 130)
    for more, hops in (((129, 0), 1 + 30), ((0, 100), 30 + 2), ((0, 1), 29)):
        ends = [*tails, *way[:-1], more[0]], [*heads, *way[1:], more[1]]
        beside = Graph.from_arcs(130, *ends, np.full(228, 7))
        assert bounds.hop_bound(beside) == 7 * hops
    assert bounds.hop_bound(graph.with_weights(-graph.weights)) == 99 * 7


def test_auto_finds_short_distances_behind_long_bounds(device):
    # every arc weighs 1000, but no path needs more than a few of them
    rng = np.random.default_rng(2)
    graph = Graph.from_arcs(200, *rng.integers(0, 200, (2, 4000)), np.full(4000, 1000))
    assert bounds.distance_bound(graph) > 2**15
    result = pyapsp.solve(graph, dtype="auto", device=device)
    assert result.distances.dtype == np.uint16
    np.testing.assert_array_equal(result.distances, csgraph.dijkstra(graph.to_scipy()))
    # two rings of zero arcs, one way from one to the other
    ring = np.arange(50)
    tails, heads = [*ring, *(50 + ring), 7], [*np.roll(ring, -1), *(50 + np.roll(ring, -1)), 60]
    graph = Graph.from_arcs(100, tails, heads, [*np.zeros(100, int), 30000])
    assert pyapsp.solve(graph, dtype="auto", device=device).distances.dtype == np.uint16


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_short_integers_refuse_what_they_cannot_hold(dtype, device):
    last = 2 ** (14 if dtype == "int16" else 15) - 2
    assert pyapsp.solve(chain(2, last), dtype=dtype, device=device).distances[0, 1] == last
    with pytest.raises(errors.PrecisionError, match=f"too large for {dtype}"):
        pyapsp.solve(chain(2, last + 1), dtype=dtype, device=device)
    with pytest.raises(errors.PrecisionError, match=f"a distance is too large for {dtype}"):
        pyapsp.solve(chain(3, last), dtype=dtype, device=device)
    with pytest.raises(errors.PrecisionError, match="whole numbers"):
        pyapsp.solve(chain(3, 0.5), dtype=dtype, device=device)


def test_negative_weights_need_a_signed_type(device):
    with pytest.raises(errors.PrecisionError, match="the negative weight -2: use a signed dtype"):
        pyapsp.solve(chain(3, -2), dtype="uint16", device=device)
    loop = Graph.from_arcs(2, [0, 1], [1, 0], [1, -2])
    with pytest.raises(errors.PrecisionError, match="signed"):
        pyapsp.solve(loop, dtype="uint16", device=device)
    with pytest.raises(errors.NegativeCycleError):
        pyapsp.solve(loop, dtype="int16", device=device)


def test_float16_where_the_device_has_it(device):
    graph = chain(30, 60)
    if not device.capabilities.fp16:
        with pytest.raises(errors.CapabilityError, match="has no float16: ask for dtype='float32'"):
            pyapsp.solve(graph, dtype="float16", device=device)
        return
    result = pyapsp.solve(graph, dtype="float16", predecessors=True, device=device)
    assert result.distances.dtype == np.float16
    np.testing.assert_array_equal(result.distances[0], 60 * np.arange(30))
    assert result.distances[1, 0] == np.inf
    with pytest.raises(errors.PrecisionError, match="float16 does not hold the weight 2049"):
        pyapsp.solve(chain(3, 2049), dtype="float16", device=device)
    with pytest.raises(errors.PrecisionError, match="a distance is too large for float16"):
        pyapsp.solve(chain(3, 60000.0), dtype="float16", device=device)
    # as a cutoff, 0.2 and 2051 are what they are as distances
    for weight, cutoff, kept in ((0.2, 0.2, True), (2052.0, 2051, True), (2052.0, 2050, False)):
        cut = pyapsp.solve(chain(2, weight), dtype="float16", cutoff=cutoff, device=device)
        assert (cut.distances[0, 1] < np.inf) is np.bool_(kept)


def test_what_is_clipped_is_found_behind_any_row(device):
    # three parts: all rows of a part reach the same vertices; only one part has a clipped distance
    parts = [
        (n0 + np.arange(5), n0 + (np.arange(5) + 1) % 5, np.full(5, weight))
        for n0, weight in ((0, 3), (5, 10000), (10, 4))
    ]
    graph = Graph.from_arcs(15, *map(np.concatenate, zip(*parts, strict=True)))
    with pytest.raises(errors.PrecisionError, match="a distance is too large for uint16"):
        pyapsp.solve(graph, dtype="uint16", device=device)
    for sources in ([0, 12], [9, 5]):
        exact = pyapsp.solve(graph, dtype="int32", sources=sources, device=device)
        if exact.diameter() < 2**15 - 1:
            narrow = pyapsp.solve(graph, dtype="uint16", sources=sources, device=device)
            np.testing.assert_array_equal(
                narrow.distances < narrow.infinity, exact.distances < exact.infinity
            )
        else:
            with pytest.raises(errors.PrecisionError):
                pyapsp.solve(graph, dtype="uint16", sources=sources, device=device)


def test_int32_refuses_what_it_cannot_hold(device):
    with pytest.raises(errors.PrecisionError, match="whole numbers"):
        pyapsp.solve(chain(3, 0.5), dtype="int32", device=device)
    with pytest.raises(errors.PrecisionError, match="too large for int32"):
        pyapsp.solve(chain(3, 2**31), dtype="int32", device=device)


@pytest.mark.parametrize("weight", [2**29, -(2**29)])
@pytest.mark.parametrize("method", ["fw-naive", "fw-blocked"])
def test_a_distance_past_the_range_is_an_error_not_a_number(method, weight, device):
    graph = chain(6, weight)
    with pytest.raises(errors.PrecisionError, match="a distance is too large for int32"):
        pyapsp.solve(graph, method, dtype="int32", device=device)
    wide = pyapsp.solve(graph, method, dtype="int64", device=device)
    assert wide.distances[0, 5] == 5 * weight


def test_large_weights_are_fine_where_the_distances_are(device):
    # the bound (n - 1) max w is past int32, the distances are not
    graph = Graph.from_arcs(5, [0, 0, 1], [1, 2, 3], [2**29, 3, 4])
    result = pyapsp.solve(graph, dtype="int32", device=device)
    assert result.distances[0].tolist() == [0, 2**29, 3, 2**29 + 4, result.infinity]


def test_float32_overflow_is_an_error(device):
    with pytest.raises(errors.PrecisionError, match="a weight of 1e"):
        pyapsp.solve(chain(3, 1e300), dtype="float32", device=device)
    with pytest.raises(errors.PrecisionError, match="a distance is too large for float32"):
        pyapsp.solve(chain(3, 3e38), dtype="float32", device=device)


@pytest.mark.parametrize(("dtype", "bits"), [("float64", 53), ("float32", 24)])
def test_integer_weights_are_not_rounded(dtype, bits, device):
    fits, too_fine = chain(3, 2**bits), chain(3, 2**bits + 1)
    assert pyapsp.solve(fits, dtype=dtype, device=device).distances[0, 1] == 2**bits
    with pytest.raises(errors.PrecisionError, match=f"{dtype} does not hold the weight"):
        pyapsp.solve(too_fine, dtype=dtype, device=device)
    as_float = too_fine.with_weights(too_fine.weights.astype(float))
    assert pyapsp.solve(as_float, dtype=dtype, device=device).distances[0, 1] >= 2**bits


def test_a_weight_must_not_become_zero(device):
    message = "float32 does not hold the weight 1e-50: use float64"
    with pytest.raises(errors.PrecisionError, match=message):
        pyapsp.solve(chain(3, 1e-50), dtype="float32", device=device)


def test_only_the_rows_asked_for_must_fit(device):
    graph = chain(6, 2**29)
    result = pyapsp.solve(graph, dtype="int32", sources=[4], device=device)
    assert result.distances[0, 5] == 2**29
    with pytest.raises(errors.PrecisionError):
        pyapsp.solve(graph, dtype="int32", sources=[4, 3], device=device)


def test_a_row_asked_for_is_wrong_when_another_was_clamped(device):
    # from 1 to 4 is past the range; from 0 to 4 is not, but would be computed from it
    step = 2**29
    graph = Graph.from_arcs(5, [0, 1, 2, 3], [1, 2, 3, 4], [2**30 - 2, -step, -step, -step])
    with pytest.raises(errors.PrecisionError, match="too large for int32"):
        pyapsp.solve(graph, "fw-blocked", dtype="int32", sources=[0], device=device)
    for method, dtype in (("fw-blocked", "int64"), ("johnson", "int32")):
        exact = pyapsp.solve(graph, method, dtype=dtype, sources=[0], device=device)
        assert exact.distances[0, 4] == 2**30 - 2 - 3 * step


# -- negative cycles ---------------------------------------------------------------------------


def cycle_weight(graph, cycle):
    matrix = graph.to_scipy()
    return sum(matrix[a, b] for a, b in itertools.pairwise(cycle))


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int16"])
@pytest.mark.parametrize("method", ["fw-naive", "fw-blocked"])
def test_negative_cycle_is_real(method, dtype, device):
    rng = np.random.default_rng(8)
    n = 130
    tails, heads = rng.integers(0, n, (2, 4 * n))
    weights = rng.integers(-3, 40, tails.size)
    graph = Graph.from_arcs(n, [*tails, 5, 90, 17], [*heads, 90, 17, 5], [*weights, -9, -9, -9])
    with pytest.raises(errors.NegativeCycleError) as caught:
        pyapsp.solve(graph, method, dtype=dtype, device=device)
    cycle = caught.value.cycle
    assert cycle[0] == cycle[-1]
    assert len(set(cycle)) == len(cycle) - 1
    assert cycle_weight(graph, cycle) == caught.value.weight < 0
    assert isinstance(caught.value, csgraph.NegativeCycleError)


def test_negative_self_loop_and_undirected_negative_edge(device):
    with pytest.raises(errors.NegativeCycleError) as caught:
        pyapsp.solve(Graph.from_arcs(3, [0, 1], [1, 1], [1, -2]), device=device)
    assert caught.value.cycle == [1, 1]
    with pytest.raises(errors.NegativeCycleError) as caught:
        pyapsp.solve(Graph.from_arcs(3, [0, 1], [1, 2], [1, -2]), directed=False, device=device)
    assert sorted(set(caught.value.cycle)) == [1, 2]


def test_negative_cycle_is_told_with_the_labels_of_the_file(device):
    graph = Graph.from_arcs(2, [0, 1], [1, 0], [1, -2], labels=["Rome", "Ostia"])
    with pytest.raises(errors.NegativeCycleError, match=r"Rome -> Ostia|Ostia -> Rome"):
        pyapsp.solve(graph, device=device)


def test_explosive_negative_cycles_are_found_in_every_type(device):
    # magnitudes double in every step: integers must clamp, floats pass through -inf and NaN
    n = 200
    rng = np.random.default_rng(1)
    graph = Graph.from_dense(rng.integers(-1000, -1, (n, n)))
    for dtype in ("int16", "int32", "int64", "float32", "float64"):
        with pytest.raises(errors.NegativeCycleError):
            pyapsp.solve(graph, dtype=dtype, device=device)


def test_a_zero_cycle_that_rounding_makes_negative_is_a_precision_error(device):
    # 1 + u + u - (1 + 2 u) is zero, but in float32 1 + u is 1
    u = 2.0**-24
    graph = Graph.from_arcs(4, [0, 1, 2, 3], [1, 2, 3, 0], [1.0, u, u, -(1.0 + 2 * u)])
    with pytest.raises(errors.PrecisionError, match="look negative: use a wider dtype"):
        pyapsp.solve(graph, dtype="float32", device=device)
    result = pyapsp.solve(graph, dtype="float64", device=device)
    assert (np.diagonal(result.distances) == 0).all()


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 1, 0), (1, 0, 2)])
def test_cycles_that_only_exact_sums_can_judge(order, device):
    # in float64, -2**60 + 2**60 - 1 is -1 or 0, whichever comes first
    weights = np.array([-1, -(2**60), 2**60])[list(order)]
    graph = Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], weights)
    with pytest.raises(errors.NegativeCycleError) as caught:
        pyapsp.solve(graph, dtype="int64", device=device)
    assert caught.value.weight == -1
    balanced = graph.with_weights(weights + (weights == -1))
    assert (np.diagonal(pyapsp.solve(balanced, dtype="int64", device=device).distances) == 0).all()


def test_rounded_weights_make_no_negative_cycle(device):
    # 2**24 + 1 becomes 2**24 in float32, and the cycle of weight 0 one of weight -1
    graph = Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], [2.0**24 + 1, -(2.0**24), -1.0])
    with pytest.raises(errors.PrecisionError, match="look negative"):
        pyapsp.solve(graph, dtype="float32", device=device)
    assert pyapsp.solve(graph, device=device).distances[0, 0] == 0


# -- results -----------------------------------------------------------------------------------


def test_result_survives_saving(tmp_path, device):
    graph = Graph.from_dense(WEIGHTS, labels=["a", "b", "c", "d"], name="four")
    result = pyapsp.solve(graph, predecessors=True, sources=[0, 3], device=device)
    result.save(tmp_path / "r.bin")
    loaded = Result.load(tmp_path / "r.bin")
    np.testing.assert_array_equal(loaded.distances, result.distances)
    np.testing.assert_array_equal(loaded.predecessors, result.predecessors)
    np.testing.assert_array_equal(loaded.sources, [0, 3])
    np.testing.assert_array_equal(loaded.labels, ["a", "b", "c", "d"])
    assert loaded.stats == result.stats
    assert loaded.explain() == result.explain()
    assert [path.name for path in tmp_path.iterdir()] == ["r.bin"]


SUFFIXES = ["csv", "CSV", "npy", "txt", "json", "parquet", "csv.gz"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_name_of_another_format_is_refused(tmp_path, device, suffix):
    """Of all answers that are saved; what is written is what the name says."""
    answers = {
        "Result": pyapsp.solve(WEIGHTS, device=device),
        "DeviceResult": pyapsp.solve(WEIGHTS, device=device, keep="device"),
        "BfsResult": pyapsp.bfs(WEIGHTS, 0, device=device),
        "SsspResult": pyapsp.sssp(WEIGHTS, 0, device=device),
        "Components": pyapsp.strongly_connected_components(WEIGHTS, device=device),
    }
    for name, answer in answers.items():
        with pytest.raises(
            errors.ParameterError, match=rf"of {name}.save must be a file \.npz; for"
        ):
            answer.save(tmp_path / f"r.{suffix}")
        for wrong in (b"r.npz", None, 3, "r\0.npz"):
            with pytest.raises(errors.ParameterError, match="the name of a file"):
                answer.save(wrong)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"plain text", None])
def test_loading_what_is_no_result(tmp_path, content):
    path = tmp_path / "r.npz"
    if content is None:
        np.savez(path, distances=np.eye(2))
    else:
        path.write_bytes(content)
    with pytest.raises(errors.FormatError, match=r"r\.npz: not a saved result"):
        Result.load(path)


def spoiled(name, change):
    """The arrays of a good result of 4 vertices, one of them changed or left out."""
    result = pyapsp.solve(WEIGHTS, predecessors=True)
    arrays = {
        "about": np.array('{"schema": 1, "stats": {}, "reasons": []}'),
        "distances": result.distances,
        "predecessors": result.predecessors,
        "sources": result.sources,
        "labels": np.array(["a", "b", "c", "d"]),
    }
    arrays[name] = change(arrays[name])
    return arrays


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("about", lambda a: np.array("{")),
        ("about", lambda a: np.array('{"schema": 2, "stats": {}, "reasons": []}')),
        ("about", lambda a: np.array('["schema"]')),
        ("distances", lambda a: a[0]),
        ("distances", lambda a: a.astype(np.complex128)),
        ("predecessors", lambda a: a[:2]),
        ("predecessors", lambda a: a.astype(np.int64)),
        ("predecessors", lambda a: np.where(a == 2, 100, a).astype(np.int32)),
        ("predecessors", lambda a: np.where(a == 2, -5, a).astype(np.int32)),
        ("sources", lambda a: a[:3]),
        ("sources", lambda a: a + 1),
        ("sources", lambda a: a * 1.0),
        ("labels", lambda a: a[:3]),
    ],
)
def test_loading_a_spoiled_result(tmp_path, name, change):
    path = tmp_path / "r.npz"
    np.savez(path, **spoiled(name, change))
    with pytest.raises(errors.FormatError, match=r"r\.npz: not a saved result"):
        Result.load(path)


def test_loading_turns_foreign_byte_order(tmp_path):
    path = tmp_path / "r.npz"
    np.savez(path, **spoiled("distances", lambda a: a.astype(a.dtype.newbyteorder())))
    loaded = Result.load(path).distances
    assert loaded.dtype.isnative
    np.testing.assert_array_equal(loaded, csgraph.floyd_warshall(WEIGHTS))


def test_a_path_that_goes_round_is_an_error(device):
    result = pyapsp.solve(WEIGHTS, predecessors=True, device=device)
    result.predecessors[0, 1], result.predecessors[0, 2] = 2, 1
    with pytest.raises(errors.VerificationError, match="do not lead from 1 to 0"):
        result.path(0, 1)


def test_labels_that_cannot_be_read_back_are_not_written(tmp_path, device):
    graph = Graph.from_arcs(2, [0], [1], labels=[(0, 0), (0, 1)])
    result = pyapsp.solve(graph, device=device)
    with pytest.raises(errors.GraphError, match="cannot be saved"):
        result.save(tmp_path / "r.npz")
    assert list(tmp_path.iterdir()) == []


def test_path_and_its_errors(device):
    result = pyapsp.solve(WEIGHTS, predecessors=True, sources=[0, 1], device=device)
    assert result.path(0, 1) == [0, 2, 1]
    assert result.path(1, 1) == [1]
    assert result.path(1, 0) == []
    for i, j in ((2, 0), (4, 0), (0, -1), ("a", 1), (0, 1.0), (0, None), (0, [1]), (0, 2**70)):
        with pytest.raises(errors.ParameterError, match=r"of Result\.path must be"):
            result.path(i, j)
    assert list(map(type, result.path(np.int64(0), np.uint8(2)))) == [int, int]
    with pytest.raises(errors.ParameterError, match="predecessors=True"):
        pyapsp.solve(WEIGHTS, device=device).path(0, 1)


def test_diameter(device):
    ring = pyapsp.solve(generators.ring(9), device=device)
    assert ring.diameter() == csgraph.floyd_warshall(generators.ring(9).to_scipy()).max()
    empty = pyapsp.solve(np.empty((0, 0)), device=device)
    with pytest.raises(errors.ParameterError, match="at least one row"):
        empty.diameter()


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_the_diameter_leaves_out_pairs_without_a_path(dtype, device):
    """Both Result.diameter() and pyapsp.diameter() do."""
    for graph, largest in ((as_graph(WEIGHTS), 6), (Graph.from_arcs(3, [], []), 0)):
        result = pyapsp.solve(graph, dtype=dtype, device=device)
        assert (result.distances == result.infinity).any()
        assert result.diameter() == pyapsp.diameter(graph, device=device) == largest


@pytest.mark.parametrize(
    "call",
    [
        pyapsp.solve,
        lambda graph, **on: pyapsp.solve(graph, sources=[3], **on),
        lambda graph, **on: next(pyapsp.row_blocks(graph, **on)),
        lambda graph, **on: pyapsp.bfs(graph, 0, **on),
        lambda graph, **on: pyapsp.sssp(graph, 0, **on),
        pyapsp.strongly_connected_components,
        pyapsp.weakly_connected_components,
        lambda graph, **on: pyapsp.triangles(graph.symmetrized(), **on),
    ],
)
def test_the_graph_is_hashed_when_the_record_is_read(call, device, monkeypatch):
    hashed = []
    monkeypatch.setattr(Graph, "content_hash", property(lambda graph: hashed.append(graph) or "x"))
    graph = generators.random_graph(100, 400, 9, seed=6)
    assert graph.name is not None
    found = call(graph, device=device)
    assert not hashed
    assert found.stats["input"]["hash"] in ("x", None)
    assert len(hashed) == (found.stats["input"]["name"] is not None)


def test_a_converted_answer_is_not_kept_for_the_record(device, monkeypatch):
    before = []

    def settle(request, plan, answer):
        before.append(weakref.ref(answer.distances))
        return replace(answer, distances=answer.distances.copy())

    monkeypatch.setitem(vars(ALL_PAIRS), "settle", settle)
    graph = generators.random_graph(100, 400, 9, seed=6)
    found = pyapsp.solve(graph, "fw-blocked", device=device)
    gc.collect()
    assert before[0]() is None
    assert found.stats["work"] == 100**3


def test_stats_and_explain_say_what_ran(device):
    graph = generators.random_graph(100, seed=4)
    result = pyapsp.solve(graph, "fw-naive", dtype="int32", device=device)
    stats = result.stats
    assert stats["method"] == "fw-naive"
    assert stats["dtype"] == "int32"
    assert device.identity.items() <= stats["device"].items()
    assert (stats["input"]["n"], stats["input"]["m"]) == (100, graph.m)
    assert stats["input"]["hash"] == graph.content_hash
    assert stats["rate"] == pytest.approx(100**3 / stats["kernel_seconds"])
    assert 0 < stats["kernel_seconds"] < stats["wall_seconds"]
    assert stats["peak_device_bytes"] == 4 * 100**2
    assert stats["schema"] == 4
    assert stats["roof_rate"] is stats["fraction_of_roof"] is None
    text = result.explain()
    for word in ("fw-naive", "int32", device.name, "as asked"):
        assert word in text


# -- threads ---------------------------------------------------------------------------------


def test_threads_do_not_mix_their_answers(device):
    graphs = [generators.random_graph(90, seed=seed) for seed in range(4)]
    expected = [csgraph.dijkstra(graph.to_scipy()) for graph in graphs]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            answers = list(
                pool.map(
                    lambda number: pyapsp.solve(graphs[number % 4], "fw-naive", device=device),
                    range(40),
                )
            )
    finally:
        sys.setswitchinterval(interval)
    for number, answer in enumerate(answers):
        np.testing.assert_array_equal(answer.distances, expected[number % 4])


# -- properties --------------------------------------------------------------------------------


@st.composite
def graphs(draw):
    """Small graphs of every density, with zero weights and self-loops."""
    n = draw(st.integers(1, 24))
    vertex = st.integers(0, n - 1)
    arcs = draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 20)), max_size=80))
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    return Graph.from_arcs(n, tails, heads, np.array(weights, dtype=np.int64))


property_settings = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("dtype", ["int64", "float32"])
@pytest.mark.parametrize("method", ["fw-naive", "fw-blocked"])
@property_settings
@given(graph=graphs())
def test_triangle_inequality_and_paths_sum_up(graph, method, dtype, device):
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    d = result.distances
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :]).all()
    matrix = graph.to_dense(no_arc=np.inf)
    for i in range(graph.n):
        for j in range(graph.n):
            path = result.path(i, j)
            if d[i, j] == result.infinity:
                assert path == []
            else:
                assert path[0] == i
                assert path[-1] == j
                steps = itertools.pairwise(path)
                assert sum(matrix[a, b] for a, b in steps) == d[i, j]


@property_settings
@given(graph=graphs(), seed=st.integers(0, 2**32 - 1))
def test_relabelling_permutes_the_distances(graph, seed, device):
    order = np.random.default_rng(seed).permutation(graph.n)
    tails, heads, weights = graph.arcs()
    other = Graph.from_arcs(graph.n, order[tails], order[heads], weights)
    before = pyapsp.solve(graph, dtype="int64", device=device).distances
    after = pyapsp.solve(other, dtype="int64", device=device).distances
    np.testing.assert_array_equal(after[np.ix_(order, order)], before)


@property_settings
@given(graph=graphs(), data=st.data())
def test_an_arc_more_makes_no_distance_longer(graph, data, device):
    vertex = st.integers(0, graph.n - 1)
    tail, head, weight = data.draw(st.tuples(vertex, vertex, st.integers(0, 20)))
    tails, heads, weights = graph.arcs()
    more = Graph.from_arcs(graph.n, [*tails, tail], [*heads, head], [*weights, weight])
    before = pyapsp.solve(graph, dtype="int64", device=device).distances
    after = pyapsp.solve(more, dtype="int64", device=device).distances
    assert (after <= before).all()
    assert after[tail, head] <= weight


def test_auto_dtype_has_room_for_arcs_longer_than_every_distance(device):
    n = 50
    ring = [np.arange(n), (np.arange(n) + 1) % n, np.ones(n, np.int64)]
    tails, heads, weights = (np.append(a, b) for a, b in zip(ring, (0, 25, 100_000), strict=True))
    result = pyapsp.solve(Graph.from_arcs(n, tails, heads, weights), dtype="auto", device=device)
    assert result.distances.dtype == np.int32
    assert result.distances[0, 25] == 25


def test_an_answer_over_the_weights_does_not_change_the_graph(device):
    """Predecessors and checks read the weights after the distances are written to `out`."""
    random = np.random.default_rng(8)
    matrix = np.where(random.random((60, 60)) < 0.2, random.integers(1, 50, (60, 60)), 0.0)
    expected = csgraph.floyd_warshall(matrix)
    for out in (matrix.copy(), np.vstack([matrix, matrix])[:60]):
        result = pyapsp.solve(out, "fw-minplus", out=out, predecessors=True, device=device)
        assert result.distances is out
        np.testing.assert_array_equal(out, expected)
        for i, j in ((0, 7), (13, 2), (59, 30)):
            if np.isfinite(expected[i, j]) and i != j:
                path = result.path(i, j)
                assert sum(matrix[a, b] for a, b in itertools.pairwise(path)) == expected[i, j]


def test_an_answer_over_the_arrays_or_the_file_of_the_graph(device, tmp_path):
    random = np.random.default_rng(9)
    matrix = random.integers(1, 50, (40, 40)).astype(float)
    expected = csgraph.floyd_warshall(matrix)
    out, heads = matrix.copy(), np.tile(np.arange(40), 40)
    over = csr_array((out.ravel(), heads, np.arange(0, 1601, 40)), shape=(40, 40))
    np.save(tmp_path / "a.npy", matrix)
    given, file = (np.load(tmp_path / "a.npy", mmap_mode=mode) for mode in ("r", "r+"))
    for graph, distances in ((over, out), (given, file)):
        result = pyapsp.solve(graph, "fw-minplus", out=distances, predecessors=True, device=device)
        np.testing.assert_array_equal(distances, expected)
        tails = result.predecessors
        rows, columns = np.nonzero(tails >= 0)
        assert rows.size == 40 * 39
        last = tails[rows, columns]
        np.testing.assert_array_equal(
            expected[rows, last] + matrix[last, columns], expected[rows, columns]
        )


@pytest.mark.parametrize("n", [100, 1000])
def test_infinity_of_a_vertex_that_can_be_reached_is_an_error(n):
    """Large answers are proved right if that is cheaper than to look at them."""
    graph = Graph.from_arcs(n, range(n - 1), range(1, n), np.full(n - 1, 1000))
    with np.errstate(over="ignore"):
        row = (1000.0 * np.arange(n)).astype(np.float16)
    assert np.isinf(row).any()
    with pytest.raises(errors.PrecisionError, match="too large for float16"):
        check_answer(graph, np.tile(row, (n, 1)))


def test_a_matrix_lists_its_arcs_only_if_a_distance_may_be_too_large():
    weights = np.full((300, 300), 300)  # the bound of a path is above uint16
    weights[5, 6] = 0  # a complete graph has another bound
    graph = DenseGraph(weights)
    check_answer(graph, np.full((300, 300), 300, np.uint16))
    assert "_listed" not in vars(graph)
    near = np.full((300, 300), 300, np.uint16)
    near[7] = 32_600
    check_answer(graph, near)  # all vertices are reached
    assert "_listed" not in vars(graph)
    near[7, 1] = 2**15 - 1
    with pytest.raises(errors.PrecisionError, match="uint16"):
        check_answer(graph, near)
    assert "_listed" in vars(graph)
    with pytest.raises(errors.PrecisionError, match="uint16"):
        check_answer(graph, near[7:8])


INTEGERS, FLOATS = ["uint16", "int32", "int64"], ["float32", "float64"]


@pytest.mark.parametrize(
    ("source", "target"),
    [*itertools.product(INTEGERS, INTEGERS + FLOATS), *itertools.product(FLOATS, FLOATS)],
)
def test_converted_distances(source, target):
    """Infinity becomes that of the type, beside zero, negative numbers and the largest of all."""
    source, target = np.dtype(source), np.dtype(target)
    largest = int(min(infinity(source), infinity(target), 2**15)) - 1
    least = 0 if "u" in source.kind + target.kind else -largest
    answer = np.array([[0, 1, largest, least, 5], [infinity(source)] * 5, [3] * 5], source)
    expected = np.array([[0, 1, largest, least], [infinity(target)] * 4, [3] * 4], target)
    rows = np.zeros((len(answer), 6), target)
    convert(answer, rows[:, 1:5])
    np.testing.assert_array_equal(rows[:, 1:5], expected)
    assert not rows[:, ::5].any()
