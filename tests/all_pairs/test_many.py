"""solve_many and solve_each: the answers of solve, for every form and mix of graphs."""

from __future__ import annotations

import dataclasses
import itertools
import subprocess
import sys
import tracemalloc

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csgraph, csr_array

import pyapsp
from pyapsp.all_pairs import batch
from pyapsp.all_pairs.dense.batch import jobs
from pyapsp.errors import (
    CapabilityError,
    DeviceMemoryError,
    GraphError,
    NegativeCycleError,
    NegativeWeightError,
    ParameterError,
    PrecisionError,
)
from pyapsp.graph import Graph, Graphs

BATCHED = [method for method in pyapsp.methods("all-pairs") if method.batched]
# those that hold the distances of the graphs here, one that takes graph after graph, and a form
# that is no method
HOLDING = [method.id for method in BATCHED if (method.requires.largest_distance or 254) >= 254]
FORMS = ["auto", "fw-onegroup", *HOLDING, "fw-naive"]


def weights_of(m, n, *, density=0.3, high=10, seed=0, dtype=np.float32):
    """Whole-number weights; 0 is no arc."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, high, (m, n, n))
    weights[rng.random(weights.shape) > density] = 0
    return weights.astype(dtype)


def turned_negative(weights, seed=0):
    """The same graphs with potentials added: negative arcs, but no negative cycle."""
    rng = np.random.default_rng(seed)
    up = rng.integers(0, 20, weights.shape[:2])
    moved = weights + up[:, :, None] - up[:, None, :]
    return np.where((weights == 0) | (moved == 0), 0, moved)


def by_scipy(weights):
    arcs = np.where(weights == 0, np.inf, weights.astype(float))
    return np.stack([csgraph.floyd_warshall(csgraph.csgraph_from_dense(w, np.inf)) for w in arcs])


def assert_leads(before, distances, weights, source, target):
    """Walk back from the target: the arcs on the way add up to the distance."""
    length, at = 0, target
    while at != source:
        tail = before[source, at]
        assert weights[tail, at] != 0
        length, at = length + weights[tail, at], tail
    assert length == distances[source, target]


@pytest.mark.every(3)
@pytest.mark.parametrize("method", FORMS)
def test_every_form_gives_what_solve_gives(method, device):
    weights = weights_of(13, 19)
    distances = pyapsp.solve_many(weights, method, device=device)
    assert distances.dtype == np.float64
    np.testing.assert_array_equal(distances, by_scipy(weights))


@pytest.mark.parametrize("n", [1, 2, 7, 16, 17, 33])
def test_sizes(n, device):
    weights = weights_of(5, n, density=0.5)
    distances = pyapsp.solve_many(weights, dtype="float32", device=device)
    assert distances.dtype == np.float32
    np.testing.assert_array_equal(distances, by_scipy(weights))


@pytest.mark.parametrize("shape", [(0, 5, 5), (3, 0, 0), (0, 0, 0)])
def test_nothing_to_do(shape, device):
    distances = pyapsp.solve_many(np.zeros(shape), device=device)
    assert distances.shape == shape
    assert len(list(pyapsp.solve_each(np.zeros(shape), device=device))) == shape[0]
    assert pyapsp.solve_many([], device=device) == []


@pytest.mark.every(3)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int16", "int64"])
def test_negative_weights_of_every_type(dtype, device):
    weights = turned_negative(weights_of(9, 18))
    assert weights.min() < 0
    distances = pyapsp.solve_many(weights, dtype=dtype, device=device)
    for each, graph in zip(distances, weights, strict=True):
        alone = pyapsp.solve(graph, "fw-naive", dtype=dtype, device=device)
        np.testing.assert_array_equal(each, alone.distances)


@pytest.mark.parametrize("method", ["fw-onegroup", "fw-multikernel"])
def test_negative_weights_that_come_late(method, device):
    # the kernels for weights without them have run already, and on the same group again
    weights = weights_of(12, 16, dtype=np.int32)
    weights[9:] = turned_negative(weights[9:])
    distances = pyapsp.solve_many(weights, method, dtype="int32", group=4, device=device)
    expected = by_scipy(weights)
    far = 2**30 - 1
    np.testing.assert_array_equal(distances, np.where(np.isinf(expected), far, expected))


@pytest.mark.every(2)
@pytest.mark.parametrize("given", [np.int8, np.uint16, np.int64, np.float16, np.float64, bool])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
def test_weights_of_another_type_than_the_distances(given, dtype, device):
    weights = weights_of(4, 12, dtype=given)
    distances = pyapsp.solve_many(weights, dtype=dtype, device=device)
    expected = by_scipy(weights)
    far = pyapsp.solve(weights[0], dtype=dtype, device=device).infinity
    np.testing.assert_array_equal(distances, np.where(np.isinf(expected), far, expected))


def test_auto_is_the_narrowest_exact_type(device):
    weights = weights_of(4, 12)
    assert pyapsp.solve_many(weights, dtype="auto", device=device).dtype == np.uint16
    assert pyapsp.solve_many(-weights * 0, dtype="auto", device=device).dtype == np.uint16
    assert pyapsp.solve_many(weights + 0.5, dtype="auto", device=device).dtype == np.float32
    large = weights.astype(np.int64) * 10_000
    assert pyapsp.solve_many(large, dtype="auto", device=device).dtype == np.int32


def test_infinity_is_no_arc_and_neither_is_zero(device):
    weights = np.array([[[0, np.inf, 3], [1, 0, 0], [0, 1, 0]]])
    distances = pyapsp.solve_many(weights, device=device)
    np.testing.assert_array_equal(distances[0], [[0, 4, 3], [1, 0, 4], [2, 1, 0]])
    distances = pyapsp.solve_many(weights, dtype="int32", device=device)
    np.testing.assert_array_equal(distances[0], [[0, 4, 3], [1, 0, 4], [2, 1, 0]])


def test_undirected(device):
    weights = weights_of(4, 11)
    distances = pyapsp.solve_many(weights, directed=False, device=device)
    listed = pyapsp.solve_many(list(weights), directed=False, device=device)
    for graph, one, other in zip(weights, distances, listed, strict=True):
        expected = pyapsp.solve(graph, directed=False, device=device).distances
        np.testing.assert_array_equal(one, expected)
        np.testing.assert_array_equal(other.distances, expected)


@pytest.mark.every(3)
@pytest.mark.parametrize("method", ["auto", "fw-onegroup", "fw-minplus"])
def test_integers_of_64_bits(method, device):
    """One compiler ended the process over the tiles of fw-minplus for them."""
    weights = weights_of(5, 9, dtype=np.int64)
    solved = pyapsp.solve_many(weights, method, dtype="int64", device=device)
    distances = np.where(solved < 2**62 - 1, solved, np.inf)
    for each, answer in zip(weights, distances, strict=True):
        np.testing.assert_array_equal(answer, csgraph.floyd_warshall(each))


@pytest.mark.parametrize("method", ["auto", "fw-onegroup", "fw-naive"])
def test_an_iterator_may_fill_one_array_again(method, device):
    weights = weights_of(5, 9, dtype=np.float64)
    sparse = csr_array(np.ones((9, 9)))

    def dense_ones():
        buffer = np.empty((9, 9))
        for each in weights:
            buffer[...] = each
            yield buffer

    def sparse_ones():
        for each in weights:
            sparse.data[...] = each.ravel() + 1
            yield sparse

    for graphs, added in ((dense_ones(), 0), (sparse_ones(), 1)):
        results = pyapsp.solve_many(graphs, method, device=device)
        for result, each in zip(results, weights + added, strict=True):
            np.testing.assert_array_equal(result.distances, csgraph.floyd_warshall(each))


def test_answers_over_the_weights(device):
    """The answer of one graph does not change another, nor what an error says of it."""
    given = weights_of(41, 9, dtype=np.float64)
    expected = np.array([csgraph.floyd_warshall(each) for each in given])
    for read, write in (
        (slice(None), slice(None)),
        (slice(40), slice(1, None)),
        (slice(None, None, -1), slice(None)),
    ):
        both = given.copy()
        answer = pyapsp.solve_many(both[read], out=both[write], group=3, device=device)
        np.testing.assert_array_equal(answer, expected[read])
    given[3, 0, 1], given[3, 1, 0] = 1, -5
    with pytest.raises(NegativeCycleError, match=r"^graph 3: ") as caught:
        pyapsp.solve_many(given, out=given, device=device)
    assert caught.value.weight == -4


def test_out(device):
    weights = weights_of(5, 9)
    out = np.empty((5, 9, 9), np.int32)
    assert pyapsp.solve_many(weights, out=out, device=device) is out
    np.testing.assert_array_equal(out[3], pyapsp.solve(weights[3], dtype="int32").distances)
    for wrong in (out[:4], out.swapaxes(1, 2), np.empty((5, 9, 9), complex), [1]):
        with pytest.raises(ParameterError, match="'out'"):
            pyapsp.solve_many(weights, out=wrong, dtype=np.int32, device=device)
    with pytest.raises(ParameterError, match="'out'"):
        pyapsp.solve_many([weights[0]], out=out, device=device)


def ragged():
    rng = np.random.default_rng(5)
    graphs = [weights_of(1, n, seed=n, density=0.5)[0] for n in rng.integers(1, 40, 12)]
    zero = Graph.from_arcs(3, [0, 1, 1], [1, 2, 0], [0, 0, 4])  # arcs of weight zero
    named = nx.DiGraph()
    named.add_weighted_edges_from([("b", "a", 2), ("a", "c", -1)])
    return [csr_array(graphs[0]), *graphs[1:], np.zeros((0, 0)), zero, named, [[0]], zero]


@pytest.mark.every(3)
@pytest.mark.parametrize("dtype", [None, "auto", "float32"])
def test_lists_of_graphs_of_any_size(dtype, device):
    graphs = ragged()
    distances = pyapsp.solve_many(graphs, dtype=dtype, predecessors=True, device=device)
    assert len(distances) == len(graphs)
    for graph, result in zip(graphs, distances, strict=True):
        alone = pyapsp.solve(graph, dtype=dtype, predecessors=True, device=device)
        assert result.distances.dtype == alone.distances.dtype
        np.testing.assert_array_equal(result.distances, alone.distances)
        reached = alone.distances < alone.infinity
        for i, j in np.argwhere(reached)[::7]:
            steps = result.path(i, j)
            assert (steps[0], steps[-1]) == (i, j)
        if alone.labels is not None:
            np.testing.assert_array_equal(result.labels, alone.labels)


@pytest.mark.every(2)
@pytest.mark.parametrize("method", ["auto", "fw-multikernel", "fw-naive"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int64"])
def test_predecessors_of_an_array(method, dtype, device):
    weights = weights_of(6, 13, density=0.4)
    weights[4] = turned_negative(weights[4:5])[0]
    answers = pyapsp.solve_many(
        weights, method, dtype=dtype, predecessors=True, group=4, device=device
    )
    distances, before = answers
    far = np.inf if dtype.startswith("f") else np.iinfo(dtype).max // 2
    assert before.dtype == np.int32
    np.testing.assert_array_equal(before == -9999, (distances == far) | (np.eye(13) == 1))
    for g, i, j in np.argwhere(before != -9999):
        assert_leads(before[g], distances[g], weights[g], i, j)


def test_predecessors_round_arcs_that_cost_nothing(device):
    # two vertices, each of which could be reached through the other
    graph = Graph.from_arcs(4, [0, 1, 2, 3, 1], [1, 2, 1, 0, 3], [5, 0, 0, 1, 0])
    for result in pyapsp.solve_many([graph] * 3, predecessors=True, device=device):
        assert result.path(0, 2) == [0, 1, 2]
        assert result.path(2, 3) == [2, 1, 3]
        assert result.path(3, 2) == [3, 0, 1, 2]


def test_predecessors_of_weights_that_round(device):
    rng = np.random.default_rng(3)
    weights = rng.random((5, 30, 30)).astype(np.float32)
    weights[rng.random(weights.shape) > 0.3] = 0
    distances, before = pyapsp.solve_many(
        weights, dtype="float32", predecessors=True, device=device
    )
    expected = by_scipy(weights)
    np.testing.assert_allclose(distances, expected, rtol=1e-5)
    for g, i, j in np.argwhere(before != -9999):
        tail = before[g, i, j]
        assert weights[g, tail, j] > 0
        length = expected[g, i, tail] + weights[g, tail, j]
        assert length == pytest.approx(expected[g, i, j], rel=1e-5)
        assert distances[g, i, tail] < distances[g, i, j]


@pytest.mark.parametrize("kind", ["array", "list"])
@pytest.mark.parametrize("method", ["auto", "fw-multikernel"])
@pytest.mark.parametrize("dtype", [None, "int32"])
def test_a_negative_cycle_is_named_with_its_graph(kind, method, dtype, device):
    weights = weights_of(40, 20)
    weights[17, [3, 8, 5], [8, 5, 3]] = [2, -7, 1]
    graphs = weights if kind == "array" else list(weights)
    with pytest.raises(
        NegativeCycleError, match=r"^graph 17: negative cycle of weight -4"
    ) as caught:
        pyapsp.solve_many(graphs, method, dtype=dtype, group=10, device=device)
    assert caught.value.graph == 17
    assert set(caught.value.cycle) == {3, 5, 8}


def test_a_negative_self_loop_is_a_negative_cycle(device):
    weights = weights_of(3, 8)
    weights[1, 4, 4] = -1
    with pytest.raises(NegativeCycleError, match=r"graph 1: .*4 -> 4"):
        pyapsp.solve_many(weights, device=device)


def packed(weighted, seed=3, count=70):
    """Return graphs of 0 to 40 vertices, with loops, parallel arcs, and weights of 0."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 41, count)
    counts = 2 * sizes
    ends = np.repeat(sizes, counts)
    weights = rng.integers(0, 9, ends.size) if weighted else None
    return Graphs(sizes, counts, *rng.integers(0, ends, (2, ends.size)), weights)


@pytest.mark.every(2)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dtype", [None, "float32", "uint16", "auto"])
@pytest.mark.parametrize("method", ["auto", "fw-naive"])
def test_graphs_as_arrays(method, dtype, weighted, directed, device):
    graphs = packed(weighted)
    options = {"dtype": dtype, "directed": directed, "predecessors": True, "device": device}
    found = pyapsp.solve_many(graphs, method, **options)
    assert len({each.distances.dtype for each in found}) == 1
    for result, graph in zip(found, graphs, strict=True):
        alone = pyapsp.solve(graph, dtype=found[0].distances.dtype, directed=directed)
        np.testing.assert_array_equal(result.distances, alone.distances)
        assert result.sources.tolist() == list(range(graph.n))
        assert (result.predecessors >= 0).sum() == (
            (alone.distances < alone.infinity).sum() - graph.n
        )
    both = Graphs(
        graphs.sizes, graphs.counts, graphs.tails, graphs.heads, graphs.weights, directed=False
    )
    for result, graph in zip(pyapsp.solve_many(both, device=device), both, strict=True):
        np.testing.assert_array_equal(result.distances, pyapsp.solve(graph).distances)


@pytest.mark.parametrize(
    ("weight", "dtype", "error"),
    [
        (-1, "uint16", PrecisionError),
        (0.5, "int32", PrecisionError),
        (-2, None, NegativeCycleError),
    ],
)
def test_an_arc_that_is_refused_names_its_graph(weight, dtype, error, device):
    graphs = Graphs([5, 3, 20], [1, 2, 1], [0, 0, 1, 0], [1, 1, 0, 1], [1, weight, 1, 1])
    with pytest.raises(error, match=r"^graph 1: ") as caught:
        pyapsp.solve_many(graphs, dtype=dtype, device=device)
    assert caught.value.graph == 1
    assert [each.distances.shape for each in pyapsp.solve_many(Graphs([], [], [], []))] == []
    with pytest.raises(ParameterError, match="absent for an array or `Graphs`"):
        pyapsp.solve_many(graphs, weight="km", device=device)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("predecessors", [False, True])
def test_weights_have_the_memory_of_the_distances(negative, predecessors, device, monkeypatch):
    """So a call has half the new memory; a search for predecessors needs both."""
    graphs, seen = packed(weighted=True), []
    graphs.weights[:] = np.where(negative & (graphs.tails < graphs.heads), -1, 40)

    def watched(job):
        seen.append(np.shares_memory(found := filled(job), job.distances))
        return found

    filled = jobs.Packed.weights
    monkeypatch.setattr(jobs.Packed, "weights", watched)
    results = pyapsp.solve_many(graphs, predecessors=predecessors, device=device)
    assert set(seen) == {not predecessors}
    for result, graph in zip(results, graphs, strict=True):
        np.testing.assert_array_equal(result.distances, pyapsp.solve(graph).distances)
    names = {each.name for each in dataclasses.fields(results[0])}
    assert set(vars(results[0])) == names


def test_matrices_of_a_list_are_not_copied(device):
    graphs = [each.astype(float) for each in weights_of(500, 40)]
    tracemalloc.start()
    try:
        pyapsp.solve_many(graphs, device=device)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.7 * sum(each.nbytes for each in graphs)  # the answers take as much


LOADED = """
import sys
import numpy as np
before = set(sys.modules)
import pyapsp
found = pyapsp.solve_many([np.eye(3)] * 20, device=sys.argv[1])
needless = {"numpy.ma", "pyapsp.all_pairs.problem", "pyapsp.all_pairs.sparse", "scipy.sparse"}
print(sorted(needless & (set(sys.modules) - before)), found[3].stats["problem"])
"""


def test_a_call_imports_nothing_that_it_does_not_use(device):
    words = [sys.executable, "-c", LOADED, device.id]
    subprocess.run(words, check=True)  # the self test of a new driver uses more
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "all-pairs"]


def test_each_size_is_padded_once(device, monkeypatch):
    seen = []
    monkeypatch.setattr(batch, "padded", lambda n: seen.append(n) or n)
    graphs = Graphs([3, 700, 3], [1, 0, 1], [0, 1], [1, 2])
    found = pyapsp.solve_many(graphs, device=device)
    assert [each.distances.shape[0] for each in found] == [3, 700, 3]
    assert sorted(seen) == [3, 700]


def test_matrices_of_several_types_and_sizes(device):
    rng = np.random.default_rng(4)
    matrices = []
    for number, dtype in enumerate([bool, np.int64, np.float32, np.float64, np.uint8, ">f8"] * 6):
        n = int(rng.integers(0, 50))
        matrices.append((rng.integers(0, 4, (n, n)) * (number + 1) % 7).astype(dtype))
    matrices[9] = np.where(matrices[9] == 0, np.inf, matrices[9])
    matrices[9].flags.writeable = False
    for directed in (True, False):
        for dtype in (None, "float32", "auto"):
            found = pyapsp.solve_many(matrices, directed=directed, dtype=dtype, device=device)
            for matrix, result in zip(matrices, found, strict=True):
                alone = pyapsp.solve(matrix, directed=directed, dtype=dtype)
                assert result.distances.dtype == alone.distances.dtype
                np.testing.assert_array_equal(result.distances, alone.distances)


@pytest.mark.parametrize(
    ("weight", "dtype"), [(2**53 + 1, None), (2**24 + 1, "float32"), (-(2**53) - 1, "float64")]
)
def test_whole_numbers_are_not_rounded(weight, dtype, device):
    weights = np.zeros((3, 2, 2), np.int64)
    weights[1, 0, 1] = weight
    graphs = Graphs([2, 2], [0, 1], [0], [1], [weight])
    for given in (weights, list(weights), graphs):
        with pytest.raises(PrecisionError, match=f"graph 1: .* does not hold the weight {weight}"):
            pyapsp.solve_many(given, dtype=dtype, device=device)
    weights[1, 0, 1] = np.sign(weight) * (abs(weight) - 1)
    assert pyapsp.solve_many(weights, dtype=dtype, device=device)[1, 0, 1] == weights[1, 0, 1]


@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32", "int64"])
def test_a_weight_of_infinity_or_more_is_refused(dtype, device):
    far = int(np.iinfo(dtype).max) // 2
    for weight in (far - 1, far, far + 5, 2**63 - 1):
        graphs = Graphs([2, 2], [1, 1], [0, 0], [1, 1], [3, weight])
        matrices = np.zeros((2, 2, 2), np.int64)
        matrices[:, 0, 1] = 3, weight
        for given in (graphs, list(graphs), list(matrices), matrices):
            if weight < far:
                found = pyapsp.solve_many(given, dtype=dtype, device=device)[1]
                assert getattr(found, "distances", found)[0, 1] == weight
                continue
            with pytest.raises(PrecisionError, match=r"^graph 1: .* too large"):
                pyapsp.solve_many(given, dtype=dtype, device=device)


BAD = [
    (np.nan, None, GraphError),
    (-np.inf, None, GraphError),
    (np.nan, "int32", GraphError),
    (0.5, "int32", PrecisionError),
    (2**14, "int16", PrecisionError),
    (-(2**14), "int16", PrecisionError),
    (-1, "uint16", PrecisionError),
    (1e39, "float32", PrecisionError),
    (1e-60, "float32", PrecisionError),
]


@pytest.mark.parametrize(("weight", "dtype", "error"), BAD)
def test_bad_weights_name_their_graph(weight, dtype, error, device):
    weights = weights_of(9, 6, dtype=np.float64)
    weights[5, 1, 2] = weight
    with pytest.raises(error, match=r"^graph 5: ") as caught:
        pyapsp.solve_many(weights, dtype=dtype, device=device)
    assert caught.value.graph == 5
    with pytest.raises(error, match=r"^graph 5: "):
        list(pyapsp.solve_each(list(weights), dtype=dtype, device=device))


@pytest.mark.parametrize("given", [np.int16, np.int32, np.int64, np.uint16, np.float32])
def test_infinity_of_an_integer_type_is_no_weight(given, device):
    weights = weights_of(3, 5, dtype=given)
    weights[2, 0, 1] = 2**14 - 1
    with pytest.raises(PrecisionError, match=r"^graph 2: .* too large"):
        pyapsp.solve_many(weights, dtype="int16", device=device)


def chains(lengths):
    """Graphs of 6 vertices in a row: the distance from end to end is the length."""
    weights = np.zeros((len(lengths), 6, 6), np.int64)
    for graph, length in zip(weights, lengths, strict=True):
        graph[range(5), range(1, 6)] = [length - 4, 1, 1, 1, 1]
    return weights


SATURATED = [("auto", "int16", 2**14 - 1), ("fw-multikernel", "uint16", 2**15 - 1)]
SATURATED += [(f"fw-packed{bits}", "int32", 2**bits - 1) for bits in (4, 8, 16)]


@pytest.mark.every(2)
@pytest.mark.parametrize(("method", "dtype", "limit"), SATURATED)
def test_no_distance_is_clipped_in_silence(method, dtype, limit, device):
    distances = pyapsp.solve_many(
        chains([limit - 1, limit - 2]), method, dtype=dtype, device=device
    )
    assert distances[:, 0, 5].tolist() == [limit - 1, limit - 2]
    weights = chains([limit - 2, limit - 1, limit, limit - 1])
    with pytest.raises(PrecisionError, match=r"^graph 2: a distance is too large"):
        pyapsp.solve_many(weights, method, dtype=dtype, device=device)


def test_unless_it_is_not_to_be_looked_at(device):
    weights = chains([2**14 - 1])
    distances = pyapsp.solve_many(weights, dtype="int16", check=False, device=device)
    assert distances[0, 0, 5] == 2**14 - 1


@pytest.mark.parametrize(("weight", "error"), [(-1, NegativeWeightError), (0.5, PrecisionError)])
def test_what_packed_distances_do_not_hold(weight, error, device):
    weights = weights_of(3, 6)
    weights[1, 0, 1] = weight
    with pytest.raises(error, match=r"^graph 1: fw-packed8 needs"):
        pyapsp.solve_many(weights, "fw-packed8", device=device)


def test_each_as_they_finish(device):
    weights = weights_of(23, 10)
    results = dict(pyapsp.solve_each(weights, group=5, device=device))
    assert sorted(results) == list(range(23))
    for number, result in results.items():
        np.testing.assert_array_equal(result.distances, by_scipy(weights[number : number + 1])[0])
    assert results[7].stats["method"] == "fw-onegroup"
    assert results[7].stats["input"]["graphs"] == 5
    assert "as" not in results[7].explain().splitlines()[0].split()
    assert "auto: " in results[7].explain()


def test_an_iterable_without_end(device, monkeypatch):
    monkeypatch.setattr(batch, "_WINDOW", 8 * 10 * 6**2)
    given = []

    def graphs():
        for number in itertools.count():
            given.append(number)
            yield weights_of(1, 6, seed=number)[0]

    first = list(itertools.islice(pyapsp.solve_each(graphs(), device=device), 15))
    assert sorted(number for number, _ in first[:10]) == list(range(10))
    assert given == list(range(20))
    for number, result in first:
        expected = by_scipy(weights_of(1, 6, seed=number))[0]
        np.testing.assert_array_equal(result.distances, expected)


def test_an_error_leaves_the_device_usable(device):
    weights = weights_of(30, 8)
    weights[3, 0, 1] = np.nan
    for _ in range(3):
        with pytest.raises(GraphError):
            pyapsp.solve_many(weights, group=2, device=device)
    results = pyapsp.solve_each(weights[4:], group=2, device=device)
    next(results)
    results.close()
    assert len(pyapsp.solve_many(weights[4:], device=device)) == 26


def test_little_memory_means_small_groups(device):
    weights = weights_of(16, 32)
    need = 2 * 4 * 32**2
    results = dict(
        pyapsp.solve_each(
            weights, "fw-multikernel", dtype="float32", memory_limit=10 * need, device=device
        )
    )
    assert all(result.stats["peak_device_bytes"] <= 10 * need for result in results.values())
    assert results[0].stats["input"]["graphs"] < 8
    np.testing.assert_array_equal(results[15].distances, by_scipy(weights[15:])[0])
    with pytest.raises(DeviceMemoryError):
        pyapsp.solve_many(weights, "fw-multikernel", memory_limit=need, device=device)


@pytest.mark.parametrize(
    ("graphs", "options", "error", "text"),
    [
        (np.zeros((3, 3)), {}, GraphError, "m x n x n"),
        (np.zeros((2, 3, 4)), {}, GraphError, "m x n x n"),
        (np.zeros((2, 3, 3), complex), {}, GraphError, "real numbers"),
        (np.ma.masked_equal(np.zeros((2, 3, 3)), 0), {}, GraphError, "mask"),
        (Graph.from_arcs(2, [0], [1]), {}, ParameterError, "an iterable of graphs"),
        ("graph.mtx", {}, ParameterError, "an iterable of graphs"),
        (csr_array((3, 3)), {}, ParameterError, "an iterable of graphs"),
        (7, {}, ParameterError, "an iterable of graphs"),
        ([np.zeros((2, 3))], {}, GraphError, "graph 0: "),
        (np.zeros((2, 3, 3)), {"group": 0}, ParameterError, "'group'"),
        (np.zeros((2, 3, 3)), {"memory_limit": -1}, ParameterError, "'memory_limit'"),
        (np.zeros((2, 3, 3)), {"method": "fw-nothing"}, ParameterError, "'method'"),
        (np.zeros((2, 3, 3)), {"dtype": "complex64"}, ParameterError, "'dtype'"),
    ],
)
def test_what_is_no_batch(graphs, options, error, text, device):
    with pytest.raises(error, match=text):
        pyapsp.solve_many(graphs, device=device, **options)


def test_a_method_with_parameters(device):
    method = pyapsp.method("fw-multikernel", tile=8)
    results = dict(pyapsp.solve_each(weights_of(3, 20), method, dtype="float32", device=device))
    assert results[2].stats["parameters"]["tile"] == 8


def test_what_the_device_must_have(device, monkeypatch):
    lacking = type(device.capabilities)(
        **{**vars(device.capabilities), "device_scope_fence": False}
    )
    monkeypatch.setattr(type(device), "capabilities", lacking)
    with pytest.raises(CapabilityError, match="device_scope_fence"):
        pyapsp.solve_many(weights_of(3, 20), "fw-singlekernel", device=device)
