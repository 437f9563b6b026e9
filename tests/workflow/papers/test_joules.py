"""The energy of kernels that joules of operations and bytes predict."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from types import SimpleNamespace

import papers
import pytest
from papers.__main__ import main
from papers.busato_profiling import joules, launches
from papers.busato_profiling.joules import Costs, costs_of

from pyapsp.device.energy import Energy, EnergyMeter
from pyapsp.device.sensors import NoSensor, Sensor
from pyapsp.errors import PyApspError, SensorError, VerificationError

NAME = "busato-profiling-joules"
COSTS = Costs(
    100.0,
    {"int": 1.0, "float": 10.0, "special": 100.0, "local": 1e4, "atomic": 1e6},
    (2.0**10, 2.0**20),
    (3.0, 5.0),
)


class Steady(Sensor):
    """A device that uses 50 W, until it is lost."""

    name = "steady"
    readings = 10**9

    def joules(self):
        self.readings -= 1
        if self.readings < 0:
            raise SensorError(self.name, "it is gone")
        return 50 * round(time.perf_counter(), 3)

    def watts(self):
        return None


def traced(footprint=2.0**10, sectors=0, **operations):
    names = {name.replace("_", " "): number for name, number in operations.items()}
    accesses = SimpleNamespace(sectors=sectors, sector=32)
    return SimpleNamespace(operations=names, accesses=accesses, footprint=footprint)


@pytest.mark.parametrize(
    ("trace", "part", "expected"),
    [
        (traced(), "time", 100 * 0.5),
        (traced(int=2, float=3, special=4), "arithmetic", 2 + 30 + 400),
        (traced(half=3, branch=5, barrier=7), "arithmetic", 30 + 12),
        (traced(double=9, load=9, constant=9, assembly=9), "arithmetic", 0),  # not measured
        (traced(local_load=1, local_store=2, local_atomic=4), "local", 7e4),
        (traced(atomic=2), "atomics", 2e6),
        (traced(sectors=2), "memory", 64 * 3),
        (traced(2.0**15, 2), "memory", 64 * 4),  # half way, in powers of two
        (traced(2.0**30, 2), "memory", 64 * 5),
        (traced(0.0, 2), "memory", 64 * 3),
    ],
)
def test_what_energy_is_for(trace, part, expected):
    parts = COSTS.parts(trace, 0.5)
    assert parts[part] == pytest.approx(expected)
    others = {"time": 50.0}
    assert all(parts[each] == others.get(each, 0) for each in parts if each != part)


def test_costs_are_what_benchmarks_use_beyond_one_work_item(device, monkeypatch):
    monkeypatch.setattr(joules, "_SIZES", (2**12, 2**14))
    monkeypatch.setattr(joules, "_OPERATIONS", {"int": "i32.add", "float": "f32.add"})
    names = []

    def measured(benchmark, effort):
        names.append((benchmark.name, benchmark.parameters.get("bytes")))
        return {"rounds": 2, "work": 50.0}

    monkeypatch.setattr(joules, "measured", measured)
    power = iter((100.0, 110.0, 130.0, 90.0, 140.0, 120.0, 150.0))

    def measure(launch):
        launch()
        return Energy(1.0, None, next(power), None, None, 0.1, 5, 9)

    costs = costs_of(device, SimpleNamespace(measure=measure))
    assert costs.watts == 100
    # 100 units in 0.1 s: 1,000 a second
    assert costs.operations == pytest.approx(
        {"int": 0.01, "float": 0.03, "local": 0, "atomic": 0.04}
    )
    assert (costs.sizes, costs.bytes) == ((2**12, 2**14), pytest.approx((0.02, 0.05)))
    assert names == [
        *(("latency", None), ("int", None), ("float", None), ("bank conflicts", None)),
        *(("atomic additions", None), ("read bandwidth", 2**12), ("read bandwidth", 2**14)),
    ]


@pytest.fixture
def few(monkeypatch):
    """Make the experiment short: two kernels, and costs that are known."""
    some = {"all-pairs": ("fw-naive",), "partition": ("partition-items",)}
    monkeypatch.setattr(joules, "KERNELS", some)
    monkeypatch.setattr(joules, "costs_of", lambda device, meter: COSTS)


@pytest.fixture
def trains(monkeypatch):
    """Make trains short: a launch with copies takes 0.5 s and 50 J, copies take 0.1 s and 20 J."""

    def measure_runs(meter, run):
        run(2)
        meter.sensor.sample()
        joules, seconds = {"run": (50.0, 0.5), "restore": (20.0, 0.1)}[run.__name__]
        return Energy(joules, None, 1.0, 1.0, 0.01, seconds, 1, 1)

    monkeypatch.setattr(EnergyMeter, "measure_runs", measure_runs)


def meter_of(sensor, seconds=0.05):
    return lambda device: EnergyMeter(sensor, seconds)


def test_predicted_and_measured_energy(device, few, trains, written):
    document = papers.measure(NAME, 512, device=device, energy=meter_of(Steady()))
    assert document["left_out"] == []
    assert [run["kernel"] for run in document["runs"]] == ["fw_naive", "partition_items"]
    for run in document["runs"]:
        assert (run["joules"], run["launch_seconds"]) in ((30, 0.4), (50, 0.5))
        assert run["predicted"] == sum(run["parts"].values())
        assert run["parts"]["time"] == 100 * run["launch_seconds"]
        assert run["parts"]["memory"] > 0
    assert document["sensors"][0]["name"] == "steady"
    for run, energy in zip(document["runs"], (2.0, 4.0), strict=True):
        run |= {"joules": energy, "predicted": 3.0, "launch_seconds": 0.5}
        run["parts"] |= {"time": 1.0}
    tables = written("busato-profiling", [{**document, "date": "2026-01-01"}])
    assert list(tables["joules"]["predicted / measured"]) == [1.5, 0.75]
    assert list(tables["joules"]["for time / measured"]) == [0.5, 0.25]
    assert list(tables["joules"]["measured W"]) == [4, 8]
    assert list(tables["joules"]["time, mJ"]) == [1000, 1000]
    (accuracy,) = tables["joules-accuracy"].to_dict("records")
    assert accuracy["kernels"] == 2
    assert accuracy["mean error, %: ours"] == 37.5
    assert accuracy["mean error, %: Wattchmen, H100"] == 12
    assert accuracy["largest error, %: ours"] == 50
    assert accuracy["mean error without operations and bytes, %"] == 62.5
    assert tables["claims-joules"]["here: ours"][0] == "not decided"  # two kernels


def test_an_answer_is_checked_once(device, few, monkeypatch):
    checks, named = [], joules.problem

    def problem(name):
        found = named(name)

        def oracle(*arguments):
            right = found.oracle(*arguments)
            return lambda answer: (checks.append(name), right(answer))[1]

        return replace(found, oracle=oracle)

    monkeypatch.setattr(joules, "problem", problem)
    papers.measure(NAME, 256, device=device)
    assert checks == ["all-pairs", "partition"]


@pytest.mark.parametrize("energy", [None, meter_of(NoSensor())])
def test_without_a_sensor_nothing_is_measured(device, few, written, energy):
    document = papers.measure(NAME, 256, device=device, energy=energy)
    assert document["left_out"] == []
    for run in document["runs"]:
        assert (run["joules"], run["predicted"], run["parts"]) == (None, None, None)
        assert run["seconds"]["kernel"] > 0
    tables = written("busato-profiling", [{**document, "date": "2026-01-01"}])
    assert list(tables["joules"]["measured mJ"].isna()) == [True, True]
    assert list(tables["joules-accuracy"]["kernels"]) == [0]
    assert tables["claims-joules"]["here: ours"][0] == "not decided"


def test_a_sensor_that_is_lost_is_named_and_the_rest_is_written(
    device, few, trains, monkeypatch, tmp_path, capsys
):
    sensor = Steady()
    monkeypatch.setattr(joules, "costs_of", lambda device, meter: lose(COSTS))

    def lose(costs):
        sensor.readings = 0
        return costs

    monkeypatch.setattr("pyapsp.device.sensors.open_sensor", lambda *_: sensor)
    path = tmp_path / "x.json"
    words = ["measure", NAME, "-n", 256, "--device", device.id, "--energy", "rapl", "-o", path]
    assert main([*map(str, words), "--train", "0.05"]) == 4
    assert "steady: it is gone" in capsys.readouterr().err
    document = json.loads(path.read_text())
    assert [run["kernel"] for run in document["runs"]] == ["fw_naive"]
    assert document["sensors"][0]["error"] == "it is gone"
    assert [each["method"] for each in document["left_out"]] == ["partition-items"]


def test_a_counter_that_stands_still(device, few, monkeypatch):
    monkeypatch.setattr(Steady, "joules", lambda sensor: 1.0)
    with pytest.raises(PyApspError, match=r"steady: it did not change in 0\.05 s"):
        papers.measure(NAME, 256, device=device, energy=meter_of(Steady()))


def test_a_launch_that_takes_no_longer_than_the_copies(device, few, monkeypatch):
    energies = (Energy(each, None, 1.0, 1.0, None, each, 1, 1) for each in (1.0, 2.0, 9.0, 1.0))
    monkeypatch.setattr(EnergyMeter, "measure_runs", lambda meter, run: next(energies))
    # the longest launch, which chance chooses, may write nothing
    monkeypatch.setattr(launches.Replay, "restores", True)
    document = papers.measure(NAME, 256, device=device, energy=meter_of(Steady()))
    assert document["left_out"][0]["why"] == "fw_naive ends before the copies beside it"


def test_a_wrong_answer_has_no_energy(device, few, spoil):
    def change(solved):
        solved.answer.distances[0, -1] += 1

    spoil(joules, "solve", change)
    with pytest.raises(VerificationError):
        papers.measure(NAME, 256, device=device)
