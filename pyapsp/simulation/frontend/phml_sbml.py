"""SBML models inside PHML modules."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from xml.sax.saxutils import escape, quoteattr

from pyapsp.base.errors import ModelError
from pyapsp.simulation.expressions import Expression, renamed
from pyapsp.simulation.frontend.assembly import Draft
from pyapsp.simulation.frontend.documents import Element, parse_document
from pyapsp.simulation.frontend.phml_files import Files
from pyapsp.simulation.frontend.sbml import read_sbml

__all__ = ["import_sbml"]


def import_sbml(
    element: Element,
    path: str | PathLike[str],
    files: Files,
    draft: Draft,
    functions: list[str],
    prefix: str,
    sets: Mapping[str, str],
) -> dict[str, str]:
    """Add the SBML model of an ``import`` element to a draft.

    Parameters
    ----------
    element : Element
        The import: the SBML is in it, or in a file that it names.
    path : path-like
        The document, for errors.
    files : Files
        The files that the document refers to.
    draft : Draft
        Where the quantities go.
    functions : list of str
        Gets the names of those that change and are no states.
    prefix : str
        What comes before the names of the SBML.
    sets : mapping of str to str
        Quantities of the module that take the place of quantities of the SBML.

    Returns
    -------
    dict of str to str
        The name of each quantity of the SBML in the draft.
    """
    if element.get("format") != "sbml":
        raise ModelError(
            path, f"import {element.get('format')!r}", "is not supported", element.line
        )
    inner = element.first("sbml")
    data = files.read(element) if inner is None else _text(inner).encode()
    parse_document(data, path)
    system = read_sbml(data, path)
    names = {
        name: sets.get(name, prefix + name)
        for part in (system.parameters, system.constants, system.initial, system.functions)
        for name in part
    }
    names["time"] = "time"
    for name in sets:
        if name not in names:
            raise ModelError(path, f"bridge to {name!r}", "the SBML has no such name", element.line)

    def bridged(part: Mapping[str, Expression]) -> dict[str, Expression]:
        return {
            names[name]: renamed(value, names.__getitem__)
            for name, value in part.items()
            if name not in sets
        }

    draft.parameters |= {
        names[name]: value for name, value in system.parameters.items() if name not in sets
    }
    draft.definitions |= bridged(system.constants)
    draft.definitions |= bridged(system.functions)
    draft.initial |= bridged(system.initial)
    draft.derivatives |= bridged(system.derivatives)
    draft.units |= {names[name]: unit for name, unit in system.units.items() if name not in sets}
    functions.extend(names[name] for name in system.functions if name not in sets)
    return names


def _text(element: Element) -> str:
    """Return an element as XML, without what says nothing about the mathematics."""
    attributes = "".join(f" {key}={quoteattr(value)}" for key, value in element.attributes.items())
    content = "".join(
        escape(part) if isinstance(part, str) else _text(part)
        for part in element.parts
        if isinstance(part, str) or part.name not in ("annotation", "notes")
    )
    name, namespace = element.name, quoteattr(element.namespace)
    return f"<{name} xmlns={namespace}{attributes}>{content}</{name}>"
