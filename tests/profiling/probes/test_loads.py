"""How many loads of its block are before each access, one after the other."""

import pytest

from pyapsp.profiling.probes.instrument import instrument

KERNEL = """
__kernel void k(__global int *x, __global int *y, const int n)
{
    int i = get_global_id(0), a[4];
    %s
}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y[n] = x[i] + y[i];", {"y[n]": None, "x[i]": 0, "y[i]": 0}),  # at the same time
        ("i = y[x[i]];", {"x[i]": 0, "y[x[i]]": 1}),
        ("int v = x[i]; i = y[v + x[v]];", {"x[i]": 0, "x[v]": 1, "y[v + x[v]]": 2}),
        ("int v = x[i]; v = n; i = y[v];", {"x[i]": 0, "y[v]": 0}),
        ("int v = x[i]; if (n) i = y[v];", {"x[i]": 0, "y[v]": 0}),  # of another block
        ("a[0] = x[i]; i = y[a[1]];", {"x[i]": 0, "y[a[1]]": 1}),  # elements are not told apart
        ("int v = x[i]; i = atomic_min(&y[v], n);", {"x[i]": 0, "&y[v]": 1}),
        ("int v = x[i]; atomic_min(&y[v], n);", {"x[i]": 0, "&y[v]": None}),
        ("i = y[atomic_min(x, n)];", {"x": 0, "y[atomic_min(x, n)]": 1}),
        ("i = y[vload4(i, x).y];", {"vload4(i, x)": 0, "y[vload4(i, x).y]": 1}),
    ],
)  # fmt: skip
def test_loads_before_each_access(body, expected):
    found = instrument(KERNEL % body, "blocks", "k")
    assert {each.text: each.level for each in found.sites} == expected
