"""Add up what is at the vertices up to a distance from each vertex.

TABLE.csv has a header, and then a line for each place: the name of its vertex in the graph file,
and a number for each kind of opportunity. The lines of a vertex are added up; a vertex without a
line has nothing. Without a table the other vertices are counted. The answer has a row for each
source. With --decay everything counts exp(-distance / LENGTH) times, with or without a cutoff.

For example:
  pyapsp accessibility rome99.gr --cutoff 1000
  pyapsp accessibility streets.csv --opportunities jobs.csv --cutoff 30 -o jobs-near.csv
  pyapsp accessibility streets.csv --opportunities jobs.csv --decay 10 --sources Rome Pisa
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from pyapsp.cli.dry import show_memory
from pyapsp.cli.options import add_graph, add_json, add_output, add_progress, add_sources, vertices
from pyapsp.cli.output import TABLES, checked_graph, facts, print_json, write_table
from pyapsp.cli.targeted import add_search, search_arguments, shown_progress

if TYPE_CHECKING:
    import numpy as np

    from pyapsp.graph import Graph

__all__ = ["configure", "run"]

_COUNT = "vertices"  # the column of the answer without a table


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_graph(parser)
    add_output(parser, "OUT.csv", "write the table there instead of printing it; or OUT.parquet")
    what = "what is at the vertices; without it, the other vertices are counted"
    parser.add_argument("--opportunities", metavar="TABLE.csv", help=what)
    what = "what is at distance d counts exp(-d / LENGTH) times"
    parser.add_argument("--decay", type=_positive, metavar="LENGTH", help=what)
    add_sources(parser, "(default: all vertices) search only from")
    add_search(parser, dtype=False)
    parser.set_defaults(dtype=None)
    add_progress(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search, and print or write the table."""
    import numpy as np

    import pyapsp
    from pyapsp.base.errors import ParameterError

    counted = arguments.opportunities is None
    if counted and arguments.decay is not None:
        raise ParameterError("--decay needs --opportunities")
    graph = checked_graph(arguments, *TABLES, inputs=[] if counted else [arguments.opportunities])
    sources = None
    if arguments.sources is not None:
        sources = vertices(graph.labels, graph.n, arguments.sources, "accessibility")
    options: dict[str, Any] = {**search_arguments(arguments), "sources": sources}
    del options["dtype"]
    kinds, search = [_COUNT], partial(pyapsp.reach, graph, **options)
    if not counted:
        kinds, there = _opportunities(arguments.opportunities, graph)
        if arguments.decay is not None:
            options["decay"] = _exponential(arguments.decay)
        search = partial(pyapsp.accessibility, graph, there, **options)
    if arguments.dry_run:
        return show_memory(arguments, graph, search)
    started = time.perf_counter()
    with shown_progress(arguments, graph) as progress:
        sums = search(progress=progress)
    seconds = time.perf_counter() - started
    names = np.arange(graph.n) if graph.labels is None else graph.labels
    table = {"source": names if sources is None else names[sources]}
    table |= dict(zip(kinds, sums.reshape(-1, len(kinds)).T, strict=True))
    if arguments.output is not None or not arguments.json:
        write_table(table, arguments.output)
    if arguments.json:
        about = {"sources": len(sums), "wall_seconds": seconds}
        print_json({"graph": facts(graph), **about, **({} if arguments.output else table)})
    elif arguments.output is not None:
        print(f"{len(sums):,} sources in {seconds:.3f} s -> {arguments.output}")
    return 0


def _positive(text: str) -> float:
    """Parse a length; for argparse's ``type=``."""
    length = float(text)
    if not 0 < length < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not above zero, or not finite")
    return length


def _exponential(length: float) -> Callable[[np.ndarray], np.ndarray]:
    import numpy as np

    return lambda distances: np.exp(-distances / length)


def _opportunities(path: str, graph: Graph) -> tuple[list[str], np.ndarray]:
    """Read a table, and return the names of its columns and an array with a row for each vertex.

    Raises
    ------
    FormatError
        A line has another number of columns, an unknown vertex, or a word that is no number; or a
        column has no name of its own.
    OSError
        The file cannot be read.
    """
    import numpy as np

    from pyapsp.base.errors import FormatError
    from pyapsp.base.spelling import is_plain
    from pyapsp.graph.io.layout import is_number

    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = _rows(file, path)
        _, header = next(lines, (1, []))
        kinds = header[1:]
        if not kinds or len({"source", "", *kinds}) < len(kinds) + 2:
            raise FormatError(path, 1, "a header is needed: a name for each column, all different")
        known = range(graph.n) if graph.labels is None else graph.labels.tolist()
        places = {str(label): place for place, label in enumerate(known)}
        if header[0] in places and all(map(is_number, kinds)):
            raise FormatError(path, 1, f"this may be a header or the line of {header[0]!r}")
        sums = np.zeros((graph.n, len(kinds)))
        for line, (name, *words) in lines:
            if len(words) != len(kinds):
                raise FormatError(path, line, f"{len(words) + 1} columns, not {len(header)}")
            if name not in places:
                raise FormatError(path, line, f"the graph has no vertex {name!r}")
            try:
                values = [float(word) for word in words if is_plain(word)]
            except ValueError:
                values = []
            if len(values) < len(words) or not all(map(math.isfinite, values)):
                raise FormatError(path, line, "a word is no finite number")
            sums[places[name]] += values
    return kinds, sums


def _rows(file: Any, path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each line of a CSV file that is not empty, and the number of the line."""
    from pyapsp.base.errors import FormatError

    reader = csv.reader(file, strict=True)
    try:
        for fields in reader:
            if fields:
                yield reader.line_num, [each.strip() for each in fields]
    except (csv.Error, UnicodeDecodeError) as error:
        raise FormatError(path, reader.line_num + 1, str(error)) from None
