"""What pages take from the package itself: tables of methods and programs, help of the commands."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from layers import LAYERS
from papers import SOURCES

import pyapsp
from pyapsp import cli, networkx_backend
from pyapsp.bulk import programs
from pyapsp.registry import Method
from pyapsp.sweep import applications

__all__ = [
    "commands",
    "exhibits",
    "files",
    "layers",
    "methods_table",
    "networkx_functions",
    "programs_table",
]

TOP = Path(__file__).resolve().parents[1]
# Methods that are not named after their kernel file, or have none.
_KERNELS = {
    "fw-multidevice": "fw_minplus",
    "fw-outofcore": "fw_minplus",
    "dijkstra-cpu": None,
    "bfs-helix": "bfs_helix",
}


def files(method: type[Method]) -> tuple[list[Path], list[Path]]:
    """Return the kernel and test files of a method, relative to the top of the checkout.

    Tests are those of its module or, where it has none, of the one that its base class is in, or of
    the problem. A module ``method`` goes by its package.
    """
    modules = [
        cls.__module__.removesuffix(".method") for cls in method.__mro__ if cls is not Method
    ]
    stems = [module.rpartition(".")[2] for module in modules]
    kernel = _KERNELS.get(method.id, stems[0])
    kernels = _found("cl", method.area, f"{kernel}*.cl") if kernel else []
    package = method.area.partition("/")[0]
    tests = (_found("tests", package, f"**/test_{stem}.py") for stem in [*stems, method.problem])
    return kernels, next(filter(None, tests), [])


def _found(tree: str, folder: str, pattern: str) -> list[Path]:
    return sorted(path.relative_to(TOP) for path in (TOP / tree / folder).glob(pattern))


def exhibits(name: str) -> dict[str, list[str]]:
    """Return what a method, program or sweep has part in: target -> tables and figures."""
    found: dict[str, list[str]] = {}
    for source in SOURCES.values():
        for experiment in source.experiments.values():
            if name in experiment.methods:
                found.setdefault(source.name, []).append(experiment.exhibits)
    return found


def methods_table() -> str:
    """Return the table of all methods, in Markdown."""
    rows = []
    for method in sorted(pyapsp.methods(), key=lambda method: (method.area, method.id)):
        kernels, tests = files(method)
        module = TOP / f"{method.__module__.replace('.', '/')}.py"
        source = re.sub(r"(https://\S+?)(?=[,;]|$)", r"<\1>", method.source)
        source = re.sub(r"doi:(\S+?)(?=[,;]|$)", r"[doi:\1](https://doi.org/\1)", source)
        rows.append((method.id, source, [*(kernels or [module.relative_to(TOP)]), *tests]))
    return _table("method", rows)


def programs_table() -> str:
    """Return the table of the bulk programs and the sweeps that come along, in Markdown."""
    found = [(program, "programs") for program in sorted(programs().values())]
    folder = TOP / "cl" / "sweep"
    found += [(folder / f"{name}.cl", "applications") for name in applications.__all__]
    rows = []
    for path, test in found:
        comment = path.read_text(encoding="utf-8").partition("*/")[0]
        source = re.search(r"\* Source +(.*)", comment, re.DOTALL)
        words = " ".join(source[1].replace("*", " ").split()) if source else "-"
        tests = Path("tests", path.relative_to(TOP / "cl").parts[0], f"test_{test}.py")
        rows.append((path.stem, words, [path.relative_to(TOP), tests]))
    return _table("program or sweep", rows)


def _table(head: str, rows: list[tuple[str, str, list[Path]]]) -> str:
    lines = [f"| {head} | from | files | measured again in |", "|---|---|---|---|"]
    for name, source, paths in rows:
        links = (f"{{download}}`{path.name} </../{path.as_posix()}>`" for path in paths)
        shown = (f"`{target}`: {'; '.join(what)}" for target, what in exhibits(name).items())
        cells = f"`{name}`", source, "<br>".join(links), "<br>".join(shown) or "-"
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def networkx_functions() -> str:
    """Return the list of the NetworkX functions that run here, in Markdown."""
    functions = networkx_backend.get_info()["functions"]
    return "\n".join(f"- `{name}`: {about['additional_docs']}" for name, about in functions.items())


def commands() -> str:
    """Return the help of every command, in Markdown."""
    return "\n".join(_helps(cli.parser(), 2))


def _helps(parser: argparse.ArgumentParser, level: int) -> Iterator[str]:
    yield f"\n{'#' * level} {parser.prog}\n\n```text\n{parser.format_help().rstrip()}\n```\n"
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _helps(child, level + 1)


def layers() -> str:
    """Return a drawing of the layers and their packages, the top one first."""
    rows = [(name, "  ".join(packages)) for name, packages in reversed(LAYERS)]
    width = max(len(packages) for _, packages in rows)
    line = "+" + "-" * (width + 2) + "+"
    drawn = [f"| {packages.center(width)} |  {name}\n{line}" for name, packages in rows]
    return "\n".join(["```text", line, *drawn, "```"])
