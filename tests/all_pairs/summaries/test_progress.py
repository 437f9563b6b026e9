"""Summaries report how many sources are done."""

from __future__ import annotations

import numpy as np
import pytest

import pyapsp
from pyapsp.all_pairs import summaries
from pyapsp.graph import generators

# These choose how many sources they take at a time.
CENTRALITIES = ("betweenness_centrality", "edge_betweenness_centrality", "harmonic_centrality")


@pytest.mark.parametrize("name", sorted({*summaries.__all__} - {"diameter", *CENTRALITIES}))
def test_sources_are_counted(name, device):
    graph, seen = generators.random_graph(90, seed=2), []
    function = getattr(summaries, name)
    options = {"method": pyapsp.method("apsp-tasks", sources=32), "device": device}
    answer = function(graph, progress=lambda *step: seen.append(step), **options)
    assert seen == [(32, 90), (64, 90), (90, 90)]
    np.testing.assert_array_equal(answer, function(graph, **options))


@pytest.mark.parametrize("name", CENTRALITIES)
def test_sources_of_centralities_are_counted(name, device):
    graph, seen = generators.random_graph(90, seed=2), []
    function = getattr(summaries, name)
    answer = function(graph, progress=lambda *step: seen.append(step), device=device)
    assert seen == sorted(set(seen))
    assert seen[-1] == (90, 90)
    np.testing.assert_array_equal(answer, function(graph, device=device))


def test_an_exception_ends_the_run(device, assert_cancels):
    assert_cancels(pyapsp.radius, generators.random_graph(90, seed=2), device=device)
