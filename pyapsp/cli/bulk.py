"""Translate a C program to OpenCL C that runs it for many inputs at once.

The function to run is void, without parameters. Write '#pragma kernel' before its call or its
definition. Its inputs and outputs are the global variables, arrays and scalars. Each input has its
own copy of them; const variables with initial values are shared. The function may call functions
of the file and of math.h. The rest of the file, such as main, is ignored.

The addresses that the function uses must not depend on data. A subscript must not depend on data,
nor the number of rounds of a loop that accesses arrays; an 'if' on data is allowed. The function
must not use pointer variables, recursion, allocation, goto, input or output.

In Python, pyapsp.bulk.load("program.c") runs it.

For example:
  pyapsp bulk --list
  pyapsp bulk program.c -D N=64 --check
  pyapsp bulk program.c -D N=64 -o program.cl
"""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from pyapsp.cli.options import add_choice, add_flag, add_json, add_output
from pyapsp.cli.output import print_json

if TYPE_CHECKING:
    from pyapsp.bulk import Translation

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("program", metavar="PROGRAM.c", nargs="?", help="the C program")
    add_output(parser, "OUT.cl", "file to write; standard output without it")
    add_choice(
        parser,
        "--arrangement",
        ("column", "row"),
        "where element i of input j lies, for p inputs of n elements: at i p + j (column, the "
        "default: neighbouring work-items read neighbouring addresses) or at j n + i (row)",
    )
    parser.add_argument(
        "-D",
        "--define",
        metavar="NAME[=VALUE]",
        action="append",
        type=_definition,
        default=[],
        help="define a macro, as for a C compiler",
    )
    add_flag(
        parser,
        "--check",
        "write no file; print whether the program can be translated, its inputs and outputs, "
        "and the number of array accesses for one input",
    )
    add_flag(parser, "--list", "list the programs that come with the package")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Translate, or check, or list."""
    from pyapsp import bulk
    from pyapsp.base.errors import ParameterError

    if arguments.list:
        listed = {name: str(path) for name, path in bulk.programs().items()}
        if arguments.json:
            print_json(listed)
        else:
            print(*(f"{name:16} {path}" for name, path in listed.items()), sep="\n")
        return 0
    if arguments.program is None:
        raise ParameterError("name a program: pyapsp bulk PROGRAM.c, or give --list")
    if arguments.json and not arguments.check:
        raise ParameterError("--json needs --list or --check")
    translation = bulk.translate(
        arguments.program,
        defines=dict(arguments.define),
        arrangement=arguments.arrangement,
    )
    if arguments.check:
        _describe(translation, arguments.json)
    elif arguments.output is None:
        print(translation.source, end="")
    else:
        from pyapsp.base.files import atomic_write

        with atomic_write(arguments.output) as file:
            file.write(translation.source)
    return 0


def _definition(text: str) -> tuple[str, str]:
    match = re.fullmatch(r"([A-Za-z_]\w*)(?:=(.*))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME or NAME=VALUE")
    return match[1], "1" if match[2] is None else match[2]


def _describe(translation: Translation, as_json: bool) -> None:
    """Print the inputs and outputs of a program, and the number of its accesses."""
    from pyapsp.bulk import count_accesses

    accesses = count_accesses(translation)
    if as_json:
        arrays = [
            {
                "name": each.name,
                "shape": each.shape,
                "dtype": str(each.dtype),
                "in": each.loaded,
                "out": each.stored,
            }
            for each in translation.arrays
        ]
        facts = {"program": str(translation.path), "entry": translation.entry, "arrays": arrays}
        print_json({**facts, "double_precision": translation.double, "accesses": accesses})
        return
    print(f"{translation.path}: {translation.entry} is oblivious")
    for each in translation.arrays:
        dims = "".join(f"[{length}]" for length in each.shape)
        use = " and ".join(["in"] * each.loaded + ["out"] * each.stored)
        print(f"  {each.name + dims:24} {each.dtype!s:8} {use}")
    if translation.double:
        print("  needs a device with double precision")
    print(f"  {'an unknown number of' if accesses is None else f'{accesses:,}'} accesses")
