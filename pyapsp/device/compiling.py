"""What every compilation of kernels needs around it.

Some compilers end the process if they cannot write their files, so the folder is looked at first.
The first call of a user may compile for many seconds: a terminal is told why.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyapsp.device import loader
from pyapsp.device.caches import check_folder

__all__ = ["compiling"]

# Seconds of compilation after which a terminal is told, once in a process.
_PATIENCE = 0.5
# Seconds in which a driver loads a kernel that it has compiled before.
_LOADED = 0.1

_spent = 0.0
_told = threading.Lock()  # taken by the thread that tells, for ever


@contextmanager
def compiling(platform_name: str) -> Iterator[None]:
    """Compile in this block, without the warnings of compilers.

    Parameters
    ----------
    platform_name : str
        The name of the OpenCL platform whose compiler is called.

    Raises
    ------
    DeviceError
        If the folder of the compiler cannot be written.
    DiskSpaceError
        If its disk is full.
    """
    global _spent
    check_folder(platform_name)
    timer = None
    if not _told.locked() and _terminal():
        timer = threading.Timer(max(_PATIENCE - _spent, _LOADED), _tell)
        timer.daemon = True
        timer.start()
    begun = time.monotonic()
    try:
        with warnings.catch_warnings():
            # they matter only while a kernel is developed, and are in the log of the build
            warnings.simplefilter("ignore", loader.opencl().CompilerWarning)
            yield
    finally:
        if timer is not None:
            timer.cancel()
        seconds = time.monotonic() - begun
        if seconds > _LOADED:
            _spent += seconds


def _tell() -> None:
    if _told.acquire(blocking=False):
        with suppress(OSError, ValueError):  # the terminal was closed
            print("pyapsp: compiling kernels, once", file=sys.stderr, flush=True)


def _terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # closed
        return False
