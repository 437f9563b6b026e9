"""Tables 3.6 to 3.9 of D. Takafuji's thesis, 2020: many graphs at once."""

from __future__ import annotations

from functools import partial

from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Exhibit, Line, Made, table_of
from papers.values import Value, milliseconds, ratio

__all__ = ["EXHIBITS"]

_BATCHES = "takafuji-batches"
_GPU = "Tesla V100"
_TOGETHER, _OVERLAPPING = "together", "low latency"
_METHODS = {
    32: "fw-multikernel and fw-singlekernel on int32",
    4: "fw-packed4 in several launches and in one",
}


def _published(**where: Value) -> float | None:
    return Published("takafuji/batches").value(**where)


def _places(measured: Measured, table: str) -> list[tuple[int, int]]:
    """Return every n and m with a published or measured value."""
    rows = Published("takafuji/batches").rows(exhibit=table, quantity="computation time")
    places = {(row["n"], row["m"]) for row in rows}
    places |= {
        (n, given["label"]["m"])
        for n in measured.sizes(_BATCHES)
        for given in measured.inputs(_BATCHES, n)
    }
    return sorted(places)


def _ours(
    measured: Measured, n: int, m: int, bits: int, form: str, how: str, phase: str
) -> float | None:
    """Return milliseconds of one phase."""
    found = measured.phases(_BATCHES, n, m=m, bits=bits, form=form, how=how)
    return milliseconds(found.get(phase))


def _range(table: str, quantity: str) -> str:
    """Return the range that the text of the thesis gives."""
    low, high = (
        _published(exhibit=table, quantity=f"{end} {quantity}") for end in ("smallest", "largest")
    )
    return f"{low} to {high}"


def _launches(measured: Measured, bits: int, table: str) -> Exhibit:
    """Make table 3.6 or 3.7."""
    times = {"exhibit": table, "quantity": "computation time"}
    over = "speedup of single over multiple"
    rows = []
    for n, m in _places(measured, table):
        ours = {
            form: _ours(measured, n, m, bits, form, _TOGETHER, "kernel")
            for form in ("multiple", "single", "ours")
        }
        theirs = {form: _published(form=form, n=n, m=m, **times) for form in ("multiple", "single")}
        best = min((time for time in ours.values() if time is not None), default=None)
        row: dict[str, float | None] = {"n": n, "m": m}
        for form in ("multiple", "single"):
            row |= {f"{form}: ours": ours[form], f"{form}: {_GPU}": theirs[form]}
        if bits == 32:
            row["chosen for batches: ours"] = ours["ours"]
        row["multiple over single: ours"] = ratio(ours["multiple"], ours["single"])
        row[f"multiple over single: {_GPU}"] = _published(exhibit=table, quantity=over, n=n, m=m)
        row[f"single: {_GPU}, over the best: ours"] = ratio(theirs["single"], best)
        rows.append(row)
    values = table_of(rows)
    most = {"m": max(given["label"]["m"] for given in _all(measured))}
    lines = [Line(name, _GPU in name, most) for name in values.columns[2:] if "over" not in name]
    words = " with eight 4-bit distances in a word" if bits == 4 else ""
    ours_too = " Chosen for batches: fw-onegroup or fw-minplus, ours." if bits == 32 else ""
    return Exhibit(
        table.replace(" ", "-"),
        f"Table {table[6:]}: computation time for m graphs at once{words}, in ms",
        f"{_METHODS[bits]}, tiles and groups chosen for our device; in the thesis the best number "
        "of threads. Times from the start of the first kernel to the end of the last, with the "
        f"arrangement of the weights, without transfers; medians.{ours_too} The text says that one "
        f"launch is {_range(table, over)} times as fast. Drawn: m = {most['m']}.",
        values,
        Drawing("n", {"computation time (ms)": lines}, logarithmic="xy"),
    )


def _latency(measured: Measured, bits: int, table: str) -> Exhibit:
    """Make table 3.8 or 3.9."""
    times = {"exhibit": table, "quantity": "computation time"}
    forms = ("multiple", "single")
    rows = []
    for n, m in _places(measured, table):
        ours = {form: _ours(measured, n, m, bits, form, _TOGETHER, "total") for form in forms}
        ours["low latency"] = _ours(measured, n, m, bits, "single", _OVERLAPPING, "total")
        chosen, chosen_together = (
            _ours(measured, n, m, bits, "ours", how, "total") for how in (_OVERLAPPING, _TOGETHER)
        )
        row: dict[str, float | None] = {"n": n, "m": m}
        for form, time in ours.items():
            theirs = _published(form=form, n=n, m=m, **times)
            row |= {f"{form}: ours": time, f"{form}: {_GPU}": theirs}
        if bits == 32:
            row["chosen for batches, together: ours"] = chosen_together
            row["chosen for batches, low latency: ours"] = chosen
        for form in forms:
            name = f"{form} over low latency"
            row[f"{name}: ours"] = ratio(ours[form], ours["low latency"])
            quantity = f"speedup of low latency over {form}"
            row[f"{name}: {_GPU}"] = _published(exhibit=table, quantity=quantity, n=n, m=m)
        if bits == 32:
            row["together over low latency, chosen: ours"] = ratio(chosen_together, chosen)
        rows.append(row)
    values = table_of(rows)
    most = {"m": max(given["label"]["m"] for given in _all(measured))}
    lines = [Line(name, _GPU in name, most) for name in values.columns[2:] if "over" not in name]
    ranges = " and ".join(
        f"{_range(table, f'speedup of low latency over {form}')} times as fast as {form}"
        for form in forms
    )
    return Exhibit(
        table.replace(" ", "-"),
        f"Table {table[6:]}: time with transfers, together and with low latency, in ms",
        f"{_METHODS[bits]}. Multiple and single: all graphs are uploaded, computed and downloaded, "
        "one step after the other; low latency: these steps overlap for groups of graphs, with "
        "one launch each (in the thesis for single graphs). Clock of the host, with copies and "
        "buffers; medians. On a device that uses the memory of the host, there are no transfers "
        "to overlap. The text says that low latency "
        f"is {ranges}. Drawn: m = {most['m']}.",
        values,
        Drawing("n", {"time (ms)": lines}, logarithmic="xy"),
    )


def _all(measured: Measured) -> list[dict[str, dict[str, int]]]:
    """Return the facts about all batches."""
    return [given for n in measured.sizes(_BATCHES) for given in measured.inputs(_BATCHES, n)]


EXHIBITS = (
    Made(_BATCHES, partial(_launches, bits=32, table="table 3.6")),
    Made(_BATCHES, partial(_launches, bits=4, table="table 3.7")),
    Made(_BATCHES, partial(_latency, bits=32, table="table 3.8")),
    Made(_BATCHES, partial(_latency, bits=4, table="table 3.9")),
)
