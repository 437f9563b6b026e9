"""Every reader on spoiled files: a typed error or an answer, soon, and within the memory.

    python tests/trust/fuzz.py --inputs 100000

Each input follows from the name of the reader and a number, so `--only mtx --first 4711 --inputs 1`
repeats one. Inputs are read in processes of their own with a limit on memory and on time. What may
come out is an error of `pyapsp.errors`, or what the file says. Exit code 1 after anything else.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import multiprocessing
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import scipy.sparse
from mutations import mutated

from pyapsp.errors import NamesWarning, PyApspError
from pyapsp.graph import Graph, generators, read, write
from pyapsp.paths.result import Result

SECONDS = 20  # for one input
MEMORY = 2**31  # that a process may add to what it has


@dataclass(frozen=True)
class Reader:
    """What is tried."""

    name: str
    # Makes sound files in a folder, and returns their contents.
    bases: Callable[[Path], list[bytes]]
    # Of a path; raises only errors of pyapsp.
    read: Callable[[Path], object]
    file: str  # the name of the spoiled file
    share: int  # inputs of this reader, of 100


def _graphs() -> list[Graph]:
    loop = Graph.from_arcs(3, [0, 1, 2, 2], [1, 2, 0, 2], [1.5, -2.0, 3.0, 0.0])
    named = Graph.from_arcs(2, [0, 1], [1, 0], [4, 4], directed=False, labels=["a b", "é"])
    random = generators.random_graph(9, 30, max_weight=99)
    return [loop, named, random, generators.grid_2d(3, 3), generators.ring(5)]


def _written(suffix: str, *more: bytes) -> Callable[[Path], list[bytes]]:
    def bases(folder: Path) -> list[bytes]:
        contents = list(more)
        for graph in _graphs():
            path = folder / f"base{suffix}"
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", NamesWarning)
                    write(graph, path)
            except PyApspError:  # the format does not have such graphs
                continue
            contents.append(path.read_bytes())
        return contents

    return bases


def _matrices(folder: Path) -> list[bytes]:
    contents = _written(".npz")(folder)
    for kind in ("csr", "coo", "csc", "bsr", "dia"):
        path = folder / "matrix.npz"
        scipy.sparse.save_npz(path, scipy.sparse.eye_array(4, format=kind), compressed=False)
        contents.append(path.read_bytes())
    return contents


def _results(folder: Path) -> list[bytes]:
    contents = []
    for dtype, labels in ((np.float64, None), (np.int32, np.array(["x", "yy"])), (np.uint16, None)):
        before = np.array([[-9999, 0], [1, -9999]], np.int32)
        result = Result(np.ones((2, 2), dtype), before, np.arange(2), labels, {"n": 2}, ("so",))
        result.save(folder / "result.npz")
        contents.append((folder / "result.npz").read_bytes())
    return contents


def _load_result(path: Path) -> None:
    result = Result.load(path)
    result.explain()
    if result.predecessors is not None and len(result.sources):
        result.path(int(result.sources[0]), 0)


_SUBJECT = {"graph": "0123abcd", "n": 6, "dtype": "int32", "parameters": {"b": 16}}


def _checkpoints(folder: Path) -> list[bytes]:
    from pyapsp.all_pairs.dense.outofcore.checkpoint import Checkpoint
    from pyapsp.all_pairs.dense.outofcore.storage import Matrix

    where = folder / "checkpoint"
    values = np.arange(36, dtype=np.int32).reshape(6, 6)
    with Matrix(values) as matrix, Checkpoint(where, _SUBJECT) as checkpoint:
        checkpoint.save(matrix, {"pass": 1, "done": [[0, 3]]})
    return [(where / "manifest.json").read_bytes()]


def _load_checkpoint(path: Path) -> None:
    from pyapsp.all_pairs.dense.outofcore.checkpoint import Checkpoint
    from pyapsp.all_pairs.dense.outofcore.storage import Matrix

    values = np.zeros((6, 6), np.int32)
    with Matrix(values) as matrix, Checkpoint(path.parent, _SUBJECT) as checkpoint:
        checkpoint.load(matrix)


def _signed(path: Path) -> None:
    """Load a manifest with a sound checksum: what somebody wrote, not what a disk spoiled."""
    from pyapsp.all_pairs.dense.outofcore import manifest

    try:
        content = json.loads(path.read_bytes())
        content.pop("sha256", None)
        path.write_bytes(manifest.encoded(content))
    except (ValueError, AttributeError, TypeError, RecursionError):
        pass
    _load_checkpoint(path)


def _databases(_: Path) -> list[bytes]:
    from pyapsp.device.kernels.source import root

    return [path.read_bytes()[:4000] for path in sorted(root().glob("tuning/*.json"))] + [
        json.dumps({"schema": 1, "rows": json.loads(path.read_bytes())["rows"][:2]}).encode()
        for path in sorted(root().glob("tuning/*.json"))
    ]


def _database(path: Path) -> None:
    from pyapsp.registry.tuning import database

    database.load(path, strict=False)
    database.load(path)


def _journals(folder: Path) -> list[bytes]:
    from pyapsp.registry.tuning.journal import Journal, Outcome
    from pyapsp.registry.tuning.objective import Cost

    path = folder / "journal"
    journal = Journal(path, {"method": "fw-naive"}, restart=True)
    for number in range(3):
        journal.start({"tile": number})
        journal.finish(Outcome({"tile": number}, "ok", 0.5))
    journal.final({"tile": 1}, Cost(0.25))
    return [path.read_bytes()]


def _journal(path: Path) -> None:
    from pyapsp.registry.tuning.journal import Journal

    Journal(path, {"method": "fw-naive"})


RECORD = {
    "schema": 3,
    "method": "fw-naive",
    "dtype": "float64",
    "device": {"name": "a", "platform": "b", "kind": "cpu", "version": "1", "driver": "2"},
    "graph": {"name": "g", "n": 9, "m": 20, "directed": True, "hash": "00"},
    "kernel_seconds": 0.5,
    "transfer_seconds": 0.1,
    "wall_seconds": 1.0,
    "rate": 1458.0,
    "fraction_of_roof": None,
    "max_error": 0.0,
    "verified": True,
    "ratios": {"scipy": 3.5},
    "environment": {"numpy": "2"},
}
PEER = {"graph": "g", "n": 9, "name": "scipy", "version": "1", "calls": "f", "dtype": "float64"}
PEER |= {"median_seconds": 0.5, "rate": 1.5, "verified": True}


def _records(_: Path) -> list[bytes]:
    bench = {"runs": [RECORD], "peers": [PEER], "left_out": [{"graph": "g", "n": 9}]}
    return [
        json.dumps(each, indent=indent).encode() for each in (RECORD, bench) for indent in (None, 1)
    ]


def _report(path: Path) -> None:
    from pyapsp.bench.report import write_report

    write_report([path], path.parent, ("tables",))


def _programs(_: Path) -> list[bytes]:
    from pyapsp.bulk import programs

    more = b"""#define N 4
#if defined(N) && N > 3
int x[N], y[2] = {1, 2};
#endif
#define TWICE(a) ((a) + (a))
const float t[N] = {1, 2, 3, 4};
float f;
int pick(int a, int b) { return a > b ? a : b; }
#pragma kernel
void run(void)
{
    for (int i = 0; i < N; i++)
        x[i] = pick(TWICE(x[i]), (int)(t[i] * f)) << 1;
    int j = 3;
    while (j > 0) { y[j & 1] -= x[j]; j--; }
}
"""
    return [path.read_bytes() for path in programs().values()] + [more] * 5


def _translate(path: Path) -> None:
    from pyapsp.bulk import translate

    translate(path)


def _models(_: Path) -> list[bytes]:
    models = Path(__file__).parents[1] / "simulation" / "models"
    return [path.read_bytes() for path in sorted(models.iterdir())]


def _model(path: Path) -> None:
    from pyapsp.simulation.frontend import read_model

    read_model(path)


def _series(_: Path) -> list[bytes]:
    head = (
        b"ISDF" + bytes(4) + b"2020-01-01T00:00:00Z" + bytes([2, 0, 0, 0, 0, 0, 0, 0, 13, 0, 0, 0])
    )
    return [head + bytes(4) + b"\4\0\0\0time\1\0\0\0x" + np.arange(8.0).tobytes()]


def _read_series(path: Path) -> None:
    from pyapsp.simulation.frontend.series import interpolation, read_isd

    times, *columns = read_isd(path.read_bytes(), path).values()
    for column in columns:
        interpolation(times, column)


class _Engine:
    """Takes the states of a checkpoint."""

    def get(self) -> np.ndarray:
        return np.zeros(3)

    def put(self, states: np.ndarray) -> None:
        assert states.shape == (3,)


def _course(path: Path):
    from pyapsp.simulation.integrate import Course, Plan

    return Course(_Engine(), Plan(0.0, 0.5, 40, 4), list("abc"), None, path, b"")


def _simulations(folder: Path) -> list[bytes]:
    path = folder / "run.npz"
    course = _course(path)
    course._done, course._rows = 8, [np.ones((2, 2))]
    course._note()
    return [path.read_bytes()]


def _simulation(path: Path) -> None:
    _course(path)._load()


def _row_files(folder: Path) -> list[bytes]:
    path = folder / "rows.npy"
    contents = []
    for rows in (np.eye(3), np.ones((2, 4), np.int32)):
        np.save(path, rows)
        contents.append(path.read_bytes())
    return contents


def _open_rows(path: Path) -> None:
    from pyapsp.cluster.shards import open_rows

    np.asarray(open_rows(path))


def _row_lists(_: Path) -> list[bytes]:
    from pyapsp.cluster.shards import described

    shards = [
        {"file": "a.npy", "predecessors": None, "ranges": [[0, 1], [3, 4]]},
        {"file": "b.npy", "predecessors": "c.npy", "ranges": [[1, 3]]},
    ]
    return [json.dumps(described((4, 2), np.dtype(np.float64), shards)).encode()] * 2


def _open_folder(path: Path) -> None:
    for name in "abc":
        np.save(path.parent / f"{name}.npy", np.ones((2, 2), np.int32 if name == "c" else float))
    _open_rows(path.parent)


def _traces(folder: Path) -> list[bytes]:
    contents, arrays = [], {"x": np.arange(5.0), "flag": np.arange(5) > 2}
    for save in (np.savez, np.savez_compressed):
        save(folder / "trace.npz", **arrays)
        contents.append((folder / "trace.npz").read_bytes())
    return contents


def _read_trace(path: Path) -> None:
    from pyapsp.mining import read_trace

    read_trace(path)


MATRICES = (
    b"%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
    b"%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 1\n2 1 4\n",
)
METIS = b"% c\n3 2 011 2\n9 9 2 5\n9 9 1 5 3 1\n9 9 2 1\n"
PACKED = gzip.compress(b"p sp 2 1\na 1 2 3\n", mtime=0)
READERS = [
    Reader("mtx", _written(".mtx", *MATRICES), read, "a.mtx", 10),
    Reader("gr", _written(".gr", b"c x\np sp 3 2\na 1 2 1.5\nc\na 2 3 7\n"), read, "a.gr", 10),
    Reader("txt", _written(".txt", b"# x\n1 2\n5 7\n", b"a;b;1\nb;c;2\n"), read, "a.txt", 8),
    Reader("csv", _written(".csv", b'"a, b",c,1.5\nc,"d",2\n', b"u,v\n1,2\n"), read, "a.csv", 8),
    Reader("tsv", _written(".tsv", b"a b\tc\t3\textra\n"), read, "a.tsv", 4),
    Reader("graph", _written(".graph", METIS), read, "a.graph", 8),
    Reader("gz", _written(".mtx.gz"), read, "a.mtx.gz", 4),
    Reader("gr.gz", _written(".gr.gz", PACKED), read, "a.gr.gz", 4),
    Reader("npz", _matrices, read, "a.npz", 8),
    Reader("result", _results, _load_result, "a.npz", 6),
    Reader("checkpoint", _checkpoints, _load_checkpoint, "manifest.json", 2),
    Reader("signed", _checkpoints, _signed, "manifest.json", 2),
    Reader("simulation", _simulations, _simulation, "run.npz", 4),
    Reader("rows", _row_files, _open_rows, "a.npy", 4),
    Reader("folder", _row_lists, _open_folder, "rows.json", 2),
    Reader("trace", _traces, _read_trace, "a.npz", 4),
    Reader("table", _row_files, _read_trace, "a.npy", 2),
    Reader("database", _databases, _database, "a.json", 4),
    Reader("journal", _journals, _journal, "journal", 2),
    Reader("record", _records, _report, "a.json", 4),
    Reader("program", _programs, _translate, "a.c", 8),
    Reader("model", _models, _model, "a.xml", 6),
    Reader("series", _series, _read_series, "a.isd", 2),
]


class TooLongError(BaseException):
    """An input took more time than one may."""


def _late(*_: object) -> None:
    raise TooLongError


def spoiled(reader: Reader, number: int, bases: list[bytes]) -> bytes:
    """Return the input of this number."""
    return mutated(Random(f"{reader.name} {number}"), bases)


def try_inputs(reader: Reader, numbers: range, folder: Path, at=None) -> tuple[Counter, list[str]]:
    """Read some inputs; what came out of how many, and the faults.

    Parameters
    ----------
    at : multiprocessing.Value, optional
        Told the number of each input before it is read, for when the process dies.
    """
    bases, where = reader.bases(folder), folder / "spoiled"
    where.mkdir(exist_ok=True)
    path, counts, faults = where / reader.file, Counter(), []
    before = signal.signal(signal.SIGALRM, _late)
    for number in numbers:
        if at is not None:
            at.value = number
        path.write_bytes(spoiled(reader, number, bases))
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            reader.read(path)
            outcome = "read"
        except PyApspError as error:
            outcome = type(error).__name__
            if not str(error):
                faults.append(f"{reader.name} {number}: an error without a word")
        except (Exception, TooLongError) as error:
            outcome = f"FAULT {type(error).__name__}"
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.lineno}"
            own = [
                f"{Path(each.filename).name}:{each.lineno}"
                for each in traceback.extract_tb(error.__traceback__)
                if "/pyapsp/" in each.filename
            ]
            faults.append(
                f"{reader.name} {number}: {type(error).__name__} {str(error)[:150]} "
                f"at {place}, from {own[-1] if own else '-'}"
            )
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        counts[outcome] += 1
    signal.signal(signal.SIGALRM, before)
    return counts, faults


def _limit_memory() -> int:
    """Let this process grow by MEMORY only; return the bytes it has."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(
        resource.RLIMIT_AS, (used + MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1])
    )
    return used


def _work(index: int, numbers: range, at, results) -> None:
    """Do a part of the inputs in a process of its own."""
    reader = READERS[index]
    warnings.simplefilter("error")
    logging.disable()
    with tempfile.TemporaryDirectory(prefix="pyapsp-fuzz-") as folder:
        try_inputs(reader, range(-3, 0), Path(folder))  # what is imported is not what is read
        base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        _limit_memory()
        outcome = try_inputs(reader, numbers, Path(folder), at)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base
    results.put((*outcome, peak / 1024))


def run(reader: Reader, numbers: range) -> tuple[Counter, list[str], float]:
    """Read inputs in another process; one at which it dies is a fault, and it goes on behind it."""
    context = multiprocessing.get_context("spawn")
    counts: Counter = Counter()
    faults: list[str] = []
    peak = 0.0
    while numbers:
        at, results = context.Value("q", numbers.start), context.SimpleQueue()
        process = context.Process(target=_work, args=(READERS.index(reader), numbers, at, results))
        process.start()
        process.join()
        if process.exitcode == 0:
            some, more, high = results.get()
            return counts + some, faults + more, max(peak, high)
        faults.append(f"{reader.name} {at.value}: the process ended with {process.exitcode}")
        counts["FAULT death"] += 1
        numbers = range(at.value + 1, numbers.stop)
    return counts, faults, peak


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--inputs", type=int, default=100_000, help="of all readers together")
    parser.add_argument("--first", type=int, default=0, help="number of the first of each")
    parser.add_argument("--only", nargs="*", choices=[each.name for each in READERS])
    arguments = parser.parse_args()
    chosen = [each for each in READERS if not arguments.only or each.name in arguments.only]
    shares, total, found = sum(each.share for each in chosen), 0, []
    for reader in chosen:
        count = -(-arguments.inputs * reader.share // shares)
        started = time.monotonic()
        counts, faults, peak = run(reader, range(arguments.first, arguments.first + count))
        total, found = total + count, found + faults
        outcomes = ", ".join(f"{name} {number}" for name, number in counts.most_common())
        seconds = time.monotonic() - started
        print(
            f"{reader.name:>10} {count:6} inputs {seconds:6.1f} s, peak +{peak:.0f} MiB: {outcomes}"
        )
        for fault in faults[:40]:
            print(f"    {fault}")
        sys.stdout.flush()
    print(f"{total} inputs, {len(found)} faults")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
