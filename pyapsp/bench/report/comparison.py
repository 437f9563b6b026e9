"""The fastest method on each input, beside other packages; and why a run is slower than one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd

from pyapsp.bench.report.records import OVER

__all__ = [
    "NOT_RUN",
    "SPREAD",
    "STATES",
    "Beside",
    "beside",
    "count_states",
    "device_name",
    "fastest",
    "function",
    "is_once",
    "method_name",
    "of_areas",
    "reason",
    "seconds",
]

_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
# turns are far apart if the longest took more than so many times as long as the shortest
SPREAD = 1.5
# methods of a tie that are named
_NAMED = 3
# the columns of `fastest` with values of the run itself
_OF_THE_FASTEST = (
    *("method", "held_dtype", "kernel_seconds", "transfer_seconds", "wall_seconds", "turns"),
    *("least_seconds", "greatest_seconds"),
)
_COLUMNS = (
    *("problem", "input", "n", "dtype", "device", "platform", "place", "shown", "tied", "ties"),
    "taken",
    *_OF_THE_FASTEST,
    *("span", "wide", "calls", "compared", "same_type", "peer_seconds", "ratio", "even"),
    *("slower", "right", "count", "outcomes"),
)
#: What is said of "auto" where it was not run.
NOT_RUN = "not run"
#: The states of runs, in the order in which they are counted.
STATES = ("ok", "wrong", "unchecked", "refused", "failed")


class Beside(NamedTuple):
    """The fastest function of another package beside a run."""

    calls: str  # the function
    compared: str  # the function, with the type of its answer if the run has another
    same_type: bool  # whether both have the same type
    peer_seconds: float
    ratio: float  # its time, divided by that of the run
    # Whether a turn of one took as long as a turn of the other: then the difference can be chance.
    even: bool


def seconds(value: float) -> str:
    """Format a time with three digits."""
    if pd.isna(value):
        return ""
    rounded = float(f"{value:.3g}")
    unit, scale = next((each for each in _UNITS if rounded >= each[1]), _UNITS[-1])
    return f"{rounded / scale:.3g} {unit}"


def of_areas(runs: pd.DataFrame) -> pd.Series:
    """Return which runs are the example of an area: it has no methods, but is run as a whole."""
    return runs["problem"].eq(runs["method"])


def is_once(row: Any) -> bool:
    """Return whether the times of a run are those of one call."""
    return bool(pd.isna(row.turns) or row.turns == 1)


def function(peers: pd.DataFrame, problem: str, name: str, dtypes: pd.Series | None = None) -> str:
    """Return the function that was called of a package; its name if no record of it is there.

    Parameters
    ----------
    peers : pandas.DataFrame
        Those of `pyapsp.bench.report.records.Collected`.
    problem, name : str
    dtypes : pandas.Series, optional
        Types of answers. If the function has another type than one of them, it is said.
    """
    called = peers[peers["problem"].eq(problem) & peers["name"].eq(name)]
    if called.empty:
        return name
    words, own = str(called["calls"].iloc[0]), called["dtype"].iloc[0]
    said = ["one product"] if called["what"].iloc[0] == "product" else []
    if dtypes is not None and dtypes.ne(own).any():
        said.append(own)
    return f"{words} ({', '.join(said)})" if said else words


def device_name(device: str, platform: str) -> str:
    """Name a device and its driver: one processor can have several drivers."""
    return f"{device} ({platform} driver)" if platform else device


def method_name(row: Any) -> str:
    """Return the method of a row, with the type in which it computed if the answer has another."""
    if pd.isna(row.method):
        return "none"
    narrower = row.held_dtype != row.dtype
    return f"{row.method} ({row.held_dtype})" if narrower else str(row.method)


def count_states(runs: pd.DataFrame) -> dict[str, int]:
    """Return the number of runs in each state."""
    return {state: int(runs["status"].eq(state).sum()) for state in STATES}


def beside(run: pd.Series, peers: pd.DataFrame) -> Beside | None:
    """Return the fastest right answer of another package in the turns of a run; None without one.

    One with the type of the run comes before all others.
    """
    here = peers["bench"].eq(run.bench) & peers["problem"].eq(run.problem)
    here &= peers["input"].eq(run.input) & peers["n"].eq(run.n)
    there = peers[here & peers["what"].ne("product") & peers["verified"].eq(True)]
    there = there[[pd.notna(run.get(f"{OVER}{name}")) for name in there["name"]]]
    if there.empty:
        return None
    ratios = there["name"].map(lambda name: run[f"{OVER}{name}"])
    same = there["dtype"].eq(run["dtype"])
    place = (ratios[same] if same.any() else ratios).astype(float).idxmin()
    peer, ratio = there.loc[place], float(ratios[place])
    return Beside(
        calls=peer["calls"],
        compared=peer["calls"] if same[place] else f"{peer['calls']} ({peer['dtype']})",
        same_type=bool(same[place]),
        peer_seconds=ratio * run.wall_seconds,
        ratio=ratio,
        even=_alike(run, run.wall_seconds, peer, ratio * run.wall_seconds),
    )


def _alike(one: pd.Series, median: float, other: pd.Series, its: float) -> bool:
    """Return whether two times differ by no more than their turns: each has the other's median."""
    return bool(
        one.least_seconds <= its <= one.greatest_seconds
        and other.least_seconds <= median <= other.greatest_seconds
    )


def reason(run: Any, other: Beside | None) -> str:
    """Say what the time of a run goes into, if another package took less."""
    if other is None or other.ratio >= 1:
        return ""
    if other.even:
        return "as fast: within the turns"
    if pd.isna(run.kernel_seconds):
        return ""
    if run.kernel_seconds >= other.peer_seconds:
        return f"the kernels alone take {seconds(run.kernel_seconds)}"
    outside = run.wall_seconds - run.kernel_seconds
    copies = ""
    if pd.notna(run.transfer_seconds) and run.transfer_seconds > 0:
        copies = f" ({seconds(run.transfer_seconds)} in transfers, the rest on the host)"
    return f"{seconds(outside)} are outside kernels{copies}"


def fastest(runs: pd.DataFrame, peers: pd.DataFrame) -> pd.DataFrame:
    """Return the fastest method and the fastest other package on each input, type and device.

    Parameters
    ----------
    runs, peers : pandas.DataFrame
        Those of `pyapsp.bench.report.records.Collected`.

    Returns
    -------
    pandas.DataFrame
        A row for each problem, input, number type of the answer and device, the largest input of a
        problem first; areas, which have no methods, have none. Columns: problem, input, n, dtype;
        device, platform, and place, which says both where they are needed; values of the verified
        run with the fastest whole call (missing if none was verified): method, held_dtype,
        kernel_seconds, transfer_seconds, wall_seconds, turns, least_seconds, greatest_seconds;
        shown, the method with the type in which it computed; span, the times of its turns, or "one
        run"; wide, whether these are far apart (`SPREAD`); ties, the number of other methods that
        are `_alike`, and tied, the names of some; taken, the method that "auto" took, with its time
        in that of the fastest; the values of `Beside`; slower, the `reason`;
        right and count, the numbers of verified runs and of all runs; outcomes, the number of runs
        in each state, as in "5 of 6, 1 refused": 5 right.
    """
    rows = []
    groups = runs[~of_areas(runs)].groupby(["problem", "input", "n"], sort=False, dropna=False)
    for (problem, name, n), every in groups:
        for dtype, some in every.groupby("dtype"):
            for (device, platform), here in _on_devices(some):
                right = here[here["verified"].eq(True)]
                row = {"problem": problem, "input": name, "n": n, "dtype": dtype}
                row |= {"device": device, "platform": platform, "tied": "", "ties": 0}
                row |= {
                    "taken": "",
                    "span": "",
                    "wide": False,
                    "slower": "",
                    "right": len(right),
                    "count": len(here),
                }
                row["outcomes"] = _outcomes(here)
                if len(right):
                    run = right.loc[right["wall_seconds"].idxmin()]
                    other, near = beside(run, peers), _tied(run, right)
                    row |= {column: run[column] for column in _OF_THE_FASTEST}
                    row |= {"tied": _some(near), "ties": len(near), "span": _span(run)}
                    row["wide"], row["taken"] = _is_wide(run), _taken(run, right)
                    if not here["automatic"].eq(True).any():
                        row["taken"] = NOT_RUN
                    row |= {} if other is None else other._asdict()
                    row["slower"] = reason(run, other)
                rows.append(row)
    best = pd.DataFrame(rows, columns=list(_COLUMNS), dtype=object).sort_values(
        ["problem", "n"], ascending=[True, False], kind="stable", ignore_index=True
    )
    one = best["platform"].nunique() == 1
    best["place"] = [
        row.device if one else device_name(row.device, row.platform) for row in best.itertuples()
    ]
    best["shown"] = pd.Series([method_name(row) for row in best.itertuples()], dtype=object)
    return best.astype({"n": "Int64"})


def _span(run: pd.Series) -> str:
    """Say from which time to which the turns took, with the unit once if it is the same."""
    if is_once(run):
        return "one run"
    if pd.isna(run.least_seconds):
        return ""
    least, greatest = seconds(run.least_seconds), seconds(run.greatest_seconds)
    number, unit = least.split()
    return f"{number if greatest.endswith(f' {unit}') else least} to {greatest}"


def _is_wide(run: pd.Series) -> bool:
    """Return whether the turns of a run differ so much that its time says little."""
    return bool(run.greatest_seconds > SPREAD * run.least_seconds)


def _tied(fastest: pd.Series, runs: pd.DataFrame) -> list[str]:
    """Name the other methods that are as fast as the fastest."""
    names = pd.Series([method_name(row) for row in runs.itertuples()], runs.index)
    alike = [
        _alike(fastest, fastest.wall_seconds, run, run.wall_seconds) for _, run in runs.iterrows()
    ]
    near = names[alike]
    return list(near[near.ne(names[fastest.name])].unique())


def _taken(fastest: pd.Series, runs: pd.DataFrame) -> str:
    """Name the method that "auto" took, with its time in that of the fastest, or ""."""
    automatic = runs[runs["automatic"].eq(True)]
    if automatic.empty:  # its answer was not right
        return ""
    run = next(automatic.loc[[automatic["wall_seconds"].idxmin()]].itertuples())
    if run.Index == fastest.name:
        return "the fastest"
    times = run.wall_seconds / fastest.wall_seconds
    return f"{method_name(run)} ({times:.3g} x)"


def _some(names: list[str]) -> str:
    """Return names as text, the first ones if they are many."""
    if len(names) <= _NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} more"


def _outcomes(runs: pd.DataFrame) -> str:
    """Say how many runs are right, and how many are in each other state."""
    states = count_states(runs)
    right = f"{states.pop('ok')} of {len(runs)}"
    return ", ".join([right, *(f"{count} {state}" for state, count in states.items() if count)])


def _on_devices(runs: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield the runs on each device; a run that failed before it had one belongs to each."""
    nowhere = runs["platform"].eq("")
    if nowhere.all():
        yield (str(runs["device"].iloc[0]), ""), runs
    for (device, platform), _ in runs[~nowhere].groupby(["device", "platform"], sort=False):
        here = runs["device"].eq(device) & runs["platform"].eq(platform)
        yield (str(device), str(platform)), runs[here | nowhere]
