"""The tests of symmetry, of small and of large matrices; the union of both directions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from pyapsp.graph import symmetry
from pyapsp.graph.symmetry import is_symmetric, union


@pytest.fixture(autouse=True, params=[-1, 2**16], ids=["by products", "by the transpose"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Test every matrix as a large one and as a small one."""
    monkeypatch.setattr(symmetry, "_FEW", request.param)


def rows(matrix: csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data


def drawn(n: int, count: int, seed: int) -> csr_array:
    """Return a symmetric matrix with random float64 entries."""
    rng = np.random.default_rng(seed)
    ends = np.unique(np.sort(rng.integers(0, n, (count, 2)), axis=1), axis=0)
    values = rng.random(len(ends))
    both = np.concatenate([ends, ends[:, ::-1]])
    both, places = np.unique(both, axis=0, return_index=True)
    values = np.concatenate([values, values])[places]
    return csr_array(coo_array((values, (both[:, 0], both[:, 1])), shape=(n, n)))


@pytest.mark.parametrize("block", [1, 7, 64, 2**19])
def test_one_arc_decides(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symmetry, "_BLOCK", block)
    matrix = drawn(60, 400, 1)
    assert is_symmetric(*rows(matrix))
    assert is_symmetric(*rows(matrix)[:2], None)
    for arc in range(0, matrix.nnz, 17):
        tail = np.searchsorted(matrix.indptr, arc, side="right") - 1
        if tail == matrix.indices[arc]:
            continue
        other = matrix.copy()
        other.data[arc] += 0.25
        assert not is_symmetric(*rows(other))
        coo = matrix.tocoo()
        keep = np.arange(matrix.nnz) != arc
        less = csr_array((coo.data[keep], (coo.row[keep], coo.col[keep])), shape=matrix.shape)
        assert not is_symmetric(*rows(less)[:2], None)


@pytest.mark.parametrize(
    ("there", "back"),
    [
        (1.0, 2.0),
        (1.0, np.nextafter(1.0, 2.0)),
        (np.float32(1), np.float32(2)),
        (2**62, 0),
        (-(2**63), 0),
        (1, 2**32 + 1),
    ],
)
def test_weights_that_differ_in_a_few_bits(there: float, back: float) -> None:
    starts, heads = np.array([0, 1, 2]), np.array([1, 0], np.int32)
    dtype = np.result_type(np.asarray(there).dtype, np.asarray(back).dtype)
    for _ in range(200):
        assert not is_symmetric(starts, heads, np.array([there, back], dtype))
    assert is_symmetric(starts, heads, np.array([there, there], dtype))


def test_negative_zero_equals_zero() -> None:
    starts, heads = np.array([0, 1, 2]), np.array([1, 0], np.int32)
    assert is_symmetric(starts, heads, np.array([0.0, -0.0]))


@pytest.mark.parametrize("n", [0, 1, 5])
def test_without_arcs(n: int) -> None:
    assert is_symmetric(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), None)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_an_arc_of_weight_zero_is_an_arc(dtype: str) -> None:
    """The arcs 0 -> 0 of weight 1 and 0 -> 1 of weight 0, without the reverse of the second."""
    starts, heads = np.array([0, 2, 2]), np.array([0, 1], np.int32)
    assert not is_symmetric(starts, heads, np.array([1, 0], dtype))


@pytest.mark.parametrize(
    ("least", "most"),
    [(-5, 5), (7, 7), (-(2**62) + 1, 2**62 - 1), (-(2**63), 2**63 - 1), (2**63 - 9, 2**63 - 1)],
)
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_a_union_has_the_smaller_weights(least: int, most: int, dtype: str) -> None:
    rng, n = np.random.default_rng(1), 9
    arc = rng.random((n, n)) < 0.4
    weights = rng.integers(least, most, (n, n), endpoint=True).astype(dtype)
    places = csr_array(arc)
    given = places.indptr.astype(np.int64), places.indices, weights[arc]
    spread = weights[arc].min(), weights[arc].max()
    found = union(*given, spread)
    either, heads = np.nonzero(arc | arc.T)
    there = np.where(arc, weights, weights.T)[either, heads]
    back = np.where(arc.T, weights.T, weights)[either, heads]
    assert found[0].tolist() == [0, *np.cumsum((arc | arc.T).sum(axis=1))]
    assert found[1].tolist() == heads.tolist()
    assert found[2].tolist() == np.minimum(there, back).tolist()
    assert [each.dtype for each in found] == [np.int64, np.int32, dtype]
