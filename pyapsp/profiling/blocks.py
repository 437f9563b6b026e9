"""What is known of a program with probes: its basic blocks, and its accesses to memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pyapsp.profiling.opencl_types import Parameter

__all__ = ["PROBES", "Block", "Branch", "Instrumented", "Probe", "Site"]

Probe = Literal["blocks", "warps", "addresses"]
PROBES: tuple[Probe, ...] = ("blocks", "warps", "addresses")
_ARITHMETIC = ("int", "float", "double", "half", "special")


@dataclass(frozen=True)
class Branch:
    """What decides whether a block runs.

    Attributes
    ----------
    outer : int
        The block whose end decides.
    loop : bool
        Whether the block is the body of a loop: it may run more often than the outer one, and each
        execution of the outer one leaves the loop once.
    """

    outer: int
    loop: bool = False


@dataclass(frozen=True)
class Block:
    """A basic block: source that runs as a whole.

    Attributes
    ----------
    function, file : str
        Where it is.
    line : int
        Of its start.
    operations : mapping of str to int
        Class -> number. Classes are int, float, double, half, special (elementary functions),
        load, store, atomic, "local load" and so on, constant, branch, barrier and assembly.
    vectors : mapping of str to int
        Those of `operations` that are of vectors.
    branch : Branch or None
        None if it runs whenever the block before it does, or whenever the other way of a branch is
        not taken.
    saved : int
        Bytes of private variables that are live across its barriers, added up over these.
    control : int or None
        The body of the loop of which it is the condition or the step.
    around : int or None
        The block around the outermost loop with ``#pragma unroll`` that it is in.
    """

    function: str
    file: str
    line: int
    operations: Mapping[str, int]
    vectors: Mapping[str, int] = field(default_factory=dict)
    branch: Branch | None = None
    saved: int = 0
    control: int | None = None
    around: int | None = None

    @property
    def size(self) -> int:
        """The number of operations."""
        return sum(self.operations.values())

    @property
    def arithmetic(self) -> int:
        """The number of arithmetic operations."""
        return sum(self.operations.get(each, 0) for each in _ARITHMETIC)


@dataclass(frozen=True)
class Site:
    """A place of the source that accesses global or local memory.

    Attributes
    ----------
    file, line : str, int
        Where it is.
    text : str
        The source of the accessed expression.
    space : {"global", "local"}
    kind : {"load", "store", "update", "atomic"}
        An update is a load and a store.
    offset, size : int
        Which bytes are accessed, from the recorded address on.
    block : int
        Its block.
    level : int or None
        How many loads of the block, each with the value of another one, come before it: 0 for none.
        None if no item waits for it: a store, or an atomic operation whose result is not used.
    """

    file: str
    line: int
    text: str
    space: str
    kind: str
    offset: int
    size: int
    block: int
    level: int | None = None


@dataclass(frozen=True)
class Instrumented:
    """A program with probes in a kernel.

    Attributes
    ----------
    text : str
        OpenCL C for the compiler of the device.
    blocks : tuple of Block
        Of the kernel and of the functions that it calls.
    sites : tuple of Site
    parameters : tuple of Parameter
        Of the kernel.
    """

    text: str
    blocks: tuple[Block, ...]
    sites: tuple[Site, ...]
    parameters: tuple[Parameter, ...]
