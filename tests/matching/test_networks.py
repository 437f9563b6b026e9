"""Networks from files, NetworkX and data frames; spoilt files."""

from __future__ import annotations

import os

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from pyapsp.cli import main
from pyapsp.errors import FormatError, GraphError
from pyapsp.matching import Network, read_network, read_similarity
from pyapsp.matching.reading import write_network
from tests.matching.conftest import network

# Spoilt files of each reader.
FUZZED = int(os.environ.get("PYAPSP_TEST_FUZZED", "300"))
GFU = "#a name\n4\nA\nB C\nA\nC\n4\n0 1\n1 2\n2 1\n3 3\n"
MATRIX = "0 0.25 1\n1.0 1e-3 0\n"


@pytest.fixture
def write(tmp_path):
    def written(content):
        path = tmp_path / "file.gfu"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def test_a_network_is_read(write):
    found = read_network(write(GFU))
    assert (found.name, found.n, found.m) == ("a name", 4, 2)
    assert found.labels.tolist() == ["A", "B C", "A", "C"]
    assert found.edges.tolist() == [[0, 1], [1, 2]]
    assert found.vertices.tolist() == [0, 1, 2, 3]
    assert read_network(write("\ufeff" + GFU)).m == 2  # the mark that editors of Windows write
    named = read_network(write(GFU.replace("\nA\nC", "\nD\nC")))
    assert named.vertices.tolist() == ["A", "B C", "D", "C"]


def test_a_network_is_written_and_read(tmp_path):
    given = network(50, 90, 6, 2)
    write_network(given, tmp_path / "a.gfd")
    found = read_network(tmp_path / "a.gfd")
    assert found.name == given.name
    for name in ("offsets", "neighbours", "labels"):
        assert np.array_equal(getattr(found, name), getattr(given, name))
    with pytest.raises(GraphError, match="does not fit in a line"):
        write_network(Network.from_edges([], ["a\nb"]), tmp_path / "b.gfu")
    for label in (1, 1.5, (1, 2)):
        with pytest.raises(GraphError, match="is no text, and the format holds only text"):
            write_network(Network.from_edges([], [label]), tmp_path / "b.gfu")
    assert not (tmp_path / "b.gfu").exists()


@pytest.mark.parametrize("suffix", ["gfu", "gfd"])
def test_an_edge_is_written_once_or_in_both_directions(suffix, tmp_path):
    write_network(Network.from_edges([(0, 1), (1, 2)], "ABC"), tmp_path / f"a.{suffix}")
    arcs = (tmp_path / f"a.{suffix}").read_text().splitlines()[5:]
    assert arcs == (["2", "0 1", "1 2"] if suffix == "gfu" else ["4", "0 1", "1 2", "1 0", "2 1"])
    assert read_network(tmp_path / f"a.{suffix}").edges.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("suffix", ["gfd", "GFD"])
def test_a_directed_network_is_not_read_as_an_undirected_one(suffix, tmp_path, capsys):
    path = tmp_path / f"a.{suffix}"
    path.write_text(GFU)
    with pytest.raises(FormatError, match="the arc 0 1 has no reverse") as caught:
        read_network(path)
    assert caught.value.line == 8
    assert main(["match", str(path), str(path)]) == 3
    assert "has no reverse" in capsys.readouterr().err
    both = GFU.replace("\n4\n0 1\n", "\n5\n0 1\n1 0\n")
    path.write_text(both)
    assert read_network(path).edges.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("#a", "a", 1, "first line"),
        ("\n4\nA", "\nx\nA", 2, "number of vertices, not 'x'"),
        ("\n4\nA", "\n0\nA", 2, "needs a vertex"),
        ("\n4\nA", "\n99\nA", None, "99 vertices, but the file ends"),
        ("B C", " ", 4, "label is missing"),
        ("C\n4\n", "C\n-4\n", 7, "number of edges"),
        ("C\n4\n", "C\n5\n", None, "5 edges, but 4 lines"),
        ("1 2", "1 4", 9, "the vertices are 0 to 3, not 1 4"),
        ("1 2", "1 2 3", 9, "two vertex numbers, not '1 2 3'"),
        ("1 2", "1 -2", 9, "two vertex numbers"),
        ("1 2", "1 ٣", 9, "two vertex numbers"),
        ("1 2", "1 99999999999999999999", 9, "two vertex numbers"),
    ],
)
def test_faults_of_a_network_have_a_place(old, new, line, message, write):
    assert old in GFU
    path = write(GFU.replace(old, new))
    with pytest.raises(FormatError, match=message) as caught:
        read_network(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_a_similarity_matrix_is_read(write):
    assert read_similarity(write(MATRIX), (2, 3)).tolist() == [[0, 0.25, 1], [1, 0.001, 0]]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", None, "empty"),
        ("0 1\n0\n", 2, "1 entries, but 2"),
        ("0 1\n0 x\n", 2, "no number"),
        ("0 1\n0_1 0\n", 2, "no number"),
        ("0 1\n0 \u0660.\u0665\n", 2, "no number"),
        ("0 1\n0 nan\n", 2, "entry 2 is nan"),
        ("0 1\n-0.1 1\n", 2, "entry 1 is -0.1"),
        ("0 1.01\n", 1, "entry 2 is 1.01"),
        ("0 1 0\n", None, r"\(1, 3\), not \(2, 3\)"),
    ],
)
def test_faults_of_a_matrix_have_a_place(content, line, message, write):
    with pytest.raises(FormatError, match=message) as caught:
        read_similarity(write(content), (2, 3))
    assert caught.value.line == line


@pytest.mark.parametrize(("reader", "content"), [(read_network, GFU), (read_similarity, MATRIX)])
def test_spoilt_files_end_in_errors_of_the_format(reader, content, write):
    random = np.random.default_rng(11)
    right = np.frombuffer(content.encode(), np.uint8)
    refused = 0
    for _ in range(FUZZED):
        spoilt = right.copy()
        for _ in range(random.integers(1, 4)):
            kind, place = random.integers(4), int(random.integers(spoilt.size))
            if kind == 0:
                spoilt[place] = random.integers(256)
            elif kind == 1:
                spoilt = spoilt[: max(place, 1)]
            elif kind == 2:
                spoilt = np.delete(spoilt, place) if spoilt.size > 1 else spoilt
            else:
                spoilt = np.insert(
                    spoilt, place, random.choice(np.frombuffer(b"09 -.#\ne\0", "u1"))
                )
        try:
            reader(write(spoilt.tobytes()))
        except FormatError:
            refused += 1
    assert refused > FUZZED / 5


def test_graphs_of_networkx_and_back():
    graph = nx.DiGraph([("x", "y"), ("y", "x"), ("y", "z"), ("z", "z")], name="g")
    nx.set_node_attributes(graph, {"x": 1, "y": 2, "z": 1}, "label")
    found = Network.from_networkx(graph)
    assert (found.name, found.m, found.labels.tolist()) == ("g", 2, [1, 2, 1])
    back = found.to_networkx()
    assert nx.utils.edges_equal(back.edges, [("x", "y"), ("y", "z")])
    assert back.nodes["y"] == {"label": 2}


def test_data_frames():
    nodes = pd.DataFrame({"vertex": ["x", "y", "z"], "label": ["A", "B", "A"]})
    edges = pd.DataFrame({"source": ["x", "z"], "target": ["y", "y"]})
    found = Network.from_frames(edges, nodes)
    assert (found.edges.tolist(), found.vertices.tolist()) == ([[0, 1], [1, 2]], ["x", "y", "z"])
    with pytest.raises(GraphError, match="row 2 of the edges has the unknown vertex 'w'"):
        Network.from_frames(edges.replace("z", "w"), nodes)
    with pytest.raises(GraphError, match="no column 'kind'"):
        Network.from_frames(edges, nodes, label="kind")
    with pytest.raises(GraphError, match="column 'vertex' has a vertex twice"):
        Network.from_frames(edges, nodes.assign(vertex=["x", "y", "x"]))


@pytest.mark.parametrize(
    ("edges", "labels", "message"),
    [
        ([], [], "needs a vertex"),
        ([(0, 1), (1, 2)], "AB", r"edge 1 is \[1, 2\]: the vertices are 0 to 1"),
        ([(0, -1)], "AB", "edge 0"),
        ([(0, 1, 2)], "AB", "pairs of vertex numbers"),
        ([(0.0, 1.0)], "AB", "pairs of vertex numbers"),
        ([(0, 1), (1,)], "AB", "pairs of vertex numbers"),
        (np.ma.array([[0, 1]], mask=[[False, True]]), "AB", "must not be masked"),
        ([(0, 1)], np.ma.array([1, 2], mask=[False, True]), "none masked"),
        ([(0, 1)], None, "a label for each vertex"),
        ([(0, 1)], ["A", None], "vertex number 1 has no label, but None"),
        ([(0, 1)], [float("nan"), float("nan")], "vertex number 0 has no label, but nan"),
        ([(0, 1)], pd.array(["A", None], dtype="string"), "vertex number 1 has no label"),
        ([(0, 1)], ["A", ["B"]], r"the label of vertex number 1 is not hashable: \['B'\]"),
        ([(0, 1)], [(1, [2]), "A"], "the label of vertex number 0 is not hashable"),
        ([(0, 1)], [np.zeros(2), "A"], "the label of vertex number 0 is not hashable"),
    ],
)
def test_wrong_edges_are_named(edges, labels, message):
    with pytest.raises(GraphError, match=message):
        Network.from_edges(edges, labels)


def test_labels_keep_their_types():
    labels = [1, "1", 1.5, True, (1, 2), np.int8(3), np.str_("x"), np.float32(0.5), 2**70]
    found = Network.from_edges([], labels, vertices=[(at, "name") for at in range(len(labels))])
    assert found.labels.tolist() == [1, "1", 1.5, True, (1, 2), 3, "x", 0.5, 2**70]
    kinds = [int, str, float, bool, tuple, int, str, float, int]
    assert [type(label) for label in found.labels.tolist()] == kinds
    assert found.vertices[0] == (0, "name")
    back = Network.from_networkx(found.to_networkx())
    assert [type(label) for label in back.labels.tolist()] == kinds
    frame = pd.DataFrame({"vertex": ["x", "y"], "label": [1, 2]})
    edges = pd.DataFrame({"source": ["x"], "target": ["y"]})
    assert Network.from_frames(edges, frame).labels.tolist() == [1, 2]
