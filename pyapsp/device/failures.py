"""Translate the errors of PyOpenCL into those of `pyapsp.base.errors`."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyapsp.base.dry import check_not_dry
from pyapsp.base.errors import DeviceError, DeviceMemoryError
from pyapsp.device import loader

if TYPE_CHECKING:
    from pyapsp.device.model import Device

__all__ = ["clear_locals", "device_errors"]


@contextmanager
def device_errors(device: Device, needed: int) -> Iterator[None]:
    """Translate the errors that PyOpenCL raises in a block.

    Parameters
    ----------
    device : Device
        The device on which the block runs.
    needed : int
        Bytes of device memory that the block needs, for the message.

    Raises
    ------
    DeviceMemoryError
        The driver could not allocate memory.
    DeviceError
        Any other failure of the driver, or the process was forked from one that had used it.
    """
    check_not_dry()
    device.check_process()
    cl = loader.opencl()
    try:
        yield
    except BaseException as error:
        # running commands may still use the memory that is about to be freed
        device.drain()
        if not isinstance(error, cl.Error):
            raise
        clear_locals(error)
        if isinstance(error, cl.MemoryError):
            hint = f"{device.name} could not allocate it ({error})"
            raise DeviceMemoryError(needed, device.capabilities.global_memory, hint) from None
        raise DeviceError(f"{device.name} failed: {error}") from error


def clear_locals(error: BaseException) -> None:
    """Clear the local variables of the frames of an error, and of the errors before it.

    A notebook stores the last error, and so does code that tries an alternative. A stored error
    would keep the device buffers that are local variables of its frames.
    """
    cause: BaseException | None = error
    while cause is not None:
        traceback.clear_frames(cause.__traceback__)
        cause = cause.__context__
