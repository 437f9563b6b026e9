"""Loops that one compiler gets wrong without optimisation, and that no kernel has them.

PoCL 3 runs the work-items of a group one after the other between barriers. If the first thing after
a barrier, or in the body of a loop with barriers, is the head of an inner loop without barriers,
this head is also the start of that stretch. Without optimisation no block is put before it. The
turns of the inner loop of a work-item are then mixed up with those of the others.
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
