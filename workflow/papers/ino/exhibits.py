"""Figures of F. Ino et al., 2013: sweeps with one task at a time and with many."""

from __future__ import annotations

from functools import partial

from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Exhibit, Line, Made, table_of
from papers.values import Value, ratio

__all__ = ["EXHIBITS"]

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
# experiment -> its name there, what n is, its figures, and what is to be said
_APPLICATIONS = {
    "ino-neural": ("NN", "images", "7a", "8a", ""),
    "ino-paths": ("APSP", "vertices", "7b and 9", "8b", ""),
    "ino-histogram": ("JH", "slices", "7c and 10", "8c", " 32 volumes; slices of {} x {} pixels."),
    "ino-filter": ("GF", "pixels across", "7d and 11", "8d", " 32 images."),
}
_SCHEMES = (
    "Naive: neighbouring work-items run threads of one task; interleaved: they run different "
    "tasks. The paper compares 1 task at a time with 32. Many: as many tasks as fit. Auto: the "
    "scheme that pyapsp chooses. Times include transfers and arrangement, but not compiling. The "
    "times for 1 and 32 tasks at a time are measured on a sample of the tasks."
)


def _published() -> Published:
    return Published("ino")


def _each(measured: Measured, experiment: str, n: int, form: str) -> dict[str, float]:
    """Return microseconds of each phase for each task; none if there is no such run."""
    run = measured.run(experiment, n, **_FORMS[form])
    if run is None:
        return {}
    return {name: 1e6 * seconds / run["tasks"] for name, seconds in run["seconds"].items()}


def _slices(measured: Measured, experiment: str) -> str:
    """Return further facts about the inputs."""
    told = _APPLICATIONS[experiment][-1]
    if "{}" not in told:
        return told
    sizes = {
        given["pixels"]
        for n in measured.sizes(experiment)
        for given in measured.inputs(experiment, n)
    }
    return "".join(told.format(side, side) for side in sorted(sizes))


def _limit(exhibit: str, application: str) -> str:
    """Return the published limit of the memory."""
    rows = _published().rows(exhibit=exhibit, quantity="largest n", application=application)
    return "".join(
        f" In the paper, more than {row['value']} {row['unit']} did not fit the memory."
        for row in rows
    )


def _times(measured: Measured, experiment: str) -> Exhibit:
    application, what, figures, *_ = _APPLICATIONS[experiment]
    published = _published().rows(quantity="speedup", application=application)
    theirs = {each["n"]: each["value"] for each in published}
    rows = []
    for n in sorted({*measured.sizes(experiment), *theirs}):
        times = {form: _each(measured, experiment, n, form) for form in _FORMS}
        one, block, naive, interleaved, auto = times.values()
        chosen = measured.run(experiment, n, **_FORMS["auto"])
        given = measured.inputs(experiment, n)
        rows.append(
            {
                what: n,
                "tasks": given[0]["tasks"] if given else None,
                **{f"{form}, us a task: ours": each.get("total") for form, each in times.items()},
                "speedup of 32 tasks: ours": ratio(one.get("total"), block.get("total")),
                f"speedup of 32 tasks: {_GPU}": theirs.get(n),
                "speedup of their kernels: ours": ratio(one.get("kernel"), block.get("kernel")),
                "interleaved over naive, many: ours": ratio(
                    naive.get("total"), interleaved.get("total")
                ),
                "auto over naive, 1 task: ours": ratio(one.get("total"), auto.get("total")),
                "auto takes": chosen["scheme"] if chosen else None,
            }
        )
    table = table_of(rows)
    times_drawn = [Line(f"{form}, us a task: ours", name=form) for form in _FORMS]
    speedups = ["speedup of 32 tasks: ours", "interleaved over naive, many: ours"]
    speedups_drawn = [Line(name) for name in speedups]
    speedups_drawn.append(Line(f"speedup of 32 tasks: {_GPU}", published=True))
    panels = {"time of a task (us)": times_drawn, "speedup": speedups_drawn}
    name = figures.split()[-1]
    limit = _limit(f"figure {name}", application)
    return Exhibit(
        f"figure-{name}",
        f"Figure{'s' * ('and' in figures)} {figures}: execution times of {application}, in us for "
        "each task, and speedups",
        f"{_SCHEMES}{_slices(measured, experiment)} Of the plotted values the text gives the "
        f"speedups in the table, if any.{_said(application)}{limit}",
        table,
        Drawing(what, panels, logarithmic="xy"),
    )


def _said(application: str) -> str:
    """Return the speedups of kernels that the paper's text gives."""
    rows = _published().rows(exhibit="section 5.2")
    own = [row for row in rows if row["application"] == application]
    both = [row for row in rows if application in row["application"].split()]
    told = ", ".join(f"{row['quantity']} {row['value']}" for row in own or both)
    return f" For kernels the text gives: {told}."


def _breakdown(measured: Measured, experiment: str) -> Exhibit:
    application, what, _, figure, _ = _APPLICATIONS[experiment]
    rows = []
    for n in measured.sizes(experiment):
        alone = _each(measured, experiment, n, "naive, 1 task")
        for form in _FORMS:
            times = _each(measured, experiment, n, form)
            share = ratio(times.get("arrangement"), times.get("total"))
            rows.append(
                {
                    what: n,
                    "form": form,
                    **{f"{phase}, us a task: ours": times.get(phase) for phase in _PHASES},
                    "arrangement, %: ours": None if share is None else 100 * share,
                    "reduction of the readback: ours": ratio(
                        alone.get("readback"), times.get("readback")
                    ),
                    **_theirs(application, form),
                }
            )
    return Exhibit(
        f"figure-{figure}",
        f"Figure {figure}: breakdown of the execution times of {application}, in us for each task",
        "The runs of the figure before, by the clock of the device; the total is that of the host. "
        f"Phases may overlap.{_slices(measured, experiment)} Of the plotted values the text gives "
        f"two for NN and one for APSP, of the {_GPU} and the paper's n.",
        table_of(rows),
    )


def _theirs(application: str, form: str) -> dict[str, float | None]:
    """Return the values of a breakdown that the paper's text gives."""
    here = {"exhibit": "figure 8", "application": application}
    known = form == "interleaved, 32 tasks"
    quantities = {"arrangement, %": "arrangement", "reduction of the readback": None}
    return {
        f"{name}: {_GPU}": _published().value(quantity=quantity or name, **here) if known else None
        for name, quantity in quantities.items()
    }


EXHIBITS = tuple(
    Made(experiment, partial(make, experiment=experiment))
    for experiment in _APPLICATIONS
    for make in (_times, _breakdown)
)
