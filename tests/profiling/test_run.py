"""`profile run`: the timeline of a call, and the criteria of its kernels."""

from __future__ import annotations

import json
import re
import sys
from itertools import chain, count, cycle, pairwise

import numpy as np
import pyopencl as cl
import pytest
from pyopencl.array import to_device

import pyapsp
from pyapsp.cli import main
from pyapsp.device.kernels import Program, residents
from pyapsp.graph import generators
from pyapsp.profiling import observe
from pyapsp.profiling.observe import observing
from pyapsp.profiling.run import profile_run
from pyapsp.profiling.traces.analysis import Analyst

ADD = """
__kernel void add(__global int *x, const int y) { x[get_global_id(0)] += y; }
"""
LONG_AND_SHORT = """
void count(__global int *x, int n) { for (int j = 0; j < n; j++) atomic_add(x + j % 64, j); }
__kernel void none(__global int *x) { count(x, 0); }
__kernel void some(__global int *x) { count(x, 50); }
__kernel void most(__global int *x, int n) { count(x, n); }
"""
JUMP = """
__kernel void jump(__global int *x) { goto out; out: x[0] = 1; }
"""


@pytest.fixture
def call(device):
    program = Program(device, ADD)

    def run():
        queue = device.queue()
        x = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * 64)
        cl.enqueue_fill_buffer(queue, x, np.zeros(1, np.int32), 0, 4 * 64)
        cl.enqueue_copy(queue, x, np.arange(64, dtype=np.int32))
        for _ in range(5):
            program.kernel("add")(queue, (64,), (16,), x, np.int32(1))
        out = np.empty(32, np.int32)
        cl.enqueue_copy(queue, out, x)
        run.outs.append(out)

    run.outs = []
    return run


def test_commands_are_observed(call):
    before = cl.enqueue_copy, cl.Kernel.__call__, Program.new_kernel
    with observing() as timeline:
        call()
    assert (cl.enqueue_copy, cl.Kernel.__call__, Program.new_kernel) == before
    commands = timeline.commands
    assert [each.kind for each in commands] == ["fill", "write", *["kernel"] * 5, "read"]
    assert [each.size for each in commands] == [256, 256, *[64] * 5, 128]
    assert all(each.start <= each.end for each in commands)
    assert all(a.end <= b.start for a, b in pairwise(commands))
    assert timeline.copies == {"copied": 384, "overlapping": 0, "allocated": 256}
    events = timeline.chrome()["traceEvents"]
    assert [each["name"] for each in events[:3]] == ["fill", "write", "add"]
    assert events[0]["ts"] == 0
    assert events[2]["args"] == {"items": 64}
    with pytest.raises(ZeroDivisionError), observing():
        raise ZeroDivisionError
    assert cl.enqueue_copy is before[0]


def test_answers_stay_and_kernels_are_described(call):
    record, _ = profile_run(call)
    assert all((out == np.arange(5, 37)).all() for out in call.outs)
    assert len(call.outs) == 2
    (row,) = record["kernels"]
    assert (row["kernel"], row["launches"], row["error"]) == ("add", 5, None)
    assert row["trace"]["operations"] == {"load": 64, "store": 64, "int": 64}
    assert row["trace"]["criteria"]["host_sync"] == record["host_sync"]
    assert record["commands"]["read"]["bytes"] == 128
    assert 0 < record["host_sync"] <= 1
    assert record["transfer"] == max(0.5 - 384 / (256 + 384), 0)


def test_answers_in_memory_of_the_pool_stay(device, monkeypatch):
    """It is no `Buffer` of PyOpenCL."""
    monkeypatch.setattr(residents, "_pools", lambda device: True)
    monkeypatch.setattr(residents, "_all", {})
    program, outs = Program(device, ADD), []

    def run():
        queue = device.queue()
        x = residents.scratch(device, 4 * 64)
        cl.enqueue_copy(queue, x, np.arange(64, dtype=np.int32))
        for _ in range(3):
            program.kernel("add")(queue, (64,), (16,), x, np.int32(1))
        out = np.empty(64, np.int32)
        cl.enqueue_copy(queue, out, x)
        outs.append(out)

    record, _ = profile_run(run)
    assert len(outs) == 2
    assert all((out == np.arange(3, 67)).all() for out in outs)
    assert record["commands"]["read"]["bytes"] == record["commands"]["write"]["bytes"] == 256


def test_the_timeline_alone_runs_the_call_once(call):
    record, _ = profile_run(call, traces=False)
    assert len(call.outs) == 1
    assert record["kernels"][0]["trace"] is None


def test_only_the_kernels_that_take_most_time_are_traced(device, monkeypatch):
    program, queue = Program(device, LONG_AND_SHORT), device.queue()
    x = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * 64)
    calls = []

    def call():
        calls.append(1)
        cl.enqueue_fill_buffer(queue, x, np.zeros(1, np.int32), 0, 4 * 64)
        for name in ("some", "none"):
            program.kernel(name)(queue, (64,), (16,), x)
        for turns in (10, 20, 1000, 30):
            program.kernel("most")(queue, (64,), (16,), x, np.int32(turns))
        queue.finish()

    # of the fill, of some, none, and four launches of most; another program disturbs the first and
    # the second call
    seconds = chain((1, 3, 99, 1, 2, 9, 3), (1, 3, 2, 99, 2, 9, 3), cycle((1, 3, 2, 1, 2, 9, 3)))
    start = count(0, 100)
    clock = ((begin, begin + each) for begin, each in zip(start, seconds, strict=True))
    monkeypatch.setattr(observe, "event_times", lambda _: next(clock))
    traced = []
    trace = Analyst.trace
    monkeypatch.setattr(
        Analyst, "trace", lambda *args, **more: traced.append(1) or trace(*args, **more)
    )
    record, _ = profile_run(call, most=1)
    assert len(calls) == 5
    assert len(traced) == 1
    first, *others = record["kernels"]
    assert (first["kernel"], first["error"]) == ("most", None)
    assert first["trace"]["operations"]["atomic"] == 64 * 1000
    assert [each["traced"] for each in record["kernels"]] == [3, None, None]
    assert {each["error"] for each in others} == {"others take more time"}
    record, _ = profile_run(call, most=2)
    assert [each["kernel"] for each in record["kernels"] if each["trace"]] == ["most", "some"]


def test_kernels_whose_arguments_are_set_before(device):
    """All at once, then one by one; a launch with unknown arguments is not traced."""
    program, queue = Program(device, ADD), device.queue()
    x = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * 64)
    cl.enqueue_fill_buffer(queue, x, np.zeros(1, np.int32), 0, 4 * 64)
    early = program.new_kernel("add")
    early.set_args(x, np.int32(1))
    launched = []
    with observing(launched.append) as timeline:
        kernel = program.new_kernel("add")
        kernel.set_args(x, np.int32(1))
        cl.enqueue_nd_range_kernel(queue, kernel, (64,), (16,))
        kernel.set_arg(1, np.int32(7))
        cl.enqueue_nd_range_kernel(queue, kernel, (64,), None)
        cl.enqueue_nd_range_kernel(queue, early, (64,), (16,))
    out = np.empty(64, np.int32)
    cl.enqueue_copy(queue, out, x)
    assert (out == 1 + 7 + 1).all()
    assert len(timeline.kernels) == 3
    assert [each.arguments for each in launched] == [[x, 1], [x, 7]]
    assert [each.group for each in launched] == [(16,), None]
    assert {each.program for each in launched} == {program}


def test_answers_stay_if_a_kernel_is_called_after_its_arguments_were_set(device):
    """The call sets others; the traces of the next launch must not bring back the first ones."""
    program, queue = Program(device, ADD), device.queue()
    x, y = (cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * 64) for _ in range(2))
    outs = []

    def call():
        for each in (x, y):
            cl.enqueue_fill_buffer(queue, each, np.zeros(1, np.int32), 0, 4 * 64)
        kernel = program.new_kernel("add")
        kernel.set_args(x, np.int32(1))
        kernel(queue, (64,), (16,), y, np.int32(1))
        cl.enqueue_nd_range_kernel(queue, kernel, (64,), (16,))
        for each in (x, y):
            outs.append(np.empty(64, np.int32))
            cl.enqueue_copy(queue, outs[-1], each)

    profile_run(call)
    assert [out[0] for out in outs] == [0, 2, 0, 2]


def test_groups_and_offsets_of_launches(device):
    program, queue = Program(device, ADD), device.queue()
    x = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * 64)
    kernel, launched = program.new_kernel("add"), []
    with observing(launched.append) as timeline:
        kernel.set_args(x, np.int32(1))
        cl.enqueue_nd_range_kernel(queue, kernel, (4,), (8,), g_times_l=True)
        cl.enqueue_nd_range_kernel(queue, kernel, (16,), (8,), (8,))
        kernel(queue, (4,), (8,), x, np.int32(1), g_times_l=True)
        kernel(queue, (16,), (8,), x, np.int32(1), global_offset=(8,))
    assert [each.items for each in launched] == [(32,), (16,), (32,), (16,)]
    assert [each.size for each in timeline.commands] == [32, 16, 32, 16]
    assert [each.moved for each in launched] == [False, True, False, True]
    record, _ = profile_run(lambda: kernel(queue, (16,), (8,), x, np.int32(1), global_offset=(8,)))
    assert "offset" in record["kernels"][0]["error"]


def test_a_kernel_with_unknown_arguments_is_not_traced(device):
    program, queue = Program(device, ADD), device.queue()
    x = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * 64)
    early = program.new_kernel("add")
    early.set_args(x, np.int32(1))
    record, _ = profile_run(lambda: cl.enqueue_nd_range_kernel(queue, early, (64,), (16,)))
    (row,) = record["kernels"]
    assert row["trace"] is None
    assert row["error"] == "its arguments were set before the call"


def test_what_cannot_be_traced_is_said(device):
    program = Program(device, JUMP)

    def call():
        queue = device.queue()
        x = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4)
        program.kernel("jump")(queue, (1,), (1,), x)
        queue.finish()

    rows = {row["kernel"]: row for row in profile_run(call)[0]["kernels"]}
    assert "goto and labels are not supported" in rows["jump"]["error"]


# the log of Intel's compiler is never empty
@pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")
def test_programs_that_pyapsp_has_not_built(device, monkeypatch):
    """With PyOpenCL, macros in options, numbers of Python, and sizes in groups."""

    def call():
        queue = device.queue()
        x = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * 64)
        # PyOpenCL would build it from a binary if it had built it before
        program = cl.Program(queue.context, f"// {id(x)}\n{ADD.replace('+= y', '+= y * BY NO')}")
        add = program.build(["-DBY=3", "-DNO="]).add
        add.set_scalar_arg_dtypes([None, np.int32])
        add(queue, (4,), (16,), x, 2, g_times_l=True)
        queue.finish()

    (row,) = profile_run(call)[0]["kernels"]
    assert row["error"] is None
    assert row["trace"]["items"] == [64]
    assert row["trace"]["operations"] == {"load": 64, "store": 64, "int": 128}


def test_queues_of_a_program_have_times(device):
    """Programs hardly ever ask for profiling."""
    queues, original = [], cl.CommandQueue
    context, program = device.queue().context, Program(device, ADD)
    before = original(context)
    x = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * 64)

    def call():
        order = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
        queues.extend([cl.CommandQueue(context), cl.CommandQueue(context, properties=order)])
        assert all(isinstance(each, cl.CommandQueue) for each in (*queues, before))
        assert not isinstance(context, cl.CommandQueue)

        class Queue(cl.CommandQueue):
            pass

        assert Queue.__mro__[1] is original
        for queue in queues[-2:]:
            program.kernel("add")(queue, (64,), (16,), x, np.int32(1)).wait()

    record, _ = profile_run(call)
    assert record["untimed"] == 0
    assert [row["launches"] for row in record["kernels"]] == [2]
    assert cl.CommandQueue is original
    assert all(type(each) is original for each in queues)
    assert queues[1].properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE


# the log of Intel's compiler is never empty
@pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")
def test_arrays_of_pyopencl(device):
    queue, outs = device.queue(), []

    def call():
        x = to_device(queue, np.arange(64, dtype=np.float32))
        outs.append(((x[32:] + 2 * x[:32]).get(), cl.array.sum(x).get()))

    record, _ = profile_run(call)
    assert record["kernels"]
    # Intel's driver does not know programs of which only kernels are left; others are in the cache
    reasons = re.compile("INVALID_PROGRAM|built from a binary")
    errors = [row["error"] for row in record["kernels"]]
    assert all(each is None or reasons.search(each) for each in errors)
    for vector, total in outs:
        np.testing.assert_array_equal(vector, np.arange(32) * 3 + 32)
        assert total == 63 * 32


IMAGES = """
__kernel void get(read_only image2d_t image, sampler_t sampler, __global float *x)
{
    x[get_global_id(0)] += read_imagef(image, sampler, (int2)(get_global_id(0), 0)).x;
}
__kernel void put(write_only image2d_t image)
{
    write_imagef(image, (int2)(get_global_id(0), 0), (float4)(1.0f));
}
"""


def test_kernels_with_images(device):
    """Images that are only read need no copy; the others are not traced, and the program runs."""
    if not device.handle.image_support:
        pytest.skip("it has no images")
    program, queue, outs = Program(device, IMAGES), device.queue(), []
    shades = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
    image = cl.create_image(queue.context, cl.mem_flags.READ_WRITE, shades, (8, 1))
    modes = cl.addressing_mode.CLAMP, cl.filter_mode.NEAREST
    sampler = cl.Sampler(queue.context, False, *modes)
    x = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * 8)

    def call():
        cl.enqueue_fill_buffer(queue, x, np.zeros(1, np.float32), 0, 4 * 8)
        program.kernel("put")(queue, (8,), None, image)
        program.kernel("get")(queue, (8,), None, image, sampler, x)
        outs.append(np.empty(8, np.float32))
        cl.enqueue_copy(queue, outs[-1], x)

    rows = {row["kernel"]: row for row in profile_run(call)[0]["kernels"]}
    assert rows["put"]["error"] == "kernels that write to images are not traced"
    assert rows["get"]["trace"]["operations"]["store"] == 8
    assert all((out == 1).all() for out in outs)


def test_a_command(device, tmp_path, capsys):
    graph, trace, out = (str(tmp_path / name) for name in ("g.npz", "trace.json", "out.json"))
    assert main(["generate", "random", "-n", "300", "-m", "900", "-o", graph]) == 0
    options = ["--trace", trace, "-o", out]
    command = ["bfs", graph, "--source", "1", "--method", "bfs-harish", "--device", device.id]
    capsys.readouterr()
    assert main(["profile", "run", *options, "--", *command]) == 0
    printed = capsys.readouterr().out
    assert printed.count("vertices reached") == 1
    with open(trace, encoding="utf-8") as file:
        assert {each["cat"] for each in json.load(file)["traceEvents"]} >= {"kernel", "read"}
    with open(out, encoding="utf-8") as file:
        record = json.load(file)
    assert record["schema"] == "pyapsp run profile"
    assert all(row["trace"] for row in record["kernels"])
    assert main(["profile", "run", *options, "--", "bfs", "missing.gr", "--source", "1"]) == 3


def test_a_python_program(tmp_path, capsys, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text("import sys, beside\nprint(sys.argv[1:])\nsys.exit(len(sys.argv) - 2)\n")
    (tmp_path / "beside.py").write_text("")
    words = ["profile", "run", "--no-traces", "--", "python", str(program)]
    assert main([*words, "a"]) == 0
    assert "['a']" in capsys.readouterr().out
    assert main([*words, "a", "b", "c"]) == 2
    assert str(tmp_path) not in sys.path
    monkeypatch.chdir(tmp_path)
    words = words[:4]
    assert main([*words, sys.executable, "-m", "program", "a"]) == 0
    assert "['a']" in capsys.readouterr().out
    assert main([*words, "python", "-u", str(program)]) == 2
    assert "after python, a file that ends in .py, or -m and a module" in capsys.readouterr().err


def test_kernels_with_many_barriers(device):
    """The probes of `bfs_luo_single` crashed where an optimising compiler moves barriers."""
    graph = generators.random_graph(300, 2400, seed=1)
    record, _ = profile_run(lambda: pyapsp.bfs(graph, 0, "bfs-luo", device=device))
    kernels = {each["kernel"]: each for each in record["kernels"]}
    assert kernels["bfs_luo_single"]["error"] is None
    assert kernels["bfs_luo_single"]["trace"]["operations"]["barrier"] > 0


@pytest.mark.parametrize("call", [pyapsp.bfs, pyapsp.sssp])
def test_commands_of_searches_have_times(call, device):
    graph = generators.random_graph(30, seed=1)
    call(graph, 0, device=device)
    with observing() as timeline:
        call(graph, 0, device=device)
    assert timeline.commands
    assert timeline.untimed == 0
    assert not device.own_queue().properties & cl.command_queue_properties.PROFILING_ENABLE


VERSIONS = """
__kernel void k(__global int *x)
{
#if __OPENCL_C_VERSION__ >= 200
    x[1] = 1;
#endif
    x[0] = 1;
}
"""


@pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")
@pytest.mark.parametrize("options", [[], ["-cl-std=CL1.1"], ["-cl-std=CL1.2"], ["-cl-std=CL3.0"]])
def test_the_version_of_a_program_is_that_of_its_compiler(options, device):
    queue = device.queue()
    program = cl.Program(queue.context, VERSIONS).build(options, cache_dir=False)
    kernel = program.k
    written = np.zeros(2, np.int32)

    def run():
        x = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, written.nbytes)
        cl.enqueue_copy(queue, x, np.zeros(2, np.int32))
        kernel(queue, (1,), (1,), x)
        cl.enqueue_copy(queue, written, x)

    record, _ = profile_run(run)
    (row,) = record["kernels"]
    assert row["error"] is None
    assert row["trace"]["operations"]["store"] == written.sum()
