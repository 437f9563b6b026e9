"""Each row is assigned once. A device too slow for the remaining rows gets none."""

from __future__ import annotations

import threading

from pyapsp.all_pairs.dense.outofcore.schedule import Schedule


def test_one_device_gets_everything_in_order():
    schedule = Schedule([(0, 10), (20, 45)], {"main": 1.0})
    taken = []
    for rows in schedule.ranges(16, "main"):
        taken.append(rows)
        schedule.done(*rows)
    assert taken == [(0, 10), (20, 36), (36, 45)]
    assert schedule.left == []
    assert not schedule.more("main")


def test_what_is_not_done_is_left():
    schedule = Schedule([(0, 64)], {"main": 1.0})
    ranges = schedule.ranges(16, "main")
    first, second = next(ranges), next(ranges)
    schedule.done(*second)
    assert schedule.left == [(0, 16), (32, 64)]
    schedule.done(*first)
    assert schedule.left == [(32, 64)]


def test_a_hold_ends_the_ranges_and_waits_for_those_at_work():
    schedule = Schedule([(0, 64)], {"main": 1.0})
    rows = next(schedule.ranges(16, "main"))
    schedule.hold()
    assert list(schedule.ranges(16, "main")) == []
    assert not schedule.quiet
    schedule.done(*rows)
    assert schedule.quiet
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(schedule.more("main")))
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    schedule.release()
    waiting.join()
    assert answers == [True]
    assert next(schedule.ranges(16, "main")) == (16, 32)


def test_a_stop_is_for_ever():
    schedule = Schedule([(0, 64)], {"main": 1.0})
    schedule.hold()
    schedule.stop()
    assert not schedule.more("main")
    schedule.release()
    assert list(schedule.ranges(16, "main")) == []
    assert schedule.left == [(0, 64)]


def test_a_helper_takes_from_the_back():
    schedule = Schedule([(0, 1000)], {"main": 10.0, "helper": 1.0})
    assert next(schedule.ranges(100, "main")) == (0, 100)
    assert next(schedule.ranges(32, "helper")) == (968, 1000)
    assert next(schedule.ranges(100, "main")) == (100, 200)


def test_fast_devices_take_urgent_rows_first():
    rates = {"main": 2.0, "helper": 1.0, "slow": 0.9}
    schedule = Schedule([(0, 64), (80, 400)], rates, urgent=(48, 100))
    taken = []
    for who in ("helper", "slow", "main", "helper", "helper", "main"):
        taken.append(next(schedule.ranges(16, who)))
        schedule.done(*taken[-1])
    assert taken == [(48, 64), (384, 400), (80, 96), (96, 100), (368, 384), (0, 16)]
    assert schedule.left == [(16, 48), (100, 368)]


def test_a_slow_device_leaves_the_end_to_the_others():
    schedule = Schedule([(0, 200)], {"main": 10.0, "helper": 1.0})
    # 32 rows take the helper as long as 320 take the main device
    assert list(schedule.ranges(32, "helper")) == []
    assert not schedule.more("helper")
    assert schedule.more("main")
    assert schedule.left == [(0, 200)]


def test_many_threads_share_without_loss():
    schedule = Schedule([(0, 5000), (6000, 9001)], {"main": 3.0, "a": 1.0, "b": 1.0})
    taken, lock = [], threading.Lock()

    def work(who, count):
        for rows in schedule.ranges(count, who):
            with lock:
                taken.append(rows)
            schedule.done(*rows)

    threads = [
        threading.Thread(target=work, args=each) for each in (("main", 7), ("a", 3), ("b", 5))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work("main", 7)  # what helpers left at the end
    rows = [row for first, last in taken for row in range(first, last)]
    assert sorted(rows) == [*range(5000), *range(6000, 9001)]
    assert schedule.left == []


def test_a_block_is_opened_when_its_rows_are_updated_and_nothing_is_on_hold():
    schedule = Schedule([(0, 64)], {"main": 1.0}, urgent=(8, 16))
    ranges = schedule.ranges(8, "main")
    assert next(ranges) == (8, 16)
    schedule.hold()
    answers = []
    opening = threading.Thread(target=lambda: answers.append(schedule.begin()))
    opening.start()
    opening.join(0.05)
    assert opening.is_alive()  # the rows are at work
    schedule.done(8, 16)
    opening.join(0.05)
    assert opening.is_alive()  # and then on hold
    assert schedule.quiet
    schedule.release()
    opening.join()
    assert answers == [True]
    schedule.hold()
    assert not schedule.quiet  # while it is opened
    schedule.end()
    assert schedule.quiet


def test_no_block_is_opened_after_a_stop():
    schedule = Schedule([(0, 64)], {"main": 1.0}, urgent=(0, 8))
    answers = []
    opening = threading.Thread(target=lambda: answers.append(schedule.begin()))
    opening.start()
    schedule.stop()
    opening.join()
    assert answers == [False]
    schedule.hold()
    assert schedule.quiet
