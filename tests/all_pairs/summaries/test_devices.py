"""Several devices share the sources of summaries, and find the bits that one finds."""

from __future__ import annotations

import math
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import pyapsp
from pyapsp.all_pairs.sparse.session import _Opened
from pyapsp.all_pairs.sparse.totals import Totals
from pyapsp.all_pairs.summaries import searches, sums
from pyapsp.errors import CapabilityError, DeviceError
from pyapsp.graph import Graph
from pyapsp.paths import sharing

N = 150
SUMMARIES = (
    "average_shortest_path_length",
    "closeness_centrality",
    "diameter",
    "distance_histogram",
    "eccentricity",
    "harmonic_centrality",
    "radius",
    "wiener_index",
)


def drawn(kind="whole"):
    """Make a graph with two large components, and vertices that are not reached."""
    rng = np.random.default_rng(6)
    tails, heads = rng.integers(0, N // 2, (2, 4 * N)) + rng.integers(0, 2, 4 * N) * (N // 2)
    weights = rng.random(4 * N) if kind == "real" else rng.integers(1, 60, 4 * N)
    graph = Graph.from_arcs(N, tails, heads, weights)
    return graph.unweighted() if kind == "hops" else graph


@pytest.fixture(autouse=True)
def turns(monkeypatch):
    """Let each device take many blocks."""
    monkeypatch.setattr(sharing, "_TURNS", 10)


@pytest.mark.every(4)
@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("kind", ["whole", "real", "hops"])
def test_the_bits_of_one_device(name, kind, several, device):
    graph, function = drawn(kind), getattr(pyapsp, name)
    options = {"width": 0.01} if (name, kind) == ("distance_histogram", "real") else {}
    one, found = (np.asarray(function(graph, device=each, **options)) for each in (device, several))
    assert one.dtype == found.dtype
    np.testing.assert_array_equal(one, found)


@pytest.mark.parametrize("ordered", [True, False])
def test_each_takes_a_part(ordered, device, monkeypatch):
    """Also of vertices in another order, and of bins of which each block has another number."""
    if ordered:
        monkeypatch.setattr(searches, "_SOURCES", 1)
    names = np.random.default_rng(7).permutation(N)
    graph = Graph.from_arcs(N, names[:-1], names[1:], np.full(N - 1, 2))
    one = pyapsp.distance_histogram(graph, device=device)
    totals, taken, both = _Opened.totals, {}, threading.Barrier(2, timeout=10)

    def noted(self, sources, width):
        if self not in taken:
            both.wait()  # each takes a block
        taken.setdefault(self, []).append(sources.size)
        return totals(self, sources, width)

    monkeypatch.setattr(_Opened, "totals", noted)
    found = pyapsp.distance_histogram(graph, device=[device, device])
    # pairs at the distance d, which is even, are those d / 2 arcs apart
    expected = [N - each // 2 if each % 2 == 0 else 0 for each in range(1, 2 * N - 1)]
    assert found.tolist() == one.tolist() == [0, *expected]
    assert len(taken) == 2
    assert sum(map(sum, taken.values())) == N


def test_sums_are_added_in_the_order_of_sources(device):
    graph = drawn("real")
    for _ in range(3):  # which device takes which blocks may differ
        one, found = (
            pyapsp.average_shortest_path_length(graph, device=each)
            for each in (device, [device] * 3)
        )
        assert one == found


def test_sums_do_not_depend_on_blocks_in_any_version_of_python(monkeypatch):
    """Since Python 3.12 the sum of floats is that of a compensated sum."""

    def compensated(values, start=0):
        return math.fsum([start, *values])

    monkeypatch.setattr(sums, "sum", compensated, raising=False)
    values = np.array([1e16, *[1.0] * 40])

    def totals(some):
        ones = np.ones(some.size, np.int64)
        return Totals(some, some, ones)

    found = {}
    for size in (1, 5, 41):
        total = 0
        for start in range(0, values.size, size):
            total = sums._sum(totals(values[start : start + size]), total)
        found[size] = total
    assert set(found.values()) == {1e16}


def test_progress(device):
    told = []
    for name in ("eccentricity", "harmonic_centrality"):
        told.clear()
        getattr(pyapsp, name)(
            drawn(), device=[device, device], progress=lambda *each: told.append(each)
        )
        assert told == sorted(set(told))
        assert told[-1] == (N, N)

    def stop(done, total):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pyapsp.radius(drawn(), device=[device, device], progress=stop)


def test_an_error_of_one_ends_all(device, monkeypatch):
    opened, totals = [], _Opened.totals

    def fail(self, sources, width):
        opened.append(self)
        if 0 in sources:
            raise DeviceError("lost")
        return totals(self, sources, width)

    monkeypatch.setattr(_Opened, "totals", fail)
    with pytest.raises(DeviceError, match="lost"):
        pyapsp.eccentricity(drawn(), device=[device, device])
    assert not any("solver" in vars(each) for each in opened)


def test_a_device_that_is_named_twice_needs_its_memory_twice(device):
    """Each plans for its part, here of one source."""
    for function in (pyapsp.eccentricity, pyapsp.harmonic_centrality):
        one = pyapsp.dry_run(function, drawn(), [3], device=device)
        both = pyapsp.dry_run(function, drawn(), np.arange(20), device=[device, device])
        assert both.device_bytes == 2 * one.device_bytes
        assert both.answer_bytes == 20 * one.answer_bytes


def test_devices_that_do_not_fit(device):
    with pytest.raises(CapabilityError):
        pyapsp.radius(drawn(), method="dijkstra-cpu", device=[device, device])


def test_all_devices_have_one_type():
    double, single = (
        SimpleNamespace(capabilities=SimpleNamespace(fp64=each)) for each in (True, False)
    )
    for devices, kind in (([double], "f8"), ([double, double], "f8"), ([double, single], "f4")):
        assert searches._dtype_on_device(drawn("real"), np.dtype(float), devices) == kind
