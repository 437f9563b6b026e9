"""Generate a graph from a seed and write it to a file."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyapsp.errors import ParameterError

if TYPE_CHECKING:
    from pyapsp.graph import Graph

__all__ = ["configure", "run"]

# the options of each kind, besides -n and --seed
_OPTIONS: dict[str, set[str]] = {
    "random": {"m", "max_weight"},
    "rmat": {"m", "max_weight"},
    "ring": {"max_weight"},
    "complete": {"max_weight"},
    "grid": set(),
    "small-world": {"k", "p", "max_weight"},
    "connected": {"m", "max_weight"},
    "power-law": {"m", "max_degree", "max_weight"},
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("kind", metavar="KIND", choices=list(_OPTIONS), help=", ".join(_OPTIONS))
    parser.add_argument(
        "-n",
        type=int,
        required=True,
        help="number of vertices; rmat: a power of two; grid: as square as its divisors allow",
    )
    parser.add_argument(
        "-m",
        type=int,
        help="arcs: random, power-law (4n), connected: twice the edges (4n); "
        "rmat: drawn, a multiple of n (16n)",
    )
    parser.add_argument("-k", type=int, help="small-world: neighbours on the ring (4)")
    parser.add_argument("-p", type=float, help="small-world: probability of rewiring (0.1)")
    parser.add_argument("--max-degree", type=int, help="power-law: largest out-degree (0.18n)")
    parser.add_argument(
        "--max-weight", type=int, help="weights are 1..MAX_WEIGHT (n); not for grid"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed (0)")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="file to write")


def run(arguments: argparse.Namespace) -> int:
    """Generate and write."""
    from pyapsp.graph import write

    given = {
        option: value
        for option in ("m", "k", "p", "max_degree", "max_weight")
        if (value := getattr(arguments, option)) is not None
    }
    for option in given:
        if option not in _OPTIONS[arguments.kind]:
            rule = f"absent: a {arguments.kind} graph has no such parameter"
            raise ParameterError.of(option, "generate", rule, given[option])
    graph = _generate(arguments.kind, arguments.n, arguments.seed, given)
    write(graph, arguments.output)
    print(f"{arguments.output}: {graph!r}")
    return 0


def _generate(kind: str, n: int, seed: int, options: dict[str, Any]) -> Graph:
    from pyapsp.graph import generators, validation

    if kind == "grid":
        n = validation.integer("n", "generate grid", n, 1)
        rows = next(rows for rows in range(math.isqrt(n), 0, -1) if n % rows == 0)
        return generators.grid_2d(rows, n // rows, seed=seed)
    if kind == "rmat":
        if n < 1 or n & (n - 1):
            raise ParameterError.of("n", "generate rmat", "a power of two", n)
        drawn = options.pop("m", 16 * n)
        if drawn % n:
            raise ParameterError.of("m", "generate rmat", f"a multiple of n = {n}", drawn)
        return generators.rmat(n.bit_length() - 1, drawn // n, seed=seed, **options)
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
        "complete": generators.complete,
        "small-world": generators.small_world,
        "power-law": generators.power_law,
    }
    return makers[kind](n, seed=seed, **options)
