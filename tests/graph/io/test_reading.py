"""What each format means: small files with the graph that they describe."""

from __future__ import annotations

import gzip
import io
import re
import time
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse

from pyapsp.errors import FormatError, GraphError, ParameterError
from pyapsp.graph import Graph, from_frame, from_networkx, read, write
from pyapsp.graph.io import FORMATS, edge_list, plain, source, spelling

BANNER = "%%MatrixMarket matrix "
Arcs = list[tuple[object, object, float]]


def arcs_of(graph: Graph) -> Arcs:
    """Arcs with labels (or numbers) at their ends."""
    names = graph.labels.tolist() if graph.labels is not None else list(range(graph.n))
    tails, heads, weights = (array.tolist() for array in graph.arcs())
    return [(names[t], names[h], w) for t, h, w in zip(tails, heads, weights, strict=True)]


CASES: list[tuple[str, str, int, bool, type, Arcs]] = [
    # Matrix Market
    ("a.mtx", "coordinate real general\n% c\n\n2 2 2\n1 2 1e-9\n2 2 0\n", 2, True, float,
     [(0, 1, 1e-9), (1, 1, 0)]),
    ("a.mtx", "coordinate real general\n2 2 1\n1 2 3\n", 2, True, float, [(0, 1, 3)]),
    ("a.mtx", "coordinate integer general\n2 2 3\n1 2 5\n\n1 2 -3\n1 2 4\n", 2, True, int,
     [(0, 1, -3)]),
    ("a.mtx", "coordinate pattern general\n2 2 1\n2 1\n", 2, True, int, [(1, 0, 1)]),
    ("a.mtx", "coordinate integer symmetric\n2 2 2\n2 1 7\n1 1 0\n", 2, False, int,
     [(0, 0, 0), (0, 1, 7), (1, 0, 7)]),
    ("a.mtx", "coordinate pattern symmetric\n2 2 1\n2 1\n", 2, False, int,
     [(0, 1, 1), (1, 0, 1)]),
    ("a.mtx", "coordinate integer skew-symmetric\n2 2 1\n2 1 7\n", 2, True, int,
     [(0, 1, -7), (1, 0, 7)]),
    ("a.mtx", "coordinate real general\n2 2 2\n1 2 inf\n2 1 1\n", 2, True, float, [(1, 0, 1)]),
    ("a.mtx", "coordinate unsigned-integer general\n1 1 1\n1 1 4\n", 1, True, int, [(0, 0, 4)]),
    ("a.mtx", "array real general\n2 2\n0\n2.5\n3\n0\n", 2, True, float, [(0, 1, 3), (1, 0, 2.5)]),
    ("a.mtx", "array integer symmetric\n2 2\n0\n4\n5\n", 2, False, int,
     [(0, 1, 4), (1, 0, 4), (1, 1, 5)]),
    ("a.mtx", "array integer skew-symmetric\n3 3\n1\n2\n3\n", 3, True, int,
     [(0, 1, -1), (0, 2, -2), (1, 0, 1), (1, 2, -3), (2, 0, 2), (2, 1, 3)]),
    ("a.mtx", "coordinate real general\n0 0 0\n", 0, True, float, []),
    ("a.mtx", "coordinate integer symmetric\n1 1 0\n", 1, False, int, []),
    ("a.mtx", "array integer general\n0 0\n", 0, True, int, []),
    # DIMACS
    ("a.gr", "c hello\n\np sp 3 3\na 1 2 5\nc between\na 1 2 4\na 3 3 0\n", 3, True, int,
     [(0, 1, 4), (2, 2, 0)]),
    ("a.gr", "p sp 2 1\na 2 1 -1.5", 2, True, float, [(1, 0, -1.5)]),
    ("a.gr", "p sp 0 0\n", 0, True, int, []),
    ("a.gr", "p sp 1 0\n", 1, True, int, []),
    # edge lists
    ("a.txt", "# x\n% y\n10 9\n\n9 100\n", 3, True, int, [(9, 100, 1), (10, 9, 1)]),
    ("a.txt", "1 2 5\n1 2 3\n2 1 4.0\n", 2, True, float, [(1, 2, 3), (2, 1, 4)]),
    ("a.txt", "0\t1\t5\tsurplus\n1\t0\t6\tx\n", 2, True, int, [(0, 1, 5), (1, 0, 6)]),
    ("a.txt", "1,2,5\n2,1,6\n", 2, True, int, [(1, 2, 5), (2, 1, 6)]),
    ("a.txt", "1;2\n2;1\n", 2, True, int, [(1, 2, 1), (2, 1, 1)]),
    ("a.txt", "b a 1\na C# 2\n", 3, True, int, [("a", "C#", 2), ("b", "a", 1)]),
    ("a.txt", "-5 3\n3 -5\n", 2, True, int, [(-5, 3, 1), (3, -5, 1)]),
    ("a.txt", "1 1\r\n1 2\r\n", 2, True, int, [(1, 1, 1), (1, 2, 1)]),
    ("a.txt", "\ufeff1 2", 2, True, int, [(1, 2, 1)]),
    ("a.txt", "0 1\n1 0\n", 2, True, int, [(0, 1, 1), (1, 0, 1)]),
    ("a.txt", "# nothing\n", 0, True, int, []),
    ("a.txt", "", 0, True, int, []),
    ("a.csv", "source,target,weight\n7,8,0\n8,7,1\n", 2, True, int, [(7, 8, 0), (8, 7, 1)]),
    ("a.csv", "from,to\nx,y\n", 2, True, int, [("x", "y", 1)]),
    ("a.csv", "I,J\n1,2\n", 2, True, int, [(1, 2, 1)]),
    ("a.csv", "x,y\ny,x\n", 2, True, int, [("x", "y", 1), ("y", "x", 1)]),
    ("a.csv", "source,target\n", 0, True, int, []),
    ("a.csv", '"Smith, J","O ""B""",2,1999\nz , z ,3,\n', 3, True, int,
     [("Smith, J", 'O "B"', 2), ("z", "z", 3)]),
    ("a.csv", "6,2,-4,1289241911.72836\n2,6,10,0\n", 2, True, int, [(2, 6, 10), (6, 2, -4)]),
    ("a.csv", "1;2;0.5\n2;1;3\n", 2, True, float, [(1, 2, 0.5), (2, 1, 3)]),
    ("a.tsv", "New York\tLos Angeles\t45\n", 2, True, int, [("New York", "Los Angeles", 45)]),
    # METIS
    ("a.graph", "% c\n3 2\n2\n% d\n1 3\n2\n", 3, False, int,
     [(0, 1, 1), (1, 0, 1), (1, 2, 1), (2, 1, 1)]),
    ("a.graph", "3 1 001\n3 7\n\n1 7\n", 3, False, int, [(0, 2, 7), (2, 0, 7)]),
    ("a.graph", "2 1 011 2\n9 9 2 7\n8 8 1 7\n", 2, False, int, [(0, 1, 7), (1, 0, 7)]),
    ("a.graph", "2 1 111 1\n5 9 2 7\n5 8 1 7\n\n", 2, False, int, [(0, 1, 7), (1, 0, 7)]),
    ("a.graph", "2 1 100\n5 2\n5 1\n", 2, False, int, [(0, 1, 1), (1, 0, 1)]),
    ("a.graph", "2 1 10\n5 2\n5 1\n", 2, False, int, [(0, 1, 1), (1, 0, 1)]),
    ("a.graph", "2 2 1\n2 7 2 5\n1 5 1 7\n", 2, False, int, [(0, 1, 5), (1, 0, 5)]),
    ("a.graph", "0 0\n", 0, False, int, []),
    ("a.graph", "2 0\n\n\n", 2, False, int, []),
]  # fmt: skip


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize(("name", "content", "n", "directed", "kind", "arcs"), CASES)
def test_meaning(
    tmp_path: Path,
    name: str,
    content: str,
    n: int,
    directed: bool,
    kind: type,
    arcs: Arcs,
    compressed: bool,
) -> None:
    if name.endswith(".mtx"):
        content = BANNER + content
    path = tmp_path / name
    path.write_bytes(content.encode())
    if compressed:
        path = tmp_path / f"{name}.gz"
        path.write_bytes(gzip.compress(content.encode()))
    graph = read(path)
    assert (graph.n, graph.directed, graph.name) == (n, directed, "a")
    assert graph.dtype == (np.int64 if kind is int else np.float64)
    if name.startswith(("a.gr", "a.mtx")):  # these formats, and .graph, count from 1
        arcs = [(tail + 1, head + 1, weight) for tail, head, weight in arcs]
    assert arcs_of(graph) == arcs


@pytest.mark.parametrize(
    "content",
    [
        "coordinate real general\n3 3 3\n1 2 0.1\n3 1 1e300\n2 2 -7\n",
        "coordinate integer symmetric\n3 3 2\n2 1 5\n3 3 -2\n",
        "coordinate pattern general\n3 3 2\n2 1\n3 3\n",
        "coordinate real skew-symmetric\n3 3 2\n2 1 4\n3 2 5\n",
        "array real general\n2 2\n1\n2\n3\n4\n",
        "array integer symmetric\n2 2\n1\n2\n3\n",
        "array real skew-symmetric\n3 3\n1\n2\n3\n",
    ],
)
def test_matrix_market_agrees_with_scipy(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.mtx"
    path.write_text(BANNER + content)
    expected = scipy.sparse.csr_array(
        scipy.io.mmread(io.StringIO(BANNER + content), spmatrix=False)
    )
    np.testing.assert_array_equal(read(path).to_dense(no_arc=0), expected.toarray())


def test_direction_can_be_overridden(tmp_path: Path) -> None:
    path = tmp_path / "a.gr"
    path.write_text("p sp 3 3\na 1 2 5\na 2 1 3\na 2 3 4\n")
    assert read(path) == read(path, directed=True)
    undirected = read(path, directed=False)
    assert not undirected.directed
    assert arcs_of(undirected) == [(1, 2, 3), (2, 1, 3), (2, 3, 4), (3, 2, 4)]
    path = tmp_path / "a.mtx"
    path.write_text(BANNER + "coordinate integer symmetric\n2 2 1\n2 1 7\n")
    both = read(path, directed=True)
    assert both.directed
    assert arcs_of(both) == [(1, 2, 7), (2, 1, 7)]


def test_weighted_option(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,2,7,\n2,3,8,x\n")
    assert read(path).max_weight == read(path, weighted=True).max_weight == 8
    assert read(path, weighted=False).is_unweighted
    path.write_text("1,2,n/a\n2,3,8\n")
    assert read(path, weighted=False).m == 2
    path.write_text("1,2\n")
    with pytest.raises(FormatError, match=r"a\.csv:1: expected 3 columns, not 2"):
        read(path, weighted=True)
    with pytest.raises(ParameterError, match="'weighted' parameter"):
        read(path, weighted="yes")
    with pytest.raises(ParameterError, match="'options' parameter of read must be one of"):
        read(path, separator=",")
    other = tmp_path / "a.gr"
    other.write_text("p sp 0 0\n")
    with pytest.raises(ParameterError, match="absent for this format"):
        read(other, weighted=True)


def test_comments_need_not_be_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.gr"
    path.write_bytes(b"c Universit\xe9\np sp 2 1\na 1 2 3\n")
    assert read(path).m == 1


def test_unknown_suffix_and_missing_file(tmp_path: Path) -> None:
    for name in ("a.xyz", "a", "a.npz.gz", ".gz"):
        with pytest.raises(FormatError, match=r"unknown suffix; known are \.mtx \.gr"):
            read(tmp_path / name)
    for name in ("a.gr", "a.gr.gz", "a.mtx", "a.txt", "a.graph", "a.npz"):
        with pytest.raises(FileNotFoundError, match=name):
            read(tmp_path / name)


@pytest.mark.parametrize("name", ["a.edgelist", "a", "a.edges.gz", "a.csv", "packed"])
def test_the_format_may_be_named(name: str, tmp_path: Path) -> None:
    rows = b"1 2 5\n2 3 7\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(rows) if name in ("a.edges.gz", "packed") else rows)
    if name != "a.csv":
        with pytest.raises(FormatError, match=r"unknown suffix; known are .*; or name the format"):
            read(path)
    graph = read(path, format="txt")
    assert graph.weights.tolist() == [5, 7]
    assert read(path, format="txt", weighted=False).is_unweighted
    with pytest.raises(FormatError, match="first line must be"):
        read(path, format="mtx")
    with pytest.raises(ParameterError, match="'format' parameter of read must be one of mtx, gr"):
        read(path, format="edgelist")


def test_every_format_may_be_named(tmp_path: Path) -> None:
    graph = Graph.from_arcs(3, [0, 1, 2], [1, 2, 0], [5, 6, 7]).symmetrized()
    for name in FORMATS:
        write(graph, tmp_path / f"a.{name}")
        expected = read(tmp_path / f"a.{name}", False)
        other = (tmp_path / f"a.{name}").rename(tmp_path / "a")
        assert arcs_of(read(other, False, format=name)) == arcs_of(expected)
        assert expected.weights.tolist() == graph.weights.tolist()


@pytest.mark.slow
def test_a_million_lines_take_seconds(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ends = rng.integers(10**5, size=(10**6, 2))
    path = tmp_path / "a.txt"
    path.write_text("\n".join(f"{tail}\t{head}" for tail, head in ends.tolist()))
    start = time.perf_counter()
    graph = read(path)
    assert time.perf_counter() - start < 10
    assert graph.m == np.unique(ends, axis=0).shape[0]


ODD_ROWS = [
    "{row}{sep}3",
    "",
    "  ",
    "{row}{sep}",
    "{sep}{row}",
    "+{row}",
    "1e3{sep}2{sep}4",
    "7.0{sep}2{sep}4",
    "7{sep}2{sep}1.",
    "7{sep}2{sep}.5",
    "7{sep}2{sep}1e999",
    "7{sep}2",
    "7",
    "-{sep}1{sep}1",
    "99999999999999999999{sep}1{sep}1",
    "7{sep}2{sep}99999999999999999999",
    "7{sep}2{sep}9007199254740993",
    "7{sep}2 # why",
    "# 7{sep}2{sep}1",
    '"7"{sep}2{sep}1',
    "7{sep}2{sep}nan",
]


@pytest.mark.parametrize("odd", ODD_ROWS)
@pytest.mark.parametrize(("suffix", "sep"), [(".txt", " "), (".csv", ","), (".tsv", "\t")])
def test_long_files_are_read_as_short_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, sep: str, odd: str
) -> None:
    """Whatever stands far down in a file that is parsed in bulk: the same graph or error."""
    random = np.random.default_rng(len(odd))
    wide = "{sep}4" in odd or odd.count("{sep}") == 2 or "{row}" in odd
    rows = []
    for _ in range(400):
        row = [str(random.integers(0, 5000)), str(random.integers(-3, 40))]
        rows.append(sep.join([*row, str(random.integers(1, 9))] if wide else row))
    path = tmp_path / f"graph{suffix}"

    def outcome() -> Graph | str:
        try:
            return read(path)
        except FormatError as error:
            return str(error)

    monkeypatch.setattr(source, "_HEAD", 2**10)
    used = []
    parse = plain.parse
    monkeypatch.setattr(plain, "parse", lambda *given: used.append(parse(*given)) or used[-1])
    for content in (rows, [*rows[:300], odd.format(row=rows[0], sep=sep), *rows[300:]]):
        path.write_text("# header\n" + "\n".join(content) + "\n")
        in_bulk = outcome()
        with monkeypatch.context() as changed:
            changed.setattr(edge_list, "beginning", lambda content: None)
            assert in_bulk == outcome()
    assert used[0] is not None


@pytest.mark.parametrize("weight", [..., "weight"])
def test_long_files_with_attributes(tmp_path, monkeypatch, weight):
    """The weights of a long file were looked for in columns without names, and not found."""
    monkeypatch.setattr(source, "_HEAD", 2**10)
    path = tmp_path / "graph.txt"
    path.write_text("".join(f"{i} {i + 1} {{'weight': {i % 7}}}\n" for i in range(200)))
    assert read(path, weight=weight).weights.tolist() == [i % 7 for i in range(200)]


def test_long_files_with_the_head_before_the_tail(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_HEAD", 2**10)
    path = tmp_path / "graph.csv"
    path.write_text("target,source\n" + "".join(f"{i + 1},{i}\n" for i in range(600)))
    tails, heads, _ = read(path).arcs()
    assert (heads - tails == 1).all()


def test_two_costs_in_a_row_without_weights(tmp_path):
    path = tmp_path / "graph.csv"
    path.write_text("source,target,cost,reverse_cost\n1,2,5,7\n2,3,4,-1\n")
    assert read(path, weighted=False).weights.tolist() == [1, 1, 1]


SPELLINGS = ["01", "+1", "001"]


@pytest.mark.parametrize("other", SPELLINGS)
@pytest.mark.parametrize("many", [1, 12000])  # long files are read in another way
@pytest.mark.parametrize(
    ("name", "line"),
    [("a.txt", "{} {}"), ("a.txt", "{}\t{} 1.50"), ("a.csv", "{},{}"), ("a.tsv", "{}\t{}\t7")],
)
def test_an_id_that_is_spelled_in_two_ways(tmp_path, name, line, many, other):
    """1 and 01 are one number: whether they are one vertex, nobody knows."""
    path = tmp_path / name
    plain_lines = [line.format(*ends) for ends in [(1, 2), (10, 20), (0, 105)] * many]
    path.write_text("\n".join([*plain_lines, line.format(3, other), ""]))
    number = len(plain_lines) + 1
    told = re.escape(f":{number}: the ids '1' and {other!r} are one number")
    with pytest.raises(FormatError, match=told):
        read(path)
    path.write_text("\n".join([*plain_lines, line.format(3, 1), ""]))
    assert read(path).labels.tolist() == [0, 1, 2, 3, 10, 20, 105]


@pytest.mark.parametrize("many", [1, 24000])  # long files are read in another way
@pytest.mark.parametrize(
    ("name", "rows", "arcs"),
    [
        ("a.csv", "01,002,+05,007\n002,03,5,7\n", [("002", "03", 5), ("01", "002", 5)]),
        ("a.csv", "9,10,+05,007\n10,11,5,7\n", [(9, 10, 5), (10, 11, 5)]),
        ("a.txt", "01234 56789\n56789 10001\n", [("01234", "56789", 1), ("56789", "10001", 1)]),
        (
            "b.csv",
            "56789,10001,2\n10001,01234,03\n",
            [("10001", "01234", 3), ("56789", "10001", 2)],
        ),
        ("a.tsv", "3\t+1\n20\t3\n", [("20", "3", 1), ("3", "+1", 1)]),
    ],
)
def test_ids_stay_what_they_are(tmp_path, name, rows, arcs, many):
    """01234 became 1234; zeros before other numbers mean nothing."""
    path = tmp_path / name
    header = "source,target,weight,at\n" if name == "a.csv" else ""
    path.write_text(header + rows * many)
    graph = read(path)
    assert arcs_of(graph) == arcs
    labels = graph.labels.tolist()
    assert labels == sorted(labels)
    again = tmp_path / f"again{path.suffix}"
    write(graph, again)
    assert read(again) == Graph(
        graph.indptr, graph.indices, graph.weights, labels=labels, name="again"
    )


@pytest.mark.parametrize("quoted", ["a.txt", "a.csv", "a.tsv", "utf-16.txt"])
def test_other_names_of_digits(tmp_path, quoted):
    """Beside names that are no integers, 1 and 01 are two names; quotes change nothing."""
    path, between = tmp_path / quoted, {".txt": " ", ".csv": ",", ".tsv": "\t"}[quoted[-4:]]
    encoding = "utf-16" if quoted.startswith("utf") else "utf-8"
    rows = [("source", "target", "weight"), ("x", "1", "2"), ("01", "1", "3"), ("1", "+1", "4")]
    path.write_text("\n".join(map(between.join, rows)) + "\n", encoding)
    assert arcs_of(read(path)) == [("01", "1", 3), ("1", "+1", 4), ("x", "1", 2)]
    rows[1] = ("5", '"1"', "2")
    path.write_text("\n".join(map(between.join, rows)) + "\n", encoding)
    with pytest.raises(FormatError, match=":3: the ids '1' and '01' are one"):
        read(path)


def test_names_of_digits_from_memory():
    frame = {"source": ["1", "01"], "target": ["01", "+1"]}
    assert arcs_of(from_frame(frame)) == [("01", "+1", 1), ("1", "01", 1)]
    graph = nx.DiGraph([("1", "01"), ("01", "+1"), (1, "1")])
    assert sorted(map(str, arcs_of(from_networkx(graph)))) == [
        "('01', '+1', 1)",
        "('1', '01', 1)",
        "(1, '1', 1)",
    ]
    with pytest.raises(GraphError):
        from_frame({"source": ["1", 1], "target": ["01", 2]})


@pytest.mark.parametrize(
    ("content", "weight", "differs"),
    [
        (b"1 2 -0.5\n3 4 0.25\n", 2, False),
        (b"10 200 -1\n", 2, False),
        (b"1 2 +1\n3 4 -1\n", 2, False),
        (b"1,2,+1\n3,4,-1", 2, False),
        (b"1 2 +1 7\n", 2, True),
        (b"+1 2 +1\n", 2, True),
        (b"1 +2 1\n", 2, True),
        (b"1;+2;1\n", 2, True),
        (b"1 2\n-0 3\n", None, True),
        (b"1 2\n3 +4\n", None, True),
        (b"5 1 +2\n", 0, True),
        (b"1;2\n3;04\n", None, True),
        (b"007 8\n", None, True),
    ],
)
def test_only_rows_with_needless_signs_or_zeros_are_read_again(content, weight, differs):
    tail, head = (1, 2) if weight == 0 else (0, 1)
    columns = SimpleNamespace(tail=tail, head=head, weight=weight)
    assert spelling.may_differ(content, columns) == differs


@pytest.mark.parametrize(
    "path", [b"a.txt", io.StringIO("0 1"), 3, None, "a\0b.txt"], ids=list("bfinz")
)
def test_what_is_no_name_of_a_file(path) -> None:
    with pytest.raises(ParameterError, match="'path' parameter of read must be the name of a file"):
        read(path)
    with pytest.raises(ParameterError, match="'path' parameter of write must be"):
        write(Graph.from_arcs(1, [], []), path)


def test_attributes_of_networkx_that_are_no_weight(tmp_path):
    """The same rule as for its graphs."""
    graph = nx.Graph()
    graph.add_edge(0, 1, id=7, timestamp=12)
    nx.write_edgelist(graph, tmp_path / "a.txt")
    assert read(tmp_path / "a.txt").is_unweighted
