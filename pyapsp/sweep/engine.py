"""`Sweep`: one task body, run for many tasks in either scheme."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, islice
from math import isfinite
from pathlib import Path

import numpy as np
import pyopencl as cl
from numpy.typing import ArrayLike

from pyapsp.base.errors import CapabilityError, ParameterError
from pyapsp.device import Device, choose
from pyapsp.graph.validation import choice, flag, integer, is_real
from pyapsp.registry import check_limits
from pyapsp.sweep import access, arguments
from pyapsp.sweep.arrays import Array, Repeat, Step, check_arrays, flattened
from pyapsp.sweep.forms import Form, default_lanes, shape_of
from pyapsp.sweep.plan import Plan, plan
from pyapsp.sweep.run import Kernels, Run, Slice
from pyapsp.sweep.source import MACROS, Body, built, generate

__all__ = ["SCHEMES", "Outcome", "Sweep"]

SCHEMES = ("auto", "naive", "interleaved", "measure")
_NEEDS = {"float64": "fp64", "float16": "fp16", "int64": "int64", "uint64": "int64"}
# Tasks of a measurement, in blocks of lanes.
_MEASURED = 8
# The step of a body without STEP(name).
_ONE = Step("task")


class Outcome(Mapping[str, np.ndarray]):
    """The outputs of a sweep by name, each with the tasks on its first axis.

    Attributes
    ----------
    scheme : {"naive", "interleaved"}
        The scheme that ran.
    why : str
        The reason for its choice.
    lanes : int
        V, the number of interleaved tasks; 1 in the naive scheme.
    slices : int
        Number of slices of the tasks.
    device_bytes : int
        Device memory of the sweep.
    seconds : dict of str to float
        ``"upload"``, ``"arrangement"``, ``"kernel"`` and ``"readback"`` by the clock of the device;
        they may overlap. ``"total"`` by the clock of the host, without building kernels.
    """

    def __init__(
        self,
        outputs: dict[str, np.ndarray],
        plan: Plan,
        why: str,
        slices: int,
        seconds: dict[str, float],
    ) -> None:
        self._outputs = outputs
        self.scheme, self.lanes = plan.form.scheme, plan.form.lanes
        self.device_bytes = plan.device_bytes
        self.why, self.slices, self.seconds = why, slices, seconds

    def __getitem__(self, name: str) -> np.ndarray:
        return self._outputs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)


class Sweep:
    """A task that can be run many times at once, with different inputs.

    Parameters
    ----------
    body : str or pathlib.Path
        OpenCL C for one thread of one task: a ``STEP(name) { ... }`` for each step, or for a single
        step only its content. It reads and writes ``IN(name, j)``, ``OUT(name, j)``,
        ``SCRATCH(name, j)`` and ``COMMON(name, j)``, entry j of an array in C order.
        ``THREAD_X``, ``THREAD_Y`` and ``THREAD_Z`` are the indices of the thread, ``TASK`` is the
        number of the task. The threads of a step run in any order and must not wait for each other.
        In the steps of a `Repeat`, ``AGAIN()`` requests another round.
    arrays : sequence of Array
        The arrays of a task.
    steps : Step, or sequence of Step and Repeat
        The steps, in the order of execution.
    device : Device, str, int, pyopencl.Device, pyopencl.Context or None
        As in :func:`pyapsp.device.choose`.
    scheme : {"auto", "naive", "interleaved", "measure"}
        "naive": the arrays of tasks are stored one after the other, and neighbouring work-items are
        neighbouring threads of a task. "interleaved": the arrays of V tasks are interleaved, and
        neighbouring work-items are neighbouring tasks. "auto": the scheme with fewer memory
        transactions for the first tasks. "measure": the faster one for the first tasks. Both choose
        at the first run.
    defines : mapping of str to str, int or float
        Macros for the body.
    lanes : int, optional
        V, a power of two from 2 to 64. Default: chosen for the device.
    per_launch : int, optional
        Number of tasks on the device at a time. Default: as many as are useful and fit. The paper
        uses 1 in the naive scheme and V in the interleaved one.
    staging : bool, optional
        Whether steps copy their staged arrays to local memory. Default: not on CPU devices, where
        local memory is not faster.
    vectors : bool
        Whether the body is also correct for vectors. On CPU devices, entries of ``IN``, ``OUT`` and
        ``SCRATCH`` then have the type ``LANE(type)``, with a lane for each of V tasks. A branch
        must not depend on them, except ``if (ANY(mask))``; ``mask ? a : b`` selects by lane, and
        ``CONVERT(type, x)`` converts to ``LANE(type)``.
    checked : bool, optional
        None: before the first run, the accesses of the first tasks are checked: whether an entry is
        outside of its array, whether an entry of an output or scratch array is read before it has a
        value, and whether an output gets no value. True: also, every access of every task is
        bounded, which takes more time; a wrong one is an error, and changes nothing outside of its
        array. False: no checks.
    memory_limit : int, optional
        Largest number of bytes of device memory to use.
    progress : callable, optional
        Called after each slice with the number of tasks done and the number of all tasks.

    Raises
    ------
    ParameterError
        Arrays, steps or body do not match; the message names them.
    CapabilityError
        The device does not have a type.
    KernelBuildError
        The body does not compile, here or at the first run; the message has the line.

    References
    ----------
    F. Ino, K. Shigeoka, T. Okuyama, M. Motokubota and K. Hagihara, a parallel scheme for
    accelerating parameter sweep applications on a GPU, 2013.

    Examples
    --------
    >>> sweep = Sweep(  # doctest: +SKIP
    ...     "OUT(area, 0) = COMMON(pi, 0) * IN(radius, 0) * IN(radius, 0);",
    ...     [Array("radius", "input", "float32"), Array("pi", "common", "float32"),
    ...      Array("area", "output", "float32")],
    ... )
    >>> sweep(radius=[1.0, 2.0, 3.0], pi=np.pi)["area"]  # doctest: +SKIP
    array([ 3.1415927, 12.566371 , 28.274334 ], dtype=float32)
    """

    def __init__(
        self,
        body: str | Path,
        arrays: Sequence[Array],
        steps: Step | Repeat | Sequence[Step | Repeat] = _ONE,
        *,
        device: Device | str | int | cl.Device | cl.Context | None = None,
        scheme: str = "auto",
        defines: Mapping[str, str | int | float] | None = None,
        lanes: int | None = None,
        per_launch: int | None = None,
        staging: bool | None = None,
        vectors: bool = False,
        checked: bool | None = None,
        memory_limit: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        self.arrays = tuple(arrays)
        self.steps = (steps,) if isinstance(steps, (Step, Repeat)) else tuple(steps)
        check_arrays(self.arrays, self.steps)
        self._scheme, self._width = choice("scheme", "Sweep", scheme, SCHEMES), 1
        if lanes is not None:
            lanes = integer("lanes", "Sweep", lanes, 2, 64)
            if lanes & (lanes - 1):
                raise ParameterError.of("lanes", "Sweep", "a power of two from 2 to 64", lanes)
        if per_launch is not None:
            per_launch = integer("per_launch", "Sweep", per_launch, 1)
        if memory_limit is not None:
            memory_limit = integer("memory_limit", "Sweep", memory_limit, 1)
        if staging is not None:
            staging = flag("staging", "Sweep", staging)
        vectors = flag("vectors", "Sweep", vectors)
        if checked is not None:
            checked = flag("checked", "Sweep", checked)
        self._checked, self._tried = checked, checked is False
        self.device = choose(device)
        for array in self.arrays:
            need = _NEEDS.get(array.dtype.name)
            if need is not None and not getattr(self.device.capabilities, need):
                raise CapabilityError(f"{self.device.name} has no {array.dtype}: {array.name!r}")
        self._body = Body(body, flattened(self.steps))
        rule = "a mapping of identifiers to text or finite numbers"
        if defines is not None and not isinstance(defines, Mapping):
            raise ParameterError.of("defines", "Sweep", rule, defines)
        for name, text in (defines or {}).items():
            named = isinstance(name, str) and name.isidentifier()
            if not named or not (isinstance(text, str) or (is_real(text) and isfinite(text))):
                raise ParameterError.of("defines", "Sweep", rule, {name: text})
            if name in MACROS:
                raise ParameterError.of(
                    "defines", "Sweep", f"without {name}, a macro of ours", name
                )
        if vectors and self.device.traits.scalar_groups:
            widest = max(array.dtype.itemsize for array in self.arrays)
            self._width = self.device.traits.lanes(widest)
        self._lanes = self._width if self._width > 1 else lanes or default_lanes(self.device)
        self._defines, self._per_launch = dict(defines or {}), per_launch
        self._staging = not self.device.traits.scalar_groups if staging is None else staging
        check_limits(None, progress, "Sweep")
        self._memory_limit, self._progress = memory_limit, progress
        self._chosen: tuple[str, str] | None = None
        self._kernels: dict[Form, Kernels] = {}

    def __call__(self, tasks: int | None = None, /, **arrays: ArrayLike) -> Outcome:
        """Run all tasks.

        Parameters
        ----------
        tasks : int, optional
            Number of tasks; needed only if there are no inputs.
        **arrays : array-like
            Inputs with the tasks on an additional first axis, and common arrays, by name.

        Raises
        ------
        ParameterError
            An array is missing, unknown, of another shape, or not of its type. Or the body accesses
            an entry outside of an array, or reads one without a value: see `checked`.
        DeviceMemoryError
            One task needs more memory than the device has or `memory_limit` allows.
        """
        inputs, common = arguments.checked(self.arrays, arrays)
        count = arguments.count(tasks, inputs)
        outputs = {
            array.name: np.empty((count, *array.shape), array.dtype)
            for array in self.arrays
            if array.role == "output"
        }
        whole = Slice(0, count, inputs | outputs)
        scheme, why = self._choice(whole, common)
        return self._run(scheme, why, whole, common)

    def over(
        self, tasks: Iterable[Mapping[str, ArrayLike]], /, **common: ArrayLike
    ) -> Iterator[dict[str, np.ndarray]]:
        """Run tasks from an iterable, and yield the outputs of each, in order.

        At any time only the tasks on the device, and the slices before and after them, are in
        memory, so `tasks` may be endless.

        Parameters
        ----------
        tasks : iterable of mapping of str to array-like
            The inputs of each task, by name.
        **common : array-like
            The common arrays.

        Raises
        ------
        The same errors as a call of the sweep.
        """
        shared = arguments.checked(self.arrays, common, roles=("common",))[1]
        coming = iter(tasks)
        lanes = self._form("interleaved").lanes
        first = list(islice(coming, lanes * _MEASURED))
        if not first:
            return
        scheme, _ = self._choice(arguments.stacked(self.arrays, 0, first), shared)
        kernels, planned = self._prepared(scheme, None)
        coming = chain(first, coming)

        def slices() -> Iterator[Slice]:
            start = 0
            while some := list(islice(coming, planned.tasks)):
                yield arguments.stacked(self.arrays, start, some)
                start += len(some)

        run = Run(self.device, self.arrays, self.steps, kernels, planned, shared)
        names = [array.name for array in self.arrays if array.role == "output"]
        with closing(run), closing(run.process(slices())) as finished:
            for each in finished:
                for number in range(each.tasks):
                    yield {name: each.arrays[name][number] for name in names}

    def source(self, scheme: str) -> str:
        """Return the OpenCL C that runs in a scheme, "naive" or "interleaved"."""
        return self._prepared(scheme, None)[0].program.source

    def analyse(self, tasks: int | None = None, /, **arrays: ArrayLike) -> list[access.Pattern]:
        """Return how the threads of the first tasks access each array: the paper's table II.

        The arguments are those of a call of the sweep.
        """
        inputs, common = arguments.checked(self.arrays, arrays)
        return self._traced(Slice(0, arguments.count(tasks, inputs), inputs), common)

    def _traced(self, whole: Slice, common: Mapping[str, np.ndarray]) -> list[access.Pattern]:
        fitting = self._plan("naive", min(whole.tasks, self._lanes))
        some = _part(whole, 0, min(whole.tasks, fitting.tasks, self._lanes))
        sweep = access.Traced(self.device, self.arrays, self.steps, self._body, self._defines)
        return sweep.patterns(some, common, self._lanes)

    def _choice(self, whole: Slice, common: Mapping[str, np.ndarray]) -> tuple[str, str]:
        """Check the first tasks at the first run; return a scheme and the reason for it."""
        patterns = None
        if not self._tried and whole.tasks:
            patterns = self._traced(whole, common)
            self._tried = True
        if self._scheme in ("naive", "interleaved"):
            return self._scheme, "asked for"
        if whole.tasks < self._lanes:
            return "naive", f"fewer tasks than the {self._lanes} lanes"
        if self._plan("interleaved", whole.tasks).form.lanes < self._lanes:
            return "naive", f"{self._lanes} tasks do not fit the memory"
        if self._chosen is None:
            if self._scheme == "auto":
                patterns = patterns or self._traced(whole, common)
                self._chosen = access.guideline(patterns, self.arrays, self._lanes)
            else:
                self._chosen = self._measured(whole, common)
        return self._chosen

    def _measured(self, whole: Slice, common: Mapping[str, np.ndarray]) -> tuple[str, str]:
        """Run some tasks in both schemes, in turns, and return the faster one."""
        sample = _part(whole, 0, min(whole.tasks, self._lanes * _MEASURED), copied=True)
        seconds = {
            scheme: [
                self._run(scheme, "", sample, common, silent=True).seconds["total"]
                for _ in range(3)
            ]
            for scheme in ("naive", "interleaved")
        }
        best = {scheme: min(times[1:]) for scheme, times in seconds.items()}
        text = ", ".join(f"{scheme} {time * 1e3:.3g} ms" for scheme, time in best.items())
        return min(best, key=lambda scheme: best[scheme]), f"{sample.tasks} tasks took: {text}"

    def _run(
        self,
        scheme: str,
        why: str,
        whole: Slice,
        common: Mapping[str, np.ndarray],
        *,
        silent: bool = False,
    ) -> Outcome:
        kernels, planned = self._prepared(scheme, whole.tasks)
        started = time.perf_counter()
        parts = (
            _part(whole, first, min(planned.tasks, whole.tasks - first))
            for first in range(0, whole.tasks, planned.tasks)
        )
        run, slices = Run(self.device, self.arrays, self.steps, kernels, planned, common), 0
        with closing(run), closing(run.process(parts)) as finished:
            for each in finished:
                slices += 1
                if self._progress is not None and not silent:
                    self._progress(each.first + each.tasks, whole.tasks)
            total = time.perf_counter() - started
            seconds = run.seconds() | {"total": total}
        names = [array.name for array in self.arrays if array.role == "output"]
        outputs = {name: whole.arrays[name] for name in names}
        return Outcome(outputs, planned, why, slices, seconds)

    def _form(self, scheme: str) -> Form:
        if scheme == "interleaved":
            return Form(scheme, self._lanes, self._width)
        return Form(scheme, 1)

    def _prepared(self, scheme: str, tasks: int | None) -> tuple[Kernels, Plan]:
        """Plan the slices of a scheme and build its kernels."""
        planned = self._plan(scheme, tasks, self._per_launch)
        if planned.form not in self._kernels:
            self._kernels[planned.form] = self._build(planned.form)
        return self._kernels[planned.form], planned

    def _plan(self, scheme: str, tasks: int | None, per_launch: int | None = None) -> Plan:
        return plan(
            self.arrays,
            self._form(scheme),
            self.device,
            threads=max(step.count for step in flattened(self.steps)),
            tasks=tasks,
            per_launch=per_launch,
            memory_limit=self._memory_limit,
        )

    def _build(self, form: Form) -> Kernels:
        named = {array.name: array for array in self.arrays}
        most = self._per_launch or 2**31
        shapes = {
            step: shape_of(step, form, named, self.device, tasks=most, staging=self._staging)
            for step in flattened(self.steps)
        }
        checked = self._checked is True
        source = generate(self._body, self.arrays, shapes, form, self._defines, checked=checked)
        return Kernels(form, built(self.device, source), shapes, self._body.repeats, checked)


def _part(whole: Slice, first: int, tasks: int, *, copied: bool = False) -> Slice:
    """Return some tasks of a slice, as views, or as temporary copies."""
    some = slice(first, first + tasks)
    arrays = {name: value[some] for name, value in whole.arrays.items()}
    if copied:
        arrays = {name: value.copy() for name, value in arrays.items()}
    return Slice(whole.first + first, tasks, arrays)
