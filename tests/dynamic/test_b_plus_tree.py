"""The B+ tree against a sorted list."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pyapsp.dynamic.b_plus_tree import BPlusTree

KEYS = st.tuples(st.integers(0, 5), st.integers(0, 9))


def depths(node, order, depth=0):
    """The depths of the leaves, with a check of each node."""
    assert len(node.keys) <= order
    if not node.children:
        return {depth}
    assert len(node.children) == len(node.keys) + 1
    assert all(len(child.keys) >= order // 2 for child in node.children)
    return set().union(*(depths(child, order, depth + 1) for child in node.children))


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 5), st.lists(KEYS, min_size=10, max_size=150))
def test_a_set_of_keys_in_order(order, keys):
    tree, model = BPlusTree(order), set()
    for key in keys:
        (tree.remove if key in model else tree.add)(key)
        model ^= {key}
        assert list(tree) == sorted(model)
        assert len(tree) == len(model)
        assert len(depths(tree._root, order)) == 1
        if model:
            assert tree.first() == min(model)
        if len(model) % 7 == 3:
            tree = BPlusTree.of(sorted(model), order)
