"""Mending predecessors that go round a cycle of weight zero."""

from __future__ import annotations

import numpy as np
import pytest

import pyapsp
from pyapsp import verify
from pyapsp.dense.predecessors import mend_predecessors
from pyapsp.graph import Graph
from pyapsp.result import NO_PREDECESSOR as NONE

# 0 -> 1 at weight 5, 1 <-> 2 at weight 0, 3 apart
ZERO_CYCLE = Graph.from_arcs(4, [0, 1, 2], [1, 2, 1], [5, 0, 0])
INFINITY = 2**30 - 1
DISTANCES = np.full((4, 4), INFINITY, dtype=np.int32)
DISTANCES[0, :3], DISTANCES[1, 1:3], DISTANCES[2, 1:3], DISTANCES[3, 3] = (0, 5, 5), 0, 0, 0
SOUND = np.array(
    [[NONE, 0, 1, NONE], [NONE, NONE, 1, NONE], [NONE, 2, NONE, NONE], [NONE] * 4], dtype=np.int32
)


def test_only_the_broken_row_is_rebuilt():
    broken = SOUND.copy()
    broken[0, 1] = 2  # 1 from 2 and 2 from 1: tight arcs, but never from 0
    assert mend_predecessors(ZERO_CYCLE, DISTANCES, broken) == 1
    np.testing.assert_array_equal(broken, SOUND)


def test_sound_rows_are_kept():
    kept = SOUND.copy()
    assert mend_predecessors(ZERO_CYCLE, DISTANCES, kept) == 0
    np.testing.assert_array_equal(kept, SOUND)


def test_positive_weights_need_no_look():
    graph = ZERO_CYCLE.with_weights([5, 1, 1])
    untouched = np.full((4, 4), 7, dtype=np.int32)  # would be out of range if looked at
    assert mend_predecessors(graph, DISTANCES, untouched) == 0
    assert (untouched == 7).all()


def test_weights_within_rounding_are_treated_like_zeros():
    graph = Graph.from_arcs(4, [0, 1, 2], [1, 2, 1], [1e6, 1e-12, 1e-12])
    distances = np.where(DISTANCES < INFINITY, DISTANCES * 2e5, np.inf).astype(np.float32)
    broken = SOUND.copy()
    broken[0, 1] = 2
    assert mend_predecessors(graph, distances, broken) == 1
    np.testing.assert_array_equal(broken, SOUND)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", ["fw-naive", "fw-blocked"])
def test_small_weights_beside_a_heavy_arc(method, dtype, device):
    # what is rounding for the heavy arc is a detour of many arcs among the light ones
    rng = np.random.default_rng(4)
    n = 130
    tails, heads = rng.integers(0, n - 2, (2, 5 * n))
    weights = np.where(rng.random(5 * n) < 0.3, 0, rng.random(5 * n) * 1e-6)
    graph = Graph.from_arcs(
        n, [*tails, *heads, n - 2], [*heads, *tails, n - 1], [*weights, *weights, 1e4]
    )
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    outcome = verify.certificate(graph, result, device=device)
    assert outcome.ok, outcome.fault
    assert outcome.predecessors


@pytest.mark.parametrize("method", ["fw-minplus", "fw-blocked"])
@pytest.mark.parametrize(
    ("dtype", "heavy"), [("float32", 2e38), ("float64", 1e308), ("float64", 1e60)]
)
def test_heavy_arcs_beside_negative_ones_keep_their_tails(dtype, heavy, method, device):
    """The sum of a weight and a distance may be infinite where both are finite."""
    graph = Graph.from_arcs(5, [0, 2, 3], [1, 3, 4], [heavy, -1.5, 0.5])
    result = pyapsp.solve(graph, method, dtype=dtype, predecessors=True, device=device)
    assert result.predecessors[0, 1] == 0
    assert result.path(2, 4) == [2, 3, 4]


def test_the_memory_of_recovery_is_planned(device):
    """Of packed words the plain matrix is uploaded again; it and the predecessors are counted."""
    n = 120
    graph = Graph.from_arcs(n, np.arange(n - 1), np.arange(1, n), np.ones(n - 1, np.int64))
    result = pyapsp.solve(graph, "fw-packed8", predecessors=True, device=device)
    assert result.stats["peak_device_bytes"] >= n * n * (8 + 4)
