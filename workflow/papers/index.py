"""All exhibits of all sources: what is published, what was measured, where, and with what verdict.

Made from the records of a checkout, ``data/records/DEVICE/papers/*.json``. An exhibit without a
record says what is missing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import pandas as pd

from papers import SOURCES
from papers.exhibits import cell
from papers.measured import Measured
from papers.source import Source
from papers.tables import Table

__all__ = ["Entry", "counted", "entries", "markdown", "recorded"]

_BAR = r"\|"
_KINDS = {"gpu": "a GPU", "cpu": "a CPU"}
_HEAD = (
    *("exhibit", "device", "date", "published", "ours", "ours / published, median"),
    *("verdicts on claims", "missing", "command"),
)
_VERDICTS = ("yes", "no", "not decided")


@dataclass(frozen=True)
class Entry:
    """An exhibit on a device, or one that no device has a record of."""

    source: str
    name: str
    title: str
    command: str  # what measures it
    # Empty without a record.
    device: str = ""
    date: str = ""
    # The number of published values and of ours.
    published: int = 0
    measured: int = 0
    # What, the published value, ours, and the median of ours over published.
    pair: tuple[str, float, float, float] | None = None
    # Claims by verdict: yes, no, not decided.
    verdicts: dict[str, list[str]] = field(default_factory=dict)
    missing: str = ""  # the kinds of devices without a record of it


def recorded(source: str, folder: Path) -> list[Measured]:
    """Return what records have of a source, for each device.

    Parameters
    ----------
    source : str
        The name of the source.
    folder : Path
        Has ``DEVICE/papers/EXPERIMENT-N.json``.

    Returns
    -------
    list of Measured
        Devices without a record of the source are left out.
    """
    found = (sorted(each.glob(f"papers/{source}-*.json")) for each in sorted(folder.iterdir()))
    return Measured.of_devices(source, filter(None, found))


def entries(folder: Path) -> Iterator[Entry]:
    """Yield each exhibit for each device that has a record of it, or once without.

    Parameters
    ----------
    folder : Path
        Has ``DEVICE/papers/EXPERIMENT-N.json``.
    """
    for source in SOURCES.values():
        devices = recorded(source.name, folder)
        for table in source.tables:
            yield from _of_table(source, table, devices)


def _of_table(source: Source, table: Table, devices: list[Measured]) -> Iterator[Entry]:
    having = [each for each in devices if table.experiment in each.documents]
    kinds = {each.device.get("kind") for each in having}
    missing = " and ".join(words for kind, words in _KINDS.items() if kind not in kinds)
    sizes = source.experiments[table.experiment].sizes
    if not having:
        title = " ".join(table.spec["title"].split())
        command = _command(table.experiment, sizes)
        yield Entry(source.name, table.name, title, command, missing=missing)
    for measured in having:
        exhibit = table.make(measured)
        published, ours = (
            sum(
                int(exhibit.table[column].notna().sum())
                for column in exhibit.table
                if is_of(column)
            )
            for is_of in (_is_published, _is_ours)
        )
        verdicts: dict[str, list[str]] = {}
        if "claims" in table.spec:
            published = ours = 0
            for row in exhibit.table.to_dict("records"):
                verdicts.setdefault(row["here: ours"], []).append(row["claim"])
        documents = measured.documents[table.experiment].values()
        yield Entry(
            source.name,
            table.name,
            exhibit.title,
            _command(table.experiment, measured.sizes(table.experiment)),
            f"{measured.device['name']}, {measured.device['platform']}",
            max(document.get("date", "") for document in documents),
            published,
            ours,
            None if verdicts else _pair(exhibit.table),
            verdicts,
            missing,
        )


def _command(experiment: str, sizes: Iterable[int]) -> str:
    [n, *more] = sizes
    others = f" (also -n {', '.join(map(str, more))})" if more else ""
    return f"python -m papers measure {experiment} -n {n}{others}"


def _is_ours(column: str) -> bool:
    return column.rpartition(": ")[2].startswith(("ours", "stand-in"))


def _is_published(column: str) -> bool:
    return ": " in column and not _is_ours(column)


def _pair(table: pd.DataFrame) -> tuple[str, float, float, float] | None:
    """Return what has most values of both, the pair in the middle, and the median quotient."""
    best: tuple[str, list[tuple[float, float]]] = "", []
    for column in filter(_is_published, table.columns):
        what = column.rpartition(": ")[0]
        ours_of = [each for each in table if each.startswith(f"{what}: ours")]
        if not ours_of:
            continue
        both = table[[ours_of[0], column]].apply(pd.to_numeric, errors="coerce").dropna()
        pairs = [(ours, theirs) for ours, theirs in both.itertuples(index=False) if theirs]
        if len(pairs) > len(best[1]):
            best = what, pairs
    what, pairs = best
    if not pairs:
        return None
    pairs.sort(key=lambda pair: pair[0] / pair[1])
    ours, theirs = pairs[len(pairs) // 2]
    return what, theirs, ours, median(ours / theirs for ours, theirs in pairs)


def counted(every: Iterable[Entry]) -> dict[str, int]:
    """Return the number of exhibits, with and without a record, on each device, and of verdicts."""
    listed = list(every)
    names = {(each.source, each.name) for each in listed}
    having = {(each.source, each.name) for each in listed if each.device}
    numbers = {
        "exhibits": len(names),
        "with a record": len(having),
        "without a record": len(names - having),
    }
    for device, count in Counter(each.device for each in listed if each.device).items():
        numbers[f"on {device}"] = count
    for verdict in _VERDICTS:
        numbers[f"claims judged {verdict!r}, on all devices"] = sum(
            len(each.verdicts.get(verdict, ())) for each in listed
        )
    return numbers


def markdown(folder: Path) -> str:
    """Return the page of all exhibits, made from the records in a folder."""
    every = list(entries(folder))
    lines = ["| | number |", "|---|---|"]
    lines += [f"| {what} | {number} |" for what, number in counted(every).items()]
    for source in SOURCES.values():
        lines += ["", f"## {source.title}", ""]
        lines += [_line(_HEAD), _line(["---"] * len(_HEAD))]
        lines += [_line(_cells(each)) for each in every if each.source == source.name]
    return "\n".join(lines) + "\n"


def _cells(entry: Entry) -> list[str]:
    published, ours, quotient = str(entry.published or ""), str(entry.measured or ""), ""
    if entry.pair is not None:
        what, theirs, own, middle = entry.pair
        published += f" values; {what}: {cell(theirs)}"
        ours += f" values; {what}: {cell(own)}"
        quotient = "" if math.isnan(middle) else f"{middle:.3g}"
    verdicts = [
        f"{len(entry.verdicts[each])} {each}: {'; '.join(entry.verdicts[each])}"
        for each in _VERDICTS
        if each in entry.verdicts
    ]
    return [
        entry.title,
        entry.device or "no record",
        entry.date,
        published,
        ours,
        quotient,
        ". ".join(verdicts),
        entry.missing and f"a record of {entry.missing}",
        f"`{entry.command}`",
    ]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(each.replace('|', _BAR) for each in cells)} |"
