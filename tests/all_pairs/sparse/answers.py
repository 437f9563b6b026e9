"""What the tests of sparse methods share: data sets, SciPy's rows, and comparisons with them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from scipy.sparse import csgraph

from pyapsp import verify
from pyapsp.graph import datasets
from pyapsp.paths import AllPairsOptions

MIRRORS = [
    folder
    for folder in (
        os.environ.get("PYAPSP_DATA_MIRROR", ""),
        Path(__file__).parents[4] / "shared" / "data",
    )
    if folder and Path(folder).is_dir()
]
# a checkout alone has the samples; the real graphs are solved where a mirror is at hand
GRAPHS = [name for name in datasets.names() if MIRRORS or not datasets.get(name).url]


def expected_rows(graph, sources=None):
    return csgraph.dijkstra(graph.to_scipy().astype(float), indices=sources)


def assert_solves(graph, result, device, expected=None):
    expected = expected_rows(graph, result.sources) if expected is None else expected
    distances = np.where(result.distances < result.infinity, result.distances, np.inf)
    np.testing.assert_array_equal(distances, expected)
    if result.predecessors is not None:
        checked = verify.certificate(graph, result, device=device)
        assert checked.ok, checked.fault


def assert_totals(method, graph, dtype, device, sources, width=None, **options):
    """Compare the sums of a method with those of SciPy's rows, block after block."""
    options = AllPairsOptions(device, np.dtype(dtype), sources=sources, totals=True, **options)
    session = method.start(method.plan(graph, options))
    rows = expected_rows(graph, sources)
    reached = np.isfinite(rows)
    near = np.where(reached, rows, 0)
    counted, seen = np.zeros(0, np.int64), 0
    for some, totals in session.totals(sources, width):
        seen += sources[some].size
        assert totals.largest.dtype == dtype
        np.testing.assert_array_equal(totals.largest, near[some].max(axis=1))
        np.testing.assert_array_equal(totals.total, near[some].sum(axis=1))
        np.testing.assert_array_equal(totals.reached, reached[some].sum(axis=1))
        assert (totals.counts is None) == (width is None)
        if width is not None:
            longer = max(counted.size, totals.counts.size)
            counted = np.pad(counted, (0, longer - counted.size))
            counted[: totals.counts.size] += totals.counts
    assert seen == sources.size
    if width is not None:
        bins = np.floor(rows[reached] / width).astype(np.int64)
        np.testing.assert_array_equal(counted, np.bincount(bins))
    return session
