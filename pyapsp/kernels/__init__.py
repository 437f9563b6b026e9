"""Kernels: find, assemble, build, cache and launch OpenCL source.

``source`` flattens the files of ``cl/`` into one text, ``program`` builds it for a device and
keeps it, ``launch`` runs a kernel and adds up the time its events report.
"""

from pyapsp.kernels.launch import Stopwatch
from pyapsp.kernels.program import Program, build
from pyapsp.kernels.source import assemble

__all__ = ["Program", "Stopwatch", "assemble", "build"]
