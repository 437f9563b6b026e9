"""A graph that changes, and every way to solve it: the right answer, or an error with a reason.

``PYAPSP_TRUST_MINUTES=10 pytest tests/trust/test_state_machine.py`` goes on for that long on each
device, with every method and type, and other examples each time.
"""

from __future__ import annotations

import os
import time
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from world import World

import pyapsp
from pyapsp.graph import Graph

MINUTES = float(os.environ.get("PYAPSP_TRUST_MINUTES", "0"))
# What the default run draws from: fewer kernels to build.
METHODS = (
    "fw-naive",
    "fw-minplus",
    "fw-outofcore",
    "fw-multidevice",
    "near-far",
    "ms-bfs",
    "dijkstra-cpu",
    "johnson",
)
DTYPES = (None, "auto", "float32", "int32")

# A seed shrinks less than draws of Hypothesis's own would, and finds more.
randoms = st.integers(0, 2**32 - 1).map(Random)
QUIET = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))


def _call(name):
    """A rule that is one method of the world."""

    def call(self, random) -> None:
        getattr(self.world, name)(random)

    call.__name__ = name
    return rule(random=randoms)(call)


class Solving(RuleBasedStateMachine):
    """Arcs are added and removed between the calls; `world.World` has the expected results."""

    world: World  # set by the tests

    @initialize(random=randoms)
    def start(self, random) -> None:
        self.world.start(random)
        self.result = None

    @rule(random=randoms, count=st.integers(1, 9))
    def add(self, random, count) -> None:
        self.world.add(random, count)

    remove = _call("remove")
    relabel = _call("relabel")
    rows = _call("rows")
    interrupted = _call("interrupted")
    batch = _call("batch")
    summaries = _call("summaries")
    scipy = _call("scipy")
    file = _call("file")

    @rule(random=randoms)
    def solve(self, random) -> None:
        self.result = self.world.solve(random) or self.result

    @rule(random=randoms)
    def solve_again(self, random) -> None:
        self.result = self.world.solve(random) or self.result

    @rule()
    def saved(self) -> None:
        if self.result is not None:
            self.world.saved(self.result)

    def teardown(self) -> None:
        self.world.note("examples")


@pytest.mark.slow
@pytest.mark.timeout(600 + 120 * MINUTES)
def test_any_sequence_of_calls(device, tmp_path, capsys):
    """The same examples each time, or others for as long as PYAPSP_TRUST_MINUTES says."""
    world = Solving.world = World([device], tmp_path, *(() if MINUTES else (METHODS, DTYPES)))
    examples = {"max_examples": 15, "stateful_step_count": 40 if MINUTES else 12}
    first, profile = time.monotonic(), settings(QUIET, derandomize=not MINUTES, **examples)
    while True:
        start = time.time_ns() if MINUTES else 0
        run_state_machine_as_test(seed(start)(Solving), settings=profile)
        if time.monotonic() >= first + 60 * MINUTES:
            break
    assert world.seen["answers"] > 20
    assert world.seen["predecessors"] > 3
    if MINUTES:
        with capsys.disabled():
            print("\n", dict(sorted(world.seen.items())))


def test_a_source_may_come_more_often_than_there_are_vertices(device):
    sources, graph = [1, 0, 1, 1, 0], Graph.from_arcs(2, [0], [1])
    for method in pyapsp.methods("all-pairs"):
        if not all(getattr(device.capabilities, each) for each in method.requires.capabilities):
            continue
        found = pyapsp.solve(graph, method.id, sources=sources, device=device).distances
        np.testing.assert_array_equal(found, np.array([[0, 1], [np.inf, 0]])[sources])


@pytest.mark.parametrize("method", ["fw-minplus", "johnson"])
def test_a_path_below_the_cutoff_through_a_vertex_above_it(method, device):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [5, -4])
    options = {"cutoff": 2, "predecessors": True, "device": device}
    result = pyapsp.solve(graph, method, **options)
    np.testing.assert_array_equal(result.distances[0], [0, np.inf, 1])
    assert result.predecessors[0].tolist() == [-9999, -9999, 1]
    assert result.path(0, 1) == []
    with pytest.raises(pyapsp.errors.ParameterError, match="over vertex 1, which is beyond"):
        result.path(0, 2)
