"""Translate a C program to OpenCL C that runs it for many inputs at once.

'#pragma kernel' stands in the program before the call, or the definition, of the function to
run: void, without parameters. Its inputs and outputs are the global variables, arrays and scalars,
of which each input has its own; const ones with initial values are the same for all. It may call
functions of the file and of math.h. The rest of the file, such as main, is not looked at.

Which addresses the function uses must not depend on data: no subscript that does, and no loop
around accesses whose number of rounds does; an 'if' on data is fine. No pointer variables,
recursion, allocation, goto, input or output in it.

For example:
  pyapsp bulk --list
  pyapsp bulk program.c -D N=64 -o program.cl

In Python, pyapsp.bulk.load("program.c") runs it.
"""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyapsp.bulk import Translation

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("program", metavar="PROGRAM.c", nargs="?", help="the C program")
    parser.add_argument(
        "-o", "--output", metavar="OUT.cl", help="file to write; standard output without it"
    )
    parser.add_argument(
        "--arrangement",
        choices=("column", "row"),
        default="column",
        help="element i of input j of p at i p + j (column, the default: neighbours in step) or at "
        "j n + i (row)",
    )
    parser.add_argument(
        "-D",
        "--define",
        metavar="NAME[=VALUE]",
        action="append",
        type=_definition,
        default=[],
        help="a macro, as for a C compiler",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; say whether the program can be run, what goes in and out, and how "
        "many accesses an input takes",
    )
    parser.add_argument(
        "--list", action="store_true", help="list the programs that come with the package"
    )


def run(arguments: argparse.Namespace) -> int:
    """Translate, or check, or list."""
    from pyapsp.errors import ParameterError, PyApspError

    try:
        from pyapsp import bulk
    except ModuleNotFoundError as error:
        raise PyApspError(
            f"pyapsp bulk needs {error.name}; install the extra 'bulk' of pyapsp"
        ) from None
    if arguments.list:
        for name, path in bulk.programs().items():
            print(f"{name:16} {path}")
        return 0
    if arguments.program is None:
        raise ParameterError("which program? pyapsp bulk PROGRAM.c, or --list")
    found = bulk.translate(
        arguments.program,
        defines=dict(arguments.define),
        arrangement=arguments.arrangement,
    )
    if arguments.check:
        _tell(found)
    elif arguments.output is None:
        print(found.source, end="")
    else:
        from pyapsp.files import atomic_write

        with atomic_write(arguments.output) as file:
            file.write(found.source)
    return 0


def _definition(text: str) -> tuple[str, str]:
    match = re.fullmatch(r"([A-Za-z_]\w*)(?:=(.*))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME or NAME=VALUE")
    return match[1], "1" if match[2] is None else match[2]


def _tell(found: Translation) -> None:
    """Print what a program is."""
    from pyapsp.bulk import count_accesses

    print(f"{found.path}: {found.entry} is oblivious")
    for each in found.arrays:
        dims = "".join(f"[{length}]" for length in each.shape)
        use = " and ".join(["in"] * each.loaded + ["out"] * each.stored)
        print(f"  {each.name + dims:24} {each.dtype!s:8} {use}")
    if found.double:
        print("  needs a device with double precision")
    accesses = count_accesses(found)
    print(f"  {'an unknown number of' if accesses is None else f'{accesses:,}'} accesses")
