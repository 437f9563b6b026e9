"""Numbers of tables, which are None where they were not measured or not published."""

from __future__ import annotations

from typing import TypeAlias

__all__ = [
    "Parameters",
    "Value",
    "beside",
    "milliseconds",
    "percent",
    "ratio",
    "reduction",
    "times",
]

#: A value of a label, or of a published row.
Value: TypeAlias = int | float | str
#: Parameters of a method, or options of a call.
Parameters: TypeAlias = dict[str, int | str]


def times(factor: float, value: float | None) -> float | None:
    """Return a multiple of a number, or None for None."""
    return None if value is None else factor * value


def milliseconds(seconds: float | None) -> float | None:
    """Return seconds in milliseconds, or None for None."""
    return times(1e3, seconds)


def percent(part: float | None) -> float | None:
    """Return a part in per cent, or None for None."""
    return times(100, part)


def ratio(over: float | None, under: float | None) -> float | None:
    """Return a quotient, or None if one of the numbers is missing or zero."""
    return None if over is None or not under else over / under


def reduction(before: float | None, after: float | None) -> float | None:
    """Return the reduction of a time in per cent, or None if one time is missing."""
    quotient = ratio(after, before)
    return None if quotient is None else 100 * (1 - quotient)


def beside(
    what: str, ours: float | str | None, theirs: float | str | None, who: str = "published"
) -> dict[str, float | str | None]:
    """Return two columns: our value, and that of `who`."""
    return {f"{what}: ours": ours, f"{what}: {who}": theirs}
