"""The microbenchmarks of `pyapsp profile device` as an experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from papers.experiment import Case, Experiment, Found, Request, Settings
from pyapsp.base.json import Record
from pyapsp.errors import VerificationError
from pyapsp.profiling.benchmarks.suite import profile_device

__all__ = ["Suite"]


@dataclass(frozen=True, kw_only=True)
class Suite(Experiment):
    """All microbenchmarks, n times; on CPUs, which have other bounds, the shorter selection."""

    metered: bool = True

    def cases(self, n: int, request: Request) -> Iterator[Case]:
        """Yield nothing: a benchmark has its own way to be timed."""
        yield from ()

    def needs(self, n: int, settings: Settings, limit: float) -> tuple[float, float]:
        """Return 4 GB, and an hour."""
        return 4e9, 3600

    def measure(self, n: int, request: Request) -> Found:
        """Measure the profile of the device n times.

        Raises
        ------
        VerificationError
            If an answer is wrong.
        """
        device = request.device
        found: Found = {"inputs": [], "runs": [], "left_out": [], "sensors": []}
        for number in range(n):

            def report(row: Record, number: int = number) -> None:
                request.progress(f"pass {number + 1}: {row.get('benchmark', row.get('error'))}")

            profile = cast(
                "dict[str, Any]",
                profile_device(
                    device, quick=device.traits.scalar_groups, meter=request.meter, report=report
                ),
            )
            about = {"megahertz": profile["device"]["megahertz"], "quick": profile["quick"]}
            reference: Record = {"what": "the answer of each benchmark, by NumPy"}
            found["inputs"].append(
                {"label": {"pass": number}, "n": n, "reference": reference, **about}
            )
            found["runs"] += [_run(row, number) for row in profile["results"]]
            for each in profile["failed"]:
                if each["wrong"]:
                    raise VerificationError(each["error"])
                found["left_out"].append({"part": each["part"], "why": each["error"]})
            if profile["sensor"] is not None:
                found["sensors"] = [profile["sensor"]]
        return found


def _run(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    label = {"benchmark": row["benchmark"], "pass": number, **row["parameters"]}
    return {**row, "label": label, "verified": True}
