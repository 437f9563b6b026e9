"""The loop over the value changes of a VCD file, compiled by Numba.

Each variable has a row of values. A change fills the row with the old value up to the current
instant, so a variable that does not change costs nothing::

    #10 1a #20 #30 0a          row of a   1 1 .        filled at #30, up to its instant
                                          ^   ^
                                        start now

What comes before the first time stamp is at time 0.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.compiled import compiled
from pyapsp.base.extras import extra
from pyapsp.mining.states import (
    ANY,
    CHANGED,
    CLOCK,
    COMMENT,
    DONE,
    DROPPED,
    EDGE,
    END,
    FULL,
    HAS_REAL,
    IGNORED,
    KEYWORDS,
    MODE,
    NO_BIT,
    NO_CODE,
    NO_END,
    NO_TIME,
    NO_TOKEN,
    NO_VALUE,
    NOT_KNOWN,
    NOW,
    PLACE,
    REAL,
    TIME,
    TOO_WIDE,
    UNKNOWN,
)

with extra("mining", "a VCD file"):
    import numba  # noqa: F401

__all__ = ["loop"]

_Bytes: TypeAlias = NDArray[np.uint8]


@compiled
def _word(data: _Bytes, at: int) -> tuple[np.uint64, int]:
    """Return the hash of a word, and where it ends."""
    key = np.uint64(0)
    while at < data.size and data[at] > 32:
        key = key * np.uint64(1099511628211) + np.uint64(data[at]) + np.uint64(1)
        at += 1
    return key, at


@compiled
def _find(
    data: _Bytes, at: int, keys: NDArray[np.uint64], slots: NDArray[np.int32]
) -> tuple[int, int]:
    """Return the variable whose code begins at a place (-2: none), and where the code ends."""
    key, after = _word(data, at)
    if after == at:
        return -2, at
    mask = np.uint64(slots.size - 1)
    place = key & mask
    while slots[place] != -2 and keys[place] != key:
        place = (place + np.uint64(1)) & mask
    return slots[place], after


@compiled
def _digit(sign: int) -> int:
    """Return 0 or 1 for a digit, 2 for an unknown one, 3 for another sign.

    Besides those of Verilog there are the values of VHDL: H and L are weak ones and zeros; U, W and
    - are unknown.
    """
    if sign == 48 or sign == 49:
        return sign - 48
    small = sign | 32
    if small == 104 or small == 108:
        return 1 if small == 104 else 0
    if small == 120 or small == 122 or small == 117 or small == 119 or sign == 45:
        return 2
    return 3


@compiled
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


@compiled
def _sample(scalars: NDArray[np.int64]) -> bool:
    """Count an instant, or drop it if a variable is unknown; with mode 2 return False then."""
    if scalars[UNKNOWN] == 0 or scalars[MODE] & 1:
        scalars[NOW] += 1
    elif scalars[MODE] == 2:
        return False
    else:
        scalars[DROPPED] += 1
    return True


@compiled
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
    masks: NDArray[np.bool_],
    scalars: NDArray[np.int64],
) -> bool:
    """End a time stamp: sample it, and let the changes take effect.

    With mode 3, `masks` gets what is unknown. With mode 2 the result is False if a variable is
    unknown. ``known[0]`` then says which.
    """
    clock, edge, mode = scalars[CLOCK], scalars[EDGE], scalars[MODE]
    if clock >= 0 and is_changed[clock] and known[0, clock] and known[1, clock]:
        up = values[1, clock] > values[0, clock]
        down = values[1, clock] < values[0, clock]
        if ((up and edge != 1) or (down and edge != 0)) and not _sample(scalars):
            return False
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
            if mode == 3:
                masks[number, start:now] = not known[0, number]
            scalars[UNKNOWN] += int(known[0, number]) - int(known[1, number])
        starts[number] = now
        values[0, number], known[0, number] = values[1, number], known[1, number]
    scalars[CHANGED] = 0
    return clock >= 0 or _sample(scalars)


@compiled
def loop(  # type: ignore[no-untyped-def]
    data, at, real, keys, slots, kinds, widths, signed, values, known, ever, changed, is_changed,
    starts, rows, bits, numbers, masks, scalars,
):  # fmt: skip
    """Read value changes from a place on; return why it ended, and where."""
    end, capacity = data.size, max(bits.shape[1], numbers.shape[1])
    while True:
        while at < end and data[at] <= 32:
            at += 1
        if at >= end:
            if scalars[ANY]:
                if scalars[NOW] == capacity:
                    return FULL, at
                if not _step(values, known, changed, is_changed, starts, rows, kinds, bits,
                             numbers, masks, scalars):  # fmt: skip
                    return NOT_KNOWN, scalars[PLACE]
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
                if not _step(values, known, changed, is_changed, starts, rows, kinds, bits,
                             numbers, masks, scalars):  # fmt: skip
                    return NOT_KNOWN, scalars[PLACE]
            scalars[TIME], scalars[ANY], scalars[PLACE] = time, 1, begin
            continue
        if sign == 36:  # a keyword
            key, at = _word(data, at)
            if key == COMMENT:
                while key != END:
                    while at < end and data[at] <= 32:
                        at += 1
                    if at >= end:
                        return NO_END, begin
                    key, at = _word(data, at)
            elif key != END:
                fine = False
                for each in KEYWORDS:
                    fine |= key == each
                if not fine:
                    return NO_TOKEN, begin
            continue
        value, fine, digits, odd = 0.0, True, 1, False
        word = np.uint64(0)
        digit = _digit(sign)
        if digit < 3:
            value, fine = float(digit), digit < 2
            at += 1
        elif sign == 98 or sign == 66:  # a vector
            at += 1
            digits, lost = 0, False
            first = at
            while at < end and data[at] > 32:
                digit = _digit(data[at])
                if digit == 3:
                    odd = True
                elif digit == 2:
                    fine = False
                elif digits or digit:
                    digits += 1
                    if digits <= 64:
                        word = (word << np.uint64(1)) | np.uint64(digit)
                    elif digit:
                        lost = True
                at += 1
            odd |= at == first
            while at < end and data[at] <= 32:
                at += 1
        elif sign == 114 or sign == 82:  # a real number
            first = at + 1
            while at < end and data[at] > 32:
                at += 1
            value, fine = _number(data, first, at)
            if not fine:
                if not scalars[HAS_REAL]:
                    return REAL, begin
                value, fine = real, True
                scalars[HAS_REAL] = 0
            while at < end and data[at] <= 32:
                at += 1
        elif sign == 115 or sign == 83:  # a text, and its code
            while at < end and data[at] > 32:
                at += 1
            second = at
            while at < end and data[at] != 10:
                at += 1
            while data[at - 1] <= 32:
                at -= 1
            while data[at - 1] > 32:
                at -= 1
            # simulators also write texts with spaces: the code is then the last word of the line
            if at < second or _find(data, at, keys, slots)[0] != IGNORED:
                at = second
                while at < end and data[at] <= 32:
                    at += 1
        else:
            return NO_TOKEN, begin
        number, at = _find(data, at, keys, slots)
        if number == -2:
            return NO_CODE, begin
        scalars[ANY] = 1
        if number == -1:
            continue
        if odd or sign == 115 or sign == 83:
            return NO_VALUE, begin
        if sign != 114 and sign != 82:
            if digits > widths[number]:
                return NO_BIT, begin
            if (sign == 98 or sign == 66) and fine:
                negative = signed[number] and digits == widths[number] and digits > 1
                if negative and digits <= 64:
                    word = np.uint64(0) - word
                    if digits < 64:
                        word &= (np.uint64(1) << np.uint64(digits)) - np.uint64(1)
                low = np.uint64(0)
                if word >> np.uint64(53):
                    # as many bits as there are above the 53rd must be zero
                    rest = word >> np.uint64(53)
                    while rest:
                        low = low << np.uint64(1) | np.uint64(1)
                        rest >>= np.uint64(1)
                if lost or word & low or digits > 1024 or (negative and digits > 64):
                    return TOO_WIDE, begin
                value = float(word)
                for _ in range(64, digits):
                    value *= 2.0
                if negative:
                    value = -value
        elif kinds[number] != 2:
            return NO_VALUE, begin
        if not is_changed[number]:
            is_changed[number] = True
            changed[scalars[CHANGED]] = number
            scalars[CHANGED] += 1
        values[1, number] = value if fine else 0.0
        known[1, number] = fine
        ever[number] |= fine
