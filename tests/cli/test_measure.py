"""``pyapsp measure``: sums over distances, by the names in the file, as text, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from running import runner
from scipy.sparse import csgraph

import pyapsp
from pyapsp.cli import measure
from pyapsp.graph import Graph

run = runner("measure")


@pytest.fixture(autouse=True)
def _on_device(device, monkeypatch):
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)


@pytest.fixture
def graph():
    """Two ways round a square, one longer, and a vertex apart; undirected."""
    names = ["a", "b", "c", "d", "alone, far"]
    return Graph.from_arcs(
        5, [0, 1, 2, 3], [1, 2, 3, 0], [1, 2, 3, 9], directed=False, labels=names, name="square"
    )


@pytest.fixture
def graph_file(graph, tmp_path):
    path = tmp_path / "square.npz"
    pyapsp.write(graph, path)
    return path


def test_numbers_of_the_whole_graph(graph_file, capsys):
    code, text, error = run(
        capsys, graph_file, "diameter", "radius", "average-shortest-path-length", "wiener-index"
    )
    assert (code, error) == (0, "")
    # 1 2 3 and, along the path of four, 3 5 6; 0 is what the vertex apart reaches
    assert text.splitlines() == [
        "diameter 6",
        "radius 0",
        f"average-shortest-path-length {(1 + 2 + 3 + 3 + 5 + 6) / 6}",
        "wiener-index inf",
    ]


def test_centralities_of_some_vertices(graph, graph_file, capsys):
    words = graph_file, "betweenness-centrality", "harmonic-centrality", "--sources", "c", "b"
    code, text, _ = run(capsys, *words)
    assert code == 0
    between = pyapsp.betweenness_centrality(graph, weight=...)
    harmonic = pyapsp.harmonic_centrality(graph)
    assert list(csv.reader(io.StringIO(text))) == [
        ["vertex", "betweenness-centrality", "harmonic-centrality"],
        *([graph.label(v), str(between[v]), str(harmonic[v])] for v in (2, 1)),
    ]
    assert between[2] > 0
    code, text, _ = run(capsys, graph_file, "edge-betweenness-centrality")
    assert code == 0
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["source", "target", "edge-betweenness-centrality"]
    assert [row[:2] for row in rows[1:3]] == [["a", "b"], ["a", "d"]]
    values = pyapsp.edge_betweenness_centrality(graph, weight=...)
    assert [row[2] for row in rows[1:]] == [str(each) for each in values]
    code, _, error = run(capsys, graph_file, "betweenness-centrality", "--method", "johnson")
    assert code == 2
    assert "--method" in error


def test_measures_of_vertices_speak_in_names(graph, graph_file, capsys):
    distances = csgraph.dijkstra(graph.to_scipy())
    finite = np.where(np.isinf(distances), 0, distances)
    code, text, _ = run(capsys, graph_file, "closeness-centrality", "eccentricity", "diameter")
    assert code == 0
    first, *rows = text.splitlines()
    assert first == "diameter 6"
    rows = list(csv.DictReader(rows))
    assert [row["vertex"] for row in rows] == graph.labels.tolist()
    assert [int(row["eccentricity"]) for row in rows] == finite.max(axis=1).tolist()
    others = np.isfinite(distances).sum(axis=0) - 1
    total = np.maximum(finite.sum(axis=0), 1)
    close = [float(row["closeness-centrality"]) for row in rows]
    np.testing.assert_allclose(close, others / total * others / 4, rtol=1e-15)


def test_a_file_of_vertices_and_chosen_ones(graph_file, tmp_path, capsys):
    out = tmp_path / "v.csv"
    chosen = ["eccentricity", "--sources", "d", "alone, far", "a"]
    assert run(capsys, graph_file, *chosen, "-o", out) == (0, "", "")
    rows = list(csv.reader(io.StringIO(out.read_text())))
    assert rows == [["vertex", "eccentricity"], ["d", "6"], ["alone, far", "0"], ["a", "6"]]


def test_several_devices(graph_file, device, capsys):
    words = graph_file, "eccentricity", "harmonic-centrality"
    one = run(capsys, *words, "--device", device.id)
    assert one == run(capsys, *words, "--device", device.id, device.id)
    assert one[0] == 0


def test_a_histogram(graph_file, capsys):
    code, text, _ = run(capsys, graph_file, "distance-histogram", "--width", "2")
    assert code == 0
    # both ways: 1 | 2 3 3 | 5 | 6
    assert text.splitlines() == ["from,pairs", "0,2", "2,6", "4,2", "6,2"]


def test_json(graph_file, capsys):
    code, text, _ = run(
        capsys, graph_file, "wiener-index", "radius", "eccentricity", "--sources", "a", "--json"
    )
    assert code == 2  # two of them are of all vertices
    code, text, _ = run(capsys, graph_file, "wiener-index", "eccentricity", "--json")
    assert code == 0
    assert json.loads(text) == {
        "graph": {"name": "square", "n": 5, "m": 8, "directed": False},
        "wiener-index": None,
        "vertex": ["a", "b", "c", "d", "alone, far"],
        "eccentricity": [6, 5, 3, 6, 0],
    }


def test_whole_numbers_beyond_floats_are_exact(tmp_path, capsys):
    path, large = tmp_path / "large.npz", 2**55 + 1
    pyapsp.write(Graph.from_arcs(2, [0], [1], [large], directed=False), path)
    code, text, _ = run(capsys, path, "diameter", "wiener-index", "eccentricity")
    assert code == 0
    assert text.splitlines()[:2] == [f"diameter {large}", f"wiener-index {large}"]
    assert text.splitlines()[3:] == [f"0,{large}", f"1,{large}"]
    code, text, _ = run(capsys, path, "diameter", "--json")
    assert json.loads(text)["diameter"] == large


def test_arcs_walked_both_ways(tmp_path, capsys):
    path = tmp_path / "arc.csv"
    path.write_text("x,y,4\ny,z,5\n")
    assert run(capsys, path, "wiener-index")[1] == "wiener-index inf\n"
    assert run(capsys, path, "wiener-index", "--undirected")[1] == "wiener-index 18\n"


def test_its_names_are_those_of_the_library():
    from pyapsp.all_pairs import summaries

    assert {name.replace("-", "_") for name in measure._MEASURES} == set(summaries.__all__)


def test_progress_is_told_where_asked(graph_file, capsys):
    _, text, error = run(capsys, graph_file, "diameter", "radius", "--progress")
    assert text.splitlines() == ["diameter 6", "radius 0"]
    assert error.startswith("100.0 %  source 5 of 5")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["girth"], 2, "invalid choice"),
        ([], 2, "MEASURE"),
        (["diameter", "--sources", "a"], 2, "diameter needs all vertices"),
        (["closeness-centrality", "--sources", "z"], 2, "vertices of the graph. Got 'z'"),
        (["eccentricity", "distance-histogram"], 2, "two tables"),
        (["diameter", "-o", "OUT"], 2, "-o is for eccentricity"),
        (["distance-histogram", "--width", "0"], 2, "'width' parameter"),
        (["distance-histogram", "--width", "x"], 2, "invalid"),
        (["diameter", "--method", "fw-naive"], 2, "one that searches from sources"),
        (["eccentricity", "-o", "no/such/folder.csv"], 3, "folder does not exist"),
        (["diameter", "--device", "no such device"], 4, "no such device"),
        (["eccentricity", "-o", "OUT", "--memory-limit", "16"], 5, "bytes are available"),
    ],
)
def test_mistakes(arguments, code, words, graph_file, tmp_path, capsys):
    out = tmp_path / "out.csv"
    found, text, error = run(
        capsys, graph_file, *(out if word == "OUT" else word for word in arguments)
    )
    assert (found, text) == (code, "")
    assert words in error
    assert not out.exists()


def test_a_negative_cycle_is_told(tmp_path, capsys):
    path = tmp_path / "cycle.gr"
    pyapsp.write(Graph.from_arcs(2, [0, 1], [1, 0], [1, -2]), path)
    assert run(capsys, path, "eccentricity")[0] == 6
