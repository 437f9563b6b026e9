"""The units of CellML: what a value in one unit is in another."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike

from pyapsp.base.errors import ModelError
from pyapsp.simulation.frontend.documents import Element
from pyapsp.simulation.frontend.trees import number

__all__ = ["Unit", "Units"]

_PREFIXES = {
    "yotta": 24, "zetta": 21, "exa": 18, "peta": 15, "tera": 12, "giga": 9, "mega": 6,
    "kilo": 3, "hecto": 2, "deca": 1, "deka": 1, "deci": -1, "centi": -2, "milli": -3,
    "micro": -6, "nano": -9, "pico": -12, "femto": -15, "atto": -18, "zepto": -21, "yocto": -24,
}  # fmt: skip

# The units that need no definition: factor, and exponents of base units.
_STANDARD = {
    "ampere": (1.0, "ampere"),
    "becquerel": (1.0, "second-1"),
    "candela": (1.0, "candela"),
    "celsius": (1.0, "kelvin"),
    "coulomb": (1.0, "ampere second"),
    "dimensionless": (1.0, ""),
    "farad": (1.0, "ampere2 second4 kilogram-1 metre-2"),
    "gram": (1e-3, "kilogram"),
    "gray": (1.0, "metre2 second-2"),
    "henry": (1.0, "kilogram metre2 second-2 ampere-2"),
    "hertz": (1.0, "second-1"),
    "joule": (1.0, "kilogram metre2 second-2"),
    "katal": (1.0, "mole second-1"),
    "kelvin": (1.0, "kelvin"),
    "kilogram": (1.0, "kilogram"),
    "liter": (1e-3, "metre3"),
    "litre": (1e-3, "metre3"),
    "lumen": (1.0, "candela"),
    "lux": (1.0, "candela metre-2"),
    "meter": (1.0, "metre"),
    "metre": (1.0, "metre"),
    "mole": (1.0, "mole"),
    "newton": (1.0, "kilogram metre second-2"),
    "ohm": (1.0, "kilogram metre2 second-3 ampere-2"),
    "pascal": (1.0, "kilogram metre-1 second-2"),
    "radian": (1.0, ""),
    "second": (1.0, "second"),
    "siemens": (1.0, "ampere2 second3 kilogram-1 metre-2"),
    "sievert": (1.0, "metre2 second-2"),
    "steradian": (1.0, ""),
    "tesla": (1.0, "kilogram second-2 ampere-1"),
    "volt": (1.0, "kilogram metre2 second-3 ampere-1"),
    "watt": (1.0, "kilogram metre2 second-3"),
    "weber": (1.0, "kilogram metre2 second-2 ampere-1"),
}


# What a value in these units is below one in their base unit.
_OFFSETS = {"celsius": 273.15}


@dataclass(frozen=True)
class Unit:
    """A unit: a value is ``factor`` times as large, plus ``offset``, in base units.

    ``base`` is their product with exponents. Only a temperature has an offset. In a product, such
    as a rate for each degree, it is that of a difference, and has none.
    """

    factor: float
    base: frozenset[tuple[str, float]]
    offset: float = 0.0


def _standard(name: str) -> Unit:
    factor, text = _STANDARD[name]
    exponents = []
    for part in text.split():
        letters = part.rstrip("-0123456789")
        exponents.append((letters, float(part[len(letters) :] or 1)))
    return Unit(factor, frozenset(exponents), _OFFSETS.get(name, 0.0))


class Units:
    """The units that a model or one of its components can use.

    Parameters
    ----------
    definitions : iterable of Element
        ``units`` elements.
    path : path-like
        The file, for errors.
    above : Units, optional
        The units of the model, for a component.
    """

    def __init__(
        self,
        definitions: Iterable[Element],
        path: str | PathLike[str],
        above: Units | None = None,
    ) -> None:
        self._path = path
        self._above = above
        self._definitions = {item.get("name"): item for item in definitions}
        self._known: dict[str, Unit] = {}
        self._open: set[str] = set()

    def find(self, name: str) -> Unit:
        """Return a unit.

        Raises
        ------
        ModelError
            There is no such unit, it is defined by itself, or it has an offset.
        """
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> Unit:
        definition = self._definitions.get(name)
        if definition is None:
            if self._above is not None:
                return self._above.find(name)
            if name in _STANDARD:
                return _standard(name)
            raise ModelError(self._path, f"units {name!r}", "are not defined")
        parts = list(definition.all("unit"))
        if not parts:
            return Unit(1.0, frozenset({(name, 1.0)}))
        if name in self._open:
            raise self._error(definition, "are defined by themselves")
        self._open.add(name)
        factor, exponents = 1.0, Counter[str]()
        for part in parts:
            if part.get("offset") not in ("", "0", "0.0"):
                raise self._error(definition, "an offset is not supported")
            below = self.find(part.get("units"))
            prefix, exponent = part.get("prefix") or "0", self._number(part, "exponent")
            power = _PREFIXES[prefix] if prefix in _PREFIXES else self._number(part, "prefix", "0")
            try:
                factor *= (
                    self._number(part, "multiplier") * (10.0**power * below.factor) ** exponent
                )
            except OverflowError:
                factor = math.inf
            if not 0.0 < factor < math.inf:
                raise self._error(definition, "are not a positive number of base units")
            for base, times in below.base:
                exponents[base] += times * exponent  # type: ignore[assignment]
        self._open.discard(name)
        if len(parts) == 1 and self._number(parts[0], "exponent") == 1:
            only = self.find(parts[0].get("units"))
            if only.offset and factor != only.factor:
                raise self._error(definition, "are a multiple of a temperature with an offset")
            if only.offset:
                return only
        return Unit(factor, frozenset((b, float(e)) for b, e in exponents.items() if e))

    def _number(self, part: Element, attribute: str, default: str = "1") -> float:
        text = part.get(attribute) or default
        try:
            return number(text)
        except ValueError:
            raise self._error(part, f"{attribute} {text!r} is not a number") from None

    def _error(self, element: Element, message: str) -> ModelError:
        label = element.get("name") or element.get("units")
        return ModelError(self._path, f"units {label!r}", message, element.line)
