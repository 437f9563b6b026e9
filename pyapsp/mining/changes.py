"""The state of a VCD reader: the variables, their present values, and the current piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pyapsp.mining import states

__all__ = ["State", "most_steps"]


def most_steps(data: NDArray[np.uint8], position: int) -> int:
    """Return a bound on the number of time stamps: the signs # that follow, and one."""
    step = 2**24
    parts = range(position, data.size, step)
    return 1 + sum(int(np.count_nonzero(data[at : at + step] == 35)) for at in parts)


class State:
    """What the loop carries from one call to the next.

    Parameters
    ----------
    variables : sequence of (bytes, int, int, bool)
        Code, kind, width and sign of each variable; the clock is the last.
    ignored : sequence of bytes
        Codes whose changes are skipped.
    clock : bool
        Whether there is a clock.
    edge : int
        0 for rising edges, 1 for falling ones, 2 for both.
    mode : int
        Instants with unknown values: 0 leaves them out, 1 takes zero, 2 stops, 3 masks the values.
    position : int
        Where the changes begin.

    Attributes
    ----------
    real : float or None
        The value of the real number at which the loop stopped.

    Raises
    ------
    PyApspError
        Numba is not installed.
    """

    def __init__(
        self,
        variables: Sequence[tuple[bytes, int, int, bool]],
        ignored: Sequence[bytes],
        *,
        clock: bool,
        edge: int,
        mode: int,
        position: int,
    ) -> None:
        from pyapsp.mining.scan import loop  # Numba takes a second to import

        self.real: float | None = None
        self._compiled: Callable[..., tuple[int, int]] = loop
        count = len(variables)
        self._keys, self._slots = _table(
            {code: number for number, (code, *_) in enumerate(variables)}
            | dict.fromkeys(ignored, states.IGNORED)
        )
        self._kinds = np.array([kind for _, kind, *_ in variables], np.int8)
        self._widths = np.array([min(width, 2**31 - 1) for *_, width, _ in variables], np.int32)
        self._signed = np.array([signed for *_, signed in variables], bool)
        self._values = np.zeros((2, count))  # now, and after the step
        self._known, self._ever = np.zeros((2, count), bool), np.zeros(count, bool)
        self._changed, self._is_changed = np.zeros(count, np.int32), np.zeros(count, bool)
        self._starts = np.zeros(count, np.int64)
        self._scalars = np.zeros(11, np.int64)
        self._scalars[states.UNKNOWN] = count - clock
        self._scalars[states.CLOCK] = count - 1 if clock else -1
        self._scalars[[states.EDGE, states.MODE, states.PLACE]] = edge, mode, position
        self._sampled = count - clock
        # row of each variable in the array of its kind
        bits = self._kinds == states.BITS
        self._rows = np.where(bits, np.cumsum(bits), np.cumsum(~bits)).astype(np.int32) - 1
        self.begin(0)

    @property
    def instants(self) -> int:
        """Instants of the piece so far."""
        return int(self._scalars[states.NOW])

    @property
    def dropped(self) -> int:
        """Instants that were left out."""
        return int(self._scalars[states.DROPPED])

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each variable is known."""
        return self._known[0, : self._sampled]

    @property
    def ever(self) -> NDArray[np.bool_]:
        """Whether each variable was ever known."""
        return self._ever[: self._sampled]

    def ignore(self, code: bytes) -> None:
        """Skip all later changes of a variable."""
        size, key = len(self._keys), states.code_hash(code)
        place = key % size
        while self._keys[place] != key:
            place = (place + 1) % size
        self._slots[place] = states.IGNORED

    def begin(self, capacity: int) -> None:
        """Begin a piece of at most so many instants."""
        bits = int((self._kinds == states.BITS).sum())
        self._bits = np.empty((bits, capacity), np.uint8)
        self._numbers = np.empty((len(self._kinds) - bits, capacity))
        masked = self._scalars[states.MODE] == 3
        self._masks = np.empty((len(self._kinds), capacity) if masked else (0, 0), bool)
        self._starts[:] = 0
        self._scalars[states.NOW] = 0

    def read(self, data: NDArray[np.uint8], position: int) -> tuple[int, int]:
        """Read on from a position; return why the loop ended, and where."""
        self._scalars[states.HAS_REAL] = self.real is not None
        real, self.real = self.real or 0.0, None
        status, position = self._compiled(
            data,
            position,
            real,
            self._keys,
            self._slots,
            self._kinds,
            self._widths,
            self._signed,
            self._values,
            self._known,
            self._ever,
            self._changed,
            self._is_changed,
            self._starts,
            self._rows,
            self._bits,
            self._numbers,
            self._masks,
            self._scalars,
        )
        return int(status), int(position)

    def columns(self, names: Sequence[str], count: int) -> dict[str, np.ndarray]:
        """Return the values of the piece, by name; with mode 3, unknown ones are masked."""
        columns = {}
        for number, name in enumerate(names[: self._sampled]):
            bits = self._kinds[number] == states.BITS
            row = (self._bits if bits else self._numbers)[self._rows[number]]
            row[self._starts[number] : count] = self._values[0, number]
            column = row[:count].view(bool) if bits else row[:count]
            if len(self._masks):
                mask = self._masks[number]
                mask[self._starts[number] : count] = not self._known[0, number]
                column = np.ma.array(column, mask=mask[:count])
            columns[name] = column
        return columns


def _table(codes: dict[bytes, int]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Return a hash table of identifier codes: their hashes, and their variables."""
    size = 1 << (4 * len(codes)).bit_length()
    keys, slots = np.zeros(size, np.uint64), np.full(size, -2, np.int32)
    for code, number in codes.items():
        key = states.code_hash(code)
        place = key % size
        while slots[place] != -2:
            place = (place + 1) % size
        keys[place], slots[place] = key, number
    return keys, slots
