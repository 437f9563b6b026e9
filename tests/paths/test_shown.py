"""What answers show: one line, and a short table in notebooks, with labels as plain text."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pytest

import pyapsp
from pyapsp.base.shown import Shown, plain, table
from pyapsp.errors import GraphError, ParameterError
from pyapsp.graph import Graph, generators

LABELS = np.array(["<a>", "b", "c", "d"])


@pytest.fixture
def graph():
    return Graph.from_arcs(4, [0, 1, 2, 0], [1, 2, 0, 3], [1, 2, 3, 4], labels=LABELS)


def answers(graph, device):
    """What each function returns, with the line that it shows, up to the method."""
    two = graph.symmetrized()
    where = {"device": device}
    yield (
        pyapsp.solve(graph, "fw-naive", predecessors=True, **where),
        "<Result: rows=4, n=4, dtype=float64, predecessors=yes, method=fw-naive",
    )
    yield (
        pyapsp.solve(graph, "fw-naive", keep="device", dtype="int32", **where),
        "<DeviceResult: rows=4, n=4, dtype=int32, predecessors=no, method=fw-naive",
    )
    yield (
        pyapsp.bfs(graph, 0, "bfs-edge", **where),
        "<BfsResult: sources=<a>, n=4, parents=yes, method=bfs-edge",
    )
    yield (
        pyapsp.sssp(graph, [1, 0], "sssp-bellman-ford", **where),
        "<SsspResult: sources=b <a>, n=4, predecessors=no, method=sssp-bellman-ford",
    )
    yield (
        pyapsp.triangles(two, "triangles-hash", **where),
        "<Triangles: total=1, n=4, method=triangles-hash",
    )
    yield (
        pyapsp.truss_decomposition(two, "truss-peeling", **where),
        "<Trusses: k_max=3, n=4, edges=4, method=truss-peeling",
    )
    found = pyapsp.strongly_connected_components(graph, "scc-tarjan", **where)
    yield found, "<Components: count=2, largest=3, n=4, method=scc-tarjan"
    yield (
        pyapsp.condensation(graph, "scc-tarjan", **where),
        "<Condensation: components=2, arcs=1, vertices=4",
    )
    yield (
        pyapsp.dry_run(pyapsp.distances, graph, "<a>", ["b"], dtype="int32", **where),
        "<Memory: device_bytes=",
    )
    yield (
        pyapsp.bow_tie(graph, "scc-tarjan", **where),
        "<BowTie: core=3, in=0, out=1, tubes=0, tendrils=0, others=0",
    )


def test_answers_show_one_line_and_a_short_table(graph, device):
    for answer, line in answers(graph, device):
        assert repr(answer).startswith(line)
        assert repr(answer).endswith(">")
        assert "\n" not in repr(answer)
        assert len(repr(answer)) < 200
        shown = answer._repr_html_()
        assert shown.startswith("<table><tr><th>")
        assert shown.endswith("</table>")
        assert len(shown) < 1000
        assert type(answer).__name__ in shown
        assert "<a>" not in shown  # it would be a link
        assert "np.str_" not in repr(answer) + shown


def test_all_answers_with_a_run_are_shown():
    """A class of answers that is added has to be shown too."""
    for name in pyapsp.__all__:
        kind = getattr(pyapsp, name)
        if inspect.isclass(kind) and dataclasses.is_dataclass(kind):
            assert issubclass(kind, Shown), name
            assert kind.__repr__ is Shown.__repr__, name


def test_an_answer_without_a_record_is_shown():
    result = pyapsp.Result(np.zeros((1, 2)), None, np.array([0]))
    assert repr(result) == "<Result: rows=1, n=2, dtype=float64, predecessors=no>"


def test_many_sources_are_not_all_shown(device):
    found = pyapsp.bfs(generators.ring(30, seed=1), range(20), "bfs-edge", device=device)
    assert repr(found).startswith("<BfsResult: sources=0 1 2 3 4 ... (20), n=30, parents=yes")


def test_rows_stay_on_the_device(graph, device):
    result = pyapsp.solve(graph, "fw-naive", keep="device", device=device)
    repr(result), result._repr_html_()
    assert "distances" not in vars(result)


def test_methods_and_problems_show_one_line():
    found = pyapsp.methods("triangles")
    assert repr(found) == (
        "(<method triangles-bitmap>, <method triangles-hash>, <method triangles-intersect>)"
    )
    assert found._repr_html_().count("<tr>") == 4
    assert pyapsp.methods()._repr_html_().count("<tr>") == 1 + len(pyapsp.methods())
    method = pyapsp.method("fw-blocked", tile=32)
    assert repr(method) == "method('fw-blocked', tile=32)"
    assert "<td>tile</td><td>32</td>" in method._repr_html_()
    assert repr(pyapsp.problem("bfs")) == "<Problem: id=bfs, unit=arcs, dtypes=int32>"
    assert "<td>bfs</td>" in pyapsp.problem("bfs")._repr_html_()
    assert repr(type(method).__mro__[-2]) == "<class 'pyapsp.registry.algorithm.Method'>"


def test_a_graph_is_a_table_in_notebooks(graph):
    assert "<td>weights</td><td>int64 1..4</td>" in graph._repr_html_()
    assert "<td>weights</td><td>int64</td>" in Graph.from_arcs(2, [], [])._repr_html_()


def test_labels_are_plain(graph):
    assert repr([graph.label(v) for v in (0, np.int64(3))]) == "['<a>', 'd']"
    numbered = Graph.from_arcs(2, [0], [1], labels=np.array([7, 9]))
    assert repr(numbered.label(1)) == "9"
    assert repr(Graph.from_arcs(2, [0], [1]).label(1)) == "1"
    assert [graph.vertex(graph.label(v)) for v in range(4)] == [0, 1, 2, 3]
    with pytest.raises(ParameterError, match=r"'vertex' parameter of Graph.label"):
        graph.label(4)
    with pytest.raises(ParameterError, match=r"Got 'z' instead"):
        graph.vertex(np.str_("z"))
    with pytest.raises(GraphError, match=r"labels must be distinct: 'x' occurs"):
        Graph.from_arcs(2, [0], [1], labels=[np.str_("x"), np.str_("x")])


def test_only_what_keeps_its_value_is_plain():
    assert repr(plain(np.float64(0.5))) == "0.5"
    assert repr(plain(np.uint16(3))) == "3"
    assert repr(plain(np.True_)) == "True"
    assert isinstance(plain(np.float32(0.1)), np.float32)
    assert isinstance(plain(np.datetime64("2020-01-01", "ns")), np.datetime64)
    assert table(["a<b"], []) == "<table><tr><th>a&lt;b</th></tr></table>"
