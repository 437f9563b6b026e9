"""[T], tables 3.6 to 3.9: many graphs at once, together and with overlapping transfers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from scipy.sparse import csgraph

from papers.experiment import Case, InTurns, Request, Settings
from papers.runner import Label, Runner, require_equal
from pyapsp.all_pairs.dense.batch import ONE_GROUP, Form, Pipeline, automatic, maker
from pyapsp.all_pairs.dense.batch.jobs import Part
from pyapsp.errors import ParameterError
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsOptions
from pyapsp.registry import method
from pyapsp.registry.timing import Turn

__all__ = ["EXPERIMENTS"]

# [T] tables 3.6 to 3.9: numbers of graphs
_COUNTS = tuple(8 * 2**power for power in range(8))
# The bits of a distance and the launches of a batch -> our methods for them.
_PUBLISHED: tuple[tuple[int, str, str, dict[str, int]], ...] = (
    (32, "multiple", "fw-multikernel", {}),
    (32, "single", "fw-singlekernel", {}),
    (4, "multiple", "fw-packed4", {"single": 0}),
    (4, "single", "fw-packed4", {"single": 1}),
)
# The number of different graphs: SciPy solves them in some seconds. The others are copies.
_DIFFERENT, _SOLVED = 8, 2**32
# Largest weight, and fraction of all arcs; distances of the packed graphs fit in 4 bits.
_WHOLE, _PACKED = (100, 0.3), (2, 0.5)

_DTYPE = np.dtype(np.int32)
#: Builds the form for graphs without negative weights, or with some.
_Make = Callable[[bool], Form]


class _Graphs:
    """Many graphs of n vertices, most of them copies, with their distances."""

    def __init__(self, n: int, most: int, largest: int, density: float) -> None:
        rng = np.random.default_rng(n)
        self.different = min(_DIFFERENT, most, max(_SOLVED // n**3, 1))
        weights = rng.integers(1, largest + 1, (self.different, n, n), _DTYPE)
        weights[rng.random(weights.shape) > density] = 0
        self.weights = np.tile(weights, (-(-most // self.different), 1, 1))[:most]
        distances = np.array([csgraph.floyd_warshall(each) for each in weights])
        self.right = np.where(np.isinf(distances), infinity(_DTYPE), distances).astype(_DTYPE)

    def require(self, distances: np.ndarray, what: str) -> None:
        """Check every answer."""
        for number, answer in enumerate(distances):
            require_equal(answer, self.right[number % self.different], f"{what}, graph {number}")


def _runner(
    label: Label,
    graphs: _Graphs,
    out: np.ndarray,
    make: _Make,
    options: AllPairsOptions,
    *,
    overlap: bool,
) -> Runner:
    """Return a batch: all graphs in one group, or groups whose transfers overlap."""
    m, n = out.shape[:2]
    pipeline: list[Pipeline] = []

    def parts(size: int) -> Iterator[Part]:
        for start in range(0, m, size):
            part = slice(start, min(start + size, m))
            yield Part(graphs.weights, part, out[part])

    def turn() -> Turn:
        if not pipeline:
            whole = {} if overlap else {"group": m, "slots": 1}
            pipeline.append(Pipeline(make, n, options, m, **whole))
        line = pipeline[0]
        out.fill(-1)
        started = time.perf_counter()
        done = list(line.run(parts(line.group)))
        total = time.perf_counter() - started
        graphs.require(out, f"{label}")
        kernel = sum(each.kernel_seconds for each in done)
        return Turn({"kernel": kernel, "total": total}, {"group": line.group})

    return Runner(label, turn)


def _batches(n: int, request: Request) -> Iterator[Case]:
    options = AllPairsOptions(request.device, _DTYPE)
    counts = sorted(request.chosen("counts", _COUNTS))
    whole, packed = (_Graphs(n, counts[-1], *kind) for kind in (_WHOLE, _PACKED))
    out = np.empty_like(whole.weights)
    published: dict[tuple[int, str], tuple[_Graphs, _Make]] = {}
    for bits, launches, id_, parameters in _PUBLISHED:
        published[bits, launches] = _made(
            id_, n, options, whole if bits == 32 else packed, **parameters
        )
    for m in counts:
        taking_part = dict(published)
        ours, _ = automatic(n, m, options)
        if ours is not None:
            taking_part[32, "ours"] = _made(ours, n, options, whole)
        runners = [
            _runner(
                {"m": m, "bits": bits, "form": form, "how": how},
                graphs,
                out[:m],
                make,
                options,
                overlap=how == "low latency",
            )
            for (bits, form), (graphs, make) in taking_part.items()
            for how in ("together", "low latency")
        ]
        reference = {"what": "SciPy's Floyd-Warshall"}
        yield Case({"label": {"m": m}, "ours": ours, "reference": reference}, runners)


def _made(
    id_: str, n: int, options: AllPairsOptions, graphs: _Graphs, **parameters: int
) -> tuple[_Graphs, _Make]:
    """Return graphs, and a function that builds a form for them once."""
    make = maker(id_ if id_ == ONE_GROUP else method(id_, **parameters), n, options)
    if make is None:
        raise ParameterError(f"{id_} takes one graph of {n} vertices at a time")
    return graphs, cache(make)


def _memory(n: int, settings: Settings) -> float:
    """Return the bytes of the graphs, their answers and temporary arrays."""
    most = max(settings.get("counts") or _COUNTS)
    return 1e9 + 20 * most * n**2


EXPERIMENTS = {
    "takafuji-batches": InTurns(
        exhibits="tables 3.6 to 3.9",
        methods=tuple(dict.fromkeys(id_ for _, _, id_, _ in _PUBLISHED)),
        sizes=(64, 128, 256),
        settings=("counts",),
        make=_batches,
        memory=_memory,
    ),
}
