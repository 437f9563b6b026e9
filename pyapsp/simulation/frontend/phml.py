"""PHML and ISML: the formats of PhysioDesigner, Flint and insilicoIDE.

A quantity has the name ``MODULE.QUANTITY``, and ``QUANTITY`` alone if the model has one module.
The copies of a template are ``MODULE[1]``, ``MODULE[2]``, … A quantity that takes its value from
one port has the name of the quantity at the other end.

As in Flint, the time of all modules, and of SBML in them, is that of the model, and values go
along edges without conversion of units. The step of the file is not used.

References
----------
Y. Asai et al., "Databases for multilevel biophysiology research available at Physiome.jp",
Frontiers in Physiology 6:251, 2015, doi:10.3389/fphys.2015.00251.
"""

from __future__ import annotations

import math
from os import PathLike

from pyapsp.base.errors import ModelError
from pyapsp.simulation.expressions import Apply, Expression, Name, Number
from pyapsp.simulation.frontend.assembly import Draft
from pyapsp.simulation.frontend.documents import Element
from pyapsp.simulation.frontend.mathml import Equation, MathML
from pyapsp.simulation.frontend.phml_files import Files
from pyapsp.simulation.frontend.phml_modules import Module, read_modules
from pyapsp.simulation.frontend.phml_names import Names, connectors
from pyapsp.simulation.frontend.series import interpolation, read_isd
from pyapsp.simulation.frontend.trees import TIME, number, piecewise
from pyapsp.simulation.system import System

__all__ = ["read_phml"]


def read_phml(root: Element, path: str | PathLike[str], files: Files) -> System:
    """Read a model in PHML or ISML.

    Parameters
    ----------
    root, path
        The document, as for `read_cellml`.
    files : Files
        The files that the document refers to.

    Raises
    ------
    ModelError
        The document is malformed, or has vectors, delays, stochastic terms, events or anything
        else that cannot be simulated.
    """
    return _Reader(root, path, files).system()


class _Reader:
    def __init__(self, root: Element, path: str | PathLike[str], files: Files) -> None:
        self._root = root
        self._path = path
        self._files = files
        self._math = MathML(path)
        self._draft = Draft(path)
        self._functions: list[str] = []
        self._units = self._read_units()
        self._time_unit = self._read_time()
        self._modules = read_modules(root, path)
        self._names = Names(self._modules)

    def system(self) -> System:
        """Return the system of the model."""
        for name, module in self._modules.items():
            for construct in module.element.all("event-set", "event"):
                raise module.error("event", "is not supported", construct.line)
            self._import(name, module)
        for name, module in self._modules.items():
            for quantity in self._names.quantities[name].values():
                self._quantity(name, module, quantity)
        draft = self._draft
        for state in draft.derivatives:
            if state not in draft.initial:
                raise ModelError(self._path, f"state {state!r}", "has no initial value")
        if not draft.derivatives and not self._functions:
            raise ModelError(self._path, "model", "nothing in it changes in time")
        name = self._root.text_of("header", "model-name") or "model"
        return draft.finish(name, time_unit=self._time_unit, functions=self._functions)

    def _read_units(self) -> dict[str, str]:
        """Return the names of the units by identifier."""
        parts: dict[str, list[str]] = {}
        units: dict[str, str] = {}
        for unit in self._root.all("unit-set", "unit"):
            units[unit.get("unit-id")] = unit.text_of("name")
            parts[unit.get("unit-id")] = [part.get("unit-id") for part in unit.all("element")]
        for unit_id in units:
            seen, below = {unit_id}, list(parts[unit_id])
            while below:
                part = below.pop()
                if part == unit_id:
                    raise ModelError(self._path, f"unit {units[unit_id]!r}", "is defined by itself")
                if part not in units:
                    raise ModelError(
                        self._path, f"unit {units[unit_id]!r}", f"there is no unit {part!r}"
                    )
                if part not in seen:
                    seen.add(part)
                    below.extend(parts[part])
        return units

    def _read_time(self) -> str:
        """Return the unit of the time."""
        time = self._root.first("header", "numerical-configuration", "time-discretization")
        if time is None:
            return ""
        step = time.text_of("step")
        try:
            good = number(step) > 0
        except ValueError:
            good = False
        if not good:
            message = f"the step {step!r} is not a positive number"
            raise ModelError(self._path, "time-discretization", message, time.line)
        for other in self._root.all("module-set", "module", "property", "time-discretization"):
            if other.get("unit-id") != time.get("unit-id"):
                message = "a module with a time unit of its own is not supported"
                raise ModelError(self._path, "time-discretization", message, other.line)
        return self._units.get(time.get("unit-id"), "")

    def _quantity(self, module_id: str, module: Module, element: Element) -> None:
        name = element.text_of("name")
        changed = module.changed.get(element.get("physical-quantity-id"))
        parts = {child.name: child for child in element.children}
        if changed is not None:
            parts |= {child.name: child for child in changed.children}
        implementation = parts.get("implementation")
        definition = None if implementation is None else implementation.first("definition")
        if implementation is None or definition is None:
            raise module.error(f"quantity {name!r}", "has no definition", element.line)
        units = [part.get("unit-id") for part in element.all("value-type-set", "value-type")]
        if definition.get("type") == "assign":
            target = self._assign(module_id, element, definition)
        elif definition.get("type") in ("ae", "ode", "conditional"):
            target = self._define(module_id, element, self._equation(module_id, definition))
        else:
            kind = definition.get("sub-type") or definition.get("type")
            raise module.error(f"definition {kind!r}", "is not supported", definition.line)
        if target:
            self._draft.units[target] = self._units.get(units[0], "") if units else ""
        start = parts.get("initial-value")
        start = None if start is None else start.first("definition")
        if start is not None and target:
            state, _, value = self._equation(module_id, start)
            self._draft.initial[self._names.resolve(module_id, state)] = value
        for extra in implementation.all("extra-implementation"):
            if extra.get("type") != "multiple-input-assignment":
                self._reset(module_id, element, extra)

    def _assign(self, module: str, element: Element, definition: Element) -> str:
        """Define a quantity by its ports or its time series; return its name if it is its own."""
        owner, name = self._modules[module], element.text_of("name")
        full, kind = self._names.full(module, name), definition.get("sub-type")
        value: Expression
        if kind == "port":
            sources = self._names.sources(module, element, definition)
            reduction = self._names.reduction(module, element)
            if reduction == "degree":
                value = Number(float(len(sources)))
            elif self._names.resolve(module, name) != full:
                return ""
            else:
                operands = tuple(Name(self._names.resolve(*source)) for source in sources)
                operator = {"max": "max", "min": "min"}.get(reduction, "plus")
                value = Apply(operator, operands)
                if reduction == "mean":
                    value = Apply("divide", (value, Number(float(len(sources)))))
        elif kind == "bridge":
            self._names.resolve(module, name)
            return ""
        elif kind == "timeseries":
            value = self._series(owner, definition)
        else:
            raise owner.error(f"assignment {kind!r}", "is not supported", definition.line)
        self._draft.definitions[full] = value
        self._functions.append(full)
        return full

    def _equation(self, module: str, definition: Element) -> Equation:
        """Return the equation of a definition; cases become a piecewise expression."""

        def find(name: str) -> Expression:
            if name in self._names.quantities[module]:
                return Name(self._names.resolve(module, name))
            if name == "time":
                return TIME
            raise self._modules[module].error(
                f"name {name!r}", "is used but not defined", definition.line
            )

        owner = self._modules[module]
        if definition.get("type") != "conditional":
            mathematics = definition.first("math")
            if mathematics is None:
                raise owner.error("definition", "has no mathematics", definition.line)
            target, time, value = self._math.equation(mathematics, find)
            if time not in ("", "time"):
                raise owner.error(f"derivative by {time!r}", "is not supported", definition.line)
            return target, time, value
        targets, pieces, otherwise = set(), [], None
        for case in definition.all("case-set", "case"):
            inner, condition = case.first("definition"), case.first("condition", "math")
            if inner is None or otherwise is not None:
                raise owner.error("case", "comes after one without condition", case.line)
            target, time, value = self._equation(module, inner)
            targets.add((target, time))
            if condition is None:
                otherwise = value
            else:
                pieces.append((value, self._math.expression(condition, find)))
        if len(targets) != 1:
            raise owner.error("cases", "must define one quantity", definition.line)
        target, time = targets.pop()
        return target, time, piecewise(pieces, otherwise)

    def _define(self, module: str, element: Element, equation: Equation) -> str:
        """Add an equation; its left side says which quantity it defines."""
        owner, draft = self._modules[module], self._draft
        name, derived, value = equation
        if name not in self._names.quantities[module]:
            raise owner.error(f"name {name!r}", "is defined but is no quantity", element.line)
        full = self._names.full(module, name)
        if full != self._names.resolve(module, name) or any(
            full in part for part in (draft.derivatives, draft.definitions, draft.frozen)
        ):
            raise owner.error(f"quantity {name!r}", "is defined twice", element.line)
        if derived:
            draft.derivatives[full] = value
        elif self._names.quantities[module][name].get("type") == "variable-parameter":
            draft.definitions[full] = value
            self._functions.append(full)
        elif self._names.quantities[module][name].get("type") == "static-parameter":
            number = _number(value)
            if number is None:
                draft.frozen[full] = value
            else:
                draft.parameters[full] = number
        else:
            raise owner.error(f"state {name!r}", "has no differential equation", element.line)
        return full

    def _reset(self, module: str, element: Element, extra: Element) -> None:
        """Add what a state is set to after each step."""
        owner, name = self._modules[module], element.text_of("name")
        definition = extra.first("definition")
        if extra.get("type") != "instantaneous" or extra.get("order") != "after":
            kind = f"extra-implementation {extra.get('order')} {extra.get('type')}"
            raise owner.error(kind, "is not supported", extra.line)
        if definition is None or element.get("type") != "state":
            raise owner.error(f"extra-implementation of {name!r}", "is not supported", extra.line)
        target, derived, value = self._equation(module, definition)
        full = self._names.full(module, name)
        if target != name or derived or full in self._draft.resets:
            raise owner.error(f"extra-implementation of {name!r}", "is not supported", extra.line)
        if isinstance(value, Apply) and value.operator == "piecewise":
            last = value.operands[-1]
            if isinstance(last, Number) and math.isnan(last.value):  # no case holds: it stays
                value = Apply("piecewise", (*value.operands[:-1], Name(full)))
        self._draft.resets[full] = value

    def _series(self, owner: Module, definition: Element) -> Expression:
        reference = definition.first("reference")
        wanted = "" if reference is None else reference.get("timeseries-id")
        column = "" if reference is None else reference.get("element-id")
        sets = [owner.element, self._root]
        for series in (item for at in sets for item in at.all("timeseries-set", "timeseries")):
            if series.get("timeseries-id") == wanted:
                if series.get("format") != "isd":
                    raise owner.error(
                        f"time series {series.get('format')!r}", "is not supported", series.line
                    )
                columns = read_isd(self._files.read(series), self._path)
                if column not in columns:
                    raise owner.error(
                        f"time series {wanted!r}", f"has no column {column!r}", series.line
                    )
                return interpolation(next(iter(columns.values())), columns[column])
        raise owner.error(f"time series {wanted!r}", "is not defined", definition.line)

    def _import(self, name: str, module: Module) -> None:
        """Add the SBML model in a module; quantities of the module may set its species."""
        element = module.element.first("import")
        if element is None:
            return
        from pyapsp.simulation.frontend.phml_sbml import import_sbml

        sets = {
            symbol: self._names.full(name, quantity)
            for quantity, item in self._names.quantities[name].items()
            for direction, symbols in [connectors(item)]
            for symbol in symbols[-1:]
            if direction == "set"
        }
        prefix = f"{module.label}.sbml."
        self._names.bridged[name] = import_sbml(
            element, self._path, self._files, self._draft, self._functions, prefix, sets
        )


def _number(value: Expression) -> float | None:
    if isinstance(value, Apply) and value.operator == "minus" and len(value.operands) == 1:
        below = _number(value.operands[0])
        return None if below is None else -below
    return value.value if isinstance(value, Number) else None
