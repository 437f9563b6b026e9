"""The statements of [B] chapter 20 about times, answered by our measurements."""

from __future__ import annotations

import math
from functools import partial

from papers.claims import Answers, UnmeasuredError, Verdict, listed
from papers.measured import Measured

__all__ = [
    "CLAIMS",
]

_MINERS, _OVERLAP = "busato-mining-miners", "busato-mining-overlap"


def _faster(miner: str, phase: str, orders: int, measured: Measured) -> Verdict:
    """Answer whether Mangrove is up to so many orders of magnitude, rounded, faster."""
    gains = {}
    for n in measured.sizes(_MINERS)[-1:]:
        for run in measured.runs(_MINERS, n, miner=miner):
            label = {**run["label"], "miner": "mangrove"}
            own = measured.phases(_MINERS, n, **label).get(phase)
            if own:
                what = f"set {label['set']}, trace {label['trace']}"
                gains[what] = run["seconds"][phase] / own
    if not gains:
        raise UnmeasuredError(miner)
    best = max(gains, key=gains.__getitem__)
    return Verdict(round(math.log10(gains[best])) >= orders, f"{gains[best]:.3g}: {best}")


def _overlap(measured: Measured) -> Verdict:
    for n in measured.sizes(_OVERLAP)[-1:]:
        on, off = (measured.phases(_OVERLAP, n, overlap=each) for each in ("on", "off"))
        if on and off:
            # the transfers and more
            holds = off["wall"] - on["wall"] > off["transfer"]
            times = {
                "with": on["wall"],
                "without": off["wall"],
                "transfers": off["transfer"],
                "mining": off["kernel"],
            }
            ms = listed({name: 1e3 * seconds for name, seconds in times.items()})
            return Verdict(holds, f"ms: {ms}")
    raise UnmeasuredError(_OVERLAP)


#: Number of a statement -> its judge.
CLAIMS: Answers[Measured] = {
    "MI1": partial(_faster, "Daikon", "wall", 4),
    "MI2": partial(_faster, "parallel", "kernel", 3),
    "MI3": _overlap,
}
