"""Find all vertices up to a distance from each source.

The time depends on what is within the distance, not on the size of the graph. OUT.csv and
OUT.parquet have the columns source, vertex, distance and predecessor, with the vertex names of the
graph file. OUT.npz is a sparse matrix that scipy.sparse.load_npz reads.

For example:
  pyapsp within rome99.gr --cutoff 1000
  pyapsp within rome99.gr --cutoff 1000 --sources 1 17 3353 -o near.csv
  pyapsp within rome99.gr --cutoff 1000 -o near.npz --dtype int32
"""

from __future__ import annotations

import argparse
import time

from pyapsp.cli.options import add_graph, add_json, add_output, add_progress, add_sources, vertices
from pyapsp.cli.output import TABLES, checked_graph, facts, print_json, write_table
from pyapsp.cli.targeted import add_search, search_arguments, shown_progress

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_graph(parser)
    add_output(parser, "OUT.npz", "the sparse matrix; OUT.csv or OUT.parquet has a row an entry")
    add_sources(parser, "search only from")
    add_search(parser)
    add_progress(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search, save, and print a summary."""
    import pyapsp

    graph = checked_graph(arguments, ".npz", *TABLES)
    sources = None
    if arguments.sources is not None:
        sources = vertices(graph.labels, graph.n, arguments.sources, "within")
    started = time.perf_counter()
    with shown_progress(arguments, graph) as progress:
        found = pyapsp.within(
            graph,
            sources,
            predecessors=arguments.output is not None,
            progress=progress,
            **search_arguments(arguments),
        )
    seconds = time.perf_counter() - started
    if arguments.output is not None and arguments.output.endswith(TABLES):
        write_table(found.to_columns(), arguments.output)
    elif arguments.output is not None:
        found.save(arguments.output)
    entries, count = int(found.distances.nnz), found.sources.size
    if arguments.json:
        about = {"sources": count, "entries": entries, "wall_seconds": seconds}
        print_json({"graph": facts(graph), **about})
        return 0
    mean, written = entries / max(count, 1), arguments.output
    print(
        f"{entries:,} vertices within {arguments.cutoff} of {count:,} sources, {mean:.1f} of each, "
        f"in {seconds:.3f} s" + (f" -> {written}" if written else "")
    )
    return 0
