"""Turns: their order, which ones count, which runs are left out, and which errors end all."""

from __future__ import annotations

import itertools
import time
from functools import partial

import pytest

from pyapsp.errors import DeviceError, NegativeCycleError, ParameterError, VerificationError
from pyapsp.registry import timing
from pyapsp.registry.timing import (
    Contender,
    Turn,
    enough,
    in_turns,
    take_turns,
    warm_up,
)


class Script:
    """Takes the turns of a list: seconds, or an error to raise; the log gets its name."""

    def __init__(self, log, name, turns):
        self.log, self.name, self.turns = log, name, iter(turns)

    def turn(self):
        self.log.append(self.name)
        value = next(self.turns)
        if isinstance(value, Exception):
            raise value
        return Turn({"wall": value, "kernel": value / 2}, {"turn": value})


class Roof:
    def __init__(self, log):
        self.log = log

    def turn(self):
        self.log.append("roof")


def scripts(log, **turns):
    return [Contender(name, Script(log, name, each).turn) for name, each in turns.items()]


def test_the_first_turn_is_no_part_of_the_medians():
    (one,) = warm_up(scripts([], one=[9, 1, 5, 2]))
    assert take_turns([one], 3) == [one]
    assert one.times == {"wall": [1, 5, 2], "kernel": [0.5, 2.5, 1]}
    assert one.medians == {"wall": 2, "kernel": 1}
    assert [turn.facts["turn"] for turn in one.timed] == [1, 5, 2]
    assert one.turns[0].seconds["wall"] == 9


def test_each_round_has_every_one_once_in_an_order_of_its_own():
    log = []
    names = ["a", "b", "c"]
    everybody = scripts(log, **{name: itertools.repeat(1) for name in names})
    warm_up(everybody)
    assert log == names
    log.clear()
    take_turns(everybody, 40, meters=[Roof(log)])
    rounds = [tuple(log[start : start + 4]) for start in range(0, len(log), 4)]
    assert len(rounds) == 40
    assert all(sorted(each) == ["a", "b", "c", "roof"] for each in rounds)
    # of the 24 orders most come up
    assert len(set(rounds)) > 12
    first = [*log]
    log.clear()
    take_turns(everybody, 40, meters=[Roof(log)])
    assert log == first


def test_who_cannot_run_is_left_out():
    log, told = [], []
    never, once, always = scripts(
        log,
        never=[DeviceError("too large")],
        once=[1, 1, ParameterError("no more"), 1],
        always=[1, 2, 3, 4],
    )
    warm = warm_up([never, once, always], told.append)
    assert warm == [once, always]
    assert str(never.error) == "too large"
    assert take_turns(warm, 3, progress=told.append) == [always]
    assert str(once.error) == "no more"
    assert always.error is None
    assert [log.count(name) for name in ("never", "once", "always")] == [1, 3, 4]
    assert told[:3] == ["warm-up: never", "warm-up: once", "warm-up: always"]
    assert {"turn 1 of 3: always", "turn 2 of 3: once", "turn 3 of 3: always"} <= set(told)
    assert "turn 3 of 3: once" not in told


@pytest.mark.parametrize("error", [VerificationError("wrong"), NegativeCycleError([0, 0], -1)])
def test_what_concerns_all_ends_the_timing(error):
    first, second = scripts([], first=[error], second=[1, error])
    with pytest.raises(type(error)):
        warm_up([first])
    with pytest.raises(type(error)):
        take_turns(warm_up([second]), 1)


def test_a_long_turn_is_not_repeated():
    log = []
    long, short = warm_up(scripts(log, long=[timing._LONG + 1], short=[timing._LONG - 1, 3, 4]))
    take_turns([long, short], 2)
    assert log.count("long") == 1
    assert long.medians["wall"] == timing._LONG + 1
    assert len(long.timed) == 1
    assert short.times["wall"] == [3, 4]


def test_there_is_a_turn():
    with pytest.raises(ParameterError, match="repeat"):
        take_turns([], 0)


def test_calls_take_turns_by_the_clock_of_the_host():
    """The first call of each, which builds, does not count."""
    order = []

    def call(name, seconds):
        order.append(name)
        time.sleep(0.2 if order.count(name) == 1 else seconds)

    first, second = in_turns([partial(call, "a", 0.02), partial(call, "b", 0.04)], 1)
    assert 0.02 <= first < second < 0.2
    turns = {"".join(order[k : k + 2]) for k in range(2, len(order), 2)}
    assert order[:2] == ["a", "b"]
    assert turns == {"ab", "ba"}
    assert in_turns([], 3) == []


def test_no_round_begins_after_the_end():
    calls = []
    in_turns([partial(calls.append, 1), partial(calls.append, 2)], 3, ends=0.0)
    assert sorted(calls) == [1, 1, 2, 2]  # one to warm up, one that is timed


def test_what_is_short_is_timed_more_often(monkeypatch):
    assert not enough([1.0], 2)
    assert enough([1.0, 1.0], 2)
    assert not enough([1e-6] * 9, 2)
    assert enough([1e-6] * 10, 2)
    calls = []
    in_turns([partial(calls.append, 1), partial(calls.append, 2)], 3)
    assert calls.count(1) == calls.count(2) == 16
    # also what is long has more than a turn
    monkeypatch.setattr(timing, "_LONG_ENOUGH", 0.0)
    calls.clear()
    in_turns([partial(calls.append, 1)], 1)
    assert len(calls) == 1 + timing._TURNS
