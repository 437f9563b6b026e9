"""The statements of [O] chapter 5 about times and errors, answered by our measurements."""

from __future__ import annotations

from itertools import dropwhile

from papers.claims import Answers, Times, UnmeasuredError, Verdict, listed, near, reaches, within
from papers.measured import Measured
from papers.okuyama.flint.accuracy import WITHOUT
from papers.published import Published
from papers.runner import RunRecord

__all__ = [
    "OF_ACCURACY",
    "OF_OUTPUT",
]

_OUTPUT, _ACCURACY = "okuyama-flint-output", "okuyama-flint-accuracy"
# Numbers of section 5.6.1, and the functions and equations of its "larger models".
_LEAST, _MOST, _TRANSLATED, _SLOWER, _LARGER = 1.5, 24.0, 2.4, 12.0, 1000
_SINGLE, _NETWORK = "Luo-Rudy", "Wang"


def _gains(
    measured: Measured, slow: str, fast: str, least: int = 0, model: str = ""
) -> dict[str, float]:
    """Return how much faster an engine is, for models of so many expressions, or for one model."""
    gains = {}
    for n, about in measured.each_input(_OUTPUT):
        name = about["label"]["model"]
        if about["functions"] + about["equations"] < least or (model or name) != name:
            continue
        totals = Times(
            {
                run["label"]["engine"]: run["seconds"]["total"]
                for run in measured.runs(_OUTPUT, n, model=name)
            }
        )
        gains[f"{name} (n = {n}):"] = totals[slow] / totals[fast]
    if not gains:
        raise UnmeasuredError(model or "a model of so many expressions")
    return gains


def _larger(measured: Measured) -> Verdict:
    gains = _gains(measured, "host", "interpreter", least=_LARGER)
    return Verdict(all(within(gain, _LEAST, _MOST) for gain in gains.values()), listed(gains))


def _single(measured: Measured) -> Verdict:
    gains = _gains(measured, "interpreter", "host", model=_SINGLE)
    return Verdict(all(near(gain, _SLOWER) for gain in gains.values()), listed(gains))


def _translated(measured: Measured) -> Verdict:
    gains = _gains(measured, "interpreter", "translator")
    return Verdict(reaches(max(gains.values()), _TRANSLATED), listed(gains))


def _said(engine: str) -> float:
    value = Published("okuyama/flint").value(exhibit="table 5.9", model=_NETWORK, engine=engine)
    assert value is not None
    return value


def _runs(measured: Measured, **label: str) -> list[RunRecord]:
    """Return the runs in double precision with a label, the largest n last."""
    runs = [run for _, run in measured.each_run(_ACCURACY, dtype="float64", **label)]
    if not runs:
        raise UnmeasuredError(", ".join(label.values()))
    return runs


def _network(measured: Measured, kind: str) -> RunRecord:
    """Return the run of the largest network of Wang by the translator, with a kind of sum."""
    return _runs(measured, model=_NETWORK, engine="translator", sum=kind)[-1]


def _is_small(error: float) -> bool:
    """Return whether an error is at most the largest one that the thesis calls small."""
    return reaches(_said("interpreter"), error)


def _interpreted(measured: Measured) -> Verdict:
    errors = [run["error"] for run in _runs(measured, engine="interpreter", sum="tree")]
    return Verdict(_is_small(max(errors)), listed({"largest": max(errors)}))


def _diverges(measured: Measured) -> Verdict:
    error = _network(measured, "tree")["error"]
    return Verdict(reaches(error, _said("translator")), f"{error:.3g}")


def _cured(measured: Measured) -> Verdict:
    errors = {kind: _network(measured, kind)["error"] for kind in ("tree", WITHOUT)}
    return Verdict(_is_small(errors[WITHOUT]) and errors[WITHOUT] < errors["tree"], listed(errors))


def _begins(measured: Measured) -> Verdict:
    run = _network(measured, "tree")
    errors = list(zip(run["ends"], run["errors"], strict=True))
    rest = list(dropwhile(lambda each: _is_small(each[1]), errors))
    if not rest:
        return Verdict(False, "no sample has a larger error")
    holds = len(rest) < len(errors) and not any(_is_small(error) for _, error in rest)
    return Verdict(holds, f"from step {rest[0][0]}: {rest[0][1]:.3g}, at last {rest[-1][1]:.3g}")


#: Number of a statement -> its judge.
OF_OUTPUT: Answers[Measured] = {"FL1": _larger, "FL2": _single, "FL3": _translated}
OF_ACCURACY: Answers[Measured] = {
    "FL4": _interpreted,
    "FL5": _diverges,
    "FL6": _cured,
    "FL7": _begins,
}
