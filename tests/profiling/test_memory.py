"""The benchmarks of memory and of scheduling: answers, and what changes them."""

from __future__ import annotations

import pytest

from pyapsp.errors import VerificationError
from pyapsp.profiling import memory, scheduling
from pyapsp.profiling.measuring import Effort, measured

NAMES = {
    *("latency of loads", "constant latency", "read bandwidth", "write bandwidth", "coalescence"),
    *("stride", "access size", "bank conflicts", "local latency", "host to device"),
    *("device to host", "device copy", "launch", "barrier", "divergence", "atomic additions"),
}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(memory, "_LARGEST", 2**16)


def prepared(device):
    yield from memory.memory(device, quick=True)
    yield from memory.copies(device, quick=True)
    yield from scheduling.scheduling(device, quick=True)


@pytest.mark.usefixtures("small")
def test_every_answer_is_right(device):
    names = set()
    for prepare in prepared(device):
        benchmark = prepare()
        names.add(benchmark.name)
        for rounds in (0, 1, 2, 5):
            assert benchmark.run(rounds) >= 0
            assert benchmark.fault(rounds) is None, (benchmark.name, benchmark.parameters, rounds)
        assert benchmark.work > 0
        benchmark.close()
    assert names == NAMES


@pytest.mark.every(6)
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("name", "text", "instead"),
    [
        ("latency of loads", "place = next[place];\n    }\n    out", "place = 0;\n    }\n    out"),
        ("read bandwidth", "place += PYAPSP_STEPS * width;", ""),
        ("write bandwidth", "to[at] = (strip_t)(at + rounds);", "(void)at;"),
        ("coalescence", "round < rounds", "round < min(rounds, 1)"),
        ("access size", "i < each", "i + 1 < each"),
        ("bank conflicts", "round < rounds", "round < min(rounds, 1)"),
        ("divergence", "(value ^ c) :", "(value | c) :"),
        ("barrier", "passed[neighbour] + 1", "passed[item] + 1"),
        ("atomic additions", "seen += atomic_inc(counter);", "seen++;"),
        ("launch", "out[0] =", "out[0] +="),
    ],
    ids=lambda value: value.replace(" ", "-") if value in NAMES else "",
)
def test_a_kernel_that_does_less_is_caught_by_its_answer(
    device, build_without, name, text, instead
):
    build_without(text, instead)
    for prepare in prepared(device):
        benchmark = prepare()
        if benchmark.name == name:
            break
        benchmark.close()
    with pytest.raises(VerificationError, match=rf"benchmark {name} \("):
        measured(benchmark, Effort(seconds=1e-4, repeat=1))


def test_a_loop_of_loads_goes_round_every_place(device, monkeypatch):
    monkeypatch.setattr(memory, "_LARGEST", 2**12)
    benchmark = next(memory.memory(device, quick=True))()
    loads = 2**12 // 64 + 5
    for _ in range(loads):
        benchmark.run(1)
    assert benchmark.fault(1) is None
