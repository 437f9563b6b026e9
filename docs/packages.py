"""The pages of examples: a call of another package before and after, times, and equal answers.

Each module of docs/examples that is in `EXAMPLES` has four functions. `before` and `after` get what
`data` returns: whether its input is small is its argument. `same` compares their answers.

    python docs/packages.py                      # write the pages
    python docs/packages.py --measure NAME...    # first measure these examples, or all

The packages are those of the extra `examples`. Times are kept in docs/examples/figures.json; they
are measured as those of recipes (docs/recipes.py). Each has the machine that measured it.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from collections.abc import Container
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import recipes

__all__ = ["EXAMPLES", "FIGURES", "FOLDER", "Example", "measure", "pages"]

FOLDER = Path(__file__).parent / "examples"
FIGURES = FOLDER / "figures.json"
_PARTS = {
    "data": "The input",
    "before": "Before",
    "after": "With pyapsp",
    "same": "Equal answers",
}


@dataclass(frozen=True)
class Example:
    """A module of docs/examples."""

    # The module, and the distribution of the package that it shows.
    name: str
    package: str
    timed: str = ""  # the distribution whose call is timed: that of `package`, if it is empty

    @property
    def source(self) -> str:
        """The text of the module."""
        return (FOLDER / f"{self.name}.py").read_text(encoding="utf-8")

    def load(self) -> ModuleType:
        """Import the module, which imports the package."""
        path = FOLDER / f"{self.name}.py"
        spec = importlib.util.spec_from_file_location(f"pyapsp_example_{self.name}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # where a patch looks for names
        spec.loader.exec_module(module)
        return module

    def seconds(self) -> tuple[float, float]:
        """Time both functions, and check that their answers are equal."""
        module = self.load()
        data = recipes.Recipe(
            name=self.name,
            job=self.name,
            tool=self.package,
            module=self.package,
            data=lambda small: (module.data(small),) * 2,
            theirs=module.before,
            ours=module.after,
            same=module.same,
        )
        return recipes.seconds(data)

    @property
    def text(self) -> tuple[str, str]:
        """The title and the text of the page."""
        title, _, text = (ast.get_docstring(ast.parse(self.source)) or "").partition("\n\n")
        return title.rstrip("."), text.strip()

    def page(self, figures: dict[str, Any]) -> str:
        """Return the text of the page."""
        title, text = self.text
        tree, lines = ast.parse(self.source), self.source.splitlines()
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        first = min(node.lineno for node in functions.values())
        start = tree.body[0].end_lineno or 0
        imports = "\n".join(lines[start : first - 1]).strip()
        theirs, ours = figures["seconds"][self.name]
        parts = [
            f"# {title}\n",
            f"{text}\n",
            f"| {figures['versions'][self.name]} | with pyapsp |\n|---|---|\n"
            f"| {recipes.shown(theirs)} | {recipes.shown(ours)} |\n",
            f"The times are of a whole call on {figures['machines'][self.name]}. `python "
            f"docs/packages.py --measure {self.name}` measures them again, and compares the "
            "answers.\n",
        ]
        for name, heading in _PARTS.items():
            node = functions[name]
            code = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            code = f"{imports}\n\n\n{code}" if name == "data" else code
            parts.append(f"## {heading}\n\n```{{code-block}} python\n{code}\n```\n")
        return "\n".join(parts)


EXAMPLES = (
    Example("isomap", "scikit-learn"),
    Example("landmarks", "scikit-learn", timed="SciPy"),
    Example("surface", "neuromaps"),
    Example("kernel", "GraKeL"),
    Example("molecules", "transformers"),
    Example("accessibility", "pandana"),
    Example("routes", "osmnx"),
    Example("betweenness", "networkx"),
    Example("connectome", "bctpy"),
    Example("floyd", "netneurotools"),
    Example("network", "spaghetti"),
)


def index(figures: dict[str, Any]) -> str:
    """Return the page that lists the others."""
    rows = ["| example | package | before | with pyapsp |", "|---|---|---|---|"]
    for example in EXAMPLES:
        theirs, ours = map(recipes.shown, figures["seconds"][example.name])
        used = figures["versions"][example.name]
        rows.append(f"| [{example.text[0]}]({example.name}.md) | {used} | {theirs} | {ours} |")
    table = "\n".join(rows)
    names = "\n".join(example.name for example in EXAMPLES)
    return f"""\
# Examples with other packages

Each page has a call of another package, and the same with pyapsp: with `pyapsp.patch`, if the
package calls SciPy's functions for many vertices at once, else with a function of pyapsp. Times are
of a whole call, on the machine that the page names; the answers are compared.
`pip install ".[examples]"` installs the packages, and `python docs/packages.py --measure` runs all
pages.

{table}

brainsmash searches a surface as neuromaps does. DGL and PyTorch Geometric are left out: they need
PyTorch.

```{{toctree}}
:hidden:

{names}
```
"""


def pages(figures: dict[str, Any]) -> dict[Path, str]:
    """Return the text of each page."""
    made = {FOLDER / f"{each.name}.md": each.page(figures) for each in EXAMPLES}
    return {FOLDER / "index.md": index(figures), **made}


def measure(names: Container[str]) -> None:
    """Measure some examples, and keep their times."""
    for example in EXAMPLES:
        if example.name in names:
            found = example.seconds()
            figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
            figures.setdefault("machines", {})[example.name] = recipes.machine()
            timed = example.timed or example.package
            used = f"{timed} {version(timed)}"
            figures.setdefault("versions", {})[example.name] = used
            seconds = [float(f"{each:.3g}") for each in found]
            figures.setdefault("seconds", {})[example.name] = seconds
            FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
            print(example.name, *seconds, flush=True)


def main() -> None:
    """Measure if asked to, and write the pages."""
    if names := recipes.names_to_measure([example.name for example in EXAMPLES], __doc__):
        measure(names)
    for path, text in pages(json.loads(FIGURES.read_text())).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
