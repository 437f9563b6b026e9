"""Tables and figures of [O], chapter 5."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from papers.claims import judged
from papers.measured import Measured
from papers.okuyama.flint.accuracy import DTYPES, ENGINES, WITHOUT
from papers.okuyama.flint.claims import OF_ACCURACY, OF_OUTPUT
from papers.okuyama.flint.models import FILE
from papers.okuyama.flint.output import STEPS
from papers.published import Published
from papers.runner import RunRecord
from papers.tables import Maker, Row, Rows
from papers.values import Value, beside, ratio, times
from pyapsp.simulation.layout import SUMS

__all__ = ["ROWS"]

_NAME, _NETWORKS = "okuyama-flint", "okuyama-flint-networks"
_OUTPUT, _ACCURACY = "okuyama-flint-output", "okuyama-flint-accuracy"
_GPU = "Tesla C2070"
# The devices of the thesis.
_DEVICES = {"host": "Core i7 930", "interpreter": _GPU, "translator": _GPU}
# The n of the published networks.
_PUBLISHED = 100
_ENGINES: dict[str, dict[str, str]] = {
    "host": {"engine": "host"},
    "interpreter": {"engine": "interpreter", "with": "sum"},
    "translator": {"engine": "translator", "program": "export"},
}
_PAPER = Published("okuyama/flint")


@dataclass(frozen=True)
class _Subject:
    """A model, its measurements, and where its published values are."""

    shown: str
    measured: Measured
    experiment: str
    n: int
    label: dict[str, str]
    published: dict[str, Value]

    def run(self, **label: str) -> RunRecord:
        """Return the record of a run; empty if there is none."""
        return self.measured.run(self.experiment, self.n, **self.label, **label) or {}

    def step(self, **label: str) -> float | None:
        """Return the seconds of a step."""
        return self.measured.phases(self.experiment, self.n, **self.label, **label).get("step")

    def fact(self, name: str) -> int | None:
        """Return a fact about the model."""
        for each in self.measured.inputs(self.experiment, self.n):
            if each["label"] == self.label:
                number: int = each[name]
                return number
        return None

    def value(self, exhibit: str, **where: Value) -> float | None:
        """Return a published value."""
        return _PAPER.value(exhibit=exhibit, **self.published, **where)


def _cells(n: int) -> str:
    return f"LR-{n}" if n > 1 else "Luo-Rudy"


def _lines(measured: Measured, exhibit: str, **published: Value) -> Iterator[_Subject]:
    """Yield lines of cells, with a measured or published value."""
    for n in sorted({*measured.sizes(_NAME), *_PAPER.sizes(exhibit=exhibit, model="")}):
        yield _Subject(_cells(n), measured, _NAME, n, {}, {"n": n, **published})


def _networks(measured: Measured, experiment: str = _NETWORKS) -> Iterator[_Subject]:
    """Yield the models that an experiment names."""
    for n, about in measured.each_input(experiment):
        name = about["label"]["model"]
        published: dict[str, Value] = {"model": "", "n": 1 if name == FILE else n}
        shown = name
        if name not in (FILE, _cells(n)):
            # of other sizes nothing is published
            shown = name if n == _PUBLISHED else f"{name}, n = {n}"
            published = {"model": shown, "n": ""}
        yield _Subject(shown, measured, experiment, n, about["label"], published)


def _named(measured: Measured, experiment: str, exhibit: str) -> Iterator[_Subject]:
    """Yield the models that an experiment names, and those with published values alone."""
    known = []
    for each in _networks(measured, experiment):
        known.append(each.published)
        yield each
    for row in _PAPER.rows(exhibit=exhibit):
        published = {"model": row["model"], "n": row["n"]}
        if published not in known:
            known.append(published)
            shown = row["model"] or _cells(row["n"])
            yield _Subject(shown, measured, experiment, 0, {"model": shown}, published)


def _both(measured: Measured, exhibit: str) -> Iterator[tuple[_Subject, Row]]:
    """Yield lines and networks, and the beginning of the row of each."""
    for each in (*_lines(measured, exhibit, model=""), *_networks(measured)):
        yield each, {"model": each.shown}


def _expressions(each: _Subject) -> Row:
    """Return the columns of tables 5.1, 5.6 and 5.7."""
    row: Row = {}
    for name in ("functions", "equations"):
        theirs = each.value("table 5.1", quantity=name)
        row |= beside(name, each.fact(name), theirs, "thesis")
    for kind, form in (("bytecodes", "sum"), ("shapes", "base"), ("shapes", "merge")):
        numbers = each.run(engine="interpreter", **{"with": form}).get(kind)
        ours = " -> ".join(map(str, numbers)) if isinstance(numbers, list) and numbers else None
        where = {} if kind == "bytecodes" else {"with": form}
        table = "table 5.7" if where else "table 5.6"
        theirs = each.value(table, quantity=kind, **where)
        row |= beside(f"{kind}, {form}" if where else kind, ours, theirs, "thesis")
    return row


def _models(measured: Measured) -> Rows:
    return ({"n": each.n, **_expressions(each)} for each in _lines(measured, "table 5.6"))


def _network_models(measured: Measured) -> Rows:
    return ({"model": each.shown, **_expressions(each)} for each in _networks(measured))


def _time(each: _Subject, engine: str) -> tuple[float | None, float | None]:
    """Return the time of a step without output in microseconds, and the published seconds."""
    return times(1e6, each.step(**_ENGINES[engine])), each.value("table 5.4", engine=engine)


def _of_time(each: _Subject, engine: str) -> Row:
    ours, seconds = _time(each, engine)
    theirs = None if seconds is None else 1e6 * seconds / STEPS
    return beside(f"{engine}, us a step", ours, theirs, _DEVICES[engine])


def _times(measured: Measured) -> Rows:
    for each in _lines(measured, "table 5.4"):
        row: Row = {"cells": each.n}
        for engine in _ENGINES:
            row |= _of_time(each, engine)
        for name, other in (("translator", "host"), ("translator", "interpreter")):
            (ours, theirs), (own, their_own) = _time(each, other), _time(each, name)
            gain, published = ratio(ours, own), ratio(theirs, their_own)
            row |= beside(f"{name} over {other}", gain, published, "thesis")
        yield row


def _optimised(measured: Measured) -> Rows:
    for n, run in measured.each_run(_NAME, engine="interpreter"):
        seconds = 1e6 * run["seconds"]["step"]
        yield {"n": n, "up to": run["label"]["with"], "us a step: ours": seconds}


def _compiled(measured: Measured) -> Rows:
    for each in _lines(measured, "table 5.8"):
        for program in ("base", "unify", "export"):
            run = each.run(engine="translator", program=program)
            theirs = each.value("table 5.8", **{"with": program})
            row: Row = {"n": each.n, "program": program}
            row |= beside("s", run.get("compile_seconds"), theirs, _GPU)
            yield {**row, "characters: ours": run.get("characters")}


def _errors(measured: Measured) -> Rows:
    for each in _named(measured, _ACCURACY, "table 5.9"):
        row: Row = {"model": each.shown, "steps: ours": each.fact("steps")}
        for name in ENGINES:
            error = each.run(engine=name, dtype="float64", sum="tree").get("error")
            row |= beside(name, error, each.value("table 5.9", engine=name), _GPU)
        yield row


def _sums(measured: Measured) -> Rows:
    for each in _networks(measured, _ACCURACY):
        for dtype in DTYPES:
            for name in ENGINES:
                row: Row = {"model": each.shown, "type": dtype, "engine": name}
                for kind in (WITHOUT, *SUMS[1:]):
                    run = each.run(engine=name, dtype=dtype, sum=kind)
                    row[f"{kind}: ours"] = run.get("error")
                yield row


def _course(measured: Measured) -> Rows:
    """Yield the errors of the largest network after some numbers of steps."""
    of_wang = [each for each in _networks(measured, _ACCURACY) if each.label["model"] == "Wang"]
    for last in of_wang[-1:]:
        runs = {
            f"{dtype}, {kind}": last.run(engine="interpreter", dtype=dtype, sum=kind)
            for dtype in DTYPES
            for kind in (WITHOUT, *SUMS[1:])
        }
        rows: dict[int, Row] = {}
        for name, run in runs.items():
            for end, error in zip(run.get("ends", ()), run.get("errors", ()), strict=True):
                rows.setdefault(end, {"model": last.shown, "steps": end})[f"{name}: ours"] = error
        yield from rows.values()


def _groups(measured: Measured) -> Rows:
    for each in _lines(measured, "figure 5.12"):
        groups = each.run(**_ENGINES["translator"]).get("groups")
        ours = " ".join(map(str, groups)) if isinstance(groups, list) and groups else None
        yield {"n": each.n, **beside("work-groups", ours, each.value("figure 5.12"), _GPU)}


def _network_times(measured: Measured) -> Rows:
    for each in _networks(measured):
        row: Row = {"model": each.shown}
        for name in _ENGINES:
            row |= _of_time(each, name)
        for program in ("unify", "export"):
            ours = each.run(engine="translator", program=program).get("compile_seconds")
            theirs = each.value("table 5.8", **{"with": program})
            row |= beside(f"{program}, s of compilation", ours, theirs, _GPU)
        yield row


def _with_output(measured: Measured) -> Rows:
    for each in _named(measured, _OUTPUT, "table 5.2"):
        steps = each.fact("steps")
        row: Row = {"model": each.shown, "steps: ours": steps}
        for name, device in _DEVICES.items():
            run = each.run(engine=name)
            total, file = (run["seconds"][key] if run else None for key in ("total", "file"))
            theirs = each.value("table 5.2", engine=name) if steps in (None, STEPS) else None
            row |= beside(f"{name}, s", total, theirs, device)
            row[f"{name}, file, s: ours"] = file
        yield row


def _memory(measured: Measured) -> Rows:
    for each, row in _both(measured, "table 5.3"):
        memory = each.run(**_ENGINES["interpreter"]).get("memory")
        for part in ("bytecodes", "constant table", "others", "results"):
            ours = ratio(memory[part], 1000) if isinstance(memory, dict) else None
            theirs = each.value("table 5.3", quantity=part)
            row |= beside(f"{part}, KB", ours, theirs, "thesis")
        yield row


def _bandwidth(measured: Measured) -> Rows:
    for each, row in _both(measured, "table 5.5"):
        for name, label in _ENGINES.items():
            accesses, step = each.run(**label).get("accesses"), each.step(**label)
            rate = ratio(1e-9 * accesses if isinstance(accesses, int) else None, step)
            theirs = each.value("table 5.5", engine=name)
            row |= beside(f"{name}, GB/s", rate, theirs, _DEVICES[name])
        yield row


ROWS: dict[str, Maker] = {
    "table-5.6": _models,
    "table-5.4": _times,
    "figure-5.10": _optimised,
    "table-5.8": _compiled,
    "table-5.9": _errors,
    "figure-5.12": _groups,
    "table-5.2": _with_output,
    "table-5.3": _memory,
    "table-5.5": _bandwidth,
    "table-5.6-networks": _network_models,
    "table-5.4-networks": _network_times,
    "claims-5.6.1": partial(judged, OF_OUTPUT),
    "section-5.6.4": _sums,
    "figure-5.6.4": _course,
    "claims-5.6.4": partial(judged, OF_ACCURACY),
}
