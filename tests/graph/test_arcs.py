"""Arcs in any order become sorted rows, and ids become numbers, against loops; also in blocks."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp.graph import Graph, arcs, compressed, from_frame, rows

WEIGHTS = {
    "alike": lambda rng, size: np.full(size, -3),
    "whole": lambda rng, size: rng.integers(-5, 6, size),
    "far apart": lambda rng, size: rng.choice([-(2**63), 0, 2**63 - 1, 7], size),
    "floats": lambda rng, size: rng.choice([-0.5, 1e300, 2.0, 1e-300], size),
    "narrow floats": lambda rng, size: rng.random(size, np.float32),
}


@pytest.fixture(params=[1, 3, 2**17])
def block(request, monkeypatch):
    monkeypatch.setattr(rows, "_BLOCK", request.param)
    monkeypatch.setattr(compressed, "_BLOCK", request.param)
    monkeypatch.setattr(arcs, "_FEW", request.param)
    return request.param


def merged(tails, heads, weights, directed):
    """Return the smallest weight of each arc."""
    found = {}
    for tail, head, weight in zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True):
        for ends in [(tail, head)] if directed else [(tail, head), (head, tail)]:
            found[ends] = min(weight, found.get(ends, weight))
    return found


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint16, ">i4"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", WEIGHTS)
def test_arcs_in_any_order(block, name, directed, kind):
    rng = np.random.default_rng(block)
    for size in [0, 1, 2, 3, 5, 8, 40]:
        for n in (1, 3, 9, 300):
            tails, heads = rng.integers(0, n, (2, size)).astype(kind)
            weights = WEIGHTS[name](rng, size)
            given = [each.copy() for each in (tails, heads, weights)]
            graph = Graph.from_arcs(n, tails, heads, weights, directed=directed)
            expected = merged(tails, heads, weights, directed)
            ends = np.array(graph.arcs()[:2]).T.tolist()
            assert ends == sorted(map(list, expected))
            assert graph.weights.tolist() == [expected[tail, head] for tail, head in ends]
            assert graph.dtype == (weights.dtype if size else graph.dtype)
            for array in (graph.indptr, graph.indices, graph.weights):
                assert array.flags.owndata
                assert not array.flags.writeable
            for array, before in zip((tails, heads, weights), given, strict=True):
                assert array.flags.writeable
                assert np.array_equal(array, before)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [None, [4, 4, 4], [4, 5, 6], [0.5, 0.25, 3.0]])
def test_arcs_that_are_sorted(block, weights, directed):
    """With its reverses, a star whose first vertex is 0 is sorted as well."""
    given = None if weights is None else np.array(weights)
    graph = Graph.from_arcs(4, np.zeros(3, np.int32), np.arange(1, 4), given, directed=directed)
    assert graph.indices.tolist() == [1, 2, 3] + ([] if directed else [0, 0, 0])
    assert graph.weights.tolist() == (weights or [1, 1, 1]) * (1 if directed else 2)
    assert not np.shares_memory(graph.weights, given if given is not None else np.ones(1))
    assert given is None or given.flags.writeable


def test_numbers_of_arcs_beyond_int32():
    """Tail and head are int32, and the number of both is not."""
    rng, n = np.random.default_rng(3), 2**20
    tails, heads = rng.integers(0, n, (2, 500), np.int32)
    weights = rng.integers(1, 9, 500)
    graph = Graph.from_arcs(n, tails, heads, weights)
    found = zip(*(each.tolist() for each in graph.arcs()), strict=True)
    expected = merged(tails, heads, weights, True)
    assert [*found] == [(*ends, expected[ends]) for ends in sorted(expected)]


@pytest.mark.parametrize("spread", [2**40, 2**43, 2**44, 2**45, 2**62])
def test_weights_beside_the_numbers_of_arcs(spread):
    """Tail, head and weight may just fit into 63 bits."""
    rng = np.random.default_rng(spread)
    n = 2**9
    tails, heads = rng.integers(n - 40, n, (2, 4000))
    weights = rng.integers(-spread // 2, spread // 2, 4000)
    weights[:2] = -spread // 2, spread // 2 - 1
    graph = Graph.from_arcs(n, tails, heads, weights)
    expected = merged(tails, heads, weights, True)
    ends = np.array(graph.arcs()[:2]).T.tolist()
    assert ends == sorted(map(list, expected))
    assert graph.weights.tolist() == [expected[tail, head] for tail, head in ends]


KINDS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32, np.uint64, ">i8", ">i2"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shared", [False, True])
def test_ids_of_every_type(block, kind, shared, monkeypatch):
    """Ids of a narrow type gave a wrong graph if two differed by more than the type holds."""
    if shared:  # several threads number the ids
        monkeypatch.setattr(compressed, "_LARGE", 2)
        monkeypatch.setattr(compressed, "_BYTES", 2**22)
    limits, rng = np.iinfo(kind), np.random.default_rng(block)
    native = np.dtype(kind).newbyteorder("=")
    for least, most in [
        (0, 3),
        (1, 90),
        (max(limits.min, -100), 100),
        (limits.min, min(limits.min + 200, limits.max)),
        (limits.max - 90, limits.max),
        (limits.min, limits.max),
    ]:
        for size in [0, 1, 7, 100]:
            tails, heads = (
                rng.integers(least, most, size, native, endpoint=True).astype(kind)
                for _ in range(2)
            )
            labels, *found = arcs.relabel(tails, heads)
            assert labels.tolist() == sorted({*tails.tolist(), *heads.tolist()})
            assert labels.dtype == (np.uint64 if kind is np.uint64 else np.int64)
            for ids, numbers in zip((tails, heads), found, strict=True):
                assert numbers.dtype == np.int32
                assert labels[numbers].tolist() == ids.tolist()


@pytest.mark.parametrize("dense", [0, 1, 3])
def test_both_ways_of_numbering(block, dense, monkeypatch):
    monkeypatch.setattr(arcs, "_DENSE", dense)
    rng = np.random.default_rng(dense)
    for span in [1, 50, 199, 200, 201, 600, 2**40]:
        tails, heads = rng.integers(-span, span, (2, 100))
        labels, *found = arcs.relabel(tails, heads)
        expected, places = np.unique(np.concatenate([tails, heads]), return_inverse=True)
        assert np.array_equal(labels, expected)
        assert np.array_equal(np.concatenate(found), places)


def test_columns_of_two_types():
    """The ids are those of both, and no type of the two may be too narrow for them."""
    tails, heads = np.array([100, -100, 7], np.int8), np.array([2**40, 7, 300])
    graph = from_frame({"source": tails, "target": heads})
    names = graph.labels.tolist()
    assert names == [-100, 7, 100, 300, 2**40]
    found = [(names[t], names[h]) for t, h in zip(*graph.arcs()[:2], strict=True)]
    assert sorted(found) == sorted(zip(tails.tolist(), heads.tolist(), strict=True))


def test_a_cost_of_zero_is_an_arc():
    """A negative one is none."""
    ends = np.array([0, 1]), np.array([1, 2])
    found = arcs.two_ways(*ends, np.array([0, -1]), np.array([-1, 5]))
    assert [each.tolist() for each in found] == [[0, 2], [1, 1], [0, 5]]
