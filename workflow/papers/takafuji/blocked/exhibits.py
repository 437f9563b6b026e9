"""Tables of D. Takafuji's thesis, 2020, chapter 3: one launch or many, packed words or not."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from statistics import median
from typing import Any

from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Exhibit, Line, Made, Row, Rows, Table, table_of
from papers.values import Value, milliseconds, ratio

__all__ = ["EXHIBITS"]

_THREADS, _PACKED = "takafuji-threads", "takafuji-packed"
_MULTICORE = "takafuji-multicore"
_GPU, _CPU = "Tesla V100", "18-core Skylake-X"
_BEST = "best"
# column -> its names in our records and in the published rows
_LAUNCHES: dict[str, tuple[dict[str, Value], dict[str, Value]]] = {
    "multiple": ({"method": "fw-multikernel"}, {"method": "fw-multikernel"}),
    "single": ({"method": "fw-singlekernel"}, {"method": "fw-singlekernel"}),
}
_PACKED_LAUNCHES: dict[str, tuple[dict[str, Value], dict[str, Value]]] = {
    "multiple": ({"method": "fw-packed4", "single": 0}, {"method": "fw-packed4", "single": 0}),
    "single": ({"method": "fw-packed4", "single": 1}, {"method": "fw-packed4", "single": 1}),
}


def _published() -> Published:
    return Published("takafuji/blocked")


def _by_threads(
    measured: Measured,
    experiment: str,
    exhibit: str,
    columns: Mapping[str, tuple[dict[str, Value], dict[str, Value]]],
) -> list[dict[str, Any]]:
    """Return the rows of tables 3.1 and 3.2: a time for each n and number of threads."""
    times = {"exhibit": exhibit, "quantity": "computation time"}
    rows = []
    for n in sorted({*measured.sizes(experiment), *_published().sizes(exhibit=exhibit)}):
        threads = {run["label"]["threads"] for run in measured.runs(experiment, n)}
        threads |= {row["threads"] for row in _published().rows(n=n, **times)}
        of_n: list[Row] = []
        for count in sorted(threads):
            row: Row = {"n": n, "threads": count}
            for name, (ours, theirs) in columns.items():
                row[f"{name}: ours"] = milliseconds(
                    measured.seconds(experiment, n, threads=count, **ours)
                )
                row[f"{name}: {_GPU}"] = _published().value(n=n, threads=count, **times, **theirs)
            of_n.append(row)
        best: dict[str, Any] = {"n": n, "threads": _BEST}
        for who in ("ours", _GPU):
            for name in columns:
                known = [row[f"{name}: {who}"] for row in of_n]
                best[f"{name}: {who}"] = min((t for t in known if t is not None), default=None)
            quotient = ratio(best[f"multiple: {who}"], best[f"single: {who}"])
            best[f"multiple over single: {who}"] = quotient
        rows += [*of_n, best]
    return rows


def _ordered(rows: list[Row]) -> list[dict[str, Any]]:
    """Merge our values and the published ones, in the order of the columns."""
    names = [f"{n}: {w}" for n in ("multiple", "single") for w in ("ours", _GPU)]
    names += [f"multiple over single: {who}" for who in ("ours", _GPU)]
    return [{name: row.get(name) for name in ("n", "threads", *names)} for row in rows]


def _threads_exhibit(
    measured: Measured, experiment: str, name: str, title: str, caption: str
) -> Exhibit:
    columns = _LAUNCHES if experiment == _THREADS else _PACKED_LAUNCHES
    table = table_of(_ordered(_by_threads(measured, experiment, name.replace("-", " "), columns)))
    lines = [
        Line(f"{what}: {who}", who == _GPU, {"threads": _BEST}, f"{what}, best: {who}")
        for what in ("multiple", "single")
        for who in ("ours", _GPU)
    ]
    figure = Drawing("n", {"computation time (ms)": lines}, logarithmic="xy")
    return Exhibit(name, title, caption, table, figure)


_GROUPS = (
    "Threads are the work-items of a group; 1 stands for a device on which a group is a loop on "
    "one core, where vectors take the place of threads. Kernels without transfers, medians; the "
    "time does not depend on the graph."
)


def _table_3_1(measured: Measured) -> Exhibit:
    return _threads_exhibit(
        measured,
        _THREADS,
        "table-3.1",
        "Table 3.1: computation time with one launch and with several, in ms",
        f"fw-multikernel and fw-singlekernel, tiles of 32 x 32, int32. {_GROUPS}",
    )


def _table_3_2(measured: Measured) -> Exhibit:
    return _threads_exhibit(
        measured,
        _PACKED,
        "table-3.2",
        "Table 3.2: the same with eight 4-bit distances in a word, in ms",
        "fw-packed4 in one launch and in several. Our tiles are square, 64 x 64 and 128 x 128 (for "
        "more than 512 threads or n above 4096); there they are 8 x 64 and 16 x 128, and 1024 "
        f"threads are too many for the smaller ones. {_GROUPS}",
    )


def _table_3_3(measured: Measured) -> Rows:
    sizes = {*measured.sizes(_THREADS), *measured.sizes(_PACKED)}
    for n in sorted(sizes | _published().sizes(exhibit="table 3.3")):
        row: dict[str, float | None] = {"n": n}
        for name, experiment, method in (
            ("32 bits", _THREADS, "fw-singlekernel"),
            ("4 bits", _PACKED, "fw-packed4"),
        ):
            # both implementations transfer the same
            times = [run["transfer_seconds"] for run in measured.runs(experiment, n)]
            row[f"{name}: ours"] = milliseconds(median(times)) if times else None
            row[f"{name}: {_GPU}"] = _published().value(exhibit="table 3.3", n=n, method=method)
        for who in ("ours", _GPU):
            row[f"32 bits over 4 bits: {who}"] = ratio(
                row[f"32 bits: {who}"], row[f"4 bits: {who}"]
            )
        yield row


def _table_3_3_drawn(measured: Measured, columns: list[str]) -> Drawing:
    lines = [Line(f"{b}: {w}", w == _GPU) for b in ("32 bits", "4 bits") for w in ("ours", _GPU)]
    return Drawing("n", {"time of the transfers (ms)": lines}, logarithmic="xy")


def _table_3_10(measured: Measured) -> Rows:
    published = _published().rows(exhibit="table 3.10")
    places = {(row["method"], row["n"], row["threads"]) for row in published}
    places |= {
        (run["method"], n, run["label"]["cores"])
        for n in measured.sizes(_MULTICORE)
        for run in measured.runs(_MULTICORE, n)
    }
    for method, n, cores in sorted(places, key=lambda place: (len(place[0]), *place)):
        bits = int(method.removeprefix("fw-packed"))
        row: Row = {"bits": bits, "n": n, "threads": cores}
        for form, (name, theirs) in enumerate(
            (("packed words", "our func."), ("vectors", "AVX-512"))
        ):
            row[f"{name}: ours"] = milliseconds(
                measured.seconds(_MULTICORE, n, method=method, cores=cores, form=form)
            )
            row[f"{theirs}: {_CPU}"] = _published().value(
                exhibit="table 3.10", method=method, n=n, threads=cores, form=form
            )
        yield row


def _table_3_10_drawn(measured: Measured, columns: list[str]) -> Drawing:
    most = max(
        run["label"]["cores"]
        for n in measured.sizes(_MULTICORE)
        for run in measured.runs(_MULTICORE, n)
    )
    lines = [
        Line(column, who == _CPU, {"bits": bits, "threads": threads}, f"{column}, {bits} bits")
        for (name, who, threads), bits in product(
            (
                ("packed words", "ours", most),
                ("vectors", "ours", most),
                ("our func.", _CPU, 18),
                ("AVX-512", _CPU, 18),
            ),
            (8, 16),
        )
        for column in (f"{name}: {who}",)
    ]
    return Drawing("n", {"computation time (ms)": lines}, logarithmic="xy")


EXHIBITS = (
    Made(_THREADS, _table_3_1),
    Made(_PACKED, _table_3_2),
    Table(
        _THREADS,
        "table-3.3",
        "Table 3.3: time of the transfers in ms",
        "To the device and back, from the runs of tables 3.1 and 3.2. Where device and host share "
        "one memory these are copies within it.",
        _table_3_3,
        _table_3_3_drawn,
    ),
    Table(
        _MULTICORE,
        "table-3.10",
        "Table 3.10: computation time on several cores of a CPU, in ms",
        "fw-packed8 and fw-packed16: fields of 8 or 16 bits added and compared with masks in "
        "32-bit words (there: our func.), or vectors of them (there: AVX-512). Threads are compute "
        "units of the device, of which a part is used where they are fewer than it has; there, "
        "threads of 18 cores with two each. The figure shows the most threads of ours, and 18 of "
        "theirs.",
        _table_3_10,
        _table_3_10_drawn,
    ),
)
