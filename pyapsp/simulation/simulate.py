"""`simulate`: integrate a model and return a data frame."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import DeviceMemoryError, GraphError, ModelError, ParameterError
from pyapsp.base.extras import extra
from pyapsp.base.files import check_name
from pyapsp.base.host import available_memory
from pyapsp.device import Device, choose
from pyapsp.graph.validation import choice, integer, is_real, lost, real
from pyapsp.simulation.ensembles import Reduction, checked_reductions, ensemble
from pyapsp.simulation.host import HostEngine
from pyapsp.simulation.integrate import Course, Engine, Plan
from pyapsp.simulation.layout import Layout, Optimisations, arrange
from pyapsp.simulation.methods import METHODS
from pyapsp.simulation.schedule import check, compile_model
from pyapsp.simulation.system import System
from pyapsp.simulation.values import at_start

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ENGINES", "simulate"]

#: How expressions are evaluated.
ENGINES = ("translator", "interpreter", "host")
# The absolute and the relative tolerance of a step by default.
_TOLERANCES = 1e-6, 1e-6
_STEPS = 2**53  # a float64 counts no further


def simulate(
    model: System | str | os.PathLike[str],
    *,
    duration: float,
    step: float,
    method: str = "rk4",
    output: Sequence[str] | None = None,
    every: int = 1,
    parameters: Mapping[str, float] | pd.DataFrame | None = None,
    engine: str = "translator",
    optimise: Optimisations | None = None,
    dtype: str = "float64",
    tolerances: tuple[float, float] | None = None,
    readback: int | None = None,
    device: Device | str | int | None = None,
    progress: Callable[[int, int], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    reduce: Mapping[str, Reduction] | None = None,
) -> pd.DataFrame:
    """Integrate a model of ordinary differential equations on a device.

    Parameters
    ----------
    model : System or path-like
        A model, or a file in SBML, PHML, ISML or CellML.
    duration : float
        How long, in the unit of time of the model.
    step : float
        Length of a step. The number of steps is the largest one that ends within the duration.
    method : {"rk4", "euler", "dopri5"}
        The classical method of Runge and Kutta of order 4, Euler's, or the pair of Dormand and
        Prince of orders 5 and 4. The last one chooses its steps, the first of length `step`, within
        `tolerances`.
    output : sequence of str, optional
        Names of the quantities to return. Default: all states.
    every : int
        Steps from one output to the next.
    parameters : mapping or pandas.DataFrame, optional
        Values for parameters and for initial values of states, by name. A frame has a set of values
        in each row: the model is integrated for each of them, with any method. By steps of equal
        length, the outputs of a set whose states do not stay finite are NaN or infinite.
    engine : {"translator", "interpreter", "host"}
        "translator": a program for the model. "interpreter": bytecodes on the device, without
        compilation. "host": bytecodes on one core; needs Numba.
    optimise : Optimisations, optional
        Default: all.
    dtype : {"float64", "float32"}
        Number type.
    tolerances : tuple of float, optional
        Absolute and relative tolerance of a step, for "dopri5" alone; 1e-6 by default.
    readback : int, optional
        Steps after which outputs are read from the device.
    device : Device, str or int, optional
        As in :func:`pyapsp.device.choose`.
    progress : callable, optional
        Called with the number of steps done and of all. An exception in it ends the simulation.
    checkpoint : path-like, optional
        A file that is written at each readback. An interrupted simulation continues from it, and
        gives the same numbers. It is removed at the end.
    reduce : mapping of str to tuple, optional
        What to return for each set of parameters: for a name ``("last", output)``,
        ``("min", output)``, ``("max", output)``, or ``("crossing", output, threshold)``, the first
        time at which the output rises to a threshold, between output times by a straight line, NaN
        if it does not. They are computed on the device.

    Returns
    -------
    pandas.DataFrame
        A column ``time`` and one for each output, in `dtype`; a row for each output time. Its
        ``attrs`` have the name of the model and the units. For many sets: these rows for each set,
        with the columns of `parameters` before them; with `reduce` one row for each set.

    Raises
    ------
    ModelError
        The model cannot be simulated; the message names the construct.
    ParameterError
        An argument or a name is wrong.
    CapabilityError
        The device has no float64, or Numba is missing.
    PrecisionError
        A state is not finite, or the steps of "dopri5" vanish.
    CheckpointError
        The checkpoint is damaged or of another simulation.
    DeviceMemoryError
        The memory of the device, or that of the host for the outputs, is too small.

    References
    ----------
    F. Okuyama, Accelerating GPU Programs by Reducing Irregular Control Flow and Memory Access,
    thesis, 2013, chapter 5.

    Examples
    --------
    >>> frame = pyapsp.simulate(  # doctest: +SKIP
    ...     "cell.phml", duration=500, step=0.01, output=["V"], every=100)
    >>> frame.plot("time", "V")  # doctest: +SKIP
    """
    pandas = _pandas()
    system = opened(model)
    if progress is not None and not callable(progress):
        raise ParameterError.of("progress", "simulate", "a function of (done, total)", progress)
    if optimise is not None and not isinstance(optimise, Optimisations):
        raise ParameterError.of("optimise", "simulate", "an Optimisations, or None", optimise)
    plan = _plan(system, duration, step, method, every, readback, tolerances)
    if not system.initial:  # nothing to integrate: functions of the time
        method, plan = "euler", replace(plan, tolerances=None)
    kind = number_type(dtype)
    engine = choice("engine", "simulate", engine, ENGINES)
    wanted = outputs_of(system, output)
    reductions = checked_reductions(reduce)
    if checkpoint is not None:
        checkpoint = check_name(checkpoint, "simulate", "checkpoint")
    if reductions is None:
        sets = len(parameters) if isinstance(parameters, pandas.DataFrame) else 1
        _check_room(plan, sets * (8 + len(wanted) * kind.itemsize))
    if isinstance(parameters, pandas.DataFrame):
        if engine != "translator" or checkpoint is not None or optimise is not None:
            raise ParameterError("many sets take no engine, optimise or checkpoint")
        return _many(system, parameters, plan, method, wanted, reductions, kind, device, progress)
    if reductions is not None:
        raise ParameterError.of("reduce", "simulate", "None without a frame of parameters", reduce)
    start = checked_values(system, parameters, kind)
    constants, initial = at_start(system, {name: each[()] for name, each in start.items()})
    moving = [name for name in wanted if name in system.initial or name in system.functions]
    if not system.initial and not system.functions:  # constants alone
        return _frame(system, plan, {name: kind.type(constants[name]) for name in wanted})
    if engine == "host":
        options, width = optimise or Optimisations.none(), 1
    else:
        from pyapsp.simulation.interpreter import warp_of

        chosen = choose(device)
        options, width = optimise or Optimisations(), warp_of(chosen)
    values = {name: float(value) for name, value in constants.items()}
    model_ = compile_model(system, values, merge=options.merge, sums=bool(options.sum))
    layout = arrange(model_, options, width)
    slots = [layout.slots[name] for name in moving]
    with_values = (layout, METHODS[method], kind, slots, plan)
    runner: Engine
    if engine == "host":
        runner = HostEngine(*with_values)
    elif engine == "interpreter":
        from pyapsp.simulation.interpreter import InterpretedEngine

        runner = InterpretedEngine(chosen, *with_values)
    else:
        from pyapsp.simulation.translated import TranslatedEngine

        runner = TranslatedEngine(chosen, *with_values)
    order = sorted(system.initial, key=layout.slots.__getitem__)
    states = np.array([initial[name] for name in order], kind)
    runner.put(states)
    identity = _identity(system, layout, states, engine, method, kind, slots)
    rows = Course(runner, plan, order, progress, checkpoint, identity).run()
    columns = {
        name: rows[:, moving.index(name)] if name in moving else kind.type(constants[name])
        for name in wanted
    }
    return _frame(system, plan, columns)


def _frame(
    system: System, plan: Plan, columns: Mapping[str, np.ndarray | np.generic]
) -> pd.DataFrame:
    """Return a data frame of the outputs at the times of a plan."""
    frame = _pandas().DataFrame({"time": plan.times, **columns})
    units = {name: system.units[name] for name in columns if name in system.units}
    if system.time_unit:
        units["time"] = system.time_unit
    frame.attrs.update(model=system.name, units=units)
    return frame


def _many(
    system: System,
    sets: pd.DataFrame,
    plan: Plan,
    method: str,
    wanted: list[str],
    reductions: dict[str, Reduction] | None,
    kind: np.dtype,
    device: Device | str | int | None,
    progress: Callable[[int, int], None] | None,
) -> pd.DataFrame:
    """Integrate a system for each row of a frame."""
    pandas = _pandas()
    if not system.initial and not system.functions:
        raise ModelError(system.name, "system", "it has neither states nor functions")
    if not len(sets):
        raise ParameterError("simulate: the frame of parameters has no row")
    values = checked_values(system, sets, kind)
    for result, (_, name, *_) in (reductions or {}).items():
        if name == "time":
            raise ParameterError.of("reduce", "simulate", "of names other than 'time'", result)
        outputs_of(system, [name])
        if result in sets.columns:
            rule = "names other than those of the parameters"
            raise ParameterError.of("reduce", "simulate", rule, result)
    outputs, _ = ensemble(
        system,
        values,
        sets.index,
        plan,
        METHODS[method],
        wanted,
        reductions,
        dtype=kind,
        device=device,
        progress=progress,
    )
    if reductions is not None:
        return sets.assign(**outputs)
    times = plan.times
    every = np.repeat(np.arange(len(sets)), len(times))
    frame = sets.iloc[every].assign(time=np.tile(times, len(sets)))
    for name in wanted:
        frame[name] = outputs[name].ravel()
    frame.attrs.update(model=system.name)
    assert isinstance(frame, pandas.DataFrame)
    return frame


def opened(model: System | str | os.PathLike[str]) -> System:
    """Return a checked system, which may be in a file."""
    if not isinstance(model, System | str | os.PathLike):
        raise ParameterError.of("model", "simulate", "a System or a path", model)
    if not isinstance(model, System):
        from pyapsp.simulation.frontend import read_model

        system: System = read_model(model)
    else:
        system = model
    check(system)
    return system


def number_type(dtype: str) -> np.dtype:
    """Return the number type of this name."""
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError):
        kind = np.dtype(object)
    if kind not in (np.float64, np.float32) or not kind.isnative:
        raise ParameterError.of("dtype", "simulate", "'float64' or 'float32'", dtype)
    return kind


def outputs_of(system: System, output: Sequence[str] | None) -> list[str]:
    """Return the names of the outputs, each once."""
    if output is None:
        return list(system.initial)
    if isinstance(output, str):
        output = [output]
    several = isinstance(output, Iterable) and getattr(output, "ndim", None) != 0
    wanted = list(output) if several else [str(output)]
    if not all(isinstance(name, str) for name in wanted):
        raise ParameterError.of("output", "simulate", "names of the model", output)
    groups = (system.initial, system.functions, system.parameters, system.constants)
    for name in wanted:
        if name != "time" and not any(name in group for group in groups):
            known = [each for group in groups for each in group]
            raise ParameterError.of("output", "simulate", "names of the model", name, known)
    return [name for name in dict.fromkeys(wanted) if name != "time"]


def checked_values(
    system: System, parameters: Mapping[str, float] | pd.DataFrame | None, kind: np.dtype
) -> dict[str, NDArray[np.float64]]:
    """Return values by name, of parameters and initial states, which a type can hold."""
    known = [*system.parameters, *system.initial]
    parameters = {} if parameters is None else parameters
    many = isinstance(parameters, _pandas().DataFrame)
    if not many and not isinstance(parameters, Mapping):
        rule = "a mapping of names to numbers, or a pandas.DataFrame"
        raise ParameterError.of("parameters", "simulate", rule, parameters)
    names = list(parameters)
    for place, name in enumerate(names):
        if name not in system.parameters and name not in system.initial:
            raise ParameterError.of("parameters", "simulate", "names of the model", name, known)
        if name in names[:place]:
            raise ParameterError.of("parameters", "simulate", "columns of different names", name)
    values = {}
    for name in names:
        try:
            exact = real(parameters[name], f"the values of {name!r}")
        except GraphError as error:
            raise ParameterError(f"simulate: {error}") from None
        values[name] = exact.astype(np.float64)
        with np.errstate(over="ignore"):
            changed = lost(exact, exact.astype(kind))
        if changed.any():
            first = exact[changed][0].item()
            raise ParameterError.of(name, "simulate", f"a number that {kind} holds", first)
        if values[name].ndim != many:
            raise ParameterError.of(name, "simulate", "one number", parameters[name])
        if not (finite := np.isfinite(values[name])).all():
            first = values[name][~finite][0].item()
            raise ParameterError.of(name, "simulate", "finite", first)
    return values


def _plan(
    system: System,
    duration: float,
    step: float,
    method: str,
    every: int,
    readback: int | None,
    tolerances: tuple[float, float] | None,
) -> Plan:
    for name, value in (("duration", duration), ("step", step)):
        if not is_real(value) or not 0 < value < math.inf or value > sys.float_info.max:
            raise ParameterError.of(name, "simulate", "a positive number", value)
    if duration / step > _STEPS:
        rule = f"at most 2^53 steps of {step}"
        raise ParameterError.of("duration", "simulate", rule, duration)
    every = integer("every", "simulate", every, 1)
    if readback is not None:
        readback = integer("readback", "simulate", readback, 1)
    method = choice("method", "simulate", method, METHODS)
    adaptive = METHODS[method].error is not None
    if adaptive and system.resets:
        rule = "'euler' or 'rk4' for a model that resets states after a step"
        raise ParameterError.of("method", "simulate", rule, method)
    if tolerances is None:
        tolerances = _TOLERANCES
    elif not adaptive:
        raise ParameterError.of("tolerances", "simulate", f"None for {method}", tolerances)
    pair = isinstance(tolerances, Sequence) and len(tolerances) == 2
    if not pair or not all(is_real(each) and 0 < each < math.inf for each in tolerances):
        raise ParameterError.of("tolerances", "simulate", "two positive numbers", tolerances)
    steps = math.floor(duration / step * (1 + 1e-12))
    every = min(every, steps + 1)  # kernels count in 32 bits; step 0 alone is returned
    limits = (tolerances[0], tolerances[1]) if adaptive else None
    return Plan(system.start, float(step), steps, every, readback, limits)


def _check_room(plan: Plan, row: int) -> None:
    """Raise an error if the outputs do not fit in the memory; a row has this many bytes."""
    needed, available = (plan.steps // plan.every + 1) * row, available_memory()
    if available is not None and needed > available:
        hint = "the host cannot hold the outputs: return every k-th step, with every=k"
        raise DeviceMemoryError(needed, available, hint)


def _identity(system: System, layout: Layout, states: NDArray[np.float64], *more: object) -> bytes:
    """Return bytes that differ for simulations with different results."""
    parts = [repr((system.name, layout.slots, layout.options, layout.width, more)).encode()]
    for phase in layout.every:
        for bundle in phase.bundles:
            parts += [repr(bundle.shape).encode(), bundle.slots.tobytes()]
            parts.append(bundle.constants.tobytes())
    return b"".join([*parts, states.tobytes()])


def _pandas() -> ModuleType:
    with extra("simulation", "pyapsp.simulate"):
        import pandas
    module: ModuleType = pandas
    return module
