"""Copies of frozen dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from pyapsp.base.changed import changed


@dataclass(frozen=True)
class _Point:
    x: int
    y: int = 2


def test_some_fields_change():
    before = _Point(1)
    after = changed(before, y=5)
    assert after == replace(before, y=5) == _Point(1, 5)
    assert before == _Point(1, 2)
    assert type(after) is _Point
    with pytest.raises(AttributeError):
        after.x = 3
