"""The loop over the value changes of a VCD file, compiled by Numba.

Each variable has a row of values. A change fills the row with the old value up to the current
instant, so a variable that does not change costs nothing::

    #10 1a #20 #30 0a          row of a   1 1 .        filled at #30, up to its instant
                                          ^   ^
                                        start now
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import PyApspError

__all__ = [
    *("BITS", "DONE", "FULL", "NO_BIT", "NO_CODE", "NO_END", "NO_TIME", "NO_TOKEN", "NO_VALUE"),
    *("REAL", "REALS", "TOO_WIDE", "VECTORS", "compiled"),
    *("ANY", "CHANGED", "CLOCK", "DROPPED", "EDGE", "HAS_REAL", "IGNORED", "NOW", "TIME"),
    *("UNKNOWN", "ZERO"),
]

BITS, VECTORS, REALS = 0, 1, 2
# why the loop ended
DONE, FULL, REAL, TOO_WIDE, NO_TOKEN, NO_CODE, NO_VALUE, NO_TIME, NO_END, NO_BIT = range(10)
# places in the array of scalars
NOW, TIME, CHANGED, UNKNOWN, DROPPED, CLOCK, EDGE, ZERO, ANY, HAS_REAL = range(10)
# what the table has for a code whose changes are skipped
IGNORED = -1


_Bytes: TypeAlias = NDArray[np.uint8]


@cache
def compiled() -> Callable[..., tuple[int, int]]:
    try:
        import numba
    except ModuleNotFoundError:
        raise PyApspError("VCD files need numba; install the extra 'mining' of pyapsp") from None
    compile_ = numba.njit(nogil=True)
    find, number, step = compile_(_find), compile_(_number), compile_(_step)
    whole: Callable[..., tuple[int, int]] = compile_(_loop(find, number, step))
    return whole


def _find(
    data: _Bytes, at: int, keys: NDArray[np.uint64], slots: NDArray[np.int32]
) -> tuple[int, int]:
    """Return the variable whose code begins at a place (-2: none), and where the code ends."""
    key, end = np.uint64(0), data.size
    begin = at
    while at < end and data[at] > 32:
        key = key * np.uint64(1099511628211) + np.uint64(data[at]) + np.uint64(1)
        at += 1
    if at == begin:
        return -2, at
    mask = np.uint64(slots.size - 1)
    place = key & mask
    while slots[place] != -2 and keys[place] != key:
        place = (place + np.uint64(1)) & mask
    return slots[place], at


def _number(data: _Bytes, at: int, end: int) -> tuple[float, bool]:
    """Return a decimal number, and whether it is exact: few digits, and a small exponent."""
    negative, digits, scale, seen = False, 0, 0, 0
    whole, point = np.int64(0), False
    if at < end and (data[at] == 45 or data[at] == 43):
        negative = data[at] == 45
        at += 1
    while at < end and (48 <= data[at] <= 57 or (data[at] == 46 and not point)):
        if data[at] == 46:
            point = True
        else:
            seen += 1
            if whole or data[at] != 48:
                digits += 1
            if digits > 15:
                return 0.0, False
            whole = whole * 10 + (data[at] - 48)
            scale -= point
        at += 1
    if at + 1 < end and (data[at] == 101 or data[at] == 69):
        at += 1
        down = data[at] == 45
        if data[at] == 45 or data[at] == 43:
            at += 1
        power = 0
        if at == end:
            return 0.0, False
        while at < end and 48 <= data[at] <= 57 and power < 100:
            power = power * 10 + (data[at] - 48)
            at += 1
        scale += -power if down else power
    if at != end or not seen or scale < -22 or scale > 22:
        return 0.0, False
    value = float(whole)
    # ten to the power of 22 is exact, so this rounds once
    value = value / 10.0**-scale if scale < 0 else value * 10.0**scale
    return -value if negative else value, True


def _step(
    values: NDArray[np.float64],
    known: NDArray[np.bool_],
    changed: NDArray[np.int32],
    is_changed: NDArray[np.bool_],
    starts: NDArray[np.int64],
    rows: NDArray[np.int32],
    kinds: NDArray[np.int8],
    bits: _Bytes,
    numbers: NDArray[np.float64],
    scalars: NDArray[np.int64],
) -> None:
    """End a time stamp: sample it, and let the changes take effect."""
    clock, edge = scalars[CLOCK], scalars[EDGE]
    if clock >= 0 and is_changed[clock] and known[0, clock] and known[1, clock]:
        up = values[1, clock] > values[0, clock]
        down = values[1, clock] < values[0, clock]
        if (up and edge != 1) or (down and edge != 0):
            if scalars[UNKNOWN] == 0 or scalars[ZERO]:
                scalars[NOW] += 1
            else:
                scalars[DROPPED] += 1
    now = scalars[NOW]
    for place in range(scalars[CHANGED]):
        number = changed[place]
        is_changed[number] = False
        row, start = rows[number], starts[number]
        if number != clock:
            if kinds[number] == 0:
                bits[row, start:now] = np.uint8(values[0, number])
            else:
                numbers[row, start:now] = values[0, number]
            scalars[UNKNOWN] += int(known[0, number]) - int(known[1, number])
        starts[number] = now
        values[0, number], known[0, number] = values[1, number], known[1, number]
    scalars[CHANGED] = 0
    if clock < 0:
        if scalars[UNKNOWN] == 0 or scalars[ZERO]:
            scalars[NOW] += 1
        else:
            scalars[DROPPED] += 1


def _loop(
    find: Callable[..., tuple[int, int]],
    parsed: Callable[..., tuple[float, bool]],
    step: Callable[..., None],
) -> Callable[..., tuple[int, int]]:
    def loop(  # type: ignore[no-untyped-def]
        data, at, real, keys, slots, kinds, widths, signed, values, known, changed, is_changed,
        starts, rows, bits, numbers, scalars,
    ):  # fmt: skip
        end, capacity = data.size, max(bits.shape[1], numbers.shape[1])
        while True:
            while at < end and data[at] <= 32:
                at += 1
            if at >= end:
                if scalars[ANY]:
                    if scalars[NOW] == capacity:
                        return FULL, at
                    step(values, known, changed, is_changed, starts, rows, kinds, bits, numbers,
                         scalars)  # fmt: skip
                    scalars[ANY] = 0
                return DONE, at
            sign, begin = data[at], at
            if sign == 35:  # a time stamp
                at += 1
                time = np.int64(0)
                while at < end and 48 <= data[at] <= 57 and time < 2**59:
                    time = time * 10 + (data[at] - 48)
                    at += 1
                if at == begin + 1 or (at < end and data[at] > 32) or time < scalars[TIME]:
                    return NO_TIME, begin
                if scalars[ANY] and time != scalars[TIME]:
                    if scalars[NOW] == capacity:
                        return FULL, begin
                    step(values, known, changed, is_changed, starts, rows, kinds, bits, numbers,
                         scalars)  # fmt: skip
                scalars[TIME], scalars[ANY] = time, 1
                continue
            if sign == 36:  # a keyword
                while at < end and data[at] > 32:
                    at += 1
                size = at - begin
                if size == 8 and data[begin + 1] == 99:  # $comment
                    while True:
                        if at + 4 > end:
                            return NO_END, begin
                        if (data[at] == 36 and data[at + 1] == 101 and data[at + 2] == 110
                                and data[at + 3] == 100):  # fmt: skip
                            at += 4
                            break
                        at += 1
                # $dumpvars, $dumpall, $dumpon, $dumpoff and $end
                elif not (size == 4 or (7 <= size <= 9 and data[begin + 1] == 100)):
                    return NO_TOKEN, begin
                continue
            value, fine, digits = 0.0, True, 1
            if sign == 48 or sign == 49:
                value = float(sign - 48)
                at += 1
            elif sign == 120 or sign == 88 or sign == 122 or sign == 90:
                fine = False
                at += 1
            elif sign == 98 or sign == 66:  # a vector
                at += 1
                word, digits = np.uint64(0), 0
                first = at
                while at < end and data[at] > 32:
                    here = data[at]
                    if here == 48 or here == 49:
                        if digits or here == 49:
                            digits += 1
                        word = (word << np.uint64(1)) | np.uint64(here - 48)
                    elif here == 120 or here == 88 or here == 122 or here == 90:
                        fine = False
                    else:
                        return NO_VALUE, begin
                    at += 1
                if at == first:
                    return NO_VALUE, begin
                value = float(word)
                while at < end and data[at] <= 32:
                    at += 1
            elif sign == 114 or sign == 82 or sign == 115 or sign == 83:  # a real, or a text
                first = at + 1
                while at < end and data[at] > 32:
                    at += 1
                if sign == 114 or sign == 82:
                    value, fine = parsed(data, first, at)
                    if not fine:
                        if not scalars[HAS_REAL]:
                            return REAL, begin
                        value, fine = real, True
                        scalars[HAS_REAL] = 0
                while at < end and data[at] <= 32:
                    at += 1
            else:
                return NO_TOKEN, begin
            number, at = find(data, at, keys, slots)
            if number == -2:
                return NO_CODE, begin
            scalars[ANY] = 1
            if number == -1:
                continue
            if sign == 115 or sign == 83:
                return NO_VALUE, begin
            if sign != 114 and sign != 82:
                if digits > widths[number]:
                    return NO_BIT, begin
                if fine and digits > 53 and (digits > 64 or np.uint64(value) != word):
                    return TOO_WIDE, begin
                if signed[number] and fine and digits == widths[number] and digits > 1:
                    value -= 2.0 ** widths[number]
            elif kinds[number] != 2:
                return NO_VALUE, begin
            if not is_changed[number]:
                is_changed[number] = True
                changed[scalars[CHANGED]] = number
                scalars[CHANGED] += 1
            values[1, number] = value if fine else 0.0
            known[1, number] = fine

    return loop
