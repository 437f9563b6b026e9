"""Zeros that fill the blocks of a BSR matrix or the diagonals of a DIA matrix are no arcs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import pyapsp
from pyapsp import csgraph
from pyapsp.dynamic import Hornet
from pyapsp.graph import Graph, as_graph

DENSE = np.zeros((4, 4))
DENSE[0, 2] = 1


def padded(layout: str) -> scipy.sparse.sparray:
    if layout == "bsr":
        return scipy.sparse.bsr_array(DENSE, blocksize=(2, 2))
    if layout == "dia":
        return scipy.sparse.dia_array(([[0, 0, 1.0, 0]], [2]), shape=(4, 4))
    # a block behind the last row, which is not used
    blocks = np.zeros((2, 2, 2))
    blocks[0, 0, 0], blocks[1] = 1, 7
    return scipy.sparse.bsr_array((blocks, [1, 0], [0, 1, 1]), shape=(4, 4))


def saved(matrix: scipy.sparse.sparray, folder: Path) -> Graph:
    scipy.sparse.save_npz(folder / "matrix.npz", matrix)
    return pyapsp.read(folder / "matrix.npz")


# Each returns what must be the same for all layouts of the matrix.
DOORS: dict[str, Callable[[scipy.sparse.sparray], object]] = {
    "connected_components, weak": csgraph.connected_components,
    "connected_components, undirected": lambda m: csgraph.connected_components(m, directed=False),
    "connected_components, strong": lambda m: csgraph.connected_components(m, connection="strong"),
    "csgraph.dijkstra": lambda m: csgraph.dijkstra(m, unweighted=True),
    "csgraph.floyd_warshall": lambda m: csgraph.floyd_warshall(m, directed=False),
    "as_graph": lambda m: as_graph(m).m,
    "solve": lambda m: pyapsp.solve(m).distances,
    "solve_many": lambda m: pyapsp.solve_many([m])[0].distances,
    "bfs": lambda m: pyapsp.bfs(m, 0).levels,
    "sssp": lambda m: pyapsp.sssp(m, 0).distances,
    "weak": lambda m: pyapsp.weakly_connected_components(m).labels,
    "strong": lambda m: pyapsp.strongly_connected_components(m).labels,
    "triangles": lambda m: pyapsp.triangles(as_graph(m, directed=False)).total,
    "eccentricity": lambda m: pyapsp.eccentricity(m),
    "Hornet": lambda m: Hornet.from_graph(m).m,
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door(door: str) -> None:
    expected = DOORS[door](scipy.sparse.csr_array(DENSE))
    for layout in ("bsr", "dia", "bsr with an unused block"):
        np.testing.assert_equal(DOORS[door](padded(layout)), expected, err_msg=layout)


@pytest.mark.parametrize("layout", ["bsr", "dia"])
def test_a_saved_matrix(layout: str, tmp_path: Path) -> None:
    assert saved(padded(layout), tmp_path) == Graph.from_dense(DENSE)


@pytest.mark.parametrize("layout", ["csr", "bsr", "dia"])
def test_the_components(layout: str) -> None:
    matrix = scipy.sparse.csr_array(DENSE) if layout == "csr" else padded(layout)
    count, labels = csgraph.connected_components(matrix, directed=False)
    assert (count, labels.tolist()) == (3, [0, 1, 0, 2])


def test_weights_that_cancel_are_arcs() -> None:
    blocks = np.array([[[0, 1.0], [0, 0]], [[0, -1.0], [0, 0]]])
    matrix = scipy.sparse.bsr_array((blocks, [0, 0], [0, 2]), shape=(2, 2))
    assert csgraph.connected_components(matrix, return_labels=False) == 1
