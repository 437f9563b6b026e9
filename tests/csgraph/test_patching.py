"""`patch`: who runs a call, in which modules, and for how long."""

from __future__ import annotations

import logging
import pickle
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph as scipy_csgraph

import pyapsp
from pyapsp import verify
from pyapsp.csgraph import patching, paths
from pyapsp.errors import DeviceMemoryError, FallbackWarning, NoDeviceError

THEIRS = {name: getattr(scipy_csgraph, name) for name in patching._METHODS}
INF = np.inf


def matrix_of(n=20, seed=0, low=1, degree=4, kind=float):
    rng = np.random.default_rng(seed)
    arcs = sparse.random_array((n, n), density=min(degree / n, 1), rng=rng, format="csr")
    arcs.data = rng.integers(low, 9, arcs.nnz)
    return arcs.astype(kind)


def is_patched():
    ours = [getattr(scipy_csgraph, name) is not THEIRS[name] for name in THEIRS]
    assert len(set(ours)) == 1
    return ours[0]


@pytest.fixture(autouse=True)
def _nothing_lasts():
    assert not is_patched()
    yield
    assert not is_patched()


@pytest.fixture
def small(monkeypatch):
    """Let the device run small graphs, too."""
    monkeypatch.setattr(patching, "_WORK", 0)
    monkeypatch.setattr(patching, "_WORK_OF_ONE", 0)


@pytest.fixture
def runs(monkeypatch):
    """Count the calls that run here."""
    calls = []
    for name in THEIRS:
        ours = getattr(paths, name)

        def counted(*args, _name=name, _ours=ours, **kwargs):
            calls.append(_name)
            return _ours(*args, **kwargs)

        monkeypatch.setattr(paths, name, counted)
    return calls


@pytest.fixture
def module(monkeypatch):
    """A loaded module that has imported functions of SciPy, one under another name."""
    made = types.ModuleType("a_loaded_module")
    made.dijkstra, made.search = THEIRS["dijkstra"], THEIRS["johnson"]
    made.components, made.several = scipy_csgraph.connected_components, [THEIRS["dijkstra"]]
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def test_names_of_loaded_modules(module):
    before = dict(vars(module))
    home = sys.modules[THEIRS["dijkstra"].__module__]
    with pyapsp.patch():
        assert module.dijkstra is scipy_csgraph.dijkstra is not THEIRS["dijkstra"]
        assert module.search is scipy_csgraph.johnson
        assert module.components is scipy_csgraph.connected_components
        assert module.several == [THEIRS["dijkstra"]]
        assert home.dijkstra is THEIRS["dijkstra"]
        assert pyapsp.csgraph.dijkstra is paths.dijkstra
        module.later = scipy_csgraph.dijkstra
    assert module.later is THEIRS["dijkstra"]
    del module.later
    assert vars(module) == before
    assert pyapsp.csgraph.dijkstra is paths.dijkstra


def test_a_module_that_is_not_loaded_yet_stays_so(monkeypatch):
    class Lazy(types.ModuleType):
        def __getattribute__(self, name):
            raise AssertionError(name)

    monkeypatch.setitem(sys.modules, "a_lazy_module", Lazy("a_lazy_module"))
    monkeypatch.setitem(sys.modules, "no_module", None)
    with pyapsp.patch():
        assert is_patched()


def test_blocks_and_what_lasts():
    with pyapsp.patch(), pyapsp.patch():
        pyapsp.unpatch()
        assert is_patched()
    assert not is_patched()
    pyapsp.patch()
    pyapsp.patch()
    with pyapsp.patch():
        pass
    assert is_patched()
    pyapsp.unpatch()
    assert not is_patched()
    pyapsp.unpatch()
    with pyapsp.patch():
        pyapsp.patch()
    assert is_patched()
    pyapsp.unpatch()
    again = pyapsp.patch()
    with again, again:
        assert is_patched()
    assert not is_patched()
    with pytest.raises(KeyError, match="of the block"), pyapsp.patch():
        raise KeyError("of the block")


def test_threads():
    started, ended = threading.Barrier(2), threading.Event()
    seen = []

    def other():
        with pyapsp.patch():
            started.wait()
            ended.wait()
        seen.append(is_patched())

    thread = threading.Thread(target=other)
    with pyapsp.patch():
        thread.start()
        started.wait()
    assert is_patched()  # the block of the other thread
    ended.set()
    thread.join()
    assert seen == [False]


def test_many_threads_leave_nothing():
    expected = THEIRS["dijkstra"](matrix_of(), indices=0)

    def work(turn):
        with pyapsp.patch():
            return np.array_equal(scipy_csgraph.dijkstra(matrix_of(), indices=0), expected)

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(80)))
    assert not is_patched()


def test_without_a_device(monkeypatch):
    monkeypatch.setenv("PYAPSP_DEVICE", "no such device")
    with pytest.raises(NoDeviceError):
        pyapsp.patch()
    assert not is_patched()


@pytest.mark.usefixtures("small")
def test_what_is_kept_is_scipys_after_the_end(runs):
    with pyapsp.patch():
        kept = scipy_csgraph.dijkstra
        assert pickle.loads(pickle.dumps(kept)) is kept
        kept(matrix_of())
    assert pickle.loads(pickle.dumps(scipy_csgraph.dijkstra)) is THEIRS["dijkstra"]
    kept(matrix_of())
    assert runs == ["dijkstra"]
    assert kept.__name__ == "dijkstra"
    assert kept.__doc__ == THEIRS["dijkstra"].__doc__


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", THEIRS)
def test_random_graphs_as_scipy_does(name, runs):
    answered = 0
    for seed in range(25):
        matrix = matrix_of(5 + 3 * seed, seed, low=seed % 2, degree=1 + seed % 5)
        if name not in ("dijkstra", "floyd_warshall") and seed % 4 == 0:
            potential = np.arange(matrix.shape[0])  # negative weights, no negative cycle
            tails, heads = matrix.nonzero()
            matrix = sparse.csr_array(
                (matrix[tails, heads] + potential[heads] - potential[tails], (tails, heads)),
                shape=matrix.shape,
            )
        if seed % 3 == 1:
            matrix = matrix.toarray().astype([float, np.int32][seed % 2])
        elif seed % 3 == 2:
            matrix = matrix.tocsc()
        arguments = {"directed": bool(seed % 4 == 0 or seed % 5), "unweighted": seed % 6 == 5}
        if name != "floyd_warshall" and seed % 2:
            arguments["indices"] = np.arange(-3, 4)
        with pyapsp.patch():
            distances, before = getattr(scipy_csgraph, name)(
                matrix, return_predecessors=True, **arguments
            )
        expected, theirs = THEIRS[name](matrix, return_predecessors=True, **arguments)
        np.testing.assert_allclose(distances, expected, rtol=1e-12)
        np.testing.assert_array_equal(before == -9999, theirs == -9999)
        assert (distances.dtype, before.dtype) == (expected.dtype, theirs.dtype)
        answered += 1
    assert runs.count(name) >= answered - 5  # unweighted graphs with negative weights are SciPy's


LARGE = matrix_of(200, degree=8)
DENSE = LARGE.toarray()


@pytest.mark.parametrize(
    ("matrix", "arguments", "reason"),
    [
        (matrix_of(100), {}, "are few"),
        (LARGE, {"indices": [0, 1]}, "2 rows of 200 vertices with"),
        (LARGE, {"min_only": True}, "one search"),
        (LARGE, {"directed": "yes"}, "flags"),
        (LARGE, {"limit": np.nan}, "limit"),
        (LARGE, {"indices": [1.5] * 100}, "indices"),
        (LARGE, {"indices": []}, "indices"),
        (LARGE, {"indices": [*range(99), 200]}, "indices"),
        (LARGE, {"indices": [*range(99), -201]}, "indices"),
        (LARGE.tocoo(), {}, "no array"),
        (LARGE.tolil(), {}, "no array"),
        (np.ma.masked_equal(DENSE, 0), {}, "no array"),
        (DENSE.astype(complex), {}, "no array"),
        (DENSE * 1e-9, {}, "so small"),
        (np.where(DENSE == 3, -INF, DENSE), {}, "-inf"),
        (np.where(DENSE == 3, -3, DENSE), {}, "negative"),
        (LARGE * INF, {}, "infinite"),
    ],
)
def test_calls_for_scipy(matrix, arguments, reason, runs, caplog):
    caplog.set_level(logging.INFO, "pyapsp")
    with np.errstate(all="ignore"), pyapsp.patch():
        found = outcome(scipy_csgraph.dijkstra, matrix, **arguments)
    expected = outcome(THEIRS["dijkstra"], matrix, **arguments)
    np.testing.assert_array_equal(found, expected)
    assert runs == []
    (record,) = caplog.records
    assert record.getMessage().startswith("dijkstra: SciPy, because ")
    assert reason in record.getMessage()


@pytest.mark.filterwarnings("ignore:Graph has negative weights", "ignore:Casting complex")
def outcome(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return repr(error)


def test_other_calls_for_scipy(runs):
    below = DENSE.copy()
    below[5, 5] = -1
    with pyapsp.patch():
        with pytest.raises(ValueError, match="Cannot specify"):
            scipy_csgraph.shortest_path(DENSE, "FW", indices=[0])
        with pytest.raises(ValueError, match="unrecognized method"):
            scipy_csgraph.shortest_path(DENSE, "none")
        with pytest.raises(TypeError):
            scipy_csgraph.dijkstra(DENSE, limits=2)
        with pytest.raises(ValueError, match="out of range"):
            scipy_csgraph.dijkstra(DENSE, indices=[200])
        got = scipy_csgraph.floyd_warshall(below)
    np.testing.assert_array_equal(got, THEIRS["floyd_warshall"](below))
    assert runs == []


def test_large_calls_run_here(runs, caplog, device):
    caplog.set_level(logging.INFO, "pyapsp.csgraph")
    copied, expected = DENSE.copy(), THEIRS["dijkstra"](LARGE)
    with pyapsp.patch():
        got = [
            scipy_csgraph.dijkstra(LARGE),
            scipy_csgraph.shortest_path(DENSE, unweighted=False),
            scipy_csgraph.floyd_warshall(copied, overwrite=True),
        ]
    for each in got:
        np.testing.assert_array_equal(each, expected)
    assert np.shares_memory(got[2], copied)
    np.testing.assert_array_equal(copied, got[0])
    called = ["dijkstra", "shortest_path", "floyd_warshall"]
    assert runs[:2] == called[:2]
    assert called[2] in runs
    assert [each.getMessage() for each in caplog.records] == [
        f"{name}: {device}" for name in called
    ]


def test_calls_of_pyapsp_are_scipys(runs):
    graph = pyapsp.graph.from_scipy(LARGE)
    result = pyapsp.solve(graph)
    with pyapsp.patch():
        verify.against_scipy(graph, result)
    assert runs == []


def test_scipy_runs_what_the_device_cannot(monkeypatch):
    def full(*_args, **_kwargs):
        raise DeviceMemoryError(2**40, 2**30, "use another")

    monkeypatch.setattr(paths, "dijkstra", full)
    monkeypatch.setattr(paths, "floyd_warshall", full)
    with pyapsp.patch():
        with pytest.warns(FallbackWarning, match="SciPy runs dijkstra") as caught:
            got = scipy_csgraph.dijkstra(LARGE)
        assert caught[0].filename == __file__
        np.testing.assert_array_equal(got, THEIRS["dijkstra"](LARGE))
        # the array may have been written to
        with pytest.raises(DeviceMemoryError):
            scipy_csgraph.floyd_warshall(DENSE.copy(), overwrite=True)
    with pytest.warns(FallbackWarning, match="too large"), pyapsp.patch():
        got = scipy_csgraph.johnson(LARGE * 1e307)
    assert np.isinf(got).any()
