"""Logical warps: every function against NumPy, for widths and group sizes."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.device import model, quirks
from pyapsp.device.kernels import WIDTHS, build_warps, program, source, warps
from pyapsp.errors import KernelBuildError

TEXT = Path(__file__).with_name("logical_warp.cl").read_text()
GROUPS = (1, 2, 8, 48, 64, 256)
EVERY = [(w, g) for w in WIDTHS for g in GROUPS if g % w == 0]
# nearly every width and group, warps of one lane, groups of one warp, and a number of warps that is
# no power of two
SOME = [(1, 1), (1, 48), (2, 2), (4, 8), (16, 48), (32, 64), (8, 256), (64, 64)]
SHAPES = [
    pytest.param(*shape, marks=[] if shape in SOME else pytest.mark.nightly) for shape in EVERY
]


@pytest.fixture
def tests_kernels(tmp_path, monkeypatch):
    """Let a folder with the kernels of this test be where kernels are."""
    shutil.copytree(source.root() / "common", tmp_path / "common")
    (tmp_path / "logical_warp.cl").write_text(TEXT)
    monkeypatch.setattr(source, "root", lambda: tmp_path)


class Runs:
    """Launches the kernels for one width and group, over some groups."""

    def __init__(self, device, width, group, groups=5, seed=0):
        defines = {"PYAPSP_GROUP": group, "PYAPSP_WARP": width}
        self.program = build_warps(device, "logical_warp.cl", defines)
        self.queue, self.group, self.n = device.queue(), group, groups * group
        self.given = np.random.default_rng(seed).integers(0, 1 << 16, self.n, np.int32)

    def __call__(self, kernel, given, found, *more):
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        arrays = [cl.Buffer(self.queue.context, flags, hostbuf=given)]
        results = [found, *(each for each in more if isinstance(each, np.ndarray))]
        arrays += [cl.Buffer(self.queue.context, flags, hostbuf=each) for each in results]
        scalars = [each for each in more if not isinstance(each, np.ndarray)]
        shape = (self.n,), (self.group,)
        self.program.kernel(kernel)(self.queue, *shape, *arrays, *scalars)
        for each, buffer in zip(results, arrays[1:], strict=True):
            cl.enqueue_copy(self.queue, each, buffer)
        return found


def before(values):
    """The sums before each value along the last axis."""
    return np.cumsum(values, axis=-1) - values


def spans(first, sizes, total):
    """Require that [first, first + size) for all sizes above 0 are the numbers below the total."""
    covered = np.concatenate([np.arange(f, f + s) for f, s in zip(first, sizes, strict=True)])
    np.testing.assert_array_equal(np.sort(covered), np.arange(total))


@pytest.mark.every(8)
@pytest.mark.parametrize(("width", "group"), SHAPES)
@pytest.mark.usefixtures("tests_kernels")
def test_exchanges_in_warps_and_groups(width, group, device):
    runs = Runs(device, width, group)
    x = runs.given
    found = runs("all_functions", x, np.full((22, x.size), -99, np.int32))

    def row(number, size):
        return found[number].reshape(-1, size)

    lanes, places = x.reshape(-1, width), x.reshape(-1, group)
    mirrored = lanes[:, ::-1]
    sizes = np.where((lanes & 7) > 5, lanes & 7, 0)
    counts = (places & 1) << np.arange(group) // width % 2
    offsets, asked = before(sizes), sizes.sum(1)[:, None] * np.arange(width) // width
    expected = [
        (0, np.roll(lanes, -1, 1)),
        (1, np.take_along_axis(mirrored, mirrored % width, 1)),
        (2, before(lanes)),
        (3, lanes.sum(1, keepdims=True)),
        (4, before(lanes >> 1 & 1)),
        (5, (lanes >> 1 & 1).sum(1, keepdims=True)),
        (6, (lanes % 16 == 0).any(1, keepdims=True)),
        (7, (lanes % 16 != 0).all(1, keepdims=True)),
        (8, lanes.min(1, keepdims=True)),
        (9, before(places)),
        (10, places.sum(1, keepdims=True)),
        (11, before(places & 1)),
        (12, (places & 1).sum(1, keepdims=True)),
        (13, places.max(1, keepdims=True)),
        (14, (places % 64 == 0).any(1, keepdims=True)),
        (15, (offsets[:, None, :] <= asked[:, :, None]).sum(2) - 1),
        (17, (places & 3).sum(1, keepdims=True)),
        (19, (places & 1).sum(1, keepdims=True)),
        (21, counts.sum(1, keepdims=True)),
    ]
    for number, right in expected:
        got = row(number, right.shape[1] if right.shape[1] > 1 else x.size // len(right))
        np.testing.assert_array_equal(got, np.broadcast_to(right, got.shape), f"row {number}")
    for number, what in ((16, places & 3), (18, places & 1), (20, counts)):
        for first, of_group in zip(row(number, group), what, strict=True):
            spans(first, of_group, of_group.sum())
        # in a warp the order is that of the lanes
        first, of_warp = row(number, width), what.reshape(-1, width)
        np.testing.assert_array_equal(first - first[:, :1], before(of_warp))


@pytest.mark.every(3)
@pytest.mark.parametrize(("width", "group"), SHAPES)
@pytest.mark.usefixtures("tests_kernels")
def test_loops_of_warps(width, group, device):
    """A loop has the turns of its warp where that needs nobody else, else those of the group."""
    runs = Runs(device, width, group, seed=2)
    found = runs("loops", runs.given, np.full((5, runs.n), -99, np.int32))
    extended = warps._EXTENSIONS.issubset(device.capabilities.extensions)
    able = device.capabilities.subgroups and extended
    apart = width == 1 or (able and runs.program.subgroup_sizes(group) == {width})
    apart |= width == 32 and device.capabilities.warps32
    assert (found[3] == apart).all()
    team = width if apart else group
    most = (runs.given % 8).reshape(-1, team).max(1).repeat(team)
    np.testing.assert_array_equal(found[0], most)
    np.testing.assert_array_equal(found[1], width * most * (most - 1) // 2)
    np.testing.assert_array_equal(found[2], most)
    np.testing.assert_array_equal(found[4], most.reshape(-1, group).max(1).repeat(group))


@pytest.mark.every(3)
@pytest.mark.parametrize(("width", "group"), SHAPES)
@pytest.mark.usefixtures("tests_kernels")
def test_places_in_lists_of_the_device(width, group, device):
    runs = Runs(device, width, group, groups=7, seed=1)
    x, counters = runs.given, np.zeros(3, np.int32)
    found = runs("lists", x, np.zeros((3, x.size), np.int32), counters)
    spans(found[0], x & 3, (x & 3).sum())
    spans(found[1], x & 1, (x & 1).sum())
    spans(found[2], x >> 1 & 1, (x >> 1 & 1).sum())
    # counters are buffers that were copied back
    assert counters.tolist() == [(x & 3).sum(), (x & 1).sum(), (x >> 1 & 1).sum()]
    if device.capabilities.int64_atomics:
        counter, sizes = np.zeros(1, np.uint64), x >> 1 & 15
        place, offset = runs("pairs", x, np.zeros((2, x.size), np.int32), counter)
        flagged = np.flatnonzero(x & 1)
        assert (int(counter[0]) & 0xFFFFFFFF) == flagged.size
        assert int(counter[0]) >> 32 == sizes[flagged].sum()
        order = flagged[np.argsort(place[flagged])]
        np.testing.assert_array_equal(place[order], np.arange(flagged.size))
        # the places and the offsets agree: an offset is the sum of the sizes before it
        np.testing.assert_array_equal(offset[order], before(sizes[order]))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 64])
@pytest.mark.usefixtures("tests_kernels")
def test_predecessors(n, device):
    runs = Runs(device, 4, 8)
    rng = np.random.default_rng(n)
    for sizes in (rng.integers(0, 4, n), np.zeros(n, int), np.ones(n, int), rng.zipf(1.5, n) % 99):
        a = before(sizes).astype(np.int32)
        most = int(a[-1]) + 3
        shape = np.int32(n), np.int32(most)
        found = runs("predecessors", a, np.zeros((2, most), np.int32), *shape)
        right = np.searchsorted(a, np.arange(most), side="right") - 1
        np.testing.assert_array_equal(found, [right, right])


@pytest.mark.usefixtures("tests_kernels")
def test_sub_groups_only_of_the_same_width(device, monkeypatch):
    defines = {"PYAPSP_GROUP": 64, "PYAPSP_WARP": 8}
    built = []

    def noted(device, name, given, standard=None, optimise=True):
        built.append((given["PYAPSP_SUBGROUPS"], standard))
        given = {**given, "PYAPSP_SUBGROUPS": 0}
        return program.build(device, name, given)

    def refused(device, name, given, standard=None, optimise=True):
        if given["PYAPSP_SUBGROUPS"]:
            raise KernelBuildError("no", "source")
        return noted(device, name, given, standard)

    standard = device.capabilities.c_standard
    monkeypatch.setattr(warps, "build", noted)
    build_warps(device, "logical_warp.cl", defines, subgroups=False)
    assert built == [(0, None)]
    able = dataclasses.replace(device.capabilities, subgroups=True)
    monkeypatch.setitem(model._capabilities, device.handle, able)
    built.clear()
    monkeypatch.setattr(warps, "_EXTENSIONS", frozenset({"cl_no_such_extension"}))
    build_warps(device, "logical_warp.cl", defines)
    assert built == [(0, None)]
    monkeypatch.setattr(warps, "_EXTENSIONS", frozenset())
    for sizes, forms in (
        ({8}, [(1, standard)]),
        ({16}, [(1, standard), (0, None)]),
        ({8, 16}, [(1, standard), (0, None)]),
        (set(), [(1, standard), (0, None)]),
    ):
        built.clear()
        monkeypatch.setattr(program.Program, "subgroup_sizes", lambda self, group, s=sizes: s)
        build_warps(device, "logical_warp.cl", defines)
        assert built == forms
    built.clear()
    monkeypatch.setattr(warps, "build", refused)
    build_warps(device, "logical_warp.cl", defines)
    assert built == [(0, None)]


@pytest.mark.parametrize(
    ("width", "warps32", "form"), [(32, True, 2), (16, True, 0), (32, False, 0)]
)
def test_functions_of_a_vendor_only_where_they_work(width, warps32, form, device, monkeypatch):
    """Without sub-groups that the driver lists; for warps of 32, as the instructions have."""
    platform, own = "NVIDIA CUDA", "common/logical_warp.nvidia.h"
    built = []

    def noted(device, name, defines, *, before=None, standard=None, optimise=True):
        built.append((defines["PYAPSP_SUBGROUPS"], before, standard, optimise))

    able = dataclasses.replace(device.capabilities, subgroups=False, warps32=warps32)
    monkeypatch.setitem(model._capabilities, device.handle, able)
    monkeypatch.setattr(
        model.Device, "vendor_file", lambda self, name: quirks.vendor_file(name, platform)
    )
    monkeypatch.setattr(warps, "build", noted)
    defines = {"PYAPSP_GROUP": 64, "PYAPSP_WARP": width}
    build_warps(device, "logical_warp.cl", defines, standard="CL2.0", optimise=False)
    build_warps(device, "logical_warp.cl", defines, subgroups=False)
    before = own if form else None
    assert built == [(form, before, "CL2.0", False), (0, None, None, True)]
    assert (source.root() / own).is_file()


@pytest.mark.usefixtures("tests_kernels")
def test_a_file_can_be_put_before_another(device, tmp_path):
    (tmp_path / "one.cl").write_text("#define ONE 1\n")
    (tmp_path / "k.cl").write_text("kernel void k(global int *x)\n{\n    x[0] = ONE;\n}\n")
    with pytest.raises(KernelBuildError):
        program.build(device, "k.cl", {})
    text = program.build(device, "k.cl", {"TWO": 2}, before="one.cl").source
    assert re.findall("#define (.*)|#line 1 (.*)", text) == [
        ("", '"<defines>"'),
        ("TWO 2", ""),
        ("", '"one.cl"'),
        ("ONE 1", ""),
        ("", '"k.cl"'),
    ]
