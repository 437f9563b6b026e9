"""SciPy's own tests of its shortest paths, run on the functions here."""

from __future__ import annotations

import pytest
from scipy.sparse import csgraph as scipy_csgraph
from scipy.sparse.csgraph.tests import test_shortest_path as theirs

import pyapsp
from pyapsp import csgraph
from pyapsp.csgraph import patching

WAYS = ["module", "patch", "patch, small graphs too"]
# which of the ways fail, and why
EXPECTED_FAILURES = {
    "test_predecessors": (WAYS[::2], "it wants one of two paths of equal length, from 4 to 1"),
    "test_shortest_path_indices": (WAYS[:1], 'its last line wants method="FW" to refuse indices'),
}
# SciPy's own function is the one here, too
YEN = {name for name in vars(theirs) if name.startswith("test_yen")}

for _name, _test in vars(theirs).items():
    if _name.startswith("test_") and _name not in YEN:
        globals()[_name] = _test


@pytest.fixture(params=WAYS, autouse=True)
def way(request, monkeypatch):
    """Put our functions in place of SciPy's: by their names, or by `pyapsp.patch`."""
    ways, reason = EXPECTED_FAILURES.get(request.node.originalname, ([], ""))
    if request.param in ways:
        request.applymarker(pytest.mark.xfail(strict=True, reason=reason))
    if request.param == WAYS[0]:
        for name in csgraph.__all__:
            monkeypatch.setattr(theirs, name, getattr(csgraph, name), raising=False)
        yield "pyapsp.csgraph"
    else:
        if request.param == WAYS[2]:
            monkeypatch.setattr(patching, "_WORK", 0)
            monkeypatch.setattr(patching, "_WORK_OF_ONE", 0)
        with pyapsp.patch():
            yield "scipy.sparse.csgraph"


def test_it_is_our_functions_that_are_tested(way):
    patched = way == "scipy.sparse.csgraph"
    for name in set(patching._METHODS if patched else csgraph.__all__) & vars(theirs).keys():
        assert getattr(theirs, name) is getattr(scipy_csgraph if patched else csgraph, name)
        assert getattr(theirs, name) is not patching._SCIPYS.get(name)
    assert {"bellman_ford", "dijkstra", "johnson", "shortest_path"} <= vars(theirs).keys()
    assert theirs.yen is csgraph.yen
    assert set(EXPECTED_FAILURES) <= vars(theirs).keys()
