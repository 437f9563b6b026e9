"""The energy of a launch: that of a train of launches, read from a sensor all the while.

Counters of energy change only some ten times a second, and some sensors see a part of the time. So
the launches are repeated for seconds. The power is that between the first and the last change of
the counter, and the integral of the power readings is compared with it. What the device uses when
it is idle is measured before, and given apart.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pyapsp.base.errors import SensorError
from pyapsp.device.sensors import Sample, Sensor

__all__ = ["Energy", "EnergyMeter", "mean_power"]

# Seconds between two readings of the sensor.
_INTERVAL = 0.02
_IDLE_SECONDS = 2.0
# Short runs are enqueued together, for so many seconds, without a wait of the host, and the most.
_TOGETHER, _MOST_TOGETHER = 0.02, 1000


@dataclass(frozen=True)
class Energy:
    """The energy of one launch, or of one run, of a train."""

    # All energy of the device during a launch; None without a sensor.
    joules: float | None
    idle_joules: float | None  # the part that an idle device uses in the same time
    # Mean power, and the largest reading.
    watts: float | None
    peak_watts: float | None
    # Of the energy, as a fraction of it: the difference between the counter and the integral of the
    # power, if there are both, or how well the ends of the train are known.
    error: float | None
    seconds: float  # of one launch
    # Of the train.
    launches: int
    samples: int


class EnergyMeter:
    """Measures the energy of launches with a sensor.

    Parameters
    ----------
    sensor : Sensor
    seconds : float
        How long a train is.

    Raises
    ------
    SensorError
        If the sensor cannot be read.
    """

    def __init__(self, sensor: Sensor, seconds: float = 5.0) -> None:
        self.sensor, self.seconds = sensor, seconds
        #: The mean power before the first train; None without a sensor.
        self.idle_watts: float | None = None
        first = sensor.sample()
        #: Whether the sensor shows anything; without one nothing is repeated.
        self.shows = first.joules is not None or first.watts is not None
        if self.shows:
            samples, _ = self._watched(lambda: time.sleep(min(seconds, _IDLE_SECONDS)))
            self.idle_watts, _ = mean_power(samples)

    def measure_runs(self, run: Callable[[int], object]) -> Energy:
        """Repeat runs, of which short ones follow each other, and return the energy of one.

        Parameters
        ----------
        run : callable
            Runs something so many times, and waits for the end of the last.

        Raises
        ------
        SensorError
            If the sensor cannot be read any more.
        """
        if not self.shows:
            return self.measure(lambda: run(1))
        run(1)
        begun = time.perf_counter()
        run(1)
        seconds = time.perf_counter() - begun
        together = min(max(round(_TOGETHER / max(seconds, 1e-9)), 1), _MOST_TOGETHER)
        return self.measure(lambda: run(together), together)

    def measure(self, launch: Callable[[], object], runs: int = 1) -> Energy:
        """Repeat a launch, which waits for its end, and return the energy of one.

        Parameters
        ----------
        launch : callable
        runs : int
            The runs of a launch; if there are more than one, the energy is that of a run.

        Raises
        ------
        SensorError
            If the sensor cannot be read any more.
        """
        if not self.shows:
            return Energy(None, None, None, None, None, 0.0, 0, 0)
        launches = 0

        def train() -> None:
            nonlocal launches
            end = time.perf_counter() + self.seconds
            while launches == 0 or time.perf_counter() < end:
                launch()
                launches += 1

        launch()  # the power has risen when the train begins
        samples, seconds = self._watched(train)
        watts, error = mean_power(samples)
        launches *= runs
        each = seconds / launches
        peak = max((sample.watts for sample in samples if sample.watts is not None), default=None)
        return Energy(
            joules=None if watts is None else watts * each,
            idle_joules=None if self.idle_watts is None else self.idle_watts * each,
            watts=watts,
            peak_watts=peak,
            error=error,
            seconds=each,
            launches=launches,
            samples=len(samples),
        )

    def _watched(self, work: Callable[[], object]) -> tuple[list[Sample], float]:
        """Do some work and read the sensor all the while."""
        samples, failures = [self.sensor.sample()], list[SensorError]()
        done = threading.Event()

        def watch() -> None:
            try:
                while not done.wait(_INTERVAL):
                    samples.append(self.sensor.sample())
            except SensorError as error:
                failures.append(error)

        watcher = threading.Thread(target=watch, daemon=True)
        begun = time.perf_counter()
        watcher.start()
        try:
            work()
            seconds = time.perf_counter() - begun
        finally:
            done.set()
            watcher.join()
        if failures:
            raise failures[0]
        samples.append(self.sensor.sample())
        return samples, seconds


def mean_power(samples: Sequence[Sample]) -> tuple[float | None, float | None]:
    """Return the mean power of some samples, and its error.

    Parameters
    ----------
    samples : sequence of Sample
        In the order of time.

    Returns
    -------
    watts : float or None
        From the counter if there is one, and else from the readings; None if there is neither.
    error : float or None
        As `Energy.error`.
    """
    by_counter, unsure = _by_counter(samples)
    by_readings = _by_readings(samples)
    if by_counter is None:
        return by_readings, None
    if by_readings is not None and by_counter > 0:
        return by_counter, max(abs(by_readings - by_counter) / by_counter, unsure)
    return by_counter, unsure


def _by_counter(samples: Sequence[Sample]) -> tuple[float | None, float]:
    """Return the power between the first and the last change of the counter, and its error."""
    changes = [
        (later.seconds, later.joules, later.seconds - sample.seconds)
        for sample, later in pairwise(samples)
        if later.joules is not None and later.joules != sample.joules
    ]
    if len(changes) < 2:
        return None, 0.0
    (begin, first, before), (end, last, after) = changes[0], changes[-1]
    # a change happened at some time since the sample before
    return (last - first) / (end - begin), (before + after) / (end - begin)


def _by_readings(samples: Sequence[Sample]) -> float | None:
    """Return the mean of the power readings over time."""
    shown = [(each.seconds, each.watts) for each in samples if each.watts is not None]
    if len(shown) < 2:
        return None
    joules = sum((a + b) / 2 * (later - time) for (time, a), (later, b) in pairwise(shown))
    return joules / (shown[-1][0] - shown[0][0])
