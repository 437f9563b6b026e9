"""Time other simulators, too: ``python -m pyapsp.simulation.peers [CELLS [SETS [STRAND]]]``.

libRoadRunner compiles a line of Luo-Rudy cells, in SBML, and integrates it on one core; pyapsp does
so on its device, in turns, by the same steps of the classical Runge-Kutta method. Then a single
cell is integrated for many sets of parameters: by libRoadRunner and by SciPy's `solve_ivp` in a
loop, and by pyapsp at once. Last, myokit integrates a strand of cells on the same device, by the
same steps of Euler's method.

The extra ``peers`` has libRoadRunner and myokit. myokit compiles its host code: it needs a compiler
and the headers of OpenCL and Python. A package that is not installed is reported as missing.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pyapsp.base.errors import CapabilityError, VerificationError
from pyapsp.device import Device, choose
from pyapsp.device.loader import implementations, user_setting
from pyapsp.simulation.formulas import formula
from pyapsp.simulation.generators import luo_rudy, luo_rudy_line
from pyapsp.simulation.notations import identifier, myokit_of, right_side, sbml_of
from pyapsp.simulation.simulate import simulate
from pyapsp.simulation.system import System
from pyapsp.simulation.values import at_start

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["main"]

_T = TypeVar("_T")

_STEP, _TURNS = 0.01, 3
# How much two orders of additions may change, and two integrators with tolerances of 1e-8.
_TOLERANCE, _ADAPTIVE = 1e-9, 1e-4
# Sets that `solve_ivp` integrates; the time of all is in proportion.
_TIMED = 20
# The pulse of a cell begins and ends between the stages of steps. That of a strand does so at
# steps, because myokit ends a step there.
_PULSE = {"stim_start": 1.0025, "stim_duration": 1.0}
_STRAND_PULSE = {"stim_start": 1.0, "stim_duration": 1.0, "stim_current": -40.0}
# Steps of a short and a long run.
_LINE_STEPS, _STRAND_STEPS = (200, 2200), (200, 20_000)
_STRAND_TOLERANCES = {"float64": 1e-9, "float32": 1e-3}


def _seconds(call: Callable[[], _T]) -> tuple[float, _T]:
    started = time.perf_counter()
    result = call()
    return time.perf_counter() - started, result


def _peer(name: str, shown: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise CapabilityError(f"{shown} is missing: install the extra 'peers'") from None


def _require_equal(ours: float, theirs: float, tolerance: float) -> None:
    if not abs(ours - theirs) <= tolerance * abs(theirs):
        raise VerificationError(f"{ours} instead of {theirs}")


def _duration(steps: int) -> float:
    return steps * _STEP * (1 + 1e-12)


def _loaded(system: System, output: str) -> Any:
    runner = _peer("roadrunner", "libRoadRunner").RoadRunner(sbml_of(system))
    runner.setIntegrator("rk4")
    runner.timeCourseSelections = ["time", identifier(output)]
    return runner


def _line(cells: int) -> None:
    """Print the time of a step of a line: the difference of a long and a short run."""
    system, output = luo_rudy_line(cells), f"cell[{cells}].V"
    setup, runner = _seconds(lambda: _loaded(system, output))

    def theirs(steps: int) -> float:
        runner.reset()
        return float(runner.simulate(0, steps * _STEP, steps + 1)[-1, 1])

    def ours(steps: int) -> float:
        frame = simulate(
            system, duration=_duration(steps), step=_STEP, output=[output], every=steps
        )
        return float(frame[output].iloc[-1])

    calls = _in_turns({"libRoadRunner": theirs, "pyapsp": ours}, *_LINE_STEPS, _TOLERANCE)
    slow, fast = (step for _, step in calls.values())
    print(f"LR-{cells}: libRoadRunner compiles the model in {setup:.1f} s")
    print(f"LR-{cells}: {slow:.2f} us a step in libRoadRunner", end=", ")
    print(f"{fast:.2f} in pyapsp: {slow / fast:.2f} x")


def _frame(count: int) -> pd.DataFrame:
    """Return sets of parameters of a cell."""
    import pandas as pd

    values = np.random.default_rng(1).uniform(15, 30, count)
    return pd.DataFrame({"G_Na": values}).assign(**_PULSE)


def _sets(count: int) -> None:
    """Print the time of many sets of parameters of a cell, by steps of equal length."""
    system, steps, sets = luo_rudy(), 500, _frame(count)
    runner = _loaded(system, "V")

    def theirs() -> list[float]:
        ends = []
        for values in sets.to_dict("records"):
            runner.reset()
            for name, value in values.items():
                runner.setValue(name, value)
            ends.append(float(runner.simulate(0, steps * _STEP, steps + 1)[-1, 1]))
        return ends

    def ours() -> list[float]:
        frame = simulate(
            system,
            parameters=sets,
            duration=_duration(steps),
            step=_STEP,
            every=steps,
            reduce={"end": ("last", "V")},
        )
        return list(frame["end"])

    _seconds(ours)  # compiles
    fast, right = _seconds(ours)
    slow, others = _seconds(theirs)
    for one, other in zip(right, others, strict=True):
        _require_equal(one, other, _TOLERANCE)
    print(f"{count} sets, {steps} steps: libRoadRunner in a loop {slow:.2f} s", end=", ")
    print(f"pyapsp {fast:.2f} s: {slow / fast:.1f} x")


def _adaptive_sets(count: int) -> None:
    """Print the time of many sets by the pair of Dormand and Prince, beside SciPy's."""
    from scipy.integrate import solve_ivp

    system, sets, end, tolerance = luo_rudy(), _frame(count), 100.0, 1e-8
    slopes, timed = right_side(system), min(_TIMED, count)
    parameters = {name: np.float64(value) for name, value in system.parameters.items()}

    def theirs(sets: pd.DataFrame) -> list[float]:
        ends = []
        for values in sets.to_dict("records"):
            _, initial = at_start(system, values)
            start = np.array([*initial.values()])
            constants = np.array([*{**parameters, **values}.values()])
            answer = solve_ivp(
                slopes,
                (0, end),
                start,
                "RK45",
                [end],
                args=(constants,),
                rtol=tolerance,
                atol=tolerance,
                max_step=1.0,
            )
            ends.append(float(answer.y[list(initial).index("V"), -1]))
        return ends

    def ours() -> list[float]:
        frame = simulate(
            system,
            parameters=sets,
            duration=end,
            step=1.0,
            method="dopri5",
            tolerances=(tolerance, tolerance),
            reduce={"end": ("last", "V")},
        )
        return list(frame["end"])

    theirs(sets[:1])  # compiles
    ours()
    fast, right = _seconds(ours)
    slow, others = _seconds(lambda: theirs(sets[:timed]))
    for one, other in zip(right[:timed], others, strict=True):
        _require_equal(one, other, _ADAPTIVE)
    slow *= count / timed
    print(f"{count} sets, {end:g} ms, tolerance {tolerance:g}: solve_ivp in a loop", end=" ")
    print(f"{slow:.1f} s ({timed} timed), pyapsp {fast:.2f} s: {slow / fast:.1f} x")


def _show_drivers(myokit: ModuleType) -> None:
    """Let the loader of myokit, which looks for drivers once, find those of pyapsp."""
    if user_setting():
        return
    with tempfile.TemporaryDirectory() as folder:
        for number, each in enumerate(implementations()):
            Path(folder, f"{number:02}.icd").write_text(f"{each.library}\n", encoding="utf-8")
        os.environ["OCL_ICD_VENDORS"] = folder
        try:
            myokit.OpenCL.info()
        finally:
            del os.environ["OCL_ICD_VENDORS"]


def _myokit_strand(cells: int, dtype: str, conductance: float, device: Device) -> Any:
    """Return a strand for myokit on a device; the first cell gets the pulse."""
    myokit = _peer("myokit", "myokit")
    _show_drivers(myokit)
    selected = str(device.handle.platform.name).encode(), str(device.handle.name).encode()
    myokit.OpenCL.load_selection_bytes = lambda: selected
    cell = luo_rudy()
    cell = replace(
        cell,
        parameters={**cell.parameters, **_STRAND_PULSE},
        functions={**cell.functions, "I_stim": formula("stim_current*pace + I_gap")},
    )
    bound = {"time": "time", "pace": "pace", "I_gap": "diffusion_current"}
    pulse = myokit.Protocol()
    pulse.schedule(1, _STRAND_PULSE["stim_start"], _STRAND_PULSE["stim_duration"])
    single = dtype == "float32"
    strand = myokit.SimulationOpenCL(
        myokit.parse_model(myokit_of(cell, bound, "V")),
        pulse,
        cells,
        precision=myokit.SINGLE_PRECISION if single else myokit.DOUBLE_PRECISION,
    )
    strand.set_conductance(conductance)
    strand.set_paced_cells(1)
    strand.set_step_size(_STEP)
    return strand


def _strand(cells: int, dtype: str) -> None:
    """Print the time of calls for a strand, and of a step: the difference of a long and a short."""
    device, line = choose(), luo_rudy_line(cells)
    peer = _myokit_strand(cells, dtype, line.parameters["G_gap"], device)

    def theirs(steps: int) -> float:
        peer.reset()
        name = f"{cells - 1}.cell.V"
        log = peer.run((steps + 1) * _STEP, log=[name], log_interval=steps * _STEP)
        return float(log[name][1])

    def ours(steps: int) -> float:
        output = f"cell[{cells}].V"
        frame = simulate(
            line,
            duration=_duration(steps),
            step=_STEP,
            output=[output],
            every=steps,
            method="euler",
            dtype=dtype,
            device=device,
            parameters=_STRAND_PULSE,
        )
        return float(frame[output].iloc[-1])

    short, long = _STRAND_STEPS
    calls = _in_turns({"myokit": theirs, "pyapsp": ours}, short, long, _STRAND_TOLERANCES[dtype])
    (slow, slow_step), (fast, fast_step) = calls.values()
    print(f"strand of {cells}, {dtype}: {slow_step:.2f} us a step in myokit", end=", ")
    print(f"{fast_step:.2f} in pyapsp: {slow_step / fast_step:.2f} x", end="; ")
    print(f"{long} steps: {slow:.2f} s, {fast:.2f} s: {slow / fast:.2f} x")


def _in_turns(
    runs: Mapping[str, Callable[[int], float]], short: int, long: int, tolerance: float
) -> dict[str, tuple[float, float]]:
    """Return the seconds of a long run and the microseconds of a step, by the name of each.

    The names are those of a peer and of pyapsp. The first turn, which compiles, does not count. Of
    the others the least times do: other programs on the machine only add to them.
    """
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for turn in range(_TURNS + 1):
        ends = []
        for name, run in runs.items():
            before, _ = _seconds(partial(run, short))
            whole, value = _seconds(partial(run, long))
            ends.append(value)
            rows[name] += [(before, whole)] if turn else []
        theirs, ours = ends
        _require_equal(ours, theirs, tolerance)
    least = {name: np.min(each, axis=0) for name, each in rows.items()}
    return {
        name: (float(whole), 1e6 * float(whole - before) / (long - short))
        for name, (before, whole) in least.items()
    }


def main(arguments: list[str]) -> None:
    """Print the times of each peer and of pyapsp."""
    cells, sets, strand = [*map(int, arguments), *(20, 1000, 300)[len(arguments) :]]
    for compare in (
        partial(_line, cells),
        partial(_sets, sets),
        partial(_adaptive_sets, sets),
        partial(_strand, strand, "float64"),
        partial(_strand, strand, "float32"),
    ):
        try:
            compare()
        except CapabilityError as error:
            print(error)


if __name__ == "__main__":
    main(sys.argv[1:])
