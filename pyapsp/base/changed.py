"""Copies of frozen dataclasses."""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["changed"]

_Value = TypeVar("_Value")


def changed(value: _Value, **fields: Any) -> _Value:
    """Return a copy of a frozen dataclass in which some fields have other values.

    `dataclasses.replace` takes four times as long, because it calls the constructor: it is for
    classes with `__post_init__`, and for those that cache what depends on fields.
    """
    made = object.__new__(type(value))
    made.__dict__.update(value.__dict__, **fields)
    return made
