"""The options of a search, and their values as published."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pyapsp.base.errors import ParameterError
from pyapsp.graph.validation import flag, integer, is_real

__all__ = ["MOST_MATCHES", "PUBLISHED", "SCORES", "Option", "Options", "options_of"]

#: What the score of a pair can be the sum of.
SCORES = ("label", "degree", "bfs")
#: The value of an option.
Option: TypeAlias = bool | float | str | Collection[str]
#: The largest K.
MOST_MATCHES = 2**20
# How often a chain runs again whose match is another's.
_AGAIN = 8
_POWERS = 256
_OWNER = "match"


@dataclass(frozen=True)
class Options:
    """How matches are searched; `pyapsp.match` explains the fields."""

    matches: int = 100
    levels: int = 2
    scores: tuple[str, ...] = SCORES
    edge_degrees: bool = True
    strict: bool = False
    focus: float = 64.0
    guided: bool = True
    order: str = "connected"
    rounds: int = 100
    distinct: bool = True
    seed: int = 0

    @property
    def parts(self) -> int:
        """The scores as bits: 1 label, 2 degree, 4 BFS."""
        return sum(1 << SCORES.index(each) for each in self.scores)

    @property
    def flags(self) -> int:
        """The choices of the extension as bits: 1 connected, 2 guided, 4 strict."""
        return (self.order == "connected") | self.guided << 1 | self.strict << 2

    @property
    def power(self) -> int:
        """`focus` in units of 1 / 256."""
        return round(self.focus * _POWERS)

    @property
    def attempts(self) -> list[Options]:
        """The options of the first run of a chain, and of all that follow if its match is taken.

        Each run is more random than the one before it: there is less mending, then none, then the
        focus becomes 1.
        """
        attempts = [self]
        if self.distinct:
            attempts += [replace(self, rounds=self.rounds // 10)]
            attempts += [
                replace(self, rounds=0, focus=max(1.0, self.focus / 4**power))
                for power in range(_AGAIN - 1)
            ]
        return attempts


#: The search of the paper, as options.
PUBLISHED: dict[str, Option] = {
    "focus": 1.0,
    "guided": False,
    "order": "random",
    "rounds": 0,
    "distinct": False,
}


def options_of(options: Mapping[str, Option]) -> Options:
    """Check options.

    Parameters
    ----------
    options : mapping
        Fields of `Options`, and ``published`` (bool): the fields that are not given have the
        values of `PUBLISHED`.

    Raises
    ------
    ParameterError
        A field is unknown or has a value that is not allowed.
    """
    values: dict[str, Any] = dict(options)
    if flag("published", _OWNER, values.pop("published", False)):
        values = {**PUBLISHED, **values}
    for name in values:
        if name not in Options.__dataclass_fields__:
            known = ", ".join([*Options.__dataclass_fields__, "published"])
            raise ParameterError.of("options", _OWNER, f"among {known}", name)
    if "scores" in values:
        values["scores"] = _scores(values["scores"])
    for name, low, high in (
        ("matches", 1, MOST_MATCHES),
        ("levels", 1, 8),
        ("rounds", 0, 2**20),
        ("seed", 0, 2**64 - 1),
    ):
        if name in values:
            values[name] = integer(name, _OWNER, values[name], low, high)
    for name in ("edge_degrees", "strict", "guided", "distinct"):
        if name in values:
            values[name] = flag(name, _OWNER, values[name])
    if values.get("order", "random") not in ("random", "connected"):
        raise ParameterError.of("order", _OWNER, "'random' or 'connected'", values["order"])
    if "focus" in values:
        if not is_real(values["focus"]) or not 1 <= values["focus"] <= 1024:
            raise ParameterError.of("focus", _OWNER, "a number from 1 to 1024", values["focus"])
        values["focus"] = float(values["focus"])
    return Options(**values)


def _scores(value: Collection[str] | str) -> tuple[str, ...]:
    try:
        wanted = {value} if isinstance(value, str) else set(value)
    except TypeError:
        wanted = set()
    if not wanted or not wanted <= set(SCORES):
        raise ParameterError.of("scores", _OWNER, f"some of {', '.join(SCORES)}", value)
    return tuple(each for each in SCORES if each in wanted)
