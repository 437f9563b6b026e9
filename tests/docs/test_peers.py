"""The table of capabilities: our row, and what other packages do that are here to be asked."""

from __future__ import annotations

from pathlib import Path

import igraph
import networkx
import numpy as np
import pytest
import scipy.sparse.csgraph

import pyapsp

PAGE = Path(__file__).resolve().parents[2] / "docs" / "peers.md"
# the first whole number that float64 does not hold
LARGE = 2**53 + 1


def rows():
    """Return column -> entry of each package."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    head, _, *body = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {row[0].strip("*").split()[0]: dict(zip(head, row, strict=True)) for row in body}


def long_path():
    """Return weights that int16 holds, and a distance that it does not."""
    return np.diag([10_000, 10_000, 10_000], 1)


def test_every_row_is_complete():
    assert {"pyapsp", "SciPy", "NetworkX", "igraph", "NetworKit", "rustworkx"} <= rows().keys()
    assert all(entry for row in rows().values() for entry in row.values())


def test_our_row(device, tmp_path):
    ours = rows()["pyapsp"]
    path = np.array([[0, LARGE - 1, 0], [0, 0, 1], [0, 0, 0]])
    cycle = np.array([[0, 1], [-3, 0]])
    negative = np.array([[0, 7, -1], [0, 0, 0], [0, 2, 0]])

    assert (ours["dense"], ours["paths"]) == ("yes", "yes")
    result = pyapsp.solve(negative, "fw-minplus", predecessors=True, device=device)
    assert (ours["negative weights"], result.path(0, 1)) == ("yes", [0, 2, 1])

    assert ours["negative cycle"] == "error that has the cycle"
    with pytest.raises(pyapsp.errors.NegativeCycleError) as caught:
        pyapsp.solve(cycle, device=device)
    assert sorted(caught.value.cycle) in ([0, 0, 1], [0, 1, 1])

    assert ours["whole numbers"] == "exact in integer types"
    assert pyapsp.solve(path, dtype=np.int64, device=device).distances[0, 2] == LARGE
    with pytest.raises(pyapsp.errors.PrecisionError):
        pyapsp.solve(path // 2**38, dtype=np.int16, device=device)
    with pytest.raises(pyapsp.errors.PrecisionError):
        pyapsp.solve(long_path(), dtype=np.int16, device=device)

    assert ours["larger than memory"] == "file, rows, sums"
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", np.float32, (3, 3))
    pyapsp.solve(negative, "fw-outofcore", out=out, device=device)
    assert out[0, 1] == 1
    assert [
        len(block.sources) for block in pyapsp.row_blocks(negative, block=2, device=device)
    ] == [2, 1]
    assert pyapsp.diameter(np.abs(negative), device=device) == 3

    assert ours["many graphs"] == "yes"
    assert pyapsp.solve_many(np.array([negative] * 3), device=device).shape == (3, 3, 3)


def test_scipy():
    row = rows()["SciPy"]
    weights = np.array([[0, LARGE], [0, 0]])
    assert row["whole numbers"] == "rounded to float64"
    assert int(scipy.sparse.csgraph.floyd_warshall(weights)[0, 1]) != LARGE
    assert row["negative cycle"] == "error"
    with pytest.raises(scipy.sparse.csgraph.NegativeCycleError):
        scipy.sparse.csgraph.floyd_warshall(np.array([[0, 1], [-3, 0]]))


def test_networkx():
    row = rows()["NetworkX"]
    graph = networkx.DiGraph()
    graph.add_edge(0, 1, weight=LARGE)
    with networkx.config(backend_priority=[]):
        assert row["whole numbers"] == "exact"
        assert networkx.floyd_warshall(graph)[0][1] == LARGE
        graph.add_edge(1, 0, weight=-LARGE - 2)
        assert row["negative cycle"] == "error"
        if hasattr(networkx, "floyd_warshall_tree"):  # since 3.7
            with pytest.raises(networkx.NetworkXUnbounded):
                networkx.floyd_warshall(graph)
        else:
            assert networkx.floyd_warshall(graph)[0][0] < 0


def test_igraph():
    row = rows()["igraph"]
    graph = igraph.Graph(n=2, edges=[(0, 1), (1, 0)], directed=True)
    assert row["whole numbers"] == "rounded to float64"
    assert graph.distances(weights=[LARGE, 1])[0][1] != LARGE
    assert row["negative cycle"] == "error"
    with pytest.raises(igraph.InternalError):
        graph.distances(weights=[1, -3])
    assert row["dense"] == "no"
    with pytest.raises(ValueError, match="floyd_warshall"):
        graph.distances(weights=[1, 3], algorithm="floyd_warshall")
