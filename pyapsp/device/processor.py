"""Name the processor to a compiler that is older than it.

A driver that finds its processor unknown calls it by a name that its own compiler then refuses, so
that no kernel builds. The name is a string of the driver's device object; the nearest processor
that the compiler knows, and of which this one has every instruction, is written over it.
"""

from __future__ import annotations

import re
import struct
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pyapsp.device.quirks import nearest_processor

if TYPE_CHECKING:
    import pyopencl as cl

__all__ = ["features", "name_processor"]

# Bytes of the device object that are looked through for the address of the name.
_OBJECT = 4096
# The objects that were looked at; they stay where they are.
_seen: set[int] = set()


def name_processor(handle: cl.Device) -> None:
    """Correct the processor's name in a device object whose driver does not know it.

    Nothing happens to other devices, nor where the name is not found.
    """
    refused, known = nearest_processor(str(handle.version), features())
    if not known or handle.int_ptr in _seen:
        return
    _seen.add(handle.int_ptr)
    # Reading through the file: an address that is none is an error there, not a crash.
    with suppress(OSError), open("/proc/self/mem", "r+b", buffering=0) as memory:
        place = _place(memory, handle.int_ptr, refused.encode() + b"\0")
        if place is not None and len(known) <= len(refused):
            memory.seek(place)
            memory.write(known.encode() + b"\0")


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
    """Return the instruction sets of the host's processor, as Linux names them."""
    try:
        found = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        return frozenset()
    return frozenset(found[1].split()) if found else frozenset()
