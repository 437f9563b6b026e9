"""Dry runs: a call that ends where the memory that it needs is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ParamSpec

from pyapsp.base.errors import ParameterError
from pyapsp.base.shown import Shown

__all__ = ["Memory", "check_not_dry", "dry_run", "is_dry", "needed"]

_P = ParamSpec("_P")

_RULE = "dry_run needs a function that knows its memory before it uses the device"
_dry: ContextVar[bool] = ContextVar("_dry", default=False)


@dataclass(frozen=True, repr=False)
class Memory(Shown):
    """The memory that a call needs.

    Attributes
    ----------
    device_bytes : int
        On the device; of several devices, on the one that needs most.
    answer_bytes : int or None
        Of the answer, on the host. None if what is found decides it.
    """

    device_bytes: int
    answer_bytes: int | None

    def _facts(self) -> dict[str, object]:
        return {"device_bytes": self.device_bytes, "answer_bytes": self.answer_bytes}


class _Told(BaseException):
    """Ends a dry run; no handler of errors may take it for one."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.memory = memory


def dry_run(function: Callable[_P, object], *arguments: _P.args, **options: _P.kwargs) -> Memory:
    """Return the memory that a call would need, without the call's work.

    Arguments are checked, and the graph is converted; the device is not used.

    Parameters
    ----------
    function : callable
        A function of pyapsp that takes a graph and returns distances, or what is made of them: for
        instance `within`, `nearest`, `pairs`, `distances`, `yen`, `accessibility`,
        `betweenness_centrality`, `closeness_centrality`.
    *arguments, **options
        Those of the call.

    Returns
    -------
    Memory

    Raises
    ------
    ParameterError
        If the function does not know its memory before it uses the device, as `diameter`.
    PyApspError
        As the call, for instance a `DeviceMemoryError`.

    Examples
    --------
    >>> import pyapsp
    >>> graph = pyapsp.graph.generators.path(1000)
    >>> pyapsp.dry_run(pyapsp.distances, graph, [0, 7], dtype="int32").answer_bytes
    8000
    """
    mark = _dry.set(True)
    try:
        found = function(*arguments, **options)
        if isinstance(found, Iterator):
            next(found, None)  # blocks are searched when they are asked for
    except _Told as told:
        return told.memory
    finally:
        _dry.reset(mark)
    return Memory(0, getattr(found, "nbytes", None))  # without the device


def is_dry() -> bool:
    """Return whether this is a dry run."""
    return _dry.get()


def needed(device_bytes: int, answer_bytes: int | None) -> None:
    """End the call if it is a dry run, before it uses the device.

    Parameters
    ----------
    device_bytes, answer_bytes
        As in `Memory`.
    """
    if is_dry():
        raise _Told(Memory(device_bytes, answer_bytes))


def check_not_dry() -> None:
    """Refuse to use the device in a dry run, whose function has not said what it needs.

    Raises
    ------
    ParameterError
    """
    if is_dry():
        raise ParameterError(_RULE)
