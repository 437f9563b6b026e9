"""Run a script of this folder on Oclgrind's device, and write down which kernels were launched.

Called as ``oclgrind ... python run.py SCRIPT LAUNCHED``: LAUNCHED gets a JSON list of pairs of a
kernel file and the name of a kernel in it.
"""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path

from pyopencl import _cl

import pyapsp
from pyapsp.device.kernels import Program

script, written = Path(sys.argv[1]), Path(sys.argv[2])
assert [device.platform_name for device in pyapsp.devices()] == ["Oclgrind"]
places: dict[_cl.Kernel, tuple[str, str]] = {}
launched: set[tuple[str, str]] = set()
find, enqueue = Program.kernel, _cl.enqueue_nd_range_kernel


def found(program: Program, name: str) -> _cl.Kernel:
    kernel = find(program, name)
    file = re.search(r'^#line 1 "([^"]+\.cl?)"$', program.source, re.MULTILINE)
    places[kernel] = (file[1] if file else "", name)
    return kernel


def launch(queue, kernel, *arguments):
    if kernel in places:  # device/ asks for its own
        launched.add(places[kernel])
    return enqueue(queue, kernel, *arguments)


Program.kernel, _cl.enqueue_nd_range_kernel = found, launch
runpy.run_path(str(script), run_name="__main__")
written.write_text(json.dumps(sorted(launched)))
