"""A file with the measurements of the tuner, which survives a kill at any time.

A journal is a file of JSON lines; lines are only appended. An incomplete line is ignored. One line
is written before a parameter set is measured, and one with its outcome after. So a set that ended
the process twice is known, and is not tried again.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pyapsp.base.json import Json, Record
from pyapsp.registry import Parameters
from pyapsp.registry.tuning.objective import Cost
from pyapsp.registry.tuning.space import Key, key

__all__ = ["Journal", "Outcome"]

_STATES = ("ok", "slow", "wrong", "failed")
_DEATHS = 2


@dataclass(frozen=True)
class Outcome:
    """The outcome of one parameter set."""

    parameters: Parameters
    # "ok", "slow", "wrong" or "failed". "slow": the answer was right, but the set was timed at most
    # once, because it was much slower than the best.
    state: str
    seconds: float | None = None  # median time in kernels, or an estimate if slow
    detail: str = ""  # the wrong answer, or the error
    joules: float | None = None  # the energy of a run, if it was measured

    @property
    def cost(self) -> Cost:
        """What a run takes; an infinite time if it failed."""
        return Cost(math.inf if self.seconds is None else self.seconds, self.joules)


class Journal:
    """The lines of a journal file about one subject.

    Parameters
    ----------
    path : Path
        The file, which may not exist; its folder must exist.
    subject : mapping
        The method, device, versions and options that are tuned. Lines with others are ignored.
    restart : bool
        Ignore earlier measurements.

    Attributes
    ----------
    outcomes : dict
        Parameter set (see `pyapsp.registry.tuning.space.key`) -> its outcome.
    finals : dict
        Parameter set -> the cost of a whole call, with planning, for the best few.
    work : int or None
        The work of a run, in units of the problem.
    """

    def __init__(self, path: Path, subject: Mapping[str, Json], *, restart: bool = False) -> None:
        self._path, self._subject = path, dict(subject)
        self.outcomes: dict[Key, Outcome] = {}
        self.finals: dict[Key, Cost] = {}
        self.work: int | None = None
        if restart:
            self._append({"state": "restart"})
        else:
            self._read()

    def start(self, parameters: Mapping[str, int | str]) -> None:
        """Write that this set is about to be measured."""
        self._append({"state": "started", "parameters": dict(parameters)})

    def interrupt(self, parameters: Mapping[str, int | str]) -> None:
        """Write that the measurement was interrupted for a reason other than this set."""
        self._append({"state": "interrupted", "parameters": dict(parameters)})

    def finish(self, outcome: Outcome) -> None:
        """Write the outcome of a set."""
        self.outcomes[key(outcome.parameters)] = outcome
        self._append(asdict(outcome))

    def worked(self, work: int) -> None:
        """Write the work of a run, in units of the problem."""
        self.work = work
        self._append({"state": "worked", "work": work})

    def final(self, parameters: Mapping[str, int | str], cost: Cost) -> None:
        """Write the cost of a set in the final measurement."""
        self.finals[key(parameters)] = cost
        self._append({"state": "called", "parameters": dict(parameters), **cost._asdict()})

    def _append(self, entry: Record) -> None:
        line = json.dumps({"subject": self._subject, **entry}) + "\n"
        with open(self._path, "ab+") as file:
            # end a line that a kill left incomplete
            if file.tell() > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    line = "\n" + line
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> None:
        if not self._path.exists():
            return
        started: Counter[Key] = Counter()
        for line in self._path.read_bytes().splitlines():
            try:
                entry = json.loads(line)
                if entry["subject"] != self._subject:
                    continue
                state = entry["state"]
                parameters = Parameters(entry.get("parameters") or {})
                place = key(parameters)
                if state == "restart":
                    self.outcomes.clear()
                    self.finals.clear()
                    started.clear()
                elif state == "started":
                    started[place] += 1
                elif state == "interrupted":
                    started[place] = 0
                elif state == "worked":
                    self.work = int(entry["work"])
                elif state == "called":
                    self.finals[place] = Cost(float(entry["seconds"]), _number(entry["joules"]))
                elif state in _STATES:
                    started[place] = 0
                    self.outcomes[place] = Outcome(
                        parameters,
                        state,
                        _number(entry["seconds"]),
                        str(entry["detail"]),
                        _number(entry["joules"]),
                    )
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue  # cut short
        for place, count in started.items():
            if count >= _DEATHS and place not in self.outcomes:
                detail = "it ended the process twice"
                self.outcomes[place] = Outcome(Parameters(place), "failed", None, detail)


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
