"""Repeat the measurements of papers on an available device, and compare the figures.

A folder for each source (a thesis, poster or paper) has its experiments, its tables and figures
(texts in ``exhibits.toml``), and the published values. An experiment is one set of runs on problems
of size n. The command line, the workflow and the documentation use the list of experiments in this
module.

To add an experiment, put it into ``EXPERIMENTS`` of its folder, its tables and figures into
``exhibits.toml``, and the functions of their rows into ``ROWS``. Every turn must check its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from papers import (
    busato_dynamic,
    busato_matching,
    busato_mining,
    busato_paths,
    busato_profiling,
    busato_traversal,
    ino,
    matsumoto,
    okuyama,
    takafuji,
)
from papers.experiment import SETTINGS, Experiment, Request, Settings
from pyapsp.device import Device, DeviceLike, choose
from pyapsp.device.energy import EnergyMeter
from pyapsp.errors import ParameterError, PyApspError
from pyapsp.registry.record import origin

__all__ = ["EXPERIMENTS", "SETTINGS", "SOURCES", "experiment", "measure", "planned"]

SOURCES = {
    each.name: each
    for each in (
        okuyama.SOURCE,
        takafuji.SOURCE,
        matsumoto.SOURCE,
        ino.SOURCE,
        busato_traversal.SOURCE,
        busato_paths.SOURCE,
        busato_dynamic.SOURCE,
        busato_mining.SOURCE,
        busato_matching.SOURCE,
        busato_profiling.SOURCE,
    )
}
EXPERIMENTS: dict[str, Experiment] = {
    name: each for source in SOURCES.values() for name, each in source.experiments.items()
}


def experiment(name: str) -> Experiment:
    """Return an experiment.

    Raises
    ------
    ParameterError
        If there is no experiment of this name.
    """
    if name not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise ParameterError.of("experiment", "papers", f"one of {known}", name)
    return EXPERIMENTS[name]


def planned(sizes: Mapping[str, Sequence[int]], settings: Settings) -> dict[str, Sequence[int]]:
    """Return the sizes of all experiments that the workflow measures.

    Parameters
    ----------
    sizes : mapping of str to sequence of int
        Experiment -> values of n. Default for an experiment: its own sizes, or none if it is not
        measured by default.
    settings : mapping of str to sequence
        Name in `SETTINGS` -> values, for every experiment that has this setting.

    Raises
    ------
    ParameterError
        If a name is unknown, or a value out of range.
    """
    for name in sizes:
        experiment(name)
    for name in settings:
        if name not in SETTINGS:
            raise ParameterError.of("settings", "papers", f"some of {', '.join(SETTINGS)}", name)
    chosen = {
        name: sizes.get(name, each.sizes if each.by_default else ())
        for name, each in EXPERIMENTS.items()
    }
    for name, each in EXPERIMENTS.items():
        for n in chosen[name]:
            each.check(name, n, each.known(settings))
    return chosen


def measure(
    name: str,
    n: int,
    *,
    device: DeviceLike | None = None,
    repeat: int = 3,
    settings: Settings | None = None,
    limit: float | None = None,
    energy: Callable[[Device], EnergyMeter] | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Run an experiment.

    Parameters
    ----------
    name : str
        In `EXPERIMENTS`.
    n : int
        Number of vertices, or another size of the problem.
    device : optional
        See `pyapsp.device.choose`.
    repeat : int
        Number of timed turns.
    settings : mapping of str to sequence, optional
        Name in `SETTINGS` -> values. Default: the published values, or values for the device.
    limit : float, optional
        Seconds after which a search from sources is stopped and left out, and no further profile of
        a kernel is begun.
    energy : callable, optional
        Returns what measures the energy of the device, for experiments that are `metered`.
    progress : callable
        Called with the name of what runs next.

    Returns
    -------
    dict
        ``runs``: the record of each run, with its label; ``left_out``: the labels of those that did
        not run, each with ``why``; ``inputs``: facts about each input; ``sensors``, with energy:
        name, seconds of a train, power of the idle device, and the error with which it ended; and
        the experiment, n and the device.

    Raises
    ------
    ParameterError
        If there is no such experiment or setting, a value is out of range, or the experiment does
        not measure energy.
    SensorError
        If the sensor cannot be read at the start.
    VerificationError
        If an answer is wrong.
    PyApspError
        If no contender could run: the error of the first.
    """
    chosen, options = experiment(name), dict(settings or {})
    chosen.check(name, n, options)
    if repeat < 1:
        raise ParameterError.of("repeat", "papers", "at least 1", repeat)
    if limit is not None and not limit > 0:
        raise ParameterError.of("limit", "papers", "positive", limit)
    if energy is not None and not chosen.metered:
        rule = "absent: it does not measure energy"
        raise ParameterError.of("energy", name, rule, "a sensor")
    device_found = choose(device)
    meter = None if energy is None else energy(device_found)
    results = chosen.measure(n, Request(device_found, options, repeat, limit, progress, meter))
    if not results["runs"]:
        reasons = [each["why"] for each in results["left_out"]] or ["there is nothing to try"]
        raise PyApspError(f"{name}, n = {n}: {reasons[0]}")
    return {
        **origin(),
        "experiment": name,
        "n": n,
        "device": {
            "id": device_found.id,
            **device_found.identity,
            "units": device_found.capabilities.compute_units,
            "one_item_groups": device_found.traits.scalar_groups,
        },
        **results,
    }
