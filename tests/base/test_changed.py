"""Copies of frozen dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property

import pytest

from pyapsp.base.changed import changed
from pyapsp.paths import AllPairsOptions, PathOptions
from pyapsp.registry import Plan, Request
from pyapsp.traversal.components.component_methods import ComponentOptions


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


@pytest.mark.parametrize(
    "kind",
    [Plan, Request, PathOptions, AllPairsOptions, ComponentOptions],
    ids=lambda k: k.__name__,
)
def test_what_is_copied_has_no_constructor_of_its_own_and_caches_nothing(kind):
    assert is_dataclass(kind)
    assert not hasattr(kind, "__post_init__")
    values = [value for base in kind.__mro__ for value in vars(base).values()]
    assert not any(isinstance(each, cached_property) for each in values)
