"""What the text of a paper says about its figures, answered by our measurements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from papers.values import Value

__all__ = ["Claim", "answered", "listed"]

_Row: TypeAlias = Mapping[str, Value | None]


@dataclass(frozen=True)
class Claim:
    """Whether a statement holds.

    Attributes
    ----------
    id : str
        Its number in ``exhibits.toml``, which has the text; after a comma what it is answered for.
    holds : bool or None
        None if it was not measured, or one device cannot tell.
    numbers : str
    words : dict
        Name -> value for the text.
    """

    id: str
    holds: bool | None
    numbers: str = ""
    words: Mapping[str, Value] = field(default_factory=dict)


def answered(rows: Iterable[_Row | Claim], texts: Mapping[str, str]) -> Iterator[_Row]:
    """Yield rows of a table; of a claim, its text and the answer."""
    for each in rows:
        if not isinstance(each, Claim):
            yield each
            continue
        yield {
            "claim": each.id,
            "the text says": " ".join(texts[each.id.split(",")[0]].format(**each.words).split()),
            "here: ours": {True: "yes", False: "no", None: "not measured"}[each.holds],
            "numbers: ours": each.numbers,
        }


def listed(values: Mapping[str, float]) -> str:
    """Return numbers with their names, as a text."""
    return ", ".join(
        f"{name} {value:.3g}" if abs(value) < 1000 else f"{name} {float(f'{value:.3g}'):,.0f}"
        for name, value in values.items()
    )
