"""Read the records of solves and benches into data frames.

A run that was both solved and timed by a bench is one row. It has the times of the bench, and
counts as verified only if both answers were right. A bench that times "auto" and the method that
"auto" chose times one run twice: its row has the turns of both.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeGuard, cast

import pandas as pd

from pyapsp.base.errors import FormatError
from pyapsp.base.json import Json, Record
from pyapsp.bench.report.graphs import described
from pyapsp.registry import methods

__all__ = ["OVER", "Collected", "collect"]

#: The prefix of the names of speed-up columns; the name of the package follows.
OVER = "over_"

# column -> keys of its value in a record, from the outermost to the innermost
# What tells runs apart comes first.
_RUN = {
    "problem": ("problem",),
    "unit": ("unit",),
    "input": ("input", "name"),
    "n": ("input", "n"),
    "method": ("method",),
    "automatic": ("automatic",),
    "options": ("set",),
    "dtype": ("dtype",),
    "held_dtype": ("held_dtype",),
    "device": ("device", "name"),
    "platform": ("device", "platform"),
    "status": ("status",),
    "wall_seconds": ("wall_seconds",),
    "why": ("why",),
    "kernel_seconds": ("kernel_seconds",),
    "transfer_seconds": ("transfer_seconds",),
    "turns": ("repeat",),
    "rate": ("rate",),
    "fraction_of_roof": ("fraction_of_roof",),
    "m": ("input", "m"),
    "max_error": ("max_error",),
    "verified": ("verified",),
    "verified_by": ("oracle",),
}
# the whole calls of the shortest and of the longest turn
_RANGE = ("least_seconds", "greatest_seconds")
# the columns of medians -> the phase of which a record has the time of each turn
_PHASES = {"wall_seconds": "wall", "kernel_seconds": "kernel", "transfer_seconds": "transfer"}
# the columns of medians -> the columns, by how they begin, that are something divided by them
_OF_TIME: dict[str, str | tuple[str, ...]] = {
    "wall_seconds": OVER,
    "kernel_seconds": ("rate", "fraction_of_roof"),
    "transfer_seconds": (),
}
# optional: an input may not be a graph; a bench adds turns and roof, a check adds the error
_OPTIONAL = {
    *("m", "automatic", "options", "held_dtype", "turns", "fraction_of_roof"),
    *("max_error", "verified_by", "status", "why"),
}
# the columns that a record of a run that gave no answer has
_ALWAYS = {"problem", "input", "method", "dtype", "device"}
#: States of runs that gave no answer.
_WITHOUT_ANSWER = ("refused", "failed")
_NUMBERS = (
    *("kernel_seconds", "transfer_seconds", "wall_seconds"),
    *("rate", "fraction_of_roof", "max_error"),
)
_SORTED = ["problem", "n", "input", "method", "options", "dtype", "device", "platform"]
_TEXTS = [
    name for name in (*_SORTED, "unit", "held_dtype", "verified_by", "status", "why") if name != "n"
]
_DEVICE = ("name", "platform", "kind", "driver", "version", "processor", "units", "memory")
_PEER = (
    *("problem", "input", "n", "name", "version", "what", "calls", "dtype"),
    *("median_seconds", *_RANGE, "rate", "verified", "oracle", "bench"),
)
_LEFT_OUT = ("problem", "input", "n", "what", "why")


@dataclass(frozen=True)
class Collected:
    """The values of records and benches; unknown values are missing."""

    # A row for each run, ordered by problem, size and name of the input, method, dtype, device and
    # platform. Columns: `problem`, `unit`, those of `pyapsp.bench.report.tables.RUNS`, and before
    # `why` one for each other package, its time divided by that of the run. Times are in seconds,
    # rates in units per second. `status` is ok, wrong, unchecked, or refused or failed: then there
    # is no answer, `why` has the reason, and what is not known of the device and the input is
    # missing. `automatic` says whether "auto" chose the method. `bench` is the number of the bench
    # that timed it.
    runs: pd.DataFrame
    # Other packages: problem, input, n, name, version, what, calls, dtype, median_seconds,
    # least_seconds, greatest_seconds, rate, verified, oracle, bench.
    peers: pd.DataFrame
    # name, platform, kind, driver, version, processor (for which kernels are compiled), units,
    # memory (bytes; the most that a record has).
    devices: pd.DataFrame
    graphs: pd.DataFrame  # the result of `pyapsp.bench.report.graphs.described`, without areas
    left_out: pd.DataFrame  # problem, input, n, what, why
    # name and version of the packages that the runs depend on, and of the host's processor.
    software: pd.DataFrame
    dates: tuple[str, ...]  # the days of the runs, the first day first
    asked: dict[str, str]  # what was asked of each problem beside its input, if something was


def collect(paths: Sequence[str | os.PathLike[str]]) -> Collected:
    """Collect records and benches.

    A run that was solved and also timed by a bench is one row, with the times of the bench (the
    last one, if there are several; of all turns that are the same run). It is verified if all
    answers were verified.

    Parameters
    ----------
    paths : sequence of path-like
        Files of ``pyapsp solve --record``, ``pyapsp verify -o`` and ``pyapsp bench -o``; at least
        one.

    Returns
    -------
    Collected

    Raises
    ------
    FormatError
        If a file is neither a record nor a document of a bench.
    """
    solved, timed, dates = [], [], set()
    benches: list[dict[str, list[Record]]] = []
    for path in map(Path, paths):
        document = _read(path)
        if isinstance(document, Mapping) and isinstance(date := document.get("date"), str):
            dates.add(date)
        if _is_bench(document):
            if document not in benches:
                benches.append(document)
            number = benches.index(document)
            timed += _each_once([_Run.of(record, path, number) for record in document["runs"]])
        else:
            solved.append(_Run.of(document, path))
    in_turns = {run.identity: run.row for run in timed}
    rows = [_both(run.row, in_turns.get(run.identity)) for run in solved]
    for run in solved:
        in_turns.pop(run.identity, None)
    rows += in_turns.values()
    _complete(rows)
    records = [run.record for run in [*solved, *timed] if run.row["status"] != "failed"]
    peers = [
        row | _range(row) | {"bench": number}
        for number, each in enumerate(benches)
        for row in each["peers"]
    ]
    return Collected(
        runs=_ordered(rows),
        peers=_frame(peers, _PEER),
        devices=_devices([_part(record, "device") for record in records]),
        # an area is run as a whole, and has no graph
        graphs=described(each for each in records if each["problem"] != each["method"]),
        left_out=_frame([row for each in benches for row in each["left_out"]], _LEFT_OUT),
        software=_software(records),
        dates=tuple(sorted(dates)),
        asked=_asked(records),
    )


def _asked(records: Iterable[Record]) -> dict[str, str]:
    """Say which options of the answer the runs of each problem had."""
    asked: dict[str, list[str]] = {}
    for record in records:
        sources, cutoff = record.get("sources"), record.get("cutoff")
        words = ["with predecessors"] if record.get("predecessors") is True else []
        if _is_whole(sources):
            words.append("from one vertex" if sources == 1 else f"from {sources:,} vertices")
        if _is_number(cutoff):
            words.append(f"up to the distance {cutoff:g}")
        asked.setdefault(str(record["problem"]), []).append(", ".join(words))
    several = {name: " or ".join(dict.fromkeys(each)) for name, each in asked.items()}
    return {name: words for name, words in several.items() if words}


@dataclass(frozen=True)
class _Run:
    """A record, and its row of the table."""

    record: Record
    row: Record

    @classmethod
    def of(cls, record: Json, path: Path, bench: int | None = None) -> _Run:
        """Find the values of the columns; `bench` is the number of the bench that timed the run."""
        row = {}
        answered = not (isinstance(record, Mapping) and record.get("status") in _WITHOUT_ANSWER)
        for name, keys in _RUN.items():
            value = record
            for key in keys:
                if isinstance(value, Mapping) and key in value:
                    value = value[key]
                elif name in _OPTIONAL or not (answered or name in _ALWAYS):
                    value = None
                else:
                    known = ".".join(keys)
                    raise FormatError(path, None, f"not a record of a run: no {known!r}")
            row[name] = value
        row["held_dtype"] = row["held_dtype"] or row["dtype"]
        row["options"] = _options(row["options"])
        row["automatic"] = row["automatic"] is True
        row["status"] = row["status"] or _state(row["verified"])
        for name in ("platform", "unit", "verified_by", "why"):
            row[name] = row[name] or ""
        assert isinstance(record, dict)  # it has the columns
        if (row["problem"], row["method"]) in _leaving_out():
            row["fraction_of_roof"] = None
        ratios = record.get("ratios", {})
        numbers = [row["n"], row["m"], row["turns"], *(row[name] for name in _NUMBERS)]
        numbers += [each for phase in _PHASES.values() for each in _turns(record, phase)]
        if not (
            isinstance(ratios, Mapping)
            and isinstance(record.get("environment", {}), Mapping)
            and all(isinstance(row[name], str) for name in _TEXTS)
            and (_is_whole(row["n"]) or not answered)
            and all(_is_whole(row[name]) or row[name] is None for name in ("n", "m", "turns"))
            and all(_is_number(each) or each is None for each in (*numbers, *ratios.values()))
            and row["verified"] in (True, False, None)
        ):
            raise FormatError(path, None, "not a record of a run: a field is of another kind")
        over = {f"{OVER}{peer}": ratio for peer, ratio in ratios.items()}
        return cls(record, row | _range(record) | over | {"bench": bench})

    @property
    def identity(self) -> tuple[Json, ...]:
        """The key of a run: records of the same run have the same key."""
        arguments = [self.record.get(name) for name in ("predecessors", "sources", "cutoff")]
        columns = [self.row[name] for name in (*_SORTED, "held_dtype")]
        return (*columns, _part(self.record, "input").get("hash"), *arguments)


def _each_once(runs: Sequence[_Run]) -> list[_Run]:
    """Put the runs of a bench with one identity, as of "auto" and its method, into one."""
    same: dict[tuple[Json, ...], list[_Run]] = {}
    for run in runs:
        same.setdefault(run.identity, []).append(run)
    return [_together(some) if len(some) > 1 else some[0] for some in same.values()]


def _together(runs: Sequence[_Run]) -> _Run:
    """Put the turns of runs into one; those of the last one, if not all turns are known."""
    rows, row = [run.row for run in runs], dict(runs[-1].row)
    if all(_turns(run.record, phase) for run in runs for phase in _PHASES.values()):
        for name, phase in _PHASES.items():
            turns = [each for run in runs for each in _turns(run.record, phase)]
            median = statistics.median(turns)
            row |= {name: median, "turns": len(turns)}
            for ratio in (each for each in row if each.startswith(_OF_TIME[name])):
                row[ratio] = _for_another(rows, ratio, name, median)
        row |= _range({"times": {"wall": [each for run in runs for each in _turns(run.record)]}})
    row |= _verdict(rows) | {"automatic": any(each["automatic"] for each in rows)}
    return _Run(runs[-1].record, row | {"status": _state(row["verified"])})


def _for_another(rows: Sequence[Record], ratio: str, seconds: str, median: float) -> float | None:
    """Return a ratio to a time for another time; None if a row has none."""
    known = [
        value * time
        for row in rows
        if _is_number(value := row[ratio]) and _is_number(time := row[seconds])
    ]
    return statistics.fmean(known) / median if len(known) == len(rows) and median else None


def _verdict(rows: Sequence[Record]) -> Record:
    """Return whether all answers were right, and the largest error."""
    # false if an answer was wrong; else missing if one was not verified
    verdicts = [row["verified"] for row in rows]
    errors = [row["max_error"] for row in rows if _is_number(row["max_error"])]
    return {
        "verified": False if False in verdicts else None if None in verdicts else True,
        "max_error": max(errors, default=None),
    }


@cache
def _leaving_out() -> frozenset[tuple[str, str]]:
    """Return the problems and ids of methods whose updates the roof does not bound.

    They count n² for each row, and do fewer: a fraction of the roof would say nothing.
    """
    return frozenset(
        (each.problem, each.id) for each in methods() if each.area != "all_pairs/dense"
    )


def _read(path: Path) -> Json:
    try:
        document: Json = json.loads(path.read_text(encoding="utf-8"))
        return document
    except json.JSONDecodeError as error:
        raise FormatError(path, error.lineno, f"not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(path, None, str(error)) from None


def _part(record: Record, name: str) -> Record:
    """Return an object of a record; {} if it has none."""
    part = record.get(name, {})
    assert isinstance(part, dict)
    return part


def _turns(record: Record, phase: str = "wall") -> list[float]:
    """Return the times of each turn, by default of the whole call; [] if a record has none."""
    times = record.get("times")
    found = times.get(phase) if isinstance(times, Mapping) else None
    return cast("list[float]", found) if isinstance(found, list) else []


def _range(record: Record) -> Record:
    """Return the times of the shortest and of the longest turn."""
    walls = [wall for wall in _turns(record) if _is_number(wall)]
    return dict(zip(_RANGE, (min(walls), max(walls)) if walls else (None, None), strict=True))


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63


def _is_whole(value: Json) -> TypeGuard[int]:
    return isinstance(value, int) and _is_number(value)


def _is_bench(document: Json) -> TypeGuard[dict[str, list[Record]]]:
    """Whether this is a document of ``pyapsp bench``."""
    return isinstance(document, Mapping) and {"runs", "peers", "left_out"} <= document.keys()


def _both(solved: Record, timed: Record | None) -> Record:
    """Return the row of a run from its record of a solve and, if there is one, of a bench."""
    if timed is None:
        return solved
    both = _verdict([solved, timed])
    both["automatic"] = solved["automatic"] or timed["automatic"]
    texts = {name: solved[name] or timed[name] for name in ("verified_by", "why")}
    return solved | timed | both | texts | {"status": _state(both["verified"])}


def _state(verified: Json) -> str:
    """Return the state of a run with an answer."""
    return "unchecked" if verified is None else "ok" if verified else "wrong"


def _options(given: Json) -> Json:
    """Return the options of a method that were set, as text."""
    if not isinstance(given, Mapping):
        return "" if given is None else given
    return ", ".join(f"{name}={value}" for name, value in given.items())


def _complete(rows: Sequence[Record]) -> None:
    """Add what a run without an answer does not know, and other runs on the same input do."""
    for names, key in ((("n", "m"), "input"), (("unit",), "problem")):
        known = {row[key]: [row[name] for name in names] for row in rows if row[names[0]]}
        for row in rows:
            if not row[names[0]] and row[key] in known:
                row |= zip(names, known[row[key]], strict=True)


def _frame(rows: list[Record], columns: Iterable[str]) -> pd.DataFrame:
    """Make a table with these columns, without duplicate rows."""
    table = pd.DataFrame(rows, columns=list(columns), dtype=object)
    return table.drop_duplicates(ignore_index=True)


def _devices(found: list[Record]) -> pd.DataFrame:
    """List each device once: some drivers say that its memory is what is free at the time."""
    table = _frame(found, _DEVICE)
    same = [name for name in _DEVICE if name != "memory"]
    most = table.groupby(same, dropna=False, sort=False)["memory"].max().reset_index()
    return most[list(_DEVICE)]


def _ordered(rows: list[Record]) -> pd.DataFrame:
    """Make the table of runs."""
    more = dict.fromkeys([*_RANGE, *(name for row in rows for name in row)])
    added = [name for name in more if name not in _RUN]
    names = list(_RUN)
    names[names.index("why") : names.index("why")] = added
    runs = pd.DataFrame(rows, columns=names, dtype=object).sort_values(_SORTED, ignore_index=True)
    numbers = dict.fromkeys([*_NUMBERS, *added], float)
    # whole, or missing
    return runs.astype({"n": "Int64", "m": "Int64", "turns": "Int64"} | numbers)


def _software(records: list[Record]) -> pd.DataFrame:
    """List the packages that the runs depend on, each version once."""
    rows: list[Record] = []
    for record in records:
        own = {"pyapsp": record.get("pyapsp"), "commit": record.get("commit")}
        rows += [
            {"name": name, "version": version}
            for name, version in (own | _part(record, "environment")).items()
            if version is not None
        ]
    return _frame(rows, ("name", "version")).sort_values("name", kind="stable", ignore_index=True)
