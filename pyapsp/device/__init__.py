"""Choose an OpenCL device, know what it can do, time what it does.

Implementations are found by :mod:`~pyapsp.device.loader`, facts about vendors live in
:mod:`~pyapsp.device.quirks` and nowhere else, :mod:`~pyapsp.device.doctor` says what is wrong.
"""

from __future__ import annotations

from pyapsp.device.failures import device_errors, let_go
from pyapsp.device.model import Capabilities, Device, event_seconds, event_times
from pyapsp.device.quirks import Traits
from pyapsp.device.selection import choose, devices

__all__ = [
    "Capabilities",
    "Device",
    "Traits",
    "choose",
    "device_errors",
    "devices",
    "event_seconds",
    "event_times",
    "let_go",
]
