"""Fixtures of the tests of sparse methods."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp.graph import datasets

from .answers import MIRRORS, expected_rows


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Load a data set, perhaps without its weights, and rows of it that SciPy found; once."""
    known = {}

    def loaded(name, weights=None):
        if (name, weights) not in known:
            graph = datasets.load(name)
            if weights is not None:
                graph = graph.with_weights(np.full(graph.m, weights))
            sources = np.random.default_rng(1).permutation(graph.n)[:40]
            known[name, weights] = graph, sources, expected_rows(graph, sources)
        return known[name, weights]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYAPSP_CACHE", str(tmp_path_factory.mktemp("cache")))
        if MIRRORS:
            patch.setenv("PYAPSP_DATA_MIRROR", str(MIRRORS[0]))
        yield loaded
