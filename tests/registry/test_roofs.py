"""The roofs: what their loops compute, and what the measurement says."""

from __future__ import annotations

import dataclasses
from itertools import product

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.device import Device, event_seconds, model
from pyapsp.device.kernels import build
from pyapsp.errors import CapabilityError
from pyapsp.graph import generators
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.precision import DTYPES
from pyapsp.registry import roofs

ROUNDS = 16


def lowered(start, step, strips, *, three):
    """What a work-item of the loop leaves behind, in Python."""
    c = [start + i * step for i in range(strips)]
    for _ in range(4 * ROUNDS):
        for i in range(strips):
            near, far = c[(i + 1) % strips], c[(i + 2) % strips]
            c[i] = min(c[i], near + step, far + 2 * step if three else c[i])
    return min(c)


def values_of(dtype, step, starts):
    """The buffer of the loop; 2**16 - 2 does as -2 where there is no sign, as sums wrap."""
    return np.array([*step, *starts]).astype(dtype)


def run_loop(device, program, strips, values):
    queue = device.queue()
    values = values.copy()
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffer = cl.Buffer(queue.context, flags, hostbuf=values)
    kernel = program.kernel(f"roofs_updates_{strips}")
    kernel(queue, (2,), (1,), buffer, np.int32(ROUNDS))
    cl.enqueue_copy(queue, values, buffer)
    return values


@pytest.mark.every(4)
@pytest.mark.parametrize("three", [0, 1])
@pytest.mark.parametrize("strips", [8, 13, 28])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_loops_do_every_update(dtype, strips, three, device):
    """With a negative b every strip is lowered in every step: leaving one out would show."""
    dtype = np.dtype(dtype)
    if dtype == np.float16 and not device.capabilities.fp16:
        with pytest.raises(CapabilityError, match="has no float16"):
            roofs.Meter(device, dtype)
        return
    width, starts = 4, range(1000, 1008)
    values = values_of(dtype, [-2] * width, starts)
    expected = [lowered(start, -2, strips, three=three) for start in starts]
    # no sum is negative here, so the bits of floats are in the same order
    for bits, builtin in product((False, True), (0, 1)):
        defines = arithmetic_defines(device, dtype, width=width, bits=bits)
        defines |= {"PYAPSP_MIN_BUILTIN": builtin, "PYAPSP_THREE": three}
        program = build(device, "registry/roofs.cl", defines)
        found = run_loop(device, program, strips, values)
        np.testing.assert_array_equal(found[width:], expected)


@pytest.mark.parametrize("strips", [8, 12])
@pytest.mark.parametrize("dtype", ["uint16", "int16", "float16", "int32"])
def test_the_loops_on_words_do_every_update(dtype, strips, device):
    dtype = np.dtype(dtype)
    if dtype == np.float16 and not device.capabilities.fp16:
        return  # test_the_loops_do_every_update sees to the refusal
    values = 4 // dtype.itemsize
    starts = [1500, 1031, 1032, 1077][: 2 * values]
    three = int(values == 1)  # the sums of halves of a word may not wrap in a multiply-add
    defines = {"PYAPSP_HAS_PACKED16": int(device.capabilities.packed16)}
    defines |= {"PYAPSP_PACKED": roofs._WORDS[dtype.name], "PYAPSP_MULTIPLY_ADD": three}
    program = build(device, "registry/roofs.nvidia.cl", defines)
    found = run_loop(device, program, strips, values_of(dtype, [-2] * values, starts))
    expected = [lowered(start, -2, strips, three=three) for start in starts]
    np.testing.assert_array_equal(found[values:], expected)


@pytest.mark.parametrize(("each", "stride"), [(8, 1), (8, 16)])
def test_the_copy_copies_everything(each, stride, device):
    queue = device.queue()
    source = np.random.default_rng(0).integers(0, 2**32, 4 * 8 * 16, dtype=np.uint32)
    found = np.zeros_like(source)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    to, from_ = (cl.Buffer(queue.context, flags, hostbuf=array) for array in (found, source))
    program = build(device, "registry/roofs.cl", arithmetic_defines(device, np.dtype(np.int32)))
    copy = program.kernel("roofs_copy")
    copy(queue, (16,), (1,), to, from_, np.int32(each), np.int32(stride))
    cl.enqueue_copy(queue, found, to)
    np.testing.assert_array_equal(found, source)


def test_time_grows_with_the_rounds(device):
    """Work that a compiler hoisted or dropped would take as long in any number of rounds."""
    queue = device.queue()
    loop = next(roofs._loops(device, np.dtype(np.int32), queue))
    loop.warm_up(queue)
    once = min(loop.run(queue) for _ in range(5))
    loop.rounds *= 4
    assert min(loop.run(queue) for _ in range(5)) > 2 * once


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint16"])
def test_no_method_is_above_the_roof(dtype, device, monkeypatch):
    monkeypatch.setattr(roofs, "_SECONDS", 0.001)  # as short as what it is compared with
    graph = generators.random_graph(256, max_weight=50, seed=1)
    speeds = [
        pyapsp.solve(graph, "fw-blocked", dtype=dtype, device=device).stats["rate"]
        for _ in range(3)
    ]
    meter = roofs.Meter(device, dtype)
    for _ in range(20):
        meter.turn()
    roof = meter.roof()
    forms = {"minimum", "bits"} if dtype == "float32" else {"minimum"}
    assert forms <= set(roof.forms)
    assert roof.rate == max(roof.forms.values())
    # of the best turn: on a busy machine the median may be below what a short run gets
    assert 0 < max(speeds) < max(max(loop.speeds) for loop in meter._loops)


def test_a_roof_is_measured_anew_unless_told(device, monkeypatch):
    first = roofs.measure(device, "int32", repeat=1)
    assert roofs.measure(device, "int32", repeat=1) != first
    last = roofs.measure(device, np.int32, repeat=1, cached=True)
    monkeypatch.setattr(roofs, "Meter", None)
    assert roofs.measure(device, "int32", cached=True) is last


def test_the_median_of_the_turns_counts_and_the_best_shape():
    meter = roofs.Meter.__new__(roofs.Meter)
    loop = roofs._Loop("minimum", None, None, 1, 1, 1)
    meter._loops = [
        dataclasses.replace(loop, speeds=[1.0, 9.0, 2.0]),
        dataclasses.replace(loop, speeds=[3.0, 3.0, 3.0]),
        dataclasses.replace(loop, form="bits", speeds=[2.5, 2.5, 100.0]),
    ]
    assert meter.roof() == roofs.Roof(3.0, {"minimum": 3.0, "bits": 2.5})


@pytest.mark.slow
def test_packed_loops_are_measured_where_they_exist(device, monkeypatch):
    capable = dataclasses.replace(device.capabilities, packed16=True)
    monkeypatch.setitem(model._capabilities, device.handle, capable)
    monkeypatch.setattr(Device, "vendor_file", lambda self, name: name.replace(".", ".nvidia."))
    asked = []

    def portable(device, name, defines):
        asked.append((name, defines.get("PYAPSP_HAS_PACKED16")))
        return build(device, name, {**defines, "PYAPSP_HAS_PACKED16": 0})

    monkeypatch.setattr(roofs, "build", portable)
    forms = {name: set(roofs.measure(device, name, repeat=1).forms) for name in ("uint16", "int32")}
    assert forms == {
        "uint16": {"minimum", "packed", "multiply-add"},
        "int32": {"minimum", "multiply-add"},
    }
    assert ("registry/roofs.nvidia.cl", 1) in asked


def test_copy_bandwidth_is_of_this_world(device, monkeypatch):
    monkeypatch.setattr(roofs, "_COPY_BYTES", 2**24)
    bandwidth = roofs.copy_bandwidth(device, repeat=3)
    queue, host = device.queue(), np.zeros(2**24, np.uint8)
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, host.nbytes)
    uploads = [event_seconds(cl.enqueue_copy(queue, buffer, host)) for _ in range(4)]
    # both are copies in memory on a CPU; a GPU's own memory is faster than the way to it
    assert bandwidth > 0.1 * host.nbytes / min(uploads)
    assert bandwidth < 2e13


def test_bits_of_floats_have_the_minimum_of_integers(device, monkeypatch):
    traits = dataclasses.replace(device.traits, float_min="ternary", integer_min="builtin")
    monkeypatch.setattr(Device, "traits", traits)
    for dtype, bits, builtin in (("float32", 0, 0), ("float32", 1, 1), ("int32", 0, 1)):
        defines = arithmetic_defines(device, np.dtype(dtype), bits=bool(bits))
        assert (defines["PYAPSP_MIN_BITS"], defines["PYAPSP_MIN_BUILTIN"]) == (bits, builtin)
