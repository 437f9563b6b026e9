"""The data frames of results: by the names of vertices, and missing where there is no path."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pytest

import pyapsp
from pyapsp.errors import ParameterError
from pyapsp.graph import from_frame

LIBRARIES = ["pandas", "polars"]
N = 40


@pytest.fixture(params=["strings", "integers"])
def edges(request: pytest.FixtureRequest) -> dict[str, list[Any]]:
    """Arcs between vertices whose order in the list is not that of their names."""
    drawn = np.random.default_rng(11)
    names = drawn.permutation(1000)[:N].tolist()
    if request.param == "strings":
        names = [f"v{name}" for name in names]
    ends = drawn.integers(N, size=(2, 60))
    weights = drawn.integers(1, 20, 60).tolist()
    source, target = ([names[vertex] for vertex in side] for side in ends)
    return {"source": source, "target": target, "weight": weights}


def peer_of(edges: dict[str, list[Any]]) -> networkx.DiGraph:
    """Return the same graph in NetworkX; of parallel arcs the shortest counts."""
    peer = networkx.DiGraph()
    for tail, head, weight in sorted(zip(*edges.values(), strict=True), key=lambda arc: -arc[2]):
        peer.add_edge(tail, head, weight=weight)
    return peer


def records(found: Any, library: str) -> list[dict[str, Any]]:
    """Return the rows of the frame, None where a value is missing."""
    frame = found.to_frame(pytest.importorskip(library).__name__)
    if library == "polars":
        return frame.to_dicts()
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


@pytest.mark.parametrize("library", LIBRARIES)
def test_bfs(edges: dict, library: str, device: Any) -> None:
    graph, peer = from_frame(edges), peer_of(edges)
    start = edges["source"][0]
    levels = networkx.single_source_shortest_path_length(peer, start)
    rows = records(pyapsp.bfs(graph, graph.vertex(start), device=device), library)
    assert [row["vertex"] for row in rows] == sorted(peer)
    assert {row["vertex"]: row["level"] for row in rows if row["level"] is not None} == levels
    assert 1 < len(levels) < len(rows)
    for row in rows:
        if row["vertex"] in levels and row["vertex"] != start:
            assert peer.has_edge(row["parent"], row["vertex"])
            assert levels[row["parent"]] == row["level"] - 1
        else:
            assert row["parent"] is None


@pytest.mark.parametrize("dtype", [None, "float32", "int32"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_sssp_of_several_sources(edges: dict, library: str, dtype: Any, device: Any) -> None:
    graph, peer = from_frame(edges), peer_of(edges)
    starts = edges["source"][:2]
    found = pyapsp.sssp(
        graph, [graph.vertex(s) for s in starts], dtype=dtype, predecessors=True, device=device
    )
    rows = records(found, library)
    assert list(rows[0]) == ["source", "vertex", "distance", "predecessor"]
    assert [(r["source"], r["vertex"]) for r in rows] == [
        (s, v) for s in starts for v in graph.labels
    ]
    for start in starts:
        lengths = networkx.single_source_dijkstra_path_length(peer, start)
        own = {row["vertex"]: row for row in rows if row["source"] == start}
        for vertex, row in own.items():
            assert row["distance"] == lengths.get(vertex)
            before = row["predecessor"]
            if vertex == start or vertex not in lengths:
                assert before is None
            else:
                assert lengths[before] + peer[before][vertex]["weight"] == lengths[vertex]


@pytest.mark.parametrize("library", LIBRARIES)
def test_components(edges: dict, library: str, device: Any) -> None:
    graph, peer = from_frame(edges), peer_of(edges)
    rows = records(pyapsp.strongly_connected_components(graph, device=device), library)
    sets: dict[int, set] = {}
    for row in rows:
        sets.setdefault(row["component"], set()).add(row["vertex"])
    expected = list(networkx.strongly_connected_components(peer))
    assert sorted(map(sorted, sets.values())) == sorted(map(sorted, expected))
    assert list(rows[0]) == ["vertex", "component"]


def test_types_and_columns(device: Any) -> None:
    pandas = pytest.importorskip("pandas")
    graph = pyapsp.Graph.from_arcs(3, [0], [1])
    found = pyapsp.bfs(graph, 0, parents=False, device=device).to_frame()
    assert isinstance(found, pandas.DataFrame)
    assert found.dtypes.astype(str).to_dict() == {"vertex": "int64", "level": "Int32"}
    narrow = pyapsp.sssp(graph, 0, dtype="int16", predecessors=True, device=device)
    assert narrow.to_frame().dtypes.astype(str).to_dict() == {
        "vertex": "int64",
        "distance": "Int16",
        "predecessor": "Int64",
    }
    columns = narrow.to_columns()
    assert columns["distance"].tolist() == [0, 1, None]
    assert columns["predecessor"].tolist() == [None, 0, None]
    components = pyapsp.strongly_connected_components(graph, device=device)
    assert components.to_columns()["vertex"].tolist() == [0, 1, 2]
    for result in (narrow, components):
        with pytest.raises(ParameterError, match=r"'library' parameter of .*\.to_frame"):
            result.to_frame("arrow")
