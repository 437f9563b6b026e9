"""Assign bytecodes to work-items, and variables to slots.

The bytecodes of the threads of a phase are joined, and those of the same shape are a bundle.

Source: F. Okuyama's thesis, 2013, section 5.5.1, figures 5.4 to 5.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import ParameterError
from pyapsp.simulation.bytecode import Bundle, Codes, Shape
from pyapsp.simulation.schedule import Model

__all__ = ["SUMS", "Layout", "Optimisations", "Phase", "arrange"]

#: How a warp adds the terms of a sum of many variables; "" leaves sums to one work-item.
SUMS = ("", "tree", "ordered", "compensated")  # the numbers of sums.h


@dataclass(frozen=True)
class Optimisations:
    """Which optimisations of the thesis are used.

    Parameters
    ----------
    merge : bool
        Shift functions into earlier phases.
    reorder : bool
        Order the bytecodes of a phase by length and opcodes.
    redundant : bool
        Begin each group of equal opcodes at a multiple of the warp.
    unify : bool
        One bytecode for all that have the same opcodes, with operands in tables: those of a warp
        in the interpreter, those of a phase in the translator.
    remap : bool
        Number variables by their first use.
    sum : {"ordered", "tree", "compensated", ""}
        Sums of 32 variables and more by a warp. "tree" adds in another order than one core does.
        "ordered" loads in parallel and adds in order, so that its sums are those of one core.
        "compensated" adds the rounding errors too (Neumaier), so that the order hardly matters.
        "" computes them by one work-item.
    export : bool
        Whether the translator keeps tables out of the program text.
    """

    merge: bool = True
    reorder: bool = True
    redundant: bool = True
    unify: bool = True
    remap: bool = True
    sum: str = "ordered"
    export: bool = True

    def __post_init__(self) -> None:
        if self.sum not in SUMS:
            raise ParameterError.of("sum", "Optimisations", f"one of {SUMS}", self.sum)

    @classmethod
    def none(cls) -> Optimisations:
        """Return these with every switch off."""
        return cls(**{each.name: each.type == "str" and "" for each in fields(cls)})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Phase:
    """Bytecodes that do not depend on each other."""

    bundles: list[Bundle]
    # (m, 2): bundle and row of the bytecode of each work-item, or -1 for a work-item without one.
    order: NDArray[np.int32]

    @property
    def count(self) -> int:
        """The number of bytecodes."""
        return sum(len(bundle) for bundle in self.bundles)


@dataclass(frozen=True)
class Layout:
    """The phases of a model for warps of a width."""

    phases: list[Phase]  # the last one has the derivatives
    resets: Phase | None  # what states get after a step
    # How many there are.
    states: int
    functions: int
    slots: dict[str, int]  # the slot of each variable: states first, then functions
    width: int  # work-items of a warp
    options: Optimisations

    @property
    def every(self) -> list[Phase]:
        """All phases; that of the resets, if there is one, is the last."""
        return self.phases + ([self.resets] if self.resets else [])

    @property
    def depth(self) -> int:
        """The number of values on a stack at most."""
        return max((each.shape.depth for phase in self.every for each in phase.bundles), default=1)


def arrange(model: Model, options: Optimisations, width: int) -> Layout:
    """Return the layout of a model for warps of `width` work-items."""
    phases = [_phase(model.codes, threads, options, width) for threads in model.phases]
    resets = _phase(model.codes, model.resets, options, width) if model.resets else None
    count, functions = len(model.states), len(model.functions)
    new = np.arange(count + functions, dtype=np.int32)
    every = phases + ([resets] if resets else [])
    if options.remap:
        new = _first_uses(every, count, functions, columns=options.unify)
        for phase in every:
            for bundle in phase.bundles:
                bundle.slots[...] = new[bundle.slots]
    slots = dict(zip(model.states + model.functions, new.tolist(), strict=True))
    return Layout(phases, resets, count, functions, slots, width, options)


def _phase(codes: Codes, threads: list[list[int]], options: Optimisations, width: int) -> Phase:
    owner = codes.places[:, 0].tolist()
    members: dict[tuple[int, ...], list[int]] = {}
    for number, thread in enumerate(threads):
        members.setdefault(tuple([owner[code] for code in thread]), []).append(number)
    joined = [
        (_joined([codes.bundles[each].shape for each in key]), key, chosen)
        for key, chosen in members.items()
    ]
    if options.reorder:
        joined.sort(key=lambda each: each[0].key)
    bundles: list[Bundle] = []
    order = np.empty((len(threads), 2), np.int32)
    for shape, key, chosen in joined:
        order[chosen, 0], order[chosen, 1] = len(bundles), np.arange(len(chosen))
        rows = codes.places[np.array([threads[each] for each in chosen]), 1]
        parts = [(codes.bundles[each], rows[:, place]) for place, each in enumerate(key)]
        slots = np.concatenate([bundle.slots[row] for bundle, row in parts], axis=1)
        constants = np.concatenate([bundle.constants[row] for bundle, row in parts], axis=1)
        bundles.append(Bundle(shape, slots, constants))
    if options.reorder:
        order = order[np.lexsort((order[:, 1], order[:, 0]))]
    return Phase(bundles, _padded(order, bundles, width, options))


def _joined(shapes: list[Shape]) -> Shape:
    """Return the shape of bytecodes behind each other."""
    return Shape(tuple(each for shape in shapes for each in shape.instructions))


def _padded(
    order: NDArray[np.int32], bundles: list[Bundle], width: int, options: Optimisations
) -> NDArray[np.int32]:
    """Return the order with idle work-items, so that groups begin at multiples of the width."""
    parts: list[NDArray[np.int32]] = []
    filled = 0

    def pad() -> None:
        nonlocal filled
        missing = -filled % width
        parts.append(np.full((missing, 2), -1, np.int32))
        filled += missing

    changes = np.flatnonzero(np.diff(order[:, 0], prepend=-1, append=-1))
    for start, stop in pairwise(changes.tolist()):
        if bundles[order[start, 0]].shape.terms:  # a warp for each
            for place in range(start, stop):
                pad()
                parts.append(order[place : place + 1])
                filled += 1
            pad()
            continue
        if options.redundant:
            pad()
        parts.append(order[start:stop])
        filled += stop - start
    pad()
    return np.concatenate(parts)


def _first_uses(
    phases: list[Phase], states: int, functions: int, *, columns: bool
) -> NDArray[np.int32]:
    """Return the new slot of each variable, by first use."""
    uses = np.concatenate(list(_uses(phases, columns)))
    slots, first = np.unique(uses, return_index=True)
    new = np.empty(states + functions, np.int32)
    for start, stop in ((0, states), (states, states + functions)):
        inside = (slots >= start) & (slots < stop)
        some = slots[inside][np.argsort(first[inside])]
        new[some] = start + np.arange(len(some))
    return new


def _uses(phases: list[Phase], columns: bool) -> Iterator[NDArray[np.int32]]:
    for phase in phases:
        if columns:  # as the lanes of a warp use them, operand by operand
            yield from (bundle.slots.T.ravel() for bundle in phase.bundles)
        else:
            rows = phase.order[phase.order[:, 0] >= 0].tolist()
            yield from (phase.bundles[bundle].slots[row] for bundle, row in rows)
