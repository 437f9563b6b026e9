"""The tree of shortest paths, computed from the distances. Weights must not be negative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from pyapsp.base.errors import CapabilityError
from pyapsp.device import Device
from pyapsp.device.kernels import Program, Stopwatch, build
from pyapsp.graph import Facts, Graph
from pyapsp.numbers.arithmetic import C_TYPES, arithmetic_defines
from pyapsp.numbers.bounds import distance_bound
from pyapsp.numbers.precision import narrower
from pyapsp.paths import PathOptions, Weights
from pyapsp.paths.device_rows import HostOrDevice
from pyapsp.paths.landing import deliver
from pyapsp.registry import Plan
from pyapsp.traversal.kernels import Launcher
from pyapsp.traversal.search import Search

__all__ = [
    "NonNegativeSearch",
    "Programs",
    "Tree",
    "type_on_device",
    "without_atomics",
    "word_defines",
    "word_of",
]

# Work-items of a group, if the device supports it, and of a vertex on GPUs.
_GROUP, _LANES = 64, 8


@dataclass(frozen=True)
class Programs:
    """The kernels of a search, and those of the predecessors if they are wanted."""

    search: Program
    tree: Program | None

    @property
    def hash(self) -> str:
        """The hash of the kernels of the search, for records."""
        return self.search.hash


def type_on_device(graph: Graph | Facts, dtype: np.dtype) -> np.dtype:
    """Return the type of the distances on the device: int32 for 8 bytes, if it is proved exact."""
    if dtype.itemsize == 8 and narrower(graph, dtype, distance_bound(graph)) is not None:
        return np.dtype(np.int32)
    return dtype


def word_of(dtype: np.dtype) -> int:
    """Return the bytes of the word in which kernels have a distance, in its lowest bits."""
    return max(dtype.itemsize, 4)


def without_atomics(
    method: str, graph: Graph | Facts, options: PathOptions, other: str
) -> CapabilityError | None:
    """Return the error of a device without atomics for wide distances, which `other` can find."""
    wide = type_on_device(graph, options.dtype).itemsize == 8
    if not wide or options.device.capabilities.int64_atomics:
        return None
    return CapabilityError(
        f"{options.device.name} has no 64-bit atomics, which {method} needs for "
        f"{options.dtype}: use {other}"
    )


def word_defines(
    device: Device, dtype: np.dtype, offsets: np.dtype, weights: np.dtype
) -> dict[str, str | int]:
    """Return the macros of kernels with distances as words, and arcs of these types."""
    return arithmetic_defines(device, dtype) | {
        "PYAPSP_WORD": 8 * word_of(dtype),
        "PYAPSP_HAS_INT64_ATOMICS": int(device.capabilities.int64_atomics),
        "PYAPSP_OFFSET": C_TYPES[offsets.name],
        "PYAPSP_WEIGHT": C_TYPES[weights.name],
    }


class NonNegativeSearch(Search[Programs]):
    """Base of the searches for weights that are not negative, with predecessors from a `Tree`."""

    problem = "sssp"
    requires = Weights(non_negative=True)
    weighted = True


class Tree:
    """Finds for each vertex v a predecessor u with ``d(v) = d(u) + w(u, v)``.

    A vertex takes a predecessor that is nearer to the source, if there is one. Otherwise the arcs
    to v have weight zero (or are lost in rounding). These vertices are added level by level, so
    that predecessors form no cycle. Of several possible predecessors of a level, it takes the one
    with the smallest number.

    Parameters
    ----------
    device : Device
    program : Program
        The program that `build` returns.
    arcs : sequence of pyopencl.Buffer
        The leaving arcs of each vertex: offsets, heads and weights, of the types given to `build`.
    n : int
        Number of vertices.
    farthest : numpy scalar of the type of the distances
        Vertices at larger distances get no predecessor.
    """

    def __init__(
        self,
        device: Device,
        program: Program,
        arcs: Sequence[cl.Buffer],
        n: int,
        farthest: np.generic,
    ) -> None:
        self._queue, self._arcs, self._n = device.own_queue(), arcs, n
        self._farthest = farthest
        self._launch = Launcher(self._queue, program, _group(device))
        self._lanes = _lanes(device)
        self._parents, self._rounds, self._state = (device.buffer(size) for size in Tree.buffers(n))

    @classmethod
    def planned(
        cls, plan: Plan[Graph, PathOptions, Programs], arcs: Sequence[cl.Buffer], dtype: np.dtype
    ) -> Tree | None:
        """Return the tree for distances of this type, if the plan has predecessors."""
        if plan.state.tree is None:
            return None
        farthest = plan.options.farthest_in(dtype)
        return cls(plan.options.device, plan.state.tree, arcs, plan.input.n, farthest)

    @staticmethod
    def build(device: Device, dtype: np.dtype, offsets: np.dtype, weights: np.dtype) -> Program:
        """Build the kernels for distances, offsets and weights of these types."""
        defines = word_defines(device, dtype, offsets, weights)
        defines |= {"PYAPSP_GROUP": _group(device), "PYAPSP_LANES": _lanes(device)}
        return build(device, "traversal/sssp/sssp_tree.cl", defines)

    @staticmethod
    def buffers(n: int) -> list[int]:
        """Return the bytes of each buffer."""
        return [max(4 * n, 4), max(4 * n, 4), 8]

    def find(
        self,
        words: cl.Buffer,
        source: int,
        predecessors: HostOrDevice,
        watch: Stopwatch,
        farthest: np.generic | None = None,
    ) -> None:
        """Find the predecessors of a row.

        Parameters
        ----------
        words : pyopencl.Buffer
            The distances as the kernels hold them. As far as they are at most the farthest, they
            are the fixed point of ``d(v) = min(d(u) + w(u, v))`` in the arithmetic of their type.
        source : int
        predecessors : (n,) int32 ndarray or DeviceRows
            Array for the predecessors.
        watch : Stopwatch
            Measures the transfer, as phase "transfer".
        farthest : numpy scalar, optional
            A smaller farthest distance for this row.
        """
        farthest = self._farthest if farthest is None else farthest
        n, items = np.int32(self._n), self._n * self._lanes
        ends, number = (np.int32(source), n, farthest), 0
        self._launch("tree_start", self._n, self._parents, self._rounds, self._state, n)
        self._launch("tree_fall", items, *self._arcs, words, self._parents, n, farthest)
        waiting = self._counted(words, ends, number)
        while waiting[0]:
            number += 1
            written = self._parents, self._rounds, self._state
            cl.enqueue_copy(self._queue, self._state, np.zeros(2, np.int32))
            self._launch("tree_level", items, *self._arcs, words, *written, *ends)
            waiting = self._counted(words, ends, number)
            assert waiting[1] or not waiting[0], "distances that no tight path attains"
        deliver(self._queue, self._parents, predecessors, watch)

    def _counted(self, words: cl.Buffer, ends: tuple[np.generic, ...], number: int) -> np.ndarray:
        """Return whether vertices lack a parent, and whether some have got one in this round."""
        state = np.empty(2, np.int32)
        arrays = words, self._parents, self._rounds, self._state
        self._launch("tree_count", self._n, *arrays, *ends, np.int32(number))
        cl.enqueue_copy(self._queue, state, self._state)
        return state


def _group(device: Device) -> int:
    return min(_GROUP, device.capabilities.max_work_group_size)


def _lanes(device: Device) -> int:
    """Return the work-items of a vertex."""
    return 1 if device.traits.scalar_groups else min(_LANES, _group(device))
