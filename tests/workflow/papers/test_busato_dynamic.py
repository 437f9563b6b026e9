"""Experiments and tables of F. Busato's thesis, 2018, chapters 17 to 19."""

from __future__ import annotations

import numpy as np
import papers
import pytest
from papers.busato_dynamic import experiments
from papers.busato_dynamic.inputs import GRAPHS, power_graph, stand_in
from papers.published import Published

from pyapsp.dynamic import Hornet
from pyapsp.errors import VerificationError

CHOSEN = ("dblp-2010", "Wind")


@pytest.fixture
def few(monkeypatch):
    """Two graphs, and containers that share their kernels."""
    monkeypatch.setattr(experiments, "GRAPHS", {name: GRAPHS[name] for name in CHOSEN})
    monkeypatch.setattr(experiments, "UPDATED", CHOSEN[:1])
    for options in (experiments.HORNETS, experiments.BLOCKS):
        for each in options.values():
            monkeypatch.setitem(each, "block_array", 1024)


def test_published_values_agree():
    paper = Published("busato_dynamic")
    for name, about in GRAPHS.items():
        given = {
            what: paper.value(exhibit="table 18.2", quantity=what, graph=name)
            for what in ("rows", "entries")
        }
        assert given["entries"] == about.entries
        assert name in ("dblp-2010", "Protein") or given["rows"] == about.rows
    times = {
        (row["graph"], row["method"]): row["value"]
        for row in paper.rows(exhibit="table 19.3", quantity="time, k = 3")
    }
    assert round(times["scale 13", "Graphulo"] / times["scale 13", "truss-delta"]) == 886


def test_stand_ins_have_the_published_means():
    for name, about in GRAPHS.items():
        graph = stand_in(name, 200_000)
        degrees, mean = np.diff(graph.indptr), about.entries / about.rows
        assert degrees.mean() == pytest.approx(mean, rel=0.25)
        tails = np.repeat(np.arange(graph.n), degrees)
        assert (np.diff(tails << 32 | graph.indices) > 0).all()  # sorted, and different
        if about.matrix:
            assert degrees.std() == pytest.approx(about.deviation, rel=0.1, abs=0.2)
    graph = power_graph(8)
    assert graph.n == 256
    assert 1000 < graph.m // 2 <= 16 * 256


@pytest.mark.slow
def test_everything_is_beside_the_published_values(device, few, written):
    documents = []
    for name in ("formats", "updates", "analytics", "trusses"):
        document = papers.measure(f"busato-dynamic-{name}", 3000, device=device, repeat=1)
        assert document["left_out"] == []
        assert all(run["verified"] for run in document["runs"])
        documents.append(document)
    tables = written("busato-dynamic", documents)
    assert len(tables) == 8
    formats = tables["table-17.1"].set_index("format")
    assert (formats.filter(like="ms: ours") > 0).all(axis=None)
    assert formats.loc["CSR", "all edges written: ours"] == 3
    assert formats.loc["CSR", "memory over CSR, mean: ours"] == pytest.approx(1, rel=0.02)
    memory = tables["figure-18.5"].set_index("graph")
    assert memory.loc["dblp-2010", "utilisation of blocks, %: thesis"] == 78
    assert (memory.filter(like="utilisation, %: ours") <= 100).all(axis=None)
    rates = tables["figures-18.7-18.8"]
    assert set(rates["duplicates"]) == {"ignore", "keep"}
    assert (rates.filter(like=": ours") > 0).all(axis=None)
    both = tables["figures-18.9-18.10"].filter(like="over Hornet: ours")
    assert (both > 0).all(axis=None)
    fixed = tables["table-19.3"]
    assert set(fixed["k"]) == {3, 4}
    trusses = tables["table-19.2"]
    assert (trusses.filter(like="ms: ours") > 0).all(axis=None)


def test_a_container_that_loses_an_edge_ends_the_experiment(device, few, monkeypatch):
    insert = Hornet.insert_edges
    monkeypatch.setattr(
        Hornet, "insert_edges", lambda self, a, b, **given: insert(self, a[1:], b[1:], **given) + 1
    )
    for name in ("formats", "updates"):
        with pytest.raises(VerificationError):
            papers.measure(f"busato-dynamic-{name}", 3000, device=device, repeat=1)
