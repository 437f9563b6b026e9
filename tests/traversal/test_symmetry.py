"""The test on a device of whether every arc of a graph has its reverse."""

from __future__ import annotations

import numpy as np
import pytest

import pyapsp
from pyapsp.base import dry
from pyapsp.device import Device
from pyapsp.graph import Graph, generators
from pyapsp.registry import Options
from pyapsp.traversal import symmetry
from pyapsp.traversal.symmetry import has_every_reverse


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Test every graph as a large one."""
    monkeypatch.setattr(symmetry, "_LARGE", 0)


@pytest.fixture
def options(device: Device) -> Options:
    return Options(device, np.dtype(np.int32))


def drawn(both: bool) -> Graph:
    """Return a directed graph with random weights that has all reverses, or not one of them."""
    shape = generators.random_graph(90, 700, seed=3).symmetrized()
    tails, heads, _ = shape.arcs()
    kept = np.arange(shape.m) != np.flatnonzero(tails != heads)[0] if not both else slice(None)
    weights = np.random.default_rng(1).integers(0, 99, shape.m)
    return Graph.from_arcs(90, tails[kept], heads[kept], weights[kept])


def test_every_arc_has_its_reverse_whatever_the_weights(options: Options) -> None:
    both, other = drawn(True), drawn(False)
    assert has_every_reverse(both, options) is True
    assert not both.is_symmetric
    assert has_every_reverse(other, options) is False
    # the host need not compare weights
    assert vars(other)["is_symmetric"] is False
    assert "is_symmetric" not in vars(drawn(False))


def test_there_is_no_test_of_few_arcs_in_a_dry_run_or_without_memory(
    options: Options, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = drawn(True)
    arcs = 4 * graph.m
    assert has_every_reverse(graph, Options(device, options.dtype, memory_limit=arcs)) is None
    mark = dry._dry.set(True)
    try:
        assert has_every_reverse(graph, options) is None
    finally:
        dry._dry.reset(mark)
    monkeypatch.setattr(symmetry, "_LARGE", graph.m + 1)
    assert has_every_reverse(graph, options) is None
    monkeypatch.setattr(symmetry, "_LARGE", graph.m)
    assert has_every_reverse(graph, options) is True


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("of", [lambda graph, device: graph, pyapsp.DeviceGraph])
def test_triangles_do_not_compare_weights(
    of: type, both: bool, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = drawn(both)
    expected = graph.symmetrized()
    del graph.__dict__["is_symmetric"]
    given, compared = of(graph, device), []
    equals = Graph._equals_reverse
    with monkeypatch.context() as patch:
        patch.setattr(Graph, "_equals_reverse", lambda self: compared.append(self) or equals(self))
        found = pyapsp.triangles(given, device=device)
        trusses = pyapsp.truss_decomposition(given, device=device)
    # graphs of the self test are undirected
    assert not any(each.directed for each in compared)
    assert found.total == pyapsp.triangles(expected, device=device).total > 0
    assert found.graph == trusses.graph == expected
    assert trusses.truss(3) == pyapsp.k_truss(expected, 3, device=device)
