"""The modules of a PHML or ISML document and the edges between their ports, instances expanded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from os import PathLike

from pyapsp.base.errors import ModelError
from pyapsp.simulation.frontend.documents import Element

__all__ = ["Module", "Port", "read_modules"]

#: A port of a module: the identifiers of both.
Port = tuple[str, str]

# Edges that carry values. The other kinds say which module is part of which.
_CARRYING = {"functional", "forwarding"}


@dataclass
class Module:
    """A module, or the copy of one that an instance makes."""

    element: Element  # where it is defined
    path: str  # the file, for errors
    # Its name in names of quantities. It is unique.
    label: str = ""
    parent: str = ""  # identifier of the capsule that it is in, empty if none
    # What an instance gives for a quantity, by the identifier of the quantity.
    changed: dict[str, Element] = field(default_factory=dict)
    # For each port, the ports that edges lead from.
    sources: dict[str, list[Port]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name in the document."""
        return self.element.text_of("property", "name") or self.element.get("module-id")

    def error(self, construct: str, message: str, line: int | None = None) -> ModelError:
        """Return an error about a construct of this module."""
        where = f"{construct} of module {self.label or self.name!r}"
        return ModelError(self.path, where, message, line or self.element.line)


def read_modules(root: Element, path: str | PathLike[str]) -> dict[str, Module]:
    """Return the modules of a document by identifier, with labels and edges.

    A template is a module with all that is capsulated in it. It is not part of the model itself:
    each instance is a copy of it, with the edges inside it and the edges that end at it.

    Raises
    ------
    ModelError
        An identifier is not known or used twice, a template contains another, or an edge
        connects two templates.
    """
    return _Expansion(root, str(path)).modules()


class _Expansion:
    def __init__(self, root: Element, path: str) -> None:
        self._path = path
        self._root = root
        self._plain: dict[str, Module] = {}
        for element in root.all("module-set", "module"):
            parent = ""
            for capsule in element.all("property", "capsulation", "capsulated-by"):
                parent = capsule.get("module-id")
            self._add(self._plain, element.get("module-id"), Module(element, path, parent=parent))
        self._templates: dict[str, str] = {}
        for template in root.all("template-set", "template"):
            module = template.get("ref-module-id")
            self._know(self._plain, module, template)
            self._templates[template.get("template-id")] = module
        self._owner = {name: self._find_owner(name) for name in self._plain}

    def modules(self) -> dict[str, Module]:
        """Return the modules that are part of the model."""
        modules = {name: module for name, module in self._plain.items() if not self._owner[name]}
        copies: dict[str, list[dict[str, str]]] = {}  # of each template: old identifiers to new
        numbers: Counter[str] = Counter()
        for instance in self._root.all("instance-set", "instance"):
            self._copy(instance, modules, copies, numbers)
        self._connect(modules, copies)
        self._label(modules)
        return modules

    def _copy(
        self,
        instance: Element,
        modules: dict[str, Module],
        copies: dict[str, list[dict[str, str]]],
        numbers: Counter[str],
    ) -> None:
        name = instance.get("module-id")
        reference = instance.first("instance-of")
        template = "" if reference is None else reference.get("template-id")
        self._know(self._templates, template, instance)
        root = self._templates[template]
        members = [member for member, owner in self._owner.items() if owner == root]
        new = {member: f"{name}/{member}" for member in members} | {root: name}
        changed: dict[str, dict[str, Element]] = {}
        for target in instance.all("target-module-set", "target-module"):
            member = target.get("module-id")
            self._know(new, member, target)
            if member != root and target.get("alias-module-id"):
                new[member] = target.get("alias-module-id")
            changed[member] = {
                item.get("physical-quantity-id"): item
                for item in target.all("target-physical-quantity-set", "target-physical-quantity")
            }
        numbers[root] += 1
        for member in members:
            module = self._plain[member]
            label = f"{module.name}[{numbers[root]}]" if member == root else ""
            parent = module.parent if member == root else new[module.parent]
            copy = Module(module.element, self._path, label, parent, changed.get(member, {}))
            self._add(modules, new[member], copy)
        copies.setdefault(root, []).append(new)

    def _connect(self, modules: dict[str, Module], copies: dict[str, list[dict[str, str]]]) -> None:
        for edge in self._root.all("edge-set", "edge"):
            if edge.get("type") not in _CARRYING:
                continue
            ends = [edge.first("tail"), edge.first("head")]
            if ends[0] is None or ends[1] is None:
                raise ModelError(self._path, "edge", "has no tail or no head", edge.line)
            (tail, tail_port), (head, head_port) = (
                (end.get("module-id"), end.get("port-id")) for end in ends if end is not None
            )
            owners = {self._owner.get(tail, ""), self._owner.get(head, "")} - {""}
            if len(owners) > 1:
                raise ModelError(self._path, "edge", "connects two templates", edge.line)
            for new in copies.get(owners.pop(), []) if owners else [{}]:
                source, target = new.get(tail, tail), new.get(head, head)
                self._know(modules, source, edge)
                self._know(modules, target, edge)
                modules[target].sources.setdefault(head_port, []).append((source, tail_port))

    def _label(self, modules: dict[str, Module]) -> None:
        """Give each module a unique label: its name, if need be after those of its capsules."""
        counts = Counter(module.name for module in modules.values())
        taken: Counter[str] = Counter()
        labels: dict[str, str] = {}

        def label(name: str, below: int = 0) -> str:
            module = modules[name]
            if name not in labels:
                if below > len(modules):
                    raise ModelError(self._path, f"module {module.name!r}", "is in itself")
                own = module.label or module.name
                if counts[module.name] > 1 and module.parent in modules:
                    own = f"{label(module.parent, below + 1)}.{own}"
                taken[own] += 1
                labels[name] = own if taken[own] == 1 else f"{own}({taken[own]})"
            return labels[name]

        for name in modules:
            label(name)
        for name, module in modules.items():
            module.label = labels[name]

    def _find_owner(self, name: str) -> str:
        """Return the template that a module is part of, empty if none."""
        templates, seen, owners = set(self._templates.values()), set(), []
        while name in self._plain and name not in seen:
            seen.add(name)
            if name in templates:
                owners.append(name)
            name = self._plain[name].parent
        if len(owners) > 1:
            inner = self._plain[owners[0]]
            raise inner.error("template", "a template in a template is not supported")
        return owners[0] if owners else ""

    def _add(self, modules: dict[str, Module], name: str, module: Module) -> None:
        if not name or name in modules:
            why = "is used twice" if name else "is missing"
            raise ModelError(self._path, f"module-id {name!r}", why, module.element.line)
        modules[name] = module

    def _know(self, known: Collection[str], name: str, at: Element) -> None:
        if name not in known:
            raise ModelError(self._path, f"{at.name} to {name!r}", "nothing has that id", at.line)
