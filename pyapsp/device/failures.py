"""OpenCL's errors as ours."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyapsp.device import loader
from pyapsp.errors import DeviceError, DeviceMemoryError

if TYPE_CHECKING:
    from pyapsp.device.model import Device

__all__ = ["device_errors", "let_go"]


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
    except BaseException as error:
        # commands under way may still use the memory of what is about to be freed
        device.drain()
        if not isinstance(error, cl.Error):
            raise
        let_go(error)
        if isinstance(error, cl.MemoryError):
            hint = f"{device.name} could not allocate it ({error})"
            raise DeviceMemoryError(needed, device.capabilities.global_memory, hint) from None
        raise DeviceError(f"{device.name} failed: {error}") from error


def let_go(error: BaseException) -> None:
    """Empty the frames that an error came through, and those that were left behind before it.

    Who keeps the error (a notebook does, and whatever tries something else next) would otherwise
    keep the buffers that these frames have.
    """
    cause: BaseException | None = error
    while cause is not None:
        traceback.clear_frames(cause.__traceback__)
        cause = cause.__context__
