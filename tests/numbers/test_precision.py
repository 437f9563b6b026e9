"""The rounding error that an answer may have."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp.graph import Graph
from pyapsp.numbers.precision import Tolerance, tolerance_for

THIRDS = Graph.from_arcs(3, [0, 1], [1, 2], np.array([1, 1]) / 3)
WHOLE = Graph.from_arcs(3, [0, 1], [1, 2], [4, 5])


@pytest.mark.parametrize(
    ("graph", "dtype", "largest", "exact"),
    [
        (WHOLE, "int32", 9.0, True),
        (THIRDS, "int64", 1.0, True),
        (WHOLE, "float32", 9.0, True),
        (WHOLE, "float32", 2.0**24, False),  # one more arc may not fit into 24 bits
        (THIRDS, "float64", 2 / 3, False),
    ],
)
def test_sums_of_whole_numbers_that_the_type_holds_are_exact(graph, dtype, largest, exact):
    assert tolerance_for(graph, np.dtype(dtype), largest).exact is exact


@pytest.mark.parametrize(
    ("relative", "absolute", "exact"), [(0, 0, True), (1e-6, 0, False), (0, 1e-6, False)]
)
def test_a_tolerance_is_exact_if_it_allows_no_error(relative, absolute, exact):
    assert Tolerance(relative, absolute).exact is exact


def test_two_distances_are_equal_up_to_the_error_of_each():
    allowed = Tolerance(0.01, 0.5)
    near = allowed.equal(np.array([100.0, 100.0]), np.array([102.5, 102.6]))
    assert near.tolist() == [True, False]
