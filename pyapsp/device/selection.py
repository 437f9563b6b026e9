"""List the OpenCL devices, and choose one."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, TypeAlias, Union

from pyapsp.base.errors import NoDeviceError, ParameterError
from pyapsp.device import loader, quirks
from pyapsp.device.model import Device

if TYPE_CHECKING:
    import pyopencl as cl

__all__ = ["DeviceLike", "choose", "devices", "failed", "no_device"]

#: What `choose` takes.
DeviceLike: TypeAlias = Union[Device, str, int, "cl.Device", "cl.Context", None]

_KINDS = ("gpu", "cpu", "accelerator")  # best first


def devices() -> list[Device]:
    """List every usable OpenCL device, best first.

    GPUs come before CPUs, and these before accelerators; GPUs with memory of their own before
    those that share the host's; then more global memory, then more compute units.

    Returns
    -------
    list of Device
        Empty when there is none.

    Raises
    ------
    NoDeviceError
        PyOpenCL is missing.
    """
    return _devices_and_faults()[0]


def failed() -> list[str]:
    """Return a message for each driver that failed when it was asked for its devices."""
    return _devices_and_faults()[1]


def no_device() -> NoDeviceError:
    """Return the error for a machine without a usable device; it says what is the cause."""
    return loader.no_device(failed())


def _devices_and_faults() -> tuple[list[Device], list[str]]:
    """Return the usable devices, best first, and the messages of `failed`."""
    cl = loader.opencl()
    found: list[Device] = []
    faults = []
    for number, platform in enumerate(loader.platforms()):
        try:
            found += _usable(number, platform)
        except cl.Error as error:  # a broken driver must not hide the others
            faults.append(f"The driver {platform.name} does not list its devices ({error}).")
    return sorted(found, key=_rank) if len(found) > 1 else found, faults


@cache
def _usable(number: int, platform: cl.Platform) -> tuple[Device, ...]:
    """Return the usable devices of a platform."""
    custom = loader.opencl().device_type.CUSTOM
    return tuple(
        Device(handle, f"{number}:{position}")
        for position, handle in enumerate(platform.get_devices())
        if handle.type != custom and handle.compiler_available
    )


def choose(spec: DeviceLike = None) -> Device:
    """Choose a device; the user is never prompted.

    Parameters
    ----------
    spec : Device, str, int, pyopencl.Device, pyopencl.Context or None
        A number or ``"0"``: the best device of that platform. ``"0:1"``: platform and device by
        their numbers, as in ``PYOPENCL_CTX``. ``"gpu"``, ``"cpu"``, ``"accelerator"``: the best
        of that kind. Any other text: the best device with this in its own or its platform's
        name, in any case, or ``platform:device`` with parts of names. A context: its device,
        used in that context. None: what the environment variables ``PYAPSP_DEVICE`` (same texts)
        or ``PYOPENCL_CTX`` (PyOpenCL's rules) say, or else the best device.

    Returns
    -------
    Device
        The device.

    Raises
    ------
    NoDeviceError
        There is no device, or none fits; the text lists those that exist.
    ParameterError
        `spec` has another type, or is a context of several devices.
    """
    if isinstance(spec, Device):
        return spec
    if spec is None:
        for variable, resolve in (("PYAPSP_DEVICE", _named), ("PYOPENCL_CTX", _as_pyopencl)):
            if text := os.environ.get(variable, "").strip():
                return _required(resolve(text, devices()), text, f", as {variable} asks")
        return _required(devices()[:1], "")
    if isinstance(spec, (str, int)) and not isinstance(spec, bool):
        text = str(spec).strip()
        return _required(_named(text, devices()), text)
    cl = loader.opencl()
    if isinstance(spec, cl.Context):
        if len(spec.devices) != 1:
            raise ParameterError.of("device", "choose", "a context of one device", spec)
        return Device(spec.devices[0], _id_of(spec.devices[0]), spec)
    if isinstance(spec, cl.Device):
        return Device(spec, _id_of(spec))
    raise ParameterError.of(
        "device", "choose", "a Device, text, number, pyopencl.Device or pyopencl.Context", spec
    )


def _rank(device: Device) -> tuple[int, bool, int, int]:
    handle = device.handle
    return (
        _KINDS.index(device.kind),
        bool(handle.host_unified_memory),
        -handle.global_mem_size,
        -handle.max_compute_units,
    )


def _required(found: list[Device], text: str, why: str = "") -> Device:
    if found:
        return found[0]
    there = devices()
    if not there:
        raise no_device()
    listing = "".join(f"\n  {device}" for device in there)
    shown = [
        f"{name}={value} shows some GPUs only. They are numbered from 0."
        for name in quirks.VISIBLE
        if (value := os.environ.get(name)) is not None
    ]
    hidden = "".join(f"\n{each}" for each in (*failed(), *loader.hidden(), *shown))
    raise NoDeviceError(f"No OpenCL device matches {text!r}{why}. There are:{listing}{hidden}")


def _named(text: str, among: list[Device]) -> list[Device]:
    """Return the devices that match a spec, best first."""
    if re.fullmatch(r"\d+", text):
        return [device for device in among if device.id.split(":")[0] == str(int(text))]
    if text.lower() in _KINDS:
        return [device for device in among if device.kind == text.lower()]
    part = text.lower()
    return [
        device
        for device in among
        if part == device.id or part in device.name.lower() or part in device.platform_name.lower()
    ] or (_as_pyopencl(text, among) if ":" in text else [])


def _as_pyopencl(text: str, among: list[Device]) -> list[Device]:
    """Resolve ``platform[:device[,device…]]``, numbers or parts of names, as PyOpenCL does.

    PyOpenCL's rules: devices are in the platform's own order; if several platforms match a name,
    the last is used; if no device is named, the first is used.
    """
    platform, *rest = text.split(":", 1)
    platform = platform or "0"
    wanted = rest[0].split(",")[0] if rest else ""
    ordered = sorted(among, key=_position)
    fits = [
        device for device in ordered if _fits(platform, _position(device)[0], device.platform_name)
    ]
    if not fits:
        return []
    last = _position(fits[-1])[0]
    return [
        device
        for device in fits
        if _position(device)[0] == last and _fits(wanted, _position(device)[1], device.name)
    ]


def _fits(wanted: str, number: int, name: str) -> bool:
    return wanted == str(number) or (not wanted.isdigit() and wanted.lower() in name.lower())


def _position(device: Device) -> tuple[int, int]:
    platform, position = device.id.split(":")
    return int(platform), int(position)


def _id_of(handle: cl.Device) -> str:
    """Return the id, the indices in PyOpenCL's lists; a sub-device has no such indices."""
    return next((device.id for device in devices() if device.handle == handle), "unlisted")
