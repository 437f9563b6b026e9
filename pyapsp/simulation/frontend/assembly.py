"""From the definitions of a model to a checked :class:`System`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike

from pyapsp.base.errors import ModelError
from pyapsp.simulation.expressions import Expression, Number, names
from pyapsp.simulation.frontend.trees import measure
from pyapsp.simulation.system import System

__all__ = ["Draft"]

# Function definitions that call each other can make a tree of any size from a few lines.
NODES = 1_000_000
DEPTH = 400


@dataclass
class Draft:
    """The definitions of a model, as a front end finds them. Each name is defined once."""

    path: str | PathLike[str]  # the file, for errors
    parameters: dict[str, float] = field(default_factory=dict)  # values that a user may set
    # Values that follow from others.
    definitions: dict[str, Expression] = field(default_factory=dict)
    # Values that keep what the expression gives at the start.
    frozen: dict[str, Expression] = field(default_factory=dict)
    # As in `System`.
    initial: dict[str, Expression] = field(default_factory=dict)
    derivatives: dict[str, Expression] = field(default_factory=dict)
    resets: dict[str, Expression] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    # Quantities without a value, which is an error where an expression uses one.
    unset: set[str] = field(default_factory=set)

    def finish(
        self,
        name: str,
        start: float = 0.0,
        time_unit: str = "",
        functions: Iterable[str] = (),
    ) -> System:
        """Check the definitions and return the system.

        A definition that depends on nothing that changes is a constant, unless its name is in
        ``functions``. A frozen value that depends on something that changes is a state with a
        derivative of zero.

        Raises
        ------
        ModelError
            A name is defined twice or not at all, definitions form a cycle, or expressions
            are too large.
        """
        for expression in self._expressions():  # first: what follows looks at every part
            size, depth = measure(expression)
            if size > NODES or depth > DEPTH:
                raise ModelError(self.path, "expression", f"it has {size} parts, {depth} deep")
        self._check_names()
        constant = self._constants(set(functions))
        initial, derivatives = dict(self.initial), dict(self.derivatives)
        for frozen in [key for key in self.frozen if key not in constant]:
            initial[frozen], derivatives[frozen] = self.frozen[frozen], Number(0.0)
        below = {**self.definitions, **self.frozen}
        system = System(
            name=name,
            parameters=self.parameters,
            constants={key: below[key] for key in below if key in constant},
            initial=initial,
            derivatives=derivatives,
            functions={
                key: self.definitions[key] for key in self.definitions if key not in constant
            },
            resets=self.resets,
            start=start,
            time_unit=time_unit,
            units={key: unit for key, unit in self.units.items() if unit},
        )
        self._check_cycles({**system.constants, **system.functions})
        self._check_cycles({**system.constants, **system.functions, **system.initial})
        return system

    def _expressions(self) -> Iterable[Expression]:
        parts = (self.definitions, self.frozen, self.initial, self.derivatives, self.resets)
        return (expression for part in parts for expression in part.values())

    def _check_names(self) -> None:
        known = {"time"}
        for part in (self.parameters, self.definitions, self.frozen, self.initial):
            for key in part:
                if key in known:
                    why = "is the name of the time" if key == "time" else "is defined twice"
                    raise ModelError(self.path, f"{key!r}", why)
                known.add(key)
        for expression in self._expressions():
            for key in names(expression):
                if key in self.unset:
                    raise ModelError(self.path, f"{key!r}", "has no value at the start")
                if key not in known:
                    raise ModelError(self.path, f"{key!r}", "is used but not defined")
        for key in self.resets:
            if key not in self.initial:
                raise ModelError(self.path, f"{key!r}", "is set after each step but is no state")

    def _constants(self, functions: set[str]) -> set[str]:
        """Return the names of the definitions and frozen values that do not change."""
        below = {**self.definitions, **self.frozen}
        users: dict[str, list[str]] = {}
        for key, expression in below.items():
            for used in set(names(expression)):
                users.setdefault(used, []).append(key)
        pending = ["time", *self.initial, *(key for key in functions if key in below)]
        changing = set(pending)
        while pending:
            for user in users.get(pending.pop(), ()):
                if user not in changing:
                    changing.add(user)
                    pending.append(user)
        return set(below) - changing

    def _check_cycles(self, expressions: Mapping[str, Expression]) -> None:
        done: set[str] = set()
        for root in expressions:
            path: list[str] = []
            on_path: set[str] = set()
            pending = [(root, False)]
            while pending:
                key, left = pending.pop()
                if left:
                    done.add(path.pop())
                    on_path.discard(key)
                elif key in on_path:
                    loop = " -> ".join([*path[path.index(key) :], key])
                    raise ModelError(self.path, f"{key!r}", f"depends on itself: {loop}")
                elif key not in done:
                    path.append(key)
                    on_path.add(key)
                    pending.append((key, True))
                    below = set(names(expressions[key]))
                    pending.extend((used, False) for used in below if used in expressions)
