"""Which private variables are live at a barrier."""

from __future__ import annotations

import pytest

from pyapsp.profiling.probes.instrument import instrument

KERNEL = """
int wait(int x) { int y = 2 * x; barrier(CLK_LOCAL_MEM_FENCE); return x + y; }
__kernel void k(__global int *x, __global double8 *wide)
{
    __local int tile[64];
    %s
}
"""
WAIT = "barrier(CLK_LOCAL_MEM_FENCE);"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"int a = x[0]; {WAIT} x[0] = a;", [4]),
        (f"int a = x[0]; x[0] = a; {WAIT}", [0]),
        (f"{WAIT} int a = x[0]; x[0] = a;", [0]),
        (f"int a = 1, b = 2; {WAIT} x[0] = a; {WAIT} x[1] = b;", [8 + 4]),
        # the next turn needs it, unless it gets a new value there; all items have the counter
        (f"int a = 0; for (int j = 0; j < 9; j++) {{ x[a++] = 1; {WAIT} }}", [4]),
        (f"for (int j = 0; j < 9; j++) {{ int a = x[j]; x[0] = a; {WAIT} }}", [0]),
        (f"for (int j = 0; j < 9; j++) {{ int a = x[j]; {WAIT} x[0] = a; }}", [4]),
        (f"{{ int a = 3; x[1] = a; }} int a = 4; {WAIT} x[0] = a;", [4]),
        # local memory and arguments are not private variables
        (f"double8 a = wide[0]; float3 b = 1; {WAIT} wide[1] = a + b.x; tile[0] = 1;", [64 + 16]),
        (f"int a[20]; a[x[0]] = 1; {WAIT} x[0] = a[x[1]];", [80]),
        # in functions only what these declare
        ("int a = 3; x[0] = wait(a) + a;", [0]),
    ],
)
def test_bytes_at_barriers(body, expected):
    blocks = instrument(KERNEL % body, "blocks", "k").blocks
    kernel = [each.saved for each in blocks if each.function == "k"]
    assert sum(kernel) == sum(expected)
    assert max(kernel) == max(expected)
    assert [each.saved for each in blocks if each.function == "wait"] in ([], [4])
