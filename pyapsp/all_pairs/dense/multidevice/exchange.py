"""The way of row panels from one device to the others: memory of the host that all of them pin.

There is memory for two panels, of even and of odd passes:

    owner of panel k    publishes it when it has copied it to the host
    other devices       wait for it, and copy it from there
    owner of k + 2      waits for these copies, and uses the same memory
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress

import numpy as np
import pyopencl as cl

from pyapsp.base.host import aligned
from pyapsp.device import Device
from pyapsp.device.kernels.mapped import pin

__all__ = ["Exchange", "StoppedError"]


class StoppedError(Exception):
    """The run has ended: another device has failed, or it was interrupted."""


class Exchange:
    """Two panels in the memory of the host, as a context manager.

    Parameters
    ----------
    devices : sequence of Device
        They exchange panels; with one there is nothing to exchange, and no memory.
    values : int
        Values of a panel.
    dtype : numpy.dtype
    """

    def __init__(self, devices: list[Device], values: int, dtype: np.dtype) -> None:
        self._devices, self._shape, self._dtype = devices, (2, values), dtype
        self._changed, self._stopped, self._published = threading.Condition(), False, -1
        # of each panel, the copies of the other devices
        self._copies: dict[int, list[cl.Event]] = {}

    def __enter__(self) -> Exchange:
        self._stack = ExitStack()
        if len(self._devices) > 1:
            self._memory = aligned(self._shape, self._dtype)
            for device in set(self._devices):
                if not device.capabilities.unified_memory:
                    with suppress(cl.Error):  # without it, copies are only slower
                        self._stack.callback(pin(device.context, self._memory))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def alone(self) -> bool:
        """Whether there is one device."""
        return len(self._devices) == 1

    def memory(self, number: int) -> np.ndarray:
        """Return the memory of a panel."""
        panel: np.ndarray = self._memory[number % 2]
        return panel

    def reserve(self, number: int) -> None:
        """Wait until the memory of a panel is free.

        Raises
        ------
        StoppedError
            After `stop`.
        """
        others = len(self._devices) - 1
        self._wait(lambda: number < 2 or len(self._copies.get(number - 2, ())) == others)
        for event in self._copies.pop(number - 2, ()):
            event.wait()

    def publish(self, number: int) -> None:
        """Note that a panel is in its memory."""
        with self._changed:
            self._published = number
            self._changed.notify_all()

    def await_panel(self, number: int) -> None:
        """Wait until a panel is in its memory.

        Raises
        ------
        StoppedError
            After `stop`.
        """
        self._wait(lambda: self._published >= number)

    def copying(self, number: int, event: cl.Event) -> None:
        """Note the copy of a panel to a device."""
        with self._changed:
            self._copies.setdefault(number, []).append(event)
            self._changed.notify_all()

    def check(self) -> None:
        """Raise the error of a run that has ended.

        Raises
        ------
        StoppedError
            After `stop`.
        """
        self._wait(lambda: True)

    def stop(self) -> None:
        """End all waits: a device has failed, or the run was interrupted."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _wait(self, ready: Callable[[], bool]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or ready())
            if self._stopped:
                raise StoppedError
