"""Algorithm 17, the sequential miner: what `mine` must equal, and what it is compared with.

For each tuple of the dictionary and each instant, every template that still holds is checked; a
tuple without templates ends. `loop` leaves the instants to NumPy, and has no early end;
`sequential` is the algorithm as printed, compiled by Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import ParameterError
from pyapsp.base.extras import extra
from pyapsp.mining import evaluate
from pyapsp.mining.inference import Survivors, combinations
from pyapsp.mining.language import KINDS
from pyapsp.mining.result import Invariants
from pyapsp.mining.templates import Batch, TemplateSet, template_set
from pyapsp.mining.trace import Trace

__all__ = ["loop", "sequential"]

# Takes rows, entries and the bits of all statements; returns the statements that hold.
_Check: TypeAlias = Callable[[np.ndarray, NDArray[np.uint32], np.int64], NDArray[np.uint32]]


def loop(trace: Trace, templates: str | TemplateSet = "II") -> Invariants:
    """Mine a trace with a loop over tuples and templates, in NumPy.

    Parameters
    ----------
    trace : Trace
    templates : {"I", "II"} or TemplateSet

    Returns
    -------
    Invariants
    """
    known = None if trace.known is None else {kind: _known(trace, kind) for kind in KINDS}

    def check(batch: Batch, rows: np.ndarray, entries: NDArray[np.uint32]) -> NDArray[np.uint32]:
        words = np.zeros(len(entries), np.uint32)
        for place, entry in enumerate(entries):
            values = [rows[row] for row in entry]
            for bit, statement in enumerate(batch.statements):
                holds = evaluate.evaluate(statement.root, values)
                if known is None:
                    fine = bool(np.all(holds))
                else:
                    there = known[batch.kind][entry].all(axis=0)
                    fine = bool(np.all(holds | ~there) and there.any())
                if fine:
                    words[place] |= np.uint32(1 << bit)
        return words

    return _mined(trace, templates, check)


def sequential(trace: Trace, templates: str | TemplateSet = "II") -> Invariants:
    """Mine a trace by algorithm 17 with its early end, compiled by Numba.

    Parameters and result are those of `loop`.

    Raises
    ------
    PyApspError
        Numba is not installed.
    ParameterError
        Values of the trace are unknown.
    """
    if trace.known is not None:
        raise ParameterError("sequential takes no trace with unknown values; `loop` does")

    def check(batch: Batch, rows: np.ndarray, entries: NDArray[np.uint32]) -> NDArray[np.uint32]:
        lines = [
            _CHECK.format(1 << bit, evaluate.write(each.root, evaluate.NUMBA))
            for bit, each in enumerate(batch.statements)
        ]
        compiled = _compiled("\n".join(lines), batch.arity, rows.dtype.str)
        words: NDArray[np.uint32] = compiled(rows, entries, np.int64(batch.full))
        return words

    return _mined(trace, templates, check)


def _known(trace: Trace, kind: str) -> NDArray[np.bool_]:
    """Return whether each value of a kind is known."""
    words = trace.knowledge(kind)
    assert words is not None
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    return bits[:, : trace.n].astype(bool)


def _mined(
    trace: Trace,
    templates: str | TemplateSet,
    check: Callable[[Batch, np.ndarray, np.ndarray], np.ndarray],
) -> Invariants:
    batches = []
    for batch in template_set(templates).batches():
        rows = trace.values(batch.kind)
        entries = combinations(len(rows), batch.arity)
        batches.append((batch, Survivors(entries, check(batch, rows, entries)).keep()))
    names = {kind: trace.names(kind) for kind in ("boolean", "numeric")}
    return Invariants(names, trace.n, batches, {"templates": template_set(templates).name})


_CHECK = "            if word & {0} and not {1}:\n                word ^= {0}"
_LOOP = """\
def check(rows, entries, full):
    words = np.zeros(len(entries), np.uint32)
    for place in range(len(entries)):
        {rows}
        word = full
        for instant in range(rows.shape[1]):
            {values}
{checks}
            if word == 0:
                break
        words[place] = word
    return words
"""


@cache
def _compiled(checks: str, arity: int, dtype: str) -> _Check:
    with extra("mining", "this"):
        import numba
    kind = np.dtype(dtype).type
    allowed = kind(evaluate.tolerance(kind)) if kind is not np.bool_ else kind(0)

    def near(x: float, y: float) -> bool:
        return x == y or np.inf > abs(x - y) <= allowed * min(abs(x), abs(y))

    def apart(x: float, y: float) -> bool:
        return (x < y or x > y) and not close(x, y)

    def least(x: float, y: float) -> float:
        return x if x < y else (y if y <= x else x + y)

    def greatest(x: float, y: float) -> float:
        return x if x > y else (y if y >= x else x + y)

    close = numba.njit()(near)
    names: dict[str, Any] = {
        "np": np,
        "near": close,
        **{each.__name__: numba.njit(each) for each in (apart, least, greatest)},
        **{"NUMBER": kind, "power": np.power, "absolute": np.abs, "root": np.sqrt},
        **{"exp": np.exp, "log": np.log, "floor": np.floor},
    }
    letters = "abc"[:arity]
    text = _LOOP.format(
        rows="; ".join(f"r{each} = rows[entries[place, {k}]]" for k, each in enumerate(letters)),
        values="; ".join(f"{each} = r{each}[instant]" for each in letters),
        checks=checks,
    )
    # quotients by zero are infinite or NaN, as on devices
    exec(text, names)
    compiled: _Check = numba.njit(error_model="numpy")(names["check"])
    return compiled
