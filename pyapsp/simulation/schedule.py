"""The order of evaluation: phases of expressions that do not depend on each other.

A function follows the functions that it reads. References to states are ignored, because states
change only after all expressions of a step. Level scheduling puts a function into the first phase
after those of its functions. The last phase has the derivatives.

*Merge* appends a function to the bytecode of the only one that it reads in the phase before, so
that it needs no phase of its own; a work-item then evaluates up to three functions in turn.

Source: F. Okuyama's thesis, 2013, sections 5.3 and 5.5.1, figure 5.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pyapsp.base.errors import ModelError
from pyapsp.simulation.bytecode import Codes, compiled
from pyapsp.simulation.expressions import Expression, names, parted
from pyapsp.simulation.system import System
from pyapsp.simulation.values import Sorted, cycle_error

__all__ = ["MERGED", "SUMMED", "Model", "check", "compile_model", "levels"]

#: The functions that one work-item evaluates in a phase at most.
MERGED = 3
#: The terms from which on a sum of variables is computed by a warp.
SUMMED = 32


@dataclass(frozen=True)
class Model:
    """A system in bytecode."""

    # Their names. The slot of a variable is its position in `states + functions`.
    states: tuple[str, ...]
    functions: tuple[str, ...]
    # The bytecodes of functions, derivatives and resets. An assignment to the slot of a state is
    # its derivative, or its new value.
    codes: Codes
    # For each phase the threads, each with the numbers of its bytecodes in order. The last one has
    # the derivatives.
    phases: list[list[list[int]]]
    resets: list[list[int]]  # what states get after a step


def check(system: System) -> None:
    """Raise the error of a system that has no meaning.

    Raises
    ------
    ModelError
        If a name is unknown or belongs to two quantities, or if a state lacks one of initial value
        and derivative.
    """
    groups = {
        "parameter": system.parameters,
        "constant": system.constants,
        "state": system.initial,
        "function": system.functions,
    }
    owner: dict[str, str] = {"time": "time"}
    for kind, group in groups.items():
        for name in group:
            if name in owner:
                construct = f"{kind} {name!r}"
                raise ModelError(system.name, construct, f"the name is also a {owner[name]}")
            owner[name] = kind
    for name in system.initial:
        if name not in system.derivatives:
            raise ModelError(system.name, f"state {name!r}", "it has no derivative")
    for kind, group in (("derivative", system.derivatives), ("reset", system.resets)):
        for name in group:
            if name not in system.initial:
                raise ModelError(system.name, f"{kind} of {name!r}", "it is no state")
    rules = {
        "constant": system.constants,
        "initial value of": system.initial,
        "derivative of": system.derivatives,
        "function": system.functions,
        "reset of": system.resets,
    }
    for kind, group in rules.items():
        for name, rule in group.items():
            try:
                parted(rule)
            except TypeError as error:
                raise ModelError(system.name, f"{kind} {name!r}", str(error)) from None
    fixed = {*system.parameters, *system.constants}
    _check_names(system, "constant", system.constants, fixed)
    _check_names(system, "initial value of", system.initial, set(owner))


def _check_names(
    system: System, kind: str, group: Mapping[str, Expression], known: set[str]
) -> None:
    for name, expression in group.items():
        for each in names(expression):
            if each not in known:
                raise ModelError(system.name, f"{kind} {name!r}", f"the name {each!r} is unknown")


def compile_model(
    system: System,
    values: Mapping[str, float],
    *,
    merge: bool = False,
    sums: bool = False,
    varying: Sequence[str] = (),
) -> Model:
    """Return a system in bytecode, scheduled.

    Parameters
    ----------
    system : System
    values : mapping of str to float
        The values of parameters and constants.
    merge : bool
        Whether functions are shifted into earlier phases.
    sums : bool
        Whether sums of `SUMMED` variables and more become one instruction.
    varying : sequence of str
        Names that get slots after those of the functions.

    Raises
    ------
    ModelError
        For a cycle of functions, an unknown name, and an operator that is unknown or has a wrong
        number of operands.
    """
    states, functions = tuple(system.initial), tuple(system.functions)
    slots = {name: slot for slot, name in enumerate((*states, *functions, *varying))}
    groups = {
        "function": system.functions,
        "derivative of": {name: system.derivatives[name] for name in states},
        "reset of": system.resets,
    }
    expressions = [rule for group in groups.values() for rule in group.values()]
    targets = [slots[name] for group in groups.values() for name in group]

    def wrong(number: int, text: str) -> ModelError:
        keys = [f"{kind} {name!r}" for kind, group in groups.items() for name in group]
        return ModelError(system.name, keys[number], text)

    codes = compiled(expressions, targets, slots, values, wrong, SUMMED if sums else 0)
    needs = _needs(codes, len(states), len(functions))
    level = levels(needs)
    if level is None:
        index = {name: number for number, name in enumerate(functions)}
        order = Sorted(
            lambda name: [functions[each] for each in needs[index[name]]],
            lambda cycle: cycle_error(system, cycle),
        )
        for name in functions:
            order.add(name)
    assert level is not None, "a cycle was not found"
    summing = np.array([bundle.shape.terms > 0 for bundle in codes.bundles], bool)
    alone = summing[codes.places[:, 0]].tolist()
    phases = _threads(needs, level, alone, MERGED if merge else 1)
    rest = [[number] for number in range(len(functions), len(expressions))]
    slopes, resets = rest[: len(states)], rest[len(states) :]
    return Model(states, functions, codes, [*phases, slopes], resets)


def _needs(codes: Codes, states: int, functions: int) -> list[list[int]]:
    """Return the functions that each function reads, in order."""
    readers, others = codes.reads.T - [[0], [states]]
    inside = (readers < functions) & (others >= 0) & (others < functions)
    pairs = np.unique(readers[inside] * functions + others[inside])
    readers, others = np.divmod(pairs, max(functions, 1))
    ends = np.searchsorted(readers, np.arange(functions + 1)).tolist()
    others = others.tolist()
    return [others[first:last] for first, last in pairwise(ends)]


def levels(needs: Sequence[Sequence[int]]) -> list[int] | None:
    """Return the level of each function, from 0; None if some depend on each other in a cycle."""
    readers: list[list[int]] = [[] for _ in needs]
    for function, each in enumerate(needs):
        for other in each:
            readers[other].append(function)
    missing = [len(each) for each in needs]
    level = [0] * len(needs)
    ready = [function for function, count in enumerate(missing) if count == 0]
    for function in ready:  # it grows
        for reader in readers[function]:
            level[reader] = max(level[reader], level[function] + 1)
            missing[reader] -= 1
            if missing[reader] == 0:
                ready.append(reader)
    return level if len(ready) == len(needs) else None


def _threads(
    needs: Sequence[Sequence[int]], level: Sequence[int], alone: Sequence[bool], most: int
) -> list[list[list[int]]]:
    """Return the threads of each phase, with up to `most` functions each.

    A function with a sum has a thread, which becomes a warp, for itself.
    """
    phases: list[list[list[int]]] = []
    phase, thread = [0] * len(needs), [0] * len(needs)
    for function in sorted(range(len(needs)), key=lambda each: level[each]):  # stable
        place = 0
        if needs[function]:
            before = max(phase[each] for each in needs[function])
            there = [each for each in needs[function] if phase[each] == before]
            mates = phases[before][thread[there[0]]]
            fits = len(there) == 1 and len(mates) < most
            if fits and not alone[function] and not alone[there[0]]:
                phase[function], thread[function] = before, thread[there[0]]
                mates.append(function)
                continue
            place = before + 1
        if place == len(phases):
            phases.append([])
        phase[function], thread[function] = place, len(phases[place])
        phases[place].append([function])
    return phases
