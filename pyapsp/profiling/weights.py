"""Fit the weights of the criteria to a device, from measured implementations of primitives.

The quality of the implementations of one primitive shall be proportional to their speedup. Between
primitives the quality says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.stats import spearmanr

from pyapsp.base.errors import ParameterError
from pyapsp.base.json import Record
from pyapsp.profiling.traces.criteria import WEIGHTS, Criteria

__all__ = ["Fit", "Sample", "correlation", "fit", "fitted"]

_NAMES = tuple(WEIGHTS)
_ROUNDS = 200
_SETTLED = 1e-9


@dataclass(frozen=True)
class Sample:
    """An implementation of a primitive: its criteria, all known, and its speedup."""

    primitive: str
    implementation: str
    criteria: Criteria
    speedup: float


@dataclass(frozen=True)
class Fit:
    """Fitted weights, and how well they explain the speedups."""

    weights: Mapping[str, int]  # multiples of 5, the largest 100
    r2: float  # the share of the variance of the scaled speedups that the quality explains
    # For each primitive, Spearman's correlation of quality and speedup; None if all its
    # implementations have the same quality or speedup.
    ranks: Mapping[str, float | None]
    # The root of the mean square error of the quality, in units of the speedup over the best of its
    # primitive, for primitives that the fit did not use.
    left_out: float


def fit(samples: Sequence[Sample]) -> Fit:
    """Return the weights with which the quality is most nearly proportional to the speedup.

    Parameters
    ----------
    samples : sequence of Sample
        Of at least two primitives, which have at least two implementations each.

    Raises
    ------
    ParameterError
        If there are too few samples, or a criterion of one is missing.
    """
    for each in samples:
        if missing := [name for name in _NAMES if name not in each.criteria.known()]:
            raise ParameterError(
                f"{each.implementation} of {each.primitive} has no value of {missing[0]}"
            )
    primitives = sorted({each.primitive for each in samples})
    alone = [p for p in primitives if sum(each.primitive == p for each in samples) < 2]
    if len(primitives) < 2 or alone:
        raise ParameterError(
            "weights need two primitives with two implementations each; "
            + (f"{alone[0]} has one" if alone else f"there are {len(primitives)} primitives")
        )
    values = np.array([[each.criteria.known()[name] for name in _NAMES] for each in samples])
    which = np.array([primitives.index(each.primitive) for each in samples])
    best = np.array([max(s.speedup for s in samples if s.primitive == p) for p in primitives])
    speed = np.array([each.speedup for each in samples]) / best[which]
    share, scale = _solve(values, which, speed, len(primitives))
    target, found = scale[which] * speed, values @ share
    wrong = ((target - found) ** 2).sum()
    spread = ((target - target.mean()) ** 2).sum()
    names = {each: which == number for number, each in enumerate(primitives)}
    rounded = np.round(share / share.max() * 20) * 5
    return Fit(
        {name: int(weight) for name, weight in zip(_NAMES, rounded, strict=True)},
        float(1 - wrong / spread) if spread else 1.0,
        {name: _rank(found[mine], speed[mine]) for name, mine in names.items()},
        _left_out(values, which, speed, len(primitives)),
    )


def fitted(rows: Sequence[Record]) -> Fit:
    """Return the weights that rows of `primitives.score` give.

    Raises
    ------
    ParameterError
        As `fit`.
    """
    samples = [
        Sample(
            str(row["primitive"]),
            str(row["implementation"]),
            Criteria(**cast("dict[str, float | None]", row["criteria"])),
            cast(float, row["speedup"]),
        )
        for row in rows
    ]
    several = [
        each for each in samples if sum(other.primitive == each.primitive for other in samples) > 1
    ]
    return fit(several)


def correlation(quality: Sequence[float], speedup: Sequence[float]) -> float:
    """Return Pearson's correlation of the qualities and the speedups of implementations."""
    return float(np.corrcoef(quality, speedup)[0, 1])


def _rank(quality: NDArray[np.float64], speedup: NDArray[np.float64]) -> float | None:
    if np.ptp(quality) == 0 or np.ptp(speedup) == 0:
        return None
    return float(spearmanr(quality, speedup)[0])


def _solve(
    values: NDArray[np.float64], which: NDArray[np.int64], speed: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights, whose sum is 1, and for each primitive the quality of its best."""
    share = np.full(len(_NAMES), 1 / len(_NAMES))
    scale = np.ones(count)
    for _ in range(_ROUNDS):
        found = values @ share
        square = np.bincount(which, speed**2, count)
        scale = np.bincount(which, found * speed, count) / np.where(square, square, 1)
        raw = nnls(values, scale[which] * speed)[0]
        new = raw / raw.sum()
        if np.abs(new - share).max() < _SETTLED:
            break
        share = new
    return share, scale


def _left_out(
    values: NDArray[np.float64], which: NDArray[np.int64], speed: NDArray[np.float64], count: int
) -> float:
    """Return the error for each primitive with the weights that the others give."""
    wrong = np.zeros(len(speed))
    for each in range(count):
        out = which == each
        share, _ = _solve(values[~out], which[~out], speed[~out], count)
        found = values[out] @ share
        scale = (found @ speed[out]) / (speed[out] @ speed[out])
        wrong[out] = found / scale - speed[out]
    return float(np.sqrt(np.mean(wrong**2)))
