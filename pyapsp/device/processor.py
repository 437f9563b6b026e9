"""Correct the name of the processor in a driver whose compiler is older than the processor.

A driver that does not know its processor passes its compiler a name that the compiler rejects, so
that no kernel builds; or it passes the name of an older processor with registers half as long. The
name is a string in the driver's device object. It is overwritten with the nearest processor that
the compiler supports and whose instructions this processor has.
"""

from __future__ import annotations

import platform
import re
import struct
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pyapsp.device.quirks import nearest_processor, told_processor

if TYPE_CHECKING:
    import pyopencl as cl

__all__ = ["compiled_for", "features", "model"]

# Bytes of the device object that are searched for the address of the name.
_OBJECT = 4096
# The addresses of objects in which the name is right. If a sub-device is freed and another one gets
# its address, both have the name of the same device.
_right: set[int] = set()
_lock = threading.Lock()


def compiled_for(handle: cl.Device) -> str:
    """Return the processor that kernels of a device are compiled for, corrected if necessary.

    Parameters
    ----------
    handle : pyopencl.Device
        The name of the processor in this object is corrected if the driver does not know the
        processor, or takes it for an older one, and if the name is found in the object.

    Returns
    -------
    str
        Empty if the driver does not report it.
    """
    told = told_processor(str(handle.version).strip())
    if not told:
        return ""
    nearest = nearest_processor(told, str(handle.driver_version).strip(), features())
    return nearest if nearest and _correct(handle.int_ptr, told, nearest) else told


def _correct(start: int, told: str, nearest: str) -> bool:
    """Overwrite the name that a device object points to; return whether the new name is there."""
    with _lock, suppress(OSError):
        if start not in _right and _written(start, told, nearest):
            _right.add(start)
    return start in _right


def _written(start: int, told: str, nearest: str) -> bool:
    # Read memory through /proc: an invalid address is then an error and not a crash.
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        place = _place(memory, start, told.encode() + b"\0")
        if place is not None and len(nearest) <= len(told):
            memory.seek(place)
            memory.write(nearest.encode() + b"\0")
        # sub-devices share the name, so it may have been corrected through another object
        return _place(memory, start, nearest.encode() + b"\0") is not None


def _place(memory: IO[bytes], start: int, name: bytes) -> int | None:
    """Return the address of the name that the object points to."""
    content = _read(memory, start, _OBJECT)
    for (address,) in struct.iter_unpack("<Q", content[: len(content) // 8 * 8]):
        if _read(memory, address, len(name)) == name:
            return int(address)
    return None


def _read(memory: IO[bytes], address: int, count: int) -> bytes:
    try:
        memory.seek(address)
        return memory.read(count)
    except (OSError, ValueError, OverflowError):
        return b""


def model() -> str:
    """Return the name of the host's processor; that of its architecture if Linux does not say."""
    return _said().get("model name") or platform.machine()


@cache
def features() -> frozenset[str]:
    """Return the instruction sets of the host's processor, as Linux names them, and its family.

    The family is one string with the vendor, ``"<vendor_id> <cpu family>"``.
    """
    said = _said()
    found = said.get("flags", "").split()
    if "vendor_id" in said and "cpu family" in said:
        found.append(f"{said['vendor_id']} {said['cpu family']}")
    return frozenset(found)


def _said() -> dict[str, str]:
    """Return what Linux says of the first processor; the others are the same."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return {}
    return dict(re.findall(r"^(\w[^\t:]*)\t*: (.*)$", text.partition("\n\n")[0], re.MULTILINE))
