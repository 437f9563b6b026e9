"""Value change dumps (IEEE 1364, section 18): the variables, and their values at each instant.

An instant is a time stamp, with the values after all changes at it; or an edge of a clock, with the
values just before it, as assertions of SystemVerilog sample. One-bit variables are Boolean, vectors
and reals are numeric; events, texts and variables without bits are left out. If a variable has
several names, the first is used.

The weak values of VHDL, L and H, are 0 and 1. U, W and - are unknown, as x and z are.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import FormatError, ParameterError, PrecisionError
from pyapsp.base.json import Record
from pyapsp.base.spelling import is_plain
from pyapsp.mining import changes, states
from pyapsp.mining.names import absent, excluded
from pyapsp.mining.tables import Columns

__all__ = ["EDGES", "UNKNOWN", "columns"]

EDGES = ("rising", "falling", "both")
#: What to do with instants at which a variable is neither 0 nor 1.
UNKNOWN = ("drop", "zero", "error", "formula")
_REALS = frozenset({"real", "realtime", "real_parameter", "shortreal"})
_SIGNED = frozenset({"integer", "int", "shortint", "longint", "byte"})
_LEFT_OUT = frozenset({"event", "string"})
_SKIPPED = frozenset({"$comment", "$date", "$version", "$timescale", "$attrbegin", "$attrend"})
_CHANGES = frozenset({"$dumpvars", "$dumpall", "$dumpon", "$dumpoff"})
_FAULTS = {
    states.NO_TOKEN: "a value change, a time stamp or a keyword is expected",
    states.NO_CODE: "this identifier code is not declared",
    states.NO_VALUE: "a vector has the digits 0, 1, x and z, or those of VHDL",
    states.NO_TIME: "a time stamp is a whole number below 2^63, and not before the last one",
    states.NO_END: "a comment without $end",
    states.NO_BIT: "a value that is too wide for its variable",
}
_WORD = re.compile(rb"\S+")
# Names and bytes of a word that a message shows.
_SHOWN, _LONGEST = 5, 40


@dataclass(frozen=True)
class _Variable:
    """A declared variable, and the place where it is declared.

    Its name is as short as it can be. `full` is its name with all scopes, and `ranged` both names
    with the range of a vector.
    """

    name: str
    code: bytes
    width: int
    kind: int
    signed: bool
    place: int
    full: str = ""
    ranged: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, self.full, *self.ranged)


@dataclass
class _File:
    """The bytes of a file, and errors with its lines."""

    path: Path
    data: NDArray[np.uint8]

    def line(self, place: int) -> int:
        return 1 + int(np.count_nonzero(self.data[:place] == 10))

    def error(self, place: int, message: str) -> FormatError:
        return FormatError(self.path, self.line(place), message)

    def words(self, place: int) -> Iterator[str]:
        """Yield the words from a place on."""
        for word in _WORD.finditer(self.data.data, place):
            yield word.group().decode("utf-8", "backslashreplace")


def columns(
    path: Path,
    *,
    instants: int | None = None,
    variables: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    clock: str | None = None,
    edge: str = "rising",
    unknown: str = "drop",
) -> Columns:
    """Yield the values of the variables, so many instants at a time.

    Parameters
    ----------
    path : Path
    instants : int or None
        Most instants of a piece; None: all.
    variables : sequence of str, optional
        Their names, with all scopes, or without the outer scopes that all variables are in.
        Default: all.
    exclude : sequence of str, optional
        Names, or patterns such as ``"top.cpu.*"``, of variables to leave out.
    clock : str, optional
        A one-bit variable: sample at its edges instead of at every time stamp. It is not sampled
        itself.
    edge : {"rising", "falling", "both"}
    unknown : {"drop", "zero", "error", "formula"}
        Instants at which a variable is unknown (x, z, U, W, -), or has no value yet: leave them
        out; take zero; raise an error; or leave them out for the formulas about this variable.

    Yields
    ------
    columns : dict of str to (n,) ndarray of bool or float64
        Masked arrays with "formula".
    facts : dict
        ``dropped``: instants left out so far; ``instants``: of the piece; ``left_out``: the events,
        texts and variables without bits.

    Raises
    ------
    FormatError
        The file violates the format, or there is no instant: the clock has no such edge, or all
        variables are never known together.
    ParameterError
        There is no such variable, or an option is wrong.
    PrecisionError
        float64 cannot hold a value; the message names all variables with such values.

    Notes
    -----
    Changes before the first time stamp are at time 0.
    """
    for name, value, legal in (("edge", edge, EDGES), ("unknown", unknown, UNKNOWN)):
        if value not in legal:
            raise ParameterError.of(name, "read_trace", f"one of {', '.join(legal)}", value)
    file = _File(path, _bytes(path))
    declared, left_out, position = _header(file)
    chosen = _chosen(path, declared, variables, exclude, clock)
    known = {each.code for each in chosen}
    ignored = left_out.keys() | {each.code for each in declared}
    state = changes.State(
        [(each.code, each.kind, each.width, each.signed) for each in chosen],
        sorted(ignored - known),
        clock=clock is not None,
        edge=EDGES.index(edge),
        mode=UNKNOWN.index(unknown),
        position=position,
    )
    capacity = instants or changes.most_steps(file.data, position)
    total, wide = 0, _Wide()
    while True:
        status, position = _fill(state, position, capacity, file, chosen, wide)
        count = state.instants
        total += count
        if status == states.DONE:
            wide.check()
            if not total and state.dropped:
                raise _never_known(state, chosen, file)
            if not total and clock is not None:
                named = f"the clock {chosen[-1].full!r} has no edge to sample at: {edge}"
                raise file.error(chosen[-1].place, named)
            if not total:
                raise file.error(position, "there is no time stamp and no value change")
        if count and not wide.names:
            facts: Record = {"instants": count, "dropped": state.dropped}
            facts |= {"left_out": list(left_out.values())}
            yield state.columns([each.name for each in chosen], count), facts
        if status == states.DONE:
            return


@dataclass
class _Wide:
    """Variables with values that float64 cannot hold; the file is read on to find all of them."""

    first: str = ""
    names: tuple[str, ...] = ()

    def add(self, file: _File, position: int, variable: _Variable, word: str) -> None:
        where = f"{file.path}:{file.line(position)}: variable {variable.full!r}"
        self.first = self.first or f"{where}: float64 cannot hold {word[:_LONGEST]!r}"
        self.names = tuple(dict.fromkeys([*self.names, variable.full]))

    def check(self) -> None:
        if self.names:
            others = f"; {_listed(self.names[1:])} too" if self.names[1:] else ""
            raise PrecisionError(f"{self.first}: exclude this variable{others}")


def _fill(
    state: changes.State,
    position: int,
    capacity: int,
    file: _File,
    chosen: list[_Variable],
    wide: _Wide,
) -> tuple[int, int]:
    """Read until so many instants are complete; return why it ended, and where."""
    state.begin(capacity)
    while True:
        status, position = state.read(file.data, position)
        if status in (states.DONE, states.FULL):
            return status, position
        if status == states.NOT_KNOWN:
            names = [
                each.full for each, known in zip(chosen, state.known, strict=False) if not known
            ]
            raise file.error(position, f"unknown values: {_listed(names)}")
        words = file.words(position)
        word = next(words, "")
        code = next(words, "") if word[:1] in "bBrRsS" else word[1:]
        about = next((each for each in chosen if each.code == code.encode()), None)
        whose = "" if about is None else f"variable {about.full!r}: "
        if status == states.REAL:
            state.real = _real(word[1:])
            if state.real is None:
                message = f"{whose}{word[1 : 1 + _LONGEST]!r} is not a number"
                raise file.error(position, message)
            if math.isinf(state.real) and "inf" not in word.lower() and about is not None:
                wide.add(file, position, about, word)
            continue
        shown = repr(word[:_LONGEST])
        if status == states.TOO_WIDE and about is not None:
            wide.add(file, position, about, word)
            state.ignore(about.code)
            continue
        shown = repr(code[:_LONGEST]) if status == states.NO_CODE else shown
        raise file.error(position, f"{whose}{shown}: {_FAULTS[status]}")


def _real(text: str) -> float | None:
    """Return the number that a text is; None if it is none."""
    try:
        return float(text) if is_plain(text) else None
    except ValueError:
        return None


def _bytes(path: Path) -> NDArray[np.uint8]:
    if os.stat(path).st_size == 0:
        raise FormatError(path, None, "the file is empty")
    return np.memmap(path, np.uint8, "r")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _never_known(state: changes.State, chosen: list[_Variable], file: _File) -> FormatError:
    """Return an error about the variables that are never known, at the first declaration."""
    never = [each for each, ever in zip(chosen, state.ever, strict=False) if not ever]
    hint = "exclude variables, or set unknown to formula or zero"
    message = "at no instant all variables are known"
    if not never:
        return FormatError(file.path, None, f"{message}, and others at each instant: {hint}")
    message += f"; never known: {_listed([each.full for each in never])}"
    return file.error(never[0].place, f"{message}: {hint}")


def _header(file: _File) -> tuple[list[_Variable], dict[bytes, str], int]:
    """Return the declared variables, those left out, and where the value changes begin."""
    words = _WORD.finditer(file.data.data)
    scopes: list[str] = []
    declared: list[tuple[tuple[str, ...], _Variable]] = []
    left_out: dict[bytes, str] = {}
    for word in words:
        keyword, place = word.group()[:_LONGEST].decode("latin-1"), word.start()
        if keyword in _CHANGES or keyword[0] == "#":
            raise file.error(place, f"there is no $enddefinitions before {keyword!r}")
        if keyword[0] != "$":
            raise file.error(place, f"{keyword!r} is no declaration")
        rest, end = [], -1
        for each in words:
            if each.group() == b"$end":
                end = each.end()
                break
            rest.append(each.group().decode("utf-8", "backslashreplace"))
        if end < 0:
            raise file.error(place, f"{keyword} without $end")
        if keyword == "$enddefinitions":
            if not declared:
                also = " besides events, texts and variables without bits" if left_out else ""
                raise file.error(place, f"no variable is declared{also}")
            return _named(declared), left_out, end
        if keyword == "$scope" and rest:
            scopes.append(" ".join(rest[1:]))  # simulators write empty names, too
        elif keyword == "$upscope" and not rest and scopes:
            scopes.pop()
        elif keyword == "$var" and len(rest) >= 4 and rest[1].isdecimal():
            inside = tuple(scope for scope in scopes if scope)
            variable = _variable(rest, place)
            if rest[0] in _LEFT_OUT or variable.width == 0:
                left_out[variable.code] = ".".join((*inside, variable.name))
            else:
                declared.append((inside, variable))
        elif keyword not in _SKIPPED:
            shown = " ".join([keyword, *rest])[: 3 * _LONGEST]
            raise file.error(place, f"{shown!r} is no declaration")
    raise FormatError(file.path, None, "there is no $enddefinitions")


def _variable(words: list[str], place: int) -> _Variable:
    kind, width, code, *name = words
    real = kind in _REALS
    what = states.REALS if real else states.BITS if int(width) == 1 else states.VECTORS
    signed = kind in _SIGNED
    return _Variable("".join(name), code.encode(), int(width), what, signed, place)


def _named(declared: list[tuple[tuple[str, ...], _Variable]]) -> list[_Variable]:
    """Return the variables with names that differ, as short as that allows."""
    common = _shared([scopes for scopes, _ in declared])
    # the range of a vector says nothing, unless two variables differ by it
    plain = Counter((scopes, each.name.partition("[")[0]) for scopes, each in declared)
    named: list[_Variable] = []
    taken: dict[str, bytes] = {}
    for scopes, each in declared:
        outer, inner = scopes[:common], scopes[common:]
        short, bracket, inside = each.name.partition("[")
        whole = bracket and (plain[scopes, short] > 1 or ":" not in inside)
        name = ".".join((*inner, each.name if whole else short))
        if taken.setdefault(name, each.code) != each.code:
            name = f"{name}#{each.code.decode()}"
            taken[name] = each.code
        ranged = tuple(".".join((*some, each.name)) for some in (inner, scopes))
        named.append(replace(each, name=name, full=".".join((*outer, name)), ranged=ranged))
    return named


def _shared(scopes: list[tuple[str, ...]]) -> int:
    """Return how many outer scopes are the same for all variables."""
    return sum(
        1 for same in takewhile(lambda level: len(set(level)) == 1, zip(*scopes, strict=False))
    )


def _chosen(
    path: Path,
    declared: list[_Variable],
    wanted: Sequence[str] | None,
    exclude: Sequence[str] | None,
    clock: str | None,
) -> list[_Variable]:
    """Return the variables to sample, and the clock at the end."""
    out = excluded(path, [each.names for each in declared], exclude)
    left = [each for each, away in zip(declared, out, strict=True) if not away]
    first: dict[bytes, _Variable] = {}
    for each in left:
        first.setdefault(each.code, each)
    if wanted is not None:
        away = {each.name for each, away in zip(declared, out, strict=True) if away}
        asked = [_one(path, declared, name) for name in wanted]
        asked = [
            replace(each, name=name)
            for each, name in zip(asked, wanted, strict=True)
            if each.name not in away
        ]
        first = {each.code: each for each in asked}
    ticking = None if clock is None else _one(path, declared, clock)
    if ticking is not None:
        if ticking.kind != states.BITS:
            raise ParameterError.of("clock", "read_trace", "a variable of one bit", clock)
        first.pop(ticking.code, None)
    if not first:
        besides = "" if ticking is None else " besides the clock"
        raise ParameterError(f"{path}: there is no variable{besides} that is not excluded")
    return [*first.values(), *([] if ticking is None else [ticking])]


def _one(path: Path, declared: list[_Variable], name: str) -> _Variable:
    """Return the variable with a name."""
    found = {each.code: each for each in declared if name in (each.name, each.full)}
    found = found or {each.code: each for each in declared if name in each.ranged}
    if not found:
        raise absent(path, name, [spelt for each in declared for spelt in (each.name, each.full)])
    if len(found) > 1:
        names = " or ".join(each.full for each in found.values())
        raise ParameterError(f"{path}: the variable {name!r} may be {names}")
    [variable] = found.values()
    return variable
