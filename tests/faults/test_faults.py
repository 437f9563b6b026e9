"""A driver that fails at any call: a typed error, nothing left behind, and all works afterwards.

By default two calls of each run are made to fail, one in the middle and the last;
``PYAPSP_TEST_FAULTS=all`` takes each of them.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp import bulk, registry, verify
from pyapsp.all_pairs import summaries
from pyapsp.device import device_errors, model
from pyapsp.device.kernels import residents
from pyapsp.device.kernels.residents import release_all
from pyapsp.dynamic import Hornet, TriangleCounts
from pyapsp.errors import DeviceError, DeviceMemoryError, KernelBuildError
from pyapsp.graph import generators
from pyapsp.paths.result import Result
from pyapsp.registry import runs
from pyapsp.sweep.applications import shortest_paths

KINDS = ["allocation", "late allocation", "build", "lost device"]
EXPECTED = {
    "allocation": DeviceMemoryError,
    "late allocation": DeviceMemoryError,
    "build": KernelBuildError,
}

GRAPH = generators.random_graph(24, seed=1)
ONES = GRAPH.with_weights(np.ones(GRAPH.m, np.int64))
BATCH = np.random.default_rng(0).integers(0, 5, (6, 9, 9)).astype(np.float32)
NUMBERS = np.random.default_rng(0).normal(size=(40, 32)).astype(np.float32)
PARAMETERS = {
    "fw-outofcore": {"block": 16, "rows": 16},
    "fw-multidevice": {"block": 16, "helpers": "all"},
}
# These do without a refused allocation: one plans once more, with other kernels, if it fails while
# the tuned ones are measured; the next copies from memory that is not pinned; in a container
# a short row stays in its large block.
TOLERANT = {"fw-outofcore", "fw-multidevice", "triangles of updates"}
ALLOCATIONS = {"allocation", "late allocation"}


def by_method(each):
    problem = registry.problem(each.problem)
    # an odd seed: negative weights where the method takes them; blocks for two devices
    size = 140 if each.id == "fw-multidevice" else 24
    given = problem.sample(size, problem.families[0], 1, each.requires)
    more = {"predecessors": True} if "predecessors" in problem.asks else {}

    def run(device):
        method = pyapsp.method(each.id, **PARAMETERS.get(each.id, {}))
        several = [device, device] if each.id == "fw-multidevice" else device
        request = problem.ask(given, method, device=several, **more)
        answer = vars(runs.solve(request).answer)
        found = {name: value for name, value in answer.items() if isinstance(value, np.ndarray)}
        if more:
            weights = given.to_scipy().toarray() if problem.id != "bfs" else np.ones((24, 24))
            before = found.pop("predecessors")
            check_lengths(before, found["distances"], weights)
            found["reached"] = before >= 0
        return found

    return run


def check_lengths(predecessors, distances, weights):
    """Check predecessors by the distances; of several shortest paths, runs may take others."""
    rows, heads = np.nonzero(predecessors >= 0)
    before = predecessors[rows, heads]
    lengths = distances[rows, before] + weights[before, heads]
    np.testing.assert_allclose(lengths, distances[rows, heads], rtol=1e-5)


def in_rows(device):
    blocks = pyapsp.row_blocks(GRAPH, "near-far", device=device, block=9)
    return [each.distances for each in blocks]


def certified(device):
    found = csgraph.dijkstra(GRAPH.to_scipy(), return_predecessors=True)
    result = Result(*found, np.arange(GRAPH.n), None, {}, ())
    return verify.certificate(GRAPH, result, device=device).ok


def bulk_program(device):
    program = bulk.load(bulk.programs()["prefix_sums"], device=device)
    return program(B=NUMBERS)["B"]


def streamed(device):
    program = bulk.load(bulk.programs()["prefix_sums"], device=device)
    return [each["B"] for each in program.stream(bulk.split({"B": NUMBERS}, 9), 9)]


def swept(device):
    arrays = shortest_paths.inputs(12)
    sweep = shortest_paths.sweep(12, 48, device=device, per_launch=5)
    return sweep(12, **arrays)["costs"]


def triangles_of_updates(device):
    counts = TriangleCounts(Hornet(GRAPH.n, directed=False, device=device))
    ends = np.random.default_rng(1).integers(0, GRAPH.n, (2, 90))
    changes = counts.insert_edges(*ends), counts.delete_edges(*ends[:, 60:])
    assert min(change.triangles for change in changes) > 0
    return [*changes, counts.per_vertex, counts.total]


RUNS = {
    **{each.id: by_method(each) for each in pyapsp.methods() if each.id != "dijkstra-cpu"},
    "row_blocks": in_rows,
    "near-far, several": lambda device: (
        pyapsp.solve(GRAPH, "near-far", predecessors=True, device=[device] * 2).distances
    ),
    "bfs, several": lambda device: (
        pyapsp.bfs(GRAPH, range(9), "bfs-frontier", device=[device] * 2).levels
    ),
    "solve_many": lambda device: pyapsp.solve_many(BATCH, device=device),
    "solve_many, rounds": lambda device: pyapsp.solve_many(
        BATCH, "fw-multikernel", predecessors=True, group=2, device=device
    ),
    "diameter": lambda device: summaries.diameter(GRAPH, device=device),
    "eccentricity": lambda device: summaries.eccentricity(ONES, device=device),
    "betweenness": lambda device: pyapsp.betweenness_centrality(ONES, device=device),
    # predecessors, without which the host searches
    "within": lambda device: pyapsp.within(
        GRAPH, cutoff=9, predecessors=True, device=device
    ).to_columns(),
    "pairs": lambda device: pyapsp.pairs(GRAPH, 0, [3, 9], paths=True, device=device).to_columns(),
    "nearest": lambda device: pyapsp.nearest(GRAPH, [3, 9], 2, device=device).to_columns(),
    "certificate": certified,
    "bulk": bulk_program,
    "stream": streamed,
    "sweep": swept,
    "triangles of updates": triangles_of_updates,
}
# Where device and host do not share a memory, other code moves the values.
MOVING = [
    "fw-outofcore",
    "fw-multidevice",
    "near-far",
    "ms-bfs",
    "solve_many",
    "solve_many, rounds",
    "diameter",
]


def places(calls):
    """Which of so many calls are to fail."""
    if os.environ.get("PYAPSP_TEST_FAULTS") == "all":
        return range(1, calls + 1)
    return sorted({-(-calls // 2), calls} - {0})


def resources():
    """What a failed run might leave behind, beside buffers."""
    threads = {each.name for each in threading.enumerate()}
    # threads that copy are kept for good
    threads = {name for name in threads if not name.startswith("pyapsp-copy")}
    return threads, len(os.listdir("/proc/self/fd"))


def check(name, kind, device, faults, live):
    """Let calls fail, one run after the other, and return how many did."""
    run = RUNS[name]
    run(device)  # makes calls that are not made again, such as for memory that is kept
    release_all()  # a run that gets no memory releases what other tests left, and is repeated
    undisturbed = faults(kind)
    with undisturbed.at_work():
        expected = run(device)
    held, before, happened = live(), resources(), 0
    for place in places(undisturbed.calls):
        fault, raised = faults(kind, place), None
        try:
            with fault.at_work():
                found = run(device)
        except DeviceError as error:
            raised = type(error)
        # the number of calls may depend on time
        if raised is not None:
            assert fault.happened
            assert issubclass(raised, EXPECTED.get(kind, DeviceError))
        else:
            # the run is repeated without the buffers that a pool of a GPU has kept
            does_without = name in TOLERANT or not device.traits.scalar_groups
            assert not fault.happened or (does_without and kind in ALLOCATIONS)
            np.testing.assert_equal(found, expected)
        happened += fault.happened
        # fewer: pinned memory is kept for the next batch, if that is well
        assert live() <= held, place
        assert resources() == before, place
    np.testing.assert_equal(run(device), expected)
    return happened


@pytest.mark.every(5)
@pytest.mark.parametrize(
    ("name", "kind"),
    # by default a lost device and one of the other kinds, in turns
    [
        pytest.param(name, kind, marks=[pytest.mark.slow] * (kind not in (KINDS[i % 3], KINDS[3])))
        for i, name in enumerate(RUNS)
        for kind in KINDS
    ],
)
def test_any_call_may_fail(name, kind, device, faults, live):
    happened = check(name, kind, device, faults, live)
    print(f"{happened} faults")
    assert happened


@pytest.mark.parametrize("kind", ["allocation", "lost device"])
@pytest.mark.parametrize("name", MOVING)
def test_any_call_may_fail_where_values_move(name, kind, device, faults, live, monkeypatch):
    moving = replace(device.capabilities, unified_memory=False)
    monkeypatch.setitem(model._capabilities, device.handle, moving)
    happened = check(name, kind, device, faults, live)
    print(f"{happened} faults")
    assert happened


@pytest.mark.parametrize("kind", ["allocation", "no memory"])
@pytest.mark.parametrize(
    "name",
    [
        "fw-blocked",
        "fw-minplus",
        "near-far",
        "near-far, several",
        "row_blocks",
        "solve_many",
        "within",
        "pairs",
        "nearest",
    ],
)
def test_who_keeps_the_error_keeps_no_buffers(name, kind, device, faults, live):
    run = RUNS[name]
    run(device)  # what the first run of a process allocates is not allocated again
    with faults(kind).at_work() as undisturbed:
        run(device)
    release_all()  # or the run would be repeated
    held = live()
    with faults(kind, undisturbed.calls).at_work(), pytest.raises(DeviceMemoryError) as kept:
        run(device)
    assert live() <= held, kept


def test_a_run_that_gets_no_memory_releases_that_of_earlier_answers(device, faults, monkeypatch):
    monkeypatch.setattr(residents, "_pools", lambda device: True)
    there, expected = residents.residents(device.context), pyapsp.bfs(GRAPH, 3, device=device)
    there.shrink(0)
    small = generators.path(5)
    for _ in range(3):
        pyapsp.bfs(small, 0, device=device, keep="device")
    assert set(there._spare) == {20}
    with faults("allocation", 1).at_work() as fault:
        found = pyapsp.bfs(GRAPH, 3, device=device, keep="device")
    assert fault.happened
    assert not there._spare
    np.testing.assert_array_equal(found.levels, expected.levels)
    del found
    assert set(there._spare) == {4 * GRAPH.n}
    there.shrink(0)


def test_an_error_waits_for_what_is_under_way(device):
    queue, size = device.queue(), 2**27
    buffer = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, size)
    with suppress(KeyError), device_errors(device, size):
        event = cl.enqueue_fill_buffer(queue, buffer, np.zeros(1, np.uint8), 0, size)
        queue.flush()
        raise KeyError
    assert event.command_execution_status == cl.command_execution_status.COMPLETE
