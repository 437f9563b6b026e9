"""Kernels that read graphs in the formats of table 3.1 as they are, see `formats.cl`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyopencl as cl

from papers.representations import Representation, pitch
from pyapsp.device import Device, device_errors, event_seconds
from pyapsp.device.kernels import Program, Stopwatch, upload
from pyapsp.device.kernels.source import headed
from pyapsp.errors import GraphError

__all__ = ["READ", "Reader"]

_KERNELS = Path(__file__).with_name("formats.cl")
_GROUP = 64
_NONE = np.iinfo(np.int32).max
#: Format -> its number in `formats.cl`. "csr and reverse" is two of "csr".
READ = {
    "matrix": 1,
    "weighted matrix": 2,
    "pitched matrix": 2,
    "csr": 3,
    "weighted csr": 3,
    "csr of records": 4,
    "csr-m": 5,
    "coo": 6,
    "coo of records": 7,
    "half coo": 8,
}
_MATRICES, _LISTS = (1, 2), (6, 7, 8)
# Whole numbers below this are exact in float32.
_EXACT = 2**24


class Reader:
    """A graph on a device, and the kernels that read its format.

    Parameters
    ----------
    device : Device
    stored : Representation
        In a format of `READ`, of at least one vertex and one arc.
    group : int, optional
        Work-items that share a row of a matrix, a power of two; by default one on a CPU.

    Raises
    ------
    GraphError
        If weights are not whole numbers of 4 bytes, or in a matrix not below 2^24.
    """

    def __init__(self, device: Device, stored: Representation, group: int | None = None) -> None:
        self._device, self._queue, self._n = device, device.queue(), stored.n
        self._code = READ[stored.format]
        arrays = list(stored.arrays.values())
        self._matrix = self._code in _MATRICES
        _check_weights(arrays, matrix=self._matrix)
        self._m = len(arrays[0]) if self._code in _LISTS else 0
        usual = 1 if self._matrix and device.traits.scalar_groups else _GROUP
        self._group = usual if group is None else group
        defines = {
            "PYAPSP_FORMAT": self._code,
            "PYAPSP_WEIGHTED": int("weights" in stored.arrays),
            "PYAPSP_PITCH": pitch(stored.n, 4) if stored.format == "pitched matrix" else stored.n,
            "PYAPSP_GROUP": self._group,
        }
        program = Program(device, headed(_KERNELS.read_text("utf-8"), defines))
        self._relax, self._has = map(program.kernel, ("formats_relax", "formats_has"))
        with device_errors(device, stored.bytes):
            self._arrays = [self._upload(each) for each in arrays]

    def relax(self, x: np.ndarray) -> tuple[np.ndarray, float]:
        """Return for each vertex the least x + weight of its arcs, and the seconds of the kernel.

        Parameters
        ----------
        x : (n,) int32 ndarray
            A number for the end of an arc; an arc without a weight has 1.

        Returns
        -------
        best : (n,) int32 ndarray
            2^31 - 1 for a vertex without arcs.
        seconds : float
        """
        best = np.full(self._n, _NONE, np.int32)
        items = self._n * self._group if self._matrix else self._m or self._n
        with device_errors(self._device, 2 * best.nbytes):
            given, out = self._upload(x), self._upload(best)
            count = np.int32(self._m or self._n)
            event = self._relax(self._queue, *self._shape(items), *self._arrays, given, out, count)
            cl.enqueue_copy(self._queue, best, out)
            return best, event_seconds(event)

    def has(self, pairs: np.ndarray) -> tuple[np.ndarray, float]:
        """Return for each pair of vertices whether there is an arc, and the seconds of the kernel.

        Parameters
        ----------
        pairs : (k, 2) int32 ndarray
        """
        answers = np.empty(len(pairs), np.uint8)
        with device_errors(self._device, pairs.nbytes + answers.nbytes):
            given = self._upload(np.ascontiguousarray(pairs))
            out = cl.Buffer(self._queue.context, cl.mem_flags.WRITE_ONLY, answers.nbytes)
            counts = [np.int32(len(pairs)), *([np.int32(self._m)] if self._m else [])]
            shape = self._shape(len(pairs))
            event = self._has(self._queue, *shape, *self._arrays, given, out, *counts)
            cl.enqueue_copy(self._queue, answers, out)
            return answers.astype(bool), event_seconds(event)

    def _upload(self, array: np.ndarray) -> cl.Buffer:
        return upload(self._queue, array, Stopwatch())

    def _shape(self, items: int) -> tuple[tuple[int], tuple[int]]:
        return (-(-items // self._group) * self._group,), (self._group,)


def _check_weights(arrays: Sequence[np.ndarray], *, matrix: bool) -> None:
    """Raise an error unless kernels read these weights as they are."""
    if matrix:
        (entries,) = arrays
        whole = entries[np.isfinite(entries)]
        exact = (whole == np.floor(whole)).all() and np.abs(whole, dtype=float).max(
            initial=0
        ) < _EXACT
    else:
        kinds = {each.dtype for each in arrays if each.dtype.names is None}
        kinds |= {each[0] for array in arrays for each in (array.dtype.fields or {}).values()}
        exact = kinds == {np.dtype(np.int32)}
    if not exact:
        raise GraphError("kernels of formats read weights that are whole numbers of int32")
