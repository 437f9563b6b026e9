"""Chains of arithmetic operations: answers, counts of instructions, and measurements."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pytest

from pyapsp.errors import VerificationError
from pyapsp.profiling.benchmarks.arithmetic import QUICK, Shape, chains, curves, latency, throughput
from pyapsp.profiling.benchmarks.measuring import Benchmark, Effort, measured
from pyapsp.profiling.benchmarks.operations import OPERATIONS

SMALL = Shape(groups=3, chains=2, steps=7)
REST = [pytest.param(name, marks=pytest.mark.slow) for name in OPERATIONS if name not in QUICK]
KEYS = {
    *("benchmark", "parameters", "unit", "work", "rounds", "seconds", "spread", "rate"),
    *("nanoseconds", "doubling", "operations", "counted", "counts_agree"),
}


def supported(device, name):
    if OPERATIONS[name].dtype == "float64" and not device.capabilities.fp64:
        pytest.skip("no fp64")
    return OPERATIONS[name]


@pytest.mark.parametrize("name", [*QUICK, *REST])
def test_the_kernel_computes_what_numpy_computes(device, name):
    benchmark = chains(device, supported(device, name), SMALL, "throughput")
    for rounds in (0, 1, 2, 3):
        assert benchmark.run(rounds) >= 0
        assert benchmark.fault(rounds) is None
        assert benchmark.fault(rounds + 1) is not None or rounds > 0


def test_a_row_has_every_figure(device):
    shape = dataclasses.replace(throughput(device, OPERATIONS["f32.add"], 2), steps=7)
    benchmark = chains(device, OPERATIONS["f32.add"], shape, "throughput")
    row = measured(benchmark, Effort(seconds=1e-4, repeat=2))
    assert set(row) >= KEYS
    assert row["work"] == shape.items * shape.width * 2 * 7
    assert row["operations"] == 2 * 7
    assert row["rate"] == pytest.approx(row["work"] * row["rounds"] / row["seconds"])
    assert row["nanoseconds"] * row["rate"] == pytest.approx(1e9)
    assert row["doubling"] > 0


@pytest.mark.skipif(shutil.which("objdump") is None, reason="no objdump")
@pytest.mark.parametrize("name", ["i32.add", "u16.addmin", "f32.add", "f32.addmin"])
def test_the_compiled_loop_has_the_generated_instructions(device, name):
    operation = OPERATIONS[name]
    shape = dataclasses.replace(throughput(device, operation, 2), steps=31)
    benchmark = chains(device, operation, shape, "throughput")
    benchmark.run(1)
    found = benchmark.facts()
    if found["counts_agree"] is None:
        pytest.skip("the driver gives no code")
    assert found["operations"] == 62 * operation.count
    assert found["counts_agree"]
    # a compiler may take half of the width of the processor: then a vector is two instructions
    parts = round(found["counted"] / found["operations"])
    assert parts in (1, 2)
    assert 0 <= found["counted"] - parts * found["operations"] <= 4


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("round < rounds", "round < min(rounds, 1)"),
        ("y##i = next;", ""),
        ("#if PYAPSP_STEPS & 4", "#if 0"),
    ],
    ids=["loop", "operation", "steps"],
)
@pytest.mark.parametrize("name", ["i32.add", "f32.addmin"])
def test_a_kernel_that_does_less_is_caught_by_its_answer(
    device, build_without, name, text, instead
):
    build_without(text, instead)
    benchmark = chains(device, OPERATIONS[name], SMALL, "throughput")
    with pytest.raises(VerificationError, match=f"operation {name}.* in place 0, and not"):
        measured(benchmark, Effort(seconds=1e-4, repeat=1))


def test_runs_are_long_enough_and_double():
    rounds = []

    def run(number):
        rounds.append(number)
        return number * 1e-3

    benchmark = Benchmark("toy", {}, "steps", 5, run, lambda rounds: None)
    row = measured(benchmark, Effort(seconds=0.5, repeat=3))
    assert row["rounds"] >= 500
    assert row["doubling"] == 2
    assert row["rate"] == 5000
    assert rounds[-6:] == [row["rounds"], 2 * row["rounds"]] * 3


def test_chains_of_functions_are_short_enough_for_compilers():
    steps = {name: latency(each).steps for name, each in OPERATIONS.items()}
    assert {name for name, number in steps.items() if number < 100} == {
        name for name in OPERATIONS if "native" in name
    }
    assert all(number % 2 for number in steps.values())  # an even number may restore the value


def test_curves_keep_the_number_of_operations(device, monkeypatch):
    monkeypatch.setattr("pyapsp.profiling.benchmarks.arithmetic.chains", lambda *args: args)
    points = [each()[2:] for each in curves(device)]
    assert {name for _, name, _ in points} >= {"chains", "unrolling", "units"}
    for shape, name, _ in points:
        if name == "chains":
            assert 480 < shape.chains * shape.steps < 512
    assert {place["steps"] for _, name, place in points if name == "unrolling"} >= {1, 256}


def test_different_chains_begin_with_different_values():
    for operation in OPERATIONS.values():
        x, y = operation.starts()
        assert x.dtype == y.dtype == np.dtype(operation.dtype)
        assert len(np.unique(x)) == len(np.unique(y)) == 64
