"""Parts of work at the same time: results, progress, errors."""

from __future__ import annotations

import gc
import threading
import time
import traceback
import weakref

import pytest

from pyapsp.base.together import in_turns, together


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


def test_workers_take_turns():
    done, told, both = [], [], threading.Barrier(2, timeout=10)

    def work(blocks):
        some = []
        for block in blocks:
            if not some:
                both.wait()  # each has one
            some += range(block.start, block.stop)
        done.append(some)
        return len(some)

    counts = in_turns([work, work], [3, 2], 20, lambda *each: told.append(each))
    assert sorted(done[0] + done[1]) == list(range(20))
    assert sum(counts) == 20
    assert told == sorted(told)
    assert told[-1] == (20, 20)


def test_a_worker_that_is_done_sooner_takes_more():
    slow = threading.Event()

    def work(blocks):
        for block in blocks:
            if block.start == 0:
                slow.wait(10)  # until the other one has all the rest
            if block.stop == 9:
                slow.set()
            yield block

    found = in_turns([lambda blocks: list(work(blocks))] * 2, [1, 1], 9)
    assert sorted(map(len, found)) == [1, 8]


def test_one_worker_is_in_this_thread_and_tells_each_block():
    told = []

    def work(blocks):
        return [(block.start, block.stop, threading.current_thread()) for block in blocks]

    here = threading.current_thread()
    found = in_turns([work], [4], 10, lambda *each: told.append(each))
    assert found == [[(0, 4, here), (4, 8, here), (8, 10, here)]]
    assert told == [(4, 10), (8, 10), (10, 10)]
    assert in_turns([work], [4], 0) == [[]]


def test_an_error_of_a_worker_ends_those_that_take_turns():
    done = []

    def work(blocks):
        for block in blocks:
            done.append(block)
            time.sleep(0.01)

    def fail(blocks):
        next(blocks)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_turns([work, fail], [1, 1], 1000)
    assert len(done) < 500


def test_an_error_without_its_local_variables_keeps_no_worker():
    class Worker:
        def __call__(self, blocks):
            raise ZeroDivisionError

    workers = [Worker(), Worker()]
    kept = [weakref.ref(each) for each in workers]
    with pytest.raises(ZeroDivisionError) as raised:
        in_turns(workers, [1, 1], 9)
    workers.clear()
    traceback.clear_frames(raised.value.__traceback__)
    gc.collect()
    assert [each() for each in kept] == [None, None]
