"""Rows that are cleared in other threads before they come."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp.paths import landing


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (slice(0, 4), [0]),
        (slice(3, 5), [0, 1]),
        (slice(4, 8), [1]),
        (slice(8, 10), [2]),
        (slice(0, 10), [0, 1, 2]),
    ],
)
def test_the_stretches_of_rows(part, expected, monkeypatch):
    rows = np.zeros((10, 256))
    monkeypatch.setattr(landing, "_STRETCH", 4 * rows[0].nbytes)
    stretches = dict(landing._stretches(rows))
    monkeypatch.setattr(landing, "_coming", stretches)
    order = list(stretches.values())
    assert [order.index(each) for each in landing._among(rows[part])] == expected
    assert landing._among(np.zeros(4)) == []


def test_a_stretch_that_has_ended_is_not_cleared():
    memory = np.ones(3 * landing._PAGE, np.uint8)
    cleared, ended = landing._Stretch(memory), landing._Stretch(memory)
    ended.end()
    ended.clear()
    assert memory.all()
    cleared.clear()
    assert np.flatnonzero(memory == 0).tolist() == [0, landing._PAGE, 2 * landing._PAGE]
