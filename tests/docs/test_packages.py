"""The pages of examples: their code runs with the other packages, and pages and figures agree."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
import types
from pathlib import Path

import networkx as nx
import numpy as np
import packages
import pytest
from packaging.requirements import Requirement

import pyapsp

TOP = Path(__file__).resolve().parents[2]


def required(extra):
    """Return the packages of an extra, in lower case."""
    found = set()
    for each in map(Requirement, importlib.metadata.requires("pyapsp")):
        if "extra" in str(each.marker) and each.marker.evaluate({"extra": extra}):
            nested = each.name == "pyapsp"
            found |= set().union(*map(required, each.extras)) if nested else {each.name.lower()}
    return found


def examples():
    """Yield the examples; those whose package is in no extra for tests run at night."""
    tested = required("test")
    for example in packages.EXAMPLES:
        at_night = [] if example.package.lower() in tested else [pytest.mark.nightly]
        yield pytest.param(example, marks=at_night, id=example.name)


def spoilt(answer):
    """Return a wrong answer."""
    if isinstance(answer, np.ndarray):
        return answer + 1
    if isinstance(answer, dict):
        return {key: value + 1 for key, value in answer.items()}
    if isinstance(answer, list) and all(isinstance(each, int) for each in answer):
        return [*answer[:2], *answer]  # a route that goes back to its start once
    if isinstance(answer, list | tuple):
        return type(answer)(map(spoilt, answer))
    answer.dist_matrix_ = spoilt(answer.dist_matrix_)  # of Isomap
    return answer


@pytest.mark.filterwarnings("default")  # other packages may warn
@pytest.mark.parametrize("example", list(examples()))
def test_before_and_after_are_equal(example):
    """A missing package is an error: an extra of the tests, or of the night, brings it."""
    importlib.metadata.version(example.package)
    module = example.load()
    one, other = module.before(*module.data(True)), module.after(*module.data(True))
    assert module.same(one, other)
    assert not module.same(one, spoilt(other))


def test_routes_of_other_lengths_or_ends_are_not_equal(monkeypatch):
    monkeypatch.setitem(sys.modules, "osmnx", types.ModuleType("osmnx"))
    (example,) = (each for each in packages.EXAMPLES if each.name == "routes")
    module = example.load()
    streets, *ends = module.data(True)
    routes = module.after(streets, *ends)
    others = [nx.shortest_path(streets, *pair, weight="length") for pair in zip(*ends, strict=True)]
    assert module.same(others, routes)
    longer = spoilt(routes)
    assert [(each[0], each[-1]) for each in longer] == list(zip(*ends, strict=True))
    assert not module.same(others, longer)
    assert not module.same(others, [*routes[:-1], longer[-1]])
    assert not module.same(others, routes[::-1])


def test_a_patch_acts_on_the_names_of_an_example(monkeypatch, tmp_path):
    (tmp_path / "one.py").write_text("from scipy.sparse.csgraph import dijkstra\n")
    monkeypatch.setattr(packages, "FOLDER", tmp_path)
    module = packages.Example("one", "scipy").load()
    before = module.dijkstra
    with pyapsp.patch():
        assert module.dijkstra is not before
    assert module.dijkstra is before


def test_an_extra_brings_every_package():
    assert {each.package.lower() for each in packages.EXAMPLES} <= required("examples")


def test_pages_are_of_modules_and_figures():
    figures = json.loads(packages.FIGURES.read_text())
    pages = packages.pages(figures)
    assert {path: path.read_text(encoding="utf-8") for path in pages} == pages
    assert {path.name for path in pages} == {path.name for path in packages.FOLDER.glob("*.md")}
    names = {each.name for each in packages.EXAMPLES}
    assert all(names == figures[each].keys() for each in ("seconds", "versions", "machines"))
    # a module that is shown elsewhere is no example
    modules = {path.stem for path in packages.FOLDER.glob("*.py")}
    assert names == {each for each in modules if f"{each}.md" in {path.name for path in pages}}


def test_times_are_those_of_the_functions(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(packages, "FIGURES", tmp_path / "figures.json")
    monkeypatch.setattr(packages.Example, "seconds", lambda self: (2.0, 0.12345))
    elsewhere = {"seconds": {"floyd": [8.0, 1.0]}, "machines": {"floyd": "another machine"}}
    packages.FIGURES.write_text(json.dumps(elsewhere))
    packages.measure(["betweenness"])
    figures = json.loads(packages.FIGURES.read_text())
    assert figures["seconds"] == {"floyd": [8.0, 1.0], "betweenness": [2.0, 0.123]}
    here = f"{os.cpu_count()} cores, {pyapsp.device.choose(None).name}"
    assert figures["machines"] == {"floyd": "another machine", "betweenness": here}
    assert figures["versions"]["betweenness"].startswith("networkx 3")
    (example,) = (each for each in packages.EXAMPLES if each.name == "betweenness")
    page = example.page(figures)
    assert "| 2 s | 0.12 s |" in page
    assert f"of a whole call on {here}." in page
    assert "def before(graph):\n    return nx.betweenness_centrality(graph)\n```" in page


def test_the_package_of_a_page_is_the_one_that_is_timed(tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "FIGURES", tmp_path / "figures.json")
    monkeypatch.setattr(packages.Example, "seconds", lambda self: (2.0, 1.0))
    packages.measure(["isomap", "landmarks"])
    versions = json.loads(packages.FIGURES.read_text())["versions"]
    assert versions["isomap"].startswith("scikit-learn ")
    assert versions["landmarks"] == f"SciPy {importlib.metadata.version('scipy')}"
