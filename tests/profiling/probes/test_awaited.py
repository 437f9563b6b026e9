"""Which loads and operations the branches of a program wait for, one after the other."""

import pytest

from pyapsp.profiling.probes.instrument import instrument

KERNEL = """
int next(__global const int *x, const int place) { return x[place + 1]; }
int ends(__global const int *x, const int end) { int i = 0; while (i < end) i++; return i; }
int small(const int number) { if (number < 4) return 1; return 0; }
int looped(const int number) { int i = 0; for (; i < number; i++) if (number < i) i++; return i; }
__kernel void k(__global int *x, __global int *y, const int n)
{
    int i = get_global_id(0), v = x[i];
    %s
}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if (y[v] < n) i++;", [["x[i]", "y[v]"]]),
        ("const int w = y[v] + 1; if (w < n) i++;", [["x[i]", "y[v]", "int"]]),
        ("if (x[i] + y[i] < n) i++;", [["x[i]", "int"]]),  # at the same time
        ("if (next(y, v) < n) i++;", [["x[i]", "int", "x[place + 1]"]]),
        ("if (atomic_min(&y[v], n) < n) i++;", [["x[i]", "&y[v]"]]),
        ("if (vload4(v, y).x < n) i++;", [["x[i]", "vload4(v, y)"]]),
        ("y[i] = v; if (i < n) i++;", [[]]),
        ("float f = v; f *= 2.0f; f = f < n ? -f : 1.0f; if (max(f, 2.0f) < n) i++;",
         [["x[i]", "float", "float", "float", "float"]]),
        ("if (v < n) i++; if (v * n) i++;", [["x[i]"], ["x[i]"]]),  # these give the way
        # loads take longer than several operations, and sums of numbers longer than integers
        ("if (v - (n + i + 2) < 0) i++;", [["x[i]", "int"]]),
        ("float f = n; if ((f + 1.0f < n) + (n + i + 2)) i++;", [["float", "float"]]),
        ("v = i; if (v < n) i++;", [[]]),
        ("if (&y[v] < x + n) i++;", [["x[i]"]]),
        # each operand waits for itself, and the body for the last one
        ("if (v < n && y[v] < n) i++;", [["x[i]"], ["x[i]", "y[v]"]]),
        # those of this turn; at the end of a loop also those of its first one
        ("for (int j = 0; j < n; j++) if (y[v] < n) i++;", [[], ["y[v]"]]),
        ("for (int j = y[v]; j < n; j++) i++;", [["x[i]", "y[v]"]]),
        ("for (int j = 0; j < 9; j++) for (int l = 0; l < x[v + j]; l++) i++;",
         [[], ["int", "x[v + j]"]]),
        ("do v = y[v]; while (v < n);", [["x[i]", "y[v]"]]),
        # what a function is called with, but not in its loops
        ("i = small(v);", [["x[i]"]]),
        ("i = ends(y, v);", [["x[i]"]]),
        ("i = ends(y, y[v]) + ends(y, i);", [["x[i]", "y[v]"]]),
        ("i = looped(v);", [["x[i]"], []]),
    ],
)  # fmt: skip
def test_what_branches_wait_for(body, expected):
    program = instrument(KERNEL % body, "blocks", "k")
    found = [
        [step if isinstance(step, str) else program.sites[step].text for step in each.branch.awaits]
        for each in program.blocks
        if each.branch is not None
    ]
    assert found == expected
