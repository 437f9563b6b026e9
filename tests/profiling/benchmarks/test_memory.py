"""The benchmarks of memory, scheduling and control: answers, and what changes them."""

from __future__ import annotations

import shutil

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.device.kernels.source import assemble
from pyapsp.errors import VerificationError
from pyapsp.profiling.benchmarks import control, memory, scheduling
from pyapsp.profiling.benchmarks.answers import read_back
from pyapsp.profiling.benchmarks.measuring import Effort, measured
from pyapsp.profiling.observe import observing
from pyapsp.profiling.traces.record import Recorder, Shape

NAMES = {
    *("latency of loads", "constant latency", "read bandwidth", "write bandwidth", "coalescence"),
    *("stride", "access size", "bank conflicts", "local latency", "host to device"),
    *("device to host", "device copy", "launch", "barrier", "divergence", "atomic additions"),
    *("gather", "scalar code", "branches", "groups", "saved values", "shared word"),
    *("shared lines", "atomic latency", "gather latency", "turns"),
}
OF_A_CORE = ("gather", "scalar code", "branches", "barrier", "saved values", "atomic additions")


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(memory, "_LARGEST", 2**16)


def prepared(device):
    yield from memory.memory(device, quick=True)
    yield from memory.copies(device, quick=True)
    yield from scheduling.scheduling(device, quick=True)
    yield from control.control(device)
    yield from control.cores(device)


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
        if benchmark.name in ("coalescence", "stride", "access size"):  # of other sizes if quick
            assert benchmark.parameters["buffer"] in (memory._LARGEST, memory._QUICK)
        benchmark.close()
    assert names - {"cores"} == NAMES
    assert ("cores" in names) == device.traits.scalar_groups


@pytest.mark.usefixtures("small")
def test_a_core_is_measured_alone(device):
    """How many cores take part in a launch depends on the system, and is measured apart."""
    if not device.traits.scalar_groups:
        pytest.skip("its work-items have no cores of their own")
    found = set()
    for prepare in prepared(device):
        benchmark = prepare()
        place = benchmark.parameters
        # counters that all cores share tell what that costs
        if benchmark.name in OF_A_CORE and place.get("counters") != "one":
            with observing() as timeline:
                benchmark.run(1)
            [launch] = [each for each in timeline.commands if each.kind == "kernel"]
            group = place.get("work-items", 256 if "counters" in place else 1)
            if benchmark.name == "saved values":
                group = place["bytes"] // place["of a work-item"]
            assert launch.size == group, (benchmark.name, place)
            found.add(benchmark.name)
        benchmark.close()
    assert found == {*OF_A_CORE}


def test_no_predictor_knows_branches_at_random(device, monkeypatch):
    """Each launch has other numbers: processors remember those of the launch before."""
    lasts = []

    def read(queue, out, count):
        words = read_back(queue, out, count)
        lasts.append(words[-1])
        return words

    monkeypatch.setattr(control, "read_back", read)
    benchmark = control._branches(device, 1)
    for _ in range(3):
        benchmark.run(2)
        assert benchmark.fault(2) is None
    assert len(set(lasts)) == 3


def test_the_cores_of_a_launch(device):
    """The median of all launches counts; the answer of the last one is compared."""
    if not device.traits.scalar_groups:
        pytest.skip("its work-items have no cores of their own")
    benchmark = control._cores(device, 8)
    assert benchmark.run(0) == 0
    with observing() as timeline:
        first, second = benchmark.run(3), benchmark.run(2)
    times = [each.seconds for each in timeline.commands if each.kind == "kernel"]
    assert len(times) == 5
    assert first == pytest.approx(3 * sorted(times[:3])[1])
    assert second == pytest.approx(2 * sorted(times)[2])
    assert benchmark.fault(2) is None
    assert benchmark.work == benchmark.parameters["operations"]
    assert benchmark.work == 32 * 8 * control._rows(device).work


def test_strides_beyond_32_bits(device):
    """Devices with many work-items have them; the kernel's numbers wrap around."""
    benchmark = memory._gather(device, 2**12, 0, 2**31 + 3, "gather", {})
    benchmark.run(2)
    assert benchmark.fault(2) is None


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
        ("saved values", "EACH(KEPT_STEP)", ""),
        ("shared word", "round < rounds", "round < min(rounds, 1)"),
        ("shared lines", "seen += atomic_inc(mine", "seen += *(mine"),
        ("atomic latency", "atomic_or(next + place, zero)", "place + zero"),
        ("gather latency", "place = next[place]", "place += 0"),
        ("turns", "out[turn] = turn + round", "out[turn] = turn"),
        ("atomic additions", "seen += atomic_inc(counter);", "seen++;"),
        ("launch", "out[0] =", "out[0] +="),
        ("gather", "place += stride;", ""),
        ("scalar code", "arc < end", "arc + 1 < end"),
        ("branches", "number >> 31 < ways", "number < ways"),
        ("groups", "get_global_id(0) & mask", "0"),
        ("cores", "arc < end", "arc + 1 < end"),
    ],
    ids=lambda value: value.replace(" ", "-") if value in NAMES else "",
)
def test_a_kernel_that_does_less_is_caught_by_its_answer(
    device, build_without, name, text, instead
):
    if name == "cores" and not device.traits.scalar_groups:
        pytest.skip("its work-items have no cores of their own")
    build_without(text, instead)
    for prepare in prepared(device):
        benchmark = prepare()
        if benchmark.name == name:
            break
        benchmark.close()
    with pytest.raises(VerificationError, match=rf"benchmark {name} \("):
        measured(benchmark, Effort(seconds=1e-4, repeat=1))


def test_operations_of_scalar_code_are_those_that_probes_count(device):
    """The work of a round is that of the rows of a launch of two rounds, less that of one."""
    benchmark = next(control.control(device))()
    source = assemble("profiling/control.cl", {})
    queue, recorder = device.queue(), Recorder(device, source, "profiling_rows")
    ends, heads, values = control.graph()
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(queue.context, flags, hostbuf=each) for each in (ends, heads, values)]
    out = cl.Buffer(queue.context, flags, hostbuf=np.zeros(1, np.uint32))
    most, shape = np.uint32(values.max()), Shape((1,), (1,))
    totals = []
    for rounds in (1, 2):
        scalars = np.uint32(len(ends) - 1), most, np.int32(rounds)
        counts = recorder.blocks(queue, shape, [*buffers, out, *scalars])
        totals.append(sum(counts.operations().values()))
    groups, group = control.groups_of_units(device)
    assert benchmark.work == groups * group * (totals[1] - totals[0])


@pytest.mark.skipif(shutil.which("objdump") is None, reason="no objdump")
def test_the_compiled_loop_has_the_generated_branches(device):
    for prepare in control.control(device):
        benchmark = prepare()
        if benchmark.name != "branches":
            continue
        benchmark.run(1)
        found = benchmark.facts()
        if found["counts_agree"] is None:
            pytest.skip("the driver gives no code")
        assert (found["operations"], found["counted"]) == (32, 33)  # and that of the loop
        assert found["counts_agree"]


def test_a_loop_of_loads_goes_round_every_place(device, monkeypatch):
    monkeypatch.setattr(memory, "_LARGEST", 2**12)
    benchmark = next(memory.memory(device, quick=True))()
    loads = 2**12 // 64 + 5
    for _ in range(loads):
        benchmark.run(1)
    assert benchmark.fault(1) is None
