"""A driver that fails at any call of an update: the graph is as before, or as after it."""

from __future__ import annotations

import itertools
import signal
from contextlib import ExitStack, suppress
from unittest import mock

import numpy as np
import pyopencl as cl
import pytest
from pyopencl import _cl

from pyapsp.dynamic import Hornet, PathRows, TriangleCounts
from pyapsp.dynamic.formats import FORMATS
from pyapsp.errors import DeviceMemoryError, KernelBuildError
from pyapsp.graph import Graph

N = 40
RANDOM = np.random.default_rng(4)
OLD, NEW = RANDOM.integers(0, N, (2, 300)), RANDOM.integers(0, N, (2, 500))
WEIGHTS = RANDOM.integers(1, 9, 500)
MORE = {"weights": WEIGHTS, "properties": {"kind": WEIGHTS}}


def container(device, directed=True):
    graph = Hornet(
        N,
        directed=directed,
        weight="int64",
        edge_properties={"kind": "uint8"},
        vertex_properties={"size": "int8"},
        block_array=16,  # so that an update needs new blocks and returns others
        device=device,
    )
    graph.insert_edges(*OLD, WEIGHTS[:300], properties={"kind": 1}, duplicates="keep")
    graph.release_scratch()
    return graph


def with_deleted(device):
    graph = container(device)
    graph.delete_vertices(np.arange(9))
    graph.release_scratch()
    return graph


def content(graph):
    """Return the edges in a fixed order, and all else that a container has."""
    now = graph.snapshot()
    tails = np.repeat(np.arange(graph.n), np.diff(now.indptr))
    columns = tails, now.indices, *now.values.values()
    edges = sorted(zip(*map(np.ndarray.tolist, columns), strict=True))
    vertices = graph.vertices.tolist(), graph.vertex_property("size").tolist()
    check_device(graph._store, graph._vertices.there)
    return edges, graph.m, graph.degree().tolist(), *vertices


def check_device(store, there):
    """No block is lost, and the vertices are those that the host knows."""
    places = store.fetch(store.place, there.size, np.uint32)
    assert ((store.fetch(store.degree, there.size, np.int32) >= 0) == there).all()
    store.read_state()
    assert sum(store.blocks.blocks_in_use) == np.count_nonzero(places != 2**32 - 1)


def both_ways(device):
    return container(device, directed=False)


def counted(device):
    graph = Hornet(N, directed=False, device=device)
    counts = TriangleCounts(graph)
    counts.insert_edges(*OLD)
    return counts


def triangles(counts):
    heads = counts._container.snapshot().indices.tolist()
    return heads, counts._container.m, counts.total, counts.per_vertex.tolist()


def rows(device):
    graph = Hornet(N, device=device)
    paths = PathRows(graph, [0, 5])
    paths.insert_edges(*OLD[:, :30])
    return paths


def lengths(paths):
    return paths._container.snapshot().indices.tolist(), paths.lengths.tolist()


def compressed(device):
    return FORMATS["CSR"](Graph.from_arcs(N, *OLD), device=device)


def on_the_device(form):
    """Return the heads of the host, and those of the device."""
    heads = np.empty(form.m, np.int32)
    cl.enqueue_copy(form.device.queue(), heads, form._buffers[1])
    return form.to_csr().indices.tolist(), heads.tolist(), form.rebuilt


UPDATES = {
    "ignore": (container, content, lambda graph: graph.insert_edges(*NEW, **MORE)),
    "update": (
        both_ways,
        content,
        lambda graph: graph.insert_edges(*NEW, **MORE, duplicates="update"),
    ),
    "keep": (container, content, lambda graph: graph.insert_edges(*NEW, **MORE, duplicates="keep")),
    "delete": (both_ways, content, lambda graph: graph.delete_edges(*OLD[:, :200])),
    "stable": (container, content, lambda graph: graph.delete_edges(*OLD[:, :200], stable=True)),
    "delete vertices": (container, content, lambda graph: graph.delete_vertices(np.arange(9))),
    "insert vertices": (container, content, lambda graph: graph.insert_vertices(70, {"size": 3})),
    "insert deleted": (with_deleted, content, lambda graph: graph.insert_vertices(7, {"size": 3})),
    "triangles, insert": (counted, triangles, lambda counts: counts.insert_edges(*NEW)),
    "triangles, delete": (counted, triangles, lambda counts: counts.delete_edges(*OLD[:, :200])),
    "paths, insert": (rows, lengths, lambda paths: paths.insert_edges(*NEW[:, :9])),
    "CSR": (compressed, on_the_device, lambda form: form.delete_edges(*OLD[:, :9])),
    "paths, delete": (rows, lengths, lambda paths: paths.delete_edges(*OLD[:, :9])),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in UPDATES for kind in ("late allocation", "no memory")],
)
def test_an_update_that_fails_anywhere_is_whole(name, kind, device, faults):
    make, read, update = UPDATES[name]
    subject = make(device)
    before = read(subject)
    with faults(kind).at_work() as undisturbed:
        update(subject)
    after, unchanged = read(subject), 0
    assert after != before
    subject = make(device)
    for place in range(1, undisturbed.calls + 1):
        expected = [after]
        try:
            with faults(kind, place).at_work():
                update(subject)
        except DeviceMemoryError:
            expected = [before, after]
        now = read(subject)
        assert now in expected, place
        unchanged += now == before
        if now == after:
            subject = make(device)
    update(subject)
    assert read(subject) == after
    assert unchanged


def test_an_update_whose_kernels_are_not_built_is_whole(device, faults):
    """The fifth arena needs all kernels anew, and the host has no memory for one of them."""
    ends = np.random.default_rng(9).integers(0, N, (2, 3000))

    def four_arenas():
        graph, edges = container(device), 300
        while len(graph._store.blocks.arenas) < 4:
            edges += 40
            graph.insert_edges(*ends[:, :edges], duplicates="keep")
        return graph

    graph, refused = four_arenas(), (DeviceMemoryError, KernelBuildError)
    before = content(graph)
    with faults("kernels").at_work() as undisturbed:
        graph.insert_edges(*ends, duplicates="keep")
    assert len(graph._store.blocks.arenas) > 4
    for place in range(1, undisturbed.calls + 1):
        graph = four_arenas()
        with faults("kernels", place).at_work(), pytest.raises(refused):
            graph.insert_edges(*ends, duplicates="keep")
        assert content(graph) == before, place


class Interrupts:
    """Interrupts this process when the command of this number has been enqueued; `calls` so far."""

    def __init__(self, place):
        self.place, self.calls = place, 0

    def __enter__(self):
        self._patches = ExitStack()
        for name in dir(_cl):
            if name.startswith(("enqueue_", "_enqueue_")):
                self._patches.enter_context(mock.patch.object(_cl, name, self._then(name)))
        return self

    def __exit__(self, *error):
        self._patches.close()

    def _then(self, name):
        call = getattr(_cl, name)

        def interrupted(*arguments, **options):
            event = call(*arguments, **options)
            self.calls += 1
            if self.calls == self.place:
                signal.raise_signal(signal.SIGINT)
            return event

        return interrupted


@pytest.mark.parametrize("name", [name for name in UPDATES if name != "CSR"])
def test_an_update_that_is_interrupted_anywhere_is_whole(name, device):
    make, read, update = UPDATES[name]
    subject = make(device)
    before = read(subject)
    update(subject)
    after = read(subject)
    for place in itertools.count(1):
        subject = make(device)
        with suppress(KeyboardInterrupt), Interrupts(place) as interrupts:
            update(subject)
        if interrupts.calls < place:
            break
        now = read(subject)
        assert now in [before, after], place
        if now == before:
            update(subject)
            assert read(subject) == after, place
