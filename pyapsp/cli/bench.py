"""Time methods beside SciPy's Floyd-Warshall on the same graph, in one run.

After one warm-up each, all take turns, and medians are compared: whole calls, from the graph to
the distances on the host. Every answer is compared with SciPy's. Exit code 1 when one differs.

For example:
  pyapsp bench rome99.gr --method fw-blocked --dtype float32
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from statistics import median
from typing import Any

from pyapsp.cli.options import add_device, check_outputs, commit, write_json

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("graph", metavar="GRAPH", help="a graph file of any known format")
    parser.add_argument(
        "--method", nargs="+", default=["fw-blocked"], metavar="ID", help="see 'pyapsp methods'"
    )
    parser.add_argument("--dtype", nargs="+", default=["float64"], metavar="TYPE")
    parser.add_argument("--predecessors", action="store_true", help="compute the paths, too")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="timed turns (3)")
    parser.add_argument(
        "-o", "--output", metavar="OUT.json", help="write the record of the last turn of each"
    )
    add_device(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure and print one line per method and dtype."""
    from scipy.sparse import csgraph

    import pyapsp
    from pyapsp.errors import ParameterError
    from pyapsp.verify import against_distances

    if arguments.repeat < 1:
        raise ParameterError.of("repeat", "bench", "at least 1", arguments.repeat)
    check_outputs(arguments.output)
    graph = pyapsp.read(arguments.graph)
    runs: dict[str, Callable[[], Any]] = {
        f"{method} {dtype}": partial(
            pyapsp.solve,
            graph,
            method,
            dtype=dtype,
            predecessors=arguments.predecessors,
            device=arguments.device,
        )
        for method, dtype in product(arguments.method, arguments.dtype)
    }
    # last, so that a negative cycle is told in our words; sparse, so that SciPy keeps all arcs
    runs["SciPy"] = partial(
        csgraph.floyd_warshall,
        graph.to_scipy().astype(float),
        return_predecessors=arguments.predecessors,
    )
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    last: dict[str, Any] = {}
    for turn in range(arguments.repeat + 1):
        for name, call in runs.items():
            started = time.perf_counter()
            last[name] = call()
            if turn > 0:
                seconds[name].append(time.perf_counter() - started)

    peer = median(seconds["SciPy"])
    updates = graph.n**3
    expected = last["SciPy"][0] if arguments.predecessors else last["SciPy"]
    print(f"{arguments.graph}: n = {graph.n:,}, m = {graph.m:,}, median of {arguments.repeat}")
    print(f"{'SciPy float64':24} {peer:9.3f} s {updates / peer / 1e9:9.2f} G updates/s")
    wrong, records = 0, []
    for name, result in last.items():
        if name == "SciPy":
            continue
        own = median(seconds[name])
        comparison = against_distances(graph, result, expected)
        wrong += not comparison.ok
        print(
            f"{name:24} {own:9.3f} s {updates / own / 1e9:9.2f} G updates/s "
            f"{peer / own:7.2f} x SciPy  {'equal' if comparison.ok else 'WRONG'}"
        )
        records.append(
            {
                **result.stats,
                "commit": commit(),
                "median_seconds": own,
                "peer": {"name": "SciPy floyd_warshall", "median_seconds": peer},
                "verified": comparison.ok,
                "max_error": comparison.max_error,
            }
        )
    if arguments.output:
        write_json(arguments.output, {"schema": 1, "runs": records})
    return 1 if wrong else 0
