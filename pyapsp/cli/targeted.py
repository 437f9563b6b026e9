"""Options of ``pyapsp pairs``, ``distances`` and ``nearest``, which name the vertices to find."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TypedDict

from pyapsp.cli.options import (
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

__all__ = ["add_targeted", "add_targets", "ends_of", "shown_progress", "targeted_arguments"]


class Targeted(TypedDict):
    """Arguments of `pyapsp.pairs` and `pyapsp.distances`."""

    directed: bool
    dtype: str | None
    device: str | None
    memory_limit: int | None


def add_targeted(parser: argparse.ArgumentParser, metavar: str, what: str) -> None:
    """Add the arguments, for the functions of this module."""
    add_graph(parser)
    add_output(parser, metavar, what)
    add_sources(parser, "(default: all vertices) search from")
    add_targets(parser)
    add_undirected(parser)
    add_dtype(parser)
    add_device(parser)
    add_memory_limit(parser)
    add_progress(parser)


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


def targeted_arguments(arguments: argparse.Namespace) -> Targeted:
    """Return the arguments of the function."""
    return {
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
