"""The statements of [B] chapters 18 and 19 about times and memory, answered by our measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from statistics import mean
from typing import Any

from papers.busato_dynamic.experiments import SEGMENTS, UPDATERS
from papers.busato_dynamic.triangles import AGAIN, UPDATE
from papers.claims import Answers, UnmeasuredError, Verdict, listed, near, reaches, within
from papers.measured import Measured
from papers.published import Published
from papers.values import Value

__all__ = [
    "CLAIMS",
    "POWERS",
]

#: The Hornet with the blocks of the thesis.
POWERS = "Hornet, powers of two, 2^16"
# The graph on which a Hornet is slowest beside AIM.
_REGULAR = "cage15"
_BOTH = ("least", "most")
_PAPER = Published("busato_dynamic")
_Numbers = dict[str, float]


def _said(quantity: str, **where: Value) -> float:
    [row] = _PAPER.rows(quantity=quantity, **where)
    return float(row["value"])


def _pairs(
    measured: Measured,
    experiment: str,
    over: str,
    under: str,
    value: Callable[[Mapping[str, Any]], float],
    **label: Value,
) -> _Numbers:
    """Return, for each graph of the largest n, the quotient of a number of two formats."""
    name = f"busato-dynamic-{experiment}"
    quotients = {}
    for n in measured.sizes(name)[-1:]:
        for about in measured.inputs(name, n):
            graph = about["label"]["graph"]
            first, second = (
                measured.run(name, n, graph=graph, format=form, **label) for form in (over, under)
            )
            if first and second:
                quotients[graph] = value(first) / value(second)
    if not quotients:
        raise UnmeasuredError(experiment)
    return quotients


def _bytes(run: Mapping[str, Any]) -> float:
    return float(run["bytes"])


def _init(run: Mapping[str, Any]) -> float:
    return float(run["seconds"]["init"])


def _wall(run: Mapping[str, Any]) -> float:
    return float(run["seconds"]["wall"])


def _per_cent(quotients: _Numbers) -> _Numbers:
    return {name: 100 * (quotient - 1) for name, quotient in quotients.items()}


def _dy1(measured: Measured) -> Verdict:
    more = _per_cent(_pairs(measured, "formats", POWERS, "CSR", _bytes))
    least, most = (_said(f"{which} memory over CSR") for which in _BOTH)
    holds = all(within(each, least, most) for each in more.values())
    return Verdict(holds, f"% more: {listed(more)}")


def _dy2(measured: Measured) -> Verdict:
    less = {
        name: -each
        for name, each in _per_cent(_pairs(measured, "formats", POWERS, "COO", _bytes)).items()
    }
    average = mean(less.values())
    holds = reaches(average, _said("memory below COO"))
    return Verdict(holds, f"% less, mean {average:.3g}: {listed(less)}")


def _dy3(measured: Measured) -> Verdict:
    over = _pairs(measured, "formats", POWERS, "CSR", _init)
    least, most = (_said(f"{which} initialisation over CSR") for which in _BOTH)
    average = mean(over.values())
    return Verdict(
        all(within(each, least, most) for each in over.values())
        and average < _said("average initialisation over CSR, below"),
        f"times as long, mean {average:.3g}: {listed(over)}",
    )


def _updates(blocks: str, duplicates: str, quantity: str, measured: Measured) -> Verdict:
    """Answer whether the fastest batch of all graphs reaches the published rate of insertions."""
    name, rates = "busato-dynamic-updates", {}
    for n in measured.sizes(name)[-1:]:
        for run in measured.runs(name, n, blocks=blocks, duplicates=duplicates):
            what = f"{run['label']['graph']}, batch {run['label']['batch']:,}"
            rates[what] = run["edges"] / run["seconds"]["insert"] / 1e6
    if not rates:
        raise UnmeasuredError(blocks)
    best = max(rates, key=rates.__getitem__)
    said = _said(quantity, method=blocks)
    return Verdict(reaches(rates[best], said), f"{rates[best]:.3g} million/s: {best}")


def _dy7(measured: Measured) -> Verdict:
    gains = _per_cent(_pairs(measured, "analytics", "CSR", "Hornet", _wall, what="BFS"))
    said = _said("most gain of Hornet over CSR in BFS")
    holds = min(gains.values()) > 0 and near(max(gains.values()), said)
    return Verdict(holds, f"% faster: {listed(gains)}")


def _dy8(measured: Measured) -> Verdict:
    apart = _per_cent(_pairs(measured, "analytics", "CSR", "Hornet", _wall, what="SpMV"))
    most = _said("usual difference of Hornet and CSR in SpMV")
    alike = sum(within(abs(each), 0, most) for each in apart.values())
    return Verdict(alike > len(apart) / 2, f"% faster: {listed(apart)}")


def _dy9(measured: Measured) -> Verdict:
    over = _pairs(measured, "formats", "cuSTINGER", POWERS, _bytes)
    average = mean(over.values())
    holds = near(average, _said("memory of cuSTINGER over Hornet, almost"))
    return Verdict(holds, f"cuSTINGER over Hornet, mean {average:.3g}: {listed(over)}")


def _dy10(measured: Measured) -> Verdict:
    over = _pairs(measured, "formats", "cuSTINGER", POWERS, _init)
    least, most = (_said(f"{which} initialisation of others over Hornet") for which in _BOTH)
    holds = all(within(each, least, most) for each in over.values())
    return Verdict(holds, f"cuSTINGER over Hornet: {listed(over)}")


def _gains(measured: Measured, system: str, *, small: bool) -> dict[tuple[str, int], float]:
    """Return the quotient of the times of a system and of a Hornet for uniform batches.

    By graph and number of edges: up to the published border, or above it.
    """
    name, gains = "busato-dynamic-updates", {}
    where = {"duplicates": "ignore", "distribution": "uniform"}
    for n in measured.sizes(name)[-1:]:
        for run in measured.runs(name, n, blocks=system, **where):
            label = run["label"]
            hornet = measured.run(name, n, **{**label, "blocks": UPDATERS[system]})
            if hornet and small == (label["batch"] <= _said("batches that are small, up to")):
                quotient = run["seconds"]["insert"] / hornet["seconds"]["insert"]
                gains[label["graph"], label["batch"]] = quotient
    if not gains:
        raise UnmeasuredError(f"{'small' if small else 'large'} batches of {system}")
    return gains


def _range(gains: Mapping[tuple[str, int], float]) -> str:
    """Return the least and the largest of quotients, with graph and number of edges."""
    ends = (pick(gains, key=gains.__getitem__) for pick in (min, max))
    return " to ".join(f"{gains[end]:.3g} ({end[0]}, {end[1]:,} edges)" for end in ends)


def _dy11(measured: Measured) -> Verdict:
    gains = _gains(measured, "cuSTINGER", small=True)
    slower = mean(1 / gain for gain in gains.values())
    holds = max(gains.values()) < 1 and near(slower, _said("Hornet slower than cuSTINGER, about"))
    numbers = f"Hornet over cuSTINGER, mean {slower:.3g}; cuSTINGER over Hornet {_range(gains)}"
    return Verdict(holds, numbers)


def _dy12(measured: Measured) -> Verdict:
    gains = _gains(measured, "cuSTINGER", small=False)
    best = max(gains.values())
    holds = min(gains.values()) > 1 and reaches(best, _said("most of cuSTINGER over Hornet"))
    return Verdict(holds, f"cuSTINGER over Hornet {_range(gains)}")


def _dy13(measured: Measured) -> Verdict:
    gains = _gains(measured, "AIM", small=True)
    graphs = dict.fromkeys(graph for graph, _ in gains)
    means = {name: mean(gains[key] for key in gains if key[0] == name) for name in graphs}
    if _REGULAR not in means:
        raise UnmeasuredError(_REGULAR)
    holds = max(gains.values()) < 1 and means[_REGULAR] == min(means.values())
    return Verdict(holds, f"AIM over Hornet {_range(gains)}; means: {listed(means)}")


def _dy14(measured: Measured) -> Verdict:
    gains = _gains(measured, "AIM", small=False)
    holds = reaches(max(gains.values()), _said("most of AIM over Hornet"))
    return Verdict(holds, f"AIM over Hornet {_range(gains)}")


def _dy15(measured: Measured) -> Verdict:
    over = _pairs(measured, "analytics", SEGMENTS, "Hornet", _wall, what="SpMV")
    least, most = (_said(f"{which} of DCSR over Hornet in SpMV") for which in _BOTH)
    holds = all(within(each, least, most) for each in over.values())
    return Verdict(holds, f"DCSR over Hornet: {listed(over)}")


def _dy16(measured: Measured) -> Verdict:
    """Answer for insertions and deletions of up to a hundredth of the edges."""
    name, gains = "busato-dynamic-triangles", {}
    for n in measured.sizes(name)[-1:]:
        for about in measured.inputs(name, n):
            graph = about["label"]["graph"]
            for run in measured.runs(name, n, graph=graph, way=UPDATE):
                batch = run["label"]["batch"]
                again = measured.phases(name, n, graph=graph, batch=batch, way=AGAIN)
                for phase in ("insert", "delete") if again and 100 * batch <= about["m"] else ():
                    gain = again[phase] / run["seconds"][phase]
                    gains[f"{graph}, {phase} {batch:,}"] = gain
    if not gains:
        raise UnmeasuredError(name)
    least, most = (pick(gains, key=gains.__getitem__) for pick in (min, max))
    numbers = f"{gains[least]:.3g} ({least}) to {gains[most]:.3g} ({most})"
    return Verdict(gains[least] > 1, f"count again over update: {numbers}")


def _tr1(measured: Measured) -> Verdict:
    name, gains = "busato-dynamic-trusses", {}
    for n in measured.sizes(name)[-1:]:
        for about in measured.inputs(name, n):
            label = about["label"]
            both = [
                measured.phases(name, n, **label, method=f"{each} on a Hornet")
                for each in ("Iterative", "Delta")
            ]
            if all(both):
                gains[f"{label['graph']}, k {label['k']}"] = both[0]["wall"] / both[1]["wall"]
    if not gains:
        raise UnmeasuredError(name)
    best = max(gains, key=gains.__getitem__)
    said = _said("most of Iterative over Delta")
    return Verdict(reaches(gains[best], said), f"most {gains[best]:.3g}: {best}")


#: Number of a statement -> its judge.
CLAIMS: Answers[Measured] = {
    "DY1": _dy1,
    "DY2": _dy2,
    "DY3": _dy3,
    "DY4": partial(_updates, "cuSTINGER's blocks", "ignore", "most updates"),
    "DY5": partial(_updates, "AIM's blocks", "ignore", "most updates"),
    "DY6": partial(_updates, "AIM's blocks", "keep", "most updates, no check"),
    "DY7": _dy7,
    "DY8": _dy8,
    "DY9": _dy9,
    "DY10": _dy10,
    "DY11": _dy11,
    "DY12": _dy12,
    "DY13": _dy13,
    "DY14": _dy14,
    "DY15": _dy15,
    "DY16": _dy16,
    "TR1": _tr1,
}
