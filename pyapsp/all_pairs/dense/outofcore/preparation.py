"""The work of each device; a resumed run computes the same as the run of its checkpoint.

The result does not depend on the device of a row. It depends on the pivot blocks, and on the
kernels for these blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyapsp.all_pairs.dense.outofcore.manifest import Decisive, State
from pyapsp.all_pairs.dense.outofcore.nominal import nominal_speeds
from pyapsp.all_pairs.dense.outofcore.shape import up_to
from pyapsp.all_pairs.dense.outofcore.storage import Matrix
from pyapsp.all_pairs.dense.outofcore.team import Team, products_for, team_of
from pyapsp.all_pairs.dense.product import Product
from pyapsp.base.errors import CheckpointError, DeviceMemoryError
from pyapsp.graph import Graph
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import Parameters

__all__ = ["agreed", "prepare"]


def agreed(parameters: Parameters, state: State, n: int, options: AllPairsOptions) -> Parameters:
    """Return the parameters asked for, with those of a checkpoint that decide the result.

    Raises
    ------
    CheckpointError
        If something else was asked for.
    """
    made_with = Parameters(block=state["block"], pivot=state["pivot"])
    wanted = made_with | parameters
    block = up_to(wanted.integer("block"), state["unit"])
    same = {
        # all blocks of more than n vertices are one
        "block": min(block, n) == min(state["block"], n),
        "pivot": wanted["pivot"] == state["pivot"],
    }
    for name, agrees in same.items():
        if not agrees:
            raise CheckpointError(
                f"{options.checkpoint} was made with {name}={made_with[name]}, not {wanted[name]}"
            )
    return parameters | made_with


def prepare(
    array: np.ndarray,
    graph: Graph,
    options: AllPairsOptions,
    parameters: Parameters,
    state: State | None,
) -> tuple[Team, Decisive, tuple[str, ...]]:
    """Return the work of each device.

    Tuned parameters may need more memory than the candidates. The candidates are used if the tuned
    ones do not fit, or if the run of the checkpoint used them.

    Parameters
    ----------
    array : (n, n) ndarray
        For the distances.
    graph : Graph
    options : AllPairsOptions
    parameters : Parameters
        As `agreed`.
    state : State or None
        Of the checkpoint that the run goes on from.

    Returns
    -------
    team : Team
    decisive : Decisive
    notes : tuple of str

    Raises
    ------
    CapabilityError, DeviceMemoryError
        As `team_of`; of the kernels that want less.
    CheckpointError
        If these devices would go on in other steps.
    """

    def prepared(*, tuned: bool) -> tuple[Team, Decisive]:
        products = products_for(graph, options, state, tuned=tuned)
        with Matrix(array) as matrix:
            nominal = [
                nominal_speeds(device, graph, options, file=matrix.on_disk)
                for device in options.devices
            ]
            team = team_of(matrix, options, products, nominal, parameters)
        ours = _decisive(team, products, parameters, state=state, tuned=tuned)
        if state is not None:
            _check_same(ours, state, graph.n, options)
        return team, ours

    tuned = state is None or state["tuned"]
    try:
        team, ours = prepared(tuned=tuned)
    except DeviceMemoryError as tuned_needs:
        if not tuned:
            raise
        try:
            team, ours = prepared(tuned=False)
        except DeviceMemoryError as needs:
            raise min(needs, tuned_needs, key=lambda error: error.needed) from None
        more = "untuned kernels, because the tuned ones need more memory"
        return team, ours, (*team.notes, more)
    return team, ours, team.notes


def _decisive(
    team: Team,
    products: Sequence[Product],
    parameters: Parameters,
    *,
    state: State | None,
    tuned: bool,
) -> Decisive:
    """Return the data of a checkpoint that a resumed run needs, in addition to the progress."""
    return {
        "block": team.cut.shape.block,
        "unit": team.unit if state is None else state["unit"],
        "pivot": parameters.word("pivot") if "pivot" in parameters else "device",
        "closer": products.index(team.closing),
        "closing": dict(team.closing.parameters),
        "tuned": tuned,
    }


def _check_same(ours: Decisive, state: State, n: int, options: AllPairsOptions) -> None:
    """Raise an error if these devices would continue a checkpoint with other blocks or kernels."""
    blocks = [min(each["block"], n) for each in (state, ours)]
    if blocks[0] != blocks[1] or ours["closing"] != state["closing"]:
        raise CheckpointError(
            f"{options.checkpoint} was made in blocks of {blocks[0]} with kernels "
            f"{state['closing']}: these devices would take {blocks[1]} with {ours['closing']}"
        )
