"""The rounding error that an answer may have."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp.graph import Graph
from pyapsp.numbers.precision import DTYPES, Tolerance, infinity, narrower, tolerance_for

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


@pytest.mark.parametrize("name", DTYPES)
def test_a_type_holds_what_a_narrower_one_holds(name):
    """The answer in the narrower type is converted: no whole number may be lost."""
    dtype = np.dtype(name)
    for bound in (9, 2**14 - 2, 2**15 - 2, 2**30 - 2, 2**62 - 2):
        found = narrower(WHOLE, dtype, bound)
        if found is None:
            assert dtype.itemsize == 2 or bound >= infinity(np.dtype("uint16"))
            continue
        largest = int(infinity(found)) - 1
        assert bound <= largest
        assert found.itemsize < dtype.itemsize
        assert int(dtype.type(largest)) == largest


@pytest.mark.parametrize(
    ("relative", "absolute", "exact"), [(0, 0, True), (1e-6, 0, False), (0, 1e-6, False)]
)
def test_a_tolerance_is_exact_if_it_allows_no_error(relative, absolute, exact):
    assert Tolerance(relative, absolute).exact is exact


def test_two_distances_are_equal_up_to_the_error_of_each():
    allowed = Tolerance(0.01, 0.5)
    near = allowed.equal(np.array([100.0, 100.0]), np.array([102.5, 102.6]))
    assert near.tolist() == [True, False]
