"""Name the processor to a compiler that is older than it.

A driver that finds its processor unknown calls it by a name that its own compiler then refuses, so
that no kernel builds, or by that of an older one, whose registers are half as long. The name is a
string of the driver's device object; the nearest processor that the compiler knows, and of which
this one has every instruction, is written over it.
"""

from __future__ import annotations

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

__all__ = ["compiled_for", "features"]

# Bytes of the device object that are looked through for the address of the name.
_OBJECT = 4096
# The addresses of objects in which the name is right. A part of a device that comes to lie where
# another was has the name of the same whole.
_right: set[int] = set()
_lock = threading.Lock()


def compiled_for(handle: cl.Device) -> str:
    """Return the processor that kernels of a device are compiled for, corrected if need be.

    Parameters
    ----------
    handle : pyopencl.Device
        Its name for the processor is corrected, if its driver does not know that, or takes it for
        an older one, and the name is found.

    Returns
    -------
    str
        Empty where the driver does not say.
    """
    told = told_processor(str(handle.version).strip())
    if not told:
        return ""
    nearest = nearest_processor(told, str(handle.driver_version).strip(), features())
    return nearest if nearest and _correct(handle.int_ptr, told, nearest) else told


def _correct(start: int, told: str, nearest: str) -> bool:
    """Write another name over that which a device object points to; say whether it is there."""
    with _lock, suppress(OSError):
        if start not in _right and _written(start, told, nearest):
            _right.add(start)
    return start in _right


def _written(start: int, told: str, nearest: str) -> bool:
    # Reading through the file: an address that is none is an error there, not a crash.
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        place = _place(memory, start, told.encode() + b"\0")
        if place is not None and len(nearest) <= len(told):
            memory.seek(place)
            memory.write(nearest.encode() + b"\0")
        # written before, maybe, through another object: the parts of a device share the name
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


@cache
def features() -> frozenset[str]:
    """Return the instruction sets of the host's processor, as Linux names them, and its family.

    The family is one string with the vendor, ``"<vendor_id> <cpu family>"``.
    """
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    # of the first processor; the others are like it
    said = dict(re.findall(r"^(\w[^\t:]*)\t*: (.*)$", text.partition("\n\n")[0], re.MULTILINE))
    found = said.get("flags", "").split()
    if "vendor_id" in said and "cpu family" in said:
        found.append(f"{said['vendor_id']} {said['cpu family']}")
    return frozenset(found)
