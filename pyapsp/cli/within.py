"""Find all vertices up to a distance from each source.

The time depends on what is within the distance, not on the size of the graph. OUT.csv and
OUT.parquet have the columns source, vertex, distance and predecessor, with the vertex names of the
graph file. OUT.npz is a sparse matrix that scipy.sparse.load_npz reads. OUT.zarr is a new folder, a
Zarr store of its arrays, for which zarr must be installed. All may be larger than the memory; until
they are complete, OUT.npz and OUT.parquet take twice their size on the disk.

For example:
  pyapsp within rome99.gr --cutoff 1000
  pyapsp within rome99.gr --cutoff 1000 --sources 1 17 3353 -o near.csv
  pyapsp within rome99.gr --cutoff 1000 -o near.npz --dtype int32
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pyapsp.cli.dry import show_memory
from pyapsp.cli.options import add_graph, add_json, add_output, add_progress, add_sources, vertices
from pyapsp.cli.output import TABLES, checked_graph, facts, print_json, write_rows
from pyapsp.cli.targeted import add_search, search_arguments, shown_progress

if TYPE_CHECKING:
    import numpy as np

    from pyapsp.graph import Graph
    from pyapsp.queries.ranges import Within

__all__ = ["configure", "run"]

_COLUMNS = ("source", "vertex", "distance", "predecessor")


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

    graph = checked_graph(arguments, ".npz", ".zarr", *TABLES)
    sources = None
    if arguments.sources is not None:
        sources = vertices(graph.labels, graph.n, arguments.sources, "within")
    options = search_arguments(arguments)
    predecessors = arguments.output is not None
    if arguments.dry_run:
        search = partial(pyapsp.within, graph, sources, predecessors=predecessors, **options)
        return show_memory(arguments, graph, search)
    started = time.perf_counter()
    with shown_progress(arguments, graph) as progress:
        entries = _written(
            arguments.output,
            graph,
            sources,
            predecessors=predecessors,
            progress=progress,
            **options,
        )
    seconds = time.perf_counter() - started
    count = graph.n if sources is None else len(sources)
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


def _written(output: str | None, graph: Graph, sources: list[int] | None, **options: Any) -> int:
    """Search, write the entries as the rows end, and return the number of entries."""
    import pyapsp

    blocks = pyapsp.within_blocks(graph, sources, **options)
    if output is None:
        return sum(int(block.distances.nnz) for block in blocks)
    if output.endswith(TABLES):
        return write_rows(_COLUMNS, _tables(blocks, graph, **options), output)
    return blocks.save(output)


def _tables(
    blocks: Iterable[Within], graph: Graph, **options: Any
) -> Iterator[Mapping[str, np.ndarray]]:
    """Yield the columns of each block, of none those of an empty answer: columns have types."""
    import pyapsp

    block = None
    for block in blocks:
        yield block.to_columns()
    if block is None:
        yield pyapsp.within(graph, [], **options).to_columns()
