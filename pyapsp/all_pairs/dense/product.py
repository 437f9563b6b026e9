"""The min-plus product D <- min(D, left (x) right) on a device: the base class of its forms.

Floats that cannot be negative are compared as integers (the parameter ``bits``). This is up to 1.5
times as fast: on GPUs, which have an integer minimum of three values, and on CPUs where float
additions and minima use the same units.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.device import Capabilities
from pyapsp.device.kernels import Program, build
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters

__all__ = ["Product", "Rectangle", "Region", "RightFactor", "ints", "most_updates", "numbers"]

# Updates of a launch for each compute unit, at most: about a fourth of a second if it is slow.
_LAUNCH = 2**30


@dataclass(frozen=True)
class Region:
    """The pivots of a round, and the part of a square matrix that is updated with them."""

    size: int  # rows and columns of the matrix on the device
    # Values from row to row; `size` in the form of tiles.
    pitch: int
    # The first pivot and how many there are.
    first: int
    depth: int
    # The rows and columns to be updated; in the form of panels all.
    low: int
    high: int
    # How many such matrices follow each other; so do their factors. For tiles.
    graphs: int = 1

    @property
    def end(self) -> int:
        """The first row after the pivots."""
        return self.first + self.depth

    @property
    def extent(self) -> int:
        """Rows, and columns, to be updated."""
        return self.high - self.low


@dataclass(frozen=True)
class Rectangle:
    """Some rows and columns of a row-major matrix in device memory.

    The first are number `row` and number `column`. The matrix has `pitch` values from row to row.
    """

    buffer: cl.Buffer
    pitch: int
    rows: int
    columns: int
    column: int = 0
    row: int = 0

    def part(self, column: int, columns: int) -> Rectangle:
        """Return some of its columns, counted from its first."""
        return replace(self, column=self.column + column, columns=columns)


@dataclass(frozen=True)
class RightFactor:
    """The right factor of a product, in the order of its form, and a place in it."""

    buffer: cl.Buffer
    # Its rows and columns.
    depth: int
    width: int
    # The place.
    row: int = 0
    column: int = 0

    def at(self, row: int, column: int) -> RightFactor:
        """Return the same factor with another place."""
        return replace(self, row=row, column=column)


class Product(ABC):
    """A min-plus product in one form, built for a device and a number type.

    All matrices are row-major; a pitch is the number of values from row to row.

    It has two uses. The steps of Floyd-Warshall on a square matrix in device memory:
    `close_block`, `panels` and `remainder`, which `round` puts together. And products of
    rectangles, for a matrix that the device does not hold: `pack_left`, `pack_right` and
    `multiply`.

    Parameters
    ----------
    options : AllPairsOptions
        Device and dtype.
    parameters : Parameters
        A complete set that `fits`.
    negative : bool
        Whether there are negative weights.
    rectangles : bool
        Whether to build the kernels for rectangles.

    Attributes
    ----------
    names : frozenset of str
        The parameters that the form has.
    kernels, rectangle_kernels : str
        Its kernel files: for square matrices, and for rectangles as well.
    macros : tuple of str
        The parameters that are macros of this file.
    parameters : Parameters
    p : mapping of str to int
        Those that are numbers.
    program : Program
    """

    names: ClassVar[frozenset[str]]
    kernels: ClassVar[str]
    rectangle_kernels: ClassVar[str]
    macros: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        options: AllPairsOptions,
        parameters: Parameters,
        *,
        negative: bool,
        rectangles: bool = True,
    ) -> None:
        self.parameters, self.p, self.dtype = parameters, numbers(parameters), options.dtype
        self._negative, self._rectangles = negative, rectangles
        self._capabilities = options.device.capabilities
        self.program = self._build(options, self.p)
        self._build_more(options)

    def _build_more(self, options: AllPairsOptions) -> None:  # noqa: B027
        """Build the further programs of the form."""

    def _build(self, options: AllPairsOptions, parameters: Mapping[str, int]) -> Program:
        dtype = options.dtype
        bits = bool(parameters["bits"]) and dtype.itemsize > 2 and not self._negative
        defines: dict[str, str | int] = {
            **arithmetic_defines(options.device, dtype, guard=self._negative, bits=bits),
            **self.defines(parameters),
        }
        if options.device.traits.prefetches:
            defines["PYAPSP_PREFETCH"] = 1
        kernels = self.rectangle_kernels if self._rectangles else self.kernels
        # integers in words of 32 bits, which the form of panels does not have
        word = dtype.itemsize * (1 + parameters["packed"]) if "packed" in parameters else 0
        if dtype.kind != "f" and word == 4 and options.device.capabilities.packed16:
            kernels = options.device.vendor_file(kernels)
            defines |= {"PYAPSP_HAS_PACKED16": 1, "PYAPSP_VALUE_IS_SIGNED": int(dtype.kind == "i")}
        return build(options.device, kernels, defines)

    @classmethod
    @abstractmethod
    def candidates(cls, options: AllPairsOptions) -> Iterator[dict[str, int | str]]:
        """Yield parameter sets from the fastest to the least demanding."""

    @classmethod
    @abstractmethod
    def fits(cls, parameters: Parameters, options: AllPairsOptions) -> bool:
        """Return whether the parameters go together and are within the limits of the device."""

    @property
    @abstractmethod
    def unit(self) -> int:
        """What the rows and columns of everything must be a multiple of."""

    @property
    @abstractmethod
    def turn(self) -> tuple[int, int]:
        """The steps, and the rows, that `multiply` takes at a time.

        What is left over costs as much as a whole turn.
        """

    @classmethod
    def defines(cls, parameters: Mapping[str, int]) -> dict[str, int]:
        """Return the macros of the kernel file, beside those of the number type."""
        return {f"PYAPSP_{name.upper()}": parameters[name] for name in cls.macros}

    def pitch(self, size: int) -> int:
        """Return the best number of values from row to row of a `size` x `size` matrix."""
        return size

    @abstractmethod
    def scratch(self, size: int) -> tuple[int, ...]:
        """Return the number of values in each further buffer of `round`."""

    @abstractmethod
    def panels(
        self, queue: cl.CommandQueue, buffers: list[cl.Buffer], region: Region
    ) -> list[cl.Event]:
        """Enqueue the panels of a closed pivot."""

    @abstractmethod
    def remainder(
        self, queue: cl.CommandQueue, buffers: list[cl.Buffer], region: Region, steps: int = 1
    ) -> Iterator[list[cl.Event]]:
        """Enqueue the product of the panels into everything else, in bands of rows.

        Parameters
        ----------
        queue, buffers, region
            As for the other steps.
        steps : int
            How many bands there are: at most one for the rows of a `turn`.

        Yields
        ------
        list of pyopencl.Event
            Of a band.
        """

    def steps(self, size: int) -> int:
        """Return in how many steps a round should be enqueued: none takes long."""
        updates = min(self.p["block"], size) * size * size
        steps = -(-updates // most_updates(self._capabilities))
        return max(min(steps, size // self.turn[1]), 1)

    @abstractmethod
    def close_block(
        self, queue: cl.CommandQueue, buffers: list[cl.Buffer], region: Region
    ) -> list[cl.Event]:
        """Enqueue Floyd-Warshall on the pivot block alone, in rounds over its tiles."""

    def rounds(self, queue: cl.CommandQueue, buffers: list[cl.Buffer], size: int) -> None:
        """Enqueue all rounds of a matrix that is dense in memory; see `round_steps`."""
        for number in range(-(-size // self.p["block"])):
            for _ in self.round_steps(queue, buffers, size, number):
                pass

    def round_steps(
        self,
        queue: cl.CommandQueue,
        buffers: list[cl.Buffer],
        size: int,
        number: int,
        *,
        pitch: int | None = None,
        graphs: int = 1,
        steps: int = 1,
    ) -> Iterator[list[cl.Event]]:
        """Enqueue the closing of a pivot block, then its panels and the remainder, in steps.

        Each is enqueued when it is asked for. The buffers are a `size` x `size` matrix, or those of
        several graphs, and the scratch. Its pitch is `size` unless given.
        """
        first = number * self.p["block"]
        depth = min(self.p["block"], size - first)
        region = Region(size, pitch or size, first, depth, 0, size, graphs)
        events = self.close_block(queue, buffers, region)
        if depth < size:
            events += self.panels(queue, buffers, region)
            for band in self.remainder(queue, buffers, region, steps):
                yield events + band
                events = []
        else:
            yield events

    @abstractmethod
    def pack_left(
        self, queue: cl.CommandQueue, source: Rectangle, left: cl.Buffer
    ) -> list[cl.Event]:
        """Enqueue: a rectangle becomes a left factor, which takes as many values."""

    @abstractmethod
    def pack_right(
        self, queue: cl.CommandQueue, source: Rectangle, right: RightFactor
    ) -> list[cl.Event]:
        """Enqueue: a rectangle becomes the part of a right factor from its place on."""

    @abstractmethod
    def unpack_right(
        self, queue: cl.CommandQueue, right: RightFactor, target: Rectangle
    ) -> list[cl.Event]:
        """Enqueue the reverse of `pack_right`."""

    @abstractmethod
    def copy(self, queue: cl.CommandQueue, source: Rectangle, target: Rectangle) -> list[cl.Event]:
        """Enqueue a copy of a rectangle into another one that is as large."""

    @abstractmethod
    def multiply(
        self, queue: cl.CommandQueue, target: Rectangle, left: cl.Buffer, right: RightFactor
    ) -> list[cl.Event]:
        """Enqueue D <- min(D, left (x) right) on a rectangle.

        The right factor takes part with all its rows, and its columns from its place on.
        """


def most_updates(capabilities: Capabilities) -> int:
    """Return the most updates of a launch, so that it ends soon: the host cannot stop it."""
    return _LAUNCH * capabilities.compute_units


def numbers(parameters: Mapping[str, int | str]) -> dict[str, int]:
    """Return the parameters of a form; its name is the only one that is no number."""
    return {name: value for name, value in parameters.items() if not isinstance(value, str)}


@lru_cache(maxsize=4096)  # a launch of a small matrix takes hardly longer than its arguments
def ints(*values: int) -> tuple[np.int32, ...]:
    """Return numbers as kernel arguments."""
    return tuple(np.int32(value) for value in values)
