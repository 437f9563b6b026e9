"""Runs on several ranks: the bits of one process, kills, resumes with other ranks, failures."""

from __future__ import annotations

import json
import mmap
import os
import random
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas
import pytest

import pyapsp
from pyapsp import cli
from pyapsp.cluster import answers, files, launchers, leftovers
from pyapsp.cluster.band import shares
from pyapsp.cluster.model import Rates, best, predict
from pyapsp.cluster.shards import CONTENT
from pyapsp.errors import DeviceMemoryError, FormatError, ParameterError, RankError
from pyapsp.graph import generators, write
from pyapsp.paths import AllPairsOptions

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import launching  # noqa: E402

pytest.importorskip("mpi4py")
RATES = Rates(14e12, 50e9, 50e9, 20e9, 25e9, 1e-5, 1e9, 140 * 2**30)


@pytest.fixture(autouse=True)
def _swept():
    with launching.swept():
        yield


SOME = ("out_of_core", "searching", "summaries", "batches", "errors", "centralities", "queries")


@pytest.mark.parametrize(
    ("ranks", "parts", "least"),
    [
        (2, SOME, 50),
        *(pytest.param(n, (), 60, marks=pytest.mark.slow) for n in (1, 2, 3)),
        pytest.param(4, (), 60, marks=pytest.mark.nightly),
    ],
)
def test_ranks_find_the_bits_of_one_process(ranks, parts, least, tmp_path):
    done = launching.run(ranks, str(HERE / "program.py"), str(tmp_path), *parts, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.findall(r"compared (\d+)", done.stdout)[0]) > least


# -- failures --------------------------------------------------------------------------------

SOLVE = ("-m", "pyapsp", "solve", "graph.npz", "-o", "out.npy", "--method", "fw-outofcore")


@pytest.fixture
def folder(tmp_path):
    write(generators.random_graph(900, 5000, seed=5), tmp_path / "graph.npz")
    return tmp_path


def first_words(ranks: int, before: str) -> tuple[str, ...]:
    """Run Python before the command on the last rank."""
    code = f"""\
import os, sys
if os.environ["PMI_RANK"] == "{ranks - 1}":
    {before}
from pyapsp.cli import main
sys.exit(main(sys.argv[1:]))
"""
    return ("-c", code)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("solve none.npz", 3, "none.npz"),
        ("solve none.npz --dtype flot32", 2, "Did you mean 'float32'?"),
        ("solve graph.npz", 2, "on ranks give -o OUT.npy"),
        ("measure none.npz radius", 3, "none.npz"),
    ],
)
def test_of_wrong_arguments_the_one_that_matters_is_told(folder, line, code, words):
    done = launching.run(2, "-m", "pyapsp", *line.split(), cwd=folder)
    told = [line for line in done.stderr.splitlines() if line.startswith("pyapsp: ")]
    assert (done.returncode, len(told)) == (code, 1), done.stderr
    assert words in told[0]


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("before", "code", "words"),
    [
        ('os.environ["PYAPSP_DEVICE"] = "no such device"', 4, "No OpenCL device matches"),
        (
            "import errno; from pyapsp.cluster import files\n"
            "    def full(*_): raise OSError(errno.ENOSPC, 'No space left on device')\n"
            "    files.transfer = full",
            5,
            "disk space are needed",
        ),
        (
            "from pyapsp.cluster import measure\n"
            "    from pyapsp.errors import CapabilityError\n"
            "    def lost(*_): raise CapabilityError('no rates')\n"
            "    measure.measure = lost",
            4,
            "no rates",
        ),
    ],
    ids=["no device", "disk full", "no rates"],
)
def test_an_error_of_one_rank_ends_all(folder, before, code, words):
    started = time.monotonic()
    done = launching.run(2, *first_words(2, before), *SOLVE[2:], cwd=folder)
    assert time.monotonic() - started < 60
    told = [line for line in done.stderr.splitlines() if line.startswith("pyapsp: ")]
    assert len(told) == 1, done.stderr
    assert told[0].startswith("pyapsp: rank 1 on ")
    assert words in told[0]
    assert done.returncode == code
    assert os.listdir(folder) == ["graph.npz"]  # nothing incomplete


@pytest.mark.parametrize(
    "call",
    [
        "sparse",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("dense", "summary", "query", "betweenness", "batch", "rates")
        ),
    ],
)
def test_an_error_at_any_collective_operation_reaches_all_ranks(call, tmp_path):
    done = launching.run(3, str(HERE / "failing.py"), call, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    raised, operations = re.fullmatch(r"raised (\d+) at (.*)\n", done.stdout).groups()
    assert int(raised) > 20
    assert operations == "Iallgather Iallgatherv Ibarrier Ibcast Idup"


@pytest.mark.slow
def test_measures_of_a_file(folder):
    line = "measure graph.npz harmonic-centrality betweenness-centrality --sources 3 899 4 -o"
    for ranks in (1, 2):
        words = "-m", "pyapsp", *line.split(), f"{ranks}.csv"
        done = launching.run(ranks, *words, cwd=folder)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    one, two = (pandas.read_csv(folder / f"{ranks}.csv") for ranks in (1, 2))
    assert one.vertex.tolist() == two.vertex.tolist() == [3, 899, 4]
    assert one["harmonic-centrality"].tolist() == two["harmonic-centrality"].tolist()
    np.testing.assert_allclose(one["betweenness-centrality"], two["betweenness-centrality"], 1e-12)


def test_an_error_before_the_call_ends_all_ranks(tmp_path):
    """As the page on clusters says of scripts."""
    script = tmp_path / "script.py"
    script.write_text(
        "import pyapsp\n"
        "from mpi4py import MPI\n"
        "assert MPI.COMM_WORLD.rank == 0, 'not this rank'\n"
        "pyapsp.solve([[0, 1], [1, 0]], comm=MPI.COMM_WORLD)\n"
    )
    done = launching.run(2, "-m", "mpi4py", str(script), cwd=tmp_path)
    assert done.returncode != 0
    assert "not this rank" in done.stdout + done.stderr


def killed(
    folder: Path,
    ranks: int,
    victim: int,
    words: tuple[str, ...],
    after: float,
    shared: set[Path] | None = None,
) -> str:
    """Kill a rank some seconds after the passes have begun; return the messages.

    `shared` gets the memory with a name that the ranks share.
    """
    log = folder / "log.txt"
    with open(log, "w") as file:
        launcher = subprocess.Popen(
            launching.command(ranks, *words, "--progress"),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=file,
        )
        begun = launching.wait_for(
            lambda: "pivot" in log.read_text() or launcher.poll() is not None
        )
        assert begun
        time.sleep(after)
        if launcher.poll() is None:
            if shared is not None:
                pids = launching.processes(launcher.pid).values()
                shared |= {each for each in launching.mapped(*pids) if each.exists()}
            launching.kill(launcher, victim)
            started = time.monotonic()
            assert launcher.wait(30) != 0
            assert time.monotonic() - started < 10
    return log.read_text()


@pytest.mark.slow
def test_a_killed_rank_ends_all_and_others_resume(folder):
    words = (*SOLVE, "--set", "block=32", "--set", "interval=0", "--checkpoint", "snapshots")
    said = killed(folder, 3, 1, words, 0.2)
    told = [line for line in said.splitlines() if line.startswith("pyapsp: ")]
    assert len(told) == 1, said
    assert re.match(r"pyapsp: rank 1 on \S+: its process was killed by SIGKILL", told[0])
    assert not (folder / "out.npy").exists()
    assert (folder / "snapshots" / "manifest.json").exists()
    done = launching.run(2, *words, "--record", "record.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert '"resumed": true' in (folder / "record.json").read_text()
    assert {path.name for path in (folder / "snapshots").iterdir()} <= {"lock"}
    graph = pyapsp.read(folder / "graph.npz")
    one = pyapsp.solve(graph, pyapsp.method("fw-outofcore", block=32)).distances
    assert pyapsp.open_rows(folder / "out.npy")[:].tobytes() == one.tobytes()


@pytest.mark.slow
def test_the_snapshot_stays_until_the_answer_is_complete(folder):
    before = """\
from pyapsp.cluster import files
    def full(*_): raise OSError(28, 'No space left on device')
    files._Files.synced = full"""
    words = (*SOLVE[2:], "--set", "block=32", "--set", "interval=0", "--checkpoint", "snapshots")
    done = launching.run(2, *first_words(2, before), *words, cwd=folder)
    assert done.returncode == 5, done.stderr
    assert not (folder / "out.npy").exists()
    assert (folder / "snapshots" / "manifest.json").exists()
    done = launching.run(2, *SOLVE[:2], *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (folder / "snapshots").iterdir()} <= {"lock"}


def test_memory_of_killed_ranks_is_removed(folder, monkeypatch):
    """Tests of other workers make, map and remove files at the same time."""
    old, left, named = folder / "old", set(), launching.named
    # files of other workers are not looked at; they would remove an unused one in their folder
    monkeypatch.setattr(launching, "named", lambda: named() & {used, *left} | {*folder.glob("old")})
    used = launching.SHARED / f"{launching.PREFIX}{os.getpid()}"
    new = used.with_name(f"new-{used.name}")
    try:
        old.touch()
        with launching.swept(1.0):
            new.write_bytes(b"of another run")
            with new.open() as file:
                memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            new.rename(used)
            killed(folder, 2, 1, SOLVE, 0.0, left)
        assert left
        assert launching.named() == {old, used}
        memory.close()
    finally:
        used.unlink(missing_ok=True)


def test_memory_that_killed_ranks_left_is_removed(tmp_path, monkeypatch):
    """Not what is new, what a process maps, or what has another name."""
    monkeypatch.setattr(leftovers, "FOLDER", tmp_path)
    names = ("mpich_shm_1", "mpich_shm_2", "mpich_shm_3", "pyapsp-x", "other")
    first, used, new, window, other = (tmp_path / name for name in names)
    for path in (first, used, new, window, other):
        path.write_bytes(bytes(10))
        if path is not new:
            os.utime(path, (time.time() - 100,) * 2)
    with used.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        leftovers.remove.__wrapped__()
    assert {*tmp_path.iterdir()} == {used, new, other}


def test_ranks_remove_what_others_left(tmp_path):
    left = launching.SHARED / f"{launching.PREFIX}left-{os.getpid()}"
    left.touch()
    os.utime(left, (time.time() - 100,) * 2)
    try:
        code = 'from pyapsp.cluster.ranks import Ranks, world\nwith Ranks(world(), "solve"): pass'
        assert launching.run(2, "-c", code, cwd=tmp_path).returncode == 0
        assert not left.exists()
    finally:
        left.unlink(missing_ok=True)


@pytest.mark.kills
@pytest.mark.timeout(3600)
def test_random_kills_and_resumes_with_other_ranks(folder):
    """Real weights: every bit depends on where the run went on."""
    drawn = np.random.default_rng(8)
    n = 900
    graph = pyapsp.Graph.from_arcs(n, *drawn.integers(0, n, (2, 6 * n)), drawn.random(6 * n))
    write(graph, folder / "graph.npz")
    one = pyapsp.solve(graph, pyapsp.method("fw-outofcore", block=32)).distances
    words = (*SOLVE, "--set", "block=32", "--set", "interval=0", "--checkpoint", "snapshots")
    kills, changes, resumed = 0, 0, 0
    choose = random.Random(int(os.environ.get("PYAPSP_SEED", "1")))
    while kills < 20:
        ranks = choose.randint(2, 4)
        said = killed(folder, ranks, choose.randrange(ranks), words, 0.5 * choose.random())
        kills += "SIGKILL" in said
        began = time.monotonic()
        other = choose.randint(1, 4)
        changes += other != ranks
        done = launching.run(other, *words, "--record", "record.json", cwd=folder)
        assert done.returncode == 0, done.stderr
        resumed += '"resumed": true' in (folder / "record.json").read_text()
        assert pyapsp.open_rows(folder / "out.npy")[:].tobytes() == one.tobytes()
        (folder / "out.npy").unlink()
        print(f"{kills}: {ranks} -> {other} ranks, resumed in {time.monotonic() - began:.1f} s")
    assert changes >= 5
    print(f"\n{kills} kills, {resumed} resumed, {changes} with another number of ranks")


# -- pieces ----------------------------------------------------------------------------------


def test_shares_are_whole_blocks_in_proportion_to_speed():
    assert shares(100, 32, [1, 1]) == [(0, 64), (64, 100)]
    assert shares(320, 32, [3, 1, 1]) == [(0, 192), (192, 256), (256, 320)]
    assert shares(10, 32, [1, 1, 1])[0][0] == 0
    for n, block, ranks in ((1, 16, 5), (1000, 16, 7), (64, 64, 3)):
        found = shares(n, block, [1.0] * ranks)
        assert [low for low, _ in found[1:]] == [high for _, high in found[:-1]]
        assert found[-1][1] == n
        assert all(low % block == 0 for low, high in found if low < high)


def test_the_model_scales():
    one, two = (best(65_536, ranks, 4, RATES) for ranks in (1, 2))
    assert one.seconds == pytest.approx(65_536**3 / 14e12, rel=0.1)
    assert 1.8 < one.seconds / two.seconds <= 2.02
    # 4 TB of distances: on 64 devices they stay in device memory, and broadcasts are hidden
    large = best(10**6, 64, 4, RATES)
    assert large.resident
    assert large.seconds == pytest.approx(1e18 / 64 / 14e12, rel=0.25)
    assert large.broadcast < large.update
    # where links are slow, the grid is faster
    slow = Rates.of({**RATES.json(), "link": 1e9})
    assert best(10**6, 1024, 4, slow, layout="grid").seconds < best(10**6, 1024, 4, slow).seconds
    assert predict(1000, 1, 64, 4, RATES).broadcast == 0
    with pytest.raises(ParameterError, match="hold no rows"):
        best(10**6, 4, 4, Rates.of({**RATES.json(), "memory": 2**20}))
    with pytest.raises(ParameterError, match="no rates"):
        Rates.of({"product": 1})


def test_a_cluster_may_have_other_memory_than_where_rates_were_measured(tmp_path, capsys):
    path = tmp_path / "rates.json"
    path.write_text(json.dumps({**RATES.json(), "memory": 2**30}))
    words = ["scale", "-n", "1000000", "--ranks", "4", "--rates", str(path)]
    assert cli.main(words) == 2
    assert "hold no rows" in capsys.readouterr().err
    assert cli.main([*words, "--memory", "80G", "--link", "25G", "--json"]) == 0
    rates = json.loads(capsys.readouterr().out)["rates"]
    assert (rates["memory"], rates["link"]) == (80e9, 25e9)


def test_files_that_are_not_whole_are_refused(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        pyapsp.open_rows(tmp_path / "nothing.npy")
    np.save(tmp_path / "line.npy", np.zeros(3))
    with pytest.raises(FormatError, match="not a matrix"):
        pyapsp.open_rows(tmp_path / "line.npy")
    folder = tmp_path / "out.rows"
    folder.mkdir()
    with pytest.raises(FormatError, match="did not end"):
        pyapsp.open_rows(folder)
    text = (
        '{"format": "rows of pyapsp", "schema": 1, "shape": [4, 3], "dtype": "int32", "shards": '
        '[{"file": "a.npy", "predecessors": null, "ranges": [[0, 1], [3, 4]]},'
        ' {"file": "b.npy", "predecessors": null, "ranges": [[1, 3]]}]}'
    )
    (folder / CONTENT).write_text(text)
    np.save(folder / "a.npy", np.arange(6, dtype=np.int32).reshape(2, 3))
    with pytest.raises(FormatError, match=r"b\.npy: there is no such file"):
        pyapsp.open_rows(folder)
    np.save(folder / "b.npy", np.full((2, 3), 9, np.int32))
    rows = pyapsp.open_rows(folder)
    assert np.asarray(rows).tolist() == [[0, 1, 2], [9, 9, 9], [9, 9, 9], [3, 4, 5]]
    assert rows[-1].tolist() == [3, 4, 5]
    assert len(list(rows)) == len(rows) == 4
    with pytest.raises(ParameterError, match="row"):
        rows[4]
    (folder / CONTENT).write_text(text.replace("[1, 3]", "[2, 4]"))
    with pytest.raises(FormatError, match="each of the 4 rows once"):
        pyapsp.open_rows(folder)
    (folder / CONTENT).write_text(text.replace("[4, 3]", "[5, 3]"))
    with pytest.raises(FormatError, match="each of the 5 rows once"):
        pyapsp.open_rows(folder)
    (folder / CONTENT).write_text(text.replace("b.npy", "../b.npy"))
    with pytest.raises(FormatError, match="not in this folder"):
        pyapsp.open_rows(folder)
    (folder / CONTENT).write_text("[]")
    with pytest.raises(FormatError, match="not the rows of a run"):
        pyapsp.open_rows(folder)


@pytest.mark.parametrize(
    ("variables", "launched"),
    [
        ({}, False),
        ({"PMI_SIZE": "1"}, True),  # mpiexec -n 1 continues a snapshot of more ranks
        ({"SLURM_STEP_NUM_TASKS": "1"}, False),
        ({"SLURM_STEP_NUM_TASKS": "1", "PMI_SIZE": "1"}, False),
        ({"SLURM_STEP_NUM_TASKS": "1", "PMI_SIZE": "2"}, True),  # mpiexec in a job
        ({"SLURM_STEP_NUM_TASKS": "8"}, True),
    ],
)
def test_one_task_of_slurm_is_a_plain_process(variables, launched, monkeypatch):
    for name in (*launchers._SIZES, launchers._TASKS):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert launchers.launched() is launched


def test_the_memory_of_rows_includes_predecessors(monkeypatch):
    monkeypatch.setattr(answers, "available_memory", lambda: 1000)
    options = AllPairsOptions(pyapsp.device.choose(), np.dtype(np.int32))
    assert answers.Answers(10, options).room(0, 10, 1).shape == (10, 10)
    both = answers.Answers(15, replace(options, predecessors=True))
    assert both.room(0, 6, 1).shape == (6, 15)
    with pytest.raises(DeviceMemoryError):
        both.room(0, 7, 1)


@pytest.mark.parametrize(("sources", "places"), [(None, [1, 2]), ([2, 3, 0, 1], [0, 3])])
def test_a_rank_takes_the_rows_of_its_sources(sources, places):
    options = AllPairsOptions(pyapsp.device.choose(), np.dtype(np.int32))
    if sources is not None:
        options = replace(options, sources=np.array(sources))
    rows = np.arange(8, dtype=np.int32).reshape(2, 4)
    matrix = SimpleNamespace(first=1, last=3, array=rows, dtype=rows.dtype, on_disk=False)
    found = answers.Answers(4, options)
    found.take(matrix, None)
    distances, _, numbers = found.result()
    assert numbers.tolist() == places
    assert np.array_equal(distances, rows if sources is None else rows[::-1])


@pytest.mark.parametrize("call", ["all", "barrier"])
def test_files_that_are_named_stay_after_an_error(call, tmp_path):
    def lost(*_):
        raise RankError(1, "host", "", "")

    calls = {"share": lambda each: each, "all": lambda each: [each], "barrier": lambda: None}
    ranks = SimpleNamespace(rank=0, host="host", hosts=["host"], **{**calls, call: lost})
    options = AllPairsOptions(pyapsp.device.choose(), np.dtype(np.int32))
    rows, path = np.arange(9, dtype=np.int32).reshape(3, 3), tmp_path / "out.rows"

    def write_all():
        with files.opened(ranks, 3, options, path) as found:
            found.put(np.arange(3), rows, None)

    with pytest.raises(RankError):
        write_all()
    if call == "all":
        assert not list(path.iterdir())
    else:
        assert pyapsp.open_rows(path)[:].tolist() == rows.tolist()


def test_a_path_needs_ranks(tmp_path):
    with pytest.raises(ParameterError, match="out"):
        pyapsp.solve(np.ones((3, 3)), out=tmp_path / "out.npy")
    with pytest.raises(ParameterError, match="communicator"):
        pyapsp.solve(np.ones((3, 3)), comm=3)
