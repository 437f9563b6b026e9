"""What is made of matches: frames, pictures, files of the command, experiments."""

from __future__ import annotations

import json
import math

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu

from pyapsp.cli import main
from pyapsp.errors import ParameterError
from pyapsp.matching import Matches, Network, match
from pyapsp.matching.experiments import coherence, costs_differ, perturbed
from pyapsp.matching.picture import draw, save
from pyapsp.matching.reading import write_network
from tests.matching.conftest import network, part

TARGET = Network.from_edges(
    [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], "ABAC", vertices=["t", "u", "v", "w"], name="T"
)
QUERY = Network.from_edges([(0, 1), (1, 2), (0, 2)], "ABC", vertices=["a", "b", "c"], name="Q")
ONE = 65536
# The second and the fourth are equal; costs by hand.
FOUND = Matches(
    QUERY,
    TARGET,
    np.array([[0, 1, -1], [0, 1, 3], [2, 3, 0], [0, 1, 3]], np.int32),
    np.array([3, 1, 2, 1], np.int64) * ONE,
)


def test_distinct_matches_are_ordered_by_cost():
    assert FOUND.order.tolist() == [1, 2, 0]
    assert FOUND.distinct == 0.75
    assert FOUND.costs.tolist() == [0.5, 1 / 6, 2 / 6, 1 / 6]
    assert FOUND.best == {"a": "t", "b": "u", "c": "w"}
    assert "4, 3 distinct, best cost 0.1667" in repr(FOUND)


def test_edges_and_similarities_of_matches():
    assert FOUND.matched_edges()[1].tolist() == [True, True, False]  # of 0-1, 0-2, 1-2
    assert FOUND.matched_edges()[0].tolist() == [True, False, False]
    assert FOUND.node_similarities().tolist() == [[1, 1, 0], [1, 1, 1], [1, 0, 0], [1, 1, 1]]


def test_frames():
    frame = FOUND.to_frame(top=3)
    assert frame["match"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert frame["vertex"].tolist()[:6] == ["t", "u", "w", "v", "w", "t"]
    assert pd.isna(frame["vertex"].tolist()[8])
    assert frame["node_label"].tolist()[:3] == ["A", "B", "C"]
    summary = FOUND.summary()
    assert summary["found"].tolist() == [2, 1, 1]
    assert summary["nodes"].tolist() == [3, 3, 2]
    assert summary["edges"].tolist() == [2, 3, 1]


def test_the_picture_shows_what_does_not_match(tmp_path):
    figure = draw(FOUND, 0)
    left, right = figure.axes
    kept, lost = left.collections[:2]
    assert (len(kept.get_segments()), len(lost.get_segments())) == (2, 1)
    assert lost.get_linestyle() != kept.get_linestyle()
    assert "cost 0.167" in right.get_title()
    assert [text.get_text() for text in left.texts] == ["A", "B", "C"]
    second = draw(FOUND, 1).axes[0].collections[-1].get_facecolors()
    assert (second[0] != second[1]).any()
    assert np.array_equal(second[1], second[2])
    save(FOUND, tmp_path / "a.svg", 2)
    assert (tmp_path / "a.svg").read_text().count("<svg") == 1
    with pytest.raises(ParameterError, match="'picture'"):
        save(FOUND, tmp_path / "a.doc")
    with pytest.raises(ParameterError, match="from 0 to 2"):
        draw(FOUND, 3)


def test_the_command_writes_matches_and_a_picture(tmp_path, monkeypatch, capsys, device):
    monkeypatch.chdir(tmp_path)
    target = network(200, 500, 3, 1)
    queries = [part(target, 6, seed) for seed in (1, 2)]
    write_network(target, "t.gfu")
    for name, query in zip("ab", queries, strict=True):
        write_network(query, f"{name}.gfu")
        np.savetxt(f"{name}.txt", (query.labels[:, None] == target.labels).astype(float))
    line = ["match", "t.gfu", "a.gfu", "b.gfu", "--matches", "9", "--device", device.id]
    assert main([*line, "-o", "m.csv", "--picture", "m.png", "--seed", "3"]) == 0
    assert "random-1: 200 vertices" in capsys.readouterr().out
    assert (tmp_path / "m.png").stat().st_size > 1000
    frame = pd.read_csv("m.csv")
    for name, query in zip("ab", queries, strict=True):
        expected = match(query, target, 9, seed=3, device=device)
        rows = frame[frame["query"] == f"{name}.gfu"]
        assert rows["cost"].to_numpy() == pytest.approx(expected.to_frame()["cost"].to_numpy())
    assert main([*line, "--similarity", "a.txt", "b.txt", "--json", "--method", "reference"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["nodes"] for each in told["queries"]] == [6, 6]
    capsys.readouterr()
    assert main([*line, "--repeats", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["options"]["distinct"] is False
    assert main([*line, "--similarity", "a.txt"]) == 2
    assert main(["match", "t.gfu", "none.gfu"]) == 3
    assert main(["match", "a.txt", "a.gfu"]) == 3
    assert main([*line, "-o", "a.gfu"]) == 2


def test_perturbed_queries():
    query = part(network(200, 500, 3, 1), 20, 1)
    assert np.array_equal(perturbed(query, 0).neighbours, query.neighbours)
    for amount, changed in ((0.05, 1), (0.5, 10), (0.01, 1)):
        other = perturbed(query, amount, seed=3)
        assert (other.labels != query.labels).sum() == changed
        assert (other.n, other.m) == (query.n, query.m)
        new = {tuple(edge) for edge in other.edges.tolist()}
        old = {tuple(edge) for edge in query.edges.tolist()}
        assert 0 < len(new - old) <= changed
    with pytest.raises(ParameterError, match="from 0 to 1"):
        perturbed(query, 5)
    numbers = Network.from_edges(query.edges, range(query.n))
    assert {type(label) for label in perturbed(numbers, 1).labels.tolist()} == {int}
    assert set(perturbed(numbers, 1, labels=[1.5, (2,)]).labels.tolist()) == {1.5, (2,)}


def test_coherence_is_the_hypergeometric_tail():
    # matches 1, 2, 0 with the vertices t u w, v w t, t u
    terms = {"t": {"x"}, "u": {"x", "y"}, "v": {"y"}}
    frame = coherence(FOUND, terms)
    assert frame["terms"].tolist() == [2, 2, 2]

    def tail(k, marked, drawn):
        total = sum(
            math.comb(marked, i) * math.comb(4 - marked, drawn - i) for i in range(k, drawn + 1)
        )
        return total / math.comb(4, drawn)

    # corrected by Benjamini and Hochberg: two values p <= q become min(2 p, q) and q
    for p, ps in zip(
        frame["p"],
        [(tail(2, 2, 3), tail(1, 2, 3)), (tail(1, 2, 3), tail(1, 2, 3)),
         (tail(2, 2, 2), tail(1, 2, 2))],
        strict=True,
    ):  # fmt: skip
        low, high = sorted(ps)
        assert p == pytest.approx((min(2 * low, high) + high) / 2)
    assert coherence(FOUND, {})["p"].isna().all()


def test_costs_of_two_searches_are_compared():
    random = np.random.default_rng(1)
    pairs = [(random.random(40), random.random(30) + shift) for shift in (0, 0.2, 1)]
    p, corrected = costs_differ(pairs)
    for value, (one, other) in zip(p, pairs, strict=True):
        same = mannwhitneyu(one, other, alternative="less", method="asymptotic")
        assert value == pytest.approx(same.pvalue, rel=0.05)
    assert (corrected >= p).all()
    assert corrected[2] == pytest.approx(3 * p[2])
    with pytest.raises(ParameterError, match="'pairs'"):
        costs_differ([([], [1])])


def test_a_query_of_networkx_keeps_its_names(device):
    target = network(200, 500, 3, 1).to_networkx()
    query = nx.relabel_nodes(target.subgraph(list(nx.node_connected_component(target, 0))[:5]), str)
    found = match(query, target, 5, device=device)
    assert set(found.to_frame()["node"]) == set(query)
