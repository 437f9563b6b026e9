"""Resolve the names in PHML modules along edges and bridges to SBML."""

from __future__ import annotations

from pyapsp.simulation.frontend.documents import Element
from pyapsp.simulation.frontend.phml_modules import Module, Port

__all__ = ["Names", "connectors"]

_REDUCTIONS = ("sum", "max", "min", "mean", "degree")


class Names:
    """The quantities of all modules and their names in the system.

    Parameters
    ----------
    modules : dict of str to Module
        The modules by identifier.

    Attributes
    ----------
    quantities : dict of str to dict of str to Element
        For each module, the quantities that have a value, by name.
    bridged : dict of str to dict of str to str
        For each module with an SBML model, the name in the system of each of its quantities.
    """

    def __init__(self, modules: dict[str, Module]) -> None:
        self.modules = modules
        self.quantities = {name: self._index(module) for name, module in modules.items()}
        self.bridged: dict[str, dict[str, str]] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._alone = sum(bool(quantities) for quantities in self.quantities.values()) == 1

    def _index(self, module: Module) -> dict[str, Element]:
        """Return the quantities of a module that have a value, by name."""
        quantities: dict[str, Element] = {}
        for quantity in module.element.all("physical-quantity-set", "physical-quantity"):
            name = quantity.text_of("name")
            if quantity.get("type") == "morphology":  # a shape: no expression can use it
                continue
            if not name or name in quantities:
                why = "is defined twice" if name else "has no name"
                raise module.error(f"quantity {name!r}", why, quantity.line)
            dimension = quantity.first("dimension")
            kind = "scalar" if dimension is None else dimension.get("type")
            if kind not in ("", "scalar"):
                raise module.error(
                    f"quantity {name!r}", f"a {kind} is not supported", quantity.line
                )
            if quantity.text_of("max-delay"):
                raise module.error(
                    f"max-delay of quantity {name!r}", "delays are not supported", quantity.line
                )
            quantities[name] = quantity
        return quantities

    def full(self, module: str, quantity: str) -> str:
        """Return the name in the system that a quantity of a module has of its own."""
        return quantity if self._alone else f"{self.modules[module].label}.{quantity}"

    def resolve(self, module: str, quantity: str) -> str:
        """Return the name in the system of what a name in a module stands for."""
        name = self._names.get((module, quantity))
        if name is None:
            self._names[module, quantity] = self.full(module, quantity)  # ends a circle of ports
            name = self._find(module, quantity)
            self._names[module, quantity] = name
        return name

    def _find(self, module: str, quantity: str) -> str:
        element = self.quantities[module][quantity]
        definition = element.first("implementation", "definition")
        if definition is not None and definition.get("type") == "assign":
            if definition.get("sub-type") == "port":
                sources = self.sources(module, element, definition)
                if len(sources) == 1 and self.reduction(module, element) != "degree":
                    return self.resolve(*sources[0])
            elif definition.get("sub-type") == "bridge":
                return self._bridge(module, quantity, element)
        return self.full(module, quantity)

    def sources(self, module: str, element: Element, definition: Element) -> list[tuple[str, str]]:
        """Return the quantities that edges lead from to the port of a quantity."""
        reference = definition.first("reference")
        port = "" if reference is None else reference.get("port-id")
        sources: list[tuple[str, str]] = []
        pending: list[Port] = [(module, port)]
        seen = set(pending)
        while pending:
            at, number = pending.pop()
            for source in reversed(self.modules[at].sources.get(number, [])):
                if source in seen:
                    continue
                seen.add(source)
                quantity = self._at_port(*source)
                if quantity is None:
                    pending.append(source)
                else:
                    sources.append((source[0], quantity))
        owner = self.modules[module]
        name = element.text_of("name")
        if not sources:
            raise owner.error(f"port {port!r}", f"no edge leads to {name!r}", element.line)
        if len(sources) > 1 and not self.reduction(module, element):
            message = f"{len(sources)} edges lead to {name!r}, which does not say how to add them"
            raise owner.error(f"port {port!r}", message, element.line)
        return sources

    def _at_port(self, module: str, number: str) -> str | None:
        """Return the name of the quantity that a port gives, None if it forwards another port."""
        owner = self.modules[module]
        for port in owner.element.all("port-set", "port"):
            if port.get("port-id") == number:
                reference = port.get("ref-physical-quantity-id")
                if not reference:
                    return None
                for name, element in self.quantities[module].items():
                    if element.get("physical-quantity-id") == reference:
                        return name
                message = f"gives quantity {reference!r}, which has no value"
                raise owner.error(f"port {number!r}", message, port.line)
        raise owner.error(f"port {number!r}", "does not exist")

    def reduction(self, module: str, element: Element) -> str:
        """Return how a quantity joins the values of many edges, empty if it does not say."""
        for extra in element.all("implementation", "extra-implementation"):
            if extra.get("type") == "multiple-input-assignment":
                definition = extra.first("definition")
                kind = "" if definition is None else definition.get("sub-type")
                if kind not in _REDUCTIONS:
                    raise self.modules[module].error(
                        f"reduction {kind!r}", "is not supported", extra.line
                    )
                return kind
        return ""

    def _bridge(self, module: str, quantity: str, element: Element) -> str:
        _, symbols = connectors(element)
        names = self.bridged.get(module, {})
        for symbol in (".".join(symbols), *symbols[-1:]):  # local to a reaction, or of the model
            if symbol in names:
                return names[symbol]
        raise self.modules[module].error(
            f"bridge of {quantity!r}", f"the SBML has no {' '.join(symbols)!r}", element.line
        )


def connectors(element: Element) -> tuple[str, list[str]]:
    """Return the direction and the SBML names of the bridge of a quantity, if it has one."""
    bridge = element.first("implementation", "bridge")
    if bridge is None:
        return "", []
    return bridge.get("direction"), [part.text for part in bridge.all("connector")]
