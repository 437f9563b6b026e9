"""Quick tuning: within a time limit, time the methods that `auto` can take on a new device.

`auto` predicts times from tuning rows. Those of other devices say which method is faster there. So
one or two parameter sets of each method are timed here, on the inputs first for which the choice
matters most: large before small, and the types in which default calls compute before others. A
measurement begins only if it will probably end in time. What was not begun is listed; it is
predicted from rows of other devices, multiplied by the quotient of the speeds (`tuning.lookup`).

The answer of each set is verified for a small input and for the one that is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from pyapsp.all_pairs.problem import ALL_PAIRS
from pyapsp.base.errors import DeviceError, ParameterError, VerificationError
from pyapsp.device import Device
from pyapsp.graph.families import FAMILIES
from pyapsp.numbers.arithmetic import check_type
from pyapsp.paths import AllPairsMethod, AllPairsOptions
from pyapsp.registry import Answer, Parameters, Requirements, methods
from pyapsp.registry.timing import in_turns
from pyapsp.registry.tuning.database import Row
from pyapsp.registry.tuning.lookup import tuned_methods, tuned_rate
from pyapsp.registry.tuning.method import TunableMethod
from pyapsp.registry.tuning.rows import row_of
from pyapsp.registry.tuning.sample import Sample

__all__ = ["LIMIT", "Part", "Result", "parts", "tune_quickly"]

#: Seconds of a quick tuning.
LIMIT = 60.0

# The sizes of graphs, by kind of device: for methods that compute the matrix, and for searches.
# The most important are first. Shipped rows have these sizes, so that rates can be compared.
_MATRIX = {"gpu": (1024, 256, 4096, 64), "cpu": (1024, 256, 64)}
_SEARCHES = {"gpu": (4096, 1024), "cpu": (2048, 512)}
# Groups of types, the most important first: that of SciPy's answers, and those in which these are
# computed if distances are short, or longer, whole numbers; and that which many callers ask for.
_TYPES: tuple[tuple[str, ...], ...] = (("float64", "uint16"), ("int32",), ("float32",))
_NARROWEST = np.dtype("uint16")
# Size of the small input: no multiple of a tile.
_SMALL = 257
# The sets that are timed: of the method with the best rate so far that which a call uses now, and
# the next; of others the first.
_SETS = 2
# A method is not timed if the best one with the same requirements has this multiple of its rate.
_FAR = 1.5
# A set is timed in turns unless it takes, alone, this multiple of the shortest time with the same
# requirements.
_SLOW = 2.0
# Runs of a set alone, of which the shortest counts, and the least number of runs in turns.
_TRIES, _REPEAT = 2, 3
# Seconds that the first set may take; later ones are expected to take as long as the longest.
_FIRST = 5.0


class Part(NamedTuple):
    """Inputs of one type, family and size, on which methods are compared."""

    dtype: str
    # Whether methods that search from sources are timed, or those that compute the matrix.
    searches: bool
    family: str
    n: int

    def __str__(self) -> str:
        kind = f"searches, {self.family}" if self.searches else "matrix"
        return f"{kind}, {self.dtype}, n = {self.n:,}"


@dataclass
class Result:
    """The result of a quick tuning."""

    rows: list[Row] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # what was not measured, and why
    # The method, parameters and fault of each wrong answer.
    wrong: list[dict[str, Any]] = field(default_factory=list)


def parts(kind: str) -> Iterator[Part]:
    """Yield the parts for a kind of device, the most important first."""
    matrix, searches = (sizes.get(kind, sizes["cpu"]) for sizes in (_MATRIX, _SEARCHES))
    uniform, *others = FAMILIES
    for dtypes in _TYPES:
        for large, dtype in product((True, False), dtypes):
            yield Part(dtype, False, uniform, matrix[not large])
            yield Part(dtype, True, uniform, searches[not large])
    for dtypes, family in product(_TYPES, others):
        yield from (Part(dtype, True, family, searches[0]) for dtype in dtypes)
    for n, dtypes in product(matrix[2:], _TYPES):
        yield from (Part(dtype, False, uniform, n) for dtype in dtypes)


def tune_quickly(
    device: Device,
    store: Callable[[list[Row]], object],
    *,
    ends: float,
    longer: Iterable[Row] = (),
    commit: str | None = None,
    report: Callable[[Part, list[Row]], object] = lambda part, rows: None,
) -> Result:
    """Time the methods that "auto" can take on a device.

    Parameters
    ----------
    device : Device
    store : callable
        Called with the rows of each part, so that an interruption loses only one.
    ends : float
        The time of `time.perf_counter` at which it must have ended.
    longer : iterable of Row
        Rows of longer tunings. What has one is not measured again.
    commit : str, optional
        Commit of the code, for the rows.
    report : callable
        Called with each part and its rows.

    Returns
    -------
    Result
    """
    result, clock = Result(), _Clock(ends)
    places = {row.place for row in longer}
    refused: set[str] = set()
    left: list[str] = []
    timed: dict[tuple[str, bool], set[str]] = {}
    for part in parts(device.kind):
        if part.dtype in refused:
            continue
        try:
            check_type(device, np.dtype(part.dtype))
        except DeviceError as error:
            refused.add(part.dtype)
            result.left.append(str(error))
            continue
        if not clock.allows():
            left.append(str(part))
            continue
        # a rate that was measured at one size only would be compared with an extrapolated one
        group = (part.dtype, part.searches)
        measured = _Part(part, timed.get(group), device, places, commit, clock, result)
        rows = measured.rows()
        timed.setdefault(group, {*measured.known, *(row.method for row in rows)})
        if rows:
            store(rows)
            result.rows += rows
            report(part, rows)
    if left:
        result.left.append(f"no time for {'; '.join(left)}")
    return result


class _Clock:
    """Decides whether there is time for another measurement."""

    def __init__(self, ends: float) -> None:
        self.ends = ends
        self._longest = _FIRST

    def allows(self, seconds: float = 0.0) -> bool:
        """Return whether these seconds, or the longest measurement so far, end in time."""
        return time.perf_counter() + max(seconds, self._longest) < self.ends

    def took(self, seconds: float) -> None:
        """Take note of a measurement."""
        self._longest = max(self._longest, seconds)


class _TooLongError(Exception):
    """A run would not end in time."""


class _Set(NamedTuple):
    """A parameter set that gave right answers, and its input."""

    method: type[TunableMethod]
    parameters: Parameters
    sample: Sample
    seconds: float

    def call(self) -> Answer:
        """Solve the input, with planning."""
        return _call(self.method(**self.parameters), self.sample)


class _Part:
    """The measurements of a part, of all methods or of some."""

    def __init__(
        self,
        part: Part,
        some: set[str] | None,
        device: Device,
        longer: set[tuple[str | bool | int, ...]],
        commit: str | None,
        clock: _Clock,
        result: Result,
    ) -> None:
        self._part, self._device, self._longer, self._commit = part, device, longer, commit
        self._some, self._clock, self._result = some, clock, result
        self.known: list[str] = []
        self._samples: dict[tuple[Any, int], Sample] = {}

    def rows(self) -> list[Row]:
        """Measure, and return a row for each method that was timed."""
        sets: list[_Set] = []
        left: list[str] = []
        for place, method in enumerate(self._methods()):
            if self._row(method, Parameters(), 0.0).place in self._longer:
                self.known.append(method.id)
                continue
            if not self._clock.allows():
                left.append(method.id)
                continue
            try:
                sets += self._measured(method, 1 if place else _SETS)
            except _TooLongError:
                left.append(method.id)
            except (DeviceError, ParameterError) as error:
                self._result.left.append(f"{self._part}: {method.id}: {error}")
        if self.known:
            known = ", ".join(self.known)
            self._result.left.append(f"{self._part}: rows of a longer tuning: {known}")
        if left:
            self._result.left.append(f"{self._part}: no time for {', '.join(left)}")
        rows: dict[str, Row] = {}
        for each, seconds in sorted(self._timed(sets), key=lambda timed: timed[1]):
            rate = each.sample.input.n**3 / max(seconds, 1e-9)
            row = self._row(each.method, each.parameters, float(f"{rate:.4g}"))
            rows.setdefault(each.method.id, row)
        return list(rows.values())

    def _methods(self) -> list[type[TunableMethod]]:
        """Return the methods that may be the fastest on these inputs, the best first.

        These are methods with a rate, on this device or another of its kind, since "auto" takes no
        others. If there is none, they are those that have rows of any device. A method that holds
        only short distances is timed in the narrowest type, in which "auto" takes it.
        """
        part = self._part
        dtype = np.dtype(part.dtype)
        options = AllPairsOptions(self._device, dtype)
        rates: dict[type[TunableMethod], float] = {}
        best: dict[Requirements, float] = {}
        unknown: list[type[TunableMethod]] = []
        anywhere = tuned_methods()
        for method in methods("all-pairs"):
            if not (issubclass(method, AllPairsMethod) and issubclass(method, TunableMethod)):
                continue
            if self._some is not None and method.id not in self._some:
                continue
            narrow = method.requires.largest_distance is not None
            if method.by_source != part.searches or (narrow and dtype != _NARROWEST):
                continue
            if method().unmet(self._sample(method, _SMALL).input.facts, options) is not None:
                continue
            rate = tuned_rate(method(), part.n, options, part.family)
            if rate is not None:
                rates[method] = rate
                best[method.requires] = max(rate, best.get(method.requires, 0.0))
            elif method.id in anywhere:
                unknown.append(method)
        if not rates:
            return unknown
        near = (each for each, rate in rates.items() if _FAR * rate >= best[each.requires])
        return sorted(near, key=lambda each: -rates[each])

    def _sample(self, method: type[AllPairsMethod], n: int) -> Sample:
        """Return an input; methods with the same requirements share it, and its oracle."""
        place = (method.requires, n)
        if place not in self._samples:
            data = ALL_PAIRS.sample(n, self._part.family, 0, method.requires)
            self._samples[place] = Sample(
                ALL_PAIRS,
                data,
                method(),
                {"dtype": np.dtype(self._part.dtype), "device": self._device},
            )
        return self._samples[place]

    def _measured(self, method: type[Any], count: int) -> list[_Set]:
        """Return the sets of a method whose answers were right, each with its time.

        At most `count` sets are tried.

        Raises
        ------
        _TooLongError
            If the first set would not end in time.
        DeviceError, ParameterError
            If no set runs.
        """
        part, error = self._part, None
        sets: list[_Set] = []
        options = self._sample(method, part.n).options
        for parameters in _distinct(method().sets(part.n, part.family, options), count):
            started = time.perf_counter()
            if sets and not self._clock.allows():
                break
            try:
                sets.append(self._checked(method, parameters))
            except VerificationError as fault:
                wrong = {"method": method.id, "parameters": parameters, "detail": str(fault)}
                self._result.wrong.append(wrong)
            except (DeviceError, ParameterError) as cause:
                error = error or cause
            except _TooLongError:
                if not sets:
                    raise
                break
            self._clock.took(time.perf_counter() - started)
        if error is not None and not sets:
            raise error
        return sets

    def _checked(self, method: type[Any], parameters: Parameters) -> _Set:
        """Verify a set, and time it.

        The run of the small input says how long a run may take: work grows with n^3, that of
        searches with n^2. It is not begun if several of these do not end in time.
        """
        small, large = self._sample(method, _SMALL), self._sample(method, self._part.n)
        small.check(_call(method(**parameters), small))
        seconds = _seconds(partial(_call, method(**parameters), small))
        larger = max(1.0, large.input.n / small.input.n) ** (2 if method.by_source else 3)
        if not self._clock.allows(_REPEAT * seconds * larger):
            raise _TooLongError
        large.check(_call(method(**parameters), large))
        runs = partial(_call, method(**parameters), large)
        return _Set(method, parameters, large, min(_seconds(runs) for _ in range(_TRIES)))

    def _timed(self, sets: list[_Set]) -> list[tuple[_Set, float]]:
        """Return the sets with their seconds: medians of turns if they are fast and time allows.

        Sets are repeated in turns, so that other load on the machine affects all of them.
        """
        best: dict[Requirements, float] = {}
        for each in sets:
            needs = each.method.requires
            best[needs] = min(each.seconds, best.get(needs, each.seconds))
        fast = [each for each in sets if each.seconds <= _SLOW * best[each.method.requires]]
        seconds = {id(each): each.seconds for each in sets}
        a_round = sum(each.seconds for each in fast)
        if self._clock.allows(3 * a_round):
            ends = self._clock.ends - a_round
            taken = in_turns([each.call for each in fast], _REPEAT, ends=ends)
            seconds |= {id(each): each_took for each, each_took in zip(fast, taken, strict=True)}
        return [(each, seconds[id(each)]) for each in sets]

    def _row(self, method: type[Any], parameters: Parameters, rate: float) -> Row:
        part = self._part
        return row_of(
            method,
            self._device,
            dtype=part.dtype,
            predecessors=False,
            family=part.family,
            n=part.n,
            parameters=parameters,
            rate=rate,
            commit=self._commit,
            quick=True,
        )


def _distinct(sets: Iterable[tuple[Parameters, Any]], count: int) -> Iterator[Parameters]:
    """Yield the first different sets."""
    seen: list[Parameters] = []
    for parameters, _ in sets:
        if parameters not in seen:
            seen.append(parameters)
            yield parameters
        if len(seen) == count:
            return


def _call(method: Any, sample: Sample) -> Answer:
    answer: Answer = method.run(method.plan(sample.input, sample.options))
    return answer


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started
