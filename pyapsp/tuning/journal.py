"""What the tuner has measured so far, safe from a kill at any moment.

A journal is a file of JSON lines that only grows. A line that was cut short is passed over. One
line says that a parameter set is about to be measured, the next one what came out, so that a set
with which the process died twice is known, and is not tried a third time.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyapsp.tuning.space import Key, key

__all__ = ["Journal", "Outcome"]

_STATES = ("ok", "slow", "wrong", "failed")
_DEATHS = 2


@dataclass(frozen=True)
class Outcome:
    """What came out of one parameter set.

    Attributes
    ----------
    parameters : dict
    state : {"ok", "slow", "wrong", "failed"}
        "slow" is right, but was timed once at most, because it was far from the best.
    seconds : float or None
        In kernels: the median, or an estimate when slow.
    detail : str
        What was wrong or failed.
    """

    parameters: dict[str, int | str]
    state: str
    seconds: float | None = None
    detail: str = ""


class Journal:
    """The part of a journal file that is about one thing to be tuned.

    Parameters
    ----------
    path : Path
        The file; it need not exist, its folder must.
    subject : mapping
        What is tuned, on what, with what: lines about anything else are passed over.
    restart : bool
        Forget what was measured before.

    Attributes
    ----------
    outcomes : dict
        By parameter set (see `pyapsp.tuning.space.key`) what was measured.
    finals : dict
        By parameter set the seconds of a call, with its planning, for the best few.
    work : int or None
        How many units of the problem a run does.
    """

    def __init__(self, path: Path, subject: Mapping[str, Any], *, restart: bool = False) -> None:
        self._path, self._subject = path, dict(subject)
        self.outcomes: dict[Key, Outcome] = {}
        self.finals: dict[Key, float] = {}
        self.work: int | None = None
        if restart:
            self._append({"state": "restart"})
        else:
            self._read()

    def start(self, parameters: Mapping[str, int | str]) -> None:
        """Note that this set is about to be measured."""
        self._append({"state": "started", "parameters": dict(parameters)})

    def interrupt(self, parameters: Mapping[str, int | str]) -> None:
        """Note that the measurement ended for a reason that is not this set."""
        self._append({"state": "interrupted", "parameters": dict(parameters)})

    def finish(self, outcome: Outcome) -> None:
        """Note what came out."""
        self.outcomes[key(outcome.parameters)] = outcome
        self._append(asdict(outcome))

    def worked(self, work: int) -> None:
        """Note how many units of the problem a run does."""
        self.work = work
        self._append({"state": "worked", "work": work})

    def final(self, parameters: Mapping[str, int | str], seconds: float) -> None:
        """Note the seconds of a second, closer look."""
        self.finals[key(parameters)] = seconds
        self._append({"state": "called", "parameters": dict(parameters), "seconds": seconds})

    def _append(self, entry: dict[str, Any]) -> None:
        line = json.dumps({"subject": self._subject, **entry}) + "\n"
        with open(self._path, "ab+") as file:
            # what a kill cut short must not swallow this line
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
                parameters = dict(entry.get("parameters") or {})
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
                    self.finals[place] = float(entry["seconds"])
                elif state in _STATES:
                    started[place] = 0
                    seconds = entry["seconds"]
                    self.outcomes[place] = Outcome(
                        parameters,
                        state,
                        None if seconds is None else float(seconds),
                        str(entry["detail"]),
                    )
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue  # cut short
        for place, count in started.items():
            if count >= _DEATHS and place not in self.outcomes:
                detail = "the process died with it, twice"
                self.outcomes[place] = Outcome(dict(place), "failed", None, detail)
