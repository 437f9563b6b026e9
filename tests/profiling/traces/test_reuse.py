"""How far back lines were accessed last."""

import numpy as np
import pytest

from pyapsp.profiling.traces.reuse import lines_between, working_sets


@pytest.mark.parametrize("lines", [1, 3, 20, 200])
def test_mean_numbers_of_lines(lines):
    """All windows of each length, one after the other."""
    line = np.random.default_rng(lines).integers(0, lines, 60) * 7
    expected = [
        np.mean([len(set(line[first : first + length])) for first in range(61 - length)])
        for length in range(61)
    ]
    assert working_sets(line) == pytest.approx(np.array(expected))


def test_lines_between_accesses():
    assert lines_between(np.array([5, 5, 5])).tolist() == [1, 1, 1]
    # round and round: all four lines each time; none was accessed before the first round
    assert lines_between(np.tile([9, 3, 7, 1], 5)) == pytest.approx(np.full(20, 4))
    found = lines_between(np.repeat([9, 3, 7, 1], 50))
    assert found[[0, 50, 100, 150]].tolist() == [4, 4, 4, 4]
    assert (np.delete(found, [0, 50, 100, 150]) == 1).all()
    assert lines_between(np.zeros(0, np.int64)).tolist() == []
