"""The memory that a reader takes beside the size of the file."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.lib import NumpyVersion

from pyapsp.graph import read
from pyapsp.graph.io import plain


def rows_of(columns: list[np.ndarray]) -> bytes:
    """Return rows of integers of six digits."""
    powers = 10 ** np.arange(5, -1, -1)
    texts = []
    for column in columns:
        texts += [column[:, None] // powers % 10 + ord("0"), np.full((column.size, 1), ord(" "))]
    texts[-1][:] = ord("\n")
    return np.hstack(texts).astype(np.uint8).tobytes()


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("width", "comment", "limit"),
    [(2, b"", 1.9), (3, b"", 2.0), (2, b"# Undirected\n", 3.3), (3, b"# Undirected\n", 3.0)],
)
def test_the_memory_is_a_small_multiple_of_the_file(tmp_path, monkeypatch, width, comment, limit):
    """It was 5.6 times the file. An undirected list has two arcs a line."""
    monkeypatch.setattr(plain, "BLOCK", 2**18)
    rng = np.random.default_rng(0)
    path = tmp_path / "a.txt"
    columns = [rng.integers(100_000, 150_000, 1_000_000) for _ in range(width)]
    content = comment + rows_of(columns)
    path.write_bytes(content)
    read(path)  # imports pandas
    tracemalloc.start()
    try:
        graph = read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert graph.m > 990_000
    # from 2.5 on, NumPy tells tracemalloc of the new array before it takes back the old one
    twice = graph.weights.nbytes if NumpyVersion(np.__version__) >= "2.5.0" else 0
    assert peak < limit * len(content) + twice
