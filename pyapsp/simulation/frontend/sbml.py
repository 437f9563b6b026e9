"""SBML (Systems Biology Markup Language), Levels 1 to 3, read with libSBML.

The state of a species is what its name means in expressions: its amount if it has only substance
units, else its concentration. If its compartment changes, the state is the amount, with the name
``amount(SPECIES)``, and the concentration is a function. A reaction is a function with its name.
``time`` is the time: a quantity that the model calls so gets the name ``time_``. A constraint is
the function ``constraint(ID)``, or its number in place of the id: 1 where it holds, else 0.

References
----------
M. Hucka et al., "The Systems Biology Markup Language (SBML): Language Specification for Level 3
Version 2 Core", Journal of Integrative Bioinformatics 16(2), 2019, doi:10.1515/jib-2019-0021.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from pyapsp.base.errors import ModelError
from pyapsp.base.extras import extra
from pyapsp.simulation.expressions import Apply, Expression, Name, Number, names
from pyapsp.simulation.frontend.assembly import Draft
from pyapsp.simulation.frontend.sbml_math import Translator
from pyapsp.simulation.system import System
from pyapsp.simulation.values import at_start

if TYPE_CHECKING:
    import libsbml

__all__ = ["read_sbml"]

_DECLARATION = re.compile(r"<\?xml[^>]*\?>")
# Packages that add no mathematics, and `comp`, whose submodels are merged into the model.
_PACKAGES = {"annot", "comp", "groups", "layout", "render"}


def read_sbml(data: bytes, path: str | PathLike[str]) -> System:
    """Read a model in SBML.

    Parameters
    ----------
    data : bytes
        The document, known to have no document type declaration.
    path : path-like
        Its file, for errors.

    Raises
    ------
    PyApspError
        libSBML is not installed.
    ModelError
        The document is malformed, or has events that can fire, delays, algebraic rules, fast
        reactions, or anything else that cannot be simulated.
    """
    return _Reader(_model_of(data, path), path).system()


def _model_of(data: bytes, path: str | PathLike[str]) -> libsbml.Model:
    """Return the libSBML model of a document, submodels merged; it holds its document."""
    with extra("simulation", "SBML"):
        import libsbml
    text = data.decode("utf-8", "replace").lstrip("\ufeff")
    declared = _DECLARATION.match(text)
    if declared is None or "encoding" not in declared[0]:
        # XML is UTF-8 then; libSBML would refuse that, or add this with a line of its own
        text = '<?xml version="1.0" encoding="UTF-8"?>' + text[declared.end() if declared else 0 :]
    document = libsbml.readSBMLFromString(text)
    _check_log(document, path)
    for i in range(document.getNumPlugins()):
        package = document.getPlugin(i).getPackageName()
        if package not in _PACKAGES and not package.startswith("l3v2"):
            raise ModelError(path, f"package {package!r}", "is not supported")
    merged = document.getPlugin("comp")
    if merged is not None:
        if merged.getNumExternalModelDefinitions():
            raise ModelError(path, "comp:externalModelDefinition", "is not supported")
        options = libsbml.ConversionProperties()
        options.addOption("flatten comp", True)
        options.addOption("performValidation", False)
        if document.convert(options) != libsbml.LIBSBML_OPERATION_SUCCESS:
            _check_log(document, path)
            raise ModelError(path, "package 'comp'", "the submodels cannot be merged")
    model = document.getModel()
    if model is None:
        raise ModelError(path, "SBML", "there is no model")
    model.held = document  # a model does not keep its document
    _rename_time(model)
    return model


def _rename_time(model: libsbml.Model) -> None:
    """Give a quantity with the name of the time another name, where it is defined and used."""
    elements = list(model.getListOfAllElements())
    references = [each for each in elements if each.getElementName() == "speciesReference"]
    quantities = [
        *model.getListOfCompartments(),
        *model.getListOfSpecies(),
        *model.getListOfParameters(),
        *model.getListOfReactions(),
        *references,
    ]
    found = [each for each in quantities if each.getId() == "time"]
    if not found:
        return
    taken, name = {each.getId() for each in elements}, "time_"
    while name in taken:
        name += "_"
    for each in found:
        each.setId(name)
    for each in elements:
        kind, own = each.getElementName(), []
        if kind == "kineticLaw":  # its own parameters hide those of the model
            own = [*each.getListOfParameters(), *each.getListOfLocalParameters()]
        if kind != "functionDefinition" and all(local.getId() != "time" for local in own):
            each.renameSIdRefs("time", name)


def _check_log(document: libsbml.SBMLDocument, path: str | PathLike[str]) -> None:
    import libsbml

    for i in range(document.getNumErrors()):
        error = document.getError(i)
        if error.getSeverity() >= libsbml.LIBSBML_SEV_ERROR:
            message = " ".join(error.getMessage().split())
            raise ModelError(path, error.getShortMessage() or "SBML", message, error.getLine())


class _Reader:
    """The quantities of one model."""

    def __init__(self, model: libsbml.Model, path: str | PathLike[str]) -> None:
        self._model = model
        self._path = path
        self._draft = Draft(path)
        self._rates: dict[str, str] = {}  # of each name in a csymbol rateOf: the function
        self._math = Translator(model, path, self._rate_of)
        self._assigned = {rule.getVariable(): rule for rule in self._rules("assignment")}
        self._rated = {rule.getVariable(): rule for rule in self._rules("rate")}
        self._initial = {
            item.getSymbol(): self._expression(item, f"initial assignment {item.getSymbol()!r}")
            for item in model.getListOfInitialAssignments()
        }

    def system(self) -> System:
        """Return the system of the model."""
        self._refuse()
        model = self._model
        for compartment in model.getListOfCompartments():
            size = compartment.getSize() if compartment.isSetSize() else None
            if size is None and (model.getLevel() == 1 or compartment.getSpatialDimensions() == 0):
                size = 1.0
            self._quantity(compartment.getId(), size, compartment.getUnits())
        for parameter in model.getListOfParameters():
            value = parameter.getValue() if parameter.isSetValue() else None
            self._quantity(parameter.getId(), value, parameter.getUnits())
        for reaction in model.getListOfReactions():
            self._reaction(reaction)
        changes = self._changes()
        for species in model.getListOfSpecies():
            self._species(species, changes.get(species.getId(), []))
        for name, function in self._rates.items():
            self._draft.definitions[function] = self._rate(name)
        for number, constraint in enumerate(model.getListOfConstraints(), 1):
            label = f"constraint({constraint.getId() or number})"
            self._draft.definitions[label] = self._expression(constraint, label)
        triggers = self._triggers()
        name = model.getId() or model.getName() or "model"
        system = self._draft.finish(name, time_unit=model.getTimeUnits())
        return self._without(triggers, system)

    def _triggers(self) -> dict[str, libsbml.Event]:
        """Define the triggers of the events; an event without one never fires."""
        events = {}
        for number, event in enumerate(self._model.getListOfEvents(), 1):
            label = f"event {event.getId() or number!r}"
            if event.isSetTrigger() and event.getTrigger().isSetMath():
                self._draft.definitions[label] = self._expression(event.getTrigger(), label)
                events[label] = event
        return events

    def _without(self, triggers: dict[str, libsbml.Event], system: System) -> System:
        """Leave out events that never fire: only a trigger that becomes true fires.

        So those whose trigger does not change, and is true before the start or false at it. In the
        second case the parameters that decide it are constants of the model from here on.
        """
        parameters, constants = dict(system.parameters), dict(system.constants)
        values = at_start(system)[0] if triggers else {}
        for label, event in triggers.items():
            before = event.getTrigger().getInitialValue()
            if label in system.functions or (values[label] and not before):
                raise ModelError(
                    self._path, label, "can fire, which is not supported", event.getLine()
                )
            pending = [] if before else [label]
            while pending:
                for used in names(constants[pending.pop()]):
                    if used in parameters:
                        constants[used] = Number(parameters.pop(used))
                    elif used in constants:
                        pending.append(used)
            del constants[label]
        return replace(system, parameters=parameters, constants=constants)

    def _refuse(self) -> None:
        model = self._model
        for rule in self._rules("algebraic"):
            label = f"algebraic rule {rule.getId()!r}" if rule.isSetId() else "algebraic rule"
            raise ModelError(self._path, label, "is not supported", rule.getLine())
        seen: set[str] = set()
        for items in (
            model.getListOfCompartments(),
            model.getListOfParameters(),
            model.getListOfReactions(),
            model.getListOfSpecies(),
        ):
            for item in items:
                if item.getId() in seen:
                    label = f"{item.getElementName()} {item.getId()!r}"
                    raise ModelError(self._path, label, "the name is there twice", item.getLine())
                seen.add(item.getId())
        for reaction in model.getListOfReactions():
            if reaction.isSetFast() and reaction.getFast():
                raise ModelError(
                    self._path, f"fast reaction {reaction.getId()!r}", "is not supported"
                )

    def _rules(self, kind: str) -> Iterator[libsbml.Rule]:
        test = {"assignment": "isAssignment", "rate": "isRate", "algebraic": "isAlgebraic"}[kind]
        return (rule for rule in self._model.getListOfRules() if getattr(rule, test)())

    def _expression(self, item: libsbml.SBase, label: str, **names: Expression) -> Expression:
        if not item.isSetMath():
            raise ModelError(self._path, label, "has no mathematics", item.getLine())
        return self._math(item.getMath(), names)

    def _quantity(self, name: str, value: float | None, unit: str = "") -> None:
        """Add a compartment, parameter, stoichiometry or species that no reaction changes."""
        draft = self._draft
        draft.units[name] = unit
        if name in self._assigned:
            rule = self._assigned[name]
            draft.definitions[name] = self._expression(rule, f"assignment rule {name!r}")
            return
        start = self._initial.get(name)
        if name in self._rated:
            draft.derivatives[name] = self._expression(self._rated[name], f"rate rule {name!r}")
            draft.initial[name] = start if start is not None else self._number(name, value)
        elif start is not None:
            draft.frozen[name] = start
        elif value is None:
            draft.unset.add(name)
        else:
            draft.parameters[name] = value

    def _number(self, name: str, value: float | None) -> Number:
        if value is None:
            raise ModelError(self._path, f"{name!r}", "has no value at the start")
        return Number(value)

    def _reaction(self, reaction: libsbml.Reaction) -> None:
        name = reaction.getId()
        law = reaction.getKineticLaw()
        if law is None:
            raise ModelError(self._path, f"reaction {name!r}", "has no kinetic law")
        local: dict[str, Expression] = {}
        for parameter in [*law.getListOfParameters(), *law.getListOfLocalParameters()]:
            full = f"{name}.{parameter.getId()}"
            local[parameter.getId()] = Name(full)
            value = parameter.getValue() if parameter.isSetValue() else None
            self._draft.parameters[full] = self._number(full, value).value
            self._draft.units[full] = parameter.getUnits()
        label = f"kinetic law of {name!r}"
        self._draft.definitions[name] = self._expression(law, label, **local)

    def _changes(self) -> dict[str, list[tuple[Expression, str]]]:
        """Return for each species the stoichiometries and reactions that change it."""
        changes: dict[str, list[tuple[Expression, str]]] = {}
        for reaction in self._model.getListOfReactions():
            sides = [(-1.0, reaction.getListOfReactants()), (1.0, reaction.getListOfProducts())]
            for sign, references in sides:
                for reference in references:
                    if self._model.getSpecies(reference.getSpecies()) is None:
                        label = f"species {reference.getSpecies()!r} of {reaction.getId()!r}"
                        raise ModelError(self._path, label, "is not defined", reference.getLine())
                    factor = self._stoichiometry(reference, sign)
                    changes.setdefault(reference.getSpecies(), []).append(
                        (factor, reaction.getId())
                    )
        return changes

    def _stoichiometry(self, reference: libsbml.SpeciesReference, sign: float) -> Expression:
        name = reference.getId()
        factor: Expression
        if reference.isSetStoichiometryMath():
            math_of = reference.getStoichiometryMath()
            factor = self._expression(math_of, f"stoichiometry of {reference.getSpecies()!r}")
            if name:
                self._draft.definitions[name] = factor
                factor = Name(name)
        else:
            level1 = self._model.getLevel() < 3
            value = (
                reference.getStoichiometry() if level1 or reference.isSetStoichiometry() else None
            )
            if value is not None:
                value /= reference.getDenominator() or 1
            if name:
                self._quantity(name, value)
                factor = Name(name)
            else:
                label = f"stoichiometry of {reference.getSpecies()}"
                return Number(sign * self._number(label, value).value)
        return factor if sign > 0 else Apply("minus", (factor,))

    def _species(self, species: libsbml.Species, changes: list[tuple[Expression, str]]) -> None:
        name, compartment = species.getId(), species.getCompartment()
        size: Expression = Name(compartment)
        only_amount = species.getHasOnlySubstanceUnits()
        start: Expression | None = None
        substance = species.getSubstanceUnits() or self._model.getSubstanceUnits()
        unit = substance if only_amount or not substance else f"{substance} / {compartment}"
        if species.isSetInitialAmount():
            value = Number(species.getInitialAmount())
            start = value if only_amount else Apply("divide", (value, size))
        elif species.isSetInitialConcentration():
            value = Number(species.getInitialConcentration())
            start = Apply("times", (value, size)) if only_amount else value
        moved = changes and not species.getBoundaryCondition() and not species.getConstant()
        varying = compartment in self._assigned or compartment in self._rated
        if name in self._assigned or name in self._rated:
            if start is not None:
                self._initial.setdefault(name, start)
            self._quantity(name, None, unit)
            return
        start = self._initial.get(name, start)
        if start is None:
            raise ModelError(self._path, f"species {name!r}", "has no value at the start")
        draft = self._draft
        draft.units[name] = unit
        by_amount = varying and not only_amount
        rate = self._flow(species, changes) if moved else Number(0.0)
        if by_amount:
            amount = f"amount({name})"
            draft.units[amount] = substance
            draft.definitions[name] = Apply("divide", (Name(amount), size))
            draft.initial[amount] = Apply("times", (start, size))
            draft.derivatives[amount] = rate
        elif moved:
            draft.initial[name] = start
            draft.derivatives[name] = rate if only_amount else Apply("divide", (rate, size))
        elif isinstance(start, Number):
            draft.parameters[name] = start.value
        else:
            draft.frozen[name] = start

    def _flow(self, species: libsbml.Species, changes: list[tuple[Expression, str]]) -> Expression:
        """Return the rate of change of an amount."""
        terms: list[Expression] = []
        for factor, reaction in changes:
            if factor == Number(1.0):
                terms.append(Name(reaction))
            elif factor == Number(-1.0):
                terms.append(Apply("minus", (Name(reaction),)))
            else:
                terms.append(Apply("times", (factor, Name(reaction))))
        flow = terms[0] if len(terms) == 1 else Apply("plus", tuple(terms))
        factor_name = species.getConversionFactor() or self._model.getConversionFactor()
        return Apply("times", (Name(factor_name), flow)) if factor_name else flow

    def _rate_of(self, name: str) -> Expression:
        return Name(self._rates.setdefault(name, f"rateOf({name})"))

    def _rate(self, name: str) -> Expression:
        """Return the rate of change of a name."""
        draft = self._draft
        amount = f"amount({name})"
        if name in draft.derivatives:
            return draft.derivatives[name]
        if amount in draft.derivatives:
            species = self._model.getSpecies(name)
            size = species.getCompartment()
            if size not in self._rated:
                raise ModelError(self._path, f"rateOf({name})", "the rate of a rule is not known")
            lost = Apply("times", (Name(name), draft.derivatives[size]))
            return Apply("divide", (Apply("minus", (draft.derivatives[amount], lost)), Name(size)))
        if name in draft.definitions:
            raise ModelError(self._path, f"rateOf({name})", "the rate of a rule is not known")
        return Number(0.0)
