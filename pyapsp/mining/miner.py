"""Mine a trace: numeric and Boolean statements, by increasing arity, piece by piece.

A statement that is true in a trace is true in each piece. So the words of the entries are kept from
piece to piece, and an entry without statements is removed. Inferred answers are exact up to the end
of the piece. An entry whose answer can no longer be inferred is checked from the next piece on.

Where values are unknown, a statement is about the instants at which all its variables are known.
These differ between statements, so nothing is inferred from then on. A statement whose variables
are never known at the same time is not reported.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pyapsp.base.errors import ParameterError
from pyapsp.device import DeviceLike, choose, device_errors
from pyapsp.device.kernels import Stopwatch
from pyapsp.device.kernels.transfer import in_place
from pyapsp.graph.validation import flag
from pyapsp.mining.checker import Checker, Form, Rows
from pyapsp.mining.inference import Facts, Survivors, combinations, copied, derived
from pyapsp.mining.reading import Reading, read_pieces
from pyapsp.mining.result import Invariants
from pyapsp.mining.templates import Batch, TemplateSet, template_set
from pyapsp.mining.trace import Trace
from pyapsp.mining.transfer import ahead, copies, pieces
from pyapsp.registry import check_limits

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["mine"]

# Words of the instants that are searched first for known values, and words searched at once.
_WINDOW, _LOOKED = 2**6, 2**22


def mine(
    trace: Trace | str | os.PathLike[str] | Iterable[Trace],
    templates: str | TemplateSet = "II",
    *,
    device: DeviceLike = None,
    inference: bool = True,
    early_exit: bool = True,
    overlap: bool = True,
    mapping: str = "slab",
    width: int | None = None,
    group: int | None = None,
    tile: int | None = None,
    slab: int | None = None,
    memory_limit: int | None = None,
    progress: Callable[[int], None] | None = None,
    **reading: Unpack[Reading],
) -> Invariants:
    """Find the likely invariants of a trace: all statements that hold at every instant.

    Parameters
    ----------
    trace : Trace, path or iterable of Trace
        A path is read in pieces. The traces of an iterable follow one another and have the same
        variables; only a few of them are in memory at a time.
    templates : {"I", "II"} or TemplateSet
        The sets of table 20.1, or templates of your own. A template is about variables of one kind.
    device : optional
        See `pyapsp.device.choose`.
    inference : bool
        Whether entries leave the dictionary if their answers follow from earlier ones. The
        invariants are the same.
    early_exit : bool
        Whether to stop checking what an instant has contradicted. The invariants are the same.
    overlap : bool
        Whether to read, copy and mine at the same time.
    mapping : {"slab", "entry", "item"}
        What a work-group checks: "slab": one entry on a part of the trace; "entry": one entry on
        the whole trace, as in the original; "item": one entry for each of its work-items, with
        which the original is compared.
    width : int, optional
        Words of 4 bytes in a vector: 1, 2, 4, 8 or 16. Default: 4, as in the original; on CPUs the
        registers decide.
    group, tile, slab : int, optional
        Work-items of a group, vectors that a work-item loads at once (1, 2, 4 or 8), and bytes of
        a row in a slab. Default: chosen for the device.
    memory_limit : int, optional
        Largest number of bytes of device memory for the rows of the trace.
    progress : callable, optional
        Called with the number of instants that are done.
    **reading
        For a path: the options of `pyapsp.mining.read_trace`, and ``instants``.

    Returns
    -------
    Invariants

    Raises
    ------
    ParameterError
        An option is out of range, or a trace is empty.
    FormatError, PrecisionError
        The file violates its format, or a type cannot hold its values.
    DeviceMemoryError
        The least piece does not fit the device.

    References
    ----------
    F. Busato, PhD thesis, 2018, chapter 20: Mangrove.

    Examples
    --------
    >>> trace = pyapsp.mining.Trace.of({"x": [1, 0, 1], "y": [0, 1, 0]})  # doctest: +SKIP
    >>> list(pyapsp.mine(trace, "I"))  # doctest: +SKIP
    ['x != y']
    """
    chosen = template_set(templates)
    inference = flag("inference", "mine", inference)
    early_exit, overlap = flag("early_exit", "mine", early_exit), flag("overlap", "mine", overlap)
    if progress is not None and not callable(progress):
        raise ParameterError.of("progress", "mine", "a function of the instants done", progress)
    memory_limit = check_limits(memory_limit, None, "mine")
    found_device = choose(device)
    form = Form.of(
        found_device,
        width=width,
        group=group,
        tile=tile,
        slab=slab,
        mapping=mapping,
        early=early_exit,
    )
    if isinstance(trace, Trace) and reading:
        name, value = next(iter(reading.items()))
        raise ParameterError.of(name, "mine", "given for a file only", value)
    started = time.perf_counter()
    watch, source = Stopwatch(), _source(trace, reading)
    batches = chosen.batches(inference=inference)
    # a processor has no copies of a trace in memory, and threads cost more than they gain
    here = memory_limit is None and isinstance(trace, Trace) and in_place(found_device.handle)
    overlaps = overlap and not here
    with device_errors(found_device, memory_limit or 0):
        checker = Checker(found_device, form, watch)
        miner = _Miner(checker, batches, inference)
        parts = pieces(_timed(source, watch), found_device, memory_limit, overlap=overlap)
        kinds = {batch.kind for batch in batches}
        read = ahead(parts, wanted=overlaps)
        queue = found_device.queue() if overlaps else checker.queue
        sent = ahead(copies(read, kinds, queue, watch), wanted=overlaps)
        with closing(read), closing(sent):
            miner.run(sent, progress)
    seconds = {phase: watch.seconds(phase) for phase in ("read", "transfer", "kernel")}
    facts = {
        "templates": chosen.name,
        "device": str(found_device),
        "inference": inference,
        "early_exit": early_exit,
        "overlap": overlap,
        **{key: getattr(form, key) for key in ("mapping", "width", "group", "tile", "slab")},
        **miner.counts,
        "seconds": {**seconds, "total": time.perf_counter() - started},
    }
    return Invariants(miner.names, miner.n, miner.answers(), facts)


def _source(
    trace: Trace | str | os.PathLike[str] | Iterable[Trace], reading: Reading
) -> Iterator[Trace]:
    if isinstance(trace, Trace):
        return iter((trace,))
    if isinstance(trace, str | os.PathLike):
        return read_pieces(trace, **reading)
    columns = isinstance(trace, Mapping) or hasattr(trace, "columns")
    if isinstance(trace, Iterable) and not columns and not reading:
        return iter(trace)
    raise _no_trace(trace)


def _no_trace(trace: object) -> ParameterError:
    rule = "a path, a Trace or an iterable of them; Trace.of makes one of columns or a data frame"
    return ParameterError.of("trace", "mine", rule, type(trace).__name__)


def _timed(source: Iterator[Trace], watch: Stopwatch) -> Iterator[Trace]:
    """Yield the traces, and add the time to read them to the phase "read"."""
    while True:
        with watch.by_the_host("read"):
            trace = next(source, None)
        if trace is None:
            return
        if not isinstance(trace, Trace):
            raise _no_trace(trace)
        yield trace


class _Miner:
    """The dictionary of each batch, and what was learnt about the variables."""

    def __init__(self, checker: Checker, batches: list[Batch], inference: bool) -> None:
        self.checker, self.batches, self.inference = checker, batches, inference
        self.survivors: dict[int, Survivors] = {}
        # of each survivor, whether its variables were all known at an instant
        self.seen: dict[int, NDArray[np.bool_]] = {}
        self.names: dict[str, tuple[str, ...]] = {"boolean": (), "numeric": ()}
        self.counts = {"entries": 0, "checked": 0, "pieces": 0}
        self.n = 0

    def run(
        self,
        sent: Iterator[tuple[str, Rows, Trace]],
        progress: Callable[[int], None] | None,
    ) -> None:
        """Mine all rows, and report the instants that are done."""
        last: Trace | None = None
        for kind, rows, trace in sent:
            if trace is not last:
                self.n += trace.n
                self.counts["pieces"] += 1
                last = trace
            self.names = {each: trace.names(each) for each in self.names}
            facts = Facts.none(rows.count)
            self.inference = self.inference and not rows.unknown
            known = trace.knowledge(kind)
            ours = [number for number, batch in enumerate(self.batches) if batch.kind == kind]
            for number in ours:
                self._phase(number, rows, facts)
                self._look(number, known)
                if self.inference and number != ours[-1]:
                    facts.learn(self.batches[number], self.survivors[number])
            if progress is not None:
                progress(self.n)
        if not self.n:
            raise ParameterError("the trace has no variable that a template is about")

    def _phase(self, number: int, rows: Rows, facts: Facts) -> None:
        batch, now = self.batches[number], self.survivors.get(number)
        if now is None:
            entries = combinations(rows.count, batch.arity)
            now = Survivors(entries, np.full(len(entries), batch.full, np.uint32))
            self.counts["entries"] += len(entries)
        entries, words = now.entries, now.words.copy()
        known = holds = np.zeros(len(words), np.uint32)
        which, fetch = np.zeros(len(words), bool), None
        if self.inference and batch.arity > 1 and len(words):
            if batch.kind == "boolean":
                known, holds = derived(batch, entries, facts)
            which, fetch = copied(batch, entries, facts)
        words &= holds | ~known
        checked = ~which & (words & ~known != 0)
        if checked.any():
            answers = self.checker.check(batch, rows, entries[checked], (words & ~known)[checked])
            words[checked] = answers | (words & known)[checked]
            self.counts["checked"] += int(checked.sum())
        if fetch is not None and which.any():
            words[which] &= fetch(Survivors(entries[~which], words[~which]))
        some = words != 0
        self.survivors[number] = Survivors(entries[some], words[some])
        self.seen[number] = self.seen.get(number, np.zeros(len(words), bool))[some]

    def _look(self, number: int, known: NDArray[np.uint32] | None) -> None:
        """Note the survivors whose variables are all known at an instant of this piece."""
        seen, entries = self.seen[number], self.survivors[number].entries
        if known is None:
            seen[:] = True
            return
        first, size = 0, _WINDOW
        while first < known.shape[1] and not seen.all():
            window = known[:, first : first + size]
            step = max(_LOOKED // size, 1)
            unseen = np.flatnonzero(~seen)
            for start in range(0, len(unseen), step):
                some = unseen[start : start + step]
                together = np.bitwise_and.reduce(window[entries[some]], axis=1)
                seen[some] = together.any(axis=1)
            # most are known together soon
            first, size = first + size, min(4 * size, _LOOKED)

    def _shown(self, number: int, batch: Batch) -> NDArray[np.uint32]:
        words = self.survivors[number].words & np.uint32(batch.shown)
        return np.where(self.seen[number], words, np.uint32(0))

    def answers(self) -> list[tuple[Batch, Survivors]]:
        """Return the survivors of each batch, with the statements that are reported."""
        return [
            (batch, Survivors(each.entries, self._shown(number, batch)).keep())
            for number, each in self.survivors.items()
            if (batch := self.batches[number])
        ]
