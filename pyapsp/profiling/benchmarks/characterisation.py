"""What a device profile says of a device: characterisation functions, rates and latencies.

F. Busato's thesis (Verona 2018), section 13.3. A device profile (`pyapsp profile device`) gives
*characterisation functions*: the speed of the device at a degree of divergence, of bank conflicts,
of parallel instructions, and at a size of accesses, relative to its best speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

import numpy as np
from scipy.interpolate import PchipInterpolator

from pyapsp.base.errors import ParameterError

__all__ = ["Characterisation", "Core", "Curve", "Delays"]

_SCHEMA = "pyapsp device profile"
_QUANTUM = 1e-3
_NEXT = 2.0  # the latency of the second cache is at least so many times that of the first


@dataclass(frozen=True)
class Curve:
    """A function through measured points, constant outside them."""

    # The points; x increases. y is a multiple of 0.001.
    x: tuple[float, ...]
    y: tuple[float, ...]

    @classmethod
    def of(cls, points: Iterable[tuple[float, float]]) -> Curve:
        """Return the curve through the medians of points with the same x."""
        found: dict[float, list[float]] = {}
        for x, y in points:
            found.setdefault(x, []).append(y)
        xs = tuple(sorted(found))
        return cls(xs, tuple(_quantised(float(np.median(found[x]))) for x in xs))

    def __bool__(self) -> bool:
        """Whether there are points."""
        return bool(self.x)

    def __call__(self, x: float) -> float:
        """Return the value by monotone cubic interpolation."""
        if not self.x:
            return 1.0
        x = min(max(x, self.x[0]), self.x[-1])
        if len(self.x) == 1:
            return self.y[0]
        return float(PchipInterpolator(self.x, self.y)(x))


@dataclass(frozen=True)
class Core:
    """What a core of a processor needs for an operation, in seconds."""

    scalar: float  # an operation of single values, as kernels of graphs have them
    vectors: Mapping[str, float]  # an operation of an element of a full vector, by class
    surprise: float  # a branch that is predicted wrongly, beside the operation
    # Bytes that are read at random, and what a load needs beyond one from the first cache.
    far: tuple[tuple[float, float], ...]
    # An atomic operation, a barrier of a work-item, and the start of a group.
    atomic: float
    barrier: float
    group: float
    # An atomic operation on a line that another core has written, beyond the operation: where all
    # are on one line, and on one of many lines.
    transfer: float = 0.0
    shared: float = 0.0
    # Bytes of the private values of a group that are live across a barrier, and what a byte needs
    # beyond the barrier.
    saved: tuple[tuple[float, float], ...] = ()
    # Bytes that are read at random, and how long the value of a load takes.
    loads: tuple[tuple[float, float], ...] = ()
    # An operation that waits for the one before, by class.
    chained: Mapping[str, float] = field(default_factory=dict)
    division: float = 0.0  # a division of integers
    # Seconds that a launch takes one core, and how many times faster it is with all cores.
    cores: tuple[tuple[float, float], ...] = ()

    def together(self, seconds: float, units: int) -> float:
        """Return how many cores take part in a launch that takes one of them so long."""
        return _at_size(self.cores, seconds) if self.cores else float(units)

    def far_seconds(self, size: float) -> float:
        """Return what a load at random from so many bytes needs beyond one from the first cache."""
        return _at_size(self.far, size)

    def load_seconds(self, size: float) -> float:
        """Return how long the value of a load from so many bytes takes."""
        return _at_size(self.loads, size) if self.loads else 0.0

    def chained_seconds(self, name: str) -> float:
        """Return how long the value of an operation of a class takes."""
        return self.chained.get(name) or self.chained.get("int", 0.0)

    def saved_seconds(self, state: float) -> float:
        """Return what a byte needs that is live across a barrier, beyond the barrier."""
        return _at_size(self.saved, state) if self.saved else 0.0


@dataclass(frozen=True)
class Delays:
    """How long a work-item waits, in seconds, beside that for loads."""

    atomic: float = 0.0  # for the result of an atomic operation on global memory
    local: float = 0.0  # for an access to local memory
    # The work-items of a group, and what a barrier needs.
    barriers: tuple[tuple[float, float], ...] = ()
    line: float = 0.0  # for each line of a load after the first one
    # For a turn of a loop beyond the load of its bound, and for one whose bound is in no memory.
    turn: float = 0.0
    known_turn: float = 0.0

    def at_barrier(self, items: int) -> float:
        """Return what a barrier of a group of so many work-items needs."""
        return _at_size(self.barriers, items) if self.barriers else 0.0


@dataclass(frozen=True)
class Characterisation:
    """A device by its profile."""

    divergence: Curve  # relative speed at executed over possible instructions
    local: Curve  # relative speed at needed over taken passes of the banks of local memory
    memory: Curve  # relative bandwidth at the bytes of an access of an item
    arithmetic: Curve  # relative speed at the number of independent chains of instructions
    # Operations per second by class, and accesses per second: `local`, `atomic` of neighbouring
    # words, `same atomic` of one word.
    rates: Mapping[str, float]
    # Bytes that are read again and again, and the bytes per second.
    bandwidth: tuple[tuple[float, float], ...]
    launch: float  # seconds of a launch
    # Bytes that are read again and again, and the seconds of a load.
    latency: tuple[tuple[float, float], ...] = ()
    waits: Delays = Delays()
    units: int = 1  # compute units
    core: Core | None = None  # None if the device is no processor (CPU)
    # Bytes of which words are read at random, each in a line of its own, and the words per second.
    gathers: tuple[tuple[float, float], ...] = ()
    group: float = 0.0  # the start of a group, of those of all units

    @classmethod
    def of(cls, profile: Mapping[str, object]) -> Characterisation:
        """Read a device profile.

        Raises
        ------
        ParameterError
            If it is none, or one without bandwidths, or that of a processor without the rates of
            scalar code, as of older versions.
        """
        results = profile.get("results")
        if profile.get("schema") != _SCHEMA or not isinstance(results, list):
            raise ParameterError("this is no device profile: make one with pyapsp profile device")
        rows = _Rows(results)
        bandwidth = rows.curve("read bandwidth", "bytes")
        if not bandwidth:
            raise ParameterError("the device profile has no read bandwidth")
        rates = {name: rows.rate("throughput", operation=op) for name, op in _CLASSES.items()}
        latency = tuple((x, 1 / y) for x, y in rows.curve("latency of loads", "bytes"))
        first = min((seconds for _, seconds in latency), default=0.0)
        units, is_processor = _kind(profile)
        core = _core(rows, units) if is_processor else None
        paths = rows.curve("divergence", "paths")
        banks = rows.curve("bank conflicts", "stride")
        rates["local"] = max((rate for _, rate in banks), default=0.0)
        rates["atomic"] = rows.rate("atomic additions", memory="global", counters=_EACH)
        rates["same atomic"] = rows.rate("atomic additions", memory="global", counters="one")
        return cls(
            Curve.of((1 / x, y) for x, y in _relative(paths)) or _LINEAR,
            Curve.of((1 / gcd(int(x), 32), y) for x, y in _relative(banks)) or _LINEAR,
            Curve.of(_relative(rows.curve("access size", "bytes"))),
            Curve.of(_relative(rows.curve("chains", "chains"))),
            {name: rate for name, rate in rates.items() if rate},
            tuple(bandwidth),
            _launch(rows, units, core),
            latency,
            Delays(
                _inverse(rows.rate("atomic latency")),
                _inverse(rows.rate("local latency")),
                tuple((x, 1 / y) for x, y in rows.curve("barrier", "work-items")),
                _of_line(rows.curve("gather latency", "lines")),
                max(_inverse(rows.rate("turns", bound="memory")) - first, 0.0),
                _inverse(rows.rate("turns", bound="private")),
            ),
            units,
            core,
            tuple(rows.curve("gather", "bytes")),
            _inverse(rows.rate("groups")),
        )

    def load_seconds(self, footprint: float) -> tuple[float, float]:
        """Return the latency of loads from so many bytes that miss the first cache, and of others.

        The sizes that fit in the first cache are those with a latency of less than twice the
        shortest.
        """
        shortest = min(seconds for _, seconds in self.latency)
        beyond = [size for size, seconds in self.latency if seconds >= _NEXT * shortest]
        return _at_size(self.latency, max([footprint, *beyond[:1]])), shortest

    def bytes_per_second(self, footprint: float) -> float:
        """Return the bandwidth of reading so many bytes again and again."""
        return _at_size(self.bandwidth, footprint)

    def line_seconds(self, footprint: float) -> float:
        """Return what an access to a line needs at full rate; 0 if it is not known."""
        return 1 / _at_size(self.gathers, footprint) if self.gathers else 0.0


# The speed where nothing was measured: in proportion to the useful part.
_LINEAR = Curve((0.0, 1.0), (0.0, 1.0))
_EACH = "one for each work-item"
# Classes of operations -> the operation of the suite whose rate they have.
_CLASSES = {
    "int": "i32.add",
    "float": "f32.add",
    "double": "f64.add",
    "special": "f32.native_sin",
}
# The share of branches at random that are predicted wrongly.
_WRONG = 0.5


def _core(rows: _Rows, units: int) -> Core:
    """Return what a core needs for operations; most benchmarks are of one core."""

    def each(benchmark: str, **where: str) -> float:
        return _inverse(rows.rate(benchmark, **where))

    def of_units(benchmark: str, **where: str) -> float:
        return units * each(benchmark, **where)

    scalar, wrong = each("scalar code"), each("branches", ways="random")
    gathers = rows.curve("gather", "bytes")
    # older profiles have those of all cores together
    is_old = rows.rate("throughput") and not rows.rate("core throughput")
    if is_old or not (scalar and wrong and gathers):
        raise ParameterError(
            "the device profile has no rates of scalar code, branches and gathers of one core: it "
            "is of an older version, or incomplete. Make one with pyapsp profile device"
        )
    near = max(rate for _, rate in gathers)
    barriers = rows.curve("barrier", "work-items")
    barrier = min((1 / (rate * items) for items, rate in barriers), default=0.0)
    saved = rows.curve("saved values", "bytes")
    many = rows.curve("saved values", "of a work-item")
    launches = rows.curve("cores", "operations")
    cores = tuple((number * scalar, max(rate * scalar, 1.0)) for number, rate in launches)
    return Core(
        scalar,
        {name: each("core throughput", operation=op) for name, op in _CLASSES.items()},
        max(wrong - each("branches", ways="one"), 0.0) / _WRONG,
        tuple((size, 1 / rate - 1 / near) for size, rate in gathers),
        each("atomic additions", memory="global", counters=_EACH),
        barrier,
        each("groups") * (cores[-1][1] if cores else units),
        max(of_units("shared word", counters="one") - of_units("shared word", counters=_EACH), 0.0),
        max(each("shared lines", lines="of all") - each("shared lines", lines=_EACH), 0.0),
        tuple((size, max(1 / rate - barrier / many[0][0], 0.0)) for size, rate in saved),
        tuple((size, 1 / rate) for size, rate in rows.curve("latency of loads", "bytes")),
        {name: each("latency", operation=op) for name, op in _CLASSES.items()},
        each("core throughput", operation="i32.div"),
        cores,
    )


def _launch(rows: _Rows, units: int, core: Core | None) -> float:
    """Return the seconds of a launch; on a processor, of one that all cores take part in."""
    some = {} if core is None else {"groups": units}
    return _inverse(rows.rate("launch", clock="device", **some))


def _of_line(points: Sequence[tuple[float, float]]) -> float:
    """Return what each line after the first one adds to a latency, from the rates of accesses."""
    if len(points) < 2:
        return 0.0
    (few, most), (many, least) = points[0], points[-1]
    return max(1 / least - 1 / most, 0.0) / (many - few)


def _at_size(points: Sequence[tuple[float, float]], size: float) -> float:
    """Return a value between points, whose first number is a size."""
    sizes, values = zip(*points, strict=True)
    return float(np.interp(np.log(max(size, sizes[0])), np.log(sizes), values))


def _inverse(rate: float) -> float:
    return 1 / rate if rate else 0.0


def _kind(profile: Mapping[str, object]) -> tuple[int, bool]:
    """Return the number of compute units, and whether they are the cores of a processor."""
    device = profile.get("device")
    about = device if isinstance(device, Mapping) else {}
    return int(about.get("capabilities", {}).get("compute_units", 1)), about.get("kind") == "cpu"


def _quantised(value: float) -> float:
    return round(value / _QUANTUM) * _QUANTUM


def _relative(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return points relative to the largest value."""
    best = max((rate for _, rate in points), default=1.0)
    return [(x, rate / best) for x, rate in points]


class _Rows:
    """The rows of a device profile."""

    def __init__(self, rows: Sequence[Mapping[str, object]]) -> None:
        self._rows = [(str(row["benchmark"]), row["parameters"], row["rate"]) for row in rows]

    def curve(self, benchmark: str, parameter: str) -> list[tuple[float, float]]:
        """Return parameter and rate of a benchmark, by parameter."""
        return sorted(self._those(benchmark, lambda place: parameter in place, parameter))

    def rate(self, benchmark: str, **where: str | int) -> float:
        """Return the largest rate of a benchmark with these parameters; 0 if there is none."""

        def holds(place: Mapping[str, object]) -> bool:
            return all(place.get(name) == value for name, value in where.items())

        return max((rate for _, rate in self._those(benchmark, holds)), default=0.0)

    def _those(
        self,
        benchmark: str,
        holds: Callable[[Mapping[str, object]], bool],
        parameter: str | None = None,
    ) -> list[tuple[float, float]]:
        found = []
        for name, place, rate in self._rows:
            if name == benchmark and isinstance(place, Mapping) and holds(place):
                x = place[parameter] if parameter is not None else 0.0
                if isinstance(x, int | float) and isinstance(rate, int | float):
                    found.append((float(x), float(rate)))
        return found
