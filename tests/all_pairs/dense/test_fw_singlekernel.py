"""fw-singlekernel: order of the tasks, what they wait for, the watchdog, and many runs."""

from __future__ import annotations

import dataclasses
import random
import time

import numpy as np
import pyopencl as cl
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp.all_pairs.dense.fw_singlekernel import SoftSync
from pyapsp.device import Device
from pyapsp.device.kernels import Program, assemble, build
from pyapsp.errors import CapabilityError, DeviceError
from pyapsp.graph import Graph
from pyapsp.paths import AllPairsOptions

# The functions of all_pairs/dense/soft_sync.h, called by themselves.
PROBES = """
kernel void tasks(global int4 *tasks, const int blocks)
{
    int place = 0;
    for (int stage = 0; stage < stages_of(blocks); stage++)
        for (int ticket = 0; ticket < tasks_of(stage, blocks); ticket++)
            tasks[place++] = task_of(stage, ticket, blocks);
}

/* Whether each task may start; each looks at its own copy of the counters. */
kernel void ready(global int *answers, global int *counters, global const int4 *tasks,
                  const int length, const int blocks)
{
    const size_t i = get_global_id(0);
    answers[i] = await_all(counters + i * length, tasks[i], blocks);
}

kernel void done(global int *counters, const int4 task, const int blocks)
{
    finish_task(counters, task, blocks);
}
"""


class Scheduler:
    """The counters on a device, and what their functions say about them."""

    def __init__(self, device, blocks, order):
        defines = {"PYAPSP_ORDER": order, "PYAPSP_PATIENCE": 1}
        source = assemble("all_pairs/dense/soft_sync.h", defines) + PROBES
        self.program = Program(device, source, device.capabilities.c_standard)
        self.queue, self.blocks = device.queue(), blocks
        flags = cl.mem_flags.READ_WRITE
        found = np.empty((blocks**3, 4), np.int32)
        self.buffer = cl.Buffer(self.queue.context, flags, found.nbytes)
        self.program.kernel("tasks")(self.queue, (1,), None, self.buffer, np.int32(blocks))
        cl.enqueue_copy(self.queue, found, self.buffer)
        self.tasks = [tuple(task) for task in found[:, :3].tolist()]
        self.counters = np.zeros(SoftSync(device).scratch(blocks) // 4, np.int32)
        self.one = cl.Buffer(self.queue.context, flags, self.counters.nbytes)
        self.copies = cl.Buffer(self.queue.context, flags, self.counters.nbytes * len(found))
        self.answers = cl.Buffer(self.queue.context, flags, 4 * len(found))

    def ready(self):
        cl.enqueue_copy(self.queue, self.copies, np.tile(self.counters, len(self.tasks)))
        scalars = np.int32(len(self.counters)), np.int32(self.blocks)
        kernel = self.program.kernel("ready")
        buffers = self.answers, self.copies, self.buffer
        kernel(self.queue, (len(self.tasks),), (1,), *buffers, *scalars)
        answers = np.empty(len(self.tasks), np.int32)
        cl.enqueue_copy(self.queue, answers, self.answers)
        return {task for task, answer in zip(self.tasks, answers, strict=True) if answer}

    def finish(self, task):
        cl.enqueue_copy(self.queue, self.one, self.counters)
        arguments = self.one, np.array([*task, 0], np.int32), np.int32(self.blocks)
        self.program.kernel("done")(self.queue, (1,), (1,), *arguments)
        cl.enqueue_copy(self.queue, self.counters, self.one)


def needs(task):
    """The tasks of which this one reads the result."""
    i, j, k = task
    before = {(i, j, k - 1)} if k > 0 else set()
    return before | ({(i, k, k), (k, j, k)} - {task})


def collide(one, two):
    """Whether one of two tasks writes a tile that the other reads or writes."""
    for (i, j, _), (a, b, c) in ((one, two), (two, one)):
        if (i, j) in {(a, b), (a, c), (c, b)}:
            return True
    return False


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 5, 8])
def test_tickets_are_in_topological_order(blocks, order, device):
    tasks = Scheduler(device, blocks, order).tasks
    place = {task: number for number, task in enumerate(tasks)}
    assert len(place) == blocks**3
    assert {max(task) for task in tasks} == set(range(blocks)) if blocks > 1 else {0}
    for task in tasks:
        for other in needs(task):
            assert place[other] < place[task], (other, task)


def test_the_next_pivot_is_unlocked_first_and_more_lies_between_with_look_ahead(device):
    blocks = 8
    gaps = []
    for order in (0, 1):
        tasks = Scheduler(device, blocks, order).tasks
        place = {task: number for number, task in enumerate(tasks)}
        for step in range(blocks - 1):
            others = [place[i, j, k] for i, j, k in tasks if k == step and step not in (i, j)]
            assert place[step + 1, step + 1, step] == min(others)
        # from a pivot to the first tile that waits for it
        first = min(place[i, 3, 3] for i in range(blocks) if i != 3)
        gaps.append(first - place[3, 3, 3])
    assert gaps[0] < 3
    assert gaps[1] > blocks


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_no_task_may_start_while_another_uses_its_tiles(seed, order, device):
    """Let groups start and finish at any speed, in any order that the counters allow.

    A race detector sees no order between groups in the atomic counters. So here their own
    functions say which tasks may start, and none may touch what a running one is writing, or
    write what a running one reads.
    """
    blocks = 4
    chance, scheduler = random.Random(seed), Scheduler(device, blocks, order)
    waiting, running, finished = set(scheduler.tasks), [], set()
    ready = scheduler.ready()
    while waiting or running:
        startable = sorted(ready & waiting)
        assert startable or running, "nothing can go on"
        # seldom finishing lets many run, and the slow ones fall far behind
        if startable and (not running or chance.random() < 0.7):
            task = chance.choice(startable)
            assert needs(task) <= finished
            for other in running:
                assert not collide(task, other), (task, other)
            waiting.remove(task)
            running.append(task)
        else:
            task = running.pop(chance.randrange(len(running)))
            scheduler.finish(task)
            finished.add(task)
            ready = scheduler.ready()


def grid(n, seed=0):
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, 4 * n))
    proper = tails != heads
    return Graph.from_arcs(n, tails[proper], heads[proper], rng.integers(1, 1000, proper.sum()))


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, 1])
def test_many_runs_give_the_same_right_answer(order, device):
    graph = grid(61)
    expected = csgraph.johnson(graph.to_scipy().astype(float))
    method = pyapsp.method("fw-singlekernel", tile=8, order=order, groups=1 + order)
    for _ in range(200):
        result = pyapsp.solve(graph, method, device=device)
        np.testing.assert_array_equal(result.distances, expected)


def test_floats_round_alike_in_every_run(device):
    # tasks that read newer lengths than those of their round would add them in another order
    rng = np.random.default_rng(1)
    graph = grid(64).with_weights(rng.random(grid(64).m))
    solve = [
        pyapsp.solve(graph, pyapsp.method(name, tile=8), dtype="float32", device=device).distances
        for name in ["fw-multikernel"] + 10 * ["fw-singlekernel"]
    ]
    for distances in solve[1:]:
        np.testing.assert_array_equal(distances, solve[0])


@pytest.mark.every(2)
@pytest.mark.parametrize("method", ["fw-singlekernel", "fw-packed16"])
def test_a_stall_is_an_error_and_not_a_hang(method, device, monkeypatch):
    single = {} if method == "fw-singlekernel" else {"single": 1}
    chosen = pyapsp.method(method, tile=16, **single)
    graph = grid(60).with_weights(np.ones(grid(60).m, int))
    defines = SoftSync.defines

    def withheld(self, parameters):
        # tile (0, 2) never finishes round 0
        return {**defines(self, parameters), "PYAPSP_WITHHOLD": 2, "PYAPSP_PATIENCE": 1000}

    with monkeypatch.context() as patched:
        patched.setattr(SoftSync, "defines", withheld)
        started = time.perf_counter()
        with pytest.raises(DeviceError, match=rf"{method} stalled on .*: the tile \(\d, \d\)"):
            pyapsp.solve(graph, chosen, device=device)
        assert time.perf_counter() - started < 60
    result = pyapsp.solve(graph, chosen, device=device)
    np.testing.assert_array_equal(result.distances, csgraph.johnson(graph.to_scipy().astype(float)))


GROWING = """
/* instead of an atomic read: every counter that is not zero grows by one each time it is read */
static int grow(volatile global int *counter)
{
    const int old = *counter;
    *counter = old == 0 ? 0 : old + 1;
    return old;
}
#define atomic_or(counter, nothing) grow(counter)
"""
AWAIT = """
kernel void wait_for(global int *counters, global int *answer, const int value)
{
    *answer = await(counters, TICKETS, value, (int4)(5, 6, 7, 0));
}
"""


@pytest.mark.parametrize(
    ("stalled", "finished", "outcome"),
    [
        (0, 1, [0, 0, 0, 0, 1]),  # others finish something all the time: no stall, however long
        (0, 0, [1, 5, 6, 7, 0]),  # nobody does: it gives up and tells where
        (1, 1, [2, 0, 0, 0, 0]),  # another gave up: so does this one at its next look
    ],
)
def test_only_what_makes_no_progress_is_a_stall(stalled, finished, outcome, device):
    defines = {"PYAPSP_PATIENCE": 10}
    source = GROWING + assemble("all_pairs/dense/soft_sync.h", defines) + AWAIT
    program = Program(device, source, device.capabilities.c_standard)
    counters, answer = np.zeros(65, np.int32), np.zeros(1, np.int32)
    counters[[0, 32, 64]] = stalled, finished, 1
    queue, flags = device.queue(), cl.mem_flags
    one, two = (
        cl.Buffer(queue.context, flags.READ_WRITE, each.nbytes) for each in (counters, answer)
    )
    cl.enqueue_copy(queue, one, counters)
    # 10,000 polls, at 32 a look
    program.kernel("wait_for")(queue, (1,), (1,), one, two, np.int32(10_000))
    cl.enqueue_copy(queue, counters, one)
    cl.enqueue_copy(queue, answer, two)
    assert [*counters[:4].tolist(), answer[0]] == outcome


def test_a_long_task_is_no_stall(device, monkeypatch):
    # groups that wait far longer than a task takes, while others go on
    monkeypatch.setattr(
        SoftSync, "defines", lambda self, p: {"PYAPSP_ORDER": 0, "PYAPSP_PATIENCE": 10**6}
    )
    graph = grid(300)
    method = pyapsp.method("fw-singlekernel", tile=64, groups=4)
    # two such tiles of float64 are more than the local memory of most GPUs
    result = pyapsp.solve(graph, method, dtype="float32", device=device)
    naive = pyapsp.solve(graph, "fw-naive", dtype="float32", device=device)
    np.testing.assert_array_equal(result.distances, naive.distances)


@pytest.mark.parametrize(
    ("method", "parameters"), [("fw-singlekernel", {}), ("fw-packed8", {"single": 1})]
)
def test_devices_without_the_fence_are_refused(method, parameters, device, monkeypatch):
    poor = dataclasses.replace(device.capabilities, device_scope_fence=False)
    monkeypatch.setattr(Device, "capabilities", poor)
    unit = grid(20).with_weights(np.ones(grid(20).m, int))
    with pytest.raises(CapabilityError, match=f"{method}.* needs device_scope_fence"):
        pyapsp.solve(unit, pyapsp.method(method, **parameters), device=device)


def test_the_fence_is_that_of_opencl_c_2(device):
    """Built as an older OpenCL C the kernel has a fence that orders nothing over the device."""
    method, graph = pyapsp.method("fw-singlekernel"), grid(20)
    options = AllPairsOptions(device, np.dtype(np.float32))
    program = method.plan(graph, options).state[0].program
    text = program.source + "#if __OPENCL_C_VERSION__ < 200\n#error old\n#endif\n"
    Program(device, text, device.capabilities.c_standard)
    with pytest.raises(DeviceError, match="old"):
        Program(device, text, "CL1.2")
    source = assemble("all_pairs/dense/soft_sync.h")
    assert "memory_order_acq_rel, memory_scope_device" in source
    # the standard is part of what a program is
    old = build(device, "all_pairs/dense/fw_singlekernel.cl", {}, standard="CL1.2")
    new = build(
        device, "all_pairs/dense/fw_singlekernel.cl", {}, standard=device.capabilities.c_standard
    )
    assert old is not new
    assert build(device, "all_pairs/dense/fw_singlekernel.cl", {}, standard="CL1.2") is old
