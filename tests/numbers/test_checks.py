"""The checks whether a number type holds the weights."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp.errors import PrecisionError
from pyapsp.graph import Graph
from pyapsp.numbers.checks import check_weights


@pytest.fixture
def looks(monkeypatch):
    """Return a list with a graph for each look at all of its weights from now on."""
    seen = []
    monkeypatch.setattr(Graph, "stored", property(lambda self: seen.append(self) or self.weights))
    return seen


def test_weights_are_looked_at_once_for_each_type(looks):
    weights = np.array([0.5, 1e-6, 0])
    graph = Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], weights)
    for dtype, count in [("float32", 1), ("float16", 2), ("float32", 2), ("float16", 2)]:
        check_weights(graph, np.dtype(dtype))
        assert len(looks) == count
    check_weights(Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], weights), np.dtype("float32"))
    assert len(looks) == 3


@pytest.mark.parametrize(("smallest", "count"), [(1e-44, 0), (1e-46, 1), (0, 1), (-1, 1)])
def test_weights_are_not_looked_at_if_the_smallest_stays_above_zero(looks, smallest, count):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], np.array([0.5, smallest]))
    if smallest == 1e-46:
        with pytest.raises(PrecisionError, match="float32 does not hold the weight 1e-46"):
            check_weights(graph, np.dtype("float32"))
    else:
        check_weights(graph, np.dtype("float32"))
    assert len(looks) == count


def test_a_type_that_does_not_hold_them_is_refused_each_time(looks):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], np.array([0.5, 1e-50]))
    for _ in range(2):
        with pytest.raises(PrecisionError, match="float32 does not hold the weight 1e-50"):
            check_weights(graph, np.dtype("float32"))
    assert len(looks) == 2
