"""Compute all-pairs shortest paths of a graph file.

For example:
  pyapsp solve rome99.gr -o rome99.npz
  pyapsp solve graph.mtx -o out.npz --method fw-blocked --set tile=32 --dtype auto --predecessors
  pyapsp solve rome99.gr -o rows.npy --sources 1 17 3353 --cutoff 20000
  pyapsp solve rome99.gr --dry-run --memory-limit 512MiB
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from pyapsp.cli.options import (
    add_cutoff,
    add_device,
    add_dtype,
    add_json,
    add_memory_limit,
    add_method,
    add_progress,
    add_sources,
    check_outputs,
    check_suffix,
    commit,
    facts,
    is_special,
    method_of,
    print_json,
    vertices,
    wants_progress,
    write_json,
)

if TYPE_CHECKING:
    import numpy as np

    from pyapsp.graph import Graph
    from pyapsp.registry import Method

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("graph", metavar="GRAPH", help="a graph file of any known format")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT.npz",
        help="the result; OUT.npy has the distances alone, and is written through a mapping: for "
        "matrices larger than memory",
    )
    add_method(parser)
    add_dtype(parser)
    add_device(parser, several="of several the first leads, for methods that use several")
    parser.add_argument("--predecessors", action="store_true", help="also store the paths")
    parser.add_argument("--undirected", action="store_true", help="arcs may be walked both ways")
    add_sources(parser, "only the rows of")
    add_cutoff(parser)
    add_memory_limit(parser)
    parser.add_argument(
        "--checkpoint", metavar="DIR", help="folder for checkpoints, for methods that write them"
    )
    parser.add_argument("--record", metavar="FILE.json", help="also write the record of the run")
    parser.add_argument(
        "--roof",
        action="store_true",
        help="measure first what the device can do at most, and report the fraction reached",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="only say what would be done, with the memory it takes and the time if it is known",
    )
    add_progress(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Solve, save, and say what was done."""
    import pyapsp
    from pyapsp.errors import ParameterError
    from pyapsp.progress import Progress

    method = method_of(arguments, "all-pairs")
    if arguments.output is None and not arguments.dry_run:
        raise ParameterError("-o OUT is needed: where the result goes")
    mapped = _is_mapped(arguments)
    beside = _beside(arguments.output) if mapped and arguments.predecessors else None
    check_outputs(arguments.output, arguments.record, beside, inputs=[arguments.graph])
    check_suffix(arguments, ".npz", ".npy")
    if mapped and is_special(arguments.output):
        raise ParameterError(f"{arguments.output} is no file and cannot be mapped: write OUT.npz")
    graph = pyapsp.read(arguments.graph)
    sources = None
    if arguments.sources is not None:
        sources = vertices(graph.labels, graph.n, arguments.sources, "solve")
    asked = {
        "sources": sources,
        "cutoff": arguments.cutoff,
        "directed": not arguments.undirected,
        "dtype": arguments.dtype,
        "predecessors": arguments.predecessors,
        "device": arguments.device,
        "memory_limit": arguments.memory_limit,
        "checkpoint": arguments.checkpoint,
    }
    if arguments.dry_run:
        with _mapped(graph, sources, arguments) as out:
            return _dry_run(graph, method, {**asked, "out": out}, arguments)
    with (
        _mapped(graph, sources, arguments) as out,
        Progress(graph.n) if wants_progress(arguments) else nullcontext() as progress,
    ):
        result = pyapsp.solve(graph, method, out=out, progress=progress, **asked)
        if out is not None:
            _flush(out, result.predecessors)
    if arguments.roof:
        import numpy as np

        from pyapsp.device import choose
        from pyapsp.profiling import roofs

        lead = arguments.device[0] if arguments.device else None
        roof = roofs.measure(choose(lead), np.dtype(result.stats["held_dtype"]))
        result = replace(result, stats=roofs.with_roof(result.stats, roof))
    if out is None:
        result.save(arguments.output)
    told = {**result.stats, "commit": commit()}
    if arguments.record:
        write_json(arguments.record, told)
    if arguments.json:
        print_json(told)
        return 0
    print(result.explain())
    stats = result.stats
    rate, fraction = stats["rate"], stats["fraction_of_roof"]
    print(
        f"solved n = {stats['input']['n']:,}, m = {stats['input']['m']:,} in "
        f"{stats['wall_seconds']:.3f} s (kernels {stats['kernel_seconds']:.3f} s"
        + (f", {rate / 1e9:.2f} G updates/s" if rate else "")
        + (f", {100 * fraction:.1f} % of the roof)" if fraction else ")")
        + f" -> {arguments.output}"
    )
    return 0


def _flush(out: np.ndarray, predecessors: np.ndarray | None) -> None:
    """Write the mapped distances, and the predecessors into a file beside them."""
    import numpy as np

    from pyapsp import host

    if predecessors is not None and not isinstance(predecessors, np.memmap):
        beside = host.empty_beside(out, "predecessors", predecessors.dtype)
        host.copy(beside, predecessors)
        predecessors = beside
    host.flush(out, predecessors)


def _dry_run(
    graph: Graph, method: str | Method, asked: dict[str, Any], arguments: argparse.Namespace
) -> int:
    """Print what would be done, the memory it takes and the time."""
    from pyapsp import runs
    from pyapsp.distances.request import requested
    from pyapsp.errors import DeviceError
    from pyapsp.paths import AllPairsMethod

    request = requested(graph, method, **asked)
    refused: list[DeviceError] = []
    planned = next(runs.plans(request, refused), None)
    if planned is None:
        raise runs.least(refused)
    plan, options, chosen = planned.plan, request.options, planned.method
    assert isinstance(chosen, AllPairsMethod)
    seconds, reasons = planned.choice.seconds, runs.reasons(request, planned)
    if method != "auto":
        seconds = chosen.predict(plan.input.facts, plan.options, options.count(graph.n))
    each = options.dtype.itemsize + (4 if options.predecessors else 0)
    answer = options.count(graph.n) * graph.n * each
    if arguments.json:
        print_json(
            {
                "method": planned.method.id,
                "parameters": plan.parameters,
                "dtype": options.dtype.name,
                "held_dtype": plan.options.dtype.name,
                "device": plan.options.device.id,
                "graph": facts(plan.input),
                "device_bytes": plan.device_bytes,
                "answer_bytes": answer,
                "predicted_seconds": seconds,
                "reasons": reasons,
            }
        )
        return 0
    print(*reasons, sep="\n")
    where = "on disk" if _is_mapped(arguments) else "of the host"
    print(f"answer: {answer / 2**20:,.1f} MiB {where}")
    if seconds is not None:
        print(f"predicted time: {seconds:.3g} s")
    elif not chosen.outofcore:  # which has said it
        hint = f"; 'pyapsp tune {chosen.id}' finds out" if chosen.tunable else ""
        print(f"predicted time: not known here{hint}")
    return 0


def _is_mapped(arguments: argparse.Namespace) -> bool:
    """Return whether the distances are written through a mapping."""
    return arguments.output is not None and arguments.output.endswith(".npy")


@contextmanager
def _mapped(
    graph: Graph, sources: list[int] | None, arguments: argparse.Namespace
) -> Iterator[np.ndarray | None]:
    """Give a mapped file for OUT.npy, which gets its name when it is complete; else nothing.

    So does a file of predecessors beside it. Of a dry run nothing is kept: what is planned, and
    how fast, depends on where the rows go.
    """
    if not _is_mapped(arguments):
        yield None
        return
    import numpy as np

    from pyapsp.files import replacing
    from pyapsp.host import mapped_file
    from pyapsp.precision import resolve

    solved = graph.symmetrized() if arguments.undirected else graph
    dtype, _ = resolve(solved, arguments.dtype)
    shape = graph.n if sources is None else len(sources), graph.n
    if arguments.dry_run:
        folder = Path(arguments.output).resolve().parent
        with NamedTemporaryFile(dir=folder, prefix=".pyapsp-") as file:
            yield np.lib.format.open_memmap(file.name, "w+", dtype, shape)
        return
    # a checkpoint has the content of its own, so what a killed run leaves is worth nothing
    with replacing(arguments.output) as part:
        beside = part.with_name(f"{part.name}.predecessors.npy")
        try:
            yield mapped_file(part, dtype, shape)
            companion = Path(_beside(arguments.output)).resolve()
            if beside.exists():
                beside.replace(companion)
            elif os.path.exists(companion):
                companion.unlink()  # of the distances that are replaced
        finally:
            beside.unlink(missing_ok=True)


def _beside(output: str) -> str:
    """Return the name of the predecessors of OUT.npy."""
    return f"{output}.predecessors.npy"
