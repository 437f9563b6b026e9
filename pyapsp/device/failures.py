"""OpenCL's errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyapsp.device import loader
from pyapsp.errors import DeviceError, DeviceMemoryError

if TYPE_CHECKING:
    from pyapsp.device.model import Device

__all__ = ["device_errors"]


@contextmanager
def device_errors(device: Device, needed: int) -> Iterator[None]:
    """Translate what PyOpenCL raises in a block.

    Parameters
    ----------
    device : Device
        Where the block runs.
    needed : int
        Bytes of device memory that it needs, for the message.

    Raises
    ------
    DeviceMemoryError
        The driver could not allocate memory.
    DeviceError
        Any other failure of the driver.
    """
    cl = loader.opencl()
    try:
        yield
    except cl.MemoryError as error:
        hint = f"{device.name} could not allocate it ({error})"
        raise DeviceMemoryError(needed, device.capabilities.global_memory, hint) from None
    except cl.Error as error:
        raise DeviceError(f"{device.name} failed: {error}") from error
