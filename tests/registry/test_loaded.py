"""Kernels that run again and again, with the input on the device."""

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.device.kernels import residents, transfer
from pyapsp.errors import CapabilityError, ParameterError
from pyapsp.graph import generators
from pyapsp.registry import method, methods, problem, runs

N = 6000
# They look for negative cycles now and then, and the relaunch of heavy items needs their list.
READS = {"sssp-bellman-ford", "sssp-h-bf", "partition-dynamic-warp"}
LOADED = [
    each.id
    for name in ("partition", "bfs", "sssp", "all-pairs")
    for each in methods(name)
    if name != "all-pairs" or each.area == "all_pairs/dense"
]
REFUSED = ("bfs-streamed", "fw-multidevice", "fw-outofcore")


def loaded_of(id_, data, device, **arguments):
    chosen = method(id_)
    request = problem(chosen.problem).ask(data, chosen, device=device, **arguments)
    plan, loaded = runs.load(request)

    def check():
        answer = request.problem.settle(request, plan, loaded.answer())
        return request.problem.oracle(request.input, request.options)(answer)

    return loaded, check


def sample(id_, n):
    kind = problem(method(id_).problem)
    return kind.sample(n, kind.families[0], 3, method(id_).requires)


@pytest.mark.parametrize("id_", LOADED)
def test_the_answer_of_kernels_that_ran_several_times(id_, device):
    data = sample(id_, 90)
    if id_ in REFUSED:
        with pytest.raises(ParameterError, match=f"{id_} cannot run its kernels without"):
            loaded_of(id_, data, device)
        return
    try:
        loaded, check = loaded_of(id_, data, device)
    except CapabilityError as error:
        pytest.skip(str(error))
    loaded.run()
    check().require()
    loaded.run(3)
    loaded.run()
    check().require()


@pytest.mark.parametrize("id_", ["fw-singlekernel", "fw-packed8", "fw-minplus"])
def test_memory_of_the_pool_may_be_larger(id_, device, monkeypatch):
    monkeypatch.setattr(residents, "_pools", lambda device: True)
    monkeypatch.setattr(residents, "_all", {})
    loaded, check = loaded_of(id_, sample(id_, 90), device)
    loaded.run(2)
    check().require()


@pytest.mark.parametrize("id_", [each for each in LOADED if not each.startswith("fw-")])
def test_runs_copy_nothing_large(id_, device, monkeypatch):
    if id_ in REFUSED:
        return
    monkeypatch.setattr(transfer, "in_place", lambda handle: False)
    try:
        loaded, _ = loaded_of(id_, sample(id_, N), device)
    except CapabilityError as error:
        pytest.skip(str(error))
    loaded.run()
    copy, largest = cl.enqueue_copy, [0]

    def copied(queue, to, from_, **more):
        host = [each.nbytes for each in (to, from_) if isinstance(each, np.ndarray)]
        largest.extend(host)
        return copy(queue, to, from_, **more)

    monkeypatch.setattr(cl, "enqueue_copy", copied)
    loaded.run()
    if id_ not in READS:
        assert max(largest) < 4 * N
    monkeypatch.setattr(transfer, "send", None)  # an upload would be an error
    loaded.run()


def test_every_source_has_its_row(device):
    graph = generators.rmat(6, seed=2)
    sources = [5, 0, 9]
    loaded, check = loaded_of("bfs-frontier", graph, device, sources=sources)
    loaded.run(2)
    check().require()
    np.testing.assert_array_equal(loaded.answer().distances, loaded.answer().distances)


def test_a_matrix_is_restored_before_each_run(device):
    """So each run does what the first did: it does not start from distances."""
    loaded, check = loaded_of("fw-minplus", sample("fw-minplus", 60), device)
    matrix, queue = loaded._buffers[0], device.queue()
    for _ in range(2):
        cl.enqueue_fill_buffer(queue, matrix, np.zeros(1, np.int32), 0, matrix.size // 4 * 4)
        queue.finish()
        loaded.run()
    check().require()


def test_an_input_without_work(device):
    loaded, check = loaded_of("partition-direct", [0, 0], device)
    loaded.run(2)
    check().require()


@pytest.mark.parametrize("id_", ["bfs-frontier", "sssp-near-far", "fw-minplus"])
def test_predecessors_are_refused(id_, device):
    with pytest.raises(ParameterError, match=f"{id_} finds predecessors only with copies"):
        loaded_of(id_, sample(id_, 40), device, predecessors=True)


def test_a_range_of_words_is_checked(device):
    """As by `run`: distances beyond the words are an error."""
    graph = pyapsp.Graph.from_arcs(40, range(39), range(1, 40), [250] * 39)
    loaded, check = loaded_of("fw-packed8", graph, device, dtype="int32")
    loaded.run()
    with pytest.raises(pyapsp.errors.PrecisionError, match="too large for fw-packed8"):
        check()
