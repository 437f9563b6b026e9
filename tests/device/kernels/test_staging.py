"""Copies in pieces through pinned memory, forced on devices that share the memory of the host."""

import threading
import time
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.all_pairs import choice
from pyapsp.all_pairs.dense import predecessors
from pyapsp.all_pairs.dense.fw_minplus import FwMinplus
from pyapsp.all_pairs.request import Arguments, requested
from pyapsp.device.kernels import Stopwatch, staging
from pyapsp.device.kernels.staging import Sent
from pyapsp.errors import NegativeCycleError
from pyapsp.graph import Graph
from pyapsp.graph.dense import DenseGraph
from pyapsp.paths import AllPairsOptions, landing
from pyapsp.paths.landing import download, expected
from pyapsp.registry import runs

_N = 97  # a prime number: rows are never a multiple of a piece
_METHODS = ("fw-minplus", "fw-blocked", "fw-packed16", "near-far", "apsp-tasks", "ms-bfs")
# Pieces of several rows, and of parts of a row.
_SIZES = 1536, 128
_in_any_pieces = pytest.mark.parametrize("pieces", _SIZES, indirect=True)


@pytest.fixture(autouse=True)
def pieces(request, monkeypatch):
    """Copy everything in pieces, in three threads."""
    size = getattr(request, "param", 512)
    monkeypatch.setattr(staging, "_PIECE", size)
    monkeypatch.setattr(staging, "cores", lambda: 3)
    monkeypatch.setattr(staging, "suits", lambda device, count: count > 0)
    for module in ("all_pairs.sparse.device_block", "all_pairs.sparse.ms_bfs"):
        monkeypatch.setattr(f"pyapsp.{module}.in_place", lambda device: False)


@pytest.fixture
def stage(device):
    return staging.stage(device.context)


def _solve_plainly(graph, method, **given):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staging, "suits", lambda *_: False)
        return pyapsp.solve(graph, method, **given)


def _graph(method):
    """Return a graph for a method, in which some vertices cannot be reached."""
    random = np.random.default_rng(3)
    tails, heads = random.integers(0, _N, (2, 3 * _N))
    heads[heads == 5] = 6
    weights = random.integers(1, 2 if method == "ms-bfs" else 9, tails.size)
    return Graph.from_arcs(_N, tails, heads, weights)


def _buffer(device, values):
    queue = device.queue()
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, values.nbytes)
    cl.enqueue_copy(queue, buffer, values)
    return queue, buffer


def _fill(values, first, last, piece):
    piece[...] = values[first:last]


def _place(piece, target):
    target[...] = piece[:, : target.shape[1]]


def _fetch(stage, queue, buffer, dtype, columns, rows, place, **options):
    with stage.fetching(queue, [(buffer, 0, rows)], dtype, columns, place, **options):
        pass


@pytest.mark.parametrize(
    ("height", "width", "columns"), [(1, 1, 1), (7, 97, 97), (50, 61, 64), (9, 150, 250)]
)
@pytest.mark.parametrize("dtype", ["uint16", "int32", "float64"])
@pytest.mark.parametrize("whole", [False, True])
@_in_any_pieces
def test_rows_arrive_in_any_pieces(height, width, columns, dtype, whole, device, stage):
    values = np.random.default_rng(1).integers(0, 9999, (height, columns)).astype(dtype)
    queue, buffer = _buffer(device, values)
    rows = np.full((height, width), -1.0)
    _fetch(stage, queue, buffer, values.dtype, columns, rows, _place, whole=whole)
    np.testing.assert_array_equal(rows, values[:, :width])


@_in_any_pieces
def test_rows_of_several_matrices_arrive(device, stage):
    values = [np.random.default_rng(k).integers(0, 99, (k, 64)).astype("int32") for k in (9, 5)]
    given = [_buffer(device, each) for each in values]
    rows = np.full((11, 61), -1.0)
    # matrix, its first row, and the rows of the answer
    parts = [(0, 3, (4, 10)), (1, 0, (0, 3)), (1, 4, (3, 4)), (0, 0, (10, 11))]
    matrices = [(given[matrix][1], first, rows[slice(*some)]) for matrix, first, some in parts]
    with stage.fetching(given[0][0], matrices, values[0].dtype, 64, _place):
        pass
    for matrix, first, (low, high) in parts:
        expected = values[matrix][first : first + high - low, :61]
        np.testing.assert_array_equal(rows[low:high], expected)


@pytest.mark.parametrize("pieces", [2**20], indirect=True)
def test_several_threads_have_pieces_of_a_small_array(device, stage, monkeypatch):
    values, copies, copy = np.arange(4096, dtype=np.int32), [], cl.enqueue_copy
    queue, buffer = _buffer(device, values)
    rows = np.zeros((1, 4096), np.int64)

    def noted(queue, *arguments, **options):
        copies.append(arguments)
        return copy(queue, *arguments, **options)

    monkeypatch.setattr(cl, "enqueue_copy", noted)
    stage.send(queue, Sent(buffer, values.dtype, (4096, 1), partial(_fill, values[::-1, None])))
    assert len(copies) >= 4
    copies.clear()
    _fetch(stage, queue, buffer, values.dtype, 4096, rows, _place)
    assert len(copies) >= 4
    np.testing.assert_array_equal(rows[0], values[::-1])


@_in_any_pieces
def test_rows_of_a_matrix_are_sent(device, stage):
    values = np.random.default_rng(1).integers(0, 99, (9, 64)).astype("int32")
    queue, buffer = _buffer(device, values)

    def write(first, last, piece):
        piece[...] = 1000 + np.arange(first, last)[:, None]

    stage.send(queue, Sent(buffer, values.dtype, (4, 64), write, 3))
    found = np.empty_like(values)
    cl.enqueue_copy(queue, found, buffer)
    values[3:7] = 1000 + np.arange(4)[:, None]
    np.testing.assert_array_equal(found, values)


@_in_any_pieces
def test_matrices_of_several_types_are_sent_together(device, stage):
    random = np.random.default_rng(1)
    values = [
        random.integers(0, 99, shape).astype(kind)
        for shape, kind in (((9, 64), "int32"), ((301, 1), "uint16"), ((50, 7), "float64"))
    ]
    queue, buffers = device.queue(), [_buffer(device, np.zeros_like(each))[1] for each in values]

    def filled(rows, first, last, piece):
        piece[...] = rows[first:last]

    pairs = zip(buffers, values, strict=True)
    stage.send(
        queue,
        *(Sent(each, rows.dtype, rows.shape, partial(filled, rows)) for each, rows in pairs),
    )
    for buffer, rows in zip(buffers, values, strict=True):
        back = np.empty_like(rows)
        cl.enqueue_copy(queue, back, buffer)
        np.testing.assert_array_equal(back, rows)


@pytest.mark.parametrize(("copying", "most"), [(2, 2), (9, 3)])
def test_few_threads_fill_pieces(copying, most, device, stage, monkeypatch):
    monkeypatch.setattr(staging, "_COPYING", copying)
    tasks, pool = [], staging.threads()

    def submit(work):
        tasks.append(pool.submit(work))
        return tasks[-1]

    monkeypatch.setattr(staging, "threads", lambda: SimpleNamespace(submit=submit))
    queue, buffer = _buffer(device, np.zeros((50, 64)))
    stage.send(queue, Sent(buffer, np.dtype(float), (50, 64), lambda *_: None))
    assert len(tasks) == most


def test_this_thread_sends_what_others_fill(device, stage, monkeypatch):
    values = np.random.default_rng(1).integers(0, 9999, (50, 64))
    queue, buffer = _buffer(device, np.zeros_like(values))
    copy, sending, filling, fails = cl.enqueue_copy, set(), set(), [True]

    def fill(first, last, piece):
        filling.add(threading.current_thread())
        piece[...] = values[first:last]

    def sent(*given, **options):
        sending.add(threading.current_thread())
        if fails and fails.pop():
            raise KeyboardInterrupt
        return copy(*given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(staging.cl, "enqueue_copy", sent)
        with pytest.raises(KeyboardInterrupt):
            stage.send(queue, Sent(buffer, values.dtype, values.shape, fill))
        stage.send(queue, Sent(buffer, values.dtype, values.shape, fill))
    back = np.empty_like(values)
    cl.enqueue_copy(queue, back, buffer)
    np.testing.assert_array_equal(back, values)
    assert sending == {threading.main_thread()}
    assert filling.isdisjoint(sending)


def test_a_piece_is_filled_again_after_its_copy(device, stage, monkeypatch):
    queue, buffer = _buffer(device, np.zeros((50, 64)))
    copy, copies, again = cl.enqueue_copy, {}, []

    class Copy:
        waited = False

        def __init__(self, event):
            self.event = event

        def wait(self):
            self.event.wait()
            self.waited = True

    def sent(queue, target, piece, **options):
        copies[piece.ctypes.data] = Copy(copy(queue, target, piece, **options))
        return copies[piece.ctypes.data]

    def fill(first, last, piece):
        if (before := copies.get(piece.ctypes.data)) is not None:
            again.append(before.waited)

    monkeypatch.setattr(staging.cl, "enqueue_copy", sent)
    stage.send(queue, Sent(buffer, np.dtype(float), (50, 64), fill))
    assert again
    assert all(again)


def test_the_device_need_not_wait_for_whole_pieces(device, stage):
    pieces, (queue, buffer) = [], _buffer(device, np.zeros((50, 8)))

    def fill(first, last, piece):
        pieces.append((first, last))

    stage.send(queue, Sent(buffer, np.dtype(float), (50, 8), fill))
    ends = [0, 2, 7, *range(15, 50, 8), 50]  # 8 rows of a piece; a third of them, two thirds
    assert sorted(pieces) == list(pairwise(ends))


def test_a_piece_is_small_where_its_values_become_wide(device, stage):
    values = np.random.default_rng(1).integers(0, 9999, (50, 64)).astype(np.uint16)
    queue, buffer = _buffer(device, values)
    rows, sizes = np.empty((50, 64)), []

    def place(piece, target):
        sizes.append(target.nbytes)
        _place(piece, target)

    _fetch(stage, queue, buffer, values.dtype, 64, rows, place)
    np.testing.assert_array_equal(rows, values)
    assert max(sizes) <= 512


@pytest.mark.parametrize(("huge", "most"), [(50 * 64 * 8, 1024), (50 * 64 * 8 + 1, 512)])
def test_pieces_of_a_huge_array_that_is_converted_are_larger(
    huge, most, device, stage, monkeypatch
):
    monkeypatch.setattr(staging, "_HUGE", huge)
    values = np.random.default_rng(1).integers(0, 9999, (50, 64)).astype(np.uint16)
    queue, buffer = _buffer(device, values)
    for dtype, size in (("float64", most), ("uint16", 512)):
        rows, sizes = np.empty((50, 64), dtype), []

        def place(piece, target, sizes=sizes):
            sizes.append(target.nbytes)
            _place(piece, target)

        _fetch(stage, queue, buffer, values.dtype, 64, rows, place)
        np.testing.assert_array_equal(rows, values)
        assert max(sizes) == size


def test_pinned_memory_grows_with_what_is_copied(device, monkeypatch):
    monkeypatch.setattr(staging, "_PINNED", 4 * 512)
    stage = staging.Stage(device.context)
    for height, memory in ((1, 512), (3, 3 * 512), (50, 4 * 512), (1, 4 * 512)):
        values = np.random.default_rng(1).integers(0, 9999, (height, 64))
        queue, buffer = _buffer(device, values)
        rows = np.empty_like(values)
        _fetch(stage, queue, buffer, values.dtype, 64, rows, _place)
        np.testing.assert_array_equal(rows, values)
        assert stage._memory.size == memory


@pytest.mark.parametrize("shape", [(1, 1), (50, 64), (301, 7)])
@_in_any_pieces
def test_rows_leave_in_any_pieces(shape, device, stage):
    values = np.random.default_rng(1).integers(0, 9999, shape)
    queue, buffer = _buffer(device, np.zeros_like(values))

    def fill(first, last, piece):
        piece[...] = values[first:last]

    stage.send(queue, Sent(buffer, values.dtype, shape, fill))
    back = np.empty_like(values)
    cl.enqueue_copy(queue, back, buffer)
    np.testing.assert_array_equal(back, values)


class _Late:
    """The threads of copies, for which tasks that clear pages begin late."""

    def __init__(self, monkeypatch, delay):
        self._pool, self._delay, self.tasks = landing.threads(), delay, []
        monkeypatch.setattr(landing, "threads", lambda: self)

    def submit(self, work):
        self.tasks.append(self._pool.submit(lambda: (self._delay(), work())))
        return self.tasks[-1]


def test_pages_are_cleared_before_the_answer_comes_or_not_at_all(device, monkeypatch):
    values = np.random.default_rng(1).integers(1, 99, (8, 4096)).astype(np.uint16)
    queue, buffer = _buffer(device, values)
    monkeypatch.setattr(landing, "_STRETCH", 2 * landing._PAGE)
    rows, kept = np.ones_like(values), np.ones_like(values)
    come = threading.Event()
    late = _Late(monkeypatch, come.wait)
    with expected(device, rows, kept):
        download(queue, buffer, values.dtype, rows, Stopwatch())
        come.set()
        staging.wait(late.tasks)
    np.testing.assert_array_equal(rows, values)
    assert not kept.view(np.uint8).reshape(-1)[:: landing._PAGE].any()


def test_only_the_pages_of_rows_that_came_are_left_alone(device, monkeypatch):
    """Some of the rows come, and are expected again."""
    values = np.random.default_rng(1).integers(1, 99, (8, 4096)).astype(np.uint16)
    queue, buffer = _buffer(device, values)
    monkeypatch.setattr(landing, "_STRETCH", 2 * landing._PAGE)  # a row
    rows, come = np.ones_like(values), threading.Event()
    late = _Late(monkeypatch, come.wait)
    with expected(device, rows):
        known = dict(landing._coming)
        assert len(known) == 8
        with expected(device, rows[2:4]):
            assert landing._coming == known
            download(queue, buffer, values.dtype, rows[2:4], Stopwatch())
        assert landing._coming == known
        come.set()
        staging.wait(late.tasks)
    np.testing.assert_array_equal(rows[2:4], values[:2])
    cleared = rows[:, :: landing._PAGE // 2] == 0
    assert cleared[[0, 1, 4, 5, 6, 7]].all()


@pytest.mark.parametrize(
    ("method", "first"), [("ms-bfs", True), ("johnson", True), ("dijkstra-cpu", False)]
)
def test_pages_are_cleared_while_the_graph_is_copied(method, first, device, monkeypatch):
    coming, kind = [], pyapsp.method(method)
    real = type(kind).open

    def opened(*given):
        coming.append(len(landing._coming))
        return real(*given)

    monkeypatch.setattr(type(kind), "open", opened)
    pyapsp.solve(_graph("ms-bfs"), kind, dtype="int32", predecessors=True, device=device)
    assert coming == [2 * first]  # distances and predecessors


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weights", ["whole", "fractions"])
def test_predecessors_of_a_dense_array(weights, dtype, device, monkeypatch):
    """Their arcs are found on the host, when the distances have come; these come late here."""
    convert = landing.convert
    monkeypatch.setattr(landing, "convert", lambda *given: (time.sleep(2e-3), convert(*given)))
    random = np.random.default_rng(2)
    matrix = random.integers(1, 99, (_N, _N)) if weights == "whole" else random.random((_N, _N))
    matrix[random.random(matrix.shape) < 0.9] = 0
    plain = _solve_plainly(matrix, "fw-minplus", dtype=dtype, predecessors=True, device=device)
    # whole numbers are held in a narrower type, as "auto" does
    held = np.dtype("int32" if weights == "whole" else dtype)
    options = AllPairsOptions(device, held, predecessors=True, answer=np.dtype(dtype))
    method = FwMinplus()
    answer = method.run(method.plan(DenseGraph(matrix), options))
    assert answer.distances.dtype == dtype
    np.testing.assert_array_equal(answer.distances, plain.distances)
    np.testing.assert_array_equal(answer.predecessors, plain.predecessors)


def test_rounding_is_known_from_distances_that_have_come(device, monkeypatch):
    convert = landing.convert
    monkeypatch.setattr(landing, "convert", lambda *given: (time.sleep(2e-3), convert(*given)))
    seen, find = [], predecessors.tolerance

    def watched(graph, rows):
        seen.append(rows.copy())
        return find(graph, rows)

    monkeypatch.setattr(predecessors, "tolerance", watched)
    graph = _graph("near-far")
    graph = graph.with_weights(graph.weights + 0.1)
    given = {"dtype": "float32", "predecessors": True, "device": device}
    answer = pyapsp.solve(graph, "fw-minplus", **given)
    np.testing.assert_array_equal(seen[0], answer.distances)


def test_no_page_is_cleared_after_the_block(device, monkeypatch):
    come, rows = threading.Event(), np.ones((8, 4096), np.uint16)
    late = _Late(monkeypatch, come.wait)
    with pytest.raises(KeyError), expected(device, rows):
        raise KeyError
    come.set()
    staging.wait(late.tasks)
    assert rows.all()
    assert not landing._coming


def test_the_end_waits_for_a_thread_that_clears():
    begun, come, done = (threading.Event() for _ in range(3))

    class Memory:
        def __setitem__(self, some, value):
            begun.set()
            come.wait()

    stretch = landing._Stretch(Memory())
    clearing = landing.threads().submit(stretch.clear)
    begun.wait()
    ending = threading.Thread(target=lambda: (stretch.end(), done.set()))
    ending.start()
    assert not done.wait(0.1)
    come.set()
    assert done.wait(10)
    clearing.result()
    ending.join()


@pytest.mark.parametrize("method", ["dijkstra-cpu", "apsp-bfs", "johnson", *_METHODS])
def test_no_page_is_cleared_after_its_rows_were_written(method, device, monkeypatch):
    """Clearing begins late here, and takes every value."""
    monkeypatch.setattr(landing, "_PAGE", 1)
    _Late(monkeypatch, lambda: time.sleep(0.05))
    graph, given = _graph("ms-bfs"), {"dtype": "int32", "device": device}
    answer = pyapsp.solve(graph, method, predecessors=True, **given)
    plain = _solve_plainly(graph, method, predecessors=True, **given)
    np.testing.assert_array_equal(answer.distances, plain.distances)
    np.testing.assert_array_equal(answer.predecessors, plain.predecessors)


@pytest.mark.parametrize(
    "method", ["dijkstra-cpu", "apsp-bfs", "johnson", "lowered johnson", "near-far", "ms-bfs"]
)
def test_no_page_is_cleared_between_a_search_and_the_end(method, device, monkeypatch):
    """Clearing begins when the rows are written, and takes every value."""
    graph, (lowered, _, name) = _graph("ms-bfs"), method.rpartition(" ")
    if lowered:  # negative weights, and rows that are corrected on the host
        tails, heads, weights = graph.arcs()
        height = np.random.default_rng(1).integers(0, 9, graph.n)
        graph = graph.with_weights(weights + height[tails] - height[heads])
    given = {"dtype": "int32", "predecessors": True, "device": device}
    plain = _solve_plainly(graph, name, **given)
    monkeypatch.setattr(landing, "_PAGE", 1)
    come = threading.Event()
    late, hide = _Late(monkeypatch, come.wait), AllPairsOptions.hide

    def written(*rows):
        come.set()
        staging.wait(late.tasks)
        hide(*rows)

    monkeypatch.setattr(AllPairsOptions, "hide", written)
    answer = pyapsp.solve(graph, name, **given)
    assert come.is_set()
    np.testing.assert_array_equal(answer.distances, plain.distances)
    np.testing.assert_array_equal(answer.predecessors, plain.predecessors)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_a_thread_ends_the_copy(error, device, stage):
    values = np.arange(97 * 97.0).reshape(97, 97)
    queue, buffer = _buffer(device, values)

    def fail(*_):
        raise error

    rows = np.empty_like(values)
    with pytest.raises(error):
        _fetch(stage, queue, buffer, values.dtype, 97, rows, fail)
    with pytest.raises(error):
        stage.send(queue, Sent(buffer, values.dtype, values.shape, fail))
    _fetch(stage, queue, buffer, values.dtype, 97, rows, _place)
    np.testing.assert_array_equal(rows, values)


def test_an_error_of_another_thread_is_raised(device, stage):
    values, failed = np.arange(97 * 97.0).reshape(97, 97), threading.Event()
    queue, buffer = _buffer(device, values)

    def fail(*_):
        if threading.current_thread() is threading.main_thread():
            failed.wait(10)
        else:
            failed.set()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _fetch(stage, queue, buffer, values.dtype, 97, np.empty_like(values), fail)


def test_an_interruption_waits_for_the_threads(device, stage, monkeypatch):
    values = np.arange(97 * 97.0).reshape(97, 97)
    queue, buffer = _buffer(device, values)
    wait, waited = staging.wait, []

    def interrupted(tasks):
        waited.append(tasks)
        if len(waited) == 1:
            raise KeyboardInterrupt
        return wait(tasks)

    monkeypatch.setattr(staging, "wait", interrupted)
    rows = np.empty_like(values)
    with pytest.raises(KeyboardInterrupt):
        _fetch(stage, queue, buffer, values.dtype, 97, rows, _place)
    assert all(task.done() for task in waited[-1])
    assert not stage._copying.locked()


@pytest.mark.every(6)
@pytest.mark.parametrize(
    ("method", "dtype"),
    [
        *product(_METHODS, ("float32", "uint16")),
        *product(("fw-minplus", "near-far"), ("float64", "int64", "int32", "int16")),
    ],
)
def test_answers_equal_those_of_whole_copies(method, dtype, device):
    graph, given = _graph(method), {"dtype": dtype, "device": device}
    whole = _solve_plainly(graph, method, predecessors=True, **given)
    assert (whole.distances == whole.infinity).any()
    out = np.empty((_N, _N), dtype)
    answer = pyapsp.solve(graph, method, predecessors=True, out=out, **given)
    assert answer.distances is out
    np.testing.assert_array_equal(answer.distances, whole.distances)
    np.testing.assert_array_equal(answer.predecessors, whole.predecessors)
    alone = pyapsp.solve(graph, method, sources=[5, 0], **given)
    np.testing.assert_array_equal(alone.distances, whole.distances[[5, 0]])


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", ["int16", "int32", "float32", "float64"])
def test_loops_among_few_arcs(dtype, device):
    random = np.random.default_rng(4)
    tails, heads = random.integers(0, _N, (2, _N))
    tails[:20] = heads[:20]
    weights = random.integers(1, 9, _N)
    graph, given = Graph.from_arcs(_N, tails, heads, weights), {"dtype": dtype, "device": device}
    answer = pyapsp.solve(graph, "fw-minplus", **given)
    np.testing.assert_array_equal(
        answer.distances, _solve_plainly(graph, "fw-minplus", **given).distances
    )
    assert not answer.distances.diagonal().any()
    weights[7] = -1
    with pytest.raises(NegativeCycleError):
        pyapsp.solve(Graph.from_arcs(_N, tails, heads, weights), "fw-minplus", **given)


def test_complete_matrices_and_others(device):
    weights = np.random.default_rng(2).integers(1, 90, (_N, _N)).astype(np.float32)
    for diagonal, arc in ((weights.diagonal().copy(), 7), (0, 0), (0, -1)):
        np.fill_diagonal(weights, diagonal)
        weights[3, 5] = arc
        whole = _solve_plainly(weights, "fw-minplus", device=device)
        answer = pyapsp.solve(weights, "fw-minplus", device=device)
        np.testing.assert_array_equal(answer.distances, whole.distances)


@pytest.mark.parametrize("held", ["uint16", "int32"])
@pytest.mark.parametrize("method", _METHODS)
@pytest.mark.parametrize("predecessors", [False, True])
def test_narrow_distances_become_wide_on_the_way(method, held, predecessors, device, monkeypatch):
    graph, told = _graph(method), np.dtype(held)
    distances = pyapsp.solve(graph, "dijkstra-cpu", device=device).distances
    out = np.empty((_N, _N))
    chosen = pyapsp.method(method)
    arguments = Arguments(method=chosen, device=device, predecessors=predecessors, out=out)
    request = requested(graph, arguments)
    suited = choice.suited
    monkeypatch.setattr(choice, "suited", lambda *given: suited(*given[:3], told))
    solved = runs.solve(request)
    assert solved.record["held_dtype"] == held
    assert solved.answer.distances is out
    np.testing.assert_array_equal(out, distances)
    if predecessors:
        certain = replace(request, options=replace(request.options, out=None))
        assert request.problem.oracle(graph, certain.options)(solved.answer).fault is None


@pytest.mark.parametrize(("more", "sparse"), [(0, True), (1, False)])
def test_a_matrix_is_made_of_arcs_if_it_is_large_on_both_ways(more, sparse, device, monkeypatch):
    large = 2 * 4 * _N**2 + more
    monkeypatch.setattr(staging, "suits", lambda device, count: count >= large)
    options = AllPairsOptions(device, np.dtype(np.float32))
    *_, arcs = pyapsp.method("fw-minplus").plan(_graph("fw-minplus"), options).state
    assert (arcs is not None) == sparse
