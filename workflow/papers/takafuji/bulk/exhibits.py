"""Figures of D. Takafuji's thesis, 2020, chapter 4: bulk execution, and the memory machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from papers.measured import Measured
from papers.published import Published
from papers.tables import Filled, Maker, Row, Rows
from papers.values import Value, beside, milliseconds, ratio, times

__all__ = ["ROWS"]

_GPU = "GTX Titan"
_ARRANGEMENTS = ("column", "row")
# experiment -> figures of the computing time and of the groups
_FIGURES = {
    "takafuji-sort": ("4.10", "4.15"),
    "takafuji-warshall": ("4.11", "4.16"),
    "takafuji-montgomery": ("4.12", "4.17"),
}
_PAPER = Published("takafuji/bulk")


def _line(
    measured: Measured, experiment: str, n: int, arrangement: str, what: str
) -> tuple[float | None, float | None]:
    """Return a and b of the time a + b p in seconds, or two missing values."""
    for about in measured.inputs(experiment, n):
        if arrangement in about["lines"]:
            a, b = about["lines"][arrangement][what]
            return a, b
    return None, None


def _at(line: tuple[float | None, float | None], p: int) -> float | None:
    """Return the time of p instances."""
    a, b = line
    return None if a is None or b is None else a + b * p


def _counts(measured: Measured, experiment: str) -> set[tuple[int, int]]:
    """Return every measured n and p."""
    return {
        (n, run["label"]["p"]) for n, run in measured.each_run(experiment) if "p" in run["label"]
    }


def _times(measured: Measured, experiment: str, figure: str) -> Filled:
    exhibit = {"exhibit": f"figure {figure}"}
    theirs = {"quantity": "computing time", **exhibit}
    speedup = {"quantity": "speedup over one core", **exhibit}
    places = _counts(measured, experiment)
    rows: list[Row] = []
    for n, p in sorted(places | {(row["n"], row["p"]) for row in _PAPER.rows(**theirs)}):
        phases, row = (
            measured.phases(experiment, n, arrangement=each, p=p) for each in _ARRANGEMENTS
        )
        column, row_wise = phases.get("kernel"), row.get("kernel")
        core = measured.run(experiment, n, arrangement="none")
        alone = core["seconds"]["kernel"] / core["p"] * p if core and column else None
        model = [
            _at(_line(measured, experiment, n, each, "predicted"), p) if column else None
            for each in _ARRANGEMENTS
        ]
        gain, published = ratio(alone, column), _PAPER.value(n=n, p=p, **speedup)
        rows.append(
            {
                "n": n,
                "p": p,
                **beside(
                    "column-wise, ms",
                    milliseconds(column),
                    _PAPER.value(n=n, p=p, **theirs),
                    _GPU,
                ),
                "row-wise, ms: ours": milliseconds(row_wise),
                "column-wise with transfers, ms: ours": milliseconds(
                    sum(phases.values()) if phases else None
                ),
                "one core, ms: ours": milliseconds(alone),
                **beside("one core over column-wise", gain, published, _GPU),
                "one core over row-wise: ours": ratio(alone, row_wise),
                "row-wise over column-wise: ours": ratio(row_wise, column),
                "row-wise over column-wise, predicted: ours": ratio(model[1], model[0]),
                "column-wise, predicted, ms: ours": milliseconds(model[0]),
                "row-wise, predicted, ms: ours": milliseconds(model[1]),
            }
        )
    lowest = _PAPER.rows(quantity="least speedup over one core from here on", **exhibit)
    least = "".join(
        f" There the speedup is more than {each['value']} from p = {each['p']} on."
        for each in lowest
    )
    return Filled(rows, {"least": least})


def _model(measured: Measured, experiment: str, figure: str) -> Rows:
    exhibit = f"figure {figure}"
    for n in sorted({*measured.sizes(experiment), *_PAPER.sizes(exhibit=exhibit, quantity="a")}):
        about = (measured.inputs(experiment, n) or [{}])[0]
        machine, bounds = about.get("machine") or {}, about.get("bounds")
        most = max((p for size, p in _counts(measured, experiment) if size == n), default=0)
        slopes: list[list[float | None]] = []
        for arrangement in _ARRANGEMENTS:
            a, b = _line(measured, experiment, n, arrangement, "measured")
            expected = _line(measured, experiment, n, arrangement, "predicted")
            taken = measured.phases(experiment, n, arrangement=arrangement, p=most).get("kernel")
            memory, bounded = (
                bounds[what][arrangement] if bounds else None for what in ("memory", "seconds")
            )
            slopes.append([taken, _at(expected, most), bounded])
            here: dict[str, Value] = {"exhibit": exhibit, "n": n}
            there = {
                what: _PAPER.value(quantity=what, **here) if arrangement == "column" else None
                for what in ("a", "b")
            }
            row: Row = {
                "n": n,
                "arrangement": arrangement,
                "accesses t": about.get("accesses"),
                "width w": machine.get("width"),
                "latency l": machine.get("latency"),
                "a, ms: ours": milliseconds(a),
                "a, ms, predicted: ours": milliseconds(expected[0]),
                f"a, ms: {_GPU}": there["a"],
                "b, ns: ours": times(1e9, b),
                "b, ns, predicted: ours": None if b is None else times(1e9, expected[1]),
                f"b, ns: {_GPU}": there["b"],
                "largest p": most or None,
                "ms then: ours": milliseconds(taken),
                "ms then, predicted: ours": milliseconds(_at(expected, most)),
                "ms then, accesses alone: ours": milliseconds(memory),
                "ms then, arithmetic alone: ours": milliseconds(
                    bounds["computing"] if bounds else None
                ),
            }
            if arrangement == "row":
                row |= _compared(*(ratio(b, a) for a, b in zip(*slopes, strict=True)))
            yield row


def _compared(over: float | None, predicted: float | None, bounded: float | None) -> Row:
    """Return how much longer instances by rows take, measured and by both models."""
    row: Row = {"row-wise over column-wise: ours": over}
    for name, model in (("predicted", predicted), ("by the bounds", bounded)):
        off = ratio(model, over)
        row[f"row-wise over column-wise, {name}: ours"] = model
        row[f"{name}, off by, %"] = None if off is None else 100 * (off - 1)
    return row


def _groups(measured: Measured, experiment: str, figure: str) -> Filled:
    exhibit = {"exhibit": f"figure {figure}"}
    latencies = {"quantity": "latency", **exhibit}
    places = {(row["n"], row["b"]) for row in _PAPER.rows(**latencies)}
    places |= {(n, run["label"]["b"]) for n, run in measured.each_run(experiment)}
    rows: list[Row] = []
    for n, b in sorted(places):
        run = measured.run(experiment, n, b=b)
        seconds = run["seconds"] if run else {}
        speed = None
        if run:
            size = measured.input(experiment, n)["bytes"]
            speed = run["instances"] * size / seconds["total"] / 1e9
        largest = milliseconds(seconds.get("largest_latency"))
        row = {"n": n, "b": b, "GB/s: ours": speed}
        row["latency, ms: ours"] = milliseconds(seconds.get("latency"))
        row["largest latency, ms: ours"] = largest
        row[f"latency, ms: {_GPU}"] = _PAPER.value(n=n, b=b, **latencies)
        rows.append(row)
    return Filled(rows, {"full": _PAPER.value(quantity="throughput saturated from", **exhibit)})


def _rows() -> Iterator[tuple[str, Maker]]:
    makers: tuple[tuple[str, int, Callable[..., Filled | Rows], str], ...] = (
        ("", 0, _times, ""),
        ("-model", 0, _model, ""),
        ("", 1, _groups, "-groups"),
    )
    for experiment, figures in _FIGURES.items():
        for suffix, place, make, form in makers:
            figure = figures[place]
            yield (
                f"figure-{figure}{suffix}",
                partial(make, experiment=f"{experiment}{form}", figure=figure),
            )


ROWS: dict[str, Maker] = dict(_rows())
