"""Options and output of ``pyapsp bfs`` and ``pyapsp sssp``, which search from one source."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pyapsp.cli.options import add_one_method, add_record, add_undirected, method_of, vertices
from pyapsp.cli.output import TABLES, checked_graph, print_json, recorded, took, write_table

if TYPE_CHECKING:
    from pyapsp.graph import Graph
    from pyapsp.traversal.result import SearchResult

__all__ = ["add_search", "finish", "search_arguments"]


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a search, for `search_arguments` and `finish`."""
    add_one_method(
        parser,
        "OUT.npz",
        "the result with predecessors, for 'pyapsp path'; OUT.csv or OUT.parquet has a row for "
        "each vertex",
    )
    parser.add_argument(
        "--source",
        metavar="VERTEX",
        help="vertex to search from, named as in the graph file (default: the vertex with the "
        "most leaving arcs)",
    )
    add_undirected(parser)
    add_record(parser)


def search_arguments(arguments: argparse.Namespace) -> tuple[Graph, dict[str, Any]]:
    """Return the graph, and the options that both searches have.

    Raises
    ------
    ParameterError
        If there is no such vertex or method, or an output cannot be written.
    """
    from pyapsp.base.errors import ParameterError
    from pyapsp.traversal.request import default_source

    method = method_of(arguments, arguments.command)
    graph = checked_graph(arguments, ".npz", *TABLES)
    if graph.n == 0:
        raise ParameterError(f"{arguments.graph} has no vertex to search from")
    if arguments.source is None:
        searched = graph.symmetrized() if arguments.undirected else graph
        sources = default_source(searched).tolist()
    else:
        named, command = [arguments.source], arguments.command
        sources = vertices(graph.labels, graph.n, named, command, "--source")
    if len(sources) != 1:  # a file of names, @FILE, may have several
        raise ParameterError.of("--source", arguments.command, "one vertex", arguments.source)
    return graph, {
        "source": sources[0],
        "method": method,
        "directed": not arguments.undirected,
        "device": arguments.device,
        "memory_limit": arguments.memory_limit,
    }


def finish(arguments: argparse.Namespace, result: SearchResult, length: str) -> int:
    """Save the row of the source, and print a summary of the run.

    Parameters
    ----------
    arguments : Namespace
    result : SearchResult
        The result of the search.
    length : str
        The name of the distances: ``"level"`` or ``"distance"``.
    """
    rows = result.rows
    distances = rows.distances[0]
    names = range(distances.size) if rows.labels is None else rows.labels.tolist()
    if arguments.output is not None and arguments.output.endswith(TABLES):
        write_table(result.to_columns(), arguments.output)
    elif arguments.output is not None:
        rows.save(arguments.output)
    record = recorded(arguments, rows.stats)
    reached = distances[distances < rows.infinity]
    source, farthest = names[int(rows.sources[0])], reached.max()
    if arguments.json:
        print_json({**record, "reached": reached.size, f"largest_{length}": farthest})
        return 0
    rates = [f"{record['rate'] / 1e6:,.1f} M arcs/s"] if record["rate"] else []
    print(rows.explain())
    print(
        f"from {source}: {reached.size:,} of {distances.size:,} vertices reached, largest {length} "
        f"{farthest:,}, in {took(record, arguments.output, *rates)}"
    )
    return 0
