"""CellML 1.0, 1.1 and 2.0, one file.

A quantity has the name ``COMPONENT.VARIABLE``. Connected variables are one quantity, with the
name and the units of the variable that defines it. Where another component has it in other units,
its value is converted.

References
----------
A. A. Cuellar et al., "CellML 1.1 Specification", 2006.
M. Clerx et al., "CellML 2.0", Journal of Integrative Bioinformatics 17(2-3), 2020,
doi:10.1515/jib-2020-0021.
"""

from __future__ import annotations

from os import PathLike

from pyapsp.base.errors import ModelError
from pyapsp.simulation.expressions import Apply, Expression, Name, Number
from pyapsp.simulation.frontend.assembly import Draft
from pyapsp.simulation.frontend.cellml_units import Units
from pyapsp.simulation.frontend.documents import Element
from pyapsp.simulation.frontend.mathml import MathML
from pyapsp.simulation.frontend.trees import TIME, number
from pyapsp.simulation.system import System

__all__ = ["read_cellml"]

#: A variable: names of component and variable.
Variable = tuple[str, str]


def read_cellml(root: Element, path: str | PathLike[str]) -> System:
    """Read a model in CellML.

    Parameters
    ----------
    root : Element
        Root of the document.
    path : path-like
        Its file, for errors.

    Raises
    ------
    ModelError
        The document is malformed, or has imports, reactions, resets, implicit equations or
        anything else that cannot be simulated.
    """
    return _Reader(root, path).system()


class _Reader:
    def __init__(self, root: Element, path: str | PathLike[str]) -> None:
        self._root = root
        self._path = path
        self._math = MathML(path)
        for refused in ("import", "reset", "reaction"):
            for at in (root, *root.all("component")):
                for element in at.all(refused):
                    raise ModelError(path, refused, "is not supported", element.line)
        units = Units(root.all("units"), path)
        self._units: dict[str, Units] = {}
        self._variables: dict[Variable, Element] = {}
        for component in root.all("component"):
            name = component.get("name")
            self._units[name] = Units(component.all("units"), path, units)
            for variable in component.all("variable"):
                key = (name, variable.get("name"))
                if key in self._variables:
                    raise self._error(variable, key, "is defined twice")
                self._variables[key] = variable
        self._group = {key: key for key in self._variables}
        self._connect()
        self._main = self._choose()
        self._times = {
            self._of(component.get("name"), variable.text, variable)
            for component in root.all("component")
            for variable in _times(component)
        }

    def system(self) -> System:
        """Return the system of the model."""
        if len(self._times) > 1:
            names = ", ".join(sorted(".".join(key) for key in self._times))
            raise ModelError(self._path, "bvar", f"there is more than one time: {names}")
        draft = Draft(self._path)
        defined: set[Variable] = set()
        for component in self._root.all("component"):
            for mathematics in component.all("math"):
                for equation in mathematics.children:
                    self._equation(component.get("name"), equation, draft, defined)
        for key, variable in self._variables.items():
            main, value = self._of(*key, variable), variable.get("initial_value")
            if main in self._times:
                if value:
                    raise self._error(variable, key, "is the time and has an initial value")
            elif value:
                self._initial(key, main, value, draft, main in defined)
        for main in {self._of(*key, element) for key, element in self._variables.items()}:
            if main not in self._times:
                draft.units[".".join(main)] = self._variables[main].get("units")
        for state in draft.derivatives:
            if state not in draft.initial:
                raise ModelError(self._path, f"variable {state!r}", "has no initial value")
        unit = next((self._variables[time].get("units") for time in self._times), "")
        return draft.finish(self._root.get("name") or "model", time_unit=unit)

    def _connect(self) -> None:
        """Join the groups of connected variables."""
        for connection in self._root.all("connection"):
            ends = connection.first("map_components") or connection
            first, second = ends.get("component_1"), ends.get("component_2")
            for pair in connection.all("map_variables"):
                one = self._leader((first, pair.get("variable_1")), pair)
                two = self._leader((second, pair.get("variable_2")), pair)
                self._group[two] = one

    def _leader(self, key: Variable, at: Element) -> Variable:
        if key not in self._group:
            raise self._error(at, key, "is not defined")
        while self._group[key] != key:
            self._group[key] = self._group[self._group[key]]
            key = self._group[key]
        return key

    def _choose(self) -> dict[Variable, Variable]:
        """Return for each group the variable that is defined in its component."""
        main: dict[Variable, Variable] = {}
        owned = {
            (component.get("name"), name)
            for component in self._root.all("component")
            for name in _left_sides(component)
        }
        for key, variable in self._variables.items():
            leader = self._leader(key, variable)
            if key in owned or variable.get("initial_value"):
                if leader not in main or main[leader] not in owned:
                    main[leader] = key
            else:
                interfaces = {variable.get("public_interface"), variable.get("private_interface")}
                if "in" not in interfaces:
                    main.setdefault(leader, key)
        for key, variable in self._variables.items():
            main.setdefault(self._leader(key, variable), key)
        return main

    def _of(self, component: str, name: str, at: Element) -> Variable:
        return self._main[self._leader((component, name), at)]

    def _scale(self, key: Variable, main: Variable) -> tuple[float, float]:
        """Return what a value of the main variable is multiplied by for another, and what is added.

        Only a temperature in degrees Celsius beside one in kelvin has something added.
        """
        units = [self._units[at[0]].find(self._variables[at].get("units")) for at in (key, main)]
        if units[0].base != units[1].base:
            message = f"has other units than {'.'.join(main)!r}, to which it is connected"
            raise self._error(self._variables[key], key, message)
        return (
            units[1].factor / units[0].factor,
            (units[1].offset - units[0].offset) / units[0].factor,
        )

    def _value(self, component: str, name: str, at: Element) -> Expression:
        key = (component, name)
        main = self._of(component, name, at)
        value = TIME if main in self._times else Name(".".join(main))
        scale, shift = self._scale(key, main)
        return _plus_number(_times_number(value, scale), shift)

    def _equation(
        self, component: str, equation: Element, draft: Draft, defined: set[Variable]
    ) -> None:
        def find(name: str) -> Expression:
            return self._value(component, name, equation)

        name, time, value = self._math.equation(equation, find)
        main = self._of(component, name, equation)
        if main in defined or main in self._times:
            raise self._error(equation, (component, name), "is defined twice")
        defined.add(main)
        scale, shift = self._scale((component, name), main)
        if time:
            at = self._of(component, time, equation)
            factor = 1.0 / scale * self._scale((component, time), at)[0]
            draft.derivatives[".".join(main)] = _times_number(value, factor)
        else:
            value = _times_number(_plus_number(value, -shift), 1.0 / scale)
            draft.definitions[".".join(main)] = value

    def _initial(
        self, key: Variable, main: Variable, text: str, draft: Draft, is_defined: bool
    ) -> None:
        full, variable = ".".join(main), self._variables[key]
        scale, shift = self._scale(key, main)
        try:
            value: Expression = Number((number(text) - shift) * (1.0 / scale))
        except ValueError:
            value = self._value(key[0], text, variable)
            value = _times_number(_plus_number(value, -shift), 1.0 / scale)
        if full in draft.definitions or full in draft.initial or full in draft.parameters:
            raise self._error(variable, key, "is defined twice")
        if is_defined:
            draft.initial[full] = value
        elif isinstance(value, Number):
            draft.parameters[full] = value.value
        else:
            draft.frozen[full] = value

    def _error(self, at: Element, key: Variable, message: str) -> ModelError:
        return ModelError(self._path, f"variable {'.'.join(key)!r}", message, at.line)


def _times_number(value: Expression, factor: float) -> Expression:
    return value if factor == 1.0 else Apply("times", (Number(factor), value))


def _plus_number(value: Expression, shift: float) -> Expression:
    return value if shift == 0.0 else Apply("plus", (value, Number(shift)))


def _left_sides(component: Element) -> list[str]:
    """Return the names that the equations of a component define."""
    names = []
    for equation in component.all("math", "apply"):
        left = equation.children[1:2]
        while left and left[0].name == "apply":
            left = left[0].children[-1:]
        if left and left[0].name == "ci":
            names.append(left[0].text)
    return names


def _times(component: Element) -> list[Element]:
    """Return the names after which a component derives."""
    return [
        name
        for equation in component.all("math", "apply")
        for left in equation.children[1:2]
        for name in left.all("bvar", "ci")
    ]
