"""The same call gives the same bits: whatever was called before, in any thread and process.

By default a part of the calls; ``pytest -m nightly`` makes 200 calls for each of 30 inputs.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product

import numpy as np
import pytest

import pyapsp
from pyapsp.all_pairs import choice
from pyapsp.all_pairs.choice import candidates
from pyapsp.all_pairs.request import Arguments, requested
from pyapsp.device import devices
from pyapsp.graph import Graph
from pyapsp.graph.generators import random_graph

# Sums of these weights are rounded, so that the order of additions shows.
GRAPHS = {
    "sparse": (150, 600),
    "some arcs": (400, 8000),
    "half of all arcs": (300, 45000),
}


@cache
def graph_of(name: str, dtype: str = "float64") -> Graph:
    n, m = GRAPHS[name]
    graph = random_graph(n, m, 9, seed=3)
    if dtype.startswith("float"):
        rng = np.random.default_rng(5)
        return graph.with_weights(rng.random(graph.m).astype(dtype))
    return graph


def bits(*arrays: object) -> str:
    digest = hashlib.sha256()
    for each in arrays:
        digest.update(np.ascontiguousarray(each).tobytes())
    return digest.hexdigest()


def matrix(name: str, dtype: str, predecessors: bool, device: object) -> str:
    more = {"dtype": dtype, "predecessors": predecessors, "device": device}
    result = pyapsp.solve(graph_of(name, dtype), **more)
    return bits(result.distances, *([result.predecessors] if predecessors else []))


def summary(name: str, function: str, device: object) -> str:
    return bits(getattr(pyapsp, function)(graph_of(name), device=device))


def tree(name: str, problem: str, device: object) -> str:
    """The rows of two sources, each vertex with the one before it."""
    if problem == "bfs":
        found = pyapsp.bfs(graph_of(name), [0, 7], device=device)
        return bits(found.levels, found.parents)
    result = pyapsp.sssp(graph_of(name), [0, 7], predecessors=True, device=device)
    return bits(result.distances, result.predecessors)


#: Thirty calls: a function of the device, that returns the digest of the answer.
CALLS: dict[str, tuple[Callable[..., str], tuple[object, ...]]] = {
    "-".join(map(str, given)): (function, given)
    for function, more in (
        (matrix, [("float64", False), ("float64", True), ("float32", False), ("float32", True)]),
        (matrix, [("int32", False), ("int32", True)]),
        (summary, [("average_shortest_path_length",), ("closeness_centrality",)]),
        (tree, [("bfs",), ("sssp",)]),
    )
    for given in ((name, *rest) for name, rest in product(GRAPHS, more))
}


def call(name: str, device: object) -> str:
    function, given = CALLS[name]
    return function(*given, device)


def assert_one_answer(name: str, device: object, calls: int) -> None:
    """Call again and again, after a call for another graph, and in eight threads."""
    first = call(name, device)
    seen = {call(name, device) for _ in range(calls)}
    pyapsp.solve(random_graph(130, 900, seed=1), device=device)
    seen.add(call(name, device))
    with ThreadPoolExecutor(8) as threads:
        seen.update(threads.map(lambda _: call(name, device), range(max(8, calls // 4))))
    assert seen == {first}


def in_another_process(device: str) -> list[str]:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "import test_same_bits as t;"
        "print(*[t.call(name, sys.argv[2]) for name in t.CALLS])"
    )
    command = [sys.executable, "-c", program, __file__.rpartition("/")[0], device]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.every(12)
@pytest.mark.parametrize("name", CALLS)
def test_calls_after_each_other_and_in_threads(name, device):
    assert_one_answer(name, device, 20)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CALLS)
def test_many_calls(name, device):
    assert_one_answer(name, device, 200)


@pytest.mark.nightly
def test_several_devices(device):
    several = [each for each in devices() if each.platform_name == device.platform_name]
    several = [*several, device][:2]  # where there is one, it is listed twice
    for name, (function, _) in CALLS.items():
        if function is matrix:
            assert_one_answer(name, several, 20)


@pytest.mark.slow
def test_another_process(device):
    assert in_another_process(device.id) == [call(name, device) for name in CALLS]


@pytest.mark.nightly
def test_three_processes_at_once(device):
    with ThreadPoolExecutor(3) as threads:
        answers = [*threads.map(in_another_process, [device.id] * 3)]
    assert answers == [[call(name, device) for name in CALLS]] * 3


def test_the_order_of_methods_does_not_depend_on_calls(device):
    """Not even on calls that took much longer than was predicted."""
    graph = graph_of("some arcs")
    request = requested(graph, Arguments(device=device))
    before = [str(each) for each in candidates(request.input, request.options)]
    for _ in range(30):
        pyapsp.solve(graph, device=device)
    choice._ranking.cache_clear()  # as in another process
    request = requested(graph, Arguments(device=device))
    assert [str(each) for each in candidates(request.input, request.options)] == before
