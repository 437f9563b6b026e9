"""Kernels: find, assemble, build, cache and launch OpenCL source.

``source`` joins the files of ``cl/`` into one text. ``program`` builds it for a device and caches
the result. ``warps`` builds kernels that use logical warps. ``scan`` has prefix sums. ``launch``
adds up the times of events. ``filling`` sets all values of a buffer. ``transfer`` copies arrays to
a device. ``staging`` copies large arrays both ways, in pieces through pinned memory (``mapped``).
"""

from pyapsp.kernels.filling import fill
from pyapsp.kernels.launch import Stopwatch
from pyapsp.kernels.program import Program, build
from pyapsp.kernels.source import assemble
from pyapsp.kernels.transfer import upload
from pyapsp.kernels.warps import WIDTHS, build_warps

__all__ = ["WIDTHS", "Program", "Stopwatch", "assemble", "build", "build_warps", "fill", "upload"]
