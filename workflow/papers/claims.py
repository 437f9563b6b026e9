"""What the text of a paper says about its figures, answered by our measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

from papers.measured import Measured
from papers.values import Value

__all__ = [
    *("TOLERANCE", "UNMEASURED", "Answers", "Claim", "Times", "UnmeasuredError", "Verdict"),
    *("near", "answered", "every", "judged", "largest", "listed", "reaches", "within"),
]

#: The factor that a number of a text, and words such as "near", "almost", "as fast as", "slightly"
#: or "hardly", allow. The only tolerance of claims: what is "faster" or "best" has none.
TOLERANCE = 1.1
_Row: TypeAlias = Mapping[str, Value | None]
_Facts = TypeVar("_Facts")
_Key = TypeVar("_Key")


class UnmeasuredError(LookupError):
    """What a claim is about has not been measured."""


class Times(dict[_Key, float]):
    """Numbers by name; what asks for one that is not there is not decided."""

    def __missing__(self, key: _Key) -> float:
        """Raise `UnmeasuredError`."""
        raise UnmeasuredError(key)


class Verdict(NamedTuple):
    """Whether a claim holds."""

    holds: bool | None  # None if it is not decided: not measured, or not on enough devices
    numbers: str = ""


#: The answer to a claim that was not measured.
UNMEASURED = Verdict(None)
#: Number of a claim -> the function that answers it.
Answers: TypeAlias = Mapping[str, Callable[[_Facts], Verdict]]


def largest(measured: Measured, experiment: str) -> int:
    """Return the largest n of an experiment; raise `UnmeasuredError` if there is none."""
    sizes = measured.sizes(experiment)
    if not sizes:
        raise UnmeasuredError(experiment)
    return max(sizes)


@dataclass(frozen=True)
class Claim:
    """Whether a statement holds."""

    # Its number in `exhibits.toml`, which has the text; after a comma what it is answered for.
    id: str
    holds: bool | None  # None if it is not decided
    numbers: str = ""


def judged(answers: Answers[_Facts], facts: _Facts) -> Iterator[Claim]:
    """Yield the answer to each claim; it is not decided if something was not measured: what."""
    for number, answer in answers.items():
        try:
            verdict = answer(facts)
        except UnmeasuredError as error:
            verdict = Verdict(None, f"not measured: {error.args[0]}")
        yield Claim(number, *verdict)


def every(*clauses: bool | None) -> bool | None:
    """Return whether all clauses hold: False if one does not, else None if one is not decided."""
    if False in clauses:
        return False
    return None if None in clauses else True


def within(value: float, least: float, most: float) -> bool:
    """Return whether a number is in a published range, up to `TOLERANCE`."""
    return reaches(value, least) and value <= most * TOLERANCE


def near(value: float, said: float) -> bool:
    """Return whether a number is the published one, up to `TOLERANCE`."""
    return within(value, said, said)


def reaches(value: float, said: float) -> bool:
    """Return whether a number is at least the published one, up to `TOLERANCE`."""
    return value * TOLERANCE >= said


def answered(rows: Iterable[_Row | Claim], texts: Mapping[str, str]) -> Iterator[_Row]:
    """Yield rows of a table; of a claim, its text and the answer."""
    for each in rows:
        if not isinstance(each, Claim):
            yield each
            continue
        yield {
            "claim": each.id,
            "the text says": " ".join(texts[each.id.split(",")[0]].split()),
            "here: ours": {True: "yes", False: "no", None: "not decided"}[each.holds],
            "numbers: ours": each.numbers,
        }


def listed(values: Mapping[str, float]) -> str:
    """Return numbers with their names, as a text."""
    return ", ".join(
        f"{name} {value:.3g}" if abs(value) < 1000 else f"{name} {float(f'{value:.3g}'):,.0f}"
        for name, value in values.items()
    )
