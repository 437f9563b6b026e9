"""[B], chapter 20: miners on traces of table 20.2 and of designs, parts of Mangrove, overlap."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from papers.busato_mining import designs
from papers.experiment import Case, InTurns, Request, Settings
from papers.runner import Label, Runner
from papers.values import Parameters
from pyapsp.base.extras import extra
from pyapsp.base.json import Record
from pyapsp.errors import VerificationError
from pyapsp.mining import Invariants, Trace, mine
from pyapsp.mining.evaluate import evaluate
from pyapsp.mining.inference import Survivors, combinations
from pyapsp.mining.planted import TRACES, planted
from pyapsp.mining.sequential import sequential
from pyapsp.mining.templates import SETS, Batch, Statement
from pyapsp.registry.timing import Turn

__all__ = ["EXPERIMENTS", "MINERS", "OF_DESIGNS", "PARTS"]

#: Miners on a device -> options of `mine`. "parallel" is what the thesis compares with, [80] there:
#: a work-item for each entry, no vectors, no early exit, no inference.
MINERS: dict[str, Parameters] = {
    "mangrove": {},
    "a group for each entry": {"mapping": "entry"},
    "parallel": {"mapping": "item", "width": 1, "early_exit": False, "inference": False},
}
#: Mangrove without one of its parts.
PARTS: dict[str, Parameters] = {
    "all parts": {},
    "no slabs": {"mapping": "entry"},
    "no inference": {"inference": False},
    "no early exit": {"early_exit": False},
    "no vectors": {"width": 1},
    "no overlap": {"overlap": False},
}
#: Miners of designs: the authors' regression tests run theirs with and without inference.
OF_DESIGNS: dict[str, Parameters] = {**MINERS, "no inference": PARTS["no inference"]}
# Instants times statements up to which miners take some seconds: without an early exit on a CPU and
# on another device, and the sequential miner where statements hold.
_PARALLEL, _SEQUENTIAL = (10**9, 3 * 10**12), 4 * 10**9
# Statements that NumPy checks in some seconds, one by one.
_LOOP = 20_000
# Entries of each batch of the dictionary, and again of those with invariants, that are verified by
# NumPy where the sequential miner takes too long; and instants that it looks at together.
_SAMPLED, _TOGETHER = 200, 2**16


class _Judge:
    """Compares invariants with those of the sequential miner, or checks a sample of the entries."""

    def __init__(self, trace: Trace, chosen: str, known: bool) -> None:
        self.trace, self.chosen = trace, chosen
        self.what = "the sequential miner" if known else "NumPy, for a sample of the entries"
        self._right = frozenset(sequential(trace, chosen)) if known else None
        self._values = {kind: trace.values(kind) for kind in ("boolean", "numeric")}

    def require(self, invariants: Invariants, what: str) -> None:
        """Raise a VerificationError if invariants are wrong."""
        formulas = frozenset(invariants)
        if self._right is None:
            self._sample_dictionary(formulas, what)
            self._sample_invariants(invariants, what)
            self._right = formulas
        if formulas != self._right:
            wrong = sorted(formulas ^ self._right)
            raise VerificationError(f"{what}: {len(wrong)} invariants are wrong, e.g. {wrong[0]}")

    def _sample_dictionary(self, formulas: frozenset[str], what: str) -> None:
        """Check entries of the whole dictionary: an invariant that is missing has no entry left."""
        for batch in SETS[self.chosen].batches():
            names = self.trace.names(batch.kind)
            entries = combinations(len(names), batch.arity)
            for place in _sampled(len(entries)):
                about = [names[row] for row in entries[place]]
                for statement in batch.statements:
                    text = statement.about(about)
                    if self._holds(batch, statement, entries[place]) != (text in formulas):
                        raise VerificationError(f"{what}: {text} is wrong")

    def _sample_invariants(self, found: Invariants, what: str) -> None:
        """Check entries with invariants, which may be few of the dictionary."""
        for batch, each in found.batches:
            for place in _sampled(len(each.words)):
                for bit, statement in enumerate(batch.statements):
                    holds = self._holds(batch, statement, each.entries[place])
                    if not statement.hidden and holds != bool(each.words[place] >> bit & 1):
                        raise VerificationError(f"{what}: {statement.formula.text} is wrong")

    def _holds(self, batch: Batch, statement: Statement, entry: np.ndarray) -> bool:
        rows = [self._values[batch.kind][row] for row in entry]
        return all(
            np.all(evaluate(statement.root, [row[start : start + _TOGETHER] for row in rows]))
            for start in range(0, self.trace.n, _TOGETHER)
        )


def _sampled(count: int) -> np.ndarray:
    """Return places of a sample, all if they are few."""
    return np.random.default_rng(0).permutation(count)[:_SAMPLED]


def _loop(trace: Trace, chosen: str, values: dict[str, np.ndarray]) -> Invariants:
    """Check each statement about each entry with NumPy."""
    survivors = []
    for batch in SETS[chosen].batches():
        rows = values[batch.kind]
        entries = combinations(len(rows), batch.arity)
        words = np.zeros(len(entries), np.uint32)
        for place, entry in enumerate(entries):
            some = [rows[row] for row in entry]
            for bit, statement in enumerate(batch.statements):
                words[place] |= np.uint32(bool(np.all(evaluate(statement.root, some))) << bit)
        survivors.append((batch, Survivors(entries, words)))
    return Invariants({kind: trace.names(kind) for kind in values}, trace.n, survivors)


def _runner(label: Label, judge: _Judge, run: Callable[[], Invariants]) -> Runner:
    def turn() -> Turn:
        started = time.perf_counter()
        invariants = run()
        wall = time.perf_counter() - started
        judge.require(invariants, ", ".join(str(value) for value in label.values()))
        seconds = dict(invariants.facts.get("seconds", {}))
        seconds.pop("total", None)
        facts = {key: invariants.facts[key] for key in ("checked", "entries", "pieces") if seconds}
        return Turn({"wall": wall, **seconds}, {"invariants": len(invariants), **facts})

    return Runner(label, turn)


def _statements(trace: Trace, chosen: str) -> int:
    """Return the number of statements of a set about the variables of a trace."""
    return sum(
        comb(len(trace.names(batch.kind)), batch.arity) * len(batch.statements)
        for batch in SETS[chosen].batches()
    )


def _on_device(
    label: Label, judge: _Judge, request: Request, forms: dict[str, Parameters]
) -> Iterator[Runner]:
    """Yield miners on the device, without those that would take minutes."""
    trace, chosen = judge.trace, judge.chosen
    most = _PARALLEL[not request.device.traits.scalar_groups]
    for miner, options in forms.items():
        if options.get("early_exit", True) or trace.n * _statements(trace, chosen) <= most:
            run = partial(mine, trace, chosen, device=request.device, **options)  # type: ignore[arg-type]
            yield _runner({**label, "miner": miner}, judge, run)


def _case(
    number: int, chosen: str, n: int, request: Request, forms: dict[str, Parameters]
) -> Iterator[Case]:
    """Yield one trace and set with miners on the device, and the sequential one."""
    trace, recipe = planted(number, n), TRACES[number]
    label: Label = {"trace": number, "set": chosen}
    statements = _statements(trace, chosen)
    checks = n * statements
    short = recipe.ordered == 0 or checks <= _SEQUENTIAL
    judge = _Judge(trace, chosen, short)
    runners = list(_on_device(label, judge, request, forms))
    if short and forms is MINERS:
        alone: Label = {**label, "miner": "sequential"}
        runners.append(_runner(alone, judge, lambda: sequential(trace, chosen)))
        if statements <= _LOOP and checks <= _SEQUENTIAL:
            values = {kind: trace.values(kind) for kind in ("boolean", "numeric")}
            alone = {**label, "miner": "NumPy"}
            runners.append(_runner(alone, judge, lambda: _loop(trace, chosen, values)))
    about: Record = {
        "label": label,
        "variables": recipe.variables,
        "reference": {"what": judge.what},
    }
    yield Case(about, runners, lambda runs: {"invariants": runs[0]["invariants"]} if runs else {})


def _miners(n: int, request: Request) -> Iterator[Case]:
    for number in TRACES:
        for chosen in SETS:
            yield from _case(number, chosen, n, request, MINERS)


def _parts(n: int, request: Request) -> Iterator[Case]:
    for number in (2, 4):
        for chosen in SETS:
            yield from _case(number, chosen, n, request, PARTS)


def _designs(n: int, request: Request) -> Iterator[Case]:
    """Yield each design and set with miners on the device, and the sequential one."""
    for name, trace in designs.traces(n):
        for chosen in SETS:
            label: Label = {"design": name, "set": chosen}
            judge = _Judge(trace, chosen, known=True)
            runners = list(_on_device(label, judge, request, OF_DESIGNS))
            alone: Label = {**label, "miner": "sequential"}
            runners.append(_runner(alone, judge, partial(sequential, trace, chosen)))
            about: Record = {
                "label": label,
                "instants": trace.n,
                **{kind: len(trace.names(kind)) for kind in ("boolean", "numeric")},
                "reference": {"what": judge.what},
            }
            yield Case(about, runners, lambda runs: {"invariants": runs[0]["invariants"]})


def _overlap(n: int, request: Request) -> Iterator[Case]:
    """Yield a trace that is read from a file, in four pieces."""
    with extra("mining", "this experiment"):
        import polars
    trace = planted(4, n)
    columns = {
        name: row
        for kind in ("boolean", "numeric")
        for name, row in zip(trace.names(kind), trace.values(kind), strict=True)
    }
    instants = max(-(-n // 4) // 1024, 1) * 1024
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.parquet"
        polars.DataFrame(columns).write_parquet(path, row_group_size=instants)
        judge = _Judge(trace, "I", n * 7500 <= _SEQUENTIAL)
        options: dict[str, Any] = {"device": request.device, "instants": instants}
        runners = [
            _runner(
                {"overlap": "on" if overlap else "off"},
                judge,
                lambda overlap=overlap: mine(path, "I", overlap=overlap, **options),  # type: ignore[misc]
            )
            for overlap in (True, False)
        ]
        size = path.stat().st_size
        yield Case({"bytes": size, "reference": {"what": judge.what}}, runners)


def _memory(n: int, settings: Settings) -> float:
    return 2e9 + 1500.0 * n


_experiment = partial(InTurns, methods=(), sizes=(4096,), memory=_memory)
EXPERIMENTS = {
    "busato-mining-miners": _experiment(exhibits="tables 20.2 and 20.3", make=_miners),
    "busato-mining-parts": _experiment(exhibits="what each part gains", make=_parts),
    "busato-mining-designs": _experiment(
        exhibits="traces of designs", sizes=(20_000,), make=_designs
    ),
    "busato-mining-overlap": _experiment(exhibits="figure 20.2", sizes=(100_000,), make=_overlap),
}
