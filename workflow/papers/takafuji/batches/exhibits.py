"""Tables 3.6 to 3.9 of D. Takafuji's thesis, 2020: many graphs at once."""

from __future__ import annotations

from functools import partial

from papers.measured import Measured
from papers.published import Published
from papers.tables import Filled, Maker, Row
from papers.values import beside, milliseconds, ratio

__all__ = ["ROWS"]

_BATCHES = "takafuji-batches"
_GPU = "Tesla V100"
_TOGETHER, _OVERLAPPING = "together", "low latency"
_FORMS = ("multiple", "single")
_PAPER = Published("takafuji/batches")


def _places(measured: Measured, table: str) -> tuple[list[tuple[int, int]], int]:
    """Return every n and m with a published or measured value, and the largest m of ours."""
    ours = {(n, each["label"]["m"]) for n, each in measured.each_input(_BATCHES)}
    rows = _PAPER.rows(exhibit=table, quantity="computation time")
    return sorted(ours | {(row["n"], row["m"]) for row in rows}), max(m for _, m in ours)


def _ours(
    measured: Measured, n: int, m: int, bits: int, form: str, how: str, phase: str
) -> float | None:
    """Return milliseconds of one phase."""
    seconds = measured.phases(_BATCHES, n, m=m, bits=bits, form=form, how=how)
    return milliseconds(seconds.get(phase))


def _range(table: str, quantity: str) -> str:
    """Return the range that the text of the thesis gives."""
    low, high = (
        _PAPER.value(exhibit=table, quantity=f"{end} {quantity}") for end in ("smallest", "largest")
    )
    return f"{low} to {high}"


def _time(table: str, form: str, n: int, m: int) -> float | None:
    return _PAPER.value(exhibit=table, quantity="computation time", form=form, n=n, m=m)


def _launches(measured: Measured, bits: int, table: str) -> Filled:
    """Make table 3.6 or 3.7."""
    over = "speedup of single over multiple"
    places, most = _places(measured, table)
    rows = []
    for n, m in places:
        ours = {
            form: _ours(measured, n, m, bits, form, _TOGETHER, "kernel")
            for form in (*_FORMS, "ours")
        }
        theirs = {form: _time(table, form, n, m) for form in _FORMS}
        best = min((time for time in ours.values() if time is not None), default=None)
        row: Row = {"n": n, "m": m}
        for form in _FORMS:
            row |= beside(form, ours[form], theirs[form], _GPU)
        if bits == 32:
            row["chosen for batches: ours"] = ours["ours"]
        speedup = _PAPER.value(exhibit=table, quantity=over, n=n, m=m)
        row |= beside(
            "multiple over single", ratio(ours["multiple"], ours["single"]), speedup, _GPU
        )
        row[f"single: {_GPU}, over the best: ours"] = ratio(theirs["single"], best)
        rows.append(row)
    return Filled(rows, {"range": _range(table, over), "most": most})


def _latency(measured: Measured, bits: int, table: str) -> Filled:
    """Make table 3.8 or 3.9."""
    places, most = _places(measured, table)
    rows = []
    for n, m in places:
        ours = {form: _ours(measured, n, m, bits, form, _TOGETHER, "total") for form in _FORMS}
        ours["low latency"] = _ours(measured, n, m, bits, "single", _OVERLAPPING, "total")
        together, chosen = (
            _ours(measured, n, m, bits, "ours", how, "total") for how in (_TOGETHER, _OVERLAPPING)
        )
        row: Row = {"n": n, "m": m}
        for form, time in ours.items():
            row |= beside(form, time, _time(table, form, n, m), _GPU)
        if bits == 32:
            row["chosen for batches, together: ours"] = together
            row["chosen for batches, low latency: ours"] = chosen
        for form in _FORMS:
            quantity = f"speedup of low latency over {form}"
            theirs = _PAPER.value(exhibit=table, quantity=quantity, n=n, m=m)
            gain = ratio(ours[form], ours["low latency"])
            row |= beside(f"{form} over low latency", gain, theirs, _GPU)
        if bits == 32:
            row["together over low latency, chosen: ours"] = ratio(together, chosen)
        rows.append(row)
    return Filled(rows, {"ranges": _ranges(table), "most": most})


def _ranges(table: str) -> str:
    return " and ".join(
        f"{_range(table, f'speedup of low latency over {form}')} times as fast as {form}"
        for form in _FORMS
    )


ROWS: dict[str, Maker] = {
    "table-3.6": partial(_launches, bits=32, table="table 3.6"),
    "table-3.7": partial(_launches, bits=4, table="table 3.7"),
    "table-3.8": partial(_latency, bits=32, table="table 3.8"),
    "table-3.9": partial(_latency, bits=4, table="table 3.9"),
}
