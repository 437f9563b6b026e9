"""The tuner: verify a parameter set, time it, remember it, and keep the fastest.

Every set first solves a small sample of the problem, then one of the size that is tuned, drawn from
the family that the row is for. The oracle of the problem says whether the answers are right.

The winner also solves a sample that may have negative weights, for which other code is built. At
the end the fastest few sets and the default are timed in turns, and the default stays unless 3 %
are gained. A driver that does not return is ended with the process (``--stall``).
"""

from __future__ import annotations

import faulthandler
import hashlib
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from pyapsp import __version__
from pyapsp.device import Device
from pyapsp.errors import (
    CapabilityError,
    DeviceError,
    DeviceMemoryError,
    ParameterError,
    PrecisionError,
    VerificationError,
)
from pyapsp.kernels import source
from pyapsp.registry import Answer, Check, Method, Plan, Problem, problem
from pyapsp.timing import enough, in_turns
from pyapsp.tuning.database import Row, matches
from pyapsp.tuning.journal import Journal, Outcome
from pyapsp.tuning.method import TunableMethod
from pyapsp.tuning.space import Key, Space, key

__all__ = ["STRATEGIES", "Report", "Tuner", "compared"]

STRATEGIES = ("auto", "all", "climb")

# Size of the small sample: more than one tile of most sizes, and a multiple of none.
_SMALL = 257
# A set this much slower than the best is not timed again; its first run is cut short when it is
# certain to be slower still.
_SLOW, _HOPELESS = 1.5, 3.0
# Timing ends as soon as it is clear by this much that the best is faster.
_CLEAR = 1.1
# Cutting short is for long runs only: wall time also holds what is no kernel.
_GRACE_SECONDS = 0.25
# How many candidates a climb looks at, what a step of it must gain, and how often one goes away
# from a summit, for each distance.
_STARTS, _STEP, _WALKS = 4, 0.99, 50
# Sets that are timed again in the end, and what one must gain to replace the default.
_FINALISTS, _GAIN = 5, 1.03


@dataclass(frozen=True)
class Report:
    """What a run of the tuner came to.

    Attributes
    ----------
    row : Row
        The best, for a database.
    default : dict
        What the method takes without a database.
    seconds : dict
        By parameter set (see `pyapsp.tuning.space.key`) those timed in the end, fastest first.
    outcomes : list of Outcome
        Everything measured, now or before.
    resumed : int
        How many of these were measured before.
    complete : bool
        Whether every legal set was measured.
    """

    row: Row
    default: dict[str, int | str]
    seconds: dict[Key, float]
    outcomes: list[Outcome] = field(default_factory=list)
    resumed: int = 0
    complete: bool = False


class _Hopeless(Exception):  # noqa: N818 - it is a signal, not an error
    """A run that is certain to be slow was cut short."""


class _Sample:
    """An input of a problem, with what a method is told and the oracle.

    Parameters
    ----------
    problem : Problem
    given : object
        The input.
    method : Method
    asked : dict
        As `Problem.ask` takes it: dtype, device, ...
    """

    def __init__(
        self, problem: Problem, given: Any, method: Method, asked: Mapping[str, Any]
    ) -> None:
        request = problem.ask(given, method, **asked)
        self.input = request.input
        self.options = problem.reusing(request.input, next(iter(problem.choices(request))).options)
        self.n = problem.about(self.input)["n"]
        self._oracle: Callable[[Any], Check] | None = None
        self._problem = problem

    def check(self, answer: Answer) -> None:
        """Raise VerificationError when an answer is wrong."""
        if self._oracle is None:
            self._oracle = self._problem.oracle(self.input, self.options)
        found = self._oracle(answer)
        if not found.ok:
            raise VerificationError(f"n = {self.n:,}: {found.fault}")

    def forget(self) -> None:
        """Free what answers were compared with."""
        self._oracle = None

    def work(self, answer: Answer) -> int:
        """Return how many units of the problem a run did."""
        return self._problem.work(self.input, self.options, answer)


class Tuner:
    """Looks for the fastest parameters of a method.

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
        Which of the problem's families to draw samples from; the first unless given.
    predecessors : bool
        Whether the answer has predecessors, for problems that can be asked for them.
    restart : bool
        Measure again what is in the journal.
    repeat : int
        How many times a set is timed, at least; medians count.
    seed : int
        Of the order in which sets are tried.
    commit : str, optional
        Of the code, for the row.

    Raises
    ------
    ParameterError
        If the method has nothing to tune, or predecessors make no difference to it, or there is
        no such family.
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
    ) -> None:
        if not method.tunable:
            raise ParameterError(f"{method.id} has no parameters to tune")
        if predecessors and not method.carries_predecessors:
            raise ParameterError(
                f"{method.id} finds predecessors after the distances, whatever its parameters: "
                "tune it without predecessors"
            )
        self._problem = problem(method.problem)
        self._family = self._problem.families[0] if family is None else family
        if self._family not in self._problem.families:
            rule = f"one of {', '.join(self._problem.families)}"
            raise ParameterError.of("family", "tune", rule, family)
        self._method, self._device, self._dtype, self._n = method, device, dtype, n
        self._asked = {"dtype": dtype, "device": device}
        if predecessors:
            self._asked["predecessors"] = True
        self._predecessors = predecessors
        self._repeat, self._seed, self._commit = repeat, seed, commit
        self._kernels = _kernels_hash(method.area)
        subject = {
            "method": method.id,
            "device": device.identity,
            "dtype": dtype.name,
            "predecessors": predecessors,
            "family": self._family,
            "n": n,
            "kernels": self._kernels,
        }
        self._small, self._large = self._sample(_SMALL, 0), self._sample(n, 0)
        self.space = Space(method(), self._large.options)
        self._journal = Journal(journal, subject, restart=restart)
        self._first_failure: DeviceError | ParameterError | None = None

    def _sample(self, size: int, seed: int) -> _Sample:
        given = self._problem.sample(size, self._family, seed, self._method.requires)
        return _Sample(self._problem, given, self._method(), self._asked)

    def run(
        self,
        *,
        strategy: str = "auto",
        budget: float = 60.0,
        max_configurations: int | None = None,
        told: Callable[[Outcome], None] = lambda outcome: None,
        stall: float | None = None,
    ) -> Report:
        """Measure until everything was, or the budget is spent, and return the best.

        Parameters
        ----------
        strategy : {"auto", "all", "climb"}
            "all" goes through the legal sets in random order, after the method's candidates;
            "climb" goes from the best candidate to better neighbours, and to sets ever farther
            away when there is none. "auto" climbs when there are more sets than the budget has
            seconds, or than may be measured.
        budget : float
            Seconds. The first set is always measured, and those in the journal cost nothing.
        max_configurations : int, optional
            How many sets may be measured, counting those in the journal.
        told : callable
            Called with each outcome that is new.
        stall : float, optional
            End the whole process, with the place on standard error, when one set takes more
            seconds than this: some drivers hang in their compiler, where nothing else helps.
            The journal has it as a set with which the process died.

        Raises
        ------
        VerificationError
            If every set that ran gave a wrong answer.
        ParameterError, DeviceError
            If no set ran: what was wrong with the first. If there are too many sets for "all".
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
        for parameters in self._all() if strategy == "all" else self._climb():
            if key(parameters) in seen:
                continue
            if key(parameters) not in outcomes:
                spent = time.perf_counter() - started >= budget and len(outcomes) > 0
                if spent or len(outcomes) >= limit:
                    complete = False
                    break
                with _watched(stall):
                    outcome = self._measure(parameters)
                told(outcome)
            seen.add(key(parameters))
        with _watched(stall and stall * (_FINALISTS + 1)):
            report = self._decide()
        self._large.forget()
        return replace(report, resumed=resumed, complete=complete)

    def _all(self) -> Iterator[dict[str, int | str]]:
        yield from self.space.candidates()
        yield from self.space.shuffled(self._seed)

    def _climb(self) -> Iterator[dict[str, int | str]]:
        """Yield sets, each chosen by what those before took."""
        rng = np.random.default_rng(self._seed)
        visited: dict[Key, dict[str, int | str]] = {}
        for start in self.space.candidates()[:_STARTS]:
            visited[key(start)] = start
            yield start
        climbing = bool(visited)
        while climbing:
            best = min(visited.values(), key=self._seconds_of)
            for current in self._around(best, visited, rng):
                visited[key(current)] = current
                yield current
                if self._seconds_of(current) < _STEP * self._seconds_of(best):
                    break
            else:
                climbing = False
        if self.space.small:  # what no way led to
            yield from self.space.shuffled(self._seed)

    def _around(
        self,
        best: dict[str, int | str],
        visited: Mapping[Key, dict[str, int | str]],
        rng: np.random.Generator,
    ) -> Iterator[dict[str, int | str]]:
        """Yield sets that were not visited: neighbours of the best, then ever farther ones."""
        yield from (each for each in self.space.neighbours(best, rng) if key(each) not in visited)
        for steps in range(2, 8):
            for _ in range(_WALKS):
                end = self.space.away(best, rng, steps)
                if key(end) not in visited:
                    yield end

    def _seconds_of(self, parameters: dict[str, int | str]) -> float:
        outcome = self._journal.outcomes.get(key(parameters))
        return math.inf if outcome is None or outcome.seconds is None else outcome.seconds

    def _best_seconds(self) -> float:
        right = [o.seconds for o in self._journal.outcomes.values() if o.seconds is not None]
        return min(right, default=math.inf)

    def _measure(self, parameters: dict[str, int | str]) -> Outcome:
        """Verify and time one set, with a note in the journal before and after."""
        self._journal.start(parameters)
        try:
            outcome = self._outcome(parameters)
        except BaseException:
            self._journal.interrupt(parameters)
            raise
        self._journal.finish(outcome)
        return outcome

    def _outcome(self, parameters: dict[str, int | str]) -> Outcome:
        try:
            method, plan = self._plan(parameters)
            self._verify(parameters, self._small)
            return self._time(parameters, method, plan)
        except VerificationError as error:
            return Outcome(parameters, "wrong", None, str(error))
        except (DeviceError, ParameterError) as error:
            general = isinstance(error, CapabilityError | DeviceMemoryError)
            if general and not self._journal.outcomes:
                raise  # the default needs the least: others would only fail one after the other
            self._first_failure = self._first_failure or error
            return Outcome(parameters, "failed", None, str(error))

    def _verify(self, parameters: dict[str, int | str], sample: _Sample) -> None:
        method = self._method(**parameters)
        sample.check(method.run(method.plan(sample.input, sample.options)))

    def _plan(self, parameters: dict[str, int | str]) -> tuple[TunableMethod, Plan]:
        method = self._method(**parameters)
        return method, method.plan(self._large.input, self._large.options)

    def _call(self, parameters: dict[str, int | str]) -> Answer:
        method, plan = self._plan(parameters)
        return method.run(plan)

    def _time(self, parameters: dict[str, int | str], method: TunableMethod, plan: Plan) -> Outcome:
        """Time a set: one run to warm up and to see whether it can be the best, then the others."""
        best = self._best_seconds()
        pace = _Pace(_HOPELESS * best)
        with suppress(_Hopeless):
            first = method.run(replace(plan, options=replace(plan.options, progress=pace)))
            self._large.check(first)
            pace.projected = float(first.stats["kernel_seconds"])
        if pace.projected > _SLOW * best:
            return Outcome(parameters, "slow", pace.projected)
        times: list[float] = []
        while not enough(times, self._repeat) and not (times and min(times) > _CLEAR * best):
            times.append(float(method.run(plan).stats["kernel_seconds"]))
        return Outcome(parameters, "ok", median(times))

    def _decide(self) -> Report:
        """Time the best few and the default again, in turns, and check the winner once more."""
        outcomes = self._journal.outcomes
        default = next(iter(self.space.candidates()), {})
        while True:
            ranked = sorted(
                (
                    o
                    for o in outcomes.values()
                    if o.seconds is not None and o.parameters in self.space
                ),
                key=lambda outcome: outcome.seconds or 0.0,
            )
            if not ranked:
                raise self._nothing()
            finalists = [outcome.parameters for outcome in ranked[:_FINALISTS]]
            if default not in finalists and any(o.parameters == default for o in ranked):
                finalists.append(default)
            seconds = self._finals(finalists)
            best = min(seconds, key=seconds.__getitem__)
            if key(default) in seconds and seconds[key(default)] <= _GAIN * seconds[best]:
                best = key(default)
            fault = self._fault_elsewhere(dict(best))
            if fault is None:
                break
            self._journal.finish(Outcome(dict(best), "wrong", None, fault))
        fastest = dict(sorted(seconds.items(), key=lambda item: item[1]))
        row = self._row(dict(best), seconds[best])
        return Report(row, default, fastest, list(outcomes.values()))

    def known(self) -> Row | None:
        """Return a row with the parameters that the databases have now, verified but not timed.

        Of this device, type and n; None where there are none.

        Raises
        ------
        VerificationError, ParameterError, DeviceError
            If the set is wrong here, or does not run.
        """
        for match in matches(self._method(), self._n, self._large.options, self._family):
            row = match.row
            place = (row.n, row.dtype, row.family)
            if place == (self._n, self._dtype.name, self._family) and match.level == "device":
                for sample in (self._small, self._large):
                    self._verify(row.parameters, sample)
                fault = self._fault_elsewhere(row.parameters)
                if fault is not None:
                    raise VerificationError(fault)
                return self._row(dict(row.parameters), math.inf)
        return None

    def _row(self, parameters: dict[str, int | str], seconds: float) -> Row:
        device = self._device
        return Row(
            method=self._method.id,
            platform=device.platform_name,
            kind=device.kind,
            architecture=device.architecture,
            device=device.plain_name,
            dtype=self._dtype.name,
            predecessors=self._predecessors,
            family=self._family,
            n=self._n,
            parameters=parameters,
            rate=self._rate(seconds),
            driver=device.driver_version,
            pyapsp=__version__,
            commit=self._commit,
            kernels=self._kernels,
        )

    def _rate(self, seconds: float) -> float:
        """Return the work of a run per second."""
        work = self._journal.work
        if work is None:
            work = self._large.work(self._call({}))
            self._journal.worked(work)
        # a clock that did not move must not divide by zero
        return float(f"{work / max(seconds, 1e-9):.4g}")

    def _finals(self, finalists: list[dict[str, int | str]]) -> dict[Key, float]:
        known = self._journal.finals
        if any(key(parameters) not in known for parameters in finalists):
            calls = [partial(self._call, parameters) for parameters in finalists]
            for parameters, taken in zip(finalists, in_turns(calls, self._repeat), strict=True):
                self._journal.final(parameters, taken)
        return {key(parameters): known[key(parameters)] for parameters in finalists}

    def _fault_elsewhere(self, parameters: dict[str, int | str]) -> str | None:
        """Say what a set does wrong with another sample, for which other code may be built.

        Those of odd seeds have negative weights where the method takes them.
        """
        try:
            self._verify(parameters, self._sample(_SMALL, 1))
        except PrecisionError:  # the type does not hold such weights
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
    """Time the sets of several methods and types again, in turns, so that their rates compare.

    With the planning and the transfers: of a small graph these are most of what a caller waits for.

    Parameters
    ----------
    tuners : sequence of Tuner
        One for each method and dtype, of the same device and n.
    rows : sequence of Row
        What each came to.

    Returns
    -------
    list of Row
        The same with the new rates.
    """
    calls = [
        partial(tuner._call, dict(row.parameters)) for tuner, row in zip(tuners, rows, strict=True)
    ]
    taken = in_turns(calls, max(tuner._repeat for tuner in tuners))
    return [
        replace(row, rate=tuner._rate(seconds))
        for tuner, row, seconds in zip(tuners, rows, taken, strict=True)
    ]


class _Pace:
    """Ends a run, from its progress, that is certain to take longer than some seconds."""

    def __init__(self, allowed: float) -> None:
        self._allowed, self._started = allowed, 0.0
        self.projected = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.perf_counter()
        if done == 1:
            self._started = now
            return
        elapsed = now - self._started
        self.projected = elapsed / (done - 1) * total
        if elapsed > _GRACE_SECONDS and self.projected > self._allowed:
            raise _Hopeless


@contextmanager
def _watched(seconds: float | None) -> Iterator[None]:
    """End the process when the block takes longer, also when nothing in Python can run."""
    if seconds is None:
        yield
        return
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or sys.stderr)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _kernels_hash(area: str) -> str:
    """Return a hash of every file that a kernel of the area may be made of."""
    digest = hashlib.sha256()
    for folder in ("common", area):
        for path in sorted((source.root() / folder).iterdir()):
            if path.is_file():
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
