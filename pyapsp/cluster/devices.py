"""The device of a rank: ranks on a host take its devices in turns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from pyapsp.base.host import cores
from pyapsp.cluster.ranks import Ranks
from pyapsp.device import Device, DeviceLike, choose, devices
from pyapsp.device.quirks import VISIBLE

__all__ = ["Own", "own_device"]

_KINDS = ("gpu", "cpu", "accelerator")


@dataclass(frozen=True)
class Own:
    """The device of a rank, and the bytes of its memory that the rank may use if it shares it.

    `neighbours` is the number of ranks on this host, with this one.
    """

    device: Device
    memory: int | None
    neighbours: int

    def limit(self, memory_limit: int | None) -> int | None:
        """Return the bytes of the memory of the device that may be used, with a limit asked for."""
        return min((each for each in (self.memory, memory_limit) if each is not None), default=None)


def own_device(ranks: Ranks, spec: DeviceLike | Sequence[DeviceLike] = None) -> Own:
    """Return the device of this rank.

    The k-th rank on a host gets the k-th of the best devices there, and the ranks begin again with
    the first where there are more of them. Ranks that share a CPU divide its cores, unless the
    launcher has done that. Ranks that share any device divide its memory.

    Parameters
    ----------
    ranks : Ranks
        All call this together.
    spec : optional
        As for `pyapsp.device.choose`, or a list of such. "gpu" and "cpu" are all devices of that
        kind, and None all of the best kind. One that names a single device is for all ranks.

    Raises
    ------
    NoDeviceError
        If there is none.
    """
    seen = tuple(os.environ.get(name, "") for name in VISIBLE)
    mine = (ranks.host, seen, tuple(_affinity()))
    everyone = ranks.all(mine)
    here = [number for number, each in enumerate(everyone) if each[0] == ranks.host]
    alike = [number for number in here if everyone[number][1] == seen]
    candidates = _candidates(spec)
    place = alike.index(ranks.rank)
    device = candidates[place % len(candidates)]
    if device.kind == "cpu":
        # a core that several ranks may use is shared by them
        shares = [1 / sum(core in everyone[number][2] for number in here) for core in mine[2]]
        units = max(1, int(sum(shares) + 0.01))
        memory = None if len(here) == 1 else device.capabilities.global_memory // len(here)
        return Own(_part(device, units), memory, len(here))
    sharers = len(
        [each for each in range(len(alike)) if each % len(candidates) == place % len(candidates)]
    )
    memory = None if sharers == 1 else device.capabilities.global_memory // sharers
    return Own(device, memory, len(here))


def _candidates(spec: DeviceLike | Sequence[DeviceLike]) -> list[Device]:
    """Return the devices that the ranks on a host take in turns."""
    if isinstance(spec, list | tuple):
        if spec:
            return [choose(each) for each in spec]
        spec = None
    first = choose(cast("DeviceLike", spec or None))
    if spec is None or str(spec).strip().lower() in _KINDS:
        alike = [each for each in devices() if each.kind == first.kind]
        if first in alike:
            # another driver may show the same hardware again
            return [each for each in alike if each.platform_name == first.platform_name]
    return [first]


def _part(device: Device, units: int) -> Device:
    """Return a part of a CPU with so many cores; the device itself if it has no more."""
    import pyopencl as cl

    if units >= device.capabilities.compute_units:
        return device
    kinds = cl.device_partition_property
    try:
        wanted: list[Any] = [kinds.BY_COUNTS, units]
        part = device.handle.create_sub_devices(wanted)[0]
    except cl.Error:  # cannot be divided: the ranks then compete for the cores
        return device
    return choose(part)


def _affinity() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(cores()))
