"""Answers that follow from other answers, so that their entries need not be checked.

The unary statements say which Booleans are constant, the binary ones which are always equal or
always different. So the variables of an entry take few of the 2^k assignments: with f classes that
are free (not constant, and neither equal to nor different from one another) there are 2^f.

    known                     example                          what follows
    f <= 1                    a = b & c, b true, a = c         all assignments occur: every answer
    f = 2                     a = b & c, b = c                 at least three of the four occur: no
                                                               statement that allows only two holds
    any f                     a = b ^ c, a true, b != c        a statement that all of them satisfy
    equal to another variable a = b & c, a = d                 the answer of d = b & c

These are the examples of F. Busato's thesis, 2018, section 20.3.2, completed. The last line also
holds for numbers: equal ones have equal bits, because a trace has no minus zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations as subsets
from itertools import permutations
from math import comb

import numpy as np
from numpy.typing import NDArray

from pyapsp.mining.evaluate import truth_table
from pyapsp.mining.templates import Batch

__all__ = ["Facts", "Survivors", "combinations", "copied", "derived"]

# bits that are set in a byte; NumPy counts them from version 2 on
_SET = np.array([bin(byte).count("1") for byte in range(256)])


@dataclass
class Survivors:
    """Entries of a batch of which a statement still holds."""

    # (m, arity): rows, increasing in an entry; the entries are sorted.
    entries: NDArray[np.uint32]
    words: NDArray[np.uint32]  # (m,): the statements that hold

    def keep(self) -> Survivors:
        """Return those entries of which a statement holds."""
        some = self.words != 0
        return Survivors(self.entries[some], self.words[some])


@dataclass
class Facts:
    """What is known about the variables of one kind."""

    constant: NDArray[np.int64]  # (v,): 0 or 1 for a Boolean that never changes, else -1
    equal: NDArray[np.int64]  # (v,): the first variable that a variable is always equal to
    # (v,): the first variable that a Boolean is always equal to (sign 0) or different from (1).
    group: NDArray[np.int64] = field(init=False)
    sign: NDArray[np.int64] = field(init=False)
    classes: bool = False  # whether `equal`, `group` and `sign` are known

    @classmethod
    def none(cls, variables: int) -> Facts:
        """Return what is known at the start: nothing."""
        return cls(np.full(variables, -1, np.int8), np.arange(variables))

    def __post_init__(self) -> None:
        self.group, self.sign = self.equal.copy(), np.zeros(self.equal.size, np.int64)

    def learn(self, batch: Batch, survivors: Survivors) -> None:
        """Take what the answers of a batch say about variables."""
        if batch.arity == 1 and batch.kind == "boolean":
            for text, value in (("!a", 0), ("a", 1)):
                holding = _holding(batch, survivors, text)
                if holding is not None:
                    self.constant[holding[:, 0]] = value
        if batch.arity == 2 and (same := _holding(batch, survivors, "a = b")) is not None:
            np.minimum.at(self.equal, same[:, 1], same[:, 0].astype(np.int64))
            self.group = self.equal.copy()
            self.classes = True
            if batch.kind == "boolean":
                other = _holding(batch, survivors, "a != b")
                if other is None:
                    self.classes = False
                    return
                opposite = np.arange(self.equal.size)
                np.minimum.at(opposite, other[:, 1], other[:, 0].astype(np.int64))
                self.sign = (opposite < self.equal).astype(np.int64)
                self.group = np.minimum(self.equal, opposite)


def _holding(batch: Batch, survivors: Survivors, text: str) -> NDArray[np.uint32] | None:
    """Return the entries for which a statement holds; None if the batch does not have it."""
    bit = batch.bit(text)
    return (
        None
        if bit is None
        else survivors.entries[(survivors.words >> np.uint32(bit) & 1).astype(bool)]
    )


def combinations(variables: int, arity: int) -> NDArray[np.uint32]:
    """Return all entries: the increasing tuples of so many variables."""
    if arity == 1:
        return np.arange(variables, dtype=np.uint32)[:, None]
    if arity == 2:
        return np.column_stack(np.triu_indices(variables, 1)).astype(np.uint32)
    entries = np.empty((comb(variables, 3), 3), np.uint32)
    pairs, done = combinations(variables, 2), 0
    for first in range(variables - 2):
        rest = pairs[np.searchsorted(pairs[:, 0], first, "right") :]
        entries[done : done + len(rest), 0] = first
        entries[done : done + len(rest), 1:] = rest
        done += len(rest)
    return entries


def derived(
    batch: Batch, entries: NDArray[np.uint32], facts: Facts
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the answers of Boolean statements that facts determine.

    Returns
    -------
    known, holds : (m,) ndarray of uint32
        The statements with a known answer, and those of them that hold.
    """
    arity, count = batch.arity, 1 << batch.arity
    assignments = np.arange(count)
    possible = np.full(len(entries), (1 << count) - 1, np.uint32)
    constant = facts.constant[entries]
    for place in range(arity):
        for value in (0, 1):
            allowed = _mask((assignments >> place & 1) == value)
            possible &= np.where(constant[:, place] == value, allowed, possible)
    free = (constant < 0).sum(axis=1)
    if facts.classes:
        group, sign = facts.group[entries], facts.sign[entries]
        seen = np.zeros(len(entries), np.int64)  # places of a class that an earlier place has
        for one, other in subsets(range(arity), 2):
            both = (constant[:, one] < 0) & (constant[:, other] < 0)
            same = both & (group[:, one] == group[:, other])
            differ = sign[:, one] ^ sign[:, other]
            parity = (assignments >> one & 1) ^ (assignments >> other & 1)
            either = np.where(differ == 1, _mask(parity == 1), _mask(parity == 0))
            possible &= np.where(same, either, possible)
            seen |= np.where(same, 1 << other, 0)
        free = free - _SET[seen]
    known = np.zeros(len(entries), np.uint32)
    holds = np.zeros(len(entries), np.uint32)
    for bit, statement in enumerate(batch.statements):
        table = np.uint32(truth_table(statement.root, arity))
        always = possible & ~table == 0
        never = (free <= 1) & ~always
        if facts.classes:
            never |= (free == 2) & ~always & (_SET[possible & table] <= 2)
        known |= np.where(always | never, np.uint32(1 << bit), np.uint32(0))
        holds |= np.where(always, np.uint32(1 << bit), np.uint32(0))
    return known, holds


def copied(
    batch: Batch, entries: NDArray[np.uint32], facts: Facts
) -> tuple[NDArray[np.bool_], Callable[[Survivors], NDArray[np.uint32]]]:
    """Find entries whose answers are those of an entry of the first equal variables.

    Returns
    -------
    which : (m,) ndarray of bool
        The entries whose answers can be copied.
    fetch : callable
        Takes the answers of the others, and returns the words of these.
    """
    nobody = np.zeros(len(entries), bool)
    if not facts.classes or batch.arity < 3:
        return nobody, lambda survivors: np.zeros(0, np.uint32)
    firsts = facts.equal[entries]
    order = np.argsort(firsts, axis=1, kind="stable")
    targets = np.take_along_axis(firsts, order, axis=1)
    which = (targets != entries).any(axis=1) & (np.diff(targets, axis=1) > 0).all(axis=1)
    tables = batch.reordered if which.any() else {}
    for missing in set(permutations(range(batch.arity))) - tables.keys():
        which &= (order != missing).any(axis=1)
    order, targets = order[which], targets[which]

    def fetch(survivors: Survivors) -> NDArray[np.uint32]:
        words = np.zeros(len(targets), np.uint32)
        if not len(survivors.words):
            return words
        base = int(entries.max()) + 1
        codes, wanted = _codes(survivors.entries, base), _codes(targets, base)
        place = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        theirs = np.where(codes[place] == wanted, survivors.words[place], np.uint32(0))
        for places, bits in tables.items():
            here = (order == places).all(axis=1)
            for bit, source in enumerate(bits):
                words[here] |= (theirs[here] >> np.uint32(source) & np.uint32(1)) << np.uint32(bit)
        return words

    return which, fetch


def _codes(entries: NDArray[np.uint32], base: int) -> NDArray[np.uint64]:
    codes = np.zeros(len(entries), np.uint64)
    for column in entries.T:
        codes = codes * np.uint64(base) + column.astype(np.uint64)
    return codes


def _mask(which: NDArray[np.bool_]) -> np.uint32:
    return np.uint32((which.astype(np.int64) << np.arange(len(which))).sum())
