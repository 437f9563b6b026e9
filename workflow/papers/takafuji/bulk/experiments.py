"""[T], chapter 4: bulk execution of three programs, together and in groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from papers.experiment import Case, InTurns, Request
from papers.runner import Runner, require_equal
from papers.takafuji.bulk.c_program import CProgram
from pyapsp.base.json import Record
from pyapsp.device import Device
from pyapsp.registry.timing import Turn
from pyapsp.verify import spread

if TYPE_CHECKING:
    from pyapsp.bulk import Program, Translation
    from pyapsp.bulk.generate import Arrangement

__all__ = ["EXPERIMENTS"]

Arrays = dict[str, np.ndarray]

# Words of all instances together: those of [T] figures 4.10 to 4.12, and fewer for a CPU.
_WORDS, _WORDS_CPU = 2**27, 2**22
_FEWEST = 64
# Accesses that one core makes in a fraction of a second.
_ACCESSES = 2**27
# Instances that are compared with the reference.
_CHECKED = 256
# Number of groups: with 4M instances each they are the 128M of [T] figure 4.15.
_GROUPS = 32
_ARRANGEMENTS: tuple[Arrangement, ...] = ("column", "row")


@dataclass(frozen=True)
class _Algorithm:
    """One of the programs."""

    program: str  # its name among `pyapsp.bulk.programs`
    define: str  # the macro whose value is n
    words: Callable[[int], int]  # takes n and returns the number of 32-bit words of an instance
    inputs: Callable[[int, int], Arrays]  # makes inputs for p instances of size n
    right: Callable[[Arrays], np.ndarray]  # returns the right outputs
    output: str
    reference: str  # the package that computed these
    # The values of n of the workflow; groups use the first.
    sizes: tuple[int, ...]

    def load(self, n: int, device: Device, arrangement: Arrangement | None = None) -> Program:
        """Build it."""
        from pyapsp import bulk

        path = bulk.programs()[self.program]
        return bulk.load(path, defines={self.define: n}, device=device, arrangement=arrangement)

    def counts(self, n: int, device: Device, factor: int) -> list[int]:
        """Return numbers of instances, a factor apart, the last as large as possible."""
        words = _WORDS_CPU if device.traits.scalar_groups else _WORDS
        counts = [max(words // self.words(n), _FEWEST)]
        while counts[0] >= _FEWEST * factor:
            counts.insert(0, counts[0] // factor)
        return counts


def _numbers(n: int, p: int) -> Arrays:
    return {"A": np.random.default_rng(n).random((p, n), np.float32)}


def _graphs(n: int, p: int) -> Arrays:
    rng = np.random.default_rng(n)
    weights = rng.integers(1, 100, (p, n, n)).astype(np.float32)
    weights[rng.random(weights.shape, np.float32) < 0.5] = np.inf
    weights[:, range(n), range(n)] = 0
    return {"D": weights}


def _distances(arrays: Arrays) -> np.ndarray:
    distances = arrays["D"].copy()
    for k in range(distances.shape[1]):
        np.minimum(distances, distances[:, :, k, None] + distances[:, None, k, :], out=distances)
    return distances


def _factors(n: int, p: int) -> Arrays:
    x, y, m = np.random.default_rng(n).integers(0, 2**32, (3, p, n // 32), np.uint32)
    m[:, 0] |= 1
    # x and y are below m
    m[:, -1] |= 1 << 31
    x[:, -1] &= 2**31 - 1
    y[:, -1] &= 2**31 - 1
    return {"X": x, "Y": y, "M": m}


def _products(arrays: Arrays) -> np.ndarray:
    limbs = arrays["X"].shape[1]
    products = []
    for three in zip(arrays["X"], arrays["Y"], arrays["M"], strict=True):
        x, y, m = (int.from_bytes(number.astype("<u4").tobytes(), "little") for number in three)
        product = x * y * pow(1 << 32 * limbs, -1, m) % m
        products.append(np.frombuffer(product.to_bytes(4 * limbs, "little"), "<u4"))
    return np.array(products, np.uint32)


_ALGORITHMS = {
    "sort": _Algorithm(
        "bitonic_sort",
        "N",
        lambda n: n,
        _numbers,
        lambda arrays: np.sort(arrays["A"]),
        "A",
        "NumPy's sort",
        (32, 1024),
    ),
    "warshall": _Algorithm(
        "floyd_warshall", "N", lambda n: n * n, _graphs, _distances, "D", "NumPy", (16, 64)
    ),
    "montgomery": _Algorithm(
        "montgomery",
        "BITS",
        lambda n: 4 * n // 32,
        _factors,
        _products,
        "Z",
        "Python's integers",
        (512,),
    ),
}


@dataclass(frozen=True)
class _Data:
    """Inputs of many instances, and the right outputs of some of them."""

    algorithm: _Algorithm
    inputs: Arrays
    checked: np.ndarray
    right: np.ndarray

    @classmethod
    def make(cls, algorithm: _Algorithm, n: int, p: int) -> _Data:
        """Make p inputs."""
        inputs = algorithm.inputs(n, p)
        # every run includes the first instances
        checked = np.union1d(np.arange(min(p, _CHECKED // 4)), spread(p, _CHECKED))
        some = {name: array[checked] for name, array in inputs.items()}
        return cls(algorithm, inputs, checked, algorithm.right(some))

    def first(self, p: int) -> Arrays:
        """Return the first p inputs."""
        return {name: array[:p] for name, array in self.inputs.items()}

    def require(self, outputs: Mapping[str, np.ndarray], p: int, what: str) -> None:
        """Check the answers for the first p."""
        within = self.checked < p
        answer = outputs[self.algorithm.output][self.checked[within]]
        require_equal(answer, self.right[within], f"{self.algorithm.program}, {what}, p = {p}")


def _bulk(algorithm: _Algorithm, n: int, request: Request) -> Iterator[Case]:
    """Yield runs of both arrangements and of the C program, for several p."""
    programs = {each: algorithm.load(n, request.device, each) for each in _ARRANGEMENTS}
    from pyapsp.bulk import count_accesses

    counts = sorted(request.chosen("counts", algorithm.counts(n, request.device, 4)))
    data = _Data.make(algorithm, n, counts[-1])
    accesses = count_accesses(programs["column"].translation)
    runners = [
        Runner(
            {"arrangement": arrangement, "p": p}, partial(_together, program, data, arrangement, p)
        )
        for p in counts
        for arrangement, program in programs.items()
    ]
    few = max(min(_ACCESSES // (accesses or _ACCESSES), counts[-1]), 1)
    translation, defines = programs["column"].translation, {algorithm.define: n}
    compiled: list[CProgram] = []

    def on_one_core() -> Turn:
        if not compiled:
            compiled.append(CProgram(translation, defines))
        seconds, outputs = compiled[0].run(data.first(few))
        data.require(outputs, few, "C")
        return Turn({"kernel": seconds}, {"p": few})

    yield Case(
        {
            "words": algorithm.words(n),
            "accesses": accesses,
            "reference": {"what": algorithm.reference},
        },
        [*runners, Runner({"arrangement": "none"}, on_one_core)],
        partial(_model, request.device, translation, data.inputs, algorithm.words(n), counts),
    )


def _together(program: Program, data: _Data, arrangement: str, p: int) -> Turn:
    run = program.run(data.first(p))
    data.require(run.outputs, p, arrangement)
    return Turn(run.seconds, {"p": p, "slices": run.slices})


def _model(
    device: Device,
    translation: Translation,
    inputs: Arrays,
    words: int,
    counts: list[int],
    runs: list[dict[str, Any]],
) -> Record:
    """Return the lines a + b p of both arrangements, measured and predicted; seconds.

    For the largest p also the bounds of the time: accesses alone, and arithmetic alone.
    """
    from pyapsp.bulk import count_accesses, umm
    from pyapsp.bulk.bounds import bounds

    accesses = count_accesses(translation)
    if len(counts) < 2 or accesses is None:
        return {"machine": None, "lines": {}, "bounds": None}
    machine = umm.measure(device, words, counts=counts)
    lines: Record = {}
    for arrangement in _ARRANGEMENTS:
        mine = [run for run in runs if run["label"]["arrangement"] == arrangement]
        measured = umm.fit([run["p"] for run in mine], [run["seconds"]["kernel"] for run in mine])
        predicted = machine.time(accesses, words, arrangement)
        lines[arrangement] = {
            "measured": [measured.a, measured.b],
            "predicted": [predicted.a, predicted.b],
        }
    about: Record = {"width": machine.width, "latency": machine.latency, "unit": machine.unit}
    limits = bounds(translation, device, counts[-1], inputs)
    memory: Record = {str(each): seconds for each, seconds in limits.memory.items()}
    parts: Record = {"memory": memory, "computing": limits.computing}
    predicted_seconds: Record = {each: limits.seconds(each) for each in _ARRANGEMENTS}
    return {
        "machine": about,
        "lines": lines,
        "bounds": parts | {"seconds": predicted_seconds},
    }


def _grouped(algorithm: _Algorithm, n: int, request: Request) -> Iterator[Case]:
    """Yield groups of b instances, one after the other."""
    program = algorithm.load(n, request.device)
    sizes = sorted(request.chosen("groups", algorithm.counts(n, request.device, 2)))
    data = _Data.make(algorithm, n, sizes[-1])
    runners = [Runner({"b": b}, partial(_streamed, program, data, b)) for b in sizes]
    read = sum(each.nbytes for each in program.arrays if each.loaded)
    yield Case({"bytes": read, "reference": {"what": algorithm.reference}}, runners)


def _streamed(program: Program, data: _Data, b: int) -> Turn:
    stream = program.stream(repeat(data.first(b), _GROUPS), b)
    outputs: Mapping[str, np.ndarray] = {}
    for outputs in stream:  # noqa: B007
        pass
    data.require(outputs, b, "the last group")
    seconds = {
        "total": stream.seconds,
        "latency": float(np.median(stream.latencies)),
        "largest_latency": max(stream.latencies),
    }
    return Turn(seconds, {"instances": stream.instances})


EXPERIMENTS = {
    f"takafuji-{name}{suffix}": InTurns(
        exhibits=f"figure 4.{first + place}",
        methods=(algorithm.program,),
        sizes=algorithm.sizes if cases is _bulk else algorithm.sizes[:1],
        settings=(setting,),
        make=partial(cases, algorithm),
    )
    for suffix, cases, first, setting in (
        ("", _bulk, 10, "counts"),
        ("-groups", _grouped, 15, "groups"),
    )
    for place, (name, algorithm) in enumerate(_ALGORITHMS.items())
}
