"""What bounds the time of a program: its accesses replayed, its computing alone, conditions."""

from __future__ import annotations

import re

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.bulk import forms, programs, translate
from pyapsp.bulk.bounds import Bounds, bounds, fractions_of
from pyapsp.device.kernels.program import Program as Built
from pyapsp.errors import ParameterError

PROGRAMS = programs()
HEAD = (
    "int x[8], y;\nconst int steps[3] = {1, 2, 3};\nint twice(int v) { return 2 * v; }\n"
    "int at(int *v, int i) { return v[i] + 1; }\n"
)


def run(device, source, p, arrays, *others):
    """Run a kernel for p instances; return its arrays as they are then."""
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    queue = device.queue()
    buffers = [cl.Buffer(device.context, flags, hostbuf=each) for each in arrays]
    scalars = [np.int32(each) for each in others]
    built = Built(device, source)
    built.kernel("bulk")(queue, (p,), (1,), np.int32(p), *scalars, *buffers)
    found = [np.empty_like(each) for each in arrays]
    for into, buffer in zip(found, buffers, strict=True):
        cl.enqueue_copy(queue, into, buffer)
    queue.finish()
    return found


# the program -> how often each element of x is loaded; y is stored at last
LOADS = {
    "int s = 0; for (int i = 0; i < 4; i++) s += 2 * x[i]; y = s;": [1, 1, 1, 1],
    "for (int i = 0; i < 4; i++) for (int j = i; j < 4; j++) y = x[j];": [1, 2, 3, 4],
    "for (int i = 0; i < 3; i++) { if (i == 1) continue; y = x[i] * x[7]; }": [1, 0, 1]
    + 4 * [0]
    + [2],
    "float t[3]; for (int i = 0; i < 3; i++) t[i] = x[i] * 0.5f; y = t[0] > t[1];": [1, 1, 1],
    "int k = 0; while (k < 6) { k += 2; y = x[k]; }": [0, 0, 1, 0, 1, 0, 1],
    "for (int i = 0; i < steps[2]; i++) y = x[twice(i)];": [1, 0, 1, 0, 1],
    "int k = 0, s = 0; s = x[k++]; s += x[k++]; y = s + x[k];": [1, 1, 1],
    "y = at(x, 3) + at(x + 1, 1) * x[0];": [1, 0, 1, 1],
    "int a = at(x, twice(2)), b = *(x + 1); y = a > b ? x[0] : 5;": [1, 1, 0, 0, 1],
    "int s = 0; switch (x[0]) { case 1: s = x[1]; break; default: s = x[2]; } y = s;": [1, 1, 1],
    "int w = x[0] & 7; while (w > 0) w -= 2; y = w + x[1];": [1, 1],
    "int s = 0; do { s += x[5]; } while (0); y = s;": [0, 0, 0, 0, 0, 1],
    "int s; int i; for (i = 0, s = x[6]; i < 2; s += x[i], i++) ; y = s;": [1, 1, 0, 0, 0, 0, 1],
}


@pytest.mark.every(6)
@pytest.mark.parametrize("arrangement", ["column", "row"])
@pytest.mark.parametrize("text", LOADS)
def test_a_replay_loads_what_the_program_loads(text, arrangement, written, device):
    """y is the sum of the loads. x has powers of 10, so that the digits of y count loads."""
    translation = translate(written(f"{HEAD}#pragma kernel\nvoid run(void)\n{{\n{text}\n}}\n"))
    p, tens = 3, (10 ** np.arange(8)).astype(np.uint32)
    x = np.tile(tens, (p, 1))
    x = np.ascontiguousarray(x.T if arrangement == "column" else x)
    source = forms.replay(translation, arrangement, [1.0])
    _, y, _ = run(device, source, p, [x, np.zeros(p, np.uint32), np.zeros(p, np.uint32)])
    # the sum of stores before the last is not in it
    counted = y - np.arange(p, dtype=np.uint32) * np.uint32(2654435761)
    wanted = LOADS[text] + [0] * (8 - len(LOADS[text]))
    assert counted.tolist() == [int(wanted @ tens.astype(np.int64))] * p


@pytest.mark.every(2)
@pytest.mark.parametrize("arrangement", ["column", "row"])
def test_a_replay_stores_where_the_program_stores(arrangement, written, device):
    """A conditional store happens as often as the condition holds."""
    text = "for (int i = 0; i < 8; i += 2) { if (y > i) x[i] = y; else x[i + 1] += 1; }"
    translation = translate(written(f"{HEAD}#pragma kernel\nvoid run(void)\n{{\n{text}\n}}\n"))
    p = 2000
    for share in (0.0, 0.25, 1.0):
        given = [np.zeros((8, p), np.uint32), np.zeros(p, np.uint32), np.zeros(p, np.uint32)]
        x, y, _ = run(device, forms.replay(translation, arrangement, [share]), p, given)
        stored = (x if arrangement == "column" else x.reshape(p, 8).T) != 0
        assert stored[::2].mean() == pytest.approx(share, abs=0.03)
        assert stored[1::2].mean() == pytest.approx(1 - share, abs=0.03)
        assert not y.any()


@pytest.mark.parametrize(
    ("text", "volatile"),
    {
        "x[0] = 1; if (y > 0) x[1] = 2;": ["x[AT(1)]"],
        "if (y > 0) { x[1] += 2; if (x[3] > 1) x[2] = 1; }": ["x[AT(1)]", "x[AT(2)]"],
        "switch (x[0]) { case 1: x[4] = 1; }": ["x[AT(4)]"],
        "for (int i = 0; i < 2; i++) if (i > 0) x[5] = 1;": [],
        "if (y > 0) put(x + 6);": ["to[0]"],
        "put(x + 6); if (y > 0) x[7] = 1;": ["x[AT(7)]"],
    }.items(),
)
def test_a_replay_stores_for_some_data_by_volatile_pointers(text, volatile, written):
    """The compiler must not merge two stores to one address that the program makes separately."""
    put = "void put(int *to) { to[0] = 3; }\n"
    program = f"{HEAD}{put}#pragma kernel\nvoid run(void)\n{{\n{text}\n}}\n"
    source = forms.replay(translate(written(program)), "column", [0.5, 0.5])
    stores = re.findall(r"^ +(.*) = \*bulk_state;$", source, re.MULTILINE)
    assert stores
    asked = [
        each.split("&")[1] for each in stores if each.startswith("*(volatile __global uint *)")
    ]
    assert asked == volatile


def test_computing_uses_one_word_of_each_array(written, device):
    """Word j is j at first. 3 j + 5 is 77 for one instance, which the kernel marks."""
    text = "x[0] = 3 * x[7]; x[1] = x[6] + 5;"
    translation = translate(written(f"{HEAD}#pragma kernel\nvoid run(void)\n{{\n{text}\n}}\n"))
    (rest,) = run(device, forms.computing(translation, 1), 64, [np.zeros(64, np.uint32)], 0)
    assert np.flatnonzero(rest).tolist() == [24]


@pytest.mark.parametrize("arrangement", ["column", "row"])
def test_how_often_conditions_hold(arrangement, device):
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 100, (50, 6, 6)).astype(np.float32)
    shorter, after = 0, weights.copy()
    for k in range(6):
        for i in range(6):
            for j in range(6):  # one after the other: the diagonal may become shorter, too
                other = after[:, i, k] + after[:, k, j]
                shorter += np.count_nonzero(after[:, i, j] > other)
                after[:, i, j] = np.minimum(after[:, i, j], other)
    translation = translate(PROGRAMS["floyd_warshall"], defines={"N": 6}, arrangement=arrangement)
    assert fractions_of(translation, device, {"D": weights}) == [
        pytest.approx(shorter / (50 * 6**3))
    ]
    assert fractions_of(translate(PROGRAMS["prefix_sums"]), device, {}) == []


def test_what_is_never_reached_does_not_hold(written, device):
    text = "if (x[0] > 0) { if (x[1] > 0) x[2] = 1; }"
    path = written(f"{HEAD}#pragma kernel\nvoid run(void)\n{{\n{text}\n}}\n")
    given = {"x": np.zeros((4, 8), np.int32)}
    assert fractions_of(translate(path), device, given) == [0, 0]


def test_the_longer_bound_is_predicted():
    found = Bounds({"column": 2.0, "row": 9.0}, 3.0)
    assert (found.seconds("column"), found.seconds("row"), found.ratio) == (3, 9, 3)


@pytest.mark.every(4)
@pytest.mark.parametrize("name", ["bitonic_sort", "montgomery", "fft"])
def test_programs_have_bounds(name, device):
    translation = translate(PROGRAMS[name])
    inputs = {
        each.name: np.ones((4, *each.shape), each.dtype)
        for each in translation.arrays
        if each.loaded
    }
    found = bounds(translation, device, 100, inputs)
    assert 0 < found.computing < 1
    assert all(0 < seconds < 1 for seconds in found.memory.values())
    assert len(found.fractions) == len(forms.conditions(translation))


def test_refused(written, device):
    text = "int w = x[0]; while (w > 0) w--; x[1] = w;"
    path = written(f"{HEAD}#pragma kernel\nvoid run(void)\n{{\n{text}\n}}\n")
    with pytest.raises(ParameterError, match="loops whose number of rounds depends on data"):
        bounds(translate(path), device, 8, {"x": np.ones((1, 8), np.int32)})
    with pytest.raises(ParameterError, match="'p' parameter"):
        bounds(translate(PROGRAMS["prefix_sums"]), device, 0, {})
