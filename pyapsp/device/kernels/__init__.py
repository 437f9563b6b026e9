"""Kernels: find, assemble, build, cache and launch OpenCL source.

``source`` joins the files of ``cl/`` into one text. ``program`` builds it for a device and caches
the result. ``warps`` builds kernels that use logical warps. ``scan`` has prefix sums. ``launch``
adds up the times of events, ``backlog`` bounds the work in a queue. ``filling`` sets all values of
a buffer. ``transfer`` copies arrays to a device, where those of
graphs stay (``residents``). ``staging`` copies large arrays both ways, in
pieces through pinned memory (``mapped``).
"""

from pyapsp.device.kernels.backlog import Backlog
from pyapsp.device.kernels.filling import fill
from pyapsp.device.kernels.launch import Stopwatch
from pyapsp.device.kernels.program import Program, build
from pyapsp.device.kernels.source import assemble
from pyapsp.device.kernels.transfer import upload
from pyapsp.device.kernels.warps import WIDTHS, build_warps

__all__ = [
    "WIDTHS",
    "Backlog",
    "Program",
    "Stopwatch",
    "assemble",
    "build",
    "build_warps",
    "fill",
    "upload",
]
