"""fw-minplus: both forms, their parameters, look-ahead, and minima on the bits of floats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp import verify
from pyapsp.all_pairs.dense import product
from pyapsp.all_pairs.dense.fw_minplus import FwMinplus
from pyapsp.all_pairs.dense.product_panels import Panels
from pyapsp.all_pairs.dense.product_tiles import Tiles
from pyapsp.device import Device
from pyapsp.device.kernels import build
from pyapsp.errors import ParameterError
from pyapsp.graph import Graph, generators
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters
from pyapsp.registry.tuning import method as tuning_method

TILES = {
    "form": "tiles",
    "block": 64,
    "tile": 32,
    "rows": 4,
    "words": 4,
    "group_x": 8,
    "group_y": 8,
    "slice": 8,
    "vector": 2,
}
PANELS = {"form": "panels", "block": 64, "tile": 32, "rows": 4, "strips": 2, "width": 2}


def random_graph(n, low=0, seed=0):
    """Make a graph; with low < 0 some weights are negative, but no cycle is."""
    graph = generators.random_graph(n, seed=seed)
    if low == 0:
        return graph
    potential = np.random.default_rng(seed).integers(low, -low, n)
    tails, heads, weights = graph.arcs()
    return graph.with_weights(weights + potential[tails] - potential[heads])


def assert_solves(graph, result):
    comparison = verify.against_scipy(graph, result)
    assert comparison.ok, comparison


def options(device, dtype):
    return AllPairsOptions(device=device, dtype=np.dtype(dtype))


@pytest.mark.every(8)
@pytest.mark.pairwise
@pytest.mark.parametrize("n", [1, 31, 32, 63, 65, 96, 129, 200])
@pytest.mark.parametrize("more", [{"ahead": 1}, {"ahead": 0}, {"separate": 1, "ahead": 0}])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
def test_tiles(dtype, more, n, device):
    graph = random_graph(n, low=0, seed=n)
    method = pyapsp.method("fw-minplus", **TILES, **more)
    assert_solves(graph, pyapsp.solve(graph, method, dtype=dtype, device=device))


@pytest.mark.slow
@pytest.mark.parametrize("packed", [0, 1])
@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_words_of_two_values(dtype, packed, device):
    graph = random_graph(150, low=-20 if dtype == "int16" else 0, seed=5)
    method = pyapsp.method("fw-minplus", **TILES, packed=packed)
    assert_solves(graph, pyapsp.solve(graph, method, dtype=dtype, device=device))


@pytest.mark.parametrize(("rows", "words"), [(8, 4), (16, 8)])
@pytest.mark.parametrize(("dtype", "packed"), [("float32", 0), ("int32", 0), ("uint16", 1)])
def test_products_of_many_words(dtype, packed, rows, words, device):
    """Methods have so many only on GPUs; a group of one work-item is right everywhere."""
    dtype, n, depth = np.dtype(dtype), 32, 6
    sizes = {"ROWS": rows, "WORDS": words, "GROUP_X": 1, "GROUP_Y": 1, "SLICE": 2, "VECTOR": 4}
    defines = arithmetic_defines(device, dtype, bits=dtype.kind == "f")
    defines |= {f"PYAPSP_{name}": value for name, value in (sizes | {"PACKED": packed}).items()}
    program = build(device, "all_pairs/dense/fw_minplus.cl", defines)
    rng, queue = np.random.default_rng(rows), device.queue()
    old = rng.integers(500, 2000, (n, n)).astype(dtype)
    left, right = (rng.integers(0, 1000, (depth, n)).astype(dtype) for _ in range(2))
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(queue.context, flags, hostbuf=each) for each in (old, left, right)]
    items = (n // (words * (1 + packed)), n // rows, 1)
    place = [np.int32(each) for each in (n, depth, 0, n, 0, n, 0)]
    remainder = program.kernel("fw_minplus_remainder")
    remainder(queue, items, (1, 1, 1), buffers[0], *place, *buffers[1:])
    found = np.empty_like(old)
    cl.enqueue_copy(queue, found, buffers[0])
    sums = left.astype(int)[:, :, None] + right.astype(int)[:, None, :]
    np.testing.assert_array_equal(found, np.minimum(old, sums.min(0)))


@pytest.mark.parametrize(
    ("dtype", "capable", "own"),
    [
        ("float32", True, False),
        ("int32", True, True),
        ("int32", False, False),
        ("int64", True, False),
        ("int16", True, True),
        ("uint16", True, True),
        ("uint16", False, False),
    ],
)
def test_integers_in_words_of_32_bits_have_a_file_of_the_vendor(
    dtype, capable, own, device, monkeypatch
):
    able = replace(device.capabilities, packed16=capable)
    monkeypatch.setattr(Device, "capabilities", able)
    monkeypatch.setattr(Device, "vendor_file", lambda self, name: f"own/{name}")
    asked = []
    monkeypatch.setattr(product, "build", lambda device, name, defines: asked.append(name))
    some = options(device, dtype)
    [*_, least] = Tiles.candidates(some)
    Tiles(some, Parameters(least), negative=False)
    assert {name.startswith("own/") for name in asked} == {own}


def test_words_of_two_values_need_16_bits(device):
    method = FwMinplus(**TILES, packed=1)
    with pytest.raises(ParameterError, match="fit"):
        method.choose_parameters(random_graph(9), options(device, "int32"))


@pytest.mark.every(2)
@pytest.mark.parametrize("n", [31, 64, 65, 97, 130])
@pytest.mark.parametrize(("rows", "strips"), [(1, 1), (2, 4), (4, 2), (8, 1), (6, 3), (12, 1)])
def test_register_blocks_of_panels(rows, strips, n, device):
    graph = random_graph(n, low=-30, seed=rows)
    side = 96 if rows in (6, 12) else 64
    shape = {"rows": rows, "strips": strips, "width": 4, "block": 2 * side, "tile": side // 2}
    method = pyapsp.method("fw-minplus", form="panels", group_rows=96, group_columns=96, **shape)
    if 96 % (strips * 4):
        method = pyapsp.method("fw-minplus", form="panels", **shape)
    if device.traits.lanes(4) < 4:
        with pytest.raises(ParameterError, match="fit"):
            method.choose_parameters(graph, options(device, "int32"))
        return
    assert_solves(graph, pyapsp.solve(graph, method, dtype="int32", device=device))


@pytest.mark.every(2)
@pytest.mark.parametrize("units", [1, 3, 50])
@pytest.mark.parametrize(("rows", "unroll"), [(1, 4), (4, 1), (6, 4)])
@pytest.mark.parametrize("n", [40, 97, 200])
def test_tiles_are_closed_by_any_number_of_groups(n, rows, unroll, units, device, monkeypatch):
    monkeypatch.setattr(Panels, "_units", property(lambda _: units, lambda *_: None), raising=False)
    width = min(4, device.traits.lanes(4))
    shape = {"rows": rows, "unroll": unroll, "strips": 4 // width, "width": width}
    method = pyapsp.method("fw-minplus", form="panels", block=96, tile=48, group_rows=48, **shape)
    graph = random_graph(n, low=-30, seed=rows)
    assert_solves(graph, pyapsp.solve(graph, method, dtype="int32", device=device))


@pytest.mark.parametrize("units", [1, 2, 3])
@pytest.mark.parametrize("n", [97, 145, 191, 192, 250])
def test_the_next_tile_is_closed_meanwhile(n, units, device, monkeypatch):
    """Blocks of six tiles, the last one smaller: one launch for each tile and one before them."""
    monkeypatch.setattr(Panels, "_units", property(lambda _: units, lambda *_: None), raising=False)
    width = min(4, device.traits.lanes(4))
    shape = {"rows": 4, "unroll": 4, "strips": 4 // width, "width": width}
    method = pyapsp.method("fw-minplus", form="panels", block=192, tile=32, **shape)
    graph = random_graph(n, low=-30, seed=units)
    launched = []
    start = cl.Kernel.__call__

    def noted(kernel, *arguments, **more):
        launched.append(kernel.function_name)
        return start(kernel, *arguments, **more)

    monkeypatch.setattr(cl.Kernel, "__call__", noted)
    assert_solves(graph, pyapsp.solve(graph, method, dtype="int32", device=device))
    blocks = [min(192, n - first) for first in range(0, n, 192)]
    tiles = [-(-block // 32) for block in blocks]
    before = [
        1 if -(-block // 4) * 4 >= 2 * 32 * units else count
        for block, count in zip(blocks, tiles, strict=True)
    ]
    assert launched.count("fw_minplus_pass") == sum(tiles)
    assert launched.count("fw_minplus_rows") == sum(before)


@pytest.mark.slow
@pytest.mark.every(4)
@pytest.mark.parametrize("low", [0, -30])
@pytest.mark.parametrize(
    ("dtype", "n"), [("float32", 512), ("float32", 510), ("int64", 256), ("float64", 240)]
)
def test_rows_that_would_meet_in_the_caches_are_a_line_apart(dtype, n, low, device):
    graph, width = random_graph(n, low=low, seed=1), min(2, device.traits.lanes(8))
    panels = PANELS | {"rows": 2, "strips": 4 // width, "width": width, "unroll": 2}
    for block in (64, 768):
        method = pyapsp.method("fw-minplus", **panels | {"block": block, "tile": 64})
        configuration, *_ = method.plan(graph, options(device, dtype)).state
        line = 64 // np.dtype(dtype).itemsize
        assert configuration.pitch - configuration.size == (line if n != 240 else 0)
        result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
        assert_solves(graph, result)
        assert verify.certificate(graph, result).ok


def test_a_device_with_no_room_for_that_gets_the_matrix_alone(device, monkeypatch):
    graph, panels = random_graph(512), PANELS | {"width": 1, "strips": 4}
    for room, more in ((4 * 512**2, 0), (4 * 512**2 + 64 * 512, 16)):
        capabilities = replace(device.capabilities, max_allocation=room)
        monkeypatch.setattr(Device, "capabilities", capabilities)
        method = pyapsp.method("fw-minplus", **panels)
        assert method.plan(graph, options(device, "float32")).state[0].pitch == 512 + more
        assert_solves(graph, pyapsp.solve(graph, method, dtype="float32", device=device))


@pytest.mark.every(2)
@pytest.mark.parametrize("form", [PANELS | {"width": 1}, TILES | {"ahead": 1}])
def test_matrices_in_memory_of_the_host(form, device, monkeypatch):
    """Where buffers are that, also in a run that ends early."""
    monkeypatch.setattr("pyapsp.device.model._LARGE", 1)
    graph, method = random_graph(300, low=-30), pyapsp.method("fw-minplus", **form)

    def stop(done, _):
        if done > 1:
            raise InterruptedError

    for _ in range(3):
        with pytest.raises(InterruptedError):
            pyapsp.solve(graph, method, dtype="int32", device=device, progress=stop)
        result = pyapsp.solve(graph, method, dtype="int32", predecessors=True, device=device)
        assert_solves(graph, result)
        assert verify.certificate(graph, result).ok


def test_what_comes_next_need_not_be_fetched(device, monkeypatch):
    graph = random_graph(200, low=-30)
    for prefetches in (False, device.traits.prefetches):
        monkeypatch.setattr(Device, "traits", replace(device.traits, prefetches=prefetches))
        method = pyapsp.method("fw-minplus", **PANELS)
        plan = method.plan(graph, options(device, "int32"))
        assert ("PYAPSP_PREFETCH 1\n" in plan.state[0].program.source) == prefetches
        assert_solves(graph, pyapsp.solve(graph, method, dtype="int32", device=device))


@pytest.mark.parametrize("low", [0, -30])
@pytest.mark.parametrize("n", [63, 200])
@pytest.mark.parametrize("dtype", ["uint16", "int16"])
def test_vectors_longer_than_those_of_opencl(dtype, n, low, device):
    method = pyapsp.method("fw-minplus", form="panels", rows=4, strips=2, width=32, tile=64)
    if device.traits.lanes(2, long=True) < 32:
        with pytest.raises(ParameterError, match="fit"):
            method.choose_parameters(random_graph(n), options(device, dtype))
        return
    graph = random_graph(n, low=0 if dtype == "uint16" else low, seed=n)
    assert_solves(graph, pyapsp.solve(graph, method, dtype=dtype, device=device))


@pytest.mark.every(4)
@pytest.mark.pairwise
@pytest.mark.parametrize(
    ("form", "unroll"),
    [(PANELS, 1), (PANELS, 2), (PANELS, 4), (TILES, None)],
    ids=["panels-1", "panels-2", "panels-4", "tiles"],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_minimum_on_bits(form, unroll, dtype, device):
    """Floats that are not negative are compared as integers: also -0.0, inf and tiny numbers."""
    rng = np.random.default_rng(8)
    n = 90
    tails, heads = rng.integers(0, n, (2, 6 * n))
    weights = rng.choice([-0.0, 0.0, 1e-38, 0.25, 3.0, 1e30], tails.size)
    graph = Graph.from_arcs(n, tails, heads, weights.astype(np.float32))
    if form is PANELS:
        form = {**form, "unroll": unroll, "width": min(2, device.traits.lanes(8))}
    answers = [
        pyapsp.solve(
            graph, pyapsp.method("fw-minplus", **form, bits=bits), dtype=dtype, device=device
        )
        for bits in (0, 1)
    ]
    assert answers[0].stats["kernel_hash"] != answers[1].stats["kernel_hash"]
    np.testing.assert_array_equal(answers[0].distances, answers[1].distances)
    assert verify.certificate(graph, answers[1], device=device).ok


def test_bits_of_integers_are_refused(device):
    graph = random_graph(20, seed=2)
    method = pyapsp.method("fw-minplus", bits=1)
    with pytest.raises(ParameterError, match="bits=1 of fw-minplus does nothing with"):
        pyapsp.solve(graph, method, dtype="int32", device=device)


def test_bits_are_left_out_for_negative_weights(device):
    graph = random_graph(60, low=-30, seed=2)
    hashes = {
        pyapsp.solve(
            graph, pyapsp.method("fw-minplus", bits=bits), dtype="float32", device=device
        ).stats["kernel_hash"]
        for bits in (0, 1)
    }
    assert len(hashes) == 1


def test_look_ahead_does_not_multiply_apart(device):
    method = pyapsp.method("fw-minplus", **TILES, ahead=1, separate=1)
    with pytest.raises(ParameterError, match="fit"):
        pyapsp.solve(random_graph(200), method, dtype="int32", device=device)


def test_parameters_of_the_other_form_are_refused(device):
    method = pyapsp.method("fw-minplus", form="panels", words=4)
    with pytest.raises(ParameterError, match=r"form panels has bits, .*form tiles ahead"):
        pyapsp.solve(random_graph(5), method, device=device)


def test_candidates_fit_and_the_first_suits_the_device(device):
    method = FwMinplus()
    for dtype in ("float64", "float32", "int32", "uint16"):
        candidates = list(method.candidates(options(device, dtype)))
        assert any(method.fits(Parameters(each), options(device, dtype)) for each in candidates)
        for each in candidates:
            assert all(value in method.choices[name] for name, value in each.items())
        expected = "panels" if device.traits.scalar_groups else "tiles"
        assert candidates[0]["form"] == expected


def test_look_ahead_has_more_launches_and_the_same_answer(device):
    graph = random_graph(200, low=0, seed=9)
    counts = {}
    for ahead in (0, 1):
        method = FwMinplus(**TILES, ahead=ahead)
        plan = method.plan(graph, options(device, "float32"))
        launched = []
        original = method.enqueue_rounds
        method.enqueue_rounds = lambda *rest, o=original, seen=launched: (
            seen.append(len(events)) or events for events in o(*rest)
        )
        assert_solves(graph, pyapsp.solve(graph, method, dtype="float32", device=device))
        counts[ahead] = sum(launched)
        assert len(launched) == plan.state[0].rounds
    assert counts[1] > counts[0]


def test_groups_have_fewer_rows_on_many_cores(device, monkeypatch):
    """Rows were tuned on two cores; what the caller sets stays."""
    given = PANELS | {"bits": 1, "unroll": 1, "group_rows": 192, "group_columns": 64}
    tuned = Parameters(given), None  # kept, as the result for a tuning row is
    monkeypatch.setattr(tuning_method, "tuned", lambda self, *_: None if self.parameters else tuned)
    monkeypatch.setattr(Panels, "candidates", lambda _: iter([given]))
    graph, heights = random_graph(100), []
    for cores in (2, 16, 2):
        capabilities = replace(device.capabilities, compute_units=cores)
        monkeypatch.setattr(Device, "capabilities", capabilities)
        for method in (FwMinplus(), FwMinplus(form="panels", group_rows=384)):
            parameters, _ = method.choose_parameters(graph, options(device, "float32"), rows=True)
            heights.append(parameters["group_rows"])
    assert heights == [192, 384, 96, 384, 192, 384]
