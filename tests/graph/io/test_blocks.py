"""Long edge lists, which are parsed in blocks: the same graphs and errors wherever a block ends."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from pyapsp.errors import FormatError
from pyapsp.graph import Graph, read
from pyapsp.graph.io import edge_list, layout, plain, source

ROWS = ["7 3", "3 12", "12 7", "100 3", "7 12", "3 3", "44 7"]
COSTS = [f"{row} {cost}" for row, cost in zip(ROWS, [5, -2, 8, 13, 5, 21, 4], strict=True)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take files of a few lines for long ones."""
    monkeypatch.setattr(source, "_HEAD", 56)
    monkeypatch.setattr(layout, "SAMPLE", 1)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the blocks of each file could be parsed."""
    found, parse = [], plain.parse

    def columns(*given):
        columns = parse(*given)
        found.append(columns is not None)
        return columns

    monkeypatch.setattr(plain, "parse", columns)
    return found


def outcome(path: Path) -> Graph | str:
    try:
        return read(path)
    except FormatError as error:
        return str(error)


def in_blocks(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Graph | str]:
    """Read a file in blocks that end after each of its lines, and at last line by line."""
    outcomes = []
    for size in range(1, path.stat().st_size + 2, 4):  # a row has at least four bytes
        monkeypatch.setattr(plain, "BLOCK", size)
        outcomes.append(outcome(path))
    with monkeypatch.context() as changed:
        changed.setattr(edge_list, "beginning", lambda content: None)
        return [*outcomes, outcome(path)]


def naive(rows: list[str]) -> tuple[list[int], dict[tuple[int, int], float], type]:
    """Parse rows of numbers one by one."""
    arcs: dict[tuple[int, int], float] = {}
    fields = [row.replace(",", " ").split() for row in rows]
    kind = int if all(row[-1].lstrip("-").isdigit() for row in fields) else float
    for tail, head, *cost in fields:
        ends, weight = (int(tail), int(head)), kind(cost[0]) if cost else 1
        arcs[ends] = min(weight, arcs.get(ends, weight))
    return sorted({end for ends in arcs for end in ends}), arcs, kind if len(fields[0]) > 2 else int


def check(graph: Graph | str, rows: list[str]) -> None:
    assert isinstance(graph, Graph), graph
    names, arcs, kind = naive(rows)
    assert graph.n == len(names)
    assert (list(range(graph.n)) if graph.labels is None else graph.labels.tolist()) == names
    tails, heads, weights = (each.tolist() for each in graph.arcs())
    found = {(names[t], names[h]): w for t, h, w in zip(tails, heads, weights, strict=True)}
    assert found == arcs
    assert len(tails) == len(arcs)
    assert graph.dtype == (np.float64 if kind is float else np.int64)


# The rows of a file, and how they are joined.
LISTS = {
    "two columns": (ROWS, "\n{}\n"),
    "weights": (COSTS, "\n{}\n"),
    "the ends of lines of Windows": (COSTS, "\r\n{}\r\n"),
    "no end of the last line": (COSTS, "\n{}"),
    "comments and a header": (COSTS, "\n# a\n\n% b\n# source target weight\n{}\n"),
    "blank lines": (COSTS, "\n\n\n{}\n\n"),
    "numbers 0..n-1": (["0 1", "1 2", "2 0", "2 3", "3 1", "0 1"], "\n{}\n"),
    "from one on": (["1 2", "2 3", "3 1", "3 4", "4 2", "4 2"], "\n{}\n"),
    "negative": (["-7 3", "3 -2", "-2 -7", "5 -7", "-1 1", "3 5"], "\n{}\n"),
    "at the end of int32": ([*ROWS, "2147483647 -2147483648"], "\n{}\n"),
    "above int32": ([*ROWS, "2147483648 7", "4 3"], "\n{}\n"),
    "below int32": ([*ROWS, "7 -2147483649", "4 3"], "\n{}\n"),
    "both ends of int64": ([*COSTS, "9223372036854775807 -9223372036854775808 7"], "\n{}\n"),
    "a large weight": ([*COSTS, "7 4 9223372036854775807"], "\n{}\n"),
    "a fraction at the end": ([*COSTS, "7 4 0.1"], "\n{}\n"),
    "a fraction before": ([f"{ROWS[0]} 2.5", *COSTS[1:]], "\n{}\n"),
    "whole floats": ([*COSTS[:5], "7 4 3e2", "4 4 1."], "\n{}\n"),
    "digits that pandas rounds": ([*COSTS, "7 4 0.30000000000000004", "4 7 1.1e-7"], "\n{}\n"),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("suffix", [".txt", ".csv"])
@pytest.mark.parametrize("name", LISTS)
def test_lists_cut_at_every_place(tmp_path, monkeypatch, parsed, name, suffix):
    rows, form = LISTS[name]
    rows = rows * 5
    path, between = tmp_path / f"a{suffix}", {".txt": " ", ".csv": ","}[suffix]
    end = "\r\n" if "\r" in form else "\n\n" if "\n\n\n{}" in form else "\n"
    text = form.lstrip("\r\n").format(end.join(rows)).replace(" ", between)
    path.write_bytes(text.replace("#,", "# ").replace("%,", "% ").encode())
    first, *others = in_blocks(path, monkeypatch)
    check(first, rows)
    assert parsed
    assert all(parsed)
    assert all(first == other and first.content_hash == other.content_hash for other in others)


def test_blanks_of_several_kinds(tmp_path, monkeypatch, parsed):
    """Each block may have blanks of its own."""
    path = tmp_path / "a.txt"
    rows = [*COSTS * 2, *(row.replace(" ", "\t") for row in COSTS[2:]), "8  9 \t 1", " 9 8 4 "]
    path.write_text("\n".join(rows) + "\n")
    first, *others = in_blocks(path, monkeypatch)
    check(first, rows)
    assert all(parsed)
    assert all(first == other for other in others)


def test_compressed_lists(tmp_path, monkeypatch, parsed):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress("\n".join(COSTS * 4).encode()))
    first, *others = in_blocks(path, monkeypatch)
    check(first, COSTS)
    assert all(parsed)
    assert all(first == other for other in others)


FAULTS = {
    "a column more": (ROWS, "7 3 4", "expected 2 columns, not 3"),
    "a weight more": (COSTS, "7 3 4 1", "expected 3 columns, not 4"),
    "a column less": (COSTS, "7 3", "expected 3 columns, not 2"),
    "a column only": (ROWS, "7", "expected 2 columns, not 1"),
    "a word": (ROWS, "7 x", "a vertex id must be an integer, not 'x'"),
    "a fraction": (ROWS, "7 1.5", "a vertex id must be an integer, not '1.5'"),
    "a large id": (ROWS, "7 9223372036854775808", "9223372036854775808 does not fit into int64"),
    "a large weight": (COSTS, "7 3 9223372036854775808", "9223372036854775808 does not fit"),
    "another spelling": (ROWS, "07 3", "the ids '7' and '07' are one number"),
    "no number": (COSTS, "7 3 nan", "the weight is nan"),
    "an infinite weight": (COSTS, "7 3 1e999", "does not fit into float64"),
    "a weight that becomes zero": (COSTS, "7 3 1e-999", "is too small for float64"),
    "a weight that is rounded": (
        [*COSTS[:5], "1 1 9007199254740993", *COSTS[5:]],
        "7 3 0.5",
        "9007199254740993 does not fit into float64",
    ),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("suffix", [".txt", ".csv"])
@pytest.mark.parametrize("name", FAULTS)
def test_faults_in_a_later_block(tmp_path, monkeypatch, name, suffix):
    """The line is found again, after the content was parsed in blocks; also at their begin."""
    rows, fault, said = FAULTS[name]
    path, between = tmp_path / f"a{suffix}", {".txt": " ", ".csv": ","}[suffix]
    for place in (20, 4 * len(rows)):
        lines = rows * 4
        lines.insert(place, fault)
        number = 1 + (5 if "rounded" in name else place)
        path.write_text("\n".join(lines).replace(" ", between) + "\n")
        first, *others = in_blocks(path, monkeypatch)
        assert isinstance(first, str)
        assert f":{number}: " in first
        assert said in first
        assert {first, *others} == {first}


@pytest.mark.parametrize("fault", ["7 3 4", "7 3 4\n7 4 5\n9 4 5\n"])
@pytest.mark.parametrize("between", [" ", ",", "\t"])
def test_a_block_of_rows_with_a_column_more(tmp_path, monkeypatch, fault, between):
    """Pandas made an index of the first column, and read the other two."""
    path = tmp_path / {" ": "a.txt", ",": "a.csv", "\t": "a.tsv"}[between]
    text = "\n".join(ROWS * 4) + "\n"
    path.write_text((text + fault).replace(" ", between))
    monkeypatch.setattr(plain, "BLOCK", len(text))
    with pytest.raises(FormatError, match=":29: expected 2 columns, not 3"):
        read(path)


@pytest.mark.parametrize("odd", ["# a comment", "% 1 2", "", "  ", "7 3 # why", '"7" 3'])
def test_rows_that_are_left_to_the_other_parser(tmp_path, monkeypatch, odd):
    path = tmp_path / "a.txt"
    path.write_text("\n".join([*ROWS * 3, odd, *ROWS, "90 91"]))
    first, *others = in_blocks(path, monkeypatch)
    check(first, [*ROWS, "90 91"])
    assert all(first == other for other in others)


@pytest.mark.parametrize("content", ["", "\n", "# nothing\n" * 9])
def test_files_without_rows(tmp_path, monkeypatch, content):
    path = tmp_path / "a.txt"
    path.write_text(content)
    for graph in in_blocks(path, monkeypatch):
        assert (graph.n, graph.m) == (0, 0)
