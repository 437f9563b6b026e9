"""Counts and traces of kernels whose control flow and addresses are known."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.base.errors import ParameterError, ProgramError
from pyapsp.device import Device
from pyapsp.device.kernels.source import assemble, root
from pyapsp.device.quirks import vendor_file
from pyapsp.profiling.probes import opencl_c
from pyapsp.profiling.probes.blocks import PROBES
from pyapsp.profiling.probes.instrument import instrument
from pyapsp.profiling.traces import record as record_module
from pyapsp.profiling.traces import reduction
from pyapsp.profiling.traces.analysis import Analyst
from pyapsp.profiling.traces.record import Recorder, Shape, _clock

ITEMS, GROUP = 128, 64
RELAXED = "memory_order_relaxed, memory_scope_device"


def buffer_of(queue, array):
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(queue.context, flags, hostbuf=array)


def record(device, body, *, items=ITEMS, group=GROUP):
    """Run a kernel `k` on x[i] = i, and return its counts and its log."""
    source = body if "kernel" in body else KERNEL % body
    queue, numbers = device.queue(), np.arange(4 * items, dtype=np.int32)
    recorder = Recorder(device, source, "k")
    shape, x = Shape((items,), (group,)), buffer_of(queue, numbers)
    counts = recorder.blocks(queue, shape, [x])
    x = buffer_of(queue, numbers)
    return counts, recorder.addresses(queue, shape, [x], counts)


KERNEL = """
int twice(__global int *x, int i) { return i > 40 ? x[i] * 2 : 3; }
void nothing(void) { }
__kernel void k(__global int *x)
{
    __local int tile[1024];
    const int i = get_global_id(0);
    %s
}
"""


def executions(device, body, **options):
    """Return how often each line of the body with a block of its own was executed."""
    counts, _ = record(device, body, **options)
    found = {}
    for block, total in zip(counts.program.blocks, counts.executions, strict=True):
        if block.function == "k":
            found.setdefault(block.line - 7, []).append(int(total))
    return found


MANY = """
int twice(int x) { return 2 * x; }
int named(int x) { again: if (x > 0) goto again; return x; }
int other(__global int *x) { again: if (x[0] > 0) goto again; return twice(x[0]); }
int four(int x) { return twice(twice(x)); }
__kernel void first(__global int *x) { x[0] = other(x); }
__kernel void k(__global int *x) { int named = 1; x[get_global_id(0)] = four(named); }
__kernel void last(__global int *x, int y) { x[0] = y; }
"""


@pytest.mark.parametrize("probe", PROBES)
def test_only_one_kernel_and_what_it_calls_is_compiled(device, probe):
    """The others need not be such that a profile supports them."""
    made = instrument(MANY, probe, "k")
    assert [each.function for each in made.blocks] == ["twice", "four", "k"]
    assert [each.text for each in made.sites] == ["x[get_global_id(0)]"]
    assert [each.space for each in made.parameters] == ["global"]
    assert "goto" not in made.text
    assert "x[0]" not in made.text
    counts, _ = record(device, MANY)
    assert counts.executions.tolist() == [2 * ITEMS, ITEMS, ITEMS]


DECLARED = """
int twice(int);
__kernel void k(__global int *x);
static int none(void);
__kernel void k(__global int *x) { x[get_global_id(0)] = twice(1) + none(); }
int twice(int x) { printf("grün %d\\n", x); return 2 * x; }
static int none(void) { return FLT_MAX_10_EXP * 0; }
"""


@pytest.mark.parametrize("probe", PROBES)
def test_functions_that_are_declared_before(device, probe):
    """Their declarations get the parameters of the probes, too."""
    Recorder(device, DECLARED, "k").program(probe)[1].kernel("k")
    counts, _ = record(device, DECLARED)
    assert counts.operations()["store"] == ITEMS


def test_functions_of_groups_and_of_extensions():
    """They are known to the parser; the device says whether it has them."""
    calls = "work_group_reduce_add(x[0])", "sub_group_shuffle(x[0], 1)", "sub_group_ballot(1).x"
    body = "".join(f"x[0] = {call}; " for call in (*calls, "dot_4x8packed_uu_uint(x[0], x[1])"))
    source = f"__kernel void k(__global uint *x) {{ {body} }}"
    (block,) = instrument(source, "blocks", "k", standard="CL2.0").blocks
    assert block.operations == {"load": 4, "store": 4, "int": 3 + 4}  # a ballot has 4


def test_a_kernel_that_is_missing(device):
    with pytest.raises(ParameterError, match=r"one of first, k, last. Got 'lost'.*'last'"):
        Recorder(device, MANY, "lost").program("blocks")


@pytest.mark.every(6)
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if (i < 10) x[i] = 1; else { x[i] = 2; }", [128, 10, 118]),
        ("if (i < 10) return; x[i] = 1;", [128, 10, 118]),
        # condition, step, body: a loop's condition is evaluated once more
        ("for (int j = 0; j < i % 4; j++) x[i] += j;", [128, 192 + 128, 192, 192]),
        ("int j = 0; while (j < 5) { j++; if (j == 3) continue; x[i] = j; }",
         [128, 6 * 128, 5 * 128, 128, 4 * 128]),
        ("int j = 0; do x[i] = j; while (++j < 3);", [128, 384, 384]),
        ("for (int j = 0; ; j++) { if (j == i % 2) break; x[i] = j; }",
         [128, 64 + 128, 128, 64, 64]),
        ("switch (i % 4) { case 0: x[i] = 1; case 1: x[i] = 2; break; case 2: case 3: "
         "if (i < 64) break; x[i] = 4; break; default: x[i] = 5; }",
         [128, 32, 64, 64, 32, 32, 0]),
        ("if (i >= 0 && i < 64 || i == 100) x[i] = 1;", [128, 128, 64, 65]),
        ("x[i] = i < 32 ? x[i] + 1 : i * 2;", [128, 32, 96]),
        ("for (int j = 0; j < 2; j++) for (int l = 0; l < 3; l++) if (l == j) x[i] = 1;",
         [128, 3 * 128, 256, 4 * 256, 6 * 128, 256, 6 * 128, 256]),
        # a builtin function whose name has no place in the tree of Clang
        ("for (int j = 0; j < i % 2; j++) __builtin_prefetch(x + j);", [128, 128 + 64, 64, 64]),
    ],
)  # fmt: skip
def test_blocks(device, body, expected):
    found = [total for totals in executions(device, body).values() for total in totals]
    assert found == expected


def test_the_order_of_blocks(device, monkeypatch):
    """One group after the other, of one item each; and of a large launch not all."""
    body = "if (i % 2) x[i] = 1; for (int j = 0; j < 3; j++) x[i] += j;"
    queue, recorder, shape = device.queue(), Recorder(device, KERNEL % body, "k"), Shape((4,), (1,))
    x = buffer_of(queue, np.zeros(4, np.int32))
    counts = recorder.blocks(queue, shape, [x])
    # 0: the kernel, 1: what the branch leads to; condition, body and step of the loop
    loop = [2, 3, 4] * 3 + [2]
    order = recorder.order(queue, shape, [x], counts).blocks.tolist()
    assert order == 2 * [0, *loop, 0, 1, *loop]
    monkeypatch.setattr(record_module, "_LIMIT", 8 * 40)
    fewer = recorder.order(queue, shape, [x], counts).blocks
    assert 0 < len(fewer) < len(order)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if (i < 10) x[i] = 1; else { x[i] = 2; }", {1: (0, False)}),
        ("if (i < 10) return; if (i < 20) x[i] = 1;", {1: (0, False), 3: (2, False)}),
        ("for (int j = 0; j < i % 4; j++) x[i] += j;", {2: (0, True)}),
        ("int j = 0; do x[i] = j; while (++j < 3);", {1: (0, True)}),
        # each operand decides about the next one, and the last one about the block
        ("if (i >= 0 && x[i] < 64) x[i] = 1;", {1: (0, False), 2: (1, False)}),
        (
            "if ((i >= 0 && x[i]) && (x[1] < i)) x[i] = 1;",
            {1: (0, False), 2: (1, False), 3: (2, False)},
        ),
        ("if (x[i] && i) x[i] = 1;", {1: (0, False)}),
        ("if (i >= 0 || x[i] < 64) x[i] = 1;", {1: (0, False), 2: (0, False)}),
        # one decision ends a loop
        ("while (i >= 0 && x[i] < 64 && x[1]) x[i] = 1;", {4: (0, True)}),
        ("while (x[i] < 9) if (i < x[i]) x[i]++;", {2: (0, True), 3: (2, False)}),
        ("x[i] = i < 32 ? x[i] + 1 : i * 2;", {}),
    ],
)
def test_branches_of_blocks(body, expected):
    """By the number of the block: that of the block whose end decides, and whether it loops."""
    blocks = instrument(KERNEL % body, "blocks", "k").blocks
    assert {
        number: (each.branch.outer, each.branch.loop)
        for number, each in enumerate(blocks)
        if each.branch is not None
    } == expected


def test_blocks_of_functions(device):
    """Barriers, calls in conditions, and functions without arguments."""
    counts = record(
        device,
        "tile[get_local_id(0)] = i; barrier(CLK_LOCAL_MEM_FENCE); nothing(); "
        "if (twice(x, tile[63 - get_local_id(0)]) == 3) return; x[i] = twice(x, 50);",
    )[0]
    totals = dict.fromkeys(("twice", "nothing", "k"), 0)
    for block, total in zip(counts.program.blocks, counts.executions, strict=True):
        totals[block.function] = totals[block.function] or int(total)
    assert totals == {"twice": 128 + 128 - 41, "nothing": 128, "k": 128}
    operations = counts.operations()
    assert operations["barrier"] == 128
    assert operations["local store"] == operations["local load"] == 128
    assert operations["load"] == 87 + 87  # items above 40, and each that calls again
    assert operations["store"] == 87


@pytest.mark.slow
def test_an_odd_number_of_counters(device):
    """What the kernel does not call has none."""
    counts, _ = record(device, "x[i] = 1; if (i < 0) return; x[i] = 2;", items=1, group=1)
    assert counts.counts.shape == (1, 3)
    assert counts.operations()["store"] == 2
    counts, _ = record(device, "x[i] = 1;", items=1, group=1)
    assert counts.counts.shape == (1, 1)
    counts, _ = record(device, "if (i < 0) return;", items=1, group=1)
    assert counts.counts.shape == (1, 2)


def test_classes_of_operations(device):
    source = """
    __kernel void k(__global int *x)
    {
        __global float4 *v = (__global float4 *)x;
        const int i = get_global_id(0);
        v[i] = v[i] * 2.0f + 1.0f;
        x[i] = (i + 1) << 2;
        v[i].x = native_sin(v[i].y);
        v[i].zw = (float2)(min(1.0f, v[i].x), -1.0f);
    }
    """
    counts = record(device, source, items=16, group=8)[0]
    assert counts.operations() == {
        "load": 16 * (4 + 1 + 1),
        "store": 16 * (4 + 1 + 1 + 2),
        "float": 16 * (8 + 2),
        "int": 16 * 2,
        "special": 16,
    }


def test_answers_stay(device):
    """A program with probes computes what it computes without them."""
    source = KERNEL % (
        "for (int j = 0; j < 4; j++) { if (j == i % 3) continue; x[4 * i + j] += j; } "
        "tile[get_local_id(0)] = x[4 * i]; barrier(CLK_LOCAL_MEM_FENCE); "
        "if (i % 2) return; x[4 * i + 3] = tile[get_local_id(0) + 1]; atomic_inc(&x[1]);"
    )
    expected = np.arange(4 * ITEMS)
    for i in range(ITEMS):
        for j in range(4):
            expected[4 * i + j] += 0 if j == i % 3 else j
    expected[3::8] = expected[4::8]
    expected[1] += ITEMS // 2
    queue, recorder, shape = (
        device.queue(),
        Recorder(device, source, "k"),
        Shape((ITEMS,), (GROUP,)),
    )
    counts = None
    for probe in PROBES:
        x = buffer_of(queue, np.arange(4 * ITEMS, dtype=np.int32))
        more = (counts,) if probe in ("addresses", "order") else ()
        found = getattr(recorder, probe)(queue, shape, [x], *more)
        counts = counts or found
        out = np.empty(4 * ITEMS, np.int32)
        cl.enqueue_copy(queue, out, x)
        assert (out == expected).all(), probe


def touched(device, body, **options):
    counts, log = record(device, body, **options)
    assert len(log.site) == sum(
        counts.executions[each.block] * (2 if each.kind == "update" else 1)
        for each in counts.program.sites
    )
    (found,) = reduction.accesses(log.trace, 128, 32, 32)
    return found


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("body", "useful", "lines", "sectors"),
    [
        ("x[i] = 1;", 512, 4, 16),
        ("x[4 * i] = 1;", 512, 16, 64),
        ("if (i % 2) x[i] = 1;", 256, 4, 16),
        ("x[i]++;", 1024, 8, 32),
        ("x[0] = x[i / 32];", 1024, 8, 8),
        ("atomic_add(&x[i], 1);", 512, 4, 16),
        ("vstore4(vload4(i, x), 0, x + 4 * i);", 4096, 32, 128),
        # the lanes of a warp access memory together in each turn, also if some have fewer turns
        ("for (int j = i % 2; j < 2; j++) x[i] = x[j * 128 + i];", 1536, 20, 80),
    ],
)
def test_addresses(device, body, useful, lines, sectors):
    found = touched(device, body)
    assert (found.useful, found.lines, found.sectors) == (useful, lines, sectors)


def test_turns_of_inner_loops_are_told_apart(device):
    """In each outer turn lanes have other numbers of inner turns: 1 or 2, then both 1."""
    body = (
        "for (int a = 0; a < 2; a++) for (int b = 0; b < (a ? 1 : 1 + i % 2); b++) "
        "x[256 * a + 128 * b + i] = 1;"
    )
    found = touched(device, body)
    assert (found.lines, found.sectors) == (4 * 3, 16 * 3)


@pytest.mark.every(2)
@pytest.mark.parametrize(("stride", "taken"), [(1, 1), (2, 2), (16, 16), (17, 1)])
def test_bank_conflicts(device, stride, taken):
    found = touched(device, f"tile[(i % 32) * {stride}] = i;")
    assert (found.ideal_local, found.local) == (4, 4 * taken)


def test_elements_of_vectors_and_structs(device):
    source = """
    typedef struct { int a, b; float2 v; } pair;
    __kernel void k(__global int *x)
    {
        __global pair *p = (__global pair *)x;
        const int i = get_global_id(0);
        p[i].v.y = 1;
        p[i].v.yx = (float2)(p[i].a, 2.0f);
    }
    """
    sites = record(device, source, items=16, group=8)[0].program.sites
    assert [(each.text, each.kind, each.offset, each.size) for each in sites] == [
        ("p[i].v.y", "store", 4, 4),
        ("p[i].v.yx", "store", 0, 8),
        ("p[i].a", "load", 0, 4),
    ]


def test_times_of_warps(device):
    queue = device.queue()
    body = KERNEL % (
        "if (i % 2) return; for (int j = 0; j < 1000; j++) tile[j] = j; x[i] = tile[i];"
    )
    recorder = Recorder(device, body, "k")
    x = buffer_of(queue, np.zeros(ITEMS, np.int32))
    times = recorder.warps(queue, Shape((ITEMS,), (GROUP,)), [x])
    assert len(times.unit) == ITEMS // 32
    if not times.known:
        pytest.skip("no clock for kernels")
    assert (times.end > times.start).all()
    assert (times.waiting == 0).all()


WAITS = """
__kernel void k(__global int *x)
{
    const int i = get_global_id(0);
    int at = i;
    if (get_local_id(0) < 32)
        for (int turn = 0; turn < 20000; turn++)
            at = x[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    x[i] = at;
}
"""


def test_a_warp_waits_as_long_as_another_one_of_its_group_works(device):
    recorder, queue = Recorder(device, WAITS, "k", width=32), device.queue()
    x = buffer_of(queue, np.arange(ITEMS, dtype=np.int32))
    times = recorder.warps(queue, Shape((ITEMS,), (GROUP,)), [x])
    if not times.known:
        pytest.skip("no clock for kernels")
    part = times.waiting / (times.end - times.start)
    assert ((part >= 0) & (part <= 1)).all()
    if not device.traits.scalar_groups:  # a core runs the items of a group one after the other
        assert (part[0::2] < 0.1).all()
        assert (part[1::2] > 0.9).all()


COPIES = """
void bring(__local int4 *tile, __global const int4 *x, event_t *e)
{
    e[0] = async_work_group_copy(tile, x, (size_t)4, 0);
}
__kernel void k(__global int *x)
{
    __local int tile[40], few[9];
    __local int4 wide[4];
    const int i = get_local_id(0) + 4 * get_local_id(1);
    event_t e[2];
    bring(wide, (__global const int4 *)x, e);
    e[1] = async_work_group_copy(tile, x + 40, 40, 0);
    wait_group_events(2, e);
    event_t f = async_work_group_strided_copy(few, x, 9, 3, 0); wait_group_events(1, &f);
    tile[i] += wide[i % 4].y + few[i % 9];
    barrier(CLK_LOCAL_MEM_FENCE);
    f = async_work_group_copy(x + 100 + 40 * get_group_id(0), tile, 40, 0);
    wait_group_events(1, &f);
    f = async_work_group_strided_copy(x + 300, few, 9, 2, 0);
    wait_group_events(1, &f);
}
"""


def test_copies_by_groups_are_counted_and_done(device):
    queue, numbers = device.queue(), np.arange(400, dtype=np.int32)
    recorder, shape = Recorder(device, COPIES, "k"), Shape((8, 4), (4, 4))
    x = buffer_of(queue, numbers)
    counts = recorder.blocks(queue, shape, [x])
    found = np.empty_like(numbers)
    cl.enqueue_copy(queue, found, x)
    expected, items = numbers.copy(), np.arange(16)
    tile = numbers[40:80].copy()
    tile[items] += numbers[4 * (items % 4) + 1] + numbers[3 * (items % 9)]
    expected[100:180], expected[300:318:2] = np.tile(tile, 2), numbers[0:27:3]
    np.testing.assert_array_equal(found, expected)
    total, groups = counts.operations(), 2
    assert total["load"] == groups * (4 * 4 + 40 + 9)
    assert total["store"] == groups * (40 + 9)
    assert total["local store"] == groups * (4 * 4 + 40 + 9 + 16)
    assert total["local load"] == groups * (3 * 16 + 40 + 9)
    assert total["barrier"] == groups * 16 * 5


def test_lines_with_copies_by_groups_are_those_of_the_file():
    made = instrument(COPIES, "addresses", "k")
    lines = {each.text: each.line for each in made.sites}
    assert lines["tile[i]"] == 16
    assert {lines["to[i]"], lines["from[i * stride]"]} == {2}  # of the first function with a copy
    with pytest.raises(ProgramError, match=r"<source>:16: .*missing"):
        instrument(COPIES.replace("wide[i % 4].y", "missing"), "addresses", "k")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("again: x[i] = 1; if (i < 0) goto again;", r"<source>:8: goto"),
        ("x[i] = ({ 1; });", r"<source>:8: statement expressions"),
        ("x[i] = missing(1);", r"<source>:8: .*missing"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(body, message):
    with pytest.raises(ProgramError, match=message):
        instrument(KERNEL % body, "addresses", "k")


def test_accesses_of_groups_that_are_not_recorded(device, monkeypatch):
    """Their number is that of the executed blocks; only what they touch follows from the others."""
    monkeypatch.setattr(record_module, "_LIMIT", 100_000)
    monkeypatch.setattr(Device, "traits", replace(device.traits, scalar_groups=False))
    items, group = 1024, 64
    body = KERNEL % "for (int j = 0; j < (i < 64 ? 90 : 10); j++) x[i] = j; x[i / 64 * 64]++;"
    recorder, queue = Recorder(device, body, "k"), device.queue()
    x = buffer_of(queue, np.zeros(items, np.int32))
    found = Analyst(device, 32).trace(recorder, queue, Shape((items,), (group,)), [x])
    assert found.recorded == 1 / 16
    assert found.accesses.useful == 4 * (64 * 90 + 15 * 64 * 10) + 8 * items
    assert found.accesses.sectors == (2 * 90 + 15 * 2 * 10) * 4 + 2 * 32
    assert found.footprint == 4 * items


def test_waits_of_warps(device, monkeypatch):
    """A block that reads memory is a wait; a warp executes what any of its items does."""
    monkeypatch.setattr(Device, "traits", replace(device.traits, scalar_groups=False))
    queue = device.queue()
    body = "int s = x[i]; for (int j = 0; j < i % 4; j++) s += x[j] * tile[j];"
    body += " barrier(CLK_LOCAL_MEM_FENCE); if (i < 64) tile[i] = s; x[i] = s;"
    recorder = Recorder(device, KERNEL % body, "k")
    analyst = Analyst(device, 32)
    x = buffer_of(queue, np.arange(ITEMS, dtype=np.int32))
    found = analyst.trace(recorder, queue, Shape((ITEMS,), (GROUP,)), [x]).waits
    # what is outside of the loop is one block; the loop is executed three times, and the sector of
    # x[j] misses the first cache in one of them; its condition is decided four times
    assert found.each == pytest.approx(np.tile((1 + 1, 3 - 1, 0, 0, 0, 1, 0, 4), (4, 1)))
    assert (found.every, found.group) == (1, 2)
    # all groups are on the device at the same time, or its units are not known
    assert found.resident in {ITEMS / GROUP, np.inf}


def test_warps_do_not_wait_for_stores(device, monkeypatch):
    """Each turn stores to a line that is new, and loads from the same one."""
    monkeypatch.setattr(Device, "traits", replace(device.traits, scalar_groups=False))
    queue = device.queue()
    recorder = Recorder(device, KERNEL % "for (int j = 1; j < 4; j++) x[128 * j + i] = x[0];", "k")
    x = buffer_of(queue, np.zeros(4 * ITEMS, np.int32))
    found = Analyst(device, 32).trace(recorder, queue, Shape((ITEMS,), (GROUP,)), [x]).waits
    assert found.each == pytest.approx(np.tile((1, 2, 0, 0, 0, 0, 0, 0), (4, 1)))


@pytest.mark.parametrize(
    ("body", "loads", "atomics", "local"),
    [
        ("x[i] = x[i] + x[i + 128];", 1, 0, 0),
        ("x[i] = x[x[i]];", 2, 0, 0),
        ("const int v = x[i]; int w; w = x[v] + x[v + 1]; w += 1; x[i] = x[w];", 3, 0, 0),
        ("int v[2]; v[1] = x[i]; v[0] = 0; x[i] = x[v[1]];", 2, 0, 0),
        ("int v = x[i]; v = 0; x[i] = x[v];", 1, 0, 0),
        ("__global int *place = &x[i]; x[i] = *place;", 1, 0, 0),
        ("__global int *place = &x[x[i]]; x[i] = *place;", 2, 0, 0),
        ("const int2 v = vload2(i, x); x[v.x] = vload2(v.y, x).x;", 2, 0, 0),
        ("tile[i] = x[i]; x[i] = x[tile[0]];", 2, 0, 0),
        ("x[i] = tile[tile[0]];", 0, 0, 2),
        ("x[i] = atomic_add(&x[x[i]], 1);", 1, 1, 0),
        ("atomic_add(&x[x[i]], 1);", 1, 0, 0),
        ("if (x[i] == 0) atomic_inc(&x[i]);", 1, 0, 0),
        ("atomic_add(&x[atomic_inc(&x[i])], 1);", 0, 1, 0),
        ("lower(&x[i], i);", 0, 0, 0),
        ("for (int j = 0; j < 2; j++) lower(&x[i], j);", 0, 0, 0),
        ("if (lower(&x[i], i)) x[i] = 0;", 0, 1, 0),
        ("x[i] = lower(&x[i], i);", 0, 1, 0),
        ("x[i] = atomic_add(&x[atomic_add(&x[i], 0)], 1);", 0, 2, 0),
        ("x[i] = atomic_add(&tile[0], 1);", 0, 0, 1),
        # a block of its own
        ("const int v = x[i]; if (v >= 0) x[i] = x[v + 128];", 2, 0, 0),
        ("const int v = x[i]; if (i >= 0) x[i] = x[v] + x[i + 1];", 2, 0, 0),
        ("for (int j = 0; j < 4; j++) x[i] = x[i + j];", 4, 0, 0),
        ("\n#pragma unroll\nfor (int j = 0; j < 4; j++) x[i] = x[i + j];", 1, 0, 0),
        ("\n#pragma unroll 1\nfor (int j = 0; j < 4; j++) x[i] = x[i + j];", 4, 0, 0),
        (
            "for (int k = 0; k < 3; k++) {\n#pragma unroll\n"
            "for (int j = 0; j < 4; j++) if (j + k >= 0) x[i] = x[i + j + k]; }",
            *(3, 0, 0),
        ),
    ],
)
def test_loads_that_wait_for_each_other(device, monkeypatch, body, loads, atomics, local):
    monkeypatch.setattr(Device, "traits", replace(device.traits, scalar_groups=False))
    lower = "static int lower(__global int *w, int v) { return v < atomic_min(w, v); }\n"
    recorder, queue = Recorder(device, lower + KERNEL % body, "k"), device.queue()
    x = buffer_of(queue, np.zeros(4 * ITEMS, np.int32))
    found = Analyst(device, 32).trace(recorder, queue, Shape((ITEMS,), (GROUP,)), [x]).waits
    beyond, first, _, *others = found.each.max(0)
    assert (beyond + first, *others) == pytest.approx((loads, atomics, local, 0, 0, 0))


@pytest.mark.parametrize(
    ("body", "turns"),
    [
        ("for (int j = i / 32; j < i; j++) x[j] = i;", (0, 32)),
        ("for (int j = 0; j < 9; j++) x[j] = i;", (0, 0)),  # may have no control when compiled
        ("int j = 0; while (j + 1 < i) x[j++] = i;", (0, 31)),
        ("int j = 0; do x[j++] = i; while (j < i);", (0, 31)),
        ("for (int j = 0; j < x[50]; j++) x[j] = 0;", (51, 0)),
        ("for (int j = 0; j < x[50 + i % 2]; j++) x[j] = 0;", (52, 0)),
    ],
)
def test_turns_of_loops(device, monkeypatch, body, turns):
    """The bound of a loop is in memory or not."""
    monkeypatch.setattr(Device, "traits", replace(device.traits, scalar_groups=False))
    recorder, queue = Recorder(device, KERNEL % body, "k"), device.queue()
    x = buffer_of(queue, np.arange(ITEMS, dtype=np.int32))
    found = Analyst(device, 32).trace(recorder, queue, Shape((32,), (32,)), [x]).waits
    assert tuple(found.each[0, 6:]) == turns


@pytest.mark.parametrize(
    ("body", "loads", "lines"),
    [
        ("x[i] = x[(i + 1) % 32];", 1, 0),
        ("x[i] = x[i * 16];", 1, 15),
        # an item reads once, but in another turn than all others
        ("for (int j = 0; j < 32; j++) if (j == i) x[i] = x[32];", 32, 0),
        ("for (int j = 0; j < 32; j++) if (j % 4 == i % 4) x[i] = x[32];", 32, 0),
        # all turns at the same time, and then the others
        (
            "for (int j = 0; j < 8; j++) if (j == i % 8) {\n#pragma unroll\n"
            "for (int k = 0; k < 4; k++) x[i] = x[i + k]; }",
            *(8, 1),
        ),
    ],
)
def test_items_that_read_at_different_moments_wait_for_each_other(
    device, monkeypatch, body, loads, lines
):
    monkeypatch.setattr(Device, "traits", replace(device.traits, scalar_groups=False))
    recorder, queue = Recorder(device, KERNEL % body, "k"), device.queue()
    x = buffer_of(queue, np.zeros(16 * 32, np.int32))
    found = Analyst(device, 32).trace(recorder, queue, Shape((32,), (32,)), [x]).waits
    beyond, first, further, *_ = found.each[0]
    assert (beyond + first, further) == pytest.approx((loads, lines), abs=1)


def test_turns_with_a_barrier_do_not_overlap(device, monkeypatch):
    monkeypatch.setattr(Device, "traits", replace(device.traits, scalar_groups=False))
    turn = "{ x[i] = x[i + j]; barrier(CLK_GLOBAL_MEM_FENCE); }"
    body = f"\n#pragma unroll\nfor (int j = 0; j < 4; j++) {turn}"
    recorder, queue = Recorder(device, KERNEL % body, "k"), device.queue()
    x = buffer_of(queue, np.zeros(4 * ITEMS, np.int32))
    found = Analyst(device, 32).trace(recorder, queue, Shape((ITEMS,), (GROUP,)), [x]).waits
    assert found.each[0, :2].sum() == found.each[0, 5] == 4


def test_a_sector_that_nobody_asked_for_is_no_hit(device, monkeypatch):
    """In a line of 32 words each eighth one misses the first cache."""
    monkeypatch.setattr(Device, "traits", replace(device.traits, scalar_groups=False))
    body = "int s = 0; for (int j = 0; j < 32 + i; j++) s += x[j]; x[i] = s;"
    recorder, queue = Recorder(device, KERNEL % body, "k"), device.queue()
    x = buffer_of(queue, np.zeros(ITEMS, np.int32))
    found = Analyst(device, 32).trace(recorder, queue, Shape((1,), (1,)), [x]).waits
    assert tuple(found.each[0, :2]) == pytest.approx((32 / 8, 32 - 32 / 8), abs=1)


def test_warps_wait_for_the_slowest_one_at_each_barrier(device, monkeypatch):
    """In each of four phases another warp reads 16 times, and the others once."""
    monkeypatch.setattr(Device, "traits", replace(device.traits, scalar_groups=False))
    body = """for (int phase = 0; phase < 4; phase++) {
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (int j = 0; j < (i / 32 == phase ? 16 : 1); j++) x[i] = x[32 * i + 8 * j];
    }"""
    queue = device.queue()
    x = buffer_of(queue, np.zeros(32 * ITEMS, np.int32))
    found = [
        Analyst(device, 32)
        .trace(Recorder(device, KERNEL % text, "k"), queue, Shape((128,), (128,)), [x])
        .waits.each[:, :2]
        .sum(1)
        for text in (body, body.replace("barrier(CLK_GLOBAL_MEM_FENCE)", ""))
    ]
    assert found[1] == pytest.approx(19, abs=0.1)
    assert found[0] == pytest.approx(4 * 16, rel=0.2)


def test_the_first_cache_has_no_volatile_objects(device, monkeypatch):
    """Of eight loads of a word one misses it, or all."""
    monkeypatch.setattr(Device, "traits", replace(device.traits, scalar_groups=False))
    queue, beyond = device.queue(), []
    for space in ("", "volatile "):
        body = f"for (int j = 0; j < 8; j++) x[i] = *({space}__global int *)(x + 128);"
        recorder = Recorder(device, KERNEL % body, "k")
        x = buffer_of(queue, np.zeros(4 * ITEMS, np.int32))
        found = Analyst(device, 32).trace(recorder, queue, Shape((ITEMS,), (GROUP,)), [x]).waits
        beyond.append(found.each[:, 0].tolist())
    assert beyond == [[1] * 4, [8] * 4]


def test_a_launch_accesses_no_more_than_its_buffers(device, monkeypatch):
    """All groups the same words, of which one group is recorded."""
    monkeypatch.setattr(record_module, "_LIMIT", 20_000)
    body = KERNEL % "for (int j = 0; j < 9; j++) x[get_local_id(0)] = j;"
    recorder, queue = Recorder(device, body, "k"), device.queue()
    x = buffer_of(queue, np.zeros(GROUP, np.int32))
    found = Analyst(device, 32).trace(recorder, queue, Shape((8 * GROUP,), (GROUP,)), [x])
    assert found.recorded < 1
    assert found.footprint == 4 * GROUP


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("atomic_inc(x + i);", (ITEMS / 8, 1)),
        ("atomic_inc(x + i % 32);", (ITEMS / 8, 4)),
        ("atomic_inc(x); x[i + 1] = 1;", (4, ITEMS)),
        ("atomic_inc(x + 8 * i);", (ITEMS, 1)),
        ("atomic_inc(tile + i); x[i] = 1;", (0, 0)),
        # loads that no first cache has: one of each warp
        ("x[i + 8] = *(volatile __global int *)x;", (0, ITEMS / 32)),
        ("x[i + 8] = *(volatile __global int *)(x + i % 16);", (0, ITEMS / 32)),
        ("x[i + 8] = *(volatile __global int *)x; atomic_inc(x + 1);", (4, ITEMS / 32 + ITEMS)),
        ("x[i + 8] = *(volatile __global int *)x; atomic_inc(x + 9);", (4, ITEMS)),
        ("x[i + 8] = x[0];", (0, 0)),
    ],
)
def test_sectors_of_atomic_operations_and_those_of_one_word(device, monkeypatch, body, expected):
    monkeypatch.setattr(Device, "traits", replace(device.traits, scalar_groups=False))
    recorder, queue = Recorder(device, KERNEL % body, "k"), device.queue()
    x = buffer_of(queue, np.zeros(8 * ITEMS, np.int32))
    found = Analyst(device, 32).trace(recorder, queue, Shape((ITEMS,), (GROUP,)), [x])
    assert found.atomics == expected


STRUCT = """
typedef struct { __global int *x; int n; } numbers;
void put(const numbers *all, int i) { all->x[i] = all->n; }
__kernel void k(__global int *x) { const numbers all = {x, 7}; put(&all, get_global_id(0)); }
"""
GENERIC = """
void put(int *x) { *x = 1; }
__kernel void k(__global int *x) { put(x); }
"""


@pytest.mark.parametrize("standard", [None, "CL2.0", "CL3.0"])
def test_pointers_to_private_structs(standard):
    made = instrument(STRUCT, "addresses", "k", standard=standard)
    assert [(each.space, each.kind) for each in made.sites] == [("global", "store")]


@pytest.mark.parametrize(
    ("call", "operations"),
    [
        (f"atomic_load_explicit(x, {RELAXED})", {"load": 1}),
        (f"atomic_store_explicit(x, 1, {RELAXED})", {"store": 1}),
        (f"atomic_fetch_add_explicit(x, 1, {RELAXED})", {"atomic": 1}),
        (f"atomic_exchange_explicit(x, 1, {RELAXED})", {"atomic": 1}),
    ],
)
def test_atomic_loads_and_stores_are_loads_and_stores(call, operations):
    source = f"__kernel void k(volatile __global atomic_int *x) {{ {call}; }}"
    made = instrument(source, "blocks", "k", standard="CL3.0")
    assert made.blocks[0].operations == operations
    assert [each.kind for each in made.sites] == list(operations)


@pytest.mark.parametrize("standard", ["CL2.0", "CL3.0"])
def test_pointers_to_any_address_space(standard):
    assert instrument(GENERIC, "blocks", "k", standard=standard).parameters
    with pytest.raises(ProgramError, match=r"<source>:2: pointers without an address space"):
        instrument(GENERIC, "addresses", "k", standard=standard)


@pytest.mark.parametrize("platform", ["Intel(R) OpenCL", "NVIDIA CUDA", "Unknown"])
def test_every_vendor_has_a_clock(platform):
    """Its own, or the portable one."""
    name = _clock(SimpleNamespace(vendor_file=partial(vendor_file, platform_name=platform)))
    assert (root() / name).is_file()
    assert ("nvidia" in name) == ("NVIDIA" in platform)


def test_groups_must_fill_the_launch():
    with pytest.raises(ParameterError, match="groups that fill the launch"):
        Shape((100,), (64,))


@pytest.mark.nightly
@pytest.mark.parametrize("defines", [{}, {"__clang__": 1, "PYAPSP_AHEAD": 4}])
@pytest.mark.parametrize("standard", [None, "CL3.0"])
@pytest.mark.parametrize("probe", ["blocks", "addresses"])
def test_all_our_kernels_can_be_instrumented(probe, standard, defines):
    for path in sorted(root().rglob("*.cl")):
        if not path.name.startswith("clock."):  # it is part of the probes
            name = str(path.relative_to(root()))
            source = assemble(name)
            kernels = opencl_c.parse(source, tuple(defines.items()), standard, name).kernels
            assert kernels, name
            for kernel in kernels:
                made = instrument(source, probe, kernel, defines, name=name, standard=standard)
                opencl_c.parse(made.text, (), standard, name)


MINIMUM = """
__kernel void k(__global float4 *x, __global float *y)
{
    const size_t i = get_global_id(0);
    const float4 a = x[i], b = x[i + 1];
    %s
}
"""


@pytest.mark.parametrize(
    ("body", "vectors", "minima"),
    [
        ("x[i] = (a < b) ? a : b;", 8, 4),
        ("x[i] = a >= b ? (b) : a;", 8, 4),
        ("x[i] = a < b ? a : b + 1;", 12, 0),  # no minimum
        ("y[i] = y[i] < y[i + 1] ? y[i] : y[i + 1];", 0, 0),  # no vector
    ],
)
def test_minima_of_vectors(body, vectors, minima):
    """One operation for each element, which are counted as two: a comparison and a choice."""
    blocks = instrument(MINIMUM % body, "blocks", "k").blocks
    operations = sum((Counter(each.vectors) for each in blocks), Counter())
    assert operations["float"] + operations["int"] == vectors
    assert sum((Counter(each.minima) for each in blocks), Counter())["float"] == minima


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x[i] = i / n; x[i + 1] = i % m;", 2),
        ("x[i] /= n; x[i] %= get_local_size(0);", 2),
        ("x[i] = i / n + i % n;", 1),  # quotient and remainder
        ("x[i] = i / 4 + i % (3 + 4);", 0),  # compilers have no division for these
        ("x[i] = 2.0f / n;", 0),
        ("x[i] = i * n;", 0),
        ("int4 v = (int4)(i); v /= n; x[i] = v.x;", 4),
    ],
)
def test_divisions_of_integers(body, expected):
    source = "__kernel void k(__global int *x, const int n, const int m)"
    source += f"{{ const int i = get_global_id(0); {body} }}"
    blocks = instrument(source, "blocks", "k").blocks
    assert sum(each.divisions for each in blocks) == expected


CHASE = """
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k(__global const uint *next, __global uint *out, const uint n)
{
    uint found = 0;
    for (uint i = 0; i < n; i++) {
        if (next[next[i * 16807 % n]] > n / 2)
            found++;
        out[i * 5003 % n] += 1;
    }
    out[0] = found;
}
"""


def test_the_work_of_a_core(device):
    """A branch at random, which waits for two loads, one after the other."""
    if device.kind != "cpu":
        pytest.skip("of CPUs")
    n, queue = 2**12, device.queue()
    numbers = np.random.default_rng(0).permutation(n).astype(np.uint32)
    arguments = [buffer_of(queue, numbers), buffer_of(queue, np.zeros(n, np.uint32)), np.uint32(n)]
    recorder = Recorder(device, CHASE, "k")
    work = Analyst(device).trace(recorder, queue, Shape((1,), (1,)), arguments).work
    assert work.surprises.tolist() == [pytest.approx(n / 2, rel=0.1)]
    # the lines of both loads are far, and were accessed some time ago
    assert sum(work.awaited.values()) == pytest.approx(2, rel=0.01)
    assert work.awaited[0.0] == pytest.approx(0, abs=0.01)
    assert max(work.awaited, key=work.awaited.get) >= 4 * n
    # both, and the load of the update, whose store follows it
    assert sum(work.far.values()) == pytest.approx(3 * n, rel=0.01)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the store of an update is no access of its own to the line of others
        ("x[get_group_id(0)] += 1", (0, 3)),
        ("atomic_inc(x + get_group_id(0))", (0, 3)),
        ("atomic_inc(x + get_group_id(0) % 2 * 32)", (2, 0)),
    ],
)
def test_accesses_to_lines_of_other_groups(device, text, expected):
    """Those to one line, which wait for each other, and those to lines in turns."""
    if device.kind != "cpu":
        pytest.skip("of CPUs")
    queue, source = device.queue(), f"__kernel void k(__global uint *x) {{ {text}; }}"
    recorder = Recorder(device, source, "k")
    x = buffer_of(queue, np.zeros(64, np.uint32))
    work = Analyst(device).trace(recorder, queue, Shape((4,), (1,)), [x]).work
    assert (work.shared, work.contended) == expected
