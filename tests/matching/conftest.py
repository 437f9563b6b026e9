"""Small networks, and groups of several work-items on devices that use one."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp.matching import Network, on_device


def network(n, edges, labels, seed):
    """A random network."""
    random = np.random.default_rng(seed)
    pairs = random.integers(0, n, (edges, 2))
    return Network.from_edges(
        pairs, random.integers(0, labels, n).astype(str), name=f"random-{seed}"
    )


def part(target, nodes, seed):
    """A connected part of a target, with all edges between its vertices: an exact query."""
    random = np.random.default_rng(seed)
    graph = target.to_networkx()
    chosen = [int(random.choice(np.flatnonzero(target.degrees > 1)))]
    while len(chosen) < nodes:
        around = sorted({v for u in chosen for v in graph[u]} - set(chosen))
        chosen.append(int(random.choice(around)))
    return Network.from_networkx(graph.subgraph(chosen))


@pytest.fixture(params=[1, 8])
def group(request, monkeypatch):
    """The number of work-items of a group."""
    monkeypatch.setattr(on_device, "_group", lambda device: request.param)
    return request.param
