"""Options of ``pyapsp pairs``, ``distances``, ``nearest`` and ``within``."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TypedDict

from pyapsp.cli.dry import add_dry_run
from pyapsp.cli.options import (
    add_cutoff,
    add_device,
    add_dtype,
    add_graph,
    add_memory_limit,
    add_output,
    add_progress,
    add_sources,
    add_undirected,
    vertices,
    wants_progress,
)

if TYPE_CHECKING:
    from pyapsp.base.progress import Progress
    from pyapsp.graph import Graph

__all__ = [
    "add_search",
    "add_targeted",
    "add_targets",
    "ends_of",
    "search_arguments",
    "shown_progress",
]


class SearchArguments(TypedDict):
    """Arguments that the functions of these commands have."""

    cutoff: float | None
    directed: bool
    dtype: str | None
    device: str | list[str] | None
    memory_limit: int | None


def add_targeted(parser: argparse.ArgumentParser, metavar: str, what: str) -> None:
    """Add the arguments of commands with sources and targets, for `ends_of`."""
    add_graph(parser)
    add_output(parser, metavar, what)
    add_sources(parser, "(default: all vertices) search from")
    add_targets(parser)
    add_search(parser)
    add_progress(parser)


def add_search(
    parser: argparse.ArgumentParser,
    several: str = "several share the sources",
    *,
    dtype: bool = True,
) -> None:
    """Add the arguments of a search, for `search_arguments`; `several` as for `add_device`."""
    add_cutoff(parser)
    add_undirected(parser)
    if dtype:
        add_dtype(parser)
    add_device(parser, several)
    add_memory_limit(parser)
    add_dry_run(parser)


def add_targets(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Add ``--targets``."""
    parser.add_argument(
        "--targets",
        nargs="+",
        metavar="VERTEX",
        required=required,
        help=f"{'' if required else '(default: all vertices) '}search for these vertices, with "
        "their names in the graph file; @FILE reads names, separated by white space, from a file",
    )


def ends_of(arguments: argparse.Namespace, graph: Graph) -> tuple[list[int], list[int]]:
    """Return the numbers of the sources and of the targets."""
    sources, targets = (
        list(range(graph.n))
        if names is None
        else vertices(graph.labels, graph.n, names, arguments.command, option)
        for option, names in (("--sources", arguments.sources), ("--targets", arguments.targets))
    )
    return sources, targets


def search_arguments(arguments: argparse.Namespace) -> SearchArguments:
    """Return the arguments of the function."""
    return {
        "cutoff": arguments.cutoff,
        "directed": not arguments.undirected,
        "dtype": arguments.dtype,
        "device": arguments.device,
        "memory_limit": arguments.memory_limit,
    }


def shown_progress(
    arguments: argparse.Namespace, graph: Graph
) -> AbstractContextManager[Progress | None]:
    """Return a context with the progress to show, if it is wanted."""
    from pyapsp.base.progress import Progress

    return Progress(graph.n) if wants_progress(arguments) else nullcontext()
