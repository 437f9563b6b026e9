"""What `method="auto"` takes, and in which type it computes."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp import errors, verify
from pyapsp.all_pairs import choice
from pyapsp.all_pairs.dense import floyd_warshall
from pyapsp.all_pairs.problem import ALL_PAIRS
from pyapsp.all_pairs.sparse.johnson import Johnson
from pyapsp.bench.shortlist import shortlist
from pyapsp.graph import Graph
from pyapsp.graph.generators import grid_2d, random_graph
from pyapsp.numbers import bounds, precision
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Request
from pyapsp.registry.tuning import database
from pyapsp.registry.tuning.database import merge
from pyapsp.registry.tuning.lookup import tuned_rate


@pytest.fixture
def rows(tmp_path, monkeypatch, row_of):
    """Return a function that makes the only rows there are: (method, dtype, n, rate)."""
    monkeypatch.setattr(database, "shipped_databases", list)
    monkeypatch.setenv("PYAPSP_TUNING", str(tmp_path))

    def make(*found):
        merge(
            tmp_path / "database.json",
            [
                row_of(method=name, dtype=dtype, n=n, parameters={}, rate=rate)
                for name, dtype, n, rate in found
            ],
        )

    return make


@pytest.fixture
def proofs(monkeypatch):
    """Let a proof cost nothing."""
    free = [(proof, lambda graph: -1.0) for proof, _ in choice.PROOFS]
    monkeypatch.setattr(choice, "PROOFS", free)


def chosen(graph, device, dtype="float64"):
    """Return the candidates but for that of a matrix in host memory."""
    answer = [
        (each.method.id, each.dtype.name)
        for each in choice.candidates(graph, AllPairsOptions(device, np.dtype(dtype)))
    ]
    assert answer.count(("fw-outofcore", dtype)) == 1  # what runs when nothing else can
    return [each for each in answer if each[0] != "fw-outofcore"]


@pytest.fixture
def halves():
    """A graph that no integer type holds."""
    return random_graph(90, 400, 9, seed=1).with_weights(np.arange(400) + 0.5)


def test_without_rows_it_is_the_default(halves, rows, device):
    assert chosen(halves, device) == [("fw-minplus", "float64")]


def test_several_devices_without_rows(halves, rows, device):
    result = pyapsp.solve(halves, device=[device, device])
    assert result.stats["method"] == "fw-multidevice"


def test_the_fastest_at_this_size(halves, rows, device):
    rows(
        ("fw-blocked", "float64", 32, 2e9),
        ("fw-blocked", "float64", 128, 2e9),
        ("fw-minplus", "float64", 32, 1e9),
        ("fw-minplus", "float64", 128, 1e10),
    )
    assert [name for name, _ in chosen(halves, device)] == ["fw-minplus", "fw-blocked"]
    small = Graph.from_arcs(33, [0, 1], [1, 2], [0.5, 0.5])
    assert [name for name, _ in chosen(small, device)] == ["fw-blocked", "fw-minplus"]
    result = pyapsp.solve(small, device=device)
    assert result.stats["method"] == "fw-blocked"
    assert any("fw-blocked 0.018 ms (then fw-minplus" in each for each in result.reasons)


def test_the_rate_lies_between_those_of_two_rows(rows, device):
    rows(("fw-blocked", "float64", 64, 1e9), ("fw-blocked", "float64", 256, 4e9))
    method, options = pyapsp.method("fw-blocked"), AllPairsOptions(device, np.dtype("float64"))
    assert tuned_rate(method, 128, options) == pytest.approx(2e9)
    assert tuned_rate(method, 40, options) == pytest.approx(1e9 * 40 / 64)
    assert tuned_rate(method, 512, options) == pytest.approx(4e9)
    assert tuned_rate(method, 10**6, options) is None
    rows(("fw-blocked", "float64", 256, 1e9))
    assert tuned_rate(method, 40, options) == pytest.approx(1e9)  # no slower than it was
    rows(("fw-blocked", "float64", 256, 1e12))
    seconds = 40**3 / tuned_rate(method, 40, options)
    assert seconds == pytest.approx(64**3 / 1e9)  # a smaller one does not take longer


def test_the_time_of_a_search_grows_with_sources_and_arcs(rows, device):
    rows(("near-far", "float32", 1000, 1e9), ("near-far", "float32", 4000, 3e9))
    rows(("fw-minplus", "float32", 4000, 3e9))
    options = AllPairsOptions(device, np.dtype("float32"))
    for name, rate in (("near-far", 6e9), ("fw-minplus", 3e9)):
        assert tuned_rate(pyapsp.method(name), 8000, options) == pytest.approx(rate)


def test_a_method_for_short_distances_needs_the_proof(rows, device):
    rows(("fw-packed8", "int32", 128, 1e12), ("fw-minplus", "int32", 128, 1e6))
    ring = np.arange(128)
    for weight, first in ((1, "fw-packed8"), (2, "fw-minplus")):  # 127 x 2 = 254, and then more
        graph = Graph.from_arcs(128, ring, np.roll(ring, 1), np.full(128, weight))
        assert chosen(graph, device, "int32")[0][0] == "fw-packed8"
        graph = Graph.from_arcs(128, ring, np.roll(ring, 1), np.full(128, weight + 1))
        assert chosen(graph, device, "int32")[0][0] == first


def test_a_conversion_on_the_way_costs_the_bytes_it_adds(rows, device, monkeypatch):
    monkeypatch.setattr(choice.staging, "suits", lambda *_: True)
    rows(("fw-minplus", "float64", 150, 1e9), ("fw-minplus", "uint16", 150, 1e9))
    graph = random_graph(150, 900, 9, seed=2)
    choice._ranking.cache_clear()
    answer = choice.candidates(graph, AllPairsOptions(device, np.dtype("float64")))
    choice._ranking.cache_clear()
    seconds = {each.dtype.name: each.seconds for each in answer if each.method.id == "fw-minplus"}
    # the host writes eight bytes for two that come
    price = seconds["uint16"] - seconds["float64"]
    assert price == pytest.approx(choice._CONVERSION + 150**2 * 6 * choice._CONVERSION_BYTE)


def test_narrow_where_it_is_proved(rows, device):
    types = ("float64", "float32", "int64", "int32")
    rows(*(("fw-minplus", dtype, 150, 1e9) for dtype in types), ("fw-minplus", "uint16", 150, 1e12))
    graph = random_graph(150, 900, 9, seed=2)
    expected = csgraph.dijkstra(graph.to_scipy())
    for dtype in types:
        result = pyapsp.solve(graph, dtype=dtype, device=device, predecessors=True)
        assert (result.stats["dtype"], result.stats["held_dtype"]) == (dtype, "uint16")
        assert result.distances.dtype == dtype
        distances = result.distances.astype(float)
        distances[result.distances == result.infinity] = np.inf
        np.testing.assert_array_equal(distances, expected)
        assert verify.certificate(graph, result, device=device).ok
        assert any("no distance exceeds" in each for each in result.reasons)
    out = np.empty((150, 150))
    assert pyapsp.solve(graph, out=out, device=device).distances is out
    np.testing.assert_array_equal(out, expected)
    rows = pyapsp.solve(graph, sources=[7, 3], cutoff=12.5, device=device).distances
    np.testing.assert_array_equal(rows, np.where(expected > 12.5, np.inf, expected)[[7, 3]])


def test_a_proof_that_costs_more_than_it_gains_is_not_looked_for(rows, monkeypatch, device):
    # 199 x 330 is more than any 16-bit type holds, the longest distance is not
    graph = Graph.from_arcs(
        200, *np.random.default_rng(1).integers(0, 200, (2, 4000)), np.full(4000, 330)
    )
    rows(("fw-minplus", "float64", 200, 1e12), ("fw-minplus", "uint16", 200, 1e12))
    assert ("fw-minplus", "int32") in chosen(graph, device)  # as (n - 1) max w shows
    rows(("fw-minplus", "float64", 200, 1e6), ("fw-minplus", "int32", 200, 1e6))
    assert chosen(graph, device)[0] == ("fw-minplus", "uint16")


@pytest.fixture
def proved(monkeypatch):
    """Return a list that gets the name of each proof that is tried."""
    tried = []

    def noted(proof):
        def try_it(graph):
            tried.append(proof.__name__)
            return proof(graph)

        return try_it

    monkeypatch.setattr(choice, "PROOFS", [(noted(p), price) for p, price in choice.PROOFS])
    return tried


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(6e-5, []), (2e-4, ["hop_bound"]), (9e-4, ["hop_bound", "eccentricity_bound"])],
)
def test_a_proof_has_a_price_however_small_the_graph(rows, proved, device, seconds, expected):
    # not strongly connected: two breadth-first searches say nothing
    graph = Graph.from_arcs(200, [0, 1, 2, 0], [1, 2, 0, 3], [330] * 4)
    rate = 200**3 / seconds
    rates = {"float64": rate, "int32": rate, "uint16": 1e15}
    rows(*(("fw-minplus", dtype, 200, rate) for dtype, rate in rates.items()))
    narrow = "uint16" if len(expected) == 2 else "int32"
    assert {dtype for _, dtype in chosen(graph, device)} == {"float64", narrow}
    assert proved == expected


def test_no_proof_is_tried_that_cannot_gain(rows, proved, device):
    wide, narrow = ("float64", "float32", "int64", "int32"), ("int16", "uint16")
    rates = [(dtype, 1e6) for dtype in wide] + [(dtype, 1e12) for dtype in narrow]
    rows(*(("fw-minplus", dtype, 200, rate) for dtype, rate in rates))
    arcs = np.random.default_rng(1).integers(0, 200, (2, 4000))
    for weights in (330.5, 40000, -330, 3):
        graph = Graph.from_arcs(200, *arcs, np.full(4000, weights))
        choice.candidates(graph, AllPairsOptions(device, np.dtype("float64")))
        assert proved == []  # not whole, too long, negative, short enough as it is
    choice.candidates(
        graph.with_weights(110 * graph.weights), AllPairsOptions(device, np.dtype("int32"))
    )
    assert proved == ["hop_bound"]


@pytest.mark.parametrize("dtype", ["float64", "uint16"])
def test_a_method_for_shorter_distances_is_worth_a_proof(rows, device, dtype):
    graph = random_graph(400, 8000, 9, seed=1)
    wide = ("fw-minplus", dtype, 400, 1e9), ("fw-minplus", "uint16", 400, 1e9)
    rows(("fw-packed8", "uint16", 400, 1e12), *dict.fromkeys(wide))
    assert chosen(graph, device, dtype)[0][0] == "fw-packed8"


def test_a_type_without_rows_goes_by_the_nearest_in_width(rows, halves, device):
    """Half as fast as rows of half the width, no faster than rows of twice the width."""
    nearly = partial(pytest.approx, rel=1e-3)  # beside the arcs that the host writes

    def seconds(dtype, graph=halves):
        options = AllPairsOptions(device, np.dtype(dtype))
        return choice.candidates(graph, options)[0].seconds

    rows(("fw-minplus", "float32", 90, 1e9))
    in_time = 90**3 / 1e9
    assert seconds("float32") == nearly(in_time)
    assert seconds("float64") == nearly(2 * in_time)
    rows(("fw-minplus", "float64", 90, 2e8))
    assert seconds("float64") == nearly(5 * in_time)
    whole = random_graph(90, 400, 9, seed=1)
    assert seconds("uint16", whole) == nearly(in_time)


def test_searches_by_bits_are_considered_in_every_type(rows, device):
    """An unweighted graph is searched whatever the dtype of the answer; float64 is the default."""
    graph = random_graph(2000, 16000, 1, seed=1)
    rows(("ms-bfs", "float32", 2000, 1e12), ("fw-minplus", "uint16", 2000, 1e11))
    for dtype in ("float64", "float32", "int64", "int32", "int16", "uint16"):
        assert chosen(graph, device, dtype)[0][0] == "ms-bfs"


def test_searches_by_bits_are_considered_with_predecessors(rows, device):
    """Rows tell the time without them."""
    graph = random_graph(2000, 16000, 1, seed=1)
    rows(("ms-bfs", "float32", 2000, 1e12), ("fw-minplus", "float32", 2000, 1e11))
    given = AllPairsOptions(device, np.dtype("float32"))
    plain, _, *_ = choice.candidates(graph, given)
    answer, _, *_ = choice.candidates(graph, replace(given, predecessors=True))
    assert plain.method.id == answer.method.id == "ms-bfs"
    assert 1.5 * plain.seconds < answer.seconds < 6 * plain.seconds


@pytest.mark.parametrize("scalar", [True, False])
def test_arcs_of_a_search_by_bits_take_less_than_its_rows(rows, device, set_scalar, scalar):
    set_scalar(scalar)
    rows(("ms-bfs", "float32", 1000, 1e12))
    method, options = pyapsp.method("ms-bfs"), AllPairsOptions(device, np.dtype("float32"))
    few, many = (
        method.predict(replace(random_graph(1000, m, 1, seed=1).facts, depth=3), options, 1000)
        for m in (4000, 44000)
    )
    assert 1.05 * few < many < 1.3 * few


def test_more_arcs_of_a_search_by_bits_are_fewer_levels(rows, device, set_scalar):
    """On two cores of a CPU, 64 arcs a vertex took 0.75 of the time of 4, and 8 took 0.76."""
    set_scalar(True)
    rows(("ms-bfs", "float32", 4096, 1e12))
    time = {
        arcs: predicted(device, "ms-bfs", random_graph(4096, 4096 * arcs, 1, seed=1).sounded, 4096)
        for arcs in (4, 8, 64)
    }
    assert 0.6 * time[4] < time[8] < 0.9 * time[4]
    assert 0.6 * time[4] < time[64] < 0.9 * time[4]


@pytest.mark.parametrize("scalar", [True, False])
def test_a_deep_search_takes_its_levels_on_a_gpu(rows, device, set_scalar, scalar):
    """Without an estimate, a mesh with two arcs a vertex may be a path."""
    set_scalar(scalar)
    rows(("near-far", "float32", 1000, 1e15))
    facts = random_graph(1000, 2000, 9, seed=1).facts
    flat, deep = (
        predicted(device, "near-far", replace(facts, depth=depth), 1000) for depth in (4, 1000)
    )
    unknown, mesh = (
        predicted(device, "near-far", replace(facts, family=family), 1000)
        for family in ("uniform", "mesh")
    )
    if scalar:
        assert deep == unknown == flat == mesh
    else:
        assert flat < unknown < 1.5 * flat
        assert deep - flat == pytest.approx(996 * 3.5e-6)
        assert deep < mesh < 1.2 * deep


def test_few_sources_do_not_fill_a_gpu(rows, device, set_scalar):
    """Measured on an H200: seconds of sources, with 20,000 vertices, and with 40,000 of a grid."""
    set_scalar(False)
    rows(("near-far", "float32", 20000, 2.8e13))
    uniform = replace(random_graph(20000, 80000, 9, seed=1).facts, depth=11)
    mesh = replace(uniform, n=40000, m=159200, family="mesh", depth=256)
    for facts, times in (
        (uniform, {1: 3.6e-3, 8: 7.3e-3, 64: 8.2e-3, 256: 8.8e-3, 1024: 16.6e-3, 4096: 54e-3}),
        (mesh, {8: 37e-3, 64: 36e-3, 256: 38e-3, 1024: 54e-3, 4096: 170e-3}),
    ):
        for count, seconds in times.items():
            assert seconds / 2 < predicted(device, "near-far", facts, count) < 2 * seconds


def test_few_sources_by_bits_take_the_launches_of_their_levels_on_a_gpu(rows, device, set_scalar):
    """Measured on an H200 with 5,000 vertices: 1.9 to 2.8 ms for 1 to 1,024 sources."""
    set_scalar(False)
    rows(("ms-bfs", "float32", 5000, 1e13))
    facts = replace(random_graph(5000, 20000, 1, seed=1).facts, depth=11)
    for count, seconds in ((1, 1.9e-3), (256, 2.5e-3), (1024, 2.8e-3)):
        assert seconds / 2 < predicted(device, "ms-bfs", facts, count) < 2 * seconds


def test_searches_with_launches_follow_each_other_on_a_gpu(rows, device, set_scalar):
    """Measured on an H200: 1 and 16 sources of 20,000 vertices, and 256 of a grid of 40,000."""
    set_scalar(False)
    rows(("apsp-tasks", "float32", 20000, 1e13))
    uniform = replace(random_graph(20000, 75170, 9, seed=1).facts, depth=16)
    mesh = replace(uniform, n=40000, m=159200, family="mesh", depth=256)
    for facts, count, seconds in ((uniform, 1, 3.1e-3), (uniform, 16, 3.5e-3), (mesh, 256, 0.15)):
        assert seconds / 2 < predicted(device, "apsp-tasks", facts, count) < 2 * seconds


def test_few_arcs_add_no_time(rows, device):
    rows(("fw-minplus", "float32", 512, 1e11))
    facts = random_graph(512, 2048, 9, seed=1).facts
    few, usual = (predicted(device, "fw-minplus", replace(facts, m=m), 512) for m in (100, 2048))
    assert few == usual == pytest.approx(512**3 / 1e11)


def predicted(device, name, facts, rows, dtype="float32"):
    return pyapsp.method(name).predict(facts, AllPairsOptions(device, np.dtype(dtype)), rows)


@pytest.mark.parametrize("scalar", [True, False])
def test_many_arcs_take_less_than_in_proportion_on_a_cpu(rows, device, set_scalar, scalar):
    """A skewed graph of 13 arcs a vertex took 0.6 of a time in proportion to arcs."""
    set_scalar(scalar)
    rows(("near-far", "float32", 1000, 1e9))
    facts = random_graph(1000, 4000, 9, seed=1).facts
    few, usual, many = (
        predicted(device, "near-far", replace(facts, m=m, reach=0.5), 1000)
        for m in (3000, 4000, 64000)
    )
    assert few == pytest.approx(usual * 3 / 4)
    assert many == pytest.approx(usual * (4 if scalar else 16))
    # the part that is reached counts, not the arcs of the part
    assert usual == pytest.approx(
        predicted(device, "near-far", replace(facts, m=4000, reach=1.0), 1000) / 2
    )


@pytest.mark.parametrize("name", ["near-far", "apsp-tasks"])
@pytest.mark.parametrize("scalar", [True, False])
def test_vectors_of_few_sources_are_narrow_on_a_cpu(rows, device, set_scalar, scalar, name):
    set_scalar(scalar)
    rows((name, "float32", 20000, 1e12))
    facts = random_graph(20000, 80000, 9, seed=1).facts
    one, all_rows = (predicted(device, name, facts, count) for count in (1, 20000))
    each = 20000**2 / 1e12
    assert all_rows == pytest.approx(20000 * each)
    if scalar:  # one source has a vector and the constant of a call; two cores have 16 sources
        assert 1e-3 + 4 * each < one < 1e-3 + 100 * each
    else:  # a group alone, or launches of each level
        assert 1e-3 < one < 5e-3


def test_a_search_without_vectors_takes_its_share(rows, device):
    rows(("dijkstra-cpu", "float32", 20000, 1e12))
    facts = random_graph(20000, 80000, 9, seed=1).facts
    one, two = (predicted(device, "dijkstra-cpu", facts, count) for count in (1, 2))
    assert two - one == pytest.approx(20000**2 / 1e12, rel=1e-3)


def test_a_call_has_a_constant_on_a_cpu(rows, device, set_scalar):
    """Methods that search are compared with methods that compute the matrix of a small graph."""
    set_scalar(True)
    rows(("ms-bfs", "float32", 1000, 1e15), ("near-far", "float32", 1000, 1e15))
    facts = random_graph(1000, 4000, 1, seed=1).facts
    for name in ("ms-bfs", "near-far"):
        assert 9e-4 < predicted(device, name, facts, 1) < 1.1e-3
        assert predicted(device, name, facts, 1000) < 1e-4


@pytest.mark.parametrize("scalar", [True, False])
def test_sources_that_are_far_apart_in_a_mesh_share_no_visits(rows, device, set_scalar, scalar):
    set_scalar(scalar)
    rows(("near-far", "float32", 40000, 1e9))
    mesh = replace(random_graph(40000, 160000, 9, seed=1).facts, family="mesh")
    uniform = replace(mesh, family="uniform")
    for count, least, most in ((40000, 1, 1), (20000, 1.2, 1.5), (256, 3, 4), (64, 3, 4)):
        apart = predicted(device, "near-far", mesh, count)
        assert least <= apart / predicted(device, "near-far", uniform, count) <= most


@pytest.mark.parametrize("scalar", [True, False])
@pytest.mark.parametrize(("name", "least", "most"), [("ms-bfs", 2, 5), ("near-far", 2.5, 4)])
def test_deep_graphs_that_are_numbered_at_random_take_longer(
    rows, device, set_scalar, scalar, name, least, most
):
    """A grid of 70 x 70 took 3 times as long by ms-bfs on a CPU, and 3.6 by near-far."""
    set_scalar(scalar)
    rows((name, "float32", 4900, 1e12))
    grid = grid_2d(70, 70, seed=0).unweighted()
    tails, heads, ones = grid.arcs()
    other = np.random.default_rng(1).permutation(grid.n)
    mixed = Graph.from_arcs(grid.n, other[tails], other[heads], ones)
    assert grid.sounded.spread < 1 / 64 < 1 / 4 < mixed.sounded.spread
    deep = replace(grid.sounded, depth=128)
    ordered, random = (
        predicted(device, name, replace(deep, spread=each.sounded.spread), grid.n)
        for each in (grid, mixed)
    )
    if scalar:
        assert least < random / ordered < most
    else:
        assert random == ordered
    # a search that is not deep meets most vertices within few levels
    short = replace(deep, depth=12)
    one, two = (
        predicted(device, name, replace(short, spread=each), grid.n) for each in (1e-3, 1 / 3)
    )
    assert one == two


def test_bits_that_leave_the_caches_take_longer(rows, device, set_scalar):
    set_scalar(True)
    rows(("ms-bfs", "float32", 4900, 1e12), ("ms-bfs", "float32", 40000, 1e12 * (400 / 49) ** 3))
    facts = replace(random_graph(4900, 19600, 1, seed=0).facts, depth=128, spread=1 / 3)
    few, many = (
        predicted(device, "ms-bfs", replace(facts, n=n, m=4 * n), n) for n in (4900, 40000)
    )
    assert 2 < many / few < 4  # the rows alone would tell the same time


def test_sources_that_occur_often_take_their_time(rows, device, set_scalar):
    """More rows than vertices: the constant of a call is not below 0, and no vector is shorter."""
    set_scalar(True)
    names = ("near-far", "dijkstra-cpu", "apsp-tasks")
    rows(*((name, "float32", 900, 1e15) for name in names))
    graph = grid_2d(30, 30, seed=1)
    for name in names:
        once, often = (predicted(device, name, graph.facts, count) for count in (900, 900_000))
        assert 300 * once < often < 1001 * once
    asked = {"sources": np.zeros(900_000, np.int32)}
    assert {*names} <= {*shortlist(ALL_PAIRS, graph, ["float32"], [device], asked)[0]}


def test_a_search_in_float64_is_not_twice_as_slow(rows, device):
    rows(("near-far", "float32", 1000, 1e9))
    narrow, wide = (
        tuned_rate(pyapsp.method("near-far"), 1000, AllPairsOptions(device, np.dtype(dtype)))
        for dtype in ("float32", "float64")
    )
    assert wide == pytest.approx(narrow / 2**0.5)


@pytest.mark.parametrize(
    ("name", "dtype", "least", "most"),
    [
        ("near-far", "float32", 1.2, 2.0),
        ("fw-minplus", "int32", 1.05, 2.0),
        ("fw-minplus", "float32", 1.1, 3.0),
        ("fw-blocked", "float32", None, None),  # no row tells the time of its own predecessors
    ],
)
def test_predecessors_have_a_price(rows, device, name, dtype, least, most):
    """Rows tell the time without them."""
    graph, method = random_graph(1000, 4000, 9, seed=1), pyapsp.method(name)
    rows((name, dtype, 1000, 1000**3 / 0.01))
    given = AllPairsOptions(device, np.dtype(dtype))
    plain = method.predict(graph.facts, given, 1000)
    seconds = method.predict(graph.facts, replace(given, predecessors=True), 1000)
    assert plain == pytest.approx(0.01)
    if least is None:
        assert seconds is None
    else:
        assert least * plain < seconds < most * plain


def test_the_tightest_of_all_bounds_counts(monkeypatch, rows, device):
    # a star with its hub last: searches from a leaf see twice as far
    leaves = np.arange(49)
    graph = Graph.from_arcs(50, leaves, np.full(49, 49), np.full(49, 4 * 10**8), directed=False)
    assert bounds.hop_bound(graph) == 8 * 10**8
    assert bounds.eccentricity_bound(graph) == 16 * 10**8
    assert pyapsp.solve(graph, dtype="auto", device=device).distances.dtype == np.int32
    free = [(proof, lambda graph: -1.0) for proof, _ in choice.PROOFS]
    monkeypatch.setattr(choice, "PROOFS", free)
    rows(("fw-minplus", "float64", 50, 1e6), ("fw-minplus", "int32", 50, 1e9))
    assert chosen(graph, device)[0] == ("fw-minplus", "int32")


def test_a_conversion_has_a_price(rows, device):
    graph = random_graph(200, 900, 9, seed=1)
    in_time = 200**3 / 1e-4
    longer = 200**3 / (1e-4 + 4e-5 + 200**2 * 1e-9)
    rows(("fw-minplus", "float64", 200, longer * 1.01), ("fw-minplus", "uint16", 200, in_time))
    assert chosen(graph, device)[0] == ("fw-minplus", "float64")
    rows(("fw-minplus", "float64", 200, longer * 0.99))
    assert chosen(graph, device)[0] == ("fw-minplus", "uint16")


def test_a_ranking_is_remembered_for_what_it_goes_by(rows, device):
    rows(*(("fw-blocked", dtype, 100, 2e9) for dtype in ("float64", "uint16")))
    options = AllPairsOptions(device, np.dtype("float64"))
    graph = random_graph(100, 300, 9, seed=1)
    first = choice.candidates(graph, options)
    again = AllPairsOptions(device, np.dtype("float64"), out=np.empty((100, 100)))
    assert choice.candidates(random_graph(100, 300, 9, seed=2), again) is first
    changes = [
        (random_graph(101, 300, 9, seed=1), {}),
        (random_graph(100, 301, 9, seed=1), {}),
        (random_graph(100, 300, 5, seed=1), {}),
        (graph.with_weights(graph.weights + 0.5), {}),
        (graph.with_weights(-graph.weights), {}),
        (graph.with_weights(np.ones(300, int)), {}),
        (graph, {"predecessors": True}),
        (graph, {"dtype": np.dtype("float32")}),
        (graph, {"sources": np.arange(3)}),
        (graph, {"sources": np.arange(4)}),
        (graph, {"checkpoint": "here"}),
    ]
    others = [choice.candidates(each, replace(options, **change)) for each, change in changes]
    assert len({id(each) for each in [first, *others]}) == 1 + len(changes)
    rows(("fw-blocked", "float64", 100, 3e9))
    assert choice.candidates(graph, options) != first


@pytest.mark.parametrize(
    ("weights", "dtype", "held"),
    [
        ([1, 2], "uint16", None),
        ([1, 2], "int16", None),
        ([1, -1], "float64", "int16"),
        ([0.5, 1], "float64", None),
        ([2**14, 1], "float32", "uint16"),
        ([2**14 - 1, -1], "float64", "int32"),
        ([2**28, 1], "float64", "int32"),
        ([2**28, 1], "float32", None),
        ([2**40, 1], "float64", None),
        ([2000, 1], "float16", None),
    ],
)
def test_what_is_narrower(weights, dtype, held):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], weights)
    bound = graph.max_magnitude + 1
    narrow = precision.narrower(graph, np.dtype(dtype), bound)
    assert (narrow and narrow.name) == held


def test_a_float_that_would_round_is_not_replaced():
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [2**24, 1])
    assert precision.narrower(graph, np.dtype("float64"), 2**24 + 1) == np.int32
    assert precision.narrower(graph, np.dtype("float32"), 2**24 + 1) is None


def test_what_does_not_fit_the_memory_is_passed_over(rows, proofs, device):
    rows(("fw-minplus", "float64", 300, 1e6))
    graph = random_graph(300, 900, 9, seed=3)
    assert chosen(graph, device) == [("fw-minplus", "float64"), ("fw-minplus", "uint16")]
    method = pyapsp.method("fw-minplus")
    needed = method.plan(graph, AllPairsOptions(device, np.dtype("uint16"))).device_bytes
    result = pyapsp.solve(graph, device=device, memory_limit=needed)
    assert (result.stats["method"], result.stats["held_dtype"]) == ("fw-minplus", "uint16")
    with pytest.raises(errors.DeviceMemoryError) as caught:
        pyapsp.solve(graph, device=device, memory_limit=2000)
    assert caught.value.available == 2000
    assert 2000 < caught.value.needed <= needed


def test_a_method_that_stalls_is_passed_over(halves, rows, device, monkeypatch):
    rows(("fw-blocked", "float64", 100, 1e12), ("fw-minplus", "float64", 100, 1e6))

    def stall(self, plan):
        raise errors.StallError("nobody moves")

    monkeypatch.setattr(type(pyapsp.method("fw-blocked")), "run", stall)
    with pytest.warns(errors.FallbackWarning, match="fw-blocked could not run.*nobody moves"):
        result = pyapsp.solve(halves, device=device)
    assert result.stats["method"] == "fw-minplus"
    assert result.stats["refused"] == ["fw-blocked: nobody moves"]
    assert "not fw-blocked: nobody moves" in result.explain()
    for refusing in (
        lambda: pyapsp.solve(halves, "fw-blocked", device=device),
        lambda: pyapsp.solve(halves, device=device, fallback=False),
        lambda: next(pyapsp.row_blocks(halves, device=device, fallback=False)),
    ):
        with pytest.raises(errors.StallError):
            refusing()


def test_memory_that_no_device_has_is_no_fallback(rows, device, recwarn):
    """Which methods fit on a device does not depend on the moment."""
    rows(("fw-blocked", "float64", 300, 1e12))
    graph = random_graph(300, 900, 9, seed=3)
    options = AllPairsOptions(device, np.dtype("float64"))
    needed = pyapsp.method("fw-blocked").plan(graph, options).device_bytes
    limit = {"memory_limit": needed // 2, "device": device}
    result = pyapsp.solve(graph, dtype="float64", fallback=False, **limit)
    assert any(each.startswith("fw-blocked: ") for each in result.stats["refused"])
    assert not [each for each in recwarn if each.category is errors.FallbackWarning]


def test_a_negative_cycle_is_found_in_the_narrow_type(device):
    graph = Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], [1, 1, -3])
    with pytest.raises(errors.NegativeCycleError):
        pyapsp.solve(graph, device=device)


def test_a_path_is_not_searched_level_by_level(rows, device):
    """It has as many levels as vertices; a graph of short paths has few."""
    rows(("ms-bfs", "float32", 3000, 1e12), ("near-far", "float32", 3000, 3e11))
    way = Graph.from_arcs(3000, np.arange(2999), np.arange(1, 3000), directed=False)
    assert chosen(way, device, "float32")[0][0] == "near-far"
    near = random_graph(3000, 24000, 1, seed=1)
    assert chosen(near, device, "float32")[0][0] == "ms-bfs"


def test_depth_is_estimated(rows, device):
    """Degrees do not tell a bush of short paths from one with a long handle."""
    rows(("ms-bfs", "float32", 2000, 1e12), ("near-far", "float32", 2000, 3e11))
    half = np.arange(1000)
    bush = Graph.from_arcs(2001, np.full(2000, 2000), np.arange(2000), directed=False)
    handle = Graph.from_arcs(2000, half, half + 1, directed=False)
    broom = Graph.from_arcs(
        2000, np.append(half, np.full(999, 1000)), np.arange(1, 2000), directed=False
    )
    assert bush.family == broom.family == "power-law"
    assert chosen(bush, device, "float32")[0][0] == "ms-bfs"
    method, options = pyapsp.method("ms-bfs"), AllPairsOptions(device, np.dtype("float32"))
    assert method.predict(broom.sounded, options, 1) > 1000 * 1e-5  # launches of a level
    for deep in (handle, broom):
        assert chosen(deep, device, "float32")[0][0] == "near-far"


def test_reach_is_estimated(rows, device):
    """A search from a vertex of a small component is short, however many arcs there are."""
    rows(("near-far", "float32", 2000, 3e11), ("fw-minplus", "float32", 2000, 1.5e11))
    tails, heads = np.nonzero(~np.eye(20, dtype=bool))
    tails, heads = (np.add.outer(20 * np.arange(100), each).ravel() for each in (tails, heads))
    weights = np.arange(tails.size) % 97 + 0.5
    apart = Graph.from_arcs(2000, tails, heads, weights)
    together = Graph.from_arcs(2000, tails, (heads + 20 * np.arange(heads.size)) % 2000, weights)
    assert together.m > 0.9 * apart.m
    assert chosen(apart, device, "float32")[0][0] == "near-far"
    assert chosen(together, device, "float32")[0][0] == "fw-minplus"


def test_what_is_beyond_the_cutoff_is_not_searched(rows, device):
    """All of a matrix is computed, but only what is near is searched."""
    rows(("near-far", "float32", 2000, 1e11), ("fw-minplus", "float32", 2000, 3e11))
    graph = random_graph(2000, 32000, 99, seed=1).with_weights(np.arange(32000) % 97 + 0.5)

    def first(cutoff, graph=graph):
        options = AllPairsOptions(device, np.dtype("float32"), cutoff=cutoff)
        return choice.candidates(graph, options)[0].method.id

    assert [first(cutoff) for cutoff in (2.0, 1e4, None)] == ["near-far", *["fw-minplus"] * 2]
    # searches with negative weights go on
    assert first(2.0, graph.with_weights(graph.weights - 0.75)) == "fw-minplus"


def test_no_search_beside_a_short_run_or_without_a_choice(rows, monkeypatch, device):
    searched = []
    monkeypatch.setattr(Graph, "sounded", property(lambda graph: searched.append(graph)))
    graph = random_graph(2000, 16000, 1, seed=1)
    rows(("ms-bfs", "float32", 2000, 8e12), ("near-far", "float32", 2000, 8e12))
    assert chosen(graph, device, "float32")[0][0] in ("ms-bfs", "near-far")
    rows(("ms-bfs", "float32", 2000, 1), ("near-far", "float32", 2000, 0))
    assert chosen(graph, device, "float32")[0][0] == "ms-bfs"
    assert searched == []


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_negative_weights_may_be_searched(rows, device, dtype):
    rows(("near-far", dtype, 400, 1e11), ("fw-minplus", dtype, 400, 1e9))
    graph = random_graph(400, 1600, 9, seed=1)
    lifted = graph.with_weights(graph.weights + graph.arcs()[0] % 5 - graph.indices % 5)
    assert lifted.has_negative
    assert chosen(graph, device, dtype)[0][0] == "near-far"
    assert chosen(lifted, device, dtype)[0][0] == "johnson"
    result = pyapsp.solve(lifted, dtype=dtype, device=device)
    assert result.stats["method"] == "johnson"
    distances = np.where(result.distances == result.infinity, np.inf, result.distances)
    np.testing.assert_array_equal(distances, csgraph.johnson(lifted.to_scipy()))


def test_a_matrix_in_host_memory_is_predicted(rows, device):
    """It is taken before a search that takes longer, if the device does not hold the matrix."""
    graph = random_graph(1500, 9000, 9, seed=1)
    graph = graph.with_weights(graph.weights + 0.1)
    for search, expected in ((1e7, "fw-outofcore"), (9e9, "near-far")):
        rows(("fw-minplus", "float64", 1500, 1e9), ("near-far", "float64", 1500, search))
        result = pyapsp.solve(graph, device=device, memory_limit=12_000_000)
        assert result.stats["method"] == expected


@pytest.fixture
def fresh():
    """Rankings that a test makes of a device that is not there are not kept."""
    choice._ranking.cache_clear()
    yield
    choice._ranking.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_few_rows_up_to_a_cutoff_are_searched_by_the_host(device, monkeypatch):
    """On a CPU, whatever the tuning rows say; the device computes more rows, and whole ones."""

    def first(graph, count, cutoff=2.0, dtype="float32"):
        options = AllPairsOptions(device, np.dtype(dtype), cutoff=cutoff, sources=np.arange(count))
        return next(choice.choices(Request(ALL_PAIRS, graph, "auto", options))).method.id

    graph = random_graph(500, 2000, 9, seed=3)
    monkeypatch.setitem(vars(device), "kind", "cpu")
    assert [first(graph, count) for count in (1, 16)] == ["dijkstra-cpu"] * 2
    assert "few sources and a cutoff" in pyapsp.explain(graph, sources=[3], cutoff=2, device=device)
    negative = graph.with_weights(graph.weights - 2)
    monkeypatch.setattr(choice, "_FEW_VISITS", 17)
    others = [first(graph, 17, 1e3), first(graph, 4, None), first(negative, 4)]
    others.append(first(graph, 4, dtype="float16"))  # the host rounds it later
    assert "dijkstra-cpu" not in others
    monkeypatch.setitem(vars(device), "kind", "gpu")
    assert first(graph, 4) != "dijkstra-cpu"


@pytest.mark.usefixtures("fresh")
def test_few_rows_without_numba(device, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    graph = random_graph(400, 1500, seed=5)
    found = pyapsp.solve(graph, sources=[7, 3], cutoff=2, device=device)
    assert found.stats["method"] != "dijkstra-cpu"


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint16"])
def test_few_rows_have_the_bits_of_the_device(dtype, device):
    random = np.random.default_rng(6)
    graph = random_graph(300, 2400, seed=6)
    weights = random.integers(0, 99, graph.m) / (1 if dtype[0] in "iu" else 7)
    graph, sources = graph.with_weights(weights), random.integers(0, 300, 16)
    options = {"sources": sources, "cutoff": 12.5, "dtype": dtype, "device": device}
    one, other = pyapsp.solve(graph, **options), pyapsp.solve(graph, "near-far", **options)
    assert one.distances.tobytes() == other.distances.tobytes()
    assert ((one.distances > 0) & (one.distances != one.infinity)).any()


def test_predictions_of_narrower_types_know_the_type_of_the_answer(device, monkeypatch):
    """It decides how the matrix comes to the host, and so how it goes to the device."""
    asked, computed = [], choice.RankingKey.computed_in

    def kept(self, dtype):
        options = computed(self, dtype)
        asked.append((dtype, options.dtype, options.answer))
        return options

    monkeypatch.setattr(choice.RankingKey, "computed_in", kept)
    monkeypatch.setattr(choice, "_rankings", {}, raising=False)
    pyapsp.solve(random_graph(33, 200, 9, seed=77), dtype="float64", device=device)
    assert {each.name for each, _, _ in asked} > {"float64"}
    assert all(each == used and answer == "float64" for each, used, answer in asked)


@pytest.mark.parametrize(
    ("arcs", "here", "each"),
    [(20_000, True, 6e-9), (20_000, False, 6e-9), (10**5, True, 2e-9), (10**5, False, 5e-10)],
)
def test_the_time_of_arcs_that_are_written_into_a_matrix(arcs, here, each, device, monkeypatch):
    """On the host of an H200 one thread wrote a million in 8 ms; a CPU in 2, the GPU in 0.5."""
    monkeypatch.setattr(floyd_warshall, "tuned_rate", lambda *_: 1e12)
    monkeypatch.setattr(floyd_warshall, "in_place", lambda _: here)
    options = AllPairsOptions(device, np.dtype("uint16"), answer=np.dtype("float64"))
    facts = replace(random_graph(20, 40).facts, n=1000, m=arcs)
    later = pyapsp.method("fw-minplus").predict(facts, options, 1000) - 1000**3 / 1e12
    assert later == pytest.approx(each * (arcs - floyd_warshall.ARCS * 1000))


def test_devices_that_must_search_alone(rows, device, monkeypatch):
    """Of rows that the host has no memory for all of, with devices that cannot share them."""
    monkeypatch.setattr(choice, "installed_memory", lambda: 1)
    unmet = Johnson.unmet

    def alone(self, about, options):
        if options.helpers:
            return errors.CapabilityError("double precision on all devices, or on none")
        return unmet(self, about, options)

    monkeypatch.setattr(Johnson, "unmet", alone)
    choice._ranking.cache_clear()
    graph = random_graph(90, 400, 9, seed=1).with_weights(np.arange(400) + 0.5)
    result = pyapsp.solve(graph, sources=[3, 5], device=[device, device])
    choice._ranking.cache_clear()
    assert result.stats["method"] == "johnson"
    np.testing.assert_allclose(result.distances, csgraph.dijkstra(graph.to_scipy(), indices=[3, 5]))
