"""Check entries of the dictionary on a device: kernels, buffers and launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from pyapsp.base.errors import CapabilityError, ParameterError
from pyapsp.device import Device
from pyapsp.device.kernels import Program, Stopwatch, build, upload
from pyapsp.graph import validation
from pyapsp.mining import evaluate
from pyapsp.mining.templates import Batch

__all__ = ["MAPPINGS", "Checker", "Form", "Rows"]

MAPPINGS = ("slab", "entry", "item")
_WIDTHS = (1, 2, 4, 8, 16)
_TILES = (1, 2, 4, 8)
# Bytes of a row in a slab. On CPUs the rows of tens of variables stay in the second cache of a
# core, on GPUs in the cache of the device.
_SLAB_CPU, _SLAB_GPU = 2**15, 2**16
_GROUP = 256
# Bytes of a row of the first launches, after which the host removes entries that are contradicted.
_PROBES = (2**12, 2**18)
# Groups up to which these launches take longer than they save.
_FEW = 1024


@dataclass(frozen=True)
class Form:
    """The form of the kernels; see `mine`."""

    width: int
    group: int
    tile: int
    slab: int
    mapping: str
    early: bool

    @classmethod
    def of(
        cls,
        device: Device,
        *,
        width: int | None = None,
        group: int | None = None,
        tile: int | None = None,
        slab: int | None = None,
        mapping: str = "slab",
        early: bool = True,
    ) -> Form:
        """Check the values given, and choose the others for a device.

        Raises
        ------
        ParameterError
            If one is out of range.
        """
        scalar, most = device.traits.scalar_groups, device.capabilities.max_work_group_size
        if width is None:
            width = device.traits.lanes(4) if scalar else 4
        if group is None:
            group = 1 if scalar else min(_GROUP, most)
        if slab is None:
            slab = _SLAB_CPU if scalar else _SLAB_GPU
        tile = 4 if tile is None else tile
        group = validation.integer("group", "mine", group, 1, most)
        slab = validation.integer("slab", "mine", slab, 128, 2**31 - 1)
        width = validation.integer("width", "mine", width, 1)
        tile = validation.integer("tile", "mine", tile, 1)
        for name, value, legal in (("width", width, _WIDTHS), ("tile", tile, _TILES)):
            if value not in legal:
                rule = f"one of {', '.join(map(str, legal))}"
                raise ParameterError.of(name, "mine", rule, value)
        mapping = validation.choice("mapping", "mine", mapping, MAPPINGS)
        return cls(width, group, tile, slab, mapping, early)


@dataclass(frozen=True)
class Rows:
    """Rows of a kind on the device."""

    buffer: cl.Buffer
    count: int  # number of rows
    length: int  # elements of a row, with padding
    used: int  # elements of a row that have instants
    dtype: np.dtype
    # Whether values may be unknown: each row of bits is followed by one that says which are known,
    # and NaN is an unknown number.
    unknown: bool = False


class Checker:
    """Checks entries in one queue.

    Parameters
    ----------
    device : Device
    form : Form
    watch : Stopwatch
        Kernels are added to its phase "kernel", copies to "transfer".
    """

    def __init__(self, device: Device, form: Form, watch: Stopwatch) -> None:
        self.device, self.form, self.watch = device, form, watch
        self.queue = device.queue()
        self.bytes = 0

    def program(self, batch: Batch, dtype: np.dtype, *, unknown: bool = False) -> Program:
        """Build the kernels of a batch.

        Raises
        ------
        CapabilityError
            If the device lacks the type of the numbers.
        """
        if dtype == np.float64 and not self.device.capabilities.fp64:
            raise CapabilityError(
                f"{self.device.name} has no float64, which the trace needs: "
                "round it with dtype='float32'"
            )
        defines: dict[str, str | int] = {
            "PYAPSP_WIDTH": self._width(dtype),
            "PYAPSP_GROUP": self.form.group,
            "PYAPSP_TILE": self.form.tile,
            "PYAPSP_EARLY": int(self.form.early),
            "PYAPSP_ARITY": batch.arity,
            "PYAPSP_FORMULAS": batch.checks,
            "PYAPSP_BOOLEAN": int(batch.kind == "boolean"),
            "PYAPSP_UNKNOWN": int(unknown),
        }
        if batch.kind == "numeric":
            double = dtype == np.float64
            defines |= {
                "PYAPSP_REAL": "double" if double else "float",
                "PYAPSP_MASK": "long" if double else "int",
                "PYAPSP_SUFFIX": "" if double else "f",
                "PYAPSP_NEAR": f"{evaluate.tolerance(dtype)!r}{'' if double else 'f'}",
            }
        # groups of several work-items have barriers in a loop
        optimise = self.form.group == 1 or self.device.traits.optimises_barriers
        return build(self.device, "mining/check.cl", defines, optimise=optimise)

    def check(
        self, batch: Batch, rows: Rows, entries: NDArray[np.uint32], words: NDArray[np.uint32]
    ) -> NDArray[np.uint32]:
        """Clear the statements that an instant contradicts.

        Parameters
        ----------
        batch : Batch
        rows : Rows
        entries : (m, arity) ndarray of uint32
        words : (m,) ndarray of uint32

        Returns
        -------
        (m,) ndarray of uint32
        """
        words = words.copy()
        kernels = self.program(batch, rows.dtype, unknown=rows.unknown)
        width = self._width(rows.dtype)
        for first, last in pairwise((0, *self._probes(rows, len(words)), rows.used)):
            some = np.flatnonzero(words) if self.form.early else np.arange(len(words))
            if some.size:
                span = (first // width, -(-last // width))
                words[some] = self._launch(kernels, rows, entries[some], words[some], span)
        return words

    def _width(self, dtype: np.dtype) -> int:
        """Return the elements of a vector: words of 4 bytes, or half as many of 8 bytes."""
        return max(self.form.width * 4 // dtype.itemsize, 1)

    def _probes(self, rows: Rows, count: int) -> Sequence[int]:
        """Return the ends of the first launches, in elements."""
        groups = count * -(-rows.used * rows.dtype.itemsize // self.form.slab)
        if not self.form.early or self.form.mapping != "slab" or groups <= _FEW:
            return ()
        ends = [size // rows.dtype.itemsize for size in _PROBES]
        return [end for end in ends if 2 * end <= rows.used]

    def _launch(
        self,
        program: Program,
        rows: Rows,
        entries: NDArray[np.uint32],
        words: NDArray[np.uint32],
        span: tuple[int, int],
    ) -> NDArray[np.uint32]:
        form, count, (first, last) = self.form, len(entries), span
        vector = self._width(rows.dtype) * rows.dtype.itemsize
        slab = max(form.slab // vector, 1) if form.mapping == "slab" else last - first
        entries, answers = np.ascontiguousarray(entries), np.empty_like(words)
        entries.flags.writeable = False  # so that its memory can be used
        dictionary = upload(self.queue, entries, self.watch)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        alive = cl.Buffer(self.queue.context, flags, hostbuf=words)
        self.bytes = max(self.bytes, entries.nbytes + words.nbytes)
        name = "check_by_item" if form.mapping == "item" else "check"
        groups = count * -(-(last - first) // slab)
        if form.mapping == "item":
            groups = -(-count // form.group)
        scalars = (count, first, last, slab)
        event = program.kernel(name)(
            self.queue,
            (groups * form.group,),
            (form.group,),
            rows.buffer,
            np.uint32(rows.length * rows.dtype.itemsize // vector),
            dictionary,
            alive,
            *(np.uint32(value) for value in scalars),
        )
        self.watch.add("kernel", event)
        self.watch.add("transfer", cl.enqueue_copy(self.queue, answers, alive))
        return answers
