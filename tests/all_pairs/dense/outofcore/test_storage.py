"""The matrix in memory and behind a mapping: what is read and written, and that no page stays."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pyapsp.all_pairs.dense.matrix import initial_distances
from pyapsp.all_pairs.dense.outofcore import storage
from pyapsp.all_pairs.dense.outofcore.files import transfer
from pyapsp.all_pairs.dense.outofcore.initial import fill
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.base import host
from pyapsp.errors import DiskSpaceError, ParameterError, PrecisionError
from pyapsp.graph import Graph
from pyapsp.numbers.precision import DTYPES

KINDS = ("memory", "offset", "npy", "view")
ON_DISK = KINDS[1:]


def values(n, dtype, seed=0):
    return np.random.default_rng(seed).integers(0, 2000, (n, n)).astype(dtype)


def stored(kind, content, folder):
    """An array of this kind with this content."""
    n, dtype = len(content), content.dtype
    path = folder / f"{kind}.bin"
    if kind == "memory":
        array = np.empty((n, n), dtype)
    elif kind == "offset":
        # neither a multiple of a page nor of a value
        array = np.memmap(path, dtype, "w+", offset=4099, shape=(n, n))
    elif kind == "npy":
        array = np.lib.format.open_memmap(path, "w+", dtype, (n, n))
    else:
        # a plain array on a part of a mapping: its own offset is nowhere to be seen
        array = np.asarray(np.memmap(path, dtype, "w+", offset=160, shape=(n + 9, n)))[5 : n + 5]
    array[...] = content
    return array


def staging(shape, dtype, pitch):
    return np.full((shape[0], shape[1] + pitch), 77, dtype)[:, : shape[1]]


@pytest.fixture
def small_parts(monkeypatch):
    """Let small copies be shared by threads, and updates come in chunks."""
    monkeypatch.setattr(storage, "_PART", 1000)
    monkeypatch.setattr(storage, "_CHUNK", 700)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_and_columns_come_and_go(kind, dtype, tmp_path, small_parts):
    n = 61
    expected = values(n, dtype)
    with Matrix(stored(kind, expected, tmp_path), threads=3) as matrix:
        assert (matrix.n, matrix.dtype, matrix.nbytes) == (n, expected.dtype, expected.nbytes)
        assert matrix.on_disk == (kind != "memory")
        new = values(n, dtype, seed=1)
        for first, last in ((0, n), (0, 1), (17, 44), (n - 1, n), (30, 30)):
            for columns in (slice(None), slice(5, 40), slice(60, None), slice(3, 3)):
                for pitch in (0, 7):
                    block = expected[first:last, columns]
                    into = staging((block.shape[0] + 2, block.shape[1] + 3), dtype, pitch)
                    matrix.read(first, last, into, columns)
                    corner = (slice(block.shape[0]), slice(block.shape[1]))
                    np.testing.assert_array_equal(into[corner], block)
                    into[corner] = 77
                    assert (into == 77).all()  # nothing beyond the corner was touched

                    into[corner] = new[first:last, columns]
                    matrix.write(first, last, into, columns)
                    expected[first:last, columns] = new[first:last, columns]
                    np.testing.assert_array_equal(matrix.array, expected)
                    # another value next time
                    new += np.array(1, dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint16"])
@pytest.mark.parametrize("pitch", [0, 5])
def test_minimum_is_taken_in_place(kind, dtype, pitch, tmp_path, small_parts):
    n = 53
    before, other = values(n, dtype), values(n, dtype, seed=1)
    with Matrix(stored(kind, before, tmp_path), threads=2) as matrix:
        for first, last, columns in ((0, n, slice(None)), (11, 40, slice(7, 23)), (4, 4, slice(9))):
            expected = matrix.array.copy()
            source = staging(other[first:last, columns].shape, dtype, pitch)
            source[...] = other[first:last, columns]
            np.minimum(expected[first:last, columns], source, out=expected[first:last, columns])
            matrix.minimum(first, last, source, columns)
            np.testing.assert_array_equal(matrix.array, expected)
            np.testing.assert_array_equal(source, other[first:last, columns])
            other = other // 2


@pytest.mark.parametrize("kind", ON_DISK)
def test_more_rows_than_one_call_takes(kind, tmp_path):
    n = 2 * 1024 + 3
    content = values(n, np.int16)
    with Matrix(stored(kind, content, tmp_path), threads=1) as matrix:
        into = staging((n, n), np.int16, 1)
        matrix.read(0, n, into)
        np.testing.assert_array_equal(into, content)
        into[...] = content.T
        matrix.write(0, n, into)
        np.testing.assert_array_equal(matrix.array, content.T)


@pytest.mark.parametrize(("pitch", "calls"), [(0, 1), (1, 3)])
def test_as_few_calls_as_can_be(pitch, calls, tmp_path, monkeypatch):
    n = 2 * 1024 + 3
    made = []
    read = os.preadv

    def count(descriptor, buffers, offset):
        made.append(len(buffers))
        return read(descriptor, buffers, offset)

    with Matrix(stored("npy", values(n, np.int16), tmp_path), threads=1) as matrix:
        monkeypatch.setattr(os, "preadv", count)
        matrix.read(0, n, staging((n, n), np.int16, pitch))
    assert len(made) == calls


@pytest.mark.parametrize("pitch", [0, 3])
@pytest.mark.parametrize("most", [1, 13, 88, 89, 500])
def test_calls_that_move_only_a_part(most, pitch, tmp_path):
    content = values(22, np.int32)

    def short(operation):
        def call(descriptor, buffers, offset):
            left, some = most, []
            for buffer in buffers:
                some.append(buffer[:left])
                left -= len(some[-1])
                if left == 0:
                    break
            return operation(descriptor, some, offset)

        return call

    with open(tmp_path / "rows", "w+b", buffering=0) as file:
        rows = staging(content.shape, np.int32, pitch)
        rows[...] = content
        transfer(short(os.pwritev), file, 12, rows)
        assert (tmp_path / "rows").read_bytes() == bytes(12) + content.tobytes()
        rows[...] = 0
        transfer(short(os.preadv), file, 12, rows)
        np.testing.assert_array_equal(rows, content)


@pytest.mark.parametrize("kind", KINDS)
def test_many_threads_at_once(kind, tmp_path, small_parts):
    n = 240
    content = values(n, np.float32)
    with (
        Matrix(stored(kind, content, tmp_path), threads=3) as matrix,
        ThreadPoolExecutor(6) as users,
    ):

        def double(first):
            into = np.zeros((12, n + 4), np.float32)
            for columns in (slice(0, 100), slice(100, None)):
                matrix.read(first, first + 12, into, columns)
                into *= 2
                matrix.write(first, first + 12, into, columns)

        for _ in range(3):
            list(users.map(double, range(0, n, 12)))
        np.testing.assert_array_equal(matrix.array, content * 8)


@pytest.mark.parametrize("broken", [0, 20, 40])
def test_an_error_waits_for_the_other_threads(broken, tmp_path, small_parts, monkeypatch):
    # the caller frees its memory when the call is over
    finished = []
    barrier = threading.Barrier(3)
    write = os.pwritev

    def slow(descriptor, buffers, offset):
        barrier.wait(10)
        if offset == 4099 + broken * 240:
            raise OSError(errno.EIO, "broken")
        time.sleep(0.2)
        finished.append(offset)
        return write(descriptor, buffers, offset)

    content = values(60, np.int32)
    with Matrix(stored("offset", content, tmp_path), threads=3) as matrix:
        monkeypatch.setattr(os, "pwritev", slow)
        with pytest.raises(OSError, match="broken"):
            matrix.write(0, 60, content)
        assert len(finished) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_diagonal_and_blocks_of_rows(kind, tmp_path):
    content = values(37, np.float64)
    with Matrix(stored(kind, content, tmp_path)) as matrix:
        diagonal = matrix.diagonal()
        np.testing.assert_array_equal(diagonal, np.diagonal(content))
        diagonal[...] = -1
        seen = []
        for first, block in matrix.rows(8):
            np.testing.assert_array_equal(block, content[first : first + 8])
            assert np.shares_memory(block, matrix.array) == (not matrix.on_disk)
            seen.append((first, len(block)))
        assert seen == [(0, 8), (8, 8), (16, 8), (24, 8), (32, 5)]
        np.testing.assert_array_equal(matrix.array, content)  # the diagonal was a copy


@pytest.mark.parametrize("kind", ["memory", "npy"])
def test_no_vertices(kind, tmp_path):
    with Matrix(stored(kind, np.empty((0, 0), np.int32), tmp_path)) as matrix:
        matrix.read(0, 0, np.empty((0, 0), np.int32))
        matrix.write(0, 0, np.empty((4, 4), np.int32))
        matrix.minimum(0, 0, np.empty((0, 3), np.int32))
        matrix.flush()
        assert matrix.diagonal().shape == (0,)
        assert list(matrix.rows(5)) == []


def test_flush_syncs_the_file_of_the_matrix(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    array = stored("offset", values(9, np.int32), tmp_path)
    with Matrix(array) as matrix:
        matrix.flush()
    assert synced == [(tmp_path / "offset.bin").stat().st_ino]


def untraceable(kind, content, folder):
    """A mapping whose file is not to be reached, or not meant to be, and the file to watch."""
    path = folder / "matrix.bin"
    watched = path
    if kind == "nameless":
        with tempfile.TemporaryFile() as file:
            array = np.memmap(file, content.dtype, "w+", shape=content.shape)
            array[...] = content
        return array, None
    content.tofile(path)
    array = np.memmap(path, content.dtype, "c" if kind == "copy" else "r+", shape=content.shape)
    if kind == "deleted":
        path.unlink()
        watched = None
    elif kind == "replaced":
        path.rename(folder / "moved.bin")
        path.write_bytes(bytes(content.nbytes))
    elif kind == "replaced by a short one":
        path.rename(folder / "moved.bin")
        path.write_bytes(b"mine")
    elif kind == "replaced by a folder":
        path.unlink()
        path.mkdir()
        watched = None
    return array, watched


@pytest.mark.parametrize(
    "kind",
    [
        "nameless",
        "copy",
        "deleted",
        "replaced",
        "replaced by a short one",
        "replaced by a folder",
    ],
)
def test_a_mapping_without_its_file_is_plain_memory(kind, tmp_path):
    content = values(40, np.int32)
    array, watched = untraceable(kind, content, tmp_path)
    before = watched and watched.read_bytes()
    with Matrix(array) as matrix:
        assert not matrix.on_disk
        into = np.empty((40, 40), np.int32)
        matrix.read(0, 40, into)
        np.testing.assert_array_equal(into, content)
        matrix.write(0, 40, content.T.copy())
        np.testing.assert_array_equal(array, content.T)
    assert (watched and watched.read_bytes()) == before


def test_looking_for_the_file_leaves_the_matrix_as_it_was(tmp_path):
    content = values(8, np.uint16)
    array = stored("view", content, tmp_path)
    before = (tmp_path / "view.bin").read_bytes()
    with Matrix(array):
        pass
    assert (tmp_path / "view.bin").read_bytes() == before
    np.testing.assert_array_equal(array, content)


RESIDENT = """
import sys, numpy as np
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.graph import Graph
from pyapsp.all_pairs.dense.outofcore.initial import fill

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

n = 5120
array = np.memmap(sys.argv[1], np.int64, "w+", shape=(n, n))
assert array.nbytes == 200 * 2**20
block = np.ones((256, n + 8), np.int64)
before = resident()
with Matrix(array, threads=2) as matrix:
    fill(matrix, Graph.from_arcs(n, [0], [1], [5]), rows=256)
    for first in range(0, n, 256):
        matrix.write(first, first + 256, block)
        matrix.minimum(first, first + 256, block)
        matrix.read(first, first + 256, block)
        assert (block[:, :n] == 1).all()
    assert matrix.diagonal().sum() == n
    for first, rows in matrix.rows(256):
        assert rows.sum() == rows.size
    matrix.flush()
after = resident()
assert array.sum() == n * n  # and the mapping shows it
print(before, after, resident())
"""


def test_resident_memory_stays_small(tmp_path):
    before, after, mapped = map(
        int,
        subprocess.run(
            [sys.executable, "-c", RESIDENT, str(tmp_path / "matrix.bin")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split(),
    )
    assert after - before < 60 * 2**20  # blocks of 10 MiB
    assert mapped - before > 190 * 2**20  # else nothing was measured


def test_a_full_disk_is_an_error_with_numbers(tmp_path, monkeypatch):
    content = values(20, np.int32)
    with Matrix(stored("npy", content, tmp_path)) as matrix:

        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "pwritev", full)
        with pytest.raises(DiskSpaceError, match="file of the matrix") as caught:
            matrix.write(2, 7, content)
    assert caught.value.needed == 5 * 20 * 4
    assert caught.value.available > 0
    assert caught.value.errno == errno.ENOSPC
    assert isinstance(caught.value, OSError)


def test_a_file_cut_short_is_an_error(tmp_path):
    content = values(90, np.float64)
    with Matrix(stored("offset", content, tmp_path)) as matrix:
        os.truncate(tmp_path / "offset.bin", 4099 + 50 * 720)
        into = np.empty_like(content)
        matrix.read(0, 50, into)
        with pytest.raises(OSError, match=r"ends too early.*offset\.bin"):
            matrix.read(50, 51, into)


@pytest.mark.parametrize(
    "array",
    [
        np.empty((3, 4)),
        np.empty(9),
        np.empty((4, 4), order="F"),
        np.empty((4, 8))[:, ::2],
        np.frombuffer(bytes(36), np.int32).reshape(3, 3),
    ],
    ids=["oblong", "flat", "by columns", "strided", "read-only"],
)
def test_arrays_that_are_no_matrix(array):
    with pytest.raises(ParameterError, match="'array' parameter of Matrix"):
        Matrix(array)


@pytest.mark.parametrize("kind", ["memory", "npy"])
@pytest.mark.parametrize("name", ["read", "write", "minimum"])
def test_ranges_and_memory_that_do_not_fit(name, kind, tmp_path):
    memory = np.zeros((10, 10), np.int32)
    with Matrix(stored(kind, values(10, np.int32), tmp_path)) as matrix:
        call = getattr(matrix, name)
        for first, last in ((-1, 3), (4, 3), (0, 11)):
            with pytest.raises(ParameterError, match=f"'first, last' parameter of Matrix.{name}"):
                call(first, last, memory)
        for columns in (slice(0, 8, 2), slice(None, None, -1), slice(5, 4)):
            with pytest.raises(ParameterError, match="'columns'"):
                call(0, 3, memory, columns)
        for wrong in (
            memory[:2],
            memory[:, :9],
            memory.astype(np.float32),
            memory.T,
            memory.reshape(-1),
            np.zeros((10, 20), np.int32)[:, ::2],
        ):
            with pytest.raises(ParameterError, match=r"at least \(3, 10\) values of int32"):
                call(0, 3, wrong)
    with pytest.raises(ParameterError, match="'threads'"):
        Matrix(memory, threads=0)


def random_graph(n, dtype, seed):
    """Arcs with self-loops, negative ones among them; about a third of the vertices without."""
    rng = np.random.default_rng(seed)
    some = rng.permutation(n)[: max(1, 2 * n // 3)]
    tails, heads = rng.choice(some, (2, 4 * n))
    heads[: n // 2] = tails[: n // 2]
    lowest = 0 if np.dtype(dtype).kind == "u" else -50
    return Graph.from_arcs(n, tails, heads, rng.integers(lowest, 1000, 4 * n))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 7, None])
def test_the_first_distances(rows, dtype, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(host, "_SHARE", 400)  # several threads share 45 rows
    monkeypatch.setattr(host, "cores", lambda: 3)
    for n in (1, 2, 45):
        graph = random_graph(n, dtype, seed=n)
        expected = np.empty((n, n), dtype)
        initial_distances(graph, expected)
        folder = tmp_path / str(n)
        folder.mkdir()
        with Matrix(stored(kind, np.full((n, n), 3, dtype), folder)) as matrix:
            fill(matrix, graph, rows=rows)
            np.testing.assert_array_equal(matrix.array, expected)
    if np.dtype(dtype).kind != "u":
        assert (np.diagonal(expected) < 0).any()


def test_the_first_distances_of_some_rows():
    graph = random_graph(45, "int32", seed=1)
    expected = np.empty((45, 45), np.int32)
    initial_distances(graph, expected)
    with Matrix(np.full((20, 45), 3, np.int32), first=13) as matrix:
        fill(matrix, graph, rows=7)
        np.testing.assert_array_equal(matrix.array, expected[13:33])


def test_the_first_distances_without_arcs_and_without_vertices():
    for n in (0, 1, 5):
        graph = Graph.from_arcs(n, [], [])
        expected = np.empty((n, n), np.int32)
        initial_distances(graph, expected)
        with Matrix(np.full((n, n), 3, np.int32)) as matrix:
            fill(matrix, graph)
            np.testing.assert_array_equal(matrix.array, expected)


def test_fill_refuses_what_does_not_fit():
    graph = Graph.from_arcs(3, [0], [1], [40000])
    with (
        Matrix(np.empty((3, 3), np.int16)) as matrix,
        pytest.raises(PrecisionError, match="too large for int16"),
    ):
        fill(matrix, graph)
    with (
        Matrix(np.empty((4, 4))) as matrix,
        pytest.raises(ParameterError, match=r"of 3 columns\. Got 4"),
    ):
        fill(matrix, graph)
