"""The work that waits in a queue is bounded."""

from __future__ import annotations

import pytest

from pyapsp.device.kernels import Backlog, backlog

SECOND = 10**9


class Queue:
    """A device that takes the same time for each step, and an event for each of them."""

    def __init__(self, seconds, monkeypatch):
        self.seconds, self.enqueued, self.waited, self.most = seconds, 0, [], 0
        monkeypatch.setattr(backlog, "event_times", self.times)

    def step(self):
        self.enqueued += 1
        return [self.enqueued - 1]

    def times(self, number):
        self.most = max(self.most, self.enqueued - (self.waited[-1] if self.waited else 0))
        self.waited.append(number)
        return int(number * self.seconds * SECOND), int((number + 1) * self.seconds * SECOND)


@pytest.mark.parametrize("seconds", [1e-3, 0.02, 0.1, 0.25, 3.0])
@pytest.mark.parametrize("work", [10**9, 2**26])
def test_at_most_a_fourth_of_a_second_waits_or_two_steps(seconds, work, monkeypatch):
    queue, one = Queue(seconds, monkeypatch), Backlog(2)
    for number in range(1, 2000):
        first = 0 if queue.waited else 2**28 / work  # the speed is not known before a wait
        one.add(queue.step(), work)
        ahead = number - 1 - max(queue.waited, default=-1)
        assert ahead <= max(0.25 / seconds + 1e-6, first, 1)
        assert ahead >= 1  # the device has something to do
    assert queue.waited


def test_short_runs_do_not_wait(monkeypatch):
    queue, one = Queue(1.0, monkeypatch), Backlog(2)
    for _ in range(8):
        one.add(queue.step(), 2**25)
    assert not queue.waited


def test_a_wait_is_for_many_short_steps(monkeypatch):
    queue, one = Queue(1e-5, monkeypatch), Backlog(2)
    for _ in range(100_000):
        one.add(queue.step(), 2**25)
    assert len(queue.waited) < 20
