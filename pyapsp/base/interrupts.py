"""Interrupts that wait until something is whole again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["uninterrupted"]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let an interrupt (SIGINT) wait for the end of a block; a second one does not wait.

    Python raises its exception after any call in the main thread: between a change on a device and
    the note of it on the host, too. Other threads get none.
    """
    act = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(act):
        yield
        return
    held: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        if held:
            act(number, frame)
        held.append(number)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, act)
        if held:
            act(held[0], None)
