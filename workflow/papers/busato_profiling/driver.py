"""Launch one kernel of CUDA: the program that ncu observes. It needs the driver of CUDA alone.

``python driver.py FOLDER``, where FOLDER has ``launch.json`` and the files that it names:
``module`` (a cubin), ``kernel``, ``device`` (its PCI address, or null for the first one), ``items``
and ``group`` of each of three dimensions, and ``arguments``: null, ``{"buffer": FILE}``, or
``{"type": NAME, "value": NUMBER}`` with a type of ctypes. Buffers are written back to their files.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any


def main(folder: Path) -> None:
    """Launch the kernel of a folder."""
    about = json.loads((folder / "launch.json").read_text(encoding="utf-8"))
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name: str, *arguments: object) -> None:
        code = getattr(cuda, name)(*arguments)
        if code:
            sys.exit(f"{name}: error {code}")

    call("cuInit", 0)
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if about["device"] is None:
        call("cuDeviceGet", ctypes.byref(device), 0)
    else:
        call("cuDeviceGetByPCIBusId", ctypes.byref(device), about["device"].encode())
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuModuleLoad", ctypes.byref(module), str(folder / about["module"]).encode())
    call("cuModuleGetFunction", ctypes.byref(function), module, about["kernel"].encode())

    buffers: dict[str, ctypes.c_uint64] = {}
    values: list[Any] = []
    for each in about["arguments"]:
        if each is None:
            values.append(ctypes.c_uint64(0))
        elif "value" in each:
            values.append(getattr(ctypes, each["type"])(each["value"]))
        else:
            name = each["buffer"]
            if name not in buffers:
                content = (folder / name).read_bytes()
                buffers[name] = ctypes.c_uint64()
                call("cuMemAlloc_v2", ctypes.byref(buffers[name]), ctypes.c_size_t(len(content)))
                call("cuMemcpyHtoD_v2", buffers[name], content, ctypes.c_size_t(len(content)))
            values.append(buffers[name])
    places = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    groups = [items // group for items, group in zip(about["items"], about["group"], strict=True)]
    shape = [ctypes.c_uint(each) for each in (*groups, *about["group"])]
    call("cuLaunchKernel", function, *shape, ctypes.c_uint(0), None, places, None)
    call("cuCtxSynchronize")
    for name, buffer in buffers.items():
        content = ctypes.create_string_buffer((folder / name).stat().st_size)
        call("cuMemcpyDtoH_v2", content, buffer, ctypes.c_size_t(len(content)))
        (folder / name).write_bytes(content.raw)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
