"""The model of chapter 13, on numbers that are made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pyapsp.errors import ParameterError
from pyapsp.profiling.benchmarks.characterisation import Characterisation, Core, Curve, Delays
from pyapsp.profiling.model import analyse, potential_speedup
from pyapsp.profiling.traces.analysis import LaunchTrace, mean
from pyapsp.profiling.traces.criteria import Accesses, Criteria
from pyapsp.profiling.traces.record import Shape
from pyapsp.profiling.traces.waits import Waits
from pyapsp.profiling.traces.work import Work

FLAT = Curve((1.0,), (1.0,))
LINEAR = Curve((0.0, 1.0), (0.0, 1.0))


def device(**more):
    rates = {"int": 1e9, "float": 1e9, "local": 1e9}
    given = {"divergence": LINEAR, "local": LINEAR, "memory": FLAT, **more}
    return Characterisation(
        **{"arithmetic": FLAT, "rates": rates, "bandwidth": ((1.0, 1e9),), "launch": 0.0, **given}
    )


def trace(values, *, arithmetic=0.0, footprint=0.0, sectors=0, local=0.0, waits=None, work=None):
    return LaunchTrace(
        "k",
        Shape((32,), (32,)),
        0,
        {"float": arithmetic, "load": footprint / 4, "local load": local},
        Accesses(int(footprint), sectors, sectors, 128, 32),
        footprint,
        Criteria(l1_granularity=1.0, l2_granularity=0.5, **values),
        [],
        [],
        0.25,
        1.0,
        (0.0, 0.0),
        waits,
        work,
    )


def advice_of(analysis):
    return {each.criterion: each for each in analysis.advice}


def test_curves_go_through_their_points_and_stay_between_them():
    curve = Curve.of([(1, 1.0), (0.5, 0.8), (0.25, 0.2), (0.5, 0.6), (0.5, 0.7004)])
    assert curve.x == (0.25, 0.5, 1)
    assert curve.y == pytest.approx((0.2, 0.7, 1.0))
    assert curve(0.1) == curve(0.25) == pytest.approx(0.2)
    assert curve(2) == pytest.approx(1)
    assert 0.2 < curve(0.3) < curve(0.4) < 0.7
    assert Curve((), ())(0.3) == 1


def test_a_kernel_that_is_bound_by_arithmetic():
    found = analyse(trace({"divergence": 0.5}, arithmetic=1e6), 4e-3, device())
    assert found.bound == "arithmetic"
    assert found.times["arithmetic"] == found.predicted == 2e-3  # half of the lanes are idle
    assert found.arithmetic_throughput == 0.5
    assert found.potential == 2
    divergence = advice_of(found)["divergence"]
    assert (divergence.value, divergence.speedup) == (0.5, 2)
    assert divergence.gain == pytest.approx(1 / (1 - 0.5 * 0.5))  # half of the time is arithmetic


def test_a_kernel_that_is_bound_by_memory():
    found = analyse(trace({}, footprint=1e6, sectors=10_000), 2e-3, device())
    assert found.bound == "memory"
    assert found.memory_throughput == 0.5
    assert found.potential == 2
    granularity = advice_of(found)["l2_granularity"]
    # by the thesis: the inverse, times the share of the time; this can be below 1
    assert granularity.speedup == pytest.approx(0.5 / 0.5)
    assert granularity.gain == pytest.approx(1 / (0.5 + 0.5 * 0.5))


CORE = Core(1e-9, {"float": 1e-10}, 5e-9, ((1.0, 2e-9),), 3e-9, 1e-9, 1e-8)


def work(**some):
    none = np.zeros(2)
    names = ("scalars", "divisions", "surprises", "atomics", "barriers", "saved")
    given = {**dict.fromkeys(names, none), **some}
    empty = {"vectors": {}, "carried": (none, none), "awaited": {}, "computed": {}, "far": {}}
    empty |= {"shared": 0.0, "contended": 0.0}
    return Work(**{**empty, "groups": 2, "state": 0.0, **given})


def test_the_parts_of_a_cpu_take_turns():
    both = work(surprises=np.array([1e5, 1e5]), scalars=np.array([1e6, 1e6]), far={4.0: 1e5})
    found = analyse(trace({}, work=both), 1.0, device(core=CORE, units=2, launch=1e-5))
    assert found.bound == "arithmetic"
    assert found.times["arithmetic"] == pytest.approx(1e-3)
    assert found.times["branches"] == pytest.approx(1e5 * 5e-9)
    assert found.times["caches"] == pytest.approx(1e5 / 2 * 2e-9)
    assert found.predicted == pytest.approx(1e-3 + 5e-4 + 1e-4 + 1e-8 + 1e-5)
    # the bandwidth of what is read once is not less than that of the cores
    much = analyse(trace({}, footprint=1e7, work=both), 1.0, device(core=CORE, units=2))
    assert (much.bound, much.predicted) == ("memory", pytest.approx(1e-2))


def test_a_profile_of_a_cpu_is_not_for_other_devices():
    with pytest.raises(ParameterError, match="is of a CPU, and the kernel ran on none"):
        analyse(trace({}), 1.0, device(core=CORE))


def test_fewer_groups_than_units_use_a_part_of_the_device():
    found = analyse(trace({}, arithmetic=1e6), 1.0, device(units=4))
    assert found.predicted == found.times["arithmetic"] == pytest.approx(4e-3)


@pytest.mark.parametrize(
    ("each", "resident", "expected"),
    [
        ([(10, 0, 0, 0, 0, 0, 0, 0)] * 20, 4, 2 * 100 * 4 / 4),  # all groups together wait longest
        ([(90, 0, 0, 0, 0, 0, 0, 0), (10, 0, 0, 0, 0, 0, 0, 0)], 4, 90 * 4),  # one warp is long
        # the others of its group have left their places no earlier
        ([(90, 0, 0, 0, 0, 0, 0, 0), (0,) * 8] * 3, 4, 2 * 3 * 90 * 4 / 4),
        ([(10, 7, 6, 2, 20, 30, 9, 8)] * 2, 4, 40 + 7 + 6 * 8 + 2 * 7 + 20 * 3 + 30 * 5 + 18 + 4),
        ([(10, 0, 0, 0, 0, 0, 0, 0)] * 20, float("inf"), 10 * 4),
    ],
)
def test_warps_that_wait(each, resident, expected):
    """A load takes 4 s, or 1 from the first cache, one of local memory 3, a barrier 5."""
    curve = (1.0, 1.0), (10.0, 1.5), (1e2, 4.0), (1e4, 6.0)
    delays = Delays(7.0, 3.0, ((16.0, 4.0), (64.0, 6.0)), 8.0, 2.0, 0.5)
    slow = device(latency=curve, waits=delays)
    waits = Waits(np.array(each, float), 2, 2, resident)
    found = analyse(trace({}, footprint=10.0, waits=waits), 1e3, slow)
    assert found.bound == "latency"
    busy = max(each for name, each in found.times.items() if name != "latency")
    assert found.times["latency"] == pytest.approx(expected)
    assert found.predicted == pytest.approx(expected + busy)
    assert analyse(trace({}, footprint=10.0), 1e3, slow).times["latency"] == 0
    assert slow.load_seconds(10.0) == (4, 1)
    assert slow.load_seconds(1e3) == pytest.approx((5, 1))


@pytest.mark.parametrize(("sectors", "same", "expected"), [(50, 3, 4.0), (10, 30, 6.0)])
def test_atomic_operations_of_a_gpu(sectors, same, expected):
    """A sector counts as the eight neighbouring words; operations on one word take turns."""
    rates = {"atomic": 100.0, "same atomic": 5.0}
    launch = replace(trace({}), atomics=(sectors, same))
    assert analyse(launch, 1e3, device(rates=rates)).times["atomics"] == expected


def test_operations_on_one_word_take_turns_however_few_groups_do_them():
    launch = replace(trace({}), atomics=(8, 8))
    slow = device(rates={"atomic": 100.0, "same atomic": 5.0}, units=100)
    assert analyse(launch, 1e3, slow).times["atomics"] == max(100 * 64 / 100, 8 / 5)
    slow = device(rates={"same atomic": 5.0}, units=100)
    assert analyse(launch, 1e3, slow).times["atomics"] == 8 / 5


def test_groups_start_one_after_the_other():
    """So do lines of the first cache, of which a unit reads one at a time."""
    slow = device(group=3.0, gathers=((1.0, 4.0), (100.0, 2.0)))
    found = analyse(trace({}, sectors=8), 1e3, slow)
    assert (found.times["groups"], found.times["caches"]) == (3.0, 8 / 4.0)
    assert (found.bound, found.predicted) == ("groups", 3.0)
    assert analyse(trace({}, sectors=16), 1e3, slow).predicted == 16 / 4.0


def test_arithmetic_and_local_memory_take_turns():
    found = analyse(trace({}, arithmetic=3e9, local=2e9, footprint=4e9), 10.0, device())
    assert (found.times["arithmetic"], found.times["local"]) == (3, 2)
    assert (found.bound, found.predicted) == ("memory", 5)


ROWS = [
    ("read bandwidth", {"bytes": 4}, 8.0),
    ("launch", {"clock": "device"}, 100.0),
    ("launch", {"clock": "device", "groups": 6}, 50.0),
    ("latency of loads", {"bytes": 4}, 10.0),
    ("latency", {"operation": "i32.add"}, 50.0),
    ("atomic additions", {"memory": "global", "counters": "one"}, 3.0),
    ("local latency", {"bytes": 64}, 20.0),
    ("barrier", {"work-items": 32}, 40.0),
    ("barrier", {"work-items": 512}, 20.0),
]
OF_CORES = [
    ("gather latency", {"lines": 1}, 4.0),
    ("gather latency", {"lines": 8}, 3.0),
    ("gather latency", {"lines": 32}, 0.5),
    ("turns", {"bound": "memory"}, 4.0),
    ("turns", {"bound": "private"}, 50.0),
    ("atomic latency", {"memory": "global"}, 2.0),
    ("scalar code", {}, 12.0),
    ("branches", {"ways": "one"}, 24.0),
    ("branches", {"ways": "random"}, 6.0),
    ("gather", {"bytes": 4}, 12.0),
    ("gather", {"bytes": 64}, 3.0),
    ("groups", {}, 60.0),
    ("saved values", {"of a work-item": 2, "bytes": 64}, 1024.0),
    ("saved values", {"of a work-item": 2, "bytes": 256}, 512.0),
    ("shared word", {"counters": "one"}, 4.0),
    ("shared word", {"counters": "one for each work-item"}, 12.0),
    ("shared lines", {"lines": "of all"}, 8.0),
    ("shared lines", {"lines": "one for each work-item"}, 32.0),
    ("throughput", {"operation": "f32.add"}, 600.0),
    ("core throughput", {"operation": "f32.add"}, 100.0),
    ("core throughput", {"operation": "i32.div"}, 10.0),
    ("cores", {"operations": 12.0}, 6.0),
    ("cores", {"operations": 24.0}, 48.0),
    ("atomic additions", {"memory": "global", "counters": "one for each work-item"}, 24.0),
]


def profile_of(kind, rows):
    names = "benchmark", "parameters", "rate"
    return {
        "schema": "pyapsp device profile",
        "device": {"kind": kind, "capabilities": {"compute_units": 6}},
        "results": [dict(zip(names, row, strict=True)) for row in rows],
    }


@pytest.mark.parametrize("rows", [ROWS, ROWS + OF_CORES], ids=["older", "newer"])
def test_a_profile_of_a_gpu(rows):
    found = Characterisation.of(profile_of("gpu", rows))
    assert (found.units, found.core, found.launch) == (6, None, 0.01)
    assert found.latency == ((4.0, 0.1),)
    more = (1.75 / 31, 0.25 - 0.1, 0.02) if rows is not ROWS else (0.0, 0.0, 0.0)
    atomic = 0.5 if rows is not ROWS else 0.0
    assert found.waits == Delays(atomic, 0.05, ((32.0, 0.025), (512.0, 0.05)), *more)
    assert found.group == (pytest.approx(1 / 60) if rows is not ROWS else 0.0)
    assert found.line_seconds(4.0) == (1 / 12 if rows is not ROWS else 0.0)
    assert found.rates["same atomic"] == 3


def test_a_profile_of_a_processor():
    """Rates are of one core; half of the branches at random are predicted wrongly.

    Groups start on as many cores as take part in a long launch. The first of two launches is not
    faster with all cores.
    """
    found = Characterisation.of(profile_of("cpu", ROWS + OF_CORES))
    assert (found.units, found.launch) == (6, 0.02)
    assert found.core == Core(
        scalar=1 / 12,
        vectors={"int": 0.0, "float": 0.01, "double": 0.0, "special": 0.0},
        surprise=2 * (1 / 6 - 1 / 24),
        far=((4.0, 0.0), (64.0, 1 / 3 - 1 / 12)),
        atomic=1 / 24,
        barrier=1 / (512 * 20),
        group=4 / 60,
        transfer=6 / 4 - 6 / 12,
        shared=1 / 8 - 1 / 32,
        saved=((64.0, 1 / 1024 - 1 / (2 * 512 * 20)), (256.0, 1 / 512 - 1 / (2 * 512 * 20))),
        loads=((4.0, 0.1),),
        chained={"int": 1 / 50, "float": 0.0, "double": 0.0, "special": 0.0},
        division=0.1,
        cores=((1.0, 1.0), (2.0, 4.0)),
    )


@pytest.mark.parametrize("missing", ["scalar code", "branches", "gather", "core throughput"])
def test_a_profile_of_a_processor_without_its_rates_is_refused(missing):
    rows = [row for row in ROWS + OF_CORES if row[0] != missing]
    with pytest.raises(ParameterError, match="of an older version, or incomplete"):
        Characterisation.of(profile_of("cpu", rows))


def test_characterisation_functions_change_criteria():
    slow = device(divergence=Curve((0.5, 1.0), (0.9, 1.0)))
    found = analyse(trace({"divergence": 0.5}, arithmetic=1e6), 4e-3, slow)
    assert advice_of(found)["divergence"].value == pytest.approx(0.9)


def test_barriers():
    values = {"device_sync": 0.8, "occupancy": 0.5}
    found = advice_of(analyse(trace(values, arithmetic=1.0), 1.0, device()))
    assert found["device_sync"].value == 0.75  # 1 - the share of waiting
    assert found["device_sync"].speedup == pytest.approx(0.2)  # a share of inactivity
    assert found["device_sync"].gain == pytest.approx(1 / 0.8)


@pytest.mark.parametrize(("throughput", "value"), [(0.5, 0.75), (0.96, 1.0)])
def test_occupancy_matters_unless_memory_is_full(throughput, value):
    seconds = 1e-3 / throughput
    found = analyse(trace({"occupancy": 0.5}, footprint=1e6), seconds, device())
    assert advice_of(found)["throughput_occupancy"].value == pytest.approx(value)


def test_the_first_advice_gains_most():
    values = {"unit_balance": 0.9, "warp_balance": 0.2}
    found = analyse(trace(values, arithmetic=1.0), 1.0, device(), host_sync=0.5)
    assert [each.criterion for each in found.advice[:3]] == [
        "warp_balance",
        "host_sync",
        "unit_balance",
    ]
    assert found.advice[0].gain == pytest.approx(5)


def test_more_warps_shorten_what_the_busiest_part_waits():
    """The part that is busy for three quarters of the time does not become faster."""
    values = {"warp_balance": 0.2}
    found = analyse(trace(values, footprint=75e4), 1e-3, device())
    assert advice_of(found)["warp_balance"].gain == pytest.approx(1 / (0.75 + 0.25 * 0.2))
    full = analyse(trace(values, footprint=1e6), 1e-3, device())
    assert advice_of(full)["warp_balance"].gain == 1


@pytest.mark.parametrize(("group", "hint"), [(0.9e-3, "smaller groups"), (1.1e-3, "fewer of them")])
def test_few_warps_are_active_where_groups_end_before_others_begin(group, hint):
    busy = trace({"warp_balance": 0.2}, footprint=1e6)
    found = analyse(busy, 2e-3, device(group=group))
    assert hint in advice_of(found)["warp_balance"].hint


def test_potential_speedup():
    assert potential_speedup(0.5, 0.2) == 2
    assert potential_speedup(0.2, 0.8) == 1.25


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ({}, "no device profile"),
        ({"schema": "pyapsp device profile", "results": []}, "no read bandwidth"),
    ],
)
def test_other_documents_are_refused(profile, message):
    with pytest.raises(ParameterError, match=message):
        Characterisation.of(profile)


def test_the_mean_of_criteria():
    found = mean([(Criteria(occupancy=1.0), 1), (Criteria(occupancy=0.5, divergence=0.5), 3)])
    assert found == Criteria(occupancy=0.625, divergence=0.5)
