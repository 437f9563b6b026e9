"""What the command line answers to wrong words: the fault that matters, and what was meant."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import polars
import pytest
from running import run

import pyapsp
from pyapsp.base.spelling import meant
from pyapsp.cli import parser
from pyapsp.cli.words import spoken
from pyapsp.errors import ParameterError
from pyapsp.graph import Graph, generators


@pytest.fixture(autouse=True)
def folder(device, tmp_path, monkeypatch):
    """A folder with small.csv, of named vertices, and large.gr."""
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.csv").write_text("a,b,2\nb,c,3\na,c,9\n")
    pyapsp.write(generators.random_graph(30, seed=1), "large.gr")


MEANT = {
    "slove small.csv": "solve",
    "measure small.csv diametr": "diameter",
    "solve small.csv --metod johnson": "--method",
    "bfs small.csv --sorce a": "--source",
    "solve small.csv --method fw-blokced": "fw-blocked",
    "solve small.csv --method FW_Blocked": "fw-blocked",
    "solve small.csv --method fw-blocked --set tille=8": "tile",
    "measure small.csv radius --method jonson": "johnson",
    "sssp small.csv --method sssp-nearfar": "sssp-near-far",
    "check tringles small.csv": "triangles",
    "bench small.csv --method fw-naiv": "fw-naive",
    "tune fw-blockd": "fw-blocked",
    "fetch random60": "random-60",
    "generate smal-world -n 9 -o o.gr": "small-world",
    "convert small.csv o.gr --weights absolut": "absolute",
    "completion zhs": "zsh",
    "solve small.csv --dtype flot32": "float32",
}


@pytest.mark.parametrize("line", MEANT)
def test_what_was_meant(line, capsys):
    code, out, error = run(capsys, *line.split())
    assert (code, out) == (2, "")
    assert error.rstrip().endswith(f"Did you mean {MEANT[line]!r}?")


@pytest.mark.parametrize(
    "line",
    [
        "within small.csv --cutoff {}",
        "nearest small.csv --targets a -k {}",
        "accessibility small.csv --decay {}",
        "measure small.csv distance-histogram --width {}",
        "solve small.csv --memory-limit {}",
        "solve small.csv --method fw-blocked --set tile={}",
        "simulate model.xml --duration 1 --step 1 --set x={}",
    ],
)
@pytest.mark.parametrize("number", ["1_0", "\u0663", "\uff13"])
def test_numbers_are_plain_as_in_files(line, number, capsys):
    # Python reads 10, 3 and 3, where a point or a blank may be missing
    code, out, error = run(capsys, *line.format(number).split())
    assert (code, out) == (2, "")
    assert number in error


LISTS = {
    "within --device A g": (["A"], None, "g"),
    "within --device A B g": (["A", "B"], None, "g"),
    "within --dev A B g --cutoff 5": (["A", "B"], None, "g"),
    "within g --device A B": (["A", "B"], None, "g"),
    "within --device A --cutoff 5 g": (["A"], None, "g"),
    "within --cutoff 5 --device A g": (["A"], None, "g"),
    "within --cutoff=5 --device A g --no-progress": (["A"], None, "g"),
    "within --device A -- g": (["A"], None, "g"),
    "within --cutoff=5 g --sources 1 2": (None, ["1", "2"], "g"),
    "measure --sources 1 2 g --undirected radius": (None, ["1", "2"], "g"),
    "within --device=A g": (["A"], None, "g"),
    "within --sources 1 -2 --device A g": (["A"], ["1", "-2"], "g"),
    "within --sources 1 g --device A": (["A"], ["1"], "g"),
    "measure --sources 1 2 g radius": (None, ["1", "2"], "g"),
    "measure g --sources 1 2 radius": (None, ["1", "2"], "g"),
    "pairs --sources 1 --targets 2 3 --device A B g": (["A", "B"], ["1"], "g"),
    "pairs --sources 1 --targets 2 g --device A": (["A"], ["1"], "g"),
    "measure --sources 1 g --device A -- radius": (["A"], ["1"], "g"),
    "measure --sources 1 2 --device A -- g radius": (["A"], ["1", "2"], "g"),
}


@pytest.mark.parametrize("line", LISTS)
def test_the_last_words_of_a_list_are_arguments_that_are_missing(line):
    parsed = parser().parse_args(line.split())
    assert (parsed.device, parsed.sources, parsed.graph) == LISTS[line]
    assert getattr(parsed, "measures", ["radius"]) == ["radius"]


@pytest.mark.parametrize("line", ["within --device A", "measure --sources 1 2", "within --device"])
def test_a_list_needs_a_word_itself(line, capsys):
    code, _, error = run(capsys, *line.split())
    assert code == 2
    assert "required: GRAPH" in error or "expected at least one argument" in error


@pytest.mark.parametrize("line", ["xyzzy", "solve small.csv --method quick", "solve x --zzz 1"])
def test_nothing_is_meant_by_other_words(line, capsys):
    code, _, error = run(capsys, *line.split())
    assert (code, "Did you mean" in error) == (2, False)


def test_functions_say_what_was_meant():
    with pytest.raises(ParameterError, match=r"Got 'flaot64' instead. Did you mean 'float64'\?"):
        pyapsp.solve(np.ones((2, 2)), dtype="flaot64")
    with pytest.raises(ParameterError, match="Did you mean 'bfs-edge'"):
        pyapsp.bfs(np.ones((2, 2)), 0, method="bfs-egde")
    assert meant(3, ["solve"]) == meant("", ["solve"]) == meant("solve", []) == ""


# a missing file or output, and a fault beside it that can be told without
FIRST = {
    "solve none.gr --dtype flot32": (2, "'flot32'"),
    "solve none.gr -o none/o.npz --dtype flot32": (2, "'flot32'"),
    "solve none.gr --method fw-best": (2, "'fw-best'"),
    "solve none.gr --cutoff -1": (2, "'cutoff' parameter"),
    "solve none.gr --device none-such": (4, "none-such"),
    "solve none.gr": (3, "none.gr"),
    "solve none.gr -o none/o.npz": (3, "none.gr"),
    "sssp none.gr --dtype flot32": (2, "'flot32'"),
    "sssp none.gr --cutoff -1 -o none/o.npz": (2, "'cutoff' parameter"),
    "bfs none.gr --device none-such": (4, "none-such"),
    "scc none.gr --device none-such -o o.xyz": (4, "none-such"),
    "triangles none.gr -o o.xyz": (3, "none.gr"),
    "truss none.gr --device none-such": (4, "none-such"),
    "truss none.gr -k 3 -o o.xyz": (3, "none.gr"),
    "truss large.gr -k 3 -o o.xyz": (3, "o.xyz: unknown suffix"),
    "measure none.gr radius --method quick": (2, "'quick'"),
    "measure none.gr radius --device none-such": (4, "none-such"),
    "verify none.gr o.npz --device none-such": (4, "none-such"),
    "verify large.gr none.npz -o none/o.json": (3, "none.npz"),
    "check bfs none.gr --dtype flot32": (2, "'flot32'"),
    "convert none.gr o.npz --weights square": (2, "'square'"),
    "convert large.gr o.xyz": (3, "o.xyz: unknown suffix"),
    "generate ring -n 9 -o o.xyz": (3, "o.xyz: unknown suffix"),
    "bench none.gr --method fw-best": (2, "'fw-best'"),
    "bench none.gr --device none-such": (4, "none-such"),
}


@pytest.mark.parametrize("line", FIRST)
def test_all_arguments_are_checked_and_the_fault_that_matters_is_told(line, capsys, monkeypatch):
    monkeypatch.setattr(pyapsp.graph.io, "graph_of", lambda *_: pytest.fail("a file was read"))
    code, message = FIRST[line]
    found, _, error = run(capsys, *line.split())
    assert (found, message in error) == (code, True), error
    assert "give an output file" not in error


def test_a_small_matrix_is_printed(capsys):
    code, text, error = run(capsys, "solve", "small.csv", "--predecessors")
    assert (code, error) == (0, "")
    assert text.partition("\n\n")[2] == (
        "distances  a  b  c\n"
        "        a  0  2  5\n"
        "        b  -  0  3\n"
        "        c  -  -  0\n"
        "\n"
        "predecessors  a  b  c\n"
        "           a  -  a  b\n"
        "           b  -  -  b\n"
        "           c  -  -  -\n"
    )
    code, text, _ = run(capsys, "solve", "small.csv", "--sources", "b", "--dtype", "float32")
    assert text.partition("\n\n")[2] == "distances  a  b  c\n        b  -  0  3\n"
    code, text, _ = run(capsys, "solve", "small.csv", "--json", "--dtype", "int32")
    told = json.loads(text)
    assert told["vertices"] == told["rows"] == ["a", "b", "c"]
    assert told["distances"] == [[0, 2, 5], [None, 0, 3], [None, None, 0]]
    assert told["dtype"] == "int32"


def test_lengths_are_printed_with_all_their_digits(tmp_path, capsys):
    (tmp_path / "g.csv").write_text("1,2,0.1\n2,3,0.2\n")
    text = run(capsys, "solve", "g.csv", "--dtype", "float64")[1]
    assert re.search(r"1 +0 +0\.1 +0\.30000000000000004\n", text)
    assert re.search(r"2 +- +0 +0\.2\n", run(capsys, "solve", "g.csv", "--dtype", "float32")[1])


def test_names_of_vertices_are_printed_as_they_are(tmp_path, capsys):
    (tmp_path / "v.csv").write_text("v1.0,b,2\nb,c.0,3\n")
    text = run(capsys, "solve", "v.csv", "--predecessors", "--dtype", "float32")[1]
    assert re.search(r"\n +v1\.0 +v1\.0 +b +-\n", text)


@pytest.mark.parametrize(
    "command", [["bench"], ["check", "all-pairs"], ["bench", "--problem", "bfs"]]
)
def test_a_doubtful_weight_may_be_named_or_left_out(command, tmp_path, capsys):
    (tmp_path / "w.csv").write_text("u,v,cargo\n1,2,5\n2,3,7\n")
    words = [command[0], *command[1:], "w.csv"]
    more = ["--repeat", "1"] if command[0] == "bench" else []
    code, _, error = run(capsys, *words, *more)
    assert (code, "is 'cargo' the weight?" in error) == (3, True)
    for choice in (["--unweighted"], ["--weight", "cargo"]):
        assert run(capsys, *words, *more, *choice)[0] == 0
    if command[0] == "bench":
        words = ["bench", "dense", "-n", "32", "--method", "fw-naive", "--weight", "cargo"]
        assert run(capsys, *words)[0] == 2


def test_measures_go_into_tables_alone(tmp_path, capsys):
    (tmp_path / "small.csv").write_text("a,b,2\nb,c,3\n")
    code, _, error = run(capsys, "measure", "small.csv", "eccentricity", "-o", "e.npz")
    assert (code, "OUT.csv" in error) == (2, True)


def test_nothing_is_printed_of_a_graph_without_vertices(tmp_path, capsys):
    pyapsp.write(Graph.from_arcs(0, [], []), tmp_path / "g.mtx")
    assert run(capsys, "solve", "g.mtx")[::2] == (0, "")


def test_a_large_matrix_needs_a_file(capsys):
    code, out, error = run(capsys, "solve", "large.gr")
    assert (code, out) == (2, "")
    assert "30 x 30 distances are too many to print: give an output file, -o OUT.csv" in error


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_solve_writes_tables(suffix, tmp_path, capsys):
    out = f"o.{suffix}"
    options = ["--predecessors", "--sources", "b", "a", "--dtype", "int32"]
    code, text, error = run(capsys, "solve", "small.csv", "-o", out, *options)
    assert (code, error, text.endswith(f"-> {out}\n")) == (0, "", True)
    frame = polars.read_csv(out) if suffix == "csv" else polars.read_parquet(out)
    assert frame.columns == ["source", "vertex", "distance", "predecessor"]
    assert frame.rows() == [
        ("b", "a", None, None),
        ("b", "b", 0, None),
        ("b", "c", 3, "b"),
        ("a", "a", 0, None),
        ("a", "b", 2, "a"),
        ("a", "c", 5, "b"),
    ]
    assert sorted(path.suffix for path in tmp_path.glob("*o*")) == [f".{suffix}"]


TABLES = [
    "bfs large.gr --source 1",
    "sssp large.gr --source 1",
    "scc large.gr",
    "triangles large.gr",
    "truss large.gr",
    "measure large.gr eccentricity",
]


@pytest.mark.parametrize("line", TABLES)
def test_other_tables_are_parquet_too(line, capsys):
    assert run(capsys, *line.split(), "-o", "o.parquet")[0] == 0
    assert run(capsys, *line.split(), "-o", "o.csv")[0] == 0
    left, right = polars.read_parquet("o.parquet"), polars.read_csv("o.csv")
    assert left.rows() == right.rows()
    assert left.columns == right.columns


def test_parquet_names_the_package_that_it_needs(tmp_path, capsys, monkeypatch):
    for package in ("polars", "pandas"):
        monkeypatch.setitem(sys.modules, package, None)
    code, _, error = run(capsys, "solve", "small.csv", "-o", "o.parquet")
    assert (code, "o.parquet needs polars: pip install polars" in error) == (3, True)
    assert not list(tmp_path.glob("*o*.parquet"))


def test_a_long_table_is_written_in_parts(capsys, monkeypatch):
    from pyapsp.cli import output

    run(capsys, "solve", "large.gr", "-o", "whole.csv")
    monkeypatch.setattr(output, "_ROWS", 7)
    run(capsys, "solve", "large.gr", "-o", "parts.csv")
    with open("whole.csv") as whole, open("parts.csv") as parts:
        text = whole.read()
        assert text == parts.read()
    assert text.count("\n") == 901


def test_no_advice_is_in_python(capsys, monkeypatch):
    assert run(capsys, "solve", "small.csv", "-o", "d.npz")[0] == 0
    code, _, error = run(capsys, "path", "d.npz", "a", "c")
    assert code == 2
    assert error == (
        "pyapsp: d.npz has no predecessors: make it with 'pyapsp solve --predecessors'\n"
    )
    line = "give dtype='float32', memory_limit='1GiB', predecessors=True or keep='device'"

    def fail(path, **options):
        raise ParameterError(line)

    monkeypatch.setattr(pyapsp.graph, "read", fail)
    assert run(capsys, "solve", "large.gr", "-o", "o.npz")[2] == (
        "pyapsp: give --dtype float32, --memory-limit 1GiB, --predecessors or keep='device'\n"
    )


def test_arguments_get_the_names_of_the_options():
    assert spoken("give dtype='float64'", {"--numbers"}) == "give --numbers float64"
    assert spoken("use duplicates=cas", {"--duplicates"}) == "use duplicates=cas"  # as for --set
    assert spoken("give dtype='float64'", set()) == "give dtype='float64'"
