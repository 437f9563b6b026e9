"""Options that several commands share, and functions that parse and apply them."""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    import numpy as np

    from pyapsp.graph import Graph
    from pyapsp.registry import Method

__all__ = [
    "add_choice",
    "add_cutoff",
    "add_device",
    "add_dtype",
    "add_flag",
    "add_format",
    "add_graph",
    "add_json",
    "add_memory_limit",
    "add_method",
    "add_name_of_method",
    "add_one_method",
    "add_output",
    "add_parts",
    "add_progress",
    "add_record",
    "add_size",
    "add_sources",
    "add_undirected",
    "add_weight",
    "as_utf8",
    "bytes_of",
    "check_named",
    "method_of",
    "parameter_of",
    "read_graph",
    "reading_of",
    "status",
    "vertices",
    "wants_progress",
]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}


def add_choice(
    parser: argparse.ArgumentParser, name: str, choices: tuple[str, ...], what: str
) -> None:
    """Add an option with one of some values, the first by default."""
    parser.add_argument(name, choices=choices, default=choices[0], help=what)


def add_cutoff(parser: argparse.ArgumentParser) -> None:
    """Add ``--cutoff``."""
    what = "report vertices farther than LENGTH as unreachable"
    parser.add_argument("--cutoff", type=_number, metavar="LENGTH", help=what)


def _number(text: str) -> int | float:
    """Return a number; a large integer is not rounded."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number")


def add_device(parser: argparse.ArgumentParser, several: str = "") -> None:
    """Add ``--device``; with `several`, a help text, it takes more than one device."""
    parser.add_argument(
        "--device",
        metavar="SPEC",
        nargs="+" if several else None,
        help="OpenCL device: an id or part of a name from 'pyapsp devices', or 'gpu' or 'cpu'"
        + (f"; {several}" if several else ""),
    )


def add_dtype(parser: argparse.ArgumentParser) -> None:
    """Add ``--dtype``, the number type of the distances."""
    parser.add_argument(
        "--dtype",
        metavar="TYPE",
        help="number type of the distances: float64 (default), float32, float16, int64, int32, "
        "int16, uint16 or auto",
    )


def add_flag(parser: argparse._ActionsContainer, name: str, what: str) -> None:
    """Add an option without a value, which is False unless it is given."""
    parser.add_argument(name, action="store_true", help=what)


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add ``--format``, for `read_graph`."""
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        help="the format of the graph file, as mtx or csv, if its suffix does not tell it",
    )


def add_graph(parser: argparse.ArgumentParser) -> None:
    """Add the graph file and ``--weight``, for `read_graph`."""
    parser.add_argument("graph", metavar="GRAPH", help="a graph file of any known format")
    add_weight(parser)
    add_format(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``, for `print_json`."""
    add_flag(
        parser,
        "--json",
        "print one JSON document instead of text; infinity and nan are written as null",
    )


def add_memory_limit(parser: argparse.ArgumentParser) -> None:
    """Add ``--memory-limit``."""
    what = "use at most this much device memory, e.g. 2GiB"
    parser.add_argument("--memory-limit", type=bytes_of, metavar="SIZE", help=what)


def add_method(parser: argparse.ArgumentParser) -> None:
    """Add ``--method`` and ``--set``, for `method_of`."""
    add_name_of_method(
        parser,
        "'auto' (default: pyapsp chooses), or a method from 'pyapsp methods'",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=parameter_of,
        metavar="NAME=VALUE",
        help="a parameter of the method, e.g. tile=32; may be repeated",
    )


def add_name_of_method(
    parser: argparse.ArgumentParser, what: str, *, default: str = "auto"
) -> None:
    """Add ``--method`` alone."""
    parser.add_argument("--method", default=default, metavar="METHOD", help=what)


def add_one_method(parser: argparse.ArgumentParser, metavar: str, what: str) -> None:
    """Add the arguments of commands that run one method on a graph, and ``-o``."""
    add_graph(parser)
    add_output(parser, metavar, what)
    add_method(parser)
    add_device(parser)
    add_memory_limit(parser)
    add_json(parser)


def add_output(
    parser: argparse.ArgumentParser, metavar: str, what: str, *, required: bool = False
) -> None:
    """Add ``-o``, also written ``--output``."""
    parser.add_argument("-o", "--output", metavar=metavar, required=required, help=what)


def add_parts(parser: argparse.ArgumentParser, parts: tuple[str, ...], what: str) -> None:
    """Add ``--only``, for commands whose work has parts; all are done by default."""
    parser.add_argument(
        "--only", nargs="+", choices=parts, default=parts, metavar="PART", help=what
    )


def add_progress(parser: argparse.ArgumentParser) -> None:
    """Add ``--progress`` and ``--no-progress``, for `wants_progress`."""
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="show progress on standard error: a line that is updated on a terminal, or a new "
        "line every few seconds elsewhere; the default is to show it on a terminal only",
    )


def add_record(parser: argparse.ArgumentParser) -> None:
    """Add ``--record``, for `pyapsp.cli.output.recorded`."""
    parser.add_argument(
        "--record", metavar="FILE.json", help="also write the record of the run as JSON"
    )


def add_size(
    parser: argparse._ActionsContainer,
    what: str,
    *,
    nargs: str | None = None,
    default: list[int] | None = None,
    required: bool = False,
) -> None:
    """Add ``-n``, also written ``--n``."""
    parser.add_argument(
        "-n",
        "--n",
        type=int,
        metavar="N",
        help=what,
        nargs=nargs,
        default=default,
        required=required,
    )


def add_sources(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--sources``, for `vertices`."""
    parser.add_argument(
        "--sources",
        nargs="+",
        metavar="VERTEX",
        help=f"{what} these vertices, in this order, with their names in the graph file; @FILE "
        "reads names, separated by white space, from a file",
    )


def add_weight(parser: argparse.ArgumentParser) -> None:
    """Add ``--weight`` and ``--unweighted``, for `read_graph`."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--weight",
        metavar="COLUMN",
        help="the column with the weight, in an edge list whose header names columns",
    )
    add_flag(group, "--unweighted", "every arc has the weight 1, not that of the file")


def read_graph(path: str, arguments: argparse.Namespace) -> Graph:
    """Read a graph in the format of ``--format``, with the weights of ``--weight``."""
    from pyapsp.graph import read

    return read(path, **reading_of(arguments))


def add_undirected(parser: argparse.ArgumentParser) -> None:
    """Add ``--undirected``."""
    add_flag(parser, "--undirected", "arcs may be walked both ways")


def wants_progress(arguments: argparse.Namespace) -> bool:
    """Return whether to show progress."""
    wanted: bool | None = arguments.progress
    return sys.stderr.isatty() if wanted is None else wanted


def status(arguments: argparse.Namespace) -> AbstractContextManager[Callable[[str], None]]:
    """Return a context with a function that shows a text as progress; it may show nothing."""
    from pyapsp.base.progress import Status

    return Status() if wants_progress(arguments) else nullcontext(lambda text: None)


def bytes_of(text: str) -> int:
    """Parse a size such as ``512MiB``, ``2G`` or ``4096``; for argparse's ``type=``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]I?)?B?", text.strip().upper())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: write 4096, 512MiB or 2G")
    return int(float(match[1]) * _UNITS[match[2] or ""])


def parameter_of(text: str) -> tuple[str, int | str]:
    """Parse ``name=value``, where value is an integer or a word; for argparse's ``type=``."""
    match = re.fullmatch(r"(\w+)=(?:(-?[0-9]+)|([A-Za-z][\w-]*))", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not name=value")
    return match[1], match[3] if match[2] is None else int(match[2])


def method_of(arguments: argparse.Namespace, problem: str) -> str | Method:
    """Return the method given by ``--method``, with the parameters given by ``--set``.

    Parameters
    ----------
    arguments : Namespace
    problem : str
        The id of the problem that the command solves.

    Raises
    ------
    ParameterError
        If the problem has no such method, or the method has no such parameter or value.
    """
    from pyapsp import registry
    from pyapsp.base.errors import ParameterError

    method = registry.method_of(problem, arguments.method, arguments.command)
    if not arguments.set:
        return method
    if method == "auto":
        raise ParameterError("--set needs --method: parameters belong to one method")
    choices, parameters = registry.method(arguments.method).choices, dict(arguments.set)
    for name, value in parameters.items():
        # a number can be a word among others, as 8 in "none, 8, 32, atomic"
        if value not in choices.get(name, ()) and str(value) in choices.get(name, ()):
            parameters[name] = str(value)
    return registry.method(arguments.method, **parameters)


class Reading(TypedDict, total=False):
    """Arguments of `pyapsp.read`."""

    format: str
    weight: str | None


def reading_of(arguments: argparse.Namespace) -> Reading:
    """Return the arguments of a reader for ``--format``, ``--weight`` and ``--unweighted``."""
    given: Reading = {}
    if arguments.format is not None:
        given["format"] = arguments.format
    if arguments.unweighted:
        given["weight"] = None
    elif arguments.weight is not None:
        given["weight"] = as_utf8(arguments.weight)
    return given


def check_named(arguments: argparse.Namespace, *inputs: str) -> None:
    """Check what can be checked of the arguments before a file is read, which may take long.

    Parameters
    ----------
    arguments : Namespace
    *inputs : str
        The files that are read.

    Raises
    ------
    ParameterError
        If there is no such number type, or the cutoff is negative.
    NoDeviceError
        If there is no such device.
    FileNotFoundError
        If there is no such file. It comes last: the other arguments can be right without it.
    """
    from pyapsp.device import choose
    from pyapsp.numbers.precision import named
    from pyapsp.paths.method import farthest

    for dtype in _several(getattr(arguments, "dtype", None)):
        if dtype != "auto":
            named(dtype, arguments.command)
    farthest(getattr(arguments, "cutoff", None), arguments.command)
    for device in _several(getattr(arguments, "device", None)):
        choose(device)
    for path in inputs:
        if not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _several(given: str | list[str | None] | None) -> list[str]:
    """Return the values of an option that takes one or several."""
    values = given if isinstance(given, list) else [given]
    return [each for each in values if each is not None]


def vertices(
    labels: np.ndarray | None, n: int, names: Iterable[str], owner: str, option: str = "--sources"
) -> list[int]:
    """Return the numbers of vertices given by name, or by a file of names, ``@FILE``.

    Parameters
    ----------
    labels : (n,) ndarray or None
        The names of all vertices. None: the names are 0..n-1.
    n : int
    names : iterable of str
    owner, option : str
        The command and the option, for messages.

    Raises
    ------
    ParameterError
        If there is no such vertex.
    OSError
        If a file cannot be read.
    """
    from pyapsp.base.errors import ParameterError

    known = range(n) if labels is None else labels
    vertex = {str(label): number for number, label in enumerate(known)}
    numbers = []
    for name in names:
        for each in _listed(name[1:]) if name.startswith("@") else [as_utf8(name)]:
            if each not in vertex:
                raise ParameterError.of(option, owner, "vertices of the graph", each)
            numbers.append(vertex[each])
    return numbers


def as_utf8(argument: str) -> str:
    """Return an argument decoded as UTF-8, the encoding of graph files, in every locale."""
    try:
        return os.fsencode(argument).decode()
    except UnicodeError:
        return argument


def _listed(path: str) -> list[str]:
    from pyapsp.base.errors import FormatError

    try:
        return Path(path).read_text(encoding="utf-8").split()
    except UnicodeDecodeError as error:
        raise FormatError(path, None, f"not UTF-8: {error}") from None
