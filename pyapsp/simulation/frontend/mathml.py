"""From content MathML to expressions."""

from __future__ import annotations

import math
from collections.abc import Callable
from os import PathLike

from pyapsp.base.errors import ModelError
from pyapsp.simulation.expressions import Expression, Number
from pyapsp.simulation.frontend.documents import Element
from pyapsp.simulation.frontend.trees import TIME, apply, number, piecewise

__all__ = ["Equation", "MathML"]

_CONSTANTS = {
    "pi": math.pi,
    "exponentiale": math.e,
    "eulergamma": 0.5772156649015329,
    "infinity": math.inf,
    "notanumber": math.nan,
}

#: The name on the left side of an equation; what it is derived by, if it is; the right side.
Equation = tuple[str, str, Expression]


class MathML:
    """Translates the mathematics of one document.

    Parameters
    ----------
    path : path-like
        The file, for errors.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = path

    def expression(self, element: Element, find: Callable[[str], Expression]) -> Expression:
        """Return the expression of an element.

        Parameters
        ----------
        element : Element
            A ``math`` element or what may stand in one.
        find : callable
            Gives the expression that a name in the document stands for.

        Raises
        ------
        ModelError
            The mathematics is malformed or not supported.
        """
        name, children = element.name, element.children
        if name == "math":
            return self.expression(self._only(element), find)
        if name == "cn":
            return Number(self._number(element))
        if name == "ci":
            return find(self._name(element))
        if name in _CONSTANTS:
            return Number(_CONSTANTS[name])
        if name in ("true", "false"):
            return apply(name)
        if name == "csymbol" and element.text == "time":
            return TIME
        if name == "piecewise":
            return self._piecewise(element, find)
        if name != "apply" or not children:
            raise self._error(element, "is not supported")
        head, *rest = children
        operator = head.name
        if operator in ("csymbol", "ci"):
            raise ModelError(
                self._path, f"MathML {operator} {head.text!r}", "is not supported", head.line
            )
        qualifier = {"root": "degree", "log": "logbase"}.get(operator)
        if qualifier is not None and rest and rest[0].name == qualifier:
            rest[0] = self._only(rest[0])
        operands = [self.expression(child, find) for child in rest]
        try:
            return apply(operator, *operands)
        except ValueError as error:
            raise self._error(head, str(error)) from None

    def equation(self, element: Element, find: Callable[[str], Expression]) -> Equation:
        """Return the parts of an equation ``name = …`` or ``d name / d time = …``.

        Parameters
        ----------
        element : Element
            A ``math`` element with one equation, or an ``apply`` element of ``eq``.
        find : callable
            Gives the expression that a name on the right side stands for.
        """
        if element.name == "math":
            element = self._only(element)
        parts = element.children
        if element.name != "apply" or len(parts) != 3 or parts[0].name != "eq":
            raise self._error(element, "must be an equation of two sides")
        left, right = parts[1], self.expression(parts[2], find)
        if left.name == "ci":
            return self._name(left), "", right
        inner = left.children
        if left.name == "apply" and inner and inner[0].name == "diff":
            if len(inner) != 3 or inner[1].name != "bvar" or inner[2].name != "ci":
                raise self._error(inner[0], "must be the first derivative of one name")
            return self._name(inner[2]), self._name(self._only(inner[1])), right
        raise self._error(left, "the left side must be a name or its derivative")

    def _piecewise(self, element: Element, find: Callable[[str], Expression]) -> Expression:
        pieces, otherwise = [], None
        for child in element.children:
            parts = [self.expression(part, find) for part in child.children]
            if child.name == "piece" and len(parts) == 2:
                pieces.append((parts[0], parts[1]))
            elif child.name == "otherwise" and len(parts) == 1 and otherwise is None:
                otherwise = parts[0]
            else:
                raise self._error(child, "does not fit into a piecewise")
        return piecewise(pieces, otherwise)

    def _only(self, element: Element) -> Element:
        if len(element.children) != 1:
            raise self._error(element, "must contain one element")
        return element.children[0]

    def _name(self, element: Element) -> str:
        if not element.text or element.children:
            raise self._error(element, "must be a name")
        if element.get("type") in ("vector", "matrix"):
            raise self._error(element, f"a {element.get('type')} is not supported")
        return element.text

    def _number(self, element: Element) -> float:
        kind = element.get("type") or "real"
        texts = "".join(part if isinstance(part, str) else "\0" for part in element.parts)
        parts = [part.strip() for part in texts.split("\0")]
        if element.get("base") not in ("", "10"):
            raise self._error(element, "only numbers of base 10 are supported")
        try:
            if kind == "e-notation" and len(parts) == 2:
                return number(f"{parts[0]}e{int(parts[1])}")
            values = [number(part) for part in parts]
            if kind == "rational" and len(values) == 2:
                return values[0] / values[1]
            if kind in ("real", "integer", "double") and len(values) == 1:
                return values[0]
        except (ValueError, ZeroDivisionError):
            pass
        raise self._error(element, f"{element.text!r} is not a number of type {kind}")

    def _error(self, element: Element, message: str) -> ModelError:
        return ModelError(self._path, f"MathML {element.name!r}", message, element.line)
