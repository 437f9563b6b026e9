"""sssp-delta-stepping: parameters in pairs, full lists, vertices in pieces, types and limits."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp import verify
from pyapsp.errors import CapabilityError, PrecisionError
from pyapsp.graph import Facts, Graph, generators
from pyapsp.paths import PathOptions
from pyapsp.paths.device_rows import DeviceRows
from pyapsp.paths.leaving import Leaving
from pyapsp.registry import Parameters
from pyapsp.traversal import kernels
from pyapsp.traversal.kernels import MOST_COUNTED
from pyapsp.traversal.sssp import sssp_delta_stepping as module
from pyapsp.traversal.sssp.tree import type_on_device

sys.path.insert(0, str(Path(__file__).parent))
from covering import covering

ID = "sssp-delta-stepping"
MANY = 10**9


def weighted(graph, high, seed=1):
    """Weights from 0 to a largest one, the same both ways."""
    tails, heads, _ = graph.arcs()
    low, most = np.minimum(tails, heads), np.maximum(tails, heads)
    drawn = np.random.default_rng(seed).integers(0, high, 4096, endpoint=True)
    return graph.with_weights(drawn[(31 * low + 17 * most) % 4096])


GRAPHS = {
    "path": weighted(Graph.from_arcs(99, range(98), range(1, 99), directed=False), 30),
    "star": weighted(Graph.from_arcs(900, [7] * 899, np.delete(range(900), 7), directed=False), 9),
    "grid": weighted(generators.grid_2d(23, 29, 1), 100),
    "zeros": weighted(generators.grid_2d(23, 29, 1), 0),
    "power law": weighted(generators.rmat(9, seed=2), 100),
    "power law both ways": weighted(generators.rmat(9, seed=2).symmetrized(), 3),
    "two parts": weighted(Graph.from_arcs(131, range(129), range(2, 131), directed=False), 5),
    "wide": generators.random_graph(300, 2000, seed=3).with_weights(
        np.random.default_rng(1).integers(0, 2**45, 2000)
    ),
}
EXPECTED = {
    name: csgraph.dijkstra(
        graph.with_weights(np.where(graph.weights, graph.weights, 1e-30)).to_scipy(),
        indices=[0, graph.n - 1],
    ).round()
    for name, graph in GRAPHS.items()
}
SETS = list(
    covering(
        {
            "group": (1, 32),
            "delta": (1, 16, MANY),
            "walk": (0, 256, 65536),
            "chunk": (3, 4096),
            "held": (16, 256),
            "room": (3, 64, 1000),
            "batch": (1, 8),
            "in_place": (True, False),
            "predecessors": (True, False),
        },
        lambda each: True,
    )
)


@pytest.fixture
def limited(monkeypatch):
    """Set the limits of a run."""

    def limit(chunk, held, room, batch, in_place):
        for name, value in (
            ("_CHUNK", chunk),
            ("_SCALAR_CHUNK", chunk),
            ("_LIST", held),
            ("_SCALAR_LIST", held),
            ("_ROOM", 0),
            ("_LEAST_ROOM", room),
            ("_BATCH", batch),
            ("_LONGEST_BATCH", batch),
            ("in_place", lambda handle: in_place),
            ("_LONG", 0),
        ):
            monkeypatch.setattr(module, name, value)
        monkeypatch.setattr(kernels, "in_place", lambda handle: in_place)

    return limit


@pytest.mark.every(16)
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("number", range(len(SETS)))
def test_parameters(number, device, limited):
    each = dict(SETS[number])
    method = pyapsp.method(ID, **{name: each.pop(name) for name in ("group", "delta", "walk")})
    predecessors = each.pop("predecessors")
    limited(**each)
    for name, graph in GRAPHS.items():
        dtype = ("int32", "float32", "float64", None)[number % 4] if name != "wide" else "int64"
        found = pyapsp.sssp(
            graph, [0, graph.n - 1], method, dtype=dtype, predecessors=predecessors, device=device
        )
        held = np.where(found.distances < found.infinity, found.distances, np.inf)
        np.testing.assert_array_equal(held, EXPECTED[name], err_msg=name)
        if predecessors and name not in ("path", "star", "power law"):
            assert verify.certificate(graph, found.rows, device=device).ok


def test_weights_that_are_no_whole_numbers(device):
    graph = generators.random_graph(400, 1500, seed=1)
    graph = graph.with_weights(np.random.default_rng(1).random(graph.m))
    for dtype in ("float64", "float32"):
        found = pyapsp.sssp(graph, 5, ID, dtype=dtype, predecessors=True, device=device)
        np.testing.assert_allclose(
            found.distances, csgraph.dijkstra(graph.to_scipy(), indices=5), rtol=1e-5
        )
        assert verify.certificate(graph, found.rows, device=device).ok


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint16"])
def test_a_cutoff_is_a_number_of_the_answer(dtype, device):
    """A float of four bytes rounds some of these cutoffs to the distance above, or below."""
    graph = Graph.from_arcs(5, range(4), range(1, 5), [1, 1, 1, 1])
    for cutoff in (0, 2, 2.5, 2 - 1e-12, 2 + 1e-12, 3.999999999, 99):
        found = pyapsp.sssp(
            graph, 0, ID, cutoff=cutoff, dtype=dtype, predecessors=True, device=device
        )
        kind = np.dtype(dtype)
        wanted = np.arange(5) <= (kind.type(cutoff) if kind.kind == "f" else cutoff)
        np.testing.assert_array_equal(found.distances < found.infinity, wanted)
        np.testing.assert_array_equal(found.predecessors >= 0, wanted & (np.arange(5) > 0))


def test_a_cutoff_ends_the_search(device):
    graph = weighted(generators.grid_2d(60, 60, 1), 100)
    slow = pyapsp.method(ID, delta=1)
    whole = pyapsp.sssp(graph, 0, slow, device=device)
    near = pyapsp.sssp(graph, 0, slow, cutoff=whole.distances.max() / 8, device=device)
    assert near.stats["rounds"] < whole.stats["rounds"] / 4


def test_few_launches_in_a_long_path(device):
    """One group walks: a launch has many rounds, and a gap in the distances takes one raise."""
    n = 5000
    graph = Graph.from_arcs(n, range(n - 1), range(1, n))
    found = pyapsp.sssp(graph, 0, pyapsp.method(ID, delta=1024, walk=65536), device=device)
    np.testing.assert_array_equal(found.distances, np.arange(n))
    assert found.stats["rounds"] < 20
    gaps = np.array([1.0, 1e9] * 20)[:39]
    far = Graph.from_arcs(40, range(39), range(1, 40), gaps)
    found = pyapsp.sssp(far, 0, pyapsp.method(ID, delta=1), dtype="float64", device=device)
    np.testing.assert_array_equal(found.distances, np.concatenate([[0], gaps.cumsum()]))
    assert found.stats["rounds"] <= 80


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_rows_of_the_device_come_with_the_last_launches(dtype, device, monkeypatch):
    """The host waits once for each batch, and not once more for the row."""
    monkeypatch.setattr(DeviceRows, "take", None)
    graph = Graph.from_arcs(90, range(89), range(1, 90), [1, 90] * 44 + [1])
    method, many = pyapsp.method(ID, delta=1, walk=0), {"dtype": dtype, "device": device}
    for sources in 0, [0, 70, 3]:
        found = pyapsp.sssp(graph, sources, method, keep="device", **many)
        expected = pyapsp.sssp(graph, sources, method, **many).distances
        np.testing.assert_array_equal(found.device_distances.get(), expected)
        assert found.stats["rounds"] > module._BATCH


def test_few_launches_are_in_vain(device, monkeypatch):
    """Less than a batch: at most a third of all launches, or seven."""
    launched, search = [], module._Entries.search

    def counted(self, source, row=None):
        step = self._step
        self._step = lambda *arguments: (launched.append(1), step(*arguments))
        search(self, source, row)

    monkeypatch.setattr(module._Entries, "search", counted)
    for n in range(3, 90, 2):
        graph = Graph.from_arcs(n, range(n - 1), range(1, n), [1, 90] * (n // 2))
        launched.clear()
        found = pyapsp.sssp(graph, 0, pyapsp.method(ID, delta=1, walk=0), device=device)
        used = found.stats["rounds"]
        assert used <= len(launched) <= max(used + module._BATCH - 1, 1.5 * used)


def test_a_copy_to_rows_of_the_device_is_prepared_once(device, monkeypatch):
    prepared, copying = [], DeviceRows.copying

    def counted(self, *arguments):
        prepared.append(self)
        return copying(self, *arguments)

    monkeypatch.setattr(DeviceRows, "copying", counted)
    graph = Graph.from_arcs(90, range(89), range(1, 90))
    method = pyapsp.method(ID, delta=1, walk=0)
    found = pyapsp.sssp(graph, 0, method, keep="device", device=device)
    assert found.stats["rounds"] > 2 * module._BATCH
    assert len(prepared) == 1


def test_entries_above_the_threshold_wait(device):
    """Also while near entries are relaxed by more than one launch."""
    graph = weighted(generators.grid_2d(40, 40, 1), 100)
    found = pyapsp.sssp(graph, 0, pyapsp.method(ID, delta=1, walk=0), device=device)
    step = module._delta(graph, np.dtype(np.int32), 1)
    assert 10 < step < 15
    # a threshold is at most one weight above the one before and a step
    assert found.stats["rounds"] > 2 * found.distances.max() / (step + 20)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint16"])
def test_distances_of_several_sources_leave_while_others_are_searched(dtype, device, monkeypatch):
    for each in module, kernels:
        monkeypatch.setattr(each, "in_place", lambda handle: False)
    monkeypatch.setattr(module, "_LONG", 0)
    left, take = [], Leaving.take

    def noted(self, values, kind, ready, row):
        left.append(kind)
        return take(self, values, kind, ready, row)

    monkeypatch.setattr(Leaving, "take", noted)
    graph = generators.rmat(8, seed=3)
    search = partial(pyapsp.sssp, method=ID, dtype=dtype, device=device)
    expected = [search(graph, source).distances for source in range(7)]
    assert not left
    np.testing.assert_array_equal(search(graph, range(7)).distances, expected)
    kind = {"float32": "f4", "uint16": ""}.get(dtype, "i4")  # that on the device
    assert left == 7 * bool(kind) * [kind]
    search(graph, range(7), cutoff=5)
    search(graph, range(7), targets=[1])
    assert len(left) == 7 * bool(kind)


def test_a_distance_that_is_too_large_is_seen_after_the_rows_have_come(device, monkeypatch):
    for each in module, kernels:
        monkeypatch.setattr(each, "in_place", lambda handle: False)
    monkeypatch.setattr(module, "_LONG", 0)
    graph = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [2**30 - 9] * 3)
    assert pyapsp.sssp(graph, [3, 2], ID, dtype="int32", device=device).distances[1, 3] == 2**30 - 9
    with pytest.raises(PrecisionError, match="too large for int32"):
        pyapsp.sssp(graph, [3, 0, 2], ID, dtype="int32", device=device)


@pytest.mark.parametrize("group", [1, 32])
@pytest.mark.usefixtures("quick")
def test_more_pieces_than_there_is_place_for(group, device, limited, monkeypatch):
    limited(3, 16, 64, 8, False)
    # those of one vertex always have a place
    largest = {graph.n: int(np.diff(graph.indptr).max()) for graph in GRAPHS.values()}
    monkeypatch.setattr(module, "_pieces", lambda graph, parameters: largest[graph.n] // 3 + 1)
    method = pyapsp.method(ID, group=group)
    for name in ("star", "power law both ways"):
        found = pyapsp.sssp(GRAPHS[name], [0, GRAPHS[name].n - 1], method, device=device)
        np.testing.assert_array_equal(found.distances, EXPECTED[name], err_msg=name)


@pytest.mark.parametrize("group", [1, 32])
@pytest.mark.usefixtures("quick")
def test_a_group_ends_after_some_rounds(group, device, monkeypatch):
    """What its list has then, all groups share in the next launch."""
    build = module.build
    rounds = {"PYAPSP_ROUNDS": 2}
    monkeypatch.setattr(
        module, "build", lambda to, file, defines, **more: build(to, file, defines | rounds, **more)
    )
    method = pyapsp.method(ID, group=group, delta=MANY, walk=65536)
    for name in ("path", "power law both ways"):
        found = pyapsp.sssp(GRAPHS[name], [0, GRAPHS[name].n - 1], method, device=device)
        np.testing.assert_array_equal(found.distances, EXPECTED[name], err_msg=name)


def test_distances_are_computed_in_int32_if_that_is_proved_exact(device):
    options = PathOptions(device, np.dtype(np.float64))
    short, long = GRAPHS["grid"], GRAPHS["wide"]
    halves = short.with_weights(short.weights + 0.5)
    inner = [type_on_device(graph, options.dtype).name for graph in (short, long, halves)]
    assert inner == ["int32", "float64", "float64"]
    assert type_on_device(short, np.dtype(np.float32)).name == "float32"
    memory = [sum(pyapsp.method(ID).buffers(short, options, Parameters(group=1, walk=0, delta=1)))]
    memory.append(16 * short.n + 24 * short.m + 60 * short.n + 60_000)
    assert memory[0] < memory[1]


def test_more_than_32_bits_count(device):
    options = PathOptions(device, np.dtype(np.int32))
    method = pyapsp.method(ID)
    error = method.unmet(Facts(9, 2**31, 1, False, True, True), options)
    assert isinstance(error, CapabilityError)
    assert "2,147,483,648 arcs" in str(error)
    assert method.unmet(Facts(9, MOST_COUNTED, 1, False, True, True), options) is None
