"""A decision tree from measured times: the best tree of a small depth, by trying all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Leaf", "Split", "Tree", "chosen", "fitted", "loss", "rules"]

#: Facts of an input, and the seconds of each choice for it.
Row = tuple[Mapping[str, float], Mapping[str, float]]


@dataclass(frozen=True)
class Leaf:
    """The choice for all inputs that come here, and their summed cost."""

    choice: str
    cost: float = 0.0


@dataclass(frozen=True)
class Split:
    """Inputs whose fact is below a threshold, and the others."""

    fact: str
    threshold: float
    below: Tree
    above: Tree

    @property
    def cost(self) -> float:
        """The summed cost of both parts."""
        return self.below.cost + self.above.cost


Tree = Leaf | Split


def fitted(rows: Sequence[Row], depth: int) -> Tree:
    """Return the tree with the smallest cost.

    The cost of a choice for an input is the logarithm of its time over that of the best choice, so
    that the tree loses the smallest factor in the geometric mean. Thresholds lie halfway between
    neighbouring values of a fact. Of equal trees the smaller one is returned.

    Parameters
    ----------
    rows : sequence of (dict, dict)
        Facts, which all rows have, and seconds. Choices that some row lacks are left out.
    depth : int
        The largest number of splits on the way to a leaf.

    Returns
    -------
    Leaf or Split
    """
    best = _leaf(rows)
    if not depth or best.cost <= 0:
        return best
    tree: Tree = best
    for fact in rows[0][0]:
        values = sorted({facts[fact] for facts, _ in rows})
        for low, high in pairwise(values):
            threshold = (low + high) / 2
            below = [row for row in rows if row[0][fact] < threshold]
            above = [row for row in rows if row[0][fact] >= threshold]
            split = Split(fact, threshold, fitted(below, depth - 1), fitted(above, depth - 1))
            if split.cost < tree.cost - 1e-9:
                tree = split
    return tree


def _leaf(rows: Sequence[Row]) -> Leaf:
    """Return the choice that is best for all rows together."""
    everywhere = set.intersection(*(set(times) for _, times in rows))
    costs = {
        choice: sum(math.log(times[choice] / min(times.values())) for _, times in rows)
        for choice in sorted(everywhere)
    }
    choice = min(costs, key=costs.__getitem__)
    return Leaf(choice, costs[choice])


def chosen(tree: Tree, facts: Mapping[str, float]) -> str:
    """Return the choice of a tree for an input."""
    while isinstance(tree, Split):
        tree = tree.below if facts[tree.fact] < tree.threshold else tree.above
    return tree.choice


def loss(tree: Tree, rows: Sequence[Row]) -> tuple[float | None, int]:
    """Return the loss of a tree: its time over the best for each input, less 1, and the inputs.

    The loss is a geometric mean over the inputs for which its choice was measured; None if there
    are none.
    """
    pairs = [(times, chosen(tree, facts)) for facts, times in rows]
    logs = [math.log(times[name] / min(times.values())) for times, name in pairs if name in times]
    return (math.exp(sum(logs) / len(logs)) - 1 if logs else None), len(logs)


def rules(tree: Tree, so_far: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Return the condition and the choice of each leaf."""
    if isinstance(tree, Leaf):
        return [(" and ".join(so_far) or "always", tree.choice)]
    below = (*so_far, f"{tree.fact} < {tree.threshold:.3g}")
    above = (*so_far, f"{tree.fact} >= {tree.threshold:.3g}")
    return rules(tree.below, below) + rules(tree.above, above)
