"""Insert probes into OpenCL C: counters of basic blocks, clocks, or records of accesses.

A program is parsed with its types (`opencl_c`), and text is inserted into it. The kernel gets
three arguments more: the memory of the trace, its room, and that one of how many groups is
recorded. Functions that it calls get the state of the item as an argument more. All other functions
and kernels lose their bodies: compilers may need tens of seconds for a kernel with probes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from pyapsp.base.errors import ParameterError
from pyapsp.device.kernels.source import flattened
from pyapsp.profiling.probes.awaited import Awaited
from pyapsp.profiling.probes.blocks import PROBES, Block, Branch, Instrumented, Probe
from pyapsp.profiling.probes.copies import without_copies
from pyapsp.profiling.probes.opencl_c import parse
from pyapsp.profiling.probes.statements import Statements

__all__ = ["instrument"]


def instrument(
    source: str,
    probe: Probe,
    kernel: str,
    defines: Mapping[str, str | int] | None = None,
    *,
    standard: str | None = None,
    name: str = "<source>",
    clock: str = "profiling/clock.cl",
) -> Instrumented:
    """Return a program with probes in one kernel.

    Blocks and sites are the same with all probes.

    Parameters
    ----------
    source : str
        OpenCL C; ``#include`` must have been replaced.
    probe : {"blocks", "warps", "addresses", "order"}
        What is recorded; `cl/profiling/probes.h` says how.
    kernel : str
        The kernel.
    defines : mapping of str to str or int, optional
        Macros that the compiler of the device would predefine.
    standard : str or None
        As for `pyapsp.device.kernels.build`.
    name : str
        The file, for messages.
    clock : str
        The kernel file with the clock of the device.

    Raises
    ------
    ParameterError
        If the program has no such kernel.
    ProgramError
        If the program is not OpenCL C, or the kernel or what it calls has a construct that is not
        supported: goto, statement expressions, kernels that are called, pointers without a known
        address space.
    """
    return _instrumented(
        source, probe, kernel, tuple((defines or {}).items()), standard, name, flattened(clock)
    )


@lru_cache(64)
def _instrumented(
    source: str,
    probe: Probe,
    kernel: str,
    defines: tuple[tuple[str, str | int], ...],
    standard: str | None,
    name: str,
    clock: str,
) -> Instrumented:
    unit = without_copies(parse(source, defines, standard, name))
    if kernel not in unit.kernels:
        rule = f"one of {', '.join(unit.kernels)}"
        raise ParameterError.of("kernel", name, rule, kernel, unit.kernels)
    writer = Statements(unit, probe)
    used = unit.called_by(kernel)
    for declaration in unit.declarations():
        if declaration.spelling in used:
            writer.declaration(declaration)
    for function in unit.functions():
        if function.spelling in used:
            writer.function(function)
        else:
            writer.without_body(function)
    head = f"#define PYAPSP_PROBE {PROBES.index(probe) + 1}\n"
    head += (clock + "\n" if probe == "warps" else "") + flattened("profiling/probes.h")
    return Instrumented(
        f"{head}\n{writer.edits.text()}\n",
        tuple(
            Block(
                each.function,
                *unit.place(each.line),
                dict(each.operations),
                dict(each.vectors),
                _resolved(each.branch, writer.awaited),
                each.saved,
                each.control,
                each.around,
                dict(each.minima),
                each.divisions,
                each.carried,
            )
            for each in writer.blocks
        ),
        tuple(writer.sites),
        writer.parameters,
    )


def _resolved(branch: Branch | None, awaited: Awaited) -> Branch | None:
    return None if branch is None else replace(branch, awaits=awaited.resolved(branch.awaits))
