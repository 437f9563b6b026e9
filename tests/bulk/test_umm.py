"""The memory machine: figures and lemmas of the thesis, accesses counted, lines fitted."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp.bulk import count_accesses, load, programs, translate, umm
from pyapsp.errors import ParameterError

PROGRAMS = programs()


def test_figure_4_1():
    """Two warps of four: three address groups and one, and latency 5, take 8 time units."""
    addresses = [0, 1, 5, 11, 12, 13, 14, 15]
    assert umm.groups_of_round(addresses, 4) + 5 - 1 == 8


@pytest.mark.parametrize("w", [1, 4, 32])
@pytest.mark.parametrize("n", [1, 2, 6, 32, 100])
def test_lemma_4_2_1(n, w):
    """A round of either arrangement takes what the machine says, for any element."""
    p, latency = 8 * w, 6
    machine = umm.MemoryMachine(w, latency)
    ids = np.arange(p)
    for i in {0, n // 2, n - 1}:
        column = umm.groups_of_round(i * p + ids, w) + latency - 1
        assert machine.time(1, n, "column")(p) == pytest.approx(column)
        row = umm.groups_of_round(ids * n + i, w) + latency - 1
        if n >= w or w % n == 0:
            assert machine.time(1, n, "row")(p) == pytest.approx(row)
        else:  # groups are shared unevenly
            assert machine.time(1, n, "row")(p) <= row <= p + latency - 1


def test_requests_that_are_not_made_take_no_time():
    assert umm.groups_of_round([-1, -1, 3, -1, -1, -1, -1, -1], 4) == 1


def test_theorem_4_2_1():
    machine = umm.MemoryMachine(width=32, latency=400, unit=1e-9)
    line = machine.time(t=960, n=32, arrangement="column")
    assert (line.a, line.b) == pytest.approx((399 * 960e-9, 30e-9))
    assert machine.ratio(32, 4 * 2**20) == pytest.approx(32, rel=0.01)
    assert machine.ratio(32, 1) == pytest.approx(1, rel=0.01)
    with pytest.raises(ParameterError, match="arrangement"):
        machine.time(1, 1, "diagonal")


def test_a_line_is_found_again():
    """The example of the thesis: bitonic sort in 0.13 ms + 15.5 ns p."""
    p = 2.0 ** np.arange(6, 23)
    noise = np.random.default_rng(0).uniform(0.97, 1.03, p.size)
    line = umm.fit(p, (0.13e-3 + 15.5e-9 * p) * noise)
    assert (line.a, line.b) == pytest.approx((0.13e-3, 15.5e-9), rel=0.03)


def test_lines_do_not_fall_and_begin_at_zero_or_above():
    assert umm.fit([1, 2, 4], [1.0, 2.1, 4.4]).a == 0
    assert umm.fit([1, 2, 4], [3.0, 2.9, 2.8]).b == 0
    assert umm.fit([1, 2, 4], [3.0, 2.9, 2.8]).a == pytest.approx(2.9, rel=0.02)
    for p, seconds in (([1], [1.0]), ([1, 2], [0.0, 1.0]), ([1, 2], [1.0])):
        with pytest.raises(ParameterError, match="two or more positive times"):
            umm.fit(p, seconds)


@pytest.mark.parametrize(
    ("name", "defines", "count"),
    [
        ("prefix_sums", {"N": 32}, 2 * 32),
        ("floyd_warshall", {"N": 16}, 6 * 16**3),
        ("floyd_warshall", {"N": 256}, 6 * 256**3),
        ("bitonic_sort", {"N": 32}, 4 * 16 * 15),
        ("bitonic_sort", {"N": 1024}, 4 * 512 * 55),
        ("fft", {"N": 64}, 12 * 32 * 6 + 2 * 4 * 28),
        ("montgomery", {"BITS": 512}, 2 * 16**2 + 16 + 3 * 16 + 1),
    ],
)
def test_accesses_of_the_programs(name, defines, count):
    assert count_accesses(translate(PROGRAMS[name], defines=defines)) == count


COUNTED = {
    "for (int i = 0; i < 4; i++) for (int j = i; j < 4; j++) x[j]++;": 2 * 10,
    "for (int i = 0; i < 4; i++) { if (i == 1) continue; if (i == 3) break; x[i] = i; }": 2,
    "if (x[0] > 0) x[1] = 1; else { x[2] = 2; x[3] += 1; }": 1 + 1 + 3,
    "if (x[0] > 0 && x[1] > 0) x[2] = 0;": 3,
    "int k = 0; while (k < 3) { k += 2; x[k] = 0; } for (; k < 6; k++) x[0] = 1;": 2 + 2,
    "for (int i = 0; i < steps[2]; i++) x[0] = i;": 3,
    "int w = x[0] & 7; while (w > 0) w -= 2; x[1] = w;": 2,
    "for (int i = 1; i < twice(3); i *= 2) { x[i & 3] = i; }": 3,
    "do { x[0] = 1; } while (0); x[1] = 0 ? x[2] : 5;": 2,
    "switch (x[0]) { case 1: x[1] = 1; break; default: x[2] = 3; }": 3,
    "for (int i = 0; i < 3; i++) touch(x, i);": 3 + 2 + 1,
    "x[0] = y;": 2,
    "for (int i = 0; i < 2; i++) { if (x[0] > 0) return; x[1] = 1; }": None,
    "int c[2] = {1, 2}; if (c[1] > 1) x[0] = 1;": None,
}


@pytest.mark.parametrize("text", COUNTED)
def test_accesses(text, written):
    path = written(
        "int x[8], y;\nconst int steps[3] = {1, 2, 3};\nint twice(int v) { return 2 * v; }\n"
        "void touch(int *v, int n) { for (int i = n; i < 3; i++) v[i] = 1; }\n"
        f"#pragma kernel\nvoid run(void)\n{{\n{text}\n}}\n"
    )
    if "return" in text:
        from pyapsp.errors import ProgramError

        with pytest.raises(ProgramError, match="not oblivious"):
            translate(path)
        return
    assert count_accesses(translate(path)) == COUNTED[text]


def test_a_device_is_measured(device):
    machine = umm.measure(device, 16, counts=(256, 1024, 4096))
    assert 1 <= machine.width <= 16
    assert machine.latency >= 1
    assert 0 < machine.unit < 1e-6
    sweep = load(umm.root() / "bulk" / "sweep.c", device=device, defines={"N": 4, "STEPS": 6})
    found = sweep(A=np.zeros((3, 4), np.float32))["A"]
    assert found.tolist() == [[2, 2, 1, 1]] * 3
    with pytest.raises(ParameterError, match="'n' parameter"):
        umm.measure(device, 0)
