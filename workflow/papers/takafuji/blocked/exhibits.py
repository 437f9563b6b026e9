"""Tables of D. Takafuji's thesis, 2020, chapter 3: one launch or many, packed words or not."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from statistics import median

from papers.measured import Measured
from papers.published import Published
from papers.tables import Filled, Maker, Row, Rows
from papers.values import Value, beside, milliseconds, ratio

__all__ = ["ROWS"]

_THREADS, _PACKED = "takafuji-threads", "takafuji-packed"
_MULTICORE = "takafuji-multicore"
_GPU, _CPU = "Tesla V100", "18-core Skylake-X"
_PAPER = Published("takafuji/blocked")
#: Column -> its names in our records and in the published rows.
_Columns = Mapping[str, Mapping[str, Value]]
_LAUNCHES = {
    "multiple": {"method": "fw-multikernel"},
    "single": {"method": "fw-singlekernel"},
}
_PACKED_LAUNCHES: _Columns = {
    "multiple": {"method": "fw-packed4", "single": 0},
    "single": {"method": "fw-packed4", "single": 1},
}


def _by_threads(measured: Measured, experiment: str, exhibit: str, columns: _Columns) -> Rows:
    """Yield the times of table 3.1 or 3.2 for each n and number of threads, and the best."""
    times = {"exhibit": exhibit, "quantity": "computation time"}
    for n in sorted({*measured.sizes(experiment), *_PAPER.sizes(exhibit=exhibit)}):
        threads = {run["label"]["threads"] for run in measured.runs(experiment, n)}
        threads |= {row["threads"] for row in _PAPER.rows(n=n, **times)}
        of_n: list[dict[str, float | str | None]] = []
        for count in sorted(threads):
            at: Row = {"n": n, "threads": count}
            for name, label in columns.items():
                ours = measured.seconds(experiment, n, threads=count, **label)
                theirs = _PAPER.value(n=n, threads=count, **times, **label)
                at |= beside(name, milliseconds(ours), theirs, _GPU)
            of_n.append(at)
        yield from of_n
        best: dict[str, float | None] = {}
        for column in [f"{name}: {who}" for name in columns for who in ("ours", _GPU)]:
            known = [row[column] for row in of_n]
            best[column] = min(
                (time for time in known if isinstance(time, float | int)), default=None
            )
        quotients = {
            f"multiple over single: {who}": ratio(best[f"multiple: {who}"], best[f"single: {who}"])
            for who in ("ours", _GPU)
        }
        yield {"n": n, "threads": "best", **best, **quotients}


def _table_3_3(measured: Measured) -> Rows:
    sizes = {*measured.sizes(_THREADS), *measured.sizes(_PACKED)}
    for n in sorted(sizes | _PAPER.sizes(exhibit="table 3.3")):
        row: dict[str, float | None] = {"n": n}
        for name, experiment, method in (
            ("32 bits", _THREADS, "fw-singlekernel"),
            ("4 bits", _PACKED, "fw-packed4"),
        ):
            # both implementations transfer the same
            times = [run["transfer_seconds"] for run in measured.runs(experiment, n)]
            row[f"{name}: ours"] = milliseconds(median(times)) if times else None
            row[f"{name}: {_GPU}"] = _PAPER.value(exhibit="table 3.3", n=n, method=method)
        for who in ("ours", _GPU):
            quotient = ratio(row[f"32 bits: {who}"], row[f"4 bits: {who}"])
            row[f"32 bits over 4 bits: {who}"] = quotient
        yield row


def _table_3_10(measured: Measured) -> Filled:
    places = {
        (row["method"], row["n"], row["threads"]) for row in _PAPER.rows(exhibit="table 3.10")
    }
    ours = {(run["method"], n, run["label"]["cores"]) for n, run in measured.each_run(_MULTICORE)}
    rows = []
    for method, n, cores in sorted(places | ours, key=lambda place: (len(place[0]), *place)):
        row: Row = {"bits": int(method.removeprefix("fw-packed")), "n": n, "threads": cores}
        for form, (name, theirs) in enumerate(
            (("packed words", "our func."), ("vectors", "AVX-512"))
        ):
            at: dict[str, Value] = {"method": method, "form": form}
            row[f"{name}: ours"] = milliseconds(measured.seconds(_MULTICORE, n, cores=cores, **at))
            row[f"{theirs}: {_CPU}"] = _PAPER.value(exhibit="table 3.10", n=n, threads=cores, **at)
        rows.append(row)
    return Filled(rows, {"most_cores": max(cores for _, _, cores in ours)})


ROWS: dict[str, Maker] = {
    "table-3.1": partial(_by_threads, experiment=_THREADS, exhibit="table 3.1", columns=_LAUNCHES),
    "table-3.2": partial(
        _by_threads, experiment=_PACKED, exhibit="table 3.2", columns=_PACKED_LAUNCHES
    ),
    "table-3.3": _table_3_3,
    "table-3.10": _table_3_10,
}
