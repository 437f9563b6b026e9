"""Many sets of parameters of one model: a work-item, or a lane of a vector, for each.

The program has the whole model as one task of a sweep. Values that are the same for all sets are in
its text. Constants and initial values that differ are computed for all sets at once on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import ParameterError, PrecisionError
from pyapsp.device import DeviceLike
from pyapsp.device.kernels.source import flattened
from pyapsp.graph.validation import is_real
from pyapsp.simulation.integrate import Plan
from pyapsp.simulation.methods import Reals, Tableau
from pyapsp.simulation.schedule import compile_model
from pyapsp.simulation.system import System
from pyapsp.simulation.translator import Tables, literal, translate
from pyapsp.simulation.values import at_start
from pyapsp.sweep import Array, Outcome, Step, Sweep

__all__ = ["KINDS", "Reduction", "checked_reductions", "ensemble"]

#: What an output is reduced to: its last value, its least and largest one, and the first time at
#: which it rises to a threshold.
KINDS = ("last", "min", "max", "crossing")
#: A kind and an output; for a crossing also the threshold.
Reduction = tuple[str, str] | tuple[str, str, float]

# For each kind the value at first, and the statement at an output.
_FIRST = {"last": "NAN", "min": "INFINITY", "max": "-INFINITY", "crossing": "NAN"}
_STATEMENTS = {
    "last": "reduced[{0}] = {1};",
    "min": "reduced[{0}] = fmin(reduced[{0}], {1});",
    "max": "reduced[{0}] = fmax(reduced[{0}], {1});",
    # the value before is behind the reductions
    "crossing": "reduced[{0}] = "
    "((reduced[{0}] != reduced[{0}]) & (reduced[{2}] < {3}) & ({1} >= {3}))"
    " ? t - every * h * (({1} - {3}) / ({1} - reduced[{2}])) : reduced[{0}]; reduced[{2}] = {1};",
}


def ensemble(
    system: System,
    sets: Mapping[str, NDArray[np.float64]],
    names: Sequence[Hashable],
    plan: Plan,
    tableau: Tableau,
    outputs: Sequence[str],
    reduce: Mapping[str, Reduction] | None,
    *,
    dtype: np.dtype,
    device: DeviceLike,
    progress: Callable[[int, int], None] | None,
) -> tuple[dict[str, Reals], Outcome]:
    """Integrate a model for many sets of parameters.

    Parameters
    ----------
    sets : mapping of str to (many,) float64 ndarray
        The values that differ.
    names : sequence
        The name of each set, for messages.

    Returns
    -------
    results : dict of str to ndarray
        By the name of a reduction one value for each set; without reductions by the name of an
        output (sets, rows) values.
    outcome : Outcome
        The sweep.

    Raises
    ------
    ParameterError
        For an unknown reduction, and too many steps.
    PrecisionError
        The steps of an adaptive method vanish.
    """
    adaptive, many = tableau.error is not None, len(names)
    if plan.steps >= 2**31:
        raise ParameterError.of("duration", "simulate", "less than 2^31 steps", plan.steps)
    values, initial = at_start(system, sets)
    varying = [name for name, value in values.items() if np.ndim(value)]
    fixed = {name: float(value) for name, value in values.items() if not np.ndim(value)}
    file = "ensemble_adaptive" if adaptive else "ensemble"
    text, count = _text(system, fixed, varying, plan, outputs, reduce, file)
    count += adaptive
    nothing = [np.zeros(many)]  # arrays have at least one entry
    columns = [np.broadcast_to(initial[name], many) for name in initial]
    start = np.stack(columns or nothing, axis=1)
    inputs = np.stack([values[name] for name in varying] or nothing, axis=1)
    kind = dtype.name
    numbers = _numbers(tableau)
    sweep = Sweep(
        text,
        [
            Array("start", "input", kind, (start.shape[1],)),
            Array("varied", "input", kind, (inputs.shape[1],)),
            Array("clock", "common", kind, (4,)),
            Array("counts", "common", "int32", (2,)),
            Array("tableau", "common", kind, (numbers.size,)),
            Array("results", "output", kind, (count,)),
        ],
        Step("integrate"),
        device=device,
        scheme="interleaved",
        vectors=True,
        checked=False,  # the text is ours, and long for large models
        progress=progress,
        defines={
            "PYAPSP_REAL": "double" if kind == "float64" else "float",
            "PYAPSP_SINGLE": int(kind == "float32"),
            "PYAPSP_STAGES": tableau.stages,
            "RESULTS": count,
        },
    )
    outcome = sweep(
        start=start.astype(dtype),
        varied=inputs.astype(dtype),
        clock=np.array([plan.start, plan.step, *(plan.tolerances or (0, 0))], dtype),
        tableau=numbers.astype(dtype),
        counts=np.array([plan.steps, plan.every], np.int32),
    )
    results = outcome["results"]
    if adaptive:
        vanished = np.flatnonzero(results[:, -1])
        if vanished.size:
            raise PrecisionError(
                f"the steps of set {names[vanished[0]]!r} vanish: the tolerances cannot be met"
            )
        results = results[:, :-1]
    if reduce is not None:
        return {name: results[:, place] for place, name in enumerate(reduce)}, outcome
    rows = results.reshape(many, plan.times.size, len(outputs))
    return {name: rows[:, :, place] for place, name in enumerate(outputs)}, outcome


def _numbers(tableau: Tableau) -> NDArray[np.float64]:
    """Return nodes, rows of weights, and weights of the error."""
    rows = [tableau.rows[i, : i + 1] for i in range(tableau.stages)]
    error = [] if tableau.error is None else [tableau.error]
    return np.concatenate([tableau.nodes, *rows, *error])


def checked_reductions(
    reduce: Mapping[str, Reduction] | None,
) -> dict[str, Reduction] | None:
    """Return reductions whose kinds and thresholds are right."""
    if reduce is None:
        return None
    rule = f"a mapping of names to (kind, output), of kind {', '.join(KINDS)}"
    if not isinstance(reduce, Mapping) or not reduce:
        raise ParameterError.of("reduce", "simulate", rule, reduce)
    for name, each in reduce.items():
        right = isinstance(name, str) and isinstance(each, tuple) and len(each) in (2, 3)
        right = right and each[0] in KINDS and len(each) == (3 if each[0] == "crossing" else 2)
        if right and len(each) == 3:
            right = is_real(each[2]) and np.isfinite(each[2])
        if not right:
            rule += ", for a crossing (kind, output, threshold)"
            raise ParameterError.of("reduce", "simulate", rule, each)
    return dict(reduce)


def _text(
    system: System,
    fixed: Mapping[str, float],
    varying: Sequence[str],
    plan: Plan,
    outputs: Sequence[str],
    reduce: Mapping[str, Reduction] | None,
    file: str,
) -> tuple[str, int]:
    """Return the body of the sweep, in the form of a file, and how many values a task returns."""
    model = compile_model(system, fixed, varying=varying)
    states = len(model.states)
    varied = max(len(varying), 1)
    functions = len(model.functions) + varied
    tables = Tables()

    def function(name: str, threads: list[list[int]], arguments: str) -> list[str]:
        lines = [f"static void {name}(const real t, const real *x, {arguments})", "{"]
        numbers = [number for thread in threads for number in thread]
        for bundle, row in model.codes.places[numbers].tolist():
            block = translate(model.codes.bundles[bundle].row(row), states, tables)
            lines += ["    {", *("        " + line for line in block), "    }"]
        return [*lines, "}"]

    slots = {name: slot for slot, name in enumerate((*model.states, *model.functions, *varying))}

    def value(name: str) -> str:
        if name in fixed:
            return f"((real){literal(fixed[name])})"
        slot = slots[name]
        return f"x[{slot}]" if slot < states else f"f[{slot - states}]"

    first, sample, last = [], [], []
    if reduce is None:
        count, registers = len(plan.times) * len(outputs), 1
        for place, name in enumerate(outputs):
            sample.append(f"OUT(results, row * {len(outputs)} + {place}) = {value(name)};")
    else:
        count, registers = len(reduce), 2 * len(reduce)
        for place, (kind, name, *threshold) in enumerate(reduce.values()):
            limit = f"((real){literal(float(threshold[0]))})" if threshold else ""
            first += [
                f"reduced[{place}] = {_FIRST[kind]};",
                f"reduced[{place + count}] = INFINITY;",
            ]
            sample.append(_STATEMENTS[kind].format(place, value(name), place + count, limit))
            last.append(f"OUT(results, {place}) = reduced[{place}];")
    sizes = {
        "MODEL": 1,
        "STATES": max(states, 1),
        "FUNCTIONS": functions,
        "VARIED": varied,
        "REDUCED": registers,
    }
    lines = [f"#define {name} {size}" for name, size in sizes.items()]
    lines.append(f"#define RESETS {int(bool(model.resets))}")
    for name, statements in (("SAMPLE", sample), ("FIRST", first), ("LAST", last)):
        lines.append(f"#define MODEL_{name} " + " ".join(statements))
    flat = [thread for phase in model.phases[:-1] for thread in phase]
    lines += function("model_functions", flat, "real *f")
    lines += function("model_slopes", model.phases[-1], "const real *f, real *k")
    lines += function("model_resets", model.resets, "const real *f, real *k")
    head, tail = flattened("simulation/ensemble.h"), flattened(f"simulation/{file}.cl")
    return "\n".join([head, '#line 1 "model"', *lines, tail]), count
