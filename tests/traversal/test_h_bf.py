"""sssp-h-bf: all options in pairs on graphs of every kind, negative cycles, full frontiers."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp import verify
from pyapsp.errors import CapabilityError, NegativeCycleError, ParameterError
from pyapsp.graph import Facts, Graph, generators
from pyapsp.paths import PathOptions
from pyapsp.registry import Parameters, problem, runs
from pyapsp.traversal.sssp import h_bf as search
from pyapsp.traversal.sssp import sssp_h_bf as module
from pyapsp.traversal.sssp.h_bf import PACKED
from pyapsp.traversal.sssp.tree import type_on_device

sys.path.insert(0, str(Path(__file__).parent))
from covering import covering

ID = "sssp-h-bf"


def signed(graph, seed=1):
    """Weights of both signs, and no negative cycle."""
    tails, heads, weights = graph.arcs()
    potential = np.random.default_rng(seed).integers(0, 60, graph.n)
    weights = weights + potential[tails] - potential[heads]
    return Graph.from_arcs(graph.n, tails, heads, weights)


def hanging(seed=3):
    """A random tree with loops, cycles of zero arcs, and vertices that one arc enters or leaves."""
    rng = np.random.default_rng(seed)
    n = 150
    tails = [rng.integers(0, max(v, 1)) for v in range(1, n)]
    arcs = [(u, v, int(rng.integers(-5, 9))) for v, u in enumerate(tails, 1)]
    arcs += [(v, v, v % 3) for v in range(0, n, 7)]
    arcs += [(v, v - 3, 400) for v in range(90, 140)]
    return Graph.from_arcs(n, *zip(*arcs, strict=True))


GRAPHS = {
    "random": generators.random_graph(120, 500, seed=2),
    "road": generators.grid_2d(11, 13, 1),
    "road both signs": signed(generators.grid_2d(11, 13, 1)),
    "power law": generators.rmat(8, seed=2),
    "power law both signs": signed(generators.rmat(8, seed=2)),
    "zeros": Graph.from_arcs(60, [*range(60)] * 2, [*range(1, 60), 0, *[0] * 60], [0] * 120),
    "star": Graph.from_arcs(90, [0] * 89, range(1, 90), range(89), directed=False),
    "hanging": hanging(),
    "path": Graph.from_arcs(40, range(39), range(1, 40), directed=False),
}
SOURCES = [0, 30]


def expected(graph):
    """By SciPy's Bellman-Ford; an arc of weight zero is an arc."""
    matrix = graph.to_scipy().astype(float)
    matrix.data[matrix.data == 0] = 1e-30
    return csgraph.bellman_ford(matrix, indices=SOURCES).round()


EXPECTED = {name: expected(graph) for name, graph in GRAPHS.items()}
VALUES = {
    "group": (1, 32),
    "classes": (0, 1),
    "duplicates": ("kept", "atomic64", "cas64", "tag32", "table"),
    "read": ("plain", "read-only", "streamed"),
    "staged": (0, 1),
    "width": (0, 1, 8),
    "load": (1, 32),
    "heavy": (0, 5),
    "held": (4, 1024),
    "room": (1, None),
    "dtype": ("int16", "float32", None, "int64"),
}
SETS = list(
    covering(
        VALUES,
        lambda each: (each.get("width") or 4) <= each.get("group", 32) or "width" not in each,
    )
)


@pytest.fixture(autouse=True)
def lower_limits(monkeypatch):
    """Let small graphs have heavy vertices."""
    choices = module.SsspHBf.choices
    monkeypatch.setattr(module.SsspHBf, "choices", {**choices, "heavy": (*choices["heavy"], 5)})


def streams(device):
    """Whether the compiler has streamed reads; without them they are refused."""
    try:
        pyapsp.sssp(GRAPHS["path"], 0, pyapsp.method(ID, read="streamed"), device=device)
    except CapabilityError:
        return False
    return True


@pytest.mark.every(3)
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("duplicates", ["table", "atomic64", "cas64", "tag32"])
@pytest.mark.parametrize(("group", "staged"), [(1, 0), (32, 1), (32, 0)])
def test_merge_path(group, staged, duplicates, device):
    method = pyapsp.method(
        ID, split="merge-path", group=group, staged=staged, duplicates=duplicates
    )
    for name, graph in GRAPHS.items():
        found = pyapsp.sssp(graph, SOURCES, method, dtype="float32", device=device)
        held = np.where(found.distances < found.infinity, found.distances.astype(float), np.inf)
        np.testing.assert_array_equal(held, EXPECTED[name], err_msg=name)


@pytest.mark.usefixtures("quick")
def test_the_workfront_sweep_divides_vertices_and_arcs(device):
    """All of them count as relaxed once for each time that they are in a frontier."""
    # several chunks: a vertex with many arcs, vertices with two, and vertices without
    leaves = np.arange(1000, 2998)
    tails = [*[0] * 999, *((leaves - 1000) // 2 + 1)]
    graph = Graph.from_arcs(2998, tails, [*range(1, 1000), *leaves], np.ones(2997))
    counts = []
    method = pyapsp.method(ID, split="merge-path", duplicates="table", group=32)
    method.on_counts = counts.append
    found = pyapsp.sssp(graph, 0, method, device=device)
    np.testing.assert_array_equal(found.distances, [0, *[1] * 999, *[2] * 1998])
    assert counts == [{"relaxations": graph.m, "entries": graph.n, "duplicates": 0}]


@pytest.mark.parametrize(
    ("given", "only"),
    [({"classes": 1}, 0), ({"width": 8}, 1), ({"load": 32}, 1), ({"heavy": 5}, 0)],
)
def test_what_is_only_beside_warps(given, only, device):
    [name] = given
    method = pyapsp.method(ID, split="merge-path", **given)
    with pytest.raises(ParameterError, match=f"^{name}=.* does nothing with .* only be {only}$"):
        pyapsp.sssp(GRAPHS["path"], 0, method, device=device)


def test_what_merge_path_does_not_have(device):
    method = pyapsp.method(ID, split="merge-path", duplicates="kept")
    with pytest.raises(ParameterError, match="merge-path removes duplicates"):
        pyapsp.sssp(GRAPHS["path"], 0, method, device=device)


@pytest.mark.every(36)
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("number", range(len(SETS)))
def test_options(number, device, monkeypatch):
    each = dict(SETS[number])
    dtype, room = each.pop("dtype"), each.pop("room")
    if each["read"] == "streamed" and not streams(device):
        each["read"] = "read-only"
    monkeypatch.setattr(module, "_COLLECTED", each.pop("held"))
    if room is not None and each["duplicates"] in ("kept", "table"):
        # of the arcs, so that a frontier does not fit
        monkeypatch.setattr(search, "_capacity", lambda graph, parameters: graph.n)
    method = pyapsp.method(ID, **each)
    for name, graph in GRAPHS.items():
        wide = type_on_device(graph, np.dtype(dtype or "float64")).itemsize == 8
        if wide and each["duplicates"] in PACKED:
            with pytest.raises(ParameterError, match="kept, tag32 or table"):
                pyapsp.sssp(graph, SOURCES, method, dtype=dtype, device=device)
            continue
        found = pyapsp.sssp(graph, SOURCES, method, dtype=dtype, predecessors=True, device=device)
        assert found.stats["parameters"]["duplicates"] == each["duplicates"]
        held = np.where(found.distances < found.infinity, found.distances.astype(float), np.inf)
        np.testing.assert_array_equal(held, EXPECTED[name], err_msg=name)
        if name in ("hanging", "zeros", "power law both signs"):
            assert verify.certificate(graph, found.rows, device=device).ok


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("form", PACKED)
def test_a_word_has_no_place_for_wide_distances(form, device):
    """The form that runs is the one in the record."""
    graph = generators.random_graph(60, 300, seed=1)
    graph = graph.with_weights(np.random.default_rng(1).random(graph.m))
    with pytest.raises(ParameterError, match="kept, tag32 or table for distances in float64"):
        pyapsp.sssp(graph, 0, pyapsp.method(ID, duplicates=form), device=device)
    found = pyapsp.sssp(graph, 0, ID, device=device)
    assert found.stats["parameters"]["duplicates"] == "tag32"
    narrow = pyapsp.sssp(
        graph, 0, pyapsp.method(ID, duplicates=form), dtype="float32", device=device
    )
    assert narrow.stats["parameters"]["duplicates"] == form


@pytest.mark.every(3)
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("classes", [0, 1])
@pytest.mark.parametrize(
    ("arcs", "cycle"),
    [
        ([(0, 1, 2), (1, 0, -3)], {0, 1}),
        ([(0, 1, 2), (1, 1, -3)], {1}),
        ([(0, 0, -1)], {0}),
        ([(0, 1, 1), (1, 2, 1), (2, 3, -5), (3, 1, 1), (2, 4, 1)], {1, 2, 3}),
        ([*((v, v + 1, 1) for v in range(30)), (30, 20, -11), (3, 31, 1)], set(range(20, 31))),
    ],
)
def test_negative_cycles(arcs, cycle, classes, device):
    graph = Graph.from_arcs(40, *zip(*arcs, strict=True))
    for dtype, form in zip((None, "int16", "float32", "int64", None), module._FORMS, strict=True):
        method = pyapsp.method(ID, classes=classes, duplicates=form)
        with pytest.raises(NegativeCycleError) as caught:
            pyapsp.sssp(graph, 0, method, dtype=dtype, device=device)
        assert set(caught.value.cycle) == cycle
        assert caught.value.weight < 0
    found = pyapsp.sssp(graph, 35, pyapsp.method(ID, classes=classes), device=device)
    assert (found.distances < np.inf).sum() == 1


@pytest.mark.parametrize(
    ("weight", "dtype"), [(-1.6e38, "float32"), (-30000, "float16"), (-1e308, "float64")]
)
@pytest.mark.parametrize("check", [True, False])
def test_a_cycle_that_falls_to_infinity_at_once(weight, dtype, check, device):
    if dtype == "float16" and not device.capabilities.fp16:
        dtype = "float32"
    graph = Graph.from_arcs(3, [0, 1, 2], [1, 2, 1], [1.0, weight, weight])
    request = problem("sssp").ask(graph, ID, dtype=dtype, sources=0, device=device, check=check)
    with pytest.raises(NegativeCycleError):
        runs.run(request)


def test_a_negative_edge_is_a_negative_cycle(device):
    graph = Graph.from_arcs(4, [0, 1], [1, 2], [1, -1], directed=False)
    with pytest.raises(NegativeCycleError):
        pyapsp.sssp(graph, 0, ID, device=device)


def test_classes_take_fewer_rounds_and_frontiers_less(device):
    """The leaves of a star are in no frontier."""
    rounds = [
        pyapsp.sssp(GRAPHS["star"], 5, pyapsp.method(ID, classes=classes), device=device).stats[
            "rounds"
        ]
        for classes in (0, 1)
    ]
    assert rounds == [3, 2]


def test_duplicates_are_counted(device):
    """Three vertices find the fourth, which has three arcs, as in the thesis' figure 8.3."""
    arcs = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (4, 5), (4, 6), (4, 7)]
    # without classes, because the last three have one entering arc; each offer is better
    weights = [1, 1, 1, 9, 8, 7, 1, 1, 1]
    graph = Graph.from_arcs(8, *zip(*arcs, strict=True), weights)
    for form in module._FORMS:
        told = []
        method = pyapsp.method(ID, duplicates=form, classes=0, width=1, load=1, group=1, staged=0)
        method.on_counts = told.append
        pyapsp.sssp(graph, 0, method, dtype="int32", device=device)
        (counts,) = told
        entered = counts["entries"] - 7  # vertices but the fourth, once
        assert counts["relaxations"] == 6 + 3 * entered
        if form == "kept":
            assert counts["duplicates"] == 0
            assert 1 <= entered <= 3
        else:
            assert entered == 1
            assert counts["duplicates"] <= 2
    method = pyapsp.method(ID, width=1)
    method.on_counts = told.append
    pyapsp.sssp(graph, 0, method, dtype="int32", device=device)
    assert told[-1]["relaxations"] == 3


def test_the_width_follows_the_frontier(device, monkeypatch):
    monkeypatch.setattr(search, "resident", lambda device: 24576)
    widths = []
    choose = search.Frontiers._width
    monkeypatch.setattr(
        search.Frontiers,
        "_width",
        lambda self, size: widths.append((size, choose(self, size))) or widths[-1][1],
    )
    graph = Graph.from_arcs(7002, [0] * 7000 + [*range(1, 7001)], [*range(1, 7001)] + [7001] * 7000)
    method = pyapsp.method(ID, width=0, group=64, classes=0)
    pyapsp.sssp(graph, 0, method, device=device)
    assert widths == [(1, 32), (7000, 4), (1, 32)]
    searcher = object.__new__(search.Frontiers)
    searcher.__dict__.update(_resident=24576, _parameters=Parameters(group=64))
    sizes = (768, 769, 1536, 1537, 3072, 3073, 10**6)
    assert [choose(searcher, size) for size in sizes] == [32, 16, 16, 8, 8, 4, 4]


def test_limits(device):
    options = PathOptions(device, np.dtype(np.int32))
    error = pyapsp.method(ID).unmet(Facts(2**30, 9, 1, False, True, True), options)
    assert isinstance(error, CapabilityError)
    assert "1,073,741,824 vertices" in str(error)
    with pytest.raises(ParameterError, match="at least width"):
        pyapsp.sssp(GRAPHS["road"], 0, pyapsp.method(ID, width=64, group=32), device=device)


def test_streamed_reads_need_a_compiler_with_them(device, monkeypatch):
    build = module.build

    def without(device, file, defines, **more):
        return build(device, file, {**defines, "__has_builtin(x)": 0}, **more)

    monkeypatch.setattr(module, "build", without)
    graph = GRAPHS["path"]
    for read in ("plain", "read-only"):
        pyapsp.sssp(graph, [0], pyapsp.method(ID, read=read), device=device)
    with pytest.raises(CapabilityError, match=r"read=streamed of sssp-h-bf needs .* use read-only"):
        pyapsp.sssp(graph, [0], pyapsp.method(ID, read="streamed"), device=device)
