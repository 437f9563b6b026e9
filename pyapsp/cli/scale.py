"""Predict the time of Floyd-Warshall on ranks of MPI, from measured rates.

Started with mpiexec, the command measures rates for a few seconds: products, copies, broadcasts,
and writing to the current folder. The slowest rank counts. -o writes the rates to a file, and
--rates reads them, also without MPI.

The columns of the table are: ranks; pivots of a pass; seconds of all passes; seconds of updates, of
pivot blocks and of broadcasts, which overlap; which of these limits the speed; seconds to write the
distances; seconds if the ranks formed a grid, for comparison.

For example:
  mpiexec -n 2 pyapsp scale -n 100000 -o rates.json
  pyapsp scale -n 1000000 --ranks 1 4 16 64 --rates rates.json --memory 80G
"""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from pyapsp.cli.options import add_device, add_json, add_output, add_size, bytes_of
from pyapsp.cli.output import check_outputs, print_json, write_json

if TYPE_CHECKING:
    import numpy as np

    from pyapsp.cluster.model import Prediction, Rates
    from pyapsp.graph import Graph

__all__ = ["configure", "run"]

_RANKS = (1, 2, 4, 8, 16, 32, 64)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_size(parser, "number of vertices", required=True)
    parser.add_argument(
        "--ranks", type=int, nargs="+", default=_RANKS, metavar="P", help="numbers of ranks"
    )
    parser.add_argument(
        "--dtype", metavar="TYPE", default="float32", help="type of the distances (float32)"
    )
    parser.add_argument("--rates", metavar="FILE.json", help="rates that -o has written")
    parser.add_argument(
        "--link",
        type=bytes_of,
        metavar="SIZE",
        help="bytes a second between ranks, in place of the measured: e.g. 25G",
    )
    parser.add_argument(
        "--memory",
        type=bytes_of,
        metavar="SIZE",
        help="device memory of a rank, in place of the measured: e.g. 80G",
    )
    add_output(parser, "FILE.json", "write the measured rates")
    add_device(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure or read rates, and print the predictions."""
    from pyapsp.base.errors import ParameterError
    from pyapsp.cluster.model import best
    from pyapsp.numbers.precision import resolve

    if arguments.n < 1 or min(arguments.ranks) < 1:
        raise ParameterError("--n and --ranks must be at least 1")
    dtype, _ = resolve(_no_arcs(), arguments.dtype, "scale")
    check_outputs(arguments.output, inputs=[arguments.rates] if arguments.rates else [])
    rates = _rates(arguments, dtype)
    if rates is None:
        return 0  # rank 0 prints
    if math.isinf(rates.link) and max(arguments.ranks) > 1:
        raise ParameterError("one rank measures no link between ranks: take mpiexec, or --link")
    if arguments.output:
        write_json(arguments.output, rates.json())
    predictions = []
    for count in arguments.ranks:
        grid = best(arguments.n, count, dtype.itemsize, rates, layout="grid").seconds
        predictions.append((best(arguments.n, count, dtype.itemsize, rates), grid))
    if arguments.json:
        rows = [{**asdict(each), "grid_seconds": grid} for each, grid in predictions]
        print_json({"rates": rates.json(), "runs": rows})
        return 0
    _print(predictions)
    return 0


def _no_arcs() -> Graph:
    from pyapsp.graph import Graph

    return Graph.from_arcs(1, [], [])


def _rates(arguments: argparse.Namespace, dtype: np.dtype) -> Rates | None:
    """Return rates of a file, or measured here; None on ranks after the first."""
    import json

    from pyapsp.base.errors import ParameterError
    from pyapsp.cluster.model import Rates

    ranks = getattr(arguments, "team", None)
    if arguments.rates:
        with open(arguments.rates, encoding="utf-8") as file:
            try:
                rates = Rates.of(json.load(file))
            except (ValueError, AttributeError) as error:
                raise ParameterError(f"{arguments.rates}: {error}") from None
    else:
        from pyapsp.cluster.ranks import Ranks, world
        from pyapsp.cluster.rates import measured

        with Ranks(world(), "scale") if ranks is None else ranks as at_work:
            rates = measured(at_work, arguments.n, dtype, arguments.device, ".")
    if ranks is not None and ranks.rank > 0:
        return None
    link = rates.link if arguments.link is None else float(arguments.link)
    memory = rates.memory if arguments.memory is None else arguments.memory
    return replace(rates, link=link, memory=memory)


def _print(predictions: list[tuple[Prediction, float]]) -> None:
    """Print a table."""
    titles = "ranks block seconds update pivots broadcast bound write grid"
    rows = [titles.split()]
    for each, grid in predictions:
        times = (each.seconds, each.update, each.opening, each.broadcast)
        shown = tuple(f"{seconds:,.3g}" for seconds in times)
        last = (each.bound, f"{each.writing:,.3g}", f"{grid:,.3g}")
        rows.append([str(each.ranks), str(each.block), *shown, *last])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)))
