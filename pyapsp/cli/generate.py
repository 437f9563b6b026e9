"""Generate a graph from a seed and write it to a file.

For example:
  pyapsp generate random -n 4096 -m 16384 --seed 1 -o random.npz
  pyapsp generate grid -n 4900 -o grid.gr
  pyapsp generate small-world -n 1000 -k 6 -p 0.2 -o world.mtx
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyapsp.cli.options import add_json, add_output, add_size
from pyapsp.cli.output import check_outputs, show_written

if TYPE_CHECKING:
    from pyapsp.graph import Graph

__all__ = ["KINDS", "configure", "drawn", "run"]

# the options of each kind, apart from -n and --seed
KINDS: dict[str, set[str]] = {
    "random": {"m", "max_weight"},
    "rmat": {"m", "max_weight"},
    "ring": {"max_weight"},
    "path": {"max_weight"},
    "star": {"max_weight"},
    "complete": {"max_weight"},
    "grid": set(),
    "small-world": {"k", "p", "max_weight"},
    "connected": {"m", "max_weight"},
    "power-law": {"m", "max_degree", "max_weight"},
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("kind", metavar="KIND", choices=list(KINDS), help=", ".join(KINDS))
    add_size(
        parser,
        "number of vertices; rmat: a power of two; grid: a x b = N, a and b as close as possible",
        required=True,
    )
    parser.add_argument(
        "-m",
        type=int,
        metavar="M",
        help="number of arcs: random, power-law (4n); connected: twice the number of edges (4n); "
        "rmat: arcs drawn, a multiple of n (16n)",
    )
    parser.add_argument("-k", type=int, metavar="K", help="small-world: neighbours on the ring (4)")
    parser.add_argument(
        "-p", type=float, metavar="P", help="small-world: probability of rewiring (0.1)"
    )
    parser.add_argument(
        "--max-degree", type=int, metavar="N", help="power-law: largest out-degree (0.18n)"
    )
    parser.add_argument(
        "--max-weight", type=int, metavar="N", help="weights are 1..N (n); not for grid"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the random numbers (0)"
    )
    add_output(parser, "OUT", "file to write", required=True)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Generate and write."""
    from pyapsp.base.errors import ParameterError
    from pyapsp.graph import write
    from pyapsp.graph.io import check_format

    check_outputs(arguments.output)
    check_format(arguments.output)
    options = {
        option: value
        for option in ("m", "k", "p", "max_degree", "max_weight")
        if (value := getattr(arguments, option)) is not None
    }
    for option in options:
        if option not in KINDS[arguments.kind]:
            rule = f"absent: a {arguments.kind} graph has no such parameter"
            raise ParameterError.of(option, "generate", rule, options[option])
    graph = drawn(arguments.kind, arguments.n, arguments.seed, options)
    write(graph, arguments.output)
    show_written(graph, arguments)
    return 0


def drawn(kind: str, n: int, seed: int, options: dict[str, Any]) -> Graph:
    """Return a graph of a kind of this command, with the defaults of options not given."""
    from pyapsp.base.errors import ParameterError
    from pyapsp.graph import generators, validation

    if kind == "grid":
        n = validation.integer("n", "generate grid", n, 1)
        rows = next(rows for rows in range(math.isqrt(n), 0, -1) if n % rows == 0)
        return generators.grid_2d(rows, n // rows, seed=seed)
    if kind == "rmat":
        if n < 1 or n & (n - 1):
            raise ParameterError.of("n", "generate rmat", "a power of two", n)
        arcs = options.pop("m", 16 * n)
        if arcs % n:
            raise ParameterError.of("m", "generate rmat", f"a multiple of n = {n}", arcs)
        return generators.rmat(n.bit_length() - 1, arcs // n, seed=seed, **options)
    if kind == "connected":
        if "m" in options:
            arcs = options.pop("m")
            if arcs % 2:
                raise ParameterError.of("m", "generate connected", "even: both ways", arcs)
            options["edges"] = arcs // 2
        return generators.connected_graph(n, seed=seed, **options)
    makers: dict[str, Callable[..., Graph]] = {
        "random": generators.random_graph,
        "ring": generators.ring,
        "path": generators.path,
        "star": generators.star,
        "complete": generators.complete,
        "small-world": generators.small_world,
        "power-law": generators.power_law,
    }
    return makers[kind](n, seed=seed, **options)
