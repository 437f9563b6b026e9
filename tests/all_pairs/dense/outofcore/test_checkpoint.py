"""Snapshots: what comes back, what is refused, and what a kill at any moment leaves behind."""

from __future__ import annotations

import errno
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pyapsp.all_pairs.dense.outofcore import checkpoint as module
from pyapsp.all_pairs.dense.outofcore import manifest
from pyapsp.all_pairs.dense.outofcore.checkpoint import Checkpoint
from pyapsp.all_pairs.dense.outofcore.interval import Interval
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.errors import CheckpointError, DiskSpaceError, ParameterError
from pyapsp.numbers.precision import DTYPES

N = 50
SUBJECT = {
    "graph": "0123abcd",
    "n": N,
    "dtype": "int32",
    "parameters": {"b": 16, "pivot": "products", "bits": True},
}
STATE = {"pass": 3, "done": [[0, 16], [32, 40]], "seconds": 1e-07}


def values(seed=0, n=N, dtype="int32"):
    return np.random.default_rng(seed).integers(0, 2000, (n, n)).astype(dtype)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Seven rows of the matrix in a block, so that there are eight, the last one short."""
    monkeypatch.setattr(module, "_BLOCK", 7 * N * 4 + 3)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "folder"


def save(folder, content, state=STATE, subject=SUBJECT):
    with Matrix(content) as matrix, Checkpoint(folder, subject) as checkpoint:
        return checkpoint.save(matrix, state)


def load(folder, n=N, dtype="int32", subject=SUBJECT):
    with Matrix(np.full((n, n), 5, dtype)) as matrix, Checkpoint(folder, subject) as checkpoint:
        return checkpoint.load(matrix), matrix.array


def refused(folder, **changes):
    """The reason of the refusal, and nothing was written before it."""
    untouched = np.full((N, N), 5, np.int32)
    with (
        pytest.raises(CheckpointError) as caught,
        Matrix(untouched) as matrix,
        Checkpoint(folder, SUBJECT | changes) as checkpoint,
    ):
        checkpoint.load(matrix)
    assert (untouched == 5).all()
    return str(caught.value)


def files(folder):
    """The names of files, but for those of the lock."""
    return sorted({path.name for path in folder.iterdir()} - {"holder", "lock"})


def data_file(folder):
    (path,) = folder.glob("distances-*.bin")
    return path


def assert_whole(folder, content, state=STATE):
    """The folder has this snapshot and nothing else."""
    assert files(folder) == sorted([data_file(folder).name, "manifest.json"])
    answer, array = load(folder)
    assert answer == state
    np.testing.assert_array_equal(array, content)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["memory", "mapped"])
@pytest.mark.parametrize("n", [0, 1, N])
def test_a_snapshot_comes_back(n, kind, dtype, tmp_path, folder):
    def array(name):
        if kind == "memory":
            return np.full((n, n), 5, dtype)
        return np.lib.format.open_memmap(tmp_path / name, "w+", dtype, (n, n))

    subject = SUBJECT | {"n": n, "dtype": dtype}
    before, after = array("before.npy"), array("after.npy")
    before[...] = values(n=n, dtype=dtype)
    with Matrix(before) as matrix, Checkpoint(folder, subject) as checkpoint:
        assert checkpoint.load(matrix) is None
        assert checkpoint.predict(matrix) >= 0
        assert checkpoint.save(matrix, STATE) > 0
    np.testing.assert_array_equal(before, values(n=n, dtype=dtype))
    with Matrix(after) as matrix, Checkpoint(folder, subject) as checkpoint:
        assert checkpoint.load(matrix) == STATE
    np.testing.assert_array_equal(after, before)


def test_the_newest_snapshot_is_the_only_one(folder):
    with Matrix(values()) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        for number in range(4):
            matrix.array[...] = values(number)
            checkpoint.save(matrix, {"pass": number})
            assert len(files(folder)) == 2
            matrix.array[...] = 0
            assert checkpoint.load(matrix) == {"pass": number}
            np.testing.assert_array_equal(matrix.array, values(number))
    assert_whole(folder, values(3), {"pass": 3})


def test_infinity_and_nan_keep_their_bits(folder):
    content = values(dtype="float64")
    content[3, 4:7] = np.inf, -np.inf, np.nan
    with Matrix(content) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        checkpoint.save(matrix, STATE)
        before = content.tobytes()
        content[...] = 0
        checkpoint.load(matrix)
    assert content.tobytes() == before


def test_blocks_of_another_size_are_read(folder, monkeypatch):
    save(folder, values())
    monkeypatch.setattr(module, "_BLOCK", 3 * N * 4)
    assert_whole(folder, values())


def test_a_row_may_be_longer_than_a_block(folder, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 20)
    save(folder, values())
    assert len(json.loads((folder / "manifest.json").read_text())["data"]["crc32"]) == N
    assert_whole(folder, values())


def test_removing_leaves_an_empty_folder(folder):
    with Matrix(values()) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        checkpoint.remove()  # nothing to remove
        checkpoint.save(matrix, STATE)
        checkpoint.remove()
        assert checkpoint.load(matrix) is None
        assert files(folder) == []
        checkpoint.save(matrix, STATE)
        checkpoint.remove()
    assert files(folder) == []


def test_what_killed_saves_left_is_removed_and_nothing_else(folder):
    save(folder, values())
    names = {"notes.txt", "distances-1.bin", "distances-0123456789abcdef.bin.old", "manifest.json~"}
    stray = {"distances-0123456789abcdef.bin", ".manifest.json.x_7a"}
    for name in names | stray:
        (folder / name).write_text("x")
    with Checkpoint(folder, SUBJECT):
        pass
    assert set(files(folder)) == names | {data_file_named_in(folder), "manifest.json"}
    answer, array = load(folder)
    assert answer == STATE
    np.testing.assert_array_equal(array, values())


def data_file_named_in(folder):
    return json.loads((folder / "manifest.json").read_text())["data"]["file"]


def test_a_trial_leaves_nothing(folder, monkeypatch):
    written = []
    write = os.pwritev

    def count(descriptor, buffers, offset):
        written.append(sum(buffer.nbytes for buffer in buffers))
        return write(descriptor, buffers, offset)

    monkeypatch.setattr(os, "pwritev", count)
    with Matrix(values()) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        checkpoint.save(matrix, STATE)
        written.clear()
        clock = iter((10.0, 12.0))
        with monkeypatch.context() as patch:
            patch.setattr(time, "perf_counter", lambda: next(clock))
            assert checkpoint.predict(matrix) == pytest.approx(2 * N / 28)
        assert sum(written) == 4 * 7 * N * 4  # four blocks of eight
        assert len(files(folder)) == 2
    assert_whole(folder, values())


# Order on the disk, and kills ---------------------------------------------------------------


def test_everything_is_synced_before_it_is_needed(tmp_path, monkeypatch):
    folder = tmp_path / "above" / "folder"
    events = []
    real_sync, real_replace, real_unlink = os.fsync, os.replace, Path.unlink

    def kind(path):
        name = Path(path).name
        return {"d": "data", "m": "manifest", ".": "temporary", "l": "lock"}.get(name[0], name)

    def sync(descriptor):
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        place = {folder: "folder", folder.parent: "above", tmp_path: "top"}
        events.append(("sync", place.get(Path(path)) or kind(path)))
        real_sync(descriptor)

    def replace(source, target):
        events.append(("rename", kind(source), kind(target)))
        real_replace(source, target)

    def unlink(path, *args, **kwargs):
        events.append(("remove", kind(path)))
        real_unlink(path, *args, **kwargs)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(Path, "unlink", unlink)
    saving = [
        ("sync", "data"),
        ("sync", "folder"),
        ("sync", "temporary"),
        ("rename", "temporary", "manifest"),
        ("sync", "folder"),
    ]
    with Matrix(values()) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        assert sorted(events) == [("sync", "above"), ("sync", "top")]
        events.clear()
        checkpoint.save(matrix, STATE)
        assert events == saving
        events.clear()
        checkpoint.save(matrix, STATE)
        assert events == [*saving, ("remove", "data")]
        events.clear()
        checkpoint.remove()
        assert events == [("remove", "manifest"), ("sync", "folder"), ("remove", "data")]


# One process forks the runs that are killed, so that the packages are imported once.
KILLS = """
import os, random, signal, sys, time, zlib
from pathlib import Path
import numpy as np
from pyapsp.all_pairs.dense.outofcore import checkpoint as module
from pyapsp.all_pairs.dense.outofcore.checkpoint import Checkpoint
from pyapsp.all_pairs.dense.outofcore.storage import Matrix

mode, folder = sys.argv[1], Path(sys.argv[2])
N, SUBJECT = 300, {"graph": "a"}
module._BLOCK = 2**16

def content(number):
    return np.random.default_rng(number).integers(0, 1000, (N, N)).astype(np.int32)

def saves(first, last, begun):
    array = np.empty((N, N), np.int32)
    with Matrix(array) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        begun()
        for number in range(first, last):
            array[...] = content(number)
            checkpoint.save(matrix, {"number": number, "crc": zlib.crc32(array)})

def child(work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return pid

def check(last=None):
    array = np.empty((N, N), np.int32)
    with Matrix(array) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        state = checkpoint.load(matrix)
        left = sorted(path.name for path in folder.iterdir())
    if state is None:
        assert left == ["holder", "lock"], left
        return -1
    assert len(left) == 4, left  # data, holder, lock, manifest: no stray
    assert zlib.crc32(array) == state["crc"]
    assert (array == content(state["number"])).all()
    return state["number"]

if mode == "random":
    dice = random.Random(1)
    seen = []
    for trial in range(20):
        reading, writing = os.pipe()
        first = 1000 * trial
        pid = child(lambda: saves(first, first + 1000, lambda: os.write(writing, b".")))
        os.read(reading, 1)
        time.sleep(dice.uniform(0, 0.12))
        os.kill(pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        os.close(reading), os.close(writing)
        seen.append(check())
    assert seen == sorted(seen)
    assert len(set(seen)) > 1, seen
    print(len(set(seen)))
else:
    # killed right before the k-th call that changes the disk, for every k
    def armed(k):
        count = 0
        def trap(call):
            def trapped(*args, **kwargs):
                nonlocal count
                count += 1
                if count == k:
                    os.kill(os.getpid(), signal.SIGKILL)
                    time.sleep(60)
                return call(*args, **kwargs)
            return trapped
        for name in ("fsync", "replace", "pwritev", "chmod"):
            setattr(os, name, trap(getattr(os, name)))
        for name in ("unlink", "mkdir"):
            setattr(Path, name, trap(getattr(Path, name)))
        saves(number, number + 2, lambda: None)

    module.THREADS = 1
    number, k, last, outcomes = 0, 1, -1, set()
    while True:
        pid = child(lambda: armed(k))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        found = check()
        assert found in (last, number, number + 1), (k, found)
        outcomes.add("before" if found == last else found - number)
        if code == 0:
            assert found == number + 1
            break
        assert code == -signal.SIGKILL, code
        last, number, k = found, number + 2, k + 1
    assert outcomes == {"before", 0, 1}, outcomes
    print(k)
"""


@pytest.mark.every(2)
@pytest.mark.parametrize("mode", ["random", "every"])
def test_killed_while_saving(mode, folder):
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", KILLS, mode, str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    if mode == "every":
        # two saves: 6 blocks, 3 syncs of data and folder, a rename, a sync of the folder
        assert int(done.stdout) > 20


# What is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"graph": "fedc"}, "graph is '0123abcd' there and 'fedc' here"),
        ({"n": 51}, "n is 50 there and 51 here"),
        ({"dtype": "float32"}, "dtype is 'int32' there and 'float32' here"),
        (
            {"parameters": SUBJECT["parameters"] | {"b": 32}},
            "parameters.b is 16 there and 32 here",
        ),
        (
            {"parameters": {"b": 16, "pivot": "products"}},
            "parameters.bits is True there and None here",
        ),
        (
            {"parameters": SUBJECT["parameters"] | {"bits": 1}},
            "parameters.bits is True there and 1 here",
        ),
        ({"columns": [1, 2]}, "columns is None there and [1, 2] here"),
    ],
)
def test_a_snapshot_of_another_run(changes, reason, folder):
    save(folder, values())
    text = refused(folder, **changes)
    assert f"{folder} is the checkpoint of another run: {reason}" in text
    assert_whole(folder, values())  # it was not harmed


def test_a_matrix_that_is_not_what_its_subject_says(folder):
    save(folder, values())
    with Checkpoint(folder, SUBJECT) as checkpoint:
        for array, reason in (
            (np.zeros((N, N), np.uint32), "dtype is '<i4' there and '<u4' here"),
            (np.zeros((N + 1, N + 1), np.int32), "n is 50 there and 51 here"),
        ):
            with Matrix(array) as matrix, pytest.raises(CheckpointError, match=reason):
                checkpoint.load(matrix)
            assert not array.any()


def test_tuples_and_lists_are_the_same_subject(folder):
    save(folder, values(), subject={"tile": (4, 8)})
    for tile in ((4, 8), [4, 8]):
        assert load(folder, subject={"tile": tile})[0] == STATE


def test_any_flipped_bit_in_the_manifest(folder):
    save(folder, values())
    path = folder / "manifest.json"
    sound = path.read_bytes()
    known = {"no JSON", "its checksum is wrong", "is no checkpoint", "has schema"}
    reasons = set()
    for place in range(len(sound)):
        for bit in (1, 32):  # 32 makes 1E-07 of 1e-07, which is the same number
            broken = bytearray(sound)
            broken[place] ^= bit
            path.write_bytes(broken)
            text = refused(folder)
            assert str(path) in text
            reasons |= {reason for reason in known if reason in text}
    assert reasons == known
    path.write_bytes(sound)
    assert_whole(folder, values())


@pytest.mark.parametrize("length", [0, 1, 200, -2, -1])
def test_a_manifest_cut_short(length, folder):
    save(folder, values())
    path = folder / "manifest.json"
    path.write_bytes(path.read_bytes()[:length])
    assert f"{path} is damaged" in refused(folder)
    assert len(files(folder)) == 2  # the data stay, for whoever wants to look


@pytest.mark.parametrize("text", ["{}", "[1]", '"x"', "null", '{"name": "somebody else\'s"}'])
def test_a_manifest_of_something_else(text, folder):
    folder.mkdir()
    (folder / "manifest.json").write_text(text)
    assert "manifest.json is no checkpoint of pyapsp" in refused(folder)


def test_a_manifest_without_a_subject(folder):
    """Its checksum is right: another program wrote it."""
    save(folder, values())
    path = folder / "manifest.json"
    content = json.loads(path.read_bytes())
    del content["subject"], content["sha256"]
    path.write_bytes(manifest.encoded(content))
    assert f"{path} is damaged, it lacks a field: remove {folder}" in refused(folder)


WHOLE = {
    "block": 16,
    "unit": 8,
    "pivot": "products",
    "closer": 0,
    "closing": {"tile": 8},
    "tuned": True,
    "pass": 3,
    "left": [[0, 16], [32, 40]],
    "opened": 1,
}


@pytest.mark.parametrize(
    "change",
    [
        *({name: "absent"} for name in WHOLE),
        {"left": [[0]]},
        {"left": [[0, -1]]},
        {"left": [3]},
        {"closing": []},
        {"tuned": 1},
        {"pivot": 2},
    ],
    ids=str,
)
def test_a_state_that_a_run_cannot_continue(change, folder):
    ((name, value),) = change.items()
    save(folder, values(), WHOLE | {"left": None})
    with Checkpoint(folder, SUBJECT) as checkpoint:
        assert checkpoint.state == WHOLE | {"left": None}
    lacking = {key: each for key, each in WHOLE.items() if key != name}
    save(folder, values(), lacking if value == "absent" else WHOLE | change)
    with (
        Checkpoint(folder, SUBJECT) as checkpoint,
        pytest.raises(CheckpointError, match=r"manifest\.json is damaged, it lacks a field"),
    ):
        _ = checkpoint.state


def test_a_snapshot_of_another_schema(folder, monkeypatch):
    monkeypatch.setattr(manifest, "SCHEMA", 99)
    monkeypatch.setattr(manifest, "__version__", "9.9")
    save(folder, values())
    monkeypatch.undo()
    text = refused(folder)
    assert "manifest.json has schema 99" in text
    assert f"reads {manifest.SCHEMA}: continue with pyapsp 9.9" in text


def test_data_that_are_missing_or_of_another_length(folder):
    save(folder, values())
    path = data_file(folder)
    sound = path.read_bytes()
    for length in (0, 1, len(sound) - 1):
        path.write_bytes(sound[:length])
        assert f"{path} has {length} bytes instead of {len(sound)}" in refused(folder)
    path.write_bytes(sound + b"x")
    assert f"{path} has {len(sound) + 1} bytes instead of" in refused(folder)
    path.unlink()
    assert f"{path} is missing" in refused(folder)
    path.mkdir()
    assert f"{path} is missing" in refused(folder)


@pytest.mark.parametrize("row", [0, 6, 7, 30, 49])
def test_a_flipped_bit_in_the_data(row, folder):
    content = values()
    save(folder, content)
    path = data_file(folder)
    broken = bytearray(path.read_bytes())
    broken[row * N * 4 + 77] ^= 16
    path.write_bytes(broken)
    block = row // 7
    into = np.full((N, N), 5, np.int32)
    reason = f"block {block} .rows {7 * block} to {min(7 * block + 6, 49)}. is damaged"
    with Matrix(into) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        with pytest.raises(CheckpointError, match=reason) as caught:
            checkpoint.load(matrix)
        assert str(path) in str(caught.value)
    # the rows of that block were not written, and no row that is not of the snapshot
    written = (into != 5).any(axis=1)
    assert not written[7 * block : 7 * block + 7].any()
    np.testing.assert_array_equal(into[written], content[written])


def test_a_file_cut_while_it_is_read(folder, monkeypatch):
    save(folder, values())
    path = data_file(folder)
    read = os.preadv

    def cut(descriptor, buffers, offset):
        os.truncate(path, 9)
        return read(descriptor, buffers, offset)

    monkeypatch.setattr(os, "preadv", cut)
    with pytest.raises(CheckpointError, match=r"cannot read the checkpoint.*ends too early"):
        load(folder)


def test_a_folder_that_is_none(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    for each in (path, path / "below"):
        with pytest.raises(CheckpointError, match=r"file is no folder|Not a directory"):
            Checkpoint(each, SUBJECT)
    assert path.read_text() == "x"


NOT_MINE = """
import os, sys
from pyapsp.all_pairs.dense.outofcore.checkpoint import Checkpoint
from pyapsp.errors import CheckpointError
if os.geteuid() == 0:
    os.seteuid(65534)  # root may write anywhere
for folder in sys.argv[1:]:
    try:
        Checkpoint(folder, {})
    except CheckpointError as error:
        print(error)
"""


def test_a_folder_that_may_not_be_written():
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "folder"
        folder.mkdir()
        for path in (folder, Path(top)):
            path.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", NOT_MINE, str(folder), str(folder / "below")],
            capture_output=True,
            text=True,
            check=True,
        )
        for path in (Path(top), folder):
            path.chmod(0o755)
        first, second = done.stdout.splitlines()
        assert f"cannot use the checkpoint {folder}: [Errno 13] Permission denied" in first
        assert f"cannot use the checkpoint {folder / 'below'}: [Errno 13]" in second
        assert files(folder) == []


# The lock -----------------------------------------------------------------------------------


def test_a_folder_in_use_by_another_process(folder):
    code = (
        "import sys; from pyapsp.all_pairs.dense.outofcore.checkpoint import Checkpoint\n"
        f"c = Checkpoint({str(folder)!r}, {{}}); print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "locked\n"
        reason = f"{folder} is in use by another run: process {other.pid} on {platform.node()}"
        for _ in range(2):  # a refusal does not take the lock away
            with pytest.raises(CheckpointError) as caught:
                Checkpoint(folder, SUBJECT)
            assert str(caught.value) == reason
        other.send_signal(signal.SIGKILL)
        other.wait()
    assert files(folder) == []
    save(folder, values())
    assert_whole(folder, values())


def test_a_folder_in_use_by_this_process(folder):
    with (
        Checkpoint(folder, SUBJECT),
        pytest.raises(CheckpointError, match=f"in use by another run: process {os.getpid()} "),
    ):
        Checkpoint(folder, SUBJECT)


def test_the_holder_is_named_and_goes(folder):
    folder.mkdir()
    (folder / "holder").write_text("process 123456 on " + 300 * "x")
    with Checkpoint(folder, SUBJECT):
        assert (folder / "holder").read_text() == f"process {os.getpid()} on {platform.node()}"
    assert not (folder / "holder").exists()


def test_a_holder_that_cannot_be_named(folder):
    (folder / "holder").mkdir(parents=True)
    with (
        Checkpoint(folder, SUBJECT),
        pytest.raises(CheckpointError, match="in use by another run: it does not say which"),
    ):
        Checkpoint(folder, SUBJECT)


def test_a_refused_snapshot_lets_go(folder):
    save(folder, values())
    with pytest.raises(CheckpointError, match="another run: graph"):
        Checkpoint(folder, SUBJECT | {"graph": ""})
    with Checkpoint(folder, SUBJECT):
        pass


def test_any_thread_lets_go(folder):
    checkpoint = Checkpoint(folder, SUBJECT)
    with pytest.raises(CheckpointError):
        Checkpoint(folder, SUBJECT)
    thread = threading.Thread(target=checkpoint.close)
    thread.start()
    thread.join()
    with Checkpoint(folder, SUBJECT):
        pass


def test_one_of_many_gets_the_folder(folder):
    """Never two runs at once."""
    inside, most, lock = 0, 0, threading.Lock()

    def compete():
        nonlocal inside, most
        for _ in range(150):
            try:
                checkpoint = Checkpoint(folder, SUBJECT)
            except CheckpointError:
                continue
            with lock:
                inside += 1
                most = max(most, inside)
            with lock:
                inside -= 1
            checkpoint.close()

    threads = [threading.Thread(target=compete) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


# Disks that fail ----------------------------------------------------------------------------


def failing(monkeypatch, name, error, after=0):
    """Let the call of this name fail after so many that do not."""
    real, left = getattr(os, name), [after]

    def call(*args, **kwargs):
        if left[0] == 0:
            raise OSError(error, os.strerror(error))
        left[0] -= 1
        return real(*args, **kwargs)

    monkeypatch.setattr(os, name, call)


@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
@pytest.mark.parametrize(
    ("name", "after"),
    [("pwritev", 0), ("pwritev", 5), ("fsync", 0), ("fsync", 1), ("fsync", 2), ("replace", 0)],
)
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
def test_a_save_that_fails(error, name, after, first, folder, monkeypatch):
    with Matrix(values(1)) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        if not first:
            checkpoint.save(matrix, STATE)
        before = files(folder)
        matrix.array[...] = values(2)
        with monkeypatch.context() as patch:
            failing(patch, name, error, after)
            if error in (errno.ENOSPC, errno.EDQUOT):
                with pytest.raises(DiskSpaceError, match="make room for the checkpoint") as caught:
                    checkpoint.save(matrix, {"pass": 4})
                assert caught.value.needed == N * N * 4
                assert caught.value.available > 0
            else:
                with pytest.raises(
                    CheckpointError, match=rf"cannot write the checkpoint {folder}.*Errno {error}"
                ):
                    checkpoint.save(matrix, {"pass": 4})
        assert files(folder) == before
        assert checkpoint.load(matrix) == (None if first else STATE)
        np.testing.assert_array_equal(matrix.array, values(2 if first else 1))
        # and the next one succeeds
        checkpoint.save(matrix, {"pass": 5})
    assert_whole(folder, matrix.array, {"pass": 5})


def test_a_save_that_fails_when_all_but_its_last_sync_is_done(folder, monkeypatch):
    """The manifest may then be the new or the old one after a loss of power: both have data."""
    with Matrix(values(1)) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        checkpoint.save(matrix, STATE)
        matrix.array[...] = values(2)
        old = (folder / "manifest.json").read_bytes()
        with monkeypatch.context() as patch:
            failing(patch, "fsync", errno.EIO, after=3)
            with pytest.raises(CheckpointError, match="Errno 5"):
                checkpoint.save(matrix, {"pass": 4})
        assert checkpoint.load(matrix) == STATE
        np.testing.assert_array_equal(matrix.array, values(1))
    # two copies of the folder: one where the rename lasted, one where it did not
    undone = folder.with_name("undone")
    shutil.copytree(folder, undone)
    (undone / "manifest.json").write_bytes(old)
    for each, state, seed in ((folder, {"pass": 4}, 2), (undone, STATE, 1)):
        assert_whole_after_sweep(each, values(seed), state)


def assert_whole_after_sweep(folder, content, state):
    with Checkpoint(folder, SUBJECT):
        pass
    assert_whole(folder, content, state)


def test_an_interrupted_save(folder, monkeypatch):
    with Matrix(values()) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        checkpoint.save(matrix, STATE)

        def interrupt(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", interrupt)
            with pytest.raises(KeyboardInterrupt):
                checkpoint.save(matrix, {})
    assert_whole(folder, values())


FULL = """
import os, resource, sys
import numpy as np
from pyapsp.all_pairs.dense.outofcore.checkpoint import Checkpoint
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.errors import CheckpointError, DiskSpaceError

folder, limit = sys.argv[1], sys.argv[2]
small, large = {"graph": "a"}, {"graph": "b"}
matrix = Matrix(np.arange(500 * 500, dtype=np.int64).reshape(500, 500))
with Checkpoint(folder, small) as checkpoint:
    checkpoint.save(matrix, {"number": 1})
    before = sorted(os.listdir(folder))
    if limit == "file":
        resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, resource.RLIM_INFINITY))
    for call, *rest in ((checkpoint.save, {"number": 2}), (checkpoint.predict,)):
        try:
            call(matrix, *rest)
        except (CheckpointError, DiskSpaceError) as error:
            print(type(error).__name__, error)
        assert sorted(os.listdir(folder)) == before
    if limit == "disk":
        try:
            checkpoint.check_space(matrix.nbytes)
        except DiskSpaceError as error:
            print(type(error).__name__, error)
    matrix.array[...] = 0
    assert checkpoint.load(matrix) == {"number": 1}
    assert (matrix.array.ravel() == np.arange(500 * 500)).all()
matrix.close()
"""


def test_a_limit_on_the_size_of_files(folder):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(folder), "file"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith(f"CheckpointError cannot write the checkpoint {folder}: [Errno 27]")


def test_a_disk_that_is_really_full(folder):
    """3 MiB of disk for snapshots of 2 MiB."""
    folder.mkdir()
    mount = ["unshare", "-m", "--map-root-user"] if os.geteuid() else ["unshare", "-m"]
    script = 'mount -t tmpfs -o size=3m none "$1" || exit 77; exec "$2" -c "$3" "$1" disk'
    if shutil.which("unshare") is None:
        pytest.skip("no unshare command")
    done = subprocess.run(
        [*mount, "sh", "-c", script, "sh", str(folder), sys.executable, FULL],
        capture_output=True,
        text=True,
    )
    if done.returncode == 77 or "unshare:" in done.stderr:
        pytest.skip(f"no small disk to be had: {done.stderr}")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert line.startswith("DiskSpaceError 1.9 MiB of disk space are needed and 1.")
        assert line.endswith(f"are free: make room for the checkpoint in {folder}")


def test_a_full_disk_under_the_matrix_that_is_loaded(folder, tmp_path, monkeypatch):
    save(folder, values())
    array = np.lib.format.open_memmap(tmp_path / "matrix.npy", "w+", np.int32, (N, N))
    failing(monkeypatch, "pwritev", errno.ENOSPC)
    with Matrix(array) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        with pytest.raises(DiskSpaceError, match="make room for the file of the matrix") as caught:
            checkpoint.load(matrix)
        assert caught.value.needed == 7 * N * 4


def test_the_folder_is_removed_between_saves(folder):
    with Matrix(values()) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        checkpoint.save(matrix, STATE)
        shutil.rmtree(folder)
        reason = f"{folder} was removed while the run used it"
        for _ in range(2):
            with pytest.raises(CheckpointError, match=reason):
                checkpoint.save(matrix, STATE)
        with pytest.raises(CheckpointError, match="cannot write the checkpoint"):
            checkpoint.predict(matrix)
        with pytest.raises(CheckpointError, match="is missing"):
            checkpoint.load(matrix)
        with pytest.raises(CheckpointError, match="cannot use the checkpoint"):
            checkpoint.check_space(1)
        assert not folder.exists()
        # another run has made it anew: it is not ours to write to
        with Checkpoint(folder, SUBJECT):
            with pytest.raises(CheckpointError, match=reason):
                checkpoint.save(matrix, STATE)
            checkpoint.close()
            assert files(folder) == []


def test_the_folder_is_removed_during_a_save(folder, monkeypatch):
    read = Matrix.read

    def remove(self, first, *rest):
        shutil.rmtree(folder, ignore_errors=True)
        read(self, first, *rest)

    with Matrix(values()) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        monkeypatch.setattr(Matrix, "read", remove)
        with pytest.raises(CheckpointError, match="cannot write the checkpoint"):
            checkpoint.save(matrix, STATE)
    assert not folder.exists()


def test_room_is_asked_for_before_the_work(folder, monkeypatch):
    def free(amount):
        usage = SimpleNamespace(free=amount)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)

    with Matrix(values()) as matrix, Checkpoint(folder, SUBJECT) as checkpoint:
        free(2 * matrix.nbytes)
        checkpoint.check_space(matrix.nbytes)
        free(2 * matrix.nbytes - 1)
        with pytest.raises(DiskSpaceError, match=f"make room for the checkpoint in {folder}") as no:
            checkpoint.check_space(matrix.nbytes)
        assert (no.value.needed, no.value.available) == (2 * matrix.nbytes, 2 * matrix.nbytes - 1)
        # one is there already
        checkpoint.save(matrix, STATE)
        free(matrix.nbytes)
        checkpoint.check_space(matrix.nbytes)
        free(matrix.nbytes - 1)
        with pytest.raises(DiskSpaceError):
            checkpoint.check_space(matrix.nbytes)


# When ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.01, 0.03, 0.5])
def test_snapshots_take_their_part_of_the_time(fraction):
    """A run whose clock is a number: work in steps of 1 s, snapshots of growing cost."""
    now, spent, cost = 100.0, 0.0, 0.6
    interval = Interval(cost, now, fraction=fraction)
    saves = 0
    while saves < 12:
        now += 1
        if interval.due(now):
            cost *= 1.1
            now += cost
            spent += cost
            interval.saved(cost, now)
            saves += 1
    share = spent / (now - 100)
    # not more, but for the first pauses, which knew a smaller cost; and not much less
    assert share <= 1.1 * fraction
    assert share > 0.5 * fraction


def test_the_pause_is_exact():
    interval = Interval(3.0, 10.0)
    assert not interval.due(10 + 96.9)
    assert interval.due(10 + 97.1)  # 3 / (97 + 3) is 3 %
    interval.saved(6.0, 200.0)
    assert not interval.due(200 + 193.9)
    assert interval.due(200 + 194.1)


def test_a_number_of_seconds_overrides_the_cost():
    interval = Interval(1e9, 0.0, seconds=60)
    assert not interval.due(59.9)
    assert interval.due(60)
    interval.saved(1e9, 100.0)
    assert not interval.due(159.9)
    assert interval.due(160)
    assert Interval(1e9, 0.0, seconds=0).due(0)


@pytest.mark.parametrize(
    ("name", "value"), [("fraction", 0), ("fraction", 1.5), ("fraction", -1), ("seconds", -1)]
)
def test_intervals_that_cannot_be(name, value):
    with pytest.raises(ParameterError, match=f"'{name}' parameter of Interval"):
        Interval(1.0, 0.0, **{name: value})
