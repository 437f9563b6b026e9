"""OpenCL devices: find and choose one, query its capabilities, time its commands.

:mod:`~pyapsp.device.loader` finds OpenCL implementations. :mod:`~pyapsp.device.quirks` is the only
module with facts about vendors. :mod:`~pyapsp.device.doctor` reports why a device does not work.
"""

from __future__ import annotations

from pyapsp.device.capabilities import Capabilities
from pyapsp.device.failures import clear_locals, device_errors
from pyapsp.device.model import Device, event_seconds, event_times
from pyapsp.device.quirks import Traits
from pyapsp.device.selection import DeviceLike, choose, devices, no_device

__all__ = [
    "Capabilities",
    "Device",
    "DeviceLike",
    "Traits",
    "choose",
    "clear_locals",
    "device_errors",
    "devices",
    "event_seconds",
    "event_times",
    "no_device",
]
