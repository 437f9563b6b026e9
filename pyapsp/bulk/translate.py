"""Translate a C file to OpenCL C: read, resolve, check, generate."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pycparser import c_ast

from pyapsp.base.errors import ParameterError, ProgramError
from pyapsp.base.files import check_name
from pyapsp.bulk import frontend
from pyapsp.bulk.constants import NotConstantError
from pyapsp.bulk.frontend import Symbol, Unit
from pyapsp.bulk.generate import ARRANGEMENTS, Arrangement, Array, generate
from pyapsp.bulk.oblivious import Accesses, check
from pyapsp.bulk.resolve import Resolved, resolve
from pyapsp.bulk.scalars import Number, dtype_of
from pyapsp.bulk.subscripts import check_subscripts

__all__ = ["Translation", "translate"]

# Addresses inside an array are computed in 32 bits.
_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Translation:
    """A C program, and the OpenCL C that runs it for many instances.

    Attributes
    ----------
    path : str
    entry : str
        The function that is run.
    arrays : tuple of Array
        The global variables it uses, in the order of the kernel's arguments.
    arrangement : {"column", "row"}
    source : str
        OpenCL C with the kernel ``bulk``.
    double : bool
        Whether it needs a device with double precision.
    resolved : Resolved
    accesses : Accesses
        The resolved program and its accesses, for the cost model.
    """

    path: str
    entry: str
    arrays: tuple[Array, ...]
    arrangement: Arrangement
    source: str
    double: bool
    resolved: Resolved
    accesses: Accesses


def translate(
    path: str | os.PathLike[str],
    *,
    defines: Mapping[str, str | int | float] | None = None,
    arrangement: Arrangement = "column",
) -> Translation:
    """Translate a C program for bulk execution; needs no device.

    Parameters
    ----------
    path, defines
        As in `pyapsp.bulk.load`.
    arrangement : {"column", "row"}
        Where element i of instance j is stored, for p instances of n elements: column-wise at
        i p + j, row-wise at j n + i.

    Raises
    ------
    ProgramError
        The program cannot be run in bulk; the message has the place and the reason.
    ParameterError
        There is no such arrangement.
    OSError
        The file cannot be read.

    Notes
    -----
    Source: D. Takafuji's thesis, 2020, section 4.3.
    """
    if arrangement not in ARRANGEMENTS:
        raise ParameterError.of("arrangement", "bulk", f"one of {ARRANGEMENTS}", arrangement)
    path = check_name(path, "bulk")
    try:
        unit = frontend.read(os.fspath(path), defines or {})
        resolved = resolve(unit)
        accesses = check(resolved)
        check_subscripts(resolved)
        arrays = tuple(_arrays(unit, accesses))
        source = generate(resolved, accesses, arrays, arrangement)
    except RecursionError:
        raise ProgramError("the program is nested too deeply", os.fspath(path)) from None
    double = "cl_khr_fp64" in source
    return Translation(
        unit.path, unit.entry, arrays, arrangement, source, double, resolved, accesses
    )


def _arrays(unit: Unit, accesses: Accesses) -> list[Array]:
    used = [each for each in unit.variables.values() if each in accesses.loaded | accesses.stored]
    if not used:
        raise unit.error(
            unit.functions[unit.entry],
            f"{unit.entry} uses no global variable, so it has no inputs or outputs",
        )
    arrays = []
    for symbol in used:
        if symbol.type.base == "bool":
            raise unit.error(symbol.node, "global variables cannot be bool: use char")
        if symbol.type.size > _LARGEST:
            raise unit.error(symbol.node, f"{symbol.name} has more than 2^31 - 1 elements")
        arrays.append(
            Array(
                symbol.name,
                dtype_of(symbol.type.base),
                symbol.type.dims,
                symbol in accesses.loaded,
                symbol in accesses.stored,
                _initial(unit, symbol),
            )
        )
    return arrays


def _initial(unit: Unit, symbol: Symbol) -> tuple[Number, ...]:
    """Return the initial values of an array; an empty tuple if all are 0."""
    node = symbol.node.init
    if node is None:
        return ()
    values = np.zeros(symbol.type.dims, dtype_of(symbol.type.base))

    def fill(into: np.ndarray, node: c_ast.Node) -> None:
        if not isinstance(node, c_ast.InitList):
            into[...] = unit.value(node)[0]
            return
        for at, each in enumerate(node.exprs):
            fill(into[at : at + 1].reshape(into.shape[1:]), each)

    try:
        if isinstance(node, c_ast.InitList) and not symbol.type.dims:
            node = node.exprs[0]
        fill(values, node)
    except (NotConstantError, IndexError, ValueError, OverflowError):
        raise unit.error(
            symbol.node, f"the initial values of {symbol.name} are not supported"
        ) from None
    return tuple(values.ravel().tolist()) if values.any() else ()
