"""The check that the heads of each row rise, against a loop; also in blocks that threads share."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp.graph import validation


def first_fall(starts, heads):
    begins = set(starts.tolist())
    falls = (arc for arc in range(1, heads.size) if heads[arc] <= heads[arc - 1])
    return next((arc for arc in falls if arc not in begins), None)


@pytest.mark.parametrize("large", [2**21, 10])
def test_falls_are_found(large, monkeypatch):
    monkeypatch.setattr(validation, "_BLOCK", 7)
    monkeypatch.setattr(validation, "_LARGE", large)
    rng, found = np.random.default_rng(0), 0
    for number in range(200):
        degrees = rng.integers(0, 5, rng.integers(0, 9))
        starts = np.concatenate([[0], np.cumsum(degrees)]).astype((np.int32, np.int64)[number % 2])
        rows = [np.sort(rng.choice(12, degree, replace=False)) for degree in degrees]
        heads = np.concatenate([*rows, []]).astype(np.int32)
        if heads.size and number % 3:
            heads[rng.integers(heads.size)] = rng.integers(12)
        expected = first_fall(starts, heads)
        for columns in (12, 9):
            inside = bool((heads < columns).all())
            assert validation.rows(starts, heads, columns) == (inside, expected)
        found += expected is not None
    assert 20 < found < 180
