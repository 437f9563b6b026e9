"""Compute all-pairs shortest paths of a graph file.

A matrix of at most 20 x 20 distances is printed if there is no -o; "-" is no path.

For example:
  pyapsp solve small.gr
  pyapsp solve rome99.gr -o rome99.npz
  pyapsp solve rome99.gr -o rome99.csv --predecessors
  pyapsp solve graph.mtx -o out.npz --method fw-blocked --set tile=32 --dtype auto --predecessors
  pyapsp solve rome99.gr -o rows.npy --sources 1 17 3353 --cutoff 20000
  pyapsp solve rome99.gr --dry-run --memory-limit 512MiB
  mpiexec -n 4 pyapsp solve rome99.gr -o rome99.npy
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
    add_flag,
    add_graph,
    add_json,
    add_memory_limit,
    add_method,
    add_output,
    add_progress,
    add_record,
    add_sources,
    add_undirected,
    check_named,
    method_of,
    read_graph,
    vertices,
    wants_progress,
)
from pyapsp.cli.output import (
    TABLES,
    check_outputs,
    check_suffix,
    facts,
    is_special,
    print_json,
    recorded,
    took,
    write_table,
)

if TYPE_CHECKING:
    import numpy as np

    from pyapsp.all_pairs.request import Arguments
    from pyapsp.graph import Graph
    from pyapsp.paths.result import Result
    from pyapsp.registry import Method

__all__ = ["configure", "run"]

# The most rows and columns of a matrix that is printed.
_PRINTED = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_graph(parser)
    add_output(
        parser,
        "OUT.npz",
        "the result; OUT.csv and OUT.parquet have a row for each pair of vertices; OUT.npy has the "
        "distances alone and is a memory-mapped file: use it for matrices larger than memory; "
        "ranks of MPI also write OUT.rows, a folder with a file of each",
    )
    add_method(parser)
    add_dtype(parser)
    add_device(parser, several="several share the work of methods that search or use several")
    add_flag(
        parser, "--predecessors", "also store predecessors, from which 'pyapsp path' reads paths"
    )
    add_undirected(parser)
    add_sources(parser, "compute only the rows of")
    add_cutoff(parser)
    add_memory_limit(parser)
    parser.add_argument(
        "--checkpoint", metavar="DIR", help="folder for checkpoints, for methods that write them"
    )
    add_record(parser)
    add_flag(
        parser,
        "--roof",
        "first measure the peak rate of the device, and report the fraction reached",
    )
    add_flag(
        parser,
        "--dry-run",
        "do not solve; print the method, the memory it needs, and the predicted time if known",
    )
    add_progress(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Solve, save, and print a summary."""
    import pyapsp
    from pyapsp.all_pairs.request import Arguments
    from pyapsp.base.errors import ParameterError
    from pyapsp.base.progress import Progress

    method = method_of(arguments, "all-pairs")
    if hasattr(arguments, "team"):
        return _on_ranks(method, arguments)
    check_named(arguments, arguments.graph)
    mapped = _is_mapped(arguments)
    beside = _beside(arguments.output) if mapped and arguments.predecessors else None
    check_outputs(arguments.output, arguments.record, beside, inputs=[arguments.graph])
    check_suffix(arguments, ".npz", ".npy", *TABLES)
    if mapped and is_special(arguments.output):
        raise ParameterError(
            f"{arguments.output} is not a regular file and cannot be memory-mapped: write OUT.npz"
        )
    graph = read_graph(arguments.graph, arguments)
    sources = None
    if arguments.sources is not None:
        sources = vertices(graph.labels, graph.n, arguments.sources, "solve")
    if arguments.output is None and not arguments.dry_run:
        _check_small(graph.n if sources is None else len(sources), graph.n)
    options = {"sources": sources, **_options(arguments)}
    if arguments.dry_run:
        with _mapped(graph, sources, arguments) as out:
            return _dry_run(graph, Arguments(method=method, out=out, **options), arguments)
    with (
        _mapped(graph, sources, arguments) as out,
        Progress(graph.n) if wants_progress(arguments) else nullcontext() as progress,
    ):
        result = pyapsp.solve(graph, method, out=out, progress=progress, **options)
        if out is not None:
            _flush(out, result.predecessors)
    if arguments.roof:
        result = replace(result, stats=_with_roof(result.stats, arguments))
    if out is None and arguments.output is not None:
        _save(result, arguments.output)
    record = recorded(arguments, result.stats)
    if arguments.json:
        shown = {} if arguments.output is not None else _shown(result)
        print_json({**record, **shown})
        return 0
    print(result.explain())
    _summary(result.stats, arguments)
    if arguments.output is None:
        _print(result)
    return 0


def _check_small(rows: int, columns: int) -> None:
    """Raise an error if a matrix is too large to be printed."""
    from pyapsp.base.errors import ParameterError

    if max(rows, columns) > _PRINTED:
        raise ParameterError(
            f"{rows:,} x {columns:,} distances are too many to print: give an output file, "
            "-o OUT.csv, OUT.parquet, OUT.npz or OUT.npy"
        )


def _save(result: Result, output: str) -> None:
    """Write a result in the format of the suffix."""
    if output.endswith(TABLES):
        write_table(result.to_columns(), output)
    else:
        result.save(output)


def _shown(result: Result) -> dict[str, Any]:
    """Return what JSON has if there is no file; without a path there is null."""
    names = list(range(result.distances.shape[1]))
    if result.labels is not None:
        names = result.labels.tolist()
    infinity = result.infinity
    shown: dict[str, Any] = {
        "vertices": names,
        "rows": [names[source] for source in result.sources.tolist()],
        "distances": [[d if d < infinity else None for d in row] for row in result.distances],
    }
    if result.predecessors is not None:
        before = result.predecessors.tolist()
        shown["predecessors"] = [[names[v] if v >= 0 else None for v in row] for row in before]
    return shown


def _print(result: Result) -> None:
    """Print the distances, and the predecessors if there are any, as tables."""
    shown = _shown(result)
    for what in ("distances", "predecessors"):
        if what in shown:
            rows = zip(shown["rows"], shown[what], strict=True)
            table = [[what, *map(str, shown["vertices"])]]
            table += [[str(source), *map(_cell, row)] for source, row in rows]
            widths = [max(map(len, column)) for column in zip(*table, strict=True)]
            print()
            for line in table:
                print("  ".join(map(str.rjust, line, widths)))


def _cell(value: object) -> str:
    import numpy as np

    if isinstance(value, float | np.floating):
        return str(value).removesuffix(".0")
    return "-" if value is None else str(value)


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `pyapsp.solve` that the command line gives."""
    return {
        "cutoff": arguments.cutoff,
        "directed": not arguments.undirected,
        "dtype": arguments.dtype,
        "predecessors": arguments.predecessors,
        "device": arguments.device,
        "memory_limit": arguments.memory_limit,
        "checkpoint": arguments.checkpoint,
    }


def _with_roof(stats: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the record with the roof of the type that was computed in, if that has one."""
    from pyapsp.device import choose
    from pyapsp.registry import roofs

    if not roofs.has_roof(stats["held_dtype"]):
        return stats
    lead = arguments.device[0] if arguments.device else None
    return roofs.with_roof(stats, roofs.measure(choose(lead), stats["held_dtype"]))


def _summary(stats: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Print what was solved, and how fast."""
    rate, fraction = stats["rate"], stats["fraction_of_roof"]
    rates = [f"{rate / 1e9:.2f} G updates/s"] if rate else []
    rates += [f"{100 * fraction:.1f} % of the roof"] if fraction else []
    if arguments.roof and stats["roof_rate"] is None:
        rates.append(f"{stats['held_dtype']} has no roof")
    print(
        f"solved n = {stats['input']['n']:,}, m = {stats['input']['m']:,} in "
        f"{took(stats, arguments.output, *rates)}"
    )


def _on_ranks(method: str | Method, arguments: argparse.Namespace) -> int:
    """Solve with the other ranks; rank 0 reads the graph and prints the summary."""
    import pyapsp
    from pyapsp.base.errors import ParameterError
    from pyapsp.base.progress import Progress

    for name in ("roof", "dry_run"):
        if getattr(arguments, name):
            raise ParameterError(f"--{name.replace('_', '-')} is for one process")
    ranks, graph, sources = arguments.team, None, None
    first = ranks.rank == 0
    check_named(arguments, *([arguments.graph] if first else []))
    if first:
        # here, because the fault that matters more, a missing file, is known to this rank alone
        if arguments.output is None or not arguments.output.endswith((".npy", ".rows")):
            raise ParameterError("on ranks give -o OUT.npy, one file, or -o OUT.rows, a folder")
        check_outputs(arguments.output, arguments.record, inputs=[arguments.graph])
        graph = read_graph(arguments.graph, arguments)
        if arguments.sources is not None:
            sources = vertices(graph.labels, graph.n, arguments.sources, "solve")
    sources = ranks.share(sources)
    shown = first and graph is not None and wants_progress(arguments)
    with Progress(graph.n) if shown and graph else nullcontext() as progress:
        result = pyapsp.solve(
            graph,
            method,
            comm=ranks,
            out=arguments.output,
            progress=progress,
            sources=sources,
            **_options(arguments),
        )
    if first:
        record = recorded(arguments, result.stats)
        if arguments.json:
            print_json(record)
        else:
            print(result.explain())
            _summary(result.stats, arguments)
    return 0


def _flush(out: np.ndarray, predecessors: np.ndarray | None) -> None:
    """Complete the mapped file of distances, and that of the predecessors beside it."""
    import numpy as np

    from pyapsp.base import host
    from pyapsp.base.reuse import empty_beside

    if predecessors is not None and not isinstance(predecessors, np.memmap):
        beside = empty_beside(out, "predecessors", predecessors.dtype)
        host.copy(beside, predecessors)
        predecessors = beside
    host.flush(out, predecessors)


def _dry_run(graph: Graph, call: Arguments, arguments: argparse.Namespace) -> int:
    """Print what would be done, the memory that it needs and the predicted time."""
    from pyapsp.all_pairs.request import requested
    from pyapsp.paths import AllPairsMethod
    from pyapsp.registry import runs
    from pyapsp.registry.record import reasons

    request = requested(graph, call)
    planned = next(iter(runs.Candidates(request)))
    plan, options, chosen = planned.plan, request.options, planned.method
    assert isinstance(chosen, AllPairsMethod)
    seconds, lines = planned.choice.seconds, reasons(request, planned.choice, plan)
    if call.method != "auto":
        seconds = chosen.predicted(plan.input.facts, plan.options, options.count(graph.n))
    each = options.dtype.itemsize + (4 if options.predecessors else 0)
    answer = options.count(graph.n) * graph.n * each
    if arguments.json:
        print_json(
            {
                "method": planned.method.id,
                "parameters": plan.parameters,
                "dtype": options.dtype.name,
                "held_dtype": plan.held_dtype,
                "device": plan.options.device.id,
                "graph": facts(plan.input),
                "device_bytes": plan.device_bytes,
                "answer_bytes": answer,
                "predicted_seconds": seconds,
                "reasons": lines,
            }
        )
        return 0
    print(*lines, sep="\n")
    where = "on disk" if _is_mapped(arguments) else "of the host"
    print(f"answer: {answer / 2**20:,.1f} MiB {where}")
    if chosen.multidevice and not chosen.by_source:
        return 0  # its plan has told its own time
    if seconds is not None:
        print(f"predicted time: {seconds:.3g} s")
    else:
        hint = f"; 'pyapsp tune {chosen.id}' finds out" if chosen.tunable else ""
        print(f"predicted time: not known here{hint}")
    return 0


def _is_mapped(arguments: argparse.Namespace) -> bool:
    """Return whether the distances are written to a memory-mapped file."""
    return arguments.output is not None and arguments.output.endswith(".npy")


@contextmanager
def _mapped(
    graph: Graph, sources: list[int] | None, arguments: argparse.Namespace
) -> Iterator[np.ndarray | None]:
    """Yield memory-mapped files for OUT.npy and its predecessors; nothing for other outputs.

    Both have temporary names until they are complete. A dry run makes them too, because the plan
    and its predicted time depend on where the rows are written, and removes them.
    """
    if not _is_mapped(arguments):
        yield None
        return
    import numpy as np

    from pyapsp.base.files import replacing
    from pyapsp.base.host import mapped_file
    from pyapsp.numbers.precision import resolve

    solved = graph.symmetrized() if arguments.undirected else graph
    dtype, _ = resolve(solved, arguments.dtype)
    shape = graph.n if sources is None else len(sources), graph.n
    if arguments.dry_run:
        folder = Path(arguments.output).resolve().parent
        with NamedTemporaryFile(dir=folder, prefix=".pyapsp-") as file:
            yield np.lib.format.open_memmap(file.name, "w+", dtype, shape)
        return
    # a checkpoint stores its own rows, so the file that a killed run leaves can be replaced
    with replacing(arguments.output) as part:
        beside = part.with_name(f"{part.name}.predecessors.npy")
        try:
            yield mapped_file(part, dtype, shape)
            companion = Path(_beside(arguments.output)).resolve()
            if beside.exists():
                beside.replace(companion)
            elif os.path.exists(companion):
                companion.unlink()  # the predecessors of the distances that are replaced
        finally:
            beside.unlink(missing_ok=True)


def _beside(output: str) -> str:
    """Return the name of the file of predecessors that belongs to OUT.npy."""
    return f"{output}.predecessors.npy"
