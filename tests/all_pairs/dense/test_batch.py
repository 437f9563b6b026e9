"""The forms of a batch, each on every device, and the pipeline that feeds them."""

from __future__ import annotations

import gc
import time
from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp.all_pairs.dense.batch import (
    Pipeline,
    Remark,
    automatic,
    maker,
    pinned,
    pipeline,
    slots,
)
from pyapsp.all_pairs.dense.batch.form import Form
from pyapsp.all_pairs.dense.batch.jobs import Group, Part, narrowest, padded
from pyapsp.all_pairs.dense.batch.onegroup import OneGroup
from pyapsp.all_pairs.dense.batch.pinned import is_pinned
from pyapsp.all_pairs.dense.batch.rounds import Rounds
from pyapsp.all_pairs.dense.batch.slots import Moving
from pyapsp.all_pairs.dense.fw_singlekernel import SoftSync
from pyapsp.base import host
from pyapsp.device.kernels import Program, assemble
from pyapsp.errors import CapabilityError, StallError
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsOptions


def weights_of(m, n, dtype, *, negative=False, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 10, (m, n, n))
    weights[rng.random(weights.shape) > 0.3] = 0
    if negative:
        up = rng.integers(0, 20, (m, n))
        weights = np.where(weights == 0, 0, weights + up[:, :, None] - up[:, None, :])
    return weights.astype(dtype)


def by_scipy(weights, dtype):
    far = infinity(np.dtype(dtype))
    arcs = np.where(weights == 0, np.inf, weights.astype(float))
    answer = [csgraph.floyd_warshall(csgraph.csgraph_from_dense(w, np.inf)) for w in arcs]
    return np.where(np.isinf(answer), far, answer)


def run(make, weights, device, **options):
    """Solve through a pipeline; the distances and the remarks."""
    m, n = weights.shape[:2]
    distances, remarks = np.empty_like(weights), np.zeros(m, np.int32)
    line = Pipeline(make, n, AllPairsOptions(device, weights.dtype), m, **options)

    def parts():
        for start in range(0, m, line.group):
            part = slice(start, min(start + line.group, m))
            yield Part(weights, part, distances[part], directed=True)

    for done in line.run(parts()):
        remarks[done.job.numbers] = done.remarks
        assert done.kernel_seconds > 0
    return distances, remarks


def one_group(n, device, dtype, **parameters):
    options = AllPairsOptions(device, np.dtype(dtype))
    return lambda negative: OneGroup(n, options, negative=negative, **parameters)


# The kernel for GPUs runs everywhere. One compiler for CPUs dies of 16 x 16 items with 4 columns.
GPU_SHAPES = [(8, 4, 5), (8, 4, 24), (8, 8, 23), (16, 16, 70)]


@pytest.mark.every(6)
@pytest.mark.parametrize(("x", "y", "n"), GPU_SHAPES)
@pytest.mark.parametrize("negative", [False, True])
def test_a_group_with_its_graph_in_registers(x, y, n, negative, device):
    weights = weights_of(3, n, "int32", negative=negative)
    make = one_group(n, device, "int32", group_x=x, group_y=y)
    distances, remarks = run(make, weights, device)
    np.testing.assert_array_equal(distances, by_scipy(weights, "int32"))
    assert not remarks.any()


@pytest.mark.every(6)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint16", "int64"])
def test_a_group_of_a_gpu_in_every_type(dtype, device):
    weights = weights_of(3, 15, dtype)
    distances, _ = run(one_group(15, device, dtype, group_x=8, group_y=4), weights, device)
    np.testing.assert_array_equal(distances, by_scipy(weights, dtype))


def test_registers_hold_no_larger_graph(device):
    with pytest.raises(CapabilityError, match="up to"):
        one_group(200, device, "float32", group_x=8, group_y=8)(False)


@pytest.mark.every(4)
@pytest.mark.long_loops
@pytest.mark.parametrize(
    ("n", "parameters"),
    [
        (70, {"block": 32, "step": 8}),
        (97, {"block": 16, "step": 4, "strips": 1}),
        (50, {"block": 24, "step": 12, "rows": 12}),
        (130, {}),
        (200, {}),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_a_core_in_rounds_of_rounds(n, parameters, dtype, device):
    if not device.traits.scalar_groups:
        pytest.skip("for CPUs")
    weights = weights_of(3, n, dtype)
    distances, _ = run(one_group(n, device, dtype, **parameters), weights, device)
    np.testing.assert_array_equal(distances, by_scipy(weights, dtype))


@pytest.mark.every(3)
@pytest.mark.parametrize("n", [1, 2, 7, 15, 17, 20])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int16", "uint16", "int64"])
def test_lanes_have_graphs_of_their_own(n, dtype, device):
    if not device.traits.scalar_groups:
        pytest.skip("for CPUs")
    parts = weights_of(37, n, dtype), weights_of(33, n, dtype, negative=dtype != "uint16", seed=1)
    weights = np.concatenate(parts)
    distances, remarks = run(one_group(n, device, dtype, lanes=1), weights, device)
    np.testing.assert_array_equal(distances, by_scipy(weights, dtype))
    assert not remarks.any()


@pytest.mark.parametrize("lanes", [0, 1])
def test_remarks_are_those_of_the_graph(lanes, device):
    if not device.traits.scalar_groups:
        pytest.skip("for CPUs")
    weights = weights_of(40, 5, "float32")
    weights[3, 0, 1] = np.nan
    weights[17, 2, 4] = 3e38
    weights[22, 1, 2], weights[22, 2, 1] = 1, -2
    weights[39, 4, 4] = -1
    _, remarks = run(one_group(5, device, "float32", lanes=lanes), weights, device)
    answer = {place: Remark(int(remarks[place])) for place in np.flatnonzero(remarks)}
    assert answer.keys() == {3, 17, 22, 39}
    assert answer[3] & Remark.BAD
    assert answer[17] & Remark.LONG
    assert answer[22] & answer[39] & Remark.CYCLE


def rounds(method, n, device, dtype, **parameters):
    options = AllPairsOptions(device, np.dtype(dtype))
    return maker(pyapsp.method(method, **parameters), n, options)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("fw-multikernel", {"tile": 16}),
        ("fw-multikernel", {"tile": 16, "contiguous": 1}),
        ("fw-singlekernel", {"tile": 16, "order": 0}),
        ("fw-singlekernel", {"tile": 16, "order": 1, "contiguous": 1}),
        ("fw-minplus", {"block": 64, "tile": 32}),
    ],
)
@pytest.mark.parametrize("negative", [False, True])
def test_rounds_of_many_graphs(method, parameters, negative, device):
    weights = weights_of(7, 85, "int32", negative=negative)
    make = rounds(method, 85, device, "int32", **parameters)
    distances, _ = run(make, weights, device, group=5)
    np.testing.assert_array_equal(distances, by_scipy(weights, "int32"))


@pytest.mark.every(3)
@pytest.mark.parametrize("bits", [16, 8, 4])
@pytest.mark.parametrize("single", [0, 1])
def test_packed_words(bits, single, device):
    weights = np.minimum(weights_of(5, 37, "float64"), 2)
    make = rounds(f"fw-packed{bits}", 37, device, "float64", single=single, tile=32)
    distances, _ = run(make, weights, device)
    np.testing.assert_array_equal(distances, by_scipy(weights, "float64"))


def test_tasks_of_many_graphs_do_not_mix(device):
    """Often, because an error of the order shows now and then: few tiles, many graphs."""
    weights = weights_of(24, 24, "int32")
    expected = by_scipy(weights, "int32")
    make = rounds("fw-singlekernel", 24, device, "int32", tile=8)
    for _ in range(60):
        distances, _ = run(make, weights, device)
        np.testing.assert_array_equal(distances, expected)


# The functions of all_pairs/dense/soft_sync.h, by themselves.
COUNTED = """
kernel void counted(global int *ready, global int *counters, const int blocks, const int graphs)
{
    for (int done = 0; done < graphs; done++) {
        finish_task(counters, (int4)(0, 0, 0, done), blocks);
        for (int graph = 0; graph < graphs; graph++)
            ready[done * graphs + graph] = await_all(counters, (int4)(0, 1, 0, graph), blocks);
    }
}
"""


def test_each_graph_has_counters_of_its_own(device):
    blocks, graphs = 3, 4
    source = assemble("all_pairs/dense/soft_sync.h", {"PYAPSP_PATIENCE": 1}) + COUNTED
    program = Program(device, source, device.capabilities.c_standard)
    queue, ready = device.queue(), np.empty((graphs, graphs), np.int32)
    counters = np.zeros(graphs * SoftSync(device).scratch(blocks) // 4, np.int32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(queue.context, flags, hostbuf=each) for each in (ready, counters)]
    sizes = np.int32(blocks), np.int32(graphs)
    program.kernel("counted")(queue, (1,), (1,), *buffers, *sizes)
    cl.enqueue_copy(queue, ready, buffers[0])
    # a row tile of a graph waits for the pivot of the same graph
    np.testing.assert_array_equal(ready, np.tril(np.ones((graphs, graphs))))


def test_the_product_has_tiles(device):
    options = AllPairsOptions(device, np.dtype(np.float32))
    form = maker(pyapsp.method("fw-minplus"), 40, options)(False)
    assert isinstance(form, Rounds)
    assert form.parameters["form"] == "tiles"
    assert maker(pyapsp.method("fw-minplus", form="panels"), 40, options) is None
    assert maker(pyapsp.method("fw-naive"), 40, options) is None


MAKERS = {
    "one group": lambda n, device, dtype: one_group(n, device, dtype),
    "in registers": lambda n, device, dtype: one_group(n, device, dtype, group_x=8, group_y=4),
    "rounds": lambda n, device, dtype: rounds("fw-multikernel", n, device, dtype, tile=8),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_remarks(name, dtype, device):
    far = np.inf if dtype == "float32" else 2**30 - 1
    largest = np.finfo(np.float32).max if dtype == "float32" else 2**30 - 2
    weights = np.zeros((9, 11, 11), dtype)
    weights[:, 2, 9] = 3
    weights[1, 10, 3] = -1
    weights[2, 10, 0] = weights[3, 0, 8] = largest
    weights[4, 5, 5], weights[5, 10, 10] = -2, -2
    weights[6, 7, 10] = weights[7, 1, 2] = np.nan if dtype == "float32" else far
    weights[8, 4, 10] = -far
    make = MAKERS[name](11, device, dtype)
    _, remarks = run(make, weights, device)
    bad, long, cycle = Remark.BAD, Remark.LONG, Remark.CYCLE
    assert remarks[[0, 1, 2, 3, 4, 5]].tolist() == [0, 0, long, long, cycle, cycle]
    assert all(each & bad for each in remarks[6:])


def test_slots_move_graphs_at_once_and_keep_them_apart(device, monkeypatch):
    monkeypatch.setattr(pipeline, "Sharing", Moving)
    weights = weights_of(40, 20, "float32")
    weights[20:] = weights_of(20, 20, "float32", negative=True)
    make = one_group(20, device, "float32")
    distances, remarks = run(make, weights, device, group=3, slots=4)
    np.testing.assert_array_equal(distances, by_scipy(weights, "float32"))
    assert not remarks.any()
    # through the one entrance, with what is kept between batches
    for _ in range(3):
        answers, before = pyapsp.solve_many(
            weights[:20], dtype="float32", predecessors=True, group=6, device=device
        )
        np.testing.assert_array_equal(answers, distances[:20])
        np.testing.assert_array_equal(before == -9999, np.isinf(answers) | (np.eye(20) == 1))


def test_a_run_may_be_left_and_the_slots_used_again(device, monkeypatch):
    def slow(target, source):
        time.sleep(0.003)
        host.copy(target, source)

    monkeypatch.setattr(pipeline, "Sharing", Moving)
    monkeypatch.setattr(slots, "copy", slow)
    weights = weights_of(40, 20, "int32")
    distances = np.empty_like(weights)
    options = AllPairsOptions(device, weights.dtype)

    def parts():
        for start in range(0, 40, 4):
            some = slice(start, start + 4)
            yield Part(weights, some, distances[some], directed=True)

    with Pipeline(one_group(20, device, "int32"), 20, options, 40, group=4, slots=7) as line:
        for _ in range(3):
            left = line.run(parts())
            assert next(left).job.numbers == range(4)
            left.close()
            assert all(task.done() for slot in line._made for task in slot._tasks)
            distances[...] = -1
            assert [done.job.numbers.start for done in line.run(parts())] == [*range(0, 40, 4)]
            np.testing.assert_array_equal(distances, by_scipy(weights, "int32"))


def test_pinned_memory_is_kept_for_what_is_of_its_size(device, monkeypatch):
    monkeypatch.setattr(slots._Pinned, "_idle", [])
    queue = device.queue()
    large = slots._Pinned.of(queue, 4096)
    large.keep()
    small = slots._Pinned.of(queue, 100)
    assert small is not large
    small.keep()
    assert slots._Pinned.of(queue, 3000) is large
    assert slots._Pinned.of(queue, 100) is small


@pytest.mark.parametrize("allowed", [0, 1])
def test_buffers_are_freed_if_pinned_memory_is_refused(allowed, device, monkeypatch):
    living, left = [], [None] * allowed

    class Counted(cl.Buffer):
        def __init__(self, *given):
            super().__init__(*given)
            living.append(self)

        def release(self):
            living.remove(self)
            super().release()

    def refuse(queue, size, of=slots._Pinned.of):
        if not left:
            raise MemoryError(size)
        left.pop()
        return of(queue, size)

    flags = cl.mem_flags.READ_WRITE
    monkeypatch.setattr(
        slots.Slot, "_buffer", lambda slot, size: Counted(slot._context, flags, size)
    )
    monkeypatch.setattr(slots._Pinned, "of", refuse)
    with pytest.raises(MemoryError):
        Moving(AllPairsOptions(device, np.dtype(np.int32)), 20, 4, None)
    assert not living


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 8, 9, 100])
def test_a_copy_shared_by_threads_is_whole(rows, monkeypatch):
    monkeypatch.setattr(host, "_SHARE", 64)
    monkeypatch.setattr(host, "cores", lambda: 16)
    source = np.arange(rows * 30.0).reshape(rows, 30)
    target = np.full_like(source, -1)
    host.copy(target, source)
    np.testing.assert_array_equal(target, source)


def test_a_stall_ends_the_batch(device, monkeypatch):
    make = rounds("fw-multikernel", 12, device, "int32", tile=8)

    def stall(self, queue, buffers):
        raise StallError("stalled")

    monkeypatch.setattr(Rounds, "finish", stall)
    with pytest.raises(StallError):
        run(make, weights_of(9, 12, "int32"), device, group=2)


def test_groups_of_graphs(device, monkeypatch):
    def line(n, graphs, **options):
        given = AllPairsOptions(
            device, np.dtype(np.float32), memory_limit=options.pop("limit", None)
        )
        return Pipeline(one_group(n, device, "float32"), n, given, graphs, **options)

    assert line(32, 10).group == 10
    assert line(32, 10**6, group=77).group == 77
    assert line(32, 10**6).group * 4 * 32**2 <= 2**26
    monkeypatch.setattr(pipeline, "cores", lambda: 16)
    apart = replace(device.capabilities, unified_memory=False)
    monkeypatch.setattr(type(device), "capabilities", apart)
    assert line(100, 10**5)._slots == 9
    assert line(100, 10**5, pinned=True)._slots == 3
    assert line(100, 10**5, group=1000)._slots == 5
    assert line(100, 10**5, group=10_000)._slots == 3
    small = line(32, 10**6, limit=2**20)
    assert small.device_bytes <= 2**20 < 2 * small.device_bytes * small.group


@pytest.mark.parametrize("method", ["fw-minplus", "fw-multikernel"])
def test_graphs_of_a_launch_fit_in_its_third_dimension(method, device):
    """Drivers limit it to 65,535 groups; a launch may have two for each graph."""
    options = AllPairsOptions(device, np.dtype(np.float32))
    form = maker(pyapsp.method(method), 3, options)(False)
    assert 2 * form.most < 2**16


@pytest.mark.parametrize("n", [0, 1, 16, 17, 128, 129, 256, 257, 1000, 5000])
def test_padding_is_small(n):
    assert n <= padded(n) <= max(1.25 * n, n + 15)
    assert padded(padded(n)) == padded(n)


def test_what_auto_takes(device):
    options = AllPairsOptions(device, np.dtype(np.float32))
    small, _ = automatic(32, 1000, options)
    large, reason = automatic(20_000, 1000, options)
    assert small == "fw-onegroup"
    assert large is None
    assert reason


def test_forms_and_groups_are_abstract():
    assert Form.__abstractmethods__ == {"scratch", "enqueue"}
    assert "graph" in Group.__abstractmethods__


@pytest.mark.parametrize(
    ("weights", "name"),
    [
        (np.full((1, 4, 4), 10_000), "uint16"),
        (np.full((1, 4, 4), 11_000), "int32"),
        (np.full((1, 4, 4), -1), "int16"),
        (np.full((1, 4, 4), 2.0**40), "int64"),
        (np.full((1, 4, 4), 0.5), "float64"),
        (np.full((1, 4, 4), 0.5, np.float32), "float32"),
        (np.full((1, 4, 4), np.inf), "uint16"),
        (np.full((1, 4, 4), np.nan), "uint16"),
    ],
)
def test_the_narrowest_type(weights, name):
    assert narrowest(weights, weights.shape[1]).name == name


def test_pinned_arrays_are_known_and_freed(device):
    array = pyapsp.pinned_empty((3, 4, 4), np.float32, device)
    assert (array.shape, array.dtype) == ((3, 4, 4), np.float32)
    assert is_pinned(array)
    assert is_pinned(array[1:])
    assert not is_pinned(array[:, :2])
    assert not is_pinned(np.empty(3))
    view = array[2]
    address = array.ctypes.data
    del array
    assert is_pinned(view)
    del view
    gc.collect()
    assert address not in pinned._places


def test_pinned_arrays_come_and_go_without_copies(device, monkeypatch):
    """The slots of a device with its own memory, whatever the device."""
    rng = np.random.default_rng(3)
    graphs = pyapsp.pinned_empty((9, 8, 8), np.int32, device)
    graphs[...] = rng.integers(0, 9, graphs.shape)
    expected = pyapsp.solve_many(graphs, dtype="int32", device=device)
    out = pyapsp.pinned_empty(graphs.shape, np.int32, device)
    monkeypatch.setattr("pyapsp.all_pairs.dense.batch.pipeline.Sharing", slots.Moving)
    monkeypatch.setattr(slots, "copy", None)
    pyapsp.solve_many(graphs, dtype="int32", device=device, out=out)
    np.testing.assert_array_equal(out, expected)
