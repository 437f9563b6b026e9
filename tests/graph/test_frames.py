"""Edge lists in data frames of pandas and polars, and in mappings."""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest

import pyapsp
from pyapsp.errors import GraphError, ParameterError
from pyapsp.graph import Graph, as_graph, from_frame

NAN = float("nan")


@pytest.fixture(params=["pandas", "polars", "lists", "arrays"])
def frame(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], Any]:
    """Return what makes a frame of columns."""
    if request.param == "polars":
        return pytest.importorskip("polars").DataFrame
    if request.param == "arrays":
        return lambda columns: {name: np.array(each) for name, each in columns.items()}
    return {"pandas": pandas.DataFrame, "lists": dict}[request.param]


def test_names_and_weights(frame: Callable) -> None:
    edges = frame({"a": ["x", "z", "x"], "b": ["y", "x", "y"], "w": [2.5, 1, 0.5]})
    graph = from_frame(edges, source="a", target="b", weight="w", name="three")
    assert graph.labels.tolist() == ["x", "y", "z"]
    assert [a.tolist() for a in graph.arcs()] == [[0, 2], [1, 0], [0.5, 1]]
    assert graph.name == "three"
    assert from_frame(edges, source="a", target="b", weight=None).is_unweighted
    both = from_frame(edges, source="a", target="b", weight="w", directed=False)
    assert both == graph.symmetrized()


def test_numbers(frame: Callable) -> None:
    edges = frame({"source": [10, 9], "target": [9, 2**40], "weight": [3, -1]})
    graph = from_frame(edges)
    assert graph.labels.tolist() == [9, 10, 2**40]
    assert [a.tolist() for a in graph.arcs()] == [[0, 1], [2, 0], [-1, 3]]
    assert graph.dtype == np.int64
    assert from_frame(edges, weight=None).is_unweighted


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_graphs_by_themselves(library: str) -> None:
    module = pytest.importorskip(library)
    columns = {"source": ["b", "a"], "target": ["a", "b"], "weight": [1, 2]}
    assert as_graph(module.DataFrame(columns)) == from_frame(columns)
    assert as_graph(module.DataFrame({"source": [], "target": []})).n == 0


def test_types_of_pandas() -> None:
    """Numbers that may be missing but are not, categories, and rows of any index."""
    ends = pandas.DataFrame({"source": ["b", "a"], "target": ["a", "c"]}, index=[7, 7])
    weighted = ends.assign(weight=pandas.array([4, 5], "Int64"))
    expected = from_frame({"source": ["b", "a"], "target": ["a", "c"], "weight": [4, 5]})
    assert as_graph(weighted) == as_graph(weighted.astype({"source": "category"})) == expected
    assert as_graph(weighted.astype({"weight": "float32"})).dtype == np.float32


def test_types_of_polars() -> None:
    polars = pytest.importorskip("polars")
    ends = polars.DataFrame({"source": ["b", "a"], "target": ["a", "c"], "weight": [4, 5]})
    for kind in (polars.Categorical, polars.String):
        assert as_graph(ends.cast({"source": kind, "weight": polars.UInt8})) == from_frame(
            {"source": ["b", "a"], "target": ["a", "c"], "weight": [4, 5]}
        )


IDS = "all integers or all strings"
FROM_1 = r"\(counted from 1\)"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"source": ["a", None], "target": ["b", "c"]}, f"'source' has no value in row 2 {FROM_1}"),
        ({"source": ["a", "b"], "target": [None, "c"]}, f"'target' has no value in row 1 {FROM_1}"),
        ({"source": [1, None], "target": [2, 3]}, "'source' has no value in row 2"),
        ({"source": [1], "target": [2], "weight": [NAN]}, "'weight' has no value in row 1"),
        ({"source": [1, 2], "target": [2, 3], "weight": [1, None]}, "'weight' has no value in row"),
        ({"source": [1], "target": [2], "weight": [-np.inf]}, "weight of row 1 .* is -inf"),
        ({"source": [1], "target": [2], "weight": ["x"]}, "of row 1 .* no real number: 'x'"),
        ({"source": [1, 2], "target": ["b", "c"]}, f"{IDS}.*'b' in row 1 .* 'target', and 1 in"),
        ({"source": [1.5, 2.5], "target": [1, 2]}, f"{IDS}.* 1.5 in row 1 .* column 'source'"),
        ({"source": [True], "target": [False]}, f"{IDS}.* True in row 1"),
    ],
)
def test_what_is_wrong_and_where(frame: Callable, columns: dict, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_frame(frame(columns))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"source": [1, "a"], "target": [2, 3]}, f"{IDS}.* 'a' in row 2 .*, and 2 in row 1"),
        ({"source": [10**30], "target": [1]}, f"{IDS}.* 1000000000000000000000000000000 in row 1"),
        ({"source": np.array([1], "M8[ns]"), "target": np.array([2], "M8[ns]")}, f"{IDS}.*1970-01"),
        ({"source": [1, 2], "target": [2, 3], "weight": [1, "x"]}, "of row 2 .* real number: 'x'"),
        ({"source": [1], "target": [2], "weight": [2**70]}, "does not fit into int64"),
        ({"source": [1], "target": [2], "weight": [np.timedelta64(1, "s")]}, "no real number"),
    ],
)
@pytest.mark.parametrize("make", [pandas.DataFrame, dict])
def test_mixed_and_other_types(make: Callable, columns: dict, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_frame(make(columns))


def test_columns_that_are_not_there(frame: Callable) -> None:
    edges = frame({"from": [1], "to": [2], "cost": [3]})
    with pytest.raises(GraphError, match=r"no column 'source', but 'from', 'to', 'cost'$"):
        from_frame(edges)
    for weight in ("weight", "price", 7):
        with pytest.raises(GraphError, match=f"no column {weight!r}, but"):
            from_frame(edges, source="from", target="to", weight=weight)
    wide = {str(number): [number] for number in range(9)}
    with pytest.raises(GraphError, match=r"no column 'source', but '0', .*'7', \.\.\.$"):
        from_frame(wide)


@pytest.mark.parametrize("twice", ["source", "target", "weight"])
def test_a_column_that_comes_twice(twice: str) -> None:
    frame = pandas.DataFrame([[0, 1, 2, 3]], columns=["source", "target", "weight", twice])
    with pytest.raises(GraphError, match=f"more than one column '{twice}'"):
        as_graph(frame)


def test_mappings_that_are_no_frames() -> None:
    with pytest.raises(GraphError, match="differ in length"):
        from_frame({"source": [1, 2], "target": [2]})
    with pytest.raises(GraphError, match="differ in length"):
        from_frame({"source": [1, 2], "target": [2, 3], "weight": [1]})
    with pytest.raises(GraphError, match="'target' of the data frame is no sequence"):
        from_frame({"source": [1], "target": np.ones((1, 1))})
    masked = np.ma.array([1, 2], mask=[False, True])
    with pytest.raises(GraphError, match="'source' has no value in row 2"):
        from_frame({"source": masked, "target": [1, 2]})


def test_ids_that_differ_in_a_nul_at_the_end() -> None:
    """NumPy drops the NUL in an array of strings."""
    graph = as_graph(pandas.DataFrame({"source": ["a", "a\0"], "target": ["a\0", "b"]}))
    assert graph.labels.tolist() == ["a", "a\0", "b"]
    assert [ends.tolist() for ends in graph.arcs()[:2]] == [[0, 1], [1, 2]]


def test_no_library_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, library, None)
    column = SimpleNamespace(to_numpy=lambda: np.array([3, 4]))
    other = {"source": column, "target": column}
    assert from_frame(other).labels.tolist() == [3, 4]


@pytest.mark.parametrize("labels", [["x", "y"], [20, 10], [("a", 1), 3], None])
def test_vertices_by_their_labels(labels: list | None) -> None:
    graph = Graph.from_arcs(2, [0], [1], labels=labels)
    assert [graph.vertex(label) for label in labels or [0, 1]] == [0, 1]
    for label in ("z", 2, None, ["x"]):
        with pytest.raises(ParameterError, match=r"'label' parameter of Graph\.vertex"):
            graph.vertex(label)


@pytest.mark.parametrize("column", [0, "ab", None])
def test_a_column_that_is_no_sequence(column):
    with pytest.raises(GraphError, match=r"'source'.*no sequence"):
        from_frame({"source": column, "target": [1, 2]})


def test_polars_has_no_column_for_names_of_several_types(device):
    graph = Graph.from_arcs(2, [0], [1], labels=["a", 1])
    found = pyapsp.bfs(graph, 0, device=device)
    assert found.to_frame()["vertex"].tolist() == ["a", 1]
    with pytest.raises(GraphError, match="polars has no type for these names"):
        found.to_frame("polars")


def test_integers_that_numpy_does_not_have(device):
    """polars has a type of 128 bits: what int64 holds is right, all else is an error."""
    polars = pytest.importorskip("polars")
    wide = polars.Series([1, 2], dtype=polars.Int128)
    ends = polars.DataFrame({"source": wide, "target": [2, 5], "weight": wide})
    assert from_frame(ends) == from_frame({"source": [1, 2], "target": [2, 5], "weight": [1, 2]})
    large = polars.Series([1, 2**70], dtype=polars.Int128)
    with pytest.raises(GraphError, match="a weight does not fit into int64"):
        from_frame(ends.with_columns(weight=large))
    with pytest.raises(GraphError, match=f"there is {2**70} in row 2"):
        from_frame(ends.with_columns(source=large))
    graph = from_frame(ends)
    square = polars.DataFrame({"a": wide, "b": wide})
    for call in (
        lambda: graph.with_weights(wide),
        lambda: Graph.from_arcs(3, wide, [1, 2]),
        lambda: Graph.from_dense(square),
        lambda: pyapsp.csgraph.shortest_path(square),
        lambda: pyapsp.dynamic.Hornet(4, device=device).insert_edges(wide, [1, 2]),
    ):
        with pytest.raises(GraphError, match="are no array: cannot convert i128"):
            call()
    for call in (
        lambda: pyapsp.solve(graph, sources=wide, device=device),
        lambda: pyapsp.bfs(graph, wide, device=device),
        lambda: pyapsp.csgraph.dijkstra(np.eye(3), indices=wide),
    ):
        with pytest.raises(ParameterError):
            call()


def test_decimals_are_no_weights():
    polars = pytest.importorskip("polars")
    tenths = polars.Series([Decimal("1.5"), Decimal("0.1")])
    with pytest.raises(GraphError, match=r"weight of row 1 .* Decimal\('1.5'\)"):
        from_frame(polars.DataFrame({"source": [1, 2], "target": [2, 5], "weight": tenths}))
    with pytest.raises(GraphError, match="real numbers of at most 64 bits"):
        Graph.from_arcs(3, [0, 1], [1, 2], tenths)


def test_half_precision_in_a_frame():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [0.5, 0.0], "b": [0.0, 2.0]}).cast(polars.Float16)
    assert Graph.from_dense(frame).weights.tolist() == [0.5, 2.0]


def test_a_table_of_arrow():
    """Its ``columns`` are values and no names. pyarrow is not installed where the tests run."""

    class Table:
        column_names = ("source", "target")
        columns = (np.array([1, 2]), np.array([2, 5]))

        def __getitem__(self, name: str) -> Any:
            return self.columns[self.column_names.index(name)]

    assert from_frame(Table()) == from_frame({"source": [1, 2], "target": [2, 5]})
    assert pyapsp.mining.Trace.of(Table()).numeric_names == ("source", "target")


def test_the_costs_of_pgrouting(frame):
    table = {"id": [1, 2, 3, 4], "source": [1, 2, 3, 3], "target": [2, 3, 1, 4]}
    table |= {"cost": [4, 2, -1, -1], "reverse_cost": [-1.0, 2.5, 1.0, -1.0]}
    for weight in (..., "cost"):
        graph = from_frame(frame(table), weight=weight)
        names = graph.labels.tolist()
        assert names == [1, 2, 3, 4]
        tails, heads, weights = (each.tolist() for each in graph.arcs())
        found = {(names[t], names[h]): w for t, h, w in zip(tails, heads, weights, strict=True)}
        assert found == {(1, 2): 4, (2, 3): 2, (3, 2): 2.5, (1, 3): 1}
    hops = from_frame(frame(table), weight=None)
    assert [each.tolist() for each in hops.arcs()] == [[0, 0, 1, 2], [1, 2, 2, 1], [1, 1, 1, 1]]
    with pytest.raises(GraphError, match="'reverse_cost' is for the weight 'cost', not 'id': drop"):
        from_frame(frame(table), weight="id")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"reverse_cost": [1, 2]}, "the column 'reverse_cost' is about the reverse of an arc"),
        ({"weight_reverse": [1, 2]}, "the column 'weight_reverse' is about the reverse"),
        ({"oneway": [True, False]}, r"row 2 .*: by the column 'oneway' this arc goes both ways"),
        ({"oneway": ["yes", "-1"]}, r"row 2 .*: 'oneway' must be true or false, not '-1'"),
        ({"undirected": [True, True]}, "the column 'undirected' is about the reverse of an arc"),
        ({"directed": ["yes", "maybe"]}, r"row 2 .*: an arc is Directed or Undirected, not 'maybe"),
        ({"Type": ["Directed", "Mutual"]}, r"row 2 .*: an arc is Directed or Undirected, not 'Mu"),
        (
            {"cost": [1, 2], "reverse_cost": [1, 2], "directed": [1, 0], "weight": None},
            r"row 2 .*: an undirected edge has no reverse cost",
        ),
    ],
)
def test_columns_about_reverse_arcs_that_are_not_read(frame, extra, message):
    table = {"source": [1, 2], "target": [2, 3], "weight": [1, 1], **extra}
    with pytest.raises(GraphError, match=message):
        from_frame(frame({name: each for name, each in table.items() if each is not None}))
    both = {"source": [1, 2], "target": [2, 1], "weight": [4, 3], "oneway": [False, False]}
    assert from_frame(frame(both)).weights.tolist() == [4, 3]
    # the reverse of every arc is added
    single = {"source": [1], "target": [2], "weight": [4], "oneway": [False]}
    assert from_frame(frame(single), directed=False).m == 2


def test_rows_that_are_undirected(frame):
    """By the words of Gephi, and in a column that tells nothing else also by others."""
    table = {"source": [0, 1], "target": [1, 2], "weight": [4, 2]}
    both = [(0, 1, 4), (1, 0, 4), (1, 2, 2)]
    for name, words in (
        ("Type", ["Undirected", "Directed"]),
        ("directed", [False, True]),
        ("is_directed", [0, 1]),
    ):
        for weight in (..., lambda tail, head, row: row["weight"]):
            graph = from_frame(frame({**table, name: words}), weight=weight)
            arcs = zip(*(each.tolist() for each in graph.arcs()), strict=True)
            assert (graph.directed, sorted(arcs)) == (True, both)
        assert not from_frame(frame({**table, name: words}), directed=False).directed
    # as a reader of a file does
    none = from_frame(frame({**table, "directed": [False, False]}))
    assert (none.directed, none.m) == (False, 4)
    other = from_frame(frame({**table, "type": ["road", "rail"]}))
    assert (other.directed, other.m) == (True, 2)
    first = from_frame(
        frame({**table, "directed": [False, True]}),
        weight=lambda tail, head, row: row["weight"] if tail else None,
    )
    assert [each.tolist() for each in first.arcs()] == [[1], [2], [2]]
    some = from_frame({**table, "type": ["road", None]})
    assert (some.directed, some.m) == (True, 2)
