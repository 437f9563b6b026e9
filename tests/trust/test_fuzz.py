"""Every reader on spoiled files; ``python tests/trust/fuzz.py`` has a hundred thousand of them."""

from __future__ import annotations

import gzip
import io
import json
import logging
import os
import re
import resource
import signal
import zipfile
from contextlib import suppress

import fuzz
import numpy as np
import pytest
import scipy.sparse

from pyapsp.all_pairs.dense.outofcore import manifest
from pyapsp.all_pairs.dense.outofcore.checkpoint import Checkpoint
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.cluster.checkpoint import SharedCheckpoint
from pyapsp.errors import CheckpointError, FormatError, ProgramError
from pyapsp.graph import Graph, generators, read, write
from pyapsp.graph.io import source
from pyapsp.paths.result import Result

COUNTS = {"program": 60, "record": 60, "database": 60, "gz": 100, "gr.gz": 100, "model": 60}


every_reader = pytest.mark.parametrize("reader", fuzz.READERS, ids=lambda reader: reader.name)


def assert_fits(reader, seeds, folder, caplog):
    caplog.set_level(logging.CRITICAL)
    counts, faults = fuzz.try_inputs(reader, seeds, folder)
    assert faults == []
    assert counts.total() == len(seeds)


@pytest.mark.usefixtures("little_memory")
@every_reader
def test_an_answer_or_a_typed_error(reader, tmp_path, caplog):
    assert_fits(reader, range(COUNTS.get(reader.name, 200) // 2), tmp_path, caplog)


@pytest.mark.slow
@pytest.mark.usefixtures("little_memory")
@every_reader
def test_more_inputs(reader, tmp_path, caplog):
    count = COUNTS.get(reader.name, 200)
    assert_fits(reader, range(count // 2, count), tmp_path, caplog)


def test_a_fault_is_found(tmp_path):
    """A reader that trusts its file does not pass."""

    def trusting(path):
        return np.zeros(int(path.read_bytes().split()[0]))

    reader = fuzz.Reader("trusting", lambda _: [b"12 a\n"], trusting, "a", 1)
    _, faults = fuzz.try_inputs(reader, range(30), tmp_path)
    assert any("ValueError" in each for each in faults)

    def slow(_):
        signal.raise_signal(signal.SIGALRM)

    reader = fuzz.Reader("slow", lambda _: [b"12"], slow, "a", 1)
    assert "TooLong" in fuzz.try_inputs(reader, range(1), tmp_path)[1][0]


def test_inputs_are_the_same_each_time(tmp_path):
    for reader in fuzz.READERS[:3]:
        bases = reader.bases(tmp_path)
        inputs = [fuzz.spoiled(reader, number, bases) for number in range(50)]
        assert inputs == [fuzz.spoiled(reader, number, bases) for number in range(50)]
        assert len(set(inputs)) > 40


# -- what the long run found -------------------------------------------------------------------


def peak_of(call):
    """Bytes by which the memory of a process grew at most."""
    import multiprocessing

    def child(results):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        call()
        results.put(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)

    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    process = context.Process(target=child, args=(results,))
    process.start()
    process.join()
    assert process.exitcode == 0
    return 1024 * results.get()


HEADERS = {
    "a.mtx": "%%MatrixMarket matrix coordinate real general\n{0} {0} {0}\n1 1 1\n",
    "b.mtx": "%%MatrixMarket matrix array real general\n{0} {0}\n1\n",
    "a.gr": "p sp {0} {0}\na 1 2 3\n",
    "b.gr": "p sp 3 {0}\na 1 2 3\n",
    "a.graph": "{0} {0}\n2\n1\n",
    "b.graph": "2 {0}\n2\n1\n",
}


@pytest.mark.parametrize("name", HEADERS)
def test_memory_does_not_follow_what_a_header_announces(name, tmp_path):
    path = tmp_path / name
    path.write_text(HEADERS[name].format(10**12))

    def reads():
        with pytest.raises(FormatError):
            read(path)

    assert peak_of(reads) < 2**24


def test_a_field_that_is_too_long(tmp_path):
    path = tmp_path / "a.csv"
    for place, lines in enumerate(["{0},b\n", "a,b\nb,{0}\n", "u,v\na,b\n{0},c,d\n"], start=1):
        path.write_text(lines.format("x" * 200_000))
        with pytest.raises(
            FormatError, match=rf"a\.csv:{place}: this line has 200,00\d characters"
        ):
            read(path)


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.fixture
def result(tmp_path):
    path = tmp_path / "r.npz"
    Result(np.zeros((2, 2)), None, np.arange(2), None, {}, ("because",)).save(path)
    return path


@pytest.mark.parametrize("name", ["distances.npy", "sources.npy", "about.npy"])
@pytest.mark.parametrize(
    "shape", [b"(1000000000000, 1000000000000)", b"(2, 1000000000000)", b"((((", b"None", b"(2L,)"]
)
def test_results_with_other_headers(name, shape, result):
    content = members(result)
    content[name] = re.sub(rb"\([\d, ]*\)", shape, content[name], count=1)
    rewrite(result, content)

    def loads():
        with pytest.raises(FormatError, match="not a saved result"):
            Result.load(result)

    assert peak_of(loads) < 2**24


def test_damaged_tables_of_contents(result):
    content = result.read_bytes()
    for place in range(len(content) - 60, len(content)):
        spoiled = bytearray(content)
        spoiled[place] ^= 0x80
        result.write_bytes(spoiled)
        try:
            Result.load(result)
        except FormatError as error:
            assert str(result) in str(error)  # noqa: PT017


def test_results_that_are_nested_deeply(result):
    content = members(result)
    array = io.BytesIO()
    np.save(array, np.array("[" * 100_000))
    content["about.npy"] = array.getvalue()
    rewrite(result, content)
    with pytest.raises(FormatError, match="not a saved result"):
        Result.load(result)


def test_a_missing_file_is_no_format(tmp_path):
    for load in (Result.load, read):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "no.npz")


@pytest.mark.parametrize("letter", [0x110000, 0xFFFFFFFF, 0xD800])
@pytest.mark.parametrize("order", ["<", ">"])
def test_letters_that_are_none(letter, order, tmp_path):
    labels = np.array([98, 0, letter, 97], f"{order}u4").view(f"{order}U2")
    path = tmp_path / "a.npz"
    arrays = {"indptr": [0, 1, 1], "indices": [1], "weights": [5], "directed": True}
    np.savez(path, labels=labels, **arrays)
    with pytest.raises(FormatError, match="letters that are none"):
        read(path)
    np.savez(path, labels=np.array(["b", "c"], f"{order}U2"), **arrays)
    assert read(path).labels.tolist() == ["b", "c"]


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "dia"])
@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("indptr", np.array([0, 10**6, 1, 2, 4])),
        ("indptr", np.array([0, -(10**6), 1, 2, 4])),
        ("indices", np.array([0, 1, 2, 10**9])),
        ("row", np.array([0, 1, 2, 10**9])),
        ("offsets", np.array([-(10**9)])),
        ("shape", np.array([10**12, 10**12])),
        ("shape", np.array([-4, -4])),
        ("shape", np.array([4.5, 4.5])),
        ("format", np.array(True)),
        ("format", np.array(b"lil")),
        ("data", np.array(["a"])),
    ],
)
def test_matrices_that_point_elsewhere(kind, member, value, tmp_path):
    """SciPy's compiled loops would follow such indices."""
    path = tmp_path / "m.npz"
    scipy.sparse.save_npz(path, scipy.sparse.eye_array(4, format=kind))
    content = members(path)
    if f"{member}.npy" not in content:
        return
    array = io.BytesIO()
    np.save(array, value)
    content[f"{member}.npy"] = array.getvalue()
    rewrite(path, content)

    def reads():
        if (kind, member) == ("dia", "offsets"):  # a diagonal outside: no arcs
            assert read(path).m == 0
            return
        with pytest.raises(FormatError):
            read(path)

    assert peak_of(reads) < 2**25


def test_a_few_bytes_that_stand_for_very_many(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "available_memory", lambda: 2**24)
    path = tmp_path / "a.gr.gz"
    path.write_bytes(gzip.compress(b"p sp 2 1\na 1 2 3\n" + b"\n" * 2**25, 1))
    with pytest.raises(FormatError, match="too many for a memory of 16,777,216 bytes"):
        read(path)
    path = tmp_path / "a.npz"
    write(generators.ring(4), path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("more.npy", bytes(2**23))
    with pytest.raises(FormatError, match="too many for a memory"):
        read(path)


def test_what_does_not_fit_the_memory(tmp_path, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    path = tmp_path / "a.gr"
    path.write_text("p sp 2 1\na 1 2 3\n")
    monkeypatch.setattr(Graph, "from_arcs", full)
    with pytest.raises(FormatError, match="the memory does not suffice"):
        read(path)


MANIFESTS = [
    lambda content: content.pop("data"),
    lambda content: content.pop("matrix"),
    lambda content: content.pop("state"),
    lambda content: content.pop("subject"),
    lambda content: content["data"].pop("file"),
    lambda content: content["data"].update(file="../../etc/passwd"),
    lambda content: content["data"].update(file=3),
    lambda content: content["data"].update(rows=0),
    lambda content: content["data"].update(rows=True),
    lambda content: content["data"].update(crc32=[]),
    lambda content: content["data"].update(crc32=["x"]),
    lambda content: content["data"].update(bytes=-1),
    lambda content: content["matrix"].update(n=10**12),
    lambda content: content["matrix"].update(n="6"),
]


@pytest.mark.parametrize("spoil", MANIFESTS)
def test_manifests_that_somebody_wrote(spoil, tmp_path):
    """With a sound checksum, and something missing or elsewhere."""
    subject = {"n": 6}
    with Matrix(np.zeros((6, 6), np.int32)) as matrix:
        with Checkpoint(tmp_path / "c", subject) as checkpoint:
            checkpoint.save(matrix, {"pass": 1})
        path = tmp_path / "c" / "manifest.json"
        content = json.loads(path.read_bytes())
        del content["sha256"]
        spoil(content)
        path.write_bytes(manifest.encoded(content))
        with (
            pytest.raises(CheckpointError, match="c"),
            Checkpoint(tmp_path / "c", subject) as again,
        ):
            again.load(matrix)
        assert sorted(os.listdir(tmp_path / "c"))[-1] == "manifest.json"


class _OneRank:
    """The only rank."""

    rank, hosts = 0, ("here",)

    def share(self, content):
        return content

    def all(self, content):
        return [content]

    def largest(self, value):
        return value

    def barrier(self):
        pass


PARTS = [
    lambda content: content.pop("parts"),
    lambda content: content.pop("state"),
    lambda content: content["state"].pop("pass"),
    lambda content: content.update(parts=[3]),
    lambda content: content["parts"][0].pop("file"),
    lambda content: content["parts"][0].update(file="../../etc/passwd"),
    lambda content: content["parts"][0].update(rows=0),
    lambda content: content["parts"][0].update(last="6"),
    lambda content: content["parts"][0].update(crc32=[]),
    lambda content: content["parts"][0].update(first=1),
    lambda content: content["matrix"].update(n="6"),
]


@pytest.mark.parametrize("spoil", PARTS)
def test_manifests_of_ranks_that_somebody_wrote(spoil, tmp_path):
    """The folder is free again after the error."""
    folder, state = tmp_path / "c", {"block": 2, "closing": {}, "pass": 1}
    with Matrix(np.arange(36, dtype=np.int32).reshape(6, 6)) as matrix:
        first = SharedCheckpoint(_OneRank(), folder, {"n": 6})
        first.save(matrix, state)
        first.__exit__(ValueError, ValueError(), None)  # keeps the snapshot
        path = folder / "manifest.json"
        sound = path.read_bytes()
        content = json.loads(sound)
        del content["sha256"]
        spoil(content)
        path.write_bytes(manifest.encoded(content))
        with (
            pytest.raises(CheckpointError, match="c") as caught,
            SharedCheckpoint(_OneRank(), folder, {"n": 6}) as again,
        ):
            again.load(matrix)
        path.write_bytes(sound)
        with SharedCheckpoint(_OneRank(), folder, {"n": 6}) as again:
            again.load(matrix)
        assert caught.value.__traceback__ is not None  # it still has the frames


@pytest.mark.slow
def test_any_bit_of_the_checkpoint_of_a_simulation(tmp_path):
    """Also those of the headers of the archive, which have no checksum."""
    [content] = fuzz._simulations(tmp_path)
    path, outcomes = tmp_path / "spoilt.npz", set()
    for place in range(len(content)):
        for bit in (0, 3, 5, 6):
            changed = bytes([content[place] ^ 1 << bit])
            path.write_bytes(content[:place] + changed + content[place + 1 :])
            with suppress(CheckpointError):
                fuzz._simulation(path)
                outcomes.add((place, bit))
    assert 0 < len(outcomes) < len(content)


PROGRAM = """#define N 4
int x[N], y[2] = {%s, 2};
const float t[N] = {%s, 2, 3, 4};
#pragma kernel
void run%s
{
    x[0] = y[0] + %s;
}
"""


@pytest.mark.parametrize(
    "parts",
    [
        ("-1e400", "1", "(void)", "1"),
        ("9223372036854775808", "1", "(void)", "1"),
        ("1", "inf", "(void)", "(int)t[0]"),
        ("1", "1", "(p)", "1"),
        ("1", "1", "", "1"),
        ("1", "1", "(void)", "(" * 3000 + "1" + ")" * 3000),
        ("1", "1", "(void)", "-" * 3001 + "1"),
    ],
)
def test_programs_that_are_none(parts, tmp_path):
    path = tmp_path / "a.c"
    path.write_text(PROGRAM % parts)
    from pyapsp.bulk import translate

    with pytest.raises(ProgramError, match=r"a\.c"):
        translate(path)
