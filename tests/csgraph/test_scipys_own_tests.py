"""SciPy's own tests of its shortest paths, run on the functions here."""

from __future__ import annotations

import pytest
from scipy.sparse import csgraph as scipy_csgraph
from scipy.sparse.csgraph.tests import test_shortest_path as theirs

from pyapsp import csgraph

EXPECTED_FAILURES = {
    "test_predecessors": "it wants one of two paths of equal length, from 4 to 1",
    "test_shortest_path_indices": 'its last line wants method="FW" to refuse indices',
}
# SciPy's own function is the one here, too
YEN = {name for name in vars(theirs) if name.startswith("test_yen")}

for _name, _test in vars(theirs).items():
    if _name.startswith("test_") and _name not in YEN:
        if _name in EXPECTED_FAILURES:
            _test = pytest.mark.xfail(strict=True, reason=EXPECTED_FAILURES[_name])(_test)
        globals()[_name] = _test


@pytest.fixture(autouse=True)
def _ours(monkeypatch):
    for name in csgraph.__all__:
        monkeypatch.setattr(theirs, name, getattr(csgraph, name), raising=False)


def test_it_is_our_functions_that_are_tested():
    for name in set(csgraph.__all__) & vars(theirs).keys():
        assert getattr(theirs, name) is getattr(csgraph, name)
        assert getattr(theirs, name) is not getattr(scipy_csgraph, name)
    assert {"bellman_ford", "dijkstra", "johnson", "shortest_path"} <= vars(theirs).keys()
    assert theirs.yen is csgraph.yen
    assert set(EXPECTED_FAILURES) <= vars(theirs).keys()
