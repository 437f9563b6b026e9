"""What is known of a program with probes: its basic blocks, and its accesses to memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pyapsp.profiling.probes.opencl_types import Parameter

__all__ = ["PROBES", "Block", "Branch", "Instrumented", "Probe", "Site"]

Probe = Literal["blocks", "warps", "addresses", "order"]
PROBES: tuple[Probe, ...] = ("blocks", "warps", "addresses", "order")
_ARITHMETIC = ("int", "float", "double", "half", "special")


@dataclass(frozen=True)
class Branch:
    """What decides whether a block runs."""

    outer: int  # the block whose end decides
    # Whether the block is the body of a loop: it may run more often than the outer one, and each
    # execution of the outer one leaves the loop once.
    loop: bool = False
    # What its condition waits for, one after the other: sites of loads, and classes of operations.
    awaits: tuple[int | str, ...] = ()


@dataclass(frozen=True)
class Block:
    """A basic block: source that runs as a whole."""

    # Where it is.
    function: str
    file: str
    line: int  # of its start
    # Class -> number. Classes are int, float, double, half, special (elementary functions), load,
    # store, atomic, "local load" and so on, constant, branch, barrier and assembly.
    operations: Mapping[str, int]
    # Those of `operations` that are of vectors.
    vectors: Mapping[str, int] = field(default_factory=dict)
    # None if it runs whenever the block before it does, or whenever the other way of a branch is
    # not taken.
    branch: Branch | None = None
    # Bytes of private variables that are live across its barriers, added up over these.
    saved: int = 0
    control: int | None = None  # the body of the loop of which it is the condition or the step
    # The block around the outermost loop with `#pragma unroll` that it is in.
    around: int | None = None
    # Minima and maxima of vectors that `vectors` has twice: as a comparison and as a choice.
    minima: Mapping[str, int] = field(default_factory=dict)
    # Divisions of integers, of those of `operations`, by numbers that no compiler knows.
    divisions: int = 0
    # Of the body of a loop: the loads and operations of a turn, one after the other, for which the
    # next turn waits.
    carried: tuple[float, float] = (0.0, 0.0)

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
    """A place of the source that accesses global or local memory."""

    # Where it is.
    file: str
    line: int
    text: str  # the source of the accessed expression
    space: str  # "global" or "local"
    # "load", "store", "update" or "atomic". An update is a load and a store.
    kind: str
    # Which bytes are accessed, from the recorded address on.
    offset: int
    size: int
    block: int
    # How many loads of the block, each with the value of another one, come before it: 0 for none.
    # None if no item waits for it: a store, or an atomic operation whose result is not used.
    level: int | None = None
    # Whether the first cache of a GPU may have it: not what is volatile, nor an atomic load.
    cached: bool = True


@dataclass(frozen=True)
class Instrumented:
    """A program with probes in a kernel."""

    text: str  # OpenCL C for the compiler of the device
    blocks: tuple[Block, ...]  # of the kernel and of the functions that it calls
    sites: tuple[Site, ...]
    parameters: tuple[Parameter, ...]  # of the kernel
