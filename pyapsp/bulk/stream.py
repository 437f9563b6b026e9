"""Low-latency bulk execution: groups that are uploaded, run and downloaded at the same time.

::

    upload     g0   g1   g2   g3
    compute         g0   g1   g2   g3
    download             g0   g1   g2   g3

Source: D. Takafuji's thesis, 2020, section 4.5.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import ArrayLike

from pyapsp.base.errors import ParameterError
from pyapsp.bulk.buffers import Buffers, Machine, instances_of
from pyapsp.device import device_errors
from pyapsp.device.kernels import Stopwatch

__all__ = ["SLOTS", "Stream"]

#: Groups in progress: one is uploaded, one runs, one is downloaded.
SLOTS = 3


@dataclass
class _Group:
    """A group in progress."""

    slot: _Slot
    instances: int
    taken_at: float
    done: list[cl.Event]


class _Slot:
    """Device memory for one group, and pinned host memory, which the device can access."""

    def __init__(self, machine: Machine, queue: cl.CommandQueue, b: int, watch: Stopwatch) -> None:
        self.buffers = Buffers(machine, b, watch)
        self.host: dict[str, np.ndarray] = {}
        self._queue, self._pinned = queue, []
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        access: Any = cl.map_flags.READ | cl.map_flags.WRITE
        for each in machine.translation.arrays:
            buffer = cl.Buffer(queue.context, flags, each.nbytes * b)
            shape = (b, *each.shape)
            array, _ = cl.enqueue_map_buffer(queue, buffer, access, 0, shape, each.dtype)
            self.host[each.name] = array
            self._pinned.append((buffer, array.base))

    def release(self) -> None:
        """Free the memory."""
        self.buffers.release()
        self.host.clear()
        for buffer, memory in self._pinned:
            memory.release(self._queue).wait()
            buffer.release()


class Stream:
    """Iterates over the outputs of groups, in their order; made by `Program.stream`.

    A group is taken from the iterable as soon as there is memory for it. Its outputs are returned
    as soon as they are on the host.

    Attributes
    ----------
    latencies : list of float
        For each returned group, the seconds from taking it until its outputs were on the host.
    instances : int
        Number of instances returned so far.
    seconds : float
        Time from taking the first group to returning the last.
    """

    def __init__(self, machine: Machine, groups: Iterable[Mapping[str, ArrayLike]], b: int) -> None:
        self._machine, self._groups, self._b = machine, groups, b
        self.latencies: list[float] = []
        self.instances = 0
        self.seconds = 0.0

    @property
    def throughput(self) -> float:
        """Instances per second."""
        return self.instances / self.seconds if self.seconds else 0.0

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        device = self._machine.device
        needed = self._machine.bytes_of_instance() * SLOTS * self._b
        with device_errors(device, needed):
            queues = device.queue(), device.queue(), device.queue()
            slots: list[_Slot] = []
            try:
                for _ in range(SLOTS):
                    slots.append(_Slot(self._machine, queues[0], self._b, Stopwatch()))
                yield from self._through(queues, slots)
            finally:
                for queue in queues:
                    queue.finish()
                for slot in slots:
                    slot.release()

    def _through(
        self, queues: tuple[cl.CommandQueue, ...], slots: list[_Slot]
    ) -> Iterator[dict[str, np.ndarray]]:
        free, under_way = deque(slots), deque[_Group]()
        begin: float | None = None
        for inputs in self._groups:
            begin = perf_counter() if begin is None else begin
            if not free:
                yield self._finish(under_way.popleft(), free, begin)
            under_way.append(self._start(queues, free.popleft(), inputs))
            while under_way and _is_done(under_way[0]):
                yield self._finish(under_way.popleft(), free, begin)
        while under_way and begin is not None:
            yield self._finish(under_way.popleft(), free, begin)

    def _start(
        self, queues: tuple[cl.CommandQueue, ...], slot: _Slot, inputs: Mapping[str, ArrayLike]
    ) -> _Group:
        """Enqueue all commands for a group."""
        taken_at = perf_counter()
        count, arrays = instances_of(self._machine.translation, inputs, 0)
        if not 1 <= count <= self._b:
            rule = f"between 1 and b = {self._b} instances"
            raise ParameterError.of("groups", "stream", rule, count)
        upload, compute, download = queues
        hosts = {name: slot.host[name][:count] for name in arrays}
        for name, array in arrays.items():
            hosts[name][...] = array
        uploaded = slot.buffers.upload(upload, hosts)
        upload.flush()
        computed = slot.buffers.run(compute, count, arrays, uploaded or None)
        compute.flush()
        stored = [each.name for each in self._machine.translation.arrays if each.stored]
        results = {name: slot.host[name][:count] for name in stored}
        done = slot.buffers.download(download, results, [computed])
        download.flush()
        return _Group(slot, count, taken_at, done)

    def _finish(self, group: _Group, free: deque[_Slot], begin: float) -> dict[str, np.ndarray]:
        """Wait for a group and return its outputs."""
        cl.wait_for_events(group.done) if group.done else None
        stored = [each.name for each in self._machine.translation.arrays if each.stored]
        outputs = {name: group.slot.host[name][: group.instances].copy() for name in stored}
        now = perf_counter()
        self.latencies.append(now - group.taken_at)
        self.instances += group.instances
        self.seconds = now - begin
        free.append(group.slot)
        return outputs


def _is_done(group: _Group) -> bool:
    complete = cl.command_execution_status.COMPLETE
    return all(each.command_execution_status == complete for each in group.done)
