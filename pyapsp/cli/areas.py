"""A small run of each area that is not a problem with methods, compared with an oracle of its own.

``pyapsp selftest`` and ``pyapsp check`` run them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pyapsp.device import Device

__all__ = ["AREAS", "Area", "fault_of", "started"]

#: Returns what is wrong with an answer, or None.
Fault: TypeAlias = Callable[[], "str | None"]


@dataclass(frozen=True)
class Area:
    """One area."""

    id: str
    input: str  # what is run
    n: int  # number of `unit`
    unit: str  # in the plural
    dtype: str  # number type of the answer
    oracle: str  # what the answer is compared with
    needs: tuple[str, ...]  # packages beside those that pyapsp always has
    # Runs it on a device, and returns the function that compares the answer.
    solve: Callable[[Device], Fault]


def fault_of(area: Area, device: Device) -> str | None:
    """Run an area on a device; return what is wrong, or None.

    Raises
    ------
    CapabilityError
        If a package is missing, or the device cannot do it.
    """
    return started(area, device)()


def started(area: Area, device: Device) -> Fault:
    """Run an area on a device, and return the function that compares the answer."""
    from pyapsp.base.errors import CapabilityError

    for package in area.needs:
        if find_spec(package) is None:
            raise CapabilityError(f"needs {package}")
    return area.solve(device)


def _bulk(device: Device) -> Fault:
    """Sort numbers with a C program."""
    import numpy as np

    from pyapsp import bulk

    numbers = np.random.default_rng(0).random((50, 32), np.float32)
    ordered = bulk.load(bulk.programs()["bitonic_sort"], device=device)(A=numbers)["A"]

    def fault() -> str | None:
        return None if np.array_equal(ordered, np.sort(numbers)) else "numbers are not sorted"

    return fault


def _sweep(device: Device) -> Fault:
    """Compute squares, with a task for each."""
    import numpy as np

    from pyapsp.sweep import Array, Sweep

    arrays = [Array("side", "input", "int32"), Array("area", "output", "int32")]
    squares = Sweep("OUT(area, 0) = IN(side, 0) * IN(side, 0);", arrays, device=device)
    sides = np.arange(100, dtype=np.int32)
    areas = np.ravel(squares(side=sides)["area"])

    def fault() -> str | None:
        return None if np.array_equal(areas, sides**2) else "squares are not those of NumPy"

    return fault


def _simulation(device: Device) -> Fault:
    """Integrate the oscillator of van der Pol."""
    import numpy as np

    from pyapsp.simulation.formulas import formula
    from pyapsp.simulation.simulate import simulate
    from pyapsp.simulation.system import System

    rules = {"x": "v", "v": "2 * (1 - x * x) * v - x"}
    slopes = {name: formula(text) for name, text in rules.items()}
    start = {"x": formula("2"), "v": formula("0")}
    system = System("van der Pol", {}, {}, start, slopes, {})
    found = simulate(system, duration=5, step=0.01, every=50, dtype="float32", device=device)

    def fault() -> str | None:
        from scipy.integrate import solve_ivp

        def derivatives(time: float, state: np.ndarray) -> tuple[float, float]:
            x, v = state
            return v, 2 * (1 - x * x) * v - x

        times = found["time"].to_numpy(float)
        right = solve_ivp(derivatives, (0, 5), (2, 0), t_eval=times, rtol=1e-9, atol=1e-9).y
        same = np.allclose(found[["x", "v"]].to_numpy().T, right, 1e-3, 1e-3)
        return None if same else "the course is not that of SciPy"

    return fault


def _dynamic(device: Device) -> Fault:
    """Insert edges into a container, and delete some."""
    import numpy as np
    from scipy.sparse import coo_array

    from pyapsp.dynamic import Hornet

    n, random = 200, np.random.default_rng(0)
    keys = random.permutation(n * n)[:3000]
    weights = random.integers(1, 100, keys.size).astype(np.int32)
    container = Hornet(n, weight="int32", device=device)
    for first in range(0, keys.size, 1000):
        batch = slice(first, first + 1000)
        container.insert_edges(keys[batch] // n, keys[batch] % n, weights[batch])
    container.delete_edges(keys[:500] // n, keys[:500] % n)
    found = container.to_csr()

    def fault() -> str | None:
        ends = keys[500:] // n, keys[500:] % n
        expected = coo_array((weights[500:], ends), shape=(n, n)).tocsr()
        same = found.shape == expected.shape and found.nnz == expected.nnz
        if same and abs(found - expected).sum() == 0:
            return None
        return "its edges are not those of SciPy's array"

    return fault


def _matching(device: Device) -> Fault:
    """Find a star of a network in it."""
    import numpy as np

    from pyapsp.matching import Network, match

    random = np.random.default_rng(0)
    labels = random.integers(0, 4, 150).astype(str)
    target = Network.from_edges(random.integers(0, 150, (500, 2)), labels)
    centre = int(target.degrees.argmax())
    around = target.neighbours[target.offsets[centre] : target.offsets[centre + 1]]
    ends = np.stack([np.zeros(around.size, int), np.arange(around.size) + 1], axis=1)
    query = Network.from_edges(ends, target.labels[[centre, *around]])
    found = match(query, target, 20, device=device)

    def fault() -> str | None:
        if found.costs.min() != 0:
            return f"the star was not found: its least cost is {found.costs.min()}"
        for match_, cost in zip(found.partners, found.costs, strict=True):
            tails, heads = match_[query.edges].T
            held = target.has_edges(tails, heads) & (np.minimum(tails, heads) >= 0)
            alike = (match_ >= 0) & (query.labels == target.labels[match_])
            right = ((~held).sum() + (~alike).sum()) / (query.n + query.m)
            if not np.isclose(cost, right, atol=1e-5):
                return f"a match of the cost {right} has {cost}"
        return None

    return fault


def _mining(device: Device) -> Fault:
    """Find the planted invariants of a trace, and no others."""
    from pyapsp.mining import mine
    from pyapsp.mining.planted import TRACES, planted
    from pyapsp.mining.sequential import loop

    trace = planted(2, 3000)
    found = mine(trace, "I", device=device)

    def fault() -> str | None:
        if len(found) != TRACES[2].published["I"]:
            return f"{len(found)} invariants, not the {TRACES[2].published['I']} of the trace"
        same = sorted(found) == sorted(loop(trace, "I"))
        return None if same else "invariants are not those of algorithm 17"

    return fault


#: The areas, by their ids.
AREAS = {
    area.id: area
    for area in (
        Area("bulk", "bitonic_sort", 50, "inputs", "float32", "numpy.sort", ("pycparser",), _bulk),
        Area("sweep", "squares", 100, "tasks", "int32", "NumPy", (), _sweep),
        Area(
            *("simulation", "oscillator of van der Pol", 500, "steps", "float32"),
            *("SciPy's solve_ivp", ("pandas",), _simulation),
        ),
        Area("dynamic", "random edges", 3000, "edges", "int32", "SciPy's array", (), _dynamic),
        Area(
            *("matching", "a star in a random network", 20, "matches", "int32"),
            *("a planted match, and the definition of costs", (), _matching),
        ),
        Area(
            *("mining", "trace 2 of table 20.2", 3000, "instants", "float32"),
            *("algorithm 17 in NumPy", (), _mining),
        ),
    )
}
