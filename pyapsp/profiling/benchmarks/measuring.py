"""How a benchmark is measured: its answer is checked, its size found, its time taken.

A benchmark does the same work in each of N rounds. N is chosen so that one run is long enough to be
timed. Runs of N and of 2N rounds take turns: the ratio of their shortest times is 2 if the time is
that of the work alone. The shortest time counts, which other load on the machine disturbs least.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import VerificationError
from pyapsp.base.json import Record
from pyapsp.device import Device, device_errors, event_seconds

__all__ = ["Benchmark", "Effort", "Prepare", "measured", "one_launch"]

# The answer is compared after so few rounds, and again after the timed ones.
_CHECKED = (0, 1, 2)
_MOST_ROUNDS = 2**30


@dataclass(frozen=True)
class Effort:
    """How long a benchmark is timed."""

    seconds: float = 0.02  # the least time of a run
    repeat: int = 5  # the runs of which the shortest counts


@dataclass(frozen=True)
class Benchmark:
    """Something that does the same work in each of its rounds."""

    name: str  # the curve or the table that it belongs to
    parameters: Record  # where in the curve it is
    unit: str  # of its work, for instance `"operations"`
    work: float  # units of work of a round
    run: Callable[[int], float]  # runs so many rounds and returns the seconds
    # Says what is wrong with the answer of the last run, of so many rounds; None if it is right.
    fault: Callable[[int], str | None]
    facts: Callable[[], Record] = dict  # further facts for the row, after a run
    least: int = 1  # the least number of rounds that is timed
    close: Callable[[], None] = lambda: None  # frees what the benchmark holds of the host
    metered: bool = False  # whether its energy is measured, where there is a sensor


def one_launch(
    device: Device,
    queue: cl.CommandQueue,
    kernel: cl.Kernel,
    items: int,
    group: int,
    *arguments: cl.Buffer | np.generic,
) -> Callable[[int], float]:
    """Return the `run` of a benchmark whose rounds are one launch.

    Parameters
    ----------
    device, queue, kernel
    items, group : int
        The work-items, and those of a group.
    *arguments : pyopencl.Buffer or numpy scalar
        Those of the kernel before its last one, the number of rounds.
    """

    def run(rounds: int) -> float:
        with device_errors(device, 0):
            return event_seconds(kernel(queue, (items,), (group,), *arguments, np.int32(rounds)))

    return run


#: Builds the kernel of a benchmark and allocates its memory.
Prepare: TypeAlias = Callable[[], Benchmark]


def measured(benchmark: Benchmark, effort: Effort) -> Record:
    """Check and time a benchmark.

    Parameters
    ----------
    benchmark : Benchmark
    effort : Effort

    Returns
    -------
    dict
        ``benchmark``, ``parameters``, ``unit``, ``work`` of a round; ``rounds``, ``seconds``
        (the shortest) and ``spread`` (the longest time less the shortest, as a fraction of it);
        ``rate``: units of work a second, and ``nanoseconds`` of a unit; ``doubling``: the shortest
        time of twice as many rounds, as a multiple of the shortest; and the facts of the benchmark.

    Raises
    ------
    VerificationError
        If its answer is wrong: the compiler has removed its work, for instance.
    """
    for rounds in _CHECKED:
        benchmark.run(rounds)
        _check(benchmark, rounds)
    rounds = max(benchmark.least, 1)
    # a run that was interrupted seems long enough
    while (
        seconds := min(benchmark.run(rounds), benchmark.run(rounds))
    ) < effort.seconds and rounds < _MOST_ROUNDS:
        factor = 1.2 * effort.seconds / max(seconds, effort.seconds / 64)
        rounds = int(rounds * max(factor, 1.2)) + 1
    times: dict[int, list[float]] = {rounds: [], 2 * rounds: []}
    for _ in range(effort.repeat):
        for number, taken in times.items():
            taken.append(benchmark.run(number))
    _check(benchmark, 2 * rounds)
    seconds = min(times[rounds])
    rate = benchmark.work * rounds / seconds
    return {
        "benchmark": benchmark.name,
        "parameters": benchmark.parameters,
        "unit": benchmark.unit,
        "work": benchmark.work,
        "rounds": rounds,
        "seconds": seconds,
        "spread": (max(times[rounds]) - seconds) / seconds,
        "rate": rate,
        "nanoseconds": 1e9 / rate,
        "doubling": min(times[2 * rounds]) / seconds,
        **benchmark.facts(),
    }


def _check(benchmark: Benchmark, rounds: int) -> None:
    fault = benchmark.fault(rounds)
    if fault is not None:
        where = ", ".join(f"{name} {value}" for name, value in benchmark.parameters.items())
        raise VerificationError(f"benchmark {benchmark.name} ({where}), {rounds} rounds: {fault}")
