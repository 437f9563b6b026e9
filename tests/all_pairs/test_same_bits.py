"""The same call gives the same bits: whatever was called before, in any thread and process."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pyapsp
from pyapsp.all_pairs.choice import candidates
from pyapsp.all_pairs.request import Arguments, requested
from pyapsp.graph import Graph
from pyapsp.graph.generators import random_graph

# Sums of these weights are rounded, so that the order of additions shows.
INPUTS = {
    "sparse": (150, 600),
    "some arcs": (400, 8000),
    "half of all arcs": (300, 45000),
}


def graph_of(name: str, dtype: str = "float64") -> Graph:
    n, m = INPUTS[name]
    graph = random_graph(n, m, 9, seed=3)
    if dtype.startswith("float"):
        rng = np.random.default_rng(5)
        return graph.with_weights(rng.random(graph.m).astype(dtype))
    return graph


def bits(result: pyapsp.Result) -> str:
    text = hashlib.sha256(np.ascontiguousarray(result.distances).tobytes())
    if result.predecessors is not None:
        text.update(np.ascontiguousarray(result.predecessors).tobytes())
    return text.hexdigest()


@pytest.mark.parametrize("predecessors", [False, True], ids=["distances", "predecessors"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("name", INPUTS)
def test_calls_after_each_other_and_in_threads(name, dtype, predecessors, device):
    graph, other = graph_of(name, dtype), graph_of("sparse")

    def call(_=None):
        more = {"predecessors": predecessors, "device": device}
        return bits(pyapsp.solve(graph, dtype=dtype, **more))

    first = call()
    seen = {call() for _ in range(25)}
    pyapsp.solve(other, device=device)
    seen.add(call())
    with ThreadPoolExecutor(8) as threads:
        seen.update(threads.map(call, range(8)))
    assert seen == {first}


def test_the_order_of_methods_does_not_depend_on_calls(device):
    """Not even on calls that took much longer than was predicted."""
    graph = graph_of("some arcs")
    request = requested(graph, Arguments(device=device))
    before = [str(each) for each in candidates(request.input, request.options)]
    for _ in range(30):
        pyapsp.solve(graph, device=device)
    request = requested(graph, Arguments(device=device))
    assert [str(each) for each in candidates(request.input, request.options)] == before


@pytest.mark.slow
def test_another_process(device):
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "import test_same_bits as t, pyapsp;"
        "graph = t.graph_of('some arcs');"
        "print(t.bits(pyapsp.solve(graph, device=sys.argv[2], predecessors=True)))"
    )
    command = [sys.executable, "-c", program, __file__.rpartition("/")[0], device.id]
    other = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert other == bits(pyapsp.solve(graph_of("some arcs"), device=device, predecessors=True))
