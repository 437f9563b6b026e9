"""A container against a dict: random updates, and all that there is after each of them.

``PYAPSP_DYNAMIC_STEPS=100000`` sets the number of steps, for a long run.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pyapsp.dynamic import Hornet
from pyapsp.dynamic.blocks import room
from pyapsp.errors import DeviceMemoryError, GraphError

STEPS = int(os.environ.get("PYAPSP_DYNAMIC_STEPS", "0"))
# Steps of an example, and examples.
LENGTH, EXAMPLES = (200, -(-STEPS // 200)) if STEPS else (25, 6)
N = 24
SEEDS = st.integers(0, 2**32 - 1)
FORMS = st.sampled_from(
    [
        {"directed": True, "layout": "adaptive", "block_array": 8},
        {
            "directed": False,
            "layout": "adaptive",
            "block_array": 8,
            "least_block": 4,
            "block_steps": 1,
        },
        {"directed": True, "layout": "arrays", "block_array": 64},
    ]
)


class World(RuleBasedStateMachine):
    device = None

    @initialize(form=FORMS)
    def start(self, form):
        self.graph = Hornet(
            N,
            weight="int32",
            edge_properties={"day": "int16", "kind": "uint16"},
            vertex_properties={"size": "float32"},
            device=self.device,
            **form,
        )
        self.edges = {}  # (tail, head) -> weight, day, kind
        self.vertices = dict.fromkeys(range(N), 0.0)
        self.size = N

    def batch(self, seed, count):
        """Ends in the vertices that there are, and in a few of them more often."""
        random = np.random.default_rng(seed)
        some = np.array(sorted(self.vertices))
        some = some[: random.integers(1, some.size + 1)] if random.integers(2) else some
        return random, random.choice(some, count), random.choice(some, count)

    @rule(seed=SEEDS, count=st.integers(0, 120), update=st.booleans())
    def insert(self, seed, count, update):
        if not self.vertices:
            return
        random, tails, heads = self.batch(seed, count)
        weights, days = random.integers(-50, 50, (2, count))
        before = len(self.edges)
        for tail, head, weight, day in zip(
            *map(np.ndarray.tolist, (tails, heads, weights, days)), strict=True
        ):
            ways = [(tail, head)] if self.graph.directed else [(tail, head), (head, tail)]
            for way in ways:
                if update or way not in self.edges:
                    self.edges[way] = weight, day, 7
        duplicates = "update" if update else "ignore"
        values = {"day": days, "kind": 7}
        added = self.graph.insert_edges(
            tails, heads, weights, properties=values, duplicates=duplicates
        )
        assert added == len(self.edges) - before

    @rule(seed=SEEDS, count=st.integers(1, 200), stable=st.booleans())
    def delete(self, seed, count, stable):
        if not self.vertices:
            return
        _, tails, heads = self.batch(seed, count)
        before = len(self.edges)
        for tail, head in zip(tails.tolist(), heads.tolist(), strict=True):
            self.edges.pop((tail, head), None)
            if not self.graph.directed:
                self.edges.pop((head, tail), None)
        assert self.graph.delete_edges(tails, heads, stable=stable) == before - len(self.edges)

    @rule(count=st.integers(0, 4))
    def insert_vertices(self, count):
        unused = sorted(set(range(self.size)) - set(self.vertices))[:count]
        fresh = list(range(self.size, self.size + count - len(unused)))
        numbers = self.graph.insert_vertices(count, {"size": 2.5})
        assert numbers.tolist() == unused + fresh
        self.size += len(fresh)
        self.vertices.update(dict.fromkeys(unused + fresh, 2.5))

    @rule(seed=SEEDS, count=st.integers(1, 3))
    def delete_vertices(self, seed, count):
        if not self.vertices:
            return
        _, doomed, _ = self.batch(seed, count)
        lost = [edge for edge in self.edges if set(edge) & set(doomed.tolist())]
        assert self.graph.delete_vertices(doomed) == len(lost)
        for edge in lost:
            del self.edges[edge]
        for vertex in set(doomed.tolist()):
            del self.vertices[vertex]

    @rule(seed=SEEDS, count=st.integers(1, 60), low=st.booleans())
    def refuse(self, seed, count, low):
        """An edge in the middle of the batch has no vertex."""
        if not self.vertices:
            return
        absent = sorted(set(range(self.size)) - set(self.vertices)) or [-1 if low else self.size]
        _, tails, heads = self.batch(seed, count)
        (tails if low else heads)[count // 2] = absent[0]
        for change in (self.graph.insert_edges, self.graph.delete_edges, self.graph.has_edges):
            with pytest.raises(GraphError, match=f"edge number {count // 2} goes"):
                change(tails, heads)

    @rule(seed=SEEDS)
    def run_out_of_memory(self, seed):
        if not self.vertices:
            return
        _, tails, heads = self.batch(seed, 200)
        store = self.graph._store
        store.limit = store.bytes_of_arenas
        try:
            new = ~self.graph.has_edges(tails, heads)
            if self.graph.insert_edges(tails, heads, 1, properties={"day": 1, "kind": 1}):
                for tail, head in zip(tails[new].tolist(), heads[new].tolist(), strict=True):
                    self.edges[tail, head] = 1, 1, 1
                    if not self.graph.directed:
                        self.edges[head, tail] = 1, 1, 1
        except DeviceMemoryError:
            pass
        finally:
            store.limit = None

    @rule()
    def empty(self):
        if self.edges:
            tails, heads = map(list, zip(*self.edges, strict=True))
            assert self.graph.delete_edges(tails, heads) == len(self.edges)
            self.edges.clear()
        assert self.graph.memory.edges == 0

    @invariant()
    def equal(self):
        if not hasattr(self, "graph"):
            return
        graph, now = self.graph, self.graph.snapshot()
        assert (graph.n, graph.m) == (self.size, len(self.edges))
        tails = np.repeat(np.arange(self.size), np.diff(now.indptr))
        columns = [tails, now.indices, *(now.values[name] for name in ("weight", "day", "kind"))]
        found = {
            (a, b): tuple(c) for a, b, *c in zip(*map(np.ndarray.tolist, columns), strict=True)
        }
        assert found == self.edges
        assert graph.vertices.tolist() == sorted(self.vertices)
        sizes = graph.vertex_property("size")
        assert [sizes[vertex] for vertex in sorted(self.vertices)] == [
            self.vertices[vertex] for vertex in sorted(self.vertices)
        ]
        self.check_blocks()

    def check_blocks(self):
        """Blocks have room for their rows, do not overlap, and are all counted."""
        store = self.graph._store
        place = store.fetch(store.place, self.size, np.uint32)
        degree = store.fetch(store.degree, self.size, np.int32)
        has = place != 2**32 - 1
        kinds = store.blocks.table[place[has] >> store.blocks.bits, 0] & 255
        starts, rooms = (
            place[has].astype(np.int64),
            np.array([room(int(kind)) for kind in kinds], np.int64),
        )
        assert (degree[has] <= rooms).all()
        assert (degree[~has] <= 0).all()
        order = np.argsort(starts)
        assert (starts[order][1:] >= (starts + rooms)[order][:-1]).all()
        store.read_state()
        taken = store.blocks.blocks_in_use
        assert {c: n for c, n in enumerate(taken) if n} == {
            int(c): int(n) for c, n in zip(*np.unique(kinds, return_counts=True), strict=True)
        }


@pytest.mark.every(2)
@pytest.mark.timeout(0 if STEPS else 300)
def test_random_updates(device, form):
    """The rules and invariants of `World` compare each state with sets of edges."""
    World.device = device
    World.TestCase.settings = settings(
        max_examples=EXAMPLES,
        stateful_step_count=LENGTH,
        deadline=None,
        derandomize=not STEPS,
        suppress_health_check=list(HealthCheck),
    )
    World.TestCase("runTest").runTest()
