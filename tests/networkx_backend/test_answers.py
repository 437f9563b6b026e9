"""Calls on the backend give what NetworkX gives: values, types, exceptions, order."""

from __future__ import annotations

import inspect
import math
import random
import tracemalloc

import networkx as nx
import numpy as np
import pytest

from pyapsp.all_pairs import summaries
from pyapsp.networkx_backend import efficiencies, get_info

FUNCTIONS = sorted(get_info()["functions"])
PATHS = ["all_pairs_shortest_path", "all_pairs_dijkstra_path", "all_pairs_bellman_ford_path"]
PATHS += ["johnson"]
SINGLE = [name for name in FUNCTIONS if name.startswith(("single_source", "dijkstra_path"))]
OTHERS = sorted(
    set(FUNCTIONS)
    - set(SINGLE)
    - {*PATHS, "all_pairs_dijkstra", "shortest_path", "floyd_warshall_predecessor_and_distance"}
    - {"floyd_warshall_numpy", "condensation", "strongly_connected_components", "k_truss"}
    - {"voronoi_cells", "betweenness_centrality", "edge_betweenness_centrality"}
    - {"connected_components", "weakly_connected_components", "node_connected_component"}
    - ({"centroid"} - set(dir(nx)))  # since NetworkX 3.7
)


def weighted(graph, draw):
    for *_, data in graph.edges(data=True):
        data["weight"] = draw()
    return graph


def graphs():
    draw = random.Random(5)
    sparse = nx.gnp_random_graph(25, 0.08, seed=1)
    assert not nx.is_connected(sparse)
    directed = nx.gnp_random_graph(17, 0.25, seed=2, directed=True)
    assert nx.is_strongly_connected(directed)
    connected = nx.connected_watts_strogatz_graph(20, 4, 0.3, seed=3)
    whole, part = (lambda: draw.randint(0, 9)), draw.random
    parallel = nx.MultiDiGraph()
    parallel.add_weighted_edges_from([(0, 1, 5), (0, 1, 2), (1, 2, 1), (2, 0, 4), (2, 2, 1)])
    odd = nx.Graph([("b", (1, 2)), ((1, 2), frozenset()), (frozenset(), 4), (4, "b"), (4, 2.5)])
    negative = weighted(directed.copy(), whole)
    for tail, head, data in negative.edges(data=True):
        data["weight"] += tail * 7 % 11 - head * 7 % 11
    return {
        "null": nx.Graph(),
        "directed null": nx.DiGraph(),
        "one node": nx.empty_graph(1),
        "no edges": nx.empty_graph(3, create_using=nx.DiGraph),
        "two parts": weighted(sparse, whole),
        "directed": weighted(directed.copy(), whole),
        "floats": weighted(directed.copy(), part),
        "connected": weighted(connected.copy(), whole),
        "connected floats": weighted(connected.copy(), part),
        "whole floats": weighted(connected.copy(), lambda: float(whole())),
        "zeros": weighted(connected.copy(), lambda: 0),
        "zero floats": weighted(nx.cycle_graph(3), lambda: 0.0),
        "parallel": parallel,
        "odd nodes": weighted(odd, whole),
        "negative": negative,
    }


GRAPHS = graphs()


def arguments(name, weight):
    parameters = inspect.signature(getattr(nx, name)).parameters
    return {key: weight for key in ("weight", "distance") if key in parameters}


def outcome(name, graph, backend, **options):
    """What a call gives, or the type of what it raises."""
    try:
        found = getattr(nx, name)(graph, backend=backend, **options)
        return dict(found) if hasattr(found, "__next__") else found
    except Exception as error:
        return type(error)


def refused(name, graph, **options):
    from pyapsp.networkx_backend.interface import can_run

    return isinstance(can_run(name, (graph,), options), str)


def assert_same(found, expected):
    """Same type everywhere; floats as far as the order of additions lets them be."""
    if isinstance(expected, dict):
        assert isinstance(found, dict)
        assert found.keys() == expected.keys()
        for key in expected:
            assert_same(found[key], expected[key])
    elif isinstance(expected, float):
        assert type(found) is float
        assert math.isclose(found, expected, rel_tol=1e-14)
    else:
        assert type(found) is type(expected)
        assert found == expected


@pytest.mark.parametrize("weight", [None, "weight", "no such"])
@pytest.mark.parametrize("kind", GRAPHS)
def test_numbers_are_those_of_networkx(kind, weight):
    ran = 0
    for name in OTHERS:
        options = arguments(name, weight)
        if refused(name, GRAPHS[kind], **options):
            continue  # what test_backend.py lists
        if name.endswith("_efficiency") and GRAPHS[kind].is_directed():
            continue
        found = outcome(name, GRAPHS[kind], "pyapsp", **options)
        assert_same(found, outcome(name, GRAPHS[kind], "networkx", **options))
        ran += 1
    assert ran >= (3 if kind == "negative" else 10)


@pytest.mark.parametrize("name", [*PATHS, "all_pairs_dijkstra"])
@pytest.mark.parametrize("kind", GRAPHS)
def test_paths_are_as_short_as_those_of_networkx(kind, name):
    graph, options = GRAPHS[kind], arguments(name, "weight")
    if refused(name, graph, **options):
        assert kind == "negative"
        return
    found = outcome(name, graph, "pyapsp", **options)
    expected = outcome(name, graph, "networkx", **options)
    weight = options.get("weight")
    assert found.keys() == expected.keys()
    for source, paths in found.items():
        others = expected[source]
        if name == "all_pairs_dijkstra":
            lengths, paths = paths
            assert_same(lengths, others[0])
            others = others[1]
        assert paths.keys() == others.keys()
        assert next(iter(paths), source) == source
        for target, path in paths.items():
            assert (path[0], path[-1]) == (source, target)
            length = nx.path_weight(graph, path, weight) if weight else len(path)
            other = nx.path_weight(graph, others[target], weight) if weight else len(others[target])
            assert length == pytest.approx(other, rel=1e-14)


ENDS = [(None, None), (0, None), (None, 2), (0, 2), (0, 0), (2, 0), (99, 0), (0, 99), (None, 99)]


@pytest.mark.parametrize("method", ["dijkstra", "bellman-ford", "no such"])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("kind", sorted(set(GRAPHS) - {"odd nodes"}))
def test_shortest_paths_of_every_signature(kind, weight, method):
    graph = GRAPHS[kind]
    for source, target in ENDS:
        options = {"source": source, "target": target, "weight": weight, "method": method}
        if refused("shortest_path", graph, **options):
            assert (kind, weight) == ("negative", "weight")
            assert method == "dijkstra" or {source, target} != {None}
            assert refused("shortest_path_length", graph, **options)
            continue
        found, expected = (outcome("shortest_path_length", graph, b, **options) for b in BACKENDS)
        assert_same(found, expected)
        paths, others = (outcome("shortest_path", graph, b, **options) for b in BACKENDS)
        if isinstance(others, type):
            assert paths is others
            continue
        if source is None and target is None:
            pairs = [(paths[u], found[u], (u, None)) for u in expected]
            assert paths.keys() == others.keys()
        else:
            pairs = [(paths, found, (source, target))]
        for some, lengths, (start, end) in pairs:
            some = some if isinstance(some, dict) else {None: some}
            lengths = lengths if isinstance(lengths, dict) else {None: lengths}
            assert some.keys() == lengths.keys()
            for node, path in some.items():
                assert path[0] == (node if start is None else start)
                assert path[-1] == (node if end is None else end)
                length = nx.path_weight(graph, path, weight) if weight else len(path) - 1
                assert length == pytest.approx(lengths[node], rel=1e-14)


def test_the_neighborhoods_are_searched_in_blocks(monkeypatch):
    graph = nx.barbell_graph(8, 3)
    graph.add_edges_from([(0, 0), (9, 9), (20, 21)])
    expected = nx.local_efficiency(graph, backend="networkx")
    for block in (1, 10**4, 10**8):
        monkeypatch.setattr(efficiencies, "_BLOCK", block)
        assert nx.local_efficiency(graph, backend="pyapsp") == pytest.approx(expected, rel=1e-14)


def test_the_neighborhoods_of_a_dense_graph_need_a_bounded_memory(monkeypatch):
    graph = nx.complete_graph(40)
    arcs = []
    whole = summaries.harmonic_centrality
    monkeypatch.setattr(
        summaries, "harmonic_centrality", lambda *a, **k: arcs.append(a[0].m) or whole(*a, **k)
    )
    monkeypatch.setattr(efficiencies, "_BLOCK", 3 * 39 * 39 * efficiencies._CANDIDATE)
    assert nx.local_efficiency(graph, backend="pyapsp") == 1
    assert arcs == 13 * [3 * 39 * 38] + [39 * 38]


def test_a_candidate_for_an_arc_of_a_neighborhood_needs_few_bytes(monkeypatch):
    graph = nx.complete_graph(80)  # with 5e5 candidates
    monkeypatch.setattr(efficiencies, "_BLOCK", 2**24)
    tracemalloc.start()
    nx.local_efficiency(graph, backend="pyapsp")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < efficiencies._BLOCK < 80**3 * efficiencies._CANDIDATE / 4


@pytest.mark.parametrize("kind", GRAPHS)
def test_predecessors_lead_back_along_shortest_paths(kind):
    graph = GRAPHS[kind]
    before, lengths = nx.floyd_warshall_predecessor_and_distance(graph, backend="pyapsp")
    others, expected = nx.floyd_warshall_predecessor_and_distance(graph, backend="networkx")
    assert_same(lengths, expected)
    assert {u: set(row) for u, row in before.items()} == {u: set(r) for u, r in others.items()}
    for source, row in before.items():
        for target in set(row) - {source}:
            path = nx.reconstruct_path(source, target, before)
            assert path[0] == source
            assert nx.path_weight(graph, path, "weight") == pytest.approx(expected[source][target])
    assert type(lengths) is dict
    assert all(row["no such node"] == math.inf for row in lengths.values())


@pytest.mark.parametrize("kind", sorted(set(GRAPHS) - {"odd nodes"}))
def test_the_matrix_is_that_of_networkx(kind):
    graph = GRAPHS[kind]
    order = list(graph)[::-1]
    for nodelist in (None, order):
        found = nx.floyd_warshall_numpy(graph, nodelist, backend="pyapsp")
        expected = nx.floyd_warshall_numpy(graph, nodelist, backend="networkx")
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_edges_without_the_attribute_weigh_one():
    graph = GRAPHS["connected"].copy()
    for tail in (0, 3, 8):
        for head in graph[tail]:
            graph.edges[tail, head].pop("weight", None)
    for name in ("eccentricity", "wiener_index", "center"):
        options = arguments(name, "weight")
        found = outcome(name, graph, "pyapsp", **options)
        assert_same(found, outcome(name, graph, "networkx", **options))
    # NetworkX counts them 1.0 here, so that types differ from path to path
    assert nx.floyd_warshall(graph, backend="pyapsp") == nx.floyd_warshall(graph)


@pytest.mark.parametrize("nodelist", [[0], [0, 0, 1], [0, 1, 7]])
def test_a_list_of_other_nodes_is_refused(nodelist):
    for backend in ("pyapsp", "networkx"):
        with pytest.raises(nx.NetworkXError, match="nodelist"):
            nx.floyd_warshall_numpy(nx.path_graph(3), nodelist, backend=backend)


@pytest.mark.parametrize("kind", ["two parts", "directed", "floats"])
def test_the_nearest_come_first(kind):
    for name in ("all_pairs_dijkstra_path_length", "all_pairs_shortest_path_length"):
        for source, lengths in getattr(nx, name)(GRAPHS[kind], backend="pyapsp"):
            assert next(iter(lengths)) == source
            assert list(lengths.values()) == sorted(lengths.values())
    assert list(nx.eccentricity(nx.cycle_graph(9), [5, 3], backend="pyapsp")) == [5, 3]


@pytest.mark.parametrize("cutoff", [0, 1, 1.5, 2, 2.0, 7.25, math.inf])
@pytest.mark.parametrize(
    "name", ["all_pairs_dijkstra_path_length", "all_pairs_shortest_path_length"]
)
def test_a_cutoff_hides_what_it_hides_in_networkx(name, cutoff):
    for kind in ("two parts", "floats", "null"):
        found = outcome(name, GRAPHS[kind], "pyapsp", cutoff=cutoff)
        assert_same(found, outcome(name, GRAPHS[kind], "networkx", cutoff=cutoff))


@pytest.mark.parametrize("v", [3, [1, 2], [], [1, 99], "no node", 99, [[1]], (1, 2), {4: "e"}])
def test_eccentricity_of_some_nodes(v):
    graph = GRAPHS["connected"]
    found = outcome("eccentricity", graph, "pyapsp", v=v, weight="weight")
    assert_same(found, outcome("eccentricity", graph, "networkx", v=v, weight="weight"))


@pytest.mark.parametrize("kind", ["connected", "two parts", "directed"])
@pytest.mark.parametrize("usebounds", [False, True])
@pytest.mark.parametrize("name", ["center", "diameter", "periphery", "radius"])
def test_bounds_do_not_change_the_answer(name, kind, usebounds):
    options = {"usebounds": usebounds, "weight": "weight"}
    found = outcome(name, GRAPHS[kind], "pyapsp", **options)
    assert_same(found, outcome(name, GRAPHS[kind], "networkx", **options))


@pytest.mark.parametrize("u", [0, 7, 99])
@pytest.mark.parametrize("improved", [True, False])
def test_closeness_of_a_node(u, improved):
    for kind in ("two parts", "directed"):
        options = {"u": u, "wf_improved": improved, "distance": "weight"}
        found = outcome("closeness_centrality", GRAPHS[kind], "pyapsp", **options)
        assert_same(found, outcome("closeness_centrality", GRAPHS[kind], "networkx", **options))


@pytest.mark.parametrize("kind", GRAPHS)
def test_betweenness(kind):
    graph = GRAPHS[kind]
    for name in ("betweenness_centrality", "edge_betweenness_centrality"):
        for weight in (None, "weight"):
            for options in ({}, {"normalized": False}, {"k": 3, "seed": 5}, {"k": 99, "seed": 5}):
                options = {"weight": weight, **options}
                if refused(name, graph, **options):
                    continue
                found = outcome(name, graph, "pyapsp", **options)
                expected = outcome(name, graph, "networkx", **options)
                if isinstance(expected, type):
                    assert found is expected
                    continue
                assert found.keys() == expected.keys()
                for key, value in expected.items():
                    assert type(found[key]) is float
                    assert math.isclose(found[key], value, rel_tol=1e-12, abs_tol=1e-14)


def test_betweenness_that_stays_with_networkx():
    for name in ("betweenness_centrality", "edge_betweenness_centrality"):
        assert refused(name, GRAPHS["zeros"], weight="weight")
        assert not refused(name, GRAPHS["zeros"])
        assert not refused(name, GRAPHS["connected floats"], weight="weight")
        assert refused(name, GRAPHS["connected"], k=0)
    assert refused("edge_betweenness_centrality", GRAPHS["parallel"])


@pytest.mark.parametrize("kind", ["two parts", "directed", "floats", "zeros", "parallel"])
def test_harmonic_centrality_of_some(kind):
    options = {"distance": "weight", "nbunch": [2, 0, 2, 99]}
    for sources in (None, [1, 2, 98], 1):
        found = outcome("harmonic_centrality", GRAPHS[kind], "pyapsp", sources=sources, **options)
        expected = outcome(
            "harmonic_centrality", GRAPHS[kind], "networkx", sources=sources, **options
        )
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert type(found[key]) is type(value)
            assert math.isclose(found[key], value, rel_tol=1e-14)


@pytest.mark.parametrize("kind", GRAPHS)
def test_voronoi_cells(kind):
    graph = GRAPHS[kind]
    if refused("voronoi_cells", graph, center_nodes=[0, 2]):
        return
    for centers in ({0, 2}, [], [99]):
        found = outcome("voronoi_cells", graph, "pyapsp", center_nodes=centers)
        expected = outcome("voronoi_cells", graph, "networkx", center_nodes=centers)
        if isinstance(expected, type):
            assert found is expected
            continue
        lengths = {c: nx.single_source_dijkstra_path_length(graph, c) for c in centers}
        assert found.keys() == expected.keys()
        assert set().union(*found.values()) == set(graph)
        assert found.get("unreachable") == expected.get("unreachable")
        for center in set(found) - {"unreachable"}:
            assert center in found[center]
            for node in found[center]:
                least = min(lengths[c].get(node, math.inf) for c in centers)
                assert lengths[center][node] == least


METHODS = ["unweighted", "dijkstra", "bellman-ford", "floyd-warshall", "floyd-warshall-numpy"]


@pytest.mark.parametrize("method", [*METHODS, "no such"])
@pytest.mark.parametrize("kind", ["connected", "floats", "two parts", "one node", "null"])
def test_average_by_every_method(kind, method):
    options = {"weight": "weight", "method": method}
    found = outcome("average_shortest_path_length", GRAPHS[kind], "pyapsp", **options)
    expected = outcome("average_shortest_path_length", GRAPHS[kind], "networkx", **options)
    assert_same(found, expected)


def test_negative_weights_have_an_average_by_bellman_ford():
    options = {"weight": "weight", "method": "bellman-ford"}
    found = outcome("average_shortest_path_length", GRAPHS["negative"], "pyapsp", **options)
    expected = outcome("average_shortest_path_length", GRAPHS["negative"], "networkx", **options)
    assert_same(found, expected)


NEGATIVE_CYCLES = {
    "edge": nx.Graph([(0, 1, {"weight": -1})]),
    "arcs": nx.DiGraph([(5, 0), (0, 1, {"weight": 2}), (1, 0, {"weight": -3})]),
    "loop": nx.DiGraph([(0, 1), (1, 1, {"weight": -1})]),
}


@pytest.mark.parametrize("kind", NEGATIVE_CYCLES)
@pytest.mark.parametrize(
    "name",
    [name for name in FUNCTIONS if name.startswith(("floyd", "johnson", "all_pairs_bellman"))],
)
def test_a_negative_cycle_is_unbounded(name, kind):
    graph = NEGATIVE_CYCLES[kind]
    assert outcome(name, graph, "pyapsp") is nx.NetworkXUnbounded
    if not name.startswith("floyd"):  # where NetworkX 3.6 gives numbers
        assert outcome(name, graph, "networkx") is nx.NetworkXUnbounded


@pytest.mark.parametrize("name", ["johnson", "all_pairs_bellman_ford_path", "shortest_path"])
def test_the_text_of_an_unbounded_call_is_that_of_networkx(name):
    graph = nx.DiGraph([("a", "b"), ("x", "y", {"weight": -5}), ("y", "x", {"weight": 1})])
    options = {"method": "bellman-ford"} if name == "shortest_path" else {}
    for backend in BACKENDS:
        with pytest.raises(nx.NetworkXUnbounded) as caught:
            dict(getattr(nx, name)(graph, weight="weight", backend=backend, **options))
        assert str(caught.value) == "Negative cycle detected."


@pytest.mark.parametrize("name", ["shortest_path", "shortest_path_length"])
@pytest.mark.parametrize("ends", [(0, 1), (0, None), (None, 1)])
def test_a_negative_cycle_out_of_reach_is_no_error(name, ends):
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 2), (5, 6, -5), (6, 5, 1)])
    with pytest.raises(nx.NetworkXUnbounded):
        nx.johnson(graph, backend="pyapsp")  # from here on the converted graph is in the cache
    call = getattr(nx, name)
    options = {"source": ends[0], "target": ends[1], "weight": "weight", "method": "bellman-ford"}
    with nx.config.backend_priority(algos=["pyapsp"]), nx.config.backends.pyapsp(min_nodes=0):
        assert call(graph, **options) == call(graph, backend="networkx", **options)
        with pytest.raises(nx.NetworkXUnbounded):
            call(graph, **options | {"source": 5, "target": None})


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.Graph])
def test_the_text_of_a_disconnected_barycenter_is_that_of_networkx(kind):
    graph = kind([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (5, 3)], name="parts")
    for backend in BACKENDS:
        with pytest.raises(nx.NetworkXNoPath) as caught:
            nx.barycenter(graph, backend=backend)
        assert f"Input graph {graph} is disconnected" in str(caught.value)


def test_every_device_answers(device, settings):
    settings.device = device
    graph = GRAPHS["connected"].copy()
    assert nx.diameter(graph, weight="weight", backend="pyapsp") == nx.diameter(
        graph, weight="weight", backend="networkx"
    )
    assert dict(nx.all_pairs_shortest_path_length(graph, backend="pyapsp")) == dict(
        nx.all_pairs_shortest_path_length(graph, backend="networkx")
    )


def single(name, graph, backend, **options):
    """What a call for one source gives, with its order, or the exception."""
    try:
        return getattr(nx, name)(graph, backend=backend, **options)
    except Exception as error:
        return error


def assert_nearest_first(lengths):
    values = list(lengths.values())
    assert values == sorted(values)


def test_levels_continue_below_a_cutoff():
    """The level after 1 is found, as 1 is below 1.5."""
    search, graph = nx.single_source_shortest_path_length, nx.path_graph(5)
    found = dict(search(graph, 0, cutoff=1.5, backend="pyapsp"))
    assert found == dict(search(graph, 0, cutoff=1.5, backend="networkx")) == {0: 0, 1: 1, 2: 2}


@pytest.mark.parametrize("cutoff", [None, 0, 2.5, math.inf])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("kind", GRAPHS)
def test_a_single_source(kind, weight, cutoff):
    graph = GRAPHS[kind]
    for source in [*list(graph)[:3], "no node"]:
        given = {"source": source, "cutoff": cutoff}
        steps = [single("single_source_shortest_path_length", graph, b, **given) for b in BACKENDS]
        assert_alike(*steps)
        if isinstance(steps[0], dict):
            assert_nearest_first(steps[0])
        given["weight"] = weight
        if refused("single_source_dijkstra", graph, **given):
            assert (kind, weight) == ("negative", "weight")
            continue
        lengths = [
            single("single_source_dijkstra_path_length", graph, b, **given) for b in BACKENDS
        ]
        assert_alike(*lengths)
        found = single("single_source_dijkstra", graph, "pyapsp", **given)
        paths = single("single_source_dijkstra_path", graph, "pyapsp", **given)
        if not isinstance(lengths[0], dict):
            assert_alike(found, lengths[1])
            assert_alike(paths, lengths[1])
            continue
        assert_nearest_first(lengths[0])
        assert_same(found[0], lengths[1])
        assert found[1] == paths
        assert next(iter(paths)) == source
        assert paths.keys() == lengths[1].keys()
        for target, path in paths.items():
            assert (path[0], path[-1]) == (source, target)
            length = nx.path_weight(graph, path, weight) if weight else len(path) - 1
            assert length == pytest.approx(lengths[1][target], rel=1e-14)


@pytest.mark.parametrize("target", ["c", "a", "far", "no node"])
def test_a_target(target):
    graph = nx.DiGraph([("a", "b", {"weight": 2}), ("b", "c", {"weight": 1}), ("far", "a")])
    options = {"source": "a", "target": target}
    answers = [single("single_source_dijkstra", graph, b, **options) for b in BACKENDS]
    assert_alike(*answers)
    near = [single("single_source_dijkstra", graph, b, cutoff=2, **options) for b in BACKENDS]
    assert_alike(*near)
    for name in ("dijkstra_path", "dijkstra_path_length"):
        assert_alike(*[single(name, graph, b, **options) for b in BACKENDS])
        for source in ("no node", target):
            assert_alike(*[single(name, graph, b, source=source, target="c") for b in BACKENDS])


def test_a_target_in_a_large_graph():
    """Above some number of arcs the search stops at the target."""
    graph = nx.grid_2d_graph(300, 250)
    weighted(graph, random.Random(4).random)
    for target in ((0, 3), (40, 41)):
        found, expected = (
            nx.single_source_dijkstra(graph, (2, 2), target, backend=b) for b in BACKENDS
        )
        assert found[0] == pytest.approx(expected[0], rel=1e-14)
        assert nx.path_weight(graph, found[1], "weight") == pytest.approx(expected[0], rel=1e-14)
        length = nx.dijkstra_path_length(graph, (2, 2), target, backend="pyapsp")
        assert length == pytest.approx(expected[0], rel=1e-14)


BACKENDS = ("pyapsp", "networkx")


def assert_alike(found, expected):
    if isinstance(expected, Exception):
        assert (type(found), str(found)) == (type(expected), str(expected))
    elif isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    else:
        assert_same(found, expected)
