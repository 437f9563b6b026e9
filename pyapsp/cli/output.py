"""The output of commands: checks before a run, JSON, tables, and the record of a run."""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pyapsp.cli.options import check_named, read_graph

if TYPE_CHECKING:
    import numpy as np

    from pyapsp.base.json import Json, Record
    from pyapsp.graph import Graph

__all__ = [
    "TABLES",
    "check_outputs",
    "check_suffix",
    "checked_graph",
    "commit",
    "dated",
    "facts",
    "is_special",
    "made",
    "print_json",
    "printer",
    "recorded",
    "refusals",
    "show_written",
    "took",
    "write_json",
    "write_rows",
    "write_table",
]

#: Suffixes of `write_table`.
TABLES = (".csv", ".parquet")
# Rows of a table that are written at once.
_ROWS = 2**16


def facts(graph: Graph) -> Record:
    """Return the facts about a graph that JSON documents contain."""
    return {"name": graph.name, "n": graph.n, "m": graph.m, "directed": graph.directed}


def show_written(graph: Graph, arguments: argparse.Namespace) -> None:
    """Print the facts about a graph that was written to ``-o``."""
    if arguments.json:
        print_json({**facts(graph), "file": arguments.output})
    else:
        print(f"{arguments.output}: {graph!r}")


def printer(arguments: argparse.Namespace) -> Callable[[str], None]:
    """Return a function that prints a line and flushes it; with ``--json`` it prints nothing."""
    return (lambda text: None) if arguments.json else partial(print, flush=True)


def checked_graph(
    arguments: argparse.Namespace, *suffixes: str, inputs: Sequence[str] = ()
) -> Graph:
    """Check the arguments, and that the outputs can be written, and read the graph.

    Parameters
    ----------
    arguments : argparse.Namespace
    *suffixes : str
        Of the output.
    inputs : sequence of str
        Other files that are read.
    """
    inputs = [arguments.graph, *inputs]
    check_named(arguments, *inputs)
    check_outputs(arguments.output, getattr(arguments, "record", None), inputs=inputs)
    check_suffix(arguments, *suffixes)
    return read_graph(arguments.graph, arguments)


def took(stats: Mapping[str, Any], output: str | None, *rates: str) -> str:
    """Return the seconds of a run, its rates, and the file that was written, for a summary."""
    inside = ", ".join([f"kernels {stats['kernel_seconds']:.3f} s", *rates])
    return f"{stats['wall_seconds']:.3f} s ({inside})" + (f" -> {output}" if output else "")


def recorded(arguments: argparse.Namespace, stats: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a run with its date, and write it to the file of ``--record``."""
    record = {**stats, **dated()}
    if arguments.record:
        write_json(arguments.record, record)
    return record


@contextmanager
def refusals(path: str | None, about: Record) -> Iterator[None]:
    """Write a record of a refusal: method, device or number type do not fit the input.

    Parameters
    ----------
    path : str or None
        The file of the record; None writes none.
    about : dict
        What is known of the run.
    """
    from pyapsp.base import errors

    try:
        yield
    except (
        errors.CapabilityError,
        errors.GraphError,
        errors.NegativeCycleError,
        errors.ParameterError,
        errors.PrecisionError,
    ) as error:
        if path is not None:
            refused = {"status": "refused", "why": str(error), "verified": None}
            write_json(path, {**about, **refused})
        raise


def write_table(table: Mapping[str, np.ndarray], path: str | None) -> None:
    """Write columns as Parquet if the suffix says so, else as CSV.

    Parameters
    ----------
    table : mapping of str to ndarray, shape (rows,)
        Masked values are missing ones, and empty in CSV.
    path : str or None
        None: CSV on standard output.

    Raises
    ------
    PyApspError
        If no package that writes Parquet is installed.
    """
    if path is not None and path.endswith(".parquet"):
        from pyapsp.base.files import atomic_write

        with atomic_write(path, "wb") as file:
            _write_parquet(table, file, path)
    else:
        write_rows(list(table), [table], path)


def write_rows(
    names: Sequence[str], tables: Iterable[Mapping[str, np.ndarray]], path: str | None
) -> int:
    """Write tables with the same columns one after the other; return the number of rows.

    For Parquet each table goes to a file beside it, and these are joined: with polars without much
    memory.

    Parameters
    ----------
    names : sequence of str
        The columns.
    tables, path
        As for `write_table`; there is at least one, which may have no rows.
    """
    from pyapsp.base.files import atomic_write

    if path is not None and path.endswith(".parquet"):
        return _join_parquet(names, tables, path)
    count = 0
    with nullcontext(sys.stdout) if path is None else atomic_write(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for table in tables:
            columns = [table[name] for name in names]
            # a part at a time: as Python objects, numbers take several times the memory
            for start in range(0, len(columns[0]), _ROWS):
                part = (each[start : start + _ROWS].tolist() for each in columns)
                writer.writerows(zip(*part, strict=True))
            count += len(columns[0])
    return count


def _write_parquet(table: Mapping[str, np.ndarray], file: IO[bytes], path: str) -> None:
    """Write a table into a file; messages name the path."""
    from pyapsp.base.errors import PyApspError
    from pyapsp.graph.frames import frame_of

    for library, write in (("polars", "write_parquet"), ("pandas", "to_parquet")):
        if find_spec(library) is None:
            continue
        with suppress(ImportError):  # pandas needs a second package
            getattr(frame_of(table, library, "write_table"), write)(file)
            return
    raise PyApspError(f"{path} needs polars: pip install polars")


def _join_parquet(
    names: Sequence[str], tables: Iterable[Mapping[str, np.ndarray]], path: str
) -> int:
    from pyapsp.base.files import atomic_write, resolved

    folder, count = None if is_special(path) else resolved(path).parent, 0
    parts: list[str] = []
    with tempfile.TemporaryDirectory(prefix=".pyapsp-", dir=folder) as beside:
        for table in tables:
            parts.append(os.path.join(beside, f"{len(parts)}.parquet"))
            with open(parts[-1], "wb") as file:
                _write_parquet(table, file, path)
            count += len(table[names[0]])
        whole = os.path.join(beside, "whole.parquet")
        _join(parts, whole)
        with atomic_write(path, "wb") as file, open(whole, "rb") as joined:
            shutil.copyfileobj(joined, file)
    return count


def _join(parts: list[str], path: str) -> None:
    """Write the tables of Parquet files into one file."""
    try:
        import polars

        polars.scan_parquet(parts, glob=False).sink_parquet(path)
    except ImportError:
        import pandas

        tables = map(pandas.read_parquet, parts)
        pandas.concat(tables, ignore_index=True).to_parquet(path, index=False)


def print_json(content: object) -> None:
    """Print a JSON document."""
    print(_json(content))


def write_json(path: str | Path, content: object) -> None:
    """Write a JSON file under a temporary name, and rename it when it is complete."""
    from pyapsp.base.files import atomic_write

    with atomic_write(path) as file:
        file.write(_json(content) + "\n")


def _json(content: object) -> str:
    return json.dumps(_plain(content), indent=2, allow_nan=False)


def _plain(content: object) -> Json:
    """Return a value with types that JSON has: no NumPy types, and None for nan and inf."""
    if isinstance(content, dict):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(each) for each in content]
    if hasattr(content, "tolist"):
        return _plain(content.tolist())
    if isinstance(content, float) and not math.isfinite(content):
        return None
    assert isinstance(content, bool | int | float | str | None)
    return content


def check_outputs(*paths: str | None, inputs: Iterable[str] = ()) -> None:
    """Check before a run that its output files can be written.

    Parameters
    ----------
    *paths : str or None
        The files to write; None where the user named none.
    inputs : iterable of str
        Names of the input files, which must not be overwritten. Other texts are ignored.

    Raises
    ------
    ParameterError
        If two of the output files are the same, or one is an input.
    OSError
        If an output is a directory, has too long a name or is not writable, or if its directory
        does not exist or is not writable.
    """
    from pyapsp.base.errors import ParameterError
    from pyapsp.base.files import resolved

    outputs = [Path(path) for path in paths if path is not None]
    replaced = [path for path in outputs if not is_special(path)]
    if len({resolved(path) for path in replaced}) < len(replaced):
        raise ParameterError(f"the output files must differ: {', '.join(map(str, outputs))}")
    for path in outputs:
        if path.is_dir():
            raise IsADirectoryError(f"{path}: is a directory")
        if is_special(path):
            if not os.access(path, os.W_OK):
                raise PermissionError(f"{path}: cannot be written to")
            continue
        folder = resolved(path).parent
        if not folder.is_dir():
            raise FileNotFoundError(f"{path}: its folder does not exist")
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"{path}: its folder cannot be written to")
        for each in inputs:
            if path.exists() and os.path.exists(each) and os.path.samefile(path, each):
                raise ParameterError(f"{path} is read: give the output another name")


def check_suffix(arguments: argparse.Namespace, *suffixes: str) -> None:
    """Check that the suffix of an output is one that the command writes.

    Pipes and devices are not checked.

    Raises
    ------
    ParameterError
        If the suffix is another.
    """
    from pyapsp.base.errors import ParameterError

    output = arguments.output
    if output is not None and not output.endswith(suffixes) and not is_special(output):
        rule = " or ".join(f"OUT{suffix}" for suffix in suffixes)
        raise ParameterError.of("-o", arguments.command, rule, output)


def is_special(path: str | Path) -> bool:
    """Return whether a path is a pipe or a device, which is written to and not replaced."""
    return os.path.exists(path) and not os.path.isfile(path)


def made(arguments: argparse.Namespace) -> Record:
    """Return the origin of a document: command, date and commit."""
    return {"command": arguments.line, **dated()}


def dated() -> Record:
    """Return the date and the commit."""
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return {"date": today.isoformat(), "commit": commit()}


def commit() -> str | None:
    """Return the commit of the checkout that this code is in; None in an installed package."""
    top = Path(__file__).resolve().parents[2]
    if not (top / ".git").exists():
        return None
    git = ["git", "-C", str(top), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
