"""The Unified Memory Machine, and the time of bulk execution on it.

The memory of the machine is divided into *address groups* of w words. Threads access it in *warps*
of w. The requests of a warp take one time unit for each address group among them. After the last
request, the round of accesses takes l - 1 more units, where l is the latency. A program of t
accesses takes for p instances of n words

    column-wise   (p/w + l - 1) t    neighbours share an address group
    row-wise      (p + l - 1) t      each thread has an address group of its own, if n >= w

that is a + b p with a = (l - 1) t. Width, latency and the length of a time unit of a device are
measured by passes over arrays as large as those of the program, because with caches they depend on
the size. The model ignores arithmetic, and accesses that a compiler removes; `pyapsp.bulk.bounds`
measures these.

Source: D. Takafuji's thesis, 2020, sections 4.1 and 4.2, lemmas 4.2.1 and 4.2.2, theorem 4.2.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pyapsp.base.errors import ParameterError
from pyapsp.bulk.generate import ARRANGEMENTS, Arrangement
from pyapsp.bulk.program import Program, load
from pyapsp.device import Device
from pyapsp.device.kernels.source import root

__all__ = ["Line", "MemoryMachine", "fit", "groups_of_round", "kernel_seconds", "measure"]

# Accesses of an instance in a measurement: so many that the time of the launch is negligible.
_ACCESSES = 512
_BYTES = 256 * 2**20
_REPEAT = 3

# Seconds for an instance below which the clock is too coarse.
_LEAST = 1e-13


@dataclass(frozen=True)
class Line:
    """Time as a function of the number of instances, a + b p."""

    # Coefficients, in the unit of the times.
    a: float
    b: float

    def __call__(self, p: float) -> float:
        """Return the time for p instances."""
        return self.a + self.b * p


@dataclass(frozen=True)
class MemoryMachine:
    """A memory machine."""

    width: float  # words of an address group, and threads of a warp (w)
    latency: float  # stages of the pipeline (l)
    unit: float = 1.0  # seconds of a time unit

    def time(self, t: int, n: int, arrangement: Arrangement) -> Line:
        """Return the time of a program as a function of the number of its instances.

        Parameters
        ----------
        t : int
            Accesses of an instance; see `pyapsp.bulk.count_accesses`.
        n : int
            Words of an instance.
        arrangement : {"column", "row"}

        Returns
        -------
        Line
        """
        if arrangement not in ARRANGEMENTS:
            raise ParameterError.of("arrangement", "umm", f"one of {ARRANGEMENTS}", arrangement)
        # row-wise, instances of less than w words share address groups
        groups = 1 / self.width if arrangement == "column" else min(1.0, n / self.width)
        return Line((self.latency - 1) * t * self.unit, groups * t * self.unit)

    def ratio(self, n: int, p: float) -> float:
        """Return the time row-wise divided by the time column-wise."""
        return self.time(1, n, "row")(p) / self.time(1, n, "column")(p)


def groups_of_round(addresses: Sequence[int] | np.ndarray, width: int) -> int:
    """Return the time units of the requests of a round, without the latency.

    Parameters
    ----------
    addresses : (p,) array-like of int
        The address that each thread accesses; -1 for none.
    width : int
        w.

    Returns
    -------
    int
        The sum of the numbers of address groups of all warps.
    """
    places = np.asarray(addresses, np.int64)
    warps = [places[begin : begin + width] for begin in range(0, places.size, width)]
    return sum(np.unique(warp[warp >= 0] // width).size for warp in warps)


def fit(p: Iterable[float], seconds: Iterable[float]) -> Line:
    """Fit a + b p to measured times, with small relative errors.

    Parameters
    ----------
    p, seconds : iterable of float
        At least two.

    Returns
    -------
    Line
        Neither `a` nor `b` is negative.
    """
    counts, times = np.array(list(p), float), np.array(list(seconds), float)
    if counts.size != times.size or counts.size < 2 or not (times > 0).all():
        raise ParameterError.of("seconds", "fit", "two or more positive times", times.tolist())
    rows = np.stack([1 / times, counts / times], axis=1)
    (a, b), *_ = np.linalg.lstsq(rows, np.ones_like(times))
    if a < 0:
        slopes = counts / times
        return Line(0.0, float(slopes.sum() / (slopes**2).sum()))
    if b < 0:
        return Line(float((1 / times).sum() / (1 / times**2).sum()), 0.0)
    return Line(float(a), float(b))


def kernel_seconds(program: Program, p: int) -> float:
    """Return the seconds of the kernel for p instances of zeros, the shortest of some runs."""
    array = program.arrays[0]
    zeros = np.zeros((p, *array.shape), array.dtype)
    runs = [program.run({array.name: zeros}).seconds["kernel"] for _ in range(_REPEAT)]
    return min(runs)


def measure(device: Device, n: int, *, counts: Sequence[int] = ()) -> MemoryMachine:
    """Measure width, latency and time unit of a device for instances of n 32-bit words.

    Parameters
    ----------
    device : Device
    n : int
        Words of an instance.
    counts : sequence of int, optional
        Numbers of instances to measure with. Default: up to 256 MiB of instances.

    Returns
    -------
    MemoryMachine
        Its width is at most n, because n words cannot show more.
    """
    if not isinstance(n, int) or n < 1:
        raise ParameterError.of("n", "measure", "a positive whole number", n)
    most = max(_BYTES // (4 * n), 64)
    counts = counts or [p for p in (64, 1024, most // 16, most // 4, most) if p <= most]
    steps = max(_ACCESSES // 2, 2 * n)
    lines = {}
    for arrangement in ARRANGEMENTS:
        program = load(
            root() / "bulk" / "sweep.c",
            defines={"N": n, "STEPS": steps},
            device=device,
            arrangement=arrangement,
        )
        lines[arrangement] = fit(counts, [kernel_seconds(program, p) for p in counts])
    t = 2 * steps
    row, column = lines["row"], lines["column"]
    slope = max(column.b, _LEAST)  # small counts may take the same time
    width = min(max(row.b / slope, 1.0), n)
    unit = slope * width / t
    return MemoryMachine(width, 1 + column.a / (t * unit), unit)
