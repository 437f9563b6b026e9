"""From libSBML's syntax trees to expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from os import PathLike
from typing import TYPE_CHECKING

from pyapsp.base.errors import ModelError
from pyapsp.simulation.expressions import Expression, Name, Number
from pyapsp.simulation.frontend.trees import TIME, apply, piecewise

if TYPE_CHECKING:
    import libsbml

__all__ = ["Translator"]


@cache
def _operators() -> dict[int, str]:
    """Return the MathML operator of each type of node that has one."""
    import libsbml

    simple = ("plus", "minus", "times", "divide", "power")
    types = {getattr(libsbml, f"AST_{name.upper()}"): name for name in simple}
    types |= {
        getattr(libsbml, f"AST_LOGICAL_{name.upper()}"): name
        for name in ("and", "or", "xor", "not", "implies")
    }
    types |= {
        getattr(libsbml, f"AST_RELATIONAL_{name.upper()}"): name
        for name in ("eq", "neq", "gt", "lt", "geq", "leq")
    }
    functions = ["power", "root", "log", "ln", "exp", "abs", "floor", "ceiling", "factorial"]
    functions += ["max", "min", "rem", "quotient"]
    functions += [
        prefix + name + suffix
        for prefix in ("", "arc")
        for name in ("sin", "cos", "tan", "sec", "csc", "cot")
        for suffix in ("", "h")
    ]
    types |= {getattr(libsbml, f"AST_FUNCTION_{name.upper()}"): name for name in functions}
    return types


class Translator:
    """Translates the syntax trees of one model and inlines its function definitions.

    Parameters
    ----------
    model : libsbml.Model
        The model.
    path : path-like
        Its file, for errors.
    rate_of : callable
        Gives the rate of change of a name.
    """

    def __init__(
        self, model: libsbml.Model, path: str | PathLike[str], rate_of: Callable[[str], Expression]
    ) -> None:
        self._model = model
        self._path = path
        self._rate_of = rate_of
        self._open: list[str] = []  # the function definitions that are being inlined

    def __call__(
        self, node: libsbml.ASTNode, names: Mapping[str, Expression] | None = None
    ) -> Expression:
        """Return the expression of a node.

        Parameters
        ----------
        node : libsbml.ASTNode
            Root of the tree.
        names : mapping of str to Expression, optional
            What names mean here: local parameters, or the arguments of a function.

        Raises
        ------
        ModelError
            The tree has something that is not supported.
        """
        import libsbml

        names = {} if names is None else names
        kind = node.getType()
        if kind in (libsbml.AST_INTEGER, libsbml.AST_REAL, libsbml.AST_REAL_E):
            return Number(float(node.getValue()))
        if kind == libsbml.AST_RATIONAL:
            if not node.getDenominator():
                raise ModelError(self._path, "MathML 'cn'", "a fraction has the denominator 0")
            return Number(node.getNumerator() / node.getDenominator())
        if kind == libsbml.AST_NAME:
            name = Name(node.getName())
            # a quantity that was called so has another name now; formulas of Level 1 have no symbol
            if name == TIME and TIME.name not in names and self._model.getLevel() > 1:
                raise ModelError(self._path, "MathML 'ci'", "'time' is not defined, as a quantity")
            return names.get(name.name) or name
        if kind == libsbml.AST_NAME_TIME:
            return TIME
        constants = {
            libsbml.AST_NAME_AVOGADRO: 6.02214179e23,  # the value that SBML Level 3 prescribes
            libsbml.AST_CONSTANT_PI: math.pi,
            libsbml.AST_CONSTANT_E: math.e,
        }
        if kind in constants:
            return Number(constants[kind])
        if kind == libsbml.AST_CONSTANT_TRUE:
            return apply("true")
        if kind == libsbml.AST_CONSTANT_FALSE:
            return apply("false")
        children = [node.getChild(i) for i in range(node.getNumChildren())]
        if kind == libsbml.AST_FUNCTION_DELAY:
            raise ModelError(self._path, "csymbol delay", "delays are not supported")
        if kind == libsbml.AST_FUNCTION_RATE_OF:
            target = self(children[0], names) if len(children) == 1 else None
            if not isinstance(target, Name):
                raise ModelError(self._path, "csymbol rateOf", "its argument must be one name")
            return self._rate_of(target.name)
        operands = [self(child, names) for child in children]
        if kind == libsbml.AST_FUNCTION_PIECEWISE:
            pairs = list(zip(operands[0::2], operands[1::2], strict=False))
            return piecewise(pairs, operands[-1] if len(operands) % 2 else None)
        if kind == libsbml.AST_FUNCTION:
            return self._inline(node.getName(), operands)
        operator = _operators().get(kind, node.getName() or node.getOperatorName() or str(kind))
        try:
            return apply(operator, *operands)
        except ValueError as error:
            raise ModelError(self._path, f"MathML {operator!r}", str(error)) from None

    def _inline(self, name: str, arguments: list[Expression]) -> Expression:
        function = self._model.getFunctionDefinition(name)
        construct = f"function {name!r}"
        if function is None or function.getBody() is None:
            raise ModelError(self._path, construct, "is not defined")
        if name in self._open:
            raise ModelError(self._path, construct, "calls itself")
        if function.getNumArguments() != len(arguments):
            raise ModelError(
                self._path,
                construct,
                f"takes {function.getNumArguments()} arguments, not {len(arguments)}",
            )
        bound = {
            function.getArgument(i).getName(): argument for i, argument in enumerate(arguments)
        }
        self._open.append(name)
        try:
            return self(function.getBody(), bound)
        finally:
            self._open.pop()
