"""Files that commands write: full disks, long names, signals, what is replaced and what is left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp.all_pairs.dense import fw_outofcore
from pyapsp.base import host
from pyapsp.cli import main
from pyapsp.errors import DiskSpaceError
from pyapsp.graph import generators
from pyapsp.paths.result import Result

GRAPH = generators.random_graph(300, seed=6)


@pytest.fixture(autouse=True)
def folder(device, monkeypatch, tmp_path):
    """A folder with g.npz and nothing else; the commands run in it."""
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    monkeypatch.chdir(tmp_path)
    pyapsp.write(GRAPH, "g.npz")
    return tmp_path


def left(folder):
    return sorted(path.name for path in folder.iterdir())


def run(capsys, *arguments):
    code = main(list(arguments))
    return code, capsys.readouterr().err


# Full disks --------------------------------------------------------------------------------


def on_a_disk(folder, size, command):
    """Run a command with a small file system in the folder ``disk``, and list what is left there.

    A process of its own has it mounted, root or not.
    """
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare command")
    (folder / "disk").mkdir()
    mount = ["unshare", "-m", *(["--map-root-user"] if os.geteuid() else [])]
    script = (
        'mount -t tmpfs -o size="$1" none disk || exit 77; shift; "$@"; code=$?; '
        "ls -A disk >listed; exit $code"
    )
    done = subprocess.run(
        [*mount, "sh", "-c", script, "sh", size, *command], capture_output=True, text=True
    )
    if done.returncode == 77 or "unshare:" in done.stderr:
        pytest.skip("no file system can be mounted here")
    return done


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("method", "size"),
    [
        ("fw-naive", "500k"),  # less than the distances
        ("fw-naive", "900k"),  # less than both files
        ("near-far", "900k"),
        ("fw-outofcore", "900k"),
    ],
)
def test_a_full_disk(folder, method, size):
    command = [sys.executable, "-m", "pyapsp", "solve", "g.npz", "-o", "disk/X.npy"]
    done = on_a_disk(folder, size, [*command, "--predecessors", "--method", method])
    assert done.returncode == 5, done.stderr
    assert "of disk space are needed" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (folder / "listed").read_text() == ""


@pytest.mark.parametrize(
    "line", ["solve g.npz", "scc g.npz", "bfs g.npz", "measure g.npz eccentricity"]
)
def test_the_file_that_found_no_space_is_named(folder, capsys, line):
    assert run(capsys, *line.split(), "-o", "/dev/full") == (
        5,
        "pyapsp: [Errno 28] No space left on device: '/dev/full'\n",
    )


def test_a_file_has_its_space_before_it_is_mapped(folder):
    array = host.mapped_file(folder / "m.npy", np.int32, (300, 300))
    assert array.nbytes <= 512 * os.stat("m.npy").st_blocks
    assert not array.any()
    array[7, 9] = 5
    host.flush(array)
    assert np.load("m.npy")[7, 9] == 5


LIBRARY = """
import numpy as np, pyapsp
from pyapsp.errors import DiskSpaceError
for view in (slice(None), slice(50, 150)):
    out = np.lib.format.open_memmap("disk/X.npy", "w+", np.float64, (300, 300))[view]
    sources = np.arange(len(out)) if len(out) < 300 else None
    try:
        pyapsp.solve("g.npz", "fw-naive", out=out, sources=sources)
    except DiskSpaceError as error:
        print(error)
"""


def test_a_full_disk_below_a_memory_map_of_the_caller(folder):
    done = on_a_disk(folder, "500k", [sys.executable, "-c", LIBRARY])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("of disk space are needed") == 2


def test_room_for_predecessors_is_taken_before_the_passes(folder, device, monkeypatch):
    monkeypatch.setattr(fw_outofcore, "mapped_file", failing(28))
    monkeypatch.setattr(fw_outofcore, "fill", None)
    out = np.lib.format.open_memmap("X.npy", "w+", np.float64, (300, 300))
    with pytest.raises(OSError, match="No space left"):
        pyapsp.solve(GRAPH, "fw-outofcore", out=out, predecessors=True, device=device)


def test_a_memory_map_keeps_its_content_and_other_files_theirs(folder):
    np.save("m.npy", np.arange(2500).reshape(50, 50))
    array = np.load("m.npy", mmap_mode="r+")
    for each in (array, array[5:9], np.asarray(array), np.load("m.npy", mmap_mode="c")):
        host.reserve(each)
    host.reserve(np.zeros(3))
    np.testing.assert_array_equal(np.load("m.npy"), np.arange(2500).reshape(50, 50))
    (folder / "m.npy").rename(folder / "moved.npy")
    (folder / "m.npy").write_text("short")
    host.reserve(array)
    assert (folder / "m.npy").read_text() == "short"
    (folder / "m.npy").unlink()
    host.reserve(array)


@pytest.mark.parametrize("how", ["no such call", "refused"])
def test_a_file_has_its_space_where_it_cannot_be_reserved(folder, monkeypatch, how):
    if how == "refused":
        monkeypatch.setattr(os, "posix_fallocate", failing(95))
    else:
        monkeypatch.delattr(os, "posix_fallocate")
    monkeypatch.setattr(host, "_ZEROS", 1000)
    array = host.mapped_file(folder / "m.npy", np.int32, (300, 300))
    assert array.nbytes <= 512 * os.stat("m.npy").st_blocks
    assert not np.load("m.npy").any()
    assert np.load("m.npy").shape == (300, 300)


@pytest.mark.parametrize(("code", "full"), [(28, True), (122, True), (5, False)])
def test_a_file_without_space_is_not_left(folder, monkeypatch, code, full):
    monkeypatch.setattr(os, "posix_fallocate", failing(code))
    with pytest.raises(OSError, match="disk space" if full else "Errno 5") as caught:
        host.mapped_file(folder / "m.npy", np.int32, (300, 300))
    assert isinstance(caught.value, DiskSpaceError) == full
    assert left(folder) == ["g.npz"]


def failing(code):
    def fail(*arguments):
        raise OSError(code, os.strerror(code))

    return fail


# Predecessors ------------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize("method", ["auto", "fw-naive", "fw-minplus", "near-far", "fw-outofcore"])
def test_predecessors_lie_beside_mapped_distances(folder, capsys, method):
    asked = ["solve", "g.npz", "-o", "X.npy", "--predecessors", "--method", method]
    assert run(capsys, *asked) == (0, "")
    assert left(folder) == ["X.npy", "X.npy.predecessors.npy", "g.npz"]
    rows = np.load("X.npy"), np.load("X.npy.predecessors.npy"), np.arange(GRAPH.n)
    assert pyapsp.verify.certificate(GRAPH, Result(*rows)).ok


# Names -------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("letter", ["a", "ä"])
def test_the_longest_name_there_is(folder, capsys, suffix, letter):
    name = (255 - len(suffix)) // len(letter.encode()) * letter + suffix
    assert run(capsys, "solve", "g.npz", "-o", name) == (0, "")
    assert left(folder) == sorted([name, "g.npz"])
    code, error = run(capsys, "solve", "g.npz", "-o", f"a{name}a{suffix}")
    assert (code, "name too long" in error) == (3, True)


def test_a_name_too_long_for_its_predecessors_is_refused_before_the_work(
    folder, capsys, monkeypatch
):
    monkeypatch.setattr(pyapsp, "solve", None)
    name = 250 * "a" + ".npy"
    code, error = run(capsys, "solve", "g.npz", "-o", name, "--predecessors")
    assert (code, "name too long" in error) == (3, True)
    assert left(folder) == ["g.npz"]


# Signals -----------------------------------------------------------------------------------

# A command that a signal reaches when its output is written and has not got its name yet; a
# second one comes while it cleans up.
STOPPED = """
import os, signal, sys, numpy as np
from pyapsp import cli
from pyapsp.base import host

number = getattr(signal, sys.argv[1])
save, flush, unlink = np.savez, host.flush, os.unlink

def stopped(call):
    def then(*arguments, **named):
        call(*arguments, **named)
        signal.raise_signal(number)
    return then

def unlink_late(path, **named):
    if number != signal.SIGINT:
        signal.raise_signal(number)
    unlink(path, **named)

np.savez, host.flush, os.unlink = stopped(save), stopped(flush), unlink_late
sys.exit(cli.main(sys.argv[2:]))
"""


@pytest.mark.every(2)
@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("output", ["X.npy", "X.npz"])
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130), ("SIGHUP", 129)])
def test_a_signal_leaves_nothing(folder, name, code, output):
    (folder / output).write_text("before")
    command = ["solve", "g.npz", "-o", output, "--predecessors", "--method", "near-far"]
    done = subprocess.run(
        [sys.executable, "-c", STOPPED, name, *command], capture_output=True, text=True
    )
    assert done.returncode == code
    said = "interrupted" if name == "SIGINT" else f"ended by {name}"
    assert done.stderr == f"pyapsp: {said}\n"
    assert left(folder) == [output, "g.npz"]
    assert (folder / output).read_text() == "before"


# A run that a signal reaches in its second pass.
STOPPED_RUN = """
import os, signal, sys
from pyapsp import cli
from pyapsp.all_pairs.dense.outofcore.engine import Engine

tell = Engine._tell

def stopped(engine):
    tell(engine)
    if engine._number == 1:
        signal.raise_signal(signal.SIGTERM)

Engine._tell = stopped
sys.exit(cli.main(sys.argv[1:]))
"""


def test_a_signal_leaves_a_checkpoint(folder, capsys):
    command = ["solve", "g.npz", "-o", "X.npy", "--checkpoint", "c", "--record", "r.json"]
    command += ["--method", "fw-outofcore", "--set", "block=96", "--set", "rows=32"]
    done = subprocess.run(
        [sys.executable, "-c", STOPPED_RUN, *command], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (143, "pyapsp: ended by SIGTERM\n")
    assert left(folder) == ["c", "g.npz"]
    assert run(capsys, *command) == (0, "")
    assert json.loads((folder / "r.json").read_text())["resumed"]
    np.testing.assert_array_equal(np.load("X.npy"), csgraph.dijkstra(GRAPH.to_scipy()))


def test_a_signal_that_is_ignored_stays_so(folder):
    script = 'trap "" HUP; "$@"'
    command = [sys.executable, "-c", STOPPED, "SIGHUP", "solve", "g.npz", "-o", "X.npz"]
    done = subprocess.run(["sh", "-c", script, "sh", *command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert left(folder) == ["X.npz", "g.npz"]


def test_the_library_and_a_thread_leave_signals_alone(folder):
    code = (
        "import signal, threading, pyapsp; from pyapsp import cli\n"
        "names = signal.SIGTERM, signal.SIGHUP, signal.SIGINT\n"
        "before = [signal.getsignal(name) for name in names]\n"
        "pyapsp.solve('g.npz')\n"
        "run = lambda: print(cli.main(['methods', '--json']))\n"
        "thread = threading.Thread(target=run); thread.start(); thread.join(); run()\n"
        "assert before == [signal.getsignal(name) for name in names]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines().count("0") == 2


# Streams -----------------------------------------------------------------------------------


@pytest.mark.every(4)
@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full", ">&- 2>&-", "<&- >&- 2>&-"])
def test_messages_that_cannot_be_printed_change_nothing(folder, closed):
    script = (
        f'"$1" -m pyapsp solve none.npz -o X.npz {closed}; echo $?; '
        f'"$1" -m pyapsp solve g.npz -o X.npz --progress {closed}; echo $?'
    )
    done = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable], capture_output=True, text=True
    )
    codes = [line for line in done.stdout.splitlines() if line in ("3", "0")]
    assert codes == ["3", "0"]
    assert "none.npz" not in done.stdout
    assert Result.load("X.npz").distances.shape == (300, 300)


# What is replaced --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "solve g.npz -o g.npz",
        "solve g.npz -o X.npz --record g.npz",
        "solve g.npz -o link.npz",
        "bfs g.npz -o g.npz",
        "sssp g.npz -o g.npz",
        "scc g.npz -o g.npz",
        "measure g.npz eccentricity -o g.npz",
        "verify g.npz g.npz -o g.npz",
        "check bfs g.npz -o g.npz",
        "bench g.npz -o g.npz",
    ],
)
def test_the_graph_is_not_replaced(folder, capsys, line):
    before = (folder / "g.npz").read_bytes()
    (folder / "link.npz").symlink_to("g.npz")
    code, error = run(capsys, *line.split())
    assert (code, "is read: give the output another name" in error) == (2, True)
    assert (folder / "g.npz").read_bytes() == before
    assert left(folder) == ["g.npz", "link.npz"]


@pytest.mark.parametrize("command", ["solve", "bfs", "sssp", "scc"])
def test_an_output_of_another_kind_is_refused(folder, capsys, command):
    for name in ("X.txt", "X", "X.NPY", "X.npz.bak"):
        code, error = run(capsys, command, "g.npz", "-o", name)
        kinds = "OUT.npz or OUT.npy" if command == "solve" else "OUT.npz or OUT.csv"
        assert (code, kinds in error) == (2, True)
    assert run(capsys, command, "g.npz", "-o", os.devnull) == (0, "")
    assert left(folder) == ["g.npz"]


@pytest.mark.parametrize("line", ["convert g.npz", "generate ring -n 5", "fetch ring-40"])
def test_a_folder_that_is_missing_is_named_and_no_temporary_file(folder, capsys, line):
    suffix = "txt" if line.startswith("fetch") else "gr"
    code, error = run(
        capsys,
        *line.split(),
        "-o" if " -n" in line or "fetch" in line else "--json",
        f"no/x.{suffix}",
    )
    assert (code, error) == (3, f"pyapsp: no/x.{suffix}: its folder does not exist\n")
    with pytest.raises(FileNotFoundError) as caught:
        pyapsp.write(GRAPH, "no/x.gr")
    assert caught.value.filename == "no/x.gr"


def test_old_predecessors_do_not_stay_beside_new_distances(folder, capsys):
    asked = ["solve", "g.npz", "-o", "X.npy", "--method", "fw-naive"]
    assert run(capsys, *asked, "--predecessors") == (0, "")
    assert run(capsys, *asked) == (0, "")
    assert left(folder) == ["X.npy", "g.npz"]


@pytest.mark.parametrize("output", ["link.npy", "link.npz"])
def test_a_link_stays_a_link(folder, capsys, output):
    (folder / "there").mkdir()
    (folder / output).symlink_to(f"there/{output}")
    assert run(capsys, "solve", "g.npz", "-o", output) == (0, "")
    assert (folder / output).is_symlink()
    assert left(folder / "there") == [output]
    (folder / "round").symlink_to("round")
    code, error = run(capsys, "solve", "g.npz", "-o", "round")
    assert (code, "symbolic links" in error) == (3, True)
    with pytest.raises(OSError, match="symbolic links"):
        pyapsp.solve([[0, 1], [1, 0]]).save(folder / "round")


def test_a_pipe_is_no_file_to_map(folder, capsys):
    os.mkfifo(folder / "pipe.npy")
    code, error = run(capsys, "solve", "g.npz", "-o", "pipe.npy")
    assert (code, "cannot be memory-mapped" in error) == (2, True)
    assert (folder / "pipe.npy").is_fifo()


def test_two_runs_with_one_output(folder):
    """The last writer's file is there, and it is complete."""
    expected = csgraph.dijkstra(GRAPH.to_scipy())
    codes = []

    def solve():
        for _ in range(5):
            command = ["solve", "g.npz", "-o", "X.npy", "--predecessors", "--method", "near-far"]
            codes.append(main(command))

    threads = [threading.Thread(target=solve) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == 15 * [0]
    np.testing.assert_array_equal(np.load("X.npy"), expected)
    assert left(folder) == ["X.npy", "X.npy.predecessors.npy", "g.npz"]


def test_the_working_folder_is_gone(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    graph = tmp_path / "g.csv"
    graph.write_text("a,b,2\n")
    assert main(["solve", str(graph), "-o", "r.npz"]) == 3
    assert "No such file or directory: 'r.npz'" in capsys.readouterr().err
    with pytest.raises(FileNotFoundError, match=r"'r\.npz'"):
        pyapsp.solve([[0, 1], [1, 0]]).save("r.npz")
