"""The experiments of papers: their parameters are the published ones, their graphs as described."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import networkx as nx
import numpy as np
import papers
import pyopencl as cl
import pytest
from papers.experiment import OnGraphs, Task
from papers.matsumoto import experiments as matsumoto
from papers.okuyama.blocked import experiments as okuyama

from pyapsp.all_pairs.dense import performance_model
from pyapsp.all_pairs.dense.outofcore import speeds
from pyapsp.errors import ParameterError, PyApspError
from pyapsp.graph import generators
from pyapsp.paths import AllPairsOptions

SMALL = {
    "okuyama-degrees": {"degrees": [2, 30]},
    "okuyama-weights": {"weights": [1, 50]},
    "takafuji-diameter": {"densities": [3, 50]},
    "takafuji-threads": {"threads": [1]},
    "takafuji-packed": {"threads": [1]},
    "matsumoto-tiles": {"sides": [2]},
    "matsumoto-blocks": {"blocks": [32]},
}
HYBRID = ("hybrid", "pivots")
ON_GRAPHS = [name for name, each in papers.EXPERIMENTS.items() if isinstance(each, OnGraphs)]
# fw-outofcore with memory for half of the matrix
OUTOFCORE = ("matsumoto-blocks", "matsumoto-sizes", "matsumoto-devices")


def outofcore_n(device):
    """An n whose smallest cut fits half of the matrix, for helpers, too; GPUs need larger ones."""
    return 512 if device.traits.scalar_groups else 1024


@pytest.fixture
def planned(device):
    """What takes part in an experiment on its first graph, without running it."""

    def plan(experiment, n, device=device, limit=None, **settings):
        chosen = papers.EXPERIMENTS[experiment]
        options = AllPairsOptions(device, np.dtype(chosen.dtype))
        _, graph = next(chosen.graphs(n, settings))
        return list(chosen.contenders(Task(graph, options, settings, limit)))

    return plan


def given(contender):
    return contender.method.id, contender.method.parameters


def test_the_methods_of_table_4_6_have_the_parameters_of_the_thesis(planned):
    found = [given(contender) for contender in planned("okuyama-times", 200)]
    heights = {16: 16, 32: 8, 64: 4}
    subtiles = {16: 4, 32: 2, 64: 4}
    for tile in (16, 32, 64):
        rows = {"tile": tile, "h_pivot": heights[tile]}
        both = {**rows, "h_panel": 4}
        assert ("fw-mm", {**both, "selector": "AT"}) in found
        more = {"subtile": subtiles[tile], "selector": "MT"}
        assert ("fw-twolevel", {**both, **more}) in found
        assert ("fw-recursive", {**rows, "merged": 0}) in found
    assert ("fw-minplus", {}) in found
    assert len(found) == 10


def graphs_of(experiment, n, **settings):
    """The graphs of an experiment, by their coordinates."""
    found = papers.EXPERIMENTS[experiment].graphs(n, settings)
    return {tuple(label.values()): graph for label, graph in found}


def test_the_graphs_are_those_of_the_papers():
    (graph,) = graphs_of("okuyama-times", 100).values()
    assert (graph.n, graph.m) == (100, 400)
    assert graph.weights.min() >= 1
    assert graph.weights.max() < 100
    (packed,) = graphs_of("takafuji-packed", 100).values()
    assert packed.m == 1600
    assert set(packed.weights) == {1}


def test_every_l_that_somebody_chooses_takes_part(planned, device):
    n = 512
    found = planned("okuyama-tuning", n)
    counts = [contender.label["l"] for contender in found]
    (graph,) = graphs_of("okuyama-tuning", n).values()
    chosen = okuyama._selected(Task(graph, AllPairsOptions(device, np.dtype("int32")), {}))
    assert set(performance_model.choices(n, distinct=True)) <= set(counts)
    assert {*chosen["selected"].values(), *chosen["published_selected"].values()} <= set(counts)
    # of 512 vertices the thesis says so
    assert chosen["published_selected"] == {"AT": 2, "FT": 8, "TI": 8}
    assert chosen["estimates"].keys() == {"AT", "FT", "TI"}
    assert all(list(times) == list(range(1, 9)) for times in chosen["estimates"].values())
    parameters = {"tile": 32, "h_pivot": 8, "h_panel": 4}
    assert all(
        given(each) == ("fw-mm", {**parameters, "l": count})
        for each, count in zip(found, counts, strict=True)
    )


PUBLISHED = {
    "apsp-iterative": {"vertices": 256},
    "apsp-tasks": {"sources": 32, "vertices": 4},
    "apsp-tasks-unshared": {"sources": 32, "vertices": 4},
    "dijkstra-cpu": {},
}
FW = {
    "fw-mm": {"tile": 32, "h_pivot": 8, "h_panel": 4, "selector": "AT"},
    "fw-minplus": {},
}


def test_searches_are_those_of_the_thesis_and_ours(planned):
    expected = PUBLISHED | {"near-far": {}}
    for experiment, more in (
        ("okuyama-sources", FW),
        ("okuyama-degrees", FW),
        ("okuyama-weights", {}),
        ("okuyama-topologies", {}),
    ):
        found = [each for each in planned(experiment, 50, limit=9) if not each.predecessors]
        assert dict(map(given, found)) == expected | more
        assert len(found) == len(expected | more)
        for each in found:
            search = not each.method.id.startswith("fw-")
            assert each.limit == (9 if search else None)
            assert each.roof is not search
    found = [given(each) for each in planned("takafuji-diameter", 50)]
    names = ("fw-packed4", "fw-packed8", "fw-packed16", "apsp-bfs", "ms-bfs")
    assert found == [(name, {}) for name in names]


def test_paths_are_recorded_by_the_same_methods(planned):
    found = planned("okuyama-sources", 50)
    recording = {each.label["recording"]: each for each in found if each.predecessors}
    assert recording.keys() == {"apsp-tasks", "near-far"}
    for name, each in recording.items():
        assert given(each) == (name, PUBLISHED.get(name, {}))
        assert "method" not in each.label


def test_the_graphs_of_chapter_3():
    (graph,) = graphs_of("okuyama-sources", 100).values()
    assert graph.m == 400
    assert graph.weights.max() == 100
    degrees = graphs_of("okuyama-degrees", 20)
    assert {key: graph.m for key, graph in degrees.items()} == {
        (degree,): 20 * degree for degree in (1, 2, 4, 8, 16, 19)
    }
    assert [graph.m for graph in graphs_of("okuyama-degrees", 9, degrees=[3]).values()] == [27]
    assert list(graphs_of("okuyama-degrees", 9)) == [(1,), (2,), (4,), (8,)]
    weights = graphs_of("okuyama-weights", 200)
    assert list(weights) == [(4**power,) for power in range(9)]
    for (largest,), graph in weights.items():
        assert graph.m == 800
        assert 0.9 * largest < graph.weights.max() <= largest
    assert list(graphs_of("okuyama-weights", 20, weights=[7])) == [(7,)]


def test_the_graphs_of_table_3_1():
    few = papers.EXPERIMENTS["okuyama-topologies"].graphs(4677, {})
    random, power_law, ring = (next(few)[1] for _ in range(3))
    assert random.m == power_law.m == 16384
    assert all(4090 < graph.weights.max() <= 4096 for graph in (random, power_law))
    degrees = np.diff(power_law.indptr)
    assert degrees.max() == 834
    assert np.mean(degrees <= 3) == pytest.approx(0.84, abs=0.005)
    assert np.diff(random.indptr).max() < 20
    assert (ring.n, ring.m, ring.max_magnitude) == (4677, 4677, 1)
    for n in (2, 3, 5, 30):
        found = graphs_of("okuyama-topologies", n)
        assert list(found) == [("random",), ("power law",), ("ring",), ("complete",)]
        assert {graph.n for graph in found.values()} == {n}
        assert found["random",].m == found["power law",].m > 0
        assert found["complete",].m == n * (n - 1)


def test_the_graphs_of_tables_3_4_and_3_5():
    found = graphs_of("takafuji-diameter", 256)
    # with fewer there is no connected graph
    assert list(found) == [(1,), (5,), (10,), (20,), (50,)]
    assert [graph.m // 2 for graph in found.values()] == [326, 1632, 3264, 6528, 16320]
    for graph in found.values():
        assert graph.is_symmetric
        assert set(graph.weights) == {1}
        assert nx.is_connected(undirected(graph))
    assert list(graphs_of("takafuji-diameter", 256, densities=[0.7, 0.8])) == [(0.8,)]


def undirected(graph):
    tails, heads, _ = graph.arcs()
    made = nx.empty_graph(graph.n)
    made.add_edges_from(zip(tails.tolist(), heads.tolist(), strict=True))
    return made


def test_the_diameter_and_the_average_path_length_are_told(device):
    document = papers.measure(
        "takafuji-diameter", 70, device=device, repeat=1, settings={"densities": [3, 20]}
    )
    for told, graph in zip(
        document["inputs"],
        graphs_of("takafuji-diameter", 70, densities=[3, 20]).values(),
        strict=True,
    ):
        right = undirected(graph)
        assert told["diameter"] == nx.diameter(right)
        assert told["average_path_length"] == pytest.approx(nx.average_shortest_path_length(right))
        assert told["m"] == graph.m


def test_runs_and_what_is_left_out_say_of_which_graph(device):
    # of distances of 15 and more fw-packed4 holds none
    document = papers.measure(
        "takafuji-diameter", 100, device=device, repeat=1, settings={"densities": [2, 90]}
    )
    assert [graph["label"] for graph in document["inputs"]] == [{"percent": 2}, {"percent": 90}]
    assert document["inputs"][0]["diameter"] >= 15
    left_out = document["left_out"]
    assert [(each["percent"], each["method"]) for each in left_out] == [(2, "fw-packed4")]
    assert "use fw-packed8" in left_out[0]["why"]
    ran = {(run["label"]["percent"], run["label"]["method"]) for run in document["runs"]}
    assert ran >= {(2, "fw-packed8"), (2, "apsp-bfs"), (90, "fw-packed4"), (90, "apsp-bfs")}
    for run in document["runs"]:
        of_run = next(
            graph
            for graph in document["inputs"]
            if graph["label"]["percent"] == run["label"]["percent"]
        )
        assert run["input"]["m"] == of_run["m"]


def test_groups_have_the_asked_work_items(planned):
    for experiment, n, tile in (
        ("takafuji-threads", 200, 32),
        ("takafuji-packed", 200, 64),
        ("takafuji-packed", 5000, 128),
    ):
        for contender in planned(experiment, n, threads=[1, 64, 128, 256, 512, 1024]):
            parameters, threads = contender.method.parameters, contender.label["threads"]
            assert parameters["group_x"] * parameters["group_y"] == threads
            assert parameters["contiguous"] == 1
            assert parameters["tile"] == (128 if threads == 1024 and tile == 64 else tile)
            if threads > 1:
                fields = 8 if experiment == "takafuji-packed" else 1
                assert parameters["tile"] % (fields * parameters["group_x"]) == 0
                assert parameters["tile"] % (parameters["rows"] * parameters["group_y"]) == 0
    ids = [given(each)[0] for each in planned("takafuji-threads", 200, threads=[64])]
    assert ids == ["fw-multikernel", "fw-singlekernel"]
    single = [given(each)[1]["single"] for each in planned("takafuji-packed", 200, threads=[64])]
    assert single == [0, 1]


def test_threads_suit_the_device(planned, device):
    threads = {contender.label["threads"] for contender in planned("takafuji-threads", 200)}
    expected = {1} if device.traits.scalar_groups else {64, 128, 256, 512, 1024}
    assert threads == expected


def test_cores_are_parts_of_the_device(planned, device):
    units = device.capabilities.compute_units
    found = planned("takafuji-multicore", 200)
    assert {each.label["cores"] for each in found} >= {1, units}
    for contender in found:
        handle = contender.device.handle
        assert handle.max_compute_units == contender.label["cores"]
        bits, form = contender.label["bits"], contender.label["form"]
        assert given(contender) == (
            f"fw-packed{bits}",
            {"single": 0, "form": form, "tile": 32},
        )
    with pytest.raises(ParameterError, match=f"no part of {units + 1} units"):
        planned("takafuji-multicore", 200, cores=[units + 1])
    tiles = [planned("takafuji-multicore", n)[0].method.parameters["tile"] for n in (600, 4000)]
    assert tiles == [64, 128]


def test_tiles_of_a_wavefront(planned):
    found = planned("matsumoto-tiles", 200)
    assert [(each.label["rows"], each.label["columns"]) for each in found] == [
        (rows, columns) for rows in (1, 2, 4, 8) for columns in (1, 2, 4, 8)
    ]
    for contender in found:
        id_, parameters = given(contender)
        assert id_ == "fw-minplus"
        assert parameters["form"] == "tiles"
        assert parameters["separate"] == 1
        assert (parameters["group_x"], parameters["group_y"]) == (8, 8)
        assert (parameters["rows"], parameters["words"]) == (
            contender.label["rows"],
            contender.label["columns"],
        )


def test_blocks_are_cut_both_ways_and_split_both_ways(planned):
    found = [given(contender) for contender in planned("matsumoto-blocks", 400, blocks=[64, 96])]
    for block in (64, 96):
        square = {"block": block, "rows": block, "columns": block}
        for split in ("fused", "separated"):
            assert ("fw-outofcore", {**square, "split": split}) in found
            assert ("fw-outofcore", {"block": block, "split": split}) in found
    assert len(found) == 8
    blocks = [each.label["block"] for each in planned("matsumoto-blocks", 400)]
    assert blocks == [32] * 4 + [48] * 4 + [64] * 4


def test_the_best_block_is_looked_for_among_several_and_that_of_the_planner(planned):
    found = [given(contender) for contender in planned("matsumoto-sizes", 1000)]
    assert found == [
        *(("fw-outofcore", {"block": block}) for block in (16, 48, 112)),
        ("fw-outofcore", {}),
    ]
    small = [each.label["block"] for each in planned("matsumoto-sizes", 100)]
    assert small == [16, "planned"]


@pytest.mark.parametrize("experiment", OUTOFCORE)
def test_a_device_gets_half_of_the_matrix(planned, experiment):
    found = planned(experiment, 100)
    assert {each.memory_limit for each in found} == {4 * 100 * 100 // 2}


def test_devices_alone_and_together(planned, device, monkeypatch):
    cpu = replace(device, handle=Handle("cpu"), id="9:0")
    gpu = replace(device, handle=Handle("gpu"), id="9:1")
    monkeypatch.setattr(
        "pyapsp.device.model.kind_of", lambda handle: getattr(handle, "is_a", "gpu")
    )
    for around in ([gpu, device, cpu], [cpu, gpu, device]):
        monkeypatch.setattr(matsumoto, "devices", lambda around=around: around)
        found = planned("matsumoto-devices", 100)
        sets = [(each.label["set"], each.device, each.helpers) for each in found]
        assert sets == [
            ("main", device, ()),
            ("cpu", cpu, ()),
            ("hybrid", device, (cpu,)),
            ("pivots", device, (cpu,)),
        ]
        assert [given(each)[1] for each in found] == [
            {},
            {},
            {"helpers": "all", "pivot": "device"},
            {"helpers": "all", "pivot": "host"},
        ]
    # a CPU is not beside itself, and a GPU is no CPU
    monkeypatch.setattr(matsumoto, "devices", lambda: [gpu, cpu])
    assert [each.label["set"] for each in planned("matsumoto-devices", 100, device=cpu)] == ["main"]


class Handle:
    """A device that is only looked at."""

    version = ""

    def __init__(self, is_a):
        self.is_a = is_a


def test_with_one_device_there_is_no_hybrid(device, monkeypatch):
    monkeypatch.setattr(matsumoto, "devices", lambda: [device])
    document = papers.measure("matsumoto-devices", outofcore_n(device), device=device, repeat=1)
    assert [record["label"]["set"] for record in document["runs"]] == ["main"]
    assert document["left_out"] == []
    (graph,) = document["inputs"]
    assert graph["planned"]["helpers"] == "none"
    assert graph["planned"]["beside"] is None


def test_speeds_of_memory_that_is_shared_are_none(device, monkeypatch):
    found = SimpleNamespace(product=2e9, up=math.inf, down=math.inf, read=3e9, write=4e9)
    monkeypatch.setattr(speeds, "measure", lambda *arguments: found)
    task = Task(generators.ring(40), AllPairsOptions(device, np.dtype("float32")), {})
    assert matsumoto._speeds(task) == {
        "speeds": {"product": 2e9, "up": None, "down": None, "read": 3e9, "write": 4e9}
    }


@pytest.mark.slow
@pytest.mark.parametrize("experiment", ON_GRAPHS)
def test_experiments_run_and_verify(experiment, device):
    # more than a block of 64, for the product
    n = outofcore_n(device) if experiment in OUTOFCORE else 80
    settings = SMALL.get(experiment, {})
    document = papers.measure(experiment, n, device=device, repeat=1, settings=settings)
    assert document["left_out"] == []
    read = json.loads(json.dumps(document))
    for graph, same in zip(document["inputs"], read["inputs"], strict=True):
        # keys of JSON are text
        same |= {name: graph[name] for name in graph if name.endswith("estimates")}
    assert read == document
    assert (document["experiment"], document["n"]) == (experiment, n)
    assert document["device"]["name"] == device.name
    assert document["device"]["units"] == device.capabilities.compute_units
    assert document["runs"]
    for record in document["runs"]:
        assert record["verified"] is True
        assert record["input"]["n"] == n
        assert record["kernel_seconds"] > 0
        roofed = record["method"].startswith("fw-") and "packed" not in record["method"]
        if not roofed or len(record.get("devices", [])) > 1:
            assert record["fraction_of_roof"] is None
        else:
            assert record["fraction_of_roof"] > 0
        if experiment in OUTOFCORE:
            assert record["method"] == "fw-outofcore"
            assert record["peak_device_bytes"] <= 2 * n**2
            assert record["moved_bytes"] > 4 * n**2
            assert record["predicted_seconds"] > 0
            assert len(record["devices"]) == 1 + (record["label"].get("set") in HYBRID)
    assert {record["method"] for record in document["runs"]} == set(
        papers.EXPERIMENTS[experiment].methods
    )
    phases = {name for record in document["runs"] for name in record["phases"] or {}}
    assert phases == {
        "okuyama-times": {"pivot", "panels", "others"},
        "okuyama-tuning": {"pivot", "panels", "others"},
        "matsumoto-tiles": {"before", "multiply", "add"},
    }.get(experiment, set())


def test_a_matrix_of_one_block_has_no_product(device):
    document = papers.measure(
        "matsumoto-tiles", 40, device=device, repeat=1, settings={"sides": [2]}
    )
    assert document["runs"][0]["phases"].keys() == {"before"}


def test_mistakes_are_named(device):
    def measure(experiment="matsumoto-blocks", n=40, **more):
        return papers.measure(experiment, n, device=device, **more)

    with pytest.raises(ParameterError, match=r"one of okuyama-sources, .*Got 'okuyama'"):
        measure("okuyama")
    with pytest.raises(ParameterError, match="'n'"):
        measure(n=1)
    with pytest.raises(ParameterError, match="'cores'"):
        measure(settings={"cores": [1]})
    with pytest.raises(ParameterError, match="'block'"):
        measure(settings={"blocks": [33]})
    for settings, words in (
        ({"blocks": [0]}, "whole number. Got 0"),
        ({"blocks": [1.5]}, "whole number. Got 1.5"),
        ({"blocks": ["8"]}, "whole number. Got '8'"),
        ({"blocks": []}, "one or more numbers"),
    ):
        with pytest.raises(ParameterError, match=words):
            measure(settings=settings)
    with pytest.raises(ParameterError, match=r"in \(0, 100\]. Got 101"):
        measure("takafuji-diameter", settings={"densities": [101]})
    with pytest.raises(ParameterError, match="one number"):
        measure("ino-paths", settings={"tasks": [3, 4]})
    with pytest.raises(ParameterError, match="'limit'"):
        measure(limit=0)
    with pytest.raises(ParameterError, match="'repeat'"):
        measure(repeat=0)


def test_the_workflow_measures_all_in_sizes_of_their_own_or_those_given():
    own = {name: each.sizes for name, each in papers.EXPERIMENTS.items()}
    own["busato-profiling-counters"] = ()  # not measured by default
    assert papers.planned({}, {}) == own
    given = {"ino-paths": [7, 8], "busato-profiling-counters": [64]}
    assert papers.planned(given, {"tasks": [3], "counts": [4, 5]}) == own | given
    for sizes, settings, words in (
        ({"ino": [7]}, {}, "'experiment'.*Got 'ino'"),
        ({"ino-paths": [7, 1]}, {}, "'n' parameter of ino-paths must be at least 2. Got 1"),
        ({}, {"task": [3]}, "some of threads, .*Got 'task'"),
        ({}, {"tasks": [3, 4]}, "'tasks' parameter of ino-paths"),
    ):
        with pytest.raises(ParameterError, match=words):
            papers.planned(sizes, settings)


def test_experiments_say_what_they_need():
    def needs(name, n, settings=None, limit=600):
        return papers.EXPERIMENTS[name].needs(n, settings or {}, limit)

    # searches from sources end at their limit, products do not
    assert needs("okuyama-weights", 10**5, limit=9)[1] == 1200 + 100 * 9
    assert needs("okuyama-times", 10**4)[1] == 1200 + 100 * 10**12 / 1e9
    assert needs("takafuji-batches", 100, {"counts": [3, 50]})[0] == 1e9 + 20 * 50 * 100**2
    for name in papers.EXPERIMENTS:
        bytes_, seconds = needs(name, 64)
        assert 1e9 < bytes_ < 1e11
        assert 1000 < seconds < 10000


def test_when_nothing_can_run_the_reason_is_told(device, monkeypatch):
    def nothing(*arguments, **options):
        raise PyApspError("no memory")

    monkeypatch.setattr("papers.contender.solve", nothing)
    with pytest.raises(PyApspError, match="matsumoto-tiles, n = 40: no memory"):
        papers.measure("matsumoto-tiles", 40, device=device)


def test_a_device_that_cannot_be_divided_is_named(planned, device, monkeypatch):
    def refuse(self, properties):
        raise cl.LogicError("create_sub_devices", -18, "not supported")

    monkeypatch.setattr(cl.Device, "create_sub_devices", refuse, raising=False)
    units = device.capabilities.compute_units
    assert {each.label["cores"] for each in planned("takafuji-multicore", 60)} == {units}
    if units > 1:
        with pytest.raises(ParameterError, match="no part of 1 units"):
            planned("takafuji-multicore", 60, cores=[1])
