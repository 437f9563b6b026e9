"""The base class of the exceptions of this package; it imports nothing of the package."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["PyApspError"]

_E = TypeVar("_E", bound="PyApspError")


class PyApspError(Exception):
    """Base class of every error raised by pyapsp.

    Attributes
    ----------
    graph : int or None
        If one graph of a batch causes the error, its number.
    """

    graph: int | None = None

    __module__ = "pyapsp.errors"

    def __reduce__(self) -> tuple[Callable[..., PyApspError], tuple[object, ...]]:
        # by default `__init__` would get the message, but in most classes it takes other arguments;
        # a pool of processes waits for ever for an error that it cannot restore
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[_E], args: tuple[object, ...], values: dict[str, object]) -> _E:
    """Return a copy of an error, in another process for instance."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(values)
    return error
