"""What the papers measured, measured again on a device at hand.

Each experiment is one set of runs on problems of size n, those behind a table or a figure.
`pyapsp.report.papers` puts them beside the published figures.

[O] is F. Okuyama's thesis, 2013, chapters 3 and 4; [T] is D. Takafuji's thesis, 2020, chapters 3
and 4; [M] is the poster of K. Matsumoto, N. Nakasato and S. G. Sedukhin, SC 2012; [I] is the paper
of F. Ino, K. Shigeoka, T. Okuyama, M. Motokubota and K. Hagihara, 2013.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyapsp import __version__
from pyapsp.device import choose
from pyapsp.errors import ParameterError, PyApspError
from pyapsp.profiling.papers import (
    ino,
    matsumoto,
    okuyama,
    okuyama_sources,
    takafuji,
    takafuji_batches,
    takafuji_bulk,
)
from pyapsp.profiling.papers.experiment import Experiment, Request, Settings

__all__ = ["EXPERIMENTS", "Experiment", "measure"]

EXPERIMENTS: dict[str, Experiment] = {
    **okuyama.EXPERIMENTS,
    **okuyama_sources.EXPERIMENTS,
    **takafuji.EXPERIMENTS,
    **takafuji_batches.EXPERIMENTS,
    **takafuji_bulk.EXPERIMENTS,
    **matsumoto.EXPERIMENTS,
    **ino.EXPERIMENTS,
}


def measure(
    experiment: str,
    n: int,
    *,
    device: Any = None,
    repeat: int = 3,
    settings: Settings | None = None,
    limit: float | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Run an experiment.

    Parameters
    ----------
    experiment : str
        Name in `EXPERIMENTS`.
    n : int
        Vertices, or what else the size of a problem is.
    device : optional
        See `pyapsp.device.choose`.
    repeat : int
        Timed turns.
    settings : mapping of str to sequence, optional
        ``threads``, ``cores``, ``sides``, ``blocks``, ``degrees``, ``weights``, ``densities``,
        ``counts``, ``groups``, ``tasks`` or ``pixels``: what to try, instead of the published
        values or those that suit the device.
    limit : float, optional
        Seconds after which a search from sources is ended and left out.
    progress : callable
        Told what runs next.

    Returns
    -------
    dict
        ``runs`` and ``left_out`` as `pyapsp.profiling.sweeps.run` returns them, with the
        experiment, n, the device, and ``inputs``: what there is to tell of each.

    Raises
    ------
    ParameterError
        If there is no such experiment or setting.
    VerificationError
        If an answer is wrong.
    PyApspError
        If nothing could run: why the first contender could not.
    """
    if experiment not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise ParameterError.of("experiment", "papers", f"one of {known}", experiment)
    given = {name: values for name, values in (settings or {}).items() if values}
    chosen = EXPERIMENTS[experiment]
    for name in given.keys() - chosen.settings:
        raise ParameterError.of(name, experiment, "absent: there is no such choice", given[name])
    if n < chosen.least:
        raise ParameterError.of("n", "papers", f"at least {chosen.least}", n)
    if limit is not None and not limit > 0:
        raise ParameterError.of("limit", "papers", "positive", limit)
    device_found = choose(device)
    found = chosen.measure(n, Request(device_found, given, repeat, limit, progress))
    if not found["runs"]:
        reasons = [each["why"] for each in found["left_out"]] or ["there is nothing to try"]
        raise PyApspError(f"{experiment}, n = {n}: {reasons[0]}")
    return {
        "schema": 4,
        "pyapsp": __version__,
        "experiment": experiment,
        "n": n,
        "device": {
            "id": device_found.id,
            **device_found.identity,
            "units": device_found.capabilities.compute_units,
            "one_item_groups": device_found.traits.scalar_groups,
        },
        **found,
    }
