"""Kernels: find, assemble, build, cache and launch OpenCL source.

``source`` joins the files of ``cl/`` into one text. ``program`` builds it for a device and caches
the result. ``launch`` adds up the times of events. ``transfer`` copies arrays to a device.
"""

from pyapsp.kernels.launch import Stopwatch
from pyapsp.kernels.program import Program, build
from pyapsp.kernels.source import assemble
from pyapsp.kernels.transfer import upload

__all__ = ["Program", "Stopwatch", "assemble", "build", "upload"]
