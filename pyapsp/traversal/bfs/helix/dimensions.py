"""The parameters of Helix, which of them go together, and how many such sets there are.

`allowed` is the only place that knows the rules: `fits`, `completed`, `configurations` and the text
of the rule use it. Of parameters that a form of the search does not have, only the first value is
allowed, so two legal sets are never the same program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from pyapsp.device import Device
from pyapsp.registry import Parameters

__all__ = ["CHOICES", "RULE", "allowed", "completed", "configurations", "count", "fits"]

#: Parameter -> values. Each depends only on those before it, but for `persistent`.
CHOICES: Mapping[str, Sequence[int | str]] = {
    "group": (1, 32, 64, 128, 256, 512),
    "warp": (1, 8, 16, 32, 64),
    "balance": (
        "node",
        "node-shuffle",
        "scan-warp",
        "scan-block",
        "search-warp",
        "search-block",
        "naive-warp",
        "naive-block",
        "device",
    ),
    "width": (1, 2, 4, 8, 16, 32, 64),
    "gather": ("none", "warp", "block", "both"),
    "heavy": ("none", "relaunch", "bins"),
    "base": (6, 8, 10, 12, 14),
    "queue": ("vertex", "edge", "two-phase"),
    "sync": ("multi", "batched", "single-group", "persistent"),
    "update": ("ballot", "local"),
    "duplicates": ("none", "load-warp", "load-block", "lookup-warp", "lookup-block", "cas"),
    "bitmask": ("none", "8", "32", "atomic"),
    "rows": ("csr", "csr-m"),
    "scan": ("ordered", "unordered"),
    "leaves": ("keep", "drop"),
    "chunk": ("fixed", "dynamic"),
    "prefix": ("two-pass", "packed"),
}

#: The conditions of `allowed`, for messages.
RULE = (
    "warp must be at most group, and 1 only with group=1; with balance=node group must be at "
    "least width, with node-shuffle width is 2 to warp, else 1; what a block does needs group "
    "above warp; node-shuffle, and what a warp does for gather and duplicates, needs warp above 1; "
    "scan=unordered needs group above warp; base needs heavy, and 2^base at least group; "
    "balance=device goes with neither gather, heavy, queue, update=local nor duplicates=load-*, "
    "and leaves, chunk and prefix only with it; queue=edge has no duplicates=lookup-*; "
    "heavy=relaunch has no batched, for the host reads each list; "
    "single-group and persistent need one kernel a level (no two-phase, no device); persistent "
    "must be asked for, needs device_scope_fence, has no heavy, and on CPUs group=1; "
    "on CPUs a group above 1 must be asked for; "
    "prefix=packed needs int64_atomics"
)


def allowed(name: str, chosen: Mapping[str, int | str], device: Device) -> tuple[int | str, ...]:
    """Return the values of a parameter that go with others.

    Parameters
    ----------
    name : str
    chosen : mapping of str to int or str
        Values of some other parameters. What depends on a missing one is allowed.
    device : Device

    Returns
    -------
    tuple
        In the order of `CHOICES`.
    """
    return tuple(each for each in CHOICES[name] if _goes(name, each, chosen, device))


def _goes(name: str, value: Any, chosen: Mapping[str, Any], device: Device) -> bool:
    """Return whether a value goes with those of the parameters before it."""
    get, first = chosen.get, bool(value == CHOICES[name][0])
    group, warp, balance = get("group"), get("warp"), get("balance")
    lists = balance != "device"
    # unknown sizes allow everything
    blocks = group is None or warp is None or group > warp
    warps = warp is None or warp > 1
    if name == "group":
        return bool(value <= device.capabilities.max_work_group_size)
    if name == "warp":
        return group is None or (value <= group and (value == 1) == (group == 1))
    if name == "balance":
        return blocks if value.endswith("-block") else warps or value != "node-shuffle"
    if name == "width":
        return _width(value, balance, group, warp)
    if name == "gather":
        needs = {"none": True, "warp": warps, "block": blocks, "both": warps and blocks}
        return first or (lists and needs[value])
    if name == "heavy":
        return first or lists
    if name == "base":
        if get("heavy") == "none":
            return first
        return group is None or 2**value >= group
    if name in ("queue", "update"):
        return first or lists
    if name == "sync":
        return _sync(value, chosen, device)
    if name == "duplicates":
        if value.startswith("load") and not lists:
            return False
        if value.startswith("lookup") and get("queue") == "edge":
            return False
        needs = {"warp": warps, "block": blocks}
        return needs.get(value.rpartition("-")[2], True)
    if name == "scan":
        return first or (blocks and lists)
    if name in ("leaves", "chunk", "prefix"):
        if value == "packed" and not device.capabilities.int64_atomics:
            return False
        return first or balance in (None, "device")
    return True


def _width(value: int, balance: str | None, group: int | None, warp: int | None) -> bool:
    if balance == "node":
        return group is None or value <= group
    if balance == "node-shuffle":
        return value > 1 and (warp is None or value <= warp)
    return balance is None or value == 1


def _sync(value: str, chosen: Mapping[str, int | str], device: Device) -> bool:
    if value == "multi":
        return True
    if value == "batched":
        return chosen.get("heavy") != "relaunch"
    if chosen.get("queue") == "two-phase" or chosen.get("balance") == "device":
        return False
    if value == "single-group":
        return True
    on_cpu = device.traits.scalar_groups
    alone = not on_cpu or chosen.get("group") in (None, 1)
    no_bins = chosen.get("heavy") in (None, "none")
    return bool(device.capabilities.device_scope_fence and alone and no_bins)


def fits(parameters: Parameters, device: Device) -> bool:
    """Return whether a complete set is legal."""
    return all(_goes(name, parameters[name], parameters, device) for name in CHOICES)


def completed(
    fixed: Mapping[str, int | str], wanted: Mapping[str, int | str], device: Device
) -> dict[str, int | str] | None:
    """Return the legal set with the values asked for that is nearest to the one wanted.

    Parameters
    ----------
    fixed : mapping of str to int or str
        Values that the set must have.
    wanted : mapping of str to int or str
        The values of other parameters, if they go with these; a complete set.
    device : Device

    Returns
    -------
    dict or None
        None: the values asked for do not go together.
    """
    names = list(CHOICES)

    def extended(chosen: dict[str, int | str]) -> dict[str, int | str] | None:
        if len(chosen) == len(names):
            return chosen
        name = names[len(chosen)]
        others = [each for each in CHOICES[name] if each not in (wanted[name], "persistent")]
        for value in [fixed[name]] if name in fixed else [wanted[name], *others]:
            if not _goes(name, value, chosen, device):
                continue
            more = {**chosen, name: value}
            if all(_goes(each, fixed[each], more, device) for each in fixed):
                complete = extended(more)
                if complete is not None:
                    return complete
        return None

    return extended({})


def configurations(
    device: Device, fixed: Mapping[str, int | str] | None = None
) -> Iterator[dict[str, int | str]]:
    """Yield all legal sets with some given values, those with `persistent` included."""
    fixed = fixed or {}

    def extended(chosen: dict[str, int | str]) -> Iterator[dict[str, int | str]]:
        left = [name for name in CHOICES if name not in chosen]
        if not left:
            yield chosen
            return
        for value in allowed(left[0], chosen, device):
            if fixed.get(left[0], value) == value:
                yield from extended({**chosen, left[0]: value})

    return extended({})


def count(device: Device, fixed: Mapping[str, int | str] | None = None) -> int:
    """Return the number of sets of `configurations`, without making them all.

    Parameters that no later rule looks at multiply the number; the others are enumerated.
    """
    fixed = fixed or {}
    names = list(CHOICES)

    @cache
    def below(place: int, known: tuple[tuple[str, int | str], ...]) -> int:
        if place == len(names):
            return 1
        name, chosen = names[place], dict(known)
        total = 0
        for value in allowed(name, chosen, device):
            if fixed.get(name, value) == value:
                looked = {**chosen, name: value}
                relevant = tuple((each, looked[each]) for each in looked if each in _LOOKED_AT)
                total += below(place + 1, relevant)
        return total

    return below(0, ())


# The parameters that the rules of others look at.
_LOOKED_AT = ("group", "warp", "balance", "heavy", "queue")
