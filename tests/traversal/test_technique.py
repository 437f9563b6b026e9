"""Partitions: every technique, with pairs of parameters, against numpy.repeat."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
from itertools import product
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.device import Device
from pyapsp.device.kernels import WIDTHS, build_warps, source
from pyapsp.device.kernels.transfer import in_place
from pyapsp.errors import DeviceMemoryError, ParameterError
from pyapsp.graph import generators
from pyapsp.registry import Options, Parameters, problem, runs
from pyapsp.traversal import partition
from pyapsp.traversal.partitioning import dynamic_warp, multi_phase, technique
from pyapsp.traversal.partitioning import offsets as inputs
from pyapsp.traversal.partitioning.offsets import Offsets, as_offsets

# another folder may have a module of this name: tests are no package
_spec = importlib.util.spec_from_file_location("pairs", Path(__file__).with_name("pairs.py"))
_pairs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_pairs)

PROBLEM = problem("partition")


@pytest.fixture(autouse=True)
def _no_old_owners(monkeypatch):
    """Give answers memory without the right owners of an earlier test."""
    allocate = technique.aligned

    def cleared(shape, dtype):
        memory = allocate(shape, dtype)
        memory.fill(-1)
        return memory

    monkeypatch.setattr(technique, "aligned", cleared)


# Values of parameters that are combined in pairs; all values are in the tests marked nightly.
SOME = {
    "partition-items": {"group": (1, 64)},
    "partition-virtual-warp": {"warp": (1, 4, 64), "items": (1, 4), "group": (64, 128)},
    "partition-dynamic-warp": {
        "width": ("dynamic", 1, 8),
        "least": (1, 4),
        "heavy": ("none", "relaunch", "relaunch-fused", "group-strip"),
        "threshold": (4, 128),
        "each": (1, 8),
        "resident": (1, 2048),
        "group": (1, 64),
    },
    "partition-cta-warp-scan": {
        "large": (0, 1),
        "medium": (0, 1),
        "slots": (1, 2),
        "warp": (1, 8),
        "group": (1, 16),
    },
    "partition-direct": {"group": (1, 64)},
    "partition-local-warp": {
        "held": ("local", "registers"),
        "warp": (1, 8, 32),
        "group": (1, 32),
    },
    "partition-block": {"items": (16, 256), "group": (1, 16, 64)},
    "partition-two-phase": {
        "form": ("chunks", "merge-path"),
        "search": ("standard", "optimised", "interpolation"),
        "each": (1, 7),
        "group": (1, 32),
    },
    "partition-multi-phase": {
        "search": ("optimised", "standard", "interpolation", "hybrid"),
        "deviation": (8,),
        "mean": (9,),
        "find": ("search", "marks"),
        "each": (3, 4),
        "rounds": (1, 2),
        "grid": ("chunks", "resident", "multiple"),
        "multiple": (2,),
        "resident": (64,),
        "staging": ("warp", "group"),
        "unroll": (0, 1),
        "vector": (0, 1),
        "prefetch": (0, 1),
        "restrict": (0, 1),
        "warp": (1, 8, 16),
        "group": (1, 16),
    },
}


def with_gaps(*parts):
    """Sizes: a number is an item, a tuple (k, size) are k items."""
    return np.concatenate([np.full(p[0], p[1]) if isinstance(p, tuple) else [p] for p in parts])


SIZES = {
    "nothing": [],
    "empty items": with_gaps((7, 0)),
    "one item": [1],
    "one large item": [5000],
    "regular": with_gaps((300, 8)),
    "exactly one chunk": with_gaps((16, 16)),
    "gaps of thousands": with_gaps((3000, 0), 3, (5000, 0), (40, 2), (2000, 0), 100, (999, 0)),
    "empty at both ends": with_gaps((50, 0), 1, 2, 3, (50, 0)),
    "between large ones": with_gaps((40, 1), 2000, (40, 0), 3000, (70, 2)),
    "alternating": np.tile([0, 1], 500),
    "first only": with_gaps(700, (600, 0)),
    "last only": with_gaps((600, 0), 700),
    # a line is a bad guess here
    "a large one at the end": with_gaps((300, 1), 9000),
    "a large one at the beginning": with_gaps(9000, (300, 1)),
}
INPUTS = [Offsets.of_sizes(sizes, name) for name, sizes in SIZES.items()]
INPUTS += [inputs.draw(700, family, 3) for family in inputs.FAMILIES]


class LikeADevice:
    """Limits that the devices of tests have at least."""

    class device:  # noqa: N801
        class capabilities:  # noqa: N801
            max_work_group_size, local_memory = 1024, 2**15


# Those of them that are no macros: all runs with the same macros are one test.
AT_RUN_TIME = {"search", "deviation", "mean", "grid", "multiple", "resident", "form", "width"}
AT_RUN_TIME |= {"least", "threshold"}


def sets_of(name, combined):
    """Yield the name of a technique, and sets of its parameters that have the same macros."""
    method, values = pyapsp.method(name), SOME[name]
    late = {each: values[each] for each in values if each in AT_RUN_TIME}
    early = {each: values[each] for each in values if each not in AT_RUN_TIME}
    usual = {each: of[0] for each, of in late.items()}
    for macros in combined(early, lambda chosen: fits(method, usual | chosen)):
        known = functools.partial(lambda fixed, some: fits(method, fixed | some), macros)
        every_late = list(combined(late, known)) if late else [{}]
        sets = [macros | each for each in every_late]
        yield pytest.param(name, sets, id=f"{name}-{'-'.join(map(str, macros.values()))}")


def fits(method, chosen):
    return method.takes(Parameters(chosen), LikeADevice)


def every(values, legal):
    for each in product(*values.values()):
        chosen = dict(zip(values, each, strict=True))
        if legal(chosen):
            yield chosen


PAIRS = [each for name in SOME for each in sets_of(name, _pairs.pairwise)]


def right(name, sets, device):
    for given in INPUTS:
        oracle = PROBLEM.oracle(given, None)
        for parameters in sets:
            method = pyapsp.method(name, **parameters)
            options = Options(device, np.dtype(np.int32))
            check = oracle(method.run(method.plan(given, options)))
            assert check.ok, (given.name, parameters, check.fault)


def test_every_technique_is_combined():
    assert set(SOME) == {cls.id for cls in pyapsp.methods("partition")}
    for cls in pyapsp.methods("partition"):
        assert set(SOME[cls.id]) == set(cls.choices)


@pytest.mark.every(12)
@pytest.mark.parametrize(("name", "sets"), PAIRS)
def test_pairs_of_parameters(name, sets, device):
    right(name, sets, device)


@pytest.mark.nightly
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", list(SOME))
def test_all_combinations_of_parameters(name, device):
    for each in sets_of(name, every):
        right(name, each.values[1], device)


@pytest.mark.nightly
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", list(SOME))
def test_each_value_of_each_parameter(name, device):
    method = pyapsp.method(name)
    options = PROBLEM.ask([0], method, device=device).options
    sets = map(Parameters, method.candidates(options))
    base = next(each for each in sets if method.fits(each, options))
    for parameter, values in method.choices.items():
        for value in values:
            chosen = base | {parameter: value}
            if method.takes(Parameters(chosen), options):
                right(name, [chosen], device)


def solved(name, given, device, **parameters):
    request = PROBLEM.ask(given, pyapsp.method(name, **parameters), device=device)
    return runs.solve(request).record


@pytest.mark.parametrize(
    ("given", "of_five", "of_eight"),
    [
        (Offsets.of_sizes([2] * 500), "interpolation", "interpolation"),
        (Offsets.of_sizes([5] * 500), "optimised", "interpolation"),  # the mean is above 3
        (Offsets.of_sizes([0, 14] * 250), "optimised", "interpolation"),  # deviation 7, mean 7
        (Offsets.of_sizes([0, 16] * 250), "optimised", "interpolation"),  # both 8
        (Offsets.of_sizes([0] * 49 + [55]), "optimised", "interpolation"),  # 7.7, mean 1.1
        (Offsets.of_sizes([0] * 49 + [70]), "optimised", "optimised"),  # 9.8, mean 1.4
        (Offsets.of_sizes([10] * 500), "optimised", "optimised"),
    ],
)
def test_the_hybrid_search_goes_by_mean_and_deviation(given, of_five, of_eight, device):
    for limits, kind in (((5, 3), of_five), ((8, 9), of_eight)):
        deviation, mean = limits
        chosen = solved(
            "partition-multi-phase", given, device, search="hybrid", deviation=deviation, mean=mean
        )
        assert chosen["search"] == kind
        # sums of squares are needed only if the mean alone does not decide
        assert ("statistics" in chosen["phase_seconds"]) == (given.mean <= mean)


def test_groups_of_one_work_item_add_up_few_sums(device):
    units = device.capabilities.compute_units
    assert multi_phase._sums(10**6, 1, device) == 4 * units < multi_phase._sums(10**6, 64, device)
    assert [multi_phase._sums(3, group, device) for group in (1, 64)] == [3, 1]
    # each item counts, whatever the number of sums divides
    for n in (1, 4 * units - 1, 4 * units + 1, 999):
        for place in (0, n // 2, n - 1):
            sizes = np.ones(n, np.int32)
            sizes[place] = 9 * n
            given = Offsets.of_sizes(sizes)
            more = {"group": 1, "search": "hybrid", "deviation": 8, "mean": 1024}
            expected = "interpolation" if sizes.std() <= 8 else "optimised"
            assert solved("partition-multi-phase", given, device, **more)["search"] == expected


def test_slices_that_do_not_fit_are_counted(device):
    gaps, dense, shape = INPUTS[6], Offsets.of_sizes([2] * 999), {"group": 16, "each": 3}
    multi = {"rounds": 1, "find": "search"}
    for name, more in (("partition-two-phase", {}), ("partition-multi-phase", multi)):
        # the gaps of 5000 and 2000 items are within chunks, the others at the ends
        assert solved(name, gaps, device, **shape, **more)["fallbacks"] == 2
        assert solved(name, dense, device, **shape, **more)["fallbacks"] == 0
    merged = solved("partition-two-phase", gaps, device, form="merge-path", **shape)
    marked = solved("partition-multi-phase", gaps, device, find="marks", **shape)
    assert "fallbacks" not in merged | marked


@pytest.mark.parametrize("search", ["standard", "interpolation", "hybrid"])
def test_a_kind_of_search_is_not_replaced_by_marks(search, device):
    given = Offsets.of_sizes([3] * 500)
    request = PROBLEM.ask(
        given, pyapsp.method("partition-multi-phase", search=search), device=device
    )
    assert runs.solve(request).record["parameters"]["find"] == "search"
    with pytest.raises(ParameterError, match="one kind of search, optimised"):
        solved("partition-multi-phase", given, device, search=search, find="marks")


def test_grids(device):
    given, units = Offsets.of_sizes([48] * 40), device.capabilities.compute_units
    shape = {"find": "search", "group": 16, "each": 3, "rounds": 1, "resident": 64}
    for grid, groups in (("chunks", 40), ("resident", 4 * units), ("multiple", 8 * units)):
        record = solved("partition-multi-phase", given, device, grid=grid, multiple=2, **shape)
        assert record["chunks"] == 40
        assert record["groups"] == min(groups, 40)


@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_marks_share_items_and_units(share, device):
    rng = np.random.default_rng(4)
    sizes = (rng.random(3000) < share) * rng.integers(1, 6, 3000)
    sizes[1500] = 2000
    given = Offsets.of_sizes(sizes)
    expected = np.repeat(np.arange(given.n), given.sizes)
    shape = {"find": "marks", "grid": "chunks", "group": 16, "each": 3}
    for rounds in (1, 4):  # a chunk begins at any unit, and at a multiple of four
        method = pyapsp.method("partition-multi-phase", rounds=rounds, **shape)
        answer = runs.solve(PROBLEM.ask(given, method, device=device))
        assert np.array_equal(answer.answer.owners, expected)
        groups = answer.record["groups"]
        places = method.places_of_a_run(given, answer.record["parameters"], device)
        assert groups == -(-(given.n + given.units) // (48 * rounds))
        assert groups * places - places < given.n + given.units <= groups * places


def test_the_width_fits_the_number_of_items(device):
    method, units = pyapsp.method("partition-dynamic-warp"), device.capabilities.compute_units
    given = Parameters(width="dynamic", least=1, resident=1024, group=256)
    share = {1: 32, 1024 * units // 20: 16, 1024 * units // 9: 8, 1024 * units: 1, 10**6: 1}
    for n, width in share.items():
        assert method.width(n, given, device) == width
    assert method.width(10**6, given | {"least": 4}, device) == 4
    assert method.width(1, given | {"group": 16}, device) == 16
    assert method.width(1, given | {"width": 2}, device) == 2


@pytest.mark.parametrize(("on_a_cpu", "least"), [(True, 1), (False, 4)])
def test_the_least_width_is_that_of_the_thesis_on_gpus(on_a_cpu, least, device, monkeypatch):
    """With one work-item for an item they would be work-items to threads."""
    traits = dataclasses.replace(device.traits, scalar_groups=on_a_cpu)
    monkeypatch.setattr(Device, "traits", traits)
    shapes = list(pyapsp.method("partition-dynamic-warp").shapes(device))
    assert {each["least"] for each in shapes if each["group"] > 1} == {least}


@pytest.mark.parametrize("heavy", ["none", "group-strip"])
def test_all_widths(heavy, device):
    chosen = {"heavy": heavy, "threshold": 4096 if heavy == "none" else 32, "group": 64}
    sets = [{"width": width, **chosen} for width in WIDTHS]
    right("partition-dynamic-warp", sets, device)


@pytest.mark.parametrize("name", list(SOME))
def test_devices_with_memory_of_their_own(name, device, monkeypatch):
    monkeypatch.setattr(technique, "in_place", lambda _: False)
    chosen = {"heavy": "relaunch", "threshold": 4} if name == "partition-dynamic-warp" else {}
    right(name, [chosen], device)


@pytest.mark.parametrize(("threshold", "most"), [(99, 10), (100, 9), (999, 1), (1000, 0)])
def test_so_many_items_can_be_heavy(threshold, most):
    given = Offsets.of_sizes([*[0] * 90, *[100] * 10])
    parameters = Parameters(heavy="relaunch", threshold=threshold)
    assert dynamic_warp._most(given, parameters) == most


def test_heavy_items_are_found(device):
    given = Offsets.of_sizes([4, 5, 0, 300, 4, 6])
    few = {"threshold": 4}
    for heavy, found, more in (
        ("relaunch", 3, few),
        ("relaunch", 2, {"threshold": 5}),
        ("relaunch-fused", 3, few),
        ("none", None, {}),
    ):
        record = solved("partition-dynamic-warp", given, device, heavy=heavy, **more)
        assert record.get("heavy_items") == found
        assert ("heavy" in record["phase_seconds"]) == bool(found)


@pytest.mark.parametrize(
    ("heavy", "lists"), [("none", 0), ("group-strip", 0), ("relaunch", 1), ("relaunch-fused", 1)]
)
def test_what_has_no_list_does_not_clear_one(heavy, lists, device, monkeypatch):
    cleared, clear = [], technique.Run.clear

    def noted(self, counters, count):
        cleared.append(count)
        clear(self, counters, count)

    monkeypatch.setattr(technique.Run, "clear", noted)
    few = {} if heavy == "none" else {"threshold": 4}
    solved("partition-dynamic-warp", Offsets.of_sizes([4, 5, 0]), device, heavy=heavy, **few)
    assert cleared == [1] * lists


def test_the_automatic_choice_goes_by_the_sizes(device):
    regular, heavy = inputs.draw(500, "mesh", 0), inputs.draw(500, "single", 0)
    chosen = [runs.solve(PROBLEM.ask(each, device=device)).record for each in (regular, heavy)]
    expected = ["partition-virtual-warp", "partition-two-phase"]
    if not device.traits.scalar_groups:
        expected = ["partition-multi-phase"] * 2
    assert [each["method"] for each in chosen] == expected


def test_the_function(device):
    found = partition([0, 3, 3, 4], device=device)
    assert found.dtype == np.int32
    assert found.tolist() == [0, 0, 0, 2]
    for nothing in ([0], [0, 0, 0], np.zeros(1, np.int64)):
        found = partition(nothing, device=device)
        assert (found.dtype, found.shape) == (np.int32, (0,))
    for kind in (np.int64, np.uint8, np.int32, np.uint64):
        assert partition(np.array([0, 2, 3], kind), device=device).tolist() == [0, 0, 1]
    graph = generators.random_graph(40, seed=2)
    tails = graph.arcs()[0]
    for cls in pyapsp.methods("partition"):
        assert np.array_equal(partition(graph, cls.id, device=device), tails)
    done = []
    partition([0, 1], device=device, progress=lambda *given: done.append(given))
    assert done == [(1, 1)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[0, 1]], "one dimension"),
        (5, "one dimension"),
        ([], r"n \+ 1 integers"),
        (np.zeros(0, np.int64), r"n \+ 1 integers"),
        ([0.0, 1.0], "integers"),
        (["0"], "integers"),
        ([1, 2], "0 at its start"),
        ([-1, 2], "0 at its start"),
        ([0, 3, 2, 4], r"2 after 3 at index 2"),
        ([0, -1], r"-1 after 0 at index 1"),
        (np.array([0, 2, 1], np.uint64), r"1 after 2 at index 2"),
        ([0, 2**31], r"less than 2\^31 units.*2,147,483,648"),
        ([0, 2**40], r"less than 2\^31 units"),
    ],
)
def test_wrong_offsets_are_refused(given, message, device):
    with pytest.raises(ParameterError, match=message):
        partition(given, device=device)


def test_wrong_arguments_are_refused(device):
    for wrong in ({"memory_limit": 0}, {"progress": 3}, {"method": "bfs-edge"}):
        with pytest.raises(ParameterError):
            partition([0, 1], **{"device": device, **wrong})
    with pytest.raises(ParameterError, match="group"):
        partition([0, 1], pyapsp.method("partition-local-warp", warp=64, group=32), device=device)
    many = pyapsp.method("partition-multi-phase", each=128, rounds=10)
    with pytest.raises(ParameterError, match="each x rounds at most 256"):
        partition([0, 1], many, device=device)
    with pytest.raises(DeviceMemoryError):
        partition([0, 10**6], device=device, memory_limit=10**5)


def test_offsets_do_not_change_with_the_array():
    values = np.array([0, 1, 5], np.int32)
    given = as_offsets(values)
    values[1] = 3
    assert given.values.tolist() == [0, 1, 5]
    assert not given.values.flags.writeable
    assert as_offsets(given) is given


def test_facts():
    about = Offsets.of_sizes([0, 4, 2], "x").about()
    assert (about["n"], about["units"], about["largest"], about["empty"]) == (3, 6, 4, 1)
    assert about["mean"] == 2
    assert about["deviation"] == pytest.approx(np.std([0, 4, 2]))
    for family in inputs.FAMILIES:
        drawn = inputs.draw(3000, family, 1)
        assert drawn.n == 3000
        assert as_offsets(np.array(drawn.values)).family == family
    assert as_offsets([0]).family == inputs.FAMILIES[0]
    with pytest.raises(ParameterError, match=r"'family' parameter of offsets\.draw .* Got 'road'"):
        inputs.draw(3000, "road", 1)


KERNEL = """
#include "traversal/partitioning/chunks.h"

/* Sums of unit x owner, by what the building block stages. */
__kernel GROUP void use(INPUT offsets, INPUT parts, __global int *found, const int units,
                        const int chunks)
{
    __local int slice[CAPACITY], owner_of[PYAPSP_GROUP * PYAPSP_EACH];
    for (int c = get_group_id(0); c < chunks; c += get_num_groups(0)) {
        const uint first = (uint)c * (PYAPSP_GROUP * PYAPSP_EACH);
        stage_owners(offsets, parts, units, c, slice, CAPACITY, owner_of);
        for (int p = GROUP_PLACE; p < PYAPSP_GROUP * PYAPSP_EACH; p += PYAPSP_GROUP)
            if (first + p < (uint)units)
                found[first + p] = owner_of[p];
        group_sync();
    }
}

__kernel GROUP void divide(INPUT offsets, OUTPUT parts, const int items, const int units,
                           const int chunks)
{
    const size_t c = PLACE_OF_ALL;
    if (c <= (size_t)chunks)
        find_part(offsets, parts, c, PYAPSP_GROUP * PYAPSP_EACH, items, units, OPTIMISED);
}
"""


@pytest.mark.parametrize(("group", "each"), [(1, 5), (16, 3)])
def test_the_building_block(group, each, device, tmp_path, monkeypatch):
    for folder in ("common", "traversal/partitioning"):
        (tmp_path / folder).mkdir(parents=True)
        for header in (source.root() / folder).glob("*.h"):
            (tmp_path / folder / header.name).write_text(header.read_text())
    (tmp_path / "use.cl").write_text(KERNEL)
    monkeypatch.setattr(source, "root", lambda: tmp_path)
    defines = {"PYAPSP_GROUP": group, "PYAPSP_WARP": 1, "PYAPSP_EACH": each, "CAPACITY": 20}
    program, queue = build_warps(device, "use.cl", defines), device.queue()
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    for given in INPUTS:
        if not given.units:
            continue
        chunks = -(-given.units // (group * each))
        found, parts = np.full(given.units, -1, np.int32), np.zeros(chunks + 1, np.int32)
        arrays = [np.array(given.values), parts, found]
        starts, divided, owners = (
            cl.Buffer(queue.context, flags, hostbuf=array) for array in arrays
        )
        sizes = np.int32(given.units), np.int32(chunks)
        shape = ((chunks // group + 1) * group,), (group,)
        program.kernel("divide")(queue, *shape, starts, divided, np.int32(given.n), *sizes)
        program.kernel("use")(queue, (3 * group,), (group,), starts, divided, owners, *sizes)
        cl.enqueue_copy(queue, found, owners)
        np.testing.assert_array_equal(found, np.repeat(np.arange(given.n), given.sizes))


def test_the_host_reads_owners_only_after_a_mapping(device, monkeypatch):
    """Drivers may keep what kernels wrote until then, though those of CPUs usually do not."""
    given, mapped, real = Offsets.of_sizes([2] * 99), [], technique.read_back

    def noted(queue, buffer, array):
        real(queue, buffer, array)
        mapped.append(array)

    monkeypatch.setattr(technique, "read_back", noted)
    owners = partition(given, device=device)
    np.testing.assert_array_equal(owners, np.repeat(np.arange(99), 2))
    assert any(each is owners for each in mapped) == in_place(device.handle)


@pytest.mark.parametrize("shape", [(0, 0, 1), (4, 0, 1), (0, 1, 8), (1, 1, 32)], ids=str)
def test_large_medium_and_small_items_without_optimisation(shape, device, monkeypatch):
    """One compiler wrote wrong owners, or beyond them. No other test builds these sets."""
    monkeypatch.setattr(Device, "build_options", [*device.build_options, "-cl-opt-disable"])
    counts = np.random.default_rng(0).integers(0, 10, 240)
    counts[::30] = 200
    large, medium, warp = shape
    parameters = {"large": large, "medium": medium, "warp": warp, "slots": 4, "group": 32}
    method = pyapsp.method("partition-cta-warp-scan", **parameters)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    found = partition(offsets, method, device=device)
    np.testing.assert_array_equal(found, np.repeat(np.arange(240), counts))
