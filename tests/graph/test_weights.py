"""Which attribute or column is the weight: named, computed, none, or asked for; at every door."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import igraph
import networkx
import numpy as np
import pandas
import polars
import pytest

import pyapsp
from pyapsp import verify
from pyapsp.cli import main
from pyapsp.dynamic import Hornet
from pyapsp.dynamic.rows import CsrRows
from pyapsp.errors import FormatError, GraphError, ParameterError
from pyapsp.graph import Graph, as_graph, from_frame, from_igraph, from_networkx, read

EDGES = [(0, 1, 2.5), (1, 2, 1.5), (0, 2, 7.0)]
LENGTHS = Graph.from_arcs(3, *zip(*EDGES, strict=True))  # 0 to 2 is 4, by way of 1


def of_networkx() -> networkx.DiGraph:
    graph = networkx.DiGraph()
    for tail, head, length in EDGES:
        graph.add_edge(tail, head, osmid=tail, length=length, oneway=True, name="street")
    return graph


def of_igraph() -> igraph.Graph:
    graph = igraph.Graph([edge[:2] for edge in EDGES], directed=True)
    graph.es["length"] = [length for *_, length in EDGES]
    graph.es["name"] = "street"
    return graph


def of_frame(library: Any) -> Any:
    names = "source", "target", "length"
    return library.DataFrame(dict(zip(names, map(list, zip(*EDGES, strict=True)), strict=True)))


SOURCES: dict[str, Callable[[], Any]] = {
    "networkx": of_networkx,
    "igraph": of_igraph,
    "pandas": lambda: of_frame(pandas),
    "polars": lambda: of_frame(polars),
}


def solved(graph: Any, **weight: Any) -> float:
    return float(pyapsp.solve(graph, **weight).distances[0, 2])


@pytest.mark.parametrize("source", SOURCES)
def test_a_weight_that_is_not_called_so(source: str) -> None:
    make = SOURCES[source]
    with pytest.raises(GraphError, match=r"the edges have no 'weight', but the numbers 'length'"):
        as_graph(make())
    assert as_graph(make(), weight="length") == LENGTHS
    assert as_graph(make(), weight=None) == LENGTHS.with_weights([1, 1, 1])
    twice = as_graph(make(), weight=lambda tail, head, row: 2 * row["length"] + head)
    assert twice.weights.tolist() == [6, 16, 5]
    some = as_graph(make(), weight=lambda tail, head, row: row["length"] if tail else None)
    assert (some.n, some.m, some.weights.tolist()) == (3, 1, [1.5])
    with pytest.raises(GraphError, match="'lenght'"):
        as_graph(make(), weight="lenght")
    with pytest.raises(GraphError, match="no real number: 'a'"):
        as_graph(make(), weight=lambda *edge: "a")


# Doors whose answer depends on weights: with the argument that names them, and what they give.
DOORS: dict[str, tuple[Callable[..., Any], str, Any, Any]] = {
    "solve": (solved, "weight", 4, 1),
    "row_blocks": (
        lambda g, **w: next(pyapsp.row_blocks(g, **w)).distances[0, 2], "weight", 4, 1,
    ),
    "solve_many": (lambda g, **w: pyapsp.solve_many([g], **w)[0].distances[0, 2], "weight", 4, 1),
    "solve_each": (
        lambda g, **w: next(iter(pyapsp.solve_each([g], **w)))[1].distances[0, 2], "weight", 4, 1,
    ),
    "sssp": (lambda g, **w: pyapsp.sssp(g, 0, **w).distances[2], "weight", 4, 1),
    "eccentricity": (lambda g, **w: pyapsp.eccentricity(g, **w)[0], "weight", 4, 1),
    "radius": (lambda g, **w: pyapsp.radius(g, [0], **w), "weight", 4, 1),
    "diameter": (pyapsp.diameter, "weight", 4, 1),
    "wiener_index": (lambda g, **w: pyapsp.wiener_index(g, directed=False, **w), "weight", 8, 3),
    "average_shortest_path_length": (
        lambda g, **w: pyapsp.average_shortest_path_length(g, [0], **w), "weight", 3.25, 1,
    ),
    "closeness_centrality": (
        lambda g, **w: 1 / pyapsp.closeness_centrality(g, **w)[2], "weight", 2.75, 1,
    ),
    "distance_histogram": (
        lambda g, **w: len(pyapsp.distance_histogram(g, **({"width": 1.0} | w))),
        "weight", None, 2,
    ),
    "explain": (lambda g, **w: len(pyapsp.explain(g, **w)) > 0, "weight", True, True),
    "certificate": (
        lambda g, **w: verify.certificate(g, pyapsp.solve(LENGTHS), **w).ok, "weight", True, False,
    ),
    "against_scipy": (
        lambda g, **w: verify.against_scipy(g, pyapsp.solve(LENGTHS), **w).ok,
        "weight", True, False,
    ),
    "Hornet": (lambda g, **w: float(weight_of(Hornet.from_graph(g, **w))), "attribute", 7, 1),
    "CsrRows": (lambda g, **w: CsrRows(g, **w).weight is None, "attribute", False, True),
}  # fmt: skip


def weight_of(rows: Hornet) -> float:
    return float(rows.to_graph().to_dense()[0, 2])


@pytest.mark.parametrize("door", DOORS)
def test_every_door_that_uses_weights(door: str) -> None:
    call, argument, length, hops = DOORS[door]
    with pytest.raises(GraphError, match="but the numbers 'length': give the name of the weight"):
        call(of_networkx())
    if length is not None:
        assert call(of_networkx(), **{argument: "length"}) == pytest.approx(length)
        double = call(of_networkx(), **{argument: lambda tail, head, row: row["length"]})
        assert double == pytest.approx(length)
    assert call(of_networkx(), **{argument: None}) == hops


@pytest.mark.parametrize(
    "call",
    [
        lambda g: pyapsp.bfs(g, 0).levels.tolist() == [0, 1, 1],
        lambda g: pyapsp.weakly_connected_components(g).count == 1,
        lambda g: pyapsp.strongly_connected_components(g).count == 3,
        lambda g: pyapsp.triangles(g).total == 1,
        lambda g: pyapsp.k_truss(g, 3).m == 6,
        lambda g: pyapsp.truss_decomposition(g) is not None,
        lambda g: pyapsp.condensation(g).graph.m == 3,
        lambda g: pyapsp.bow_tie(g) is not None,
    ],
)
def test_doors_without_weights_do_not_ask(call: Callable[[Any], bool]) -> None:
    for make in SOURCES.values():
        assert call(make())


def test_other_attributes_are_no_weights() -> None:
    graph = networkx.DiGraph()
    graph.add_edge(0, 1, key=3, id=4, timestamp=5, name="x", oneway=True)
    assert from_networkx(graph).is_unweighted
    graph.add_edge(1, 2, length=4)
    with pytest.raises(GraphError, match="but the numbers 'length'"):
        from_networkx(graph)
    graph.add_edge(2, 3, weight=9)
    assert from_networkx(graph).weights.tolist() == [1, 1, 9]
    frame = {"source": [1], "target": [2], "at": ["x"], "id": [7]}
    assert from_frame(frame).is_unweighted
    with pytest.raises(GraphError, match="but the numbers 'cost'"):
        from_frame({**frame, "cost": [4]})
    assert from_igraph(igraph.Graph([(0, 1)])).is_unweighted


def test_networkx_keeps_its_rule() -> None:
    graph = of_networkx()
    search = networkx.single_source_dijkstra_path_length
    assert search(graph, 0, backend="pyapsp") == search(graph, 0) == {0: 0, 1: 1, 2: 1}


def test_weights_without_names() -> None:
    matrix = LENGTHS.to_scipy()
    for source in (LENGTHS, matrix, LENGTHS.to_dense()):
        assert as_graph(source, weight=None) == LENGTHS.with_weights([1, 1, 1])
        assert solved(source, weight=None) == 1
        for weight in ("length", lambda tail, head, row: 1):
            with pytest.raises(ParameterError, match="'weight'"):
                as_graph(source, weight=weight)
    with pytest.raises(ParameterError, match="'weight'"):
        pyapsp.solve_many(np.ones((2, 3, 3)), weight=None)


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("source,target,capacity,width\n0,1,2.5,9\n1,2,1.5,9\n0,2,7,9\n")
    with pytest.raises(FormatError, match="is 'capacity', 'width' the weight"):
        read(path)
    named = read(path, weight="capacity")
    assert named == Graph(LENGTHS.indptr, LENGTHS.indices, LENGTHS.weights, name="a")
    assert read(path, weight=None).is_unweighted
    assert solved(path, weight="capacity") == 4
    with pytest.raises(FormatError, match="must be called 'length', but there are 'capacity'"):
        read(path, weight="length")
    with pytest.raises(ParameterError, match="'weight'"):
        as_graph(path, weight=lambda tail, head, row: 1)
    for wrong in ({"weight": 3}, {"weight": "capacity", "weighted": True}):
        with pytest.raises(ParameterError, match="'weight'"):
            read(path, **wrong)
    assert main(["sssp", str(path), "--source", "0"]) == 3
    assert "option weight or unweighted" in capsys.readouterr().err
    for options, largest in ((["--weight", "capacity"], "4.0"), (["--unweighted"], "1.0")):
        assert main(["sssp", str(path), "--source", "0", *options]) == 0
        assert f"largest distance {largest}" in capsys.readouterr().out
    bare = tmp_path / "b.csv"
    bare.write_text("0,1,2.5\n1,2,1.5\n")
    with pytest.raises(FormatError, match="no column is called 'capacity'"):
        read(bare, weight="capacity")
    assert read(bare, weight=None).is_unweighted
    pyapsp.write(LENGTHS, tmp_path / "c.gr")
    assert read(tmp_path / "c.gr", weight=None).is_unweighted
    with pytest.raises(ParameterError, match="None for this format"):
        read(tmp_path / "c.gr", weight="length")
