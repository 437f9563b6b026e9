"""The memory manager: block arrays, their trees of free blocks, and the arenas that hold them.

Edges are in *slots*, which are numbered. Slots come in *regions* of 2^bits; consecutive regions are
an *arena*, one buffer of the device for each column. A *block array* is one region, cut into blocks
of one class, or several regions that are one block, if it is larger than a region. So the block
array of a block is found from its place::

    slot     0               8               16              24              32
    region   |0              |1              |2              |3              |
    class    |3: 4 + 4       |0: 8 blocks    |7: one block of 16             |

Classes 0, 1, 3, 5, ... have blocks of 1, 2, 4, 8, ... slots as published, and classes 2, 4, 6, ...
those of 3, 6, 12, ... slots between them, which leave less memory unused.

Each block array has a Vec-Tree, a tree of bits whose leaves are its free blocks, in the memory of
the device; kernels take and return many blocks at once (``cl/dynamic/batch.cl``). The manager on
the host knows the number of free blocks of each block array. For each class a B+ tree sorts the
block arrays by that number, and blocks come from the fullest ones. So others become empty, and
their regions are used for other classes. An arena without block arrays is released.

Source: F. Busato, thesis, University of Verona, 2018, sections 18.2.1 to 18.2.3,
https://iris.univr.it/handle/11562/979445. Sizes between powers of two, regions and arenas (because
OpenCL has no pointers to buffers in buffers), and taking blocks on the device: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import CapabilityError, DeviceMemoryError
from pyapsp.dynamic.b_plus_tree import BPlusTree

__all__ = ["ARENAS", "CLASSES", "NEW", "NO_BLOCK", "BlockArrays", "room", "tree_words"]

#: Classes of blocks: 1 to 2^31 slots, and the class of vertices without a block.
CLASSES, NO_BLOCK = 63, 62
#: The most arenas.
ARENAS = 16
#: Set in a number of blocks that come from a block array that is new.
NEW = 2**31
# A new arena is at least this part of all, so that 16 arenas are enough to grow by 1,000 times.
_GROWTH = 0.625
# A tree is made anew if more of its keys change.
_FEW = 8
# The number of the last slot is left for vertices without a block.
_SLOTS = 2**32 - 1


def room(kind: int) -> int:
    """Return the slots of a block of a class."""
    return 1 if kind == 0 else (3 - kind % 2) << (kind - 1) // 2


def tree_words(blocks: int) -> int:
    """Return the 32-bit words of the Vec-Tree of this many blocks."""
    words = total = -(-blocks // 32)
    while words > 1:
        words = -(-words // 32)
        total += words
    return total


class BlockArrays:
    """The block arrays of a container.

    Parameters
    ----------
    bits : int
        The binary logarithm of the slots of a region.
    largest : int
        The most regions of an arena.
    opened : callable
        ``opened(arena, regions)`` allocates the memory of an arena, or raises an error.
    closed : callable
        ``closed(arena)`` frees it.

    Attributes
    ----------
    table : (regions, 4) uint32 ndarray
        For each region, for kernels: class + 256 arena, the first slot of the arena, the first word
        of the Vec-Tree, whether it is not the first region of its block.
    words : int
        Words of all Vec-Trees.
    changed : bool
        Whether the table has changed; whoever reads it clears this.
    """

    def __init__(
        self,
        bits: int,
        largest: int,
        opened: Callable[[int, int], None],
        closed: Callable[[int], None],
    ) -> None:
        self.bits, self._largest = bits, largest
        self._opened, self._closed = opened, closed
        self.table = np.zeros((0, 4), np.uint32)
        self.words, self.changed = 0, True
        self._free = np.zeros(0, np.int64)  # blocks of each block array
        self._used = np.zeros(0, bool)  # regions that are block arrays, or parts of them
        self._arena = np.zeros(0, np.int8)  # of each region; -1: none
        self._first = np.zeros(ARENAS, np.int64)  # region of each arena
        self._trees = [BPlusTree() for _ in range(NO_BLOCK)]
        self._sums = [0] * NO_BLOCK  # free blocks of each class
        self._spare: list[list[int]] = [[] for _ in range(NO_BLOCK)]  # words of former Vec-Trees

    @property
    def regions(self) -> int:
        """Number of regions of all arenas."""
        return int(np.count_nonzero(self._arena >= 0))

    @property
    def occupied(self) -> int:
        """Number of regions of all block arrays."""
        return int(np.count_nonzero(self._used))

    @property
    def blocks_in_use(self) -> list[int]:
        """Number of blocks of each class that vertices have."""
        first = self._used & (self.table[:, 3] == 0)
        kinds = np.bincount(self.table[first, 0] & 255, minlength=NO_BLOCK)
        return [
            int(count) * self._blocks(kind) - free
            for kind, (count, free) in enumerate(zip(kinds, self._sums, strict=True))
        ]

    @property
    def arenas(self) -> list[int]:
        """Numbers of the arenas."""
        return [int(number) for number in np.unique(self._arena) if number >= 0]

    @property
    def alone(self) -> bool:
        """Whether all slots are in arena 0, which begins with slot 0."""
        return self._arena.max(initial=-1) == 0 and not self._first[0]

    def _blocks(self, kind: int) -> int:
        """Return the number of blocks of a block array of a class."""
        return max((1 << self.bits) // room(kind), 1)

    def _span(self, kind: int) -> int:
        """Return the number of regions of a block array of a class."""
        return -(-room(kind) >> self.bits)

    def reserve(self, need: Sequence[int]) -> NDArray[np.uint32]:
        """Take blocks: `need[c]` of class c.

        Returns
        -------
        (takes, 4) uint32 ndarray
            For kernels, by class: region, number of blocks (+ `NEW`), how many blocks come before
            these, 0.

        Raises
        ------
        DeviceMemoryError, DeviceError
            There is not enough memory. Then no block is taken.
        CapabilityError
            There are too many slots or arenas. Then no block is taken.
        """
        kinds = [kind for kind in range(NO_BLOCK) if need[kind]]
        fresh = {}  # class -> number of new block arrays; the largest blocks first
        for kind in reversed(kinds):
            if need[kind] > self._sums[kind]:
                fresh[kind] = -(-(need[kind] - self._sums[kind]) // self._blocks(kind))
        places = self._make_room(fresh) if fresh else {}
        takes, before = [np.zeros((0, 4), np.int64)], 0
        for kind in kinds:
            missing = need[kind]
            if self._sums[kind]:
                amount = min(missing, self._sums[kind])
                takes.append(self._take(kind, amount, before))
                missing -= amount
                before += amount
            if missing:
                takes.append(self._open(kind, places[kind], missing, before))
                before += missing
        return np.concatenate(takes).astype(np.uint32)

    def _take(self, kind: int, amount: int, before: int) -> NDArray[np.int64]:
        """Take some of the free blocks, from the fullest block arrays."""
        free, region = self._trees[kind].first()
        if free >= amount:
            self._set_free(region, kind, free - amount)
            return np.array([[region, amount, before, 0]])
        self._sums[kind] -= amount
        takes, keys = [], list(self._trees[kind])
        for free, region in keys:
            taken = min(free, amount)
            takes.append((region, taken, before, 0))
            self._free[region] = rest = free - taken
            amount -= taken
            before += taken
            if not amount:
                break
        # the last one has fewer free blocks than those behind it
        last = [(rest, region)] if rest else []
        self._trees[kind] = BPlusTree.of(last + keys[len(takes) :])
        return np.array(takes)

    def _sort(self, kind: int, regions: NDArray[np.int64]) -> None:
        """Make the tree of a class anew, from all block arrays that may have free blocks."""
        free = self._free[regions]
        keys = sorted(zip(free[free > 0].tolist(), regions[free > 0].tolist(), strict=True))
        self._trees[kind] = BPlusTree.of(keys)
        self._sums[kind] = int(free.sum())

    def _set_free(self, region: int, kind: int, free: int) -> None:
        tree, before = self._trees[kind], int(self._free[region])
        if before:
            tree.remove((before, region))
        if free:
            tree.add((free, region))
        self._free[region] = free
        self._sums[kind] += free - before

    def _open(
        self, kind: int, regions: NDArray[np.int64], missing: int, before: int
    ) -> NDArray[np.int64]:
        """Make block arrays out of unused regions, and take blocks: all but of the last one."""
        blocks, count = self._blocks(kind), len(regions)
        reused = [self._spare[kind].pop() for _ in range(min(count, len(self._spare[kind])))]
        size = tree_words(blocks)
        words = self.words + size * np.arange(count - len(reused))
        self.words += size * words.size
        # a slot in any region of a block tells where the block is
        all_ = (regions[:, None] + np.arange(self._span(kind))).ravel()
        arenas = self._arena[all_]
        self.table[all_, 0] = kind + 256 * arenas.astype(np.int64)
        self.table[all_, 1] = self._first[arenas] << self.bits
        self.table[regions, 2] = np.concatenate([np.array(reused, np.int64), words])
        # in the last column, the regions of a block but the first are marked
        self.table[all_, 3], self.table[regions, 3] = 1, 0
        self._used[all_], self._free[regions], self.changed = True, 0, True
        rest = count * blocks - missing
        if rest:
            self._set_free(int(regions[-1]), kind, rest)
        takes = np.zeros((count, 4), np.int64)
        takes[:, 0], takes[:, 1] = regions, blocks
        takes[-1, 1] -= rest
        takes[:, 2] = before + blocks * np.arange(count)
        takes[:, 1] += NEW
        return takes

    def _make_room(self, fresh: dict[int, int]) -> dict[int, NDArray[np.int64]]:
        """Return the first regions of new block arrays of each class; open arenas if necessary."""
        made: list[int] = []
        spans = {kind: self._span(kind) for kind in fresh}
        long = sum(count * spans[kind] for kind, count in fresh.items() if spans[kind] > 1)
        short = sum(count for kind, count in fresh.items() if spans[kind] == 1)
        try:
            while (places := self._placed(fresh)) is None:
                missing = long + max(short - (self.regions - self.occupied), 0)
                made.append(self._open_arena(missing, max(spans.values())))
        except BaseException:
            for arena in made:
                self._close(arena)
            raise
        return places

    def _placed(self, fresh: dict[int, int]) -> dict[int, NDArray[np.int64]] | None:
        """Find unused regions for new block arrays, or return None if there are too few."""
        unused = (self._arena >= 0) & ~self._used
        places = {}
        for kind, count in fresh.items():
            span, regions = self._span(kind), np.flatnonzero(unused)
            if span > 1:
                # a run is in one arena; its first region counts
                breaks = (np.diff(regions) > 1) | (np.diff(self._arena[regions]) != 0)
                runs = np.split(regions, np.flatnonzero(breaks) + 1)
                regions = np.concatenate(
                    [run[: len(run) // span * span : span] for run in runs] or [regions]
                )
            if len(regions) < count:
                return None
            places[kind] = regions[:count]
            for part in range(span):
                unused[places[kind] + part] = False
        return places

    def _open_arena(self, missing: int, span: int) -> int:
        """Allocate an arena for some regions; for more of them, if there is memory for them."""
        arena = next((each for each in range(ARENAS) if not (self._arena == each).any()), None)
        if arena is None:
            raise CapabilityError(f"more than {ARENAS} arenas would be needed")
        least = min(missing, self._largest)
        if span > least:
            slots, hint = span << self.bits, "a vertex has too many edges for a buffer"
            raise DeviceMemoryError(slots, self._largest << self.bits, hint)
        wanted = min(max(missing, int(_GROWTH * self.regions)), self._largest)
        try:
            count = wanted
            first = self._numbers(count)
            self._opened(arena, count)
        except (DeviceMemoryError, CapabilityError):
            if wanted == least:
                raise
            count = least
            first = self._numbers(count)
            self._opened(arena, count)
        self._arena[first : first + count], self._first[arena] = arena, first
        return arena

    def _numbers(self, count: int) -> int:
        """Return the first of consecutive numbers for new regions."""
        known = np.append(self._arena >= 0, True)
        ends = np.flatnonzero(known)
        starts = np.concatenate([[0], ends[:-1] + 1])
        fitting = np.flatnonzero(ends - starts >= count)
        if fitting.size:
            return int(starts[fitting[0]])
        first = int(starts[-1])  # behind the last one
        size = first + count
        if size << self.bits > _SLOTS:
            raise CapabilityError(f"more than {_SLOTS} slots for edges would be needed")
        more = size - len(self._arena)
        self.table = np.concatenate([self.table, np.zeros((more, 4), np.uint32)])
        self._free = np.concatenate([self._free, np.zeros(more, np.int64)])
        self._used = np.concatenate([self._used, np.zeros(more, bool)])
        self._arena = np.concatenate([self._arena, np.full(more, -1, np.int8)])
        return first

    def release(self, freed: NDArray[np.int32] | NDArray[np.int64]) -> None:
        """Add blocks to the free ones, and the regions of empty block arrays to the unused ones.

        Parameters
        ----------
        freed : (regions,) int ndarray
            Number of blocks that have become free, by the region of their block array.
        """
        changed = np.flatnonzero(freed)
        kinds = (self.table[changed, 0] & 255).astype(np.int64)
        free = self._free[changed] + freed[changed]
        for kind in np.unique(kinds).tolist():
            mine = kinds == kind
            full = changed[mine & (free == self._blocks(kind))]
            self._used[(full[:, None] + np.arange(self._span(kind))).ravel()] = False
            self._spare[kind] += self.table[full, 2].tolist()
            rest = np.where(free == self._blocks(kind), 0, free)
            if np.count_nonzero(mine) <= _FEW:
                for region, now in zip(changed[mine].tolist(), rest[mine].tolist(), strict=True):
                    self._set_free(region, kind, now)
            else:
                self._free[changed[mine]] = rest[mine]
                own = self._used & (self.table[:, 0] & 255 == kind) & (self.table[:, 3] == 0)
                self._sort(kind, np.flatnonzero(own))

    def give_back(self) -> None:
        """Free the arenas without block arrays."""
        for arena in self.arenas:
            if not self._used[self._arena == arena].any():
                self._close(arena)

    def _close(self, arena: int) -> None:
        self._arena[self._arena == arena] = -1
        self._closed(arena)
