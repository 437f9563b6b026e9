"""A driver that fails: PyOpenCL's calls of OpenCL, of which one, or all from one on, fail."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar
from unittest import mock

import pyopencl as cl
import pytest
from pyopencl import _cl

from pyapsp.device import model
from pyapsp.device.kernels import program
from pyapsp.sweep import source

_ENQUEUE = [name for name in dir(_cl) if name.startswith(("enqueue_", "_enqueue_"))]
# Where the calls are looked up; kernels are launched by _cl.enqueue_nd_range_kernel.
_PLACES: dict[str, list[tuple[object, str]]] = {
    "allocate": [(cl, "Buffer")],
    "build": [(cl.Program, "build")],
    "create": [(model, "_new_queue"), (cl, "Kernel")],
    "enqueue": [*((_cl, name) for name in _ENQUEUE), (cl, "enqueue_map_buffer")],
    "wait": [
        (cl, "wait_for_events"),
        (cl.CommandQueue, "finish"),
        (cl.CommandQueue, "flush"),
        (cl.Event, "wait"),
        (cl.Event, "get_profiling_info"),
        (cl.MemoryMap, "release"),
    ],
}
_CODES = cl.status_code
_NO_MEMORY = cl.MemoryError, _CODES.MEM_OBJECT_ALLOCATION_FAILURE
# Which calls a fault counts, what the one that fails raises, and what all later ones do.
KINDS = {
    "allocation": (["allocate"], _NO_MEMORY, None),
    # drivers may allocate when a buffer is used for the first time
    "late allocation": (["enqueue"], _NO_MEMORY, None),
    # as when other programs have taken all memory: until the end of the block
    "no memory": (["allocate", "enqueue"], _NO_MEMORY, _NO_MEMORY),
    "build": (["build"], (cl.RuntimeError, _CODES.BUILD_PROGRAM_FAILURE), None),
    "kernels": (["build", "create"], _NO_MEMORY, None),
    "lost device": (
        list(_PLACES),
        (cl.RuntimeError, _CODES.OUT_OF_RESOURCES),
        (cl.LogicError, _CODES.INVALID_COMMAND_QUEUE),
    ),
}


class _Buffer(cl.Buffer):
    """A buffer that is known as long as it holds device memory."""

    live: ClassVar[weakref.WeakValueDictionary[int, _Buffer]] = weakref.WeakValueDictionary()
    _numbers = itertools.count()

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)
        self._number = next(self._numbers)
        self.live[self._number] = self

    def release(self) -> None:
        super().release()
        self.live.pop(self._number, None)


class Faults:
    """Stands between PyOpenCL and OpenCL.

    Attributes
    ----------
    calls : int
        Of the kind that is counted, so far.
    """

    def __init__(self, kind: str = "lost device", fail_at: int | None = None) -> None:
        self._places, self._first, self._later = KINDS[kind]
        self._fail_at, self._lock = fail_at, threading.Lock()
        self.calls = 0

    @property
    def happened(self) -> bool:
        """Whether a call was refused."""
        return self._fail_at is not None and self.calls >= self._fail_at

    def count(self, name: str) -> None:
        """Count a call, and refuse it if its turn has come."""
        with self._lock:
            self.calls += 1
            here = self.calls
        if here == self._fail_at:
            if self._later is not None:
                _stop()
            raise _error(name, *self._first)
        if self._fail_at is not None and here > self._fail_at and self._later is not None:
            raise _error(name, *self._later)

    def wrapped(self, name: str, call: Callable) -> Callable:
        def counted(*arguments: object, **named: object) -> object:
            self.count(name)
            return call(*arguments, **named)

        return counted

    @contextmanager
    def at_work(self) -> Iterator[Faults]:
        """Count calls, and fail, inside the block; programs are built anew if builds count."""
        if self._places[0] == "build":
            program._build.cache_clear()
            source._program.cache_clear()
        with ExitStack() as stack:
            for kind, (owner, name) in _all_places():
                call = _Buffer if kind == "allocate" else getattr(owner, name)
                if kind in self._places:
                    call = self.wrapped(name, call)
                stack.enter_context(mock.patch.object(owner, name, call))
            yield self


_finish = cl.CommandQueue.finish


def _stop() -> None:
    """A device that is lost computes nothing any more."""
    for queue in list(model._queues):
        _finish(queue)


def _all_places() -> Iterator[tuple[str, tuple[object, str]]]:
    return ((kind, place) for kind, places in _PLACES.items() for place in places)


def _error(name: str, kind: type[cl.Error], code: int) -> cl.Error:
    return kind(_cl._ErrorRecord(msg="injected", code=code, routine=f"cl {name}"))


def live_buffers() -> int:
    """How many buffers hold device memory."""
    gc.collect()
    return len(_Buffer.live)


@pytest.fixture
def faults():
    """The tools of this file: modules beside tests cannot be imported."""
    return Faults


@pytest.fixture(scope="module")
def live():
    gc.collect()
    gc.freeze()  # what is here already is not looked through for each number
    yield live_buffers
    gc.unfreeze()
