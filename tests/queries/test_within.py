"""`within` against SciPy and a search in Python; memory, blocks, files, wrong arguments."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse import csgraph

import pyapsp
from pyapsp.errors import (
    DeviceMemoryError,
    GraphError,
    NegativeWeightError,
    ParameterError,
    PrecisionError,
)
from pyapsp.graph import Graph
from pyapsp.graph.io import archive
from pyapsp.queries import range_rows
from pyapsp.queries.sharing import start

from .drawn import assert_path, drawn


def dense(found):
    """Return the matrix with inf where there is no entry."""
    rows = np.full(found.distances.shape, np.inf)
    entries = found.distances.tocoo()
    rows[entries.row, entries.col] = entries.data
    return rows


def scipy_rows(graph, sources, cutoff):
    limit = np.inf if cutoff is None else cutoff
    # the sparse matrix of a Graph has explicit zeros, which SciPy's searches walk
    return csgraph.dijkstra(graph.to_scipy().astype(float), indices=sources, limit=limit)


@pytest.mark.parametrize("host", [True, False])
@pytest.mark.parametrize("kind", ["whole", "real"])
def test_many_graphs_as_scipy_does(kind, host, monkeypatch, device):
    if not host:
        monkeypatch.setattr(range_rows, "HostSearch", None)
        monkeypatch.setattr(range_rows, "_DENSE", 0)
    for seed in range(40):
        graph = drawn(seed, n=5 + 3 * seed, kind=kind)
        for cutoff in (0, 1, 2.5, None):
            found = pyapsp.within(graph, cutoff=cutoff, device=device)
            expected = scipy_rows(graph, None, cutoff)
            np.testing.assert_array_equal(dense(found), expected)
            assert found.distances.has_canonical_format
            assert found.distances.nnz == np.isfinite(expected).sum()


@pytest.mark.parametrize(
    "other",
    [
        {},
        *({"dtype": each} for each in ("int64", "int16", "float32")),
        {"sources": [63, 0]},
        {"cutoff": None, "sources": [63, 0]},
        {"cutoff": 99},
        {"predecessors": True},
        {"kind": "gpu"},
    ],
    ids=str,
)
def test_short_searches_on_a_cpu_are_no_launches(other, monkeypatch, device):
    """Not without a cutoff, with predecessors, on a GPU, or if the first one goes far."""
    graph = Graph.from_arcs(64, [0, *range(63)], [2, *range(1, 64)], [3, *[1] * 63])
    options = {"sources": range(0, 64, 7), "cutoff": 2.5, "device": device} | other
    monkeypatch.setitem(vars(device), "kind", options.pop("kind", "cpu"))
    monkeypatch.setattr(range_rows, "_VISITS", 10 * 8)
    launches, told = [], []
    monkeypatch.setattr(range_rows, "start", lambda *given: launches.append(start(*given)))
    found = pyapsp.within(graph, **options, progress=lambda *step: told.append(step))
    assert pyapsp.dry_run(pyapsp.within, graph, **options).device_bytes > 0
    far = {"cutoff", "predecessors", "kind"} & other.keys()
    assert len(launches) == bool(far)
    monkeypatch.setattr(range_rows, "_DENSE", 0)
    expected = pyapsp.within(graph, **options)
    for name in ("data", "indices", "indptr"):
        one, two = (getattr(each.distances, name) for each in (found, expected))
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)
    assert told[-1] == (found.sources.size, found.sources.size)


def predecessors_by_rule(graph, source):
    """Find the predecessors of all vertices in Python, after the rule of the docstring."""
    before, cost, left = {}, {source: 0}, set()
    while True:
        waiting = [v for v in cost if v not in left]
        if not waiting:
            return before
        u = min(waiting, key=cost.get)
        left.add(u)
        for arc in range(graph.indptr[u], graph.indptr[u + 1]):
            v, offer = int(graph.indices[arc]), cost[u] + graph.weights[arc]
            if v in left:
                continue
            if v not in cost or offer < cost[v]:
                cost[v], before[v] = offer, u
            elif offer == cost[v] and u < before[v]:
                before[v] = u


def test_the_smallest_predecessor_is_taken(device):
    for seed in range(12):
        graph = drawn(seed)
        graph = graph.with_weights(graph.weights + 1)
        found = pyapsp.within(graph, predecessors=True, device=device)
        for row in range(0, graph.n, 7):
            some = slice(*found.predecessors.indptr[row : row + 2])
            there = found.predecessors.indices[some].tolist()
            before = dict(zip(there, found.predecessors.data[some].tolist(), strict=True))
            assert before.pop(row) == -9999
            assert before == predecessors_by_rule(graph, row)


def test_paths_have_the_length_of_the_distance(device):
    for seed in range(12):
        graph = drawn(seed, kind="real" if seed % 2 else "whole")
        arcs = graph.to_scipy().todok()
        found = pyapsp.within(graph, [5, 0, 5], 3, predecessors=True, device=device)
        rows = dense(found)
        for row, source in enumerate([5, 0, 5]):
            for v in range(graph.n):
                assert_path(found.path(v, row), arcs, source, v, rows[row, v])


@pytest.mark.every(3)
@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "int16", "uint16", "auto"])
def test_every_type(dtype, device):
    graph = drawn(4)
    found = pyapsp.within(graph, [3, 1], 6, dtype=dtype, device=device)
    assert dtype == "auto" or found.distances.dtype == dtype
    np.testing.assert_array_equal(dense(found), scipy_rows(graph, [3, 1], 6))


def test_the_directions_of_arcs(device):
    graph = drawn(4)
    found = pyapsp.within(graph, cutoff=4, directed=False, device=device)
    np.testing.assert_array_equal(dense(found), scipy_rows(graph.symmetrized(), None, 4))


def test_distances_beyond_the_type(device):
    line = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [9000, 9000, 9000])
    with pytest.raises(PrecisionError, match="too large for int16"):
        pyapsp.within(line, 0, dtype="int16", device=device)
    found = pyapsp.within(line, 0, 9000, dtype="int16", device=device)
    assert found.distances.data.tolist() == [0, 9000]
    # what a longer way cannot reach, a shorter one can
    both = Graph.from_arcs(4, [0, 1, 0, 2], [1, 3, 2, 3], [9000, 9000, 9001, 1])
    found = pyapsp.within(both, 0, dtype="int16", device=device)
    assert found.distances.data.tolist() == [0, 9000, 9001, 9002]


@pytest.mark.parametrize("values", [1, 64, 1000])
def test_blocks_of_any_size(values, monkeypatch, device):
    graph = drawn(7, n=150)
    expected = pyapsp.within(graph, device=device, predecessors=True)
    both = dict.fromkeys((True, False), values)
    monkeypatch.setattr("pyapsp.queries.range_rows._VALUES", both)
    found = pyapsp.within(graph, device=device, predecessors=True)
    assert (found.distances != expected.distances).nnz == 0
    np.testing.assert_array_equal(found.predecessors.data, expected.predecessors.data)
    parts, told = [], []
    for part in pyapsp.within_blocks(
        graph, device=device, progress=lambda done, total: told.append((done, total))
    ):
        assert part.sources[0] == sum(each.sources.size for each in parts)
        parts.append(part)
    rows = scipy.sparse.vstack([part.distances for part in parts])
    assert (rows != expected.distances).nnz == 0
    assert told[-1] == (150, 150)


@pytest.mark.parametrize("predecessors", [False, True])
def test_blocks_are_saved_as_they_end(predecessors, tmp_path, monkeypatch, device):
    monkeypatch.setattr(range_rows, "_DENSE", 0)
    graph = drawn(7, n=150)
    options = {"predecessors": predecessors, "device": device}
    monkeypatch.setattr("pyapsp.queries.range_rows._VALUES", dict.fromkeys((True, False), 900))
    whole = pyapsp.within(graph, cutoff=9, **options)
    whole.save(tmp_path / "whole.npz")
    blocks = pyapsp.within_blocks(graph, cutoff=9, **options)
    assert blocks.save(tmp_path / "blocks.npz") == whole.distances.nnz
    assert sorted(each.name for each in tmp_path.iterdir()) == ["blocks.npz", "whole.npz"]
    with np.load(tmp_path / "whole.npz") as one, np.load(tmp_path / "blocks.npz") as other:
        assert set(one.files) == set(other.files)
        for name in one.files:
            assert one[name].dtype == other[name].dtype
            np.testing.assert_array_equal(one[name], other[name])
    # what was yielded before is not saved
    blocks = pyapsp.within_blocks(graph, cutoff=9, **options)
    first = next(blocks).distances.shape[0]
    assert 0 < first < 150
    blocks.save(tmp_path / "rest.npz")
    rest = scipy.sparse.load_npz(tmp_path / "rest.npz")
    assert (rest != whole.distances[first:]).nnz == 0
    assert list(blocks) == []
    assert blocks.save(tmp_path / "nothing.npz") == 0
    assert scipy.sparse.load_npz(tmp_path / "nothing.npz").shape == (0, 150)


def test_rows_that_were_lost_are_not_left_out(tmp_path, monkeypatch, device):
    """A full disk at the second block; there is room again when the caller tries once more."""
    monkeypatch.setattr(range_rows, "_DENSE", 0)
    monkeypatch.setattr("pyapsp.queries.range_rows._VALUES", dict.fromkeys((True, False), 900))
    add, calls = archive.Pieces.add, []

    def full(self, **arrays):
        calls.append(arrays)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        add(self, **arrays)

    monkeypatch.setattr(archive.Pieces, "add", full)
    blocks = pyapsp.within_blocks(drawn(7, n=150), cutoff=9, device=device)
    with pytest.raises(OSError, match="No space left"):
        blocks.save(tmp_path / "a.npz")
    for again in (lambda: blocks.save(tmp_path / "a.npz"), lambda: next(blocks)):
        with pytest.raises(ParameterError, match="rows are lost: call within_blocks again"):
            again()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("predecessors", [False, True])
def test_blocks_are_saved_as_a_zarr_store(predecessors, tmp_path, monkeypatch, device, zarr):
    drawn_one, labels = drawn(7, n=150), [f"v{each}" for each in range(150)]
    rows = drawn_one.indptr, drawn_one.indices, drawn_one.weights
    graph = Graph(*rows, directed=drawn_one.directed, labels=labels)
    options = {"cutoff": 9, "predecessors": predecessors, "device": device}
    monkeypatch.setattr("pyapsp.queries.range_rows._VALUES", dict.fromkeys((True, False), 900))
    whole = pyapsp.within(graph, **options)
    blocks = pyapsp.within_blocks(graph, **options)
    assert blocks.save(tmp_path / "near.zarr") == whole.distances.nnz
    found = zarr.open_group(tmp_path / "near.zarr", mode="r")
    about = {"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": [150, 150]}
    assert found.attrs.asdict() == about
    arrays = {name: getattr(whole.distances, name) for name in ("data", "indices", "indptr")}
    arrays |= {"sources": whole.sources, "labels": whole.labels}
    if predecessors:
        arrays["predecessors"] = whole.predecessors.data
    assert set(found.array_keys()) == set(arrays)
    for name, expected in arrays.items():
        assert found[name].dtype == expected.dtype
        np.testing.assert_array_equal(found[name][:], expected)


def test_no_file_is_left_of_blocks_that_end_with_an_error(tmp_path, device):
    line = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [9000, 9000, 9000])
    with pytest.raises(PrecisionError, match="too large for int16"):
        pyapsp.within_blocks(line, dtype="int16", device=device).save(tmp_path / "a.npz")
    with pytest.raises(PrecisionError, match="too large for int16"):
        pyapsp.within_blocks(line, dtype="int16", device=device).save(tmp_path / "a.zarr")
    with pytest.raises(ParameterError, match="to_frame"):
        pyapsp.within_blocks(line, device=device).save(tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []


def test_no_sources_and_no_vertices(device):
    assert pyapsp.within(drawn(1), [], 3, device=device).distances.shape == (0, 60)
    nothing = pyapsp.within(Graph.from_arcs(0, [], []), cutoff=3, device=device)
    assert nothing.distances.shape == (0, 0)
    alone = pyapsp.within(Graph.from_arcs(1, [], []), cutoff=3, device=device)
    assert alone.distances.nnz == 1


def test_labels_files_and_frames(tmp_path, device):
    edges = {"source": ["a", "a", "b"], "target": ["b", "c", "c"], "weight": [1, 5, 2]}
    graph = pyapsp.graph.from_frame(edges)
    found = pyapsp.within(graph, [1, 0], 2, predecessors=True, device=device)
    frame = found.to_frame()
    assert frame.source.tolist() == ["b", "b", "a", "a"]
    assert frame.vertex.tolist() == ["b", "c", "a", "b"]
    assert frame.distance.tolist() == [0, 2, 0, 1]
    assert frame.predecessor.fillna("").tolist() == ["", "b", "", "a"]
    found.save(tmp_path / "near.npz")
    rows = scipy.sparse.load_npz(tmp_path / "near.npz")
    assert rows.nnz == 4
    assert (rows != found.distances).nnz == 0
    with np.load(tmp_path / "near.npz") as arrays:
        assert arrays["labels"].tolist() == ["a", "b", "c"]
        assert arrays["predecessors"].tolist() == found.predecessors.data.tolist()
    with pytest.raises(ParameterError, match=r"npz"):
        found.save(tmp_path / "near.csv")
    mixed = pyapsp.within(Graph.from_arcs(2, [0], [1], labels=["a", 1]), device=device)
    with pytest.raises(GraphError, match="labels"):
        mixed.save(tmp_path / "mixed.npz")
    assert repr(found) == "<Within: sources=2, n=3, entries=4>"


def test_wrong_arguments(device):
    graph = drawn(1)
    with pytest.raises(ParameterError, match="'cutoff' parameter of within must"):
        pyapsp.within(graph, cutoff=-1)
    with pytest.raises(ParameterError, match="'sources' parameter of within must"):
        pyapsp.within(graph, [60], 3)
    with pytest.raises(NegativeWeightError, match="within needs non-negative weights"):
        pyapsp.within(Graph.from_arcs(2, [0], [1], [-1]), cutoff=3, device=device)
    with pytest.raises(PrecisionError, match="int32"):
        pyapsp.within(drawn(1, kind="real"), cutoff=3, dtype="int32", device=device)
    with pytest.raises(DeviceMemoryError, match="memory_limit"):
        pyapsp.within(graph, cutoff=3, memory_limit=1000, device=device)
    with pytest.raises(ParameterError, match="a type that sparse arrays of SciPy hold"):
        pyapsp.within(graph, dtype="float16", device=device)
    found = pyapsp.within(graph, cutoff=3, device=device)
    with pytest.raises(ParameterError, match="predecessors=True"):
        found.path(3)


def test_an_interrupted_run(device):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pyapsp.within(drawn(1), cutoff=3, progress=stop, device=device)


MEASURED = """
import sys
import pyapsp
from pyapsp.graph import generators

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024

graph = generators.grid_2d(150, 150, seed=1)
pyapsp.within(graph, range(2000), 1100, device=sys.argv[1])
before = peak()
found = pyapsp.within(graph, cutoff=1100, device=sys.argv[1])
print(found.distances.data.nbytes + found.distances.indices.nbytes, peak() - before)
"""


def test_the_memory_is_that_of_the_answer(device):
    words = [sys.executable, "-c", MEASURED, device.id]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    size, grown = map(int, done.stdout.split())
    assert size > 2**25
    assert grown < 1.5 * size
