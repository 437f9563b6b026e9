"""Record how a body accesses its arrays, and choose the scheme from that.

In the paper, the developer must find out whether accesses are *similar* (neighbouring tasks access
the same entry) or *continuous* (neighbouring threads access neighbouring entries). Here the body is
built a second time with macros that record each access, and run for the first tasks. These macros
also find accesses outside of an array, and reads of entries that have no value yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from pyapsp.base.errors import ParameterError
from pyapsp.device import Device, device_errors
from pyapsp.sweep.arrays import Array, Repeat, Step, flattened
from pyapsp.sweep.forms import Form, shape_of
from pyapsp.sweep.plan import FLAGS, is_arranged
from pyapsp.sweep.run import Slice, require_right
from pyapsp.sweep.source import FAULT, PREFIX, Body, built, generate

__all__ = ["Pattern", "Traced", "guideline"]

# Recorded accesses of each thread.
_LOGGED = 64
# Recorded rounds of a `Repeat`.
_ROUNDS = 4
# Bytes of a memory transaction.
_TRANSACTION = 128
# The interleaved scheme is chosen only if its transactions are below this fraction of the naive.
_MARGIN = 0.9


@dataclass(frozen=True)
class Pattern:
    """The accesses of a step to an array.

    Parameters
    ----------
    step, array, role : str
    accesses : float
        Number of accesses by all threads of a task.
    similarity : float
        Fraction of accesses for which the next task accesses the same entry at the same time.
    continuity : float
        Fraction of accesses for which the next thread accesses the next entry at the same time.
    naive, interleaved : float
        Memory transactions per access in each scheme: for words, 1/32 in the best case.
    """

    step: str
    array: str
    role: str
    accesses: float
    similarity: float
    continuity: float
    naive: float
    interleaved: float


def guideline(patterns: Sequence[Pattern], arrays: Sequence[Array], lanes: int) -> tuple[str, str]:
    """Return the scheme with fewer memory transactions, with arrangement, and the reason.

    Parameters
    ----------
    patterns : sequence of Pattern
    arrays : sequence of Array
    lanes : int
        V.
    """
    naive = sum(each.accesses * each.naive for each in patterns)
    interleaved = sum(each.accesses * each.interleaved for each in patterns)
    form = Form("interleaved", lanes)
    arranged = sum(2 * array.nbytes for array in arrays if is_arranged(array, form))
    interleaved += arranged / _TRANSACTION
    scheme = "interleaved" if interleaved < _MARGIN * naive else "naive"
    text = f"memory transactions of a task: naive {naive:.3g}, interleaved {interleaved:.3g}"
    return scheme, text


class Traced:
    """A sweep that records the accesses of its first tasks."""

    def __init__(
        self,
        device: Device,
        arrays: Sequence[Array],
        steps: Sequence[Step | Repeat],
        body: Body,
        defines: Mapping[str, str | int | float],
    ) -> None:
        self._device, self._arrays, self._steps = device, arrays, steps
        self._body, self._defines = body, defines

    def patterns(
        self,
        whole: Slice,
        common: Mapping[str, np.ndarray],
        lanes: int,
    ) -> list[Pattern]:
        """Run V neighbouring threads of the first tasks, and return the recorded accesses.

        Parameters
        ----------
        whole : Slice
            The first V tasks, or fewer.
        common : mapping of str to ndarray
        lanes : int
            V.

        Raises
        ------
        ParameterError
            One of these tasks accesses an entry outside of an array, reads one without a value, or
            writes none of an output.
        """
        form, named = Form("naive", 1), {array.name: array for array in self._arrays}
        tasks = whole.tasks
        shapes = {
            step: shape_of(step, form, named, self._device, tasks=1, staging=False)
            for step in flattened(self._steps)
        }
        defines = dict(self._defines) | {"SWEEP_THREADS": lanes}
        source = generate(self._body, self._arrays, shapes, form, defines, logged=_LOGGED)
        program = built(self._device, source)
        log = np.zeros((tasks, lanes, 1 + 2 * _LOGGED), np.int32)
        fault, again, zero = np.zeros(FAULT, np.int32), np.zeros(1, np.int32), np.zeros(1, np.uint8)
        states = sum(array.size for array in self._arrays if array.unknown) * tasks
        size = sum(a.nbytes * (1 if a.role == "common" else tasks) for a in self._arrays)
        records: list[tuple[Step, NDArray[np.int32]]] = []
        with device_errors(self._device, size + log.nbytes + states):
            queue, buffers = self._device.queue(), self._buffers(whole, common, tasks)
            place, wrong, state, flags = (
                cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, count)
                for count in (log.nbytes, fault.nbytes, max(states, 4), 4 * FLAGS)
            )
            for buffer in (wrong, state, flags):
                cl.enqueue_fill_buffer(queue, buffer, zero, 0, buffer.size)

            def launch(step: Step, *, record: bool) -> None:
                cl.enqueue_fill_buffer(queue, place, zero, 0, log.nbytes)
                shape = shapes[step]
                arguments: list[cl.Buffer | np.int32] = [
                    *buffers,
                    np.int32(whole.first),
                    np.int32(tasks),
                ]
                arguments += [flags, np.int32(0)] if self._body.repeats else []
                kernel = program.kernel(PREFIX + step.name)
                items = shape.groups(step, tasks) * shape.items
                kernel(queue, (items,), (shape.items,), *arguments, wrong, state, place)
                cl.enqueue_copy(queue, fault, wrong)
                require_right(fault, self._arrays, list(shapes))
                if record:
                    cl.enqueue_copy(queue, log, place)
                    records.append((step, log.copy()))

            for each in self._steps:
                if not isinstance(each, Repeat):
                    launch(each, record=True)
                    continue
                for number in range(each.limit):
                    cl.enqueue_fill_buffer(queue, flags, zero, 0, 4)
                    for step in each.steps:
                        launch(step, record=number < _ROUNDS)
                    cl.enqueue_copy(queue, again, flags)
                    if not again[0]:
                        break
            written = np.empty((tasks, states // tasks), np.uint8)
            if states:
                cl.enqueue_copy(queue, written, state)
            self._require_written(written, whole.first)
        return self._summed(records, lanes)

    def _require_written(self, written: NDArray[np.uint8], first: int) -> None:
        """Raise the error of an output that has no value, as a task writes none of its entries.

        Parameters
        ----------
        written : (tasks, entries) ndarray
            Whether each entry of each array without a value before the first step is written.
        first : int
            The number of the first task.
        """
        start = 0
        for array in self._arrays:
            if array.unknown:
                none = ~written[:, start : start + array.size].any(axis=1)
                start += array.size
                if array.role == "output" and none.any():
                    raise ParameterError(
                        f"the body writes no entry of output {array.name!r} in task "
                        f"{first + int(none.argmax())}: write it, or give the array a fill"
                    )

    def _buffers(
        self, whole: Slice, common: Mapping[str, np.ndarray], tasks: int
    ) -> list[cl.Buffer]:
        buffers, flags = [], cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        for array in self._arrays:
            if array.role == "common":
                value = common[array.name]
            elif array.role == "input":
                value = whole.arrays[array.name][:tasks]
            else:
                value = np.full((tasks, *array.shape), array.fill or 0, array.dtype)
            buffers.append(cl.Buffer(self._device.context, flags, hostbuf=value))
        return buffers

    def _summed(
        self, records: Sequence[tuple[Step, NDArray[np.int32]]], lanes: int
    ) -> list[Pattern]:
        """Return one pattern for each step and array, over all rounds."""
        counts: dict[tuple[str, int], list[NDArray[np.float64]]] = {}
        for step, log in records:
            for number in range(len(self._arrays)):
                counted = _counted(log, number, self._arrays[number], lanes)
                if counted[0]:
                    threads = min(step.count, lanes)
                    counted[0] *= step.count / (threads * log.shape[0])
                    counts.setdefault((step.name, number), []).append(counted)
        patterns = []
        for (name, number), parts in counts.items():
            accesses = sum(part[0] for part in parts)
            shares = sum(part[0] * part[1:] for part in parts) / accesses
            array = self._arrays[number]
            shown = map(float, (accesses, *shares))
            patterns.append(Pattern(name, array.name, array.role, *shown))
        return patterns


def _counted(log: NDArray[np.int32], number: int, array: Array, lanes: int) -> NDArray[np.float64]:
    """Return the number of accesses to an array, and the four fractions of `Pattern`."""
    logged = np.minimum(log[..., 0], _LOGGED)
    there = np.arange(_LOGGED) < logged[..., None]
    there &= log[..., 1::2] == number
    j = log[..., 2::2].astype(np.int64)
    recorded = there.sum()
    if not recorded:
        return np.zeros(5)
    # accesses that the log has no room for are assumed to be like the recorded ones
    weight = log[..., 0].sum() / logged.sum()

    def share(shift: int, axis: int) -> float:
        if j.shape[axis] == 1:
            return float(axis == 0)
        here = np.delete(there, -1, axis) & np.delete(there, 0, axis)
        same = np.delete(j, 0, axis) == np.delete(j, -1, axis) + shift
        return float((here & same).sum() / max(here.sum(), 1))

    lane = np.arange(j.shape[0])[:, None, None]
    entry = j if array.role == "common" else j * lanes + lane
    bytes_ = array.dtype.itemsize
    naive = _distinct(j * bytes_ // _TRANSACTION, there, axis=1)
    interleaved = _distinct(entry * bytes_ // _TRANSACTION, there, axis=0)
    return np.array(
        [recorded * weight, share(0, 0), share(1, 1), naive / recorded, interleaved / recorded],
        float,
    )


def _distinct(segments: NDArray[np.int64], there: NDArray[np.bool_], axis: int) -> int:
    """Return the number of different segments of the accesses along an axis, summed up."""
    ordered = np.sort(np.where(there, segments, -1), axis)
    new = np.diff(ordered, axis=axis, prepend=-1) != 0
    return int((new & (ordered >= 0)).sum())
