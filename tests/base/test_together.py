"""Parts of work at the same time: results, progress, errors."""

from __future__ import annotations

import threading
import time

import pytest

from pyapsp.base.together import together


def test_results_are_in_the_order_of_the_parts():
    both = threading.Barrier(2, timeout=10)  # both run at the same time

    def part(number):
        def work(_):
            both.wait()
            time.sleep(0.02 * (1 - number))
            return number

        return work

    assert together([part(0), part(1)]) == [0, 1]


def test_a_single_part_runs_in_this_thread_with_its_own_progress():
    told = []

    def work(tell):
        tell(3, 4)
        return threading.current_thread()

    assert together([work], lambda *each: told.append(each), 9) == [threading.current_thread()]
    assert told == [(3, 4)]


def test_progress_is_the_sum_and_ends_with_all():
    told, threads = [], set()

    def tell(done, total):
        told.append((done, total))
        threads.add(threading.current_thread())

    def work(note):
        for done in range(1, 4):
            note(done, 3)
            time.sleep(0.06)

    together([work, work], tell, 6)
    assert told == sorted(told)
    assert told[-1] == (6, 6)
    assert threads == {threading.current_thread()}


@pytest.mark.parametrize("where", ["part", "progress"])
def test_an_error_ends_the_other_parts(where):
    ended, last = threading.Event(), []

    def fail(*_):
        raise ZeroDivisionError

    def work(note):
        try:
            for done in range(1000):
                last[:] = [done]
                note(done, 1000)
                time.sleep(0.01)
        finally:
            ended.set()

    parts, tell = ([work, fail], None) if where == "part" else ([work, work], fail)
    with pytest.raises(ZeroDivisionError):
        together(parts, tell, 2000)
    assert ended.is_set()
    assert last[0] < 500
