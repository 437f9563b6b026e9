"""Files that other packages write of a changing graph are read as that graph."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import igraph
import networkx
import numpy as np
import pandas
import pytest
import scipy.io
import scipy.sparse
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from pyapsp.errors import FormatError
from pyapsp.graph import Graph, read

Arcs = dict[tuple[Any, Any], Any]

PLAIN = ["a", "b", "Zürich", "x-1", "u", "target"]
QUOTED = [*PLAIN, "New York", "Smith, J", 'the "old" one', "x;y"]


def arcs_of(graph: Graph, first: int = 0) -> Arcs:
    """Arcs between labels, or numbers from `first`."""
    names = range(first, first + graph.n) if graph.labels is None else graph.labels.tolist()
    tails, heads, weights = (array.tolist() for array in graph.arcs())
    return {(names[t], names[h]): w for t, h, w in zip(tails, heads, weights, strict=True)}


def frame_of(arcs: Arcs, weighted: bool) -> pandas.DataFrame:
    frame = pandas.DataFrame(list(arcs), columns=["source", "target"])
    return frame.assign(weight=list(arcs.values())) if weighted else frame


def networkx_of(arcs: Arcs) -> networkx.DiGraph:
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from((*ends, weight) for ends, weight in arcs.items())
    return graph


def igraph_of(arcs: Arcs) -> igraph.Graph:
    tuples = [(*ends, weight) for ends, weight in arcs.items()]
    return igraph.Graph.TupleList(tuples, directed=True, weights=True)


def matrix_of(arcs: Arcs) -> scipy.sparse.coo_array:
    ends = np.array(list(arcs), np.int64).reshape(-1, 2).T
    n = int(ends.max(initial=-1)) + 1
    return scipy.sparse.coo_array((np.array(list(arcs.values())), tuple(ends)), shape=(n, n))


class Writers(RuleBasedStateMachine):
    """A graph that grows and shrinks, and is written and read between."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()

    def teardown(self) -> None:
        self.folder.cleanup()

    @initialize(names=st.sampled_from([range(9), range(3, 900, 99), PLAIN, QUOTED]),
                whole=st.booleans())  # fmt: skip
    def begin(self, names: Any, whole: bool) -> None:
        self.names, self.arcs = list(names), {}
        # igraph writes 15 digits
        self.weight = st.integers(-(10**9), 10**9).map(lambda k: k if whole else k / 8)

    @rule(data=st.data())
    def add(self, data: st.DataObject) -> None:
        ends = data.draw(st.tuples(st.sampled_from(self.names), st.sampled_from(self.names)))
        self.arcs[ends] = data.draw(self.weight)

    @precondition(lambda self: len(self.arcs) > 4)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        del self.arcs[data.draw(st.sampled_from(list(self.arcs)))]

    @property
    def numbered(self) -> bool:
        return not isinstance(self.names[0], str)

    @property
    def plain(self) -> bool:
        """Whether no name needs quotes, which only pandas writes."""
        return self.numbered or not {*QUOTED[len(PLAIN) :]} & {*self.names}

    def reads(
        self, name: str, write: Callable[[Path], Any], weighted: bool, header: int = 0
    ) -> None:
        """Compare what a file says; the first of lines with two columns may be refused."""
        path = Path(self.folder.name, name)
        write(path)
        expected = self.arcs if weighted else dict.fromkeys(self.arcs, 1)
        if not weighted and self.doubtful(header):
            with pytest.raises(FormatError, match="this line may be"):
                read(path)
            return
        assert arcs_of(read(path)) == expected

    def doubtful(self, header: int) -> bool:
        """Whether the first line of the last file might mean something else than it does."""
        ends = [name for arc in self.arcs for name in arc]
        if header:
            return header == 2 and bool({"source", "target"} & {*ends})
        if self.numbered:
            return len(ends) > 2 and ends[0] == max(ends) and ends[1] == len(ends) // 2 - 1
        return not {*ends[:2]} & {*ends[2:]}

    @precondition(lambda self: self.arcs)
    @rule(
        weighted=st.booleans(),
        index=st.booleans(),
        separator=st.sampled_from(",;\t "),
        suffix=st.sampled_from([".csv", ".tsv", ".txt", ".csv.gz"]),
        turned=st.booleans(),
        mark=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    )
    def pandas_with_a_header(
        self, weighted: bool, index: bool, separator: str, suffix: str, turned: bool, mark: str
    ) -> None:
        frame = frame_of(self.arcs, weighted)
        if turned:
            frame = frame[frame.columns[::-1]]
        options = {"sep": separator, "index": index, "encoding": mark}
        if index and separator == " ":  # the empty name of the index is lost in the white space
            path = Path(self.folder.name, f"a{suffix}")
            frame.to_csv(path, **options)
            with pytest.raises(FormatError):
                read(path)
            return
        self.reads(
            f"a{suffix}", lambda path: frame.to_csv(path, **options), weighted, 2 + index + weighted
        )

    @precondition(lambda self: self.arcs and self.plain)
    @rule(
        weighted=st.booleans(),
        separator=st.sampled_from(",;\t "),
        suffix=st.sampled_from([".csv", ".tsv", ".txt"]),
    )
    def pandas_without_a_header(self, weighted: bool, separator: str, suffix: str) -> None:
        frame = frame_of(self.arcs, weighted)
        options = {"sep": separator, "index": False, "header": False}
        self.reads(f"a{suffix}", lambda path: frame.to_csv(path, **options), weighted)

    @precondition(lambda self: self.arcs and self.plain)
    @rule(weighted=st.booleans(), separator=st.sampled_from([" ", ",", "\t", ", "]))
    def networkx_edge_list(self, weighted: bool, separator: str) -> None:
        graph = networkx_of(self.arcs)
        self.arcs = {(u, v): w for u, v, w in graph.edges(data="weight")}  # in its order
        self.reads(
            "a.txt",
            lambda path: networkx.write_edgelist(
                graph, path, delimiter=separator, data=["weight"] if weighted else False
            ),
            weighted,
        )

    @precondition(lambda self: self.arcs)
    @rule(separator=st.sampled_from([" ", ",", "\t", ", "]), weighted=st.booleans())
    def networkx_default(self, separator: str, weighted: bool) -> None:
        path = Path(self.folder.name, "a.txt")
        graph = networkx_of(self.arcs)
        if not weighted:
            graph.remove_edges_from(self.arcs)
            graph.add_edges_from(self.arcs)
        networkx.write_edgelist(graph, path, delimiter=separator)
        mark = separator.strip(" ") or " "
        if any(mark in str(name) for arc in self.arcs for name in arc):
            with pytest.raises(FormatError):
                read(path)
            return
        assert arcs_of(read(path)) == (self.arcs if weighted else dict.fromkeys(self.arcs, 1))

    @precondition(lambda self: self.arcs and self.plain and not self.numbered)
    @rule()
    def igraph_ncol(self) -> None:
        if not "".join(map("".join, self.arcs)).isascii():
            return  # which igraph refuses
        graph = igraph_of(self.arcs)
        self.reads("a.txt", lambda path: graph.write_ncol(str(path)), True)

    @precondition(lambda self: self.arcs and self.names == list(range(9)))
    @rule()
    def igraph_edge_list(self) -> None:
        graph = igraph.Graph(9, list(self.arcs), directed=True)
        self.arcs = {ends: self.arcs[ends] for ends in sorted(self.arcs)}  # in its order
        self.reads("a.txt", lambda path: graph.write_edgelist(str(path)), False)

    @precondition(lambda self: self.arcs and self.numbered)
    @rule(symmetric=st.booleans())
    def matrix_market(self, symmetric: bool) -> None:
        # SciPy takes a stored zero for nothing when it looks for symmetry
        arcs = {ends: weight for ends, weight in self.arcs.items() if weight}
        if symmetric:
            arcs = {(max(ends), min(ends)): weight for ends, weight in arcs.items()}
            arcs |= {(head, tail): weight for (tail, head), weight in arcs.items()}
        path = Path(self.folder.name, "a.mtx")
        scipy.io.mmwrite(path, matrix_of(arcs))
        graph = read(path)
        expected = {(tail + 1, head + 1): weight for (tail, head), weight in arcs.items()}
        assert arcs_of(graph) == expected

    @precondition(lambda self: self.arcs and self.numbered)
    @rule(layout=st.sampled_from(["csr", "csc", "coo"]))
    def save_npz(self, layout: str) -> None:
        path = Path(self.folder.name, "a.npz")
        scipy.sparse.save_npz(path, matrix_of(self.arcs).asformat(layout))
        assert arcs_of(read(path)) == self.arcs


Writers.TestCase.settings = settings(
    max_examples=60, stateful_step_count=20, deadline=None, phases=[Phase.reuse, Phase.generate]
)
TestWriters = Writers.TestCase
