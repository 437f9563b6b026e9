"""The loops that measure a device, and its self-test: nothing raced, nothing out of bounds."""

import dataclasses

from pyapsp.device import Device, choose, model, selftest
from pyapsp.device.kernels import build
from pyapsp.registry import roofs

# an interpreter takes seconds for what a device does meanwhile
roofs._SECONDS, roofs._COPY_BYTES, roofs._WORK_ITEMS = 0.0, 2**20, 16
device = choose(None)
for dtype in ("float32", "int32", "uint16"):
    assert roofs.measure(device, dtype, repeat=1).rate > 0
assert roofs.copy_bandwidth(device, repeat=1) > 0
assert selftest.check(device.id)["works"]


def portable(device, name, defines):
    return build(device, name, {**defines, "PYAPSP_HAS_PACKED16": 0})


# the file of the vendor, without the instructions that only its assembler knows
capable = dataclasses.replace(device.capabilities, packed16=True)
model._capabilities[device.handle] = capable
Device.vendor_file = lambda self, name: name.replace(".cl", ".nvidia.cl")
roofs.build = portable
assert "packed" in roofs.measure(device, "uint16", repeat=1).forms
