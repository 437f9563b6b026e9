"""When the next checkpoint is due."""

from __future__ import annotations

from pyapsp.base.errors import ParameterError

__all__ = ["Interval"]


class Interval:
    """Decides when the next snapshot is due.

    Parameters
    ----------
    cost : float
        Seconds that a snapshot is expected to take.
    now : float
        The start of the run, in seconds of any clock.
    fraction : float, default 0.03
        The part of the run time that snapshots may take, in (0, 1].
    seconds : float, optional
        Ask for one that often instead, whatever it costs.

    Raises
    ------
    ParameterError
        If `fraction` or `seconds` is outside its rule.
    """

    def __init__(
        self, cost: float, now: float, *, fraction: float = 0.03, seconds: float | None = None
    ) -> None:
        if not 0 < fraction <= 1:
            raise ParameterError.of("fraction", "Interval", "in (0, 1]", fraction)
        if seconds is not None and not seconds >= 0:
            raise ParameterError.of("seconds", "Interval", "at least 0", seconds)
        self._fraction = fraction
        self._seconds = seconds
        self.saved(cost, now)

    def saved(self, cost: float, now: float) -> None:
        """Note that a snapshot was completed at `now` and took `cost` seconds."""
        self._last = now
        # cost / (pause + cost) is the fraction
        pause = cost * (1 / self._fraction - 1)
        self._pause = pause if self._seconds is None else self._seconds

    def due(self, now: float) -> bool:
        """Return whether it is time for a snapshot."""
        return now - self._last >= self._pause
