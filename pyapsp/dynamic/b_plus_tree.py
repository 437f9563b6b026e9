"""An ordered set of keys: a B+ tree, whose leaves are a list."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias, TypeVar

__all__ = ["BPlusTree"]

_Key: TypeAlias = tuple[int, int]
_T = TypeVar("_T")


class _Node:
    """A leaf has keys and the leaf after it; another node has children, and the keys between."""

    __slots__ = ("after", "children", "keys")

    def __init__(self, keys: list[_Key], children: list[_Node], after: _Node | None) -> None:
        self.keys, self.children, self.after = keys, children, after


def _parts(items: list[_T], most: int) -> list[list[_T]]:
    """Cut a list into the fewest parts of at most this many items, of about equal length."""
    count = -(-len(items) // most)
    ends = [len(items) * part // count for part in range(count + 1)] if count else []
    return [items[start:stop] for start, stop in pairwise(ends)]


class BPlusTree:
    """An ordered set of pairs of numbers.

    Every leaf has the same depth. Every node but the root has `order` / 2 to `order` keys, so that
    insertion, removal and search take O(log n) steps.

    Parameters
    ----------
    order : int
        The most keys of a node, at least 3.

    Source: R. Bayer, E. McCreight, Acta Informatica 1, 1972, doi:10.1007/BF00288683; the variant
    with all keys in the leaves: D. Comer, Computing Surveys 11, 1979, doi:10.1145/356770.356776.
    """

    def __init__(self, order: int = 32) -> None:
        self._order, self._size = order, 0
        self._root: _Node = _Node([], [], None)

    @classmethod
    def of(cls, keys: list[_Key], order: int = 32) -> BPlusTree:
        """Make a tree of ascending keys, from the leaves up."""
        tree = cls(order)
        tree._size = len(keys)
        leaves = [_Node(part, [], None) for part in _parts(keys, order)]
        for leaf, after in pairwise(leaves):
            leaf.after = after
        level = [(leaf.keys[0], leaf) for leaf in leaves]
        while len(level) > 1:
            # a node has one key less than children
            groups = [list(zip(*group, strict=True)) for group in _parts(level, order + 1)]
            level = [(keys[0], _Node([*keys[1:]], [*nodes], None)) for keys, nodes in groups]
        if level:
            tree._root = level[0][1]
        return tree

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[_Key]:
        node: _Node | None = self._root
        while node is not None and node.children:
            node = node.children[0]
        while node is not None:
            yield from node.keys
            node = node.after

    def first(self) -> _Key:
        """Return the least key.

        Raises
        ------
        KeyError
            There is none.
        """
        for key in self:
            return key
        raise KeyError("an empty tree has no first key")

    def add(self, key: _Key) -> None:
        """Insert a key that is not there."""
        parted = self._add(self._root, key)
        if parted is not None:
            between, right = parted
            self._root = _Node([between], [self._root, right], None)
        self._size += 1

    def _add(self, node: _Node, key: _Key) -> tuple[_Key, _Node] | None:
        if not node.children:
            node.keys.insert(bisect_left(node.keys, key), key)
        else:
            place = bisect_right(node.keys, key)
            parted = self._add(node.children[place], key)
            if parted is not None:
                node.keys.insert(place, parted[0])
                node.children.insert(place + 1, parted[1])
        if len(node.keys) <= self._order:
            return None
        middle = len(node.keys) // 2
        if not node.children:
            right = _Node(node.keys[middle:], [], node.after)
            node.keys, node.after = node.keys[:middle], right
            return right.keys[0], right
        between = node.keys[middle]
        right = _Node(node.keys[middle + 1 :], node.children[middle + 1 :], None)
        node.keys, node.children = node.keys[:middle], node.children[: middle + 1]
        return between, right

    def remove(self, key: _Key) -> None:
        """Remove a key.

        Raises
        ------
        KeyError
            It is not there.
        """
        self._remove(self._root, key)
        if self._root.children and not self._root.keys:
            self._root = self._root.children[0]
        self._size -= 1

    def _remove(self, node: _Node, key: _Key) -> None:
        if not node.children:
            place = bisect_left(node.keys, key)
            if place == len(node.keys) or node.keys[place] != key:
                raise KeyError(key)
            del node.keys[place]
            return
        place = bisect_right(node.keys, key)
        self._remove(node.children[place], key)
        if len(node.children[place].keys) < self._order // 2:
            self._fill(node, max(place - 1, 0))

    def _fill(self, node: _Node, place: int) -> None:
        """Merge two neighbouring children, one of which has too few keys, or share their keys."""
        left, right = node.children[place : place + 2]
        if left.children:
            keys = [*left.keys, node.keys[place], *right.keys]
            children, middle = left.children + right.children, len(keys) // 2
            if len(keys) > self._order:
                left.keys, node.keys[place] = keys[:middle], keys[middle]
                right.keys = keys[middle + 1 :]
                left.children, right.children = children[: middle + 1], children[middle + 1 :]
                return
            left.keys, left.children = keys, children
        else:
            keys = left.keys + right.keys
            if len(keys) > self._order:
                middle = len(keys) // 2
                left.keys, right.keys = keys[:middle], keys[middle:]
                node.keys[place] = right.keys[0]
                return
            left.keys, left.after = keys, right.after
        del node.keys[place], node.children[place + 1]
