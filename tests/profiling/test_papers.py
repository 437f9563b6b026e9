"""The experiments of papers: their parameters are the published ones, their graphs as described."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.dense import performance_model
from pyapsp.dense.outofcore import planner
from pyapsp.errors import ParameterError, PyApspError
from pyapsp.graph import generators
from pyapsp.profiling import papers, sweeps
from pyapsp.registry import Options

SMALL = {
    "takafuji-threads": {"threads": [1]},
    "takafuji-packed": {"threads": [1]},
    "matsumoto-tiles": {"sides": [2]},
    "matsumoto-blocks": {"blocks": [32]},
}
HYBRID = ("hybrid", "pivots")
# fw-outofcore with memory for half of the matrix
OUTOFCORE = ("matsumoto-blocks", "matsumoto-sizes", "matsumoto-devices")


def outofcore_n(device):
    """An n whose smallest cut fits half of the matrix; kernels of GPUs need larger ones."""
    return 256 if device.traits.scalar_groups else 1024


@pytest.fixture
def planned(device):
    """What takes part in an experiment, without running it: (label, method, device) of each."""

    def plan(experiment, n, device=device, **settings):
        chosen = papers.EXPERIMENTS[experiment]
        options = Options(device, np.dtype(chosen.dtype))
        task = papers._Task(chosen.graph(n), options, settings)
        return list(chosen.contenders(task))

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


def test_the_graphs_are_those_of_the_papers():
    graph = papers.EXPERIMENTS["okuyama-times"].graph(100)
    assert (graph.n, graph.m) == (100, 400)
    assert graph.weights.min() >= 1
    assert graph.weights.max() < 100
    packed = papers.EXPERIMENTS["takafuji-packed"].graph(100)
    assert packed.m == 1600
    assert set(packed.weights) == {1}


def test_every_l_that_somebody_chooses_takes_part(planned, device):
    n = 512
    found = planned("okuyama-tuning", n)
    counts = [contender.label["l"] for contender in found]
    task = papers._Task(
        papers.EXPERIMENTS["okuyama-tuning"].graph(n), Options(device, np.dtype("int32")), {}
    )
    chosen = papers._selected(task)
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
    monkeypatch.setattr("pyapsp.device.model._kind", lambda handle: getattr(handle, "is_a", "gpu"))
    for around in ([gpu, device, cpu], [cpu, gpu, device]):
        monkeypatch.setattr(papers, "devices", lambda around=around: around)
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
    monkeypatch.setattr(papers, "devices", lambda: [gpu, cpu])
    assert [each.label["set"] for each in planned("matsumoto-devices", 100, device=cpu)] == ["main"]


class Handle:
    """A device that is only looked at."""

    def __init__(self, is_a):
        self.is_a = is_a


def test_with_one_device_there_is_no_hybrid(device, monkeypatch):
    monkeypatch.setattr(papers, "devices", lambda: [device])
    document = papers.measure("matsumoto-devices", outofcore_n(device), device=device, repeat=1)
    assert [record["label"]["set"] for record in document["runs"]] == ["main"]
    assert document["left_out"] == []
    assert document["planned"]["helpers"] == "none"
    assert document["planned"]["beside"] is None


def test_speeds_of_memory_that_is_shared_are_none(device, monkeypatch):
    found = SimpleNamespace(product=2e9, up=math.inf, down=math.inf, read=3e9, write=4e9)
    monkeypatch.setattr(planner, "measure", lambda *arguments: found)
    task = papers._Task(generators.ring(40), Options(device, np.dtype("float32")), {})
    assert papers._speeds(task) == {
        "speeds": {"product": 2e9, "up": None, "down": None, "read": 3e9, "write": 4e9}
    }


@pytest.mark.parametrize("experiment", papers.EXPERIMENTS)
def test_experiments_run_and_verify(experiment, device):
    # more than a block of 64, for the product
    n = outofcore_n(device) if experiment in OUTOFCORE else 80
    settings = SMALL.get(experiment, {})
    document = papers.measure(experiment, n, device=device, repeat=1, settings=settings)
    assert document["left_out"] == []
    assert document == json.loads(json.dumps(document)) | {
        # keys of JSON are text
        name: document[name]
        for name in ("estimates", "published_estimates")
        if name in document
    }
    assert (document["experiment"], document["n"]) == (experiment, n)
    assert document["device"]["name"] == device.name
    assert document["device"]["units"] == device.capabilities.compute_units
    assert document["runs"]
    for record in document["runs"]:
        assert record["verified"] is True
        assert record["graph"]["n"] == n
        assert record["kernel_seconds"] > 0
        if "packed" in record["method"] or len(record.get("devices", [])) > 1:
            assert record["fraction_of_roof"] is None
        else:
            assert record["fraction_of_roof"] > 0
        if experiment in OUTOFCORE:
            assert record["method"] == "fw-outofcore"
            assert record["peak_device_bytes"] <= 2 * n**2
            assert record["moved_bytes"] > 4 * n**2
            assert record["predicted_seconds"] > 0
            assert len(record["devices"]) == 1 + (record["label"].get("set") in HYBRID)
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

    with pytest.raises(ParameterError, match=r"one of okuyama-times, .*Got 'okuyama'"):
        measure("okuyama")
    with pytest.raises(ParameterError, match="'n'"):
        measure(n=1)
    with pytest.raises(ParameterError, match="'cores'"):
        measure(settings={"cores": [1]})
    with pytest.raises(ParameterError, match="'block'"):
        measure(settings={"blocks": [33]})


def test_when_nothing_can_run_the_reason_is_told(device, monkeypatch):
    def nothing(graph, contenders, *arguments, **options):
        return {"runs": [], "left_out": [{"why": "no memory"}], "reference": {}}

    monkeypatch.setattr(sweeps, "run", nothing)
    with pytest.raises(PyApspError, match="matsumoto-blocks, n = 40: no memory"):
        papers.measure("matsumoto-blocks", 40, device=device)


def test_a_device_that_cannot_be_divided_is_named(planned, device, monkeypatch):
    def refuse(self, properties):
        raise cl.LogicError("create_sub_devices", -18, "not supported")

    monkeypatch.setattr(cl.Device, "create_sub_devices", refuse, raising=False)
    units = device.capabilities.compute_units
    assert {each.label["cores"] for each in planned("takafuji-multicore", 60)} == {units}
    if units > 1:
        with pytest.raises(ParameterError, match="no part of 1 units"):
            planned("takafuji-multicore", 60, cores=[1])
