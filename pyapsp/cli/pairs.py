"""Find the shortest paths of pairs of vertices.

The i-th of --sources and the i-th of --targets are a pair; a single one goes with all others. The
table has the columns source, target and distance, with the vertex names of the graph file. With
--paths it has a row for each vertex of each path: the number of the pair, from 0, and the vertex.
With --count it has the number of shortest paths, too.

For example:
  pyapsp pairs rome99.gr --sources 1 17 --targets 3353 42
  pyapsp pairs rome99.gr --sources @from.txt --targets @to.txt -o distances.csv
  pyapsp pairs rome99.gr --sources 1 --targets 42 3353 --paths -o paths.parquet
  pyapsp pairs rome99.gr --sources 1 --targets 42 3353 --count
"""

from __future__ import annotations

import argparse
import time
from functools import partial

from pyapsp.cli.dry import show_memory
from pyapsp.cli.options import add_flag, add_json
from pyapsp.cli.output import TABLES, checked_graph, facts, print_json, write_table
from pyapsp.cli.targeted import add_targeted, ends_of, search_arguments, shown_progress

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_targeted(parser, "OUT.csv", "write the table there instead of printing it; or OUT.parquet")
    more = parser.add_mutually_exclusive_group()
    add_flag(more, "--paths", "list the vertices of the paths")
    add_flag(more, "--count", "count the shortest paths")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search, and print or write the table."""
    import pyapsp
    from pyapsp.base.errors import ParameterError

    if arguments.sources is None and arguments.targets is None:
        raise ParameterError("pairs needs --sources or --targets, or both")
    graph = checked_graph(arguments, *TABLES)
    sources, targets = ends_of(arguments, graph)
    tails, heads = (each[0] if len(each) == 1 else each for each in (sources, targets))
    options = search_arguments(arguments)
    search = partial(pyapsp.pairs, graph, tails, heads, paths=arguments.paths, **options)
    count = partial(pyapsp.count_shortest_paths, graph, tails, heads, **options)
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
