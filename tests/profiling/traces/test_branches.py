"""Which decisions are predicted wrongly: orders of blocks that are made by hand."""

import numpy as np
import pytest

from pyapsp.profiling.probes.blocks import Block, Branch
from pyapsp.profiling.traces.branches import wrong_predictions

BLOCKS = [
    Block("k", "k.cl", 1, {}),
    Block("k", "k.cl", 2, {}, {}, Branch(0)),
    Block("k", "k.cl", 3, {}, {}, Branch(0, loop=True)),
]
N = 20_000


def shares(ways=None, turns=None):
    """Return the shares of a branch and a loop, after ways and numbers of turns."""
    ways = np.zeros(len(turns), int) if ways is None else ways
    turns = np.zeros(N, int) if turns is None else turns
    order = [
        each
        for way, some in zip(ways, turns, strict=True)
        for each in [0, *[1] * int(way), *[2] * some]
    ]
    none, *found = wrong_predictions(np.array(order), BLOCKS)
    assert none == 0
    return tuple(found)


def test_a_branch_at_random_goes_its_rarer_way():
    """Longer histories do not help, though after each of them one way is rarer by chance."""
    random = np.random.default_rng(0)
    for number in (2000, N):
        for likely in (0.1, 0.3, 0.5, 0.9):
            share, loop = shares(random.random(number) < likely, np.zeros(number, int))
            assert share == pytest.approx(min(likely, 1 - likely), abs=0.02)
            assert loop == 0


@pytest.mark.parametrize(
    "period", [[1], [0], [0, 1], [0, 0, 1], [0, 1, 1, 0, 1, 0, 0, 1], [0] * 15 + [1]]
)
def test_a_branch_with_a_period_is_learned(period):
    share, _ = shares(np.resize(period, N))
    # what was wrong until then
    assert share <= 2 * len(period) / N


def test_a_longer_period_is_not_learned():
    share, _ = shares(np.resize([0] * 40 + [1], N))
    assert share == pytest.approx(1 / 41, rel=0.01)


def test_a_loop_is_left_at_another_turn():
    """Each end of a loop of two or three turns is a guess: one in three and a half decisions."""
    random = np.random.default_rng(0)
    _, share = shares(turns=random.integers(2, 4, N))
    assert share == pytest.approx(0.5 / 3.5, rel=0.05)
    _, share = shares(turns=np.full(N, 40))
    assert share == 0
    _, share = shares(turns=np.resize([40, 41], N))
    assert share == pytest.approx(1 / 41.5, rel=0.01)


def test_a_loop_that_nearly_always_has_one_turn_is_seldom_a_surprise():
    _, share = shares(turns=np.where(np.arange(N) % 100 < 97, 1, 0))
    assert share < 0.02


def test_what_was_never_executed():
    assert wrong_predictions(np.zeros(0, np.int64), BLOCKS).tolist() == [0, 0, 0]
    assert wrong_predictions(np.array([1, 1, 2]), BLOCKS).tolist() == [0, 0, 0]
