"""fw-outofcore: every cut gives the answer of fw-naive, and no accident loses more than time."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from itertools import product

import numpy as np
import pyopencl as cl
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp import errors, verify
from pyapsp.all_pairs.dense import fw_outofcore
from pyapsp.all_pairs.dense.fw_minplus import FORMS, FwMinplus
from pyapsp.all_pairs.dense.outofcore import steps, storage, team
from pyapsp.all_pairs.dense.outofcore.engine import Engine
from pyapsp.all_pairs.dense.outofcore.pinning import PinnedRows
from pyapsp.all_pairs.dense.outofcore.schedule import Schedule
from pyapsp.all_pairs.dense.outofcore.shape import Shape, up_to
from pyapsp.all_pairs.dense.outofcore.steps import Steps
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.all_pairs.dense.outofcore.worker import Worker
from pyapsp.device import devices, model
from pyapsp.graph import Graph, generators
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters
from pyapsp.registry.tuning import database


def outofcore(**parameters):
    return pyapsp.method("fw-outofcore", **parameters)


def halves(n, m, seed=1):
    """A graph with weights whose sums round."""
    graph = generators.random_graph(n, m, seed=seed)
    return graph.with_weights(np.random.default_rng(seed).random(graph.m))


CUTS = [
    {"block": 64, "rows": 64},
    {"block": 128, "rows": 96, "columns": 64},
    {"block": 96, "rows": 96, "columns": 96},
    {"block": 128, "rows": 32, "split": "separated"},
    {"block": 64, "rows": 64, "columns": 128, "split": "separated"},
    {"block": 4096},
    {"block": 64, "rows": 32, "lookahead": "on"},
    {"block": 96, "rows": 64, "columns": 64, "split": "separated", "lookahead": "on"},
    {"pivot": "host"},
    {},
]


@pytest.mark.parametrize("cut", CUTS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 63, 200, 257])
def test_every_cut(cut, n, device):
    graph = generators.random_graph(n, min(5 * n, n * (n - 1)), seed=n)
    if cut.get("pivot") == "host" and device.kind != "cpu":
        with pytest.raises(errors.CapabilityError, match="needs a CPU"):
            pyapsp.solve(graph, outofcore(**cut), device=device)
        return
    result = pyapsp.solve(graph, outofcore(**cut), device=device)
    if graph.m:
        np.testing.assert_array_equal(result.distances, csgraph.dijkstra(graph.to_scipy()))
    else:
        np.testing.assert_array_equal(result.distances, np.zeros((1, 1)))


@pytest.fixture
def apart(device, monkeypatch):
    """Take a device for one with memory of its own."""
    own = replace(device.capabilities, unified_memory=False, max_allocation=2**19)
    monkeypatch.setitem(model._capabilities, device.handle, own)
    monkeypatch.setattr(steps, "_PIECE", 2**15)  # parts have several pieces
    return device


@pytest.mark.parametrize("kept", ["memory", "file", "refused"])
@pytest.mark.parametrize("cut", [each for each in CUTS if "rows" in each or not each], ids=str)
@pytest.mark.parametrize("n", [1, 63, 257])
def test_every_cut_on_a_device_with_its_own_memory(cut, n, kept, apart, tmp_path, monkeypatch):
    """Rows in memory are pinned; those of a file go through pinned memory."""
    graph = generators.random_graph(n, min(5 * n, n * (n - 1)), seed=n)
    out, pinned = np.empty((n, n)), []
    if kept == "file":
        out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", np.float64, (n, n))

    class Noted(PinnedRows):
        def __init__(self, *arguments):
            if kept == "refused":
                raise cl.MemoryError("clCreateBuffer", -4, "simulated")
            super().__init__(*arguments)
            pinned.append(self)

    monkeypatch.setattr(team, "PinnedRows", Noted)
    result = pyapsp.solve(graph, outofcore(**cut), device=apart, out=out)
    expected = csgraph.dijkstra(graph.to_scipy()) if graph.m else np.zeros((1, 1))
    np.testing.assert_array_equal(result.distances, expected)
    fused = result.stats["parameters"]["split"] == "fused"
    assert len(pinned) == (fused and kept == "memory")


@pytest.mark.timeout(30)
@pytest.mark.parametrize("operation", ["preadv", "pwritev"])
def test_an_error_of_the_file_ends_all_copies(operation, apart, tmp_path, monkeypatch):
    """No thread waits for pinned memory that another had when it failed."""
    monkeypatch.setattr(steps, "_PIECE", 2**12)  # more pieces of a part than threads
    graph = generators.random_graph(257, 1285, seed=1)
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", np.float64, (257, 257))
    method = outofcore(block=64, rows=64)
    plan = method.plan(graph, AllPairsOptions(apart, np.dtype("float64"), out=out))

    def broken(*_):
        raise OSError(5, "simulated")

    def no_fill(*_):
        monkeypatch.setattr(storage.os, operation, broken)

    monkeypatch.setattr(fw_outofcore, "fill", no_fill)
    with pytest.raises(OSError, match="simulated"):
        method.run(plan)


@pytest.mark.every(10)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int16", "uint16"])
@pytest.mark.parametrize("split", ["fused", "separated"])
def test_every_type_with_predecessors(split, dtype, device):
    graph = generators.random_graph(150, 800, seed=3)
    if dtype != "uint16":
        potential = np.random.default_rng(3).integers(0, 50, graph.n)
        tails, heads, weights = graph.arcs()
        graph = graph.with_weights(weights + potential[tails] - potential[heads])
    method = outofcore(block=64, rows=32, split=split)
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    assert verify.against_scipy(graph, result).ok
    assert verify.certificate(graph, result, device=device).ok


@pytest.mark.long_loops
def test_the_rounding_does_not_depend_on_how_rows_are_shared(device):
    graph = halves(300, 2000)
    answers = [
        pyapsp.solve(graph, outofcore(block=96, **cut), dtype="float32", device=each).distances
        for cut in (
            {"rows": 32},
            {"rows": 288},
            {"rows": 64, "columns": 96},
            {"rows": 32, "lookahead": "on"},
        )
        for each in (device, [device, device])
    ]
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer, answers[0])
    np.testing.assert_allclose(answers[0], csgraph.dijkstra(graph.to_scipy()), rtol=1e-5)


@pytest.mark.every(2)
@pytest.mark.parametrize("lookahead", ["on", "off"])
def test_all_devices_together(lookahead):
    present = devices()
    graph = generators.random_graph(500, 3000, seed=4)
    method = outofcore(block=64, rows=32, helpers="all", lookahead=lookahead)
    result = pyapsp.solve(graph, method, dtype="int32", device=present)
    assert result.stats["devices"] == [each.name for each in present]
    expected = pyapsp.solve(graph, "fw-naive", dtype="int32", device=present[0])
    np.testing.assert_array_equal(result.distances, expected.distances)
    alone = pyapsp.solve(graph, outofcore(helpers="none"), dtype="int32", device=present)
    assert alone.stats["devices"] == [present[0].name]
    np.testing.assert_array_equal(alone.distances, expected.distances)


def test_the_next_block_is_opened_while_rows_are_updated(device, monkeypatch):
    """The last rows of the first pass wait until the block of the second one is closed."""
    closed = threading.Event()
    close, ranges = Worker.close_pivot, Schedule.ranges

    def noted(self, first, depth):
        close(self, first, depth)
        if first > 0:
            closed.set()

    def waiting(self, *asked):
        for first, last in ranges(self, *asked):
            if last == 640:  # slots take several parts before the first is computed
                assert closed.wait(20)
            yield first, last

    monkeypatch.setattr(Worker, "close_pivot", noted)
    monkeypatch.setattr(Schedule, "ranges", waiting)
    graph = generators.random_graph(640, 5000, seed=4)
    method = outofcore(block=128, rows=32, lookahead="on")
    result = pyapsp.solve(graph, method, device=device)
    np.testing.assert_array_equal(result.distances, csgraph.dijkstra(graph.to_scipy()))


def test_other_methods_take_one_device(device):
    graph = generators.random_graph(20, seed=1)
    with pytest.raises(errors.CapabilityError, match="fw-blocked uses one device"):
        pyapsp.solve(graph, "fw-blocked", device=[device, device])
    with pytest.raises(errors.ParameterError, match="at least one device"):
        pyapsp.solve(graph, device=[])
    several = pyapsp.solve(graph, "fw-outofcore", device=[device, device])
    assert several.stats["method"] == "fw-outofcore"


@pytest.mark.slow
def test_auto_takes_it_when_nothing_else_fits(device):
    graph = halves(1300, 900_000)  # the arcs alone, kept by every search, are more than the limit
    result = pyapsp.solve(graph, device=device, memory_limit=10_000_000)
    assert result.stats["method"] == "fw-outofcore"
    assert result.stats["peak_device_bytes"] <= 10_000_000
    np.testing.assert_allclose(result.distances, csgraph.dijkstra(graph.to_scipy()), rtol=1e-12)
    text = result.explain()
    assert re.search(r"passes over [\d,]+ pivots", text)
    assert re.search(r"predicted: \S+ s, \S+ GiB to and from the device, bound by \w+", text)
    with pytest.raises(errors.DeviceMemoryError) as caught:
        pyapsp.solve(graph, device=device, memory_limit=10_000)
    assert caught.value.available == 10_000


@pytest.mark.slow
def test_narrow_distances_and_an_array_of_another_type(device):
    """Of "auto", the matrix may be narrower than the array of the caller."""
    graph = generators.random_graph(1300, 900_000, 9, seed=1)
    expected = csgraph.dijkstra(graph.to_scipy())
    out = np.full((1300, 1300), -1, np.int32)
    options = AllPairsOptions(device, np.dtype(np.uint16), answer=out.dtype, out=out)
    method = pyapsp.method("fw-outofcore")
    distances = method.run(method.plan(graph, options)).distances
    assert distances.dtype == np.uint16
    np.testing.assert_array_equal(distances, expected)
    result = pyapsp.solve(graph, device=device, memory_limit=3_500_000, out=out)
    assert result.stats["method"] == "fw-outofcore"
    assert result.distances is out
    np.testing.assert_array_equal(out, expected)


COARSE = {
    "panels": [
        {"strips": strips, "group_columns": 192, "rows": 12, "unroll": 4} for strips in (1, 2, 3, 4)
    ],
    "tiles": [{"block": 256, "rows": 8, "words": 8, "group_x": 32, "group_y": 8, "vector": 1}],
}


@pytest.fixture
def tune_coarsely(device, row_of, tmp_path, monkeypatch):
    """Return a function that makes the only tuning row there is."""
    monkeypatch.setattr(database, "shipped_databases", list)
    folder = tmp_path / "tuning"

    def tune(graph):
        row = row_of(
            method="fw-minplus",
            dtype="float32",
            n=graph.n,
            parameters=coarse(graph, device),
            rate=1e9,
        )
        folder.mkdir()
        database.merge(folder / "database.json", [row])
        monkeypatch.setenv("PYAPSP_TUNING", str(folder))
        options = AllPairsOptions(device, np.dtype(np.float32))
        assert FwMinplus().choose_parameters(graph, options)[0] == row.parameters

    return tune


def coarse(graph, device):
    """Parameters for float32, of kernels that need sizes of a large multiple."""
    method, options = FwMinplus(), AllPairsOptions(device, np.dtype(np.float32))
    candidate, _ = method.choose_parameters(graph, options, rows=False)
    form, blocks = FORMS[candidate["form"]], method.choices["block"]
    sets = (
        candidate | {"tile": tile, "block": tile} | changed
        for tile, changed in product(method.choices["tile"], COARSE[candidate["form"]])
        if tile in blocks
    )
    return max(
        (each for each in sets if form.fits(each, options)),
        key=lambda each: form(options, each, negative=False).unit,
    )


def test_candidates_when_what_was_tuned_needs_too_much(device, tune_coarsely):
    graph = halves(300, 2000)

    def solve(limit):
        return pyapsp.solve(graph, outofcore(), dtype="float32", device=device, memory_limit=limit)

    with pytest.raises(errors.DeviceMemoryError) as untuned:
        solve(1000)
    least = untuned.value.needed
    tune_coarsely(graph)
    result = solve(least)
    assert result.stats["peak_device_bytes"] == least
    assert "untuned kernels, because the tuned ones need more memory" in result.explain()
    np.testing.assert_allclose(result.distances, csgraph.dijkstra(graph.to_scipy()), rtol=1e-5)
    with pytest.raises(errors.DeviceMemoryError) as tuned:
        solve(1000)
    assert tuned.value.needed == least


class Counted(cl.Buffer):
    """Counts the bytes of buffers that are not memory of the host."""

    now = most = 0

    def __init__(self, context, flags, size=0, hostbuf=None):
        super().__init__(context, flags, size, hostbuf)
        pins = cl.mem_flags.ALLOC_HOST_PTR | cl.mem_flags.USE_HOST_PTR
        self.counted = 0 if flags & pins else size
        Counted.now += self.counted
        Counted.most = max(Counted.most, Counted.now)

    def release(self):
        Counted.now -= self.counted
        super().release()


@pytest.fixture
def counted(monkeypatch):
    monkeypatch.setattr(Counted, "now", 0)
    monkeypatch.setattr(Counted, "most", 0)
    monkeypatch.setattr("pyapsp.all_pairs.dense.outofcore.worker.cl.Buffer", Counted)
    return Counted


@pytest.mark.parametrize("lookahead", ["on", "off"])
def test_no_more_device_memory_than_planned(lookahead, device, counted):
    graph = generators.random_graph(400, 2000, seed=5)
    method = outofcore(block=128, rows=64, lookahead=lookahead)
    plan = method.plan(graph, AllPairsOptions(device, np.dtype("float32")))
    counted.now = counted.most = 0
    method.run(plan)
    assert 0.6 * plan.device_bytes < counted.most <= plan.device_bytes
    assert counted.now == 0


@pytest.mark.parametrize("failing", [1, 3, 4], ids=["right", "slot", "second slot"])
def test_buffers_of_a_worker_that_cannot_start(failing, device, counted, monkeypatch):
    options = AllPairsOptions(device, np.dtype("float32"))
    parameters = Parameters(next(FwMinplus().candidates(options)))
    product = FORMS[parameters["form"]](options, parameters, negative=False)
    size = product.unit * 2
    shape, made = Shape(size, size, size, product.unit, size, slots=2), []

    class Refused(counted):
        def __init__(self, *arguments, **named):
            made.append(self)
            if len(made) == failing + 1:
                raise cl.MemoryError("no memory")
            super().__init__(*arguments, **named)

    monkeypatch.setattr("pyapsp.all_pairs.dense.outofcore.worker.cl.Buffer", Refused)
    worker = Worker(device, product, shape, Matrix(np.ones((size, size), np.float32)))
    with pytest.raises(errors.DeviceMemoryError):
        worker.__enter__()
    assert (len(made), counted.now) == (failing + 1, 0)


@pytest.mark.every(2)
@pytest.mark.parametrize("rows", [32, 2048], ids=["no block fits in a slot", "a block fits"])
def test_the_memory_of_a_worker(rows, device, counted):
    """The pivot rows are multiplied, which takes more memory than to close a large block."""
    options = AllPairsOptions(device, np.dtype("float32"))
    parameters = Parameters(next(FwMinplus().candidates(options)))
    product = FORMS[parameters["form"]](options, parameters, negative=False)
    unit, block, n = product.unit, 2048, 2304
    shape = Shape(n, n, block, up_to(rows, unit), up_to(64, unit), slots=1)
    assert shape.block_fits_slot == (rows == block)
    with (
        Matrix(np.ones((n, n), np.float32)) as matrix,
        Worker(device, product, shape, matrix) as worker,
    ):
        worker.close_pivot(0, block)
        worker.panel(0, block)
        assert counted.most == worker.bytes
    assert counted.now == 0


def test_a_mapped_file(device, tmp_path):
    graph = generators.random_graph(300, 2000, seed=6)
    path = tmp_path / "distances.npy"
    out = np.lib.format.open_memmap(path, "w+", np.int32, (300, 300))
    result = pyapsp.solve(graph, outofcore(block=64), out=out, predecessors=True, device=device)
    assert result.distances is out
    assert verify.against_scipy(graph, result).ok
    assert verify.certificate(graph, result, device=device).ok
    beside = np.load(tmp_path / "distances.npy.predecessors.npy", mmap_mode="r")
    np.testing.assert_array_equal(beside, result.predecessors)
    np.testing.assert_array_equal(np.load(path), out)


def test_negative_cycles_and_clipped_distances_are_errors(device):
    cycle = Graph.from_arcs(100, [5, 70, 20], [70, 20, 5], [1, 1, -3])
    with pytest.raises(errors.NegativeCycleError) as caught:
        pyapsp.solve(cycle, outofcore(block=32), device=device)
    assert caught.value.weight == -1
    chain = Graph.from_arcs(100, range(99), range(1, 100), np.full(99, 30000))
    with pytest.raises(errors.PrecisionError, match="too large for uint16"):
        pyapsp.solve(chain, outofcore(block=32), dtype="uint16", device=device)


def test_an_error_of_the_graph_removes_the_checkpoint(device, tmp_path):
    cycle = Graph.from_arcs(100, [5, 70, 20], [70, 20, 5], [1, 1, -3])
    chain = Graph.from_arcs(100, range(99), range(1, 100), np.full(99, 30000))
    options = {"device": device, "checkpoint": tmp_path / "snapshots"}
    for graph, dtype, error in (
        (cycle, "int32", errors.NegativeCycleError),
        (chain, "uint16", errors.PrecisionError),
    ):
        with pytest.raises(error):
            pyapsp.solve(graph, outofcore(block=32, interval=0), dtype=dtype, **options)
        assert [each.name for each in options["checkpoint"].iterdir()] == ["lock"]
    graph = generators.random_graph(50, seed=1)
    pyapsp.solve(graph, outofcore(block=32, interval=0), dtype="int32", **options)


def test_a_host_pivot_needs_a_cpu(device, monkeypatch):
    graph = generators.random_graph(50, seed=1)
    if device.kind != "cpu":
        with pytest.raises(errors.CapabilityError, match="needs a CPU"):
            pyapsp.solve(graph, outofcore(pivot="host"), dtype="int32", device=device)
    for each in devices():
        monkeypatch.setitem(each.__dict__, "kind", "gpu")
    with pytest.raises(errors.CapabilityError, match="needs a CPU"):
        pyapsp.solve(graph, outofcore(pivot="host"), dtype="int32", device=device)


@pytest.mark.parametrize("memory", ["available_memory", "installed_memory"])
def test_more_than_the_host_holds_is_refused(memory, device, monkeypatch):
    graph = generators.random_graph(50, seed=1)
    monkeypatch.setattr(fw_outofcore, memory, lambda: 1000)
    if memory == "available_memory":  # it changes, so the choice of a method must not look at it
        request = pyapsp.problem("all-pairs").ask(graph, outofcore(), dtype="int32", device=device)
        assert outofcore().plan(request.input, request.options).device_bytes > 0
    with pytest.raises(errors.DeviceMemoryError, match="the host cannot hold the distances") as e:
        pyapsp.solve(graph, outofcore(), dtype="int32", device=device)
    assert (e.value.needed, e.value.available) == (4 * 50 * 50, 1000)


# -- progress and checkpoints ----------------------------------------------------------------


class Cancelled(Exception):  # noqa: N818 - a caller's own
    pass


def cancel_after(fraction):
    def progress(done, total):
        if done >= fraction * total:
            raise Cancelled

    return progress


@pytest.mark.parametrize("lookahead", ["on", "off"])
def test_progress_counts_up_to_the_end(lookahead, device):
    calls = []
    graph = generators.random_graph(300, 2000, seed=7)
    method = outofcore(block=64, rows=64, lookahead=lookahead)
    result = pyapsp.solve(graph, method, device=device, progress=lambda *call: calls.append(call))
    passes = -(-300 // result.stats["parameters"]["block"])
    done, totals = zip(*calls, strict=True)
    assert set(totals) == {300 * passes}
    assert list(done) == sorted(done)
    assert done[-1] == 300 * passes


def test_a_run_that_is_cancelled_while_a_block_is_opened_is_saved(device, tmp_path, monkeypatch):
    panel = Worker.panel
    monkeypatch.setattr(Worker, "panel", lambda *row: (time.sleep(0.2), panel(*row)))
    graph, method = halves(100, 700), outofcore(block=64, rows=32, interval=0)
    same = {"dtype": "float32", "device": [device, device], "checkpoint": tmp_path / "checkpoint"}
    with pytest.raises(Cancelled):
        pyapsp.solve(graph, method, progress=cancel_after(0.0), **same)
    assert pyapsp.solve(graph, method, **same).stats["resumed"]


@pytest.mark.every(2)
@pytest.mark.parametrize("lookahead", ["on", "off"])
@pytest.mark.parametrize("fraction", [0.0, 0.3, 0.7, 1.0])
def test_a_cancelled_run_goes_on_where_it_was(fraction, lookahead, device, tmp_path):
    graph = halves(400, 3000)
    method = outofcore(block=64, rows=32, interval=0, lookahead=lookahead)
    same = {"dtype": "float32", "device": [device, device]}
    whole = pyapsp.solve(graph, outofcore(block=64, rows=32), **same)
    folder = tmp_path / "checkpoint"
    with pytest.raises(Cancelled):
        pyapsp.solve(graph, method, checkpoint=folder, progress=cancel_after(fraction), **same)
    first = []
    result = pyapsp.solve(
        graph, method, checkpoint=folder, progress=lambda *call: first.append(call), **same
    )
    assert result.stats["resumed"]
    assert first[0][0] >= fraction * first[0][1] * 0.9
    np.testing.assert_array_equal(result.distances, whole.distances)
    assert [path.name for path in folder.iterdir()] == ["lock"]


def test_a_checkpoint_decides_what_was_not_asked_for(device, tmp_path):
    graph = halves(400, 3000)
    same = {"dtype": "float32", "device": device, "checkpoint": tmp_path}
    with pytest.raises(Cancelled):
        pyapsp.solve(graph, outofcore(block=64), progress=cancel_after(0.5), **same)
    with pytest.raises(errors.CheckpointError, match=r"block=\d+, not 400"):
        pyapsp.solve(graph, outofcore(block=400), **same)
    with pytest.raises(errors.CheckpointError, match="pivot=device, not host"):
        pyapsp.solve(graph, outofcore(pivot="host"), **same)
    with pytest.raises(errors.CheckpointError, match="another run: dtype"):
        pyapsp.solve(graph, outofcore(), **{**same, "dtype": "float64"})
    with pytest.raises(errors.CheckpointError, match="another run: graph"):
        pyapsp.solve(halves(400, 3000, seed=2), outofcore(), **same)
    block = json.loads((tmp_path / "manifest.json").read_text())["state"]["block"]
    result = pyapsp.solve(graph, outofcore(), **same)
    assert result.stats["parameters"]["block"] == block
    assert result.stats["resumed"]


def test_a_block_of_more_than_the_graph_goes_on(device, tmp_path):
    graph = halves(257, 2000)
    same = {"dtype": "float32", "device": device, "checkpoint": tmp_path}
    method = outofcore(block=4096, rows=64, interval=0)
    with pytest.raises(Cancelled):
        pyapsp.solve(graph, method, progress=cancel_after(0.5), **same)
    assert pyapsp.solve(graph, method, **same).stats["resumed"]


def test_a_helper_that_works_in_other_units_does_not_change_blocks(device, tmp_path, tune_coarsely):
    graph = halves(500, 4000)
    same = {"dtype": "float32", "checkpoint": tmp_path / "checkpoint"}
    method = outofcore(block=64, rows=64, interval=0, helpers="all")
    with pytest.raises(Cancelled):
        pyapsp.solve(graph, method, progress=cancel_after(0.5), device=device, **same)
    tune_coarsely(graph)
    with pytest.raises(errors.CheckpointError, match=r"was made in blocks of \d+ with kernels"):
        pyapsp.solve(graph, method, device=[device, device], **same)
    resumed = pyapsp.solve(graph, method, device=device, **same)
    assert resumed.stats["resumed"]
    np.testing.assert_allclose(resumed.distances, csgraph.dijkstra(graph.to_scipy()), rtol=1e-5)


def test_untuned_kernels_stay_when_a_run_goes_on_with_more_memory(device, tmp_path, tune_coarsely):
    graph = halves(500, 4000)
    same = {"dtype": "float32", "device": [device, device]}
    method = outofcore(block=64, rows=64, interval=0, helpers="all")
    with pytest.raises(errors.DeviceMemoryError) as untuned:
        pyapsp.solve(graph, method, memory_limit=1000, **same)
    tune_coarsely(graph)
    same["checkpoint"] = tmp_path / "checkpoint"
    limit = untuned.value.needed
    with pytest.raises(Cancelled):
        pyapsp.solve(graph, method, memory_limit=limit, progress=cancel_after(0.5), **same)
    resumed = pyapsp.solve(graph, method, **same)
    assert resumed.stats["resumed"]
    np.testing.assert_allclose(resumed.distances, csgraph.dijkstra(graph.to_scipy()), rtol=1e-5)


def test_the_host_closes_with_the_kernels_of_the_checkpoint(
    device, tmp_path, tune_coarsely, monkeypatch
):
    graph, folder = halves(500, 4000), tmp_path / "checkpoint"
    same = {"dtype": "float32", "device": [device, device]}
    method = outofcore(block=192, rows=64, interval=0, pivot="host")
    if device.kind != "cpu":
        with pytest.raises(errors.CapabilityError, match="needs a CPU among the devices"):
            pyapsp.solve(graph, method, **same)
        return
    whole = pyapsp.solve(graph, method, **same)
    with pytest.raises(Cancelled):
        pyapsp.solve(graph, method, progress=cancel_after(0.5), checkpoint=folder, **same)
    made_with = json.loads((folder / "manifest.json").read_text())["state"]["closing"]
    tune_coarsely(graph)
    start, closing = Engine.__init__, []

    def noted(self, *arguments, decisive, **more):
        closing.append(decisive["closing"])
        start(self, *arguments, decisive=decisive, **more)

    monkeypatch.setattr(Engine, "__init__", noted)
    resumed = pyapsp.solve(graph, method, checkpoint=folder, **same)
    assert resumed.stats["resumed"]
    assert closing == [made_with]
    np.testing.assert_array_equal(resumed.distances, whole.distances)


def test_a_damaged_checkpoint_is_refused(device, tmp_path):
    graph = halves(300, 2000)
    same = {"dtype": "float32", "device": device, "checkpoint": tmp_path}
    with pytest.raises(Cancelled):
        pyapsp.solve(graph, outofcore(block=64), progress=cancel_after(0.5), **same)
    data = next(tmp_path.glob("*.bin"))
    spoiled = bytearray(data.read_bytes())
    spoiled[1000] ^= 1
    data.write_bytes(spoiled)
    with pytest.raises(errors.CheckpointError, match="damaged"):
        pyapsp.solve(graph, outofcore(), **same)


def rows_done(folder, n=400):
    """Return how far a checkpoint is, in rows of all passes."""
    state = json.loads((folder / "manifest.json").read_text())["state"]
    left = n if state["left"] is None else sum(last - first for first, last in state["left"])
    return n * (state["pass"] + 1) - left


def lose_after(count, monkeypatch):
    """Let the driver fail at the k-th command that brings rows."""
    calls = {"left": count}
    whole = Steps.run

    def run(self, all_steps):
        def watched():
            for step in all_steps:
                calls["left"] -= 1
                if calls["left"] < 0:
                    raise cl.RuntimeError("clEnqueueNDRangeKernel", -5, "simulated: device lost")
                yield step

        whole(self, watched())

    monkeypatch.setattr(Steps, "run", run)


@pytest.mark.every(2)
@pytest.mark.parametrize("count", [0, 1, 3, 7])
def test_a_lost_device_is_an_error_and_the_checkpoint_stays(count, device, tmp_path, monkeypatch):
    graph = halves(400, 3000)
    method = outofcore(block=64, rows=32, interval=0)
    same = {"dtype": "float32", "device": device}
    whole = pyapsp.solve(graph, method, **same).distances
    with pytest.raises(Cancelled):
        pyapsp.solve(graph, method, checkpoint=tmp_path, progress=cancel_after(0.3), **same)
    before = rows_done(tmp_path)
    with monkeypatch.context() as patched:
        lose_after(count, patched)
        with pytest.raises(errors.DeviceError, match="failed"):
            pyapsp.solve(graph, method, checkpoint=tmp_path, **same)
    assert rows_done(tmp_path) >= before
    result = pyapsp.solve(graph, method, checkpoint=tmp_path, **same)
    assert result.stats["resumed"]
    np.testing.assert_array_equal(result.distances, whole)


def test_a_full_disk_is_an_error_and_the_checkpoint_stays(device, tmp_path, monkeypatch):
    graph = halves(400, 3000)
    method = outofcore(block=64, rows=32, interval=0)
    same = {"dtype": "float32", "device": device, "checkpoint": tmp_path}
    with pytest.raises(Cancelled):
        pyapsp.solve(graph, method, progress=cancel_after(0.4), **same)
    with monkeypatch.context() as patched:

        def full(*_):
            raise OSError(28, "No space left on device")

        patched.setattr("pyapsp.all_pairs.dense.outofcore.checkpoint.os.pwritev", full)
        with pytest.raises(errors.DiskSpaceError, match="make room for the checkpoint"):
            pyapsp.solve(graph, method, **same)
    assert pyapsp.solve(graph, method, **same).stats["resumed"]


def test_no_room_for_checkpoints_is_refused_before_any_work(device, tmp_path, monkeypatch):
    graph = generators.random_graph(100, seed=1)
    usage = type("usage", (), {"free": 1000})
    monkeypatch.setattr(
        "pyapsp.all_pairs.dense.outofcore.folders.shutil.disk_usage", lambda _: usage
    )
    with pytest.raises(errors.DiskSpaceError) as caught:
        pyapsp.solve(graph, outofcore(), dtype="int32", checkpoint=tmp_path, device=device)
    assert (caught.value.needed, caught.value.available) == (2 * 4 * 100 * 100, 1000)


def test_a_folder_that_vanishes_is_an_error(device, tmp_path):
    graph = halves(400, 3000)
    folder = tmp_path / "checkpoint"

    def remove(done, total):
        if done > total // 2 and folder.exists():
            for each in folder.iterdir():
                each.unlink()
            folder.rmdir()

    with pytest.raises(errors.CheckpointError, match="was removed"):
        pyapsp.solve(
            graph,
            outofcore(block=64, rows=32, interval=0),
            checkpoint=folder,
            progress=remove,
            device=device,
        )


RUN = """
import os, sys, numpy as np, pyapsp
from pyapsp.graph import Graph
seed, device, folder, out = sys.argv[1:]
rng = np.random.default_rng(int(seed))
graph = Graph.from_arcs(1200, *rng.integers(0, 1200, (2, 9000)), rng.random(9000))
array = np.lib.format.open_memmap(out, "w+", np.float32, (1200, 1200))
def progress(done, total):
    os.write(1, f"{done} {total}\\n".encode())  # at once: what a kill leaves are whole lines
pyapsp.solve(graph, pyapsp.method("fw-outofcore", block=96, rows=32, interval=0), out=array,
             device=device, checkpoint=folder or None, progress=progress)
"""


@pytest.mark.nightly
def test_kill_at_any_instant(tmp_path):
    """Twenty times, or more; the matrix in the end is that of a run without accidents."""
    device = devices()[-1].id
    checkpoint, out = tmp_path / "checkpoint", tmp_path / "killed.npy"

    def start(folder, out):
        return subprocess.Popen(
            [sys.executable, "-c", RUN, "5", device, folder, str(out)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    undisturbed = start("", tmp_path / "whole.npy")
    reported = [time.monotonic() for _ in undisturbed.stdout]
    assert undisturbed.wait() == 0
    undisturbed.stdout.close()
    whole = np.load(tmp_path / "whole.npy")
    longest = (reported[-1] - reported[0]) / 4

    def saved():
        """Return the progress that the checkpoint is at."""
        if not (checkpoint / "manifest.json").exists():
            return 0
        state = json.loads((checkpoint / "manifest.json").read_text())["state"]
        left = 1200 if state["left"] is None else sum(high - low for low, high in state["left"])
        return state["pass"] * 1200 + 1200 - left

    draw, kills, resumed, before = random.Random(1), 0, 0, 0
    for _ in range(100):
        at = saved()
        process = start(str(checkpoint), out)
        said = [process.stdout.readline()]
        kill = kills < 20 or resumed < 8
        if kill:
            time.sleep(draw.uniform(0, longest))
            process.send_signal(signal.SIGKILL)
        said += process.stdout
        ended = process.wait()
        process.stdout.close()
        begun = int(said[0].split()[0])
        # no run begins before where another one was, and first tells of it in the same pass, whose
        # block may be closed by then
        assert before <= at <= begun < at + 1200
        resumed += at > before > 0
        done, total = said[-1].split()
        gone = not (checkpoint / "manifest.json").exists()
        if ended == 0 or (done == total and gone):  # the checkpoint goes at the very end
            np.testing.assert_array_equal(np.load(out), whole)
            if not kill:
                return
            before = 0  # it was faster than the signal: the next one begins anew
        else:
            assert ended == -signal.SIGKILL
            kills, before = kills + 1, at
    pytest.fail(f"{kills} runs were killed, and {resumed} went on where another one was")


def test_an_interrupt_leaves_a_checkpoint(tmp_path):
    folder = tmp_path / "checkpoint"
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "6", devices()[-1].id, str(folder), str(tmp_path / "out.npy")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    process.stdout.readline()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    if process.returncode != 0:  # else it was faster
        assert "KeyboardInterrupt" in said
        assert json.loads((folder / "manifest.json").read_text())["state"]["pass"] >= 0
