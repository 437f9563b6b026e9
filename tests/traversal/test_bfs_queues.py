"""Breadth-first searches with queues that others are compared with: parameters, work, phases."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import pyapsp
from pyapsp.cli import main
from pyapsp.errors import CapabilityError, ParameterError, StallError
from pyapsp.paths import PathOptions
from pyapsp.paths.result import Result
from pyapsp.traversal.bfs.bfs_luo import BfsLuo
from pyapsp.traversal.bfs.frontier_queues import Frontiers
from pyapsp.traversal.kernels import MOST_COUNTED, Launcher

sys.path.insert(0, str(Path(__file__).parent))
from shapes import EXPECTED, GRAPH, SHAPES, SOURCES, arcs, assert_right, expected_levels

METHODS = ("bfs-sequential", "bfs-frontier", "bfs-luo", "bfs-b40c", "bfs-gunrock")
SETS = [
    ("bfs-luo", {"group": 64, "buckets": 8, "room": 8}),
    ("bfs-luo", {"group": 32, "buckets": 8, "room": 32}),
    ("bfs-luo", {"group": 32, "buckets": 1, "room": 8}),
    *[
        ("bfs-b40c", {"frontier": frontier, "group": group, "warp": warp})
        for frontier in ("vertex", "edge", "two-phase")
        for group, warp in ((64, 8), (32, 32), (32, 1))
    ],
    *[
        ("bfs-b40c", {"frontier": "hybrid", "group": 32, "warp": 8, "resident": resident})
        for resident in (16, 2048)
    ],
    *[
        ("bfs-gunrock", {"balance": balance, "group": group, "warp": warp})
        for balance in ("degrees", "vertices", "arcs")
        for group, warp in ((64, 8), (32, 32), (32, 1))
    ],
    ("bfs-gunrock", {"balance": "size", "switch": 64, "each": 2, "group": 32, "warp": 8}),
    ("bfs-frontier", {"width": 4, "group": 32}),
]


@pytest.mark.every(4)
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("method", "parameters"), SETS)
def test_parameters(method, parameters, device):
    found = pyapsp.bfs(GRAPH, SOURCES, pyapsp.method(method, **parameters), device=device)
    assert_right(GRAPH, SOURCES, found, EXPECTED)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", METHODS)
def test_defaults(method, shape, device):
    graph, source = SHAPES[shape]
    sources = [source, graph.n - 1]
    found = pyapsp.bfs(graph, sources, method, device=device)
    assert_right(graph, sources, found, expected_levels(graph, sources))


@pytest.mark.every(2)
@pytest.mark.parametrize("method", METHODS)
def test_work_is_linear(method, device):
    """A level reads its frontier only: no launch has a work-item for each vertex or arc."""
    n = 20_000
    path = arcs(n, range(n - 1), range(1, n))
    found = pyapsp.bfs(path, 0, method, device=device)
    np.testing.assert_array_equal(found.levels, np.arange(n))
    assert found.stats["rounds"] == n
    assert found.stats["kernel_seconds"] < 60
    star = arcs(n, [0] * (n - 1), range(1, n), directed=False)
    found = pyapsp.bfs(star, 1, method, device=device)
    np.testing.assert_array_equal(found.levels, [1, 0, *[2] * (n - 2)])


@pytest.fixture
def reads(monkeypatch):
    """The reads of the state by the host: one for each launch that it waits for."""
    noted, read = [], Frontiers.read_state

    def counted(frontiers):
        noted.append(frontiers)
        read(frontiers)

    monkeypatch.setattr(Frontiers, "read_state", counted)
    return noted


@pytest.mark.parametrize("method", METHODS[1:])
def test_the_host_reads_once_for_each_level(method, device, reads):
    rounds = pyapsp.bfs(GRAPH, SOURCES[3], method, device=device).stats["rounds"]
    assert 0 < len(reads) <= rounds


@pytest.mark.usefixtures("quick")
def test_one_group_goes_on(device, reads):
    """A path is one launch, and a star three: a group, the device, and a group that finds none."""
    method = pyapsp.method("bfs-luo", group=32, buckets=8, room=8)
    for shape, number in (("path", 1), ("star", 2)):
        reads.clear()
        graph, source = SHAPES[shape]
        found = pyapsp.bfs(graph, source, method, device=device)
        np.testing.assert_array_equal(found.levels, expected_levels(graph, [source])[0])
        assert len(reads) == number


@pytest.mark.parametrize("sizes", [(1, 1), (32, 1), (32, 8)], ids=str)
@pytest.mark.usefixtures("quick")
def test_more_vertices_than_a_bucket_holds(sizes, device):
    """The others go to the queue of the device at once."""
    graph = arcs(501, [*[0] * 250, *range(1, 251)], range(1, 501))
    method = pyapsp.method("bfs-luo", group=sizes[0], buckets=sizes[1], room=8)
    found = pyapsp.bfs(graph, 0, method, device=device)
    np.testing.assert_array_equal(found.levels, expected_levels(graph, [0])[0])


@pytest.fixture
def launched(monkeypatch):
    """The kernels of a method that were launched, but the first: their names and work-items."""
    noted, launch = [], Launcher.__call__

    def note(self, kernel, items, *more):
        if not kernel.endswith("start"):
            noted.append((kernel.removeprefix("bfs_"), items))
        launch(self, kernel, items, *more)

    monkeypatch.setattr(Launcher, "__call__", note)
    return noted


def layers(widths):
    """A graph whose levels from vertex 0 have these numbers of vertices."""
    first = np.cumsum([0, *widths])
    tails = [first[i] + np.arange(each) % widths[i] for i, each in enumerate(widths[1:])]
    return arcs(first[-1], np.concatenate(tails), np.arange(1, first[-1]))


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("frontier", ["edge", "hybrid"])
def test_many_arcs_take_two_launches(frontier, device, launched):
    many = 16 * device.capabilities.compute_units + 1
    widths = [1, many, many - 1, many, many, 2]
    more = {"resident": 16} if frontier == "hybrid" else {}
    method = pyapsp.method("bfs-b40c", frontier=frontier, group=1, warp=1, **more)
    graph = layers(widths)
    found = pyapsp.bfs(graph, 0, method, parents=False, device=device)
    np.testing.assert_array_equal(found.levels, expected_levels(graph, [0])[0])
    two = [("b40c_contract_arcs", many), ("b40c_expand_found", many - 1)]
    assert launched == [
        each
        for width in widths
        for each in (two if more and width == many else [("b40c_edge", width)])
    ]


@pytest.mark.usefixtures("quick")
def test_the_size_of_a_frontier_decides_how_arcs_are_shared(device, launched):
    widths = [1, 64, 65, 65, 64, 1]
    graph = layers(widths)
    method = pyapsp.method("bfs-gunrock", switch=64, each=2, group=1, warp=1)
    found = pyapsp.bfs(graph, 0, method, parents=False, device=device)
    np.testing.assert_array_equal(found.levels, expected_levels(graph, [0])[0])
    advances = [each for each in launched if each[0] in ("gunrock_vertices", "gunrock_arcs")]
    shares = min(graph.m, 16 * device.capabilities.compute_units)
    assert advances == [
        ("gunrock_arcs", shares) if width > 64 else ("gunrock_vertices", width) for width in widths
    ]


# Groups of one work-item, which wait for each other on CPUs, too.
MEETING = {"group": 1, "buckets": 1, "room": 8, "middle": 4}


def test_frontiers_of_medium_size_are_one_launch(fenced, launched):
    most = MEETING["middle"] * fenced.capabilities.compute_units
    widths = [1, 3, 2, 4, most + 1, most + 2, 3, 2, 4, most, 2, 1, 1, 2]
    graph, all_groups = layers(widths), ("luo_together", fenced.capabilities.compute_units)
    one_group = ("luo_single", 1)
    many = [("luo", most + 1), ("luo", most + 2)]
    middle = [one_group, all_groups, *many, all_groups, one_group, all_groups]
    none = [one_group, *(("luo", width) for width in widths[1:11]), one_group, ("luo", 2)]
    for parameters, expected in (MEETING, middle), ({**MEETING, "middle": 0}, none):
        launched.clear()
        method = pyapsp.method("bfs-luo", **parameters)
        found = pyapsp.bfs(graph, 0, method, parents=False, device=fenced)
        np.testing.assert_array_equal(found.levels, expected_levels(graph, [0])[0])
        assert launched == expected


@pytest.mark.parametrize("middle", [1, 256])
def test_groups_that_meet(middle, fenced):
    method = pyapsp.method("bfs-luo", **{**MEETING, "middle": middle})
    found = pyapsp.bfs(GRAPH, SOURCES, method, device=fenced)
    assert_right(GRAPH, SOURCES, found, EXPECTED)


def test_groups_that_do_not_meet_are_an_error(fenced, withhold):
    withhold(BfsLuo)
    with pytest.raises(StallError, match="use middle=0"):
        pyapsp.bfs(layers([1, 2]), 0, pyapsp.method("bfs-luo", **MEETING), device=fenced)


def test_where_groups_do_not_meet(device, monkeypatch):
    # on a GPU, groups of several work-items may wait
    monkeypatch.setattr(type(device), "traits", replace(device.traits, scalar_groups=True))
    method = pyapsp.method("bfs-luo", **{**MEETING, "group": 64})
    with pytest.raises(ParameterError, match="middle above 0 must be asked for"):
        pyapsp.bfs(GRAPH, 0, method, device=device)


def test_warps_divide_groups(device):
    with pytest.raises(ParameterError, match="multiple of warp"):
        pyapsp.bfs(GRAPH, 0, pyapsp.method("bfs-b40c", group=32, warp=64), device=device)
    with pytest.raises(ParameterError, match="has no parameter 'group'"):
        pyapsp.method("bfs-sequential", group=32)


# The graphs that come with the package, and those of a folder, for example of `pyapsp fetch`.
FOLDERS = [Path(__file__).parents[2] / "data/samples"]
FOLDERS += [Path(each) for each in [os.environ.get("PYAPSP_TEST_GRAPHS")] if each]
FILES = sorted(
    path
    for folder, ending in product(FOLDERS, ("*.txt", "*.txt.gz", "*.gr"))
    for path in folder.glob(ending)
)


@pytest.mark.parametrize("method", ["bfs-4k", *METHODS])
def test_files(method, device, tmp_path):
    for path in FILES:
        graph = pyapsp.read(path)
        source = int(np.diff(graph.indptr).argmax())
        label = str(source if graph.labels is None else graph.labels[source])
        out = tmp_path / "levels.npz"
        asked = ["--method", method, "--device", device.id, "--source", label, "-o", str(out)]
        assert main(["bfs", str(path), *asked]) == 0
        found = Result.load(out)
        levels = np.where(found.distances < found.infinity, found.distances, -1)
        np.testing.assert_array_equal(levels, expected_levels(graph, [source]))


@pytest.mark.parametrize("name", ["bfs-4k", "bfs-b40c", "bfs-gunrock"])
def test_more_arcs_than_int32_numbers_are_refused(name, device):
    method, options = pyapsp.method(name), PathOptions(device, np.dtype(np.int32))
    for count, refused in ((MOST_COUNTED, False), (MOST_COUNTED + 1, True)):
        graph = type("Graph", (), {"m": count, "n": 3})()
        with pytest.raises(CapabilityError, match="2,146,435,073") if refused else nullcontext():
            method.check(graph, options)
