"""Tables and figures of [O], chapter 5."""

from __future__ import annotations

from typing import Any, NamedTuple

from papers.measured import Measured
from papers.published import Published
from papers.tables import Drawing, Line, Row, Rows, Table
from papers.values import Value, ratio

__all__ = ["EXHIBITS"]

_NAME, _NETWORKS = "okuyama-flint", "okuyama-flint-networks"
_GPU, _CPU = "Tesla C2070", "Core i7 930"
# Steps of the published times, and between samples of all variables; the n of the networks.
_STEPS, _EACH, _PUBLISHED = 100_000, 100, 100
_ENGINES: dict[str, dict[str, str]] = {
    "host": {"engine": "host"},
    "interpreter": {"engine": "interpreter", "with": "sum"},
    "translator": {"engine": "translator", "program": "export"},
}
_SAID = "Lines of n Luo-Rudy cells; n = 1 is a single cell. Euler's method, steps of 0.01 ms."


_NETWORK_SAID = (
    "Networks of n neurons or about as many cells; those of the thesis have n = 100. The network "
    "of Wang and Buzsáki and the ring of Luo-Rudy cells are ours, from the published equations: "
    "the thesis' files of them are not available. The network of Rybak is that of Flint's "
    "examples, which has 120 functions less than the thesis'; Mix joins it with the others. Both "
    "are there if n is 100 and PYAPSP_DATA_MIRROR names the folder of models.tar.xz."
)


class _Subject(NamedTuple):
    """A model, where it is measured, and where its published values are."""

    shown: str
    experiment: str
    n: int
    label: dict[str, str]
    published: dict[str, Any]


def _published() -> Published:
    return Published("okuyama/flint")


def _sizes(measured: Measured, exhibit: str) -> list[int]:
    return sorted({*measured.sizes(_NAME), *_published().sizes(exhibit=exhibit, model="")})


def _lines(measured: Measured, exhibit: str) -> list[_Subject]:
    return [
        _Subject(f"LR-{n}" if n > 1 else "Luo-Rudy", _NAME, n, {}, {"model": "", "n": n})
        for n in _sizes(measured, exhibit)
    ]


def _networks(measured: Measured) -> list[_Subject]:
    found = []
    for n in measured.sizes(_NETWORKS):
        for given in measured.inputs(_NETWORKS, n):
            name = given["label"]["model"]
            same = n == _PUBLISHED
            where = {"model": name if same else None}
            shown = name if same else f"{name}, n = {n}"
            found.append(_Subject(shown, _NETWORKS, n, given["label"], where))
    return found


def _arrows(numbers: list[int] | None) -> str | None:
    return " -> ".join(map(str, numbers)) if numbers else None


def _fact(measured: Measured, n: int, fact: str, **label: str) -> Any:
    run = measured.run(_NAME, n, **label)
    return run.get(fact) if run else None


def _run(measured: Measured, subject: _Subject, **label: str) -> dict[str, Any] | None:
    return measured.run(subject.experiment, subject.n, **subject.label, **label)


def _value(subject: _Subject, exhibit: str, **where: Value) -> Any:
    return _published().value(exhibit=exhibit, **subject.published, **where)


def _microseconds(measured: Measured, n: int, label: dict[str, str]) -> float | None:
    seconds = measured.phases(_NAME, n, **label).get("step")
    return None if seconds is None else 1e6 * seconds


def _models(measured: Measured) -> Rows:
    for n in _sizes(measured, "table 5.6"):
        given = (measured.inputs(_NAME, n) or [{}])[0]
        row: Row = {"n": n}
        for name in ("functions", "equations"):
            row[f"{name}: ours"] = given.get(name)
            row[f"{name}: thesis"] = _published().value(exhibit="table 5.1", quantity=name, n=n)
        for kind, where in (("bytecodes", "sum"), ("shapes", "base"), ("shapes", "merge")):
            label = {"engine": "interpreter", "with": where}
            table = "table 5.6" if kind == "bytecodes" else "table 5.7"
            told = {} if kind == "bytecodes" else {"with": where}
            name = kind if kind == "bytecodes" else f"{kind}, {where}"
            row[f"{name}: ours"] = _arrows(_fact(measured, n, kind, **label))
            row[f"{name}: thesis"] = _published().value(exhibit=table, quantity=kind, n=n, **told)
        yield row


def _times(measured: Measured) -> Rows:
    for n in _sizes(measured, "table 5.4"):
        row: Row = {"cells": n}
        ours = {name: _microseconds(measured, n, label) for name, label in _ENGINES.items()}
        theirs = {
            name: _published().value(exhibit="table 5.4", engine=name, n=n) for name in _ENGINES
        }
        for name in _ENGINES:
            seconds = theirs[name]
            row[f"{name}, us a step: ours"] = ours[name]
            device = _CPU if name == "host" else _GPU
            value = None if seconds is None else 1e6 * seconds / _STEPS
            row[f"{name}, us a step: {device}"] = value
        for name, other in (("translator", "host"), ("translator", "interpreter")):
            row[f"{name} over {other}: ours"] = ratio(ours[other], ours[name])
            row[f"{name} over {other}: thesis"] = ratio(theirs[other], theirs[name])
        yield row


def _times_drawn(measured: Measured, columns: list[str]) -> Drawing:
    lines = [Line(f"{name}, us a step: ours", name=name) for name in _ENGINES]
    for name in _ENGINES:
        device = _CPU if name == "host" else _GPU
        lines.append(Line(f"{name}, us a step: {device}", published=True))
    return Drawing("cells", {"time of a step (us)": lines}, logarithmic="xy")


def _optimised(measured: Measured) -> Rows:
    for n in measured.sizes(_NAME):
        for run in measured.runs(_NAME, n, engine="interpreter"):
            seconds = 1e6 * run["seconds"]["step"]
            yield {"n": n, "up to": run["label"]["with"], "us a step: ours": seconds}


def _compiled(measured: Measured) -> Rows:
    for n in _sizes(measured, "table 5.8"):
        for program in ("base", "unify", "export"):
            label = {"engine": "translator", "program": program}
            row: Row = {"n": n, "program": program}
            row["s: ours"] = _fact(measured, n, "compile_seconds", **label)
            row[f"s: {_GPU}"] = _published().value(exhibit="table 5.8", n=n, **{"with": program})
            row["characters: ours"] = _fact(measured, n, "characters", **label)
            yield row


def _errors(measured: Measured) -> Rows:
    for n in _sizes(measured, "table 5.9"):
        row: Row = {"n": n}
        for name in ("interpreter", "translator"):
            row[f"{name}: ours"] = _fact(measured, n, "error", **_ENGINES[name])
            row[f"{name}: {_GPU}"] = _published().value(exhibit="table 5.9", engine=name, n=n)
        yield row


def _groups(measured: Measured) -> Rows:
    for n in _sizes(measured, "figure 5.12"):
        groups = _fact(measured, n, "groups", **_ENGINES["translator"])
        theirs = _published().value(exhibit="figure 5.12", n=n)
        ours = " ".join(map(str, groups)) if groups else None
        yield {"n": n, "work-groups: ours": ours, f"work-groups: {_GPU}": theirs}


def _network_models(measured: Measured) -> Rows:
    for each in _networks(measured):
        (given,) = (
            given for given in measured.inputs(_NETWORKS, each.n) if given["label"] == each.label
        )
        row: Row = {"model": each.shown}
        for name in ("functions", "equations"):
            row[f"{name}: ours"] = given[name]
            row[f"{name}: thesis"] = _value(each, "table 5.1", quantity=name)
        for kind, where in (("bytecodes", "sum"), ("shapes", "base"), ("shapes", "merge")):
            run = _run(measured, each, engine="interpreter", **{"with": where}) or {}
            told = {} if kind == "bytecodes" else {"with": where}
            table = "table 5.6" if kind == "bytecodes" else "table 5.7"
            name = kind if kind == "bytecodes" else f"{kind}, {where}"
            row[f"{name}: ours"] = _arrows(run.get(kind))
            row[f"{name}: thesis"] = _value(each, table, **told)
        yield row


def _network_times(measured: Measured) -> Rows:
    for each in _networks(measured):
        row: Row = {"model": each.shown}
        for name, label in _ENGINES.items():
            run = _run(measured, each, **label)
            row[f"{name}, us a step: ours"] = 1e6 * run["seconds"]["step"] if run else None
            seconds = _value(each, "table 5.4", engine=name)
            device = _CPU if name == "host" else _GPU
            value = None if seconds is None else 1e6 * seconds / _STEPS
            row[f"{name}, us a step: {device}"] = value
            if name != "host":
                row[f"{name}, error: ours"] = run["error"] if run else None
                row[f"{name}, error: thesis"] = _value(each, "table 5.9", engine=name)
        for program in ("unify", "export"):
            run = _run(measured, each, engine="translator", program=program) or {}
            row[f"{program}, s of compilation: ours"] = run.get("compile_seconds")
            value = _value(each, "table 5.8", **{"with": program})
            row[f"{program}, s of compilation: {_GPU}"] = value
        yield row


def _with_output(measured: Measured) -> Rows:
    for each in (*_lines(measured, "table 5.2"), *_networks(measured)):
        row: Row = {"model": each.shown}
        for name in _ENGINES:
            run = _run(measured, each, output=name)
            total = run["setup_seconds"] + _STEPS * run["seconds"]["step"] if run else None
            row[f"{name}, s: ours"] = total
            device = _CPU if name == "host" else _GPU
            row[f"{name}, s: {device}"] = _value(each, "table 5.2", engine=name)
        yield row


def _memory(measured: Measured) -> Rows:
    for each in (*_lines(measured, "table 5.3"), *_networks(measured)):
        row: Row = {"model": each.shown}
        run = _run(measured, each, **_ENGINES["interpreter"]) or {}
        for part in ("bytecodes", "constant table", "others", "results"):
            used = run.get("memory", {}).get(part)
            row[f"{part}, KB: ours"] = None if used is None else used / 1000
            row[f"{part}, KB: thesis"] = _value(each, "table 5.3", quantity=part)
        yield row


def _bandwidth(measured: Measured) -> Rows:
    for each in (*_lines(measured, "table 5.5"), *_networks(measured)):
        row: Row = {"model": each.shown}
        for name, label in _ENGINES.items():
            run = _run(measured, each, **label)
            rate = 1e-9 * run["accesses"] / run["seconds"]["step"] if run else None
            row[f"{name}, GB/s: ours"] = rate
            device = _CPU if name == "host" else _GPU
            row[f"{name}, GB/s: {device}"] = _value(each, "table 5.5", engine=name)
        yield row


EXHIBITS = (
    Table(
        _NAME,
        "table-5.6",
        "Tables 5.1, 5.6 and 5.7: expressions, bytecodes of each phase, and their shapes",
        f"{_SAID} Bytecodes after merging; the last phase has the equations. The thesis' file of a "
        "single cell differs from ours in one function.",
        _models,
    ),
    Table(
        _NAME,
        "table-5.4",
        "Table 5.4 and figure 5.11: time of a step without output, in us",
        f"{_SAID} host: the interpreter on one core. The thesis gives the time of 100,000 steps.",
        _times,
        _times_drawn,
    ),
    Table(
        _NAME,
        "figure-5.10",
        "Figure 5.10: the interpreter on the device with one optimisation after the other",
        f"{_SAID} Each row adds an optimisation to those above it. The thesis plots its times.",
        _optimised,
    ),
    Table(
        _NAME,
        "table-5.8",
        "Table 5.8: compilation time of translated models, in s",
        f"{_SAID} base: a block for each bytecode. unify: one for all with the same opcodes. "
        "export: tables outside of the program. Ours is short if the driver has the program in its "
        "cache.",
        _compiled,
    ),
    Table(
        _NAME,
        "table-5.9",
        "Table 5.9: relative root mean square error against the interpreter on one core",
        f"{_SAID} Ours after 100 steps, of all states; the thesis' after 10,000 steps.",
        _errors,
    ),
    Table(
        _NAME,
        "figure-5.12",
        "Figure 5.12: the work-group that the translator finds for each phase",
        f"{_SAID} Empty where one work-group takes all steps. The thesis has one more kernel, "
        "which copies states, with 128 work-items.",
        _groups,
    ),
    Table(
        _NAME,
        "table-5.2",
        "Table 5.2: time of 100,000 steps with output, in s",
        f"All variables are sampled every {_EACH} steps. Ours is the time of setting up, and that "
        f"of {_EACH} steps in proportion. It is not written to a file.",
        _with_output,
    ),
    Table(
        _NAME,
        "table-5.3",
        "Table 5.3: memory on the device of the interpreter, in KB",
        "With all optimisations. The results are those of one sample of all variables. Without "
        "groups in lock step, as on a CPU, each expression has a bytecode of its own.",
        _memory,
    ),
    Table(
        _NAME,
        "table-5.5",
        "Table 5.5: effective bandwidth, in GB/s",
        "Eight bytes for each variable and constant that bytecodes load or store, over the time of "
        "a step.",
        _bandwidth,
    ),
    Table(
        _NETWORKS,
        "table-5.6-networks",
        "Tables 5.1, 5.6 and 5.7 for networks",
        _NETWORK_SAID,
        _network_models,
    ),
    Table(
        _NETWORKS,
        "table-5.4-networks",
        "Tables 5.4, 5.8 and 5.9 for networks: times of a step, errors, compilation",
        f"{_NETWORK_SAID} Errors are ours after 100 steps, the thesis' after 10,000. The thesis' "
        "translator adds the terms of a sum in another order than one core, ours in the same.",
        _network_times,
    ),
)
