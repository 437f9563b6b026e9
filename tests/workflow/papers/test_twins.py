"""Kernels of OpenCL, their twins in CUDA, and what is counted of both."""

from __future__ import annotations

import ctypes
import json
from types import MappingProxyType, SimpleNamespace

import numpy as np
import papers
import pyopencl as cl
import pytest
from papers.busato_profiling import counters, driver, launches, twins
from papers.busato_profiling.launches import Replay, longest_launch
from papers.busato_profiling.programs import Numbers, Reduction, Shape

from pyapsp.device.kernels import Program
from pyapsp.errors import CapabilityError, PyApspError, VerificationError
from pyapsp.profiling.observe import Timeline
from pyapsp.profiling.traces.criteria import Units

NAME = "busato-profiling-counters"
STEPS = """
__kernel void steps(__global int *a, __global const int *b, __global int *c, const int add)
{
    const size_t i = get_global_id(0);
    for (int step = 0; step < add; step++)
        a[i] += b[i];
}
"""


class Steps:
    """Launches of one kernel; two of its arguments are the same buffer."""

    def __init__(self, device, sizes):
        self.device, self.sizes = device, sizes
        queue, size = device.queue(), 256
        self.first = np.arange(size, dtype=np.int32)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        self.a, self.b = (
            cl.Buffer(queue.context, flags, hostbuf=each)
            for each in (self.first, np.ones(size, np.int32))
        )

    def __call__(self):
        kernel, queue = Program(self.device, STEPS).new_kernel("steps"), self.device.queue()
        cl.enqueue_copy(queue, self.a, self.first)
        for add in self.sizes:
            kernel(queue, (256,), (64,), self.a, self.b, self.a, np.int32(add))
        queue.finish()


@pytest.fixture
def saved(device, monkeypatch):
    monkeypatch.setattr(Timeline, "longest", lambda timeline, kernel: 2)
    return longest_launch(Steps(device, (1, 40, 2)))


def test_the_longest_launch_with_what_it_had(device):
    saved = longest_launch(Steps(device, (1, 40_000, 2)))
    a, b, c, add = saved.arguments
    assert (saved.kernel, saved.shape.items, saved.shape.group) == ("steps", (256,), (64,))
    assert int(add) == 40_000
    assert c is a
    assert list(a.view(np.int32)) == list(range(1, 257))  # after the first launch
    assert set(b.view(np.int32)) == {1}


def test_a_launch_that_does_not_happen_again(device):
    sizes = [1, 40_000]
    steps = Steps(device, sizes)

    def call():
        steps()
        sizes.pop()

    with pytest.raises(CapabilityError, match="steps: launch 2 does not happen in each call"):
        longest_launch(call)


def test_a_launch_is_repeated_from_the_same_content(saved):
    replay = Replay(saved)
    replay.run(2)
    content, [(buffer, _), _] = np.empty(256, np.int32), replay._copies
    cl.enqueue_copy(saved.device.queue(), content, buffer)
    assert list(content) == list(range(41, 297))
    for _ in range(2):
        a, *others = replay.results()
        assert list(a.view(np.int32)) == list(range(41, 297))
    assert others == []  # b is not written, and not restored any more
    assert replay.restores
    trace, seconds = replay.traced()
    assert seconds > 0
    assert trace.operations["load"] == 2 * 256 * 40


def test_nothing_is_restored_of_a_kernel_that_writes_nothing(device):
    replay = Replay(longest_launch(Steps(device, (0,))))
    replay.results()
    assert not replay.restores
    replay.restore(3)


# --- twins ---------------------------------------------------------------------------------------


def test_local_variables_are_shared_and_pointers_are_not():
    text = twins.cuda_text(
        "int f(__local int *p, __local const int *restrict q);\n"
        "__kernel void k(void) { __local uint a[4]; __local int some; __local ALIGNED int x, y; \n"
        "    __local int *to = a; }"
    ).partition("int f(")[2]
    assert "__local int *p, __local const int *restrict q" in text
    assert "__shared__ uint a[4]; __shared__ int some; __shared__ ALIGNED int x, y;" in text
    assert "__local int *to" in text


class Cuda:
    """The driver of CUDA, with a device that adds."""

    def __init__(self, broken=None):
        self.memory, self.calls, self.broken = {}, {}, broken

    def __getattr__(self, name):
        def call(*arguments):
            self.calls[name] = arguments
            if name in self.DOES:
                self.DOES[name](self, *arguments)
            return 700 if name == self.broken else 0

        return call

    def allocate(self, pointer, size):
        pointer._obj.value = len(self.memory) + 1
        self.memory[pointer._obj.value] = ctypes.create_string_buffer(size.value)

    def write(self, to, content, size):
        self.memory[to.value][:] = content

    def read(self, to, source, size):
        to[:] = self.memory[source.value][:]

    def launch(self, function, *rest):
        self.shape, places = [each.value for each in rest[:6]], rest[8]
        a, b, c = (ctypes.c_uint64.from_address(places[each]).value for each in range(3))
        assert a == c
        add = ctypes.c_int.from_address(places[3]).value
        numbers = np.frombuffer(self.memory[a], np.int32)
        numbers += add * np.frombuffer(self.memory[b], np.int32)

    DOES = MappingProxyType(
        {
            "cuMemAlloc_v2": allocate,
            "cuMemcpyHtoD_v2": write,
            "cuMemcpyDtoH_v2": read,
            "cuLaunchKernel": launch,
        }
    )


def test_the_driver_launches_what_was_saved(saved, tmp_path, monkeypatch):
    twins.in_cuda(saved, tmp_path)
    cuda = Cuda()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: cuda)
    driver.main(tmp_path)
    assert cuda.shape == [4, 1, 1, 64, 1, 1]
    assert cuda.calls["cuModuleLoad"][1] == str(tmp_path / "twin.cubin").encode()
    assert cuda.calls["cuModuleGetFunction"][2] == b"steps"
    a, b = Replay(saved).results()
    assert (tmp_path / "0.bin").read_bytes() == a.tobytes()
    assert (tmp_path / "1.bin").read_bytes() == b.tobytes()
    assert sorted(path.name for path in tmp_path.glob("*.bin")) == ["0.bin", "1.bin"]


def test_the_driver_takes_the_device_of_an_address(saved, tmp_path, monkeypatch):
    twins.in_cuda(saved, tmp_path)
    about = json.loads((tmp_path / "launch.json").read_text()) | {"device": "0000:17:00.0"}
    (tmp_path / "launch.json").write_text(json.dumps(about))
    cuda = Cuda("cuLaunchKernel")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: cuda)
    with pytest.raises(SystemExit, match="cuLaunchKernel: error 700"):
        driver.main(tmp_path)
    assert cuda.calls["cuDeviceGetByPCIBusId"][1] == b"0000:17:00.0"


def test_an_argument_without_a_twin(saved, tmp_path):
    local = SimpleNamespace(kernel="k", arguments=(cl.LocalMemory(64),))
    with pytest.raises(CapabilityError, match="k: argument 0 has no twin"):
        twins.in_cuda(local, tmp_path)


def test_programs_that_are_missing_are_named(device, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    gpu = SimpleNamespace(architecture="sm_90", name="A GPU")
    with pytest.raises(CapabilityError, match="nvcc is not in PATH"):
        twins.require_tools(gpu)
    for name in ("nvcc", "ncu"):
        (tmp_path / name).touch(mode=0o755)
        if name == "nvcc":
            with pytest.raises(CapabilityError, match="ncu is not in PATH"):
                twins.require_tools(gpu)
    assert twins.require_tools(gpu) == {each: str(tmp_path / each) for each in ("nvcc", "ncu")}
    monkeypatch.setattr(launches, "longest_launch", None)  # nothing runs before it is refused
    with pytest.raises(PyApspError, match="twins in CUDA do not run on"):
        papers.measure(NAME, 64, device=device)


LOG = """==PROF== Connected to process 7
"ID","Host Name","Kernel Name","sm__cycles_active.sum","launch__registers_per_thread"
"","","","cycle","register/thread"
"0","127.0.0.1","steps","1,033,063","16"
"""


@pytest.fixture
def tools(saved, monkeypatch):
    """Make nvcc and ncu programs that do what `does` says."""
    does = SimpleNamespace(
        compiles=0, profiles=0, log=LOG, wrong=0, results=Replay(saved).results(), words=[]
    )

    def run(words):
        words = [str(each) for each in words]
        does.words.append(words)
        if words[0] == "nvcc":
            return SimpleNamespace(returncode=does.compiles, stderr="line 3", stdout="")
        folder = twins.Path(words[-1])
        (folder / "counters.csv").write_text(does.log)
        for file, content in zip(("0.bin", "1.bin"), does.results, strict=True):
            (folder / file).write_bytes((content + does.wrong).tobytes())
        return SimpleNamespace(returncode=does.profiles, stderr="", stdout="")

    monkeypatch.setattr(twins, "_run", run)
    monkeypatch.setattr(twins, "require_tools", lambda device: {"nvcc": "nvcc", "ncu": "ncu"})
    return does


def test_the_counters_of_a_twin(saved, tools):
    found = twins.counters_of(saved, ["sm__cycles_active.sum"], tools.results)
    assert found["sm__cycles_active.sum"] == 1_033_063
    assert found["launch__registers_per_thread"] == 16
    assert "Host Name" not in found
    compiler, profiler = tools.words
    assert "-cubin" in compiler
    assert profiler[profiler.index("--metrics") + 1] == "sm__cycles_active.sum"


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"compiles": 2}, CapabilityError, "nvcc refuses the twin of steps: line 3"),
        ({"log": "==ERROR== ERR_NVGPUCTRPERM"}, CapabilityError, "ncu: ==ERROR== ERR_NVGPUCTRPERM"),
        ({"profiles": 9}, CapabilityError, "ncu: "),
        ({"wrong": 1}, VerificationError, "the twin of steps, argument 0: the answer is wrong"),
    ],
)
def test_twins_that_fail(saved, tools, change, error, match):
    vars(tools).update(change)
    with pytest.raises(error, match=match):
        twins.counters_of(saved, ["sm__cycles_active.sum"], tools.results)


# --- what is counted -----------------------------------------------------------------------------

UNITS = Units(2, 2048, 32, 32, 2**16)
FOUND = {
    **dict.fromkeys(counters._METRICS, 100.0),
    "smsp__average_thread_inst_executed_pred_on_per_inst_executed.ratio": 24.0,
    "sm__maximum_warps_per_active_cycle_pct": 50.0,
    "launch__registers_per_thread": 40.0,
    "sm__cycles_active.sum": 1000.0,
    "sm__cycles_active.avg": 500.0,
    "sm__cycles_active.max": 800.0,
    "sm__warps_active.sum": 8000.0,
    "smsp__sass_data_bytes_mem_global.sum": 6400.0,
    "smsp__sass_l1tex_tags_mem_global.sum": 100.0,
    "smsp__sass_average_data_bytes_per_sector_mem_global.ratio": 8.0,
    "smsp__sass_inst_executed_op_shared.sum": 30.0,
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared.sum": 120.0,
    "gpu__time_duration.sum": 4000.0,
}


def of_hardware(groups, **changes):
    trace = SimpleNamespace(shape=SimpleNamespace(in_group=64, groups=groups))
    return counters.of_hardware({**FOUND, **changes}, trace, UNITS)


def test_quantities_of_counters():
    found = of_hardware(1000)
    assert set(found) == set(counters.QUANTITIES)
    assert found["occupancy"] == 0.5
    assert found["divergence"] == 0.75
    assert found["warp_balance"] == 8 / 32
    assert found["unit_balance"] == 0.625
    assert found["l1_granularity"] == 0.5
    assert found["l2_granularity"] == 0.25
    assert found["local_efficiency"] == 0.25
    assert found["float instructions"] == 200  # of both sizes
    assert found["all instructions"] == 100


def test_few_groups_do_not_fill_the_units():
    found = of_hardware(10)
    assert found["occupancy"] == 10 / 64  # 5 groups of 2 warps of 64 in each unit
    assert found["warp_balance"] == 0.8


def test_a_kernel_without_memory_has_no_waste():
    none = dict.fromkeys(
        (
            "smsp__sass_l1tex_tags_mem_global.sum",
            "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared.sum",
        ),
        0.0,
    )
    found = of_hardware(10, **none)
    assert [found[each] for each in ("l1_granularity", "l2_granularity", "local_efficiency")] == [
        *(1, 1, 1)
    ]


def test_both_counts_of_kernels_in_tables(device, monkeypatch, written):
    monkeypatch.setattr(counters, "PROGRAMS", {Reduction: {"v1.0": Shape(64)}})
    some = {"sssp": ("power-law", 4, "sssp-bellman-ford")}  # its rounds take longest by far
    monkeypatch.setattr(counters, "METHODS", some)
    monkeypatch.setattr(counters, "require_tools", lambda device: {})
    monkeypatch.setattr(counters, "units_of", lambda *_: UNITS)
    seen = []

    def counters_of(saved, names, results):
        seen.append((saved.kernel, sum(each.nbytes for each in results)))
        return FOUND

    monkeypatch.setattr(counters, "counters_of", counters_of)
    weights, solve = [], counters.solve

    def solved(call):
        weights.append(call.input.arcs()[2])
        return solve(call)

    monkeypatch.setattr(counters, "solve", solved)
    document = papers.measure(NAME, 64, device=device)
    assert document["left_out"] == []
    first, second = document["runs"]
    assert seen[0] == ("reduction_index", 4 * 64 * 64 + 4 * 64)
    assert second["kernel"] == "bellman_ford_round"
    # a load of each item, and in the group two loads and a store of each sum, 63 of 64 items; ends
    of_group = 64 + 64 + 63 * 3 + 2
    assert first["counted"]["memory instructions"] == 64 * of_group
    assert (weights[0] % 1 == 0.5).all()  # so that no kernel of integers does it
    assert second["counted"]["float instructions"] > 0
    first["counted"] |= {"occupancy": 0.6}
    second["counted"] |= {"occupancy": 0.2, "divergence": None}
    tables = written("busato-profiling", [{**document, "date": "2026-01-01"}])
    table = tables["table-12.1-counters"]
    assert list(table["occupancy, probes"]) == [0.6, 0.2]
    assert list(table["occupancy, ncu"]) == [0.5, 0.25]  # of few groups
    assert list(table["us in CUDA"]) == pytest.approx([4, 4])
    errors = tables["table-12.1-errors"].set_index("quantity").loc["occupancy"]
    assert errors["median error, %"] == pytest.approx(20)
    assert errors["reduction v1.0, %"] == pytest.approx(20)
    assert errors["sssp-bellman-ford, %"] == pytest.approx(-20)


def test_a_wrong_answer_is_not_counted(device, monkeypatch):
    monkeypatch.setattr(counters, "PROGRAMS", {Reduction: {"v1.0": Shape(64)}})
    monkeypatch.setattr(counters, "require_tools", lambda device: {})
    right = Numbers.__init__

    def wrong(numbers, device, values):
        right(numbers, device, values)
        numbers.values = values + np.uint32(1)

    monkeypatch.setattr(Numbers, "__init__", wrong)
    with pytest.raises(VerificationError, match="reduction"):
        papers.measure(NAME, 64, device=device)
