"""Bytecodes as arrays of words, for interpreters.

::

    words     VARIABLE_IND 0  CONSTANT 7  TIMES 2  ASSIGN_IND 32  END   VARIABLE_IND 64 ...
    indices   a slot for each lane of a warp, at 0, 32, 64, ...; the terms of sums
    values    constants; where they differ in a unified bytecode, one for each lane of the warp

Without *unify*, each bytecode has words of its own, with VARIABLE, CONSTANT and ASSIGN.

Source: F. Okuyama's thesis, 2013, section 5.5.1, figures 5.4 to 5.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyapsp.simulation.bytecode import Bundle, Op, Shape
from pyapsp.simulation.layout import Layout, Phase

__all__ = ["Image", "encode"]

_INDIRECT = Op.CONSTANT_IND - Op.CONSTANT
_NUMBERED = range(Op.PLUS, Op.POWN + 1)

_Number = TypeVar("_Number", np.int32, np.float64)


@dataclass(frozen=True)
class Image:
    """The bytecodes of a layout in arrays."""

    words: NDArray[np.int32]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    # Where the bytecode of each work-item begins in `words`, phase by phase; -1: nowhere.
    starts: NDArray[np.int32]
    # (warps, 2): the number of terms of the sum of each warp, and where they are in `indices`.
    sums: NDArray[np.int32]
    # The first work-item of each phase, and how many it has: a multiple of the width.
    phases: list[tuple[int, int]]


class _Template:
    """The words of a shape, with the places of its operands."""

    def __init__(self, shape: Shape) -> None:
        words: list[int] = []
        begins: list[int] = []
        jumps: list[tuple[int, int]] = []
        self.slots: list[int] = []
        self.columns: list[int] = []
        self.constants: list[int] = []
        self.sum: tuple[int, int, int] | None = None  # its words, its first column, its terms
        column = 0
        for number, (op, count) in enumerate(shape.instructions):
            begins.append(len(words))
            words.append(int(op))
            if op in (Op.VARIABLE, Op.ASSIGN):
                self.slots.append(len(words))
                self.columns.append(column)
                column += 1
                words.append(0)
            elif op == Op.CONSTANT:
                self.constants.append(len(words))
                words.append(0)
            elif op == Op.SUM:
                self.sum = len(words), column, count
                column += count
                words += [count, 0]
            elif op in (Op.JUMP, Op.JUMP_UNLESS):
                jumps.append((len(words), number + 1 + count))
                words.append(0)
            elif op in _NUMBERED:
                words.append(count)
        begins.append(len(words))
        for place, target in jumps:
            words[place] = begins[target] - place - 1
        self.words = np.array([*words, Op.END], np.int32)


class _Writer:
    """Appends bytecodes to the arrays of an image."""

    def __init__(self) -> None:
        self.words, self.indices = _Growing(np.int32), _Growing(np.int32)
        self.values = _Growing(np.float64)

    def each(
        self, bundle: Bundle, rows: NDArray[np.int32], template: _Template
    ) -> NDArray[np.int32]:
        """Append the bytecodes of some rows, and return where each begins."""
        length = len(template.words)
        words = np.tile(template.words, (len(rows), 1))
        words[:, template.slots] = bundle.slots[rows][:, template.columns]
        constants = bundle.constants[rows]
        first = self.values.add(constants)
        places = first + np.arange(constants.size, dtype=np.int32)
        words[:, template.constants] = places.reshape(constants.shape)
        if template.sum is not None:
            place, column, terms = template.sum
            first = self.indices.add(bundle.slots[rows, column : column + terms])
            words[:, place + 1] = first + terms * np.arange(len(rows), dtype=np.int32)
        return self.words.add(words) + length * np.arange(len(rows), dtype=np.int32)

    def unified(
        self, bundle: Bundle, rows: NDArray[np.int32], template: _Template, width: int
    ) -> int:
        """Append one bytecode for a warp, and return where it begins."""
        words = template.words.copy()
        lanes = np.resize(rows, width) if len(rows) < width else rows
        slots = bundle.slots[lanes][:, template.columns]
        constants = bundle.constants[lanes]
        for table, places, into in (
            (slots, template.slots, self.indices),
            (constants.view(np.int64), template.constants, self.values),
        ):
            differ = (table != table[0]).any(axis=0)
            for number, place in enumerate(places):
                whole = slots if into is self.indices else constants
                if differ[number]:
                    words[place - 1] += _INDIRECT
                    words[place] = into.add(whole[:, number])
                elif into is self.indices:
                    words[place] = slots[0, number]
                else:
                    words[place] = into.add(constants[:1, number])
        return int(self.words.add(words))


class _Growing(Generic[_Number]):
    """An array that grows by parts."""

    def __init__(self, dtype: type[_Number]) -> None:
        self._dtype: type[_Number] = dtype
        self._parts: list[NDArray[_Number]] = []
        self._size = 0

    def add(self, part: NDArray[np.int32] | NDArray[np.float64]) -> int:
        """Append the values of an array, and return where they begin."""
        start = self._size
        self._parts.append(np.asarray(part, self._dtype).ravel())
        self._size += part.size
        return start

    def whole(self) -> NDArray[_Number]:
        """Return all of it, at least one value."""
        return np.concatenate([*self._parts, np.zeros(int(self._size == 0), self._dtype)])


def encode(layout: Layout) -> Image:
    """Return the image of a layout."""
    writer, width = _Writer(), layout.width
    templates: dict[Shape, _Template] = {}
    starts, sums, places, filled = [], [], [], 0
    for phase in layout.every:
        for bundle in phase.bundles:
            if bundle.shape not in templates:
                templates[bundle.shape] = _Template(bundle.shape)
        begin = np.full(len(phase.order), -1, np.int32)
        pairs = phase.order.reshape(-1, width, 2)
        first = pairs[:, 0, 0]
        same = ((pairs[..., 0] == first[:, None]) | (pairs[..., 0] < 0)).all(axis=1)
        whole = same & np.array([not bundle.shape.terms for bundle in phase.bundles], bool)[first]
        if not layout.options.unify:
            whole[:] = False
        for warp in np.flatnonzero(whole):
            bundle = phase.bundles[first[warp]]
            rows = pairs[warp, :, 1]
            rows = rows[rows >= 0]
            place = writer.unified(bundle, rows, templates[bundle.shape], width)
            begin[warp * width : warp * width + len(rows)] = place
        rest = np.flatnonzero(~np.repeat(whole, width) & (phase.order[:, 0] >= 0))
        for number, bundle in enumerate(phase.bundles):
            items = rest[phase.order[rest, 0] == number]
            if len(items):
                template = templates[bundle.shape]
                begin[items] = writer.each(bundle, phase.order[items, 1], template)
        starts.append(begin)
        places.append((filled, len(begin)))
        filled += len(begin)
        sums.append(_sums(phase, begin, templates, width, writer))
    return Image(
        writer.words.whole(),
        writer.indices.whole(),
        writer.values.whole(),
        np.concatenate(starts),
        np.concatenate(sums),
        places,
    )


def _sums(
    phase: Phase,
    begin: NDArray[np.int32],
    templates: dict[Shape, _Template],
    width: int,
    writer: _Writer,
) -> NDArray[np.int32]:
    """Return terms and place of the sum of each warp."""
    steps = np.zeros((len(begin) // width, 2), np.int32)
    if any(bundle.shape.terms for bundle in phase.bundles):
        words = writer.words.whole()
        for warp in range(len(steps)):
            number = phase.order[warp * width, 0]
            known = templates[phase.bundles[number].shape].sum
            if known is not None:
                place = begin[warp * width] + known[0]
                steps[warp] = words[place : place + 2]
    return steps
