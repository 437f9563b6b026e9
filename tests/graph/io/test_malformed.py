"""Malformed files: each ends in a FormatError that names the file and the line."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from pyapsp.errors import FormatError
from pyapsp.graph import Graph, read, write

B = "%%MatrixMarket matrix "
C = B + "coordinate "

MALFORMED = [
    # Matrix Market: banner and sizes
    ("a.mtx", "", 1, "first line must be"),
    ("a.mtx", "1 2 3\n", 1, "first line must be"),
    ("a.mtx", "%%MatrixMarket vector coordinate real general\n", 1, "first line must be"),
    ("a.mtx", C + "real\n", 1, "first line must be"),
    ("a.mtx", B + "sparse real general\n", 1, "coordinate or array, not sparse"),
    ("a.mtx", C + "complex general\n1 1 0\n", 1, "complex entries"),
    ("a.mtx", B + "array pattern general\n1 1\n", 1, "pattern entries"),
    ("a.mtx", C + "real hermitian\n1 1 0\n", 1, "hermitian matrix"),
    ("a.mtx", C + "real general\n% only\n", 2, "sizes is missing"),
    ("a.mtx", C + "real general\n%\n2 2\n", 3, "expected '<rows> <columns> <entries>'"),
    ("a.mtx", B + "array real general\n2 2 4\n", 2, "expected '<rows> <columns>'"),
    ("a.mtx", C + "real general\n2 x 1\n1 1 1\n", 2, "must be an integer, not 'x'"),
    ("a.mtx", C + "real general\n2 3 1\n1 1 1\n", 2, "square, not 2 by 3"),
    ("a.mtx", C + "real general\n-2 -2 1\n1 1 1\n", 2, "cannot have the counts -2"),
    ("a.mtx", C + "real general\n2147483648 2147483648 1\n1 1 1\n", 2, "cannot have"),
    ("a.mtx", C + "real general\n2147483647 2147483647 1\n1 1 1\n", 2, "file has 1 entries"),
    # Matrix Market: entries
    ("a.mtx", C + "real general\n2 2 2\n1 2 3\n", 3, "ends after 1 of 2 entries"),
    ("a.mtx", C + "real general\n2 2 9000000000000\n1 2 3\n", 3, "ends after 1 of 90000000"),
    ("a.mtx", C + "real general\n2 2 2\n1 2 3\n1 2\n", 4, "expected '<row> <column> <weight>'"),
    ("a.mtx", C + "real general\n2 2 1\n\n1 2 3\n2 1 3\n", 5, "more entries than the 1"),
    ("a.mtx", C + "real general\n2 2 2\n1 2 3\n1 3 3\n", 4, "vertex 3 is outside 1..2"),
    ("a.mtx", C + "real general\n2 2 2\n1 2 3\n0 1 3\n", 4, "vertex 0 is outside 1..2"),
    ("a.mtx", C + "real general\n2 2 1\n1 2 nan\n", 3, "the weight is nan"),
    ("a.mtx", C + "real general\n2 2 1\n1 2 -inf\n", 3, "the weight is -inf"),
    ("a.mtx", C + "real general\n2 2 1\n1 2 3x\n", 3, "a weight must be a number, not '3x'"),
    ("a.mtx", C + "real general\n2 2 1\n1 2 1_0\n", 3, "a weight must be a number, not '1_0'"),
    ("a.mtx", C + "real general\n2 2 1\n1.0 2 3\n", 3, "a vertex must be an integer"),
    ("a.mtx", C + "real general\n2 2 1\n1 2 3 4\n", 3, "expected '<row> <column> <weight>'"),
    ("a.mtx", C + "integer general\n2 2 2\n1 1 1\n1 2 1.5\n", 4, "integer, not '1.5'"),
    ("a.mtx", C + "integer general\n2 2 1\n1 2 9223372036854775808\n", 3, "fit into int64"),
    ("a.mtx", C + "pattern general\n2 2 1\n1 2 1\n", 3, "expected '<row> <column>'"),
    ("a.mtx", C + "integer symmetric\n2 2 1\n2 3 1\n", 3, "vertex 3 is outside"),
    ("a.mtx", B + "array real general\n2 2\n1\n2\n3\n", 5, "ends after 3 of 4"),
    ("a.mtx", B + "array real general\n2 2\n1\n2\n3\n4\n5\n", 7, "more entries than the 4"),
    ("a.mtx", B + "array real symmetric\n2 2\n1\nnan\n3\n", 4, "the weight is nan"),
    ("a.mtx", B + "array real general\n1 1\nx\n", 3, "number, not 'x'"),
    ("a.mtx", B + "array real general\n16000000 16000000\n1\n", 3, "ends after 1 of 256000000"),
    # DIMACS
    ("a.gr", "", 1, "there is no line 'p sp"),
    ("a.gr", "c x\nc y\n", 2, "there is no line 'p sp"),
    ("a.gr", "c x\na 1 2 3\n", 2, "expected 'p sp <n> <m>'"),
    ("a.gr", "p sp 2\n", 1, "expected 'p sp <n> <m>'"),
    ("a.gr", "p max 2 1\na 1 2 3\n", 1, "expected 'p sp <n> <m>'"),
    ("a.graph", "12 1\n1_0\n" + 8 * "\n" + "1\n\n\n", 2, "must be an integer, not '1_0'"),
    ("a.graph", "2 1\n\u0662\n1\n", 2, "write the digits 0 to 9"),
    ("a.graph", "2 1 1\n2 1_0\n1 1_0\n", 2, "a weight must be an integer, not '1_0'"),
    ("a.gr", f"p sp 2 1\na 1 2 {10**25}\n", 2, f"a weight {10**25} does not fit into int64"),
    ("a.gr", f"p sp 2 1\na 1 2 {'9' * 5000}\n", 2, "9999 does not fit into int64"),
    ("a.gr", "p sp two 1\na 1 2 3\n", 1, "must be an integer, not 'two'"),
    ("a.gr", "p sp -2 1\na 1 2 3\n", 1, "cannot have the counts"),
    ("a.gr", "p sp 2000000000 1\na 1 2 3\n", 1, "file has 1 entries"),
    ("a.gr", "p sp 3 2\na 1 2 3\n", 2, "ends after 1 of 2 arcs"),
    ("a.gr", "p sp 3 2000000000000\na 1 2 3\n", 2, "ends after 1 of 2000000000000 arcs"),
    ("a.gr", "p sp 3 1\na 1 2 3\na 2 3 1\n", 3, "more arcs than the 1"),
    ("a.gr", "p sp 3 2\na 1 2 3\na 2", 3, "expected 'a <tail> <head> <weight>'"),
    ("a.gr", "p sp 3 2\nc\na 1 2 3\na 2 4 1\n", 4, "vertex 4 is outside 1..3"),
    ("a.gr", "p sp 3 1\na 0 2 3\n", 2, "vertex 0 is outside 1..3"),
    ("a.gr", "p sp 3 1\na 1 2 nan\n", 2, "the weight is nan"),
    ("a.gr", "p sp 3 1\na 1 2 x\n", 2, "number, not 'x'"),
    ("a.gr", "p sp 3 1\na 1 2 3 4\n", 2, "expected 'a <tail>"),
    ("a.gr", "p sp 3 2\na 1 2 3\nap 1 2 3\n", 3, "expected 'a <tail>"),
    ("a.gr", "p sp 3 1\np sp 3 1\na 1 2 3\n", 2, "expected 'a <tail>"),
    ("a.gr", "c\n\x00\x01\x02", 2, "a zero byte"),
    # edge lists
    ("a.txt", "1\n", 1, "expected 2 columns, not 1"),
    ("a.txt", "# c\n1 2\n\n3\n", 4, "expected 2 columns, not 1"),
    ("a.txt", "1 2\n2 3 4\n", 2, "expected 2 columns, not 3"),
    ("a.txt", "1 2 3\n2 3\n", 2, "expected 3 columns, not 2"),
    ("a.txt", "1 2 3\n2 3 x\n", 2, "number, not 'x'"),
    ("a.txt", "1 2 3\n2 3 nan\n", 2, "the weight is nan"),
    ("a.txt", "1 2 3\n2 3 -inf\n", 2, "the weight is -inf"),
    ("a.txt", "1 2\n2 b\n", 2, "a vertex id must be an integer, not 'b'"),
    ("a.txt", "1 2\n2 1.5\n", 2, "a vertex id must be an integer, not '1.5'"),
    ("a.txt", "1 2\n2 99999999999999999999\n", 2, "99999 does not fit into int64"),
    ("a.txt", "1 2\n2 9999999999999999999\n", 2, "does not fit into int64"),
    ("a.csv", "source,target\n1,2\n3\n", 3, "expected 2 columns, not 1"),
    ("a.csv", "u,v,w,t\n1,2,3,4\n1,2,x,4\n", 3, "number, not 'x'"),
    ("a.csv", "a,b\nb,\n", 2, "a vertex id is empty"),
    ("a.csv", 'a,b\nc,"d\ne,f\n', 2, "a quote is not closed"),
    ("a.csv", "1,2,x\n", 1, "number, not 'x'"),
    ("a.tsv", "New York\tBoston\t4,5\n", 1, "number, not '4,5'"),
    ("a.csv", "source,target,weight\n1,2,3\n#a,7,1\n", 3, "may be a comment or an arc: '#a,7,1'"),
    ("a.csv", "source,target\n%a,7\n1,2\n", 2, "Put a space after '%' or quote the name"),
    ("a.csv", "7,1\n#a,7\n" + "1,2\n" * 2**16, 2, "may be a comment or an arc: '#a,7'"),
    ("a.tsv", "1\t2\n3\t#a\n", 2, "must be an integer, not '#a'"),
    # digits of other scripts, which Python reads
    ("a.txt", "1 2\n\uff11\uff12 3\n", 2, "not '\uff11\uff12' (write the digits 0 to 9)"),
    ("a.txt", "\uff11\uff12 3\n1 2\n", 1, "name, not '\uff11\uff12' (write the digits 0 to 9)"),
    ("a.csv", "source,target\na,b\n\u0663,a\n", 3, "name, not '\u0663' (write the digits 0 to 9)"),
    ("a.csv", "1,2,3\n2,3,\uff13\n", 2, "a weight must be a number, not '\uff13' (write the di"),
    ("a.txt", "1 2 3.5\n2 3 \uff14.5\n", 2, "a weight must be a number, not '\uff14.5' (write"),
    ("a.gr", "p sp 3 1\na 1 2 \uff13\n", 2, "a weight must be a number, not '\uff13' (write the"),
    (
        "a.mtx",
        C + "real general\n2 2 1\n1 \uff12 3\n",
        3,
        "integer, not '\uff12' (write the digits",
    ),
    # METIS
    ("a.graph", "", 1, "there is no line '<n> <m>"),
    ("a.graph", "% c\n", 1, "there is no line '<n> <m>"),
    ("a.graph", "3\n", 1, "expected '<n> <m> [fmt [ncon]]'"),
    ("a.graph", "% c\n2 x\n", 2, "must be an integer, not 'x'"),
    ("a.graph", "2 1 2\n2\n1\n", 1, "digits 0 or 1, not '2'"),
    ("a.graph", "2 1 0001\n2\n1\n", 1, "digits 0 or 1"),
    ("a.graph", "2000000000 1\n2\n1\n", 1, "file has 2 entries"),
    ("a.graph", "3 1\n2\n1\n", 3, "ends after 2 of 3 vertices"),
    ("a.graph", "2 1\n2\n1\n\n1\n", 5, "more lines than the 2 vertices"),
    ("a.graph", "2 1\n2\n3\n", 3, "vertex 3 is outside 1..2"),
    ("a.graph", "2 1\n0\n1\n", 2, "vertex 0 is outside 1..2"),
    ("a.graph", "2 1\n2\nx\n", 3, "must be an integer, not 'x'"),
    ("a.graph", "2 1\n2\n1.0\n", 3, "must be an integer"),
    ("a.graph", "2 2\n2 1\n1\n", 2, "vertex 1 lists itself"),
    ("a.graph", "2 1 1\n2 5\n1\n", 3, "needs an edge weight"),
    ("a.graph", "2 1 1\n2 1.5\n1 1.5\n", 2, "a weight must be an integer, not '1.5'"),
    ("a.graph", "2 1 1\n2 5\n1 6\n", 2, "vertex 2 does not list the neighbour 1 back with"),
    ("a.graph", "% c\n3 2\n2\n% d\n1 3\n\n", 5, "vertex 3 does not list the neighbour 2 back"),
    ("a.graph", "3 1\n2\n1\n1\n", 4, "vertex 1 does not list the neighbour 3 back"),
    ("a.graph", "2 2\n2\n1\n", 1, "2 edges are announced, the file lists 1"),
    ("a.graph", "2 0\n2\n1\n", 1, "0 edges are announced, the file lists 1"),
    ("a.graph", "2 1 10 3\n2\n1\n", 2, "expected 3 vertex weights"),
]


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize(("name", "content", "line", "message"), MALFORMED)
def test_path_and_line(
    tmp_path: Path, name: str, content: str, line: int, message: str, compressed: bool
) -> None:
    path = tmp_path / (name + ".gz" * compressed)
    path.write_bytes(gzip.compress(content.encode()) if compressed else content.encode())
    with pytest.raises(FormatError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == (str(path), line)


@pytest.mark.parametrize(
    "comment",
    [
        "# FromNodeId\tToNodeId",
        "# Nodes: 3, 4",
        "#Nodes: 3, 4",
        "#Directed graph, 4",
        "#Nodes:,4",
        "#3,7",
        "#3,7,1",
        "#a,b",
        "#source,target",
        "% asym unweighted",
        "%a,7,1,5",
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_comments_between_integers(tmp_path: Path, comment: str, place: int) -> None:
    """Those of SNAP and KONECT, arcs that were taken out, and text are no arcs."""
    path = tmp_path / "a.csv"
    rows = ["1,2", "2,3"]
    path.write_text("\n".join([*rows[:place], comment, *rows[place:]]))
    assert read(path).m == 2


@pytest.mark.parametrize("blank", ["\u00a0", "\u202f", "\u2009", "\u0085", "\u2028"])
def test_white_space_beyond_ascii_separates_no_columns(tmp_path: Path, blank: str) -> None:
    path = tmp_path / "a.txt"
    for line in (f"c d 1{blank}000", f"New{blank}York d 1"):
        path.write_text(f"a b 5\n{line}\n", encoding="utf-8")
        with pytest.raises(FormatError, match=r"a\.txt:2: "):
            read(path)
    path.write_text(f"a b 1{blank}000\n", encoding="utf-8")  # no other line has fewer columns
    with pytest.raises(FormatError, match=r"a\.txt:1: .* may separate columns"):
        read(path)
    path.write_text(f'"New{blank}York" b 5\n# x{blank}y\n', encoding="utf-8")
    labels = read(path).labels
    assert labels is not None
    assert labels.tolist() == [f"New{blank}York", "b"]


def test_ids_must_be_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a b\nc \xe9\n")
    with pytest.raises(FormatError, match=r"a\.txt:2: a vertex id is not UTF-8"):
        read(path)


@pytest.mark.parametrize("suffix", ["mtx", "gr", "txt", "csv", "tsv", "graph"])
def test_damaged_gzip(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}.gz"
    whole = gzip.compress(b"1 2\n" * 1000)
    flipped = bytearray(whole)
    flipped[-6] ^= 255
    for content in (b"1 2\n", b"", whole[:-9], whole[:12], bytes(flipped)):
        path.write_bytes(content)
        # an empty file is an empty gzip stream; what is in it is up to the format
        if content or suffix in ("mtx", "gr", "graph"):
            with pytest.raises(FormatError) as caught:
                read(path)
            assert str(path) in str(caught.value)
            assert not content or "damaged gzip data" in str(caught.value)


def archive(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


GOOD = {"indptr": [0, 1, 1], "indices": [1], "weights": [5], "directed": True}


def huge_header() -> bytes:
    """An archive whose weights announce 2^40 numbers and hold one."""
    source = zipfile.ZipFile(io.BytesIO(archive(**GOOD)))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        for item in source.namelist():
            content = source.read(item)
            if item == "weights.npy":
                content = content.replace(b"(1,)", b"(%d,)" % 2**40)
            target.writestr(item, content)
    return file.getvalue()


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an archive"),
        (b"not a zip", "not an archive"),
        (archive(**GOOD)[:-30], "not a whole one"),
        (archive(**GOOD)[:200], "not a whole one"),
        (archive(x=[1]), "holds no graph"),
        (archive(**(GOOD | {"indices": [9]})), "heads of the arcs must lie in 0..1"),
        (archive(**(GOOD | {"weights": [np.nan]})), "0 -> 1 is nan"),
        (archive(**(GOOD | {"directed": False})), "both arcs"),
        (archive(**(GOOD | {"labels": ["a"]})), "1 labels do not go with 2"),
        (archive(**(GOOD | {"weights": np.array([None])})), "holds no graph"),
        (archive(format=b"csr", shape=[2, 2], data=[1], indices=[7], indptr=[0, 1, 1]), ""),
        (archive(format=b"csr", shape=[2, 3], data=[], indices=[], indptr=[0, 0, 0]), "square"),
        (huge_header(), "holds no graph"),
    ],
)
def test_bad_archives(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_single_array_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    file = io.BytesIO()
    np.save(file, np.eye(2))
    path.write_bytes(file.getvalue())
    with pytest.raises(FormatError, match="not an archive"):
        read(path)


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    """No prefix of a file that lacks a whole arc reads as a graph."""
    graph = Graph.from_arcs(4, [0, 1, 2, 3], [1, 2, 3, 0], [10, 20, 30, 40])
    for name in ("a.gr", "a.mtx", "a.npz"):
        path = tmp_path / name
        write(graph, path)
        whole = path.read_bytes()
        for length in range(len(whole) - 4):
            path.write_bytes(whole[:length])
            with pytest.raises(FormatError, match=name):
                read(path)


# Files of two arcs: the lines before the arcs, and what an arc begins with.
TWO_ARCS = {
    ".txt": ("# source target weight", ""),
    ".gr": ("p sp 2 2", "a "),
    ".mtx": ("%%MatrixMarket matrix coordinate real general\n2 2 2", ""),
}


@pytest.mark.parametrize("suffix", TWO_ARCS)
def test_a_number_past_the_range_of_float64_is_no_missing_arc(suffix, tmp_path):
    header, arc = TWO_ARCS[suffix]
    path = tmp_path / f"graph{suffix}"
    path.write_text(f"{header}\n{arc}1 2 inf\n{arc}2 1 1e400\n")
    with pytest.raises(FormatError, match="does not fit into float64: 1e400") as caught:
        read(path)
    assert caught.value.line == header.count("\n") + 3


@pytest.mark.parametrize("small", ["1e-400", "-0.5E-330", "0.001e-400"])
@pytest.mark.parametrize("suffix", TWO_ARCS)
def test_a_number_that_would_become_zero_is_an_error(suffix, small, tmp_path):
    header, arc = TWO_ARCS[suffix]
    path = tmp_path / f"graph{suffix}"
    path.write_text(f"{header}\n{arc}1 2 0.0e5\n{arc}2 1 {small}\n")
    with pytest.raises(FormatError, match=f"too small for float64: {small}") as caught:
        read(path)
    assert caught.value.line == header.count("\n") + 3
    path.write_text(f"{header}\n{arc}1 2 0.0e5\n{arc}2 1 1e-300\n")
    assert read(path).weights.tolist() == [0.0, 1e-300]


def test_in_a_long_file_too(tmp_path):
    path = tmp_path / "graph.txt"
    rows = [f"{i} {i + 1} 0.5" for i in range(20_000)]
    path.write_text("\n".join([*rows, "20000 0 1e-400", *rows]))
    with pytest.raises(FormatError, match="too small for float64: 1e-400") as caught:
        read(path)
    assert caught.value.line == 20_001


@pytest.mark.parametrize("large", ["9007199254740993", "-9007199254740993", "9223372036854775809"])
@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("g.txt", "# c\n0 1 0.5\n\n1 2 {}\n2 0 1\n", 4),
        ("g.csv", "source,target,weight\n0,1,{}\n1,2,0.5\n", 2),
        ("g.gr", "c x\np sp 3 2\na 1 2 0.5\nc y\na 2 3 {}\n", 5),
    ],
)
def test_an_integer_that_a_fraction_elsewhere_would_round(tmp_path, name, content, line, large):
    path = tmp_path / name
    path.write_text(content.format(large))
    with pytest.raises(FormatError, match=f":{line}: the weight {large} does not fit into float64"):
        read(path)
    path.write_text(content.format(2**53 + 2))
    assert read(path).max_weight == 2**53 + 2


def test_matrix_market_says_that_its_numbers_are_real(tmp_path):
    path = tmp_path / "g.mtx"
    path.write_text(
        "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 0.5\n2 1 9007199254740993\n"
    )
    assert read(path).max_weight == 2**53


LONG = 200_000
# Lines of one column, of many columns, with a quote, of JSON, and a comment that may be an arc.
LINES = [
    "x" * LONG,
    "1 " * LONG,
    "1," * LONG,
    '"' + "x" * LONG,
    '{"a":[' + "1," * LONG,
    "#x," + "y" * LONG,
]
HEADS = {
    "a.mtx": C + "real general\n2 2 1\n",
    "a.gr": "p sp 2 1\n",
    "a.graph": "2 1\n",
    "a.csv": "0,1\n",
    "a.tsv": "0\t1\n",
    "a.txt": "0 1\n",
}


@pytest.mark.parametrize("name", HEADS)
def test_a_very_long_line_has_a_short_message_of_ours(name: str, tmp_path: Path) -> None:
    said = 0
    for line in LINES:
        for content in (line, line + "\n" + HEADS[name], HEADS[name] + line + "\n"):
            (tmp_path / name).write_text(content)
            try:
                read(tmp_path / name)
            except FormatError as error:
                message = str(error)
                assert len(message) < 1000
                assert "field larger" not in message
                said += "each arc needs a line of its own" in message
    assert said or name in ("a.mtx", "a.gr", "a.graph")
