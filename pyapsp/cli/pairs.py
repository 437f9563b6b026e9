"""Find the shortest paths of pairs of vertices.

The i-th of --sources and the i-th of --targets are a pair; a single one goes with all others. The
table has the columns source, target and distance, with the vertex names of the graph file. With
--paths it has a row for each vertex of each path: the number of the pair, from 0, and the vertex.
With --count it has the number of shortest paths, too. With -k it has a row for each of the K
shortest paths without loops, and with --paths one for each of their vertices. With --all it has a
row for each vertex of each shortest path. --along sums a second weight along the shortest path: of
parallel arcs the one with the smallest first weight counts.

For example:
  pyapsp pairs rome99.gr --sources 1 17 --targets 3353 42
  pyapsp pairs rome99.gr --sources @from.txt --targets @to.txt -o distances.csv
  pyapsp pairs rome99.gr --sources 1 --targets 42 3353 --paths -o paths.parquet
  pyapsp pairs rome99.gr --sources 1 --targets 42 3353 --count
  pyapsp pairs rome99.gr --sources 1 --targets 42 3353 -k 3 -o alternatives.csv
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pyapsp.cli.dry import show_memory
from pyapsp.cli.options import add_flag, add_json, as_utf8, reading_of
from pyapsp.cli.output import TABLES, checked_graph, facts, print_json, write_table
from pyapsp.cli.targeted import add_targeted, ends_of, search_arguments, shown_progress

if TYPE_CHECKING:
    from pyapsp.graph import Graph

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_targeted(parser, "OUT.csv", "write the table there instead of printing it; or OUT.parquet")
    more = parser.add_mutually_exclusive_group()
    add_flag(more, "--paths", "list the vertices of the paths")
    add_flag(more, "--count", "count the shortest paths")
    add_flag(more, "--all", "list the vertices of all shortest paths")
    what = "with --all, list at most N paths of a pair"
    parser.add_argument("--limit", type=int, metavar="N", help=what)
    what = "find the K shortest paths without loops"
    parser.add_argument("-k", type=int, metavar="K", help=what)
    what = "the column with a second weight, to sum along the shortest path; of an edge list"
    parser.add_argument("--along", metavar="COLUMN", help=what)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search, and print or write the table."""
    import pyapsp
    from pyapsp.base.errors import ParameterError

    if arguments.sources is None and arguments.targets is None:
        raise ParameterError("pairs needs --sources or --targets, or both")
    _check(arguments)
    graph = checked_graph(arguments, *TABLES)
    sources, targets = ends_of(arguments, graph)
    ends = [each[0] if len(each) == 1 else each for each in (sources, targets)]
    search = partial(_function(arguments, graph), graph, *ends)
    count = partial(pyapsp.count_shortest_paths, graph, *ends, **search_arguments(arguments))
    if arguments.dry_run:
        return show_memory(arguments, graph, search, *[count] * arguments.count)
    started = time.perf_counter()
    with shown_progress(arguments, graph) as progress:
        found = search(progress=progress)
        table = found.path_columns() if arguments.paths else found.to_columns()
        if arguments.count:
            table["paths"] = count()
    seconds = time.perf_counter() - started
    if arguments.output is not None or not arguments.json:
        write_table(table, arguments.output)
    if arguments.json:
        about = {"pairs": found.sources.size, "wall_seconds": seconds}
        print_json({"graph": facts(graph), **about, **({} if arguments.output else table)})
    elif arguments.output is not None:
        print(f"{found.sources.size:,} pairs in {seconds:.3f} s -> {arguments.output}")
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Check that the options can be used together.

    Raises
    ------
    ParameterError
        If they cannot.
    """
    from pyapsp.base.errors import ParameterError

    if arguments.limit is not None and not arguments.all:
        raise ParameterError("--limit is for --all")
    given = {"--cutoff": arguments.cutoff is not None, "--count": arguments.count}
    given |= {"--all": arguments.all, "--along": arguments.along is not None}
    if arguments.k is not None:
        for name in [name for name, there in given.items() if there]:
            raise ParameterError(f"{name} is not for -k")
    if arguments.along is not None and (arguments.all or arguments.paths):
        raise ParameterError("--along is for a table of pairs: leave out --paths and --all")


def _function(arguments: argparse.Namespace, graph: Graph) -> Callable[..., Any]:
    """Return the function that searches, with its options."""
    import pyapsp
    from pyapsp.queries.along import of_columns

    options: dict[str, Any] = {**search_arguments(arguments)}
    if arguments.all:
        return partial(pyapsp.all_shortest_paths, limit=arguments.limit, **options)
    if arguments.k is not None:
        del options["cutoff"]
        return partial(pyapsp.yen, k=arguments.k, **options)
    if arguments.along is None:
        return partial(pyapsp.pairs, paths=arguments.paths, **options)
    reading = reading_of(arguments)
    second, directed = as_utf8(arguments.along), options["directed"]
    first, form = reading.get("weight", ...), reading.get("format")
    along = of_columns(arguments.graph, graph, first, second, directed, form)
    return partial(pyapsp.pairs, paths=True, along=along, **options)
