"""The commands within, pairs, distances, nearest and accessibility: tables, files, names."""

from __future__ import annotations

import csv
import json

import numpy as np
import polars
import pytest
import scipy.sparse

import pyapsp
from pyapsp.cli import main


@pytest.fixture
def graph(device, tmp_path, monkeypatch):
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.csv").write_text("source,target,weight\na,b,1\nb,c,2\na,c,5\nd,a,4\n")
    return "g.csv"


def rows_of(path):
    with open(path) as file:
        return list(csv.reader(file))


def test_within(graph, capsys):
    assert main(["within", graph, "--cutoff", "2", "--sources", "b", "a", "-o", "n.csv"]) == 0
    assert "4 vertices within 2 of 2 sources, 2.0 of each" in capsys.readouterr().out
    assert rows_of("n.csv") == [
        ["source", "vertex", "distance", "predecessor"],
        ["b", "b", "0.0", ""],
        ["b", "c", "2.0", "b"],
        ["a", "a", "0.0", ""],
        ["a", "b", "1.0", "a"],
    ]
    assert main(["within", graph, "--cutoff", "2", "-o", "n.npz"]) == 0
    assert scipy.sparse.load_npz("n.npz").nnz == 6


def test_within_in_blocks(graph, monkeypatch, tmp_path, zarr):
    """Each row is a block."""
    monkeypatch.setattr("pyapsp.queries.range_rows._VALUES", dict.fromkeys((True, False), 4))
    monkeypatch.setattr("pyapsp.queries.range_rows._FIRST", 1)
    for name in ("n.parquet", "n.csv", "n.zarr"):
        assert main(["within", graph, "--cutoff", "2", "-o", name]) == 0
    left, right = polars.read_parquet("n.parquet"), polars.read_csv("n.csv")
    assert left.rows() == right.rows()
    assert left.columns == right.columns
    assert zarr.open_group("n.zarr", mode="r")["data"].shape == (6,)
    assert main(["within", graph, "-o", "n.zarr"]) == 3
    (tmp_path / "none.txt").touch()
    assert main(["within", graph, "--sources", "@none.txt", "-o", "n.parquet"]) == 0
    whole = left
    left = polars.read_parquet("n.parquet")
    assert (left.shape, left.schema) == ((0, 4), whole.schema)
    assert not list(tmp_path.glob(".*"))


def test_parquet_in_a_folder_with_any_name(graph, monkeypatch, tmp_path):
    monkeypatch.setattr("pyapsp.queries.range_rows._VALUES", dict.fromkeys((True, False), 4))
    monkeypatch.setattr("pyapsp.queries.range_rows._FIRST", 1)
    (tmp_path / "run[1]*?").mkdir()
    assert main(["within", graph, "--cutoff", "2", "-o", "run[1]*?/n.parquet"]) == 0
    with open("run[1]*?/n.parquet", "rb") as file:
        table = polars.read_parquet(file)
    assert table.columns == ["source", "vertex", "distance", "predecessor"]
    assert len(table) == 6


def test_pairs(graph, capsys):
    words = ["pairs", graph, "--sources", "a", "c", "--targets", "c", "a"]
    assert main(words) == 0
    assert capsys.readouterr().out == "source,target,distance\na,c,3.0\nc,a,\n"
    assert main([*words, "--paths", "-o", "p.csv"]) == 0
    assert rows_of("p.csv") == [["pair", "vertex"], ["0", "a"], ["0", "b"], ["0", "c"]]
    assert main(["pairs", graph, "--sources", "a", "--targets", "b", "x"]) == 2
    assert "--targets" in capsys.readouterr().err


def test_pairs_of_nothing(graph, capsys):
    """Not each vertex with itself."""
    assert main(["pairs", graph]) == 2
    assert "pairs needs --sources or --targets" in capsys.readouterr().err
    assert main(["pairs", graph, "--sources", "a"]) == 0
    assert capsys.readouterr().out.count("\n") == 5


def test_distances(graph, tmp_path, capsys):
    (tmp_path / "from.txt").write_text("d a\n")
    words = ["distances", graph, "--sources", "@from.txt", "--targets", "c", "d"]
    assert main(words) == 0
    table = "source,target,distance\nd,c,7.0\nd,d,0.0\na,c,3.0\na,d,\n"
    assert capsys.readouterr().out == table
    assert main([*words, "-o", "m.npy", "--dtype", "int32"]) == 0
    far = pyapsp.solve(np.zeros((2, 2)), dtype="int32").infinity
    assert np.load("m.npy").tolist() == [[7, 0], [3, far]]


@pytest.mark.usefixtures("graph")
def test_numbers_of_paths(capsys, tmp_path):
    (tmp_path / "square.txt").write_text("a b 1\na c 1\nb d 1\nc d 1\n")
    words = ["pairs", "square.txt", "--sources", "a", "--targets", "d", "b"]
    assert main([*words, "--count", "-o", "counts.csv"]) == 0
    assert rows_of("counts.csv") == [
        ["source", "target", "distance", "paths"],
        ["a", "d", "2.0", "2"],
        ["a", "b", "1.0", "1"],
    ]
    assert main([*words, "--count", "--cutoff", "1", "-o", "counts.csv"]) == 0
    assert rows_of("counts.csv")[1][3] == "0"
    with pytest.raises(SystemExit, match="2"):
        main([*words, "--count", "--paths"])
    assert "not allowed with" in capsys.readouterr().err


@pytest.mark.usefixtures("graph")
def test_several_paths_of_a_pair(capsys, tmp_path):
    (tmp_path / "square.txt").write_text("a b 1\na c 1\nb d 1\nc d 2\nb c 1\n")
    words = ["pairs", "square.txt", "--sources", "a", "--targets", "d", "b"]
    assert main([*words, "-k", "2", "-o", "k.csv"]) == 0
    assert rows_of("k.csv") == [
        ["source", "target", "rank", "distance", "arcs"],
        ["a", "d", "1", "2.0", "2"],
        ["a", "d", "2", "3.0", "2"],
        ["a", "b", "1", "1.0", "1"],
    ]
    assert main([*words, "-k", "2", "--paths", "-o", "k.csv"]) == 0
    assert ["/".join(row) for row in rows_of("k.csv")] == [
        "pair/rank/vertex",
        *("0/1/a", "0/1/b", "0/1/d", "0/2/a", "0/2/c", "0/2/d", "1/1/a", "1/1/b"),
    ]
    for name in ("--count", "--all", "--along"):
        assert main([*words, "-k", "2", name, *["x"] * (name == "--along")]) == 2
        assert f"{name} is not for -k" in capsys.readouterr().err
    assert main([*words, "-k", "2", "--cutoff", "3"]) == 2
    assert "--cutoff is not for -k" in capsys.readouterr().err


@pytest.mark.usefixtures("graph")
def test_all_shortest_paths(capsys, tmp_path):
    (tmp_path / "square.txt").write_text("a b 1\na c 1\nb d 1\nc d 1\n")
    words = ["pairs", "square.txt", "--sources", "b", "a", "--targets", "d"]
    assert main([*words, "--all"]) == 0
    table = "pair,path,vertex\n0,0,b\n0,0,d\n1,0,a\n1,0,b\n1,0,d\n"
    assert capsys.readouterr().out == table + "1,1,a\n1,1,c\n1,1,d\n"
    assert main([*words, "--all", "--limit", "1"]) == 0
    assert capsys.readouterr().out == table
    assert main([*words, "--limit", "1"]) == 2
    assert "--limit is for --all" in capsys.readouterr().err


@pytest.mark.usefixtures("graph")
def test_a_second_weight_of_a_file(capsys, tmp_path):
    """Of parallel arcs the one with the smallest first weight counts, whatever its second is."""
    rows = ["source\ttarget\tkm\tminutes", "a\tb\t9\t1", "a\tb\t4\t7", "b\tc\t5\t2"]
    (tmp_path / "towns.data").write_text("\n".join(rows))
    words = ["pairs", "towns.data", "--format", "tsv", "--sources", "a", "c", "--targets", "c", "b"]
    along = ["--along", "minutes"]
    assert main([*words, *along, "--weight", "km"]) == 0
    head = "source,target,distance,arcs,along"
    assert capsys.readouterr().out.splitlines() == [head, "a,c,9.0,2,9.0", "c,b,,,"]
    assert main([*words, *along, "--weight", "km", "--undirected"]) == 0
    assert capsys.readouterr().out.splitlines() == [head, "a,c,9.0,2,9.0", "c,b,5.0,1,2.0"]
    assert main([*words, *along, "--unweighted"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "a,c,2.0,2,3.0"
    assert main([*words, *along, "--weight", "km", "--paths"]) == 2
    assert "--along is for a table of pairs" in capsys.readouterr().err
    assert main([*words, "--weight", "km", "--along", "hours"]) == 3
    assert "one column must be called 'hours'" in capsys.readouterr().err


def test_accessibility(graph, capsys, tmp_path):
    (tmp_path / "jobs.csv").write_text('place,jobs,"shops, all"\na,5,1\nc,2.5,0\n\na,1,1\n')
    words = ["accessibility", graph, "--cutoff", "3"]
    assert main(words) == 0
    assert capsys.readouterr().out == "source,vertices\na,2\nb,1\nc,0\nd,0\n"
    more = ["--opportunities", "jobs.csv", "-o", "sums.csv"]
    assert main([*words, *more, "--sources", "d", "a"]) == 0
    assert "2 sources in" in capsys.readouterr().out
    assert rows_of("sums.csv") == [
        ["source", "jobs", "shops, all"],
        ["d", "0.0", "0.0"],
        ["a", "8.5", "2.0"],
    ]
    assert main([*words, *more, "--sources", "a", "--decay", "2"]) == 0
    assert float(rows_of("sums.csv")[1][1]) == pytest.approx(6 + 2.5 * np.exp(-1.5))
    assert main([*words, "--decay", "2"]) == 2
    assert "--decay needs --opportunities" in capsys.readouterr().err
    assert main([*words, *more[:2], "-o", "jobs.csv"]) == 2
    assert main([*words, "--opportunities", "none.csv"]) == 3
    for length in ("0", "nan", "inf", "x"):
        with pytest.raises(SystemExit, match="2"):
            main([*words, *more, "--decay", length])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("place\na\n", "1: a header is needed"),
        ("", "1: a header is needed"),
        ("place,jobs,jobs\n", "1: a header is needed"),
        ("place,source\n", "1: a header is needed"),
        ("place,jobs\na,1\n\na,b\n", "4: a word is no finite number"),
        ("place,jobs\na,1_0\n", "2: a word is no finite number"),
        ("place,jobs\na,inf\n", "2: a word is no finite number"),
        ("place,jobs\nz,1\n", "2: the graph has no vertex 'z'"),
        ("a,5\nb,2.5\n", "1: this may be a header or the line of 'a'"),
        ("place,jobs\na,1,2\n", "2: 3 columns, not 2"),
        ('place,jobs\n"a,1\n', "unexpected end of data"),
    ],
)
def test_opportunities_that_cannot_be_read(graph, text, message, capsys, tmp_path):
    (tmp_path / "jobs.csv").write_text(text)
    assert main(["accessibility", graph, "--opportunities", "jobs.csv"]) == 3
    assert message in capsys.readouterr().err


def test_columns_of_opportunities_may_be_years(graph, capsys, tmp_path):
    (tmp_path / "jobs.csv").write_text("place,2019,2020\na,5,1\n")
    words = ["accessibility", graph, "--opportunities", "jobs.csv", "--sources", "a"]
    assert main(words) == 0
    assert capsys.readouterr().out == "source,2019,2020\na,5.0,1.0\n"


def test_several_devices(graph, device, capsys):
    both = ["--device", device.id, device.id]
    for words in (
        ["pairs", graph, "--sources", "a", "d", "--targets", "c", "b"],
        ["distances", graph],
        ["within", graph],
    ):
        outputs = []
        for more in ([], both):
            assert main([*words, *more]) == 0
            outputs.append(capsys.readouterr().out.split(" in ")[0])  # without the seconds
        assert outputs[0] == outputs[1]
    with pytest.raises(SystemExit, match="2"):
        main(["nearest", graph, "--targets", "b", *both])


def test_nearest(graph, capsys):
    words = ["nearest", graph, "--targets", "c", "b", "-k", "2"]
    assert main([*words, "-o", "k.csv"]) == 0
    assert "7 targets of 4 vertices in" in capsys.readouterr().out
    assert rows_of("k.csv")[:4] == [
        ["vertex", "rank", "target", "distance"],
        ["a", "1", "b", "1.0"],
        ["a", "2", "c", "3.0"],
        ["b", "1", "b", "0.0"],
    ]
    assert main(["nearest", graph, "--targets", "b", "-k", "0"]) == 2


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["within", "--cutoff", "2", "-o", "n.npz"], "as large as what is found"),
        (["pairs", "--sources", "a", "--targets", "c", "--count"], "0.0 MiB"),
        (["pairs", "--sources", "a", "--targets", "c", "--paths"], "as large as what is found"),
        (["pairs", "--sources", "a", "--targets", "c", "-k", "2"], "as large as what is found"),
        (["accessibility", "--cutoff", "2"], "0.0 MiB"),
        (["distances", "-o", "m.npy"], "0.0 MiB"),
        (["nearest", "--targets", "b"], "0.0 MiB"),
        (["measure", "betweenness-centrality", "eccentricity"], "0.0 MiB"),
    ],
)
def test_a_dry_run_says_memory_and_leaves_nothing(graph, words, answer, tmp_path, capsys):
    command, *options = words
    assert main([command, graph, *options, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("device memory: ")
    assert lines[1:] == [f"answer: {answer}"]
    assert [path.name for path in tmp_path.iterdir()] == [graph]
    if command != "measure":
        assert main([command, graph, *options, "--dry-run", "--memory-limit", "9"]) == 5


def test_a_dry_run_of_several_calls(graph, capsys):
    """The answers of all, on the device that of the largest."""

    def needs(*words):
        assert main([*words[:1], graph, *words[1:], "--dry-run", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        return found["device_bytes"], found["answer_bytes"]

    several = needs("measure", "betweenness-centrality", "eccentricity", "closeness-centrality")
    each = [
        needs("measure", f"{name}")
        for name in ("betweenness-centrality", "eccentricity", "closeness-centrality")
    ]
    assert several == (max(size for size, _ in each), 3 * 4 * 8)
    assert main(["measure", graph, "diameter", "--dry-run"]) == 2
    assert "memory of diameter is not known" in capsys.readouterr().err
