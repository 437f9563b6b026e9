"""The tuner: verify each parameter set, time it, write it to the journal, return the fastest.

Every set first solves a small sample of the problem, then one of the size that is tuned. Both are
random inputs of the family of the row. The oracle of the problem checks the answers.

At the end the best few sets and the default are measured in turns; the default is replaced only if
another set is 3 % better. The best has the least time, or energy if that is the objective. The
winner also solves a sample that may have negative weights, for which the kernels are built with
other code. If a driver hangs, the process is ended (``--stall``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from pyapsp.base.errors import (
    CapabilityError,
    DeviceError,
    DeviceMemoryError,
    ParameterError,
    PrecisionError,
    VerificationError,
)
from pyapsp.device import Device
from pyapsp.device.energy import EnergyMeter
from pyapsp.graph.validation import choice
from pyapsp.registry import Answer, OpaquePlan, Parameters, problem
from pyapsp.registry.timing import enough, in_turns
from pyapsp.registry.tuning.database import Row
from pyapsp.registry.tuning.journal import Journal, Outcome
from pyapsp.registry.tuning.lookup import matches
from pyapsp.registry.tuning.method import TunableMethod
from pyapsp.registry.tuning.objective import OBJECTIVES, Cost
from pyapsp.registry.tuning.order import climb, every
from pyapsp.registry.tuning.rows import kernels_hash, row_of
from pyapsp.registry.tuning.sample import Sample
from pyapsp.registry.tuning.space import Key, Space, key
from pyapsp.registry.tuning.stopping import Hopeless, Pace, watched

__all__ = ["STRATEGIES", "Report", "Tuner", "compared"]

STRATEGIES = ("auto", "all", "climb")

# Size of the small sample: larger than most tiles, and not a multiple of any tile.
_SMALL = 257
# Compared with the best, a set that takes longer by the first factor is not timed again. Its first
# run is stopped when its progress predicts a time longer by the second factor.
_SLOW, _HOPELESS = 1.5, 3.0
# The timing of a set ends when it is slower than the best by this factor.
_CLEAR = 1.1
# Sets that are timed again at the end, and the gain that one needs to replace the default.
_FINALISTS, _GAIN = 5, 1.03


@dataclass(frozen=True)
class Report:
    """The result of a run of the tuner."""

    row: Row  # the best set, for a database
    default: Parameters  # the parameters that the method uses without a database
    # Parameter set (see `pyapsp.registry.tuning.space.key`) -> its cost in the final measurement,
    # best first.
    costs: dict[Key, Cost]
    # All measurements, those of earlier runs included.
    outcomes: list[Outcome] = field(default_factory=list)
    resumed: int = 0  # how many of these are of earlier runs
    complete: bool = False  # whether every legal set was measured


class Tuner:
    """Finds the fastest parameters of a method.

    Parameters
    ----------
    method : class of a TunableMethod
        One of `pyapsp.methods` whose ``tunable`` is True.
    device : Device
    dtype : numpy.dtype
        Of the answer.
    n : int
        Size of the sample that is timed.
    journal : Path
        The journal file.
    family : str, optional
        The family of random samples, of the problem's families. Default: the first.
    predecessors : bool
        Whether to compute predecessors, for problems that have them.
    restart : bool
        Ignore the journal, and measure its sets again.
    repeat : int
        Least number of timed runs of a set; the median counts.
    seed : int
        Seed of the order in which sets are tried.
    commit : str, optional
        Commit of the code, for the row.
    objective : {"time", "energy", "edp"}
        What is minimised: the time of a run, its energy, or their product. Energy is measured only
        of sets that take less than 1.5 times the least time.
    meter : EnergyMeter, optional
        Needed for energy.

    Raises
    ------
    ParameterError
        If the method has no parameters to tune, or there is no such family, or `predecessors` is
        true and the tuned kernels do not depend on it. If there is no such objective, or a meter
        is missing, or it has no sensor.
    CapabilityError
        If the device lacks what the method needs.
    """

    def __init__(
        self,
        method: type[Any],
        device: Device,
        dtype: np.dtype,
        n: int,
        *,
        journal: Path,
        family: str | None = None,
        predecessors: bool = False,
        restart: bool = False,
        repeat: int = 3,
        seed: int = 0,
        commit: str | None = None,
        objective: str = "time",
        meter: EnergyMeter | None = None,
    ) -> None:
        choice("objective", "tune", objective, OBJECTIVES)
        if objective != "time" and (meter is None or meter.idle_watts is None):
            raise ParameterError(f"the objective {objective} needs a sensor of the energy")
        if not method.tunable:
            raise ParameterError(f"{method.id} has no parameters to tune")
        if predecessors and not method.carries_predecessors:
            raise ParameterError(
                f"{method.id} computes predecessors after the distances, with no tuned parameters: "
                "tune it without predecessors"
            )
        self._problem = problem(method.problem)
        self._family = self._problem.families[0] if family is None else family
        if self._family not in self._problem.families:
            rule = f"one of {', '.join(self._problem.families)}"
            raise ParameterError.of("family", "tune", rule, family)
        self._method, self._device, self._dtype, self._n = method, device, dtype, n
        self._arguments: dict[str, np.dtype | Device | bool] = {"dtype": dtype, "device": device}
        if predecessors:
            self._arguments["predecessors"] = True
        self._predecessors = predecessors
        self._repeat, self._seed, self._commit = repeat, seed, commit
        self._objective, self._meter = objective, None if objective == "time" else meter
        subject = {
            "method": method.id,
            "device": device.identity,
            "dtype": dtype.name,
            "predecessors": predecessors,
            "family": self._family,
            "n": n,
            "kernels": kernels_hash(method.area),
            "objective": objective,
        }
        self._small, self._large = self._sample(_SMALL, 0), self._sample(n, 0)
        self.space = Space(method(), self._large.options)
        self._journal = Journal(journal, subject, restart=restart)
        self._first_failure: DeviceError | ParameterError | None = None

    def _sample(self, size: int, seed: int) -> Sample:
        data = self._problem.sample(size, self._family, seed, self._method.requires)
        return Sample(self._problem, data, self._method(), self._arguments)

    def run(
        self,
        *,
        strategy: str = "auto",
        budget: float = 60.0,
        max_configurations: int | None = None,
        report: Callable[[Outcome], None] = lambda outcome: None,
        stall: float | None = None,
    ) -> Report:
        """Measure until all sets are measured or the budget is spent, and return the best.

        Parameters
        ----------
        strategy : {"auto", "all", "climb"}
            "all": the method's candidates, then every legal set in random order. "climb": from the
            best candidate to better neighbours; if there is none, to random sets at increasing
            distance. "auto": climb if the number of sets is larger than the budget in seconds or
            than `max_configurations`.
        budget : float
            Seconds. The first set is always measured. Sets in the journal are not measured again.
        max_configurations : int, optional
            Largest number of sets, those in the journal included.
        report : callable
            Called with each new outcome.
        stall : float, optional
            If one set takes more seconds than this, print the stack on standard error and end the
            process: some drivers hang in their compiler, and nothing else stops them. The journal
            counts it as a set that ended the process.

        Raises
        ------
        VerificationError
            If every set that ran gave a wrong answer.
        ParameterError, DeviceError
            If no set ran: the error of the first. If there are too many sets for "all".
        """
        started = time.perf_counter()
        limit = math.inf if max_configurations is None else max_configurations
        if strategy == "auto":
            strategy = "climb"
            if self.space.small:
                affordable = int(min(limit, budget))
                many = sum(1 for _ in islice(self.space, affordable + 1)) > affordable
                strategy = "climb" if many else "all"
        elif strategy == "all" and not self.space.small:
            raise ParameterError(f"{self._method.id} has too many parameter sets for 'all'")
        outcomes = self._journal.outcomes
        resumed, seen = len(outcomes), set()
        complete = self.space.small
        if strategy == "all":
            order = every(self.space, self._seed)
        else:
            order = climb(self.space, self._cost_of, self._seed)
        for parameters in order:
            if key(parameters) in seen:
                continue
            if key(parameters) not in outcomes:
                spent = time.perf_counter() - started >= budget and len(outcomes) > 0
                if spent or len(outcomes) >= limit:
                    complete = False
                    break
                with watched(stall):
                    outcome = self._measure(parameters)
                report(outcome)
            seen.add(key(parameters))
        with watched(stall and stall * (_FINALISTS + 1)):
            decided = self._decide()
        self._large.forget()
        return replace(decided, resumed=resumed, complete=complete)

    def _cost_of(self, parameters: Parameters) -> float:
        outcome = self._journal.outcomes.get(key(parameters))
        return math.inf if outcome is None else outcome.cost.of(self._objective)

    def _best_seconds(self) -> float:
        right = [o.seconds for o in self._journal.outcomes.values() if o.seconds is not None]
        return min(right, default=math.inf)

    def _measure(self, parameters: Parameters) -> Outcome:
        """Verify and time one set, with a line in the journal before and after."""
        self._journal.start(parameters)
        try:
            outcome = self._outcome(parameters)
        except BaseException:
            self._journal.interrupt(parameters)
            raise
        self._journal.finish(outcome)
        return outcome

    def _outcome(self, parameters: Parameters) -> Outcome:
        try:
            method, plan = self._plan(parameters)
            self._verify(parameters, self._small)
            return self._time(parameters, method, plan)
        except VerificationError as error:
            return Outcome(parameters, "wrong", None, str(error))
        except (DeviceError, ParameterError) as error:
            general = isinstance(error, CapabilityError | DeviceMemoryError)
            if general and not self._journal.outcomes:
                raise  # the default needs least: if it fails, the other sets would fail, too
            self._first_failure = self._first_failure or error
            return Outcome(parameters, "failed", None, str(error))

    def _verify(self, parameters: Parameters, sample: Sample) -> None:
        method = self._method(**parameters)
        sample.check(method.run(method.plan(sample.input, sample.options)))

    def _plan(self, parameters: Parameters) -> tuple[TunableMethod, OpaquePlan]:
        method = self._method(**parameters)
        return method, method.plan(self._large.input, self._large.options)

    def _call(self, parameters: Parameters) -> Answer:
        method, plan = self._plan(parameters)
        return method.run(plan)

    def _time(self, parameters: Parameters, method: TunableMethod, plan: OpaquePlan) -> Outcome:
        """Time a set: a warm-up run, which shows whether it can be the best, then timed runs."""
        best = self._best_seconds()
        pace = Pace(_HOPELESS * best)
        with suppress(Hopeless):
            first = method.run(replace(plan, options=replace(plan.options, progress=pace)))
            self._large.check(first)
            pace.projected = float(first.stats["kernel_seconds"])
        if pace.projected > _SLOW * best:
            return Outcome(parameters, "slow", pace.projected)
        times: list[float] = []
        clear = math.inf if self._meter is not None else _CLEAR * best
        while not enough(times, self._repeat) and not (times and min(times) > clear):
            times.append(float(method.run(plan).stats["kernel_seconds"]))
        joules = None
        if self._meter is not None:
            joules = self._meter.measure(lambda: method.run(plan)).joules
        return Outcome(parameters, "ok", median(times), joules=joules)

    def _decide(self) -> Report:
        """Time the best few and the default again, in turns, and verify the winner again."""
        outcomes = self._journal.outcomes
        default = next(iter(self.space.candidates()), Parameters())
        while True:
            ranked = self._ranked()
            if not ranked:
                raise self._nothing()
            finalists = ranked[:_FINALISTS]
            if default in ranked[_FINALISTS:]:
                finalists.append(default)
            costs = self._finals(finalists)
            values = {place: cost.of(self._objective) for place, cost in costs.items()}
            best = min(values, key=values.__getitem__)
            if key(default) in values and values[key(default)] <= _GAIN * values[best]:
                best = key(default)
            fault = self._fault_elsewhere(Parameters(best))
            if fault is None:
                break
            self._journal.finish(Outcome(Parameters(best), "wrong", None, fault))
        ranking = {place: costs[place] for place in sorted(values, key=values.__getitem__)}
        row = self._row(Parameters(best), costs[best].seconds)
        return Report(row, default, ranking, list(outcomes.values()))

    def _ranked(self) -> list[Parameters]:
        """Return the legal sets that gave right answers, the best first."""

        def cost(outcome: Outcome) -> float:
            return outcome.cost.of(self._objective)

        outcomes = self._journal.outcomes.values()
        right = (o for o in outcomes if cost(o) < math.inf and o.parameters in self.space)
        return [outcome.parameters for outcome in sorted(right, key=cost)]

    def known(self) -> Row | None:
        """Return a row with the parameters in the databases, verified but not timed.

        The row is for this device, type, n and objective; None if the databases have none.

        Raises
        ------
        VerificationError, ParameterError, DeviceError
            If the set is wrong here, or does not run.
        """
        for match in matches(self._method(), self._n, self._large.options, self._family):
            row = match.row
            place = (row.n, row.dtype, row.family)
            suits = match.level == "device" and row.objective == self._objective
            if suits and place == (self._n, self._dtype.name, self._family):
                parameters = Parameters(row.parameters)
                for sample in (self._small, self._large):
                    self._verify(parameters, sample)
                fault = self._fault_elsewhere(parameters)
                if fault is not None:
                    raise VerificationError(fault)
                return replace(self._row(parameters, math.inf), quick=row.quick)
        return None

    def _row(self, parameters: Parameters, seconds: float) -> Row:
        return row_of(
            self._method,
            self._device,
            dtype=self._dtype.name,
            predecessors=self._predecessors,
            family=self._family,
            n=self._n,
            parameters=parameters,
            rate=self._rate(seconds),
            commit=self._commit,
            objective=self._objective,
        )

    def _rate(self, seconds: float) -> float:
        """Return the work of a run per second."""
        work = self._journal.work
        if work is None:
            work = self._large.work(self._call(Parameters()))
            self._journal.worked(work)
        # the measured time can be 0: do not divide by it
        return float(f"{work / max(seconds, 1e-9):.4g}")

    def _finals(self, finalists: list[Parameters]) -> dict[Key, Cost]:
        known = self._journal.finals
        if any(key(parameters) not in known for parameters in finalists):
            calls = [partial(self._call, parameters) for parameters in finalists]
            taken = in_turns(calls, self._repeat)
            energies = [None] * len(calls) if self._meter is None else self._energies(calls)
            for parameters, seconds, joules in zip(finalists, taken, energies, strict=True):
                self._journal.final(parameters, Cost(seconds, joules))
        return {key(parameters): known[key(parameters)] for parameters in finalists}

    def _energies(self, calls: Sequence[Callable[[], object]]) -> list[float | None]:
        """Return the joules of each call, the mean of two trains: the device warms up."""
        assert self._meter is not None
        joules: list[float | None] = []
        there = [self._meter.measure(call).joules for call in calls]
        back = [self._meter.measure(call).joules for call in reversed(calls)]
        for first, second in zip(there, reversed(back), strict=True):
            joules.append(None if first is None or second is None else (first + second) / 2)
        return joules

    def _fault_elsewhere(self, parameters: Parameters) -> str | None:
        """Return the fault of a set with another sample, for which other code may be built.

        Samples of odd seeds have negative weights if the method accepts them.
        """
        try:
            self._verify(parameters, self._sample(_SMALL, 1))
        except PrecisionError:  # the type cannot represent such weights
            return None
        except (VerificationError, DeviceError, ParameterError) as error:
            return f"another sample: {error}"
        return None

    def _nothing(self) -> Exception:
        outcomes = self._journal.outcomes.values()
        if self._first_failure is not None and all(o.state == "failed" for o in outcomes):
            return self._first_failure
        what = next((f"{o.state}: {o.detail}" for o in outcomes), "there are no legal ones")
        return VerificationError(
            f"no parameters of {self._method.id} work on {self._device.name} ({what})"
        )


def compared(tuners: Sequence[Tuner], rows: Sequence[Row]) -> list[Row]:
    """Time the sets of several methods and types in turns, so that their rates are comparable.

    The times include planning and transfers, which are most of the time of a call for small graphs.

    Parameters
    ----------
    tuners : sequence of Tuner
        One for each method and dtype, of the same device and n.
    rows : sequence of Row
        The row of each tuner.

    Returns
    -------
    list of Row
        The same rows with the new rates.
    """
    calls = [
        partial(tuner._call, Parameters(row.parameters))
        for tuner, row in zip(tuners, rows, strict=True)
    ]
    taken = in_turns(calls, max(tuner._repeat for tuner in tuners))
    return [
        replace(row, rate=tuner._rate(seconds))
        for tuner, row, seconds in zip(tuners, rows, taken, strict=True)
    ]
