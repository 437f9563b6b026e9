"""Loops that one compiler gets wrong: without optimisation, which no kernel has, and with it.

PoCL 3 runs the work-items of a group one after the other between barriers. If the first thing after
a barrier, or in the body of a loop with barriers, is the head of an inner loop without barriers,
this head is also the start of that stretch. Without optimisation no block is put before it. The
turns of the inner loop of a work-item are then mixed up with those of the others.

With optimisation, a barrier after an ``if`` may become part of it, in a loop, if a value is
computed in the ``if`` and again after the barrier. PoCL takes the branch of a condition around a
barrier for the whole group, and it is that of the last work-item.
"""

from __future__ import annotations

import re

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.device.kernels import source
from pyapsp.device.kernels.program import Program

KERNEL = """
__kernel __attribute__((reqd_work_group_size(4, 1, 1))) void turns(__global int *out)
{
    const int me = get_local_id(0);
    __local int slots[8];
    int count = 0, turn = 0;
    for (int round = 0; round < 3; round++) {
        const int past = me; /* without this statement each work-item counts 3 turns */
        for (; turn < past; turn++)
            count++;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = me; k < 8; k += 4)
            slots[k] = k;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[me] = count;
}
"""
# Work-items with a flag set their bits, and all count them.
BALLOTS = """
#define ME ((int)get_local_id(0))
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void ballots(__global const int *flags, __global int *totals, __global int *ranks,
             const int rounds)
{
    __local int slots[2];
    for (int round = 0; round < rounds; round++) {
        const int found = flags[round * 32 + ME] == 1;
        if (ME == 0)
            slots[0] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (found)
            atomic_or(&slots[ME / 32], (int)(1u << ME)); /* the shift is used again below */
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint bits = slots[0];
        barrier(CLK_LOCAL_MEM_FENCE);
        const int before = popcount(bits & ((1u << ME) - 1));
        if (ME == 0)
            totals[round] = popcount(bits);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (found)
            ranks[round * 32 + ME] = before;
    }
}
"""
FILES = sorted(path for kind in ("cl", "h", "mako") for path in source.root().rglob(f"*.{kind}"))
HEAD = re.compile(r"(?P<before>[^\n]*)\n\s*(?:for \(;\s*[^;\s]|while \()")
WAITS = re.compile(r"(?:barrier|sync)\w*\s*\(|SYNC\w*", re.IGNORECASE)


@pytest.mark.parametrize("optimise", [True, False])
def test_an_inner_loop_after_a_statement(optimise, device):
    out, queue = np.zeros(4, np.int32), device.queue()
    buffer = cl.Buffer(device.context, cl.mem_flags.WRITE_ONLY, out.nbytes)
    kernel = Program(device, KERNEL, optimise=optimise).kernel("turns")
    kernel(queue, (4,), (4,), buffer)
    cl.enqueue_copy(queue, out, buffer)
    np.testing.assert_array_equal(out, range(4))


def test_a_condition_before_a_barrier_in_a_loop(device):
    """Its branch is that of each work-item, in kernels as ours with many barriers are built."""
    flags = np.random.default_rng(0).integers(0, 2, (9, 32)).astype(np.int32)
    queue, copied = device.queue(), cl.mem_flags.COPY_HOST_PTR
    found = np.zeros(len(flags), np.int32), np.zeros_like(flags)
    given, *results = (cl.Buffer(device.context, copied, hostbuf=each) for each in (flags, *found))
    optimise = device.traits.optimises_barriers
    kernel = Program(device, BALLOTS, optimise=optimise).kernel("ballots")
    kernel(queue, (32,), (32,), given, *results, np.int32(len(flags)))
    before = np.where(flags, np.cumsum(flags, axis=1) - flags, 0)
    for array, buffer, right in zip(found, results, (flags.sum(axis=1), before), strict=True):
        cl.enqueue_copy(queue, array, buffer)
        np.testing.assert_array_equal(array, right)


def faults(text: str) -> list[str]:
    """The lines before inner loops that have nothing before them in a loop with barriers."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found = []
    for match in HEAD.finditer(text):
        before = match["before"].strip()
        after_barrier = WAITS.search(before) and before.endswith(";")
        in_body = re.match(r"(?:for|while) \(.*\{$", before) and WAITS.search(
            body(text, match.end("before"))
        )
        if after_barrier or in_body:
            found.append(before)
    return found


def body(text: str, start: int) -> str:
    """The text up to the brace that closes the block in which `start` is."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place]
    return text[start:]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_kernel_has_them(path):
    assert faults(path.read_text()) == []


def test_they_are_found():
    statement = re.search(r".*const int past.*\n", KERNEL)[0]
    assert faults(KERNEL) == []
    assert faults(KERNEL.replace(statement, "").replace("past", "me")) == [
        "for (int round = 0; round < 3; round++) {"
    ]
    late = "for (;;) {\n    barrier(CLK_LOCAL_MEM_FENCE);\n    while (i < n)\n        i++;\n}\n"
    assert faults(late) == ["barrier(CLK_LOCAL_MEM_FENCE);"]
