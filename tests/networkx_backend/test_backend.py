"""What NetworkX sees of the backend: entry points, settings, conversion, and what runs where."""

from __future__ import annotations

import inspect
import logging
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import entry_points

import networkx as nx
import numpy as np
import pytest

from pyapsp.networkx_backend import get_info, interface
from pyapsp.networkx_backend.converted import ConvertedGraph

INFO = get_info()
#: Names and parameters since NetworkX 3.7.
NEWER = {"centroid", "sp"}
FUNCTIONS = sorted(name for name in INFO["functions"] if hasattr(nx, name) or name not in NEWER)


def test_networkx_finds_the_backend():
    (backend,) = entry_points(group="networkx.backends", name="pyapsp")
    (info,) = entry_points(group="networkx.backend_info", name="pyapsp")
    assert backend.load() is interface
    assert info.load() is get_info
    assert nx.utils.backends.backend_info["pyapsp"] == INFO


def test_what_is_announced_is_there():
    others = {"can_run", "convert_from_nx", "convert_to_nx", "should_run"}
    assert set(interface.__all__) == {*INFO["functions"], *others}
    # NetworkX takes whatever has the name of a function
    assert (
        not (vars(interface).keys() - interface.__all__)
        & nx.utils.backends._registered_algorithms.keys()
    )
    for name in FUNCTIONS:
        assert "pyapsp" in getattr(nx, name).backends
        assert "OpenCL" in getattr(nx, name).__doc__


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_are_those_of_networkx(name):
    theirs = inspect.signature(getattr(nx, name).orig_func).parameters
    ours = inspect.signature(getattr(interface, name)).parameters
    common = [p for p in ours.values() if p.name in theirs or p.name not in NEWER]
    assert [(p.name, p.kind, p.default) for p in common] == [
        (p.name, p.kind, p.default) for p in theirs.values()
    ]


def run(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_networkx_loads_nothing_heavy_with_the_backend():
    loaded = run("import sys, networkx; print(*sys.modules)")
    assert "pyapsp.networkx_backend" in loaded
    assert {name for name in loaded if name.startswith("pyapsp")} == {
        "pyapsp",
        "pyapsp.base",
        "pyapsp.base.version",
        "pyapsp.networkx_backend",
    }
    assert not {"numpy", "scipy", "pyopencl"} & set(loaded)


# How long NetworkX waits for this package while it is imported.
INFORMED = """
import importlib.metadata, time
load = importlib.metadata.EntryPoint.load
def timed(entry):
    started = time.perf_counter()
    loaded = load(entry)
    if (entry.group, entry.name) != ("networkx.backend_info", "pyapsp"):
        return loaded
    def call():
        info = loaded()
        print(time.perf_counter() - started)
        return info
    return call
importlib.metadata.EntryPoint.load = timed
import networkx
"""
IMPORTED = """
import time
started = time.perf_counter()
import pyapsp
print(time.perf_counter() - started)
"""


@pytest.mark.perf
@pytest.mark.parametrize(
    ("code", "limit"), [(INFORMED, 0.005), (IMPORTED, 0.030)], ids=["networkx", "pyapsp"]
)
def test_imports_are_fast(code, limit):
    assert min(float(run(code)[0]) for _ in range(4)) < limit


class Log(logging.Handler):
    """The messages of NetworkX about who runs what."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


@pytest.fixture
def log():
    logger, handler = logging.getLogger("networkx.utils.backends"), Log()
    level = logger.level
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    yield handler.lines
    logger.removeHandler(handler)
    logger.setLevel(level)


def edge(weight):
    return nx.Graph([(0, 1, {"weight": weight}), (1, 2, {"weight": 1}), (2, 0, {"weight": 1})])


@pytest.mark.parametrize(
    ("weight", "reason"),
    [
        (None, "hides the edge"),
        ("4", "type builtins.str"),
        ((1, 2), "type builtins.tuple"),
        (Fraction(1, 3), "type fractions.Fraction"),
        (Decimal("0.1"), "type decimal.Decimal"),
        (np.float32(0.1), "type numpy.float32"),
        (1j, "type builtins.complex"),
        (np.timedelta64(3, "s"), "type numpy.timedelta64"),
        (math.inf, "infinite or NaN"),
        (math.nan, "infinite or NaN"),
        (2**70, "64 bits"),
        (2**61, "64 bits"),
        (-(2**61), "64 bits"),
        (np.uint64(2**63), "64 bits"),
    ],
    ids=repr,
)
def test_weights_that_networkx_adds_otherwise_stay_with_it(weight, reason, log):
    graph = edge(weight)
    assert reason in interface.can_run("floyd_warshall", (graph,), {})
    with pytest.raises(NotImplementedError, match=reason):
        interface.convert_from_nx(graph, edge_attrs={"weight": 1})
    with pytest.raises(NotImplementedError):
        nx.johnson(graph, backend="pyapsp")
    assert any(reason in line for line in log)
    # without the attribute it is a graph like any other
    assert interface.can_run("diameter", (graph,), {}) is True
    assert nx.diameter(graph, backend="pyapsp") == 1


def test_large_whole_numbers_among_floats_stay_with_networkx():
    graph = edge(2**53 + 1)
    assert interface.can_run("floyd_warshall", (graph,), {}) is True
    graph.edges[1, 2]["weight"] = 0.5
    assert "rounded" in interface.can_run("floyd_warshall", (graph,), {})


@pytest.mark.parametrize(
    ("weight", "reason"), [(3 * 2**59, "64 bits"), (1e300, "rounded"), (2.0**53, "rounded")]
)
def test_sums_that_would_be_rounded_stay_with_networkx(weight, reason):
    for name in ("wiener_index", "average_shortest_path_length"):
        assert reason in interface.can_run(name, (edge(weight),), {"weight": "weight"})
    expected = nx.floyd_warshall(edge(weight), backend="networkx")
    assert nx.floyd_warshall(edge(weight), backend="pyapsp") == expected


def test_whole_numbers_stay_exact():
    graph = edge(2**53 + 1)
    graph.remove_edge(2, 0)
    assert nx.floyd_warshall(graph, backend="pyapsp")[0] == {0: 0, 1: 2**53 + 1, 2: 2**53 + 2}
    assert nx.diameter(graph, weight="weight", backend="pyapsp") == 2**53 + 2
    many = nx.cycle_graph(101)
    nx.set_edge_attributes(many, 2**49 + 1, "weight")
    expected = nx.wiener_index(many, weight="weight", backend="networkx")
    assert nx.wiener_index(many, weight="weight", backend="pyapsp") == expected > 2**63


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("johnson", {"weight": lambda u, v, data: 1}, "weight function"),
        ("closeness_centrality", {"distance": lambda u, v, data: 1}, "weight function"),
        ("diameter", {"e": {0: 1}}, "nothing to compute"),
        ("eccentricity", {"sp": {0: {0: 0}}}, "nothing to compute"),
        ("all_pairs_shortest_path_length", {"cutoff": -1}, "cutoff"),
        ("all_pairs_dijkstra_path_length", {"cutoff": math.nan}, "cutoff"),
        ("center", {}, "tree"),
        ("barycenter", {}, "tree"),
        ("barycenter", {"attr": "sum"}, "stored in the nodes"),
        ("barycenter", {"sp": {0: {0: 0}}}, "nothing to compute"),
        ("closeness_centrality", {"sp": {0: {0: 0}}}, "nothing to compute"),
        ("condensation", {"scc": [{0}, {1}, {2}]}, "nothing to compute"),
    ],
)
def test_calls_that_stay_with_networkx(name, options, reason):
    graph = nx.path_graph(3, create_using=nx.DiGraph if name == "condensation" else nx.Graph)
    assert reason in interface.can_run(name, (graph,), options)
    if not inspect.signature(getattr(nx, name)).parameters.keys() >= options.keys():
        return  # a parameter of a newer NetworkX
    with pytest.raises(NotImplementedError, match="given arguments"):
        getattr(nx, name)(graph, backend="pyapsp", **options)


@pytest.mark.parametrize(
    "name", ["all_pairs_dijkstra_path_length", "wiener_index", "radius", "closeness_centrality"]
)
def test_dijkstra_with_negative_weights_stays_with_networkx(name):
    graph = nx.DiGraph([(0, 1, {"weight": -1}), (1, 0, {"weight": 2})])
    key = "distance" if name == "closeness_centrality" else "weight"
    assert "Dijkstra" in interface.can_run(name, (graph,), {key: "weight"})
    assert interface.can_run("johnson", (graph,), {}) is True
    given = {"weight": "weight", "method": "bellman-ford"}
    assert interface.can_run("average_shortest_path_length", (graph,), given) is True
    assert interface.can_run("shortest_path", (graph,), given) is True
    for end in ("source", "target"):
        assert "does not reach" in interface.can_run("shortest_path", (graph,), given | {end: 0})


def test_nodes_with_the_least_sum_of_rounded_numbers_stay_with_networkx():
    assert "rounded" in interface.can_run("barycenter", (edge(0.1),), {"weight": "weight"})
    assert interface.can_run("barycenter", (edge(2.0),), {"weight": "weight"}) is True


@pytest.mark.parametrize("name", ["center", "diameter", "eccentricity", "periphery", "radius"])
def test_the_farthest_of_no_node_stays_with_networkx(name):
    assert "null graph" in interface.can_run(name, (nx.Graph(),), {})


def test_before_networkx_3_7_centroids_are_those_of_trees(monkeypatch):
    monkeypatch.setattr(nx, "centroid", None, raising=False)
    assert interface.can_run("centroid", (nx.cycle_graph(3),), {}) is True
    monkeypatch.delattr(nx, "centroid")
    assert "those of trees" in interface.can_run("centroid", (nx.cycle_graph(3),), {})


def test_what_networkx_runs_is_logged(caplog, monkeypatch, settings):
    caplog.set_level(logging.INFO, "pyapsp.networkx_backend")
    graph = nx.path_graph(10)
    with nx.config.backend_priority(algos=["pyapsp"]):
        nx.diameter(graph)
        assert "diameter: NetworkX, because 10 nodes are fewer" in caplog.text
        nx.center(nx.path_graph(300))
        assert "center: NetworkX, because the center of a tree" in caplog.text
        settings.device = "no such device"
        nx.diameter(nx.cycle_graph(300))
    assert "pyapsp cannot: No OpenCL device matches" in caplog.text
    assert {record.levelname for record in caplog.records} == {"INFO"}


def test_small_graphs_stay_with_networkx_unless_asked(log, settings):
    graph = nx.path_graph(10)
    with nx.config.backend_priority(algos=["pyapsp"]):
        assert nx.diameter(graph) == 9
        assert any("min_nodes=256" in line for line in log)
        assert not any("Using backend 'pyapsp'" in line for line in log)
        with settings(min_nodes=10):
            assert nx.diameter(graph) == 9
    assert any("Using backend 'pyapsp'" in line for line in log)


def test_four_lines_of_networkx_run_here(log):
    graph = nx.connected_watts_strogatz_graph(300, 6, 0.1, seed=1)
    expected = nx.diameter(graph), nx.wiener_index(graph), nx.closeness_centrality(graph)
    log.clear()
    with nx.config.backend_priority(algos=["pyapsp"]):
        found = nx.diameter(graph), nx.wiener_index(graph), nx.closeness_centrality(graph)
    assert found == expected
    assert sum("Using backend 'pyapsp'" in line for line in log) == 3


def test_without_a_device_networkx_computes(monkeypatch, log, settings):
    settings.device = "no such device"
    graph = nx.cycle_graph(300)
    with nx.config.backend_priority(algos=["pyapsp"]):
        assert nx.diameter(graph) == 150
        assert dict(nx.all_pairs_shortest_path_length(graph))[0][150] == 150
    for name in ("diameter", "all_pairs_shortest_path_length"):
        told = f"Backend 'pyapsp' raised when calling '{name}': No OpenCL device matches"
        assert any(line.startswith(told) for line in log)
    with pytest.raises(NotImplementedError):
        nx.diameter(graph, backend="pyapsp")


def test_networkx_caches_the_conversion_until_the_graph_changes(log):
    graph = nx.cycle_graph(5)
    for _ in range(2):
        assert nx.diameter(graph, backend="pyapsp") == 2
    assert sum("Caching converted graph" in line for line in log) == 1
    graph.remove_edge(0, 4)
    assert nx.diameter(graph, backend="pyapsp") == 4


def test_one_search_runs_here_where_the_graph_was_converted_before(log):
    graph = nx.connected_watts_strogatz_graph(300, 6, 0.1, seed=1)
    expected = nx.single_source_shortest_path_length(graph, 0)
    log.clear()
    with nx.config.backend_priority(algos=["pyapsp"]):
        assert nx.single_source_shortest_path_length(graph, 0) == expected
        assert any("than the conversion" in line for line in log)
        assert not any("Using backend 'pyapsp'" in line for line in log)
        assert nx.diameter(graph) == max(expected.values())
        log.clear()
        assert nx.single_source_shortest_path_length(graph, 0) == expected
        assert any("Using backend 'pyapsp'" in line for line in log)


def test_shortest_paths_of_a_node_run_here_where_the_graph_was_converted_before():
    graph = nx.connected_watts_strogatz_graph(300, 6, 0.1, seed=1)
    for name in ("shortest_path", "shortest_path_length"):
        assert interface.should_run(name, (graph,), {}) is True
        for options in ({"source": 0}, {"target": 0}, {"source": 0, "target": 1}):
            assert "than the conversion" in interface.should_run(name, (graph,), options)
            converted = interface.convert_from_nx(graph)
            assert interface.should_run(name, (converted,), options) is True


def test_a_converted_graph_is_a_graph_to_networkx():
    graph = nx.DiGraph([("a", "b", {"cost": 2}), ("b", "a", {"cost": 5}), ("b", "c")])
    converted = interface.convert_from_nx(graph, edge_attrs={"cost": 1})
    assert isinstance(converted, ConvertedGraph)
    assert interface.convert_from_nx(converted) is converted
    assert nx.floyd_warshall(converted, weight="cost")["a"] == {"a": 0, "b": 2, "c": 3}
    assert nx.floyd_warshall(converted, weight=None)["b"]["a"] == 1
    with pytest.raises(nx.NetworkXError, match="'cost', not 'weight'"):
        nx.floyd_warshall(converted)
    with nx.config(fallback_to_nx=True):
        assert nx.has_path(converted, "a", "c")
    back = interface.convert_to_nx(converted)
    assert type(back) is nx.DiGraph
    assert list(back) == ["a", "b", "c"]
    assert dict(back.edges) == {
        ("a", "b"): {"cost": 2},
        ("b", "a"): {"cost": 5},
        ("b", "c"): {"cost": 1},
    }


def test_conversion_keeps_nodes_and_kind():
    graph = nx.MultiGraph([(3, 1), (3, 1), ("x", 3)])
    converted = interface.convert_from_nx(graph)
    assert len(converted) == 3
    assert list(converted) == [3, 1, "x"]
    assert (converted.is_directed(), converted.is_multigraph()) == (False, False)
    assert 3 in converted
    assert [3] not in converted
    back = interface.convert_to_nx(converted)
    assert type(back) is nx.Graph
    assert nx.utils.graphs_equal(back, nx.Graph([(3, 1), ("x", 3)]))
    assert interface.convert_to_nx({0: 1}) == {0: 1}


def test_parameters_of_a_newer_networkx_stay_there():
    verdict = interface.can_run("closeness_centrality", (nx.path_graph(3),), {"newer": None})
    assert "another signature here" in verdict
    assert "'newer'" in verdict
