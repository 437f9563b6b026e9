"""A device, its context, queues and buffers."""

from __future__ import annotations

import os
import re
import threading
import weakref
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from pyapsp.base.errors import DeviceError
from pyapsp.base.json import Record
from pyapsp.base.reuse import empty
from pyapsp.device import loader
from pyapsp.device.capabilities import (
    HIDE,
    Capabilities,
    c_versions,
    hidden,
    kind_of,
    reported,
    standard_of,
)
from pyapsp.device.probes import loop_fault, scope_fault
from pyapsp.device.processor import compiled_for, features
from pyapsp.device.quirks import (
    Traits,
    architecture_of,
    pci_address_of,
    plain_name,
    traits_of,
    vendor_file,
)

if TYPE_CHECKING:
    import pyopencl as cl

__all__ = ["Device", "event_seconds", "event_times"]

# Bytes of a large page of the host, and the least size of a buffer that uses such pages.
_PAGE, _LARGE = 1 << 21, 1 << 23

_lock = threading.Lock()
_contexts: dict[cl.Device, cl.Context] = {}
_capabilities: dict[cl.Device, Capabilities] = {}
# The processes in which devices were found: this one, and the one that it was forked from.
_used: set[int] = set()
_queues: weakref.WeakSet[cl.CommandQueue] = weakref.WeakSet()
# The queues that stay with a thread.
_own = threading.local()


@dataclass(frozen=True)
class Device:
    """One OpenCL device.

    Devices are made by :func:`pyapsp.device.devices` and :func:`pyapsp.device.choose`. Two are
    equal when they stand for the same hardware in the same context.

    Parameters
    ----------
    handle : pyopencl.Device
        PyOpenCL's own object.
    id : str
        ``"platform:device"``, its indices in PyOpenCL's lists; a spec for
        :func:`pyapsp.device.choose` and for ``PYOPENCL_CTX``.
    caller_context : pyopencl.Context or None
        The caller's context to work in; None: the device makes its own.
    """

    handle: cl.Device
    id: str
    caller_context: cl.Context | None = None

    def __post_init__(self) -> None:
        _used.add(os.getpid())
        _ = self.processor  # the name of the processor is corrected before anything is compiled

    def __reduce__(self) -> NoReturn:
        """Refuse pickles: a device belongs to its process."""
        raise DeviceError(f"{self} cannot be pickled or copied: give its id, {self.id!r}, instead")

    @cached_property
    def name(self) -> str:
        """Name of the device."""
        return str(self.handle.name).strip()

    @cached_property
    def plain_name(self) -> str:
        """Name of the device without the additions of its driver."""
        return plain_name(self.name)

    @cached_property
    def architecture(self) -> str:
        """Name of a group of devices with the same tuning parameters, else the plain name."""
        info = loader.opencl().device_info
        return architecture_of(
            self.plain_name,
            self.kind,
            self.processor,
            set(self.handle.extensions.split()),
            features(),
            lambda query: reported(self.handle, getattr(info, query), None),
        )

    @cached_property
    def pci_address(self) -> str | None:
        """The address on the PCI bus, by which other libraries know the device; None if unknown."""
        info = loader.opencl().device_info
        return pci_address_of(
            set(self.handle.extensions.split()),
            lambda query: reported(self.handle, getattr(info, query), None),
        )

    @cached_property
    def processor(self) -> str:
        """The corrected name of the processor that a CPU's driver compiles for, or empty."""
        return compiled_for(self.handle)

    @property
    def build_options(self) -> list[str]:
        """The target of compiled kernels: a key with which caches tell binaries apart.

        Hosts with different processors may share a cache, and a driver may give these processors
        the same name.
        """
        if self.kind != "cpu":
            return []
        return ["-DPYAPSP_PROCESSOR=" + re.sub(r"\W", "_", self.architecture)]

    @cached_property
    def vendor(self) -> str:
        """Vendor of the device."""
        return str(self.handle.vendor).strip()

    @cached_property
    def platform_name(self) -> str:
        """Name of the OpenCL implementation."""
        return str(self.handle.platform.name).strip()

    @cached_property
    def kind(self) -> str:
        """One of "gpu", "cpu" and "accelerator"."""
        return kind_of(self.handle)

    @cached_property
    def version(self) -> str:
        """OpenCL version of the device, as its driver reports it."""
        return str(self.handle.version).strip()

    @cached_property
    def driver_version(self) -> str:
        """Version of the driver."""
        return str(self.handle.driver_version).strip()

    @property
    def traits(self) -> Traits:
        """The forms of code that are fastest on this device."""
        return traits_of(self.platform_name, self.kind, self.processor, features())

    def vendor_file(self, name: str) -> str:
        """Return the kernel file for the vendor of this device beside the portable one `name`.

        Call this only if the device has the capability that the file is written for.
        """
        return vendor_file(name, self.platform_name)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of this device; determined once per process."""
        if self.handle not in _capabilities:
            with _lock:
                if self.handle not in _capabilities:
                    found = Capabilities.probe(self.handle, self.identity)
                    absent: dict[str, Any] = dict.fromkeys(hidden(), False)
                    _capabilities[self.handle] = replace(found, **absent)
        return _capabilities[self.handle]

    def without(self, capability: str) -> str:
        """Return a message that this device lacks a capability, with the reason if known."""
        why = loop_fault(self.handle, self.identity) if capability == "long_loops" else None
        if capability in hidden():
            why = f"{HIDE} hides it"
        if capability == "device_scope_fence":
            why = scope_fault(self.handle, standard_of(c_versions(self.handle)), self.identity)
        return f"{self.name} has none{f' ({why})' if why else ''}"

    @property
    def context(self) -> cl.Context:
        """The context to work in: the caller's, or one per device and process.

        Raises
        ------
        DeviceError
            The driver refused.
        """
        if self.caller_context is not None:
            return self.caller_context
        if self.handle not in _contexts:
            cl = loader.opencl()
            with _lock:
                if self.handle not in _contexts:
                    try:
                        _contexts[self.handle] = cl.Context([self.handle])
                    except cl.Error as error:
                        raise DeviceError(f"no context on {self}: {error}") from error
        return _contexts[self.handle]

    def buffer(self, size: int) -> cl.Buffer:
        """Return a new buffer of `size` bytes, which kernels can read and write.

        If the device uses the memory of the host, a large buffer is allocated by NumPy, which may
        get large pages. With small pages, page faults take two thirds of the time of a copy, and a
        few per cent of the time of kernels. When the object is deleted, commands are waited for
        before the memory is freed, or kept for a later buffer or answer (``pyapsp.base.reuse``),
        for they may use it.
        """
        opencl = loader.opencl()
        flags = opencl.mem_flags.READ_WRITE
        if size >= _LARGE and self.traits.scalar_groups and self.capabilities.unified_memory:
            # if memory is short, let the driver allocate and raise, as for any other buffer
            with suppress(MemoryError):
                memory = empty((size + _PAGE,), np.uint8)
                start = -memory.ctypes.data % _PAGE
                part = memory[start : start + size]
                # The finalizer holds the memory: NumPy may free that of an array before its own.
                free = weakref.finalize(part, _wait_for, self.handle, os.getpid(), memory)
                free.atexit = False
                whole: cl.Buffer = opencl.Buffer(
                    self.context, flags | opencl.mem_flags.USE_HOST_PTR, hostbuf=part
                )
                return whole
        buffer: cl.Buffer = opencl.Buffer(self.context, flags, size)
        return buffer

    def check_process(self) -> None:
        """Raise a DeviceError if the process was forked from one that had used OpenCL.

        Drivers would wait forever for threads that the process does not have.
        """
        if _used - {os.getpid()}:
            raise DeviceError(
                f"{self} was found before this process was forked, and drivers do not work after "
                "that: start processes with the method 'spawn' or 'forkserver' of multiprocessing"
            )

    def queue(self) -> cl.CommandQueue:
        """Return a new in-order queue whose events can be timed with :func:`event_seconds`.

        Raises
        ------
        DeviceError
            The driver refused, or the process was forked from one that had used OpenCL.
        """
        return self._queue(loader.opencl().command_queue_properties.PROFILING_ENABLE)

    def _queue(self, properties: int) -> cl.CommandQueue:
        """Return a new queue with these properties."""
        self.check_process()
        opencl, context = loader.opencl(), self.context
        try:
            queue = _new_queue(context, self.handle, properties)
        except opencl.Error as error:
            raise DeviceError(f"no queue on {self}: {error}") from error
        with _lock:
            _queues.add(queue)
        return queue

    def own_queue(self) -> cl.CommandQueue:
        """Return the queue of this thread, which is made at the first call and stays.

        To make and to delete a queue takes one driver 0.1 ms. It is for functions that wait for
        their commands: those of the next function follow them. Its events have no times: where a
        driver takes them, eight short launches take 147 instead of 101 us.

        Raises
        ------
        DeviceError
            As `queue`.
        """
        self.check_process()
        own: dict[Device, cl.CommandQueue] = _own.__dict__.setdefault("queues", {})
        if self not in own:
            own[self] = self._queue(0)
        return own[self]

    def drain(self) -> None:
        """Wait for all commands enqueued on this device; errors of the driver are ignored."""
        _wait_for(self.handle, os.getpid())

    @property
    def identity(self) -> dict[str, str]:
        """The facts with which records tell devices apart.

        ``platform``, ``name``, ``kind``, ``version``, ``driver``, ``processor``: all text.
        """
        return {
            "platform": self.platform_name,
            "name": self.name,
            "kind": self.kind,
            "version": self.version,
            "driver": self.driver_version,
            "processor": self.processor,
        }

    def describe(self) -> Record:
        """Return the facts about the device, in JSON values.

        Returns
        -------
        dict
            ``id``, ``vendor``, ``architecture``, the items of :attr:`identity` (all text) and
            ``capabilities`` (the fields of :class:`Capabilities`).
        """
        return {
            "id": self.id,
            "vendor": self.vendor,
            "architecture": self.architecture,
            **self.identity,
            "capabilities": asdict(self.capabilities),
        }

    def __str__(self) -> str:
        return f"{self.id} ({self.kind}) {self.name}, {self.platform_name}"


def event_seconds(event: cl.Event) -> float:
    """Wait for an event and return how long its command ran on the device.

    Parameters
    ----------
    event : pyopencl.Event
        The event of a command in a profiling queue, such as those of :meth:`Device.queue`.

    Returns
    -------
    float
        Seconds between start and end by the clock of the device.

    Raises
    ------
    DeviceError
        The command failed, or its queue does not profile.
    """
    start, end = event_times(event)
    return (end - start) * 1e-9


def event_times(event: cl.Event) -> tuple[int, int]:
    """Wait for an event and return when its command ran, as `event_seconds`.

    Returns
    -------
    start, end : int
        Nanoseconds by the clock of the device.
    """
    cl = loader.opencl()
    try:
        event.wait()
        info = cl.profiling_info
        start = event.get_profiling_info(info.START)  # `event.profile` takes ten times as long
        end = event.get_profiling_info(info.END)
        return cast(int, start), cast(int, end)
    except cl.Error as error:
        raise DeviceError(f"no time of an event: {error}") from error


def _wait_for(handle: cl.Device, process: int, *memory: np.ndarray) -> None:
    """Wait for all commands of a process on a device, which may use the memory.

    Errors of the driver are ignored. The garbage collector may call this anywhere, so it takes no
    lock. A process that was forked has no commands.
    """
    while process == os.getpid():
        try:
            mine = [queue for queue in _queues if queue.device == handle]
        except RuntimeError:  # another thread made a queue meanwhile
            continue
        for queue in mine:
            with suppress(loader.opencl().Error):
                queue.finish()
        return


@cache
def _queue_type() -> type[cl.CommandQueue]:
    finish, process = loader.opencl().CommandQueue.finish, os.getpid()

    class Queue(loader.opencl().CommandQueue):  # type: ignore[misc]
        """A queue that supports weak references, and ends its commands before it is deleted.

        Afterwards `_wait_for` does not find it. Errors of the driver are ignored: nobody waits for
        these commands. A process that was forked has none.
        """

        def __del__(self) -> None:
            if process == os.getpid():
                with suppress(Exception):
                    finish(self)

    return Queue


def _new_queue(*arguments: Any) -> cl.CommandQueue:
    return _queue_type()(*arguments)
