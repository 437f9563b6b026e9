"""fw-multidevice: any division of the rows gives the answer of one device, and failures end it."""

import functools
import itertools
import threading
import time
from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp import errors, verify
from pyapsp.all_pairs import choice
from pyapsp.all_pairs.dense import fw_multidevice
from pyapsp.all_pairs.dense.fw_minplus import FwMinplus
from pyapsp.all_pairs.dense.multidevice import division, exchange, share
from pyapsp.all_pairs.dense.multidevice.division import Rate, divided
from pyapsp.all_pairs.dense.multidevice.panel import RowPanel
from pyapsp.all_pairs.dense.multidevice.share import Share
from pyapsp.all_pairs.dense.outofcore import team
from pyapsp.all_pairs.dense.outofcore.speeds import Speeds
from pyapsp.device import model
from pyapsp.device.kernels import filling, staging
from pyapsp.graph import Graph, generators

TILES = {
    "form": "tiles",
    "tile": 32,
    "rows": 4,
    "words": 4,
    "group_x": 4,  # a group spans a tile of 16-bit values
    "group_y": 8,
    "slice": 8,
    "vector": 2,
    "block": 32,
    "ahead": 0,
    "separate": 0,
}


def multidevice(**parameters):
    return pyapsp.method("fw-multidevice", **{"helpers": "all", **parameters})


def fractions(n, m, seed=1):
    """A graph with weights whose sums round."""
    graph = generators.random_graph(n, min(m, n * (n - 1)), seed=seed)
    return graph.with_weights(np.random.default_rng(seed).random(graph.m))


@pytest.fixture(params=["panels", "tiles"])
def form(request, monkeypatch):
    if request.param == "tiles":
        monkeypatch.setattr(team, "FwMinplus", functools.partial(FwMinplus, **TILES))
    return request.param


@pytest.fixture(params=["mapped", "in pieces"])
def copies(request, monkeypatch):
    """Copy rows in pieces, as to a device with its own memory, and fill buffers by a kernel."""
    if request.param == "in pieces":
        monkeypatch.setattr(staging, "_PIECE", 4096)
        monkeypatch.setattr(staging, "suits", lambda device, count: count > 0)
        monkeypatch.setattr(filling, "_COUNTED", 1000)
    return request.param


@pytest.mark.every(3)
@pytest.mark.pairwise
@pytest.mark.parametrize("n", [1, 2, 63, 130, 257])
@pytest.mark.parametrize("m", [5, 10**6], ids=["sparse", "dense"])
def test_every_division_gives_the_same(n, m, form, copies, device):
    graph = fractions(n, m * n, seed=n)
    expected = csgraph.floyd_warshall(graph.to_scipy()) if graph.m else np.zeros((n, n))
    for block, count in ((32, 1), (32, 2), (64, 3), (96, 2), (4096, 2)):
        distances = pyapsp.solve(graph, multidevice(block=block), device=[device] * count).distances
        if graph.m:
            np.testing.assert_allclose(distances, expected, rtol=1e-12)
        if block == 32:  # the same steps on one device and on two, and those of fw-outofcore
            streamed = pyapsp.method("fw-outofcore", block=block)
            alone = pyapsp.solve(graph, streamed, device=device).distances
            np.testing.assert_array_equal(distances, alone)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int64", "uint16"])
def test_every_type(dtype, form, copies, device):
    graph = generators.random_graph(150, 900, 99, seed=1)
    result = pyapsp.solve(graph, multidevice(block=32), dtype=dtype, device=[device, device])
    plain = pyapsp.solve(graph, "fw-naive", dtype=dtype, device=device)
    np.testing.assert_array_equal(result.distances, plain.distances)


def test_predecessors_rows_cutoff_and_memory_of_the_device(device, tmp_path):
    graph, several = fractions(140, 800), [device, device]
    result = pyapsp.solve(graph, multidevice(block=32), device=several, predecessors=True)
    assert verify.certificate(graph, result).ok
    some = pyapsp.solve(graph, multidevice(block=32), device=several, sources=[7, 3], cutoff=0.5)
    near = np.where(result.distances[[7, 3]] > 0.5, np.inf, result.distances[[7, 3]])
    np.testing.assert_array_equal(some.distances, near)
    resident = pyapsp.solve(graph, multidevice(block=32), device=several, keep="device")
    np.testing.assert_array_equal(resident.distances, result.distances)
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", np.float64, (140, 140))
    mapped = pyapsp.solve(graph, multidevice(block=32), device=several, out=out, predecessors=True)
    assert mapped.distances is out
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), result.distances)
    before = np.load(tmp_path / "out.npy.predecessors.npy")
    np.testing.assert_array_equal(before, result.predecessors)


def test_negative_weights_and_cycles(device):
    graph, several = generators.random_graph(120, 700, 9, seed=2), [device, device]
    tails, heads, weights = graph.arcs()
    potentials = np.random.default_rng(1).integers(0, 50, 120)
    shifted = graph.with_weights(weights + potentials[heads] - potentials[tails])
    result = pyapsp.solve(shifted, multidevice(block=32), device=several, dtype="int32")
    plain = pyapsp.solve(shifted, "fw-naive", device=device, dtype="int32")
    np.testing.assert_array_equal(result.distances, plain.distances)
    broken = graph.with_weights(weights - 30)
    for predecessors in (False, True):
        with pytest.raises(errors.NegativeCycleError):
            pyapsp.solve(broken, multidevice(block=32), device=several, predecessors=predecessors)


def test_distances_too_large_for_the_type(device):
    path = Graph.from_arcs(100, np.arange(99), np.arange(1, 100), np.full(99, 900))
    with pytest.raises(errors.PrecisionError):
        pyapsp.solve(
            path, multidevice(block=32), device=[device, device], dtype="uint16", check=True
        )


# -- the choice ------------------------------------------------------------------------------


def test_auto_takes_it_for_several_devices(device, monkeypatch):
    graph = generators.random_graph(300, 2000, 9, seed=1)
    result = pyapsp.solve(graph, device=[device, device])
    assert result.stats["method"] == "fw-multidevice"
    np.testing.assert_array_equal(result.distances, csgraph.dijkstra(graph.to_scipy()))
    # the host needs memory for the rows and the answer
    monkeypatch.setattr(fw_multidevice, "available_memory", lambda: 2 * 300**2 * 2)
    with pytest.warns(errors.FallbackWarning, match="the host cannot hold"):
        result = pyapsp.solve(graph, device=[device, device])
    assert result.stats["method"] == "fw-outofcore"
    with pytest.raises(errors.DeviceMemoryError, match="the host cannot hold"):
        pyapsp.solve(graph, device=[device, device], fallback=False)
    with pytest.raises(errors.DeviceMemoryError, match="the host cannot hold"):
        pyapsp.solve(graph, multidevice(), device=[device, device])


def test_a_narrow_type_and_predecessors(device, monkeypatch):
    """The rows are held in uint16, from which predecessors are found, and become float64."""
    monkeypatch.setattr(
        choice, "_CONVERSION", -1.0
    )  # so small a graph may not be worth a conversion
    graph = generators.random_graph(300, 2000, 9, seed=1)
    result = pyapsp.solve(graph, device=[device, device], predecessors=True)
    assert (result.stats["method"], result.stats["held_dtype"]) == ("fw-multidevice", "uint16")
    assert result.distances.dtype == np.float64
    assert verify.certificate(graph, result).ok
    assert verify.against_scipy(graph, result).ok


def test_a_share_allocates_what_was_planned(device, monkeypatch):
    graph = fractions(600, 4000)
    plan = multidevice(block=32).plan(graph, _options(device))
    cut, product = plan.state.division, plan.state.products[1]
    planned, sizes = share.share_bytes(product, cut, device, 1, graph), []
    buffer = type(device).buffer
    monkeypatch.setattr(
        type(device), "buffer", lambda self, size: sizes.append(size) or buffer(self, size)
    )
    with Share(device, product, cut, 1, plan.device_bytes):
        arcs = len(planned) - len(sizes)
    assert sorted(sizes) == sorted(planned[: len(sizes)])
    assert arcs in (0, len(cut.blocks(1)) + 2)


def test_memory_that_does_not_hold_the_rows(device):
    graph, limit = fractions(1500, 8000), 11_000_000
    with pytest.raises(errors.DeviceMemoryError):
        pyapsp.solve(graph, multidevice(), device=[device, device], memory_limit=limit)
    result = pyapsp.solve(graph, device=[device, device], memory_limit=limit)
    assert result.stats["method"] != "fw-multidevice"
    np.testing.assert_allclose(result.distances, csgraph.dijkstra(graph.to_scipy()), rtol=1e-12)


def test_a_slab_is_no_larger_than_an_allocation(device, monkeypatch):
    graph, method = fractions(600, 4000), multidevice(block=32)
    cut = method.plan(graph, _options(device)).state.division
    one = 8 * cut.block * cut.size
    own = replace(device.capabilities, max_allocation=one)
    monkeypatch.setitem(model._capabilities, device.handle, own)
    sizes, buffer = [], type(device).buffer
    monkeypatch.setattr(
        type(device), "buffer", lambda self, size: sizes.append(size) or buffer(self, size)
    )
    distances = pyapsp.solve(graph, method, device=[device, device]).distances
    np.testing.assert_allclose(distances, csgraph.dijkstra(graph.to_scipy()), rtol=1e-12)
    assert max(sizes) == one


def _options(device):
    return pyapsp.paths.AllPairsOptions(device, np.dtype("float64"), helpers=(device,))


def test_a_device_that_is_listed_twice_is_no_faster(device, monkeypatch):
    speeds = Speeds(((1, 8e9),), 1e10, 2e10, 1e10, 1e10, shared=False)
    monkeypatch.setattr(fw_multidevice, "nominal_speeds", lambda *_: speeds)
    rates = fw_multidevice._rates(fractions(100, 400), [device, device], _options(device))
    assert rates == [Rate(4e9, 1e10)] * 2


def test_the_division_does_not_depend_on_the_clock(device, monkeypatch):
    graph, method = fractions(600, 4000), multidevice(helpers="all")
    before = method.plan(graph, _options(device)).state.division
    monkeypatch.setattr(time, "perf_counter", itertools.count(0, 100).__next__)
    assert method.plan(graph, _options(device)).state.division == before


def test_helpers(device):
    graph = fractions(200, 900)
    for asked, told in (("none", "none"), ("all", "all"), ("auto", "none")):
        method = pyapsp.method("fw-multidevice", helpers=asked, block=96)
        result = pyapsp.solve(graph, method, device=[device, device])
        if asked != "auto":
            assert result.stats["parameters"]["helpers"] == told
        assert len(result.stats["devices"]) == 1 + (result.stats["parameters"]["helpers"] == "all")


# -- the division ------------------------------------------------------------------------------


def _divided(n=1000, rates=(1e12, 1e12), **options):
    options = {"unit": 16, "step": 64, **options}
    return divided(n, 16 * -(-n // 16), 4, [Rate(each, 5e10) for each in rates], **options)


def test_blocks_go_to_devices_in_turns():
    found = _divided(block=96, everyone=True)
    assert found.owners == (0, 1) * 5 + (0,)
    assert [found.rows(number) for number in (0, 10)] == [(0, 96), (960, 1000)]
    assert found.pivots(10) == (960, 48)
    assert found.blocks(1) == [1, 3, 5, 7, 9]
    uneven = _divided(rates=(3e12, 1e12), block=64, everyone=True)
    assert [uneven.owners.count(each) for each in (0, 1)] == [12, 4]
    assert uneven.members == (0, 1)


def test_several_devices_take_large_matrices_and_one_takes_small_ones():
    assert _divided(20_000).members == (0, 1)
    assert _divided(300).members == (0,)
    assert _divided(20_000, rates=(1e12, 1e9)).members == (0,)  # it would only delay the panels
    assert _divided(20_000, rates=(1e12, 1e9, 1e12)).members == (0, 2)
    assert _divided(300, everyone=True).members == (0, 1)


def test_as_many_devices_as_have_blocks():
    assert _divided(300, block=4096, everyone=True).members == (0,)
    assert _divided(300, rates=(1e12, 1e8, 1e12), block=64, everyone=True).members == (0, 2)
    assert division._owners(3, [1.0, 5.0]) == (1, 1, 1)
    assert _divided(40, block=16, everyone=True).owners == (0, 1, 0)


def test_blocks_are_many_and_passes_are_long():
    fast = (14e12, 14e12)
    large = _divided(60_000, fast)
    assert large.seconds == pytest.approx(60_000**3 / 28e12, rel=0.1)
    for n in (4000, 60_000):
        found = _divided(n, fast, everyone=True)
        assert 4 < len(found.owners) < n // 64
        assert found.block % 16 == 0


def test_two_devices_take_half_the_time():
    one, two = _divided(60_000, rates=(1e12,)), _divided(60_000)
    assert 1.8 < one.seconds / two.seconds < 2
    slow = divided(60_000, 60_000, 4, [Rate(1e12, 1e7)] * 2, unit=16, step=64, everyone=True)
    assert slow.seconds > 2 * two.seconds  # the way through the host takes longer than a pass


# -- the exchange and failures -----------------------------------------------------------------


@pytest.mark.parametrize("slow", [0, 1, 2])
@pytest.mark.parametrize("step", ["receive", "send", "update"])
def test_a_device_that_is_late(step, slow, device, monkeypatch):
    """Panels stay in the memory of the host until every device has them."""
    graph, original = fractions(300, 1500), getattr(Share, step)

    def late(self, number, *others):
        if self.blocks[0] == slow:
            time.sleep(0.02)
        return original(self, number, *others)

    monkeypatch.setattr(Share, step, late)
    distances = pyapsp.solve(graph, multidevice(block=32), device=[device] * 3).distances
    np.testing.assert_allclose(distances, csgraph.dijkstra(graph.to_scipy()), rtol=1e-12)


def test_a_copy_to_the_host_that_is_late(device, monkeypatch):
    graph, original = fractions(300, 1500), Share.send

    def late(self, number, memory):
        gate = cl.UserEvent(self.device.context)
        cl.enqueue_barrier(self._link, wait_for=[gate])
        threading.Timer(0.02, gate.set_status, [cl.command_execution_status.COMPLETE]).start()
        return original(self, number, memory)

    monkeypatch.setattr(Share, "send", late)
    distances = pyapsp.solve(graph, multidevice(block=32), device=[device] * 2).distances
    np.testing.assert_allclose(distances, csgraph.dijkstra(graph.to_scipy()), rtol=1e-12)


def test_a_panel_stays_until_the_updates_with_it_have_ended(device):
    """The panels of even passes have one memory."""
    graph, method = fractions(600, 3000), multidevice(block=32)
    plan = method.plan(graph, _options(device))
    cut, product = plan.state.division, plan.state.products[1]
    panel = np.zeros(cut.block * cut.size)
    with Share(device, product, cut, 1, plan.device_bytes) as share:
        share.fill(graph)
        share.receive(0, panel)
        gate = cl.UserEvent(device.context)
        for lane in share._lanes:
            cl.enqueue_barrier(lane.queue, wait_for=[gate])
        share.update(0, share.blocks)
        share.end_pass(0)
        for number in (1, 2):
            share.receive(number, panel)
            share.update(number, [])
            share._ended[number] = []
        time.sleep(0.05)
        complete = cl.command_execution_status.COMPLETE
        status = [share._ready[number].command_execution_status for number in (1, 2)]
        gate.set_status(complete)
        assert status[0] == complete
        assert status[1] != complete


def test_memory_of_a_panel_is_free_when_all_have_copied_it(device):
    panels = exchange.Exchange([device] * 3, 4, np.dtype("float32"))

    class Event:
        waited = False

        def wait(self):
            self.waited = True

    events = [Event(), Event()]
    with panels:
        panels.reserve(1)  # nothing was there before
        panels.copying(0, events[0])
        reserved = threading.Thread(target=panels.reserve, args=(2,))
        reserved.start()
        reserved.join(0.05)
        assert reserved.is_alive()
        panels.copying(0, events[1])
        reserved.join(5)
        assert not reserved.is_alive()
        assert all(event.waited for event in events)
        assert np.shares_memory(panels.memory(0), panels.memory(2))
        assert not np.shares_memory(panels.memory(0), panels.memory(1))


@pytest.mark.parametrize("step", ["close_pivot", "multiply", "take", "update"])
def test_a_failure_on_one_device_ends_the_others(step, device, monkeypatch):
    original, calls = getattr(RowPanel, step), []

    def fails(self, *given):
        calls.append(None)
        if len(calls) > 1:
            raise errors.DeviceError("simulated")
        return original(self, *given)

    monkeypatch.setattr(RowPanel, step, fails)
    graph = fractions(300, 1500)
    with pytest.raises(errors.DeviceError, match="simulated"):
        pyapsp.solve(graph, multidevice(block=32), device=[device] * 3)


def test_progress_and_its_exception(device, monkeypatch):
    from pyapsp.all_pairs.dense.multidevice import passes

    monkeypatch.setattr(passes, "_LOOK", 1e-4)
    graph, reported = fractions(400, 2000), []
    result = pyapsp.solve(
        graph,
        multidevice(block=32),
        device=[device, device],
        progress=lambda done, total: reported.append((done, total)),
    )
    passes_of_all = -(-400 // result.stats["parameters"]["block"])
    assert reported == sorted(set(reported))
    assert reported[-1] == (passes_of_all, passes_of_all)

    def stop(done, total):
        raise KeyboardInterrupt

    updates, update = [], Share.update
    monkeypatch.setattr(
        Share,
        "update",
        lambda self, *given: (updates.append(0), time.sleep(0.01), update(self, *given)),
    )
    for count in (1, 2):
        updates.clear()
        with pytest.raises(KeyboardInterrupt):
            pyapsp.solve(graph, multidevice(block=32), device=[device] * count, progress=stop)
        assert len(updates) < passes_of_all


def test_what_it_tells(device):
    graph = fractions(600, 2000)
    plan = pyapsp.explain(graph, multidevice(block=32), device=[device, device])
    block = int(plan.split("block=")[1].split(",")[0])
    assert f"{-(-600 // block)} passes over {block} pivots; {device.name} " in plan
    assert plan.count(" rows") == 2
    assert "predicted: " in plan
