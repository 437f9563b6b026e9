"""What a field means is written once: in the docstring of a public class, else beside the field."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pyapsp

TOP = Path(__file__).resolve().parents[2]
SHOWN = re.compile(r"^\.\. auto(class|module):: (\S+)", re.MULTILINE)
SECTION = re.compile(r"^ *(Attributes|Parameters)\n *-+\n", re.MULTILINE)


def public() -> set[str]:
    """The names of the classes that pages and public modules show, and of their bases."""
    shown = [
        found for page in TOP.glob("docs/**/*.md") for found in SHOWN.findall(page.read_text())
    ]
    modules = [f"pyapsp.{name}" for name in pyapsp._MODULES]
    modules += [name for kind, name in shown if kind == "module"]
    classes = [name.rpartition(".")[::2] for kind, name in shown if kind == "class"]
    for module in map(importlib.import_module, modules):
        classes += [(module.__name__, name) for name in getattr(module, "__all__", ())]
    found = [getattr(importlib.import_module(module), name) for module, name in classes]
    return {base.__name__ for each in found if inspect.isclass(each) for base in each.__mro__}


def is_record(node: ast.ClassDef) -> bool:
    """Whether a class is declared by its fields."""
    declared = [*map(ast.unparse, node.decorator_list), *map(ast.unparse, node.bases)]
    return any(each.startswith(("dataclass", "NamedTuple")) for each in declared)


def test_fields_of_internal_classes_are_explained_beside_them():
    known = public()
    paths = [*TOP.glob("pyapsp/**/*.py"), *TOP.glob("workflow/papers/**/*.py")]
    twice = [
        (path.relative_to(TOP), node.name)
        for path in paths
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        if is_record(node)
        if node.name not in known and SECTION.search(ast.get_docstring(node) or "")
    ]
    assert twice == []
