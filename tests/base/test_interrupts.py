"""Interrupts that wait for the end of a block."""

from __future__ import annotations

import signal
import threading

import pytest

from pyapsp.base.interrupts import uninterrupted

pytestmark = pytest.mark.usefixtures("heard")


def interrupt():
    signal.raise_signal(signal.SIGINT)


def held_back(times, done):
    with uninterrupted():
        for _ in range(times):
            interrupt()
        done.append(times)


def test_an_interrupt_waits_and_a_second_one_does_not():
    before, done = signal.getsignal(signal.SIGINT), []
    for times in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            held_back(times, done)
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_waits_for_the_outer_one_of_two_blocks():
    done = []

    def outer():
        with uninterrupted():
            held_back(1, done)
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        outer()
    assert done == [1, "outer"]


def test_an_error_comes_with_the_interrupt():
    def fail():
        with uninterrupted():
            interrupt()
            raise ValueError

    with pytest.raises(KeyboardInterrupt) as caught:
        fail()
    assert isinstance(caught.value.__context__, ValueError)


def test_what_others_do_with_interrupts_stays():
    """Another thread cannot change it, and a program that ignores them gets none."""
    seen = []

    def other():
        with uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with uninterrupted():
            interrupt()
            seen.append(signal.getsignal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [before, signal.SIG_IGN]
