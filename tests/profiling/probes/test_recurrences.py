"""Loops whose turns wait for what the turn before has loaded."""

import pytest

from pyapsp.profiling.probes.instrument import instrument

KERNEL = """
int head(__global const int *x, const int place) { return x[x[place] + 1]; }
int plus(const int a, const int b) { return a + b; }
__kernel void k(__global int *x, __global int *y, const int n)
{
    int i = 0, j = 0, v = 0, w = 0, sum = 0;
    %s
}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # each place is that of the next one
        ("while (v < n) v = x[v];", (1, 0)),
        ("while (v < n) { w = v; v = x[w]; }", (1, 0)),
        ("while (v < n) v = x[x[v]];", (2, 0)),
        ("while (v < n) v = x[2 * v + 1];", (1, 2)),
        # sums, which are extended to the size of an address; those without a sign are already
        ("while (v < n) v += x[v];", (1, 2)),
        ("while (v < n) { const int p = x[v]; v = p + 3; }", (1, 2)),
        ("uint u = 0; while (u < n) u += x[u];", (1, 1)),
        ("long u = 0; while (u < n) u = x[u] + 1;", (1, 1)),
        ("do v = head(x, v); while (v < n);", (2, 0)),
        # two lists that are merged: a comparison, its value as a number, a sum, and its extension
        ("while (i < n && j < n) { const int a = x[i], b = y[j]; i += a <= b; j += b <= a; }",
         (1, 4)),
        ("while (v < n) v = i + (x[v] == 1);", (1, 4)),
        # a comparison and a choice, and a choice between other values
        ("while (v < n) v = (x[v] < 3) ? i : j;", (1, 2)),
        ("while (v < n) v = i ? x[v] : j;", (1, 1)),
        # by way of two turns
        ("while (v < n) { w = x[v]; v = i; i = w; }", (0.5, 0)),
        # no load waits for the turn before
        ("for (i = 0; i < n; i++) sum += x[i];", (0, 0)),
        ("for (i = 0; i < n; i++) sum += x[x[i]];", (0, 0)),
        ("for (i = 0; i < n; i++) { v = x[i]; w = x[v]; y[i] = w; }", (0, 0)),
        ("for (i = 0; i < n; i++) v = plus(v, x[i]);", (0, 0)),
        ("for (i = 0; i < n; i++) if (x[v] > i) v = i;", (0, 0)),  # that is predicted
        ("for (i = 0; i < n; i++) x[v] = v + 1;", (0, 0)),
    ],
)  # fmt: skip
def test_what_turns_wait_for(body, expected):
    blocks = instrument(KERNEL % body, "blocks", "k").blocks
    (found,) = [each.carried for each in blocks if each.branch is not None and each.branch.loop]
    assert found == expected


def test_a_loop_inside_has_its_own():
    body = "for (i = 0; i < n; i++) { v = y[i]; while (v < n) v = x[v]; }"
    blocks = instrument(KERNEL % body, "blocks", "k").blocks
    loops = [each.carried for each in blocks if each.branch is not None and each.branch.loop]
    assert loops == [(0, 0), (1, 0)]
