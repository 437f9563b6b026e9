from __future__ import annotations

import contextlib
import copy
import gc
import pickle
import threading
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.device import Device, event_seconds, model, probes, quirks
from pyapsp.device.processor import compiled_for
from pyapsp.device.quirks import architecture_of, traits_of, usable_local_memory
from pyapsp.errors import CapabilityError, DeviceError, ParameterError
from pyapsp.graph import Graph


def builds(device, source, *options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)
        try:
            cl.Program(device.context, source).build(list(options))
        except cl.RuntimeError:
            return False
    return True


def test_device_is_frozen_hashable_and_readable(device):
    with pytest.raises(AttributeError):
        device.id = "9:9"
    twin = Device(device.handle, device.id)
    assert twin == device
    assert hash(twin) == hash(device)
    assert device.kind in ("gpu", "cpu", "accelerator")
    assert str(device).startswith(f"{device.id} ({device.kind}) {device.name}")
    assert device.version.startswith("OpenCL ")


def test_capabilities_can_be_hidden(device, monkeypatch):
    monkeypatch.setattr(model, "_capabilities", {})
    monkeypatch.setenv("PYAPSP_HIDE", "fp64, int64")
    assert not device.capabilities.fp64
    assert not device.capabilities.int64
    assert device.capabilities.compute_units
    assert device.without("int64").endswith("has none (PYAPSP_HIDE hides it)")
    with pytest.raises(CapabilityError, match="has no float64"):
        pyapsp.solve(np.ones((3, 3)), "fw-naive", dtype="float64", device=device)
    monkeypatch.setattr(model, "_capabilities", {})
    monkeypatch.setenv("PYAPSP_HIDE", "fp46")
    with pytest.raises(ParameterError, match="Did you mean 'fp64'"):
        _ = device.capabilities


def test_capabilities_are_what_the_compiler_does(device):
    can = device.capabilities
    standard = f"-cl-std={can.c_standard}"
    assert builds(device, "kernel void f(global double *a) { a[0] = sqrt(a[0]); }") == can.fp64
    assert can.int64
    assert builds(device, "kernel void f(global long *a) { a[0] += 1; }")
    fence = (
        "kernel void f(global int *a) { atomic_work_item_fence("
        "CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device); a[0] = 1; }"
    )
    if can.device_scope_fence:  # one driver compiles it and ignores it
        assert builds(device, fence, standard)
    if can.fp16:
        half = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
        assert builds(device, half + "kernel void f(global half *a) { a[0] += a[1]; }")
    if can.int64_atomics:
        pragma = "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n"
        assert builds(device, pragma + "kernel void f(global long *a) { atom_min(a, 1L); }")


def test_capabilities_have_sane_sizes_and_are_probed_once(device):
    can = device.capabilities
    assert can is device.capabilities
    assert 0 < can.local_memory <= can.global_memory
    assert 0 < can.max_allocation <= can.global_memory
    assert can.max_work_group_size >= 1
    assert len(can.max_work_item_sizes) == 3
    assert can.compute_units >= 1
    assert can.c_version >= (1, 2)
    assert list(can.extensions) == sorted(set(can.extensions))


def test_one_context_per_device_from_all_threads(device):
    twin = Device(device.handle, device.id)
    contexts = []
    threads = [threading.Thread(target=lambda: contexts.append(twin.context)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(contexts) == 8
    assert all(context is device.context for context in contexts)


def test_queues_are_new_and_time_their_events(device):
    queue = device.queue()
    assert queue is not device.queue()
    assert queue.context == device.context
    host = np.zeros(1 << 22, np.uint8)
    buffer = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, host.nbytes)
    event = cl.enqueue_copy(queue, buffer, host, is_blocking=False)
    seconds = event_seconds(event)
    assert 0 < seconds < 10
    assert seconds == pytest.approx((event.profile.end - event.profile.start) / 1e9)


def test_large_buffers_of_cpus_lie_in_large_pages(device):
    queue, page = device.queue(), model._PAGE
    shared = device.traits.scalar_groups and device.capabilities.unified_memory
    values = np.arange(page, dtype=np.int64)
    for size in (64, model._LARGE, 8 * page):
        buffer = device.buffer(size)
        assert buffer.size == size
        inside = bool(buffer.flags & cl.mem_flags.USE_HOST_PTR)
        assert inside == (shared and size >= model._LARGE)
        if inside:
            memory = buffer.get_host_array((size,), np.uint8)
            assert memory.ctypes.data % page == 0
        some, back = values[: size // 8], np.empty(size // 8, np.int64)
        cl.enqueue_copy(queue, buffer, some)
        cl.enqueue_copy(queue, back, buffer)
        np.testing.assert_array_equal(back, some)
        buffer.release()


@pytest.mark.parametrize("held", [False, True])
def test_memory_of_a_buffer_is_freed_when_no_command_uses_it(held, device):
    queue, lock = device.queue(), model._lock if held else contextlib.nullcontext()
    values = np.random.default_rng(1).integers(0, 2**62, model._LARGE // 8)
    last, back = device.buffer(values.nbytes), np.empty_like(values)
    for _ in range(5):
        first = device.buffer(values.nbytes)
        cl.enqueue_copy(queue, first, values, is_blocking=False)
        for _ in range(4):
            event = cl.enqueue_copy(queue, last, first)
        memory = weakref.ref(_whole(first)) if device.traits.scalar_groups else None
        with lock:  # as when the garbage collector deletes it in the middle of something
            del first
        if memory is not None:
            assert memory() is None
            assert event.command_execution_status == cl.command_execution_status.COMPLETE
    cl.enqueue_copy(queue, back, last)
    np.testing.assert_array_equal(back, values)


def test_memory_of_large_buffers_is_used_again(device):
    if not device.traits.scalar_groups:
        pytest.skip("the memory is that of the device")
    first = device.buffer(model._LARGE)
    address = first.hostbuf.ctypes.data
    second = device.buffer(model._LARGE)
    assert second.hostbuf.ctypes.data != address
    del first
    assert device.buffer(model._LARGE).hostbuf.ctypes.data == address


def test_a_thread_has_a_queue_of_its_own(device):
    queue = device.own_queue()
    assert device.own_queue() is queue
    assert not queue.properties & cl.command_queue_properties.PROFILING_ENABLE
    assert queue in model._queues  # `drain` waits for it
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(device.own_queue).result()
        assert pool.submit(device.own_queue).result() is other
        assert other is not queue
        other = weakref.ref(other)
    gc.collect()
    assert other() is None
    elsewhere = replace(device, caller_context=cl.Context([device.handle]))
    assert elsewhere.own_queue().context == elsewhere.context != queue.context


@pytest.mark.parametrize(
    "call",
    [
        lambda graph: pyapsp.bfs(graph, 1, keep="device").device_levels,
        lambda graph: pyapsp.sssp(graph, 1, predecessors=True, keep="device").device_distances,
        lambda graph: pyapsp.weakly_connected_components(graph, keep="device").device_labels,
        lambda graph: pyapsp.strongly_connected_components(graph, "scc-forward-backward").labels,
        lambda graph: pyapsp.triangles(graph).total,
    ],
)
def test_a_call_makes_no_queue(call, device, monkeypatch):
    rng = np.random.default_rng(1)
    graph = pyapsp.DeviceGraph(Graph.from_arcs(60, *rng.integers(0, 60, (2, 400))), device)
    call(graph)
    monkeypatch.setattr(model, "_new_queue", None)  # its use would be an error
    call(graph)


@pytest.mark.filterwarnings("ignore:Non-empty compiler output")
def test_a_queue_ends_its_commands_before_it_is_deleted(device):
    """Else the memory of a buffer, which is freed later, could still be used by them."""
    source = """
        kernel void slow(global float *sum, int steps)
        {
            for (int step = 0; step < steps; step++)
                sum[0] = native_sin(sum[0] + step);
        }
    """
    program = cl.Program(device.context, source).build(cache_dir=False)
    kernel, memory = program.slow, device.buffer(4)
    queue = device.queue()
    event = kernel(queue, (1,), None, memory, np.int32(10**7))
    queue.flush()
    del queue
    assert event.command_execution_status == cl.command_execution_status.COMPLETE


def test_memory_of_a_buffer_outlives_the_wait(device, monkeypatch):
    steps = []

    class Memory(np.ndarray):
        def __del__(self):
            if self.base is None:
                steps.append("freed")

    def wait(*_):
        steps.append("waited")

    monkeypatch.setattr(model, "_wait_for", wait)
    with monkeypatch.context() as replaced:
        replaced.setattr(model, "empty", Memory)
        buffer = device.buffer(model._LARGE)
    assert steps == []
    del buffer
    assert steps == (["waited", "freed"] if device.traits.scalar_groups else [])


def _whole(buffer):
    """The array of NumPy that a buffer of a CPU lies in."""
    array = buffer.hostbuf
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def test_without_large_pages_a_buffer_is_one_of_the_driver(device, monkeypatch):
    def refuse(*_):
        raise MemoryError

    monkeypatch.setattr(model, "empty", refuse)
    buffer = device.buffer(model._LARGE)
    assert buffer.size == model._LARGE
    assert not buffer.flags & cl.mem_flags.USE_HOST_PTR


def test_an_event_without_profiling_has_no_time(device):
    queue = cl.CommandQueue(device.context, device.handle)
    event = cl.enqueue_marker(queue)
    event.wait()
    try:
        _ = event.profile.start
    except cl.Error:
        with pytest.raises(DeviceError, match="no time"):
            event_seconds(event)
    else:  # one driver always measures
        assert event_seconds(event) >= 0


AVX2 = frozenset({"avx", "avx2", "fma"})
AVX512 = AVX2 | {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
AVX512_CPU = AVX512 | {"bmi1", "bmi2", "abm", "movbe", "f16c"}


@pytest.mark.parametrize(
    ("platform", "kind", "features", "forms", "lanes", "scalar_groups"),
    [
        ("Portable Computing Language", "cpu", AVX2, "tt", {1: 16, 4: 8, 8: 4}, True),
        ("Portable Computing Language", "cpu", AVX512, "tt", {1: 16, 2: 16, 4: 16, 8: 8}, True),
        ("Intel(R) OpenCL", "cpu", AVX2, "tb", {2: 16, 4: 8, 8: 4}, True),
        ("Intel(R) OpenCL", "cpu", AVX512, "tb", {2: 16, 4: 16, 8: 8}, True),
        ("rusticl", "cpu", AVX512, "tt", {4: 1, 8: 1}, False),
        ("NVIDIA CUDA", "gpu", AVX512, "bb", {1: 8, 4: 2, 8: 1}, False),
        ("Intel(R) OpenCL Graphics", "gpu", AVX512, "bb", {4: 1}, False),
        ("Somebody's", "cpu", AVX512, "tt", {4: 4, 8: 2}, True),
        ("Somebody's", "gpu", AVX2, "bb", {4: 1, 8: 1}, False),
        ("Somebody's", "accelerator", AVX2, "bb", {4: 1}, False),
    ],
)
def test_traits(platform, kind, features, forms, lanes, scalar_groups):
    traits = traits_of(platform, kind, "", features)
    assert traits.float_min[0] + traits.integer_min[0] == forms
    assert {size: traits.lanes(size) for size in lanes} == lanes
    assert traits.lanes(2, long=True) == (32 if lanes.get(4) == 16 else traits.lanes(2))
    assert traits.scalar_groups is scalar_groups


def test_local_memory_that_a_driver_counts_twice():
    assert usable_local_memory("rusticl", 32768) == 16384
    assert usable_local_memory("NVIDIA CUDA", 49152) == 49152


@pytest.mark.parametrize(
    ("processor", "lanes"),
    [("skx", 16), ("skylake-avx512", 16), ("znver4", 16), ("znver3", 8), ("generic", 8)],
)
def test_vectors_are_those_of_the_processor_that_is_compiled_for(processor, lanes):
    traits = traits_of("Portable Computing Language", "cpu", processor, AVX512_CPU)
    assert traits.lanes(4) == lanes


@pytest.mark.parametrize(
    ("processor", "family", "architecture"),
    [
        ("skx", "AuthenticAMD 25", "znver4"),  # told an older compiler
        ("", "AuthenticAMD 25", "znver4"),
        ("znver4", "AuthenticAMD 25", "znver4"),
        ("haswell", "AuthenticAMD 25", "haswell"),
        ("znver3", "AuthenticAMD 25", "znver3"),  # whose name could not be corrected
        ("skx", "AuthenticAMD 26", "skx"),
        ("", "GenuineIntel 6", "skx"),
        ("icelake-server", "GenuineIntel 6", "icelake-server"),
    ],
)
def test_architectures_of_cpus(processor, family, architecture):
    has = AVX512_CPU | {family}
    assert architecture_of("EPYC", "cpu", processor, set(), has, lambda _: None) == architecture


def test_architectures_without_instructions_are_names():
    name, ask = "Cortex-A76", lambda _: None
    assert architecture_of(name, "cpu", "", set(), frozenset(), ask) == name
    assert architecture_of(name, "gpu", "", set(), AVX512_CPU, ask) == name


def test_the_widest_vector_of_the_traits_compiles(device):
    # this is where the compiler of one CPU runtime dies with wider vectors
    for dtype, size in (("ushort", 2), ("int", 4), ("float", 4), ("long", 8)):
        lanes = device.traits.lanes(size, long=True)
        vector = f"{dtype}{lanes if lanes > 1 else ''}"
        longer = f"typedef {dtype} {vector} __attribute__((ext_vector_type({lanes}))); "
        source = (
            f"{longer if lanes > 16 else ''}kernel void f(global {vector} *a) "
            f"{{ {vector} s = a[0] + a[1], c = a[2]; a[2] = (s < c) ? s : c; }}"
        )
        assert builds(device, source)


PACKED = quirks.instructions_of("packed16", "NVIDIA CUDA", "gpu")
_PLAIN = "kernel void probe(global uint *w) { int i = get_global_id(0); w[i] = "


@pytest.mark.parametrize(
    ("known", "native"),
    [
        # as PACKED, in OpenCL C
        (
            f"{_PLAIN} i == 2 ? 0x2ffff : as_uint(min(as_short2(0x1ffffu) + as_short2(0x10001u), "
            "as_short2(0x3ffffu))); }",
            True,
        ),
        (f"{_PLAIN} 3; }}", False),
        ("kernel void probe(global uint *w) { no such instruction }", False),
        (None, False),
    ],
)
def test_instructions_are_what_a_probe_finds(known, native, device, monkeypatch):
    """Right answer, wrong answer, no build, no probe; the driver's remarks are swallowed."""
    known = known and replace(PACKED, source=known)
    monkeypatch.setattr(probes, "instructions_of", lambda *_: known)
    fault = probes.instructions_fault(device.handle, "packed16", device.kind, device.identity)
    assert (fault is None) is native


def test_every_work_item_of_a_probe_counts(device, monkeypatch):
    """Sums of two warps: one of 64 lanes gives other ones."""
    known = quirks.instructions_of("warps32", "NVIDIA CUDA", "gpu")
    for lanes, native in ((32, True), (64, False)):
        text = f"{_PLAIN} {lanes} * (i / {lanes} * {lanes}) + {lanes * (lanes - 1) // 2}; }}"
        tried = replace(known, source=text)
        monkeypatch.setattr(probes, "instructions_of", lambda *_, tried=tried: tried)
        fault = probes.instructions_fault(device.handle, "warps32", device.kind, device.identity)
        assert (fault is None) is native


def test_instructions_are_tried_once(device, unseen, monkeypatch):
    """Processes that follow read the verdict; each capability has its own."""
    trials = []
    monkeypatch.setattr(probes, "instructions_of", lambda *_: PACKED)
    monkeypatch.setattr(probes, "_tried", lambda *_: trials.append(1))
    for capability, times in (("packed16", 1), ("packed16", 1), ("warps32", 2)):
        fault = probes.instructions_fault(device.handle, capability, device.kind, device.identity)
        assert fault is None
        assert len(trials) == times


@pytest.mark.parametrize("capability", ["packed16", "warps32"])
def test_only_platforms_with_the_instructions_are_probed(capability):
    assert quirks.instructions_of(capability, "NVIDIA CUDA", "gpu")
    assert quirks.instructions_of(capability, "NVIDIA CUDA", "cpu") is None
    assert quirks.instructions_of(capability, "Portable Computing Language", "cpu") is None


def test_files_for_one_vendor_stand_beside_the_portable_one(device):
    assert quirks.vendor_file("a/b.cl", "NVIDIA CUDA") == "a/b.nvidia.cl"
    assert quirks.vendor_file("a/b.h", "NVIDIA CUDA") == "a/b.nvidia.h"
    assert quirks.vendor_file("a/b.cl", "Portable Computing Language") == "a/b.cl"
    assert device.vendor_file("a/b.cl") == quirks.vendor_file("a/b.cl", device.platform_name)


def test_records_know_a_device_by_what_its_driver_says(device):
    handle = device.handle
    identity = device.identity
    assert identity["platform"] == handle.platform.name.strip()
    assert identity["name"] == handle.name.strip()
    assert identity["kind"] == ("cpu" if handle.type & cl.device_type.CPU else "gpu")
    assert identity["version"] == handle.version.strip()
    assert identity["driver"] == handle.driver_version.strip()
    assert identity["processor"] == compiled_for(handle)
    assert identity.items() <= device.describe().items()


def test_a_device_is_given_to_other_processes_by_its_id(device):
    for action in (pickle.dumps, copy.deepcopy):
        with pytest.raises(DeviceError, match=f"give its id, '{device.id}', instead"):
            action(device)
