"""Compute exact measures of the distances of a graph without storing the matrix.

The measures of a graph are diameter, radius, average-shortest-path-length and wiener-index.
eccentricity, closeness-centrality, harmonic-centrality and betweenness-centrality are tables with a
row for each vertex, as CSV. The betweenness needs searches from all vertices, also with --sources.
edge-betweenness-centrality has a row for each arc. Both use the weights of the file, unlike the
functions of Python: --unweighted counts arcs. distance-histogram is the number of pairs at
each distance, as CSV. Pairs without a path are ignored, except in the Wiener index, which is then
inf. Sums of integer distances are exact. Several devices share the searches.

For example:
  pyapsp measure rome99.gr diameter radius average-shortest-path-length
  pyapsp measure rome99.gr eccentricity closeness-centrality --sources 1 17 3353
  pyapsp measure rome99.gr eccentricity closeness-centrality -o vertices.csv
  pyapsp measure rome99.gr betweenness-centrality -o between.csv
  pyapsp measure rome99.gr distance-histogram --width 1000 --json
  pyapsp measure --device 0:0 0:1 rome99.gr radius
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from functools import partial
from typing import Any

from pyapsp.cli.dry import add_dry_run, show_memory
from pyapsp.cli.options import (
    add_device,
    add_graph,
    add_json,
    add_memory_limit,
    add_name_of_method,
    add_output,
    add_progress,
    add_sources,
    add_undirected,
    check_named,
    read_graph,
    vertices,
    wants_progress,
)
from pyapsp.cli.output import TABLES, check_outputs, check_suffix, facts, print_json, write_table

__all__ = ["configure", "run"]

_BETWEENNESS, _HARMONIC = "betweenness-centrality", "harmonic-centrality"
_OF_ARCS = "edge-betweenness-centrality"
_OF_VERTICES = ("eccentricity", "closeness-centrality", _HARMONIC, _BETWEENNESS)
_OF_ALL_PAIRS = ("diameter", "radius", "wiener-index")
_HISTOGRAM = "distance-histogram"
_MEASURES = (*_OF_ALL_PAIRS, "average-shortest-path-length", *_OF_VERTICES, _OF_ARCS, _HISTOGRAM)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_graph(parser)
    parser.add_argument(
        "measures", metavar="MEASURE", nargs="+", choices=_MEASURES, help=", ".join(_MEASURES)
    )
    add_output(
        parser,
        "OUT.csv",
        "write the measures of vertices, or the histogram, there instead of printing them; or "
        "OUT.parquet",
    )
    add_sources(parser, f"(not with {', '.join(_OF_ALL_PAIRS)}) compute only for")
    add_undirected(parser)
    parser.add_argument(
        "--width",
        type=_width,
        default=1,
        metavar="LENGTH",
        help="width of a bin of the histogram (1)",
    )
    add_name_of_method(parser, "'auto' (default) or a method that searches from sources")
    add_device(parser, "several share the sources")
    add_memory_limit(parser)
    add_dry_run(parser)
    add_progress(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, and print or write."""
    import numpy as np

    from pyapsp.all_pairs import summaries
    from pyapsp.base.progress import Progress
    from pyapsp.cluster.devices import own_device
    from pyapsp.registry import method_of

    measures = list(dict.fromkeys(arguments.measures))
    _check(measures, arguments)
    ranks = getattr(arguments, "team", None)
    method_of("all-pairs", arguments.method, "measure")
    check_named(arguments, *([arguments.graph] if ranks is None or ranks.rank == 0 else []))
    check_outputs(arguments.output, inputs=[arguments.graph])
    check_suffix(arguments, *TABLES)
    if ranks is None:
        graph = read_graph(arguments.graph, arguments)
    else:
        graph = ranks.share(read_graph(arguments.graph, arguments) if ranks.rank == 0 else None)
    options: dict[str, Any] = {
        "directed": not arguments.undirected,
        "method": arguments.method,
        "device": arguments.device,
        "memory_limit": arguments.memory_limit,
    }
    if ranks is not None:
        own = own_device(ranks, arguments.device)
        limit = own.limit(arguments.memory_limit)
        options |= {"device": own.device, "memory_limit": limit, "comm": ranks}
    names = np.arange(graph.n) if graph.labels is None else graph.labels
    if arguments.sources is not None:
        chosen = vertices(graph.labels, graph.n, arguments.sources, "measure")
        options["sources"] = chosen
        names = names[chosen]
    calls = {}
    for measure in measures:
        given = dict(options)
        if measure == _HISTOGRAM:
            given["width"] = arguments.width
        if measure in (_BETWEENNESS, _OF_ARCS):
            given["weight"] = ...  # those of the file
            some = given.pop("sources", slice(None))
            del given["method"]
        calls[measure] = partial(getattr(summaries, measure.replace("-", "_")), graph, **given)
    if arguments.dry_run:
        return show_memory(arguments, graph, *calls.values())
    values = {}
    for measure, call in calls.items():
        # the number of searches that the diameter needs is not known before
        counted = measure != "diameter" and wants_progress(arguments)
        counted = counted and (ranks is None or ranks.rank == 0)
        with Progress(graph.n) if counted else nullcontext() as progress:
            values[measure] = call(**{"progress": progress} if counted else {})
        if measure == _BETWEENNESS:
            values[measure] = values[measure][some]
    if ranks is not None and ranks.rank > 0:
        return 0
    table: dict[str, np.ndarray] = {}
    if _HISTOGRAM in values:
        counts = values.pop(_HISTOGRAM)
        bins = counts.nonzero()[0]
        table = {"from": bins * arguments.width, "pairs": counts[bins]}
    elif _OF_ARCS in values:
        arcs = graph.symmetrized() if arguments.undirected else graph
        tails, heads, _ = arcs.arcs()
        table = {"source": names[tails], "target": names[heads], _OF_ARCS: values.pop(_OF_ARCS)}
    elif any(measure in _OF_VERTICES for measure in measures):
        table = {"vertex": names}
        table |= {name: values.pop(name) for name in measures if name in _OF_VERTICES}
    if arguments.json:
        print_json({"graph": facts(graph), **values, **table})
    else:
        for measure, value in values.items():
            print(f"{measure} {value}")
    if arguments.output or (table and not arguments.json):
        write_table(table, arguments.output)
    return 0


def _check(measures: list[str], arguments: argparse.Namespace) -> None:
    """Check that the measures and options can be used together.

    Raises
    ------
    ParameterError
        If they cannot.
    """
    from pyapsp.base.errors import ParameterError

    if getattr(arguments, "team", None) is not None and arguments.dry_run:
        raise ParameterError("--dry-run is for one process")
    for measure in {_BETWEENNESS, _OF_ARCS}.intersection(measures):
        if arguments.method != "auto":
            raise ParameterError(f"{measure} has one method: leave out --method")
    tables = [measure for measure in measures if measure in (*_OF_VERTICES, _OF_ARCS, _HISTOGRAM)]
    whole = [measure for measure in measures if measure in (*_OF_ALL_PAIRS, _OF_ARCS)]
    for alone in {_HISTOGRAM, _OF_ARCS}.intersection(tables):
        for other in tables:
            if other != alone:
                raise ParameterError(f"{alone} and {other} are two tables: ask for one at a time")
    if arguments.output is not None and not tables:
        raise ParameterError(f"-o is for {', '.join(_OF_VERTICES)}, {_OF_ARCS} and {_HISTOGRAM}")
    if arguments.sources is not None and whole:
        raise ParameterError(f"{whole[0]} needs all vertices: leave out --sources")


def _width(text: str) -> int | float:
    """Parse the width of a bin, as an integer if it is one."""
    try:
        return int(text)
    except ValueError:
        return float(text)
