"""Figures of F. Ino et al., 2013: sweeps with one task at a time and with many."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from papers.measured import Measured
from papers.published import Published
from papers.tables import Filled, Maker, Row
from papers.values import Value, beside, percent, ratio

__all__ = ["ROWS"]

_GPU = "GTX 580"
# what is in the columns -> how our records name it
_FORMS: dict[str, dict[str, Value]] = {
    "naive, 1 task": {"scheme": "naive", "at_once": 1},
    "interleaved, 32 tasks": {"scheme": "interleaved", "at_once": 32},
    "naive, many": {"scheme": "naive", "at_once": "all"},
    "interleaved, many": {"scheme": "interleaved", "at_once": "all"},
    "auto": {"scheme": "auto", "at_once": "all"},
}
_PHASES = ("upload", "arrangement", "kernel", "readback", "total")
# experiment -> its name there, what n is, its figures
_APPLICATIONS = {
    "ino-neural": ("NN", "images", "7a", "8a"),
    "ino-paths": ("APSP", "vertices", "9", "8b"),
    "ino-histogram": ("JH", "slices", "10", "8c"),
    "ino-filter": ("GF", "pixels across", "11", "8d"),
}
_PAPER = Published("ino")


def _each(measured: Measured, experiment: str, n: int, form: str) -> dict[str, float]:
    """Return microseconds of each phase for each task; none if there is no such run."""
    run = measured.run(experiment, n, **_FORMS[form])
    if run is None:
        return {}
    return {name: 1e6 * seconds / run["tasks"] for name, seconds in run["seconds"].items()}


def _sides(measured: Measured, experiment: str) -> str:
    """Return the sizes of the slices."""
    sides = {about.get("pixels", 0) for _, about in measured.each_input(experiment)}
    return "".join(f" 32 volumes; slices of {x} x {x} pixels." for x in sorted(sides) if x)


def _times(measured: Measured, experiment: str) -> Filled:
    application, what, figure, _ = _APPLICATIONS[experiment]
    published = _PAPER.rows(quantity="speedup", application=application)
    theirs = {each["n"]: each["value"] for each in published}
    rows: list[Row] = []
    for n in sorted({*measured.sizes(experiment), *theirs}):
        times = {form: _each(measured, experiment, n, form) for form in _FORMS}
        one, block, naive, interleaved, auto = (each.get("total") for each in times.values())
        kernels = [each.get("kernel") for each in times.values()]
        chosen = measured.run(experiment, n, **_FORMS["auto"])
        about = measured.inputs(experiment, n)
        rows.append(
            {
                what: n,
                "tasks": about[0]["tasks"] if about else None,
                **{f"{form}, us a task: ours": each.get("total") for form, each in times.items()},
                **beside("speedup of 32 tasks", ratio(one, block), theirs.get(n), _GPU),
                "speedup of their kernels: ours": ratio(*kernels[:2]),
                "interleaved over naive, many: ours": ratio(naive, interleaved),
                "auto over naive, 1 task: ours": ratio(one, auto),
                "auto takes": chosen["scheme"] if chosen else None,
            }
        )
    limits = _PAPER.rows(exhibit=f"figure {figure}", quantity="largest n", application=application)
    limit = "".join(
        f" In the paper, more than {row['value']} {row['unit']} did not fit the memory."
        for row in limits
    )
    words = {"sides": _sides(measured, experiment), "kernels": _of_kernels(application)}
    return Filled(rows, {**words, "limit": limit})


def _of_kernels(application: str) -> str:
    """Return the speedups of kernels that the paper's text gives."""
    rows = _PAPER.rows(exhibit="section 5.2")
    own = [row for row in rows if row["application"] == application]
    both = [row for row in rows if application in row["application"].split()]
    return ", ".join(f"{row['quantity']} {row['value']}" for row in own or both)


def _breakdown(measured: Measured, experiment: str) -> Filled:
    application, what, *_ = _APPLICATIONS[experiment]
    rows: list[Row] = []
    for n in measured.sizes(experiment):
        alone = _each(measured, experiment, n, "naive, 1 task")
        for form in _FORMS:
            times = _each(measured, experiment, n, form)
            row: Row = {what: n, "form": form}
            row |= {f"{phase}, us a task: ours": times.get(phase) for phase in _PHASES}
            share = percent(ratio(times.get("arrangement"), times.get("total")))
            row["arrangement, %: ours"] = share
            row["reduction of the readback: ours"] = ratio(
                alone.get("readback"), times.get("readback")
            )
            for name, quantity in (
                ("arrangement, %", "arrangement"),
                ("reduction of the readback", "reduction of the readback"),
            ):
                here = {"exhibit": "figure 8", "application": application, "quantity": quantity}
                known = form == "interleaved, 32 tasks"
                row[f"{name}: {_GPU}"] = _PAPER.value(**here) if known else None
            rows.append(row)
    return Filled(rows, {"sides": _sides(measured, experiment)})


def _rows() -> Iterator[tuple[str, Maker]]:
    for experiment, (*_, figure, breakdown) in _APPLICATIONS.items():
        yield f"figure-{figure}", partial(_times, experiment=experiment)
        yield f"figure-{breakdown}", partial(_breakdown, experiment=experiment)


ROWS: dict[str, Maker] = dict(_rows())
