"""The tuner: only what is verified is timed, nothing is measured twice, the fastest is found."""

from __future__ import annotations

import dataclasses
import math
import re
import time
from typing import ClassVar

import numpy as np
import pytest

import pyapsp
from pyapsp.all_pairs.dense import FwBlocked, FwMinplus, FwNaive
from pyapsp.device.energy import Energy, EnergyMeter
from pyapsp.device.sensors import NoSensor
from pyapsp.errors import (
    CapabilityError,
    DeviceError,
    DeviceMemoryError,
    KernelBuildError,
    ParameterError,
    VerificationError,
)
from pyapsp.paths import AllPairsOptions
from pyapsp.registry.tuning import Space, database, stopping, tuner
from pyapsp.registry.tuning.database import merge
from pyapsp.registry.tuning.journal import Outcome
from pyapsp.registry.tuning.objective import OBJECTIVES, Cost
from pyapsp.registry.tuning.space import key
from pyapsp.registry.tuning.tuner import Tuner

DEFAULT = {"tile": 16, "width": 1, "rows": 2, "group_x": 1, "group_y": 2}


class Few(FwBlocked):
    """A method with four sets, which are legal on every device."""

    choices: ClassVar = {
        **{name: (value,) for name, value in DEFAULT.items()},
        "tile": (8, 16),
        "rows": (2, 4),
    }

    def candidates(self, options):
        yield {**DEFAULT, "tile": 12}  # one that does not fit is no default
        yield DEFAULT


@pytest.fixture
def tune(tmp_path, device):
    """Return a function that makes a tuner for the four sets, with one journal."""

    def make(method=Few, n=300, dtype="int32", predecessors=False, **keywords):
        keywords |= {"journal": tmp_path / "j.jsonl", "predecessors": predecessors}
        return Tuner(method, device, np.dtype(dtype), n, repeat=1, **keywords)

    return make


@pytest.fixture
def measured(monkeypatch):
    """Return a list that gets the sets that are measured."""
    sets = []
    plain = Tuner._outcome

    def noted(self, parameters):
        sets.append(parameters)
        return plain(self, parameters)

    monkeypatch.setattr(Tuner, "_outcome", noted)
    return sets


def broken(monkeypatch, when, how):
    """Change the answers of runs for which `when(plan)` holds, the fastest by all clocks."""
    plain = Few.run

    def run(self, plan):
        answer = plain(self, plan)
        if when(plan):
            answer = dataclasses.replace(answer, stats={**answer.stats, "kernel_seconds": 1e-6})
            how(answer)
        elif answer.stats["kernel_seconds"] != 1e-6:
            time.sleep(0.01)
        return answer

    monkeypatch.setattr(Few, "run", run)


@pytest.mark.every(2)
@pytest.mark.parametrize("predecessors", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_all_sets_are_measured_and_the_fastest_is_kept(dtype, predecessors, tune, device):
    new = []
    report = tune(dtype=dtype, predecessors=predecessors, commit="c").run(report=new.append)
    assert new == report.outcomes
    assert report.complete
    assert report.resumed == 0
    assert len({key(outcome.parameters) for outcome in report.outcomes}) == 4
    assert {outcome.state for outcome in report.outcomes} <= {"ok", "slow"}
    assert report.default == DEFAULT == report.outcomes[0].parameters
    row = report.row
    assert (row.method, row.dtype, row.predecessors, row.n) == (
        "fw-blocked",
        dtype,
        predecessors,
        300,
    )
    assert (row.device, row.architecture) == (device.plain_name, device.architecture)
    assert (row.commit, row.pyapsp) == ("c", pyapsp.__version__)
    seconds = report.costs[key(row.parameters)].seconds
    assert seconds <= tuner._GAIN * min(cost.seconds for cost in report.costs.values())
    assert row.rate == pytest.approx(300**3 / seconds, rel=1e-3)


def test_resuming_measures_nothing_twice(tune, measured, monkeypatch):
    first = tune().run(max_configurations=2)
    assert not first.complete
    assert len(measured) == 2
    second = tune().run(strategy="all")
    assert second.complete
    assert second.resumed == 2
    assert len(measured) == 4
    assert len({key(each) for each in measured}) == 4
    # when all is done, not even the finals are timed again
    monkeypatch.setattr(Tuner, "_plan", None)
    third = tune().run()
    assert (third.row, third.costs) == (second.row, second.costs)
    assert len(measured) == 4


def test_restart_measures_again(tune, measured):
    tune().run(max_configurations=1)
    tune(restart=True).run(max_configurations=1)
    assert measured == [DEFAULT, DEFAULT]


@pytest.mark.slow
def test_another_subject_is_measured_on_its_own(tune, measured, monkeypatch):
    tune().run(max_configurations=1)
    tune(n=301).run(max_configurations=1)
    tune(dtype="float32").run(max_configurations=1)
    monkeypatch.setattr(tuner, "kernels_hash", lambda area: "edited")
    tune().run(max_configurations=1)
    assert len(measured) == 4


def test_a_spent_budget_still_gives_a_row(tune, measured):
    report = tune().run(budget=1e-9)
    assert measured == [DEFAULT]
    assert report.row.parameters == DEFAULT
    assert not report.complete


def test_an_interrupted_run_goes_on(tune, measured, monkeypatch):
    plain = Few.run

    def stop(self, plan):
        if len(measured) == 2:
            raise KeyboardInterrupt
        return plain(self, plan)

    for _ in range(3):
        monkeypatch.setattr(Few, "run", stop)
        with pytest.raises(KeyboardInterrupt):
            tune().run()
        measured.pop()
    monkeypatch.setattr(Few, "run", plain)
    report = tune().run()
    assert report.resumed == 1
    assert {outcome.state for outcome in report.outcomes} <= {"ok", "slow"}


WRONG = {
    "small graph": lambda plan: plan.input.n == tuner._SMALL,
    "size that is tuned": lambda plan: plan.input.n == 300,
    "negative weights": lambda plan: plan.input.has_negative,
}


@pytest.mark.parametrize("where", WRONG)
def test_a_wrong_set_is_never_chosen(where, tune, monkeypatch):
    def when(plan):
        return plan.parameters["tile"] == 16 and WRONG[where](plan)

    def how(answer):
        answer.distances[0, 1] += 1

    # the fastest everywhere: only the winner is tried with negative weights
    broken(monkeypatch, lambda plan: plan.parameters["tile"] == 16, lambda answer: None)
    broken(monkeypatch, when, how)
    report = tune().run()
    assert report.row.parameters["tile"] == 8
    wrong = [outcome for outcome in report.outcomes if outcome.state == "wrong"]
    assert {outcome.parameters["tile"] for outcome in wrong} == {16}
    assert wrong[0].seconds is None
    assert re.search(r"n = \d+: from 0 to 1 it found .*, not ", wrong[0].detail)
    if where != "negative weights":
        assert len(wrong) == 2
    again = tune().run()  # nor after it was read from the journal
    assert again.row.parameters == report.row.parameters


@pytest.mark.slow
def test_wrong_predecessors_are_noticed(tune, monkeypatch):
    def how(answer):
        rows, columns = np.nonzero(answer.predecessors >= 0)
        last = rows[-1], columns[-1]
        answer.predecessors[last] = (answer.predecessors[last] + 1) % 300

    broken(monkeypatch, lambda plan: plan.parameters["tile"] == 16 and plan.input.n == 257, how)
    report = tune(predecessors=True).run()
    assert report.row.parameters["tile"] == 8
    details = [outcome.detail for outcome in report.outcomes if outcome.state == "wrong"]
    assert len(details) == 2
    assert all("n = 257: the predecessors are no shortest path: row" in each for each in details)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "error",
    [KernelBuildError("log", "source"), ParameterError("none"), DeviceError("lost")],
)
def test_a_set_that_fails_is_passed_over(error, tune, monkeypatch):
    plain = Few.configure

    def configure(self, graph, options, parameters):
        if parameters["tile"] == 16:
            raise error
        return plain(self, graph, options, parameters)

    monkeypatch.setattr(Few, "configure", configure)
    report = tune().run()
    failed = [outcome for outcome in report.outcomes if outcome.state == "failed"]
    assert [outcome.detail for outcome in failed] == [str(error)] * 2
    assert report.row.parameters["tile"] == 8


def test_when_nothing_works(tune, monkeypatch):
    def refuse(self, graph, options, parameters):
        raise KernelBuildError("log", "source")

    monkeypatch.setattr(Few, "configure", refuse)
    with pytest.raises(KernelBuildError):
        tune().run()
    with pytest.raises(VerificationError, match="failed: the OpenCL compiler"):
        tune().run()


def test_when_all_are_wrong(tune, monkeypatch):
    def how(answer):
        answer.distances[0, 1] += 1

    broken(monkeypatch, lambda plan: True, how)
    with pytest.raises(VerificationError, match="no parameters of fw-blocked work"):
        tune().run()


def test_too_large_for_the_device_is_told_at_once(tune, measured, device):
    n = int((device.capabilities.max_allocation // 8) ** 0.5) + 64
    small = tune()
    small._large.input = pyapsp.Graph.from_arcs(n, [0], [1])
    small._large.options = AllPairsOptions(device, np.dtype("int64"))
    with pytest.raises(DeviceMemoryError):
        small.run()
    assert len(measured) == 1


def test_what_cannot_be_tuned(tune, device, monkeypatch):
    with pytest.raises(ParameterError, match="'family' parameter of tune"):
        tune(family="none of them")
    with pytest.raises(ParameterError, match="fw-naive has no parameters to tune"):
        tune(FwNaive)

    class Recovering(Few):
        carries_predecessors = False

    with pytest.raises(ParameterError, match="tune it without predecessors"):
        tune(Recovering, predecessors=True)

    class Demanding(Few):
        requires = dataclasses.replace(Few.requires, capabilities=("nothing_has_this",))

    monkeypatch.setattr(type(device.capabilities), "nothing_has_this", False, raising=False)
    with pytest.raises(CapabilityError, match="needs nothing_has_this"):
        tune(Demanding)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_tiny_sizes(n, tune):
    report = tune(n=n).run(max_configurations=1)
    assert report.row.n == n
    assert report.row.rate > 0


def test_climbing_finds_the_best_of_many(device, tmp_path, monkeypatch):
    """If the rate has one maximum, a small part of the sets is measured."""
    options = AllPairsOptions(device, np.dtype("float32"))
    sets = list(Space(FwBlocked(), options))
    target = sets[len(sets) * 2 // 3]
    landscape = {
        key(each): 1e-3 * (1 + sum(abs(np.log2(each[name] / target[name])) for name in each))
        for each in sets
    }
    monkeypatch.setattr(
        Tuner, "_outcome", lambda self, each: Outcome(each, "ok", landscape[key(each)])
    )
    monkeypatch.setattr(
        Tuner, "_finals", lambda self, each: {key(p): Cost(landscape[key(p)]) for p in each}
    )
    monkeypatch.setattr(Tuner, "_fault_elsewhere", lambda self, each: None)
    climber = Tuner(FwBlocked, device, options.dtype, 64, journal=tmp_path / "climb.jsonl")
    report = climber.run(strategy="auto", max_configurations=len(sets) // 2)
    assert report.row.parameters == target
    assert len(report.outcomes) == len(sets) // 2
    # what is left is found in the end: no set is out of reach
    everything = climber.run(strategy="climb", budget=1e9)
    assert everything.complete
    assert {key(outcome.parameters) for outcome in everything.outcomes} == set(landscape)


def test_a_tie_goes_to_the_default(tune, monkeypatch):
    monkeypatch.setattr(
        Tuner,
        "_finals",
        lambda self, each: {key(p): Cost(1.0 if p == DEFAULT else 0.985) for p in each},
    )
    assert tune().run().row.parameters == DEFAULT
    monkeypatch.setattr(
        Tuner,
        "_finals",
        lambda self, each: {key(p): Cost(1.0 if p == DEFAULT else 0.9) for p in each},
    )
    assert tune().run().row.parameters != DEFAULT


def test_the_default_is_timed_again_beside_the_best(tune, monkeypatch):
    """Here it is the slowest set."""
    seconds = {True: 2.0, False: 1.0}
    monkeypatch.setattr(tuner, "_FINALISTS", 1)
    monkeypatch.setattr(
        Tuner, "_outcome", lambda self, each: Outcome(each, "ok", seconds[each == DEFAULT])
    )
    costs = tune().run().costs
    assert len(costs) == 2
    assert key(DEFAULT) in costs


class Meter:
    """A meter by which a set takes joules that do not depend on its time."""

    idle_watts = 50.0

    def __init__(self, monkeypatch, joules):
        self._joules, self._now = joules, None
        plan = Tuner._plan

        def planned(tuner, parameters):
            self._now = parameters
            return plan(tuner, parameters)

        monkeypatch.setattr(Tuner, "_plan", planned)

    def measure(self, launch):
        launch()
        joules = self._joules[key(self._now)]
        return Energy(joules, 0.0, 100.0, 100.0, 0.0, 1.0, 1, 2)


def test_an_objective_decides_what_is_best(tune, monkeypatch):
    """The least energy, time, or product may each be another set's."""
    sets = [key(each) for each in tune().space]
    first, second, third, *_ = sets
    joules = {**dict.fromkeys(sets, 9.0), first: 1.0, second: 2.0, third: 8.0}
    seconds = {**dict.fromkeys(sets, 5.0), first: 4.9, second: 1.5, third: 1.0}
    monkeypatch.setattr(
        tuner, "in_turns", lambda calls, repeat: [seconds[key(call.args[0])] for call in calls]
    )
    monkeypatch.setattr(tuner, "_SLOW", math.inf)
    meter = Meter(monkeypatch, joules)
    best = {}
    for objective in OBJECTIVES:
        report = tune(objective=objective, meter=meter).run(strategy="all")
        best[objective] = key(report.row.parameters)
        assert next(iter(report.costs)) == best[objective]
        measured = {cost.joules for cost in report.costs.values()}
        assert measured == ({None} if objective == "time" else set(joules.values()))
        assert report.row.objective == objective
    assert best == {"time": third, "energy": first, "edp": second}


def test_the_energy_of_the_best_few_is_the_mean_of_two_trains(tune, monkeypatch):
    """A device that gets warmer takes more: each set is measured once early and once late."""
    meter = Meter(monkeypatch, dict.fromkeys(map(key, tune().space), 1.0))
    measure, trains = meter.measure, []

    def warmer(launch):
        trains.append(launch)
        return dataclasses.replace(measure(launch), joules=float(len(trains)))

    meter.measure = warmer
    report = tune(objective="energy", meter=meter).run(strategy="all")
    count = sum(outcome.joules is not None for outcome in report.outcomes)
    finals = len(report.costs)
    assert len(trains) == count + 2 * finals
    expected = count + (1 + 2 * finals) / 2
    assert {cost.joules for cost in report.costs.values()} == {expected}


def test_what_is_timed_again_stays_of_its_objective(tune, tmp_path, monkeypatch):
    monkeypatch.setattr(database, "shipped_databases", list)
    monkeypatch.setenv("PYAPSP_TUNING", str(tmp_path))
    first, second, *_ = tune().space
    fastest = tune()._row(first, 1.0)
    least = dataclasses.replace(fastest, parameters=second, objective="energy")
    merge(tmp_path / "database.json", [dataclasses.replace(fastest, quick=True), least])
    known = tune().known()
    assert (known.parameters, known.objective, known.quick) == (first, "time", True)
    meter = Meter(monkeypatch, {})
    known = tune(objective="energy", meter=meter).known()
    assert (known.parameters, known.objective, known.quick) == (second, "energy", False)
    assert tune(objective="edp", meter=meter).known() is None


def test_energy_needs_a_sensor(tune):
    blind = EnergyMeter(NoSensor(), 0.1)
    for meter in (None, blind):
        with pytest.raises(ParameterError, match="needs a sensor"):
            tune(objective="energy", meter=meter)
    with pytest.raises(ParameterError, match="one of time, energy, edp"):
        tune(objective="watts")


def test_a_hopeless_run_is_cut_short(tune, monkeypatch):
    monkeypatch.setattr(stopping, "_GRACE_SECONDS", 0.0)
    monkeypatch.setattr(Tuner, "_best_seconds", lambda self: 1e-9)
    runs = []
    plain = Few._run

    def counted(self, plan, *state):
        runs.append(plan.options.progress is not None)
        return plain(self, plan, *state)

    monkeypatch.setattr(Few, "_run", counted)
    slow = tune()
    outcome = slow._measure(DEFAULT)
    assert outcome.state == "slow"
    assert outcome.seconds > 0
    assert runs == [False, True]  # the small graph, and one run that did not end


def test_a_space_knows_what_is_legal(device):
    space = Space(Few(), AllPairsOptions(device, np.dtype("int32")))
    assert DEFAULT in space
    for change in ({"tile": 12}, {"more": 1}, {"rows": 8}):
        assert {**DEFAULT, **change} not in space
    assert {"tile": 16} not in space
    assert len(list(space)) == 4
    for seed in range(3):
        shuffled = list(space.shuffled(seed))
        assert sorted(map(key, shuffled)) == sorted(map(key, space))
        assert shuffled == list(space.shuffled(seed))
    near = list(space.neighbours(DEFAULT, np.random.default_rng(0)))
    assert {key(each) for each in near} == {key(each) for each in space} - {key(DEFAULT)}
    assert sum(near[-1][name] != DEFAULT[name] for name in DEFAULT) == 2


@pytest.mark.parametrize("method", ["ms-bfs", "near-far"])
def test_methods_from_sources_are_tuned(method, device, tmp_path):
    cls = type(pyapsp.method(method))
    tuner = Tuner(cls, device, np.dtype(np.int32), 300, journal=tmp_path / "journal", repeat=1)
    report = tuner.run(max_configurations=2)
    assert report.row.method == method
    assert not [each for each in report.outcomes if each.state in ("wrong", "failed")]


def test_a_timed_run_gets_the_memory_of_the_one_before(monkeypatch, device, tmp_path):
    """Its answer is in the memory that a call would get, so the times are those of calls."""
    n, places, run = 600, [], FwBlocked.run

    def seen(method, plan):
        answer = run(method, plan)
        if plan.input.n == n:
            places.append(answer.distances.ctypes.data)
        return answer

    tuned = Tuner(FwBlocked, device, np.dtype(np.int32), n, journal=tmp_path / "journal", repeat=3)
    monkeypatch.setattr(FwBlocked, "run", seen)
    row = tuned.run(max_configurations=1).row
    places.clear()
    tuner.compared([tuned], [row])
    assert len(places) >= 3
    assert len(set(places)) <= 2


@pytest.mark.slow
def test_planning_is_part_of_what_is_timed(monkeypatch, device, tmp_path):
    tuners = [
        Tuner(cls, device, np.dtype(np.int32), 16, journal=tmp_path / "journal", repeat=1)
        for cls in (FwBlocked, FwMinplus)
    ]
    rows = [each.run(max_configurations=1).row for each in tuners]
    original = FwBlocked.plan

    def slow(self, *arguments):
        time.sleep(0.05)
        return original(self, *arguments)

    monkeypatch.setattr(FwBlocked, "plan", slow)
    first, second = tuner.compared(tuners, rows)
    assert 16**3 / first.rate > 0.05
    assert first.rate < second.rate
