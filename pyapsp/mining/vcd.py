"""Value change dumps (IEEE 1364, section 18): the variables, and their values at each instant.

An instant is a time stamp, with the values after all changes at it; or an edge of a clock, with the
values just before it, as assertions of SystemVerilog sample. One-bit variables are Boolean, vectors
and reals are numeric; events and texts are left out. If a variable has several names, the first is
used.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import FormatError, ParameterError, PrecisionError
from pyapsp.base.json import Record
from pyapsp.mining import changes, scan
from pyapsp.mining.tables import Columns

__all__ = ["EDGES", "UNKNOWN", "columns"]

EDGES = ("rising", "falling", "both")
#: What to do with instants at which a variable is neither 0 nor 1.
UNKNOWN = ("drop", "zero", "error")
_REALS = frozenset({"real", "realtime", "real_parameter", "shortreal"})
_SIGNED = frozenset({"integer", "int", "shortint", "longint", "byte"})
_LEFT_OUT = frozenset({"event", "string"})
_SKIPPED = frozenset({"$comment", "$date", "$version", "$timescale", "$attrbegin", "$attrend"})
_FAULTS = {
    scan.NO_TOKEN: "a value change, a time stamp or a keyword is expected",
    scan.NO_CODE: "this identifier code is not declared",
    scan.NO_VALUE: "a vector has the digits 0, 1, x and z",
    scan.NO_TIME: "a time stamp is a whole number below 2^63, and not before the last one",
    scan.NO_END: "a comment without $end",
    scan.NO_BIT: "a value that is too wide for its variable",
}


@dataclass(frozen=True)
class _Variable:
    name: str
    code: bytes
    width: int
    kind: int
    signed: bool


def columns(
    path: Path,
    *,
    instants: int | None = None,
    variables: Sequence[str] | None = None,
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
        Their names; scopes that all variables are in are left out. Default: all.
    clock : str, optional
        A one-bit variable: sample at its edges instead of at every time stamp. It is not sampled
        itself.
    edge : {"rising", "falling", "both"}
    unknown : {"drop", "zero", "error"}
        Instants at which a variable is x or z, or has no value yet: leave them out; take zero; or
        raise an error.

    Yields
    ------
    columns : dict of str to (n,) ndarray of bool or float64
    facts : dict
        ``dropped``: instants left out so far; ``instants``: of the piece.

    Raises
    ------
    FormatError
        The file violates the format, or there is no instant at which all variables are known.
    ParameterError
        There is no such variable, or an option is wrong.
    PrecisionError
        float64 cannot hold a vector.
    """
    for name, value, legal in (("edge", edge, EDGES), ("unknown", unknown, UNKNOWN)):
        if value not in legal:
            raise ParameterError.of(name, "read_trace", f"one of {', '.join(legal)}", value)
    data = _bytes(path)
    declared, left_out, position = _header(path, data)
    chosen = _chosen(path, declared, variables, clock)
    known = {each.code for each in chosen}
    ignored = left_out | {each.code for each in declared} - known
    state = changes.State(
        [(each.code, each.kind, each.width, each.signed) for each in chosen],
        sorted(ignored - known),
        clock=clock is not None,
        edge=EDGES.index(edge),
        zero=unknown == "zero",
    )
    capacity = instants or changes.most_steps(data, position)
    total = 0
    while True:
        status, position = _fill(state, data, position, capacity, path, chosen)
        count = state.instants
        total += count
        if unknown == "error" and state.dropped:
            raise FormatError(path, None, f"unknown values: {_unknown(state, chosen)}")
        if not total and status == scan.DONE:
            hint = "leave these variables out, or give unknown='zero'"
            lacking = _unknown(state, chosen)
            raise FormatError(
                path, None, f"at no instant all variables are known: {lacking}; {hint}"
            )
        if count:
            facts: Record = {"instants": count, "dropped": state.dropped}
            yield state.columns([each.name for each in chosen], count), facts
        if status == scan.DONE:
            return


def _fill(
    state: changes.State,
    data: NDArray[np.uint8],
    position: int,
    capacity: int,
    path: Path,
    chosen: list[_Variable],
) -> tuple[int, int]:
    """Read until so many instants are complete; return why it ended, and where."""
    state.begin(capacity)
    while True:
        status, position = state.read(data, position)
        if status in (scan.DONE, scan.FULL):
            return status, position
        line = 1 + int(np.count_nonzero(data[:position] == 10))
        word = bytes(data[position : position + 40]).split()[:1]
        shown = word[0].decode("latin-1") if word else ""
        if status == scan.REAL:
            try:
                state.real = float(shown[1:])
            except ValueError:
                raise FormatError(path, line, f"{shown[1:]!r} is not a number") from None
            continue
        if status == scan.TOO_WIDE:
            raise PrecisionError(f"{path}:{line}: float64 cannot hold {shown!r}: leave it out")
        raise FormatError(path, line, f"{shown!r}: {_FAULTS[status]}")


def _bytes(path: Path) -> NDArray[np.uint8]:
    if os.stat(path).st_size == 0:
        raise FormatError(path, None, "the file is empty")
    return np.memmap(path, np.uint8, "r")


def _unknown(state: changes.State, chosen: list[_Variable]) -> str:
    names = [each.name for each, known in zip(chosen, state.known, strict=True) if not known]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{', '.join(names[:5]) or 'different ones at each'}{more}"


def _header(path: Path, data: NDArray[np.uint8]) -> tuple[list[_Variable], set[bytes], int]:
    """Return the declared variables, the codes of events, and where the value changes begin."""
    step, end, text = 2**16, -1, b""
    while end < 0 and len(text) < data.size:
        text = bytes(data[:step])
        end, step = text.find(b"$enddefinitions"), step * 4
    if end < 0:
        raise FormatError(path, None, "there is no $enddefinitions")
    finish = text.find(b"$end", end + len(b"$enddefinitions"))
    if finish < 0:
        raise FormatError(path, text.count(b"\n", 0, end) + 1, "$enddefinitions without $end")
    words = iter(text[:end].split())
    scopes: list[str] = []
    declared: list[tuple[tuple[str, ...], _Variable]] = []
    left_out: set[bytes] = set()
    for word in words:
        keyword = word.decode("latin-1")
        rest = []
        for each in words:
            if each == b"$end":
                break
            rest.append(each.decode("utf-8", "backslashreplace"))
        else:
            raise FormatError(path, None, f"{keyword} without $end")
        if keyword == "$scope" and len(rest) == 2:
            scopes.append(rest[1])
        elif keyword == "$upscope" and not rest and scopes:
            scopes.pop()
        elif keyword == "$var" and len(rest) >= 4 and rest[1].isdecimal() and int(rest[1]) > 0:
            if rest[0] in _LEFT_OUT:
                left_out.add(rest[2].encode())
            else:
                declared.append((tuple(scopes), _variable(rest)))
        elif keyword not in _SKIPPED:
            raise FormatError(path, None, f"{' '.join([keyword, *rest])!r} is no declaration")
    if not declared:
        raise FormatError(path, None, "no variable is declared")
    return _named(declared), left_out, finish + len(b"$end")


def _variable(words: list[str]) -> _Variable:
    kind, width, code, *name = words
    real = kind in _REALS
    what = scan.REALS if real else scan.BITS if int(width) == 1 else scan.VECTORS
    return _Variable("".join(name), code.encode(), int(width), what, kind in _SIGNED)


def _named(declared: list[tuple[tuple[str, ...], _Variable]]) -> list[_Variable]:
    """Return the variables with names that differ, as short as that allows."""
    common = _shared([scopes for scopes, _ in declared])
    # the range of a vector says nothing, unless two variables differ by it
    plain = Counter((scopes, each.name.partition("[")[0]) for scopes, each in declared)
    named: list[_Variable] = []
    taken: dict[str, bytes] = {}
    for scopes, each in declared:
        short, bracket, inside = each.name.partition("[")
        whole = bracket and (plain[scopes, short] > 1 or ":" not in inside)
        name = ".".join((*scopes[common:], each.name if whole else short))
        if taken.setdefault(name, each.code) != each.code:
            name = f"{name}#{each.code.decode()}"
            taken[name] = each.code
        named.append(_Variable(name, each.code, each.width, each.kind, each.signed))
    return named


def _shared(scopes: list[tuple[str, ...]]) -> int:
    """Return how many outer scopes are the same for all variables."""
    return sum(
        1 for same in takewhile(lambda level: len(set(level)) == 1, zip(*scopes, strict=False))
    )


def _chosen(
    path: Path, declared: list[_Variable], wanted: Sequence[str] | None, clock: str | None
) -> list[_Variable]:
    """Return the variables to sample, and the clock at the end."""
    first: dict[bytes, _Variable] = {}
    for each in declared:
        first.setdefault(each.code, each)
    by_name = {each.name: each for each in declared}
    for name in (*(wanted or ()), *([clock] if clock is not None else ())):
        if name not in by_name:
            raise ParameterError(f"{path}: there is no variable {name!r}")
    chosen = [by_name[name] for name in wanted] if wanted else list(first.values())
    chosen = list({each.code: each for each in chosen}.values())
    if clock is None:
        return chosen
    ticking = by_name[clock]
    if ticking.kind != scan.BITS:
        raise ParameterError.of("clock", "read_trace", "a variable of one bit", clock)
    chosen = [each for each in chosen if each.code != ticking.code]
    if not chosen:
        raise ParameterError(f"{path}: there is no variable besides the clock")
    return [*chosen, ticking]
